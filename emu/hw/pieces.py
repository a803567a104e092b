"""Written stretches of bytes that do not overlap: what is written anew cuts away what was there."""

from __future__ import annotations

from bisect import bisect_right


class Pieces:
    """Bytes by address. Each write stays a piece of its own, less what later ones wrote over."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._data: dict[int, bytes] = {}

    def write(self, address: int, data: bytes) -> None:
        end = address + len(data)
        old = self._data.get(address)
        if old is not None and len(old) == len(data):
            self._data[address] = data
            return
        first = bisect_right(self._starts, address)
        if first and self._starts[first - 1] + len(self._data[self._starts[first - 1]]) > address:
            first -= 1
        stop = first
        before, after = [], []
        while stop < len(self._starts) and self._starts[stop] < end:
            start = self._starts[stop]
            covered = self._data.pop(start)
            if start < address:
                before.append((start, covered[: address - start]))
            if start + len(covered) > end:
                after.append((end, covered[end - start :]))
            stop += 1
        left = [*before, (address, data), *after]
        self._starts[first:stop] = [start for start, _ in left]
        self._data.update(left)

    def content(self) -> dict[int, bytes]:
        """All pieces in address order."""
        return {start: self._data[start] for start in self._starts}

    def word_at(self, address: int) -> int | None:
        """The little-endian word at an address; None where nothing was written."""
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        start = self._starts[position]
        data = self._data[start][address - start : address - start + 4]
        return int.from_bytes(data, "little") if data else None
