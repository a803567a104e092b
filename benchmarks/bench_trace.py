"""Traces: writing JSONL and Perfetto, checking, comparing a million events.

    pytest benchmarks/bench_trace.py

Ratios against orjson in the same run: dumping the same records for the sinks, reading the files line by line for the
comparison. The rates of the goals (100,000 actions and slices a second) are printed.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from emu.hef import open_hef
from emu.hw.profiles import load
from emu.hw.session import RunRequest, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.trace.diff import compare
from emu.trace.events import Event, Header, Kind, Tracer
from emu.trace.invariants import check
from emu.trace.reader import TraceReader
from emu.trace.sinks.jsonl import JsonlSink, line
from emu.trace.sinks.perfetto import PerfettoSink
from tests.conftest import ROOT

HEADER = Header("two_context.hef", "4.23", "hailo8", 1, 1000, 0, 200.0)
BATCH = Tracer.BATCH
EVENTS = 1_000_000
# dumping a record takes about 0.7 us, so that the goal of 100,000 a second is 14 dumps; the sinks stay well below
MAX_JSONL_DUMPS = 6
MAX_PERFETTO_DUMPS = 13
MAX_DIFF_READINGS = 8
MAX_CHECK_READINGS = 12


class Keep:
    """A sink that keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, events: Sequence[Event]) -> None:
        self.events += events

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def events() -> list[Event]:
    """A thousand batches of two contexts."""
    keep = Keep()
    program = compile_hef(open_hef(ROOT / "examples" / "two_context.hef"), CompileOptions())
    run_program(program, load("hailo8"), RunRequest(frames=1000, tracer_for=lambda clock: Tracer([keep], clock)))
    return keep.events


def best(function: Callable[[], object], runs: int = 5) -> float:
    shortest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def _ratio(events: list[Event], sink_type: Callable[[Any, Header], Any], what: str) -> float:
    records = [orjson.loads(line(event)) for event in events]
    actions = sum(event.kind is Kind.ACTION for event in events)

    def write() -> None:
        sink = sink_type(io.BytesIO(), HEADER)
        for at in range(0, len(events), BATCH):
            sink.write(events[at : at + BATCH])
        sink.close()

    dumps = best(lambda: [orjson.dumps(one) for one in records])
    taken = best(write)
    print(f"\n{what}: {actions / taken:,.0f} actions/s, {taken / dumps:.2f} x dumping the records")
    return taken / dumps


def bench_jsonl(events: list[Event]) -> None:
    assert _ratio(events, JsonlSink, "JSONL") < MAX_JSONL_DUMPS


def bench_perfetto(events: list[Event]) -> None:
    assert _ratio(events, PerfettoSink, "Perfetto") < MAX_PERFETTO_DUMPS


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

    reading = best(read, 2)
    for other, tolerance, equal in ((b, None, True), (b, 10.0, True), (c, None, True), (d, None, False)):
        start = time.perf_counter()
        assert compare(TraceReader(a), TraceReader(other), tolerance).equal is equal
        ratio = (time.perf_counter() - start) / reading
        print(f"\ndiff with {other.name}, tolerance {tolerance}: {ratio:.2f} x reading both files")
        assert ratio < MAX_DIFF_READINGS


def bench_check_of_a_million_events(events: list[Event], tmp_path: Path) -> None:
    path = tmp_path / "a"
    _write_trace(path, events, 0)

    def read() -> None:
        with path.open("rb") as stream:
            for line in stream:
                orjson.loads(line)

    reading = best(read, 2)
    start = time.perf_counter()
    check(TraceReader(path))
    ratio = (time.perf_counter() - start) / reading
    print(f"\ncheck: {ratio:.2f} x reading the file")
    assert ratio < MAX_CHECK_READINGS
