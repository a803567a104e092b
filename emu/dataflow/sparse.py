"""Synthetic frames for detection ops: noise in which few cells score, as in a picture of something.

Plain noise passes the threshold in every other element, which is tens of thousands of boxes to suppress. What is kept
is the noise's own and which elements keep it follows from the noise: the same bytes, the same frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import xxhash

from emu.dataflow.formats import Buffer, as_bytes
from emu.dataflow.postprocess.base import OpInput, PostProcess
from emu.dataflow.postprocess.ssd import Ssd
from emu.dataflow.postprocess.yolov5 import OBJECTNESS, Yolov5, Yolov5BboxOnly
from emu.dataflow.postprocess.yolov5_seg import Yolov5Seg
from emu.dataflow.postprocess.yolov8 import Yolov8, Yolov8BboxOnly
from emu.dataflow.postprocess.yolox import Yolox
from emu.dataflow.quantize import dtype_of
from emu.noise import WORD, noise

SCORING_ELEMENTS = 48  # of a frame, over all its streams; about half of them pass a usual threshold
SCORING_CELLS = 6  # where a cell brings the scores of all classes with it


def sparse_scores(op: PostProcess, frames: Mapping[str, Buffer]) -> dict[str, Buffer]:
    """`frames` with all but a few scores of a detection op at their lowest; those of other ops as they are."""
    gates = list(_gates(op))
    found = dict(frames)
    most = SCORING_CELLS if isinstance(op, Yolov5 | Yolox) else SCORING_ELEMENTS
    total = sum(layer.shape.height * layer.shape.width * len(features) for layer, features in gates)
    # a mask of a box above or left of the picture is more than the library can do (known-bugs.md 24)
    first = 1 if isinstance(op, Yolov5Seg) else 0
    for layer, features in gates:
        if layer.name not in frames:
            continue
        elements = layer.shape.height * layer.shape.width * len(features)
        count = min(-(-most * elements // total), elements) if total else 0
        found[layer.name] = _sparse(layer, features, frames[layer.name], count, first)
    return found


def _gates(op: PostProcess) -> Iterator[tuple[OpInput, range]]:
    """The streams, and features of them, without which a cell has no detection."""
    match op:
        case Yolov8BboxOnly() | Yolov5BboxOnly():
            return
        case Yolov8():
            names = [decoder.cls for decoder in op.yolo.decoders]
        case Yolox():
            names = [objectness.name for _, objectness, _ in op.decoders]
        case Ssd():
            names = [decoder.cls for decoder in op.decoders]
        case Yolov5():
            for layer in op.layers:
                yield layer, range(OBJECTNESS, layer.shape.features, op.entry)
            return
        case _:
            return
    for name in dict.fromkeys(names):
        layer = op.inputs[name]
        yield layer, range(layer.shape.features)


def _sparse(layer: OpInput, features: range, frame: Buffer, count: int, first: int) -> Buffer:
    """The frame with the gates' elements at the lowest score but for `count` of them, from row and column `first`."""
    given = as_bytes(frame, layer.frame_size, f"stream {layer.name}")
    out = given.copy()
    dtype = dtype_of(layer.format.type)
    padded = layer.padded_shape
    grid = out.view(dtype)[: padded.elements].reshape(padded.height, padded.features, padded.width)
    gates = grid[: layer.shape.height, features.start : features.stop : features.step, : layer.shape.width]
    inside = gates[first:, :, first:]
    places = np.frombuffer(noise(xxhash.xxh3_128_digest(given.tobytes()), WORD * count), "<u8")
    chosen = np.unravel_index((places % np.uint64(inside.size)).astype(np.intp), inside.shape) if inside.size else None
    kept = None if chosen is None else inside[chosen].copy()
    gates[...] = 0 if layer.quant_info.scale >= 0 else np.iinfo(dtype).max
    if chosen is not None:
        inside[chosen] = kept
    return out
