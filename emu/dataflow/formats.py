"""One stream's frames, host side <-> device side: quantise, transpose, reorder, pad (transforms.md 3-5).

`InputTransform` and `OutputTransform` are HailoRT's transform contexts: built once per stream and user format, with
the same checks, then applied frame by frame. Host frames are the raw bytes or arrays of the user format, device frames
exactly the bytes that cross the stream (`hw_frame_size`). A fresh result buffer is zero; give `into` to have the bytes
that the library leaves alone keep their content.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.quantize import (
    dequantize,
    dequantize_per_feature,
    dtype_of,
    quantize,
    quantize_planes,
    require_valid,
)
from emu.dataflow.reorder import (
    FEW_FEATURES,
    Elements,
    fills,
    input_reorder,
    nhcw_planes,
    output_reorder,
    should_reorder,
    transpose,
)
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import (
    HW_FRAME_ALIGNMENT,
    Format,
    FormatFlags,
    FormatOrder,
    FormatType,
    QuantInfo,
    Shape,
    default_host_order,
    frame_size,
    hw_frame_size,
)

Bytes = NDArray[np.uint8]
Buffer = bytes | bytearray | memoryview | NDArray[Any]

# per-feature de-quantisation repeats each qp over as many elements; the orders missing here take the frame size in
# bytes for it and run out of the buffer (known-bugs.md 46)
_PER_FEATURE_ORDERS = frozenset(
    {
        FormatOrder.NHWC,
        FormatOrder.FCR,
        FormatOrder.F8CR,
        FormatOrder.NC,
        FormatOrder.RGB4,
        FormatOrder.NHCW,
    }
)

_ORDER_TEXTS = {
    FormatOrder.BAYER_RGB: "BAYER RGB",
    FormatOrder.BAYER_RGB_12_BIT: "12 BIT BAYER RGB",
    FormatOrder.RGB888: "RGB 888",
}


def order_text(order: FormatOrder) -> str:
    """The runtime's spelling of an order in its messages."""
    return _ORDER_TEXTS.get(order, order.name.removeprefix("HAILO_").replace("_", " "))


def expand_auto(user: Format, device: Format) -> Format:
    """AUTO order and type -> what they stand for on a stream of `device` (transforms.md 1)."""
    order = default_host_order(device.order) if user.order is FormatOrder.AUTO else user.order
    type = user.type
    if type is FormatType.AUTO:
        type = FormatType.FLOAT32 if device.order is FormatOrder.HAILO_NMS_ON_CHIP else device.type
    return Format(type, order, user.flags)


def as_bytes(frame: Buffer, size: int, what: str) -> Bytes:
    """`frame` as a flat array of exactly `size` bytes, without a copy where that is possible; else INVALID_ARGUMENT."""
    flat = np.ascontiguousarray(frame).reshape(-1) if isinstance(frame, np.ndarray) else np.frombuffer(frame, np.uint8)
    flat = flat.view(np.uint8)
    if flat.size != size:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{what}: {flat.size} bytes given, {size} expected")
    return flat


def _writable(into: Bytes | None, size: int, what: str, filled: bool = False) -> Bytes:
    if into is None:
        return np.empty(size, np.uint8) if filled else np.zeros(size, np.uint8)
    if into.dtype != np.uint8 or into.size != size or not into.flags.c_contiguous:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{what}: {into.size} bytes given, {size} expected")
    return into.reshape(-1)


def _is_transposed(format: Format) -> bool:
    return bool(format.flags & FormatFlags.TRANSPOSED)


class _Transform:
    """What both directions share: formats, shapes, and which steps are needed."""

    def __init__(
        self, shape: Shape, user: Format, hw_shape: Shape, device: Format, qps: Sequence[QuantInfo], is_input: bool
    ) -> None:
        if device.type not in (FormatType.UINT8, FormatType.UINT16):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, f"a device stream has no elements of type {device.type.name}"
            )
        if len(qps) == 1:
            require_valid(qps[0])
        self.shape = shape
        self.hw_shape = hw_shape
        self.device = device
        self.user = expand_auto(user, device)
        self.qps = tuple(qps)
        self._code_dtype = dtype_of(device.type)
        self._require_bayer(is_input)
        if self.user.type is FormatType.UINT8 and device.type is FormatType.UINT16 and not is_input:
            raise self._narrowing()
        if self.user.type is FormatType.UINT16 and device.type is FormatType.UINT8 and is_input:
            raise self._narrowing()
        self.user_frame_size = frame_size(shape, self.user)
        self.hw_frame_size = hw_frame_size(hw_shape, device)
        self.quantizes = self.user.type is not device.type
        self.transposes = _is_transposed(self.user) is not _is_transposed(device)
        src, dst = (shape, hw_shape) if is_input else (hw_shape, shape)
        orders = (self.user.order, device.order) if is_input else (device.order, self.user.order)
        self.reorders = should_reorder(src, orders[0], dst, orders[1])
        # of the destination's elements, whichever side it is on
        destination = device.type if is_input else self.user.type
        self.pads = dst.elements * destination.element_bytes % HW_FRAME_ALIGNMENT != 0
        self._src_shape, self._dst_shape = src, dst
        self._orders = orders

    @property
    def required(self) -> bool:
        """False where the library hands the frame through without a copy."""
        return self.quantizes or self.transposes or self.reorders or self.pads

    @property
    def description(self) -> str:
        """HailoRT's own words for the steps, as its pipeline listing shows them."""
        src, dst = self._src_shape, self._dst_shape
        types = (self.user.type, self.device.type)
        if src is self.hw_shape:
            types = (self.device.type, self.user.type)
        steps = []
        if self.quantizes:
            qp = self.qps[0]
            steps.append(
                f"Quantization - src_type: {types[0].name}, dst_type {types[1].name}, "
                f"limvals_min: {qp.limvals_min:g}, limvals_max: {qp.limvals_max:g}"
            )
        if self.transposes:
            steps.append(f"Transpose - src_shape: {tuple(src)}, dst_shape: {tuple(src.transposed())}")
        if self.reorders:
            steps.append(
                f"Reorder - src_order: {order_text(self._orders[0])}, src_shape: {tuple(src)}, "
                f"dst_order: {order_text(self._orders[1])}, dst_shape: {tuple(dst)}"
            )
        if self.pads:
            steps.append(f"Padding Periph shape - src_shape: {tuple(src)}, dst_shape: {tuple(dst)}")
        return " | ".join(steps)

    def _require_bayer(self, is_input: bool) -> None:
        bayer = (FormatOrder.BAYER_RGB, FormatOrder.BAYER_RGB_12_BIT) if is_input else (FormatOrder.BAYER_RGB,)
        if self.device.order in bayer and self.user.order is self.device.order:
            features = (self.shape.features,) if is_input else (self.shape.features, self.hw_shape.features)
            if any(count != 1 for count in features):
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"{self.device.order.name} frames have one feature, not {features[0]}",
                )

    def _narrowing(self) -> HailoError:
        return HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"{self.user.type.name} user frames and a {self.device.type.name} stream: one would have to be narrowed",
        )

    def _transpose_scratch(self) -> Elements:
        """The library's transpose buffer: element count of the shape, so unaligned RGB4 rows do not fit."""
        aligned = frame_size(self.shape, Format(self.device.type, self.user.order)) // self._code_dtype.itemsize
        if aligned != self.shape.elements:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{self.user.order.name} rows of {self.shape.width * self.shape.features} elements are padded to 4 and"
                " cannot be transposed",
            )
        return np.zeros(self.shape.elements, self._code_dtype)


class InputTransform(_Transform):
    """Host frame -> stream bytes.

    `shape` is the host's, `hw_shape` the device's; `user` may hold AUTO. Raises HAILO_INVALID_ARGUMENT for types that
    cannot be converted and for per-feature quant infos given as one.
    """

    def __init__(self, shape: Shape, user: Format, hw_shape: Shape, device: Format, qps: Sequence[QuantInfo]) -> None:
        super().__init__(shape, user, hw_shape, device, qps, is_input=True)
        # clearing a frame costs as much as copying one
        aligned = self.hw_frame_size == hw_shape.elements * device.type.element_bytes
        self._fills = aligned and not self.transposes and fills(*self._orders, shape, hw_shape)
        self._plane_by_plane = (
            self.user.type is FormatType.FLOAT32
            and not self.transposes
            and self._orders == (FormatOrder.NHWC, FormatOrder.NHCW)
            and 1 < shape.features <= FEW_FEATURES
        )

    def __call__(self, frame: Buffer, into: Bytes | None = None) -> Bytes:
        """`hw_frame_size` bytes; `frame` must have `user_frame_size` bytes (HAILO_INVALID_ARGUMENT)."""
        src_bytes = as_bytes(frame, self.user_frame_size, "input frame")
        out = _writable(into, self.hw_frame_size, "stream frame", self._fills)
        dst = out.view(self._code_dtype)
        moves = self.transposes or self.reorders
        src: Elements = src_bytes.view(dtype_of(self.user.type))
        if self._plane_by_plane:
            quantize_planes(src.reshape(self.shape), self.qps[0], nhcw_planes(dst, self.shape, self.hw_shape))
            return out
        if self.quantizes:
            src = self._quantize(src, None if moves else dst)
        if not moves:
            # the alignment tail is not written (known-bugs.md 43)
            if src.size != self.hw_shape.elements:
                raise self._size_mismatch(src.size)
            if not self.quantizes:
                dst[: src.size] = src
            return out
        shape = self.shape
        if self.transposes:
            target = self._transpose_scratch() if self.reorders else dst
            transpose(src, shape, self.user.order, target)
            src, shape = target, shape.transposed()
        if self.reorders:
            reorder = input_reorder(self.user.order, self.device.order)
            if self.user.order is FormatOrder.RGB4 and src.size * src.itemsize < frame_size(
                shape, Format(self.device.type, FormatOrder.RGB4)
            ):
                raise self._size_mismatch(src.size)
            reorder(src, shape, dst, self.hw_shape)
        return out

    def _quantize(self, src: Elements, dst: Elements | None) -> Elements:
        """Codes of the frame, in `dst` if given. Only height*width*features elements are converted, so the last
        elements of padded RGB4 rows stay zero (known-bugs.md 44)."""
        count = self.shape.elements
        if dst is None:
            dst = (np.empty if count == src.size else np.zeros)(src.size, self._code_dtype)
        if self.user.type is FormatType.FLOAT32:
            quantize(src[:count], self.qps[0], self._code_dtype, out=dst[:count])
        else:
            dst[:count] = src[:count]
        return dst[: src.size]

    def _size_mismatch(self, elements: int) -> HailoError:
        return HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"{elements} elements in order {self.user.order.name} cannot be read as"
            f" {tuple(self.shape)} for a stream of {tuple(self.hw_shape)}",
        )


class OutputTransform(_Transform):
    """Stream bytes -> host frame. More than one quant info de-quantises per feature."""

    def __init__(self, shape: Shape, user: Format, hw_shape: Shape, device: Format, qps: Sequence[QuantInfo]) -> None:
        super().__init__(shape, user, hw_shape, device, qps, is_input=False)

    def __call__(self, frame: Buffer, into: Bytes | None = None) -> Bytes:
        """`user_frame_size` bytes; `frame` must have `hw_frame_size` bytes (HAILO_INVALID_ARGUMENT)."""
        src: Elements = as_bytes(frame, self.hw_frame_size, "stream frame").view(self._code_dtype)
        out = _writable(into, self.user_frame_size, "output frame")
        # the library reorders into the user's buffer and widens it there, so untouched codes are the buffer's
        count = self.shape.elements
        codes = out[: count * self._code_dtype.itemsize].view(self._code_dtype)
        if self.quantizes:
            codes = codes.copy()
        if self.reorders:
            reorder = output_reorder(self.device.order, self.user.order)
            if self.transposes:
                scratch = self._transpose_scratch()
                reorder(src, self.hw_shape, scratch, self.shape.transposed())
                transpose(scratch, self.shape.transposed(), self.user.order, codes)
            else:
                reorder(src, self.hw_shape, codes, self.shape)
        elif self.transposes:
            transpose(src, self.shape, self.user.order, codes)
        else:
            codes[:] = src[:count]
        if self.quantizes:
            out.view(dtype_of(self.user.type))[:count] = self._widen(codes)
        return out

    def _widen(self, codes: Elements) -> Elements:
        if self.user.type is not FormatType.FLOAT32 or self.user.order is FormatOrder.NHW:
            return codes  # NHW holds argmax indices: cast, never scaled
        if all(qp == self.qps[0] for qp in self.qps):
            return dequantize(codes, self.qps[0])
        if self.user.order not in _PER_FEATURE_ORDERS:
            raise HailoError(
                HailoStatus.HAILO_INVALID_OPERATION,
                f"per-feature quantisation cannot be undone in order {self.user.order.name}: the library would write"
                " outside the frame",
            )
        repetition = self.shape.width if self.user.order is FormatOrder.NHCW else 1
        return dequantize_per_feature(codes, self.qps, repetition)
