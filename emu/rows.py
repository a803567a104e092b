"""Arrays that are written while their rows come, however many there are: .npy files, and .npz with rows of several.

How many rows there will be is known before the first one, and so is where each array lies in the file.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from msgspec import Struct
from numpy.lib import format as npy
from numpy.typing import NDArray

from emu.output import Output

_BUFFER = 1 << 17  # bytes of an array of an archive that are written at once
_FIRST_64 = _MARK_64 = 0xFFFFFFFF  # sizes and places from there on stand in a field of 64 bits, and this in their place

# the ZIP format (APPNOTE 4.3.7, 4.3.12, 4.3.14 to 4.3.16)
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_SIZES_64 = struct.Struct("<2H2Q")
_PLACE_64 = struct.Struct("<2H3Q")
_MADE_ON_UNIX, _VERSION_64, _STORED, _UTF8 = 3 << 8, 45, 0, 0x800
_TIME, _DATE = 0, 1 << 5 | 1  # 1980-01-01: the same arrays give the same bytes
_MODE = 0o600 << 16


def header_of(count: int, row: NDArray[Any]) -> bytes:
    """What stands in a .npy file before `count` rows such as this one."""
    head = io.BytesIO()
    shape = (count, *row.shape)
    npy.write_array_header_1_0(head, {"descr": npy.dtype_to_descr(row.dtype), "fortran_order": False, "shape": shape})
    return head.getvalue()


class NpyRows:
    """A .npy file of `count` rows."""

    def __init__(self, output: Output, count: int) -> None:
        self.output = output
        self._count = count
        self._begun = False

    def add(self, row: NDArray[Any]) -> None:
        """The next row: of the shape and type of the others."""
        if not self._begun:
            self._begun = True
            self.output.stream.write(header_of(self._count, row))
        self.output.stream.write(np.ascontiguousarray(row).data)

    def commit(self) -> None:
        self.output.commit()


class _Member(Struct):
    """An array of an archive: `size` bytes from `start` on, of which some wait to be written."""

    name: bytes
    offset: int
    start: int
    size: int
    waiting: bytearray
    written: int = 0
    crc: int = 0


class NpzRows:
    """A .npz file of arrays of `count` rows each."""

    def __init__(self, output: Output, count: int) -> None:
        self._output = output
        self._count = count
        self._members: dict[str, _Member] = {}
        self._file: BinaryIO = output.random_access()
        self._end = 0

    def add(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """The next row of some arrays, by name."""
        for name, row in rows.items():
            member = self._members.get(name)
            if member is None:
                member = self._begin(name, row)
            member.waiting += np.ascontiguousarray(row).data.cast("B")
            if len(member.waiting) >= _BUFFER:
                self._flush(member)

    def _begin(self, name: str, row: NDArray[Any]) -> _Member:
        header = header_of(self._count, row)
        path = f"{name}.npy".encode()
        size = len(header) + self._count * row.nbytes
        start = self._end + _LOCAL.size + len(path) + (_SIZES_64.size if size >= _FIRST_64 else 0)
        member = self._members[name] = _Member(path, self._end, start, size, bytearray(header))
        self._end = start + size
        return member

    def _flush(self, member: _Member) -> None:
        self._file.seek(member.start + member.written)
        self._file.write(member.waiting)
        member.crc = zlib.crc32(member.waiting, member.crc)
        member.written += len(member.waiting)
        member.waiting.clear()

    def commit(self) -> None:
        """All rows are there: the file takes its name."""
        for member in self._members.values():
            self._flush(member)
            assert member.written == member.size, f"{member.name!r} has not all of its rows"
            self._file.seek(member.offset)
            self._file.write(_local(member))
        self._file.seek(self._end)
        directory = b"".join(map(_central, self._members.values()))
        self._file.write(directory)
        self._file.write(_end(len(self._members), len(directory), self._end))
        self._file.flush()
        self._output.commit()


def _flags(name: bytes) -> int:
    return 0 if name.isascii() else _UTF8


def _local(member: _Member) -> bytes:
    size, extra = member.size, b""
    if size >= _FIRST_64:
        extra, size = _SIZES_64.pack(1, 16, size, size), _MARK_64
    names = len(member.name), len(extra)
    head = _LOCAL.pack(
        b"PK\3\4", _VERSION_64, _flags(member.name), _STORED, _TIME, _DATE, member.crc, size, size, *names
    )
    return head + member.name + extra


def _central(member: _Member) -> bytes:
    size, offset, extra = member.size, member.offset, b""
    if max(size, offset) >= _FIRST_64:
        extra = _PLACE_64.pack(1, 24, size, size, offset)
        size = offset = _MARK_64
    head = _CENTRAL.pack(
        *(b"PK\1\2", _MADE_ON_UNIX | _VERSION_64, _VERSION_64, _flags(member.name), _STORED, _TIME, _DATE),
        *(member.crc, size, size, len(member.name), len(extra), 0, 0, 0, _MODE, offset),
    )
    return head + member.name + extra


def _end(count: int, size: int, offset: int) -> bytes:
    large = b""
    if offset >= _FIRST_64 or count >= 0xFFFF:
        end = offset + size
        large = _END_64.pack(
            b"PK\6\6", _END_64.size - 12, _MADE_ON_UNIX | _VERSION_64, _VERSION_64, 0, 0, count, count, size, offset
        )
        large += _LOCATOR_64.pack(b"PK\6\7", 0, end, 1)
        offset, count = _MARK_64, min(count, 0xFFFF)
    return large + _END.pack(b"PK\5\6", 0, 0, count, count, size, offset, 0)
