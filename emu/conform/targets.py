"""Where another implementation is: a program, a socket, a Python object; each takes messages and answers them in time.

`tcp://HOST:PORT`, `udp://HOST:PORT`, `cmd:PROGRAM ARGUMENTS` (split as a shell does), `python:MODULE:NAME`.
"""

from __future__ import annotations

import os
import queue
import select
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from emu.conform.protocol import (
    CLOSING,
    EVENTS,
    LENGTH,
    MAGIC,
    MOST,
    REGISTERS_SINCE,
    VERSION,
    Kind,
    Message,
    ProtocolError,
    Watch,
    decode,
    encode,
    length_of,
    message,
)
from emu.errors import ExitCode, HailoError, HailoStatus, UsageError
from emu.host.modules import load_attribute

PATIENCE_S = 10.0
"""What a target has for one vector."""
MOST_ANSWERED = 1 << 26
"""Bytes of one answer: a target that sends events without an end is none."""
_GRACE_S = 2.0
_ENDED = "it has ended"  # whether a message could still be sent or not, which is a matter of chance
_MESSAGE_COST = 200  # of a message that is kept, besides its bytes


class UnreachableError(HailoError):
    """The target is not there, or says nothing (exit code 7)."""

    exit_code = ExitCode.UNREACHABLE


class RefusedError(ProtocolError):
    """The target will not do what it is asked."""


class Link(Protocol):
    """A way to a target: whole messages, in both directions."""

    def send(self, data: bytes, deadline: float) -> None: ...

    def receive(self, deadline: float) -> bytes: ...

    def close(self) -> None: ...


class Answer(list[Message]):
    """The events of an answer in their order; `closing` is what ended it."""

    closing: Message


class Target:
    """One connection to an implementation; UnreachableError where it is not there or silent, ProtocolError for garbage.

    `name` is what it calls itself, `watch` what it can tell. `allow` gives it its time for what follows.
    """

    def __init__(self, address: str, patience_s: float = PATIENCE_S) -> None:
        self.address = address
        self._patience_s = patience_s
        self._deadline = time.monotonic() + patience_s
        self._link = _link(address, self._deadline)
        try:
            try:
                ready = self._hello(VERSION)
            except RefusedError:
                ready = self._hello(1)  # it knows no other
        except BaseException:
            self._link.close()
            raise
        if not 1 <= ready["version"] <= VERSION:
            self._link.close()
            raise UnreachableError(
                HailoStatus.HAILO_UNSUPPORTED_CONTROL_PROTOCOL_VERSION,
                f"{address} speaks version {ready['version']} of the protocol, this emu {VERSION}",
            )
        self.name: str = ready["name"]
        self.watch = Watch(ready["watch"] & int(~Watch(0)))
        if ready["version"] < REGISTERS_SINCE:
            self.watch &= ~Watch.REGISTERS

    def _hello(self, version: int) -> Message:
        return self.ask(message(Kind.HELLO, magic=MAGIC, version=version), Kind.READY).closing

    def allow(self) -> None:
        """The time for a vector begins."""
        self._deadline = time.monotonic() + self._patience_s

    def ask(self, sent: Message, *expected: Kind) -> Answer:
        """Send one message and wait for its answer, which closes with one of `expected` (nothing: any)."""
        self._link.send(encode(sent), self._deadline)
        answer, size = Answer(), 0
        while True:
            body = self._link.receive(self._deadline)
            size += len(body) + _MESSAGE_COST
            received = decode(body)
            if received.kind in CLOSING:
                answer.closing = received
                break
            if received.kind not in EVENTS:
                raise ProtocolError(f"{received.kind.name} is nothing that a target sends")
            if size > MOST_ANSWERED:
                raise ProtocolError(f"{sent.kind.name}: events of more than {MOST_ANSWERED} bytes")
            if time.monotonic() > self._deadline:
                raise UnreachableError(HailoStatus.HAILO_TIMEOUT, f"{self.address} comes to no end: given up")
            if received.kind is not Kind.LOG:
                answer.append(received)
        if received.kind is Kind.REFUSED and Kind.REFUSED not in expected:
            raise RefusedError(f"{sent.kind.name} is refused: {received['why']}")
        if expected and received.kind not in expected:
            raise ProtocolError(f"{sent.kind.name} is answered by {received.kind.name}")
        return answer

    def close(self) -> None:
        """Say goodbye; the program is ended."""
        with suppress(HailoError):
            self._link.send(encode(message(Kind.BYE)), time.monotonic() + _GRACE_S)
        self._link.close()

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _link(address: str, deadline: float) -> Link:
    for head, make in _LINKS.items():
        if address.startswith(head):
            return make(address.removeprefix(head), deadline)
    raise UsageError(f"a target is {', '.join(_FORMS)}, not {address!r}")


class _Stream:
    """Messages one after the other over two descriptors, which are made non-blocking."""

    def __init__(self, name: str, reading: int, writing: int) -> None:
        self._name = name
        self._reading, self._writing = reading, writing
        self._pending = bytearray()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)

    def send(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            self._wait(self._writing, deadline, writing=True)
            try:
                left = left[os.write(self._writing, left) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._gone(_ENDED) from None
            except OSError as error:
                raise self._gone(error.strerror or str(error)) from None

    def receive(self, deadline: float) -> bytes:
        wanted = length_of(self._take(LENGTH.size, deadline))
        return self._take(wanted, deadline)

    def _take(self, size: int, deadline: float) -> bytes:
        while len(self._pending) < size:
            self._wait(self._reading, deadline)
            try:
                data = os.read(self._reading, MOST)
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._gone(error.strerror or str(error)) from None
            if not data:
                raise self._gone(_ENDED)
            self._pending += data
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken

    def _wait(self, descriptor: int, deadline: float, writing: bool = False) -> None:
        left = deadline - time.monotonic()
        poll = select.poll()  # whose descriptors may have any number, unlike select's
        poll.register(descriptor, select.POLLOUT if writing else select.POLLIN)
        if left <= 0 or not poll.poll(left * 1000):
            raise _silent(self._name)

    def _gone(self, why: str) -> UnreachableError:
        return UnreachableError(HailoStatus.HAILO_COMMUNICATION_CLOSED, f"{self._name} is gone: {why.lower()}")


class _Program(_Stream):
    """A program that speaks on its standard input and output; what it says on stderr is shown."""

    def __init__(self, command: str, deadline: float) -> None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"cmd:{command}: {str(error).lower()}") from None
        if not words:
            raise UsageError("cmd: names no program")
        if words[0] == "emu" and shutil.which("emu") is None:
            words[:1] = [sys.executable, "-m", "emu"]  # this one, which is not installed
        try:
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise UnreachableError(
                HailoStatus.HAILO_OPEN_FILE_FAILURE, f"cannot start {words[0]!r}: {reason}"
            ) from None
        assert self._process.stdin is not None and self._process.stdout is not None
        super().__init__(words[0], self._process.stdout.fileno(), self._process.stdin.fileno())

    def close(self) -> None:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        process.stdout.close()
        for end in (process.terminate, process.kill, None):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
                return
            if end is not None:
                end()


class _Tcp(_Stream):
    def __init__(self, place: str, deadline: float) -> None:
        host, port = _place("tcp", place)
        try:
            self._socket = socket.create_connection((host, port), max(0.1, deadline - time.monotonic()))
        except (OSError, UnicodeError) as error:
            raise _refused(f"tcp://{place}", error) from None
        super().__init__(f"tcp://{place}", self._socket.fileno(), self._socket.fileno())

    def close(self) -> None:
        self._socket.close()


class _Udp:
    """A datagram a message; one that is lost is a silence."""

    def __init__(self, place: str, deadline: float) -> None:
        self._name = f"udp://{place}"
        try:
            found = socket.getaddrinfo(*_place("udp", place), type=socket.SOCK_DGRAM)
            self._socket = socket.socket(found[0][0], socket.SOCK_DGRAM)
            self._socket.connect(found[0][4])
        except (OSError, UnicodeError) as error:
            raise _refused(self._name, error) from None

    def send(self, data: bytes, deadline: float) -> None:
        try:
            self._socket.send(data)
        except OSError as error:
            raise _refused(self._name, error) from None

    def receive(self, deadline: float) -> bytes:
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            data = self._socket.recv(MOST + LENGTH.size + 1)
        except TimeoutError:
            raise _silent(self._name) from None
        except OSError as error:
            raise _refused(self._name, error) from None
        if len(data) < LENGTH.size or length_of(data[: LENGTH.size]) != len(data) - LENGTH.size:
            raise ProtocolError(f"a datagram of {len(data)} bytes that is no message")
        return data[LENGTH.size :]

    def close(self) -> None:
        self._socket.close()


class _Object:
    """What `NAME()` of a module gives: its `answer(message)` gives the messages of the answer, as bytes without length.

    It works on a thread of its own, so that one that never returns can be given up.
    """

    def __init__(self, name: str, deadline: float) -> None:
        module, _, factory = name.rpartition(":")
        if not module or not factory:
            raise UsageError(f"python:{name}: say python:MODULE:NAME")
        self._name = f"python:{name}"
        made = load_attribute(module, factory)
        if not callable(made):
            raise UsageError(f"python:{name} is no factory: it cannot be called")
        self._requests: queue.Queue[bytes | None] = queue.Queue()
        self._answers: queue.Queue[bytes | Exception] = queue.Queue()
        threading.Thread(target=self._serve, args=(made,), daemon=True).start()

    def _serve(self, make: Callable[[], Any]) -> None:
        try:
            target = make()
            while (request := self._requests.get()) is not None:
                answer: Iterable[bytes] = target.answer(request)
                for one in answer:
                    self._answers.put(bytes(one))
        except Exception as error:  # of the other implementation: the vector does not hold
            self._answers.put(error)

    def send(self, data: bytes, deadline: float) -> None:
        self._requests.put(data[LENGTH.size :])

    def receive(self, deadline: float) -> bytes:
        try:
            found = self._answers.get(timeout=max(0.001, deadline - time.monotonic()))
        except queue.Empty:
            raise _silent(self._name) from None
        if isinstance(found, Exception):
            raise UnreachableError(
                HailoStatus.HAILO_COMMUNICATION_CLOSED, f"{self._name} is gone: {type(found).__name__}: {found}"
            )
        return found

    def close(self) -> None:
        self._requests.put(None)


_LINKS: dict[str, Callable[[str, float], Link]] = {"tcp://": _Tcp, "udp://": _Udp, "cmd:": _Program, "python:": _Object}
_FORMS = ("tcp://HOST:PORT", "udp://HOST:PORT", "cmd:PROGRAM ARGUMENTS", "python:MODULE:NAME")


def _place(scheme: str, place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= 65535:
        raise UsageError(f"{scheme}://{place}: say {scheme}://HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _silent(name: str) -> UnreachableError:
    return UnreachableError(HailoStatus.HAILO_TIMEOUT, f"{name} says nothing: given up")


def _refused(name: str, error: Exception) -> UnreachableError:
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    return UnreachableError(HailoStatus.HAILO_CONNECTION_REFUSED, f"cannot reach {name}: {reason}")
