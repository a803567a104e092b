"""Advance many equal batches in one step: what changed by the same amounts twice will do so again.

A multi-context application repeats its dynamic contexts batch after batch. Once two batches in a row took the same
time, moved every counter of every unit by the same amounts and left every queue as long as it was, further ones are
added up instead of executed (design: speed). The last ones are always executed, so that memory and channels end as
they would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emu.hw.chip import Chip
from emu.hw.execution import Execution
from emu.hw.unit import Counts, Unit, walk
from emu.hw.vdma import Channel
from emu.sequencer.program import Direction


class BatchLoop:
    """Watches the batches of one application; `skippable` says how many may be added up now."""

    def __init__(self, chip: Chip, execution: Execution) -> None:
        self._chip = chip
        self._execution = execution
        self._forget()

    def _forget(self) -> None:
        self._ended_at: int | None = None
        self._duration: int | None = None
        self._counts: list[Counts] = []
        self._deltas: list[Counts] = []
        self._levels: list[tuple[int, ...]] = []

    def skippable(self) -> int:
        """A batch has ended: how many equal ones can follow in one step."""
        chip, execution = self._chip, self._execution
        host = chip.core.host
        batches = 0 if host is None else host.free_frames() // execution.batch - self._tail()
        batches = chip.probe.skippable(batches, execution.batch_index) if batches > 0 else 0
        if batches <= 0:
            self._forget()
            return 0
        units = self._units()
        counts = [unit.counters() for unit in units]
        counts += [{name: getattr(holder, name)} for holder, name in self._host_cells()]
        levels = [unit.levels() for unit in units]
        duration = None if self._ended_at is None else execution.now - self._ended_at
        deltas = _deltas(self._counts, counts)
        # a host that catches up queues more than is taken, but only until its queue is full
        steady = bool(deltas) and duration == self._duration and deltas == self._deltas and levels == self._levels
        self._ended_at, self._duration, self._counts, self._deltas = execution.now, duration, counts, deltas
        self._levels = levels
        return batches if steady and duration is not None and chip.clock.quiet else 0

    def _tail(self) -> int:
        """Batches played behind a jump, so that they leave what playing leaves, beside those that the host has queued.

        None where it has queued one.
        """
        batch = self._execution.batch
        for channel in self._chip.vdma.channels.values():
            if channel.boundary and channel.direction is Direction.H2D:
                a_batch = batch * channel.descriptors_per_transfer * channel.transfers_per_frame
                if channel.available - channel.claimed < a_batch:
                    return 1
        return 0

    def skip(self, batches: int) -> int:
        """Add `batches` batches to every counter; returns the time they take."""
        assert self._duration is not None and self._ended_at is not None
        units = self._units()
        for unit, delta in zip(units, self._deltas, strict=False):
            unit.advance(delta, batches)
        steps = {}
        for unit, delta in zip(units, self._deltas, strict=False):
            if isinstance(unit, Channel) and unit.boundary:
                steps[unit.packed] = delta["processed"] * batches
                unit.register = unit.num_available
        if self._chip.core.host is not None:
            self._chip.core.host.skip(steps)
        cells = list(self._host_cells())
        self._ended_at += self._duration * batches
        self._counts = [unit.counters() for unit in units] + [{name: getattr(holder, name)} for holder, name in cells]
        self._chip.core.jumps += 1
        return self._duration * batches

    def _units(self) -> list[Unit]:
        return [*self._chip.units(), *walk(self._execution)]

    def _host_cells(self) -> Iterator[tuple[Any, str]]:
        if self._chip.core.host is not None:
            yield from self._chip.core.host.counters()


def _deltas(before: list[Counts], after: list[Counts]) -> list[Counts]:
    """What was counted in between; empty where there are other units or keys than before."""
    if len(before) != len(after) or any(old.keys() != new.keys() for old, new in zip(before, after, strict=True)):
        return []
    return [{key: new[key] - old[key] for key in new} for old, new in zip(before, after, strict=True)]
