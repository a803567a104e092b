"""Accesses to a card's registers as events of the trace (docs/trace-schema.md)."""

from __future__ import annotations

from typing import Protocol

from emu.hw.probe import Access
from emu.trace.events import Event, Kind
from emu.trace.tracer import Tracer


class Running(Protocol):
    """What says which application runs."""

    application: int


def tell_of_access(tracer: Tracer, running: Running, access: Access) -> None:
    """One access, or the interrupt that the card sent."""
    if access.what == "interrupt":
        arguments, size = {"value": access.value}, 0
        tracer.emit(Event(access.ns, Kind.INTERRUPT, running.application, action=access.name, arguments=arguments))
        return
    arguments, size = {"bar": access.bar, "offset": access.offset}, len(access.data)
    if not size:
        arguments |= {"value": access.value, **access.fields}
    unit = access.name
    tracer.emit(
        Event(
            access.ns,
            Kind.REGISTER,
            running.application,
            action=access.what,
            arguments=arguments,
            unit=unit,
            bytes=size,
        )
    )
