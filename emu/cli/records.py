"""Records of a recording in words, and what two of them say otherwise: control messages field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from emu.catalog import names
from emu.hef.runtime import by_preference
from emu.wire.messages import Kind
from emu.wire.naming import differing, summary, text_of, values_of
from emu.wire.wire import Wire, wire_of

MOST = 20
"""Differing fields that are shown to a person."""
_SIDES = (("request", Kind.REQUEST), ("reply", Kind.RESPONSE))

Record = Mapping[str, Any]


def described(record: Record) -> str:
    """A record in one line; a control message by what it is, without its bytes."""
    if record["kind"] != "control":
        return _access(record) or " ".join(f"{name}={text_of(name, value)}" for name, value in record.items())
    request, reply = (_bytes(record, name) for name, _ in _SIDES)
    what = "?" if request is None else summary(request, Kind.REQUEST)
    answer = "?" if reply is None else summary(reply, Kind.RESPONSE)
    return f"{record.get('ns')} ns control {what}; reply {answer}"


def _access(record: Record) -> str | None:
    """An access to a register of a card, as a trace shows it; None for another record, and for a damaged one."""
    data = _bytes(record, "data")
    bar, offset, value = (record.get(name) for name in ("bar", "offset", "value"))
    whole = isinstance(bar, int) and isinstance(offset, int) and (data is not None or isinstance(value, int))
    if record["kind"] != "register" or not whole:
        return None
    held = text_of("data", data) if data is not None else f"0x{value:08X}"
    name = f" {record['name']}" if "name" in record else ""
    return f"{record.get('ns')} ns host {record.get('access')}s BAR{bar}+0x{offset:03X}{name} = {held}"


def decoded(a: Record | None, b: Record | None, runtime: str | None = None) -> list[tuple[str, str, str]]:
    """(field, what `a` says, what `b` says) of two control messages; nothing for other records.

    `runtime` None: the release whose layouts both messages have.
    """
    if a is None or b is None or a.get("kind") != "control" or b.get("kind") != "control":
        return []
    found = []
    for name, kind in _SIDES:
        one, other = _bytes(a, name), _bytes(b, name)
        if one is not None and other is not None and one != other:
            wire = _wire(kind, runtime, one, other)
            found += [(f"{name} {field}", first, second) for field, first, second in differing(one, other, kind, wire)]
    return found


def differing_fields(a: Record | None, b: Record | None, runtime: str | None = None) -> Iterator[str]:
    """The same as lines for a person."""
    found = decoded(a, b, runtime)
    for field, one, other in found[:MOST]:
        yield f"  differs: {field} {one} != {other}"
    if len(found) > MOST:
        yield f"  and {len(found) - MOST:,} more fields"


def _bytes(record: Record, name: str) -> bytes | None:
    try:
        return bytes.fromhex(record[name])
    except (ValueError, KeyError, TypeError):
        return None


def _wire(kind: Kind, runtime: str | None, *messages: bytes) -> Wire:
    """The layouts of a runtime, or the first of which leave nothing of the messages in bytes."""
    if runtime is not None:
        return wire_of(runtime)
    wires = [wire_of(name) for name in by_preference(names("runtimes"))]
    return min(wires, key=lambda wire: sum(_unread(values_of(data, kind, wire)) for data in messages))


def _unread(values: Mapping[str, Any]) -> int:
    return sum(
        name == "message" or name.startswith("parameter ") or name in ("application_header", "context_network_data")
        for name in values
    )
