"""Registers of the address space that mean something: their names, reset values, and who acts on a write.

Everything that is not declared is memory. A declaration covers one word or a range of words, as a block of descriptors
or the enable registers of all LCUs are; none may overlap another.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from operator import attrgetter

from msgspec import Struct

WORD = 4

# what a unit does when a word is written: the address (of a range) and the value
OnWrite = Callable[[int, int], None]


class Register(Struct, frozen=True):
    """`size` bytes from `address` on, whole words. `reset` is what each word reads as before it is written."""

    name: str
    address: int
    size: int = WORD
    reset: int | None = None
    on_write: OnWrite | None = None

    @property
    def end(self) -> int:
        return self.address + self.size


_address = attrgetter("address")


class Registers:
    """All that are declared. `act`: some of them do something when they are written."""

    def __init__(self) -> None:
        self._all: list[Register] = []
        self._starts: list[int] = []
        self.act = False

    def declare(self, register: Register) -> None:
        """ValueError for one that is no whole number of words or that overlaps another."""
        if register.address % WORD or register.size % WORD or register.size <= 0:
            raise ValueError(f"{register.name}: 0x{register.size:X} bytes at 0x{register.address:X} are no words")
        place = bisect_right(self._starts, register.address)
        before, behind = self._all[place - 1 : place] if place else [], self._all[place : place + 1]
        for other in (*before, *behind):
            if other.address < register.end and register.address < other.end:
                raise ValueError(f"{register.name} at 0x{register.address:X} overlaps {other.name}")
        insort(self._all, register, key=_address)
        self._starts.insert(place, register.address)
        self.act = self.act or register.on_write is not None

    def copy(self) -> Registers:
        """The same declarations, to which others may come."""
        found = Registers()
        found._all, found._starts, found.act = self._all.copy(), self._starts.copy(), self.act
        return found

    def at(self, address: int) -> Register | None:
        """The register that a byte belongs to."""
        place = bisect_right(self._starts, address) - 1
        return self._all[place] if place >= 0 and address < self._all[place].end else None

    def reset_value(self, address: int) -> int | None:
        """What a word reads as that was never written; None where nothing is declared."""
        register = self.at(address)
        return None if register is None else register.reset

    def written(self, address: int, value: int) -> None:
        """One word was written."""
        register = self.at(address)
        if register is not None and register.on_write is not None:
            register.on_write(address, value)

    def block_written(self, address: int, data: bytes | memoryview) -> None:
        """Bytes were written: every whole word of them that a register covers, in order of address."""
        end = address + len(data)
        place = max(0, bisect_right(self._starts, address) - 1)
        for register in self._all[place:]:
            if register.address >= end:
                break
            if register.on_write is None:
                continue
            first = max(register.address, (address + WORD - 1) & -WORD)
            for at in range(first, min(register.end, end - WORD + 1), WORD):
                register.on_write(at, int.from_bytes(data[at - address : at - address + WORD], "little"))
