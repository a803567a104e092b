"""What differs between runtimes and between devices when a HEF is compiled and run, as data.

A runtime is a file in `runtimes/`, a chip one in `chips/`; nothing else asks which runtime or device it works for.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from emu import catalog
from emu.chips.consts import HwConsts
from emu.errors import UsageError
from emu.hef.devices import ARCH_DEVICES as HEF_ARCH_DEVICES
from emu.hef.enums import HwArch

__all__ = [
    "DescriptorLimits",
    "DeviceProfile",
    "RuntimeProfile",
    "accepted_archs",
    "default_device",
    "device_names",
    "device_profile",
    "runtime_names",
    "runtime_profile",
]


class DescriptorLimits(Struct, frozen=True):
    """DescSizesParams of one buffer type (vdma.md 2.4)."""

    default_page_size: int
    min_page_size: int
    max_page_size: int
    min_count: int
    max_count: int


class DeviceProfile(Struct, frozen=True):
    """A device as the host sees it (vdma.md 1, 2.4, 6; cli.md for the constants).

    `architectures`: of the HEFs that it runs. `has_layouts`: parts are sold with some clusters off, and a HEF is
    compiled for each set of them. `any_layout_of`: architectures whose every layout runs on it; a Hailo-10H is none for
    a Hailo-15M HEF (capture-findings.md 13). `boundary_memory`: bytes of a boundary channel's queue (vdma.md 3.1).
    """

    name: str
    integrated: bool
    engines: int
    h2d_channels: range
    d2h_channels: range
    periph_alignment: int
    continuous_min_descriptors: int
    boundary_memory: int
    hw_consts: HwConsts
    architectures: frozenset[int]
    has_layouts: bool
    default_layout: int | None
    any_layout_of: frozenset[int]

    @property
    def attachment(self) -> str:
        """How runtimes name the way it is attached."""
        return "integrated" if self.integrated else "pcie"


class RuntimeProfile(Struct, frozen=True):
    """How one HailoRT version compiles and speaks (hef-compile.md 7, vdma.md, firmware-actions.md 5).

    `serves`: attachments of the devices that it has a driver for; `also_runs`: HEF architectures that it configures on
    a device besides that one's own; `checks_layout`: opens no device whose layout must be asked for without one;
    `m4_memory_for`: what needs memory that the driver maps for the M4 core (`lists` in DDR, the `device` itself), which
    no simulated host has. `buffers_by`: how the calls of its driver name buffers (address or handle); nothing: no card
    here speaks to it.

    `max_periph_bytes`, `max_padding`: in bytes, by attachment; `prefetch`: attachments of the devices that fetch their
    configuration in bursts. `null_streams`: the dummy stream of boundary channels that a context does not use, by HEF
    architecture, `device_null_streams` by device (hef-compile.md 4.5). `periph_buffers_limit` None: no limit.
    `zero_copy_min_section` None: no zero copy. `legacy_boundary_page`: knows HAILO_LEGACY_BOUNDARY_CHANNEL_PAGE_SIZE.
    `checks_config_channels`: more than `max_config_channels` are refused by the library, not only by the firmware.
    `queue_batches`: that a boundary queue holds; 0: as many as fit its memory. `validates_boundary`: VALIDATE for
    boundary layers at the end of a context. `switches_all_inputs`: a new batch size is told to the inputs of all
    contexts, not of the first alone. `programs_batches`: one program of a descriptor list may hold a batch of
    transfers. `cache_entries`: the list of a cache has a transfer for each entry, not one for its whole length.
    `cache_wait_first`: the wait for the caches stands before a frame, not behind it. `activates_next_context`: at the
    marker of ENABLE_CONFIG_CHANNELS.

    `sets_up_first`: its firmware sets up the layers of a context before it grants them frames, wherever the list does.
    `fields`: widths of action fields that are its own; `layouts`: what else lies on the wire (`emu.wire.layouts`).
    """

    name: str
    version: tuple[int, int, int]
    serves: frozenset[str]
    also_runs: Mapping[str, frozenset[int]]
    checks_layout: bool
    m4_memory_for: str
    buffers_by: str
    boundary_by_context: bool
    checks_config_channels: bool
    prefetch: frozenset[str]
    config_buffers_in_hash_order: bool
    descriptor_interrupts: bool
    zero_copy_min_section: int | None
    null_streams: Mapping[int, int]
    device_null_streams: Mapping[str, int]
    max_periph_bytes: Mapping[str, int]
    max_padding: Mapping[str, int]
    periph_buffers_limit: int | None
    checks_fifo_word: bool
    optimizes_credits: bool
    page_limit_clamps_default: bool
    queue_size_clamps: bool
    legacy_boundary_page: bool
    cache_wait_needs_flag: bool
    cache_pages: bool
    strict_versioning: bool
    split_allow_input: bool
    activates_next_context: bool
    queue_batches: int
    validates_boundary: bool
    switches_all_inputs: bool
    programs_batches: bool
    cache_entries: bool
    cache_wait_first: bool
    checks_config_channel_gaps: bool
    channel_id_shift: int
    max_applications: int
    action_list_sram: int
    max_config_channels: int
    hw_infer_channels: int
    asks_for_cache_offset: bool
    pauses: bool
    sets_up_first: bool
    fields: Mapping[str, str]
    layouts: Mapping[str, str]


def runtime_names() -> tuple[str, ...]:
    """All runtimes, the oldest first."""
    return catalog.names("runtimes")


def device_names() -> tuple[str, ...]:
    """All devices: those that HEFs name, in the order of hef-container.md 5.1's table, then any others."""
    listed = [name.lower() for names in HEF_ARCH_DEVICES.values() for name in names]
    return tuple(sorted(catalog.names("chips"), key=lambda name: listed.index(name) if name in listed else len(listed)))


# `library` is what emu.hef.runtime reads of the file
_SECTIONS = ("release", "driver", "compile", "library", "firmware", "fields", "layouts")


@catalog.forgetful
def runtime_profile(name: str) -> RuntimeProfile:
    """The profile of a runtime; UsageError for a name that has no file."""
    value = {key: entry.value for key, entry in catalog.quantities("runtimes", name).items()}
    parts: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    for key, entry in value.items():
        section, _, what = key.partition(".")
        if section not in parts:
            raise UsageError(f"runtime {name}: unknown section {section!r}, one of {', '.join(parts)}")
        parts[section][what] = entry
    compiling = parts["compile"]
    streams = {int(HwArch[arch]): stream for arch, stream in compiling["null_streams"].items()}
    release = parts["release"]
    major, minor, revision = release["version"]
    try:
        return RuntimeProfile(
            name=name,
            version=(major, minor, revision),
            serves=frozenset(release["serves"]),
            also_runs=MappingProxyType({device: _archs(archs) for device, archs in release["also_runs"].items()}),
            checks_layout=release["checks_layout"],
            m4_memory_for=release["m4_memory_for"],
            fields=MappingProxyType(parts["fields"]),
            layouts=MappingProxyType(parts["layouts"]),
            **parts["driver"],
            **parts["firmware"],
            **compiling
            | {
                "prefetch": frozenset(compiling["prefetch"]),
                "null_streams": MappingProxyType(streams),
                "device_null_streams": MappingProxyType(compiling["device_null_streams"]),
                "periph_buffers_limit": compiling["periph_buffers_limit"] or None,
                "zero_copy_min_section": compiling["zero_copy_min_section"] or None,
            },
        )
    except TypeError as error:
        raise UsageError(f"runtime {name}: {error}") from None


@catalog.forgetful
def device_profile(name: str) -> DeviceProfile:
    """The profile of a device; UsageError for a name that has no file."""
    value = {key: entry.value for key, entry in catalog.quantities("chips", name).items()}
    first, channels = value["counts.first_d2h_channel"], value["counts.channels_per_engine"]
    layouts = value["driver.layouts"]
    return DeviceProfile(
        name=name,
        integrated=value["host.reach"] != "driver",
        engines=value["counts.dma_engines"],
        h2d_channels=range(first),
        d2h_channels=range(first, channels),
        periph_alignment=value["driver.periph_alignment"],
        continuous_min_descriptors=value["driver.continuous_min_descriptors"],
        boundary_memory=value["driver.boundary_memory"],
        hw_consts=HwConsts(*value["identity.hw_consts"]),
        architectures=_archs(value["driver.architectures"]),
        has_layouts=layouts != "none",
        default_layout=value["identity.partial_clusters_layout_bitmap"] if layouts == "reported" else None,
        any_layout_of=_archs(value["driver.any_layout_of"]),
    )


def _archs(names: list[str]) -> frozenset[int]:
    return frozenset(int(HwArch[name]) for name in names)


def accepted_archs(runtime: RuntimeProfile, device: DeviceProfile) -> frozenset[int]:
    """HEF architectures that the runtime configures on the device; none where it has no driver for it."""
    if device.attachment not in runtime.serves:
        return frozenset()
    return device.architectures | runtime.also_runs.get(device.name, frozenset())


def default_device(hw_arch: int) -> str | None:
    """The first device of hef-container.md 5.1's table that is simulated; None for an architecture without one."""
    known = device_names()
    return next((name.lower() for name in HEF_ARCH_DEVICES.get(hw_arch, ()) if name.lower() in known), None)
