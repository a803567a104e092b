"""A running hash of what was written into the chip, worked out only when somebody asks.

It is what makes the synthetic outputs depend on the configuration: for each list of an application what its last run
wrote, in that order. What a frame sees are the lists that configure the context that it passes, so its outputs follow
from the configuration of its own application and from nothing that happened before. Hashing every register costs more
than writing it, and most runs never look, so writes are noted, one run of a list after the other. A run that wrote what
the list wrote when it ran before stands for both: lists that repeat are hashed once.
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
# runs that others of their lists came after are folded when they have noted this much
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


# a register (address, value), a unit (what, index, values), or writes that know their hashes
Noted = tuple[int, int] | tuple[str, int, tuple[int, ...]] | Hashed


def item_hash(address: int, value: int) -> int:
    """What one written address contributes to the hash of the content."""
    return xxhash.xxh3_64_intdigest(_ITEM.pack(address, value))


class ListWrites:
    """What one run of a list wrote, in order; `before`: what it wrote before another list interrupted it."""

    __slots__ = ("_hashes", "before", "entries", "name")

    def __init__(self, name: str, before: ListWrites | None, entries: list[Noted]) -> None:
        self.name = name
        self.before = before
        self.entries = entries  # the journal, while the list runs
        self._hashes: dict[int, int] = {}  # by the number of entries they are of

    def end(self, last: ListWrites | None) -> ListWrites:
        """The list has ended: this run of it, or the `last` one where that wrote the same."""
        if last is None or last.before is not self.before or last.entries != self.entries:
            self.entries = self.entries.copy()
            return self
        self.entries, self._hashes = last.entries, last._hashes  # a moment may still know this one
        return last

    def hash_of(self, count: int) -> int:
        """Of what was written until there were `count` entries, in that order."""
        found = self._hashes.get(count)
        if found is None:
            known = max([number for number in self._hashes if number < count], default=0)
            found = self._hashes.get(known)
            if found is None:
                found = 0 if self.before is None else self.before.hash
            for entry in self.entries[known:count]:
                item = item_hash(*_written(entry)) if isinstance(entry, tuple) else entry.digest()
                found = (found * _MIX + item) & _WORD64
            self._hashes[count] = found
        return found

    @property
    def hash(self) -> int:
        """Of all that was written."""
        return self.hash_of(len(self.entries))

    def items(self) -> dict[int, int]:
        """What each address was left with."""
        found: dict[int, int] = {}
        for entry in self.entries:
            if isinstance(entry, tuple):
                key, value = _written(entry)
                found[key] = item_hash(key, value)
            else:
                found.update((address, item) for address, _, item in entry.word_hashes())
                found.update(entry.block_hashes())
        return found


class Moment:
    """The fingerprint of some lists as it is now, worked out when somebody asks."""

    __slots__ = ("_value", "_writes")

    def __init__(self, writes: tuple[tuple[ListWrites, int] | None, ...]) -> None:
        self._writes = writes  # of each list its run, and how many entries that had; None: it never ran
        self._value: int | None = None

    def resolve(self) -> int:
        if self._value is None:
            hashes = [0 if one is None else one[0].hash_of(one[1]) for one in self._writes]
            self._value, self._writes = xxhash.xxh3_64_intdigest(repr(hashes).encode()), ()
        return self._value


class Fingerprint:
    """See the module. `note` takes what is written, in order."""

    def __init__(self) -> None:
        self._journal: list[Noted] = []
        self.note: Callable[[Noted], None] = self._journal.append
        self.note_all: Callable[[Iterable[Noted]], None] = self._journal.extend
        self._running = self._outer = ListWrites("", None, self._journal)
        self._last: dict[str, ListWrites] = {}  # by list
        self._told: tuple[Lists, ListWrites, int, Moment] | None = None
        self._content = 0
        self._items: dict[int, int] = {}
        # what the content lacks, in the order of writing, and how many entries of it are of runs that are not the last
        self._unfolded: dict[ListWrites, None] = {}
        self._outdated = 0

    def begin(self, context: str) -> None:
        """A context begins to write."""
        self._outer = self._end()
        self._running = ListWrites(context, None, self._journal)
        if self._outdated > _MOST_NOTED:
            self._fold()

    def resume(self) -> None:
        """The context that the last one interrupted goes on."""
        self._end()
        self._running = ListWrites(self._outer.name, self._outer, self._journal)

    def moment(self, lists: Lists) -> Moment:
        """The fingerprint of what `lists` wrote as it is now, to be worked out later or never."""
        running, count = self._running, len(self._journal)
        told = self._told
        if told is not None and told[1] is running and told[2] == count and told[0] == lists:
            return told[3]
        moment = Moment(tuple([self._written_by(name) for name in lists]))
        self._told = lists, running, count, moment
        return moment

    @property
    def content(self) -> int:
        """Hash of what stands where, in whatever order it was written."""
        self._fold()
        self._apply(self._running)  # and once more with all of it when it has ended, to the same end
        return self._content

    def written(self) -> dict[str, int]:
        """For each list by name, a hash of what its last run wrote, in that order."""
        return {name: one.hash for name, one in (self._last | {self._running.name: self._running}).items()}

    def clear(self) -> None:
        """Nothing is written any more."""
        self._end()
        self._items.clear()
        self._last.clear()
        self._unfolded.clear()
        self._running, self._content, self._outdated = ListWrites("", None, self._journal), 0, 0

    def _written_by(self, name: str) -> tuple[ListWrites, int] | None:
        found = self._running if name == self._running.name else self._last.get(name)
        return None if found is None else (found, len(found.entries))

    def _end(self) -> ListWrites:
        """The list that runs writes no more."""
        running = self._running
        last = self._last.get(running.name)
        ended = running.end(last)
        self._journal.clear()
        if ended is last:
            self._unfolded.pop(ended, None)  # what it wrote stands over all that came after it
        elif last is not None:
            self._outdated += len(last.entries)
        self._last[ended.name] = ended
        self._unfolded[ended] = None
        return ended

    def _fold(self) -> None:
        for one in self._unfolded:
            self._apply(one)
        self._unfolded.clear()
        self._outdated = 0

    def _apply(self, one: ListWrites) -> None:
        items, content = self._items, self._content
        for address, item in one.items().items():
            content ^= items.get(address, 0) ^ item
            items[address] = item
        self._content = content


def _written(entry: tuple[int, int] | tuple[str, int, tuple[int, ...]]) -> tuple[int, int]:
    """Key and value of what was written."""
    return entry if len(entry) == 2 else _unit(*entry)


@lru_cache(maxsize=1 << 14)  # lists that run again program the same units again
def _unit(what: str, index: int, values: tuple[int, ...]) -> tuple[int, int]:
    """A unit that is programmed through registers whose addresses are not public, as key and value."""
    name = f"{what} {index}"
    return xxhash.xxh3_64_intdigest(name.encode()), xxhash.xxh3_64_intdigest(f"{name} {values}".encode())
