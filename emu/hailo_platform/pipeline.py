"""What lies between `send` and `recv` of one network group: frames that wait for the other inputs, that the device has,
and that nobody has read yet."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from emu.errors import EmuError, HailoError, HailoStatus

if TYPE_CHECKING:
    from emu.hailo_platform.engine import Outcome
    from emu.hailo_platform.params import VStreamParams
    from emu.hailo_platform.session import Session
    from emu.hef.infos import NetworkGroupInfo
    from emu.host.application import Application

Wire = Mapping[str, bytes]


class Pipeline:
    """One for all vstreams of a network group that are open at the same time. `who` may be activated."""

    def __init__(self, session: Session, group: NetworkGroupInfo, application: Application, who: object) -> None:
        self._session = session
        self._application = application
        self._who = who
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[Wire]] = {info.name: deque() for info in group.input_vstreams}
        self._unread: dict[str, deque[tuple[Wire, frozenset[str]]]] = {
            info.name: deque() for info in group.output_vstreams
        }
        self._read_by: frozenset[str] = frozenset(self._unread)  # outputs that somebody opened
        self._queue_size = 0  # of frames that no output has given yet
        self._in_flight = 0
        self._next = self._landed = 0  # numbers of frames: handed to the device, arrived in order
        self._arrived: dict[int, Outcome] = {}
        self._error: EmuError | None = None
        self._inputs_open = self._outputs_open = False

    def open_inputs(self, params: Mapping[str, VStreamParams]) -> None:
        with self._changed:
            self._inputs_open = True
            self._queue_size += max((one.queue_size for one in params.values()), default=0)

    def open_outputs(self, params: Mapping[str, VStreamParams]) -> None:
        with self._changed:
            self._outputs_open = True
            self._read_by = frozenset(params)
            for name in self._unread.keys() - self._read_by:
                self._unread[name].clear()
            self._queue_size += max((one.queue_size for one in params.values()), default=0)

    def close_inputs(self) -> None:
        with self._changed:
            self._inputs_open = False

    def close_outputs(self) -> None:
        with self._changed:
            self._outputs_open = False

    @property
    def is_open(self) -> bool:
        """Whether any vstream still uses it; what is under way behind the last is nobody's."""
        return self._inputs_open or self._outputs_open

    def clear_inputs(self) -> None:
        with self._changed:
            for queue in self._waiting.values():
                queue.clear()

    def clear_outputs(self) -> None:
        with self._changed:
            for queue in self._unread.values():
                queue.clear()
            self._changed.notify_all()

    # -- frames

    @property
    def _room(self) -> bool:
        """Whether another frame may go to the device: as many are on their way as the queues on both sides hold."""
        depth = 2 * self._application.batch + self._queue_size
        unread = max((len(self._unread[name]) for name in self._read_by), default=0)
        return self._in_flight + unread < depth

    def write(self, name: str, wire: Wire, timeout_ms: float) -> None:
        """Hand in the next frame of one input; it goes to the device with the same frame of the others."""
        session = self._session
        session.require_active(self._who)
        with self._changed:
            self._raise_error()
            ready = lambda: self._error is not None or len(self._waiting[name]) < max(self._queue_size, 1)  # noqa: E731
            session.wait_until(self._changed, ready, lambda: self._in_flight > 0, timeout_ms)
            self._waiting[name].append(wire)
            if all(self._waiting.values()):
                session.wait_until(
                    self._changed,
                    lambda: self._error is not None or self._room,
                    lambda: self._in_flight > 0,
                    timeout_ms,
                )
                self._raise_error()
                self._launch()

    def _launch(self) -> None:
        row: dict[str, bytes] = {}
        for queue in self._waiting.values():
            row |= queue.popleft()
        number = self._next
        self._next += 1
        self._in_flight += 1
        self._changed.notify_all()
        try:
            self._session.engine.submit(self._application, [row], lambda outcome: self._land(number, outcome))
        except EmuError:
            self._in_flight -= 1
            raise

    def _land(self, number: int, outcome: Outcome) -> None:
        """A frame has come back; in the device's thread."""
        with self._changed:
            self._arrived[number] = outcome
            while self._landed in self._arrived:
                found = self._arrived.pop(self._landed)
                self._landed += 1
                self._in_flight -= 1
                if found.error is not None:
                    self._error = found.error
                    continue
                for name in self._read_by:
                    self._unread[name].append((found.rows[0], found.real[0]))
            self._changed.notify_all()

    def read(self, name: str, timeout_ms: float) -> tuple[Wire, Collection[str]]:
        """The wire bytes of the next frame behind one output, and which of them are no synthetic ones."""
        session = self._session
        session.require_active(self._who)
        queue = self._unread[name]
        with self._changed:
            session.wait_until(
                self._changed, lambda: bool(queue) or self._error is not None, lambda: self._in_flight > 0, timeout_ms
            )
            if not queue:
                self._raise_error()
            self._changed.notify_all()
            return queue.popleft()

    def flush(self, timeout_ms: float) -> None:
        """Wait until every frame that is complete has been on the device."""
        with self._changed:
            self._session.wait_until(
                self._changed,
                lambda: self._in_flight == 0 or self._error is not None,
                lambda: self._in_flight > 0,
                timeout_ms,
            )
            self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
        if not self._application.released:
            return
        raise HailoError(HailoStatus.HAILO_STREAM_ABORT, f"{self._application.name} was released")
