"""Processes of the client: their memory, which process a thread belongs to, and what their descriptors are."""

from __future__ import annotations

import ctypes
import os
import re
from errno import EFAULT
from pathlib import Path
from typing import TYPE_CHECKING

from emu.card.errors import CallError
from emu.card.supervisor.bpf import KEPT_NUMBERS

if TYPE_CHECKING:
    from emu.card.open_file import OpenFile

_libc = ctypes.CDLL(None, use_errno=True)
_PAGE = 4096
_PART = 256
_LONGEST_PATH = 4096
_LIBRARY = re.compile(r"/libhailort\.so\.(\d{1,4}\.\d{1,4}\.\d{1,4})$", re.MULTILINE)
_THREADS_KEPT = 256  # each has a descriptor here


class _Stretch(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class ProcessMemory:
    """`emu.card.memory.ClientMemory` of a process.

    process_vm_readv and process_vm_writev for what is large; the arguments of calls go through /proc/PID/mem, which
    costs half. That file is of the address space that was there when it was opened: behind an exec it gives nothing,
    and is opened anew.
    """

    def __init__(self, process: int) -> None:
        self.process = process
        self._here, self._there = _Stretch(), _Stretch()
        self._both = ctypes.byref(self._here), ctypes.byref(self._there)
        self._file = -1

    def read(self, address: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        self._here.base, self._here.length = ctypes.addressof(buffer), size
        self._there.base, self._there.length = address, size
        here, there = self._both
        if _libc.process_vm_readv(self.process, here, 1, there, 1, 0) != size:
            raise CallError(EFAULT, f"{size} bytes at 0x{address:X} of process {self.process}")
        return buffer.raw

    def write(self, address: int, data: bytes) -> None:
        size = len(data)
        self._here.base = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
        self._here.length = size
        self._there.base, self._there.length = address, size
        here, there = self._both
        if _libc.process_vm_writev(self.process, here, 1, there, 1, 0) != size:
            raise CallError(EFAULT, f"{size} bytes at 0x{address:X} of process {self.process}")

    def read_argument(self, address: int, size: int) -> bytes:
        """As `read`, of few bytes."""
        try:
            data = os.pread(self._file if self._file >= 0 else self._open(), size, address)
        except (OSError, OverflowError):
            return self.read(address, size)
        if len(data) == size:
            return data
        self.close()
        return self.read(address, size)

    def write_argument(self, address: int, data: bytes) -> None:
        """As `write`, of few bytes."""
        try:
            if os.pwrite(self._file if self._file >= 0 else self._open(), data, address) == len(data):
                return
        except (OSError, OverflowError):
            pass
        self.close()
        self.write(address, data)

    def _open(self) -> int:
        self._file = os.open(f"/proc/{self.process}/mem", os.O_RDWR | os.O_CLOEXEC)
        return self._file

    def path(self, address: int) -> bytes | None:
        """The string at an address, read in parts of a page; None where it does not end."""
        found = b""
        while len(found) < _LONGEST_PATH:
            try:
                part = self.read(address, min(_PART, _PAGE - address % _PAGE))
            except CallError:
                return None
            end = part.find(b"\0")
            if end >= 0:
                return found + part[:end]
            found += part
            address += len(part)
        return None

    def close(self) -> None:
        """The next argument is read of the address space that is there then."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Thread:
    """A thread that calls: its process, that one's memory and known descriptors, and all of its descriptors.

    `known`: the open file of each descriptor that was put at one of `KEPT_NUMBERS`, of the whole process. The filter
    hands over whatever might give such a number another meaning, so that calls need no look at what it is now.
    """

    def __init__(self, thread: int, memories: dict[int, ProcessMemory], known: dict[int, dict[int, OpenFile]]) -> None:
        self.process = process_of(thread)
        if self.process not in memories:
            memories[self.process] = ProcessMemory(self.process)
        self.memory = memories[self.process]
        self.known = known.setdefault(self.process, {})
        self._descriptors = os.open(f"/proc/{thread}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def inode(self, descriptor: int) -> tuple[int, int]:
        """Which file a descriptor is of: device and inode. OSError for none, and where the thread is gone."""
        found = os.stat(str(descriptor), dir_fd=self._descriptors)
        return found.st_dev, found.st_ino

    def free_number(self) -> int | None:
        """The first of `KEPT_NUMBERS` that no descriptor has; None where all are taken, or the thread is gone."""
        for number in KEPT_NUMBERS:
            if number in self.known:
                continue
            try:
                os.stat(str(number), dir_fd=self._descriptors, follow_symlinks=False)
            except FileNotFoundError:
                return number
            except OSError:
                return None
        return None

    def close(self) -> None:
        os.close(self._descriptors)


class Processes:
    """The processes under the filter, as their threads are met. The numbers of ended ones may come again."""

    def __init__(self) -> None:
        self.threads: dict[int, Thread] = {}
        self._memories: dict[int, ProcessMemory] = {}
        self._known: dict[int, dict[int, OpenFile]] = {}

    def thread(self, number: int) -> Thread:
        """A thread that was met before, or a new one; OSError where it is gone."""
        known = self.threads.get(number)
        return known if known is not None else self._met(number)

    def met_anew(self, number: int) -> Thread:
        """What was known of a thread does not hold: it may be another one of the same number."""
        known = self.threads.pop(number, None)
        if known is not None:
            known.close()
        return self._met(number)

    def forget(self) -> None:
        """Nothing is kept of anybody."""
        for thread in self.threads.values():
            thread.close()
        for memory in self._memories.values():
            memory.close()
        self.threads.clear()
        self._memories.clear()
        self._known.clear()

    def forget_descriptors(self, thread: int) -> None:
        """The process of a thread is about to change what its descriptors mean."""
        self._known.get(process_of(thread), {}).clear()

    def forget_file(self, file: OpenFile) -> None:
        """No descriptor of an open file is left."""
        for known in self._known.values():
            for number in [number for number, one in known.items() if one is file]:
                del known[number]

    def _met(self, number: int) -> Thread:
        if len(self.threads) >= _THREADS_KEPT or len(self._memories) >= _THREADS_KEPT:
            self.forget()
        found = self.threads[number] = Thread(number, self._memories, self._known)
        return found


def process_of(thread: int) -> int:
    """The process that a thread belongs to, itself where it is gone."""
    try:
        status = Path(f"/proc/{thread}/status").read_text(errors="replace")
    except OSError:
        return thread
    match = re.search(r"^Tgid:\s*(\d+)", status, re.MULTILINE)
    return int(match[1]) if match else thread


def library_version(process: int) -> str | None:
    """The version of HailoRT that a process has loaded, by the name of its library; None where it has none."""
    try:
        maps = Path(f"/proc/{process}/maps").read_text(errors="replace")
    except OSError:
        return None
    match = _LIBRARY.search(maps)
    return match[1] if match else None
