"""The protocol between a host and an implementation of the device: length-prefixed messages (docs/conform.md).

A message is `u32 length | u8 kind | body`, `length` counting kind and body; all numbers are big-endian. The host asks,
the target answers each message with any number of events and one closing answer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum, IntFlag
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct

from emu.errors import HailoError, HailoStatus

VERSION = 2
"""Since 2 there are the registers of a card; whoever speaks a lower one is spoken to in it."""
REGISTERS_SINCE = 2
MAGIC = b"EMUC"
LENGTH = struct.Struct(">I")
MOST = 0xC000
"""Bytes of a message behind its length: a datagram holds one."""
MOST_READ = 0x4000
"""Bytes of one access to registers: no BAR is larger."""
CHUNK = 0x8000
"""Bytes of a buffer's content in one message."""
DIGEST_SIZE = 16
LONGEST_SHOWN = 64
"""Bytes of a register write that stand in its event; of longer ones their digest."""
_ENTRY = struct.Struct(">IIIIIB")


class Kind(IntEnum):
    """What a message is: below 0x80 the host's, then closing answers, from 0x90 on events."""

    HELLO = 0x01
    POWER = 0x02
    CONTROL = 0x03
    BUFFER = 0x04
    LIST = 0x05
    CONTINUOUS = 0x06
    ACTION_LIST = 0x07
    STREAM = 0x08
    FRAMES = 0x09
    LAUNCH = 0x0A
    RUN = 0x0B
    BYE = 0x0C
    SET_REGISTER = 0x0D
    GET_REGISTER = 0x0E
    QUEUE = 0x0F
    READY = 0x81
    DONE = 0x82
    REPLY = 0x83
    REFUSED = 0x84
    VALUE = 0x85
    NOTIFICATION = 0x91
    TRANSFER = 0x92
    HAZARD = 0x93
    WRITE = 0x94
    READ = 0x95
    INTERRUPT = 0x96
    LOG = 0x9F


EVENTS = frozenset(kind for kind in Kind if kind >= 0x90)
CLOSING = frozenset(kind for kind in Kind if 0x80 <= kind < 0x90)


class Watch(IntFlag):
    """What a target can tell, and what it is asked to."""

    TRANSFERS = 1
    HAZARDS = 2
    ACCESSES = 4
    CONTENTS = 8
    LISTS = 16
    REGISTERS = 32


class Why(IntEnum):
    """Why RUN came back."""

    DONE = 0
    IDLE = 1
    ENOUGH = 2
    TIME = 3


class Form(NamedTuple):
    """The body of a message: numbers, then to its end the field `tail`, bytes or (`text`) UTF-8."""

    format: str
    names: tuple[str, ...]
    tail: str = ""
    text: bool = False


def _form(code: str, names: str, tail: str = "", text: bool = False) -> Form:
    return Form(">" + code, tuple(names.split()), tail, text)


FORMS: Mapping[Kind, Form] = MappingProxyType(
    {
        Kind.HELLO: _form("4sH", "magic version"),
        Kind.POWER: _form("BIQ", "watch clusters seed", "names", text=True),
        Kind.CONTROL: _form("", "", "request"),
        Kind.BUFFER: _form("IIBI", "buffer size known offset", "data"),
        Kind.LIST: _form("QIHB", "address count page_size circular", "entries"),
        Kind.CONTINUOUS: _form("QI", "address buffer"),
        Kind.ACTION_LIST: _form("QB", "address context_type", "data"),
        Kind.STREAM: _form(
            "BBBBHHIQ",
            "application channel direction stream context transfers transfer_size address",
            "name",
            text=True,
        ),
        Kind.FRAMES: _form("Q", "first"),
        Kind.LAUNCH: _form("BHI", "channel num_available transfers", "digests"),
        Kind.RUN: _form("II", "events wait_ms"),
        Kind.BYE: _form("", ""),
        Kind.SET_REGISTER: _form("BI", "bar offset", "data"),
        Kind.GET_REGISTER: _form("BII", "bar offset size"),
        Kind.QUEUE: _form("BHI", "channel num_available transfers", "digests"),
        Kind.READY: _form("HB", "version watch", "name", text=True),
        Kind.DONE: _form("B", "why"),
        Kind.REPLY: _form("", "", "reply"),
        Kind.REFUSED: _form("", "", "why", text=True),
        Kind.VALUE: _form("", "", "data"),
        Kind.NOTIFICATION: _form("", "", "data"),
        Kind.TRANSFER: _form("BBBQH16s", "channel stream direction frame num_processed digest"),
        Kind.HAZARD: _form("", "", "finding", text=True),
        Kind.WRITE: _form("II", "address size", "data"),
        Kind.READ: _form("II", "address size"),
        Kind.INTERRUPT: _form("I", "value"),
        Kind.LOG: _form("", "", "line", text=True),
    }
)


class ProtocolError(HailoError):
    """What the other side sent is no message of the protocol."""

    def __init__(self, message: str) -> None:
        super().__init__(HailoStatus.HAILO_INVALID_CONTROL_RESPONSE, message)


class Message(Struct, frozen=True):
    """One message: its kind, and its fields by name."""

    kind: Kind
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


class Entry(NamedTuple):
    """Descriptors of a list: `transfers` transfers of `size` bytes each from descriptor `start` on, over a buffer."""

    start: int
    transfers: int
    size: int
    buffer: int
    offset: int
    device_interrupt: int


def message(kind: Kind, **fields: Any) -> Message:
    """A message to be sent."""
    return Message(kind, fields)


def encode(sent: Message) -> bytes:
    """The whole message with its length; ValueError for one that is longer than any may be, or lacks a field."""
    form, fields = FORMS[sent.kind], dict(sent.fields)
    tail = fields.pop(form.tail, b"") if form.tail else b""
    try:
        numbers = struct.pack(form.format, *[fields.pop(name) for name in form.names])
    except (KeyError, struct.error) as error:
        raise ValueError(f"{sent.kind.name}: {error}") from None
    if fields:
        raise ValueError(f"{sent.kind.name} has no {', '.join(fields)}")
    body = bytes([sent.kind]) + numbers + (tail.encode() if isinstance(tail, str) else bytes(tail))
    if len(body) > MOST:
        raise ValueError(f"{sent.kind.name} of {len(body)} bytes, a message has at most {MOST}")
    return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> Message:
    """A message without its length; ProtocolError for anything else."""
    if not body:
        raise ProtocolError("a message of no bytes")
    try:
        kind = Kind(body[0])
    except ValueError:
        raise ProtocolError(f"no message has the kind 0x{body[0]:02X}") from None
    form = FORMS[kind]
    size = struct.calcsize(form.format)
    rest = body[1 + size :]
    if len(body) <= size or (rest and not form.tail):
        raise ProtocolError(f"{kind.name} of {len(body) - 1} bytes, it has {size}{' or more' * bool(form.tail)}")
    fields: dict[str, Any] = dict(zip(form.names, struct.unpack_from(form.format, body, 1), strict=True))
    if form.text:
        try:
            fields[form.tail] = rest.decode()
        except UnicodeDecodeError:
            raise ProtocolError(f"{kind.name}: its text is no UTF-8") from None
    elif form.tail:
        fields[form.tail] = rest
    return Message(kind, fields)


def length_of(head: bytes) -> int:
    """The length that the first four bytes of a message say; ProtocolError for one that no message has."""
    (length,) = LENGTH.unpack(head)
    if not 0 < length <= MOST:
        raise ProtocolError(f"a message of {length} bytes, one has 1 to {MOST}")
    return int(length)


def pack_entries(entries: list[Entry]) -> bytes:
    """The entries of a LIST."""
    return b"".join(_ENTRY.pack(*entry) for entry in entries)


def entries_of(data: bytes) -> Iterator[Entry]:
    """The same from a message; ProtocolError where the last one is cut off."""
    if len(data) % _ENTRY.size:
        raise ProtocolError(f"LIST: its entries are {len(data)} bytes, each has {_ENTRY.size}")
    yield from map(Entry._make, _ENTRY.iter_unpack(data))


MOST_TRANSFERS = (MOST - 64) // DIGEST_SIZE
"""Of one LAUNCH: its digests are in one message."""
MOST_ENTRIES = (MOST - 64) // _ENTRY.size
"""Of a descriptor list in one message; more follow in messages with the same address."""
