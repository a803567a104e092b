"""Where the bytes of a HEF come from: a mapped file, or a buffer that the caller holds."""

from __future__ import annotations

import io
import mmap
import os
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from emu.errors import HailoError, HailoStatus, UsageError
from emu.files import open_descriptor, shown

Origin: TypeAlias = str | Path | bytes | bytearray | memoryview | BinaryIO

CHUNK_SIZE = 1 << 18
MAX_READ_SIZE = 1 << 19
"""Up to here a copy costs less than mapping the same pages."""


class Source:
    """The bytes of a HEF and their `name`; `data` views them all without a copy.

    A file is mapped on first use of `data`. `read` and `chunks` go through its descriptor instead where that is
    cheaper: reading a page once costs less than mapping it.
    """

    def __init__(self, name: str, size: int, data: memoryview | None, descriptor: int | None = None) -> None:
        self.name = name
        self.size = size
        self.digests: dict[tuple[str, int, int], int | bytes] = {}
        """What was computed over the bytes between two offsets: runtimes that open the same file ask for the same."""
        self._data = data
        self._descriptor = descriptor
        self._mapped: mmap.mmap | None = None
        if descriptor is not None:
            weakref.finalize(self, os.close, descriptor)

    @property
    def data(self) -> memoryview:
        if self._data is None:
            assert self._descriptor is not None
            self._mapped = mmap.mmap(self._descriptor, self.size, access=mmap.ACCESS_READ)
            self._data = memoryview(self._mapped)
        return self._data

    @property
    def in_memory(self) -> bool:
        """Whether the bytes are a buffer of the caller, and reading them costs nothing."""
        return self._descriptor is None

    def read(self, start: int, end: int) -> bytes | memoryview:
        """The bytes from `start` to `end`, or to the end of the file where that comes first."""
        size = min(end, self.size) - start
        if self._descriptor is None or size > MAX_READ_SIZE:
            return self.data[start:end]
        return os.pread(self._descriptor, max(0, size), start)

    def give_back(self) -> None:
        """The pages that were read lie in memory no longer than others want theirs; who reads on gets them again."""
        if self._mapped is not None:
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def chunks(self, start: int, end: int) -> Iterator[memoryview]:
        """The same bytes piece by piece; a piece is valid until the next one."""
        end = min(end, self.size)
        if end <= start:
            return
        if self._descriptor is None:
            yield self.data[start:end]
            return
        buffer = memoryview(bytearray(min(CHUNK_SIZE, end - start)))
        while start < end:
            read = os.preadv(self._descriptor, [buffer[: end - start]], start)
            if read == 0:
                raise _unreadable(self.name, f"ends at {start} while it is read")
            yield buffer[:read]
            start += read


def _of_buffer(data: memoryview, name: str) -> Source:
    return Source(name, data.nbytes, data)


def open_source(origin: Origin) -> Source:
    """Open a path, or take over the bytes of a buffer or binary file; files are mapped, not read.

    Raises HailoError 13 (cannot be opened) or 14 (a directory or another thing that is no regular file), UsageError
    for an origin of another type.
    """
    if isinstance(origin, str | Path):
        return _of_descriptor(open_descriptor(origin), shown(origin))
    if isinstance(origin, bytes | bytearray | memoryview):
        return _of_buffer(_bytes_of(memoryview(origin)), "<memory>")
    if hasattr(origin, "read"):
        return _take_file(origin)
    raise _wrong_type(type(origin).__name__)


def _bytes_of(view: memoryview) -> memoryview:
    # a view with gaps, as a slice with a step has them, cannot be cast
    return (view if view.c_contiguous else memoryview(view.tobytes())).cast("B").toreadonly()


def _wrong_type(what: str) -> UsageError:
    return UsageError(f"a HEF opens from a path (str, Path), bytes, a memoryview or a binary file, not from {what}")


def _of_descriptor(descriptor: int, name: str) -> Source:
    size = os.fstat(descriptor).st_size
    return Source(name, size, None if size else memoryview(b""), descriptor)


def _take_file(file: Any) -> Source:
    """An open file: a regular one at its start by its descriptor, any other by reading it."""
    name = str(getattr(file, "name", "<file>"))
    if isinstance(file, io.TextIOBase):
        raise _wrong_type(f"the text file {type(file).__name__}")
    # others may have a descriptor too, but read something else than its bytes: gzip.GzipFile
    if isinstance(file, io.BufferedReader | io.BufferedRandom | io.FileIO) and file.readable():
        descriptor = file.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and file.tell() == 0:
            return _of_descriptor(os.dup(descriptor), name)
    try:
        data = file.read()
    except io.UnsupportedOperation as error:
        raise _unreadable(name, "is not open for reading") from error
    except OSError as error:
        raise _unreadable(name, f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    if not isinstance(data, bytes | bytearray | memoryview):
        raise _wrong_type(f"{type(file).__name__}, which reads {type(data).__name__}")
    return _of_buffer(_bytes_of(memoryview(data)), name)


def _unreadable(name: str, what: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_FILE_OPERATION_FAILURE, f"{name} {what}", file=name)
