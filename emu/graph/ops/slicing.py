"""Parts of a tensor, and tensors made larger by what they hold (graph-conventions.md MS-O8 to O10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import axes_of, need_count, need_rank, need_shape
from emu.graph.ops.elementwise import check_axis


@dataclass(frozen=True, slots=True)
class Slice(Op):
    """Per axis `size` elements from `begin` on (size -1: to the end), or with `end` those before it, `stride` apart."""

    exact: ClassVar[bool] = True
    begin: tuple[int, ...]
    size: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()

    def slices(self, shape: Shape) -> tuple[slice, ...]:
        need_count(self.begin, len(shape), "begin")
        if self.end or self.stride:
            need_count(self.end, len(shape), "end")
            return _dense_slices(shape, self.begin, self.end, self.stride or (1,) * len(shape))
        need_count(self.size, len(shape), "size")
        slices = []
        for axis, (begin, size, limit) in enumerate(zip(self.begin, self.size, shape, strict=True)):
            end = limit if size == -1 else begin + size
            if size < -1 or not 0 <= begin <= end <= limit:
                raise OpError(f"{size} elements from {begin} on of {limit} (axis {axis})", "size")
            slices.append(slice(begin, end))
        return tuple(slices)

    def shape(self, x: Operand) -> Shape:
        return _sliced(x.shape, self.slices(x.shape))

    def reference(self, x: Array) -> Array:
        return x[self.slices(x.shape)]


def _sliced(shape: Shape, slices: Sequence[slice]) -> Shape:
    return tuple(len(range(*part.indices(size))) for part, size in zip(slices, shape, strict=True))


def _dense_slices(shape: Shape, begin: Sequence[int], end: Sequence[int], stride: Sequence[int]) -> tuple[slice, ...]:
    need_count(stride, len(shape), "stride")
    return tuple(
        _slice_of(first, last, step, axis)
        for axis, (first, last, step) in enumerate(zip(begin, end, stride, strict=True))
    )


def _slice_of(first: int | None, last: int | None, step: int, axis: int) -> slice:
    """One axis; Python counts negatives from the end and clips both ends as TensorFlow does, None is that end."""
    if step == 0:
        raise OpError(f"stride 0 on axis {axis}", "stride")
    return slice(first, last, step)


@dataclass(frozen=True, slots=True)
class StridedSlice(Op):
    """tf.strided_slice; bit i of each mask refers to entry i of begin, end and stride."""

    exact: ClassVar[bool] = True
    begin: tuple[int, ...]
    end: tuple[int, ...]
    stride: tuple[int, ...]
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    def selectors(self, shape: Shape) -> tuple[slice | int | None, ...]:
        """What numpy takes: a slice an axis, an int where the axis goes, None where a new one comes."""
        entries = len(self.begin)
        need_count(self.end, entries, "end")
        need_count(self.stride, entries, "stride")
        inside = (1 << entries) - 1
        ellipses = self.ellipsis_mask & inside
        if ellipses & (ellipses - 1):
            raise OpError(f"mask {self.ellipsis_mask:#x} has more than one ellipsis", "ellipsisMask")
        used = [at for at in range(entries) if not ellipses >> at & 1 and not self.new_axis_mask >> at & 1]
        left = len(shape) - len(used)
        if left < 0:
            raise OpError(f"{len(used)} entries for {len(shape)} dimensions", "begin")
        selectors: list[slice | int | None] = []
        axis = 0
        for at in range(entries):
            if ellipses >> at & 1:
                selectors += [slice(None)] * left
                axis += left
                left = 0
            elif self.new_axis_mask >> at & 1:
                selectors.append(None)
            else:
                selectors.append(self._selector(at, shape[axis], axis))
                axis += 1
        return (*selectors, *[slice(None)] * (len(shape) - axis))

    def _selector(self, at: int, size: int, axis: int) -> slice | int:
        begin, end, stride = self.begin[at], self.end[at], self.stride[at]
        if self.shrink_axis_mask >> at & 1:  # the masks for begin and end mean nothing here (TensorFlow)
            if stride <= 0:
                raise OpError(f"stride {stride} on axis {axis}, which goes", "stride")
            place = begin + size if begin < 0 else begin
            if not 0 <= place < size:
                raise OpError(f"element {begin} of {size} on axis {axis}", "begin")
            return place
        return _slice_of(
            None if self.begin_mask >> at & 1 else begin,
            None if self.end_mask >> at & 1 else end,
            stride,
            axis,
        )

    def shape(self, x: Operand) -> Shape:
        found: list[int] = []
        axis = 0
        for selector in self.selectors(x.shape):
            if selector is None:
                found.append(1)
                continue
            if isinstance(selector, slice):
                found.append(len(range(*selector.indices(x.shape[axis]))))
            axis += 1
        return tuple(found)

    def reference(self, x: Array) -> Array:
        return np.asarray(x[self.selectors(x.shape)])


@dataclass(frozen=True, slots=True)
class CaffeCrop(Op):
    """The first operand cut to the size of the second on the axes from `axis` on; an offset each, or one for all."""

    exact: ClassVar[bool] = True
    axis: int
    offsets: tuple[int, ...] = ()

    def slices(self, x: Shape, reference: Shape) -> tuple[slice, ...]:
        axis = check_axis(self.axis, len(x))
        need_rank(reference, len(x), "reference")
        cropped = len(x) - axis
        offsets = self.offsets or (0,)
        if len(offsets) == 1:
            offsets *= cropped
        need_count(offsets, cropped, "offsets")
        slices = [slice(None)] * axis
        for at, offset in enumerate(offsets, axis):
            if offset < 0 or offset + reference[at] > x[at]:
                raise OpError(f"{reference[at]} elements from {offset} on of {x[at]} (axis {at})", "offsets")
            slices.append(slice(offset, offset + reference[at]))
        return tuple(slices)

    def shape(self, x: Operand, reference: Operand) -> Shape:
        return _sliced(x.shape, self.slices(x.shape, reference.shape))

    def reference(self, x: Array, reference: Array) -> Array:
        return x[self.slices(x.shape, reference.shape)]


class PadMode(StrEnum):
    """What the new elements hold."""

    CONSTANT = "constant"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class Pad(Op):
    """New elements before and after each axis: `value`, the tensor mirrored without (reflect) or with its edge
    (symmetric), or the edge repeated."""

    mode: PadMode
    paddings: tuple[int, ...]
    value: float = 0.0

    def _pairs(self, shape: Shape) -> list[tuple[int, int]]:
        need_count(self.paddings, 2 * len(shape), "paddings")
        pairs = list(zip(self.paddings[::2], self.paddings[1::2], strict=True))
        for axis, (pair, size) in enumerate(zip(pairs, shape, strict=True)):
            limit = size - (self.mode is PadMode.REFLECT)
            mirrored = self.mode in (PadMode.REFLECT, PadMode.SYMMETRIC)
            empty_edge = self.mode is PadMode.EDGE and not size and any(pair)
            if min(pair) < 0 or (mirrored and max(pair) > max(limit, 0)) or empty_edge:
                raise OpError(f"{self.mode} padding {list(pair)} of {size} elements (axis {axis})", "paddings")
        return pairs

    def shape(self, x: Operand) -> Shape:
        return tuple(before + size + after for (before, after), size in zip(self._pairs(x.shape), x.shape, strict=True))

    def reference(self, x: Array) -> Array:
        more: dict[str, Any] = {"constant_values": self.value} if self.mode is PadMode.CONSTANT else {}
        padded: Array = np.pad(x, self._pairs(x.shape), mode=self.mode.value, **more)
        return padded


@dataclass(frozen=True, slots=True)
class Tile(Op):
    """The whole tensor repeated `multiples` times along each axis (numpy.tile)."""

    exact: ClassVar[bool] = True
    multiples: tuple[int, ...]

    def shape(self, x: Operand) -> Shape:
        need_count(self.multiples, len(x.shape), "multiples")
        if any(multiple < 0 for multiple in self.multiples):
            raise OpError(f"{list(self.multiples)}", "multiples")
        return tuple(size * multiple for size, multiple in zip(x.shape, self.multiples, strict=True))

    def reference(self, x: Array) -> Array:
        return np.tile(x, self.multiples)


@dataclass(frozen=True, slots=True)
class Reverse(Op):
    """The order of the elements turned round along `axes`."""

    exact: ClassVar[bool] = True
    axes: tuple[int, ...]

    def shape(self, x: Operand) -> Shape:
        axes_of(self.axes, len(x.shape))
        return x.shape

    def reference(self, x: Array) -> Array:
        return np.flip(x, axes_of(self.axes, x.ndim))


@dataclass(frozen=True, slots=True)
class ReverseSequence(Op):
    """tf.reverse_sequence: in batch entry i the first lengths[i] elements along `sequence_axis` turned round."""

    exact: ClassVar[bool] = True
    sequence_axis: int
    batch_axis: int = 0

    def _axes(self, x: Shape, lengths: Shape) -> tuple[int, int]:
        sequence = check_axis(self.sequence_axis, len(x), "seqAxis")
        batch = check_axis(self.batch_axis, len(x), "batchAxis")
        if sequence == batch:
            raise OpError(f"axis {batch} is both sequence and batch", "seqAxis")
        if lengths != (x[batch],):
            raise OpError(f"lengths {list(lengths)} for {x[batch]} batch entries")
        return sequence, batch

    def shape(self, x: Operand, lengths: Operand) -> Shape:
        self._axes(x.shape, lengths.shape)
        return x.shape

    def reference(self, x: Array, lengths: Array) -> Array:
        sequence, batch = self._axes(x.shape, lengths.shape)
        size = x.shape[sequence]
        wide = lengths.astype(np.int64)
        if ((wide < 0) | (wide > size)).any():
            raise OpError(f"lengths {wide.tolist()[:8]} of {size} elements")
        step = np.arange(size)
        places = np.where(step < wide[:, None], wide[:, None] - 1 - step, step)
        if batch > sequence:
            places = places.T
        kept = (min(batch, sequence), max(batch, sequence))
        places = places.reshape([x.shape[axis] if axis in kept else 1 for axis in range(x.ndim)])
        return np.take_along_axis(x, np.broadcast_to(places, x.shape), sequence)


@dataclass(frozen=True, slots=True)
class Split(Op):
    """Consecutive parts along `axis`: of the given sizes, or `count` equal ones."""

    exact: ClassVar[bool] = True
    axis: int
    count: int
    sizes: tuple[int, ...] = ()

    def _sizes(self, x: Shape) -> tuple[int, tuple[int, ...]]:
        axis = check_axis(self.axis, len(x), "splitDim")
        size = x[axis]
        if self.sizes:
            if min(self.sizes) < 0 or sum(self.sizes) != size:
                raise OpError(f"{list(self.sizes)} of {size} elements", "sizeSplits")
            return axis, self.sizes
        if self.count < 1 or size % self.count:
            raise OpError(f"{self.count} equal parts of {size} elements", "numberSplit")
        return axis, (size // self.count,) * self.count

    def shape(self, x: Operand) -> list[Shape | None]:
        axis, sizes = self._sizes(x.shape)
        return [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]

    def reference(self, x: Array) -> list[Array]:
        axis, sizes = self._sizes(x.shape)
        return np.split(x, np.cumsum(sizes)[:-1], axis)


@dataclass(frozen=True, slots=True)
class Stack(Op):
    """Operands of one shape side by side on a new axis."""

    exact: ClassVar[bool] = True
    axis: int

    def shape(self, first: Operand, *others: Operand) -> Shape:
        for other in others:
            need_shape(other.shape, first.shape, "an operand")
        axis = check_axis(self.axis, len(first.shape) + 1)
        return (*first.shape[:axis], 1 + len(others), *first.shape[axis:])

    def reference(self, *operands: Array) -> Array:
        return np.stack(operands, self.axis)


@dataclass(frozen=True, slots=True)
class Unstack(Op):
    """The slices along `axis`, each without it."""

    exact: ClassVar[bool] = True
    axis: int

    def shape(self, x: Operand) -> list[Shape | None]:
        axis = check_axis(self.axis, len(x.shape))
        return [x.shape[:axis] + x.shape[axis + 1 :]] * x.shape[axis]

    def reference(self, x: Array) -> list[Array]:
        return list(np.moveaxis(x, self.axis, 0))
