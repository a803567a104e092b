"""Rounds of a trace that repeat: what one more would tell is what the last one told, moved.

Where two rounds in a row differ from the one before by the same steps, time by how long a round takes, frames and
descriptors by what one counts, and by nothing else, those to come follow from the last. Whether there will be any like
it is not seen here: whoever adds rounds up says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import Any

from emu.trace.events import Event, Record, frame_cause, frame_of_cause, time_of

COMPARED = 3
_MOST_RECORDS = 1 << 17  # of a round that is kept to be compared
_event = partial(tuple.__new__, Event)  # past its own __new__: there are many
_NS, _ARGUMENTS, _CAUSE, _FRAME = map(Event._fields.index, ("ns", "arguments", "cause", "frame"))
Numbers = tuple[int, ...]


class RoundsOf(Enum):
    """What is played round by round."""

    FRAMES = "frames"  # of a context that goes on for ever
    BATCHES = "batches"  # the contexts of an application
    TURNS = "turns"  # applications


class Rounds:
    """The records of the last rounds of a kind, in the order in which they were told."""

    def __init__(self) -> None:
        self._told: list[list[Record]] = []
        self._running: list[Record] | None = None  # None: not kept

    def add(self, records: Sequence[Record]) -> None:
        """They were told in the round that runs."""
        if self._running is not None:
            self._running += records
            if len(self._running) > _MOST_RECORDS:
                self._told, self._running = [], None

    def end(self) -> None:
        """A round has ended, and another one begins."""
        if self._running is not None:
            self._told = [*self._told[1 - COMPARED :], self._running]
        self._running = []

    def recurring(self, ns: int) -> Recurring | None:
        """The last round, if further ones, each `ns` after the one before, follow from it."""
        if len(self._told) < COMPARED:
            return None
        first, second, last = self._told
        steps = _steps(second, last, ns)
        if not steps or steps != _steps(first, second, ns):
            self._told = []  # three others are compared next, so that comparing costs little
            return None
        return Recurring(last, steps, ns)


class Recurring:
    """A round that further ones follow from: its records in the order of time, and what each has more in the next."""

    def __init__(self, told: Sequence[Record], steps: Sequence[Numbers], ns: int) -> None:
        self._ns = ns
        # what is not moved but in time is taken apart once: the bulk of a round
        self._records = sorted(
            [(one, one[1:], isinstance(one, Event), step) for one, step in zip(told, steps, strict=True)],
            key=lambda one: time_of(one[0]),
        )

    @property
    def next_ns(self) -> int:
        """When the next round tells its first record."""
        return self._records[0][0][0] + self._ns

    def later(self, rounds: int) -> list[Record]:
        """The records of the round that comes so many behind it."""
        by, found = self._ns * rounds, list[Any]()
        for record, rest, whole, step in self._records:
            if step:
                numbers = zip(_numbers(record), step, strict=True)
                found.append(_moved(record, by, tuple([number + one * rounds for number, one in numbers])))
            elif whole:
                found.append(_event((record[0] + by, *rest)))
            else:
                found.append((record[0] + by, *rest))
        return found


def _steps(before: Sequence[Record], after: Sequence[Record], ns: int) -> list[Numbers] | None:
    """What the numbers of each record grow by from one round to the next, () where none does.

    None where they differ in anything else.
    """
    if len(before) != len(after):
        return None
    found: list[Numbers] = []
    for one, other in zip(before, after, strict=True):
        if other[0] - one[0] == ns and one[1:] == other[1:]:
            found.append(())
            continue
        then, now = _numbers(one), _numbers(other)
        if len(then) != len(now) or _moved(one, ns, now) != other:
            return None
        found.append(tuple([b - a for a, b in zip(then, now, strict=True)]))
    return found


def _numbers(record: Record) -> Numbers:
    """What may grow from round to round, time apart: the frame that its cause names, its own, its arguments."""
    if isinstance(record, Event):
        return frame_of_cause(record.cause), record.frame, *(record.arguments or {}).values()
    return (frame_of_cause(record[2]),)


def _moved(record: Record, by: int, numbers: Numbers) -> Record:
    """The record so much later, with other numbers."""
    cause = record.cause if isinstance(record, Event) else record[2]
    if frame_of_cause(cause) >= 0:
        cause = frame_cause(numbers[0])
    if not isinstance(record, Event):
        ns, subject, _, woke, size, duration = record
        return ns + by, subject, cause, woke, size, duration
    told = record.arguments
    arguments = None if told is None else dict(zip(told, numbers[2:], strict=True))
    fields = list(record)
    fields[_NS], fields[_ARGUMENTS], fields[_CAUSE], fields[_FRAME] = record.ns + by, arguments, cause, numbers[1]
    return _event(fields)
