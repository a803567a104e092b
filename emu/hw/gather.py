"""Bytes that lie in pieces as one run of bytes: a view where they lie in a row, else a copy.

Configuration is most of a large file. Of what was copied the pages of the mapped file are given back, so that a run
never holds a file twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from mmap import MADV_DONTNEED, mmap
from typing import TypeAlias

Piece: TypeAlias = bytes | memoryview

LARGE = 1 << 20
"""Bytes from which on it pays to avoid a copy; smaller ones are copied faster than looked at."""

_STEP = 1 << 22  # bytes that are copied before their pages are given back


def gathered(pieces: Sequence[Piece], size: int) -> Piece:
    """`size` bytes: the pieces one behind the other, at most that long, and zeros behind them."""
    if size < LARGE:
        return b"".join(pieces).ljust(size, b"\0")
    pieces = [piece for piece in pieces if len(piece)]
    found = _in_a_row(pieces) if pieces and sum(map(len, pieces)) == size else None
    return _copied(pieces, size) if found is None else found


def _in_a_row(pieces: Sequence[Piece]) -> Piece | None:
    """All pieces as one view, where they are neighbours in one buffer."""
    if len(pieces) == 1:
        return pieces[0]
    owner = memoryview(pieces[0]).obj
    if not isinstance(owner, bytes | bytearray | mmap):
        return None
    starts = expected = _address(pieces[0])
    for piece in pieces:
        if memoryview(piece).obj is not owner or _address(piece) != expected:
            return None
        expected += len(piece)
    offset = starts - _address(memoryview(owner))
    return memoryview(owner)[offset : offset + expected - starts].toreadonly()


def _address(piece: Piece) -> int:
    import numpy as np

    address: int = np.frombuffer(piece, np.uint8).__array_interface__["data"][0]
    return address


def _copied(pieces: Sequence[Piece], size: int) -> memoryview:
    files = _files(pieces)
    _forget(files)  # whoever looked at them before has left them in memory
    data = bytearray(size)
    done = given_back = 0
    for piece in pieces:
        for start in range(0, len(piece), _STEP):
            part = piece[start : start + _STEP]
            data[done : done + len(part)] = part
            done += len(part)
            if done - given_back >= _STEP:
                _forget(files)
                given_back = done
    _forget(files)
    return memoryview(data).toreadonly()


def give_back(pieces: Iterable[Piece]) -> None:
    """The pages of mapped files that were read; whoever reads there again gets them from the file again."""
    _forget(_files(pieces))


def _files(pieces: Iterable[Piece]) -> list[mmap]:
    """The mapped files that some pieces lie in."""
    owners = (memoryview(piece).obj for piece in pieces)
    return list({id(owner): owner for owner in owners if isinstance(owner, mmap)}.values())


def _forget(files: Iterable[mmap]) -> None:
    for file in files:
        file.madvise(MADV_DONTNEED)


class Rope:
    """Pieces one behind the other that stay where they are; nothing is looked at across two of them."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = [piece for piece in pieces if len(piece)]
        self._starts = [0, *accumulate(map(len, self._pieces))]

    def __len__(self) -> int:
        return self._starts[-1]

    def between(self, start: int, end: int) -> Piece:
        """Some bytes of one piece."""
        number = bisect_right(self._starts, start) - 1
        if number == len(self._pieces):
            return b""
        first = self._starts[number]
        return self._pieces[number][start - first : end - first]

    def parts(self, size: int) -> Iterator[tuple[int, Piece]]:
        """All pieces, as many at a time as have `size` bytes together, each with where they begin."""
        begins, part, held = 0, [], 0
        for piece in self._pieces:
            part.append(piece)
            held += len(piece)
            if held >= size:
                yield begins, part[0] if len(part) == 1 else b"".join(part)
                begins, part, held = begins + held, [], 0
        if part:
            yield begins, b"".join(part)
