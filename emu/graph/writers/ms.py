"""Writes MindSpore predict files: the tables of `emu.schemas.generated` (either generation) → bytes, and a builder for
the tables of the 0.5 schema.

Nothing is checked beyond what the schema says, so that tests can write broken graphs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np

from emu.graph import layouts
from emu.graph.ir import Array, Layout
from emu.graph.readers.ms.file import GraphDef
from emu.graph.readers.ms.tensors import DTYPES
from emu.schemas import fbs
from emu.schemas.generated import ms_v0_5

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
    return finished(graph_def)


def finished(root: fbs.Table, identifier: bytes | None = None) -> bytes:
    """The buffer that holds a root table, with a file identifier of four bytes or without one."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table(builder, root), file_identifier=identifier)
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


class SubGraphBuilder:
    """Collects the tensors and operators of one subgraph (0.5 schema); tensors are named by their index."""

    def __init__(self, name: str = "default_sub_graph") -> None:
        self.name = name
        self.tensors: list[ms_v0_5.TensorDef] = []
        self.nodes: list[ms_v0_5.OpDef] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []

    def tensor(
        self,
        dims: Sequence[int],
        dtype: Any = np.float32,
        format: ms_v0_5.Format = ms_v0_5.Format.NCHW,
    ) -> int:
        """A tensor that an operator gives; returns its index."""
        self.tensors.append(ms_v0_5.TensorDef(data_type(dtype), tuple(dims), format))
        return len(self.tensors) - 1

    def input(
        self,
        dims: Sequence[int],
        dtype: Any = np.float32,
        format: ms_v0_5.Format = ms_v0_5.Format.NCHW,
    ) -> int:
        """A graph input; returns its index."""
        index = self.tensor(dims, dtype, format)
        self.inputs.append(index)
        return index

    def constant(self, value: Array, format: ms_v0_5.Format = ms_v0_5.Format.NCHW) -> int:
        """A constant; its bytes are packed where the format is NC4HW4. Returns its index."""
        packed = layouts.pack(value, Layout.NC4HW4) if format is ms_v0_5.Format.NC4HW4 else value
        stored = np.ascontiguousarray(packed, value.dtype.newbyteorder("<"))
        self.tensors.append(
            ms_v0_5.TensorDef(
                data_type(value.dtype),
                value.shape,
                format,
                refCount=ms_v0_5.MSCONST.WEIGHT_REFCOUNT,
                data=memoryview(stored.tobytes()),
            )
        )
        return len(self.tensors) - 1

    def node(
        self,
        attr: ms_v0_5.OpT,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        name: str | None = None,
        quant_type: ms_v0_5.QuantType = ms_v0_5.QuantType.QUANT_NONE,
        quant_param: Sequence[ms_v0_5.QuantParamArray] = (),
    ) -> None:
        """An operator on tensors by index; without a name it is called `<type>_<place>`."""
        self.nodes.append(
            ms_v0_5.OpDef(
                name=f"{type(attr).__name__}_{len(self.nodes)}" if name is None else name,
                attr=attr,
                inputIndex=tuple(inputs),
                outputIndex=tuple(outputs),
                quantType=quant_type,
                quantParam=tuple(quant_param),
            )
        )

    def build(self) -> ms_v0_5.SubGraphDef:
        """The subgraph as it stands."""
        return ms_v0_5.SubGraphDef(
            name=self.name,
            inputIndex=tuple(self.inputs),
            outputIndex=tuple(self.outputs),
            nodes=tuple(self.nodes),
            allTensors=tuple(self.tensors),
        )

    def graph(self, name: str = "default_graph") -> ms_v0_5.GraphDef:
        """A file's root that holds this subgraph alone."""
        return ms_v0_5.GraphDef(name=name, subgraphs=(self.build(),))


def data_type(dtype: Any) -> ms_v0_5.DataType:
    """The schema's type for a numpy dtype; KeyError for one that it does not have."""
    by_dtype = {known: ms_v0_5.DataType(value) for value, known in DTYPES.items()}
    return by_dtype[np.dtype(dtype)]
