"""Who has the device: a second user gets HAILO_DEVICE_IN_USE, in this process and in others (driver-ioctl-4.23.md).

A card belongs to whoever starts programs on it: `emu exec` and `install` name it in EMU_CARD, which their children
inherit. Programs started elsewhere have a card of their own, so that runs side by side do not meet.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from emu.errors import HailoError, HailoStatus
from emu.hailo_platform.environment import CARD


class Claim:
    """The device is ours until `release`.

    HAILO_DEVICE_IN_USE where it is another's, HAILO_DRIVER_OPERATION_FAILED where nothing can be locked.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._path = _lock_file()
        self._descriptor: int | None = None
        while True:
            try:
                descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise HailoError(
                    HailoStatus.HAILO_DRIVER_OPERATION_FAILED, f"cannot lock {self._path}: {error.strerror}"
                ) from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                raise HailoError(
                    HailoStatus.HAILO_DEVICE_IN_USE, "another VDevice, of this process or another, has the device"
                ) from None
            if _is_at(self._path, descriptor):
                self._descriptor = descriptor
                return
            os.close(descriptor)

    def release(self) -> None:
        """Give it back; in a forked child only the copy of the descriptor."""
        if self._descriptor is None:
            return
        if os.getpid() == self._pid:
            with suppress(OSError):
                self._path.unlink()
        descriptor, self._descriptor = self._descriptor, None
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the file that was locked is the one at the path: its last user may just have removed it."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _lock_file() -> Path:
    name = os.environ.get(CARD) or str(os.getpid())
    safe = "".join(character if character.isalnum() or character in "-_." else "_" for character in name)[:100]
    return Path(tempfile.gettempdir()) / f"emu-card-{os.getuid()}-{safe}"
