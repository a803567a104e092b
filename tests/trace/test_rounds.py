"""Rounds of a trace: what follows from the last ones, and what does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from emu.trace.events import Event, Kind, Record, Subject
from emu.trace.rounds import Recurring, Rounds, RoundsOf
from emu.trace.tracer import Tracer

ACTION = Subject(Kind.ACTION, 0, "dynamic_0", 3, "LCU_INTERRUPT", {"packed_lcu_id": 1})
LAUNCH = Subject(Kind.LAUNCH, 0, unit="channel 2 (H2D)", counted=("transfers", "available", "processed"))
PERIOD = 1_000


def told(number: int, **changed: Any) -> list[Record]:
    """A round: an action that waits, a launch, a frame that passes, a unit that is done.

    The action is told before its time.
    """
    at = 500 + number * PERIOD
    arguments = {"available": 8 + 2 * number, "processed": 2 * number, "transfers": 1}
    transfer = Event(
        at + 20, Kind.TRANSFER, 0, "dynamic_0", unit="channel 16 (D2H)", bytes=64, frame=4 * number, arguments=arguments
    )
    return [
        (at + 90, ACTION, "cluster 0 LCU 1 done", "", 0, 70, ()),
        (at + 20, LAUNCH, "", "", 64, 0, (-1, 1, 8 + 2 * number, 2 * number)),
        transfer._replace(**changed),
        (
            at + 20,
            Subject(Kind.UNIT, 0, action="done", unit="cluster 0 LCU 1"),
            f"frame {4 * number + 3}",
            "",
            0,
            0,
            (),
        ),
    ]


DONE = told(0)[3][1]


def rounds_of(*each: Sequence[Record], period: int = PERIOD) -> Recurring | None:
    rounds = Rounds()
    rounds.end()
    for records in each:
        rounds.add(
            [
                one if isinstance(one, Event) or one[1] in (ACTION, LAUNCH) else (one[0], DONE, *one[2:])
                for one in records
            ]
        )
        rounds.end()
    return rounds.recurring(period)


def test_a_later_round_is_the_last_one_moved() -> None:
    found = rounds_of(told(0), told(1), told(2))
    assert found is not None
    for further in (1, 2, 1_000):
        action, launch, transfer, done = told(2 + further)
        assert list(found.later(further))[-4:] == [launch, transfer, (done[0], DONE, *done[2:]), action]
    assert found.next_ns == told(3)[1][0]


@pytest.mark.parametrize(
    "each",
    [
        (told(1), told(2)),
        ([], [], []),
        (told(0), told(1), told(2)[:2]),
        (told(0), told(1), told(3)),
        (told(0), told(2), told(3)),
        (told(0), told(1), told(2, frame=9)),
        (told(0, bytes=65), told(1), told(2)),
        (told(0), told(1, cause="boundary stream 3"), told(2)),
        (told(0, arguments={"available": 8}), told(1), told(2)),
        (told(0, unit="channel 1 (D2H)"), told(1, unit="channel 2 (D2H)"), told(2, unit="channel 3 (D2H)")),
        (told(0, cause="frame 01"), told(1, cause="frame 02"), told(2, cause="frame 03")),
        (told(0, duration=1), told(1, duration=2), told(2, duration=3)),
    ],
)
def test_rounds_that_differ_in_anything_else_say_nothing_of_others(each: tuple[list[Record], ...]) -> None:
    assert rounds_of(*each) is None


def test_another_period_is_none() -> None:
    assert rounds_of(told(0), told(1), told(2), period=PERIOD + 1) is None


class Kept:
    """A sink that keeps the instants that it is told of."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def write(self, events: Sequence[Event]) -> None:
        self.told += [one.ns for one in events]

    def close(self) -> None:
        pass


def test_a_round_that_tells_of_what_comes_behind_the_next_begin_is_none() -> None:
    """Else what is told would not be in the order of time."""
    for behind, recurs in ((0, True), (1, False)):
        tracer = Tracer([], lambda: 0)
        for number in range(4):
            tracer.end_round(RoundsOf.BATCHES)
            if number < 3:
                tracer.emit(Event(number * 100, Kind.WAIT))
                tracer.emit(Event(number * 100 + 100 + behind, Kind.UNIT))
        assert tracer.recurs(RoundsOf.BATCHES, 100) is recurs


def test_what_lasts_is_told_in_its_place_however_much_happens_meanwhile() -> None:
    sink, now = Kept(), 0
    tracer = Tracer([sink], lambda: now)
    tracer.lasting = 10
    for now in range(20, 20 + 2 * Tracer.BATCH):
        tracer.emit(Event(now, Kind.ACTION))
    tracer.lasting = None
    tracer.emit(Event(10, Kind.CONTROL))
    tracer.close()
    assert sink.told == sorted(sink.told)
    assert len(sink.told) == tracer.count == 2 * Tracer.BATCH + 1
