"""A running hash of what was written into the chip, worked out only when somebody asks.

It is what makes the synthetic outputs depend on the configuration: for each list of an application what its last run
wrote, in that order. What a frame sees are the lists that configure the context that it passes, so its outputs follow
from the configuration of its own application and from nothing that happened before. Hashing every register costs more
than writing it, and most runs never look, so writes are noted in a journal that is folded into the hash on demand.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Protocol

import xxhash

_MIX = 0x9E3779B97F4A7C15
_WORD64 = (1 << 64) - 1
_ITEM = struct.Struct("<QQ")
# the journal of a long run is folded when a context begins and this much is noted
_MOST_NOTED = 1 << 16


# the lists that configure what a frame passes, by the names that `begin` gave them
Lists = tuple[str, ...]


class Hashed(Protocol):
    """Many writes at once, which know their own hashes."""

    def word_hashes(self) -> tuple[tuple[int, int, int], ...]:
        """(address, value, item) of every register."""

    def block_hashes(self) -> tuple[tuple[int, int], ...]:
        """(address, item) of every block."""

    def digest(self) -> int:
        """What all of them add to the order of writes."""


class Moment:
    """The fingerprint of some lists as it is now, worked out when somebody asks."""

    __slots__ = ("_fingerprint", "lists", "value")

    def __init__(self, fingerprint: Fingerprint, lists: Lists) -> None:
        self._fingerprint = fingerprint
        self.lists = lists
        self.value: int | None = None

    def resolve(self) -> int:
        if self.value is None:
            self._fingerprint.fold()
        assert self.value is not None
        return self.value


# a register (address, value), a unit (what, index, values), writes that know their hashes, the name of the context
# that begins, None where the context that it interrupted goes on, or a moment to be told
Noted = tuple[int, int] | tuple[str, int, tuple[int, ...]] | Hashed | str | None | Moment


def item_hash(address: int, value: int) -> int:
    """What one written address contributes to the hash of the content."""
    return xxhash.xxh3_64_intdigest(_ITEM.pack(address, value))


class Fingerprint:
    """See the module. `note` takes what is written, in order."""

    def __init__(self) -> None:
        self._journal: list[Noted] = []
        self.note: Callable[[Noted], None] = self._journal.append
        self.note_all: Callable[[Iterable[Noted]], None] = self._journal.extend
        self._content = 0
        self._items: dict[int, int] = {}
        self._values: dict[int, int] = {}
        self._context, self._sequence = "", 0
        self._outer = ("", 0)
        self._sequences: dict[str, int] = {}

    def begin(self, context: str) -> None:
        """A context begins to write."""
        self.note(context)
        if len(self._journal) > _MOST_NOTED:
            self.fold()

    def resume(self) -> None:
        """The context that the last one interrupted goes on."""
        self.note(None)

    def moment(self, lists: Lists) -> Moment:
        """The fingerprint of what `lists` wrote as it is now, to be worked out later or never."""
        last = self._journal[-1] if self._journal else None
        if isinstance(last, Moment) and last.lists == lists:
            return last
        moment = Moment(self, lists)
        self.note(moment)
        return moment

    @property
    def content(self) -> int:
        """Hash of what stands where, in whatever order it was written."""
        self.fold()
        return self._content

    def written(self) -> dict[str, int]:
        """For each list by name, a hash of what its last run wrote, in that order."""
        self.fold()
        return self._sequences | {self._context: self._sequence}

    def clear(self) -> None:
        """Nothing is written any more."""
        self.fold()
        self._items.clear()
        self._values.clear()
        self._sequences.clear()
        self._context, self._sequence, self._content = "", 0, 0

    def fold(self) -> None:
        """Work the journal off."""
        for entry in self._journal:
            if isinstance(entry, tuple):
                if len(entry) == 2:
                    self._write(*entry)
                else:
                    self._write(*_unit(*entry))
            elif isinstance(entry, Moment):
                entry.value = self._tell(entry.lists)
            elif isinstance(entry, str):
                self._sequences[self._context] = self._sequence
                self._outer = (self._context, self._sequence)
                self._context, self._sequence = entry, 0
            elif entry is None:
                self._sequences[self._context] = self._sequence
                self._context, self._sequence = self._outer
            else:
                self._load(entry)
        self._journal.clear()

    def _write(self, key: int, value: int) -> None:
        items = self._items
        if self._values.get(key) == value:
            # the same value again: only the order of writes has changed
            self._sequence = (self._sequence * _MIX + items[key]) & _WORD64
            return
        self._values[key] = value
        item = item_hash(key, value)
        self._sequence = (self._sequence * _MIX + item) & _WORD64
        self._content ^= items.get(key, 0) ^ item
        items[key] = item

    def _load(self, many: Hashed) -> None:
        items, content = self._items, self._content
        for address, value, item in many.word_hashes():
            content ^= items.get(address, 0) ^ item
            items[address] = item
            self._values[address] = value
        for address, item in many.block_hashes():
            content ^= items.get(address, 0) ^ item
            items[address] = item
        self._content = content
        self._sequence = (self._sequence * _MIX + many.digest()) & _WORD64

    def _tell(self, lists: Lists) -> int:
        self._sequences[self._context] = self._sequence
        return xxhash.xxh3_64_intdigest(repr([self._sequences.get(name, 0) for name in lists]).encode())


@lru_cache(maxsize=1 << 14)  # lists that run again program the same units again
def _unit(what: str, index: int, values: tuple[int, ...]) -> tuple[int, int]:
    """A unit that is programmed through registers whose addresses are not public, as key and value."""
    name = f"{what} {index}"
    return xxhash.xxh3_64_intdigest(name.encode()), xxhash.xxh3_64_intdigest(f"{name} {values}".encode())
