"""Nodes joined for speed: an activation that alone reads what a node computes is applied while that is in the cache.

Only activations that commute with the rounding to float16 are joined, so that every value stays as it is without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from emu.graph.ir import Graph, Node, Op
from emu.graph.ops.activation import Activation, Epilogue, Function, Then
from emu.graph.ops.adapted import Adapted
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.elementwise import Binary, Eltwise
from emu.graph.ops.linear import FullConnection

_JOINED = {Function.RELU, Function.RELU6}


def fused(graph: Graph, order: Sequence[int], kept: set[int]) -> list[Node]:
    """The nodes in the order in which they run, some of them joined; tensors of `kept` are still computed."""
    readers = Counter(at for place in order for at in graph.nodes[place].inputs)
    producer: dict[int, int] = {}
    nodes: list[Node | None] = []
    for place in order:
        node = graph.nodes[place]
        before = producer.get(node.inputs[0]) if len(node.inputs) == 1 and node.inputs[0] is not None else None
        joined = None
        if before is not None and node.inputs[0] not in kept and readers[node.inputs[0]] == 1:
            joined = _joined(graph, nodes[before], node)
        if joined is not None and before is not None:
            nodes[before] = None
            node = joined
        if len(node.outputs) == 1:
            producer[node.outputs[0]] = len(nodes)
        nodes.append(node)
    return [node for node in nodes if node is not None]


def _joined(graph: Graph, first: Node | None, second: Node) -> Node | None:
    """Both nodes as one, or None."""
    if first is None or not isinstance(second.op, Activation) or second.op.function not in _JOINED:
        return None
    if any(first.quantisations) or any(second.quantisations) or any(second.input_shapes) or len(second.outputs) != 1:
        return None
    between, result = graph.tensors[first.outputs[0]], graph.tensors[second.outputs[0]]
    alike = between.dtype == result.dtype and between.shape == result.shape
    if not alike or between.logical_shape != result.logical_shape or between.layout != result.layout:
        return None
    if between.dtype.kind != "f" or first.op is None:
        return None
    op = _with(first.op, Epilogue(function=second.op.function, coef=second.op.coef))
    return None if op is None else replace(first, op=op, outputs=second.outputs)


def _with(op: Op, epilogue: Epilogue) -> Op | None:
    """The op followed by an epilogue; None for one that has one already, or takes none."""
    match op:
        case Adapted():
            inner = _with(op.op, epilogue)
            return None if inner is None else replace(op, op=inner)
        case Conv() | ConvTranspose() | FullConnection() | Eltwise():
            return replace(op, epilogue=epilogue) if op.epilogue.idle else None
        case Binary():
            return Then(op, epilogue)
        case _:
            return None
