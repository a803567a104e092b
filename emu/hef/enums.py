"""The enums of the schema, with the common prefixes of their values left out.

Values outside an enum survive parsing (proto3 enums are open), so a field of the model is `Enum | int`; `known` gives
the member where there is one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeVar

E = TypeVar("E", bound=IntEnum)


class HwArch(IntEnum):
    """What a HEF was compiled for (hef-container.md 5)."""

    HAILO8 = 0
    HAILO8P = 1
    HAILO8R = 2
    HAILO8L = 3
    HAILO15M = 4
    HAILO10H = 5
    HAILO15L = 6
    SAGE_A0 = 100
    SAGE_B0 = 101
    PAPRIKA_B0 = 102
    HAILO1XH = 103
    GINGER = 104
    LAVENDER = 105
    PLUTO = 106
    MARS = 108


class ExtensionType(IntEnum):
    """type_index of `extensions` and `optional_extensions` (hef-container.md 4.1)."""

    ABBALE = 0
    POSTED_WRITES = 1
    DDR = 2
    PADDED_DDR_BUFFERS = 3
    IS_MULTI_CONTEXTS = 4
    COMPRESSED_PARAMS = 5
    TRANSPOSE_COMPONENT = 6
    TEST_ONE = 7
    MULTI_NETWORK_VARIABLE_BATCH_SIZE = 8
    IS_NMS_MULTI_CONTEXT = 9
    OFFLOAD_ARGMAX = 10
    HW_PADDING = 11
    KO_RUN_ASAP = 12
    HAILO_NET_FLOW = 13
    HAILO_NET_FLOW_YOLOV5_NMS = 14
    HAILO_NET_FLOW_YOLOX_NMS = 15
    HAILO_NET_FLOW_SSD_NMS = 16
    HAILO_NET_FLOW_IOU_NMS = 17
    WRITE_DATA_BY_TYPE = 18
    NMS_OUTPUT_BURST = 19
    DUAL_DIRECTION_STREAM_INDEX = 20
    HAILO_NET_FLOW_ARGMAX = 21
    HAILO_NET_FLOW_SOFTMAX = 22
    ALIGNED_FORMAT_TYPE = 23
    HAILO_NET_FLOW_YOLOV5_SEG_NMS = 24
    OUTPUT_SCALE_PER_FEATURE = 25
    PERIPH_CALCULATION_IN_HAILORT = 26
    HAILO_NET_FLOW_YOLOV8_NMS = 27
    BATCH_REGISTER_CONFIG = 28
    HAILO_NET_FLOW_BBOX_DECODING = 29
    CCW_PTR_SQUEEZE = 30
    EXTERNAL_RESOURCES = 31
    SHARED_CONFIG = 32
    CSM_CRC = 33
    ENABLE_CONFIG_CHANNELS = 34
    STRICT_RUNTIME_VERSIONING = 35


class LogitsType(IntEnum):
    """Kind of a logits op."""

    ARGMAX = 0
    SOFTMAX = 1


class FormatOrder(IntEnum):
    """Order of a pad; edge layers use the numbers of `EdgeLayerBase.format` instead."""

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


class DataType(IntEnum):
    """`Pad.data_bytes`."""

    UINT8 = 0
    UINT16 = 1


class FormatType(IntEnum):
    """`Pad.format_type`."""

    AUTO = 0
    UINT8 = 1
    UINT16 = 2


class DebugType(IntEnum):
    """`ActionDebug.type`."""

    SLEEP = 0
    HALT = 1


class WriteDataType(IntEnum):
    """What `ActionWriteDataByType` writes."""

    DATA_FROM_ACTION = 0
    BATCH_SIZE = 1


class EdgeLayerDirection(IntEnum):
    """Seen from the host: HOST_TO_DEVICE enters the context."""

    HOST_TO_DEVICE = 0
    DEVICE_TO_HOST = 1


class EdgeLayerType(IntEnum):
    """Which kind of layer an `EdgeLayer` holds."""

    INFO = 0
    MUX = 1
    PLANES = 2


class EPlanesFormat(IntEnum):
    """Format of a multi-planar input."""

    NV12 = 0
    NV21 = 1
    I420 = 2


class EdgeConnectionType(IntEnum):
    """Where the other end of an edge layer is."""

    BOUNDARY = 0
    INTERMEDIATE = 1
    DDR = 2
    CACHE = 3


class NmsBurstType(IntEnum):
    """How on-chip NMS delimits its output."""

    NO_BURST = 0
    H8_PER_CLASS = 1
    H15_PER_CLASS = 2
    H15_PER_FRAME = 3


def known(enum: type[E], value: int) -> E | int:
    """The member of `enum` with this value, or the plain number where the schema has none."""
    try:
        return enum(value)
    except ValueError:
        return int(value)
