"""What the page says of a trace, or of what measure-fw-actions wrote: who it is of, its lists, its lanes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

from emu.hef.runtime import by_preference
from emu.report.lanes import Lane, LaneSink
from emu.trace.events import Event, Kind
from emu.trace.reader import Record, TraceReader
from emu.trace.stamped import StampedTrace

_KINDS = {kind.value: kind for kind in Kind}


class ListTimes(Struct):
    """A list of a trace: how often it ran, how many actions that was, and simulated or measured ns in all."""

    name: str
    runs: int = 0
    actions: int = 0
    ns: int = 0


class TraceFacts(Struct):
    """`measured`: its times are those of hardware, or of whoever wrote such a file. `about`: rows of (what, value)."""

    measured: bool
    about: list[tuple[str, str]]
    lists: list[ListTimes] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    start_ns: int = 0
    end_ns: int = 0
    dropped: int = 0


def trace_facts(path: Path) -> TraceFacts:
    """Of a trace (JSONL). Raises what reading it raises."""
    reader = TraceReader(path)
    header = reader.header
    about = [
        ("model", header.model),
        ("device", header.device),
        ("runtime", header.runtime),
        ("batch", str(header.batch)),
        ("frames", str(header.frames)),
        ("seed", str(header.seed)),
    ]
    return _facts(TraceFacts(False, about), reader.known())


def profile_facts(path: Path, runtimes: Iterable[str]) -> TraceFacts:
    """Of a file of measure-fw-actions; ids are packed as one of `runtimes` does. Raises what reading it raises."""
    trace = StampedTrace(path, by_preference(runtimes)[0])
    profile = trace.profile
    about = [("model", profile.hef), ("clock of the time stamps", f"{profile.cycle_mhz} MHz")]
    about += [
        (f"batch {run.batch_size}", f"{run.fps:,.2f} FPS" if run.fps >= 0 else "FPS not measured")
        for run in profile.runs
    ]
    return _facts(TraceFacts(True, about), _with_durations(trace.known()))


def _with_durations(records: Iterable[Record]) -> Iterator[Record]:
    """Actions that took the time since the one before them in their list."""
    before = 0
    for record in records:
        if record["kind"] == Kind.ACTION.value:
            yield record | {"duration": max(0, record["ns"] - before)}
        else:
            yield record
        before = record["ns"]


def _facts(facts: TraceFacts, records: Iterable[Record]) -> TraceFacts:
    sink = LaneSink()
    lists: dict[str, ListTimes] = {}
    begun: dict[str, int] = {}
    for record in records:
        kind = _KINDS.get(record["kind"])
        if kind is None:
            continue  # of a later emu
        context = record.get("context", "")
        if kind is Kind.CONTEXT_BEGIN:
            begun[context] = record["ns"]
            lists.setdefault(context, ListTimes(context)).runs += 1
        elif kind is Kind.CONTEXT_END and context in begun:
            lists[context].ns += max(0, record["ns"] - begun.pop(context))
        elif kind is Kind.ACTION:
            lists.setdefault(context, ListTimes(context)).actions += 1
        known = {name: record[name] for name in Event._fields if name in record and name != "kind"}
        sink.write([Event(**{**known, "kind": kind})])
    sink.close()
    facts.lists = list(lists.values())
    facts.lanes, facts.dropped = sink.lanes(), sink.dropped
    facts.start_ns, facts.end_ns = sink.span()
    return facts
