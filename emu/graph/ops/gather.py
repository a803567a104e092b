"""Reads and writes at places that another tensor names (graph-conventions.md MS-O14, O15)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import need_rank, need_shape
from emu.graph.ops.elementwise import check_axis


def checked_places(places: Array, size: int, what: str = "index") -> Array:
    """The places as int64; refuses the first that is not in 0..size-1."""
    if places.dtype.kind not in "iu":
        raise OpError(f"{what} is {places.dtype}, not an integer")
    wide = places.astype(np.int64)
    wrong = (wide < 0) | (wide >= size)
    if wrong.any():
        raise OpError(f"{what} {int(wide[wrong].flat[0])} is not in 0..{size - 1}")
    return wide


def _batch_dims(batch_dims: int, indices: Shape, limit: int) -> int:
    found = batch_dims + len(indices) if batch_dims < 0 else batch_dims
    if not 0 <= found <= limit:
        raise OpError(f"{batch_dims} batch dimensions, at most {limit}", "batchDims")
    return found


def _same_batch(x: Shape, indices: Shape, batch: int) -> None:
    if x[:batch] != indices[:batch]:
        raise OpError(f"batch dimensions {list(x[:batch])} and {list(indices[:batch])} differ", "batchDims")


@dataclass(frozen=True, slots=True)
class Gather(Op):
    """tf.gather: slices of `x` along `axis`, whose leading `batch_dims` dimensions run with those of the indices."""

    exact: ClassVar[bool] = True
    axis: int = 0
    batch_dims: int = 0

    def _axes(self, x: Shape, indices: Shape) -> tuple[int, int]:
        axis = check_axis(self.axis, len(x))
        batch = _batch_dims(self.batch_dims, indices, min(axis, len(indices)))
        _same_batch(x, indices, batch)
        return axis, batch

    def shape(self, x: Operand, indices: Operand) -> Shape:
        axis, batch = self._axes(x.shape, indices.shape)
        return x.shape[:axis] + indices.shape[batch:] + x.shape[axis + 1 :]

    def reference(self, x: Array, indices: Array) -> Array:
        axis, batch = self._axes(x.shape, indices.shape)
        places = checked_places(indices, x.shape[axis])
        lead = x.shape[:batch]
        flat = x.reshape(math.prod(lead), *x.shape[batch:])
        rows = places.reshape(math.prod(lead), *places.shape[batch:])
        out = np.empty((len(flat), *x.shape[batch:axis], *places.shape[batch:], *x.shape[axis + 1 :]), x.dtype)
        for at in range(len(flat)):
            out[at] = np.take(flat[at], rows[at], axis - batch)
        return out.reshape(lead + out.shape[1:])

    def fast(self, x: Array, indices: Array) -> Array:
        axis, batch = self._axes(x.shape, indices.shape)
        if batch:
            return self.reference(x, indices)
        return np.take(x, checked_places(indices, x.shape[axis]), axis)


@dataclass(frozen=True, slots=True)
class GatherNd(Op):
    """tf.gather_nd: the last dimension of the indices is a place in the axes after the `batch_dims`."""

    exact: ClassVar[bool] = True
    batch_dims: int = 0

    def _sizes(self, x: Shape, indices: Shape) -> tuple[int, int]:
        if not indices:
            raise OpError("the indices have no dimensions")
        batch = _batch_dims(self.batch_dims, indices, min(len(x), len(indices) - 1))
        _same_batch(x, indices, batch)
        depth = indices[-1]
        if batch + depth > len(x):
            raise OpError(f"places of {depth} numbers in {list(x)} after {batch} batch dimensions")
        return batch, depth

    def shape(self, x: Operand, indices: Operand) -> Shape:
        batch, depth = self._sizes(x.shape, indices.shape)
        return indices.shape[:-1] + x.shape[batch + depth :]

    def reference(self, x: Array, indices: Array) -> Array:
        batch, depth = self._sizes(x.shape, indices.shape)
        selectors = [
            np.arange(size).reshape([-1 if at == axis else 1 for at in range(indices.ndim - 1)])
            for axis, size in enumerate(x.shape[:batch])
        ]
        selectors += [checked_places(indices[..., at], x.shape[batch + at]) for at in range(depth)]
        if not selectors:
            return np.broadcast_to(x, indices.shape[:-1] + x.shape)
        full = np.broadcast_arrays(*selectors, np.empty(indices.shape[:-1], bool))[:-1]
        found: Array = x[tuple(full)]
        return found


@dataclass(frozen=True, slots=True)
class ScatterElements(Op):
    """ONNX Scatter-9: data with element [indices[i, …], …] along `axis` replaced by updates[i, …]; later ones win."""

    exact: ClassVar[bool] = True
    axis: int = 0

    def shape(self, data: Operand, indices: Operand, updates: Operand) -> Shape:
        axis = check_axis(self.axis, len(data.shape))
        if indices.shape != updates.shape:
            raise OpError(f"indices {list(indices.shape)} and updates {list(updates.shape)} differ")
        need_rank(indices.shape, len(data.shape), "indices")
        for at, (size, limit) in enumerate(zip(indices.shape, data.shape, strict=True)):
            if at != axis and size > limit:
                raise OpError(f"indices {list(indices.shape)} reach beyond {list(data.shape)} on axis {at}")
        return data.shape

    def reference(self, data: Array, indices: Array, updates: Array) -> Array:
        axis = check_axis(self.axis, data.ndim)
        size = data.shape[axis]
        wide = indices.astype(np.int64) if indices.dtype.kind in "iu" else indices
        places = checked_places(np.where(wide < 0, wide + size, wide), size)  # ONNX counts negatives from the end
        selectors: list[Array] = list(np.indices(indices.shape, sparse=True))
        selectors[axis] = places
        out = data.copy()
        out[tuple(selectors)] = updates
        return out


@dataclass(frozen=True, slots=True)
class SparseToDense(Op):
    """tf.sparse_to_dense: a tensor of `default` with `values` at the places that the rows of the indices name.

    The shape operand must say `dims`, the dims of the result in the file.
    """

    dims: Shape

    def shape(self, indices: Operand, shape: Operand, values: Operand, default: Operand | None = None) -> Shape:
        need_shape(shape.shape, (len(self.dims),), "the shape operand")
        if shape.value is not None:
            self._check_dims(shape.value)
        count = indices.shape[0] if indices.shape else 1
        wanted = ((count, len(self.dims)), (count,), ()) if len(self.dims) == 1 else ((count, len(self.dims)),)
        if indices.shape not in wanted:
            raise OpError(f"indices {list(indices.shape)} for an output of {len(self.dims)} dimensions")
        if values.shape not in ((), (1,), (count,)):
            raise OpError(f"values {list(values.shape)} for {count} places")
        if default is not None and default.shape not in ((), (1,)):
            raise OpError(f"default is {list(default.shape)}, not one value")
        return self.dims

    def _check_dims(self, dims: Array) -> None:
        if tuple(int(size) for size in dims) != self.dims:
            raise OpError(f"the shape operand says {dims.tolist()}, the output has {list(self.dims)}")

    def reference(self, indices: Array, shape: Array, values: Array, default: Array | None = None) -> Array:
        self._check_dims(shape)
        rows = indices.reshape(-1, len(self.dims))
        out = np.zeros(self.dims, values.dtype)
        if default is not None:
            out[...] = default.reshape(-1)[0]
        out[tuple(checked_places(rows[:, axis], size) for axis, size in enumerate(self.dims))] = values.reshape(-1)
        return out


def _limited(rows: Array, maximum_norm: float) -> Array:
    """Rows whose L2 norm is larger than `maximum_norm` scaled down to it; 0 is no limit."""
    if maximum_norm <= 0:
        return rows
    wide = rows.astype(np.float64).reshape(len(rows), -1)
    norms = np.sqrt(np.sum(np.square(wide), axis=1))
    factors = np.where(norms > maximum_norm, maximum_norm / np.where(norms > 0, norms, 1), 1.0)
    scaled: Array = (wide * factors[:, None]).reshape(rows.shape)
    return scaled


@dataclass(frozen=True, slots=True)
class EmbeddingLookup(Op):
    """Rows of the table by the second operand or by `ids`; rows longer than `maximum_norm` are scaled down to it."""

    ids: tuple[int, ...] = ()
    maximum_norm: float = 0.0

    def shape(self, table: Operand, ids: Operand | None = None) -> Shape:
        if not table.shape:
            raise OpError("the table has no dimensions")
        if ids is None and not self.ids:
            raise OpError("neither an ids operand nor ids", "ids")
        places = ids.shape if ids is not None else (len(self.ids),)
        return places + table.shape[1:]

    def reference(self, table: Array, ids: Array | None = None) -> Array:
        places = checked_places(np.array(self.ids, np.int64) if ids is None else ids, len(table), "id")
        rows = _limited(table[places.reshape(-1)], self.maximum_norm)
        return rows.reshape(places.shape + table.shape[1:]).astype(table.dtype)


@dataclass(frozen=True, slots=True)
class EmbeddingLookupSparse(Op):
    """One row: the sum of weight[i] * table[ids[i]], rows cut to `maximum_norm` before (absent weights are 1)."""

    ids: tuple[int, ...]
    weights: tuple[float, ...] = ()
    maximum_norm: float = 0.0

    def shape(self, table: Operand) -> Shape:
        if not table.shape:
            raise OpError("the table has no dimensions")
        if not self.ids:
            raise OpError("no ids", "spIds")
        if self.weights and len(self.weights) != len(self.ids):
            raise OpError(f"{len(self.weights)} weights for {len(self.ids)} ids", "spWeights")
        return (1, *table.shape[1:])

    def reference(self, table: Array) -> Array:
        places = checked_places(np.array(self.ids, np.int64), len(table), "id")
        rows = _limited(table[places], self.maximum_norm).astype(np.float64)
        weights = np.array(self.weights or (1.0,) * len(self.ids))
        return np.tensordot(weights, rows, 1)[None].astype(table.dtype)
