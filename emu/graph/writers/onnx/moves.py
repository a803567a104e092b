"""Ops that move, cut, join and gather values in ONNX. Every shape is known, so that most are Reshape and Slice."""

from __future__ import annotations

import numpy as np

from emu.graph.ops.configured import Configured
from emu.graph.ops.elementwise import check_axis
from emu.graph.ops.fill import Broadcast, Fill, MatrixDiag, Range, Rank, ShapeOf
from emu.graph.ops.gather import (
    EmbeddingLookup,
    EmbeddingLookupSparse,
    Gather,
    GatherNd,
    ScatterElements,
    SparseToDense,
)
from emu.graph.ops.move import Concat, Convert, Copy, Each, Flatten, Permute, Reshape, Squeeze, Unsqueeze
from emu.graph.ops.slicing import (
    CaffeCrop,
    Pad,
    PadMode,
    Reverse,
    ReverseSequence,
    Slice,
    Split,
    Stack,
    StridedSlice,
    Tile,
    Unstack,
)
from emu.graph.ops.space import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from emu.graph.writers.onnx.builder import Builder, Site, emit, emits, no_counterpart


@emits(Copy, Convert)
def _copy(op: Copy | Convert, site: Site) -> list[str]:
    return [site.name(place) for place in range(len(site.names))]


@emits(Each)
def _each(op: Each, site: Site) -> list[str]:
    found: list[str] = []
    for place, inner in enumerate(op.ops):
        alone = Site(site.builder, (site.name(place),), (site.operand(place),), (site.results[place],), site.dtype)
        found += emit(inner, alone)
    return found


@emits(Configured)
def _configured(op: Configured, site: Site) -> list[str]:
    fixed = op.fixed(*(None if operand is None else operand.value for operand in site.operands))
    if fixed is None:
        raise no_counterpart("an attribute is computed")
    kept = [place for place in range(len(site.names)) if place not in op.places]
    names, operands = tuple(site.names[at] for at in kept), tuple(site.operands[at] for at in kept)
    return emit(fixed, Site(site.builder, names, operands, site.results, site.dtype))


@emits(Reshape, Flatten, Squeeze, Unsqueeze)
def _reshape(op: object, site: Site) -> list[str]:
    return [site.builder.reshape(site.name(0), site.results[0])]


@emits(Permute)
def _permute(op: Permute, site: Site) -> list[str]:
    return [site.builder.transpose(site.name(0), op.order)]


@emits(Concat)
def _concat(op: Concat, site: Site) -> list[str]:
    return [site.builder.add("Concat", *site.names, axis=op.axis)]


def _cut(b: Builder, x: str, slices: tuple[slice, ...], shape: tuple[int, ...]) -> str:
    """Python's slices, a slice an axis, with ends that are sure to be taken as they are."""
    starts, ends, steps = [], [], []
    for part, size in zip(slices, shape, strict=True):
        start, end, step = part.indices(size)
        starts.append(start)
        # before the first element: ONNX counts a negative end from the back, but clips one that lies far before it
        ends.append(end if end >= 0 else -(1 << 40))
        steps.append(step)
    return b.add("Slice", x, b.integers(starts), b.integers(ends), b.integers(range(len(shape))), b.integers(steps))


@emits(Slice)
def _slice(op: Slice, site: Site) -> list[str]:
    return [_cut(site.builder, site.name(0), op.slices(site.shape(0)), site.shape(0))]


@emits(CaffeCrop)
def _crop(op: CaffeCrop, site: Site) -> list[str]:
    return [_cut(site.builder, site.name(0), op.slices(site.shape(0), site.shape(1)), site.shape(0))]


@emits(StridedSlice)
def _strided(op: StridedSlice, site: Site) -> list[str]:
    slices: list[slice] = []
    for selector in op.selectors(site.shape(0)):
        if isinstance(selector, slice):
            slices.append(selector)
        elif selector is not None:
            slices.append(slice(selector, selector + 1))
    cut = _cut(site.builder, site.name(0), tuple(slices), site.shape(0))
    return [site.builder.reshape(cut, site.results[0])]


@emits(Reverse)
def _reverse(op: Reverse, site: Site) -> list[str]:
    rank = len(site.shape(0))
    axes = {check_axis(axis, rank) for axis in op.axes}
    slices = tuple(slice(None, None, -1 if axis in axes else None) for axis in range(rank))
    return [_cut(site.builder, site.name(0), slices, site.shape(0))]


@emits(Pad)
def _pad(op: Pad, site: Site) -> list[str]:
    b, pads = site.builder, [*op.paddings[::2], *op.paddings[1::2]]
    if op.mode is PadMode.CONSTANT:
        return [b.add("Pad", site.name(0), b.integers(pads), b.constant(op.value, site.operand(0).dtype))]
    if op.mode in (PadMode.REFLECT, PadMode.EDGE):
        return [b.add("Pad", site.name(0), b.integers(pads), mode=op.mode.value)]
    # mirrored with its edge: ONNX has no such mode, so the places are named axis by axis
    y = site.name(0)
    pairs = zip(op.paddings[::2], op.paddings[1::2], strict=True)
    for axis, ((before, after), size) in enumerate(zip(pairs, site.shape(0), strict=True)):
        if before or after:
            places = np.pad(np.arange(size), (before, after), mode="symmetric")
            y = b.add("Gather", y, b.integers(places.tolist()), axis=axis)
    return [y]


@emits(Tile)
def _tile(op: Tile, site: Site) -> list[str]:
    return [site.builder.add("Tile", site.name(0), site.builder.integers(op.multiples))]


@emits(ReverseSequence)
def _reverse_sequence(op: ReverseSequence, site: Site) -> list[str]:
    rank = len(site.shape(0))
    sequence, batch = check_axis(op.sequence_axis, rank), check_axis(op.batch_axis, rank)
    b, lengths = site.builder, site.builder.cast(site.name(1), np.int64)
    # ONNX has time and batch as the first two axes
    order = [sequence, batch, *(axis for axis in range(rank) if axis not in (sequence, batch))]
    y = b.add("ReverseSequence", b.transpose(site.name(0), order), lengths, time_axis=0, batch_axis=1)
    return [b.transpose(y, np.argsort(order).tolist())]


@emits(Split)
def _split(op: Split, site: Site) -> list[str]:
    axis = check_axis(op.axis, len(site.shape(0)))
    sizes = op.sizes or (site.shape(0)[axis] // op.count,) * op.count
    return site.builder.add_many("Split", [site.name(0), site.builder.integers(sizes)], len(sizes), axis=axis)


@emits(Stack)
def _stack(op: Stack, site: Site) -> list[str]:
    b, axis = site.builder, check_axis(op.axis, len(site.results[0]))
    shape = [*site.shape(0)[:axis], 1, *site.shape(0)[axis:]]
    return [b.add("Concat", *(b.reshape(site.name(at), shape) for at in range(len(site.names))), axis=axis)]


@emits(Unstack)
def _unstack(op: Unstack, site: Site) -> list[str]:
    b, axis = site.builder, check_axis(op.axis, len(site.shape(0)))
    count = site.shape(0)[axis]
    parts = b.add_many("Split", [site.name(0), b.integers([1] * count)], count, axis=axis)
    return [b.reshape(part, shape) for part, shape in zip(parts, site.results, strict=False)]


# --- maps ---------------------------------------------------------------------------------------------------------


def _blocks(b: Builder, x: str, split: list[int], order: list[int], shape: tuple[int, ...]) -> str:
    return b.reshape(b.transpose(b.reshape(x, split), order), shape)


@emits(SpaceToDepth, DepthToSpace)
def _space(op: SpaceToDepth | DepthToSpace, site: Site) -> list[str]:
    b, k = site.builder, op.block
    if op.channels_last:
        n, h, w, c = site.shape(0)
    else:
        n, c, h, w = site.shape(0)
    if isinstance(op, SpaceToDepth):
        if op.channels_last:
            return [_blocks(b, site.name(0), [n, h // k, k, w // k, k, c], [0, 1, 3, 2, 4, 5], site.results[0])]
        return [_blocks(b, site.name(0), [n, c, h // k, k, w // k, k], [0, 3, 5, 1, 2, 4], site.results[0])]
    c //= k * k
    if op.channels_last:
        return [_blocks(b, site.name(0), [n, h, w, k, k, c], [0, 1, 3, 2, 4, 5], site.results[0])]
    return [b.add("DepthToSpace", site.name(0), blocksize=k, mode="DCR")]


@emits(SpaceToBatch)
def _space_to_batch(op: SpaceToBatch, site: Site) -> list[str]:
    b, (k, m), (top, bottom, left, right) = site.builder, op.block_shape, op.paddings
    n, h, w, c = site.shape(0)
    zero = b.constant(0, site.operand(0).dtype)
    x = b.add("Pad", site.name(0), b.integers([0, top, left, 0, 0, bottom, right, 0]), zero)
    h, w = h + top + bottom, w + left + right
    return [_blocks(b, x, [n, h // k, k, w // m, m, c], [2, 4, 0, 1, 3, 5], site.results[0])]


@emits(BatchToSpace)
def _batch_to_space(op: BatchToSpace, site: Site) -> list[str]:
    b, (k, m), (top, bottom, left, right) = site.builder, op.block_shape, op.crops
    n, h, w, c = site.shape(0)
    n //= k * m
    y = _blocks(b, site.name(0), [k, m, n, h, w, c], [2, 3, 0, 4, 1, 5], (n, h * k, w * m, c))
    return [b.slice(y, [top, left], [h * k - bottom, w * m - right], [1, 2])]


# --- places named by values ---------------------------------------------------------------------------------------


@emits(Gather)
def _gather(op: Gather, site: Site) -> list[str]:
    b, axis = site.builder, check_axis(op.axis, len(site.shape(0)))
    batch = op.batch_dims + len(site.shape(1)) if op.batch_dims < 0 else op.batch_dims
    places = b.cast(site.name(1), np.int64)
    if not batch:
        return [b.add("Gather", site.name(0), places, axis=axis)]
    if batch != axis:
        raise no_counterpart("batch dimensions before other ones")
    lead = site.shape(1)[:batch]
    flat = b.reshape(places, [*lead, -1, 1])
    return [b.reshape(b.add("GatherND", site.name(0), flat, batch_dims=batch), site.results[0])]


@emits(GatherNd)
def _gather_nd(op: GatherNd, site: Site) -> list[str]:
    b = site.builder
    batch = op.batch_dims + len(site.shape(1)) if op.batch_dims < 0 else op.batch_dims
    return [b.add("GatherND", site.name(0), b.cast(site.name(1), np.int64), batch_dims=batch)]


@emits(ScatterElements)
def _scatter(op: ScatterElements, site: Site) -> list[str]:
    b = site.builder
    return [b.add("ScatterElements", site.name(0), b.cast(site.name(1), np.int64), site.name(2), axis=op.axis)]


@emits(SparseToDense)
def _sparse_to_dense(op: SparseToDense, site: Site) -> list[str]:
    b, dtype, rank = site.builder, site.operand(2).dtype, len(op.dims)
    places = b.reshape(b.cast(site.name(0), np.int64), [-1, rank])
    count = int(np.prod(site.shape(0))) // rank
    default = b.constant(0, dtype) if site.optional(3) is None else b.reshape(site.name(3), [])
    values = b.add("Expand", b.reshape(site.name(2), [-1]), b.integers([count]))
    return [b.add("ScatterND", b.add("Expand", default, b.integers(op.dims)), places, values)]


def _rows(site: Site, places: str, maximum_norm: float) -> str:
    """Rows of the table, those longer than the norm scaled down to it; [count, …]."""
    b = site.builder
    rows = b.add("Gather", site.name(0), places, axis=0)
    if maximum_norm <= 0:
        return rows
    axes = list(range(1, len(site.shape(0))))
    norms = b.add("ReduceL2", rows, axes=axes, keepdims=1)
    limit = b.constant(maximum_norm, np.float32)
    return b.add("Mul", rows, b.add("Div", limit, b.add("Max", norms, limit)))


@emits(EmbeddingLookup)
def _embedding(op: EmbeddingLookup, site: Site) -> list[str]:
    b = site.builder
    places = b.integers(op.ids) if site.optional(1) is None else b.reshape(b.cast(site.name(1), np.int64), [-1])
    return [b.reshape(_rows(site, places, op.maximum_norm), site.results[0])]


@emits(EmbeddingLookupSparse)
def _embedding_sparse(op: EmbeddingLookupSparse, site: Site) -> list[str]:
    b = site.builder
    rows = _rows(site, b.integers(op.ids), op.maximum_norm)
    weights = np.array(op.weights or (1.0,) * len(op.ids), np.float32)
    weighted = b.add("Mul", rows, b.constant(weights.reshape(-1, *(1,) * (len(site.shape(0)) - 1))))
    return [b.add("ReduceSum", weighted, b.integers([0]), keepdims=1)]


# --- made from nothing but dims -----------------------------------------------------------------------------------


@emits(ShapeOf, Rank)
def _shape(op: ShapeOf | Rank, site: Site) -> list[str]:
    if isinstance(op, ShapeOf):
        return [site.builder.cast(site.builder.add("Shape", site.name(0)), np.int32)]
    return [site.builder.cast(site.builder.add("Size", site.builder.add("Shape", site.name(0))), np.int32)]


@emits(Fill)
def _fill(op: Fill, site: Site) -> list[str]:
    b = site.builder
    first = b.slice(b.reshape(site.name(0), [-1]), [0], [1], [0])
    return [b.add("Expand", b.reshape(first, []), b.integers(op.dims))]


@emits(Broadcast)
def _broadcast(op: Broadcast, site: Site) -> list[str]:
    return [site.builder.add("Expand", site.name(0), site.builder.integers(op.dims))]


@emits(Range)
def _range(op: Range, site: Site) -> list[str]:
    b = site.builder
    return [b.add("Range", *(b.constant(value, np.int64) for value in (op.start, op.limit, op.delta)))]


@emits(MatrixDiag)
def _matrix_diag(op: MatrixDiag, site: Site) -> list[str]:
    b = site.builder
    rows, columns = site.results[0][-2:]
    length, rank = site.shape(0)[-1], len(site.results[0])
    step = np.arange(length)
    places = np.zeros((rows, columns), np.int64)
    places[step + max(-op.k, 0), step + max(op.k, 0)] = step
    inside = np.zeros((rows, columns), bool)
    inside[step + max(-op.k, 0), step + max(op.k, 0)] = True
    spread = b.add("Gather", site.name(0), b.constant(places), axis=rank - 2)
    return [b.add("Where", b.constant(inside), spread, b.constant(op.padding, site.operand(0).dtype))]
