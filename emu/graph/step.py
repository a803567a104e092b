"""One node made ready to run: what follows from its constants alone is made once, at its first run, and kept.

float16 tensors are held as float32 with the values of float16 between nodes (half.py), but for inputs until a node
reads them and results that no node reads; everything else as the file has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph import half, layouts
from emu.graph.ir import Array, Graph, Node, OpError, Quantisation, Shape, Tensor, node_error
from emu.graph.quant import dequantise, quantise

FAULTS = (ValueError, IndexError, OverflowError, ZeroDivisionError, MemoryError, TypeError)
"""What numpy raises for operands that an op's own checks let through."""

Change = Callable[[Array], Array]


def held_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """How a tensor of `dtype` is held between nodes."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def held(array: Array) -> Array:
    """An array of the file as it is held."""
    return half.widened(array) if array.dtype == np.float16 else array


def as_stored(array: Array, dtype: np.dtype[Any]) -> Array:
    """A held array in the dtype of its tensor."""
    return half.narrowed(array) if dtype == np.float16 and array.dtype == np.float32 else array


class Step:
    """A node of a checked graph; calling it takes operands from `arrays` and puts results there, both by place."""

    __slots__ = ("_compute", "_graph", "_last", "_loads", "_pointwise", "_stores", "_template", "node")

    def __init__(self, graph: Graph, node: Node, reference: bool, last: bool = False) -> None:
        """`last`: no other node reads the results, so that they may be left as the file stores them."""
        op = node.op
        assert op is not None
        self.node = node
        self._graph = graph
        self._last = last
        exact = op.exact and same_quantisation(graph, node)
        quantisations = (None,) * len(node.inputs) if exact else node.quantisations or (None,) * len(node.inputs)
        self._template: list[Array | None] = [None] * len(node.inputs)
        self._loads: list[tuple[int, int, Change | None]] = []
        for place, at in enumerate(node.inputs):
            if at is None:
                continue
            tensor = graph.tensors[at]
            override = node.input_shapes[place] if place < len(node.input_shapes) else None
            change = _loading(tensor, override, quantisations[place])
            if tensor.value is None:
                self._loads.append((place, at, change))
            else:
                # numpy copies an operand that is not aligned in every product
                value = np.require(held(tensor.value), requirements="A")
                self._template[place] = value if change is None else self._guarded(change, value)
        results = (None,) * len(node.outputs) if exact else node.quantisations[len(node.inputs) :]
        rounds = not (op.exact and _all_half(graph, node))
        self._stores: list[tuple[int, Shape, np.dtype[Any], Change | None]] = []
        for place, at in enumerate(node.outputs):
            tensor = graph.tensors[at]
            change = _storing(tensor, results[place] if place < len(results) else None, rounds)
            self._stores.append((at, tensor.op_shape, held_dtype(tensor.dtype), change))
        self._compute: Callable[..., Array | list[Array]] = (
            op.reference if reference else self._guarded(op.bind, *self._template)
        )
        alone = len(node.outputs) == 1 and not any(node.quantisations)
        self._pointwise = not reference and op.is_pointwise() and alone

    def __call__(self, arrays: dict[int, Array]) -> None:
        operands = self._template.copy()
        for place, at, change in self._loads:
            array = arrays.get(at)
            if array is None:
                raise missing(self._graph, at)
            if change is None and self._pointwise:
                operands[place] = array  # float16 is widened there, a piece at a time
                continue
            if array.dtype == np.float16:
                array = arrays[at] = half.widened(array)
            operands[place] = array if change is None else self._guarded(change, array)
        if self._pointwise:
            found = self._in_pieces(operands)
            if found is not None:
                arrays[self._stores[0][0]] = found
                return
            operands = [None if array is None else held(array) for array in operands]
        found = self._guarded(self._compute, *operands)
        results = found if isinstance(found, list) else (found,)
        for (at, shape, dtype, change), result in zip(self._stores, results, strict=False):
            if result.shape != shape:
                raise node_error(
                    self._graph,
                    self.node,
                    f"computed {list(result.shape)}, the file says {list(shape)}",
                    attribute="dim",
                )
            if change is half.rounded and _is_fresh(result, operands):
                result = half.round_in_place(result)
            elif change is not None:
                result = change(result)
            arrays[at] = result if result.dtype == dtype else result.astype(dtype)

    def _guarded(self, function: Callable[..., Any], *operands: Array | None) -> Any:
        try:
            return function(*operands)
        except OpError as error:
            raise node_error(
                self._graph, self.node, error.message, status=error.status, attribute=error.attribute
            ) from error
        except FAULTS as error:
            raise node_error(self._graph, self.node, str(error) or type(error).__name__) from error

    def _in_pieces(self, operands: list[Array | None]) -> Array | None:
        """The result of a pointwise op on large operands of one shape and memory order, a piece at a time; None where
        that does not apply. What the op needs beside operands and result is then small, and stays in the cache."""
        _, shape, dtype, change = self._stores[0]
        first = operands[0]
        if first is None or first.size <= half.BLOCK or self._graph.tensors[self._stores[0][0]].logical_shape:
            return None
        order = half.memory_order(first)
        flat: list[Array] = []
        for array in operands:
            if array is None or array.shape != shape or array.strides != first.strides:
                return None
            flat.append(array.transpose(order))
        if not flat[0].flags.c_contiguous:
            return None
        turned = flat[0].shape
        flat = [array.reshape(-1) for array in flat]
        narrow = self._last and change is half.rounded
        result = np.empty(len(flat[0]), np.float16 if narrow else dtype)
        room = np.empty((3, half.BLOCK), np.uint32)
        wide = [np.empty(half.BLOCK, np.float32) if array.dtype == np.float16 else None for array in flat]
        for start in range(0, len(result), half.BLOCK):
            pieces = [array[start : start + half.BLOCK] for array in flat]
            size = len(pieces[0])
            for at, space in enumerate(wide):
                if space is not None:
                    half.widen_block(pieces[at], space[:size], room[:, :size])
                    pieces[at] = space[:size]
            found = self._guarded(self._compute, *pieces)
            target = result[start : start + size]
            if narrow:
                half.narrow_block(found.astype(np.float32, copy=False), target, room[:, :size])
            elif change is not None:
                half.round_block(found.astype(np.float32, copy=False), target, room[:2, :size])
            else:
                target[...] = found
        return result.reshape(turned).transpose(np.argsort(order))


def _is_fresh(result: Array, operands: list[Array | None]) -> bool:
    """Whether a result lies in memory of its own, which no operand shares."""
    root = _root(result)
    return root.flags.owndata and all(operand is None or _root(operand) is not root for operand in operands)


def _root(array: Array) -> Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def missing(graph: Graph, at: int) -> GraphError:
    """A graph input that was not given."""
    name = next((port.name for port in graph.inputs if port.tensor == at), graph.tensors[at].name)
    return GraphError(GraphStatus.GRAPH_INPUT, f"input {name!r} is missing", input=name)


def _loading(tensor: Tensor, override: Shape | None, quantisation: Quantisation | None) -> Change | None:
    """From the held array of a tensor to what the op takes; None where that is the same."""
    changes: list[Change] = []
    logical = tensor.logical_shape
    if logical is not None:
        changes.append(lambda array: layouts.unpack(array, tensor.layout, logical))
    if override is not None:
        changes.append(lambda array: array.reshape(override))
    if quantisation is not None and tensor.dtype.kind in "iu":
        changes.append(lambda array: dequantise(array, quantisation))
    return _chain(changes)


def _storing(tensor: Tensor, quantisation: Quantisation | None, rounds: bool) -> Change | None:
    """From an op's result to the held array of its tensor, but for the dtype."""
    changes: list[Change] = []
    if quantisation is not None and tensor.dtype.kind in "iu":
        changes.append(lambda array: quantise(array, quantisation, tensor.dtype))
    if tensor.dtype == np.float16 and rounds:
        changes.append(half.rounded)
    if tensor.logical_shape is not None:
        # the order of packing depends on the size of an element
        changes.append(lambda array: layouts.pack(array.astype(held_dtype(tensor.dtype), copy=False), tensor.layout))
    return _chain(changes)


def _chain(changes: list[Change]) -> Change | None:
    if len(changes) < 2:
        return changes[0] if changes else None

    def chained(array: Array) -> Array:
        for change in changes:
            array = change(array)
        return array

    return chained


def _all_half(graph: Graph, node: Node) -> bool:
    """Whether all operands have the values of float16, so that moved ones have them too."""
    return all(at is None or graph.tensors[at].dtype == np.float16 for at in node.inputs)


def same_quantisation(graph: Graph, node: Node) -> bool:
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
