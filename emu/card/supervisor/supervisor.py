"""The loop: one notification after the other is answered, then the devices go on, then those who wait hear of it."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from errno import EFAULT, EIO, EMFILE, ENOMEM
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from emu.card.calls import CALLS, Call, Name
from emu.card.card import Answer, Caller, Card
from emu.card.conversation import Conversation
from emu.card.errors import CallError
from emu.card.supervisor.abi import Architecture
from emu.card.supervisor.nodes import Nodes
from emu.card.supervisor.process import Processes, ProcessMemory, Thread, library_version
from emu.card.supervisor.seccomp import Listener, Notification

if TYPE_CHECKING:
    from emu.card.open_file import OpenFile

_MS = 1000
_NS = 1_000_000_000
_FINE_S = 0.01
SILENCE_S = 3.0  # with transfers owed, before a stall is told of: HailoRT gives up after 10
_MANY_WAITERS = 16
# behind these no device has anything new to do, and nobody has anything new to hear
_MOVES_NOTHING = frozenset(
    {
        Name.QUERY_DEVICE_PROPERTIES,
        Name.QUERY_DRIVER_INFO,
        Name.MARK_AS_IN_USE,
        Name.VDMA_BUFFER_MAP,
        Name.VDMA_BUFFER_UNMAP,
        Name.VDMA_BUFFER_SYNC,
        Name.VDMA_INTERRUPTS_READ_TIMESTAMPS,
        Name.DESC_LIST_CREATE,
        Name.DESC_LIST_RELEASE,
        Name.DESC_LIST_PROGRAM,
        Name.READ_LOG,
    }
)
_ALLOCATIONS = frozenset({Name.VDMA_LOW_MEMORY_BUFFER_ALLOC, Name.VDMA_CONTINUOUS_BUFFER_ALLOC})
_LOOKED_AT = _ALLOCATIONS | {Name.QUERY_DRIVER_INFO, Name.VDMA_INTERRUPTS_WAIT}


class _Served(NamedTuple):
    """A call, as the loop needs it. `nothing`: the argument of a call that takes none.

    `moves`: devices go on behind it; `looked_at`: `Supervisor._look_at` has to do with it before.
    """

    call: Call
    nothing: bytes | None
    moves: bool
    looked_at: bool


_SERVED = {
    number: _Served(
        call, None if call.takes else bytes(call.size), call.name not in _MOVES_NOTHING, call.name in _LOOKED_AT
    )
    for number, call in CALLS.items()
}


class Ticket(NamedTuple):
    """A call that waits: its notification, and where its argument goes when it is answered."""

    id: int
    call: Call
    memory: ProcessMemory
    address: int


class Told(NamedTuple):
    """Who is told: of the HailoRT version that a client has loaded (None: it cannot be seen), of a HEF that it opens,
    of a stalled card, of anything that a user should read, of a process that ended.
    """

    version: Callable[[Card, str | None], None]
    hef: Callable[[str], None]
    stall: Callable[[Card], None]
    say: Callable[[str], None]
    ended: Callable[[], None]


class Supervisor:
    """Serves all processes under one filter until none is left.

    `real_pace`: simulated time is not ahead of the wall clock.
    """

    def __init__(
        self,
        machine: Architecture,
        listener: Listener,
        conversation: Conversation,
        told: Told,
        *,
        real_pace: bool = False,
    ) -> None:
        self._machine = machine
        self._listener = listener
        self._conversation = conversation
        self._cards = conversation.cards
        self._told = told
        self._real_pace = real_pace
        self._started = time.monotonic_ns()
        self._processes = Processes()
        self._opens = {machine.open, machine.openat}
        self._last_progress = time.monotonic()
        self._stall_told = False
        self._owing = False  # whether any client waits for transfers

    def serve(self) -> None:
        """Answer until no process is left under the filter."""
        wake, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before = signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        try:
            with Nodes(self._conversation, self._processes.forget_file) as nodes:
                self._serve(nodes, wake)
                nodes.close_all()
        finally:
            self._processes.forget()
            signal.set_wakeup_fd(before)
            os.close(wake)
            os.close(wakes)

    def _serve(self, nodes: Nodes, wake: int) -> None:
        poll = select.poll()
        listener = self._listener.descriptor
        for descriptor in (listener, nodes.inotify, wake):
            poll.register(descriptor, select.POLLIN)
        while True:
            wait = self._wait_s() if self._real_pace or self._owing else None
            if wait is not None and wait < _FINE_S:  # poll counts in milliseconds
                select.select((listener, nodes.inotify, wake), (), (), wait)
                wait = 0.0
            events = poll.poll(None if wait is None else wait * _MS)
            # the listener is looked at first and served last: what it hands over came after the end of a file
            for descriptor, event in reversed(events):
                if descriptor == listener:
                    if event & select.POLLIN:
                        self._take(nodes)
                    elif event & select.POLLHUP:
                        return
                elif descriptor == wake:
                    os.read(wake, 4096)
                    self._told.ended()
                elif nodes.reap():
                    self._go_on()
            if not events or self._real_pace:
                self._go_on()
                self._look_for_stalls()

    def _take(self, nodes: Nodes) -> None:
        notification = self._listener.receive()
        if notification is None:
            return
        try:
            if notification.number == self._machine.ioctl:
                self._call(notification, nodes)
            elif notification.number in self._opens:
                self._open(notification, nodes)
            else:
                self._processes.forget_descriptors(notification.thread)
                self._listener.let_run(notification.id)
        except Exception as error:  # whatever it is, the client must not hang (driver-ioctl-4.23.md 8.3)
            self._told.say(
                f"internal error in a call of the client, answered with EIO: {type(error).__name__}: {error}"
            )
            self._listener.answer(notification.id, error=EIO)

    # -- opens

    def _open(self, notification: Notification, nodes: Nodes) -> None:
        at_folder = notification.number == self._machine.openat
        address, flags = notification[7:9] if at_folder else notification[6:8]
        raw = ProcessMemory(notification.thread).path(address)
        path = os.fsdecode(raw) if raw is not None else ""
        if not nodes.serves(path):
            if path.endswith(".hef"):
                self._told.hef(_seen_from_here(path, notification.thread))
            self._listener.let_run(notification.id)
            return
        try:
            thread = self._processes.met_anew(notification.thread)
            descriptor = nodes.open(path, flags & 0xFFFFFFFF, thread, self._listener, notification.id)
        except OSError as error:
            self._listener.answer(notification.id, error=error.errno or EIO)
            return
        if descriptor is None:
            self._listener.answer(notification.id, error=EMFILE)
        else:
            self._listener.answer(notification.id, descriptor)

    # -- calls

    def _call(self, notification: Notification, nodes: Nodes) -> None:
        id, descriptor, address = notification.id, notification.first & 0xFFFFFFFF, notification.third
        thread = self._processes.threads.get(notification.thread)
        file = thread.known.get(descriptor) if thread is not None else None
        if file is None:
            thread, file = self._file(notification.thread, descriptor, nodes)
        number = notification.second & 0xFFFFFFFF
        served = _SERVED.get(number)
        if thread is None or file is None or served is None:
            self._listener.let_run(id)
            return
        call, argument, moves, looked_at = served
        memory = thread.memory
        self._last_progress = time.monotonic()
        try:
            if argument is None:
                argument = _argument(call, memory, address)
            if looked_at:
                self._look_at(call, file, thread.process, descriptor)
            caller = Caller(thread.process, memory, Ticket(id, call, memory, address))
            answer = self._conversation.call(file, number, argument, caller)
        except CallError as error:
            self._listener.answer(id, error=error.number)
        else:
            if answer is not None:
                self._give(caller.ticket, answer)
        if moves:
            self._go_on()

    def _file(self, number: int, descriptor: int, nodes: Nodes) -> tuple[Thread | None, OpenFile | None]:
        """The thread that calls, and the open file that it means; None for a file that is not the card's."""
        try:
            thread = self._processes.thread(number)
            try:
                return thread, nodes.file(thread.inode(descriptor))
            except OSError:
                thread = self._processes.met_anew(number)
                return thread, nodes.file(thread.inode(descriptor))
        except OSError:
            return None, None

    def _look_at(self, call: Call, file: OpenFile, process: int, descriptor: int) -> None:
        """What some calls need beside their arguments."""
        if call.name is Name.QUERY_DRIVER_INFO:
            self._told.version(file.card, library_version(process))
        elif call.name in _ALLOCATIONS:
            node = f"/proc/{process}/fd/{descriptor}"
            file.dma.allocate = lambda offset, size: os.truncate(node, offset + size)
        elif len(file.tickets) > _MANY_WAITERS:
            for waiting in file.tickets:
                if not self._listener.alive(waiting.id):
                    file.forget_ticket(waiting)

    def _give(self, ticket: Ticket, answer: Answer) -> None:
        if answer.error:
            self._listener.answer(ticket.id, error=answer.error)
            return
        if answer.data is not None:
            try:
                ticket.memory.write_argument(ticket.address, answer.data)
            except CallError:
                self._listener.answer(ticket.id, error=ENOMEM if ticket.call.bad_pointer == ENOMEM else EFAULT)
                return
        self._listener.answer(ticket.id, answer.value)

    # -- time

    def _go_on(self) -> None:
        """Let the devices go on, and answer whoever need not wait any more."""
        until = time.monotonic_ns() - self._started if self._real_pace else None
        for ticket, answer in self._conversation.go_on(until):
            self._give(ticket, answer)
            self._last_progress = time.monotonic()
            self._stall_told = False
        self._owing = False
        for card in self._cards:
            self._owing |= card.owes
            while card.errors:
                self._told.say(card.errors.pop(0))

    def _wait_s(self) -> float | None:
        """How long there is nothing to do unless somebody calls; None: for ever."""
        due: list[float] = []
        if self._real_pace:
            now = time.monotonic_ns() - self._started
            due += [
                max(0.0, (card.next_event_ns - now) / _NS) for card in self._cards if card.next_event_ns is not None
            ]
        if not self._stall_told and self._owing:
            due.append(max(0.0, self._last_progress + SILENCE_S - time.monotonic()))
        return min(due, default=None)

    def _look_for_stalls(self) -> None:
        if self._stall_told or time.monotonic() - self._last_progress < SILENCE_S:
            return
        for card in self._cards:
            if card.owes:
                self._stall_told = True
                self._told.stall(card)


def _argument(call: Call, memory: ProcessMemory, address: int) -> bytes:
    """What a call takes. CallError where it is not there."""
    try:
        return memory.read_argument(address, call.size)
    except CallError as error:
        raise CallError(call.bad_pointer, error.why) from None


def _seen_from_here(path: str, process: int) -> str:
    """A path of the client's, where it is not absolute from the folder that the client is in now."""
    if not Path(path).is_absolute():
        with suppress(OSError):
            return str(Path(f"/proc/{process}/cwd").readlink() / path)
    return path
