"""Which registers a Hailo-8 card has (silicon-facts.md e, vdma.md 2.2 and 9): three BARs, declared.

What is declared here is known from silicon or from the driver's own use of it. The rest of the BARs, and the device's
half of the channels, of which one print is known, cannot be accessed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from enum import IntFlag
from functools import cache
from typing import Protocol

from msgspec.structs import replace

from emu.hw.pcie.declare import Bar, Field, Kind, Read, Register, Window, Write

CONFIG, CHANNELS, FIRMWARE = 0, 2, 4
"""The BARs by what they are for."""
SIZES = {CONFIG: 0x4000, CHANNELS: 0x1000, FIRMWARE: 0x4000}
VENDOR, DEVICE = 0x1E60, 0x2864

VENDOR_WORD = 0x098
INTERRUPT_MASK = 0x188
INTERRUPT_STATUS = 0x18C
SOURCES = 0x400
DESTINATIONS = 0x500
TRANSLATIONS, TRANSLATION_STRIDE, MOST_TRANSLATIONS = 0x700, 0x20, 4
TARGET = 8  # of a translation, the low word
WINDOW, TRANSLATED = 0x17, 6  # its parameters: an enabled window of 4 KiB
MASKED = 0xFF00FFFF  # what the driver enables: all but bits 16 to 23
SOURCE_GROUPS, DESTINATION_GROUPS = 0xFF, 0xFF00
EVERYTHING = 0xFFFFFFFF

CHANNEL_STRIDE = 32
HALF = 0x10
COUNTS, ADDRESS_LOW, ADDRESS_HIGH = 4, 8, 12

REQUEST, REPLY, NOTIFICATION = 0x0, 0x640, 0xC80
HEAD = struct.Struct("<16sI")  # of a request and a reply: MD5 of the message, its bytes
EVENT_HEAD = struct.Struct("<HH")  # of a notification: whether the host has not read it yet, its bytes
MOST_REQUEST = REPLY - REQUEST - HEAD.size
PAGE = 0x1000  # what one address translation shows
DOORBELL = 0x1684
LOGS = (0x2000, 0x3000)  # of the app CPU and of the core CPU
CONTROL_SECTION = 0x60000000  # device address behind the mailboxes
BLOCK_SECTION = 0x200000  # device address behind the doorbell


def message_digest(message: bytes) -> bytes:
    """By which both sides know a whole message, request or reply."""
    return hashlib.md5(message, usedforsecurity=False).digest()


class Page(Protocol):
    """Memory of a page."""

    def read(self, offset: int, size: int) -> bytes: ...

    def write(self, offset: int, data: bytes) -> None: ...


class Served(Protocol):
    """What lies behind the registers (`emu.hw.pcie.card`)."""

    @property
    def logs(self) -> Sequence[Page]: ...

    def launch(self, packed: int, num_available: int, /) -> None: ...

    def channel_base(self, index: int) -> int: ...

    def channel_counts(self, index: int) -> int: ...

    def list_address(self, index: int) -> int: ...

    def ring(self, bits: Ring) -> None: ...

    def read_section(self, offset: int, size: int) -> bytes: ...

    def write_section(self, offset: int, data: bytes) -> None: ...


class Software(IntFlag):
    """ISTATUS_HOST 31:24."""

    SOFT_RESET = 0x01
    NOTIFICATION = 0x02  # and the end of a boot
    CONTROL = 0x04
    DRIVER_DOWN = 0x08


class Ring(IntFlag):
    """The doorbell."""

    APP_CPU = 1
    CORE_CPU = 2
    DRIVER_DOWN = 4
    SOFT_RESET = 8


EVENT = 1 << 23
"""Comes with nearly every interrupt, and alone behind some (silicon-facts.md e): here with each, never alone."""

# the same groups in mask and status; a group of four channels has one bit
_GROUPS = (("sources", 0, 8), ("destinations", 8, 8), ("unnamed", 16, 7), ("event", 23, 1), ("software", 24, 8))
_HALF_KNOWN = "the device's half of a channel is known from a single print (silicon-facts.md c [C])"


def software(bits: int) -> int:
    """The software bits of ISTATUS_HOST as they lie there."""
    return bits << 24


def group_bit(index: int, first_d2h: int) -> int:
    """The bit of ISTATUS_HOST of a channel: four of them share one, those of outputs lie eight bits higher."""
    return 1 << (index // 4 + (8 if index >= first_d2h else 0))


def length_of(base: int) -> int:
    """The length of a channel's list, of its base word: the depth is its logarithm, 16 written as 0."""
    return 1 << ((base >> 11 & 0xF) or 16)


def host_half(index: int, first_d2h: int) -> int:
    """Offset of the host's half of a channel in BAR2: the source of an input, the destination of an output."""
    return index * CHANNEL_STRIDE + (HALF if index >= first_d2h else 0)


@cache
def bars(channels: int, first_d2h: int) -> dict[int, Bar]:
    """The BARs of a card with so many channels, the outputs from `first_d2h` on."""
    return {
        CONFIG: Bar(CONFIG, SIZES[CONFIG], _config()),
        CHANNELS: Bar(CHANNELS, SIZES[CHANNELS], _channels(channels, first_d2h)),
        FIRMWARE: Bar(FIRMWARE, SIZES[FIRMWARE], _firmware()),
    }


def _config() -> tuple[Register, ...]:
    ids = Field("vendor", 0, 16, Kind.FIXED), Field("device", 16, 16, Kind.FIXED)
    cleared = tuple(Field(name, low, width, Kind.CLEARED) for name, low, width in _GROUPS)
    status = Field("channels", 0, 32, Kind.CLEARED)
    words = ("parameters", "source", "target low", "target high", "translation")
    return (
        Register("vendor word", VENDOR_WORD, ids, reset=DEVICE << 16 | VENDOR),
        Register("IMASK_HOST", INTERRUPT_MASK, tuple(Field(*group) for group in _GROUPS)),
        Register("ISTATUS_HOST", INTERRUPT_STATUS, cleared),
        Register("source channels", SOURCES, (status,)),
        Register("destination channels", DESTINATIONS, (status,)),
        *(
            Register(
                f"ATR{{}} {word}",
                TRANSLATIONS + 4 * at,
                (Field(word.replace(" ", "_"), 0, 32),),
                count=MOST_TRANSLATIONS,
                stride=TRANSLATION_STRIDE,
            )
            for at, word in enumerate(words)
        ),
    )


def _channels(count: int, first_d2h: int) -> Iterator[Register]:
    fixed = Kind.FIXED
    base = (
        Field("control", 0, 8, fixed),
        Field("data_id", 8, 3, fixed),
        Field("depth", 11, 4, fixed),
        Field("reserved", 15, 1, fixed),
        Field("num_available", 16, 16),
    )
    counts = Field("num_processed", 0, 16, fixed), Field("num_ongoing", 16, 16, fixed)
    low = Field("error", 0, 8, fixed), Field("reserved", 8, 8, fixed), Field("address_31_16", 16, 16, fixed)
    high = (Field("address_63_32", 0, 32, fixed),)
    words: tuple[tuple[str, tuple[Field, ...], Read, Write | None], ...] = (
        ("base", base, _base, _launch),
        ("counts", counts, _counts, None),
        ("address low", low, _address_low, None),
        ("address high", high, _address_high, None),
    )
    for first, last, host in ((0, first_d2h, 0), (first_d2h, count, HALF)):
        begin, row = first * CHANNEL_STRIDE, Register("", 0, count=last - first, stride=CHANNEL_STRIDE, first=first)
        for at, (word, fields, read, write) in enumerate(words):
            name, offset = f"channel {{}} {word}", begin + host + 4 * at
            yield replace(row, name=name, offset=offset, fields=fields, read=read, write=write)
            other = begin + HALF - host + 4 * at
            yield replace(row, name=f"channel {{}} device half, {word}", offset=other, refused=_HALF_KNOWN)


def _firmware() -> tuple[Register | Window, ...]:
    rings = tuple(
        Field(name, at, 1, Kind.RUNG) for at, name in enumerate(("app_cpu", "core_cpu", "driver_down", "soft_reset"))
    )
    return (
        Window("window of ATR0", 0, PAGE, _read_section, _write_section),
        Register("doorbell", DOORBELL, rings, write=_ring, unread=True),
        Window("log of the app CPU", LOGS[0], PAGE, _log_of(0), _logged(0)),
        Window("log of the core CPU", LOGS[1], PAGE, _log_of(1), _logged(1)),
    )


# -- what the card answers, and what it does


def _base(card: Served, number: int) -> int:
    return card.channel_base(number)


def _counts(card: Served, number: int) -> int:
    return card.channel_counts(number)


def _address_low(card: Served, number: int) -> int:
    return card.list_address(number) & 0xFFFF0000


def _address_high(card: Served, number: int) -> int:
    return card.list_address(number) >> 32


def _launch(card: Served, number: int, value: int) -> None:
    card.launch(number, value >> 16)


def _ring(card: Served, number: int, value: int) -> None:
    card.ring(Ring(value))


def _read_section(card: Served, offset: int, size: int) -> bytes:
    return card.read_section(offset, size)


def _write_section(card: Served, offset: int, data: bytes) -> None:
    card.write_section(offset, data)


def _log_of(cpu: int) -> Callable[[Served, int, int], bytes]:
    return lambda card, offset, size: card.logs[cpu].read(offset, size)


def _logged(cpu: int) -> Callable[[Served, int, bytes], None]:
    return lambda card, offset, data: card.logs[cpu].write(offset, data)
