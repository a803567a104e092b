"""HailoRT's Python API by its own names, answered by a simulated device (docs/applications.md).

`import hailo_platform` finds it under `emu exec`, in a test with the fixture `hailo_platform`, and after `install()`.
Environment: EMU_DEVICE, EMU_RUNTIME, EMU_PACE.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.hailo_platform.engine import clock as clock
    from emu.hailo_platform.exceptions import HailoRTNotImplemented as HailoRTNotImplemented
    from emu.hailo_platform.installation import install as install
    from emu.hailo_platform.installation import uninstall as uninstall
    from emu.hailo_platform.pyhailort.pyhailort import (
        HEF,
        AsyncInferJob,
        AveragingFactor,
        ConfigureParams,
        Device,
        DvmTypes,
        Endianness,
        FormatOrder,
        FormatType,
        HailoCommunicationClosedException,
        HailoCpuId,
        HailoFormatFlags,
        HailoPowerMode,
        HailoRTException,
        HailoRTStreamAbortedByUser,
        HailoSchedulingAlgorithm,
        HailoStreamDirection,
        HailoStreamInterface,
        InferVStreams,
        InputVStreamParams,
        InputVStreams,
        MeasurementBufferIndex,
        OutputVStreamParams,
        OutputVStreams,
        PcieDevice,
        PowerMeasurementTypes,
        SamplingPeriod,
        VDevice,
    )

# parts of HailoRT's own list that are not built: asked for, they say so
_NOT_BUILT = ("EthernetDevice", "UDPRateLimiter", "HailoSession", "HailoSessionListener")

# names of emu's own, which `import *` leaves out -> the module that has them
_OWN = {
    "HailoRTNotImplemented": "exceptions",
    "clock": "engine",
    "install": "installation",
    "uninstall": "installation",
}

__all__ = [
    "HEF",
    "AsyncInferJob",
    "AveragingFactor",
    "ConfigureParams",
    "Device",
    "DvmTypes",
    "Endianness",
    "FormatOrder",
    "FormatType",
    "HailoCommunicationClosedException",
    "HailoCpuId",
    "HailoFormatFlags",
    "HailoPowerMode",
    "HailoRTException",
    "HailoRTStreamAbortedByUser",
    "HailoSchedulingAlgorithm",
    "HailoStreamDirection",
    "HailoStreamInterface",
    "InferVStreams",
    "InputVStreamParams",
    "InputVStreams",
    "MeasurementBufferIndex",
    "OutputVStreamParams",
    "OutputVStreams",
    "PcieDevice",
    "PowerMeasurementTypes",
    "SamplingPeriod",
    "VDevice",
    "join_drivers_path",
]


def join_drivers_path(path: str) -> str:
    """Where HailoRT's package would keep its drivers."""
    return str(Path(__file__).parent / "drivers" / path)


def __getattr__(name: str) -> Any:
    """Load what is asked for; the import alone costs next to nothing."""
    if name == "__version__":
        from emu.hailo_platform.environment import environment

        return environment().version
    if name in _NOT_BUILT:
        from emu.hailo_platform.exceptions import HailoRTNotImplemented

        raise HailoRTNotImplemented(f"hailo_platform.{name}")
    if name not in _OWN and name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_OWN.get(name, 'pyhailort.pyhailort')}")
    found = globals()[name] = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_OWN})
