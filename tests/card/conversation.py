"""Recorded conversations of unmodified HailoRT programs with a driver, and clients that say what they said.

The client's side of a recording is the real library's; the contents of mapped buffers are not in it and are put into
the client's memory here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from errno import EFAULT
from pathlib import Path
from typing import Any

from emu.card.calls import CALLS, Call, Name
from emu.card.card import Answer, Caller, Card, CardOptions
from emu.card.errors import CallError
from emu.card.networks import Networks
from emu.card.open_file import OpenFile
from emu.chips import chips
from tests.conftest import RUNTIMES

BY_NAME = {call.name: call for call in CALLS.values() if not call.by_handle}
PROCESS = 77


def make_card(
    device: str = "hailo8", runtime: str = RUNTIMES[0], networks: Networks | None = None, **more: Any
) -> Card:
    return Card(CardOptions(chips.load(device), runtime, **more), networks)


class PlainMemory:
    """An address space in which everything from `low` on is there, zero until it is written."""

    def __init__(self, low: int = 0x1000, page: int = 4096) -> None:
        self._low = low
        self._page = page
        self._pages: dict[int, bytearray] = {}

    def read(self, address: int, size: int) -> bytes:
        self._check(address, size)
        out = bytearray()
        while len(out) < size:
            page, at = divmod(address + len(out), self._page)
            part = min(size - len(out), self._page - at)
            out += self._pages[page][at : at + part] if page in self._pages else bytes(part)
        return bytes(out)

    def write(self, address: int, data: bytes) -> None:
        self._check(address, len(data))
        done = 0
        while done < len(data):
            page, at = divmod(address + done, self._page)
            part = min(len(data) - done, self._page - at)
            self._pages.setdefault(page, bytearray(self._page))[at : at + part] = data[done : done + part]
            done += part

    def _check(self, address: int, size: int) -> None:
        if address < self._low or address + size > 1 << 63:
            raise CallError(EFAULT, f"{size} bytes at 0x{address:X}")


class Client:
    """Calls an open file by name; a call that waits leaves its answer in `answered` under its ticket."""

    def __init__(self, card: Card, memory: PlainMemory | None = None, process: int = PROCESS) -> None:
        self.card = card
        self.memory = memory or PlainMemory()
        self.file = OpenFile(card, process)
        self.process = process
        self.answered: dict[Any, Answer] = {}
        self._tickets = 0

    def raw(self, call: Call, argument: bytes, ticket: Any = None) -> Answer | None:
        try:
            return self.file.call(call.number, argument, Caller(self.process, self.memory, ticket))
        except CallError as error:
            return Answer(error=error.number)
        finally:
            self.card.advance()
            self.answered |= dict(self.card.answers())

    def __call__(self, name: Name, *fields: Any) -> Answer:
        """The answer of a call that does not wait; one that waits is an error of the test."""
        call = BY_NAME[name]
        answer = self.raw(call, call.fields.pack(*fields))
        assert answer is not None, f"{name} waits"
        return answer

    def out(self, name: Name, *fields: Any) -> tuple[Any, ...]:
        """The fields that a call gives back."""
        answer = self(name, *fields)
        assert not answer.error, (name, answer.error)
        assert answer.data is not None
        return BY_NAME[name].fields.unpack(answer.data)

    def wait(self, name: Name, *fields: Any) -> Any:
        """Call something that may wait; the ticket under which `answered` will have its answer."""
        self._tickets += 1
        ticket = f"{name.name} {self._tickets}"
        call = BY_NAME[name]
        answer = self.raw(call, call.fields.pack(*fields), ticket)
        if answer is not None:
            self.answered[ticket] = answer
        return ticket

    def close(self) -> None:
        self.card.closed(self.file)
        self.answered |= dict(self.card.answers())


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as stream:
        yield from map(json.loads, stream)


def argument_of(line: dict[str, Any], call: Call) -> bytes:
    """The bytes of a recorded argument; of FW_CONTROL the hex ends behind the message."""
    data = bytearray(bytes.fromhex(line["in_hex"]).ljust(call.size, b"\0"))
    if call.name is Name.FW_CONTROL:
        fields = line["in"]
        data[-8:] = call.fields.pack(bytes(16), 0, b"", fields["timeout_ms"], fields["cpu_id"])[-8:]
    return bytes(data)


def answer_of(line: dict[str, Any], call: Call) -> bytes | None:
    if "out_hex" not in line:
        return None
    data = bytearray(bytes.fromhex(line["out_hex"]).ljust(call.size, b"\0"))
    if call.name is Name.FW_CONTROL:
        fields = line["out"]
        data[-8:] = call.fields.pack(bytes(16), 0, b"", fields["timeout_ms"], fields["cpu_id"])[-8:]
    return bytes(data)
