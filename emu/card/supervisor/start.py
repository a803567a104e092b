"""Starting the client under the filter, and what it ended with."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import EBUSY

from emu.card.calls import CALLS
from emu.card.errors import CallError
from emu.card.supervisor import bpf, seccomp
from emu.card.supervisor.abi import Architecture, architecture
from emu.card.supervisor.process import ProcessMemory
from emu.errors import HailoError, HailoStatus

_MARK = b"emu card"
_SIGNALED = 128  # what a shell adds to the number of the signal that ended a program
_FORWARDED = (signal.SIGTERM, signal.SIGHUP)


def require_support() -> Architecture:
    """The tables of this machine; HAILO_NOT_SUPPORTED, in one line, where the client cannot be supervised."""
    machine = architecture()
    if sys.platform != "linux" or machine is None:
        raise _unsupported("it needs Linux on x86-64 or aarch64")
    why = seccomp.unavailable(machine)
    if why:
        raise _unsupported(f"this system allows no seccomp user notification (seccomp(2): {why})")
    return machine


def _unsupported(why: str) -> HailoError:
    return HailoError(HailoStatus.HAILO_NOT_SUPPORTED, f"exec --card: {why}")


@dataclass
class Client:
    """The program that was started; `reap` takes in whatever has ended, the program's orphans too."""

    process: int
    listener: seccomp.Listener
    status: int | None = None

    def reap(self) -> None:
        with suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    return
                if process == self.process:
                    self.status = status

    def exit_code(self) -> int:
        """As a shell tells it; waits for the program where it has not ended."""
        if self.status is None:
            try:
                _, self.status = os.waitpid(self.process, 0)
            except ChildProcessError:
                return _SIGNALED
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else _SIGNALED - code

    def forward_signals(self) -> None:
        """What would end this process ends the program first; an interrupt of the terminal reaches it by itself."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in _FORWARDED:
            signal.signal(number, self._forward)

    def _forward(self, number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            if self.status is None:
                os.kill(self.process, number)


def start(machine: Architecture, program: Sequence[str], environment: Mapping[str, str]) -> Client:
    """Start a program under the filter. HAILO_NOT_SUPPORTED where it cannot be supervised."""
    instructions = bpf.program(machine, bpf.watched(machine, CALLS))
    seccomp.adopt_orphans()
    mark = ctypes.create_string_buffer(_MARK)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if not process:
        ours.close()
        _become(machine, instructions, program, environment, theirs)
    theirs.close()
    with ours:
        listener = _received(ours, process)
        readable = _memory_readable(process, ctypes.addressof(mark))
        if not readable:
            os.close(listener)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise _unsupported("this system does not let it read the memory of its own client (process_vm_readv(2))")
        ours.send(b"go")
        return Client(process, seccomp.Listener(listener))


def _received(connection: socket.socket, process: int) -> int:
    """The listener, or what kept the client from having one."""
    message, descriptors, _, _ = socket.recv_fds(connection, 64, 1)
    if descriptors:
        return descriptors[0]
    os.waitpid(process, 0)
    number = int(message or b"0")
    if number == EBUSY:
        raise _unsupported("it runs under a seccomp user notification already (another exec --card?)")
    raise _unsupported(f"this system allows no seccomp user notification ({os.strerror(number)})")


def _memory_readable(process: int, address: int) -> bool:
    """Whether the memory of the forked client can be read: it holds the mark where this process has it."""
    try:
        return ProcessMemory(process).read(address, len(_MARK)) == _MARK
    except CallError:
        return False


def _become(
    machine: Architecture,
    instructions: bytes,
    program: Sequence[str],
    environment: Mapping[str, str],
    connection: socket.socket,
) -> None:
    """In the child: never returns. Between filter and hand-over nothing is opened: nobody would answer."""
    code = 126
    try:
        for number in (signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        try:
            listener = seccomp.install(machine, instructions)
        except OSError as error:
            connection.send(str(error.errno).encode())
            os._exit(code)
        socket.send_fds(connection, [b"listener"], [listener])
        os.close(listener)
        if connection.recv(2) == b"go":
            connection.close()
            os.execvpe(program[0], list(program), dict(environment))
    except FileNotFoundError:
        code = 127
        os.write(2, f"emu: error: {program[0]}: no such program\n".encode())
    except OSError as error:
        os.write(2, f"emu: error: {program[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(code)
