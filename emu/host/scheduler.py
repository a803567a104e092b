"""Which application runs next: HailoRT's scheduler over simulated time (pyhailort-api.md, Scheduler)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from emu.errors import HailoError, HailoStatus

NORMAL_PRIORITY, HIGHEST_PRIORITY = 16, 31


class Scheduling(Struct):
    """How one application is scheduled.

    It is let in with `threshold` queued frames, or `timeout_ns` after it last started; `burst` frames a turn where
    others wait. `last_started_ns` counts from its configuration.
    """

    burst: int
    threshold: int = 0
    timeout_ns: int = 0
    priority: int = NORMAL_PRIORITY
    last_started_ns: int = 0

    def change(self, *, threshold: int | None, timeout_ns: int | None, priority: int | None, batch: int | None) -> None:
        """Set what is not None; HAILO_INVALID_ARGUMENT for what the library refuses. `batch` None: it does not matter.

        Nothing is changed where anything is refused.
        """
        if threshold is not None and (threshold < 0 or (batch is not None and threshold > batch)):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, f"a threshold of {threshold} frames, the batch is {batch}"
            )
        if timeout_ns is not None and timeout_ns < 0:
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"a timeout of {timeout_ns} ns")
        if priority is not None and not 0 <= priority <= HIGHEST_PRIORITY:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, f"priority {priority} is none of 0 to {HIGHEST_PRIORITY}"
            )
        self.threshold = self.threshold if threshold is None else threshold
        self.timeout_ns = self.timeout_ns if timeout_ns is None else timeout_ns
        self.priority = self.priority if priority is None else priority


class Schedulable(Protocol):
    """What the scheduler has to know of an application."""

    @property
    def scheduling(self) -> Scheduling: ...

    @property
    def queued(self) -> int: ...

    @property
    def ready(self) -> int: ...


One = TypeVar("One", bound=Schedulable)


class Scheduler:
    """Round robin within a priority, the highest first. It remembers who was chosen last in each."""

    def __init__(self) -> None:
        self._last: dict[int, Schedulable] = {}

    def choose(self, applications: Sequence[One], now: int) -> One | None:
        """Who runs on an idle device; None where nobody has a frame.

        Thresholds and timeouts decide first; where they let nobody in, anybody who has frames runs.
        """
        for strict in (True, False):
            for priority in sorted({one.scheduling.priority for one in applications}, reverse=True):
                level = [one for one in applications if one.scheduling.priority == priority]
                for one in self._from_behind_the_last(level, priority):
                    if one.ready and (not strict or over_threshold(one, now)):
                        self._last[priority] = one
                        return one
        return None

    def contender(self, running: One, applications: Sequence[One], now: int) -> bool:
        """Whether another of the same or a higher priority asks for the device."""
        return any(
            one is not running
            and one.scheduling.priority >= running.scheduling.priority
            and one.ready > 0
            and over_threshold(one, now)
            for one in applications
        )

    def forget(self, application: Schedulable) -> None:
        """It is released; its place in the round is that of nobody."""
        self._last = {priority: one for priority, one in self._last.items() if one is not application}

    def _from_behind_the_last(self, level: Sequence[One], priority: int) -> Sequence[One]:
        last = self._last.get(priority)
        for at, one in enumerate(level):
            if one is last:
                return [*level[at + 1 :], *level[: at + 1]]
        return level


def over_threshold(one: Schedulable, now: int) -> bool:
    """Whether it has enough frames, or has waited long enough."""
    scheduling = one.scheduling
    return one.queued >= scheduling.threshold or now - scheduling.last_started_ns >= scheduling.timeout_ns
