"""Whether a runtime configures a HEF on a device, and with which of its alternatives (hef-container.md 4.3, 5)."""

from __future__ import annotations

from functools import cache

from emu.chips.runtimes import (
    DeviceProfile,
    RuntimeProfile,
    accepted_archs,
    device_names,
    device_profile,
    runtime_names,
    runtime_profile,
)
from emu.chips.support import unsupported
from emu.errors import HailoStatus, IncompatibleError
from emu.hef import Hef
from emu.hef.enums import HwArch
from emu.hef.load import MULTI_LAYOUT_ARCHS, alternatives
from emu.hef.model import CoreOp, NetworkGroup
from emu.sequencer.host import HostSettings


def _arch_name(hw_arch: int) -> str:
    try:
        return HwArch(hw_arch).name
    except ValueError:
        return str(int(hw_arch))


def check_compatible(hef: Hef, runtime: RuntimeProfile, device: DeviceProfile) -> None:
    """IncompatibleError 93 where the runtime does not configure this architecture on the device."""
    if runtime.m4_memory_for == "device" and device.integrated:
        raise IncompatibleError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"HailoRT {runtime.name} opens {device.name} with memory that the driver maps for its M4 core, which this "
            "host has not",
        )
    hw_arch = hef.header.hw_arch
    archs = accepted_archs(runtime, device)
    if hw_arch in archs:
        return
    if not archs:
        raise hef.version.incompatible(HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE, unsupported(runtime, device))
    accepted = ", ".join(sorted(_arch_name(arch) for arch in archs))
    raise hef.version.incompatible(
        HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE,
        f"a HEF of architecture {_arch_name(hw_arch)} does not run on {device.name} with HailoRT {runtime.name}, "
        f"which accepts {accepted}; {_who_takes(int(hw_arch))}",
    )


@cache
def _who_takes(hw_arch: int) -> str:
    """The devices that an architecture runs on, each with the releases that configure it."""
    found: dict[tuple[str, ...], list[str]] = {}
    for device in device_names():
        releases = tuple(
            name for name in runtime_names() if hw_arch in accepted_archs(runtime_profile(name), device_profile(device))
        )
        if releases:
            found.setdefault(releases, []).append(device)
    taken = [
        f"{' or '.join(devices)} (HailoRT {releases[0]}{f' to {releases[-1]}' if len(releases) > 1 else ''})"
        for releases, devices in found.items()
    ]
    return f"it is for {', '.join(taken)}" if taken else "no device here takes it: compile the model for the device"


def check_layout(runtime: RuntimeProfile, device: DeviceProfile, layout: int | None) -> None:
    """IncompatibleError 8 where the runtime cannot open the device without its cluster layout."""
    if runtime.checks_layout and device.has_layouts and device.default_layout is None and layout is None:
        raise IncompatibleError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"HailoRT {runtime.name} does not open a {device.name} without its cluster layout",
        )


def check_strict_version(hef: Hef, runtime: RuntimeProfile, settings: HostSettings) -> None:
    """IncompatibleError 26 where STRICT_RUNTIME_VERSIONING asks for another library (hef-container.md 4.3)."""
    if not (runtime.strict_versioning and hef.features.strict_versioning):
        return
    if settings.is_on("HAILO_IGNORE_STRICT_VERSION"):
        return
    version = hef.header.sdk_version
    wanted = (version.sdk_version_major, version.sdk_version_minor)
    if wanted != runtime.version[:2]:
        library = ".".join(map(str, runtime.version))
        raise IncompatibleError(
            HailoStatus.HAILO_INVALID_HEF,
            f"compiled for exactly HailoRT {wanted[0]}.{wanted[1]}.{version.sdk_version_revision}, this is {library}",
        )


def select_core_op(
    hef: Hef, group: NetworkGroup, device: DeviceProfile, layout: int | None, settings: HostSettings
) -> CoreOp:
    """The core op for the device's cluster layout (hef-container.md 5.2).

    `layout` counts on devices with layouts of their own; FORCE_LAYOUT_INTERNAL overrides it anywhere. A HEF of a
    multi-layout architecture has one core op per layout: IncompatibleError 26 where none fits. A device with all
    clusters takes the smallest bitmap.
    """
    layouts = alternatives(hef, group)
    hw_arch = hef.header.hw_arch
    if hw_arch not in MULTI_LAYOUT_ARCHS:
        return layouts[0][1]
    forced = settings.number("FORCE_LAYOUT_INTERNAL")
    key = forced
    if forced is None and device.has_layouts:
        key = device.default_layout if layout is None else layout
    by_layout = {bitmap: core_op for bitmap, core_op in layouts if bitmap is not None}
    if key is None and hw_arch in device.any_layout_of:
        return by_layout[min(by_layout)]
    chosen = by_layout.get(key) if key is not None else None
    if chosen is None:
        asked = "no cluster layout" if key is None else f"cluster layout {key}"
        raise IncompatibleError(
            HailoStatus.HAILO_INVALID_HEF,
            f"{device.name} with {asked}; network group {group.network_group_name} has layouts "
            f"{', '.join(map(str, sorted(by_layout)))}",
        )
    return chosen
