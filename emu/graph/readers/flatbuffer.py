"""Reads a FlatBuffer by the descriptions of `emu.schemas.fbs`, trusting nothing in it.

Every offset, vtable, vector length, union member, enum value and string is checked before it is used, whoever wrote
the file. Objects at the same place are read once; but whoever walks the result meets a shared part as often as it is
referred to, so all parts together, each counted that often, may not hold more than twice the file's bytes. Memory and
time follow the file's size, and never a number in it. Bytes of [ubyte] vectors stay where they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.schemas import fbs

_USHORT = struct.Struct("<H").unpack_from
_INT = struct.Struct("<i").unpack_from
_UINT = struct.Struct("<I").unpack_from
_VTABLE_HEAD = struct.Struct("<HH").unpack_from
"""Sizes of the vtable and of the table."""

T = TypeVar("T")
Record = TypeVar("Record", bound=fbs.Table)

MAXIMUM_SIZE = 2**31 - 1
"""Bytes: offsets are signed 32-bit (ms-predict.md 1)."""


class Place:
    """Where a value stands, for messages: `subgraphs[0].nodes[3].attr`."""

    __slots__ = ("parent", "step")

    def __init__(self, parent: Place | None, step: str | int) -> None:
        self.parent = parent
        self.step = step

    def __str__(self) -> str:
        steps: list[str | int] = []
        place: Place | None = self
        while place is not None:
            steps.append(place.step)
            place = place.parent
        text = ""
        for step in reversed(steps):
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text


class RawTable:
    """A table whose vtable has been checked: position, size and the offsets of its fields."""

    __slots__ = ("_reader", "position", "size", "vtable", "vtable_size")

    vtable: int
    vtable_size: int
    size: int

    def __init__(self, reader: FlatBuffer, position: int, place: Place) -> None:
        self._reader = reader
        self.position = position
        reader.need(position, 4, place, "table")
        if position % 4:
            reader.refuse(place, "table is not aligned to 4 bytes", position)
        self.vtable = position - _INT(reader.data, position)[0]
        reader.need(self.vtable, 4, place, "vtable")
        if self.vtable % 2:
            reader.refuse(place, "vtable is not aligned to 2 bytes", self.vtable)
        self.vtable_size, self.size = _VTABLE_HEAD(reader.data, self.vtable)
        if self.vtable_size < 4 or self.vtable_size % 2:
            reader.refuse(place, f"vtable size is {self.vtable_size}", self.vtable)
        reader.need(self.vtable, self.vtable_size, place, "vtable")
        if self.size < 4:
            reader.refuse(place, f"table size is {self.size}", self.vtable)
        reader.need(position, self.size, place, "table")

    def offsets(self, slots: int) -> tuple[int, ...]:
        """What the vtable holds of the first slots, 0 for a field that is absent."""
        count = min(slots, (self.vtable_size - 4) // 2)
        held: tuple[int, ...] = struct.unpack_from(f"<{count}H", self._reader.data, self.vtable + 4)
        return held + (0,) * (slots - count)

    def field(self, slot: int, size: int, place: Place) -> int:
        """Position of a field's inline part of `size` bytes, 0 where it is absent."""
        entry = 4 + 2 * slot
        if entry + 2 > self.vtable_size:
            return 0
        offset: int = _USHORT(self._reader.data, self.vtable + entry)[0]
        if offset == 0:
            return 0
        if offset < 4 or offset + size > self.size:
            self._reader.refuse(
                place,
                f"field of {size} bytes lies at {offset} in a table of {self.size} bytes",
                self.vtable + entry,
            )
        return self.position + offset


class FlatBuffer:
    """One buffer, read table by table; `unknown_member` is the status of a union member that the schema has not."""

    def __init__(self, data: bytes | memoryview, *, unknown_member: GraphStatus = GraphStatus.MS_FLATBUFFER) -> None:
        self.data = memoryview(data).cast("B")
        self._end = len(self.data)
        self._unknown_member = unknown_member
        self._known: dict[tuple[object, int], tuple[Any, int]] = {}
        self._walked = 0

    # checks

    def refuse(self, place: Place, problem: str, offset: int) -> NoReturn:
        """Raise MS_FLATBUFFER with the place and the file offset."""
        raise GraphError(GraphStatus.MS_FLATBUFFER, f"{place}: {problem}", offset=offset)

    def need(self, position: int, size: int, place: Place, what: str) -> None:
        """Refuse what does not lie in the file."""
        if position < 0 or position + size > self._end:
            problem = f"{what} of {size} bytes at {position} does not lie in the file of {self._end} bytes"
            self.refuse(place, problem, position)

    # structure

    def root(self) -> RawTable:
        """The root table; raises MS_FLATBUFFER where the buffer holds none."""
        place = Place(None, "root")
        if self._end > MAXIMUM_SIZE:
            self.refuse(place, f"{self._end} bytes are more than a FlatBuffer can hold", 0)
        self.need(0, 4, place, "root offset")
        return RawTable(self, _UINT(self.data, 0)[0], place)

    def follow(self, position: int, place: Place) -> int:
        """Where the unsigned offset stored at a checked position leads."""
        target: int = position + _UINT(self.data, position)[0]
        self.need(target, 4, place, "object")
        if target == position:
            self.refuse(place, "offset is 0", position)
        return target

    def vector(self, position: int, element_size: int, place: Place) -> tuple[int, int]:
        """Position of the first element and their count, for the vector whose offset is stored at `position`."""
        start = self.follow(position, place)
        if start % 4:
            self.refuse(place, "vector is not aligned to 4 bytes", start)
        count: int = _UINT(self.data, start)[0]
        if start + 4 + count * element_size > self._end:
            self.need(start + 4, count * element_size, place, f"vector of {count} elements")
        return start + 4, count

    def raw_table(self, position: int, place: Place) -> RawTable:
        """The table whose offset is stored at a checked position."""
        return RawTable(self, self.follow(position, place), place)

    def text(self, position: int, place: Place) -> str:
        """The string whose offset is stored at a checked position."""
        start, count = self.vector(position, 1, place)
        self.need(start, count + 1, place, "string with its NUL")
        if self.data[start + count] != 0:
            self.refuse(place, "string does not end in NUL", start + count)
        self._walk(count, place, start)
        try:
            return str(self.data[start : start + count], "utf-8")
        except UnicodeDecodeError:
            self.refuse(place, "string is not UTF-8", start)

    def _walk(self, size: int, place: Place, offset: int) -> None:
        """Count a part of `size` bytes that is met, again or for the first time."""
        self._walked += size
        if self._walked > 2 * self._end:
            self.refuse(place, "shared or overlapping parts hold more than twice the file's bytes", offset)

    def _once(self, kind: object, position: int, size: int, place: Place, read: Callable[[], T]) -> T:
        """The object of `kind` at a place, read where it is met first; `size` is its own, without what hangs below."""
        key = (kind, position)
        if key in self._known:
            found, walked = self._known[key]
            self._walk(walked, place, position)
            result: T = found
            return result
        before = self._walked
        self._walk(size, place, position)
        result = read()
        self._known[key] = (result, self._walked - before)
        return result

    # typed reading

    def read(self, table: type[Record], raw: RawTable, place: Place) -> Record:
        """The table as its dataclass, with all that hangs below it.

        Raises MS_FLATBUFFER where anything lies outside the file, GRAPH_UNSUPPORTED at an enum value without a name.
        """
        return self._once(table, raw.position, raw.size, place, lambda: self._fields(table, raw, place))

    def _fields(self, table: type[Record], raw: RawTable, place: Place) -> Record:
        values: dict[str, Any] = {}
        fields = fbs.fields_of(table)
        offsets = raw.offsets(fields[-1].slot + 1 if fields else 0)
        for field in fields:
            if not (offsets[field.slot] or offsets[field.first]):  # as most fields of most tables
                continue
            value = self._field(raw, field, Place(place, field.name))
            if value is not None:
                values[field.attribute] = value
        return table(**values)

    def _field(self, raw: RawTable, field: fbs.Field, place: Place) -> Any:
        wire = field.wire
        if isinstance(wire, fbs.Scalar):
            position = raw.field(field.slot, wire.size, place)
            return wire.layout.unpack_from(self.data, position)[0] if position else None
        if isinstance(wire, fbs.EnumOf):
            position = raw.field(field.slot, wire.scalar.size, place)
            if not position:
                return None
            return self._named(wire.enum, wire.scalar.layout.unpack_from(self.data, position)[0], place, position)
        if isinstance(wire, fbs.Union):
            return self._union(raw, field.slot, wire, place)
        position = raw.field(field.slot, 4, place)
        if not position:
            return None
        match wire:
            case fbs.Text():
                return self.text(position, place)
            case fbs.TableOf():
                return self.read(wire.table, self.raw_table(position, place), place)
            case fbs.Vector():
                return self._numbers(position, wire.element, place)
            case fbs.VectorOfTables():
                return self._tables(position, wire.table, place)

    def _tables(self, position: int, table: type[Record], place: Place) -> tuple[Record, ...]:
        start, count = self.vector(position, 4, place)

        def entries() -> tuple[Record, ...]:
            steps = ((index, Place(place, index)) for index in range(count))
            return tuple(self.read(table, self.raw_table(start + 4 * index, step), step) for index, step in steps)

        return self._once((table,), start, 4 * count, place, entries)

    def _numbers(self, position: int, element: fbs.Scalar, place: Place) -> Any:
        start, count = self.vector(position, element.size, place)
        size = count * element.size
        if element is fbs.UBYTE:
            self._walk(size, place, start)
            return self.data[start : start + count]

        def values() -> tuple[Any, ...]:
            return tuple(np.frombuffer(self.data, "<" + np.dtype(element.code).str[1:], count, start).tolist())

        return self._once(element, start, size, place, values)

    def _union(self, raw: RawTable, slot: int, union: fbs.Union, place: Place) -> fbs.Table | None:
        where = raw.field(slot - 1, 1, place)
        number = self.data[where] if where else 0
        position = raw.field(slot, 4, place)
        if number == 0:
            return None
        if number > len(union.members):
            problem = f"{place}: {union.name} {number} is not one of its {len(union.members)} members"
            raise GraphError(self._unknown_member, problem, offset=where)
        member = union.members[number - 1]
        if not position:
            self.refuse(place, f"{union.name} is {number} ({member.__name__}), its table is absent", where)
        return self.read(member, self.raw_table(position, place), place)

    @staticmethod
    def _named(enum: type[IntEnum], value: int, place: Place, position: int) -> IntEnum:
        try:
            return enum(value)
        except ValueError:
            known = ", ".join(f"{member.value} {member.name}" for member in enum)
            raise GraphError(
                GraphStatus.GRAPH_UNSUPPORTED,
                f"{place}: {value} is not in {enum.__name__} ({known})",
                offset=position,
            ) from None
