"""seccomp user notification by ctypes: installing the filter, receiving and answering (driver-ioctl-4.23.md 8.1)."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from contextlib import suppress
from typing import NamedTuple

from emu.card.supervisor.abi import Architecture
from emu.card.supervisor.bpf import NOTIFY

_SET_NO_NEW_PRIVS = 38
_SET_CHILD_SUBREAPER = 36
_SET_MODE_FILTER, _GET_ACTION_AVAIL = 1, 2
_NEW_LISTENER, _WAIT_KILLABLE = 8, 32
_RECEIVE, _SEND, _ID_VALID, _ADD_DESCRIPTOR, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103, 0x40082104
_SYNC_WAKE_UP = 1
_CONTINUE = 1
_SET_NUMBER = 1  # SECCOMP_ADDFD_FLAG_SETFD
_NOTIFICATION = struct.Struct("<QIIiIQ6Q")
_RESPONSE = struct.Struct("<QqiI")
_ADDED = struct.Struct("<QIIII")
_ID = struct.Struct("<Q")

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Notification(NamedTuple):
    """A system call that waits for an answer (struct seccomp_notif), and its arguments; `thread` made it."""

    id: int
    thread: int
    flags: int
    number: int
    audit: int
    instruction: int
    first: int
    second: int
    third: int
    fourth: int
    fifth: int
    sixth: int


class Listener:
    """Receives what the filter hands over, and answers it. A caller that is gone meanwhile is no error."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._empty = bytes(_NOTIFICATION.size)
        self._buffer = bytearray(_NOTIFICATION.size)
        with suppress(OSError):
            fcntl.ioctl(descriptor, _SET_FLAGS, _SYNC_WAKE_UP)  # since Linux 6.6: about a fifth off a round trip

    def receive(self) -> Notification | None:
        """The next call; None where its caller was interrupted or killed before."""
        buffer = self._buffer
        buffer[:] = self._empty  # the kernel refuses one that is not zero
        try:
            fcntl.ioctl(self.descriptor, _RECEIVE, buffer, True)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return None
            raise
        return Notification._make(_NOTIFICATION.unpack(buffer))

    def answer(self, id: int, value: int = 0, error: int = 0) -> None:
        """The call returns `value`, or fails with an errno."""
        self._send(_RESPONSE.pack(id, value, -error, 0))

    def let_run(self, id: int) -> None:
        """The call is none of ours: the kernel runs it."""
        self._send(_RESPONSE.pack(id, 0, 0, _CONTINUE))

    def add(self, id: int, descriptor: int, close_on_exec: bool, number: int | None = None) -> int | None:
        """Copy a descriptor into the caller, as `number` where one is given (in place of what has it there).

        Its number there, None where the caller is gone or has no room.
        """
        flags = os.O_CLOEXEC if close_on_exec else 0
        asked = _ADDED.pack(id, 0 if number is None else _SET_NUMBER, descriptor, number or 0, flags)
        try:
            # a mutable buffer makes fcntl give the number back
            return int(fcntl.ioctl(self.descriptor, _ADD_DESCRIPTOR, bytearray(asked), True))
        except OSError:
            return None

    def alive(self, id: int) -> bool:
        """Whether a call still waits for its answer."""
        try:
            fcntl.ioctl(self.descriptor, _ID_VALID, _ID.pack(id))
        except OSError:
            return False
        return True

    def close(self) -> None:
        os.close(self.descriptor)

    def _send(self, response: bytes) -> None:
        try:
            fcntl.ioctl(self.descriptor, _SEND, response)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EINTR):
                raise


def unavailable(machine: Architecture) -> str:
    """Why this system hands no system calls over; empty where it does."""
    action = ctypes.c_uint32(NOTIFY)
    if _libc.syscall(machine.seccomp, _GET_ACTION_AVAIL, 0, ctypes.byref(action)) == 0:
        return ""
    return os.strerror(ctypes.get_errno())


def install(machine: Architecture, program: bytes) -> int:
    """Put this process and all that it starts under a filter; the listener's descriptor (closed on exec).

    OSError: EBUSY where there is such a filter already, ENOSYS, EINVAL or EPERM where there can be none.
    """
    if _libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    data = ctypes.create_string_buffer(program, len(program))
    described = _Program(len(program) // 8, ctypes.addressof(data))
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):  # the former since Linux 5.19
        descriptor = int(_libc.syscall(machine.seccomp, _SET_MODE_FILTER, flags, ctypes.byref(described)))
        if descriptor >= 0:
            return descriptor
        if ctypes.get_errno() != errno.EINVAL:
            break
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))


def adopt_orphans() -> None:
    """What the client starts and leaves behind becomes our child, so that we hear of its end."""
    _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
