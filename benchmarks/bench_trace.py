"""Traces: writing JSONL, Perfetto and text, runs with them against runs without, checking, comparing.

    pytest benchmarks/bench_trace.py

Processor times of one process, the functions in turn, as ratios of one run: against dumping the same records with
orjson for the sinks, against the same run played without a trace, against orjson's reading of the file for check and
diff. docs/performance.md has what was measured.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.session import RunRequest, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.trace.diff import compare
from emu.trace.events import Event, Header, Record, Sink, event_of
from emu.trace.invariants import check
from emu.trace.reader import TraceReader
from emu.trace.sinks.jsonl import JsonlSink, line
from emu.trace.sinks.perfetto import PerfettoSink
from emu.trace.sinks.text import TextSink
from emu.trace.tracer import Tracer
from tests.conftest import ROOT
from tests.effort import least, sized

HEADER = Header("two_context.hef", "4.23", "hailo8", 1, 1000, 0, 200.0)
FRAMES = sized(500, 5)
EVENTS = sized(1_000_000, 300)
SINKS: dict[str, Callable[[], Any]] = {
    "JSONL": lambda: JsonlSink(io.BytesIO(), HEADER),
    "text": lambda: TextSink(io.StringIO(), HEADER),
    "Perfetto": lambda: PerfettoSink(io.BytesIO(), HEADER),
}
MAX_DUMPS = {"JSONL": 5, "text": 7, "Perfetto": 12}
MAX_UNTRACED = {"JSONL": 1.8, "text": 1.9, "Perfetto": 2.2}
MAX_TOLD = {"JSONL": 0.36, "text": 0.45, "Perfetto": 0.6}
MAX_DIFF_READINGS = 8
MAX_CHECK_READINGS = 4.0


class Keep:
    """A sink that keeps the records, batch by batch."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Record]] = []

    def write(self, events: Sequence[Event]) -> None:
        raise AssertionError("records are what it takes")

    def write_records(self, records: Sequence[Record]) -> None:
        self.batches.append(records)

    def close(self) -> None:
        pass


def run(sink: Sink | None, frames: int, may_jump: bool = False) -> int:
    """The example, played frame by frame unless it may be told; how many events its trace has."""
    program = compile_hef(open_hef(ROOT / "examples" / "two_context.hef"), CompileOptions())
    request = RunRequest(frames=frames, may_jump=may_jump)
    tracers: list[Tracer] = []

    def tracer(clock: Callable[[], int]) -> Tracer:
        tracers.append(Tracer([] if sink is None else [sink], clock))
        return tracers[0]

    if sink is not None:
        request.tracer_for = tracer
    run_program(program, load("hailo8"), request)
    return sum(one.count for one in tracers)


@pytest.fixture(scope="module")
def batches() -> list[Sequence[Record]]:
    """Two hundred batches of two contexts: few enough for the dictionaries of all events to lie in a cache."""
    keep = Keep()
    run(keep, 200)
    return keep.batches


@pytest.fixture(scope="module")
def events(batches: list[Sequence[Record]]) -> list[Event]:
    return [event_of(record) for batch in batches for record in batch]


@pytest.mark.parametrize("name", SINKS)
def bench_sink(name: str, batches: list[Sequence[Record]], events: list[Event]) -> None:
    records = [orjson.loads(line(event)) for event in events]

    def write() -> None:
        sink = SINKS[name]()
        for batch in batches:
            sink.write_records(batch)
        sink.close()

    def dump() -> None:
        for one in records:
            orjson.dumps(one)

    taken, dumps = least(write, dump, rounds=15)
    print(f"\n{name}: {len(events) / taken:,.0f} events/s, {taken / dumps:.2f} x dumping the records")
    assert taken < MAX_DUMPS[name] * dumps


def bench_traced_runs() -> None:
    """Simulation included; as many rounds as make the machine's other work no part of it."""
    runs = [lambda: run(None, FRAMES)] + [lambda make=make: run(make(), FRAMES) for make in SINKS.values()]
    untraced, *traced = least(*runs, rounds=7)
    ratios = {name: seconds / untraced for name, seconds in zip(SINKS, traced, strict=True)}
    print("\n" + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))
    assert {name: ratio for name, ratio in ratios.items() if ratio > MAX_UNTRACED[name]} == {}


def bench_told_rounds() -> None:
    """Simulation included, where rounds that repeat are told: against playing them without a trace."""
    runs = [lambda: run(None, FRAMES)] + [lambda make=make: run(make(), FRAMES, True) for make in SINKS.values()]
    played, *told = least(*runs, rounds=7)
    events = run(SINKS["JSONL"](), FRAMES, True)
    ratios = {name: seconds / played for name, seconds in zip(SINKS, told, strict=True)}
    rates = [
        f"{name} {events / seconds:,.0f} events/s, {ratios[name]:.2f}"
        for name, seconds in zip(SINKS, told, strict=True)
    ]
    print("\n" + "; ".join(rates))
    assert {name: ratio for name, ratio in ratios.items() if ratio > MAX_TOLD[name]} == {}


def _write_trace(
    path: Path,
    events: list[Event],
    later: int,
    reorder: bool = False,
    drop_last: bool = False,
) -> None:
    """A trace of EVENTS events: the same over and over, `later` thousandths slower."""
    period = events[-1].ns
    body = [orjson.loads(line(event)) for event in events]
    with path.open("wb") as stream:
        stream.write(orjson.dumps({"schema": "emu-trace", "version": 1, **HEADER._asdict()}) + b"\n")
        written = turn = 0
        while written < EVENTS:
            lines = [
                orjson.dumps({**one, "ns": (one["ns"] + turn * period) * (1000 + later) // 1000}) + b"\n"
                for one in body
            ]
            if reorder:
                for at in range(len(lines) - 1):
                    if b'"ENABLE_LCU' in lines[at] and b'"ENABLE_LCU' in lines[at + 1]:
                        lines[at], lines[at + 1] = lines[at + 1], lines[at]
            lines = lines[: EVENTS - written]
            if drop_last and written + len(lines) == EVENTS:
                lines.pop()
            stream.writelines(lines)
            written += len(lines) + drop_last * (len(lines) < len(body))
            turn += 1
        count = EVENTS - drop_last
        stream.write(orjson.dumps({"ns": 0, "kind": "end", "events": count}) + b"\n")


def bench_diff_of_a_million_events(events: list[Event], tmp_path: Path) -> None:
    a, b, c, d = (tmp_path / name for name in "abcd")
    _write_trace(a, events, 0)
    _write_trace(b, events, 7)
    _write_trace(c, events, 7, reorder=True)
    _write_trace(d, events, 7, drop_last=True)

    def read() -> None:
        for path in (a, b):
            with path.open("rb") as stream:
                for line in stream:
                    orjson.loads(line)

    for other, tolerance, equal in ((b, None, True), (b, 10.0, True), (c, None, True), (d, None, False)):

        def differ(other: Path = other, tolerance: float | None = tolerance, equal: bool = equal) -> None:
            assert compare(TraceReader(a), TraceReader(other), tolerance).equal is equal

        taken, reading = least(differ, read, rounds=2)
        print(f"\ndiff with {other.name}, tolerance {tolerance}: {taken / reading:.2f} x reading both files")
        assert taken < MAX_DIFF_READINGS * reading


def bench_check_of_a_million_events(events: list[Event], tmp_path: Path) -> None:
    path = tmp_path / "a"
    _write_trace(path, events, 0)

    def read() -> None:
        with path.open("rb") as stream:
            for line in stream:
                orjson.loads(line)

    taken, reading = least(lambda: check(TraceReader(path)), read, rounds=3)
    print(f"\ncheck: {taken / reading:.2f} x reading the file")
    assert taken < MAX_CHECK_READINGS * reading
