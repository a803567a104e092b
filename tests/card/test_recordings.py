"""The library side against recorded conversations: what a real client sent gets the replies that it got."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import emu
from emu.card.calls import Call, Name
from emu.card.networks import Networks
from emu.hw.hostmem import HostMemory
from emu.sequencer.program import Program
from tests.card.conversation import BY_NAME, Client, PlainMemory, answer_of, argument_of, lines, make_card
from tests.conftest import RUNTIMES

FILES = {
    "scan": None,
    "identify": None,
    "run-mnist": "mnist_cnn.v0.hailo8.hef",
    "infermodel-mnist": "mnist_cnn.v0.hailo8.hef",
    "latency-mnist": "mnist_cnn.v0.hailo8.hef",
    "notification": "mnist_cnn.v0.hailo8.hef",
    "vstreams-python-mnist": "mnist_cnn.v0.hailo8.hef",
    "run-fast_depth-ddr": "fast_depth_ddr.v1.hailo8.hef",
}


class Playback:
    """Plays a recording; `frames` holds the bytes that each input launch took and each output launch got."""

    def __init__(self, path: Path, hef: Path | None) -> None:
        self.path = path
        self.networks = Networks(compute="off")
        if hef is not None:
            self.networks.opened(str(hef))
        self.card = make_card(networks=self.networks)
        self.client: Client | None = None
        self.memory = PlainMemory()
        self.differences: list[str] = []
        self.calls = 0
        self.inputs: list[bytes] = []
        self.outputs: list[tuple[int, int]] = []  # address and size of each output launch
        self._config = iter(_config_bytes(emu.compile_hef(emu.open_hef(hef)))) if hef is not None else iter(())
        self._mapped: dict[int, tuple[int, int]] = {}

    def play(self) -> None:
        for line in lines(self.path):
            name = line["cmd"].partition(" ")[0]
            if name == "openat":
                if line["cmd"].endswith("/dev/hailo0"):
                    self.client = Client(self.card, self.memory)
            elif name == "release":
                assert self.client is not None
                self.client.close()
            else:
                assert self.client is not None
                self._call(self.client, Name[name], line)

    def _call(self, client: Client, name: Name, line: dict[str, Any]) -> None:
        call = BY_NAME[name]
        number = line.get("answers", line["n"])
        if "answers" not in line:
            argument = argument_of(line, call) if "in_hex" in line else b""
            self._prepare(name, line)
            answer = client.raw(call, argument, number)
            self.calls += 1
            if answer is not None:
                client.answered[number] = answer
            if line.get("blocks"):
                return
        if name is Name.READ_NOTIFICATION and "answers" in line and "out_hex" in line and number not in client.answered:
            # the recording was made to send one that nothing of the device led to
            client.file.notify(bytes.fromhex(line["out_hex"])[8:].ljust(39, b"\0"))
            client.answered |= dict(client.file.answers())
        if name is Name.READ_NOTIFICATION and line.get("errno") and number not in client.answered:
            client.raw(BY_NAME[Name.DISABLE_NOTIFICATION], b"")  # its line stands behind that of the answer
        if name is Name.VDMA_INTERRUPTS_WAIT and number not in client.answered and "answers" in line:
            client.raw(BY_NAME[Name.VDMA_DISABLE_CHANNELS], bytes.fromhex("040001").ljust(12, b"\0"))
        got = client.answered.get(number)
        wanted = answer_of(line, call)
        place = f"{self.path.stem} {number} {name.name}"
        if got is None:
            self.differences.append(f"{place}: no answer")
        elif got.error != line.get("errno", 0) or (not got.error and got.value != line["ret"]):
            if not (name is Name.VDMA_DISABLE_CHANNELS and got.error):
                self.differences.append(f"{place}: {got.value} errno {got.error}")
        elif name is Name.VDMA_INTERRUPTS_READ_TIMESTAMPS:
            self._stamps(place, call.fields.unpack(got.data or b""), call.fields.unpack(wanted or b""))
        elif wanted is not None and got.data != wanted and self._heard(client, name, got.data or b"", wanted) != wanted:
            self.differences.append(f"{place}: {got.data.hex() if got.data else None}")

    def _heard(self, client: Client, name: Name, got: bytes, wanted: bytes) -> bytes:
        """Reports up to here in one: which completions one call reports is a matter of their instants."""
        if name is not Name.VDMA_INTERRUPTS_WAIT:
            return got
        call = BY_NAME[name]
        *bitmap, count, _ = call.fields.unpack(got)
        entries = {one[:2]: one[2] for one in _entries(call, got)}
        while count and entries.keys() < {one[:2] for one in _entries(call, wanted)}:
            ticket = client.wait(Name.VDMA_INTERRUPTS_WAIT, *bitmap, 0, b"")
            if ticket not in client.answered:
                break
            more = client.answered.pop(ticket).data or b""
            for one in _entries(call, more):
                entries[one[:2]] = entries.get(one[:2], 0) + one[2]
        data = b"".join(place + bytes((completed,)) for place, completed in sorted(entries.items()))
        return call.fields.pack(*bitmap, len(entries), data)

    def _stamps(self, place: str, got: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
        """Instants are of the clock; which descriptor the last of them stands for is determined."""
        if got[3][10 * (got[2] - 1) + 8 :][:2] != wanted[3][10 * (wanted[2] - 1) + 8 :][:2] or not got[2]:
            self.differences.append(f"{place}: {got[2]} stamps")

    def _prepare(self, name: Name, line: dict[str, Any]) -> None:
        """What the client writes into its memory before a call."""
        fields = line.get("in", {})
        if name is Name.VDMA_BUFFER_MAP:
            self._mapped[len(self._mapped) + 1] = fields["user_address"], fields["size"]
        elif name is Name.DESC_LIST_PROGRAM and fields["should_bind"] and fields["channel_index"] < 2:
            address, size = self._mapped[fields["buffer_handle"]]
            self.memory.write(address, next(self._config).ljust(size, b"\0"))
        elif name is Name.VDMA_LAUNCH_TRANSFER:
            (buffer,) = fields["buffers"]
            if fields["channel_index"] < 16:
                data = bytes((len(self.inputs) + at) % 251 for at in range(buffer["size"]))
                self.inputs.append(data)
                self.memory.write(buffer["addr_or_fd"], data)
            else:
                self.outputs.append((buffer["addr_or_fd"], buffer["size"]))


def _entries(call: Call, report: bytes) -> list[bytes]:
    """Engine, channel and count of each channel that INTERRUPTS_WAIT reports."""
    *_, count, data = call.fields.unpack(report)
    return [data[3 * at : 3 * at + 3] for at in range(count)]


def _config_bytes(program: Program) -> list[bytes]:
    """What lies behind each config list, in the order in which the client makes them."""
    found = []
    for described in program.descriptor_lists:
        if any(one.segments is not None for one in described.programs):
            host = HostMemory.from_program(program).lists[described.dma_address]
            data = bytearray(described.count * described.page_size)
            for entry in described.programs:
                part, size = host.read(entry.start, -(-entry.size // described.page_size))
                data[entry.offset : entry.offset + size] = part or b""
            found.append(bytes(data))
    return found


@pytest.mark.parametrize("name", FILES)
def test_replies_are_those_of_the_recording(shared: Path, name: str) -> None:
    hef = FILES[name]
    playback = Playback(shared / "driver" / f"{name}.jsonl", None if hef is None else shared / "hef" / hef)
    playback.play()
    assert playback.differences == []
    assert playback.card.errors == []
    assert not playback.card.files
    assert playback.calls == {"scan": 0, "identify": 6}.get(name, playback.calls)
    assert playback.card.powered == (name != "scan")


@pytest.mark.parametrize("name", ["run-mnist", "infermodel-mnist", "vstreams-python-mnist", "run-fast_depth-ddr"])
def test_frames_run_on_the_open_device(shared: Path, name: str) -> None:
    """The client's buffers hold what the same frames give on a device that is opened without any driver."""
    hef = shared / "hef" / str(FILES[name])
    playback = Playback(shared / "driver" / f"{name}.jsonl", hef)
    playback.play()
    with emu.open_device("hailo8", RUNTIMES[0]) as device:
        application = device.configure(hef)
        ((stream, _),) = application.input_streams.items()
        outputs = application.submit_raw({stream: playback.inputs}).wait()
    (expected,) = outputs.values()
    assert len(expected) == len(playback.inputs) > 0
    got = [playback.memory.read(address, size) for address, size in playback.outputs[: len(expected)]]
    if name == "infermodel-mnist":  # its frames share one buffer
        got, expected = got[-1:], expected[-1:]
    assert got == expected


def test_what_clients_sent_is_what_is_compiled(shared: Path) -> None:
    for name in ("run-mnist", "run-fast_depth-ddr"):
        playback = Playback(shared / "driver" / f"{name}.jsonl", shared / "hef" / str(FILES[name]))
        playback.play()
        assert [difference for _, difference in playback.networks.checked] == [""]
