"""Formats, shapes and frame sizes: the vocabulary that stream infos and the data plane share.

Numbers are those of hailort.h (`hailo_format_order_t`, `hailo_format_type_t`, `hailo_format_flags_t`); the tables and
formulas are transforms.md 1 and 3 and netflow-nms.md 9 and 10.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum, IntFlag
from typing import NamedTuple

from msgspec import Struct

from emu.errors import HailoError, HailoStatus
from emu.hef.runtime import library_rules

UINT32_MAX = 0xFFFFFFFF
HW_FRAME_ALIGNMENT = 8  # bytes; what crosses a stream is a multiple of it on every architecture

# sizes of the packed result structs (netflow-nms.md 9)
BBOX_FLOAT32_BYTES = 20
DETECTION_BYTES = 22
NMS_COUNT_BYTES = 2  # the u16 in front of BY_SCORE and BYTE_MASK frames and of every class of an on-chip frame
MAX_LAYER_NAME = 127  # bytes without the closing NUL (hef-container.md 6.4)
MAX_DEFUSED_LAYERS = 9
BBOX_PARAMS = 5  # y_min, x_min, y_max, x_max, score


class FormatType(IntEnum):
    """Element type; the device knows only UINT8 and UINT16."""

    AUTO = 0
    UINT8 = 1
    UINT16 = 2
    FLOAT32 = 3

    @property
    def element_bytes(self) -> int:
        """Bytes of one element; AUTO has none (HAILO_INTERNAL_FAILURE)."""
        if self is FormatType.AUTO:
            raise HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, "format type AUTO has no element size")
        return 4 if self is FormatType.FLOAT32 else int(self)


class FormatFlags(IntFlag):
    """QUANTIZED is ignored by every supported runtime; TRANSPOSED means height and width are exchanged."""

    NONE = 0
    QUANTIZED = 1
    TRANSPOSED = 2


class FormatOrder(IntEnum):
    """Order of a frame's elements, on the device or on the host."""

    AUTO = 0
    NHWC = 1
    NHCW = 2
    FCR = 3
    F8CR = 4
    NHW = 5
    NC = 6
    BAYER_RGB = 7
    BAYER_RGB_12_BIT = 8
    HAILO_NMS = 9
    RGB888 = 10
    NCHW = 11
    YUY2 = 12
    NV12 = 13
    NV21 = 14
    HAILO_YYUV = 15
    HAILO_YYVU = 16
    RGB4 = 17
    I420 = 18
    HAILO_YYYYUV = 19
    HAILO_NMS_WITH_BYTE_MASK = 20
    HAILO_NMS_ON_CHIP = 21
    HAILO_NMS_BY_CLASS = 22
    HAILO_NMS_BY_SCORE = 23


HOST_NMS_ORDERS = frozenset(
    {
        FormatOrder.HAILO_NMS_WITH_BYTE_MASK,
        FormatOrder.HAILO_NMS_BY_CLASS,
        FormatOrder.HAILO_NMS_BY_SCORE,
    }
)
NMS_ORDERS = HOST_NMS_ORDERS | {FormatOrder.HAILO_NMS_ON_CHIP}

# `edge_layer_base.format` as the compiler numbers it -> device order (hef-container.md 7)
_DEVICE_ORDERS: dict[int, FormatOrder] = {
    0: FormatOrder.NHWC,
    1: FormatOrder.NHCW,
    2: FormatOrder.NC,
    3: FormatOrder.FCR,
    4: FormatOrder.BAYER_RGB,
    5: FormatOrder.NHW,
    6: FormatOrder.HAILO_NMS_ON_CHIP,
    7: FormatOrder.F8CR,
    8: FormatOrder.RGB888,
    11: FormatOrder.YUY2,
    13: FormatOrder.NHWC,
    14: FormatOrder.HAILO_YYUV,
    15: FormatOrder.HAILO_YYVU,
    16: FormatOrder.HAILO_YYYYUV,
}
COMPILER_FORMAT_NMS = 6

# device order -> host order that AUTO stands for
_DEFAULT_HOST_ORDERS: dict[FormatOrder, FormatOrder] = {
    FormatOrder.NHWC: FormatOrder.NHWC,
    FormatOrder.NHCW: FormatOrder.NHWC,
    FormatOrder.FCR: FormatOrder.FCR,
    FormatOrder.F8CR: FormatOrder.F8CR,
    FormatOrder.NHW: FormatOrder.NHW,
    FormatOrder.NC: FormatOrder.NC,
    FormatOrder.BAYER_RGB: FormatOrder.BAYER_RGB,
    FormatOrder.BAYER_RGB_12_BIT: FormatOrder.BAYER_RGB_12_BIT,
    FormatOrder.RGB888: FormatOrder.NHWC,
    FormatOrder.NCHW: FormatOrder.NCHW,
    FormatOrder.YUY2: FormatOrder.YUY2,
    FormatOrder.HAILO_YYUV: FormatOrder.NV12,
    FormatOrder.HAILO_YYVU: FormatOrder.NV21,
    FormatOrder.HAILO_YYYYUV: FormatOrder.I420,
    FormatOrder.HAILO_NMS_ON_CHIP: FormatOrder.HAILO_NMS_BY_CLASS,
}


def device_format_order(compiler_format: int) -> FormatOrder:
    """Device order of `edge_layer_base.format`; an unknown number is HAILO_INTERNAL_FAILURE."""
    order = _DEVICE_ORDERS.get(compiler_format)
    if order is None:
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"edge layer format {compiler_format} is none of the compiler's formats {sorted(_DEVICE_ORDERS)}",
        )
    return order


def default_host_order(device_order: FormatOrder) -> FormatOrder:
    """Host order that AUTO stands for on a stream of `device_order`; host-only orders stand for themselves."""
    return _DEFAULT_HOST_ORDERS.get(device_order, device_order)


def device_format_type(data_bytes: int) -> FormatType:
    """Device type of `edge_layer_base.data_bytes` (1 or 2, otherwise HAILO_INVALID_ARGUMENT)."""
    if data_bytes not in (1, 2):
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"data_bytes is {data_bytes}; the device knows only 1 and 2"
        )
    return FormatType(data_bytes)


class Shape(NamedTuple):
    """(height, width, features) in elements."""

    height: int
    width: int
    features: int

    @property
    def elements(self) -> int:
        return self.height * self.width * self.features

    def transposed(self) -> Shape:
        return Shape(self.width, self.height, self.features)


class QuantInfo(NamedTuple):
    """`hailo_quant_info_t`: real = (quantised - zp) * scale; every value is exactly a binary32 number."""

    zp: float
    scale: float
    limvals_min: float
    limvals_max: float


# stands for "several quant infos, ask the stream" (INVALID_QUANT_INFO)
INVALID_QUANT_INFO = QuantInfo(0.0, 0.0, 0.0, 0.0)
# of every op output that is not quantised
IDENTITY_QUANT_INFO = QuantInfo(0.0, 1.0, 0.0, 0.0)


class Format(Struct, frozen=True):
    """`hailo_format_t`."""

    type: FormatType
    order: FormatOrder
    flags: FormatFlags = FormatFlags.NONE


class NmsBurstType(IntEnum):
    """How an on-chip NMS stream delimits classes and images (netflow-nms.md 10)."""

    H8_BBOX = 0
    H15_BBOX = 1
    H8_PER_CLASS = 2
    H15_PER_CLASS = 3
    H15_PER_FRAME = 4


class NmsDefuseInfo(Struct, frozen=True):
    """Which part of a fused NMS layer a stream carries."""

    class_group_index: int
    original_name: str


class NmsInfo(Struct, frozen=True):
    """`hailo_nms_info_t`, of an on-chip NMS stream; `bbox_size` in bytes, `burst_size` in bboxes."""

    number_of_classes: int
    max_bboxes_per_class: int
    max_bboxes_total: int
    bbox_size: int
    chunks_per_frame: int
    is_defused: bool
    defuse_info: NmsDefuseInfo
    burst_size: int
    burst_type: NmsBurstType


class NmsShape(Struct, frozen=True):
    """`hailo_nms_shape_t`, of an NMS vstream; `max_accumulated_mask_size` in bytes."""

    number_of_classes: int
    max_bboxes_per_class: int
    max_bboxes_total: int
    max_accumulated_mask_size: int = 0


def align_up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def frame_size(shape: Shape, format: Format) -> int:
    """Bytes of a frame in `format`; rows of RGB4 are rounded up to 4 elements. Not for NMS orders."""
    row = shape.width * shape.features
    if format.order is FormatOrder.RGB4:
        row = align_up(row, 4)
    return shape.height * row * format.type.element_bytes


def hw_frame_size(hw_shape: Shape, format: Format) -> int:
    """Bytes that cross a stream per frame: the frame rounded up to 8. Not for NMS streams."""
    return align_up(frame_size(hw_shape, format), HW_FRAME_ALIGNMENT)


def nms_hw_frame_size(info: NmsInfo) -> int:
    """Bytes of an on-chip NMS frame as a stream read returns it (netflow-nms.md 10), saturated to 32 bits."""
    boxes = max(info.burst_size, info.max_bboxes_per_class)
    size = info.chunks_per_frame * info.number_of_classes * (NMS_COUNT_BYTES + info.bbox_size * boxes)
    return min(size + info.bbox_size * info.burst_size, UINT32_MAX)


def nms_frame_size(shape: NmsShape, order: FormatOrder, runtime: str) -> int:
    """Bytes of a host NMS frame in `order` (netflow-nms.md 9), saturated to 32 bits.

    BY_CLASS: classes * (f32 count + boxes); BY_SCORE: u16 count + detections; BYTE_MASK: u16 count, detections with
    the runtime's header, and the masks. Any other order is HAILO_INVALID_ARGUMENT.
    """
    if order is FormatOrder.HAILO_NMS_BY_CLASS:
        size = shape.number_of_classes * (4 + BBOX_FLOAT32_BYTES * shape.max_bboxes_per_class)
    elif order is FormatOrder.HAILO_NMS_BY_SCORE:
        size = NMS_COUNT_BYTES + DETECTION_BYTES * shape.max_bboxes_total
    elif order is FormatOrder.HAILO_NMS_WITH_BYTE_MASK:
        header = library_rules(runtime).mask_header_bytes
        size = NMS_COUNT_BYTES + header * shape.max_bboxes_total + shape.max_accumulated_mask_size
    else:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{order.name} is not an NMS order of the host")
    return min(size, UINT32_MAX)


def binary32(value: float) -> float:
    """The nearest binary32, as the runtime stores it; too large gives an infinity."""
    return ctypes.c_float(value).value


def shortest_binary32(value: float) -> float:
    """The number with the fewest decimal digits that rounds to the same binary32; its repr shows just those."""
    rounded = binary32(value)
    for digits in range(1, 10):
        candidate = float(f"{rounded:.{digits}g}")
        if binary32(candidate) == rounded:
            return candidate
    return rounded
