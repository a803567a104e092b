"""Registers and windows of the BARs as they are declared: place, fields, reset value, who answers and who acts.

An access is checked against its declaration: what is not declared, a read-only field that would change, a size that a
register has not, and what the references do not determine are faults (`RegisterFaultError`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from msgspec import Struct

from emu.errors import HailoError, HailoStatus

WORD = 4
ALL_ONES = 0xFFFFFFFF


class RegisterFaultError(HailoError):
    """An access that a card does not take; the place is the BAR and the offset in it."""

    def __init__(self, message: str, bar: int, offset: int) -> None:
        super().__init__(HailoStatus.HAILO_DRIVER_OPERATION_FAILED, message, bar=bar, offset=f"0x{offset:X}")


class Kind(Enum):
    """What a write does to a field."""

    KEPT = "read and write"
    FIXED = "read only"
    CLEARED = "write 1 to clear"
    RUNG = "write 1 to set"


class Field(Struct, frozen=True):
    """`width` bits from `low` on."""

    name: str
    low: int
    width: int
    kind: Kind = Kind.KEPT

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.low

    def of(self, value: int) -> int:
        return (value & self.mask) >> self.low


# the card, the number of the register in its row, and the value that is written
Read = Callable[[Any, int], int]
Write = Callable[[Any, int, int], None]


class Register(Struct, frozen=True):
    """A word, or a row of `count` of them that are `stride` apart: its `name` then has a `{}` for the number.

    `first` is the number of the first one. `reset` is what it holds at power-on; with `read` it holds nothing itself.
    `write` acts on the value that it has after the write. `unread`: it can be written only; `refused`: why it cannot be
    accessed at all.
    """

    name: str
    offset: int
    fields: tuple[Field, ...] = ()
    reset: int = 0
    count: int = 1
    stride: int = WORD
    first: int = 0
    read: Read | None = None
    write: Write | None = None
    unread: bool = False
    refused: str = ""


class Window(Struct, frozen=True):
    """`size` bytes of memory behind a BAR; `read` takes the card, the offset in it and a size, `write` bytes."""

    name: str
    offset: int
    size: int
    read: Callable[[Any, int, int], bytes]
    write: Callable[[Any, int, bytes], None]


class Place(NamedTuple):
    """One word: its register, and which of the row it is."""

    register: Register
    number: int
    name: str

    def values(self, value: int) -> Mapping[str, int]:
        """The fields of a value by name."""
        return {field.name: field.of(value) for field in self.register.fields}


class Bar:
    """One BAR: `size` bytes, of which the declared ones can be reached."""

    def __init__(self, number: int, size: int, declared: Iterable[Register | Window]) -> None:
        self.number = number
        self.size = size
        self._words: dict[int, Place] = {}
        self.windows: list[Window] = []
        taken: dict[int, str] = {}
        for one in declared:
            if isinstance(one, Window):
                self.windows.append(one)
                words = dict.fromkeys(range(one.offset, one.offset + one.size, WORD), one.name)
            else:
                places = {
                    one.offset + at * one.stride: Place(one, one.first + at, one.name.format(one.first + at))
                    for at in range(one.count)
                }
                words = {at: place.name for at, place in places.items()}
                self._words.update(places)
            for at, name in words.items():
                if at % WORD or at + WORD > size or at in taken:
                    there = f"overlaps {taken[at]}" if at in taken else f"is no word of {size:#x} bytes"
                    raise ValueError(f"BAR{number}: {name} at 0x{at:X} {there}")
            taken.update(words)

    def places(self) -> Iterable[tuple[int, Place]]:
        """All registers with their offsets."""
        return self._words.items()

    def at(self, offset: int) -> Place:
        """The register at an offset; RegisterFaultError where there is none."""
        place = self._words.get(offset)
        if place is None:
            raise RegisterFaultError("no register that is known", self.number, offset)
        if place.register.refused:
            raise RegisterFaultError(f"{place.name}: {place.register.refused}", self.number, offset)
        return place

    def window(self, offset: int, size: int) -> Window | None:
        """The window that an access lies in; RegisterFaultError where it goes beyond its end."""
        for window in self.windows:
            if window.offset <= offset < window.offset + window.size:
                if offset + size > window.offset + window.size:
                    raise RegisterFaultError(f"{size} bytes go beyond {window.name}", self.number, offset)
                return window
        return None


def written(place: Place, old: int, value: int, bar: int, offset: int) -> int:
    """What a register holds once `value` is written over `old`; RegisterFaultError where nothing may change."""
    held, known = 0, 0
    for field in place.register.fields:
        mask, kind = field.mask, field.kind
        known |= mask
        given, before = value & mask, old & mask
        if kind is Kind.KEPT or kind is Kind.RUNG:
            held |= given
        elif kind is Kind.CLEARED:
            held |= before & ~given
        elif given != before:
            what = f"{place.name}: {field.name} is read only, {field.of(before)} cannot become {field.of(given)}"
            raise RegisterFaultError(what, bar, offset)
        else:
            held |= before
    if (value ^ old) & ~known & ALL_ONES:
        raise RegisterFaultError(f"{place.name}: bits 0x{(value ^ old) & ~known:08X} mean nothing", bar, offset)
    return held
