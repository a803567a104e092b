"""What a run's trace looks like as lanes: contexts as spans, their actions, transfers and units that became done."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from emu.trace.events import Event, Kind

MOST_MARKS = 4000  # of a page: more would make it slow, and nobody tells them apart


class Mark(Struct, frozen=True):
    """Something on a lane; an instant where it begins and ends at once. Simulated ns."""

    start_ns: int
    end_ns: int
    text: str
    kind: str


class Lane(Struct):
    name: str
    group: str
    marks: list[Mark] = field(default_factory=list)


class LaneSink:
    """Collects lanes from a trace (emu.trace.events.Sink). Memory is bounded; `dropped` marks found no room."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._begun: dict[str, int] = {}
        self._marks = 0
        self.dropped = 0
        self._end_ns = 0

    def write(self, events: Sequence[Event]) -> None:
        for event in events:
            self._take(event)
        self._end_ns = events[-1].ns

    def close(self) -> None:
        for name, start in self._begun.items():
            self._mark("contexts", name, start, self._end_ns, f"{name}, not left", "context")

    def lanes(self) -> list[Lane]:
        """Contexts first, then their actions, channels and units, each in the order of its first mark."""
        order = {"contexts": 0, "actions": 1, "channels": 2, "units": 3, "hazards": 4}
        return sorted(self._lanes.values(), key=lambda lane: order[lane.group])

    def span(self) -> tuple[int, int]:
        """Simulated ns from the first mark to the end."""
        starts = [mark.start_ns for lane in self._lanes.values() for mark in lane.marks]
        return min(starts, default=0), self._end_ns

    def _take(self, event: Event) -> None:
        name = event.context if event.application <= 0 else f"{event.context} of application {event.application}"
        match event.kind:
            case Kind.CONTEXT_BEGIN:
                self._begun[name] = event.ns
            case Kind.CONTEXT_END:
                start = self._begun.pop(name, event.ns)
                self._mark("contexts", name, start, event.ns, name, "context")
            case Kind.ACTION:
                woken = f", woken by {event.cause}" if event.cause else ""
                text = f"{event.action_index} {event.action}{woken}"
                self._mark("actions", name, event.ns - event.duration, event.ns, text, "action")
            case Kind.TRANSFER:
                text = f"frame {event.frame}: {event.bytes:,} bytes, {event.cause}"
                self._mark("channels", event.unit, event.ns, event.ns, text, "transfer")
            case Kind.UNIT:
                self._mark("units", event.unit, event.ns, event.ns, f"{event.action}, {event.cause}", "unit")
            case Kind.HAZARD | Kind.FAULT | Kind.STALL:
                text = f"{event.action} {event.cause}".strip()
                self._mark("hazards", event.kind.value, event.ns, event.ns, text, "hazard")
            case _:
                pass

    def _mark(self, group: str, lane: str, start: int, end: int, text: str, kind: str) -> None:
        if self._marks == MOST_MARKS:
            self.dropped += 1
            return
        self._marks += 1
        found = self._lanes.get((group, lane))
        if found is None:
            found = self._lanes[group, lane] = Lane(lane, group)
        found.marks.append(Mark(start, end, text, kind))
