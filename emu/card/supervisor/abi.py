"""What differs between processor architectures: numbers of system calls, flags of open (driver-ioctl-4.23.md 8.1)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_O_RDWR = 0o2
_O_NONBLOCK = 0o4000
_O_CLOEXEC = 0o2000000


class Architecture(NamedTuple):
    """One architecture. `audit`: AUDIT_ARCH of its system calls; None: it has openat and dup3 alone."""

    audit: int
    open: int | None
    openat: int
    ioctl: int
    seccomp: int
    o_directory: int
    close: int
    close_range: int
    dup2: int | None
    dup3: int
    execve: int
    execveat: int

    @property
    def open_flags(self) -> tuple[int, ...]:
        """Of the opens that are looked at: the node, the class directory, and what ifstream opens."""
        return _O_RDWR | _O_CLOEXEC, _O_NONBLOCK | _O_CLOEXEC | self.o_directory, 0


ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "x86_64": Architecture(0xC000003E, 2, 257, 16, 317, 0o200000, 3, 436, 33, 292, 59, 322),
        "aarch64": Architecture(0xC00000B7, None, 56, 29, 277, 0o40000, 57, 436, None, 24, 221, 281),
    }
)


def architecture() -> Architecture | None:
    """Of this machine; None where there is no table for it."""
    return ARCHITECTURES.get(platform.machine())
