"""The small rooms of the sequencer, each against facts stated elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.chips.runtimes import DescriptorLimits, device_profile, runtime_names, runtime_profile
from emu.errors import HailoError, HailoStatus, UsageError
from emu.sequencer.channels import ChannelAllocator, LayerIdentifier, LayerType
from emu.sequencer.host import HostSettings
from emu.sequencer.libstdcxx import hash_order, introsort
from emu.sequencer.program import Cache, Direction
from emu.sequencer.repeat import NONE, PRE_ALLOW_INPUT, group_repeated
from emu.sequencer.requirements import boundary, multiple_transfers, scatter_gather_limits, single_transfer
from emu.wire.actions import Action, DisableLcu, LcuInterrupt
from emu.wire.lists import Repeated
from tests.conftest import DATA


def test_orders_of_libstdcxx() -> None:
    """Against g++'s own std::sort and unordered_map<uint8_t, ...> (vectors made with libstdc++ 13)."""
    vectors: dict[str, list[dict[str, Any]]] = json.loads((DATA / "sequencer/libstdcxx.json").read_text())
    for case in vectors["sort"]:
        ordered = introsort(enumerate(case["keys"]), lambda left, right: left[1] > right[1])
        assert [index for index, _ in ordered] == case["order"]
    for case in vectors["hash"]:
        assert hash_order(case["keys"]) == case["order"]


def _lcu(number: int) -> Action:
    return DisableLcu(number % 256)


@pytest.mark.parametrize(
    ("length", "sizes"), [(1, [1]), (2, [2]), (255, [255]), (256, [255, 1]), (257, [255, 2]), (511, [255, 255, 1])]
)
def test_runs_are_cut_at_255_and_a_single_rest_stays_plain(length: int, sizes: list[int]) -> None:
    entries = group_repeated(_lcu(number) for number in range(length))
    assert [len(entry.items) if isinstance(entry, Repeated) else 1 for entry in entries] == sizes
    assert [item for entry in entries for item in (entry.items if isinstance(entry, Repeated) else [entry])] == [
        _lcu(number) for number in range(length)
    ]


def test_markers_and_other_types_break_runs() -> None:
    wait = LcuInterrupt(1)
    assert group_repeated([_lcu(0), NONE, _lcu(1)]) == [_lcu(0), _lcu(1)]
    assert group_repeated([_lcu(0), wait, wait, _lcu(1)]) == [_lcu(0), wait, wait, _lcu(1)]
    with pytest.raises(HailoError) as refusal:
        group_repeated([PRE_ALLOW_INPUT, PRE_ALLOW_INPUT])
    assert refusal.value.status is HailoStatus.HAILO_INVALID_HEF


def _identifier(name: str, kind: LayerType = LayerType.INTER_CONTEXT) -> LayerIdentifier:
    return LayerIdentifier(kind, Direction.H2D, name, 0)


def test_channels_lowest_first_and_boundary_never_where_an_internal_layer_was() -> None:
    """The worked example and rule 3 of vdma.md 1.1."""
    channels = ChannelAllocator(device_profile("hailo8"))
    assert channels.allocate(_identifier("a"), 0).channel == 0
    assert channels.allocate(_identifier("b"), 0).channel == 1
    assert channels.allocate(_identifier("a"), 0).channel == 0
    channels.free(_identifier("a"))
    assert channels.allocate(_identifier("in", LayerType.BOUNDARY), 0).channel == 2
    assert channels.allocate(_identifier("c"), 0).channel == 0
    for name in range(13):
        channels.allocate(_identifier(str(name)), 0)
    with pytest.raises(HailoError) as refusal:
        channels.allocate(_identifier("one too many"), 0)
    assert refusal.value.status is HailoStatus.HAILO_INTERNAL_FAILURE
    with pytest.raises(HailoError) as refusal:
        channels.allocate(_identifier("d"), 1)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    for wrong in (_identifier("in", LayerType.BOUNDARY), _identifier("never")):
        with pytest.raises(HailoError):
            channels.free(wrong)


@given(
    st.sampled_from(runtime_names()),
    st.integers(1, 1 << 26),
    st.integers(1, 63),
    st.sampled_from([64, 128, 256, 512, 1024, 4096]),
)
def test_requirements_hold_what_they_promise(runtime: str, size: int, batch: int, page: int) -> None:
    limits = scatter_gather_limits(page)
    profile = runtime_profile(runtime)
    try:
        needed = single_transfer(
            limits, profile, size, max_page_size=limits.max_page_size, min_batch=batch, max_batch=batch,
            force_batch=True, is_aligned=True,
        )  # fmt: skip
    except HailoError as error:
        assert error.status in (
            HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS,
            HailoStatus.HAILO_INTERNAL_FAILURE,
        )
        assert -(-size // limits.max_page_size) * batch + 1 >= limits.max_count or page < 512
        return
    assert needed.page_size & (needed.page_size - 1) == 0
    assert limits.min_page_size <= needed.page_size <= limits.max_page_size
    assert needed.descriptors(size) * batch < needed.desc_count <= limits.max_count


def test_a_boundary_ring_that_never_fits_is_refused_instead_of_looping() -> None:
    """max_shmifo_size equal to every doubled page: the real program doubles and halves for ever (vdma.md 3)."""
    limits = DescriptorLimits(512, 64, 4096, 2, 64)
    with pytest.raises(HailoError) as refusal:
        boundary(limits, runtime_profile("4.23"), 1 << 20, min_active=2, max_active=64, max_shmifo_size=512)
    assert refusal.value.status is HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS


def test_a_ring_is_a_power_of_two_and_ddr_has_no_spare_descriptor() -> None:
    limits, profile = scatter_gather_limits(4096), runtime_profile("5.2")
    ring = multiple_transfers(limits, profile, [5 * 512], max_page_size=4096, circular=True)
    assert ring.desc_count == 8
    assert multiple_transfers(limits, profile, [4 * 512], max_page_size=4096).desc_count == 5
    assert multiple_transfers(limits, profile, [4 * 512], max_page_size=4096, is_ddr=True).desc_count == 4


@pytest.mark.parametrize(
    "pairs",
    [
        {"hw_consts": "1,2,3"},
        {"hw_consts": "8,65536,65535,4096,65536,0,32768"},
        {"hw_consts": "0,65535,65535,4096,65536,0,32768"},
        {"desc_max_page": "100"},
        {"desc_max_page": "65536"},
        {"cma": "maybe"},
        {"HAILO_DDR_ACTION_LISTS": "1"},
        {"HAILO_CACHE_DESC_LISTS_COUNT": "2"},
    ],
)
def test_host_settings_that_mean_nothing_are_refused(pairs: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        HostSettings.parse(pairs)


def test_host_settings() -> None:
    settings = HostSettings.parse(
        {"hw_consts": "16,1024,8192,2048,65536,1,16384", "cma": "off", "HAILO_DDR_ACTION_LIST": "1"}
    )
    assert settings.hw_consts is not None
    assert settings.hw_consts.default_initial_credit_size == 16384
    assert settings.desc_max_page == 4096 and not settings.cma
    assert settings.is_on("HAILO_DDR_ACTION_LIST") and not settings.is_on("HAILO_FORCE_DDR_CHANNEL_OVER_CCB")


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_a_cache_is_a_ring(reads: int, writes: int, data: st.DataObject) -> None:
    """Input entries from the read pointer on, output entries behind them, each on its own descriptors (vdma.md 3.6)."""
    ring = reads + writes
    offset = data.draw(st.integers(0, ring - 1))
    cache = Cache(0, 1, 700, 1024, 512, reads, writes, 0, 0)
    entries = []
    for length, programs in zip((reads, writes), cache.programs(offset), strict=True):
        placed = [
            (part.start + 2 * index, part.offset // 1024 + index)
            for part in programs
            for index in range(part.transfers)
        ]
        assert [start for start, _ in placed] == [2 * index for index in range(length)]
        entries += [entry for _, entry in placed]
    assert entries == [(offset + index) % ring for index in range(ring)]
