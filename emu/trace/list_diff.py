"""Comparing two profiles of the firmware action by action: in order and content, and within a tolerance in time.

Lists are compared context by context, as they stand in memory: what one has and the other has not, what has other
values, what one executed and the other did not. An action's time is that since the one before it in its list, so that
one slow action is one difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from emu.trace.fw_actions import CYCLES, FirmwareProfile, StampedAction, StampedContext, StampedRun
from emu.trace.sinks.fw_actions import UNKNOWN
from emu.trace.stamped import listed

MOST = 1000
"""Differences of a list that are kept; `more` counts the rest."""
_MOST_PAIRS = 4_000_000  # of two lists that are aligned; longer ones are compared place by place


class ListDifference(Struct, frozen=True):
    """One difference: `what` is `only_a`, `only_b`, `values`, `executed` or `time`.

    `index_*`: the action's number in its list (-1: it is not there), `*`: what it is, `ns_*`: its time since the
    action before it, None where that is not known.
    """

    what: str
    index_a: int
    index_b: int
    a: str
    b: str
    ns_a: float | None = None
    ns_b: float | None = None

    def line(self) -> str:
        """As a person reads it."""
        if self.what == "only_a":
            return f"#{self.index_a} {self.a}: only in A"
        if self.what == "only_b":
            return f"#{self.index_b} {self.b}: only in B"
        place = f"#{self.index_a}" if self.index_a == self.index_b else f"#{self.index_a} / #{self.index_b}"
        if self.what == "time":
            assert self.ns_a is not None
            assert self.ns_b is not None
            return f"{place} {self.a}: {self.ns_a / 1e3:.3f} us != {self.ns_b / 1e3:.3f} us"
        if self.what == "executed":
            return f"{place} {self.a}: executed in {'A' if self.ns_a is not None else 'B'} only"
        return f"{place} {self.a} != {self.b}"


class ContextComparison(Struct):
    """One list in both: how many actions, how long it took in each (ns; None: not executed), and what differs."""

    context: str
    actions: tuple[int, int]
    ns: tuple[float | None, float | None]
    differences: list[ListDifference] = field(default_factory=list)
    more: int = 0

    def add(self, difference: ListDifference) -> None:
        if len(self.differences) < MOST:
            self.differences.append(difference)
        else:
            self.more += 1


class RunComparison(Struct):
    """One batch size; `missing` names the side that has no such run."""

    batch_size: int
    contexts: list[ContextComparison] = field(default_factory=list)
    missing: str = ""


class ProfileComparison(Struct):
    """The outcome of `compare_profiles`."""

    a: str
    b: str
    tolerance: float | None
    runs: list[RunComparison] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not any(run.missing or one.differences for run in self.runs for one in run.contexts or [_NOTHING])


_NOTHING = ContextComparison("", (0, 0), (None, None))


class _Side(Struct):
    """A list of one side: its actions, their comparable content, and the time of each since the one before it."""

    actions: list[StampedAction]
    keys: list[tuple[object, ...]]
    steps: list[float | None]
    tick_ns: float

    @classmethod
    def of(cls, context: StampedContext | None, cycle_mhz: int) -> _Side:
        actions = [] if context is None else [one for _, one in listed(context)]
        keys = [(one.type, *sorted((key, str(value)) for key, value in one.data.items())) for one in actions]
        return cls(actions, keys, list(_steps(actions, cycle_mhz)), 1000 / cycle_mhz)

    def total(self) -> float | None:
        stamps = [one.timestamp for one in self.actions if one.timestamp]
        return ((stamps[-1] - stamps[0]) % CYCLES) * self.tick_ns if stamps else None

    def together(self, at: int) -> int:
        """How many actions from this one on share its stamp as parts of one REPEATED."""
        end = at + 1
        if self.actions[at].sub >= 0:
            while end < len(self.actions) and self.actions[end].sub == self.actions[end - 1].sub + 1:
                end += 1
        return end - at

    def time(self, at: int, count: int) -> float | None:
        """The time of actions since the one before them; None where one of them has none."""
        steps = [step for step in self.steps[at : at + count] if step is not None]
        return sum(steps) if len(steps) == count else None

    def text(self, at: int) -> str:
        one = self.actions[at]
        return " ".join([one.type.name, *(f"{key}={str(value)[:20]}" for key, value in one.data.items())])


def _steps(actions: Sequence[StampedAction], cycle_mhz: int) -> Iterator[float | None]:
    before = 0
    for one in actions:
        known = one.timestamp and before
        yield ((one.timestamp - before) % CYCLES) * 1000 / cycle_mhz if known else None
        before = one.timestamp or before


def compare_profiles(
    a: FirmwareProfile, b: FirmwareProfile, names: tuple[str, str], tolerance: float | None = None
) -> ProfileComparison:
    """Compare the runs of two profiles that have the same batch size, in their order; `tolerance` in percent of an
    action's time, None ignores time. Less than two ticks of the time stamps are never a difference."""
    result = ProfileComparison(*names, tolerance)
    left = list(b.runs)
    for run in a.runs:
        other = _partner(run, left, len(a.runs) == len(b.runs) == 1)
        if other is None:
            result.runs.append(RunComparison(run.batch_size, missing="B"))
            continue
        left.remove(other)
        contexts = list(_contexts(run, other, (a.cycle_mhz, b.cycle_mhz), tolerance))
        result.runs.append(RunComparison(run.batch_size, contexts))
    result.runs += [RunComparison(run.batch_size, missing="A") for run in left]
    return result


def _partner(run: StampedRun, others: Sequence[StampedRun], only: bool) -> StampedRun | None:
    """The run of the same batch; a list that was read back says no batch, and means the only other there is."""
    for other in others:
        if run.batch_size == other.batch_size or (only and UNKNOWN in (run.batch_size, other.batch_size)):
            return other
    return None


def _contexts(
    a: StampedRun, b: StampedRun, mhz: tuple[int, int], tolerance: float | None
) -> Iterator[ContextComparison]:
    by_name = {one.name: one for one in reversed(b.contexts)}
    pairs = [(one.name, one, by_name.pop(one.name, None)) for one in a.contexts]
    pairs += [(one.name, None, one) for one in b.contexts if by_name.get(one.name) is one]  # type: ignore[misc]
    stamped = all(any(one.timestamp for context in run.contexts for one in context.actions) for run in (a, b))
    for name, first, second in pairs:
        sides = (_Side.of(first, mhz[0]), _Side.of(second, mhz[1]))
        found = ContextComparison(
            name, (len(sides[0].actions), len(sides[1].actions)), (sides[0].total(), sides[1].total())
        )
        _compare(found, *sides, stamped, tolerance)
        yield found


def _compare(found: ContextComparison, a: _Side, b: _Side, stamped: bool, tolerance: float | None) -> None:
    for tag, a_from, a_to, b_from, b_to in _blocks(a, b):
        paired = tag == "equal" or (tag == "replace" and _alike(a.actions[a_from:a_to], b.actions[b_from:b_to]))
        if not paired:
            for at in range(a_from, a_to):
                found.add(ListDifference("only_a", at, -1, a.text(at), ""))
            for at in range(b_from, b_to):
                found.add(ListDifference("only_b", -1, at, "", b.text(at)))
            continue
        timed_until = a_from
        for i, j in zip(range(a_from, a_to), range(b_from, b_to), strict=True):
            if a.keys[i] != b.keys[j]:
                found.add(ListDifference("values", i, j, a.text(i), b.text(j)))
            if stamped and i >= timed_until:
                # those of a REPEATED have one stamp, of all together
                timed_until = min(a_to, i + max(a.together(i), b.together(j)))
                _compare_time(found, a, b, i, j, timed_until - i, tolerance)


def _compare_time(
    found: ContextComparison, a: _Side, b: _Side, i: int, j: int, count: int, tolerance: float | None
) -> None:
    """Of `count` actions from i and j on."""
    one, other = a.time(i, count), b.time(j, count)
    done = (bool(a.actions[i].timestamp), bool(b.actions[j].timestamp))
    if done[0] is not done[1]:
        stamps = (0.0 if done[0] else None, 0.0 if done[1] else None)
        found.add(ListDifference("executed", i, j, a.text(i), b.text(j), *stamps))
    elif tolerance is not None and one is not None and other is not None:
        apart = abs(one - other)
        if apart > 2 * max(a.tick_ns, b.tick_ns) and apart * 100 > tolerance * max(one, other):
            found.add(ListDifference("time", i, j, a.text(i), b.text(j), one, other))


def _blocks(a: _Side, b: _Side) -> Iterator[tuple[str, int, int, int, int]]:
    """What of the two lists belongs together, as difflib tells it."""
    if a.keys == b.keys:
        yield "equal", 0, len(a.keys), 0, len(b.keys)
    elif len(a.keys) * len(b.keys) <= _MOST_PAIRS:
        yield from SequenceMatcher(None, a.keys, b.keys, autojunk=False).get_opcodes()
    else:
        both = min(len(a.keys), len(b.keys))
        for at in range(both):
            yield "replace", at, at + 1, at, at + 1
        yield "delete", both, len(a.keys), both, both
        yield "insert", both, both, both, len(b.keys)


def _alike(a: Sequence[StampedAction], b: Sequence[StampedAction]) -> bool:
    """Whether two stretches are the same actions with other values."""
    return len(a) == len(b) and all(one.type is other.type for one, other in zip(a, b, strict=True))


def document(result: ProfileComparison) -> dict[str, Any]:
    """The JSON form of `emu diff --json`; times in ns."""
    return {
        "equal": result.equal,
        "a": {"name": result.a},
        "b": {"name": result.b},
        "tolerance": result.tolerance,
        "runs": [
            {
                "batch_size": run.batch_size,
                "missing": run.missing or None,
                "contexts": [
                    {
                        "context": one.context,
                        "actions": list(one.actions),
                        "ns": list(one.ns),
                        "differences": [asdict(difference) for difference in one.differences],
                        "more": one.more,
                    }
                    for one in run.contexts
                ],
            }
            for run in result.runs
        ],
    }


def text(result: ProfileComparison) -> Iterator[str]:
    """Lines for a person."""
    yield f"A {result.a}"
    yield f"B {result.b}"
    for run in result.runs:
        batch = "lists" if run.batch_size == UNKNOWN else f"batch {run.batch_size}"
        if run.missing:
            yield f"{batch}: {run.missing} has no such run"
            continue
        yield f"{batch}  {'':<20}{'actions A':>10}{'B':>8}{'us A':>14}{'us B':>14}"
        for one in run.contexts:
            times = "".join(f"{'-' if ns is None else f'{ns / 1e3:,.3f}':>14}" for ns in one.ns)
            yield f"  {one.context:<26}{one.actions[0]:>10}{one.actions[1]:>8}{times}"
            for difference in one.differences:
                yield f"    {difference.line()}"
            if one.more:
                yield f"    and {one.more:,} more differences"
    timed = "" if result.tolerance is None else f", and in time within {result.tolerance:g} %"
    yield f"equal in order and values{timed}" if result.equal else "different"
