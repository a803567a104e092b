"""Who collects what happens, and hands it to the sinks in the order of simulated time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import islice

from emu.trace.events import Record, Sink, event_of, time_of
from emu.trace.rounds import Recurring, Rounds, RoundsOf


def _writer(sink: Sink) -> Callable[[Sequence[Record]], None]:
    found: Callable[[Sequence[Record]], None] | None = getattr(sink, "write_records", None)
    return found or (lambda records: sink.write([event_of(record) for record in records]))


class Tracer:
    """Collects events and hands them to the sinks in time order.

    The firmware runs ahead of the event queue while nothing waits, so records can come out of order; everything
    up to the queue's clock is final and is sorted (stably) before it goes out. `registers`: accesses to the registers
    of a card are wanted too; `lasting`: since when something goes on that is told when it is over, as of that instant.

    Whoever plays rounds of some kind that may repeat says where each ends (`end_round`), and whether further ones are
    to be told without being played (`recurs`, `repeat`).
    """

    BATCH = 4096

    def __init__(self, sinks: Sequence[Sink], clock: Callable[[], int], registers: bool = False) -> None:
        self.registers = registers
        self.lasting: int | None = None
        self._sinks = sinks
        self._writers = [_writer(sink) for sink in sinks]
        self._clock = clock
        self._told: list[Record] = []  # as they came
        self._pending: list[Record] = []
        self._limit = self.BATCH
        self._held = False
        self._rounds: dict[RoundsOf, Rounds] = {}
        self._recurring: Recurring | None = None
        self.count = 0

    def hold(self) -> None:
        """Let nothing out before `begin`."""
        self._held, self._limit = True, sys.maxsize

    def begin(self) -> None:
        """Begin now: what was told before is of no trace."""
        self._told.clear()
        self._held, self._limit = False, self.BATCH

    def emit(self, record: Record) -> None:
        self._told.append(record)
        if len(self._told) >= self._limit:
            self._flush(self._clock() if self.lasting is None else self.lasting)
            # what is still ahead of the clock is not sorted again before as much has come on top
            self._limit = self.BATCH + len(self._pending)

    def close(self) -> None:
        if self._held:
            self._told.clear()
        self._flush(None)
        for sink in self._sinks:
            sink.close()

    # -- rounds

    def end_round(self, of: RoundsOf) -> None:
        """What was told since the last one ended is a round, which may be like those before and behind it."""
        if not self._held:
            self._collect()
            self._rounds.setdefault(of, Rounds()).end()

    def forget_rounds(self, of: RoundsOf) -> None:
        """What is told from now on is compared with nothing before it."""
        self._rounds.pop(of, None)

    def recurs(self, of: RoundsOf, ns: int) -> bool:
        """Whether what further rounds tell, each `ns` after the one before, follows from what the last ones told."""
        rounds = self._rounds.get(of) if self.lasting is None else None
        found = None if rounds is None else rounds.recurring(ns)
        if found is None or any(record[0] > found.next_ns for record in self._pending):
            return False
        self._recurring = found
        return True

    def repeat(self, rounds: int) -> None:
        """Tell of so many rounds like the last one, which `recurs`."""
        recurring, self._recurring = self._recurring, None
        assert recurring is not None
        self._rounds.clear()
        self._flush(None)
        records = recurring.later(rounds)
        while batch := list(islice(records, self.BATCH)):
            self._write(batch)

    # -- out

    def _collect(self) -> None:
        """What was told goes to what is pending."""
        for rounds in self._rounds.values():
            rounds.add(self._told)
        self._pending += self._told
        self._told.clear()

    def _flush(self, until: int | None) -> None:
        self._collect()
        pending = self._pending
        pending.sort(key=time_of)
        cut = len(pending)
        if until is not None:
            while cut and pending[cut - 1][0] > until:
                cut -= 1
        ready, self._pending = pending[:cut], pending[cut:]
        self._write(ready)

    def _write(self, records: Sequence[Record]) -> None:
        """Hand on what is final, in order."""
        self.count += len(records)
        if records:
            for write in self._writers:
                write(records)
