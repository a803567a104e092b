"""Breakpoints of the context-switch task (firmware-actions.md 5.6)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, cast

from msgspec import Struct, field

from emu.wire.layouts import Layout


class BreakpointStatus(IntEnum):
    CLEARED = 0
    WAITING_FOR_BREAKPOINT = 1
    REACHED_BREAKPOINT = 2


class Place(NamedTuple):
    """Where to stop; None matches anything."""

    application: int | None
    batch: int | None
    context: int | None
    action: int | None

    def matches(self, application: int, batch: int, context: int, action: int) -> bool:
        wanted = zip(self, (application, batch, context, action), strict=True)
        return all(want is None or want == have for want, have in wanted)


class BreakpointLayout:
    """The breakpoint data of CONFIG_CONTEXT_SWITCH_BREAKPOINT in one runtime."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def decode(self, data: bytes) -> Place:
        """The place that the data names; another size than the runtime's is HAILO_INVALID_ARGUMENT."""
        values = cast("tuple[int, ...]", tuple(self._layout.unpack(data).values()))
        return Place(*(None if any_one else value for any_one, value in zip(values[::2], values[1::2], strict=True)))

    def encode(self, place: Place) -> bytes:
        values: list[int] = []
        for value in place:
            values += [value is None, value or 0]
        return self._layout.pack(dict(zip(self._layout.names, values, strict=True)))


class Breakpoints(Struct):
    """All breakpoints by id; `reached` is the one the firmware stands at."""

    places: dict[int, Place] = field(default_factory=dict)
    reached: int | None = None

    def __bool__(self) -> bool:
        return bool(self.places)

    def status(self, number: int) -> BreakpointStatus:
        if number not in self.places:
            return BreakpointStatus.CLEARED
        if self.reached == number:
            return BreakpointStatus.REACHED_BREAKPOINT
        return BreakpointStatus.WAITING_FOR_BREAKPOINT

    def find(self, application: int, batch: int, context: int, action: int) -> int | None:
        for number in sorted(self.places):
            if self.places[number].matches(application, batch, context, action):
                return number
        return None

    def clear(self, number: int) -> None:
        self.places.pop(number, None)
        if self.reached == number:
            self.reached = None

    def proceed(self, number: int) -> None:
        if self.reached == number:
            self.reached = None
