"""Ops that only move values: copy, reshape, concatenate, permute. All exact, for every dtype."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.elementwise import check_axis


@dataclass(frozen=True, slots=True)
class Copy(Op):
    """Every operand as it is (Data, NetOutput, Dropout …); a dtype change is made by the result's tensor."""

    exact: ClassVar[bool] = True

    def shape(self, *operands: Operand) -> list[Shape]:
        return [operand.shape for operand in operands]

    def reference(self, *arrays: Array) -> list[Array]:
        return list(arrays)


@dataclass(frozen=True, slots=True)
class Convert(Op):
    """The value of x in the dtype and quantisation of the result's tensor (float to integer truncates)."""

    def shape(self, x: Operand) -> Shape:
        return x.shape

    def reference(self, x: Array) -> Array:
        return x


def caffe_reshape(shape: Shape, dims: tuple[int, ...], axis: int = 0, num_axes: int = -1) -> Shape:
    """`shape`, [axis, axis + num_axes) replaced by `dims`: 0 copies, -1 infers (graph-conventions.md OM-O13)."""
    rank = len(shape)
    start = axis if axis >= 0 else axis + rank + 1
    if not 0 <= start <= rank:
        raise OpError(f"axis {axis} is out of range for {rank} dimensions", "axis")
    end = rank if num_axes == -1 else start + num_axes
    if not start <= end <= rank:
        raise OpError(f"{num_axes} axes from axis {start} on exceed {rank} dimensions", "num_axes")
    middle = list(dims)
    for at, size in enumerate(middle):
        if size == 0:
            if start + at >= rank:
                raise OpError(f"0 at {at} copies dimension {start + at} of {rank}", "shape")
            middle[at] = shape[start + at]
        elif size < -1:
            raise OpError(f"size {size}", "shape")
    unknown = [at for at, size in enumerate(middle) if size == -1]
    if len(unknown) > 1:
        raise OpError(f"{len(unknown)} sizes are -1: {list(dims)}", "shape")
    fixed = math.prod(size for size in (*shape[:start], *middle, *shape[end:]) if size != -1)
    if unknown:
        if fixed == 0 or math.prod(shape) % fixed:
            raise OpError(f"{math.prod(shape)} values cannot be spread over {list(dims)}", "shape")
        middle[unknown[0]] = math.prod(shape) // fixed
    result = (*shape[:start], *middle, *shape[end:])
    if math.prod(result) != math.prod(shape):
        raise OpError(f"{math.prod(shape)} values cannot become {list(result)}", "shape")
    return result


@dataclass(frozen=True, slots=True)
class Reshape(Op):
    """Caffe's reshape, with the defaults that of the other frameworks; a second operand (the shape) is not read."""

    exact: ClassVar[bool] = True
    dims: tuple[int, ...]
    axis: int = 0
    num_axes: int = -1

    def shape(self, x: Operand, _: Operand | None = None) -> Shape:
        return caffe_reshape(x.shape, self.dims, self.axis, self.num_axes)

    def reference(self, x: Array, _: Array | None = None) -> Array:
        return x.reshape(caffe_reshape(x.shape, self.dims, self.axis, self.num_axes))


@dataclass(frozen=True, slots=True)
class Flatten(Op):
    """Dims start..end (inclusive) merged into one."""

    exact: ClassVar[bool] = True
    start: int = 1
    end: int = -1

    def shape(self, x: Operand) -> Shape:
        start = check_axis(self.start, len(x.shape), "start_axis")
        end = check_axis(self.end, len(x.shape), "end_axis")
        if end < start:
            raise OpError(f"{self.end} lies before start_axis {self.start}", "end_axis")
        return (*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :])

    def reference(self, x: Array) -> Array:
        return x.reshape(self.shape(Operand(x.shape, x.dtype)))


@dataclass(frozen=True, slots=True)
class Squeeze(Op):
    """Without the given dims of size 1, or without all of them."""

    exact: ClassVar[bool] = True
    axes: tuple[int, ...] = ()

    def shape(self, x: Operand) -> Shape:
        if not self.axes:
            return tuple(size for size in x.shape if size != 1)
        axes = {check_axis(axis, len(x.shape)) for axis in self.axes}
        for axis in sorted(axes):
            if x.shape[axis] != 1:
                raise OpError(f"dimension {axis} is {x.shape[axis]}, not 1", "axis")
        return tuple(size for at, size in enumerate(x.shape) if at not in axes)

    def reference(self, x: Array) -> Array:
        return x.reshape(self.shape(Operand(x.shape, x.dtype)))


@dataclass(frozen=True, slots=True)
class Unsqueeze(Op):
    """With dims of size 1 at the given places of the result."""

    exact: ClassVar[bool] = True
    axes: tuple[int, ...]

    def shape(self, x: Operand) -> Shape:
        rank = len(x.shape) + len(self.axes)
        axes = {check_axis(axis, rank) for axis in self.axes}
        if len(axes) != len(self.axes):
            raise OpError(f"axes {list(self.axes)} repeat", "axis")
        sizes = iter(x.shape)
        return tuple(1 if at in axes else next(sizes) for at in range(rank))

    def reference(self, x: Array) -> Array:
        return x.reshape(self.shape(Operand(x.shape, x.dtype)))


@dataclass(frozen=True, slots=True)
class Concat(Op):
    """Operands one after the other along an axis."""

    exact: ClassVar[bool] = True
    axis: int

    def shape(self, first: Operand, *others: Operand) -> Shape:
        axis = check_axis(self.axis, len(first.shape))
        length = first.shape[axis]
        for other in others:
            if len(other.shape) != len(first.shape) or any(
                a != b for at, (a, b) in enumerate(zip(first.shape, other.shape, strict=True)) if at != axis
            ):
                raise OpError(f"{list(first.shape)} and {list(other.shape)} differ beside axis {axis}", "axis")
            length += other.shape[axis]
        return (*first.shape[:axis], length, *first.shape[axis + 1 :])

    def reference(self, *arrays: Array) -> Array:
        return np.concatenate(arrays, axis=self.axis)


@dataclass(frozen=True, slots=True)
class Permute(Op):
    """np.transpose with the given order."""

    exact: ClassVar[bool] = True
    order: tuple[int, ...]

    def shape(self, x: Operand) -> Shape:
        if sorted(self.order) != list(range(len(x.shape))):
            raise OpError(f"{list(self.order)} is no permutation of {len(x.shape)} axes", "order")
        return tuple(x.shape[axis] for axis in self.order)

    def reference(self, x: Array) -> Array:
        return np.asarray(x.transpose(self.order), order="C")


@dataclass(frozen=True, slots=True)
class Each(Op):
    """Op i on operand i (results of a graph, each with its own change of layout)."""

    ops: tuple[Op, ...]

    def shape(self, *operands: Operand) -> list[Shape | None]:
        found: list[Shape | None] = []
        for op, operand in zip(self.ops, operands, strict=True):
            shape = op.shape(operand)
            found += shape if isinstance(shape, list) else [shape]
        return found

    def reference(self, *arrays: Array) -> list[Array]:
        found: list[Array] = []
        for op, array in zip(self.ops, arrays, strict=True):
            result = op.fast(array)
            found += result if isinstance(result, list) else [result]
        return found
