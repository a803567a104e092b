"""The readable trace: a line per event, with context, simulated time, action, arguments by name, what it woke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from emu.trace.events import Event, Header, Kind

# a boundary's padding registers are nearly always zero and say nothing then
_SILENT_WHEN_ZERO = frozenset(
    {
        "feature_padding_payload",
        "buffer_padding_payload",
        "buffer_padding",
        "is_core_hw_padding_config_in_dfc",
        "check_host_empty_num_available",
        "l2_offset_0",
        "l2_offset_1",
    }
)
_HEXADECIMAL = frozenset(
    {
        "dma_address",
        "address",
        "mask",
        "active_apu",
        "active_ia",
        "active_sc",
        "active_l2",
        "l2_offset_0",
        "l2_offset_1",
    }
)
_PLACE_WIDTH = 22
_ACTION_WIDTH = 34


class TextSink:
    """Writes lines to a text stream, a batch at a time."""

    def __init__(self, stream: TextIO, header: Header) -> None:
        self._stream = stream
        stream.write(
            f"# {header.model} on {header.device}, runtime {header.runtime}, batch {header.batch}, "
            f"{header.frames} frames, seed {header.seed}; data of outputs is synthetic\n"
            f"# {'time us':>12}  {'context #action':<{_PLACE_WIDTH}}  what\n"
        )

    def write(self, events: Sequence[Event]) -> None:
        self._stream.write("".join([f"{line(event)}\n" for event in events]))

    def close(self) -> None:
        self._stream.flush()


def line(event: Event) -> str:
    """One event as one line."""
    place = event.context
    if event.action_index >= 0:
        place = f"{event.context} #{event.action_index}"
    return f"{event.ns / 1000:14.3f}  {place:<{_PLACE_WIDTH}}  {_what(event)}".rstrip()


def _what(event: Event) -> str:
    kind = event.kind
    if kind is Kind.ACTION:
        text = f"{event.action:<{_ACTION_WIDTH}} {arguments_text(event.arguments)}".rstrip()
        if event.bytes:
            text += f"  [{event.bytes} bytes]"
        if event.woke:
            text += f"  -> {event.woke}"
        if event.cause:
            text += f"  <- {event.cause}, {event.duration / 1000:.3f} us"
        return text
    if kind is Kind.WAIT:
        return f"{event.action:<{_ACTION_WIDTH}} {arguments_text(event.arguments)}  waits for {event.cause}"
    if kind is Kind.TRANSFER:
        return f"  frame {event.frame}: {event.bytes} bytes, {event.unit}, {event.cause}"
    if kind is Kind.LAUNCH:
        return f"  host queues {event.bytes} bytes, {event.unit}, {arguments_text(event.arguments)}"
    if kind is Kind.UNIT:
        return f"  {event.unit} {event.action}, {event.cause}"
    if kind is Kind.CONTEXT_BEGIN:
        return f"-- {event.context} begins (application {event.application})"
    if kind is Kind.CONTEXT_END:
        return f"-- {event.context} ends"
    if kind is Kind.CONTROL:
        text = f"=> {event.action} {arguments_text(event.arguments)}".rstrip()
        return f"{text} ({event.bytes} bytes): {event.cause}"
    if kind is Kind.NOTIFICATION:
        return f"<= {event.action}: {event.cause}"
    if kind is Kind.STALL:
        return f"!! {event.cause}"
    return f"{kind.value} {event.unit} {event.action} {event.cause}".rstrip()


def arguments_text(arguments: Mapping[str, int] | None) -> str:
    """`name=value` of every argument that says something; addresses and masks in hexadecimal."""
    if not arguments:
        return ""
    return " ".join(
        f"{name}=0x{value:X}" if name in _HEXADECIMAL else f"{name}={value}"
        for name, value in arguments.items()
        if value or name not in _SILENT_WHEN_ZERO
    )
