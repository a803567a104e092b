"""What a driver keeps: interrupts that get lost, notifications, pace, stalls, files that end."""

from __future__ import annotations

from errno import ECANCELED, ECONNRESET, EFAULT, EINVAL, EIO, ETIMEDOUT
from pathlib import Path
from typing import Any

import pytest

import emu
from emu.card.calls import CALLS, NO_HANDLE, Name
from emu.card.errors import CallError
from emu.card.networks import Networks
from emu.host.watchdog import examine
from emu.hw.faults import Fault
from emu.sequencer.program import NetworkGroupProgram
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status, encode_request
from tests.card.conversation import BY_NAME, Client, make_card
from tests.card.ioctl_client import made_up
from tests.card.runtime import InProcess, MiniRuntime
from tests.conftest import DATA, ROOT

EXAMPLE = ROOT / "examples" / "two_context.hef"

# as driver-ioctl-4.23.md 2 prints them
NUMBERS = {
    Name.QUERY_DEVICE_PROPERTIES: (0x40176701,),
    Name.QUERY_DRIVER_INFO: (0x400C6702,),
    Name.VDMA_ENABLE_CHANNELS: (0x800D7600,),
    Name.VDMA_DISABLE_CHANNELS: (0x800C7601,),
    Name.VDMA_INTERRUPTS_WAIT: (0xC12D7602, 0xC2AD7602),
    Name.VDMA_INTERRUPTS_READ_TIMESTAMPS: (0xCA067603,),
    Name.VDMA_BUFFER_MAP: (0xC0287604,),
    Name.VDMA_BUFFER_UNMAP: (0x80087605,),
    Name.VDMA_BUFFER_SYNC: (0x801C7606,),
    Name.DESC_LIST_CREATE: (0xC01B7607,),
    Name.DESC_LIST_RELEASE: (0x80087608,),
    Name.DESC_LIST_PROGRAM: (0x80337609, 0x802B7609),
    Name.VDMA_LOW_MEMORY_BUFFER_ALLOC: (0xC010760A,),
    Name.VDMA_LOW_MEMORY_BUFFER_FREE: (0x8008760B,),
    Name.MARK_AS_IN_USE: (0x4001760C,),
    Name.VDMA_CONTINUOUS_BUFFER_ALLOC: (0xC018760D,),
    Name.VDMA_CONTINUOUS_BUFFER_FREE: (0x8008760E,),
    Name.VDMA_LAUNCH_TRANSFER: (0x8099760F, 0xC041760F),
    Name.FW_CONTROL: (0xC5F86E00,),
    Name.READ_NOTIFICATION: (0x45E46E01,),
    Name.DISABLE_NOTIFICATION: (0x00006E02,),
    Name.READ_LOG: (0xC2146E03,),
    Name.RESET_NN_CORE: (0x00006E04,),
    Name.WRITE_ACTION_LIST: (0x40186E05,),
}


def test_numbers_of_the_calls() -> None:
    assert set(CALLS) == {number for numbers in NUMBERS.values() for number in numbers}
    for name, numbers in NUMBERS.items():
        assert [call.number for call in CALLS.values() if call.name is name] == list(numbers)
        assert [call.by_handle for call in CALLS.values() if call.name is name] == [False, True][: len(numbers)]


def running(path: Path = EXAMPLE, **options: Any) -> tuple[MiniRuntime, NetworkGroupProgram, Client]:
    """A file, the example, enabled on a card."""
    networks = Networks(compute="off")
    networks.opened(str(path))
    program = emu.compile_hef(emu.open_hef(path))
    client = Client(make_card(networks=networks, **options))
    mini = MiniRuntime(InProcess(client), program)
    mini.configure()
    (group,) = program.network_groups
    mini.activate(group)
    return mini, group, client


def launch(mini: MiniRuntime, group: NetworkGroupProgram, number: int) -> None:
    """One frame, in and out."""
    for stream in group.streams:
        if stream.direction == 1:
            _, address, step = mini._frames[stream.packed_vdma_channel_id]
            mini.calls.write(address + (number % mini.depth) * step, made_up(mini.program, number)[stream.name])
        mini.launch(stream, number)


def test_a_lost_interrupt_is_made_good_by_the_next() -> None:
    """Completions are counted by the hardware, not by interrupts (driver-ioctl-4.23.md 4.9)."""
    mini, group, client = running(faults=[Fault.parse("drop-interrupt:16#0")])
    launch(mini, group, 0)
    assert mini.wait() == {2: 1}
    assert not client.card.channels[16].interrupted
    launch(mini, group, 1)
    assert mini.wait() == {2: 1, 16: 2}
    (output,) = [stream for stream in group.streams if stream.direction == 2]
    _, address, _ = mini._frames[output.packed_vdma_channel_id]
    assert any(mini.calls.read(address, output.transfer_size)), "the memory was written all the same"


def test_every_file_hears_of_an_event_and_one_overwrites_the_other() -> None:
    from emu.wire.notifications import start_update_cache_offset

    card = make_card()
    first, second = Client(card, process=1), Client(card, process=2)
    waiting = first.wait(Name.READ_NOTIFICATION, 0, b"")
    device = card.device
    device.notify(start_update_cache_offset(1), 0)
    first.answered |= dict(card.answers())
    fields = BY_NAME[Name.READ_NOTIFICATION].fields.unpack(first.answered[waiting].data or b"")
    assert fields[1][: fields[0]] == device.notifications[0].encode()
    device.notify(start_update_cache_offset(2), 0)
    device.notify(start_update_cache_offset(4), 0)
    _ = list(card.answers())
    ticket = second.wait(Name.READ_NOTIFICATION, 0, b"")
    fields = BY_NAME[Name.READ_NOTIFICATION].fields.unpack(second.answered[ticket].data or b"")
    assert fields[1][: fields[0]] == device.notifications[2].encode()
    ticket = second.wait(Name.READ_NOTIFICATION, 0, b"")
    assert ticket not in second.answered


def test_reading_is_canceled_for_good() -> None:
    client = Client(make_card())
    waiting = client.wait(Name.READ_NOTIFICATION, 0, b"")
    assert not client(Name.DISABLE_NOTIFICATION).error
    assert client.answered[waiting].error == ECANCELED
    assert not client(Name.DISABLE_NOTIFICATION).error
    assert client.answered[client.wait(Name.READ_NOTIFICATION, 0, b"")].error == ECANCELED


def test_at_a_real_pace_nothing_is_early() -> None:
    mini, group, client = running()
    card = client.card
    card.advance = lambda until_ns=None: None  # type: ignore[method-assign]
    launch(mini, group, 0)
    del card.advance
    now = card.device.clock.time
    card.advance(now + 1)
    assert [channel.completed for channel in card.channels.values()].count(1) == 0
    assert card.next_event_ns is not None and card.next_event_ns > now + 1
    card.advance(now + 1_000_000_000)
    assert card.channels[16].completed == 1
    assert card.device.clock.time == now + 1_000_000_000


@pytest.mark.parametrize("channel", ["16", "two_context/conv2"])
def test_a_stalled_card_owes_transfers(channel: str) -> None:
    mini, group, client = running(faults=[Fault.parse(f"stall-channel:{channel}")])
    launch(mini, group, 0)
    client.wait(Name.VDMA_INTERRUPTS_WAIT, 1 << 16, 0, 0, 0, b"")
    assert client.card.owes
    line = examine(client.card.device.inspection, "the client still expects transfers that it launched").line()
    assert line.startswith("stalled: ")
    assert f"injected: stall-channel:{channel}" in line


def test_frames_are_numbered_over_the_life_of_an_application() -> None:
    """What is made up for a frame does not depend on whether the network was left in between."""
    mini, group, _ = running()
    frames = [made_up(mini.program, number) for number in range(4)]
    at_once = mini.infer(group, frames)
    mini, group, _ = running()
    got = mini.infer(group, frames[:2])
    for frame in frames[2:]:
        mini.deactivate()
        mini.activate(group)
        got += mini.infer(group, [frame])
    assert got == at_once


def test_launches_are_refused_as_the_driver_does() -> None:
    mini, group, client = running()
    (source,) = [stream for stream in group.streams if stream.direction == 1]
    packed = source.packed_vdma_channel_id
    _, address, _ = mini._frames[packed]
    handle = mini.lists[source.dma_address][0]

    def launched(channel: int = packed, at: int = 0, size: int = source.transfer_size, where: int = address) -> int:
        pieces = (0, where, size) + (0, 0, 0) * 7
        return client(Name.VDMA_LAUNCH_TRANSFER, 0, channel, handle, at, 1, 1, *pieces, 0, 2, 0).error

    assert launched(channel=33) == EINVAL
    assert launched(at=1) == EFAULT
    assert launched(where=address - 4096) == EFAULT
    assert launched(channel=5) == ECONNRESET
    assert launched(channel=16) == EFAULT, "a buffer to the device on a channel from it"
    assert launched() == 0
    mini.deactivate()
    assert launched() == ECONNRESET
    assert client(Name.VDMA_LAUNCH_TRANSFER, 0, packed, 77, 0, 1, 1, *[0] * 24, 0, 2, 0).error == EFAULT


def test_a_disabled_channel_ends_the_wait() -> None:
    mini, _, client = running()
    ticket = client.wait(Name.VDMA_INTERRUPTS_WAIT, mini.bitmap, 0, 0, 0, b"")
    assert ticket not in client.answered
    client(Name.VDMA_DISABLE_CHANNELS, mini.bitmap, 0, 0)
    fields = BY_NAME[Name.VDMA_INTERRUPTS_WAIT].fields.unpack(client.answered[ticket].data or b"")
    assert fields[:4] == (mini.bitmap, 0, 0, 0)


def test_the_last_close_drops_the_application() -> None:
    mini, group, client = running()
    client.out(Name.MARK_AS_IN_USE, 0)
    launch(mini, group, 0)
    client.close()
    card = client.card
    assert card.in_use_by is None and card.files == []
    assert all(channel.owner is None for channel in card.channels.values())
    assert card.device.firmware.phase.value == "reset"
    assert not card.device.host_memory.lists
    after = Client(card)
    assert after.out(Name.MARK_AS_IN_USE, 0) == (0,)
    assert MiniRuntime(InProcess(after), mini.program).configure() is None  # at the same addresses as before


def test_resets() -> None:
    """A reset of the device is not answered, one of the core is (driver-ioctl-4.23.md 3)."""
    client = Client(make_card())

    def reset(kind: int) -> int:
        message = encode_request(Opcode.RESET, (kind.to_bytes(4, "big"),))
        return client(Name.FW_CONTROL, b"", len(message), message, 1000, 0).error

    assert [reset(1), reset(2), reset(3)] == [0, ETIMEDOUT, ETIMEDOUT]


def test_a_failing_simulation_is_an_error_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(make_card())

    def fails(message: bytes) -> bytes:
        raise emu.UsageError("of ours")

    monkeypatch.setattr(client.card.device, "control", fails)
    message = change_context_switch_status(ContextSwitchStatus.RESET)
    assert client(Name.FW_CONTROL, b"", len(message), message, 1000, 1).error == EIO
    assert "of ours" in client.card.errors[0]


@pytest.mark.parametrize("faults", [[], [Fault.parse("flip-data:16#0=11")]])
def test_outputs_of_zeros(faults: list[Fault]) -> None:
    """Whatever befell what they stand for."""
    networks = Networks(compute="off", zero_outputs=True)
    networks.opened(str(EXAMPLE))
    program = emu.compile_hef(emu.open_hef(EXAMPLE))
    mini = MiniRuntime(InProcess(Client(make_card(networks=networks, faults=faults))), program)
    mini.configure()
    (group,) = program.network_groups
    mini.activate(group)
    (row,) = mini.infer(group, [made_up(program, 0)])
    assert row == {"two_context/conv2": bytes(640)}


def test_outputs_that_cannot_be_had() -> None:
    """The program goes on, and the reason is kept for the end."""
    said: list[str] = []
    networks = Networks(compute="strict", say=said.append)
    path = DATA / "hef" / "ctr_v0a.hef"
    networks.opened(str(path))
    program = emu.compile_hef(emu.open_hef(path))
    mini = MiniRuntime(InProcess(Client(make_card(networks=networks))), program)
    mini.configure()
    (group,) = program.network_groups
    mini.activate(group)
    (row,) = mini.infer(group, [made_up(program, 0)])
    assert any(any(data) for data in row.values())
    assert networks.refused is not None and networks.refused.exit_code == 3
    assert len(said) == 1 and "outputs are made up" in said[0]


def test_outputs_of_a_reference() -> None:
    """A callable is asked with the bytes of the client's frame, and its bytes reach the client."""
    asked = []

    def model(position: int, number: int, inputs: dict[str, bytes]) -> dict[str, bytes]:
        asked.append((position, number, inputs))
        return {"two_context/conv2": bytes([number + 1]) * 640}

    networks = Networks(reference=lambda hef, group: model)
    networks.opened(str(EXAMPLE))
    program = emu.compile_hef(emu.open_hef(EXAMPLE))
    mini = MiniRuntime(InProcess(Client(make_card(networks=networks))), program)
    mini.configure()
    (group,) = program.network_groups
    mini.activate(group)
    frames = [made_up(program, number) for number in range(3)]
    rows = mini.infer(group, frames)
    assert [row["two_context/conv2"] for row in rows] == [bytes([number + 1]) * 640 for number in range(3)]
    assert asked == [(0, number, frames[number]) for number in range(3)]


def modelled(output: bytes, **options: Any) -> tuple[dict[str, bytes], list[str]]:
    """The first frame of the example where a model gives the same output for each, and what the user is told."""
    said: list[str] = []
    networks = Networks(reference=lambda hef, group: lambda *_: {"two_context/conv2": output}, say=said.append)
    networks.opened(str(EXAMPLE))
    program = emu.compile_hef(emu.open_hef(EXAMPLE))
    mini = MiniRuntime(InProcess(Client(make_card(networks=networks, **options))), program)
    mini.configure()
    (group,) = program.network_groups
    mini.activate(group)
    rows = mini.infer(group, [made_up(program, number) for number in range(2)])
    return rows[0], said


def test_a_model_whose_bytes_do_not_fit() -> None:
    """The program goes on with what is made up, and the user is told once."""
    mini, group, _ = running()
    (row,) = mini.infer(group, [made_up(mini.program, 0)])
    assert modelled(bytes(640)) == ({"two_context/conv2": bytes(640)}, [])
    got, said = modelled(bytes(639))
    assert got == row
    assert len(said) == 1 and "639 bytes, a frame has 640" in said[0]


def test_a_fault_strikes_what_a_model_gives() -> None:
    got, _ = modelled(bytes(640), faults=[Fault.parse("flip-data:16#0=11")])
    assert got == {"two_context/conv2": b"\0\x08" + bytes(638)}


def test_an_output_that_the_nearest_hef_has_not() -> None:
    mini, group, client = running()
    network = client.card.networks.network_of(0)
    assert network is not None and network.streams.pop(16)
    (row,) = mini.infer(group, [made_up(mini.program, 0)])
    assert any(row["two_context/conv2"]) and client.card.errors == []


def test_computed_outputs(shared: Any) -> None:
    """Where the whole network is read, the client gets what the core computes."""
    path = shared / "hef" / "mnist_cnn.v0.hailo8.hef"
    networks = Networks()
    networks.opened(str(path))
    program = emu.compile_hef(emu.open_hef(path))
    card = make_card(networks=networks)
    mini = MiniRuntime(InProcess(Client(card)), program)
    mini.configure()
    (group,) = program.network_groups
    mini.activate(group)
    frames = [made_up(program, number) for number in range(2)]
    rows = mini.infer(group, frames)
    with emu.open_device("hailo8") as device:
        application = device.configure(path, compute=True)
        expected = application.submit_raw({name: [row[name] for row in frames] for name in frames[0]}).wait()
    assert [row[name] for name in expected for row in rows] == [one for rows in expected.values() for one in rows]


def test_a_dma_buf_is_refused() -> None:
    client = Client(make_card())
    assert client(Name.VDMA_BUFFER_MAP, 3, 4096, 1, 1, NO_HANDLE, 0).error == EINVAL


def test_an_unknown_call() -> None:
    client = Client(make_card())
    with pytest.raises(CallError):
        client.file.call(0x1234, b"", None)  # type: ignore[arg-type]
