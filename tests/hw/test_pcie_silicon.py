"""What silicon showed of its registers, replayed against ours: every value that is determined is equal.

Bit 23 of ISTATUS_HOST is not determined (silicon-facts.md e): it comes with nearly every interrupt, and alone behind
some. Where it differs is counted and listed; nothing else differs.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from emu.chips.chips import load
from emu.hw.device import Device
from emu.hw.pcie import layout
from emu.hw.pcie.layout import CHANNELS, CONFIG, FIRMWARE
from emu.wire.actions import HostBufferInfo
from emu.wire.control import ContextSwitchStatus, of_app_cpu, status_change
from tests.conftest import DATA, SHARED, needs_shared
from tests.hw.captures import loaded

Event = Mapping[str, Any]
# descriptors of a transfer, where an event does not say (silicon-facts.md c)
MNIST = {2: 2, 16: 1}


class Silent:
    """A host that only has to be there."""

    keeps_outputs = False

    def interrupt(self, packed: int, processed_ns: Sequence[int]) -> None:
        raise AssertionError("the interrupt is the vector's")

    def free_frames(self, inputs: Iterable[int] | None = None) -> int:
        return 0

    def counters(self) -> Iterable[tuple[object, str]]:
        return ()

    def free_batches(self, batch: int) -> int:
        return 0

    def skip(self, descriptors: Mapping[int, int]) -> Mapping[int, int]:
        raise AssertionError("nothing is skipped")


class Replay:
    """The events of one capture against one card; `compared` counts values, `exceptions` lists those that differ."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.compared: Counter[str] = Counter()
        self.exceptions: list[str] = []
        self.chip = Device(load("hailo8l"), "4.23")
        assert self.chip.pcie is not None
        self.card = self.chip.pcie
        self.card.connect(lambda: None)
        self.card.write(CONFIG, 0x188, 0xFF00FFFF)
        self.sizes: dict[int, int] = {}
        launches = [event for event in events if event["kind"] == "launch"]
        for event in launches:
            index = event["channel"]
            if index in self.sizes:
                continue
            length = event.get("desc_count", 32)
            moved = event["num_avail"] - event["starting_desc"] if "num_avail" in event else MNIST[index]
            self.sizes[index] = moved % length
            buffer = HostBufferInfo(0, 0x10_0000_0000 + index * 0x10000, 512, length, 512 * self.sizes[index])
            self.chip.vdma.channel(index).open(buffer)  # what the activation list did

    def run(self) -> Replay:
        for event in self.events:
            getattr(self, f"_{event['kind']}")(event)
        return self

    def _is(self, what: str, ours: int, theirs: str | int) -> None:
        expected = int(theirs, 16) if isinstance(theirs, str) else theirs
        assert ours == expected, f"{what}: 0x{ours:08X}, silicon had 0x{expected:08X}"
        self.compared[what] += 1

    def _half(self, index: int, word: int = 0) -> int:
        return self.card.read(CHANNELS, index * 32 + (0x10 if index >= 16 else 0) + word)

    def _launch(self, event: Event) -> None:
        index = event["channel"]
        base, length = self._half(index), event.get("desc_count", 32)
        if "base_before" in event:
            self._is("base before", base, event["base_before"])
        self._is("num_avail before", base >> 16, event["starting_desc"])
        self._is("depth", 1 << (base >> 11 & 0xF), length)
        self._is("control", base & 0xFF, 1)
        number = event.get("num_avail", (event["starting_desc"] + self.sizes[index]) % length)
        self.card.write(CHANNELS, index * 32 + (0x10 if index >= 16 else 0), base & 0xFFFF | number << 16)
        self._is("num_avail", self._half(index) >> 16, number)
        if "base_after" in event:
            self._is("base after", self._half(index), event["base_after"])

    def _interrupt(self, event: Event) -> None:
        """What it tells of happens now: behind the read of the status, where only the channels tell of it."""
        bitmap, side, theirs = int(event["channel_bitmap"], 16), event["side"], int(event["istatus"], 16)
        told = [index for index in range(32) if bitmap >> index & 1]
        late = [index for index in told if not theirs & layout.group_bit(index, 16)]
        for index in told:
            if index not in late:
                self._complete(index)
        status = self.card.read(CONFIG, 0x18C)
        self._is("ISTATUS_HOST", status & ~layout.EVENT, theirs & ~layout.EVENT)
        if (status ^ theirs) & layout.EVENT:
            self.exceptions.append(f"{event['t']}: {event['istatus']}, here 0x{status:08X}")
        self.card.write(CONFIG, 0x18C, status)
        self._is("ISTATUS_HOST cleared", self.card.read(CONFIG, 0x18C), 0)
        for index in late:
            self._complete(index)
        offset = {"src": 0x400, "dst": 0x500}.get(side or "")
        if offset is not None:
            self._is("channels", self.card.read(CONFIG, offset), bitmap)
            self.card.write(CONFIG, offset, bitmap)
            self._is("channels cleared", self.card.read(CONFIG, offset), 0)

    def _complete(self, index: int) -> None:
        channel = self.chip.vdma.channels[index]
        channel.claimed += self.sizes[index]
        channel.processed = channel.claimed
        self.card.channel_done(index, ())

    def _num_proc_read(self, event: Event) -> None:
        self._is("num_proc", self._half(event["channel"], 4), event["num_proc_dword"])
        self._is("base", self._half(event["channel"]), event["base_dword"])

    def _doorbell(self, event: Event) -> None:
        self.card.write(FIRMWARE, 0x1684, event["value"])

    def _ioctl(self, event: Event) -> None:
        """The driver's own: no register is touched."""


def captured(path: Path) -> dict[str, list[Event]]:
    """The events of each run in a file: each has its own clock."""
    found: dict[str, list[Event]] = {}
    for event in sorted(json.loads(path.read_bytes())["vdma"], key=lambda event: event["t"]):
        found.setdefault(event.get("capture", path.stem), []).append(event)
    return found


@needs_shared
@pytest.mark.parametrize(
    ("name", "runs", "values", "exceptions"),
    [("mnist", 3, 156, 0), ("yolov6n", 1, 398, 10)],
)
def test_silicon_replayed(name: str, runs: int, values: int, exceptions: int) -> None:
    replays = [Replay(events).run() for events in captured(SHARED / "silicon" / f"{name}.json").values()]
    assert len(replays) == runs
    found = [line for replay in replays for line in replay.exceptions]
    print(name, sum((replay.compared for replay in replays), Counter()), *found, sep="\n  ")
    assert sum(sum(replay.compared.values()) for replay in replays) == values
    assert len(found) == exceptions


def test_an_excerpt_replayed() -> None:
    """As above, of a made-up run in the form of the captures, its values typed from silicon-facts.md c and e."""
    replay = Replay(captured(DATA / "pcie_excerpt.json")["pcie_excerpt"]).run()
    assert len(replay.exceptions) == 2 and sum(replay.compared.values()) == 42


WRONG = {
    "base_before": "0x00002802",
    "num_proc_dword": "0x00020001",
    "istatus": "0x00800002",
    "channel_bitmap": "0x00010004",
    "starting_desc": 1,
    "base_dword": "0x00023001",
    "desc_count": 64,
}


@pytest.mark.parametrize(("key", "value"), WRONG.items())
def test_a_value_that_differs_is_found(key: str, value: str | int) -> None:
    events = [dict(event) for event in captured(DATA / "pcie_excerpt.json")["pcie_excerpt"]]
    next(event for event in events if key in event)[key] = value
    with pytest.raises(AssertionError, match="silicon had"):
        Replay(events).run()


# -- the simulated chip behind its registers


class Driven:
    """A driver of the captured messages and launches: what it read at each interrupt."""

    def __init__(self, path: Path) -> None:
        capture = loaded(path)
        self.chip = Device(load("hailo8l"), "4.23", layout=capture.layout)
        assert self.chip.pcie is not None
        self.card = self.chip.pcie
        self.chip.map_memory(capture.program)
        self.card.connect(self._vector)
        self.card.attach(Silent())
        self.card.write(CONFIG, 0x188, 0xFF00FFFF)
        self.seen: list[tuple[int, int]] = []

    def _vector(self) -> None:
        status = self.card.read(CONFIG, 0x18C)
        self.card.write(CONFIG, 0x18C, status)
        channels = 0
        for offset in (0x400, 0x500):
            bits = self.card.read(CONFIG, offset)
            self.card.write(CONFIG, offset, bits)
            channels |= bits
        self.seen.append((status, channels))

    def control(self, message: bytes) -> bytes:
        self.card.write_block(FIRMWARE, 0, hashlib.md5(message).digest() + struct.pack("<I", len(message)) + message)
        self.card.write(FIRMWARE, 0x1684, 1 if of_app_cpu(message) else 2)
        assert self.seen.pop() == (0x04800000, 0)
        (size,) = struct.unpack("<I", self.card.read_block(FIRMWARE, 0x650, 4))
        return self.card.read_block(FIRMWARE, 0x654, size)


@needs_shared
@pytest.mark.parametrize("name", ["mnist", "yolov6n"])
def test_the_chip_behind_its_registers_does_what_silicon_did(name: str) -> None:
    """The captured messages through the mailbox, the captured launches: replies, channels, interrupts and counts."""
    path = SHARED / "silicon" / f"{name}.json"
    document, driven = json.loads(path.read_bytes()), Driven(path)
    replies = 0
    for request, response in zip(document["controls"][::2], document["controls"][1::2], strict=True):
        message, expected = bytes.fromhex(request["hex"]), bytes.fromhex(response["hex"])
        assert of_app_cpu(message) == (request["cpu_id"] == 0)
        reply = driven.control(message)
        assert len(reply) == len(expected)
        if request["op"] != "GET_DEVICE_INFORMATION":  # its unit-specific fields are zeroed in the capture
            assert reply == expected
        replies += 1
        change = status_change(message) or {}
        if change.get("state_machine_status") == ContextSwitchStatus.ENABLED:
            break
    assert replies == 20
    events = next(iter(captured(path).values()))
    launches = [event for event in events if event["kind"] == "launch"]
    sizes: dict[int, int] = {}
    lengths: dict[int, int] = {}
    card = driven.card
    for event in launches:
        index = event["channel"]
        at = index * 32 + (0x10 if index >= 16 else 0)
        if index not in sizes:
            lengths[index] = event["desc_count"]
            sizes[index] = event["num_avail"] - event["starting_desc"]
            assert card.read(CHANNELS, at) == (event["desc_count"].bit_length() - 1) << 11 | 1
        base = card.read(CHANNELS, at)
        assert base >> 16 == event["starting_desc"]
        card.write(CHANNELS, at, base & 0xFFFF | event["num_avail"] << 16)
    driven.chip.run_until(lambda: False)
    done = {index for index in range(32) for _, channels in driven.seen if channels >> index & 1}
    assert done == set(sizes)
    assert driven.seen[0][1] == 1 << 2  # the input is through before any output
    for status, channels in driven.seen:
        groups = {layout.group_bit(index, 16) for index in range(32) if channels >> index & 1}
        assert status == layout.EVENT | sum(groups)
    told = {event["channel"]: int(event["num_proc_dword"], 16) for event in events if event["kind"] == "num_proc_read"}
    for index, size in sizes.items():
        counts = card.read(CHANNELS, index * 32 + (0x10 if index >= 16 else 0) + 4)
        assert counts == size << 16 | size
        assert told.get(index, counts) == counts
