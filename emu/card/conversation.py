"""What clients said to the cards, as records of a recording, and the same said again.

A library without system calls does the same for the same calls: opens, calls with their arguments, and what the client
hands to the device with them (buffers at their sync, frames at their launch) are all that there is to keep. What it
answers and writes is kept too, to be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from errno import EFAULT
from typing import TYPE_CHECKING, Any

from emu.card.calls import CALLS
from emu.card.card import Answer, Caller, Card, Version
from emu.card.errors import CallError
from emu.errors import HailoError, HailoStatus

if TYPE_CHECKING:
    from emu.card.memory import ClientMemory
    from emu.card.open_file import OpenFile

Record = dict[str, Any]
_STRETCHES = 1 << 14  # of a client's memory that are remembered
Put = Callable[[Record], None]

OPEN, CLOSE, CALL, ANSWER, HEF, SPEAK, ADVANCE = "open", "close", "call", "answer", "hef", "speak", "advance"
WRITE = "client-write"


class _Watched:
    """A client's memory, whose writing is told of."""

    def __init__(self, memory: ClientMemory, put: Put) -> None:
        self._memory = memory
        self._put = put
        self.read = memory.read

    def write(self, address: int, data: bytes) -> None:
        self._put({"kind": WRITE, "address": address, "bytes": len(data), "digest": hashlib.md5(data).hexdigest()})
        self._memory.write(address, data)


class Conversation:
    """The one way of a client to its cards: opens, calls and closes. `put` gets the records; None: nothing is kept."""

    def __init__(self, cards: Sequence[Card], put: Put | None = None) -> None:
        self.cards = cards
        self._put = None if put is None else self._dated(put)
        self._numbers: dict[OpenFile, int] = {}
        self._memories: dict[ClientMemory, _Watched] = {}
        self._tickets: dict[Any, int] = {}
        self._opened = self._called = 0

    def _dated(self, put: Put) -> Put:
        """Every record of a recording says when it came about, in simulated ns of the card that is furthest."""
        return lambda record: put(
            {"ns": max((card.device.clock.time for card in self.cards if card.powered), default=0), **record}
        )

    def open(self, card: Card, process: int) -> OpenFile:
        """A node was opened."""
        from emu.card.open_file import OpenFile

        file = OpenFile(card, process)
        if self._put is not None:
            self._numbers[file] = self._opened
            self._put({"kind": OPEN, "file": self._opened, "card": self.cards.index(card), "process": process})
            self._opened += 1
        return file

    def close(self, file: OpenFile) -> None:
        """The last descriptor of an open file is gone."""
        if self._put is not None:
            self._put({"kind": CLOSE, "file": self._numbers.pop(file, -1)})
        file.card.closed(file)

    def call(self, file: OpenFile, number: int, argument: bytes, caller: Caller) -> Answer | None:
        """As `OpenFile.call`."""
        put = self._put
        if put is None:
            return file.call(number, argument, caller)
        self._called += 1
        place = self._called
        put(
            {
                "kind": CALL,
                "number": place,
                "file": self._numbers.get(file, -1),
                "command": number,
                "argument": argument.rstrip(b"\0").hex(),
                "bytes": len(argument),
                "process": caller.process,
                "memory": _handed_over(file, number, argument, caller.memory),
            }
        )
        watched = self._memories.get(caller.memory)
        if watched is None:
            watched = self._memories[caller.memory] = _Watched(caller.memory, put)
        try:
            answer = file.call(number, argument, caller._replace(memory=watched))
        except CallError as error:
            self._answered(place, Answer(error=error.number))
            raise
        if answer is None:
            self._tickets[caller.ticket] = place
        else:
            self._answered(place, answer)
        return answer

    def go_on(self, until_ns: int | None = None) -> Iterator[tuple[Any, Answer]]:
        """Let the devices go on (`Card.advance`); the calls that need not wait any more."""
        if self._put is not None and until_ns is not None:
            self._put({"kind": ADVANCE, "until": until_ns})
        for card in self.cards:
            card.advance(until_ns)
            for ticket, answer in card.answers():
                if self._put is not None:
                    self._answered(self._tickets.pop(ticket, -1), answer)
                yield ticket, answer

    def hef(self, path: str, digest: Callable[[], str] = str, source: str | None = None) -> None:
        """A client opened a HEF; `digest` gives its hash where it is wanted, `source` is what stands for it now."""
        if self._put is not None:
            self._put({"kind": HEF, "path": path, "md5": digest()})
        for card in self.cards:
            card.networks.opened(path, source)

    def speak(self, card: Card, runtime: str, version: Version) -> None:
        """A client's HailoRT was seen to be of a release."""
        if self._put is not None:
            self._put({"kind": SPEAK, "card": self.cards.index(card), "runtime": runtime, "version": list(version)})
        card.speak(runtime, version)

    def _answered(self, place: int, answer: Answer) -> None:
        assert self._put is not None
        data = answer.data.rstrip(b"\0").hex() if answer.data is not None else None
        self._put({"kind": ANSWER, "number": place, "value": answer.value, "errno": answer.error, "data": data})


def _handed_over(file: OpenFile, number: int, argument: bytes, memory: ClientMemory) -> list[list[Any]]:
    """[address, bytes] of the client's memory that a call is about; None for bytes that are not there."""
    call = CALLS.get(number)
    ranges: list[tuple[int, int]] = []
    if call is not None and len(argument) == call.size:
        ranges = file.dma.ranges(call, call.fields.unpack(argument))
    found: list[list[Any]] = []
    for address, size in ranges:
        try:
            found.append([address, memory.read(address, size).hex()])
        except CallError:
            found.append([address, None])
    return found


class _Remembered:
    """The memory of a client that is not there any more: what it handed over, zero where it handed over nothing."""

    def __init__(self) -> None:
        self._stretches: dict[int, bytes] = {}
        self._missing: set[int] = set()

    def remember(self, stretches: Sequence[tuple[int, str | None]]) -> None:
        for address, data in stretches:
            if data is None:
                self._missing.add(address)
            else:
                self._missing.discard(address)
                # the last one wins where they overlap
                self._stretches.pop(address, None)
                self._stretches[address] = bytes.fromhex(data)
        while len(self._stretches) > _STRETCHES:
            del self._stretches[next(iter(self._stretches))]

    def read(self, address: int, size: int) -> bytes:
        if address in self._missing:
            raise CallError(EFAULT, f"{size} bytes at 0x{address:X}")
        exact = self._stretches.get(address)
        if exact is not None and len(exact) >= size:
            return exact[:size]
        out = bytearray(size)
        for begin, data in self._stretches.items():
            start, stop = max(begin, address), min(begin + len(data), address + size)
            if start < stop:
                out[start - address : stop - address] = data[start - begin : stop - begin]
        return bytes(out)

    def write(self, address: int, data: bytes) -> None:
        """It goes nowhere: that it is the same is told by its record."""


def say_again(
    records: Callable[[], Iterator[Record]], conversation: Conversation, files: Mapping[str, str] | None = None
) -> None:
    """Say what the records of a conversation say; `files` stand for the HEFs that were opened then.

    HAILO_INVALID_ARGUMENT for records that no conversation has.
    """
    memory = _Remembered()
    open_files: dict[int, OpenFile] = {}
    try:
        for record in records():
            _say(record, conversation, memory, open_files, files or {})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"not the record of a conversation: {type(error).__name__} {error}"
        ) from None


def _say(
    record: Record,
    conversation: Conversation,
    memory: _Remembered,
    open_files: dict[int, OpenFile],
    files: Mapping[str, str],
) -> None:

    kind = record["kind"]
    if kind == OPEN:
        open_files[record["file"]] = conversation.open(conversation.cards[record["card"]], record["process"])
    elif kind == HEF:
        path = record["path"]
        conversation.hef(path, lambda: str(record["md5"]), files.get(path))
    elif kind == SPEAK:
        major, minor, revision = record["version"]
        conversation.speak(conversation.cards[record["card"]], record["runtime"], (major, minor, revision))
    elif kind in (CLOSE, CALL, ADVANCE):
        if kind == CLOSE:
            conversation.close(open_files.pop(record["file"]))
        elif kind == CALL:
            argument = bytes.fromhex(record["argument"]).ljust(record["bytes"], b"\0")
            memory.remember(record["memory"])
            caller = Caller(record["process"], memory, ("again", record["number"]))
            with suppress(CallError):  # its record tells
                conversation.call(open_files[record["file"]], record["command"], argument, caller)
        for _ in conversation.go_on(record.get("until")):
            pass  # so do those of the answers
