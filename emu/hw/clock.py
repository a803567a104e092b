"""Simulated time: a simpy environment in whole nanoseconds that counts its events and knows when nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from itertools import count

import simpy
from simpy.core import Infinity
from simpy.events import EventPriority

NEVER = 1 << 128
"""An instant that no run reaches, whatever its frames: when what is stalled is done."""


class Clock(simpy.Environment):
    """simpy's event queue with integer `time` in ns. `events` is the number of discrete events processed."""

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.events = 0
        self.time = 0  # an attribute, for it is read far more often than it changes
        self._skipped = 0  # how far it is ahead of simpy's own
        self._failure: BaseException | None = None

    @property
    def quiet(self) -> bool:
        """Whether nothing is scheduled."""
        return self.peek() == Infinity

    @property
    def idle_ns(self) -> float:
        """How long nothing is scheduled from now on; without an end where nothing is."""
        return self.peek() - self.time

    def peek(self) -> float:
        """When the next event is due."""
        return super().peek() + self._skipped

    def skip(self, ns: int, events: int) -> None:
        """Be later by so much, with everything that is scheduled, as if so many events had been processed."""
        self._skipped += ns
        self.time += ns
        self.events += events

    def start(self, generator: Generator[simpy.Event, None, None]) -> simpy.Process:
        """Begin a process; what it raises comes out of `run_until` and `run_to` as it is."""
        process = self.process(generator)
        assert process.callbacks is not None
        process.callbacks.append(self._ended)
        return process

    def go_on(self, generator: Generator[simpy.Event, None, None]) -> simpy.Process:
        """As `start`, for a process that goes on where another stood: what it yields first is waited for at once."""
        process = simpy.Process.__new__(simpy.Process)
        simpy.Event.__init__(process, self)
        process._generator = generator
        process._target = generator.send(None)
        assert process.callbacks is not None and process._target.callbacks is not None
        process._target.callbacks.append(process._resume)
        process.callbacks.append(self._ended)
        return process

    def at(self, ns: int, callback: Callable[[], None]) -> simpy.Event:
        """Call `callback` at `ns`, or at once if that has passed."""
        event = self.timeout(max(0, ns - self.time))
        assert event.callbacks is not None
        event.callbacks.append(partial(_called, callback))
        return event

    def call(self, ns: int, callback: Callable[[simpy.Event], None]) -> None:
        """As `at`, for what happens all the time: `callback` takes the event."""
        event = simpy.Timeout(self, ns - self.time if ns > self.time else 0)
        event.callbacks.append(callback)

    def set_up(self, time: int, events: int, queue: list[tuple[int, int, int, simpy.Event]]) -> None:
        """Stand at another time, with other things to come: (instant, priority, number, event), in their order."""
        self.time, self.events = time, events
        self._now, self._skipped = time, 0
        self._queue = [(ns, EventPriority(priority), number, event) for ns, priority, number, event in queue]
        self._eid = count(len(queue))

    @property
    def to_come(self) -> list[tuple[int, int, simpy.Event]]:
        """What is scheduled, in order: (instant, priority, event)."""
        ahead = self._skipped
        return [(int(ns) + ahead, int(priority), event) for ns, priority, _, event in sorted(self._queue)]

    def run_until(self, stop: Callable[[], bool]) -> bool:
        """Process events until `stop()`; False if the queue ran empty before."""
        peek, step = super().peek, self.step
        while not stop():
            due = peek()
            if due == Infinity:
                return False
            self.events += 1
            self.time = int(due) + self._skipped
            step()
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
        return True

    def run_to(self, ns: int) -> None:
        """Process everything up to and including `ns` and stand there."""
        self.run_until(lambda: self.peek() > ns)
        if self.time < ns:
            self.timeout(ns - self.time)
            self.step()  # nothing else is due so early; the time that a message takes is no event of the device
            self.time = ns

    def _ended(self, process: simpy.Event) -> None:
        # simpy would raise a copy, which not every exception survives
        if not process.ok:
            process.defused = True
            self._failure = process.value


def _called(callback: Callable[[], None], _: simpy.Event) -> None:
    callback()


class Signal:
    """A broadcast: everybody who waits is woken by the next `notify`, and `also` is called each time."""

    def __init__(self, clock: Clock, also: Callable[[], None]) -> None:
        self._clock = clock
        self._also = also
        self._event: simpy.Event | None = None

    def wait(self) -> simpy.Event:
        if self._event is None:
            self._event = self._clock.event()
        return self._event

    def notify(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            event.succeed()
        self._also()
