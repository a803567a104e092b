"""Control messages field by field: what two of them say otherwise, and how values are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.wire.actions import DisableLcu, EnableLcuDefault, OpenBoundaryOutputChannel
from emu.wire.control import Opcode, encode_request, encode_response
from emu.wire.lists import Repeated
from emu.wire.messages import Kind
from emu.wire.naming import differing, summary, text_of, values_of
from emu.wire.wire import wire_of

WIRE = wire_of("4.23")
LIST = (
    OpenBoundaryOutputChannel(16, 0, 0x10000000, 512, 128, 640),
    Repeated(DisableLcu.type, (DisableLcu(0x00), DisableLcu(0x13))),
    EnableLcuDefault(0x13, 0),
)


def context_info(*entries: object, first: int = 1, kind: int = 3) -> bytes:
    """SET_CONTEXT_INFO by firmware-actions.md 5.2: is_first, is_last, type, the list."""
    data = b"".join(WIRE.encode(entries))  # type: ignore[arg-type]
    parameters = (bytes([first]), b"\1", bytes([kind]), data)
    return encode_request(Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO, parameters)


def test_the_same_message_differs_in_nothing() -> None:
    assert differing(context_info(*LIST), context_info(*LIST), Kind.REQUEST, WIRE) == []


def test_one_field_of_one_action() -> None:
    other = (OpenBoundaryOutputChannel(16, 0, 0x10100000, 512, 128, 640), *LIST[1:])
    assert differing(context_info(*LIST), context_info(*other), Kind.REQUEST, WIRE) == [
        ("action 0 OPEN_BOUNDARY_OUTPUT_CHANNEL.dma_address", "0x10000000", "0x10100000")
    ]
    # numbers of actions count those within a REPEATED
    other = (*LIST[:2], EnableLcuDefault(0x23, 0))
    assert differing(context_info(*LIST), context_info(*other), Kind.REQUEST, WIRE) == [
        ("action 3 ENABLE_LCU_DEFAULT.packed_lcu_id", "19", "35")
    ]


def test_a_parameter_of_the_message() -> None:
    found = differing(context_info(*LIST), context_info(*LIST, kind=2), Kind.REQUEST, WIRE)
    assert found == [("context_type", "3", "2")]


def test_an_application_header() -> None:
    """firmware-actions.md 5.1: dynamic_contexts_count at 0, the batch at 9 of 32 bytes."""
    header = bytearray(32)
    header[0], header[5] = 2, 1
    other = bytearray(header)
    other[0] = 3
    opcode = Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER
    requests = [encode_request(opcode, (bytes(one),)) for one in (header, other)]
    assert differing(*requests, Kind.REQUEST, WIRE) == [("application_header.dynamic_contexts_count", "2", "3")]


def test_statuses_have_names() -> None:
    good = encode_response(Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO)
    bad = encode_response(Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO, (), 0x40130016)
    name = "CONTEXT_SWTICH_STATUS_MISALIGNMENT_ERROR_WHILE_READING_ACTIONS(0x40130016)"
    assert differing(good, bad, Kind.RESPONSE, WIRE) == [("major_status", "SUCCESS(0x00000000)", name)]
    assert summary(bad, Kind.RESPONSE).startswith(name)


def test_other_opcodes_are_told_and_nothing_else() -> None:
    a, b = encode_request(Opcode.IDENTIFY), context_info(*LIST)
    assert differing(a, b, Kind.REQUEST, WIRE) == [
        ("opcode", "IDENTIFY(0)", "CONTEXT_SWITCH_SET_CONTEXT_INFO(33)"),
    ]
    assert "344" not in summary(b, Kind.REQUEST)
    assert summary(b, Kind.REQUEST).startswith("CONTEXT_SWITCH_SET_CONTEXT_INFO(33), parameters of 1 B, 1 B, 1 B, ")


def test_time_stamps_and_bytes_that_no_field_stands_for() -> None:
    data = bytearray(context_info(*LIST))
    stamped = bytearray(data)
    at = bytes(data).index(b"\xff\xff\xff\xff")
    stamped[at] = 0xFE
    assert differing(bytes(data), bytes(stamped), Kind.REQUEST, WIRE) == [
        ("action 0 OPEN_BOUNDARY_OUTPUT_CHANNEL.timestamp", "-", str(0xFFFFFFFE))
    ]


@pytest.mark.parametrize("kind", list(Kind))
@given(st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_are_told_apart(kind: Kind, a: bytes, b: bytes) -> None:
    """Also where they are no messages, or none that is described."""
    assert (differing(a, b, kind, WIRE) == []) == (a == b)
    assert summary(a, kind)


@given(st.integers(0, 100), st.lists(st.binary(max_size=40), max_size=5), st.integers(0, 200), st.integers(0, 255))
def test_damaged_messages(opcode: int, parameters: list[bytes], place: int, value: int) -> None:
    data = bytearray(encode_request(opcode, parameters))
    data[place % len(data)] = value
    for kind in Kind:
        assert values_of(bytes(data), kind, WIRE)


def test_how_values_are_written() -> None:
    assert text_of("dma_address", 0x10000000) == "0x10000000"
    assert text_of("external_action_list_address", 0) == "0x0"
    assert text_of("active_sc", 0xFF00) == "0xFF00"
    assert text_of("total_desc_count", 128) == "128"
    assert text_of("batch_sizes", (1, 2)) == "[1, 2]"
    assert text_of("x", bytes(range(40))) == f"{bytes(range(16)).hex()}… (40 bytes)"
