"""Rounds of a trace that repeat: what one more would tell is what the last one told, moved.

Where two rounds in a row differ from the one before by the same steps, time by how long a round takes, frames and
descriptors by what one counts, and by nothing else, those to come follow from the last. Whether there will be any like
it is not seen here: whoever adds rounds up says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from itertools import chain, repeat
from typing import Any

from emu.trace.events import Event, Numbers, Record, frame_cause, frame_of_cause, time_of

COMPARED = 3
_MOST_RECORDS = 1 << 17  # of a round that is kept to be compared
_event = partial(tuple.__new__, Event)  # past its own __new__: there are many
_CAUSE_OF_OCCURRENCE = 2
_NS, _ARGUMENTS, _CAUSE, _FRAME = map(Event._fields.index, ("ns", "arguments", "cause", "frame"))


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
        self._records = sorted(zip(told, steps, strict=True), key=lambda one: time_of(one[0]))

    @property
    def next_ns(self) -> int:
        """When the next round tells its first record."""
        return self._records[0][0][0] + self._ns

    def later(self, rounds: int) -> Iterator[Record]:
        """The records of so many rounds behind it, one round after the other."""
        return chain.from_iterable(zip(*[_later(*one, self._ns, rounds) for one in self._records], strict=True))


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
        step = tuple([b - a for a, b in zip(then, now, strict=False)])
        if len(then) != len(now) or next(_later(one, step, ns, 1)) != other:
            return None
        found.append(step)
    return found


def _numbers(record: Record) -> Numbers:
    """What may grow from round to round, time apart: the frame that its cause names, its own, its arguments."""
    if isinstance(record, Event):
        return frame_of_cause(record.cause), record.frame, *(record.arguments or {}).values()
    return frame_of_cause(record[2]), *record[-1]


def _later(record: Record, step: Numbers, ns: int, rounds: int) -> Iterator[Record]:
    """What so many rounds have for a record, each `ns` later and with its numbers a `step` further.

    Put together field by field for all of them: nothing is taken apart for a round.
    """
    columns: list[Iterable[Any]] = [repeat(field, rounds) for field in record]
    columns[_NS] = _counting(record[0], ns, rounds)
    if step:
        numbers = _numbers(record)
        causes, *own = [_counting(*one, rounds) for one in zip(numbers, step, strict=True)]
        if numbers[0] >= 0:
            columns[_CAUSE if isinstance(record, Event) else _CAUSE_OF_OCCURRENCE] = map(frame_cause, causes)
        if isinstance(record, Event):
            columns[_FRAME], *values = own
            if record.arguments:
                columns[_ARGUMENTS] = map(partial(_named, tuple(record.arguments)), zip(*values, strict=True))
        elif own:
            columns[-1] = zip(*own, strict=True)
    rows = zip(*columns, strict=True)
    return map(_event, rows) if isinstance(record, Event) else rows


def _named(names: Sequence[str], values: Numbers) -> dict[str, int]:
    return dict(zip(names, values, strict=True))


def _counting(number: int, step: int, rounds: int) -> Iterable[int]:
    """What a number comes to in so many rounds."""
    return range(number + step, number + step * (rounds + 1), step) if step else repeat(number, rounds)
