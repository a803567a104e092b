"""What two control messages say otherwise, field by field, and how values are written: addresses and bitmaps in hex."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emu.errors import HailoError
from emu.wire.control import Opcode, decode_request, decode_response
from emu.wire.lists import TIMESTAMP_INIT, Repeated
from emu.wire.messages import Kind, Message
from emu.wire.status import FirmwareStatus
from emu.wire.wire import Wire

MOST_BYTES = 16
"""Of a value that are written out."""
_IN_HEX = re.compile(r".*address(_[a-z]+)?|mask|active_.*|l2_offset_.*|.*_bitmap|data|opcode number")
_FIELDS_OF_BYTES = {"application_header", "context_network_data", "action_list"}


def text_of(name: str, value: object) -> str:
    """A value of a field as people write it: addresses, masks and bitmaps in hex, long bytes by their beginning."""
    field = name.rpartition(".")[2]
    if isinstance(value, bool) or not isinstance(value, int | bytes | bytearray | memoryview | tuple | list):
        return str(value)
    if isinstance(value, int):
        return f"0x{value:X}" if value >= 0 and _IN_HEX.fullmatch(field) else str(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(text_of(name, one) for one in value)}]"
    head = bytes(value[:MOST_BYTES]).hex()
    return f"{head}… ({len(value)} bytes)" if len(value) > MOST_BYTES else head or "nothing"


def status_text(status: int) -> str:
    """A firmware status by name and number."""
    try:
        return f"{FirmwareStatus(status).name}(0x{status:08X})"
    except ValueError:
        return f"0x{status:08X}"


def values_of(data: bytes, kind: Kind, wire: Wire) -> dict[str, Any]:
    """Everything that a request or reply says, by name: its header, its parameters, and what lies within them (the
    fields of an application header, the actions of a list). What cannot be read stays bytes, by its position."""
    try:
        message = wire.messages.decode(data, kind)
        head = _head(data, kind)
    except (HailoError, ValueError):
        return _undescribed(data, kind)
    return head | dict(_parameters(message, wire))


def _head(data: bytes, kind: Kind) -> dict[str, Any]:
    if kind is Kind.REQUEST:
        request = decode_request(data)
        return {"opcode": _opcode(request.opcode), "sequence": request.sequence, "version": request.version}
    reply = decode_response(data)
    return {
        "opcode": _opcode(reply.opcode),
        "major_status": status_text(reply.major_status),
        "minor_status": status_text(reply.minor_status),
        "sequence": reply.sequence,
        "version": reply.version,
    }


def _opcode(number: int) -> str:
    try:
        return f"{Opcode(number).name}({number})"
    except ValueError:
        return str(number)


def _undescribed(data: bytes, kind: Kind) -> dict[str, Any]:
    """A message whose parameters are not those of the runtime, or that is damaged."""
    try:
        parameters: Sequence[bytes] = (decode_request if kind is Kind.REQUEST else decode_response)(data).parameters
        return _head(data, kind) | {f"parameter {at}": one for at, one in enumerate(parameters)}
    except HailoError:
        return {"message": data}


def _parameters(message: Message, wire: Wire) -> Iterator[tuple[str, Any]]:
    for name, value in message.values.items():
        if isinstance(value, bytes) and name in _FIELDS_OF_BYTES:
            yield from _within(name, value, wire)
        else:
            yield name, value


def _within(name: str, data: bytes, wire: Wire) -> Iterator[tuple[str, Any]]:
    """What lies in a parameter that is bytes to the protocol."""
    try:
        if name == "application_header":
            fields: Mapping[str, Any] = wire.header.decode(data)._asdict()
            found = [(f"{name}.{field}", value) for field, value in fields.items()]
        else:
            found = list(_actions(data, wire))
    except HailoError:
        found = [(name, data)]
    yield from found


def _actions(data: bytes, wire: Wire) -> Iterator[tuple[str, Any]]:
    at = 0
    for located in wire.decode(data):
        entry = located.entry
        for action in entry.items if isinstance(entry, Repeated) else (entry,):
            repeated = " (repeated)" if isinstance(entry, Repeated) else ""
            yield f"action {at}", f"{action.type.name}{repeated}"
            if located.timestamp != TIMESTAMP_INIT:
                yield f"action {at} {action.type.name}.timestamp", located.timestamp
            for field, value in action.arguments().items():
                yield f"action {at} {action.type.name}.{field}", value
            at += 1


def differing(a: bytes, b: bytes, kind: Kind, wire: Wire) -> list[tuple[str, str, str]]:
    """(name, what `a` has, what `b` has) of everything that two messages say otherwise; `-` where one says nothing.

    Of messages that are not of one opcode that alone; of bytes that no field stands for the first.
    """
    first, second = values_of(a, kind, wire), values_of(b, kind, wire)
    if first.get("opcode") != second.get("opcode"):
        return [("opcode", str(first.get("opcode", "-")), str(second.get("opcode", "-")))]

    def text(side: Mapping[str, Any], name: str) -> str:
        return text_of(name, side[name]) if name in side else "-"

    found = [
        (name, text(first, name), text(second, name))
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name) or (name in first) != (name in second)
    ]
    return found or list(_first_byte(a, b))


def _first_byte(a: bytes, b: bytes) -> Iterator[tuple[str, str, str]]:
    at = next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
    if a != b:
        one, other = (f"0x{data[at]:02X}" if at < len(data) else "-" for data in (a, b))
        yield f"byte {at}", one, other


def summary(data: bytes, kind: Kind) -> str:
    """A message in a few words: its name, its status or the sizes of its parameters."""
    try:
        if kind is Kind.REQUEST:
            request = decode_request(data)
            sizes = ", ".join(f"{len(one)} B" for one in request.parameters)
            return f"{_opcode(request.opcode)}, {f'parameters of {sizes}' if sizes else 'no parameters'}"
        reply = decode_response(data)
    except HailoError:
        return f"{len(data)} bytes that are no message"
    minor = f", minor {status_text(reply.minor_status)}" if reply.minor_status else ""
    return f"{status_text(reply.major_status)}{minor}, {len(data)} bytes"
