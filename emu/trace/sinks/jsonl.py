"""The trace as JSON lines: a header record, one record per event, an end record (docs/trace-schema.md).

Lines are put together as text, since a dictionary an event costs twice as much: only strings are left to orjson, and
they repeat, as does all of a line that its subject says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import orjson

from emu.trace.events import END, SCHEMA, SCHEMA_VERSION, Event, Header, Kind, Occurrence, Record, Subject, event_of

_MOST_KNOWN = 1 << 14
_NUMBER = "\0"  # in no string of JSON
_KINDS = {kind: f',"kind":"{kind.value}"' for kind in Kind}


class JsonlSink:
    """Writes records to a binary stream, a batch at a time; fields that do not apply are left out."""

    def __init__(self, stream: BinaryIO, header: Header) -> None:
        self._stream = stream
        self._count = 0
        self._last_ns = 0
        self._quoted = _Quoted()
        self._heads = _Heads(self._quoted)
        stream.write(orjson.dumps({"schema": SCHEMA, "version": SCHEMA_VERSION, **header._asdict()}) + b"\n")

    def write(self, events: Sequence[Event]) -> None:
        self.write_records(events)

    def write_records(self, records: Sequence[Record]) -> None:
        quoted, heads = self._quoted, self._heads
        self._count += len(records)
        self._last_ns = records[-1][0]
        lines = [
            _line(record, quoted) if isinstance(record, Event) else _occurrence(record, quoted, heads)
            for record in records
        ]
        self._stream.write("".join(lines).encode())
        for known in (quoted, heads):
            if len(known) > _MOST_KNOWN:
                known.clear()

    def close(self) -> None:
        self._stream.write(orjson.dumps({"ns": self._last_ns, "kind": END, "events": self._count}) + b"\n")
        self._stream.flush()


class _Quoted(dict[str, str]):
    """Strings as JSON has them."""

    def __missing__(self, text: str) -> str:
        self[text] = found = orjson.dumps(text).decode()
        return found


class _Heads(dict[Subject, str]):
    """What comes between the time and the cause of a subject's lines, with %d for each number that it counts."""

    def __init__(self, quoted: _Quoted) -> None:
        self._quoted = quoted

    def __missing__(self, subject: Subject) -> str:
        event = event_of((0, subject, "", "", 0, 0, ()))
        places: Any = dict.fromkeys(subject.counted, _NUMBER)
        text = _line(event._replace(arguments=places) if places else event, self._quoted)
        text = text.removeprefix('{"ns":0').removesuffix("}\n")
        if places:
            text = text.replace("%", "%%").replace(_NUMBER, "%d")
        self[subject] = text
        return text


def _occurrence(record: Occurrence, quoted: _Quoted, heads: _Heads) -> str:
    ns, subject, cause, woke, size, duration, numbers = record
    text = f'{{"ns":{ns}{heads[subject] % numbers[1:] if numbers else heads[subject]}'
    if cause:
        text += f',"cause":{quoted[cause]}'
    if woke:
        text += f',"woke":{quoted[woke]}'
    if size:
        text += f',"bytes":{size}'
    if numbers and numbers[0] >= 0:
        text += f',"frame":{numbers[0]}'
    return f'{text},"duration":{duration}}}\n' if duration else text + "}\n"


def line(event: Event) -> str:
    """The record of one event, with its line feed."""
    return _line(event, _Quoted())


def _line(event: Event, quoted: _Quoted) -> str:
    ns, kind, application, context, index, action, arguments, unit, cause, woke, size, frame, duration = event
    text = f'{{"ns":{ns}{_KINDS[kind]}'
    if application >= 0:
        text += f',"application":{application}'
    if context:
        text += f',"context":{quoted[context]}'
    if index >= 0:
        text += f',"action_index":{index}'
    if action:
        text += f',"action":{quoted[action]}'
    if arguments is not None:
        inside = ",".join([f"{quoted[name]}:{value}" for name, value in arguments.items()])
        text += f',"arguments":{{{inside}}}'
    if unit:
        text += f',"unit":{quoted[unit]}'
    if cause:
        text += f',"cause":{quoted[cause]}'
    if woke:
        text += f',"woke":{quoted[woke]}'
    if size:
        text += f',"bytes":{size}'
    if frame >= 0:
        text += f',"frame":{frame}'
    if duration:
        text += f',"duration":{duration}'
    return text + "}\n"
