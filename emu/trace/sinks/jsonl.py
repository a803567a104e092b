"""The trace as JSON lines: a header record, one record per event, an end record (docs/trace-schema.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import orjson

from emu.trace.events import END, SCHEMA, SCHEMA_VERSION, Event, Header


class JsonlSink:
    """Writes records to a binary stream, a batch at a time; fields that do not apply are left out."""

    def __init__(self, stream: BinaryIO, header: Header) -> None:
        self._stream = stream
        self._count = 0
        self._last_ns = 0
        stream.write(orjson.dumps({"schema": SCHEMA, "version": SCHEMA_VERSION, **header._asdict()}) + b"\n")

    def write(self, events: Sequence[Event]) -> None:
        dumps = orjson.dumps
        self._count += len(events)
        self._last_ns = events[-1].ns
        self._stream.write(b"\n".join([dumps(record(event)) for event in events]) + b"\n")

    def close(self) -> None:
        self._stream.write(orjson.dumps({"ns": self._last_ns, "kind": END, "events": self._count}) + b"\n")
        self._stream.flush()


def record(event: Event) -> dict[str, Any]:
    """The JSON object of one event."""
    found: dict[str, Any] = {"ns": event.ns, "kind": event.kind._value_}  # the property is slow
    if event.application >= 0:
        found["application"] = event.application
    if event.context:
        found["context"] = event.context
    if event.action_index >= 0:
        found["action_index"] = event.action_index
    if event.action:
        found["action"] = event.action
    if event.arguments is not None:
        found["arguments"] = event.arguments
    if event.unit:
        found["unit"] = event.unit
    if event.cause:
        found["cause"] = event.cause
    if event.woke:
        found["woke"] = event.woke
    if event.bytes:
        found["bytes"] = event.bytes
    if event.frame >= 0:
        found["frame"] = event.frame
    if event.duration:
        found["duration"] = event.duration
    return found
