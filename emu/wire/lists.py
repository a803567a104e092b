"""Action lists: `header(5) payload` in a row, and REPEATED blocks (firmware-actions.md 2).

The payload of an action is its fields, packed and little-endian, in the widths that its class gives and the runtime
may override.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from typing import NamedTuple

from msgspec import Struct

from emu.errors import HailoError, HailoStatus
from emu.wire.actions import ACTIONS, HOST_BUFFER, REG_INFO_FIELDS, Action, ActionType, variant
from emu.wire.layouts import CODES, Layout

REG_INFO, BUFFER_INFO = "stream_reg_info", "host_buffer_info"  # in layouts: groups of fields
TIMESTAMP_INIT = 0xFFFFFFFF
MAX_REPEATED = 255

_HEADER = struct.Struct("<BI")
_REPEATED_HEADER = struct.Struct("<BIBBB")
HEADER_SIZE = _HEADER.size
REPEATED_HEADER_SIZE = _REPEATED_HEADER.size


class Repeated(Struct, frozen=True):
    """A REPEATED_ACTION block: `items` are sub-actions of the one type `of`."""

    of: ActionType
    items: tuple[Action, ...]


Entry = Action | Repeated


class Located(NamedTuple):
    """A decoded entry with its byte offset in the list and its time_stamp (0xFFFFFFFF until executed)."""

    offset: int
    timestamp: int
    last_executed: int
    entry: Entry


class DamagedListError(HailoError):
    """An action list that cannot be read: HAILO_INVALID_ARGUMENT; the firmware has a status for each class of it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(HailoStatus.HAILO_INVALID_ARGUMENT, f"damaged action list: {message}", offset=offset)


class UnknownActionError(DamagedListError):
    """An action of a type that does not exist."""


class UnknownSubActionError(DamagedListError):
    """A REPEATED block of a type that does not exist."""


class ActionLists:
    """Encodes and decodes the action lists of one runtime.

    `widths` are its own codes of fields by name, `layouts` (as in its file) those of `stream_reg_info` and of the
    actions whose fields are its own, by their names in small letters.
    """

    def __init__(self, widths: Mapping[str, str], layouts: Mapping[str, str]) -> None:
        unknown = set(widths) - {name for made in ACTIONS.values() for name in made.NAMES}
        if unknown:
            raise ValueError(f"no action has a field {', '.join(sorted(unknown))}")
        codes = {name: CODES[code] for name, code in widths.items()}
        registers = Layout(layouts["stream_reg_info"]).codes()
        self.classes: Mapping[ActionType, type[Action]] = {
            kind: _own_class(made, registers, layouts.get(kind.name.lower())) for kind, made in ACTIONS.items()
        }
        fields = {
            kind: "".join(codes.get(name, field.code) for name, field in made.FIELDS.items())
            for kind, made in self.classes.items()
        }
        self.payloads: Mapping[ActionType, struct.Struct] = {
            kind: struct.Struct("<" + code) for kind, code in fields.items()
        }
        self._whole = {kind: struct.Struct(_HEADER.format + code).pack for kind, code in fields.items()}
        self._by_number = {int(kind): (made, self.payloads[kind]) for kind, made in self.classes.items()}

    def make(self, made: type[Action], **values: int) -> Action:
        """The action with those of the values that the runtime has fields for; KeyError for one that is missing."""
        own = self.classes[made.type]
        return own(*[values[name] for name in own.NAMES])

    def encode_entry(self, entry: Entry) -> bytes:
        """One entry, its indivisible buffers in one piece."""
        if not isinstance(entry, Repeated):
            return self._whole[entry.type](entry.type, TIMESTAMP_INIT, *entry)
        head = _REPEATED_HEADER.pack(ActionType.REPEATED_ACTION, TIMESTAMP_INIT, len(entry.items), 0, entry.of)
        return head + b"".join(starmap(self.payloads[entry.of].pack, entry.items))

    def encode(self, entries: Iterable[Entry]) -> Iterator[bytes]:
        """The indivisible buffers of an action list, as the runtime chunks them (hef-compile.md 4.9)."""
        payloads = self.payloads
        for entry in entries:
            if isinstance(entry, Repeated):
                yield _REPEATED_HEADER.pack(ActionType.REPEATED_ACTION, TIMESTAMP_INIT, len(entry.items), 0, entry.of)
                pack = payloads[entry.of].pack
                for item in entry.items:
                    yield pack(*item)
            else:
                yield _HEADER.pack(entry.type, TIMESTAMP_INIT) + payloads[entry.type].pack(*entry)

    def decode(self, data: bytes | memoryview) -> Iterator[Located]:
        """Decode an action list; a damaged list is a DamagedListError with its byte offset."""
        by_number = self._by_number
        offset, end = 0, len(data)
        new = tuple.__new__  # lists are long: past the classes' own __new__
        while offset < end:
            if end - offset < HEADER_SIZE:
                raise DamagedListError(f"{end - offset} bytes left, {HEADER_SIZE} needed for an action header", offset)
            number, timestamp = _HEADER.unpack_from(data, offset)
            if number == ActionType.REPEATED_ACTION:
                entry, last_executed, size = self._repeated(data, offset)
                yield Located(offset, timestamp, last_executed, entry)
                offset += size
                continue
            found = by_number.get(number)
            if found is None:
                raise UnknownActionError(f"action type {number} does not exist", offset)
            made, payload = found
            if end - offset - HEADER_SIZE < payload.size:
                raise DamagedListError(
                    f"{made.type.name} needs {payload.size} payload bytes, {end - offset - HEADER_SIZE} left", offset
                )
            start = offset + HEADER_SIZE
            yield new(Located, (offset, timestamp, 0, new(made, payload.unpack_from(data, start))))
            offset = start + payload.size

    def _repeated(self, data: bytes | memoryview, offset: int) -> tuple[Repeated, int, int]:
        left = len(data) - offset
        if left < REPEATED_HEADER_SIZE:
            raise DamagedListError(f"{left} bytes left, {REPEATED_HEADER_SIZE} needed for a repeated header", offset)
        _, _, count, last_executed, number = _REPEATED_HEADER.unpack_from(data, offset)
        found = self._by_number.get(number)
        if found is None:
            raise UnknownSubActionError(f"repeated sub-action type {number} does not exist", offset)
        made, payload = found
        kind = made.type
        size = REPEATED_HEADER_SIZE + count * payload.size
        if left < size:
            raise DamagedListError(f"{count} repeated {kind.name} need {size} bytes, {left} left", offset)
        if not payload.size:
            return Repeated(kind, (made(),) * count), last_executed, size
        new = tuple.__new__
        rows = payload.iter_unpack(memoryview(data)[offset + REPEATED_HEADER_SIZE : offset + size])
        return Repeated(kind, tuple([new(made, values) for values in rows])), last_executed, size


def _own_class(made: type[Action], registers: Mapping[str, str], layout: str | None) -> type[Action]:
    """The class of an action as the runtime has it: the usual one where its fields are the usual ones."""
    codes: dict[str, str] = {}
    if layout is not None:
        for part in layout.split():
            codes |= registers if part == REG_INFO else HOST_BUFFER if part == BUFFER_INFO else Layout(part).codes()
    elif set(REG_INFO_FIELDS) <= set(made.NAMES):
        usual = {name: field.code for name, field in made.FIELDS.items()}
        at = made.NAMES.index(REG_INFO_FIELDS[0])
        names = [name for name in usual if name not in REG_INFO_FIELDS]
        before, behind = ({name: usual[name] for name in part} for part in (names[:at], names[at:]))
        codes = {**before, **registers, **behind}
    usual_codes = [(name, field.code) for name, field in made.FIELDS.items()]
    return made if not codes or list(codes.items()) == usual_codes else variant(made, codes)


def describe(entry: Entry) -> dict[str, object]:
    """The JSON form of cli.md (`emu actions --json`)."""
    if isinstance(entry, Repeated):
        return {
            "a": "REPEATED",
            "of": entry.of.name,
            "count": len(entry.items),
            "items": [item.arguments() for item in entry.items],
        }
    return {"a": entry.type.name, **entry.arguments()}
