"""`hailo_platform.pyhailort._pyhailort`: the compiled module's names that scripts import."""

from __future__ import annotations

from typing import Any

from emu.hailo_platform.enums import (
    AveragingFactor,
    CpuId,
    DvmTypes,
    Endianness,
    FormatFlags,
    FormatOrder,
    FormatType,
    LatencyMeasurementFlags,
    MeasurementBufferIndex,
    PowerMeasurementTypes,
    PowerMode,
    SamplingPeriod,
    SchedulingAlgorithm,
    StreamDirection,
    StreamInterface,
)
from emu.hailo_platform.exceptions import HailoRTStatusException
from emu.hailo_platform.infos import (
    HailoFormat,
    NetworkGroupInfo,
    NmsShape,
    QuantInfo,
    StreamInfo,
    VStreamInfo,
    numpy_dtype,
)
from emu.hailo_platform.params import (
    ActivateNetworkGroupParams,
    ConfigureParams,
    StreamParameters,
    VDeviceParams,
    VStreamParams,
)

__all__ = [
    "ActivateNetworkGroupParams",
    "AveragingFactor",
    "ConfigureParams",
    "CpuId",
    "DvmTypes",
    "Endianness",
    "FormatFlags",
    "FormatOrder",
    "FormatType",
    "HailoFormat",
    "HailoRTStatusException",
    "LatencyMeasurementFlags",
    "MeasurementBufferIndex",
    "NetworkGroupInfo",
    "NmsShape",
    "PowerMeasurementTypes",
    "PowerMode",
    "QuantInfo",
    "SamplingPeriod",
    "SchedulingAlgorithm",
    "StreamDirection",
    "StreamInfo",
    "StreamInterface",
    "StreamParameters",
    "VDeviceParams",
    "VStreamInfo",
    "VStreamParams",
    "get_dtype",
    "get_format_data_bytes",
    "get_status_message",
]


def get_dtype(format_type: FormatType) -> Any:
    """uint8, uint16 or float32."""
    return numpy_dtype(format_type)


def get_format_data_bytes(format: HailoFormat) -> int:
    """Bytes of an element."""
    return int(numpy_dtype(format.type).itemsize)


def get_status_message(status: int) -> str:
    """The name of a status, "" for a number that is none."""
    from emu.errors import HailoStatus

    try:
        return HailoStatus(status).name
    except ValueError:
        return ""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from emu.hailo_platform.environment import environment

        return environment().version
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
