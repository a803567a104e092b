"""Runs a graph in numpy: one op after another in the order of its plan, every array freed after its last use."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph import layouts
from emu.graph.ir import Array, Graph, Node, Quantisation, Tensor, node_error
from emu.graph.ops import OpError
from emu.graph.plan import FAULTS, Plan, make_plan
from emu.graph.quant import dequantise, quantise

PIECE = 1 << 16
"""Elements of a piece of a pointwise op."""


def run(
    graph: Graph, inputs: Mapping[str, Array], *, until: str | None = None, reference: bool = False
) -> dict[str, Array]:
    """Execute the graph on `inputs` (key: port name; shape and dtype exactly those of the file).

    Returns the graph's outputs by key, or with `until` the operands of that op by tensor name. `reference` uses the
    plain form of every op. Raises GraphError.
    """
    return run_plan(make_plan(graph, until), inputs, reference=reference)


def run_plan(
    plan: Plan,
    inputs: Mapping[str, Array],
    *,
    reference: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Array]:
    """Execute a checked graph; a plan may be run any number of times. `progress` gets 1 after each of its steps."""
    graph = plan.graph
    arrays = dict(plan.constants)
    for port in graph.inputs:
        if port.name in inputs:
            arrays[port.tensor] = _checked_input(port.name, graph.tensors[port.tensor], inputs[port.name])
    known = {port.name for port in graph.inputs}
    for name in inputs:
        if name not in known:
            raise GraphError(
                GraphStatus.GRAPH_INPUT, f"no input is called {name!r}; inputs: {', '.join(sorted(known)) or 'none'}"
            )
    with np.errstate(all="ignore"):
        for place, dead in zip(plan.order, plan.releases, strict=True):
            if place in plan.plain and not reference:
                _plain_step(graph, graph.nodes[place], arrays)
            else:
                _step(graph, graph.nodes[place], arrays, reference)
            for at in dead:
                arrays.pop(at, None)
            if progress is not None:
                progress(1)
    return {port.name: np.asarray(_load(graph, port.tensor, arrays), order="C") for port in plan.results}


def _checked_input(name: str, tensor: Tensor, array: Array) -> Array:
    if array.dtype != tensor.dtype or array.shape != tensor.shape:
        raise GraphError(
            GraphStatus.GRAPH_INPUT,
            f"input {name!r} is {array.dtype}{list(array.shape)}, the model takes {tensor.dtype}{list(tensor.shape)}",
            input=name,
        )
    return array


def _load(graph: Graph, at: int, arrays: dict[int, Array]) -> Array:
    try:
        return arrays[at]
    except KeyError:
        raise _missing(graph, at) from None


def _missing(graph: Graph, at: int) -> GraphError:
    name = next((port.name for port in graph.inputs if port.tensor == at), graph.tensors[at].name)
    return GraphError(GraphStatus.GRAPH_INPUT, f"input {name!r} is missing", input=name)


def _plain_step(graph: Graph, node: Node, arrays: dict[int, Array]) -> None:
    """`_step` for a node of `Plan.plain`: a small network would spend its time on asking what never applies."""
    op = node.op
    assert op is not None
    try:
        operands = [arrays[at] for at in node.inputs if at is not None]
    except KeyError as error:
        raise _missing(graph, error.args[0]) from None
    try:
        pieces = _in_pieces(graph, node, [*operands]) if op.is_pointwise() else None
        found = op.fast(*operands) if pieces is None else pieces
    except OpError as error:
        raise node_error(graph, node, error.message, status=error.status, attribute=error.attribute) from error
    except FAULTS as error:
        raise node_error(graph, node, str(error) or type(error).__name__) from error
    for at, result in zip(node.outputs, found if isinstance(found, list) else (found,), strict=False):
        tensor = graph.tensors[at]
        fits = result.shape == tensor.shape and result.dtype == tensor.dtype
        arrays[at] = result if fits else _stored(graph, node, tensor, result, None)


def _step(graph: Graph, node: Node, arrays: dict[int, Array], reference: bool) -> None:
    op = node.op
    if op is None:
        return
    exact = op.exact and _same_quantisation(graph, node)
    quantisations = node.quantisations or (None,) * (len(node.inputs) + len(node.outputs))
    operands = [_operand(graph, node, place, arrays) for place in range(len(node.inputs))]
    compute = op.reference if reference else op.fast
    try:
        pieces = None if reference else _in_pieces(graph, node, operands)
        if pieces is not None:
            arrays[node.outputs[0]] = pieces
            return
        # an op may round to float16 itself only where that is what is stored
        half = op.half and not reference and all(graph.tensors[at].dtype == np.float16 for at in node.outputs)
        for place, array in enumerate(operands):
            if array is not None and not exact and not (half and array.dtype == np.float16):
                operands[place] = _real(array, quantisations[place])
        found = compute(*operands)
    except OpError as error:
        raise node_error(graph, node, error.message, status=error.status, attribute=error.attribute) from error
    except FAULTS as error:
        raise node_error(graph, node, str(error) or type(error).__name__) from error
    del operands
    results = found if isinstance(found, list) else [found]
    of_outputs = (None if exact else quantisation for quantisation in quantisations[len(node.inputs) :])
    for at, result, quantisation in zip(node.outputs, results, of_outputs, strict=False):
        arrays[at] = _stored(graph, node, graph.tensors[at], result, quantisation)


def _operand(graph: Graph, node: Node, place: int, arrays: dict[int, Array]) -> Array | None:
    """An operand as the file stores it, unpacked and in the shape under which the node reads it."""
    at = node.inputs[place]
    if at is None:
        return None
    tensor = graph.tensors[at]
    array = _load(graph, at, arrays)
    if tensor.logical_shape is not None:
        array = layouts.unpack(array, tensor.layout, tensor.logical_shape)
    override = node.input_shapes[place] if place < len(node.input_shapes) else None
    return array if override is None else array.reshape(override)


def _in_pieces(graph: Graph, node: Node, operands: list[Array | None]) -> Array | None:
    """The result of a pointwise op on large operands of one shape, piece by piece; None where that does not apply.

    What the op needs beside operands and result is then small, and stays in the cache.
    """
    op = node.op
    if op is None or not op.is_pointwise() or len(node.outputs) != 1 or any(node.quantisations):
        return None
    tensor = graph.tensors[node.outputs[0]]
    size = math.prod(tensor.shape)
    if size <= PIECE or tensor.logical_shape is not None:
        return None
    flat: list[Array] = []
    for array in operands:
        if array is None or array.shape != tensor.shape or not array.flags.c_contiguous:
            return None
        flat.append(array.reshape(-1))
    result = np.empty(size, tensor.dtype)
    for start in range(0, size, PIECE):
        piece = slice(start, start + PIECE)
        found = op.fast(*(_real(array[piece], None) for array in flat))
        assert isinstance(found, np.ndarray)
        result[piece] = found
    return result.reshape(tensor.shape)


def _real(array: Array, quantisation: Quantisation | None) -> Array:
    if quantisation is not None and array.dtype.kind in "iu":
        return dequantise(array, quantisation)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _stored(graph: Graph, node: Node, tensor: Tensor, result: Array, quantisation: Quantisation | None) -> Array:
    if result.shape != tensor.op_shape:
        raise node_error(
            graph, node, f"computed {list(result.shape)}, the file says {list(tensor.op_shape)}", attribute="dim"
        )
    if quantisation is not None and tensor.dtype.kind in "iu":
        result = quantise(result, quantisation, tensor.dtype)
    result = result.astype(tensor.dtype, copy=False)
    return result if tensor.logical_shape is None else layouts.pack(result, tensor.layout)


def _same_quantisation(graph: Graph, node: Node) -> bool:
    """Whether stored values may be moved as they are: no quantisation, or one and the same everywhere that allows every
    value of the dtype (else a stored value outside the range would have to be clipped)."""
    if not any(node.quantisations):
        return True
    for at, quantisation in zip((*node.inputs, *node.outputs), node.quantisations, strict=True):
        if at is not None and quantisation is not None:
            dtype = graph.tensors[at].dtype
            if dtype.kind not in "iu" or _whole_range(dtype) != (quantisation.lowest, quantisation.highest):
                return False
    keys = {None if each is None else _key(each) for each in node.quantisations}
    return len(keys) == 1 and all(each is not None and each.axis is None for each in node.quantisations)


def _whole_range(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _key(quantisation: Quantisation) -> tuple[Any, ...]:
    return (
        quantisation.scale.tobytes(),
        quantisation.zero_point.tobytes(),
        quantisation.lowest,
        quantisation.highest,
        quantisation.axis,
    )
