"""Data moves through descriptors (units.md 7): what disagrees ends in a short transfer, an abort or a stall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from emu.chips.chips import load
from emu.host.session import RunRequest, StalledError, run_program
from emu.hw import supply
from emu.hw.descriptors import walk
from emu.hw.device import Device
from emu.hw.hostmem import Extent, HostBuffer, HostList
from emu.hw.payload import digest
from emu.hw.vdma import Channel, Edge, EdgeKind
from emu.sequencer.program import Direction
from emu.wire.actions import HostBufferInfo, StreamRegInfo
from tests.hw.lists import BASE, FRAME, OUT, PAGE, STRIDE, Lists, changed, double, single

OPEN_IN, OPEN_OUT = "OPEN_BOUNDARY_INPUT_CHANNEL", "OPEN_BOUNDARY_OUTPUT_CHANNEL"
ON_IN, ON_OUT = "ACTIVATE_BOUNDARY_INPUT", "ACTIVATE_BOUNDARY_OUTPUT"


def damaged(lists: Lists, name: str, **values: int) -> Lists:
    lists.activation = changed(lists.activation, name, **values)
    lists.dynamic = [changed(one, name, **values) for one in lists.dynamic]
    return lists


def run(sound: Lists, broken: Lists, frames: int, **settings: Any) -> Any:
    """The host of the sound lists, and a chip that is sent the broken ones."""
    program, other = sound.program(), broken.program()
    (group,), (damaged_group,) = program.network_groups, other.network_groups
    mixed = replace(program, network_groups=(replace(group, contexts=damaged_group.contexts),))
    return run_program(mixed, load(sound.device), RunRequest(frames=frames, **settings))


def stall(name: str, frames: int = 40, **values: int) -> str:
    with pytest.raises(StalledError) as stalled:
        run(single(), damaged(single(), name, **values), frames)
    return stalled.value.message


@pytest.mark.parametrize("name", [OPEN_IN, OPEN_OUT])
def test_a_base_that_nobody_mapped_aborts_the_channel(name: str) -> None:
    text = stall(name, dma_address=BASE + 9 * STRIDE)
    assert f"the channel is aborted: descriptor 0 of the list at 0x{BASE + 9 * STRIDE:X} points nowhere" in text


@pytest.mark.parametrize("frames", [40, 4_000])
@pytest.mark.parametrize("name", [OPEN_IN, OPEN_OUT])
def test_a_list_that_is_taken_for_twice_as_long_ends_where_it_ends(name: str, frames: int) -> None:
    """Frames whose descriptors are walked are played one by one, however many there are."""
    text = stall(name, frames, total_desc_count=128)
    assert "the channel is aborted: descriptor 64 of the list at" in text


def outcome(lists: Lists, frames: int = 20) -> Any:
    """What the host has of a run: a stall, or the bytes; and how much the channels moved."""
    try:
        result = run(single(), lists, frames, keep_outputs=True)
    except StalledError as stalled:
        return stalled.message
    assert result.device is not None
    moved = {packed: channel.transfers for packed, channel in result.device.vdma.channels.items()}
    return [one.contents for one in result.groups[0].streams], moved


@pytest.mark.parametrize("name", [OPEN_IN, OPEN_OUT])
def test_a_list_that_is_taken_for_half_as_long_loses_count(name: str) -> None:
    """num_processed runs modulo the chip's depth, and the host counts modulo its own."""
    assert outcome(damaged(single(), name, total_desc_count=8)) != outcome(single())


@pytest.mark.parametrize(
    ("name", "values"),
    [
        # the residue at the end of the pattern: the last bytes of a frame do not move
        (ON_IN, {"bytes_in_pattern": FRAME - 8}),
        (ON_OUT, {"bytes_in_pattern": FRAME - 8}),
        # the core waits for all of its buffers: a frame takes descriptors of the next one
        (ON_OUT, {"bytes_in_pattern": FRAME - 200}),
        (ON_IN, {"bytes_in_pattern": FRAME - 200}),
        (ON_IN, {"bytes_in_pattern": 2 * FRAME}),
        (ON_OUT, {"bytes_in_pattern": 2 * FRAME}),
        # half of each descriptor moves
        (OPEN_IN, {"desc_page_size": PAGE // 2}),
        (OPEN_OUT, {"desc_page_size": PAGE // 2}),
        (ON_IN, {"desc_page_size": PAGE // 2}),
        (ON_OUT, {"desc_page_size": PAGE // 2}),
    ],
)
def test_what_open_and_activate_do_not_agree_on_shows(name: str, values: dict[str, int]) -> None:
    assert outcome(damaged(single(), name, **values)) != outcome(single())


def test_the_last_descriptor_moves_what_is_left_of_the_frame() -> None:
    """1,000 bytes: two pages of the stream's 512 say 512 and 488, four of the host's 256 move 232 at last."""
    opened = HostBufferInfo(0, BASE, 256, 16, 1000)
    channel = Channel(2, 0, 2, Direction.H2D, opened, length=16)
    memory = HostBuffer(4096)
    channel.descriptors = HostList(BASE, 16, 256, True, [Extent(0, 16, 4096, memory, 0)])
    registers = StreamRegInfo(0, 0, 1000, 1, 0, 0, 0, 0)
    edge = Edge(EdgeKind.BOUNDARY, channel, 1, 0, registers, opened._replace(desc_page_size=512))
    found = walk(edge, 16)
    assert (found.descriptors, found.moved, found.nowhere) == (4, 1000, -1)
    assert [(one.offset, one.size) for one in found.pieces] == [(0, 256), (256, 256), (512, 256), (768, 232)]


def test_two_patterns_that_make_up_a_frame_are_one() -> None:
    """In whole pages, half the pattern twice moves the same bytes."""
    _, moved = outcome(damaged(single(), ON_IN, bytes_in_pattern=FRAME // 2))
    assert moved == outcome(single())[1]


def test_a_buffer_of_another_channel_is_read_as_it_is() -> None:
    """The input's list stands where the output opens: the core's frames land in the host's input buffers."""
    text = stall(OPEN_OUT, dma_address=BASE)
    assert "output stream 9: 0 of 40 frames" in text or "the host still expects" in text


def collected(make: Any, **settings: Any) -> tuple[bytes, ...]:
    result = make().run(frames=3, keep_outputs=True, **settings)
    return next(one.contents for one in result.groups[0].streams if one.contents)


@pytest.mark.parametrize("make", [single, double])
def test_the_host_collects_what_the_dma_wrote(make: Any) -> None:
    """A byte changed in the host's buffer behind the DMA is what is collected."""

    class Meddler:
        def control(self, ns: int, request: bytes, reply: bytes) -> None: ...

        def launch(self, channel: Any, transfers: int) -> None: ...

        def transfer(self, edge: Any, frame: int, digest: bytes) -> None:
            seen.append((edge.channel.packed, frame, digest))

    seen: list[tuple[int, int, bytes]] = []

    def watch(device: Device) -> None:
        device.probe.observers.append(Meddler())

    plain = collected(make)
    assert collected(make, on_device=watch) == plain
    assert [frame for packed, frame, _ in seen if packed == OUT] == [0, 1, 2]
    assert len(set(plain)) == 3 and {len(one) for one in plain} == {FRAME}


@pytest.mark.parametrize("make", [single, double])
def test_computed_bytes_cross_the_dma_at_the_time_of_compute(make: Any) -> None:
    """What a model gives is made of the inputs as they came, and its digests are those that cross the border."""
    asked: list[tuple[int, int]] = []
    seen: dict[int, bytes] = {}

    class Watcher:
        def control(self, ns: int, request: bytes, reply: bytes) -> None: ...

        def launch(self, channel: Any, transfers: int) -> None: ...

        def transfer(self, edge: Any, frame: int, digest: bytes) -> None:
            if edge.channel.packed == OUT:
                seen[frame] = digest

    def model(group: int, frame: int, inputs: Mapping[str, bytes]) -> Mapping[str, bytes]:
        asked.append((frame, times[-1].clock.time))
        (data,) = inputs.values()
        return {"output stream 9": bytes(255 - byte for byte in data)}

    times: list[Device] = []

    def watch(device: Device) -> None:
        times.append(device)
        device.probe.observers.append(Watcher())

    def inputs(group: int, stream: str, frame: int) -> bytes:
        return bytes([frame + 1]) * FRAME

    result = make().run(frames=3, keep_outputs=True, inputs=inputs, outputs=model, on_device=watch)
    (contents,) = [one.contents for one in result.groups[0].streams if one.contents]
    assert contents == tuple(bytes([254 - frame]) * FRAME for frame in range(3))
    assert seen == {frame: digest(content) for frame, content in enumerate(contents)}
    assert [frame for frame, _ in asked] == [0, 1, 2] and len({ns for _, ns in asked}) == 3
    assert result.groups[0].real == (frozenset({"output stream 9"}),) * 3


def test_walking_the_descriptors_is_what_the_short_way_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything agrees a frame is one transfer; walked descriptor by descriptor it is the same run."""

    def everything(make: Any) -> Any:
        result = make(batch=3).run(frames=13, keep_outputs=True)
        group = result.groups[0]
        return group.streams, group.simulated_ns, group.latency_ns, result.events

    for make in (single, double):
        short = everything(make)
        with monkeypatch.context() as patch:
            patch.setattr(supply, "agrees", lambda edge: False)
            assert everything(make) == short
