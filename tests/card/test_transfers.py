"""Launched transfers between the client's memory and the DMA: when it is read, when it is written, and by whom."""

from __future__ import annotations

import pytest

import emu
from emu.card.calls import CHANNELS, Name
from emu.card.channels import HostChannel, Transfer
from emu.card.lists import DescriptorList
from emu.hw.faults import Fault
from emu.sequencer.program import BoundaryStream, NetworkGroupProgram
from tests.card.ioctl_client import made_up
from tests.card.runtime import MiniRuntime
from tests.card.test_card import EXAMPLE, launch, running


def ends(group: NetworkGroupProgram) -> tuple[BoundaryStream, BoundaryStream]:
    """The input and the output of the example."""
    (source,) = [one for one in group.streams if one.direction == 1]
    (output,) = [one for one in group.streams if one.direction == 2]
    return source, output


def place(mini: MiniRuntime, stream: BoundaryStream) -> int:
    """Address of the first buffer of a stream."""
    return mini._frames[stream.packed_vdma_channel_id][1]


def expected(mini: MiniRuntime, frames: list[dict[str, bytes]]) -> list[dict[str, bytes]]:
    """What the same frames give on a device that is opened without a driver."""
    with emu.open_device(mini.program.device) as device:
        application = device.configure(EXAMPLE)
        outputs = application.submit_raw({name: [row[name] for row in frames] for name in frames[0]}).wait()
    return [{name: rows[at] for name, rows in outputs.items()} for at in range(len(frames))]


def test_memory_is_read_when_the_dma_takes_it() -> None:
    """Not when it is launched: what the client still writes before that is what goes in."""
    mini, group, client = running()
    source, output = ends(group)
    card = client.card
    card.advance = lambda until_ns=None: None  # type: ignore[method-assign]
    launch(mini, group, 0)
    frame = made_up(mini.program, 7)
    mini.calls.write(place(mini, source), frame[source.name])
    del card.advance
    assert not any(mini.calls.read(place(mini, output), output.transfer_size))
    card.advance()
    (row,) = expected(mini, [frame])
    assert mini.calls.read(place(mini, output), output.transfer_size) == row[output.name]


@pytest.mark.parametrize("cut", [512, 100])
@pytest.mark.parametrize("direction", [1, 2])
def test_a_transfer_of_several_buffers(direction: int, cut: int) -> None:
    """A frame that goes round the end of a cyclic buffer is two stretches of memory, each with its own descriptors
    (driver-ioctl-4.23.md 4.10)."""
    mini, group, client = running()
    source, output = streams = ends(group)
    split, whole = streams[direction - 1], streams[2 - direction]
    packed, size = split.packed_vdma_channel_id, split.transfer_size
    handle, _, page = mini.lists[split.dma_address]
    each = -(-cut // page) - (-(size - cut) // page)
    parts = (place(mini, split) + 4096, cut), (place(mini, split), size - cut)
    frames = [made_up(mini.program, number) for number in range(3)]
    found = []
    for at, frame in enumerate(frames):
        if direction == 1:
            mini.calls.write(parts[0][0], frame[source.name][:cut])
            mini.calls.write(parts[1][0], frame[source.name][cut:])
        else:
            mini.calls.write(place(mini, source), frame[source.name])
        mini.launch(whole, 0)
        fields = (0, packed, handle, at * each, 1, 2, 0, *parts[0], 0, *parts[1], *[0] * 18, 0, 2, 0)
        assert client(Name.VDMA_LAUNCH_TRANSFER, *fields).value == each
        assert client.card.device.num_processed(packed) == (at + 1) * each
        got = parts if direction == 2 else [(place(mini, output), output.transfer_size)]
        found.append({output.name: b"".join(mini.calls.read(*one) for one in got)})
    assert found == expected(mini, frames)
    assert [channel.completed for channel in client.card.channels.values() if channel.completed] == [3, 3]


def test_memory_is_written_before_the_client_hears_of_it() -> None:
    """However late the interrupt is; the stamp is that of the interrupt (driver-ioctl-4.23.md 4.9, 4.11)."""
    late = 5_000_000
    mini, group, client = running(faults=[Fault.parse(f"delay-interrupt:16#0={late}")])
    _, output = ends(group)
    channel = client.card.channels[output.packed_vdma_channel_id]
    channel.stamped = True
    card, device = client.card, client.card.device
    card.advance = lambda until_ns=None: None  # type: ignore[method-assign]
    launch(mini, group, 0)
    del card.advance
    begun = device.clock.time
    card.advance(begun + late)
    assert any(mini.calls.read(place(mini, output), output.transfer_size))
    assert device.num_processed(channel.packed) and not channel.interrupted and not channel.completed
    card.advance()
    assert channel.completed == 1
    ((ns, processed),) = channel.take_stamps()
    assert ns > begun + late and processed == device.num_processed(channel.packed)


def test_nothing_is_written_for_a_disabled_channel() -> None:
    """The driver forgot its transfers; the device, whose channel is open, goes on and reaches no memory."""
    mini, group, client = running()
    source, output = ends(group)
    packed = output.packed_vdma_channel_id
    mini.launch(output, 0)
    listed = client.card.device.host_memory.lists[output.dma_address]
    assert len(listed.bound) == 1
    client(Name.VDMA_DISABLE_CHANNELS, 1 << packed % CHANNELS, 0, 0)
    assert not listed.bound
    mini.calls.write(place(mini, source), made_up(mini.program, 0)[source.name])
    mini.launch(source, 0)
    assert client.card.device.num_processed(packed) == client.card.device.vdma.channels[packed].num_available
    assert not any(mini.calls.read(place(mini, output), output.transfer_size))
    assert not client.card.channels[packed].interrupted and client.card.errors == []


def test_what_is_complete_leaves_the_list() -> None:
    """Over many rounds of a list: the descriptors of transfers that are done are nobody's."""
    mini, group, client = running()
    frames = [made_up(mini.program, number) for number in range(50)]
    lists = [client.card.device.host_memory.lists[one.dma_address] for one in group.streams]
    found = []
    for at in range(0, len(frames), 5):
        found += mini.infer(group, frames[at : at + 5])
        assert not any(one.bound for one in lists)
    source, _ = ends(group)
    count, page = mini.lists[source.dma_address][1:]
    assert len(frames) * -(-source.transfer_size // page) > count, "the list went round"
    assert found == expected(mini, frames)


def test_a_list_that_is_one_transfer_long() -> None:
    """num_processed stands where it stood: what the hardware has no more of is complete (driver-ioctl-4.23.md 4.9)."""
    channel = HostChannel(16, to_device=False)
    descriptors = DescriptorList(4096, 0, 2, 512, True)
    channel.bind(descriptors, Transfer(1024, descriptors=2, after_first=1, after_last=0))
    assert channel.ongoing == len(descriptors.host.bound) == 1
    channel.progress(0, 5)
    assert channel.completed == 1 and not descriptors.host.bound
