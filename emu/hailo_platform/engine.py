"""A device and the thread in which its simulated time passes: any thread submits, one thread steps.

An open device is used by one thread at a time (docs/api.md), applications are not. Whatever touches the device is a
command that its thread takes from a queue between two stretches of simulated time; what is done is told to whoever
waits. With EMU_PACE=real the thread sleeps until the wall clock has come as far as the simulated one.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from emu.errors import EmuError, HailoError, HailoStatus
from emu.hailo_platform.environment import Environment
from emu.hailo_platform.exceptions import HailoRTNotImplemented
from emu.hailo_platform.worker import Worker

if TYPE_CHECKING:
    from emu.host.application import Application
    from emu.host.jobs import Job

Result = TypeVar("Result")
Rows = Sequence[Mapping[str, bytes]]

# how long the end of a device waits for callbacks that are still to return (infer_model.cpp of HailoRT 4.23: 10 s)
CALLBACK_SECONDS = 10.0

_open: WeakSet[Engine] = WeakSet()
_spent_ns = 0  # simulated time of engines that were closed


class Outcome:
    """Frames handed to the device. `ended` is set when they are done or what ended them is known.

    `rows`: per frame the wire bytes of every output stream; `real`: per frame the streams that a reference gave;
    `ended_ns`: the simulated instant of the end.
    """

    def __init__(self, on_end: Callable[[Outcome], None] | None) -> None:
        self.ended = threading.Event()
        self.ended_ns = 0
        self.error: EmuError | None = None
        self.rows: Rows = ()
        self.real: Sequence[frozenset[str]] = ()
        self._on_end = on_end

    def end(self, error: EmuError | None, now_ns: int) -> None:
        self.error, self.ended_ns = error, now_ns
        self.ended.set()
        if self._on_end is not None:
            self._on_end(self)


class Engine:
    """One open device with its thread, which starts with the first command and ends with `close`.

    `results` is the thread in which outputs are brought into user formats and callbacks are called.
    """

    def __init__(self, chosen: Environment) -> None:
        from emu.host.device import open_device

        self.environment = chosen
        self.results = Worker("emu results")
        self._device = open_device(chosen.device, chosen.runtime)
        self._commands: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._closed = False
        self._outstanding: set[Outcome] = set()
        self._failure: EmuError | None = None
        self._resting_since = time.monotonic()
        self._rested_at_ns = 0
        _open.add(self)

    @property
    def now_ns(self) -> int:
        """Simulated time since the device was opened."""
        return self._device.now_ns

    # -- from any thread

    def call(self, function: Callable[[], Result]) -> Result:
        """Run `function` in the device's thread, wait for its result."""
        future: Future[Result] = Future()

        def command() -> None:
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                self._keep_pace()
                future.set_result(result)

        self._put(command)
        return future.result()

    def configure(self, *arguments: Any, **options: Any) -> Application:
        """As `OpenDevice.configure`."""
        return self.call(lambda: self._device.configure(*arguments, **options))

    def deactivate(self) -> None:
        """RESET: nobody runs any more, all stay configured."""
        self.call(self._device.deactivate)

    def submit(self, application: Application, rows: Rows, on_end: Callable[[Outcome], None] | None = None) -> Outcome:
        """Queue frames, one row of wire bytes each; `on_end` is called in the device's thread and must be short."""
        outcome = Outcome(on_end)
        columns = {name: [row[name] for row in rows] for name in rows[0]}

        def ended(job: Job[dict[str, Any]]) -> None:
            if job.error is None:
                outputs, outcome.real = job.wait(), job.real
                outcome.rows = [{name: data[at] for name, data in outputs.items()} for at in range(job.frames)]
            self._keep_pace()
            self._end(outcome, job.error)

        def command() -> None:
            self._outstanding.add(outcome)
            try:
                application.submit_raw(columns).add_done_callback(ended)
            except EmuError as error:
                self._end(outcome, error)

        self._put(command)
        return outcome

    def release(self, application: Application) -> None:
        """Give an application back without waiting for it: frames that are still queued end with STREAM_ABORT."""

        def command() -> None:
            with suppress(EmuError):  # the device may have stopped before
                application.release()

        self._put_unless_closed(command)

    def close(self, wait: bool = True) -> None:
        """Release everything on the device; in a forked child nothing is done."""
        done = threading.Event()

        def command() -> None:
            with suppress(EmuError):
                self._device.close()
            self._forget()
            self.results.stop()
            done.set()

        if self._thread is None:
            self._forget()
        elif self._put_unless_closed(command) and wait and threading.current_thread() is not self._thread:
            done.wait()
            self.results.join(CALLBACK_SECONDS)

    # -- the thread

    def _put(self, command: Callable[[], None]) -> None:
        if os.getpid() != self._pid:
            raise HailoRTNotImplemented("a device that is shared with a forked process")
        if not self._put_unless_closed(command):
            raise self._failure or HailoError(HailoStatus.HAILO_INVALID_OPERATION, "the device was released")

    def _put_unless_closed(self, command: Callable[[], None]) -> bool:
        if os.getpid() != self._pid:
            return False
        with self._changed:
            if self._closed:
                return False
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="emu device", daemon=True)
                self._thread.start()
            self._commands.append(command)
            self._changed.notify_all()
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._commands:
                    self._changed.wait_for(lambda: self._commands or self._closed)
                    self._resting_since, self._rested_at_ns = time.monotonic(), self.now_ns
                commands, self._commands = self._commands, deque()
            try:
                while commands:
                    commands.popleft()()
                if self._closed:
                    return
                self._device.run_until(self._interrupted)
            except Exception as error:  # a reference of the user's failed: who waits must hear of it
                self._fail(error, commands)
                return

    def _interrupted(self) -> bool:
        return bool(self._commands)

    def _end(self, outcome: Outcome, error: EmuError | None) -> None:
        self._outstanding.discard(outcome)
        outcome.end(error, self.now_ns)

    def _keep_pace(self) -> None:
        """Sleep until the wall clock is where the simulated one is, counted from the last rest."""
        if self.environment.real_pace:
            due = self._resting_since + (self.now_ns - self._rested_at_ns) / 1e9
            delay = due - time.monotonic()
            if delay > 0:
                time.sleep(delay)

    def _fail(self, error: Exception, commands: deque[Callable[[], None]]) -> None:
        """Nothing comes of what was handed in, and the device takes no more."""
        failure = HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, f"{type(error).__name__}: {error}")
        failure.__cause__ = error
        self._failure = failure
        self._device.abandon()
        with self._changed:
            commands.extend(self._commands)
            self._forget()
        while commands:
            commands.popleft()()  # the device refuses each, which tells whoever waits
        for outcome in list(self._outstanding):
            self._end(outcome, failure)
        self.results.stop()

    def _forget(self) -> None:
        global _spent_ns
        with self._changed:
            if not self._closed:
                self._closed = True
                _spent_ns += self.now_ns
                _open.discard(self)
            self._changed.notify_all()


def clock() -> float:
    """Simulated seconds that all devices of this process have spent: the difference around a call is its time."""
    return (_spent_ns + sum(engine.now_ns for engine in list(_open))) / 1e9


@atexit.register
def close_all() -> None:
    """The interpreter stops our threads where they stand, so nobody may wait for them behind this."""
    for engine in list(_open):
        engine.close()
