"""The registers of a card in a replay: what is sent for a recorded access, and what a read may give otherwise.

A control message then goes through the mailbox and the doorbell, a launch through num_available: of both the recording
has a record behind the write that they came of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emu.conform.protocol import Kind, Message, message
from emu.conform.tolerance import differing
from emu.hw.pcie import layout
from emu.hw.pcie.declare import WORD
from emu.wire.wire import Wire

Record = Mapping[str, Any]

_STATUS = (layout.CONFIG, layout.INTERRUPT_STATUS)
_REPLY_HEAD = (layout.FIRMWARE, layout.REPLY)
_REPLY = (layout.FIRMWARE, layout.REPLY + layout.HEAD.size)
SOFTWARE = layout.software(0xFF)
_PENDING = {
    _STATUS: layout.SOURCE_GROUPS | layout.DESTINATION_GROUPS | layout.EVENT,
    (layout.CONFIG, layout.SOURCES): layout.EVERYTHING,
    (layout.CONFIG, layout.DESTINATIONS): layout.EVERYTHING,
}
"""Of the registers that say what is pending: the bits of channels."""


class Rules:
    """What reads and interrupts of a target have to be.

    A reply may differ as `emu.conform.tolerance` says, and so may its MD5, which has to be its own. Which channels are
    pending at an instant, and how far they are, is a time. But what the recording had pending must have been so by
    then, and nothing may be that never is in the recording. Bit 23 of the status nobody knows (silicon-facts.md e).
    """

    def __init__(self, wire: Wire, records: Iterable[Record]) -> None:
        self._wire = wire
        self._digest = b""
        self._unread = 0  # software bits that the host has not cleared yet
        self._seen = dict.fromkeys(_PENDING, 0)
        self._ever = dict.fromkeys(_PENDING, 0)
        for record in records:
            if record["kind"] == "interrupt":
                self._ever[_STATUS] |= record["value"]
            elif record["kind"] == "register" and _place(record) in _PENDING and record["access"] == "read":
                self._ever[_place(record)] |= int.from_bytes(_data(record), "little")

    def lacking(self, record: Record, found: bytes) -> bool:
        """Whether a channel has never been pending yet that was at this read of the recording."""
        place = _place(record)
        theirs = int.from_bytes(found, "little") | self._seen.get(place, 0) | self._unknown(place)
        return bool(int.from_bytes(_data(record), "little") & _PENDING.get(place, 0) & ~theirs)

    def interrupted(self, status: int) -> bool:
        """The target sent an interrupt; whether it is news of its firmware, of which the order counts."""
        fresh = status & SOFTWARE & ~self._unread
        self._unread |= fresh
        return bool(fresh)

    def written(self, record: Record) -> None:
        """The host wrote a register: of the status it clears what it wrote."""
        if _place(record) == _STATUS:
            self._unread &= ~int.from_bytes(_data(record), "little")

    def differing(self, record: Record, found: bytes) -> tuple[str, ...]:
        """The fields of what was read that differ and may not."""
        expected, place = _data(record), _place(record)
        field = "data" if "data" in record else "value"
        if len(found) != len(expected):
            return ("size",)
        if place == _REPLY_HEAD and len(found) == layout.HEAD.size:
            self._digest, size = layout.HEAD.unpack(found)
            return () if size == layout.HEAD.unpack(expected)[1] else ("size of the reply",)
        if place == _REPLY:
            named = differing(self._wire, expected, found)
            digest, self._digest = self._digest, b""
            good = not digest or hashlib.md5(found, usedforsecurity=False).digest() == digest
            return named or (() if good else ("MD5 of the reply",))
        mine, theirs = (int.from_bytes(data, "little") for data in (expected, found))
        free = _PENDING.get(place, 0)
        if place[0] == layout.CHANNELS and place[1] % layout.HALF == layout.COUNTS:
            return ()  # each transfer has its num_processed
        if place in _PENDING:
            lacks = self.lacking(record, found)
            self._seen[place] |= theirs
            if lacks or theirs & free & ~self._ever[place] & ~self._unknown(place):
                return (field,)
        return (field,) if (mine ^ theirs) & ~free else ()

    def _unknown(self, place: tuple[int, int]) -> int:
        return layout.EVENT if place == _STATUS else 0


def is_of_card(record: Record) -> bool:
    """Whether it is an access to the registers of a card, or its interrupt."""
    return record["kind"] in ("register", "interrupt")


def is_reply(record: Record) -> bool:
    """Whether the reply to a control message is read."""
    return _place(record) == _REPLY


def is_access(record: Record) -> bool:
    """Whether a record whose fields have the right types says what was accessed: a word, or bytes in full."""
    if record["access"] not in ("read", "write") or not record["size"]:
        return False
    if "data" in record:
        return len(bytes.fromhex(record["data"])) == int(record["size"])
    value = record.get("value")
    return type(value) is int and 0 <= value <= layout.EVERYTHING and int(record["size"]) == WORD


def sent_access(record: Record) -> Message:
    """The message of an access."""
    place = {"bar": record["bar"], "offset": record["offset"]}
    if record["access"] == "read":
        return message(Kind.GET_REGISTER, **place, size=record["size"])
    return message(Kind.SET_REGISTER, **place, data=_data(record))


def with_data(record: Record, found: bytes) -> Record:
    """The record as it would be of another implementation."""
    if "data" in record or len(found) != WORD:
        kept = {name: value for name, value in record.items() if name != "value"}
        return kept | {"size": len(found), "data": found.hex()}
    return {**record, "value": int.from_bytes(found, "little")}


def consequences(records: Sequence[Record]) -> dict[int, Record]:
    """By the number of a write to a register: the control message or launch that it comes to."""
    found: dict[int, Record] = {}
    at = 0
    for number, record in enumerate(records, 1):
        if record["kind"] == "register":
            at = number if record["access"] == "write" else 0
        elif record["kind"] in ("control", "launch") and at:
            found.setdefault(at, record)
    return found


def _place(record: Record) -> tuple[int, int]:
    return record["bar"], record["offset"]


def _data(record: Record) -> bytes:
    if "data" in record:
        return bytes.fromhex(record["data"])
    return int(record["value"]).to_bytes(WORD, "little")
