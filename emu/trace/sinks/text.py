"""The readable trace: a line per event, with context, simulated time, action, arguments by name, what it woke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from emu.errors import printable
from emu.trace.events import Event, Header, Kind, Record, Subject, event_of
from emu.wire.naming import text_of

# a boundary's padding registers are nearly always zero and say nothing then
_SILENT_WHEN_ZERO = frozenset(
    {
        "feature_padding_payload",
        "buffer_padding_payload",
        "buffer_padding",
        "is_core_hw_padding_config_in_dfc",
        "is_periph_calculated_in_hailort",
        "check_host_empty_num_available",
        "l2_offset_0",
        "l2_offset_1",
    }
)
_DECIMAL = frozenset({"data", "kernel_done_address"})  # counted in a trace, whatever a diff of messages makes of them
_MOST_KNOWN = 1 << 14
_OCCURRING = (Kind.ACTION, Kind.UNIT)  # what is told in two parts, the first of which stays
_PLACE_WIDTH = 22
_ACTION_WIDTH = 34


class TextSink:
    """Writes lines to a text stream, a batch at a time. `data` says what the outputs hold."""

    def __init__(self, stream: TextIO, header: Header, data: str = "synthetic") -> None:
        self._stream = stream
        self._known: dict[Subject, str] = {}
        model = printable(header.model)
        stream.write(
            f"# {model} on {header.device}, runtime {header.runtime}, batch {header.batch}, "
            f"{header.frames} frames, seed {header.seed}; data of outputs is {data}\n"
            f"# {'time us':>12}  {'context #action':<{_PLACE_WIDTH}}  what\n"
        )

    def write(self, events: Sequence[Event]) -> None:
        self.write_records(events)

    def write_records(self, records: Sequence[Record]) -> None:
        self._stream.write("".join([self._line(record) for record in records]))
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()

    def _line(self, record: Record) -> str:
        if isinstance(record, Event) or record[1].kind not in _OCCURRING:
            return f"{printable(line(event_of(record)))}\n"
        ns, subject, cause, woke, size, duration, _ = record
        text = self._known.get(subject)
        if text is None:
            what = _action(subject) if subject.kind is Kind.ACTION else _unit(subject)
            text = self._known[subject] = printable(f"  {_place(subject):<{_PLACE_WIDTH}}  {what}")
        if subject.kind is Kind.UNIT:
            text += printable(cause)
        elif cause or woke or size:
            text += printable(_outcome(cause, woke, size, duration))
        return f"{ns / 1000:14.3f}{text}\n"

    def close(self) -> None:
        self._stream.flush()


def line(event: Event) -> str:
    """One event as one line."""
    return f"{event.ns / 1000:14.3f}  {_place(event):<{_PLACE_WIDTH}}  {_what(event)}".rstrip()


def _place(it: Event | Subject) -> str:
    return f"{it.context} #{it.action_index}" if it.action_index >= 0 else it.context


def _action(it: Event | Subject) -> str:
    return f"{it.action:<{_ACTION_WIDTH}} {arguments_text(it.arguments)}".rstrip()


def _unit(it: Event | Subject) -> str:
    return f"  {it.unit} {it.action}, "


def _outcome(cause: str, woke: str, size: int, duration: int) -> str:
    """What came of an action, behind what it is."""
    text = f"  [{size} bytes]" if size else ""
    if woke:
        text += f"  -> {woke}"
    return f"{text}  <- {cause}, {duration / 1000:.3f} us" if cause else text


def _what(event: Event) -> str:
    kind = event.kind
    if kind is Kind.ACTION:
        return _action(event) + _outcome(event.cause, event.woke, event.bytes, event.duration)
    if kind is Kind.WAIT:
        return f"{event.action:<{_ACTION_WIDTH}} {arguments_text(event.arguments)}  waits for {event.cause}"
    if kind is Kind.TRANSFER:
        return f"  frame {event.frame}: {event.bytes} bytes, {event.unit}, {event.cause}"
    if kind is Kind.LAUNCH:
        return f"  host queues {event.bytes} bytes, {event.unit}, {arguments_text(event.arguments)}"
    if kind is Kind.UNIT:
        return f"{_unit(event)}{event.cause}"
    if kind is Kind.CONTEXT_BEGIN:
        return f"-- {event.context} begins (application {event.application})"
    if kind is Kind.CONTEXT_END:
        return f"-- {event.context} ends"
    if kind is Kind.CONTROL:
        text = f"=> {event.action} {arguments_text(event.arguments)}".rstrip()
        return f"{text} ({event.bytes} bytes): {event.cause}"
    if kind is Kind.REGISTER:
        return _register(event)
    if kind is Kind.INTERRUPT:
        return f"  <- {event.action}, status 0x{(event.arguments or {}).get('value', 0):08X}"
    if kind is Kind.NOTIFICATION:
        return f"<= {event.action}: {event.cause}"
    if kind is Kind.HAZARD:
        return f"!! {event.action}: {event.unit}: {event.cause}"
    if kind is Kind.STALL:
        return f"!! {event.cause}"
    return f"{kind.value} {event.unit} {event.action} {event.cause}".rstrip()


def _register(event: Event) -> str:
    """`host writes BAR2+0x210 channel 16 base = 0x00012801: num_available=1 …`"""
    found = dict(event.arguments or {})
    place = f"BAR{found.pop('bar', 0)}+0x{found.pop('offset', 0):03X} {event.unit}"
    verb = "writes" if event.action == "write" else "reads"
    if event.bytes:
        return f"  host {verb} {place}: {event.bytes} bytes"
    value = found.pop("value", 0)
    fields = " ".join(f"{name}={field}" for name, field in found.items() if field and field != value)
    return f"  host {verb} {place} = 0x{value:08X}{': ' * bool(fields)}{fields}"


def arguments_text(arguments: Mapping[str, int] | None) -> str:
    """`name=value` of every argument that says something; addresses and masks in hexadecimal."""
    if not arguments:
        return ""
    return " ".join(
        f"{name}={value if name in _DECIMAL else text_of(name, value)}"
        for name, value in arguments.items()
        if value or name not in _SILENT_WHEN_ZERO
    )
