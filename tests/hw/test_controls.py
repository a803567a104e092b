"""Control messages: replies of a real Hailo-8L, byte for byte, and the statuses it gave for the same mistakes."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from emu.chips.chips import load
from emu.hw.application import read_list
from emu.hw.device import Device
from emu.hw.memory import difference
from emu.sequencer.program import ContextType
from emu.wire.breakpoints import BreakpointStatus, Place
from emu.wire.control import (
    ContextSwitchStatus,
    Opcode,
    change_context_switch_status,
    decode_response,
    encode_request,
    set_network_group_header,
)
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError
from emu.wire.wire import wire_of
from tests.conftest import SHARED, needs_shared
from tests.hw.lists import act, double, single

ENABLE = change_context_switch_status(ContextSwitchStatus.ENABLED, 0)
RESET = change_context_switch_status(ContextSwitchStatus.RESET)


def _silicon(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SHARED / "silicon" / f"{name}.json").read_bytes())
    return document


def _status(reply: bytes) -> int:
    return decode_response(reply).major_status


def _send_header(device: Device, lists: Any) -> int:
    return _status(device.control(set_network_group_header(lists.header())))


def _context(kind: int, data: bytes, first: int = 1, last: int = 1) -> bytes:
    return encode_request(Opcode.CONTEXT_SWITCH_SET_CONTEXT_INFO, (bytes([first]), bytes([last]), bytes([kind]), data))


@needs_shared
@pytest.mark.parametrize("name", ["mnist", "yolov6n"])
def test_the_controls_of_a_real_run_get_the_replies_of_the_real_device(name: str) -> None:
    """All 27 controls in their order; GET_DEVICE_INFORMATION but for the part whose lengths the capture blanks."""
    device = Device(load("hailo8l"), "4.23")
    pending, compared = None, 0
    for control in _silicon(name)["controls"]:
        data = bytes.fromhex(control["hex"])
        if control["direction"] == "request":
            pending = device.control(data)
            continue
        assert pending is not None
        if control["op"] == "GET_DEVICE_INFORMATION":
            # soc_id and what follows were zeroed in the capture together with their length words
            assert pending[:65] == data[:65]
            assert len(pending) == len(data)
            assert pending[-4:] == data[-4:] == (51).to_bytes(4, "big")
            assert [len(p) for p in decode_response(pending).parameters] == [4, 8, 4, 1, 32, 6, 12, 24, 4]
        else:
            assert pending == data, control["op"]
        compared += 1
    assert compared == 27


@needs_shared
def test_control_times_are_those_measured() -> None:
    """Median of each message within a tenth, or 12 us (silicon-facts.md b)."""
    device = Device(load("hailo8l"), "4.23")
    for request, measured in (
        (encode_request(Opcode.IDENTIFY), 87),
        (encode_request(Opcode.GET_HW_CONSTS), 65.5),
        (RESET, 70),
        (encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS), 4384),
    ):
        before = device.clock.time
        device.control(request)
        assert abs((device.clock.time - before) / 1000 - measured) < max(12, measured / 10)


def test_contexts_out_of_order() -> None:
    device = Device(load("hailo8l"), "4.23")
    assert _send_header(device, single()) == 0
    reply = device.control(_context(0, b"".join([b"\x1e\xff\xff\xff\xff"])))
    assert _status(reply) == S.CONTEXT_SWITCH_STATUS_UNEXPECTED_CONTEXT_ORDER == 0x4013006E


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 0x40130004),
        (b"\x1e\xff\xff", 0x40130016),
        (b"\x20\xff\xff\xff\xff\x02", 0x40130016),
        (b"\x99\xff\xff\xff\xff", 0x40130018),
        (b"\x18\xff\xff\xff\xff\x01\x00\x1d", 0x4013005D),
        (b"\x18\xff\xff\xff\xff\x00\x00\x05", 0x4013005E),
        (b"\x1b\xff\xff\xff\xff\x01\x00\x00", 0x402A0001),
    ],
)
def test_action_bytes_that_do_not_parse(data: bytes, status: int) -> None:
    device = Device(load("hailo8l"), "4.23")
    _send_header(device, single())
    assert _status(device.control(_context(3, data))) == status


def test_an_output_channel_below_16_fails_at_enable() -> None:
    lists = single(device="hailo8l")
    lists.activation[1] = act(
        "OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=3, dma_address=1 << 28, desc_page_size=512,
        total_desc_count=64, bytes_in_pattern=1024,
    )  # fmt: skip
    session = lists.session()
    assert _status(session.chip.control(ENABLE)) == 0x402D001B
    assert session.chip.notifications[-1].event_id.name == "CONTEXT_SWITCH_RUN_TIME_ERROR"


def test_header_of_the_other_runtime() -> None:
    device = Device(load("hailo8l"), "4.23")
    assert _status(device.control(set_network_group_header(bytes(53)))) == 0x40030060


def test_requests_in_the_wrong_state() -> None:
    device = Device(load("hailo8"), "4.23")
    assert _status(device.control(_context(3, b"\x1e\xff\xff\xff\xff"))) == 0x40130006
    assert _status(device.control(ENABLE)) == S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX
    _send_header(device, single())
    assert _status(device.control(ENABLE)) == S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT
    assert _status(device.control(_context(9, b"\x1e\xff\xff\xff\xff"))) == S.CONTEXT_SWITCH_STATUS_INVALID_CONTEXT_TYPE
    session = single().session()
    assert _status(session.chip.control(_context(1, b"\x2c\xff\xff\xff\xff"))) == 0x40130007
    big = change_context_switch_status(ContextSwitchStatus.ENABLED, 0, dynamic_batch_size=2)
    assert _status(session.chip.control(big)) == S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE
    assert _status(session.chip.control(ENABLE)) == 0
    assert _send_header(session.chip, single()) == S.CONTEXT_SWITCH_STATUS_CANT_CONFIGURE_HEF_WHILE_ACTIVATED
    unknown = encode_request(Opcode.CHANGE_CONTEXT_SWITCH_STATUS, (b"\x03", b"\0", b"\0\0", b"\0\0"))
    assert _status(session.chip.control(unknown)) == S.CONTEXT_SWITCH_STATUS_INVALID_STATE_MACHINE_STATUS
    assert _status(session.chip.control(RESET)) == 0
    assert _send_header(session.chip, single()) == 0


@pytest.mark.parametrize(("runtime", "chip", "most"), [("4.23", "hailo8", 16), ("5.2", "hailo15h", 24)])
def test_too_many_config_channels(runtime: str, chip: str, most: int) -> None:
    device = Device(load(chip), runtime)
    for count, status in ((most, 0), (most + 1, S.CONTEXT_SWITCH_STATUS_INVALID_CFG_CHANNELS_COUNT)):
        lists = single(device=chip, runtime=runtime, config_channels=tuple(range(count)))
        assert _send_header(device, lists) == status


def test_too_many_applications_and_contexts() -> None:
    for device, runtime, limit in (("hailo8", "4.23", 32), ("hailo15h", "5.2", 26)):
        lists = single(device=device, runtime=runtime)
        chip = Device(load(device), runtime)
        assert [_send_header(chip, lists) for _ in range(limit)] == [0] * limit
        assert _send_header(chip, lists) == S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX
    lists = single()
    lists.dynamic = [[act("HALT")]] * 1022
    assert _send_header(Device(load("hailo8"), "4.23"), lists) == S.CONTEXT_SWITCH_STATUS_INVALID_DYNAMIC_CONTEXT_COUNT


def test_action_lists_beyond_the_memory_of_an_integrated_device() -> None:
    lists = single(device="hailo15h", runtime="5.2")
    chip = Device(load("hailo15h"), "5.2")
    _send_header(chip, lists)
    sleep = b"\x2b\xff\xff\xff\xff\xe8\x03\x00\x00"
    parts = [chip.control(_context(3, sleep * 160, number == 0, number == 39)) for number in range(40)]
    assert _status(parts[-1]) == S.CONTEXT_SWITCH_STATUS_SRAM_MEMORY_FULL == 0x4013007A


@pytest.mark.parametrize("address", [0, 0xA0000, 0x60000000])
def test_memory_outside_the_public_list(address: int) -> None:
    device = Device(load("hailo8l"), "4.23")
    request = encode_request(Opcode.READ_MEMORY, (address.to_bytes(4, "big"), (4).to_bytes(4, "big")))
    reply = decode_response(device.control(request))
    assert reply.major_status == reply.minor_status == 0x40000058


def test_memory_of_the_clusters() -> None:
    device = Device(load("hailo8l"), "4.23")
    where = (0x108001DC).to_bytes(4, "big")
    assert _status(device.control(encode_request(Opcode.WRITE_MEMORY, (where, b"\x01\x02\x03\x04")))) == 0
    read = device.control(encode_request(Opcode.READ_MEMORY, (where, (4).to_bytes(4, "big"))))
    assert decode_response(read).parameters == (b"\x01\x02\x03\x04",)
    ccw = encode_request(Opcode.WRITE_MEMORY, ((0x11000000).to_bytes(4, "big"), bytes(4)))
    assert _status(device.control(ccw)) == 0x40030098
    device.control(encode_request(Opcode.READ_MEMORY, ((0x10000000).to_bytes(4, "big"), (4).to_bytes(4, "big"))))
    assert device.memory.read_before_write == [0x10000000]


def test_core_identify_temperature_and_main_header() -> None:
    device = Device(load("hailo8l"), "4.23")
    app = decode_response(device.control(encode_request(Opcode.IDENTIFY)))
    # bit 29 of the revision: an extended context-switch buffer (silicon-facts.md a)
    assert app.parameters[1] == struct.pack("<3I", 4, 23, 0x20000000)
    core = decode_response(device.control(encode_request(Opcode.CORE_IDENTIFY)))
    assert core.parameters == (struct.pack("<3I", 4, 23, 0x28000000),)
    assert len(device.control(encode_request(Opcode.GET_CHIP_TEMPERATURE))) == 28 + 4 + 10
    lists = single()
    _send_header(device, lists)
    header = decode_response(device.control(encode_request(Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER)))
    assert len(header.parameters[0]) == 1025
    assert header.parameters[0][:33] == b"\x01" + lists.header()
    newer = Device(load("hailo15h"), "5.2")
    reply = decode_response(newer.control(encode_request(Opcode.GET_CONTEXT_SWITCH_MAIN_HEADER)))
    assert len(reply.parameters[0]) == 1379


def _download(device: Device, kind: int, index: int, group: int = 0) -> bytes:
    data = b""
    while True:
        parameters = (
            group.to_bytes(4, "big"), bytes([kind]), index.to_bytes(2, "little"), len(data).to_bytes(2, "big"),
        )  # fmt: skip
        reply = decode_response(device.control(encode_request(Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, parameters)))
        assert reply.major_status == 0, hex(reply.major_status)
        assert int.from_bytes(reply.parameters[0], "big") != 0
        assert len(reply.parameters[4]) <= 1439
        data += reply.parameters[4]
        if reply.parameters[1] != b"\0":
            return data


def test_downloaded_lists_carry_time_stamps_in_ticks_of_the_device() -> None:
    session = double().session()
    device = session.chip
    untouched = _download(device, 0, 0)
    assert untouched == device.applications[0].contexts[2].actions.data
    enable = encode_request(Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP, (b"\0\1", b"\1"))
    assert _status(device.control(enable)) == 0
    session.run_group(session.applications[0])
    stamped = list(wire_of("4.23").decode(_download(device, 0, 0)))
    plain = list(wire_of("4.23").decode(untouched))
    assert [one.entry for one in stamped] == [one.entry for one in plain]
    ticks = [0xFFFFFFFF - one.timestamp for one in stamped]
    assert ticks == sorted(ticks)
    # one action costs 1 us of firmware time: 200 ticks of the 200 MHz timer
    assert ticks[1] - ticks[0] == 200
    repeated = next(one for one in wire_of("4.23").decode(_download(device, 1, 0)) if hasattr(one.entry, "items"))
    assert repeated.last_executed == 1
    wrong = encode_request(Opcode.DOWNLOAD_CONTEXT_ACTION_LIST, (bytes(4), b"\1", (7).to_bytes(2, "little"), bytes(2)))
    assert _status(device.control(wrong)) == S.CONTEXT_SWITCH_TASK_STATUS_DOWNLOAD_ACTION_LIST_INVALID_CONTEXT_INDEX


def test_the_same_list_is_read_once_and_stamped_for_each_that_sent_it() -> None:
    session, other = double().session(), double().session()
    lists, again = (one.chip.applications[0].sent.lists for one in (session, other))
    assert all(one is two for one, two in zip(lists, again, strict=True))
    enable = encode_request(Opcode.CONFIG_CONTEXT_SWITCH_TIMESTAMP, (b"\0\1", b"\1"))
    assert _status(session.chip.control(enable)) == 0
    session.run_group(session.applications[0])
    assert _download(session.chip, 1, 0) != _download(other.chip, 1, 0) == lists[3].data


def test_the_same_bytes_are_other_lists_for_another_kind_of_context_runtime_or_chip() -> None:
    sent = double().session().chip.applications[0].sent
    data = sent.list_of(ContextType.PRELIMINARY).data
    known = read_list(data, ContextType.DYNAMIC, wire_of("4.23"), "descriptors")
    assert read_list(bytes(bytearray(data)), ContextType.DYNAMIC, wire_of("4.23"), "descriptors") is known
    assert read_list(data, ContextType.PRELIMINARY, wire_of("4.23"), "descriptors") is not known
    assert read_list(data, ContextType.DYNAMIC, wire_of("4.22"), "descriptors") is not known
    with pytest.raises(FirmwareStopError, match="config channels work in bursts"):
        read_list(data, ContextType.DYNAMIC, wire_of("4.23"), "bursts")


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
def test_breakpoints(runtime: str) -> None:
    lists = single(runtime=runtime, device="hailo8" if runtime == "4.23" else "hailo15h")
    session = lists.session()
    device = session.chip
    place = Place(0, None, 2, 6)

    def control(what: int, data: bytes = b"") -> int:
        return _status(
            device.control(encode_request(Opcode.CONFIG_CONTEXT_SWITCH_BREAKPOINT, (bytes(4), bytes([what]), data)))
        )

    def status() -> int:
        request = encode_request(Opcode.GET_CONTEXT_SWITCH_BREAKPOINT_STATUS, (bytes(4),))
        return decode_response(device.control(request)).parameters[0][0]

    too_early = S.CONTEXT_SWITCH_STATUS_USER_CANT_CONTINUE_WHEN_BREAKPOINT_IS_CLEARED_OR_NOT_REACHED_YET
    assert status() == BreakpointStatus.CLEARED
    assert control(1) == too_early
    assert control(0, wire_of(runtime).breakpoint.encode(place)) == 0
    assert status() == BreakpointStatus.WAITING_FOR_BREAKPOINT
    assert control(1) == too_early
    again = S.CONTEXT_SWITCH_STATUS_USER_MUST_CLEAR_OR_REACH_BREAKPOINT_BEFORE_SETTING_NEW_ONE
    assert control(0, wire_of(runtime).breakpoint.encode(place)) == again
    device.control(ENABLE)
    device.run_until(lambda: False)
    assert status() == BreakpointStatus.REACHED_BREAKPOINT
    assert device.firmware.step is not None and device.firmware.step.number == 6
    reached = device.notifications[-1]
    assert reached.event_id.name == "CONTEXT_SWITCH_BREAKPOINT_REACHED"
    size = 7 if runtime == "4.23" else 9
    assert len(reached.payload) == size and len(reached.encode()) == 28 + size
    assert control(1) == 0
    device.run_until(lambda: device.firmware.resting)
    assert device.firmware.resting
    assert control(2) == 0
    assert status() == BreakpointStatus.CLEARED
    assert control(0, b"\0") == control(0) == S.CONTROL_PROTOCOL_STATUS_INVALID_BREAKPOINT_DATA_LENGTH
    assert control(7) == S.CONTEXT_SWITCH_STATUS_RECEIVED_INVALID_BREAKPOINT_CONTROL


@pytest.mark.parametrize(("runtime", "device"), [("4.23", "hailo8"), ("5.2", "hailo15h")])
def test_a_run_time_error_is_notified_as_the_runtime_packs_it(runtime: str, device: str) -> None:
    lists = single(runtime=runtime, device=device)
    lists.preliminary.insert(4, act("SLEEP", sleep_time=1))
    session = lists.session()
    session.chip.control(ENABLE)
    session.chip.run_until(lambda: False)
    event = session.chip.notifications[-1]
    status = S.CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME
    expected = (
        struct.pack("<IBHHH", status, 0, 0, 2, 4) if runtime == "4.23" else struct.pack("<IIHHB", status, 0, 2, 4, 0)
    )
    assert event.payload == expected
    assert struct.unpack_from("<7I", event.encode())[4:] == (12, 5, len(expected))


def test_hw_infer_without_channels() -> None:
    device = Device(load("hailo8l"), "4.23")
    request = encode_request(Opcode.CHANGE_HW_INFER_STATUS, (b"\0", b"\0", b"\0\0", b"\0\0", bytes(385), b"\0"))
    answered = decode_response(device.control(request))
    assert answered.major_status == 0x400300CA
    assert answered.minor_status == S.HAILO_STATUS_UNINITIALIZED == 0x40000001


def test_reset_forgets_everything() -> None:
    session = single().session()
    session.run_group(session.applications[0])
    device = session.chip
    assert device.memory.snapshot()
    device.control(encode_request(Opcode.RESET, (b"\0",)))
    assert not device.memory.snapshot() and not device.applications


def test_enable_replies_before_the_configuration_is_fetched() -> None:
    session = single().session()
    device = session.chip
    assert _status(device.control(ENABLE)) == 0
    assert device.config.ccw_bytes == 0
    assert all(channel.host_opened for channel in device.vdma.channels.values())
    device.run_until(lambda: device.firmware.resting)
    assert device.config.ccw_bytes == 3 * 512


def test_memory_of_two_runs_can_be_compared() -> None:
    def memory(value: int) -> dict[int, bytes]:
        lists = single()
        lists.preliminary.append(act("WRITE_DATA_BY_TYPE", address=0x20000684, data=value, mask=0xFFFFFFFF))
        device = lists.run().device
        assert device is not None
        return device.memory.snapshot()

    assert list(difference(memory(5), memory(5))) == []
    (found,) = difference(memory(5), memory(6))
    assert (found.address, found.before, found.after) == (0x20000684, b"\5\0\0\0", b"\6\0\0\0")


def test_the_first_message_of_a_kind_takes_longer_and_only_that_one() -> None:
    """As GET_DEVICE_INFORMATION did on a real Hailo-8L (silicon-facts.md b)."""
    device, took = Device(load("hailo8l"), "4.23"), []
    for _ in range(3):
        began = device.clock.time
        device.control(encode_request(Opcode.GET_DEVICE_INFORMATION))
        took.append(device.clock.time - began)
    assert took[0] == 457_000 and took[1] == took[2] < took[0]
