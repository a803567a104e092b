"""Credits, rings, mappings: what lists say too little or too much of ends in a stall that names it (units.md 7)."""

from __future__ import annotations

import pytest

from emu.host.session import StalledError
from emu.hw.payload import Payload, ring
from emu.wire.actions import Action
from emu.wire.lists import Entry, Repeated
from tests.hw.lists import FRAME, IN, INTER_IN, OUT, Lists, changed, double, single, with_ddr

MAPPING = "CHANGE_VDMA_TO_STREAM_MAPPING"


def flat(entries: list[Entry]) -> list[Entry]:
    out: list[Entry] = []
    for entry in entries:
        out += list(entry.items) if isinstance(entry, Repeated) else [entry]
    return out


def stall(lists: Lists, frames: int = 6) -> str:
    with pytest.raises(StalledError) as stalled:
        lists.run(frames=frames)
    return stalled.value.message


def without_mapping(context: int, channel: int) -> Lists:
    lists = double()
    lists.dynamic[context] = [
        one
        for one in flat(lists.dynamic[context])
        if not (isinstance(one, Action) and one.type.name == MAPPING and one.packed_vdma_channel_id == channel)
    ]
    return lists


def test_an_input_that_is_not_mapped_moves_nothing() -> None:
    text = stall(without_mapping(0, IN))
    assert f"channel {IN} (H2D): no CHANGE_VDMA_TO_STREAM_MAPPING has mapped its channel" in text


@pytest.mark.parametrize("channel", [IN, OUT])
def test_a_mapping_that_is_left_out_of_the_second_context_stalls_it(channel: int) -> None:
    """The input would feed this context too, and the output stays routed to nowhere."""
    assert "dynamic_1" in stall(without_mapping(1, channel))


def test_an_output_that_is_not_routed_away_gives_frames_of_the_first_context_too() -> None:
    result = without_mapping(0, OUT).run(frames=6)
    assert result.device is not None and result.device.vdma.channels[OUT].transfers > 6


def test_lists_that_map_nothing_need_no_mapping() -> None:
    assert {stream.frames for stream in single().run(frames=6).groups[0].streams} == {6}


@pytest.mark.parametrize("batch", [1, 3])
def test_fetch_data_grants_what_it_says(batch: int) -> None:
    """In descriptors for the batch between contexts, in bytes a frame on a boundary."""
    lists = double(batch=batch)
    lists.dynamic[1] = changed(lists.dynamic[1], "FETCH_DATA_FROM_VDMA_CHANNEL", frame_periph_size=1)
    text = stall(lists)
    assert f"channel {INTER_IN} (H2D): FETCH_DATA granted {batch} descriptors for {batch} frames" in text
    assert "of which each takes 2" in text


def test_a_boundary_that_is_granted_less_than_its_buffers() -> None:
    lists = single()
    half = {"frame_periph_size": FRAME // 2}
    lists.activation = changed(lists.activation, "OPEN_BOUNDARY_INPUT_CHANNEL", **half)
    lists.dynamic[0] = changed(lists.dynamic[0], "FETCH_DATA_FROM_VDMA_CHANNEL", **half)
    assert f"FETCH_DATA grants {FRAME // 2} bytes a frame, the stream takes {FRAME}" in stall(lists)


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("ADD_DDR_PAIR_INFO", {"descriptors_per_frame": 3}, "moves 3 descriptors a frame, the stream takes 4"),
        ("ADD_DDR_PAIR_INFO", {"descriptors_per_frame": 5}, "the DDR ring overruns: the task moves 5"),
        ("ACTIVATE_DDR_BUFFER_OUTPUT", {"buffered_rows_count": 0}, "the DDR ring buffers no row"),
        ("ACTIVATE_DDR_BUFFER_OUTPUT", {"buffered_rows_count": 65}, "the DDR ring overruns: 65 rows of 1 descriptors"),
    ],
)
def test_a_ddr_pair_moves_what_it_says(name: str, values: dict[str, int], text: str) -> None:
    lists = with_ddr()
    lists.dynamic[0] = changed(lists.dynamic[0], name, **values)
    assert text in stall(lists)


def test_the_ring_of_a_portal_holds_the_last_rows() -> None:
    """A frame of four rows in a ring that is longer lies behind the frame before it."""
    session = with_ddr().session(frames=3, keep_outputs=True)
    session.run_group(session.applications[0], leave=False)
    written = [
        sorted(at for at, _ in extent.buffer.writes)
        for listed in session.chip.host_memory.lists.values()
        for extent in listed.extents
        if extent.buffer.writes
    ]
    assert written == [[0, 2048, 4096]]


@pytest.mark.parametrize(("begin", "expected"), [(0, b"89ab4567"), (4, b"456789ab"), (8, b"89ab4567")])
def test_a_frame_longer_than_the_ring_leaves_its_end(begin: int, expected: bytes) -> None:
    """Twelve bytes into a ring of eight, worked out by hand: byte n goes to (begin + n) modulo 8."""
    found = ring(b"0123456789ab", 8, begin)
    assert (found.materialise() if isinstance(found, Payload) else found) == expected
