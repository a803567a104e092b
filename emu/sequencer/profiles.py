"""What differs between runtimes and between devices when a HEF is compiled, as data.

A new runtime is one more `RuntimeProfile` (and its columns in `actions.FIELDS`); a new chip one more `DeviceProfile`.
Nothing else in the sequencer asks which runtime or device it compiles for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from emu.errors import UsageError
from emu.hef.devices import ARCH_DEVICES as HEF_ARCH_DEVICES
from emu.hef.enums import HwArch
from emu.sequencer.control import HwConsts


class DescriptorLimits(NamedTuple):
    """DescSizesParams of one buffer type (vdma.md 2.4)."""

    default_page_size: int
    min_page_size: int
    max_page_size: int
    min_count: int
    max_count: int


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """A device as the host sees it (vdma.md 1, 2.4, 6; cli.md for the constants).

    `has_layouts`: parts are sold with some clusters off, and a HEF is compiled for each set of them. `any_layout_of`:
    architectures whose every layout runs on it; a Hailo-10H is none for a Hailo-15M HEF (capture-findings.md 13).
    """

    name: str
    integrated: bool
    engines: int
    h2d_channels: range
    d2h_channels: range
    periph_alignment: int
    continuous_min_descriptors: int
    hw_consts: HwConsts
    has_layouts: bool = False
    default_layout: int | None = None
    any_layout_of: frozenset[int] = frozenset()


_MIB = 1 << 20
BOUNDARY_MEMORY = 32 * _MIB
# what a real Hailo-8L with firmware 4.23 answers (cli.md)
_CONSTS_8 = HwConsts(8, 65535, 65535, 40960, 65536, 1, 65536)
# no public reading; the values of the captures (cli.md)
_CONSTS_1X = HwConsts(8, 65535, 65535, 4096, 65536, 0, 32768)
_H2D, _D2H = range(16), range(16, 32)

DEVICES: Mapping[str, DeviceProfile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            DeviceProfile("hailo8", False, 1, _H2D, _D2H, 8, 16, _CONSTS_8, any_layout_of=frozenset({HwArch.HAILO8L})),
            DeviceProfile("hailo8l", False, 1, _H2D, _D2H, 8, 16, _CONSTS_8, True, 51),
            DeviceProfile(
                "hailo15h", True, 3, _H2D, _D2H, 8, 16, _CONSTS_1X, any_layout_of=frozenset({HwArch.HAILO15M})
            ),
            DeviceProfile("hailo10h", True, 3, _H2D, _D2H, 8, 16, _CONSTS_1X),
            DeviceProfile("hailo15m", True, 3, _H2D, _D2H, 8, 16, _CONSTS_1X, True),
            DeviceProfile("hailo15l", True, 3, _H2D, _D2H, 8, 16, _CONSTS_1X),
            DeviceProfile("hailo12l", True, 3, range(24), range(24, 40), 16, 32, _CONSTS_1X),
        )
    }
)

# HEF architecture -> devices of cli.md, the first one the default; no HAILO8_A0 is simulated
ARCH_DEVICES: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {arch: tuple(name.lower() for name in names if name.lower() in DEVICES) for arch, names in HEF_ARCH_DEVICES.items()}
)


@dataclass(frozen=True, slots=True)
class RuntimeProfile:
    """How one HailoRT version compiles (hef-compile.md 7, vdma.md, firmware-actions.md 5).

    `accepted_archs`: HEF architectures per device. `max_config_channels` None: not checked, and the ids behind the
    fourth do not reach the wire (firmware-actions.md 5.1). `null_streams`: the dummy stream of boundary channels that a
    context does not use, per HEF architecture; None: the first edge layer of the opposite direction (hef-compile.md
    4.5). `boundary_memory`: bytes of a boundary channel's queue where a device has another limit than
    `BOUNDARY_MEMORY` (vdma.md 3.1). `legacy_boundary_page`: knows HAILO_LEGACY_BOUNDARY_CHANNEL_PAGE_SIZE.
    """

    name: str
    library_version: tuple[int, int, int]
    accepted_archs: Mapping[str, frozenset[int]]
    boundary_by_context: bool
    channel_id_shift: int
    max_config_channels: int | None
    prefetch: bool
    config_buffers_in_hash_order: bool
    descriptor_interrupts: bool
    zero_copy: bool
    zero_copy_min_section: int
    null_streams: Mapping[int, int] | None
    max_periph_bytes: int
    max_padding: int
    periph_buffers_limit: int | None
    checks_fifo_word: bool
    optimizes_credits: bool
    page_limit_clamps_default: bool
    boundary_memory: Mapping[str, int]
    queue_size_clamps: bool
    legacy_boundary_page: bool
    cache_wait_needs_flag: bool
    cache_pages: bool
    strict_versioning: bool
    ddr_action_list_threshold: int
    max_applications: int
    split_allow_input: bool
    checks_config_channel_gaps: bool


def _accepted(table: Mapping[str, tuple[HwArch, ...]]) -> Mapping[str, frozenset[int]]:
    return MappingProxyType({device: frozenset(map(int, archs)) for device, archs in table.items()})


_4_23 = RuntimeProfile(
    name="4.23",
    library_version=(4, 23, 0),
    # is_hef_compatible, then verify_legacy_hef_only: the Hailo-8 family alone (hef-container.md 5.1)
    accepted_archs=_accepted(
        {
            "hailo8": (HwArch.HAILO8P, HwArch.HAILO8R, HwArch.HAILO8L),
            "hailo8l": (HwArch.HAILO8L,),
        }
    ),
    boundary_by_context=False,
    channel_id_shift=5,
    max_config_channels=None,
    prefetch=False,
    config_buffers_in_hash_order=False,
    descriptor_interrupts=True,
    zero_copy=False,
    zero_copy_min_section=0,
    null_streams=None,
    max_periph_bytes=0x10000,
    max_padding=0xFFFF,
    periph_buffers_limit=0xFFFF,
    checks_fifo_word=True,
    optimizes_credits=True,
    page_limit_clamps_default=True,
    boundary_memory=MappingProxyType({}),
    queue_size_clamps=False,
    legacy_boundary_page=True,
    cache_wait_needs_flag=False,
    cache_pages=False,
    strict_versioning=False,
    ddr_action_list_threshold=75 * 1024,
    max_applications=32,
    split_allow_input=False,
    checks_config_channel_gaps=True,
)

_5_2 = RuntimeProfile(
    name="5.2",
    library_version=(5, 2, 0),
    accepted_archs=_accepted(
        {
            device: tuple(HwArch(arch) for arch, devices in ARCH_DEVICES.items() if device in devices)
            for device, profile in DEVICES.items()
            if profile.integrated  # no driver for the Hailo-8 family any more (vdma.md, source key)
        }
    ),
    boundary_by_context=True,
    channel_id_shift=6,
    max_config_channels=24,
    prefetch=True,
    config_buffers_in_hash_order=True,
    descriptor_interrupts=False,
    zero_copy=True,
    zero_copy_min_section=512 * _MIB,
    null_streams=MappingProxyType({HwArch.HAILO15L: 15, HwArch.HAILO1XH: 31, HwArch.HAILO15M: 31, HwArch.MARS: 63}),
    max_periph_bytes=0x2000,
    max_padding=0x01FFFFFF,
    periph_buffers_limit=None,
    checks_fifo_word=False,
    optimizes_credits=False,
    page_limit_clamps_default=False,
    boundary_memory=MappingProxyType({"hailo15l": 8 * _MIB, "hailo12l": 8 * _MIB}),
    queue_size_clamps=True,
    legacy_boundary_page=False,
    cache_wait_needs_flag=True,
    cache_pages=True,
    strict_versioning=True,
    ddr_action_list_threshold=55 * 1024,
    max_applications=26,
    split_allow_input=True,
    checks_config_channel_gaps=False,
)

RUNTIME_PROFILES: Mapping[str, RuntimeProfile] = MappingProxyType({"4.23": _4_23, "5.2": _5_2})


def runtime_profile(name: str) -> RuntimeProfile:
    """The profile of a supported runtime; UsageError for any other name."""
    profile = RUNTIME_PROFILES.get(name)
    if profile is None:
        raise UsageError(f"runtime {name!r} is not one of {', '.join(RUNTIME_PROFILES)}")
    return profile


def device_profile(name: str) -> DeviceProfile:
    """The profile of a known device; UsageError for any other name."""
    profile = DEVICES.get(name)
    if profile is None:
        raise UsageError(f"device {name!r} is not one of {', '.join(DEVICES)}")
    return profile
