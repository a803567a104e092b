"""Whether a runtime configures a HEF on a device, and with which of its alternatives (hef-container.md 4.3, 5)."""

from __future__ import annotations

from emu.errors import HailoError, HailoStatus, IncompatibleError
from emu.hef import Hef
from emu.hef.enums import HwArch
from emu.hef.model import CoreOp, NetworkGroup
from emu.sequencer.host import HostSettings
from emu.sequencer.profiles import MULTI_LAYOUT_ARCHS, DeviceProfile, RuntimeProfile


def _arch_name(hw_arch: int) -> str:
    try:
        return HwArch(hw_arch).name
    except ValueError:
        return str(int(hw_arch))


def check_compatible(hef: Hef, runtime: RuntimeProfile, device: DeviceProfile) -> None:
    """IncompatibleError 93 where the runtime does not configure this architecture on the device."""
    hw_arch = hef.header.hw_arch
    if hw_arch in runtime.accepted_archs.get(device.name, frozenset()):
        return
    accepted = ", ".join(sorted(_arch_name(arch) for arch in runtime.accepted_archs.get(device.name, frozenset())))
    raise IncompatibleError(
        HailoStatus.HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE,
        f"a HEF of architecture {_arch_name(hw_arch)} does not run on {device.name} with HailoRT {runtime.name}, "
        f"which accepts {accepted or 'nothing there'}",
    )


def check_strict_version(hef: Hef, runtime: RuntimeProfile, settings: HostSettings) -> None:
    """IncompatibleError 26 where STRICT_RUNTIME_VERSIONING asks for another library (hef-container.md 4.3)."""
    if not (runtime.strict_versioning and hef.features.strict_versioning):
        return
    if settings.is_on("HAILO_IGNORE_STRICT_VERSION"):
        return
    version = hef.header.sdk_version
    wanted = (version.sdk_version_major, version.sdk_version_minor)
    if wanted != runtime.library_version[:2]:
        library = ".".join(map(str, runtime.library_version))
        raise IncompatibleError(
            HailoStatus.HAILO_INVALID_HEF,
            f"compiled for exactly HailoRT {wanted[0]}.{wanted[1]}.{version.sdk_version_revision}, this is {library}",
        )


def select_core_op(hef: Hef, group: NetworkGroup, device: DeviceProfile, layout: int | None) -> CoreOp:
    """The core op for the device's cluster layout (hef-container.md 5.2).

    A HEF of a multi-layout architecture has one per layout; IncompatibleError 26 where none fits. A device that has no
    layouts of its own takes the smallest bitmap.
    """
    core_op = group.core_op
    if core_op is None:
        raise HailoError(
            HailoStatus.HAILO_INVALID_HEF,
            f"network group {group.network_group_name} has no core op (the real program crashes)",
        )
    hw_arch = hef.header.hw_arch
    if hw_arch not in MULTI_LAYOUT_ARCHS:
        return core_op
    partials = core_op.partial_core_ops
    if not partials:
        raise HailoError(
            HailoStatus.HAILO_INVALID_HEF,
            f"network group {group.network_group_name} of a {_arch_name(hw_arch)} HEF has no partial layouts "
            "(the real program crashes)",
        )
    by_layout: dict[int, CoreOp] = {}
    for partial in partials:
        by_layout.setdefault(partial.layout.partial_clusters_layout_bitmap, partial.core_op)
    if device.name in _TAKES_ANY_LAYOUT.get(hw_arch, frozenset()):
        return by_layout[min(by_layout)]
    chosen = by_layout.get(layout) if layout is not None else None
    if chosen is None:
        asked = "no cluster layout" if layout is None else f"cluster layout {layout}"
        raise IncompatibleError(
            HailoStatus.HAILO_INVALID_HEF,
            f"{device.name} with {asked}; network group {group.network_group_name} has layouts "
            f"{', '.join(map(str, sorted(by_layout)))}",
        )
    return chosen


# devices with all clusters; a Hailo-10H counts as one only once a layout is given (capture-findings.md 13)
_TAKES_ANY_LAYOUT: dict[int, frozenset[str]] = {
    HwArch.HAILO8L: frozenset({"hailo8"}),
    HwArch.HAILO15M: frozenset({"hailo15h"}),
}
