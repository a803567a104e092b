"""Tensors made from attributes or from a shape alone (graph-conventions.md MS-O10, O16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import need_shape


@dataclass(frozen=True, slots=True)
class ShapeOf(Op):
    """The operand's dims as int32."""

    exact: ClassVar[bool] = True

    def shape(self, x: Operand) -> Shape:
        return (len(x.shape),)

    def reference(self, x: Array) -> Array:
        return np.array(x.shape, np.int32)


@dataclass(frozen=True, slots=True)
class Rank(Op):
    """The number of the operand's dimensions, as int32."""

    exact: ClassVar[bool] = True

    def shape(self, x: Operand) -> Shape:
        return ()

    def reference(self, x: Array) -> Array:
        return np.array(x.ndim, np.int32)


@dataclass(frozen=True, slots=True)
class Fill(Op):
    """A tensor of `dims` whose every element is the first element of the operand."""

    exact: ClassVar[bool] = True
    dims: Shape

    def shape(self, value: Operand) -> Shape:
        if any(size < 0 for size in self.dims):
            raise OpError(f"{list(self.dims)}", "dims")
        if 0 in value.shape:
            raise OpError("the value has no elements")
        return self.dims

    def reference(self, value: Array) -> Array:
        return np.full(self.dims, value.reshape(-1)[0], value.dtype)


@dataclass(frozen=True, slots=True)
class Range(Op):
    """start, start + delta, … before limit, of `count` elements as they follow from the three."""

    start: int
    limit: int
    delta: int

    def shape(self) -> Shape:
        if self.delta == 0:
            raise OpError("0 never reaches the limit", "delta")
        return (len(range(self.start, self.limit, self.delta)),)

    def reference(self) -> Array:
        return np.arange(self.start, self.limit, self.delta, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Broadcast(Op):
    """The operand repeated to `dims` by numpy's rule; a second operand, where present, repeats `dims`."""

    exact: ClassVar[bool] = True
    dims: Shape

    def shape(self, x: Operand, dims: Operand | None = None) -> Shape:
        if dims is not None:
            need_shape(dims.shape, (len(self.dims),), "the shape operand")
            if dims.value is not None:
                self._check(dims.value)
        if np.broadcast_shapes(x.shape, self.dims) != self.dims:
            raise OpError(f"{list(x.shape)} does not repeat to {list(self.dims)}")
        return self.dims

    def _check(self, dims: Array) -> None:
        if tuple(int(size) for size in dims) != self.dims:
            raise OpError(f"the shape operand says {dims.tolist()}, the output has {list(self.dims)}")

    def reference(self, x: Array, dims: Array | None = None) -> Array:
        if dims is not None:
            self._check(dims)
        return np.broadcast_to(x, self.dims)


@dataclass(frozen=True, slots=True)
class MatrixDiag(Op):
    """tf.linalg.diag (MatrixDiagV2) with one diagonal: the last axis lies on diagonal `k`, `padding` around it.

    Rows and columns of -1 are the fewest that hold the diagonal: both -1 give the smallest square.
    """

    k: int = 0
    rows: int = -1
    columns: int = -1
    padding: float = 0.0

    def _sizes(self, length: int) -> tuple[int, int]:
        least_rows, least_columns = length + max(-self.k, 0), length + max(self.k, 0)
        rows, columns = self.rows, self.columns
        if rows == -1 and columns == -1:
            rows = columns = max(least_rows, least_columns)
        rows = least_rows if rows == -1 else rows
        columns = least_columns if columns == -1 else columns
        room = min(rows - max(-self.k, 0), columns - max(self.k, 0))
        if room != length:
            raise OpError(f"diagonal {self.k} of {rows}x{columns} holds {max(room, 0)} elements, not {length}", "k")
        return rows, columns

    def shape(self, diagonal: Operand) -> Shape:
        if not diagonal.shape:
            raise OpError("the diagonal has no dimensions")
        return (*diagonal.shape[:-1], *self._sizes(diagonal.shape[-1]))

    def reference(self, diagonal: Array) -> Array:
        length = diagonal.shape[-1]
        out = np.full((*diagonal.shape[:-1], *self._sizes(length)), self.padding, diagonal.dtype)
        step = np.arange(length)
        out[..., step + max(-self.k, 0), step + max(self.k, 0)] = diagonal
        return out
