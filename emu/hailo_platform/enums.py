"""The enums of HailoRT's Python API: what is bound from C++ (`int()`, `str()` as there) and what is an IntEnum.

Names and numbers: pyhailort-api.md 1; hailort.h.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class BoundEnum(Enum):
    """As pybind11 binds a C enum: `int(x)` is the number, `str(x)` "FormatType.UINT8", never equal to a number."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)


class FormatType(BoundEnum):
    """Element type of a frame; AUTO is the device's own, FLOAT32 for NMS results."""

    AUTO = 0
    UINT8 = 1
    UINT16 = 2
    FLOAT32 = 3


class FormatOrder(BoundEnum):
    """Order of a frame's elements."""

    AUTO = 0
    NHWC = 1
    NHCW = 2
    FCR = 3
    F8CR = 4
    NHW = 5
    NC = 6
    BAYER_RGB = 7
    locals()["12_BIT_BAYER_RGB"] = 8  # no identifier: reached by getattr only, as in the real module
    HAILO_NMS = 9
    RGB888 = 10
    NCHW = 11
    YUY2 = 12
    NV12 = 13
    NV21 = 14
    YYUV = 15
    YYVU = 16
    RGB4 = 17
    I420 = 18
    YYYYUV = 19
    HAILO_NMS_WITH_BYTE_MASK = 20
    HAILO_NMS_ON_CHIP = 21
    HAILO_NMS_BY_CLASS = 22
    HAILO_NMS_BY_SCORE = 23


class FormatFlags(BoundEnum):
    """`hailo_format_flags_t`, without the QUANTIZED that Python never saw."""

    NONE = 0
    TRANSPOSED = 2

    def __or__(self, other: FormatFlags | int) -> int:
        return int(self) | int(other)

    def __and__(self, other: FormatFlags | int) -> int:
        return int(self) & int(other)


class StreamDirection(BoundEnum):
    """`hailo_stream_direction_t`."""

    H2D = 0
    D2H = 1


class StreamInterface(BoundEnum):
    """`hailo_stream_interface_t`."""

    PCIe = 0
    ETH = 1
    MIPI = 2
    INTEGRATED = 3


class PowerMode(BoundEnum):
    """`hailo_power_mode_t`; the simulated device is no slower in either."""

    PERFORMANCE = 0
    ULTRA_PERFORMANCE = 1


class SchedulingAlgorithm(BoundEnum):
    """`hailo_scheduling_algorithm_t`."""

    NONE = 0
    ROUND_ROBIN = 1


class LatencyMeasurementFlags(BoundEnum):
    """`hailo_latency_measurement_flags_t`."""

    NONE = 0
    MEASURE = 1
    CLEAR_AFTER_GET = 2


class CpuId(BoundEnum):
    """`hailo_cpu_id_t`."""

    CPU0 = 0
    CPU1 = 1


class Endianness(BoundEnum):
    """`hailo_endianness_t`."""

    BIG_ENDIAN = 0
    LITTLE_ENDIAN = 1


class DvmTypes(BoundEnum):
    """`hailo_dvm_options_t`: what a power measurement measures at."""

    VDD_CORE = 0
    VDD_IO = 1
    MIPI_AVDD = 2
    MIPI_AVDD_H = 3
    USB_AVDD_IO = 4
    VDD_TOP = 5
    USB_AVDD_IO_HV = 6
    AVDD_H = 7
    SDIO_VDD_IO = 8
    OVERCURRENT_PROTECTION = 9
    AUTO = 0x7FFFFFFF


class PowerMeasurementTypes(BoundEnum):
    """`hailo_power_measurement_types_t`: mV, mV, W, mA."""

    SHUNT_VOLTAGE = 0
    BUS_VOLTAGE = 1
    POWER = 2
    CURRENT = 3
    AUTO = 0x7FFFFFFF


class SamplingPeriod(BoundEnum):
    """`hailo_sampling_period_t`."""

    PERIOD_140us = 0
    PERIOD_204us = 1
    PERIOD_332us = 2
    PERIOD_588us = 3
    PERIOD_1100us = 4
    PERIOD_2116us = 5
    PERIOD_4156us = 6
    PERIOD_8244us = 7


class AveragingFactor(BoundEnum):
    """`hailo_averaging_factor_t`."""

    AVERAGE_1 = 0
    AVERAGE_4 = 1
    AVERAGE_16 = 2
    AVERAGE_64 = 3
    AVERAGE_128 = 4
    AVERAGE_256 = 5
    AVERAGE_512 = 6
    AVERAGE_1024 = 7


class MeasurementBufferIndex(BoundEnum):
    """`hailo_measurement_buffer_index_t`."""

    MEASUREMENT_BUFFER_INDEX_0 = 0
    MEASUREMENT_BUFFER_INDEX_1 = 1
    MEASUREMENT_BUFFER_INDEX_2 = 2
    MEASUREMENT_BUFFER_INDEX_3 = 3


class BootSource(BoundEnum):
    """`hailo_device_boot_source_t`."""

    INVALID = 0
    PCIE = 1
    FLASH = 2


class DeviceArchitectureTypes(IntEnum):
    """Devices as IDENTIFY numbers them; `str()` is the bare name."""

    HAILO8_A0 = 0
    HAILO8 = 1
    HAILO8L = 2
    HAILO15H = 3
    HAILO15L = 4
    HAILO15M = 5
    HAILO10H = 6
    HAILO12L = 7  # HailoRT's own list ends before it (hef-container.md 5)

    def __str__(self) -> str:
        return self.name


# the names under which the package shows what it binds
HailoFormatFlags = FormatFlags
HailoStreamDirection = StreamDirection
HailoStreamInterface = StreamInterface
HailoPowerMode = PowerMode
HailoSchedulingAlgorithm = SchedulingAlgorithm
HailoCpuId = CpuId
