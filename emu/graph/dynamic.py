"""Graphs with dims that only the run knows (-1 in the file), and the same graphs with the dims that inputs have.

The dims of every tensor follow from those of the inputs, op by op. Small integers that follow from dims alone (Shape,
and what is computed from it) are computed on the way, for ops read dims from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph import layouts
from emu.graph.ir import Array, Graph, Node, Operand, OpError, Shape, Tensor
from emu.graph.ops.fill import Rank, ShapeOf
from emu.graph.plan import check_arity, execution_order, read_shape
from emu.graph.step import FAULTS

UNKNOWN = -1
"""A dim that the file leaves to the run."""

VALUE_LIMIT = 4096
"""Elements of a value that is computed before the run."""


def is_dynamic(graph: Graph) -> bool:
    """Whether a tensor has dims that only the run knows."""
    return any(UNKNOWN in tensor.op_shape for tensor in graph.tensors)


def fits(shape: Shape, pattern: Shape) -> bool:
    """Whether an array of `shape` is one of `pattern`, where UNKNOWN stands for any size."""
    return len(shape) == len(pattern) and all(
        wanted in (UNKNOWN, size) for size, wanted in zip(shape, pattern, strict=True)
    )


def specialise(graph: Graph, shapes: Mapping[str, Shape]) -> Graph:
    """The graph for inputs of these shapes (key: port name); the graph itself where all its dims are known.

    An unknown dim of an input without a shape counts as 1, which is noted. Raises GraphError: GRAPH_INPUT for a shape
    that does not fit, GRAPH_UNSUPPORTED where dims depend on values that only ops can compute.
    """
    if not is_dynamic(graph):
        return graph
    chosen, notes = _input_shapes(graph, shapes)
    if graph.for_shapes is not None:
        found = graph.for_shapes(chosen)
        found.notes += notes
        return found
    found = replace(
        graph,
        tensors=[replace(tensor) for tensor in graph.tensors],
        nodes=[replace(node) for node in graph.nodes],
        notes=[*graph.notes, *notes],
    )
    for port in found.inputs:
        if port.name in chosen:
            found.tensors[port.tensor].shape = chosen[port.name]
    values = {at: tensor.value for at, tensor in enumerate(found.tensors) if tensor.value is not None}
    for place in execution_order(found):
        _resolve(found, found.nodes[place], values)
    return found


def _input_shapes(graph: Graph, shapes: Mapping[str, Shape]) -> tuple[dict[str, Shape], list[str]]:
    """The dims of each input that has unknown ones, and what was assumed."""
    chosen: dict[str, Shape] = {}
    notes: list[str] = []
    for port in graph.inputs:
        tensor = graph.tensors[port.tensor]
        if UNKNOWN not in tensor.shape:
            continue
        shape = shapes.get(port.name)
        if shape is None:
            shape = tuple(1 if size == UNKNOWN else size for size in tensor.shape)
            notes.append(f"input {port.name!r} is {tensor} and no array gives its dims: {list(shape)} is taken")
        if not fits(shape, tensor.shape):
            raise GraphError(
                GraphStatus.GRAPH_INPUT,
                f"input {port.name!r} is {list(shape)}, the model takes {tensor}",
                input=port.name,
            )
        chosen[port.name] = shape
    return chosen, notes


def _resolve(graph: Graph, node: Node, values: dict[int, Array]) -> None:
    """Give the results of a node their dims, and their values where these follow from dims alone."""
    op = node.op
    if op is None or node.refusal is not None:
        return
    operands = [
        None if at is None else Operand(read_shape(graph, node, place), graph.tensors[at].dtype, values.get(at))
        for place, at in enumerate(node.inputs)
    ]
    if any(operand is not None and UNKNOWN in operand.shape for operand in operands):
        return  # told of the op before it
    with np.errstate(all="ignore"):
        try:
            check_arity(graph, node, op)
            shapes: Any = op.shape(*operands)
            results = _value(op, operands)
        except (OpError, GraphError, *FAULTS):
            return  # the plan tells what is wrong
    shapes = shapes if isinstance(shapes, list) else [shapes]
    if results is not None:
        shapes = [result.shape for result in results]
        for at, result in zip(node.outputs, results, strict=False):
            if result.size <= VALUE_LIMIT and graph.tensors[at].dtype.kind in "iub":
                values[at] = result.astype(graph.tensors[at].dtype)
    for at, shape in zip(node.outputs, shapes, strict=False):
        tensor = graph.tensors[at]
        if UNKNOWN not in tensor.op_shape:
            continue
        if shape is None:
            raise GraphError(
                GraphStatus.GRAPH_UNSUPPORTED,
                f"op {node.name!r} ({node.type}): the dims of {tensor.name!r} depend on values that only the run knows",
                op=node.name,
            )
        if fits(shape, tensor.op_shape):
            _set_shape(tensor, shape)


def _set_shape(tensor: Tensor, shape: Shape) -> None:
    if tensor.logical_shape is None:
        tensor.shape = shape
    else:
        tensor.logical_shape = shape
        tensor.shape = layouts.packed_shape(tensor.layout, shape, tensor.dtype)


def _value(op: Any, operands: list[Operand | None]) -> list[Array] | None:
    """The results of an op whose operands are known and small, or whose operand's dims are all that counts."""
    arrays: list[Array | None] = []
    for operand in operands:
        if operand is None:
            arrays.append(None)
        elif isinstance(op, ShapeOf | Rank):
            arrays.append(np.broadcast_to(np.zeros((), operand.dtype), operand.shape))
        elif operand.value is None or operand.value.size > VALUE_LIMIT or operand.dtype.kind not in "iub":
            return None
        else:
            arrays.append(operand.value.reshape(operand.shape))
    if not arrays:
        return None
    found = op.fast(*arrays)
    return found if isinstance(found, list) else [found]
