"""What was made of configuration that cannot change while its bytes lie in host memory: made once a process.

A program's buffers are filled with views of the mapped file. The same stretch of the same views holds the same bytes,
which need not be read to know it. Not so bytes that somebody wrote, that a fault touches or that a caller may change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from mmap import mmap
from typing import Generic, TypeVar

from emu.hw.hostmem import SourceStretch

T = TypeVar("T")
_MOST_BYTES = 32 << 20
_MOST_ENTRIES = 1024

Key = tuple[Hashable, tuple[tuple[int, int, int], ...]]


class Lasting(Generic[T]):
    """Values by stretches of source bytes and what else decides, those used last within bounds.

    An entry holds its sources, so that their identity belongs to nobody else.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[Key, tuple[tuple[SourceStretch, ...], T]] = OrderedDict()
        self._bytes = 0

    def find(self, stretches: tuple[SourceStretch, ...], which: Hashable) -> T | None:
        """What was made of these stretches; None where nothing was."""
        key = _key(stretches, which)
        found = self._found.get(key)
        if found is None:
            return None
        self._found.move_to_end(key)
        return found[1]

    def keep(self, stretches: tuple[SourceStretch, ...], which: Hashable, value: T) -> None:
        """Keep what was made; nothing where the sources may change."""
        key = _key(stretches, which)
        if key in self._found or not all(_is_lasting(one) for one in stretches):
            return
        self._found[key] = stretches, value
        self._bytes += _size(stretches)
        while len(self._found) > _MOST_ENTRIES or (self._bytes > _MOST_BYTES and len(self._found) > 1):
            self._bytes -= _size(self._found.popitem(last=False)[1][0])


def _key(stretches: tuple[SourceStretch, ...], which: Hashable) -> Key:
    return which, tuple([(id(one.segments), one.offset, one.size) for one in stretches])


def _size(stretches: tuple[SourceStretch, ...]) -> int:
    return sum(one.size for one in stretches)


def _is_lasting(stretch: SourceStretch) -> bool:
    """Whether all bytes are those of a file mapped for reading or of `bytes`."""
    owners = [one.obj if one.__class__ is memoryview else one for one in stretch.segments]
    for owner in dict(zip(map(id, owners), owners, strict=True)).values():
        if not isinstance(owner, bytes) and not (isinstance(owner, mmap) and memoryview(owner).readonly):
            return False
    return True
