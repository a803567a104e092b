"""The small rooms of the sequencer, each against facts stated elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.errors import HailoError, HailoStatus, UsageError
from emu.sequencer.actions import (
    FIELDS,
    PAYLOADS,
    REPEATABLE,
    RUNTIMES,
    Action,
    ActionType,
    Entry,
    Repeated,
    decode,
    encode,
)
from emu.sequencer.channels import ChannelAllocator, LayerIdentifier, LayerType
from emu.sequencer.host import HostSettings
from emu.sequencer.libstdcxx import hash_order, introsort
from emu.sequencer.profiles import DEVICES, RUNTIME_PROFILES, DescriptorLimits
from emu.sequencer.program import Cache, Direction
from emu.sequencer.repeat import NONE, PRE_ALLOW_INPUT, group_repeated
from emu.sequencer.requirements import boundary, multiple_transfers, scatter_gather_limits, single_transfer
from tests.conftest import DATA

# payload bytes of 4.23 and 5.2, typed from firmware-actions.md 3
_SIZES = {
    0: (3, 3), 1: (44, 44), 2: (9, 9), 3: (2, 2), 4: (8, 8), 5: (1, 1), 6: (42, 44), 7: (39, 41), 8: (43, 45),
    9: (39, 41), 10: (43, 45), 11: (42, 44), 12: (8, 8), 13: (3, 3), 14: (9, 9), 15: (0, 0), 16: (1, 1), 17: (1, 1),
    18: (5, 5), 19: (5, 5), 20: (1, 1), 21: (0, 0), 22: (21, 21), 23: (2, 2), 25: (4, 4), 26: (6, 6), 27: (3, 3),
    28: (8, 8), 29: (0, 0), 30: (0, 0), 31: (0, 0), 32: (28, 28), 33: (20, 20), 34: (7, 7), 35: (15, 15), 36: (6, 6),
    37: (1, 1), 38: (2, 2), 39: (2, 2), 40: (43, 45), 41: (41, 43), 42: (0, 0), 43: (4, 4), 44: (0, 0),
}  # fmt: skip


def test_every_action_has_the_payload_size_of_the_reference() -> None:
    assert set(_SIZES) | {ActionType.REPEATED_ACTION} == set(ActionType)
    for number, sizes in _SIZES.items():
        assert tuple(PAYLOADS[runtime][ActionType(number)].size for runtime in RUNTIMES) == sizes, ActionType(number)


_BITS = {"B": 8, "H": 16, "I": 32, "Q": 64}


@st.composite
def _actions(draw: st.DrawFn, runtime: str, kinds: st.SearchStrategy[ActionType]) -> Action:
    kind = draw(kinds)
    values = tuple(draw(st.integers(0, 2 ** _BITS[field.code(runtime)] - 1)) for field in FIELDS[kind])
    return Action(kind, values)


@st.composite
def _repeated(draw: st.DrawFn, runtime: str) -> Repeated:
    kind = draw(st.sampled_from(sorted(REPEATABLE)))
    count = draw(st.integers(1, 255))
    return Repeated(kind, tuple([draw(_actions(runtime, st.just(kind)))] * count))


def _entries(runtime: str) -> st.SearchStrategy[list[Entry]]:
    plain = _actions(runtime, st.sampled_from(sorted(FIELDS)))
    return st.lists(st.one_of(plain, _repeated(runtime)), max_size=20)


@given(st.sampled_from(RUNTIMES).flatmap(lambda runtime: st.tuples(st.just(runtime), _entries(runtime))))
def test_decoding_gives_back_what_was_encoded(case: tuple[str, list[Entry]]) -> None:
    runtime, entries = case
    data = b"".join(encode(entries, runtime))
    located = list(decode(data, runtime))
    assert [item.entry for item in located] == entries
    assert all(item.timestamp == 0xFFFFFFFF for item in located)


@given(st.binary(max_size=200), st.sampled_from(RUNTIMES))
def test_any_bytes_decode_or_are_refused_at_an_offset_within(data: bytes, runtime: str) -> None:
    try:
        entries = [located.entry for located in decode(data, runtime)]
    except HailoError as error:
        assert error.status is HailoStatus.HAILO_INVALID_ARGUMENT
        assert 0 <= error.where["offset"] < len(data)
    else:
        assert sum(map(len, encode(entries, runtime))) == len(data)


@pytest.mark.parametrize("damage", ["truncated", "unknown type", "unknown sub-action"])
def test_damage_is_reported_where_it_is(damage: str) -> None:
    good = b"".join(encode([Action(ActionType.LCU_INTERRUPT, (3,))] * 2, "4.23"))
    bad = {
        "truncated": good[:-1],
        "unknown type": good[:6] + b"\x2d" + good[7:],
        "unknown sub-action": good[:6] + bytes([24, 255, 255, 255, 255, 1, 0, 200]),
    }[damage]
    with pytest.raises(HailoError) as refusal:
        list(decode(bad, "4.23"))
    assert refusal.value.where["offset"] == 6


def test_orders_of_libstdcxx() -> None:
    """Against g++'s own std::sort and unordered_map<uint8_t, ...> (vectors made with libstdc++ 13)."""
    vectors: dict[str, list[dict[str, Any]]] = json.loads((DATA / "sequencer/libstdcxx.json").read_text())
    for case in vectors["sort"]:
        ordered = introsort(enumerate(case["keys"]), lambda left, right: left[1] > right[1])
        assert [index for index, _ in ordered] == case["order"]
    for case in vectors["hash"]:
        assert hash_order(case["keys"]) == case["order"]


def _lcu(number: int) -> Action:
    return Action(ActionType.DISABLE_LCU, (number % 256,))


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
    wait = Action(ActionType.LCU_INTERRUPT, (1,))
    assert group_repeated([_lcu(0), NONE, _lcu(1)]) == [_lcu(0), _lcu(1)]
    assert group_repeated([_lcu(0), wait, wait, _lcu(1)]) == [_lcu(0), wait, wait, _lcu(1)]
    with pytest.raises(HailoError) as refusal:
        group_repeated([PRE_ALLOW_INPUT, PRE_ALLOW_INPUT])
    assert refusal.value.status is HailoStatus.HAILO_INVALID_HEF


def _identifier(name: str, kind: LayerType = LayerType.INTER_CONTEXT) -> LayerIdentifier:
    return LayerIdentifier(kind, Direction.H2D, name, 0)


def test_channels_lowest_first_and_boundary_never_where_an_internal_layer_was() -> None:
    """The worked example and rule 3 of vdma.md 1.1."""
    channels = ChannelAllocator(DEVICES["hailo8"])
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
    st.sampled_from(sorted(RUNTIME_PROFILES)),
    st.integers(1, 1 << 26),
    st.integers(1, 63),
    st.sampled_from([64, 128, 256, 512, 1024, 4096]),
)
def test_requirements_hold_what_they_promise(runtime: str, size: int, batch: int, page: int) -> None:
    limits = scatter_gather_limits(page)
    profile = RUNTIME_PROFILES[runtime]
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
        boundary(limits, RUNTIME_PROFILES["4.23"], 1 << 20, max_active=64, max_shmifo_size=512)
    assert refusal.value.status is HailoStatus.HAILO_CANT_MEET_BUFFER_REQUIREMENTS


def test_a_ring_is_a_power_of_two_and_ddr_has_no_spare_descriptor() -> None:
    limits, profile = scatter_gather_limits(4096), RUNTIME_PROFILES["5.2"]
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
        {"desc_max_page": "8192"},
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


def test_the_hardware_profiles_answer_the_same_constants() -> None:
    """GET_HW_CONSTS is part of the profile (cli.md): what the compiler assumes is what the device answers."""
    from emu.hw.profiles import load

    for name, device in DEVICES.items():
        assert load(name).identity.hw_consts == device.hw_consts, name


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


def test_no_room_asks_for_a_runtime_or_a_device_by_name() -> None:
    """What differs between them is data: in the profiles, and in the columns of the wire tables."""
    import emu.sequencer

    tables = {"profiles.py", "actions.py", "control.py", "messages.py"}
    names = {f'"{name}"' for name in (*RUNTIMES, *DEVICES)}
    for package in emu.sequencer.__path__:
        for path in sorted(Path(package).glob("*.py")):
            if path.name not in tables:
                assert not [name for name in names if name in path.read_text()], path.name
