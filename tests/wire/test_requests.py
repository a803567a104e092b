"""Malformed control messages: each has an answer of the firmware's own, and none is an error of ours."""

from __future__ import annotations

import struct
from random import Random

import pytest

from emu.chips.chips import load
from emu.host.session import RunRequest, Session, open_for
from emu.hw.device import Device
from emu.hw.vdma import Channel, Edge
from emu.wire.control import (
    MAX_MESSAGE_SIZE,
    ContextSwitchStatus,
    Opcode,
    change_context_switch_status,
    decode_response,
    encode_request,
    set_network_group_header,
)
from emu.wire.messages import OF_CACHES
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import wire_of
from tests.hw.lists import Lists, single

ENABLE = change_context_switch_status(ContextSwitchStatus.ENABLED, 0)


class _Recorder:
    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def control(self, ns: int, request: bytes, reply: bytes) -> None:
        self.sent.append(request)

    def launch(self, channel: Channel, transfers: int) -> None:
        pass

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        pass


def _requests_of_a_session(lists: Lists) -> list[bytes]:
    program, recorder = lists.program(), _Recorder()

    def watch(chip: Device) -> None:
        chip.probe.observers.append(recorder)

    request = RunRequest(frames=1, on_device=watch)
    Session(open_for(program, load(lists.device), request), program, request).configure()
    return recorder.sent


def _status(reply: bytes) -> int:
    return decode_response(reply).major_status


def _send_header(device: Device, lists: Lists) -> int:
    return _status(device.control(set_network_group_header(lists.header())))


def _context(kind: int, data: bytes, first: bool, last: bool) -> bytes:
    return encode_request(Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO, (bytes([first]), bytes([last]), bytes([kind]), data))


@pytest.mark.parametrize(
    ("data", "minor"),
    [
        (b"", S.HAILO_CONTROL_STATUS_OVERRUN_BEFORE_PARAMETERS),
        (b"\0\0\0\2" + bytes(11), S.HAILO_CONTROL_STATUS_OVERRUN_BEFORE_PARAMETERS),
        (struct.pack(">5I", 3, 0, 0, 0, 0), S.HAILO_CONTROL_STATUS_INVALID_VERSION),
        (struct.pack(">5I", 2, 1, 0, 0, 0), S.HAILO_CONTROL_STATUS_CONTROL_ACK_RECEIVED),
        (struct.pack(">5I", 2, 0, 0, 0, 1), S.HAILO_CONTROL_STATUS_OVERRUN_AT_PARAMETER),
        (struct.pack(">5I", 2, 0, 0, 0, 0xFFFFFFFF) + bytes(400), S.HAILO_CONTROL_STATUS_OVERRUN_AT_PARAMETER),
        (struct.pack(">6I", 2, 0, 0, 3, 1, 5) + b"four", S.HAILO_CONTROL_STATUS_OVERRUN_AT_PARAMETER),
        (struct.pack(">6I", 2, 0, 0, 3, 1, 0xFFFFFFFF), S.HAILO_CONTROL_STATUS_OVERRUN_AT_PARAMETER),
        (encode_request(Opcode.IDENTIFY) + b"\0", S.CONTROL_PROTOCOL_PART_OF_THE_MESSAGE_NOT_PARSED),
        (encode_request(Opcode.WRITE_MEMORY, (bytes(1500),)), S.CONTROL_PROTOCOL_STATUS_REQUSET_LENGTH_OVERFLOW),
    ],
)
def test_requests_that_cannot_be_read_lose_their_opcode(data: bytes, minor: S) -> None:
    device = Device(load("hailo8l"), "4.23")
    reply = device.control(data)
    assert len(reply) == 28
    answered = decode_response(reply)
    assert answered.opcode == 0xFFFFFFFF
    assert (answered.major_status, answered.minor_status) == (0x40030050, minor)


@pytest.mark.parametrize("opcode", [3, 26, 76, 79 + 1, 255, 0xFFFFFFFF])
def test_opcodes_that_are_not_served(opcode: int) -> None:
    answered = decode_response(Device(load("hailo8l"), "4.23").control(encode_request(opcode, (b"abc",))))
    known = opcode < 80
    assert answered.opcode == opcode
    assert answered.major_status == (
        S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE if known else S.HAILO_CONTROL_STATUS_INVALID_OPCODE
    )
    assert answered.major_status == (0x4003000F if known else 0x40030007)


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
def test_parameters_of_another_number_or_size_are_refused_by_their_own_status(runtime: str) -> None:
    """Each parameter of each opcode: absent, a byte short, a byte long, one more behind it."""
    for opcode, parameters in wire_of(runtime).messages.requests.items():
        if opcode in OF_CACHES:
            continue  # obsolete: tests/hw/test_rare_controls.py
        sound = [bytes(one.sizes.start or 1) for one in parameters]
        refused: list[tuple[list[bytes], int]] = [([*sound, b"more"], 0x40030012)]
        for position, (_, _, sizes, status) in enumerate(parameters):
            if opcode != Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT:
                refused.append((sound[:position] + sound[position + 1 :], 0x40030012))
            wrong = [bytes(max(0, sizes.start - 1))] * (sizes.start > 0) + [bytes(sizes.stop)] * (sizes.stop < 1400)
            refused += [([*sound[:position], one, *sound[position + 1 :]], status) for one in wrong]
        for given, status in refused:
            answered = decode_response(Device(load("hailo8l"), runtime).control(encode_request(opcode, given)))
            assert (answered.opcode, answered.major_status) == (opcode, status), (opcode, [len(one) for one in given])


@pytest.mark.parametrize("count", [1025, 0x100000, 0xFFFFFFFC])
def test_more_memory_than_a_reply_holds(count: int) -> None:
    device = Device(load("hailo8l"), "4.23")
    request = encode_request(Opcode.READ_MEMORY, ((0x10000000).to_bytes(4, "big"), count.to_bytes(4, "big")))
    reply = device.control(request)
    assert len(reply) == 28 and _status(reply) == S.CONTROL_PROTOCOL_STATUS_INVALID_DATA_LENGTH


def test_chunks_that_go_on_with_no_context() -> None:
    lists = single()
    chip = Device(load("hailo8"), "4.23")
    _send_header(chip, lists)
    reset = b"\x1e\xff\xff\xff\xff"
    assert _status(chip.control(_context(3, reset, False, True))) == S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER
    assert _status(chip.control(_context(3, reset, True, False))) == 0
    assert _status(chip.control(_context(2, reset, False, True))) == S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER
    assert _status(chip.control(_context(3, reset, False, True))) == 0
    assert _status(chip.control(_context(2, reset, False, True))) == S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER
    assert _status(chip.control(_context(2, reset * 200, True, False))) == 0
    replies = [_status(chip.control(_context(2, reset * 200, False, False))) for _ in range(70)]
    assert replies[-1] == S.CONTEXT_SWITCH_STATUS_SRAM_MEMORY_FULL


def test_a_self_test_of_a_block_that_may_not_be_tested() -> None:
    parameters = (b"\1", bytes(4), b"\0", bytes(4), bytes(4))
    reply = Device(load("hailo8l"), "4.23").control(encode_request(Opcode.RUN_BIST_TEST, parameters))
    assert _status(reply) == 0x400300B2


@pytest.mark.parametrize(("runtime", "chip"), [("4.23", "hailo8l"), ("5.2", "hailo15h")])
def test_mutated_requests_get_a_sound_reply(runtime: str, chip: str) -> None:
    """Whatever arrives, a reply comes that a host can read; seeds fixed."""
    random = Random(4)
    lists = single(device=chip, runtime=runtime)
    sent = _requests_of_a_session(lists)
    sent += [ENABLE, encode_request(Opcode.READ_MEMORY, (b"\x10\0\0\0", b"\0\0\0\4"))]
    sent += [
        encode_request(op, [bytes(one.sizes.start) for one in given])
        for op, given in wire_of(runtime).messages.requests.items()
    ]
    device = lists.session().chip
    for number in range(1500):
        if number % 100 == 0:
            device = lists.session().chip
        message = bytearray(random.choice(sent))
        for _ in range(random.randrange(3)):
            kind = random.randrange(4)
            if kind == 0:
                message[random.randrange(len(message))] ^= 1 << random.randrange(8)
            elif kind == 1:
                del message[random.randrange(20, len(message) + 1) :]
            elif kind == 2:
                message += random.randbytes(random.randrange(1, 60))
            else:
                at = 4 * random.randrange(len(message) // 4)
                message[at : at + 4] = random.choice((bytes(4), b"\xff" * 4, random.randbytes(4)))
        reply = device.control(bytes(message))
        assert 28 <= len(reply) <= MAX_MESSAGE_SIZE
        decode_response(reply)
        if number % 10 == 0:
            device.run_until(lambda: False)
