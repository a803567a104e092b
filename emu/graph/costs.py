"""What an op costs: multiply-accumulates of the products, counted from shapes alone.

Branches and loops count as nothing: what they cost depends on the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from emu.graph.ir import Graph, Node, Op, Operand, Shape
from emu.graph.ops.activation import Then
from emu.graph.ops.adapted import Adapted
from emu.graph.ops.aipp import Preceded
from emu.graph.ops.call import Call
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.linear import FullConnection, Gemm, MatMul
from emu.graph.ops.quantised import QuantisedProduct
from emu.graph.plan import read_shape


def macs(graph: Graph, node: Node) -> int:
    """Multiply-accumulates of one node of a graph whose shapes hold (`make_plan`); 0 for what has no products."""
    if node.op is None or not node.outputs:
        return 0
    operands = [
        None if at is None else Operand(read_shape(graph, node, place), graph.tensors[at].dtype)
        for place, at in enumerate(node.inputs)
    ]
    return _macs(node.op, operands, graph.tensors[node.outputs[0]].op_shape)


def total_macs(graph: Graph) -> int:
    return sum(macs(graph, node) for node in graph.nodes if node.refusal is None)


def _macs(op: Op, operands: Sequence[Operand | None], result: Shape) -> int:
    shapes = [() if operand is None else operand.shape for operand in operands]
    match op:
        case Conv():
            return math.prod(result) * math.prod(shapes[1][1:])
        case ConvTranspose():
            return math.prod(shapes[0]) * math.prod(shapes[1][1:])
        case FullConnection():
            return shapes[0][0] * math.prod(shapes[1])
        case MatMul() | Gemm():
            return math.prod(result) * shapes[0][-2 if op.transpose_a else -1]
        case QuantisedProduct():
            return _macs(op.product, operands, result)
        case Adapted():
            return _macs(op.op, op.turned(operands), result)
        case Then() | Preceded():
            return _macs(op.op, operands, result)
        case Call():
            return total_macs(op.subgraph.body.graph)
        case _:
            return 0


def parameters(graph: Graph) -> int:
    """Elements of the constants that ops compute with: floating or 8-bit ones, subgraphs included."""
    read = {at for node in graph.nodes for at in node.inputs}
    own = sum(
        math.prod(tensor.op_shape)
        for at, tensor in enumerate(graph.tensors)
        if at in read and tensor.value is not None and (tensor.dtype.kind == "f" or tensor.dtype.itemsize == 1)
    )
    called = [node.op.subgraph.body.graph for node in graph.nodes if isinstance(node.op, Call)]
    return own + sum(parameters(each) for each in called)
