"""What a FlatBuffers schema says about a table, as data: the modules in generated/ are written in these words.

A table is a frozen dataclass; each of its fields carries its slot and how it lies on the wire. Readers and writers
walk these descriptions, so neither holds a word about a particular table.
"""

from __future__ import annotations

import dataclasses
import struct
from enum import IntEnum
from typing import Any, TypeAlias


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """Base of every generated table."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scalar:
    """A number that lies inline, little endian: `size` bytes on the wire, as `layout` reads them."""

    name: str
    code: str
    layout: struct.Struct = dataclasses.field(init=False, repr=False, compare=False)
    size: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", struct.Struct("<" + self.code))
        object.__setattr__(self, "size", self.layout.size)


BOOL = Scalar("bool", "?")
BYTE = Scalar("byte", "b")
UBYTE = Scalar("ubyte", "B")
SHORT = Scalar("short", "h")
USHORT = Scalar("ushort", "H")
INT = Scalar("int", "i")
UINT = Scalar("uint", "I")
LONG = Scalar("long", "q")
ULONG = Scalar("ulong", "Q")
FLOAT = Scalar("float", "f")
DOUBLE = Scalar("double", "d")
SCALARS = {scalar.name: scalar for scalar in (BOOL, BYTE, UBYTE, SHORT, USHORT, INT, UINT, LONG, ULONG, FLOAT, DOUBLE)}


@dataclasses.dataclass(frozen=True, slots=True)
class EnumOf:
    """A scalar whose values are named."""

    scalar: Scalar
    enum: type[IntEnum]


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """An offset to a string: length, UTF-8 bytes, NUL."""


@dataclasses.dataclass(frozen=True, slots=True)
class TableOf:
    """An offset to a table."""

    table: type[Table]


@dataclasses.dataclass(frozen=True, slots=True)
class Vector:
    """An offset to a vector of numbers; [ubyte] is kept as bytes in place, the others become tuples."""

    element: Scalar


@dataclasses.dataclass(frozen=True, slots=True)
class VectorOfTables:
    """An offset to a vector of offsets to tables."""

    table: type[Table]


@dataclasses.dataclass(frozen=True, slots=True)
class Union:
    """Two slots: the member's number (0 is NONE, members count from 1), then an offset to its table."""

    name: str
    members: tuple[type[Table], ...]


Wire: TypeAlias = Scalar | EnumOf | Text | TableOf | Vector | VectorOfTables | Union


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """One field: `name` as the schema spells it, `attribute` as Python does (`global_` for `global`).

    `slot` counts from 0; a union's is that of its table, the number lies in the slot before, which is its `first`.
    """

    name: str
    attribute: str
    slot: int
    wire: Wire
    default: Any
    first: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", self.slot - isinstance(self.wire, Union))


def slot(number: int, wire: Wire, default: Any, *, name: str = "") -> Any:
    """A field of a generated dataclass; `name` where Python reserves the schema's."""
    return dataclasses.field(default=default, metadata={"slot": number, "wire": wire, "name": name})


_FIELDS: dict[type[Table], tuple[Field, ...]] = {}


def fields_of(table: type[Table]) -> tuple[Field, ...]:
    """The fields of a table in slot order."""
    if table not in _FIELDS:
        _FIELDS[table] = tuple(
            Field(
                field.metadata["name"] or field.name,
                field.name,
                field.metadata["slot"],
                field.metadata["wire"],
                field.default,
            )
            for field in dataclasses.fields(table)
        )
    return _FIELDS[table]
