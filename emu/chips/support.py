"""Which releases serve a device at all."""

from __future__ import annotations

import re

from emu.chips.runtimes import (
    DeviceProfile,
    RuntimeProfile,
    accepted_archs,
    runtime_names,
    runtime_profile,
)
from emu.errors import HailoStatus, IncompatibleError
from emu.hef.runtime import spans


def check_supported(runtime: RuntimeProfile, device: DeviceProfile) -> None:
    """IncompatibleError 93 where no HEF runs on the device with this release."""
    if not accepted_archs(runtime, device):
        raise IncompatibleError(HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE, unsupported(runtime, device))


def unsupported(runtime: RuntimeProfile, device: DeviceProfile) -> str:
    """Which releases the device needs: the one asked for has no support of it."""
    able = [name for name in runtime_names() if accepted_archs(runtime_profile(name), device)]
    needs = f"{device.name} needs HailoRT {spans(able)}" if able else "no release that is known here has"
    return f"HailoRT {runtime.name} has no {_spoken(device.name)} support: {needs}"


def _spoken(device: str) -> str:
    """A device as people write it: Hailo-8L."""
    found = re.fullmatch(r"hailo(\d+)(\w*)", device)
    return device if found is None else f"Hailo-{found[1]}{found[2].upper()}"
