"""Stretches of bytes against a plain array, reads that are seen, frames on a chip that was given no timing."""

from __future__ import annotations

import random
import struct

import pytest

from emu.chips.chips import load
from emu.hw.device import Device
from emu.hw.pieces import Pieces
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status, decode_response, encode_request
from tests.conftest import RUNTIMES
from tests.hw.lists import FRAME, bare_host, single

RUNTIME = RUNTIMES[0]


@pytest.mark.parametrize("seed", range(20))
def test_pieces_hold_what_an_array_would(seed: int) -> None:
    """Writes of any length over each other; words are looked up by their first byte (a multiple of 4)."""
    draw = random.Random(seed)
    pieces, array, written = Pieces(), bytearray(256), bytearray(256)
    for _ in range(40):
        size, data = draw.choice((4, 8, 12, 40)), bytes(draw.randrange(256) for _ in range(40))
        at = draw.randrange(0, 256 - size + 1, 4)
        pieces.write(at, data[:size])
        array[at : at + size] = data[:size]
        written[at : at + size] = b"\1" * size
    held = pieces.content()
    assert list(held) == sorted(held)
    covered = [at + offset for at, data in held.items() for offset in range(len(data))]
    assert covered == [at for at in range(256) if written[at]]  # each byte once
    assert all(array[at : at + len(data)] == data for at, data in held.items())
    for at in range(0, 256, 4):
        expected = struct.unpack_from("<I", array, at)[0] if written[at] else None
        assert pieces.word_at(at) == expected
    assert Pieces().word_at(0) is None


def test_reads_are_seen_word_by_word_and_noted_where_nothing_was_written() -> None:
    device, seen = Device(load("hailo8"), RUNTIME), []
    device.probe.read_hooks.append(lambda address, size: seen.append((address, size)))
    device.memory.write_word(0x18800004, 0x11223344)
    request = encode_request(Opcode.READ_MEMORY, (struct.pack(">I", 0x18800000), struct.pack(">I", 12)))
    (data,) = decode_response(device.control(request)).parameters
    assert data == struct.pack("<3I", 0, 0x11223344, 0)
    assert seen == [(0x18800000, 4), (0x18800004, 4), (0x18800008, 4)]
    assert device.memory.read_before_write == [0x18800000, 0x18800008]


def test_without_timing_the_core_takes_no_time_and_what_moves_the_bytes_decides() -> None:
    """In the steady state a frame every transfer of the larger direction; what comes in goes out as it comes."""
    session = single().session(frames=6)
    device, profile = session.chip, load("hailo8")
    device.flows = None
    host = bare_host(session)
    device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
    host.queue_outputs()
    host.feed(6)
    device.run_until(lambda: host.done)
    one_way = FRAME / min(profile.link.bytes_per_second, profile.dma_bytes_per_second) * 1e9
    (output,) = host.outputs.values()
    assert output.first_ns is not None
    assert (output.last_ns - output.first_ns) / 5 == pytest.approx(one_way, rel=0.02)
    application = device.applications[0]
    flow = device.flow(application, application.dynamic[0])
    assert flow.input_ns == pytest.approx(profile.link.transfer_ns + one_way)
    assert flow.latency_ns == pytest.approx(2 * profile.link.transfer_ns + one_way)
    assert flow.interval_ns == pytest.approx(one_way) and flow.bound_by == "input dma"
    assert (flow.traffic.h2d_bytes, flow.traffic.d2h_bytes) == (FRAME, FRAME)


def test_registers_of_a_unit_count_as_writes_of_their_region() -> None:
    device = Device(load("hailo8"), RUNTIME)
    device.memory.write_unit(((0x18800004, 1), (0x18800008, 2), (0x1880000C, 3)))
    (use,) = [use for use in device.memory.use if use.writes]
    assert (use.writes, use.bytes_written, device.memory.register_writes) == (3, 12, 3)
