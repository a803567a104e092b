"""Ops whose attributes count axes, on packed tensors: they count them in the order that the tensor had before it was
packed (origin_format), as the kernels have it (tbe, shape_util.axis_transform_5d)."""

from __future__ import annotations

from emu.graph.ops import Op
from emu.graph.ops.activation import Activation
from emu.graph.ops.adapted import Adapted, View
from emu.graph.ops.configured import Fused
from emu.graph.ops.elementwise import Binary, Unary
from emu.graph.readers.om import ge_moves, ge_pointwise
from emu.graph.readers.om.ge_site import OpReader

WITHOUT_AXES = {"Cast", "CastT", "Identity", "IdentityN", "MemcpyAsync", "MemcpyAddrAsync", "Dropout"}
WITH_AXES = (set(ge_moves.MEANINGS) - WITHOUT_AXES) | {"Softmax", "SoftmaxV2", "LogSoftmaxV2"}
BROADCASTING = {*ge_pointwise.GE_BINARY, "Select", "SelectV2"}
PACKED = "NCHW"
"""The order in which ops see a tensor that was packed."""


def in_origin_order(reader: OpReader, op: Op) -> Op:
    """The op on its packed operands in the order of their origin, its packed results turned back."""
    node, tensors = reader.node, reader.graph.tensors
    operands = [None if at is None else tensors[at] for at in node.inputs]
    origins = [
        None if tensor is None or reader.read_as(place) is not None else tensor.origin
        for place, tensor in enumerate(operands)
    ]
    origin = next((each for each in origins if each is not None), None)
    broadcasting = node.type in BROADCASTING
    if isinstance(op, Fused):
        broadcasting = all(isinstance(step.op, Binary | Unary | Activation) for step in op.steps)
    if origin is None or not (broadcasting or node.type in WITH_AXES):
        return op
    if broadcasting and all(
        tensor is None or tensor.origin is not None or len(tensor.op_shape) == 0 for tensor in operands
    ):
        return op  # all operands are turned alike
    turned = tuple(PACKED.index(axis) for axis in origin)
    back = tuple(origin.index(axis) for axis in PACKED)
    results = {tensors[at].origin for at in node.outputs}
    return Adapted(
        op,
        views=tuple(None if each is None else View(turned) for each in origins),
        result_axes=back if results == {origin} else (),
    )
