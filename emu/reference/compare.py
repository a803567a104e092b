"""How far recorded outputs of a device are from the float model: accuracy and drift, output by output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from emu.dataflow.edges import OutputEdge, plain_output
from emu.dataflow.quantize import dequantize, dtype_of
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import FormatType
from emu.hef.ops import OpKind
from emu.reference.activations import stream_range
from emu.reference.tensors import Array

TOP_K = 5


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one output over all frames, in real numbers; `decibel` figures are infinite where nothing differs.

    `snr` is the reference's power over the error's, `psnr` its range over the error, `cosine` of all numbers in one
    vector, `max_steps` the largest difference in steps of the stream's quantisation. `top1` and `top5` are the shares
    of pixels whose best class is the reference's, and among the reference's best five; None for a single feature.
    """

    name: str
    frames: int
    snr: float
    psnr: float
    cosine: float
    max_difference: float
    max_steps: float
    top1: float | None
    top5: float | None


def agreement(edge: OutputEdge, pairs: Iterable[tuple[Array, Array]]) -> Agreement:
    """Of (reference, recorded) frames [h, w, f] of an output."""
    signal = error = dot = norm_a = norm_b = 0.0
    count = frames = 0
    worst, low, high = 0.0, math.inf, -math.inf
    pixels = first = among = 0
    for expected, found in pairs:
        a, b = expected.astype(np.float64), found.astype(np.float64)
        difference = b - a
        frames, count = frames + 1, count + a.size
        signal, error = signal + float((a * a).sum()), error + float((difference * difference).sum())
        dot, norm_a, norm_b = dot + float((a * b).sum()), norm_a + float((a * a).sum()), norm_b + float((b * b).sum())
        worst = max(worst, float(np.abs(difference).max(initial=0.0)))
        low, high = min(low, float(a.min(initial=low))), max(high, float(a.max(initial=high)))
        if a.shape[-1] > 1:
            best = b.reshape(-1, b.shape[-1]).argmax(axis=1)
            scores = a.reshape(-1, a.shape[-1])
            mine = np.take_along_axis(scores, best[:, None], axis=1)[:, 0]
            better = (scores > mine[:, None]).sum(axis=1)
            pixels, first, among = (
                pixels + best.size,
                first + int((better == 0).sum()),
                among + int((better < TOP_K).sum()),
            )
    step = _step(edge)
    mean_square = error / count if count else 0.0
    return Agreement(
        edge.name,
        frames,
        _decibel(signal, error),
        _decibel((high - low) ** 2 if count else 0.0, mean_square),
        dot / math.sqrt(norm_a * norm_b) if norm_a and norm_b else float(norm_a == norm_b),
        worst,
        worst / step if step else math.inf if worst else 0.0,
        first / pixels if pixels else None,
        among / pixels if pixels else None,
    )


def _decibel(signal: float, error: float) -> float:
    if error == 0.0:
        return math.inf
    return 10 * math.log10(signal / error) if signal else -math.inf


def _step(edge: OutputEdge) -> float:
    """The largest quantisation step of an edge's values; of class numbers one class, of probabilities 1/255."""
    if edge.op is not None and edge.name == edge.op.output_name:
        return 1.0 if edge.op.kind is OpKind.ARGMAX else 1 / 255
    low, high = stream_range(edge)
    codes = 255 if edge.layer.hw_data_bytes == 1 else 65535
    return max((abs(qp.scale) for qp in edge.quant_infos), default=(high - low) / codes)


def within_range(edge: OutputEdge, tensor: Array) -> Array:
    """The reference's numbers as far as the stream can hold them; behind an op, what the op makes of them."""
    if edge.op is not None and edge.name == edge.op.output_name:
        if edge.op.kind is OpKind.ARGMAX:
            best: Array = tensor.argmax(axis=-1)[..., None]
            return best
        raised = np.exp(tensor - tensor.max(axis=-1, keepdims=True))
        found: Array = raised / raised.sum(axis=-1, keepdims=True)
        return found
    low, high = stream_range(edge)
    clipped: Array = np.clip(tensor, low, high)
    return clipped


def recorded_frames(edge: OutputEdge, array: Array) -> list[Array]:
    """A recorded array of an edge as real numbers [h, w, f], a frame each.

    It holds frames of the edge's elements, as codes (integers of the stream's type) or real numbers (floats), with or
    without a leading axis; or whole stream frames as bytes. HAILO_INVALID_ARGUMENT for anything else.
    """
    behind_op = edge.op is not None and edge.name == edge.op.output_name
    elements = edge.shape.elements
    shape: tuple[int, ...] = tuple(edge.shape)
    if behind_op and edge.op is not None and edge.op.kind is OpKind.ARGMAX:
        elements, shape = edge.shape.height * edge.shape.width, (edge.shape.height, edge.shape.width, 1)
    size = edge.layer.hw_frame_size
    dtype = dtype_of(edge.layer.format.type)
    if array.size and array.size % elements == 0:
        frames = array.reshape(-1, *shape)
        if behind_op or array.dtype.kind == "f":
            return [frame.astype(np.float64) for frame in frames]
        if array.dtype.newbyteorder("=") == dtype:
            transform = plain_output(edge.layer)
            if len(set(transform.qps)) == 1:
                return [dequantize(frame.astype(dtype), transform.qps[0]) for frame in frames]
            zps, scales = (np.array([qp[at] for qp in transform.qps]) for at in (0, 1))
            return [(frame.astype(np.float64) - zps) * scales for frame in frames]
    if not behind_op and array.dtype == np.uint8 and array.size and array.size % size == 0:
        transform = plain_output(edge.layer, FormatType.FLOAT32)
        flat = array.reshape(-1, size)
        return [transform(np.ascontiguousarray(frame)).view("<f4").reshape(shape) for frame in flat]
    raise HailoError(
        HailoStatus.HAILO_INVALID_ARGUMENT,
        f"{edge.name}: {array.dtype}{list(array.shape)} holds no frames of {'x'.join(map(str, shape))}"
        f" ({dtype} codes, floats, or {size} bytes of a stream frame)",
    )


def by_edge(edges: Iterable[OutputEdge], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Recorded arrays by edge: under the names of vstreams, streams, or of files with those names in them."""
    found: dict[str, Array] = {}
    for edge in edges:
        names = [edge.name, *([edge.layer.name] if edge.op is None or edge.name != edge.op.output_name else [])]
        name = next((one for one in names if one in arrays), None)
        if name is not None:
            found[edge.name] = arrays[name]
    return found
