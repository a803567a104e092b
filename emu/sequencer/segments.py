"""Source bytes of a buffer in pieces, one behind the other: records of configuration as the file holds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import eq
from typing import TypeAlias, overload

from emu.hef.operations import ActionWriteDataCcwPtr

Segments: TypeAlias = Sequence[memoryview | bytes]


class FileSegments(Sequence[memoryview]):
    """Records that lie in the file at their pointers; a view of one is made for whoever looks at it.

    A view takes three times what its pointer does, which is there anyway: of a file of 1 GB 11 MB.
    """

    __slots__ = ("_file", "_pointers")

    def __init__(self, file: memoryview, pointers: Sequence[ActionWriteDataCcwPtr]) -> None:
        self._file = file
        self._pointers = pointers

    def __eq__(self, other: object) -> bool:
        """As tuples of views are: programs of one file that was opened twice are equal."""
        return isinstance(other, FileSegments) and len(self) == len(other) and all(map(eq, self, other))

    def __len__(self) -> int:
        return len(self._pointers)

    @overload
    def __getitem__(self, at: int) -> memoryview: ...

    @overload
    def __getitem__(self, at: slice) -> FileSegments: ...

    def __getitem__(self, at: int | slice) -> memoryview | FileSegments:
        if isinstance(at, slice):
            return FileSegments(self._file, self._pointers[at])
        pointer = self._pointers[at]
        return self._file[pointer.offset : pointer.offset + pointer.size]

    def __iter__(self) -> Iterator[memoryview]:
        file = self._file
        for pointer in self._pointers:
            offset = pointer.offset
            yield file[offset : offset + pointer.size]
