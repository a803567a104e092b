"""Which runtimes configure a HEF on which devices, found by compiling it for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from emu.chips.runtimes import device_names, device_profile, runtime_names
from emu.errors import EmuError
from emu.hef import Hef
from emu.hef.load import MULTI_LAYOUT_ARCHS, check_load
from emu.hef.runtime import by_preference
from emu.sequencer.compile import CompileOptions, compile_hef


class Acceptance(Struct, frozen=True):
    """What one runtime says to one device; `device` None where it does not even load the file.

    `error` is None where it configures the file; `cluster_layouts` are then the layouts it does so with, empty for
    files and devices that have none. Of a release that is known by what it loads alone there is one answer, without a
    device: `error` None says that it loads the file.
    """

    runtime: str
    device: str | None
    error: EmuError | None
    cluster_layouts: tuple[int, ...] = ()


def acceptances(
    hef: Hef, devices: Iterable[str] | None = None, runtimes: Iterable[str] | None = None
) -> Iterator[Acceptance]:
    """The runtimes (None: all; `by_preference`) and the devices (None: all) in their order.

    The file is opened anew for each runtime, from the same bytes.
    """
    devices = device_names() if devices is None else tuple(devices)
    for runtime in by_preference(runtime_names() if runtimes is None else runtimes):
        try:
            opened = hef.reopen(runtime)
            check_load(opened)
        except EmuError as error:
            yield Acceptance(runtime, None, error)
            continue
        if opened.version.loads_only:
            yield Acceptance(runtime, None, None)
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
