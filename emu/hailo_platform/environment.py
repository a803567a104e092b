"""What the environment asks for: which device, which HailoRT, at which pace; and what is said once on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emu.errors import HailoError, HailoStatus, UsageError

if TYPE_CHECKING:
    from emu.host.jobs import Outputs
    from emu.host.references import ReferenceFor

REFERENCE = "EMU_REFERENCE"
COMPUTE = "EMU_COMPUTE"
CARD = "EMU_CARD"  # the name of the device that programs meet on (`emu.hailo_platform.card`)
# shown wherever HailoRT logs what it does not raise
PCIE_DEVICE_ID = "0000:01:00.0"
INTEGRATED_DEVICE_ID = "[integrated]"

_said: set[str] = set()
_reference: Outputs | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """EMU_DEVICE (hailo8), EMU_RUNTIME (4.23 for the Hailo-8 family, else 5.2), EMU_PACE (fast), EMU_COMPUTE: strict,
    partial, off, None: the default of `OpenDevice.configure(compute=None)`."""

    device: str
    runtime: str
    real_pace: bool
    compute: str | None = None

    @property
    def version(self) -> str:
        """HailoRT's own version, `4.23.0`."""
        return ".".join(map(str, self.version_numbers))

    @property
    def version_numbers(self) -> tuple[int, int, int]:
        """HailoRT's version, and that of the firmware: the library takes no other (driver-ioctl-4.23.md 2)."""
        from emu.chips.runtimes import runtime_profile

        return runtime_profile(self.runtime).version

    @property
    def device_id(self) -> str:
        """The id that `Device.scan` finds."""
        return device_id_of(self.device)


def device_id_of(device: str) -> str:
    """The id by which HailoRT finds the simulated device: a place on PCIe, or that it is in the processor."""
    from emu.chips.runtimes import device_profile

    return INTEGRATED_DEVICE_ID if device_profile(device).integrated else PCIE_DEVICE_ID


def require_there(device_ids: Iterable[str], device: str) -> None:
    """HailoError for an id that is not the simulated device's."""
    there = device_id_of(device)
    for one in device_ids:
        if one != there:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"no device {one!r:.80}, there is {there}")


def environment() -> Environment:
    """Read the environment; UsageError for a device, a runtime or a pace that does not exist."""
    from emu.catalog import names
    from emu.chips.runtimes import device_profile
    from emu.hef.runtime import default_runtime

    device = _one_of("EMU_DEVICE", names("chips"), "hailo8")
    default = default_runtime(min(device_profile(device).architectures)).name
    runtime = _one_of("EMU_RUNTIME", names("runtimes"), default)
    compute = _one_of(COMPUTE, ("", "strict", "partial", "off"), "")
    return Environment(device, runtime, _one_of("EMU_PACE", ("fast", "real"), "fast") == "real", compute or None)


def _one_of(variable: str, known: tuple[str, ...], default: str) -> str:
    value = os.environ.get(variable) or default
    if value not in known:
        raise UsageError(f"{variable}={value}: one of {', '.join(known)}")
    return value


def say_once(text: str) -> None:
    """A line on stderr that a user should have seen, the first time only."""
    if text not in _said:
        _said.add(text)
        sys.stderr.write(f"emu: {text}\n")
        sys.stderr.flush()


def bind_reference(outputs: Outputs | None) -> None:
    """What gives the device's output bytes from now on, in place of synthetic ones (`emu.host.jobs.Outputs`)."""
    global _reference
    _reference = outputs


def reference_for() -> ReferenceFor:
    """What gives the outputs of a group: the models of EMU_REFERENCE (`[GROUP=]FILE`, several as paths in PATH), else
    what is bound.

    UsageError for a file that is not there.
    """
    given = os.environ.get(REFERENCE)
    if not given:
        return lambda hef, group: _reference
    from emu.host.references import reference_files

    return reference_files(given.split(os.pathsep), REFERENCE)
