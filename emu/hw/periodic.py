"""Advance many equal stretches of a run in one step: what changed by the same amounts twice will do so again.

A multi-context application repeats its dynamic contexts batch after batch, applications that take turns repeat a round
of them. Once two stretches in a row took the same time, moved every counter of every unit by the same amounts and left
everything as full as it was, further ones are added up instead of executed (design: speed). The last ones are always
executed, so that memory and channels end as they would have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emu.hw.application import Application
from emu.hw.chip import Chip
from emu.hw.execution import Execution
from emu.hw.unit import Counts, Unit, walk
from emu.hw.vdma import Channel
from emu.trace.rounds import COMPARED, RoundsOf


class Repetition:
    """Whether stretches of a run are alike, by what is counted in them, how long they take and what they leave."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """What follows is compared with nothing before it."""
        self._ended_at: int | None = None
        self._duration: int | None = None
        self._counts: list[Counts] = []
        self._deltas: list[Counts] = []
        self._left: object = None

    def ended(self, now: int, units: Sequence[Unit], others: Sequence[Counts], left: object) -> bool:
        """A stretch has ended: whether it was like the one before it.

        `units` and `others` are all that counts, `left` is what has to be as it was after the one before.
        """
        counts = [*(unit.counters() for unit in units), *others]
        duration = None if self._ended_at is None else now - self._ended_at
        deltas = _deltas(self._counts, counts)
        alike = bool(deltas) and duration == self._duration and deltas == self._deltas and left == self._left
        self._ended_at, self._duration, self._counts, self._deltas = now, duration, counts, deltas
        self._left = left
        return alike and duration is not None

    @property
    def duration(self) -> int:
        """How long the last stretch took."""
        assert self._duration is not None
        return self._duration

    def advance(self, units: Sequence[Unit], times: int) -> int:
        """Count `times` more stretches like the last one; returns the time that they take."""
        assert self._duration is not None and self._ended_at is not None
        for unit, delta in zip(units, self._deltas, strict=False):
            unit.advance(delta, times)
        self._counts = [
            {key: count + delta[key] * times for key, count in counts.items()}
            for counts, delta in zip(self._counts, self._deltas, strict=True)
        ]
        self._ended_at += self._duration * times
        return self._duration * times

    def counted(self, units: Sequence[Unit]) -> Iterator[tuple[Unit, Counts]]:
        """Each unit with what it counts in a stretch."""
        yield from zip(units, self._deltas, strict=False)

    @property
    def beside(self) -> Counts:
        """What the last of the `others` counts in a stretch."""
        return self._deltas[-1]


class BatchLoop:
    """Watches the batches of one application; `skippable` says how many may be added up now."""

    def __init__(self, chip: Chip, execution: Execution) -> None:
        self._chip = chip
        self._execution = execution
        self._repetition = Repetition()

    def skippable(self) -> int:
        """A batch has ended: how many equal ones can follow in one step."""
        chip, execution = self._chip, self._execution
        host, tracer = chip.core.host, chip.probe.tracer
        batches = 0 if host is None else host.free_batches(execution.batch)
        if host is not None and tracer is not None:
            # a trace tells what the host queues: as much in each
            batches = min(batches, host.free_frames() // execution.batch)
        batches = chip.probe.skippable(batches, execution.batch_index, told=True) if batches > 0 else 0
        if batches <= 0:
            self._repetition.forget()
            if tracer is not None:
                tracer.forget_rounds(RoundsOf.BATCHES)
            return 0
        if tracer is not None:
            tracer.end_round(RoundsOf.BATCHES)
        units = self._units()
        # a host that catches up queues more than is taken, but only until its queue is full
        levels = [unit.levels() for unit in units]
        counts = self._host_counts()
        if tracer is not None:
            counts.append({"events": chip.clock.events})
        steady = self._repetition.ended(execution.now, units, counts, levels)
        if not steady or not chip.clock.quiet:
            return 0
        if tracer is None:
            return batches
        assert host is not None
        ns = self._repetition.duration
        told = host.at_once(execution.batch, ns, -COMPARED, batches - 1) and tracer.recurs(RoundsOf.BATCHES, ns)
        return batches if told else 0

    def skip(self, batches: int) -> int:
        """Add `batches` batches to every counter; returns the time they take."""
        units = self._units()
        taken = self._repetition.advance(units, batches)
        if self._chip.probe.tracer is not None:
            self._chip.probe.tracer.repeat(batches)
            # nobody acts before what was told
            self._chip.clock.skip(taken, self._repetition.beside["events"] * batches)
        steps, channels = {}, {}
        for unit, delta in self._repetition.counted(units):
            if isinstance(unit, Channel) and unit.boundary:
                steps[unit.packed], channels[unit.packed] = delta["processed"] * batches, unit
        host = self._chip.core.host
        assert host is not None
        fewer = host.skip(steps)
        for packed, channel in channels.items():
            channel.available -= fewer.get(packed, 0)
            channel.register = channel.num_available
        self._chip.core.jumps += 1
        return taken

    def _units(self) -> list[Unit]:
        return [*self._chip.units(), *walk(self._execution)]

    def _host_counts(self) -> list[Counts]:
        host = self._chip.core.host
        return [] if host is None else [{name: getattr(holder, name)} for holder, name in host.counters()]


class TurnLoop:
    """Watches the rounds in which applications take turns; `skippable` says how many may be added up now.

    A round begins and ends where the last application of it rests, and the next turn resets what that one left.
    """

    def __init__(self, chip: Chip, execution: Execution, applications: Sequence[Application]) -> None:
        self._chip = chip
        self._execution = execution
        self._contexts = [context for application in applications for context in application.contexts]
        self._repetition = Repetition()

    def skippable(self, rounds: int) -> int:
        """A round has ended: how many of `rounds` to come can be added up, which are like it as the host sees them."""
        chip, tracer = self._chip, self._chip.probe.tracer
        rounds = chip.probe.skippable(rounds, told=True)
        if rounds <= 0:
            self._repetition.forget()
            if tracer is not None:
                tracer.forget_rounds(RoundsOf.TURNS)
            return 0
        if tracer is not None:
            tracer.end_round(RoundsOf.TURNS)
        units, now = self._units(), chip.clock.time
        # the core has passes, which count the frames of the application's life: they end with its turn
        left = [(unit.levels(), unit.state(now)) for unit in units if unit is not chip.core]
        events = {"events": chip.clock.events}
        end = (left, len(chip.hazards), chip.clock.idle_ns)
        if not self._repetition.ended(now, units, (events,), end):
            return 0
        return rounds if tracer is None or tracer.recurs(RoundsOf.TURNS, self._repetition.duration) else 0

    def skip(self, rounds: int) -> None:
        """Let the time of `rounds` rounds pass and count what they do."""
        if self._chip.probe.tracer is not None:
            self._chip.probe.tracer.repeat(rounds)
        # what is scheduled of the last turn finds the chip as that left it
        taken = self._repetition.advance(self._units(), rounds)
        self._chip.clock.skip(taken, self._repetition.beside["events"] * rounds)
        self._chip.core.jumps += 1

    def _units(self) -> list[Unit]:
        """All units, and the contexts of all that take turns: the execution has those of the last of them alone."""
        return [*self._chip.units(), self._execution, *self._contexts]


def _deltas(before: list[Counts], after: list[Counts]) -> list[Counts]:
    """What was counted in between; empty where there are other units or keys than before."""
    if len(before) != len(after) or any(old.keys() != new.keys() for old, new in zip(before, after, strict=True)):
        return []
    return [{key: new[key] - old[key] for key in new} for old, new in zip(before, after, strict=True)]
