"""What each op of a graph-style ModelDef means (om-format.md 10): the table of all types, by families.

Nothing is inferred from names or shapes: an op whose meaning is not in its attributes is refused, naming the attribute.
"""

from __future__ import annotations

from emu.errors import GraphStatus
from emu.graph.ir import Layout, Shape, Tensor
from emu.graph.ops import Op, OpError
from emu.graph.ops.move import Convert, Copy, Each, Permute, Reshape
from emu.graph.readers.om import ge_convs, ge_maps, ge_moves, ge_pointwise, ge_products
from emu.graph.readers.om.ge_aipp import read_aipp
from emu.graph.readers.om.ge_fused import BUFFER_FUSION, fused, is_fused, members
from emu.graph.readers.om.ge_origin import in_origin_order
from emu.graph.readers.om.ge_site import Meaning, OpReader
from emu.graph.readers.om.types import INT_FORMATS


def relayout(source: Tensor, read_as: Shape | None, target: Tensor) -> Op:
    """The change from one tensor to another: dtype, and the order of the axes where both layouts name one."""
    shape = source.op_shape if read_as is None else read_as
    orders = [_axis_order(tensor) for tensor in (source, target)]
    if len(shape) == len(target.op_shape) == 4 and None not in orders and orders[0] != orders[1]:
        before, after = orders
        assert before is not None and after is not None
        return Permute(tuple(before.index(axis) for axis in after))
    return Convert() if shape == target.op_shape else Reshape(target.op_shape)


def _axis_order(tensor: Tensor) -> str | None:
    if len(tensor.op_shape) != 4:
        return None
    if tensor.layout in (Layout.NCHW, Layout.NC1HWC0):
        return "NCHW"
    return "NHWC" if tensor.layout is Layout.NHWC else None


def _data(reader: OpReader) -> Op:
    source, target = reader.input(), reader.output()
    if reader.is_image(source):
        return Copy()
    return relayout(source, None, target)


def _net_output(reader: OpReader) -> Op:
    """A tensor per entry: dtype and dims of output_desc, else of input_desc (graph-conventions.md 0.8)."""
    ops = [
        relayout(reader.input(place), reader.read_as(place), reader.graph.tensors[at])
        for place, at in enumerate(reader.node.outputs)
    ]
    return Each(tuple(ops))


def _const(reader: OpReader) -> None:
    at = reader.node.outputs[0] if reader.node.outputs else None
    if at is None or reader.graph.tensors[at].value is None:
        raise OpError("is missing", "value", GraphStatus.OM_MODEL)


def _nothing(reader: OpReader) -> None:
    """An op that computes nothing."""
    reader.node.inputs, reader.node.input_shapes = (), ()


def _trans_data(reader: OpReader) -> Op:
    for name in ("input_format", "output_format"):
        number = reader.attrs.integer(name)
        if number not in INT_FORMATS:
            raise OpError(f"format {number} is not supported", name, GraphStatus.GRAPH_UNSUPPORTED)
    return relayout(reader.input(), reader.read_as(0), reader.output())


def _framework_op(reader: OpReader) -> Op | None:
    """An op of the framework that the AI CPU runs: its type is in an attribute."""
    kind = reader.attrs.text("original_type")
    if kind in RANDOM and not any(reader.attrs.integer(name, default=0) for name in ("seed", "seed2")):
        raise OpError(f"{kind} without a seed: the file does not determine the result", "seed", GraphStatus.OM_MODEL)
    meaning = MEANINGS.get(kind) if kind != "FrameworkOp" else None
    if meaning is None:
        raise OpError(f"type {kind!r} is not supported", "original_type", GraphStatus.GRAPH_UNSUPPORTED)
    return meaning(reader)


RANDOM = {"RandomStandardNormal", "RandomUniform", "RandomUniformInt", "TruncatedNormal", "Multinomial"}

MEANINGS: dict[str, Meaning] = {
    "Data": _data,
    "NetOutput": _net_output,
    "Const": _const,
    "Constant": _const,
    "Send": _nothing,
    "Recv": _nothing,
    "NoOp": _nothing,
    "AippConfig": _nothing,
    "AtomicAddrClean": _nothing,
    "MemSet": _nothing,
    "Aipp": read_aipp,
    "TransData": _trans_data,
    "FrameworkOp": _framework_op,
    **ge_products.MEANINGS,
    **ge_convs.MEANINGS,
    **ge_maps.MEANINGS,
    **ge_moves.MEANINGS,
    **ge_pointwise.MEANINGS,
}
"""The rows of om-format.md 10 and the ops that every graph has; a type without a row is refused by name."""


UNREAD = ("weight", "filter", "bias")
"""Attributes that repeat an operand; what an op of this kind reads are its operands."""


def read_op(reader: OpReader) -> None:
    """Give the node its op; OpError where the file does not say what it means."""
    hidden = is_fused(reader)
    listed = members(reader) if hidden else None
    if listed and listed != [reader.node.type]:
        reader.node.op = in_origin_order(reader, fused(reader, listed, MEANINGS.get(reader.node.type)))
        return
    meaning = MEANINGS.get(reader.node.type)
    if reader.node.type == BUFFER_FUSION:
        raise OpError("is fused of ops that the file does not list", "type", GraphStatus.OM_MODEL)
    if meaning is None:
        raise OpError(f"type {reader.node.type!r} is not supported", "type", GraphStatus.GRAPH_UNSUPPORTED)
    op = meaning(reader)
    for name in UNREAD:
        found = reader.attrs.find(name)
        if found is not None and found[1].WhichOneof("value") in ("t", "td", "bt"):
            reader.graph.notes.append(f"op {reader.node.name!r}: attribute {name} holds a tensor, which is not read")
    if op is None:
        return
    most = op.arity()[1]
    if most is not None and len(reader.node.inputs) > most:
        raise OpError(
            f"has {len(reader.node.inputs)} operands, {most} are known: what a fused op does with the others is not in "
            "its attributes",
            "type",
            GraphStatus.OM_MODEL,
        )
    if hidden and listed is None:
        raise OpError("is fused with ops that the file does not list", "fusion_scope", GraphStatus.OM_MODEL)
    reader.node.op = in_origin_order(reader, op)
