"""Comparing two traces by meaning.

Two traces are equal where every unit sees the same actions in the same order: actions with no unit in common may
change places as long as they do not cross a wait, a context boundary or an action that starts what was configured.
The order of consecutive waits is free. Transfers, launches and completions are compared channel by channel, unit by
unit, whatever stands between them. Whether an action had to wait, and simulated time (unless a tolerance is given),
do not count.

Streaming: equal lines are compared as bytes; what is unmatched is kept until its partner comes, at most WINDOW
records. The state at a divergence is found by reading both traces again up to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import Struct, field

from emu.trace.matching import FOREIGN, Divergence, Matcher, Source, foreign_record
from emu.trace.reader import Record
from emu.trace.state import TraceState
from emu.wire.naming import text_of


class Comparison(Struct):
    """The outcome. `counts`: by action, how often in A and in B, where that differs."""

    a: Source
    b: Source
    events: tuple[int, int]
    divergence: Divergence | None = None
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        return self.divergence is None


def compare(a: Source, b: Source, tolerance: float | None = None) -> Comparison:
    """Compare two traces; `tolerance` in percent of the simulated time, None ignores time.

    Errors are those of the sources: a damaged trace is HAILO_INVALID_ARGUMENT.
    """
    matcher = Matcher(a, b, tolerance)
    found = matcher.run()
    if found is None:
        return Comparison(a, b, (matcher.sides[0].number, matcher.sides[1].number))
    counters = []
    for source, side in ((a, found.a), (b, found.b)):
        counter, side.state = _survey(source, side.number)
        counters.append(counter)
    first, second = counters
    names = sorted(first.keys() | second.keys())
    different = {name: (first[name], second[name]) for name in names if first[name] != second[name]}
    return Comparison(a, b, (first.total(), second.total()), found, different)


def _survey(source: Source, until: int) -> tuple[Counter[str], list[str]]:
    """Counts over a whole trace, and its state just before record `until`."""
    counter: Counter[str] = Counter()
    state = TraceState(source.runtime)
    lines = source.lines()
    number = 0
    try:
        for number, line in enumerate(islice(lines, max(0, until - 1)), 1):
            record = source.parse(line, number + 1)
            state.follow(record)
            counter[_label(record)] += 1
        standing = list(state.describe())
    except FOREIGN as error:
        raise foreign_record(source, number + 1, error) from None
    for number, line in enumerate(lines, max(1, until)):
        counter[_label(source.parse(line, number + 1))] += 1
    return counter, standing


def _label(record: Record) -> str:
    if record["kind"] == "action":
        return str(record.get("action", ""))
    return str(record["kind"])


def document(result: Comparison) -> dict[str, Any]:
    """The JSON form of `emu diff --json`."""
    found: dict[str, Any] = {
        "equal": result.equal,
        "a": {"name": result.a.name, "events": result.events[0]},
        "b": {"name": result.b.name, "events": result.events[1]},
        "divergence": None,
        "counts": {name: {"a": counts[0], "b": counts[1]} for name, counts in result.counts.items()},
    }
    if result.divergence is not None:
        context, index = result.divergence.place
        found["divergence"] = {
            "context": context,
            "action_index": index,
            "differs": result.divergence.what,
            **{
                letter: {"record": side.record, "number": side.number, "state": side.state}
                for letter, side in (("a", result.divergence.a), ("b", result.divergence.b))
            },
        }
    return found


def text(result: Comparison, equal: str = "equal in meaning") -> Iterator[str]:
    """Lines for a person; `equal` is what is said where nothing differs."""
    yield f"A {result.a.name}: {result.events[0]:,} events"
    yield f"B {result.b.name}: {result.events[1]:,} events"
    divergence = result.divergence
    if divergence is None:
        yield equal
        return
    context, index = divergence.place
    where = f"{context} action {index}" if index >= 0 else context or "outside any context"
    yield f"first divergence: {where}"
    for letter, side in (("A", divergence.a), ("B", divergence.b)):
        yield f"  {letter} {described(side.record)}"
    for line in divergence.what:
        yield f"  differs: {line}"
    yield "wait-for state there"
    for letter, side in (("A", divergence.a), ("B", divergence.b)):
        for line in side.state:
            yield f"  {letter} {line}"
    if result.counts:
        yield f"{'counts':<44} {'A':>10} {'B':>10}"
    for name, (first, second) in result.counts.items():
        yield f"  {name:<42} {first:>10} {second:>10}"


def described(record: Record | None) -> str:
    """A record in one line, without its time."""
    if record is None:
        return "nothing"
    place = record.get("context", "")
    if record.get("action_index", -1) >= 0:
        place += f" #{record['action_index']}"
    arguments = " ".join(f"{name}={text_of(name, value)}" for name, value in record.get("arguments", {}).items())
    parts = [place, record["kind"] if record["kind"] != "action" else "", record.get("action", ""), arguments]
    parts += [record.get("unit", "")]
    parts += [f"{name} {record[name]}" for name in ("frame", "bytes", "cause") if record.get(name) not in (None, "")]
    return " ".join(str(part) for part in parts if part)
