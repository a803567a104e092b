"""How a call fails: an errno, as the driver gives it."""

from __future__ import annotations

import errno
import os


class CallError(Exception):
    """The call fails with `number` (driver-ioctl-4.23.md 2.1); `why` is for whoever reads a log."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"{errno.errorcode.get(number, number)}: {why}")
        self.number = number
        self.why = why

    @property
    def text(self) -> str:
        """What the C library says of the errno."""
        return os.strerror(self.number)
