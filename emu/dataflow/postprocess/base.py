"""The frame every op hangs in: inputs, runtime differences, checks, and the call (netflow-nms.md 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes, as_bytes
from emu.dataflow.postprocess.nms import (
    Detections,
    NmsConfig,
    fill_by_class,
    fill_by_score,
    remove_overlapping,
)
from emu.dataflow.quantize import Codes, dequantize, dtype_of, quantize_threshold, require_valid
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import (
    Format,
    FormatFlags,
    FormatOrder,
    FormatType,
    NmsShape,
    QuantInfo,
    Shape,
    hw_frame_size,
    nms_frame_size,
)
from emu.hef.runtime import library_rules

PACKED_ORDERS = frozenset({FormatOrder.HAILO_NMS_BY_SCORE, FormatOrder.HAILO_NMS_WITH_BYTE_MASK})


class OpInput(Struct, frozen=True, dict=True):
    """One stream an op reads: host shape, device shape, device format, its single quant info."""

    name: str
    shape: Shape
    padded_shape: Shape
    format: Format
    quant_info: QuantInfo

    @cached_property
    def frame_size(self) -> int:
        """Bytes of a frame as it is read from the stream."""
        return hw_frame_size(self.padded_shape, self.format)

    @cached_property
    def lowest_codes(self) -> dict[tuple[float, bool], int | None]:
        """Results of `lowest_passing_code`: they cost a look at every code of the type."""
        return {}

    def codes(self, frame: Buffer) -> Codes:
        """The frame's elements, flat."""
        codes: Codes = as_bytes(frame, self.frame_size, f"stream {self.name}").view(dtype_of(self.format.type))
        return codes

    def planes(self, frame: Buffer) -> Codes:
        """An NHCW frame as [height, features, width] of the host shape, padding left out."""
        shape, padded = self.shape, self.padded_shape
        if padded.height < shape.height or padded.width < shape.width or padded.features < shape.features:
            raise invalid(f"stream {self.name}: host shape {tuple(self.shape)} exceeds device shape {tuple(padded)}")
        grid = self.codes(frame)[: padded.elements].reshape(padded.height, padded.features, padded.width)
        return grid[: self.shape.height, :, : self.shape.width]

    def dequantize(self, codes: Codes) -> NDArray[np.float32]:
        return dequantize(codes, self.quant_info)

    def threshold_code(self, threshold: float) -> int:
        return quantize_threshold(threshold, self.quant_info, dtype_of(self.format.type))

    def require_entry(self, features: int, what: str) -> None:
        """The decoders' run-time size check: the frame must be exactly padded height * width * `features` elements."""
        expected = self.padded_shape.height * self.padded_shape.width * features * self.format.type.element_bytes
        if expected != self.frame_size or features > self.padded_shape.features:
            raise invalid(
                f"stream {self.name} has frames of {self.frame_size} bytes, {what} needs {expected} ="
                f" {self.padded_shape.height}·{self.padded_shape.width}·{features}"
                f"·{self.format.type.element_bytes}"
            )


def invalid(message: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, message)


class OpResult(NamedTuple):
    """An output frame; `status` is HAILO_INSUFFICIENT_BUFFER where it could not hold every detection."""

    frame: Bytes
    status: HailoStatus = HailoStatus.HAILO_SUCCESS


class PostProcess(ABC):
    """One host operation: frames of its streams by name -> the bytes of its output vstream.

    `user` is the output format; AUTO stands for the op's own. Constructors raise HailoError with the status that the
    runtime gives when the op is created.
    """

    any_frame_size = False  # whether an output buffer may be shorter or longer than `frame_size`

    def __init__(self, inputs: Iterable[OpInput], user: Format, runtime: str) -> None:
        self.inputs: dict[str, OpInput] = {layer.name: layer for layer in inputs}
        self.rules = library_rules(runtime)
        self._packed_type = FormatType.FLOAT32 if self.rules.packed_floats else FormatType.UINT8
        self.runtime = runtime
        self.user = user

    @property
    @abstractmethod
    def frame_size(self) -> int:
        """Bytes of an output frame."""

    def __call__(self, frames: Mapping[str, Buffer], into: Bytes | None = None) -> OpResult:
        """Run one frame. `into` is the output buffer whose unwritten bytes are kept; a fresh one is zero."""
        missing = [name for name in self.inputs if name not in frames]
        if missing:
            raise invalid(f"no frame for stream {missing[0]}")
        out = np.zeros(self.frame_size, np.uint8) if into is None else into
        if out.size != self.frame_size and not self.any_frame_size:
            raise invalid(f"output frame: {out.size} bytes given, {self.frame_size} expected")
        with np.errstate(all="ignore"):  # overflow and NaN are results like any other
            return OpResult(out, self._execute(frames, out))

    @abstractmethod
    def _execute(self, frames: Mapping[str, Buffer], out: Bytes) -> HailoStatus: ...

    def _input(self, name: str, role: str) -> OpInput:
        layer = self.inputs.get(name)
        if layer is None:
            raise invalid(f"the op has no input {name} ({role})")
        return layer


class NmsPostProcess(PostProcess):
    """A detection op: decodes its streams into detections, suppresses, writes BY_CLASS or BY_SCORE."""

    default_order = FormatOrder.HAILO_NMS_BY_CLASS
    allowed_orders = frozenset({FormatOrder.HAILO_NMS_BY_CLASS, FormatOrder.HAILO_NMS_BY_SCORE})

    def __init__(
        self, inputs: Iterable[OpInput], config: NmsConfig, user: Format | None = None, *, runtime: str
    ) -> None:
        super().__init__(inputs, user or Format(FormatType.AUTO, FormatOrder.AUTO), runtime)
        self.config = config
        if config.classes < int(config.background_removal):
            raise invalid(f"background removal from {config.classes} classes")
        self.user = self._expanded(self.user)
        self._validate_output()
        self._validate_inputs()

    @property
    def nms_shape(self) -> NmsShape:
        """As the output vstream's info reports it: classes without the background (stream-infos.md 5)."""
        config = self.config
        return NmsShape(
            config.classes - (1 if config.background_removal else 0),
            config.max_proposals_per_class,
            config.max_proposals_total,
        )

    @property
    def frame_size(self) -> int:
        return nms_frame_size(self.nms_shape, self.user.order, self.runtime)

    def configure(
        self,
        *,
        score_threshold: float | None = None,
        iou_threshold: float | None = None,
        max_proposals_per_class: int | None = None,
        max_proposals_total: int | None = None,
    ) -> None:
        """Change thresholds and limits as InferModel's setters do, the frame size with them.

        HAILO_INVALID_ARGUMENT: a limit per class with BY_SCORE, a total limit with BY_CLASS (netflow-nms.md 9.3).
        """
        config = self.config
        if score_threshold is not None:
            config = replace(config, score_threshold=float(np.float32(score_threshold)))
        if iou_threshold is not None:
            config = replace(config, iou_threshold=float(np.float32(iou_threshold)))
        if max_proposals_per_class is not None:
            if self.user.order is FormatOrder.HAILO_NMS_BY_SCORE:
                raise invalid("max_proposals_per_class cannot be set with HAILO_NMS_BY_SCORE")
            config = replace(config, max_proposals_per_class=max_proposals_per_class)
        if max_proposals_total is not None:
            if self.user.order is FormatOrder.HAILO_NMS_BY_CLASS:
                raise invalid("max_proposals_total cannot be set with HAILO_NMS_BY_CLASS")
            config = replace(config, max_proposals_total=max_proposals_total)
        self.config = config

    def _expanded(self, user: Format) -> Format:
        order = self.default_order if user.order is FormatOrder.AUTO else user.order
        type = user.type
        if type is FormatType.AUTO:
            type = self._packed_type if order in PACKED_ORDERS else FormatType.FLOAT32
        return Format(type, order, user.flags)

    def _validate_output(self) -> None:
        order, type = self.user.order, self.user.type
        if order not in self.allowed_orders:
            allowed = " or ".join(sorted(allowed.name for allowed in self.allowed_orders))
            raise invalid(f"output order {order.name} is not supported, it must be {allowed}")
        expected = self._packed_type if order in PACKED_ORDERS else FormatType.FLOAT32
        if type is not expected:
            raise invalid(
                f"output type {type.name} is not supported, HailoRT {self.runtime} gives {order.name} as"
                f" {expected.name}"
            )
        if self.user.flags & FormatFlags.TRANSPOSED:
            raise invalid("an NMS output cannot be transposed")

    def _validate_inputs(self) -> None:
        """NHCW, one 8 or 16-bit type, and frames the pipeline hands over unchanged."""
        types = {layer.format.type for layer in self.inputs.values()}
        for layer in self.inputs.values():
            if layer.format.order is not FormatOrder.NHCW:
                raise invalid(f"stream {layer.name} is {layer.format.order.name}, an NMS op reads NHCW")
            if layer.format.type not in (FormatType.UINT8, FormatType.UINT16) or self._mixes(types):
                raise invalid(
                    f"stream {layer.name} is {layer.format.type.name}: all inputs must be UINT8 or all UINT16"
                )
            if layer.format.flags & FormatFlags.TRANSPOSED:
                raise invalid(f"stream {layer.name} is transposed, an NMS op reads frames as they come")
            require_valid(layer.quant_info, f"stream {layer.name}")

    def _mixes(self, types: set[FormatType]) -> bool:
        return len(types) > 1

    @abstractmethod
    def detect(self, frames: Mapping[str, Buffer]) -> Detections:
        """All detections that reach the score threshold, in the library's generation order."""

    def _execute(self, frames: Mapping[str, Buffer], out: Bytes) -> HailoStatus:
        config = self.config
        by_score = self.user.order is FormatOrder.HAILO_NMS_BY_SCORE
        detections, counts = remove_overlapping(
            self.detect(frames),
            config.classes,
            config.iou_threshold,
            config.cross_classes,
            enough=None if by_score else config.max_proposals_per_class,
        )
        if by_score:
            fill_by_score(detections, config, out)
        else:
            fill_by_class(detections, counts, config, out)
        return HailoStatus.HAILO_SUCCESS


def passing(layer: OpInput, codes: Codes, threshold: float, prefilter: bool) -> NDArray[np.bool_]:
    """Which codes de-quantise to at least `threshold`, and with the pre-filter are not below its own code."""
    lowest = lowest_passing_code(layer, threshold, prefilter)
    if lowest is not None:
        return codes >= lowest if lowest <= np.iinfo(codes.dtype).max else np.zeros(codes.shape, np.bool_)
    mask: NDArray[np.bool_] = layer.dequantize(codes) >= np.float32(threshold)
    return mask & (codes >= layer.threshold_code(threshold)) if prefilter else mask


def lowest_passing_code(layer: OpInput, threshold: float, prefilter: bool) -> int | None:
    """The first code from which on all codes pass; the type's maximum + 1 if none does, None if it is not monotonic."""
    key = (threshold, prefilter)
    if key not in layer.lowest_codes:
        layer.lowest_codes[key] = _lowest_passing_code(layer, threshold, prefilter)
    return layer.lowest_codes[key]


def _lowest_passing_code(layer: OpInput, threshold: float, prefilter: bool) -> int | None:
    dtype = dtype_of(layer.format.type)
    with np.errstate(all="ignore"):
        mask = layer.dequantize(np.arange(np.iinfo(dtype).max + 1).astype(dtype)) >= np.float32(threshold)
    lowest = int(np.argmax(mask)) if mask.any() else mask.size
    if not mask[lowest:].all():
        return None
    return max(lowest, layer.threshold_code(threshold)) if prefilter else lowest


def exp32(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """expf of glibc: evaluated in double, rounded once (netflow-nms.md 12)."""
    with np.errstate(all="ignore"):
        result: NDArray[np.float32] = np.exp(values.astype(np.float64)).astype(np.float32)
    return result
