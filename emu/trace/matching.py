"""Pairing the records of two traces, unit by unit; `diff` says what is equal in meaning, and reports."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, Protocol

from msgspec import Struct, field

from emu.errors import HailoError, HailoStatus
from emu.trace.reader import Record
from emu.wire import semantics
from emu.wire.naming import text_of

WINDOW = 1 << 16
_SYNCHRONOUS = frozenset({"context_begin", "context_end", "control", "fault", "stall"})
_FREE, _WAIT, _BARRIER, _END = "action", "wait", "barrier", "end"
_NS, _DURATION = b'{"ns":', b',"duration":'
FOREIGN = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_MOST_KNOWN = 1 << 14

Unit = tuple[object, ...]
_COMPARED = ("kind", "application", "context", "action", "unit", "cause", "woke", "bytes", "frame")


class Source(Protocol):
    """One side of a comparison; `lines` may be called again and then begins anew."""

    @property
    def name(self) -> str: ...

    @property
    def runtime(self) -> str: ...

    def lines(self) -> Iterator[bytes]: ...

    def parse(self, line: bytes, number: int) -> Record: ...


class Side(Struct):
    """What one trace has at the first divergence: the record (None: nothing where the other has one), its number
    from 1, and who waits for what there."""

    record: Record | None
    number: int
    state: list[str] = field(default_factory=list)


class Divergence(Struct):
    """The first difference; `what` names the fields that differ with both values."""

    a: Side
    b: Side
    what: list[str]

    @property
    def place(self) -> tuple[str, int]:
        """Context and action index."""
        record = self.a.record or self.b.record or {}
        return record.get("context", ""), record.get("action_index", -1)


def foreign_record(source: Source, number: int, error: Exception) -> HailoError:
    """What a record with foreign content does to the code, as an error of its line."""
    return HailoError(
        HailoStatus.HAILO_INVALID_ARGUMENT,
        f"the record does not say what it has to ({type(error).__name__} {error})",
        file=source.name,
        line=number,
    )


def _untimed(line: bytes) -> bytes | None:
    """A line without its time and its duration; None where they do not stand where emu writes them (it has to be
    parsed then)."""
    begin = line.find(b",")
    if not line.startswith(_NS) or not line[len(_NS) : begin].isdigit():
        return None
    end = line.rfind(_DURATION)
    if end < 0:
        return line[begin:]
    if not line[end + len(_DURATION) :].rstrip(b"}\n").isdigit():
        return None
    return line[begin:end]


def _ns(line: bytes) -> int:
    """The time of a line that `_untimed` understood."""
    return int(line[len(_NS) : line.find(b",")])


class _Item(Struct):
    """A record that looks for its partner."""

    record: Record
    number: int


class _Reading(Struct):
    """One side while it is read; `held` is the record at which it waits for the other."""

    source: Source
    number: int = 0
    held: tuple[str, _Item | None] | None = None
    queues: dict[Unit, deque[_Item]] = field(default_factory=dict)
    pending: int = 0


class Matcher:
    """One comparison: `run` it once. `sides` count the records read."""

    def __init__(self, a: Source, b: Source, tolerance: float | None) -> None:
        self.sides = (_Reading(a), _Reading(b))
        self._tolerance = tolerance
        self._literal = a.runtime == b.runtime
        self._addresses: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._phase: str | None = None
        self._known: tuple[dict[Unit, tuple[Unit, ...]], ...] = ({}, {})

    def run(self) -> Divergence | None:
        """Read both sides to their ends or to the first divergence."""
        a, b = self.sides
        lines = (a.source.lines(), b.source.lines())
        while True:
            if not a.pending and not b.pending and a.held is None and b.held is None and self._literal:
                pair = self._skip_equal(*lines)
                if pair is None:
                    return None
                fed: Iterable[tuple[int, bytes | None]] = enumerate(pair)
            else:
                fed = ((side, next(lines[side], None)) for side in self._behind())
            for side, line in fed:
                found = self._feed(side, line)
                if found is not None:
                    return found
            if a.held is not None and b.held is not None:
                if a.held[0] == b.held[0] == _END:
                    return self._leftover(every=True)
                found = self._meet()
                if found is not None:
                    return found

    def _behind(self) -> tuple[int, ...]:
        """The sides to read on: the one that lacks partners for what the other has, so that both run level again."""
        a, b = self.sides
        if a.held is not None:
            return (1,)
        if b.held is not None:
            return (0,)
        if a.pending == b.pending:
            return (0, 1)
        return (0,) if a.pending < b.pending else (1,)

    def _skip_equal(self, first: Iterator[bytes], second: Iterator[bytes]) -> tuple[bytes | None, bytes | None] | None:
        """Skip lines that are equal as bytes but for their time; the first pair that is not, None at both ends."""
        skipped = 0
        parse, start = self.sides[0].source.parse, self.sides[0].number + 2
        timed = self._tolerance is not None
        self._phase = None  # all before is matched: whatever comes next begins a phase
        try:
            for one, other in zip_longest(first, second):
                if one is None or other is None:
                    return one, other
                if one == other:
                    parse(one, start + skipped)  # what both have damaged is not equal in meaning
                    skipped += 1
                    continue
                inner = _untimed(one)
                if inner is None or inner != _untimed(other):
                    return one, other
                if timed and not self._same_time(_ns(one), _ns(other)):
                    return one, other
                parse(one, start + skipped)
                skipped += 1
        finally:
            for side in self.sides:
                side.number += skipped
        return None

    # -- one record

    def _feed(self, side: int, line: bytes | None) -> Divergence | None:
        reading = self.sides[side]
        if line is None:
            reading.held = (_END, None)
            return None
        reading.number += 1
        return self._place(side, _Item(reading.source.parse(line, reading.number + 1), reading.number))

    def _place(self, side: int, item: _Item) -> Divergence | None:
        try:
            return self._placed(side, item)
        except FOREIGN as error:
            raise foreign_record(self.sides[side].source, item.number + 1, error) from None

    def _placed(self, side: int, item: _Item) -> Divergence | None:
        record = item.record
        kind = record["kind"]
        if kind == "wait":
            return None
        if kind in _SYNCHRONOUS:
            self.sides[side].held = (_BARRIER, item)
            return None
        if kind != "action":
            unit = record.get("unit", "")
            return self._match(side, item, ((kind, record.get("application", -1), unit),))
        action = record["action"]
        phase = _phase(action)
        if phase is _BARRIER or phase is not (self._phase or phase):
            self.sides[side].held = (phase, item)
            return None
        self._phase = phase
        return self._match(side, item, self._units(side, record, phase))

    def _units(self, side: int, record: Record, phase: str) -> tuple[Unit, ...]:
        """What an action acts on, in its context; of a wait, itself."""
        action, arguments = record["action"], record.get("arguments", {})
        context = (record.get("application", -1), record.get("context", ""))
        if phase is _WAIT:
            return ((_WAIT, *context, action, *sorted(self._named(side, arguments))),)
        known, key = self._known[side], (*context, action, *arguments.items())
        found = known.get(key)
        if found is None:
            if len(known) > _MOST_KNOWN:
                known.clear()
            units = semantics.touched(action, arguments, self.sides[side].source.runtime)
            found = known[key] = tuple((_FREE, *context, unit) for unit in units)
        return found

    def _named(self, side: int, arguments: dict[str, Any]) -> Iterator[tuple[str, object]]:
        """Arguments so that both runtimes spell them alike."""
        runtime = self.sides[side].source.runtime
        for name, value in arguments.items():
            if not self._literal and name.endswith("packed_vdma_channel_id"):
                yield name, semantics.channel_place(value, runtime)
            else:
                yield name, value

    def _match(self, side: int, item: _Item, units: tuple[Unit, ...]) -> Divergence | None:
        mine, other = self.sides[side], self.sides[1 - side]
        partner: _Item | None = None
        for unit in units:
            waiting = other.queues.get(unit)
            if waiting is None:
                mine.queues.setdefault(unit, deque()).append(item)
                mine.pending += 1
                if mine.pending > WINDOW:
                    return self._leftover(every=True)
                continue
            before, partner = partner, waiting.popleft()
            other.pending -= 1
            if not waiting:
                del other.queues[unit]
            if partner is not before and (what := self._differs(side, item, partner)):
                return self._diverged(side, item, partner, what)
        return None

    # -- where both wait for each other

    def _meet(self) -> Divergence | None:
        """Both sides stand at a record that nothing may cross."""
        found = self._leftover(every=False)
        if found is not None:
            return found
        (a_phase, a_item), (b_phase, b_item) = (side.held for side in self.sides if side.held is not None)
        for side in self.sides:
            side.held = None
        if a_item is None or b_item is None or a_phase != b_phase:
            return Divergence(
                self._side(0, a_item),
                self._side(1, b_item),
                [_end_or_other(a_item, b_item)],
            )
        if a_phase is not _BARRIER:
            self._phase = a_phase
            return self._place(0, a_item) or self._place(1, b_item)
        self._phase = None
        what = self._differs(0, a_item, b_item)
        return self._diverged(0, a_item, b_item, what) if what else None

    def _leftover(self, every: bool) -> Divergence | None:
        """The first record without a partner: of actions, or of everything."""
        found: list[tuple[int, int, _Item]] = []
        for number, side in enumerate(self.sides):
            for unit, queue in side.queues.items():
                if queue and (every or unit[0] in (_FREE, _WAIT)):
                    found.append((queue[0].number, number, queue[0]))
        if not found:
            return None
        _, side_number, item = min(found, key=lambda one: one[:2])
        twin = next((other for _, number, other in found if number != side_number and _alike(item, other)), None)
        if twin is not None and (what := self._differs(side_number, item, twin)):
            return self._diverged(side_number, item, twin, what)
        other = self.sides[1 - side_number]
        held = other.held[1] if other.held is not None else None
        place = "before that" if held is not None else "any more"
        sides = [self._side(0, held), self._side(1, held)]
        sides[side_number] = Side(item.record, item.number)
        letter = "AB"[1 - side_number]
        return Divergence(sides[0], sides[1], [f"{letter} has nothing like it {place}"])

    def _side(self, side: int, item: _Item | None) -> Side:
        """What a side has; at its end, or where it has nothing, the state after all that was read."""
        return Side(item.record, item.number) if item is not None else Side(None, self.sides[side].number + 1)

    def _diverged(self, side: int, item: _Item, partner: _Item, what: list[str]) -> Divergence:
        first, second = (item, partner) if side == 0 else (partner, item)
        return Divergence(Side(first.record, first.number), Side(second.record, second.number), what)

    # -- values

    def _differs(self, side: int, item: _Item, partner: _Item) -> list[str]:
        """What differs between two records that should be the same, A's value first."""
        a, b = (item.record, partner.record) if side == 0 else (partner.record, item.record)
        compared = _COMPARED if self._literal else _COMPARED[:4]
        what = [f"{name} {a.get(name)} != {b.get(name)}" for name in compared if a.get(name) != b.get(name)]
        if a["kind"] == "action" or self._literal:
            what += self._arguments(a.get("arguments", {}), b.get("arguments", {}))
        if self._tolerance is not None and not self._same_time(a["ns"], b["ns"]):
            what.append(f"ns {a['ns']} != {b['ns']}")
        return what

    def _arguments(self, a: dict[str, Any], b: dict[str, Any]) -> list[str]:
        if a == b and self._literal:
            return []
        what = []
        for name in {**a, **b}:
            one, other = a.get(name), b.get(name)
            if not self._literal and isinstance(one, int) and isinstance(other, int):
                if name.endswith("packed_vdma_channel_id"):
                    one = semantics.channel_place(one, self.sides[0].source.runtime)
                    other = semantics.channel_place(other, self.sides[1].source.runtime)
                elif name == "dma_address" and self._same_address(one, other):
                    continue
            if one != other:
                what.append(f"{name} {text_of(name, one)} != {text_of(name, other)}")
        return what

    def _same_address(self, a: int, b: int) -> bool:
        """Runtimes place lists differently: what counts is that the same list is meant wherever it comes up."""
        there, back = self._addresses
        return there.setdefault(a, b) == b and back.setdefault(b, a) == a

    def _same_time(self, a: int, b: int) -> bool:
        assert self._tolerance is not None
        return abs(a - b) * 100 <= self._tolerance * max(a, b)


def _phase(action: str) -> str:
    if action in semantics.WAITS:
        return _WAIT
    return _BARRIER if action in semantics.BARRIERS else _FREE


def _alike(item: _Item, other: _Item) -> bool:
    """Whether two records without a partner are the same action with other arguments, or the same kind of event."""
    names = ("kind", "context", "action")
    return all(item.record.get(name) == other.record.get(name) for name in names)


def _end_or_other(a: _Item | None, b: _Item | None) -> str:
    if a is None:
        return "A ends here"
    if b is None:
        return "B ends here"
    return f"action {a.record.get('action') or a.record['kind']} != {b.record.get('action') or b.record['kind']}"
