"""emu: a software Hailo device.

The names below are the whole door (docs/api.md); each loads what it needs on first use, so that `import emu` loads
neither a reader nor a library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.errors import EmuError, FirmwareError, GraphError, HailoError, HailoStatus, IncompatibleError, UsageError
    from emu.graph.session import open_graph
    from emu.hef import open_hef
    from emu.host.device import open_device
    from emu.host.door import compile_hef, estimate, run

__version__ = "0.1.0"

# name -> the module that has it
_DOOR = {
    "open_hef": "emu.hef",
    "compile_hef": "emu.host.door",
    "open_device": "emu.host.device",
    "run": "emu.host.door",
    "estimate": "emu.host.door",
    "open_graph": "emu.graph.session",
    "EmuError": "emu.errors",
    "HailoError": "emu.errors",
    "IncompatibleError": "emu.errors",
    "UsageError": "emu.errors",
    "FirmwareError": "emu.errors",
    "GraphError": "emu.errors",
    "HailoStatus": "emu.errors",
}

__all__ = [
    "EmuError",
    "FirmwareError",
    "GraphError",
    "HailoError",
    "HailoStatus",
    "IncompatibleError",
    "UsageError",
    "compile_hef",
    "estimate",
    "open_device",
    "open_graph",
    "open_hef",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "hailo_platform":  # `import emu` is enough for emu.hailo_platform.install()
        return import_module("emu.hailo_platform")
    if name not in _DOOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_DOOR[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
