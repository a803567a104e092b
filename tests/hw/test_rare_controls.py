"""Control messages that few clients send (firmware-actions.md 5.3, 5.9, 5.11 to 5.15)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from emu.chips.chips import load
from emu.host.session import Session
from emu.host.streams import Host
from emu.hw.device import Device
from emu.hw.vdma import Channel, Edge
from emu.sequencer.program import Direction
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status, decode_response, encode_request
from emu.wire.status import FirmwareStatus as S
from tests.hw.lists import IN, OUT, bare_host, double, single

ENABLE = change_context_switch_status(ContextSwitchStatus.ENABLED, 0)
RESET = change_context_switch_status(ContextSwitchStatus.RESET)
PAUSED = change_context_switch_status(ContextSwitchStatus.PAUSED, 0)
LATENCY, READ = Opcode.NN_CORE_LATENCY_MEASUREMENT_CONFIG, Opcode.NN_CORE_LATENCY_MEASUREMENT_READ
SET_IDLE, GET_IDLE = Opcode.IDLE_TIME_SET_MEASUREMENT, Opcode.IDLE_TIME_GET_MEASUREMENT


def ask(device: Device, opcode: int, *parameters: bytes) -> tuple[bytes, ...]:
    reply = decode_response(device.control(encode_request(opcode, parameters)))
    assert reply.major_status == 0, hex(reply.major_status)
    return reply.parameters


def statuses(device: Device, opcode: int, *parameters: bytes) -> tuple[int, int]:
    reply = decode_response(device.control(encode_request(opcode, parameters)))
    return reply.major_status, reply.minor_status


def status(reply: bytes) -> int:
    return decode_response(reply).major_status


class Watch:
    """When frames passed the boundary, seen on its own."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.seen: list[tuple[int, Direction, int]] = []
        device.probe.observers.append(self)

    def control(self, ns: int, request: bytes, reply: bytes) -> None: ...

    def launch(self, channel: Channel, transfers: int) -> None: ...

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        if edge.boundary:
            self.seen.append((self.device.clock.time, edge.direction, frame))

    def times(self, direction: Direction) -> list[int]:
        return [ns for ns, way, _ in self.seen if way is direction]


def enabled(session: Session) -> Host:
    assert status(session.chip.control(ENABLE)) == 0
    host = bare_host(session)
    host.queue_outputs()
    session.chip.run_until(lambda: session.chip.resting)
    return host


def pass_frames(session: Session, host: Host, count: int) -> None:
    host.feed(count)
    assert session.chip.run_until(lambda: host.done)


def be(*values: int) -> tuple[bytes, ...]:
    return tuple(value.to_bytes(4, "big") for value in values)


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (16, 16), (17, 40)])
def test_latency_is_from_the_frame_of_one_buffer_to_that_of_another(start: int, stop: int) -> None:
    """Sixteen core buffers a frame: buffer 17 lies in frame 1, buffer 40 in frame 2."""
    session = single().session(8)
    device = session.chip
    host, watch = enabled(session), Watch(session.chip)
    ask(device, LATENCY, b"\1", *be(start, stop, 1, 9))
    failed = S.CONTROL_PROTOCOL_STATUS_LATENCY_READ_FAILED
    in_progress = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_IN_PROGRESS
    assert statuses(device, READ) == (failed, in_progress)
    pass_frames(session, host, 4)
    began = watch.times(Direction.H2D)[start // 16]
    ended = watch.times(Direction.D2H)[stop // 16]
    assert ask(device, READ) == (struct.pack(">I", ended - began),) and ended > began
    ask(device, LATENCY, b"\0", *be(0, 0, 0, 0))
    disabled = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_READ_WHILE_DISABLED
    assert statuses(device, READ) == (failed, disabled)
    assert [type(one).__name__ for one in device.probe.observers] == ["Watch"]  # frames can be skipped again


def test_a_latency_of_more_than_32_bits() -> None:
    session = single().session(8)
    device = session.chip
    host = enabled(session)
    ask(device, LATENCY, b"\1", *be(0, 16, 1, 9))  # from frame 0 in to frame 1 out
    pass_frames(session, host, 1)
    device.clock.run_to(device.clock.time + (1 << 32))
    pass_frames(session, host, 1)
    overflow = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_OVERFLOW
    assert statuses(device, READ) == (S.CONTROL_PROTOCOL_STATUS_LATENCY_READ_FAILED, overflow)


def test_latency_of_streams_that_there_are_none_of_never_ends() -> None:
    session = single().session(8)
    host = enabled(session)
    ask(session.chip, LATENCY, b"\1", *be(0, 0, 7, 9))
    pass_frames(session, host, 2)
    assert statuses(session.chip, READ)[0] == S.CONTROL_PROTOCOL_STATUS_LATENCY_READ_FAILED


def covered(stays: list[tuple[int, int]]) -> int:
    """How long at least one frame was inside."""
    total, end = 0, 0
    for came, went in sorted(stays):
        total += max(0, went - max(came, end))
        end = max(end, went)
    return total


@pytest.mark.parametrize("make", [single, double])
def test_idle_time_is_all_but_that_of_frames_inside(make) -> None:  # type: ignore[no-untyped-def]
    session = make(batch=2).session(8)
    device = session.chip
    assert statuses(device, GET_IDLE)[0] == S.CONTROL_PROTOCOL_STATUS_FAILED_IDLE_TIME_GET_MEASUREMENT
    host, watch = enabled(session), Watch(session.chip)
    ask(device, SET_IDLE, b"\1")
    began = device.clock.time
    assert statuses(device, SET_IDLE, b"\1")[0] == S.CONTROL_PROTOCOL_STATUS_IDLE_TIME_MEASUREMENT_ALREADY_SET
    busy = 0
    for _ in range(2):
        watch.seen.clear()
        pass_frames(session, host, 2)
        busy += covered(list(zip(watch.times(Direction.H2D), watch.times(Direction.D2H), strict=True)))
        device.clock.run_to(device.clock.time + 1_000_000)
    asked = device.clock.time
    (found,) = ask(device, GET_IDLE)
    cost = device.clock.time - asked
    assert struct.unpack(">Q", found)[0] == device.clock.time - began - busy
    assert busy > 0 and cost > 0
    ask(device, SET_IDLE, b"\0")
    (kept,) = ask(device, GET_IDLE)
    device.clock.run_to(device.clock.time + 1_000_000)
    assert ask(device, GET_IDLE) == (kept,)


def test_frames_that_a_reset_lost_are_not_inside_for_ever() -> None:
    session = single().session(8)
    device = session.chip
    host = enabled(session)
    ask(device, SET_IDLE, b"\1")
    host.feed(1)
    device.run_until(lambda: bool(device.core.passes and device.core.passes[0].launched))
    assert status(device.control(RESET)) == 0
    before = struct.unpack(">Q", ask(device, GET_IDLE)[0])[0]
    at = device.clock.time
    device.clock.run_to(at + 5_000_000)
    assert struct.unpack(">Q", ask(device, GET_IDLE)[0])[0] - before >= 5_000_000


def test_a_pause_holds_inputs_back_until_the_next_enable() -> None:
    session = single().session(8)
    device = session.chip
    assert status(device.control(PAUSED)) == S.CONTEXT_SWITCH_STATUS_INVALID_STATE_MACHINE_STATUS
    host, watch = enabled(session), Watch(session.chip)
    pass_frames(session, host, 2)
    assert status(device.control(PAUSED)) == 0
    other = change_context_switch_status(ContextSwitchStatus.PAUSED, 3)
    assert status(device.control(other)) == S.CONTEXT_SWITCH_STATUS_INVALID_APPLICATION_INDEX
    host.feed(3)
    assert not device.run_until(lambda: host.done) and len(watch.times(Direction.H2D)) == 2
    assert "paused" in "".join(device.firmware._idle_chain())
    assert status(device.control(ENABLE)) == 0
    assert device.run_until(lambda: host.done) and len(watch.times(Direction.D2H)) == 5


def test_a_reset_ends_a_pause() -> None:
    session = single().session(8)
    device = session.chip
    enabled(session)
    assert status(device.control(PAUSED)) == 0
    assert status(device.control(RESET)) == 0
    host = enabled(session)
    pass_frames(session, host, 1)


def test_five_knows_no_pause() -> None:
    session = single(device="hailo15h", runtime="5.2").session(8)
    enabled(session)
    assert status(session.chip.control(PAUSED)) == S.CONTEXT_SWITCH_STATUS_INVALID_STATE_MACHINE_STATUS


def _hw_infer(state: int, batches: int, channels: Sequence[tuple[int, int]], entries: int = 96) -> tuple[bytes, ...]:
    rows = b"".join(struct.pack("<BBH", channel, 0, count) for channel, count in channels)
    info = rows.ljust(4 * entries, b"\0") + bytes([len(channels)])
    return bytes([state]), b"\0", bytes(2), batches.to_bytes(2, "little"), info, b"\0"


@pytest.mark.parametrize("make", [single, double])
def test_hw_only_inference(make) -> None:  # type: ignore[no-untyped-def]
    """31 frames of two descriptors over lists of 64: INFER_DONE, and its cycles of 5 ns from start to last output."""
    session = make().session(8)
    device = session.chip
    watch = Watch(device)
    opcode = Opcode.CHANGE_HW_INFER_STATUS
    (reply,) = ask(device, opcode, *_hw_infer(0, 31, [(IN, 62), (OUT, 62)]))
    assert reply == struct.pack("<BI", 0, 0)
    device.run_until(lambda: False)
    assert [frame for _, way, frame in watch.seen if way is Direction.D2H] == list(range(31))
    told = device.notifications[-1]
    assert told.event_id.name == "HW_INFER_MANAGER_INFER_DONE"
    (cycles,) = struct.unpack("<I", told.payload)
    assert 0 < cycles * 5 <= max(watch.times(Direction.D2H))
    assert ask(device, opcode, *_hw_infer(1, 31, [(IN, 62), (OUT, 62)])) == (struct.pack("<BI", 1, cycles),)
    assert statuses(device, opcode, *_hw_infer(1, 31, []))[0] == S.HW_INFER_MANAGER_STATUS_INVALID_STATE
    # and the device is free for others
    assert status(device.control(ENABLE)) == 0


def test_hw_only_inference_that_is_refused() -> None:
    opcode, channels = Opcode.CHANGE_HW_INFER_STATUS, [(IN, 62), (OUT, 62)]
    empty = Device(load("hailo8"), "4.23")
    missing = S.HW_INFER_MANAGER_STATUS_NETWORK_GROUP_NOT_CONFIGURED_BEFORE_INFER_START
    assert statuses(empty, opcode, *_hw_infer(0, 1, channels))[0] == missing
    device = single().session(8).chip
    not_open = S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_INDEX
    assert statuses(device, opcode, *_hw_infer(0, 1, [(9, 62)]))[0] == not_open
    assert statuses(device, opcode, *_hw_infer(0, 1, [(IN, 65)]))[0] == not_open
    *front, _ = _hw_infer(0, 1, channels)
    assert statuses(device, opcode, *front, b"\2")[0] == S.HW_INFER_MANAGER_STATUS_INVALID_BOUNDARY_CHANNEL_MODE
    assert statuses(device, opcode, *front, b"\1")[0] == S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE
    assert statuses(device, opcode, *_hw_infer(5, 1, channels))[0] == S.HW_INFER_MANAGER_STATUS_INVALID_STATE
    ask(device, opcode, *_hw_infer(0, 31, [(OUT, 62)]))  # without an input it never ends
    again = S.HW_INFER_MANAGER_STATUS_NETWORK_GROUP_ALREADY_ACTIVATED
    assert statuses(device, opcode, *_hw_infer(0, 31, [(OUT, 62)]))[0] == again


@pytest.mark.parametrize("runtime", ["4.18", "4.19"])
def test_cache_info_of_the_releases_that_have_it(runtime: str) -> None:
    device = Device(load("hailo15h"), runtime)
    init, get = Opcode.CONTEXT_SWITCH_INIT_CACHE_INFO, Opcode.CONTEXT_SWITCH_GET_CACHE_INFO
    update = Opcode.CONTEXT_SWITCH_UPDATE_CACHE_READ_OFFSET
    size = S.CONTEXT_SWITCH_STATUS_INVALID_CACHE_SIZE
    assert ask(device, get) == (bytes(12),)
    assert statuses(device, update, struct.pack("<i", 1))[0] == size
    ask(device, init, struct.pack("<IIi", 100, 90, -1))
    ask(device, update, struct.pack("<i", 20))
    assert ask(device, get) == (struct.pack("<IIi", 100, 10, -1),)
    ask(device, update, struct.pack("<i", -15))
    assert ask(device, get) == (struct.pack("<IIi", 100, 95, -1),)
    for wrong in (struct.pack("<IIi", 0, 0, 0), struct.pack("<IIi", 5, 5, 0)):
        assert statuses(device, init, wrong)[0] == size
    assert statuses(device, init, bytes(11))[0] == S.CONTROL_PROTOCOL_STATUS_INVALID_CACHE_INFO_LENGTH


@pytest.mark.parametrize("runtime", ["4.20", "4.23", "5.2"])
def test_cache_info_is_obsolete(runtime: str) -> None:
    device = Device(load("hailo15h"), runtime)
    for opcode in (76, 77, 78):
        assert statuses(device, opcode, bytes(12))[0] == S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE


def test_what_no_source_tells() -> None:
    device = Device(load("hailo8"), "4.23")
    unsupported = S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE
    assert statuses(device, Opcode.SET_DATAFLOW_INTERRUPT, b"\0", b"\0", b"\0")[0] == unsupported
    assert device.refusal == "interrupts cannot be set from outside"
    assert statuses(device, Opcode.SET_DATAFLOW_INTERRUPT, b"\0", b"\0\0", b"\0")[0] == 0x40030077
    assert ask(device, Opcode.SET_CLOCK_FREQ, *be(400_000_000)) == ()
    assert statuses(device, Opcode.SET_CLOCK_FREQ, *be(200_000_000))[0] == unsupported
    slow = Device(load("hailo8", 200), "4.23")
    assert ask(slow, Opcode.SET_CLOCK_FREQ, *be(200_000_000)) == ()


def test_a_reset_of_the_chip_ends_every_measurement() -> None:
    session = single().session(8)
    device = session.chip
    ask(device, LATENCY, b"\1", *be(0, 0, 1, 9))
    ask(device, SET_IDLE, b"\1")
    ask(device, Opcode.RESET, b"\0")
    assert device.probe.observers == []
    assert statuses(device, GET_IDLE)[0] == S.CONTROL_PROTOCOL_STATUS_FAILED_IDLE_TIME_GET_MEASUREMENT
