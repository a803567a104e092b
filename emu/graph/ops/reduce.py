"""Reductions: over several axes, or to the place of the best element (graph-conventions.md MS-O11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import axes_of
from emu.graph.ops.elementwise import check_axis


class Reduction(StrEnum):
    """What becomes of the elements along the reduced axes."""

    MEAN = "mean"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    SUM = "sum"
    SUM_OF_SQUARES = "sum of squares"
    SUM_OF_MAGNITUDES = "sum of magnitudes"
    NORM = "norm"
    ALL = "all"


def _widest(x: Array) -> Array:
    """Sums and products run in the widest type of the kind and are rounded once."""
    return x.astype({"f": np.float64, "i": np.int64, "u": np.uint64, "b": np.int64}[x.dtype.kind])


_REDUCERS: dict[Reduction, Callable[[Array, tuple[int, ...]], Array]] = {
    # the mean of integers is cut to an integer afterwards, as TensorFlow divides them
    Reduction.MEAN: lambda x, axes: np.asarray(np.mean(x, axis=axes, keepdims=True, dtype=np.float64)),
    Reduction.MAX: lambda x, axes: np.max(x, axis=axes, keepdims=True),
    Reduction.MIN: lambda x, axes: np.min(x, axis=axes, keepdims=True),
    Reduction.PROD: lambda x, axes: np.prod(_widest(x), axis=axes, keepdims=True),
    Reduction.SUM: lambda x, axes: np.sum(_widest(x), axis=axes, keepdims=True),
    Reduction.SUM_OF_SQUARES: lambda x, axes: np.sum(np.square(_widest(x)), axis=axes, keepdims=True),
    Reduction.SUM_OF_MAGNITUDES: lambda x, axes: np.sum(np.abs(_widest(x)), axis=axes, keepdims=True),
    Reduction.NORM: lambda x, axes: np.sqrt(np.sum(np.square(_widest(x)), axis=axes, keepdims=True)),
    Reduction.ALL: lambda x, axes: np.asarray(np.all(x != 0, axis=axes, keepdims=True)),
}


def _reduced(shape: Shape, axes: tuple[int, ...], keep: bool) -> Shape:
    if keep:
        return tuple(1 if at in axes else size for at, size in enumerate(shape))
    return tuple(size for at, size in enumerate(shape) if at not in axes)


@dataclass(frozen=True, slots=True)
class Reduce(Op):
    """Reduce over `axes` (all where empty)."""

    reduction: Reduction
    axes: tuple[int, ...] = ()
    keep: bool = False

    def _axes(self, rank: int) -> tuple[int, ...]:
        return axes_of(self.axes, rank, "axes") if self.axes else tuple(range(rank))

    def shape(self, x: Operand) -> Shape:
        axes = self._axes(len(x.shape))
        if self.reduction in (Reduction.MEAN, Reduction.MAX, Reduction.MIN) and any(
            x.shape[axis] == 0 for axis in axes
        ):
            raise OpError(f"{self.reduction} of no elements", "axes")
        return _reduced(x.shape, axes, self.keep)

    def reference(self, x: Array) -> Array:
        axes = self._axes(x.ndim)
        found = _REDUCERS[self.reduction](x, axes).astype(x.dtype)
        return found.reshape(_reduced(x.shape, axes, self.keep))


@dataclass(frozen=True, slots=True)
class ArgBest(Op):
    """The `count` largest (or smallest) elements along `axis`, best first: their places, or with `values` themselves.

    Among equals the lower place comes first. The axis keeps `count` entries, or goes where `count` is 1 and not `keep`.
    """

    axis: int
    largest: bool = True
    count: int = 1
    keep: bool = False
    values: bool = False

    def shape(self, x: Operand) -> Shape:
        axis = check_axis(self.axis, len(x.shape))
        if not 1 <= self.count <= x.shape[axis]:
            raise OpError(f"the best {self.count} of {x.shape[axis]} elements", "topK")
        return x.shape[:axis] + ((self.count,) if self._keeps() else ()) + x.shape[axis + 1 :]

    def _keeps(self) -> bool:
        return self.keep or self.count > 1

    def reference(self, x: Array) -> Array:
        axis = check_axis(self.axis, x.ndim)
        places = best_places(x, axis, self.count, self.largest)
        found = np.take_along_axis(x, places, axis) if self.values else places
        return found if self._keeps() else found.squeeze(axis)


@dataclass(frozen=True, slots=True)
class TopK(Op):
    """The `k` largest elements along `axis`, descending, and their places as int32 (MS-O14)."""

    k: int
    axis: int = -1

    def shape(self, x: Operand) -> list[Shape | None]:
        axis = check_axis(self.axis, len(x.shape))
        if not 1 <= self.k <= x.shape[axis]:
            raise OpError(f"the best {self.k} along axis {axis} of {list(x.shape)}", "k")
        found = (*x.shape[:axis], self.k, *x.shape[axis + 1 :])
        return [found, found]

    def reference(self, x: Array) -> list[Array]:
        axis = check_axis(self.axis, x.ndim)
        places = best_places(x, axis, self.k, largest=True)
        return [np.take_along_axis(x, places, axis), places.astype(np.int32)]


def best_places(x: Array, axis: int, count: int, largest: bool) -> Array:
    """Places of the `count` best elements along `axis`, best first, the lower place first among equals."""
    if count == 1:
        best = np.argmax(x, axis) if largest else np.argmin(x, axis)
        return np.expand_dims(best, axis)
    if largest:  # a stable ascending sort of the reversed axis, read backwards, puts equals in order of place
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    return np.take(order, range(count), axis)


@dataclass(frozen=True, slots=True)
class Unique(Op):
    """The values of a vector in order of first occurrence, and for each element its place there (tf.unique)."""

    def shape(self, x: Operand) -> list[Shape | None]:
        if len(x.shape) != 1:
            raise OpError(f"needs one dimension, not {list(x.shape)}")
        return [None, x.shape]

    def reference(self, x: Array) -> list[Array]:
        values, first, inverse = np.unique(x, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return [values[order], rank[inverse.reshape(-1)].astype(np.int32)]
