"""Which runtimes configure a HEF on which devices, found by compiling it for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from emu.errors import EmuError
from emu.hef import Hef
from emu.hef.load import MULTI_LAYOUT_ARCHS, check_load
from emu.hef.runtime import RUNTIMES
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.profiles import DEVICES, device_profile


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What one runtime says to one device; `device` None where it does not even load the file.

    `error` is None where it configures the file; `cluster_layouts` are then the layouts it does so with, empty for
    files and devices that have none.
    """

    runtime: str
    device: str | None
    error: EmuError | None
    cluster_layouts: tuple[int, ...] = ()


def acceptances(hef: Hef, devices: Iterable[str] = tuple(DEVICES)) -> Iterator[Acceptance]:
    """Both runtimes, all devices, in their order. The file is opened anew for each runtime, from the same bytes."""
    devices = tuple(devices)
    for runtime in map(str, RUNTIMES):
        try:
            opened = hef.reopen(runtime)
            check_load(opened)
        except EmuError as error:
            yield Acceptance(runtime, None, error)
            continue
        for device in devices:
            yield _try(opened, runtime, device)


def _try(hef: Hef, runtime: str, device: str) -> Acceptance:
    error, worked = None, []
    for layout in _layouts(hef, device):
        try:
            compile_hef(hef, CompileOptions(device=device, cluster_layout=layout))
        except EmuError as refused:
            error = error or refused
        else:
            worked.append(layout)
    if not worked:
        return Acceptance(runtime, device, error)
    return Acceptance(runtime, device, None, tuple(layout for layout in worked if layout is not None))


def _layouts(hef: Hef, device: str) -> list[int | None]:
    """The cluster layouts to try: those of the file where the device goes by one (hef-container.md 5.2)."""
    if hef.header.hw_arch not in MULTI_LAYOUT_ARCHS or not device_profile(device).has_layouts:
        return [None]
    bitmaps = {
        partial.layout.partial_clusters_layout_bitmap
        for group in hef.network_groups
        if group.core_op is not None
        for partial in group.core_op.partial_core_ops
    }
    return [*sorted(bitmaps)] or [None]
