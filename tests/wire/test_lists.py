"""Action lists against the tables of firmware-actions.md, and what damage does to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.chips.runtimes import runtime_names
from emu.errors import HailoError, HailoStatus
from emu.hw.application import LIST_STATUS
from emu.wire.actions import ACTIONS, Action, ActionType, LcuInterrupt, having
from emu.wire.lists import DamagedListError, Entry, Repeated, UnknownActionError, UnknownSubActionError
from emu.wire.status import FirmwareStatus
from emu.wire.wire import wire_of

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
        assert tuple(wire_of(name).payloads[ActionType(number)].size for name in ("4.23", "5.2")) == sizes


_BITS = {"B": 8, "H": 16, "I": 32, "Q": 64}


@st.composite
def _actions(draw: st.DrawFn, runtime: str, kinds: st.SearchStrategy[ActionType]) -> Action:
    kind = draw(kinds)
    codes = wire_of(runtime).payloads[kind].format.removeprefix("<")
    values = tuple(draw(st.integers(0, 2 ** _BITS[code] - 1)) for code in codes)
    return wire_of(runtime).lists.classes[kind](*values)


@st.composite
def _repeated(draw: st.DrawFn, runtime: str) -> Repeated:
    kind = draw(st.sampled_from(sorted(having(repeatable=True))))
    count = draw(st.integers(1, 255))
    return Repeated(kind, tuple([draw(_actions(runtime, st.just(kind)))] * count))


def _entries(runtime: str) -> st.SearchStrategy[list[Entry]]:
    plain = _actions(runtime, st.sampled_from(sorted(ACTIONS)))
    return st.lists(st.one_of(plain, _repeated(runtime)), max_size=20)


@given(st.sampled_from(runtime_names()).flatmap(lambda runtime: st.tuples(st.just(runtime), _entries(runtime))))
def test_decoding_gives_back_what_was_encoded(case: tuple[str, list[Entry]]) -> None:
    runtime, entries = case
    data = b"".join(wire_of(runtime).encode(entries))
    located = list(wire_of(runtime).decode(data))
    assert [item.entry for item in located] == entries
    assert all(item.timestamp == 0xFFFFFFFF for item in located)


@given(st.binary(max_size=200), st.sampled_from(runtime_names()))
def test_any_bytes_decode_or_are_refused_at_an_offset_within(data: bytes, runtime: str) -> None:
    try:
        entries = [located.entry for located in wire_of(runtime).decode(data)]
    except HailoError as error:
        assert error.status is HailoStatus.HAILO_INVALID_ARGUMENT
        assert 0 <= error.where["offset"] < len(data)
    else:
        assert sum(map(len, wire_of(runtime).encode(entries))) == len(data)


@pytest.mark.parametrize(
    ("damage", "error", "status"),
    [
        ("truncated", DamagedListError, FirmwareStatus.CONTEXT_SWTICH_STATUS_MISALIGNMENT_ERROR_WHILE_READING_ACTIONS),
        ("unknown type", UnknownActionError, FirmwareStatus.CONTEXT_SWITCH_STATUS_READ_INVALID_ACTION_TYPE),
        (
            "unknown sub-action",
            UnknownSubActionError,
            FirmwareStatus.CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_SUBACTION_TYPE,
        ),
    ],
)
def test_damage_is_reported_where_it_is(damage: str, error: type[DamagedListError], status: FirmwareStatus) -> None:
    good = b"".join(wire_of("4.23").encode([LcuInterrupt(3)] * 2))
    bad = {
        "truncated": good[:-1],
        "unknown type": good[:6] + b"\x2d" + good[7:],
        "unknown sub-action": good[:6] + bytes([24, 255, 255, 255, 255, 1, 0, 200]),
    }[damage]
    with pytest.raises(HailoError) as refusal:
        list(wire_of("4.23").decode(bad))
    assert type(refusal.value) is error and LIST_STATUS[error] is status
    assert refusal.value.where["offset"] == 6
