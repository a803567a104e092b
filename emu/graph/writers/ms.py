"""Writes MindSpore predict files of either schema generation: the tables of `emu.schemas.generated` → bytes.

Nothing is checked beyond what the schema says, so that tests can write broken graphs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np

from emu.graph.readers.ms_file import GraphDef
from emu.schemas import fbs

_PREPEND = {
    scalar.name: f"Prepend{name}Slot"
    for scalar, name in (
        (fbs.BOOL, "Bool"),
        (fbs.BYTE, "Int8"),
        (fbs.UBYTE, "Uint8"),
        (fbs.SHORT, "Int16"),
        (fbs.USHORT, "Uint16"),
        (fbs.INT, "Int32"),
        (fbs.UINT, "Uint32"),
        (fbs.LONG, "Int64"),
        (fbs.ULONG, "Uint64"),
        (fbs.FLOAT, "Float32"),
        (fbs.DOUBLE, "Float64"),
    )
}


def write(graph_def: GraphDef) -> bytes:
    """The bytes of a .ms file: no identifier, no size prefix (ms-predict.md 1)."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table(builder, graph_def))
    return bytes(builder.Output())


def _table(builder: flatbuffers.Builder, table: fbs.Table) -> int:
    """Write the children, then the table; returns its offset."""
    values = [(field, getattr(table, field.attribute)) for field in fbs.fields_of(type(table))]
    children = {field.slot: _child(builder, field.wire, value) for field, value in values}
    builder.StartObject(max((field.slot for field, _ in values), default=-1) + 1)
    for field, value in values:
        wire = field.wire
        if isinstance(wire, fbs.Scalar | fbs.EnumOf):
            scalar = wire if isinstance(wire, fbs.Scalar) else wire.scalar
            getattr(builder, _PREPEND[scalar.name])(field.slot, value, field.default)
            continue
        if isinstance(wire, fbs.Union):
            builder.PrependUint8Slot(field.slot - 1, _member(wire, value), 0)
        builder.PrependUOffsetTRelativeSlot(field.slot, children[field.slot], 0)
    offset: int = builder.EndObject()
    return offset


def _member(union: fbs.Union, value: fbs.Table | None) -> int:
    return 0 if value is None else union.members.index(type(value)) + 1


def _child(builder: flatbuffers.Builder, wire: fbs.Wire, value: Any) -> int:
    """Offset of what a field points to; 0 where it is absent or lies inline."""
    if value is None:
        return 0
    match wire:
        case fbs.Text():
            return _offset(builder.CreateString(value)) if value else 0
        case fbs.TableOf() | fbs.Union():
            return _table(builder, value)
        case fbs.Vector():
            return _numbers(builder, wire.element, value)
        case fbs.VectorOfTables():
            return _tables(builder, value) if value else 0
        case _:
            return 0


def _numbers(builder: flatbuffers.Builder, element: fbs.Scalar, values: Sequence[Any] | memoryview) -> int:
    if element is fbs.UBYTE:
        return _offset(builder.CreateByteVector(bytes(values)))
    if not values:
        return 0
    return _offset(builder.CreateNumpyVector(np.array(values, np.dtype(element.code).newbyteorder("<"))))


def _tables(builder: flatbuffers.Builder, values: Sequence[fbs.Table]) -> int:
    offsets = [_table(builder, value) for value in values]
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return _offset(builder.EndVector())


def _offset(offset: int) -> int:
    return offset
