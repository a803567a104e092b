"""Simulated time: a simpy environment in whole nanoseconds that counts its events and knows when nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from typing import Any

import simpy


class Clock(simpy.Environment):
    """simpy's event queue with integer `time` in ns. `events` is the number of discrete events processed."""

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.events = 0
        self.time = 0

    @property
    def quiet(self) -> bool:
        """Whether nothing is scheduled."""
        return not self._queue

    def at(self, ns: int, callback: Callable[[], None]) -> simpy.Event:
        """Call `callback` at `ns`, or at once if that has passed."""
        event = self.timeout(max(0, ns - self.time))
        assert event.callbacks is not None
        event.callbacks.append(lambda _: callback())
        return event

    def run_until(self, stop: Callable[[], bool]) -> bool:
        """Process events until `stop()`; False if the queue ran empty before."""
        queue, advance = self._queue, self._advance
        while not stop():
            if not queue:
                return False
            advance()
        return True

    def run_to(self, ns: int) -> None:
        """Process everything up to and including `ns` and stand there."""
        while self._queue and self._queue[0][0] <= ns:
            self._advance()
        self._now = self.time = max(self.time, ns)

    def _advance(self) -> None:
        # simpy's step() without its exceptions for an empty queue, which is a normal end here
        self.events += 1
        now, _, _, event = heappop(self._queue)
        self._now = self.time = int(now)
        callbacks: list[Callable[[Any], None]] | None = event.callbacks
        event.callbacks = None  # type: ignore[assignment]
        assert callbacks is not None
        for callback in callbacks:
            callback(event)
        if not event._ok and not event.defused:
            raise event._value


class Signal:
    """A broadcast: everybody who waits is woken by the next `notify`. Nobody waiting costs nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._event: simpy.Event | None = None

    def wait(self) -> simpy.Event:
        if self._event is None:
            self._event = self._clock.event()
        return self._event

    def notify(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            event.succeed()
