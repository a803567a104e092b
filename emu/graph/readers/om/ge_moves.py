"""Ops of a graph-style ModelDef that move, choose, count or make elements.

Where the format has a form of an op with operands (Transpose) and one with attributes (TransposeD), both are one row.
"""

from __future__ import annotations

from emu.errors import GraphStatus
from emu.graph.ops import Op, OpError
from emu.graph.ops.elementwise import check_axis
from emu.graph.ops.fill import Broadcast, Fill, Range, Rank, ShapeOf
from emu.graph.ops.gather import Gather, GatherNd
from emu.graph.ops.move import Concat, Convert, Copy, Flatten, Permute, Reshape, Squeeze, Unsqueeze
from emu.graph.ops.reduce import ArgBest, Reduce, TopK
from emu.graph.ops.slicing import Pad, PadMode, Reverse, Slice, Split, Stack, StridedSlice, Tile, Unstack
from emu.graph.ops.space import DepthToSpace, SpaceToDepth
from emu.graph.readers.kernels import REDUCTIONS
from emu.graph.readers.om.ge_site import Meaning, OpReader
from emu.graph.readers.om.params import scaled
from emu.graph.readers.om.types import INT_DTYPES

Integers = tuple[int, ...]


def _one(values: Integers, name: str) -> int:
    if len(values) != 1:
        raise OpError(f"{len(values)} values, one is needed", name)
    return values[0]


def _cast(reader: OpReader) -> Op:
    """The result's dtype is that of output_desc (om-format.md 8.2); the attribute must agree."""
    number = reader.attrs.integer("DstT", "dst_type", "dst_dtype")
    dtype = INT_DTYPES.get(number)
    if dtype is None:
        raise OpError(f"data type {number} is not supported", "dst_dtype", GraphStatus.GRAPH_UNSUPPORTED)
    if dtype != reader.output().dtype:
        raise OpError(f"{dtype}, output_desc says {reader.output().dtype}", "dst_dtype")
    return Convert()


def _copy(reader: OpReader) -> Op:
    reader.need_outputs(len(reader.node.inputs))
    return Copy()


def _permute(reader: OpReader) -> Op:
    return reader.configured(Permute, (1, ("perm", "order")))


def _reshape(reader: OpReader) -> Op:
    """By attribute `shape`, else by the second operand; axis and num_axes as graph-conventions.md OM-O13."""
    axis, count = reader.attrs.integer("axis", default=0), reader.attrs.integer("num_axes", default=-1)
    if "shape" in reader.attrs:
        return scaled(Reshape(reader.attrs.integers("shape"), axis, count), reader.alpha())
    if len(reader.node.inputs) < 2:
        raise OpError("is missing", "shape", GraphStatus.OM_MODEL)
    op = reader.configured(lambda dims: Reshape(dims, axis, count), (1, ("shape",)))
    return scaled(op, reader.alpha())


def _flatten(reader: OpReader) -> Op:
    return scaled(
        Flatten(reader.attrs.integer("start_axis", "axis"), reader.attrs.integer("end_axis", default=-1)),
        reader.alpha(),
    )


def _squeeze(reader: OpReader) -> Op:
    return Squeeze(reader.attrs.integers("axes", "squeeze_dims", "axis"))


def _unsqueeze(reader: OpReader) -> Op:
    return reader.configured(Unsqueeze, (1, ("axes", "axis")))


def _concat(reader: OpReader) -> Op:
    """ConcatV2 has the axis as its last operand, Concat as its first where it has no attribute."""
    if reader.attrs.find("axis", "concat_dim") is not None:
        return scaled(Concat(reader.attrs.integer("axis", "concat_dim")), reader.alpha())
    if reader.node.type not in ("Concat", "ConcatV2"):
        raise OpError("is missing", "concat_dim", GraphStatus.OM_MODEL)
    place = 0 if reader.node.type == "Concat" else len(reader.node.inputs) - 1
    return reader.configured(lambda axis: Concat(_one(axis, "concat_dim")), (place, ("concat_dim",)))


def _pack(reader: OpReader) -> Op:
    return Stack(reader.attrs.integer("axis"))


def _unpack(reader: OpReader) -> Op:
    axis = reader.attrs.integer("axis")
    shape = reader.shape()
    count = reader.attrs.integer("num")
    if shape[check_axis(axis, len(shape))] != count:
        raise OpError(f"{count}, the axis has {shape[axis]} elements", "num")
    reader.need_outputs(count)
    return Unstack(axis)


def _split(reader: OpReader) -> Op:
    """split_dim, x (Split), or x alone (SplitD)."""
    count = reader.attrs.integer("num_split")
    reader.need_outputs(count)
    return reader.configured(lambda axis: Split(_one(axis, "split_dim"), count), (0, ("split_dim",)))


def _split_v(reader: OpReader) -> Op:
    """x, size_splits, split_dim (SplitV), or x alone (SplitVD)."""
    count = reader.attrs.integer("num_split")
    reader.need_outputs(count)

    def make(sizes: Integers, axis: Integers) -> Op:
        at = _one(axis, "split_dim")
        if len(sizes) != count:
            raise OpError(f"{len(sizes)} sizes of {count} parts", "size_splits")
        if sizes.count(-1) == 1:
            shape = reader.shape()
            rest = shape[check_axis(at, len(shape), "split_dim")] - sum(sizes) - 1
            sizes = tuple(rest if size == -1 else size for size in sizes)
        return Split(at, count, sizes)

    return reader.configured(make, (1, ("size_splits",)), (2, ("split_dim",)))


def _slice(reader: OpReader) -> Op:
    return reader.configured(lambda begin, size: Slice(begin, size=size), (1, ("offsets",)), (2, ("size",)))


def _strided_slice(reader: OpReader) -> Op:
    masks = [
        reader.attrs.integer(f"{name}_mask", default=0)
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    ]
    return reader.configured(
        lambda begin, end, strides: StridedSlice(begin, end, strides, *masks),
        (1, ("begin",)),
        (2, ("end",)),
        (3, ("strides",)),
    )


PAD_MODES = {"constant": PadMode.CONSTANT, "reflect": PadMode.REFLECT, "symmetric": PadMode.SYMMETRIC,
             "edge": PadMode.EDGE}  # fmt: skip


def _pad(reader: OpReader) -> Op:
    """x, paddings, constant_values: before and after for each axis, or without paddings_contiguous first all before."""
    named = reader.attrs.text("mode", default="constant").lower()
    mode = PAD_MODES.get(named)
    if mode is None:
        raise OpError(f"{named!r} is no mode", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    value = float(reader.attrs.number("constant_values", default=0.0))
    last = 1 if "paddings" in reader.attrs else 2
    if len(reader.node.inputs) > last:
        given = reader.input(last).value
        if given is None or given.size != 1:
            raise OpError("is no constant of one value", "constant_values", GraphStatus.GRAPH_UNSUPPORTED)
        value = float(given.reshape(-1)[0])
        reader.reorder(reader.node.inputs[:last])
    contiguous = reader.attrs.boolean("paddings_contiguous", default=True)

    def make(paddings: Integers) -> Op:
        if not contiguous:
            half = len(paddings) // 2
            paddings = tuple(each for pair in zip(paddings[:half], paddings[half:], strict=False) for each in pair)
        return Pad(mode, paddings, value)

    return reader.configured(make, (1, ("paddings",)))


def _tile(reader: OpReader) -> Op:
    return reader.configured(Tile, (1, ("multiples",)))


def _broadcast_to(reader: OpReader) -> Op:
    return reader.configured(Broadcast, (1, ("shape",)))


def _gather(reader: OpReader) -> Op:
    """x, indices; GatherV2 has the axis as its third operand, GatherV2D as attribute, Gather none (0)."""
    batch = reader.attrs.integer("batch_dims", default=0)
    if reader.node.type == "Gather":
        return Gather(0, batch)
    return reader.configured(lambda axis: Gather(_one(axis, "axis"), batch), (2, ("axis",)))


def _gather_nd(reader: OpReader) -> Op:
    return GatherNd(reader.attrs.integer("batch_dims", default=0))


def _reduce(reader: OpReader) -> Op:
    """x, axes; no axes reduce nothing, unless noop_with_empty_axes says otherwise."""
    reduction = REDUCTIONS[reader.node.type.removesuffix("D")]
    keep = reader.attrs.boolean("keep_dims")
    nothing = reader.attrs.boolean("noop_with_empty_axes", default=True)

    def make(axes: Integers) -> Op:
        return Convert() if not axes and nothing else Reduce(reduction, axes, keep)

    return reader.configured(make, (1, ("axes", "axis")))


def _arg_best(reader: OpReader) -> Op:
    largest = reader.node.type.startswith("ArgMax")
    return reader.configured(lambda axis: ArgBest(_one(axis, "dimension"), largest=largest), (1, ("dimension",)))


def _top_k(reader: OpReader) -> Op:
    """x, k: values and places, the largest first along the last axis."""
    for name, needed in (("sorted", True), ("largest", True)):
        if reader.attrs.boolean(name, default=needed) is not needed:
            raise OpError(f"{not needed} is not supported", name, GraphStatus.GRAPH_UNSUPPORTED)
    axis = reader.attrs.integer("dim", default=-1)
    if axis not in (-1, len(reader.shape()) - 1):
        raise OpError(f"{axis} is not the last axis", "dim", GraphStatus.GRAPH_UNSUPPORTED)
    return reader.configured(lambda k: TopK(_one(k, "k")), (1, ("k",)))


def _shape(reader: OpReader) -> Op:
    return ShapeOf()


def _rank(reader: OpReader) -> Op:
    return Rank()


def _fill(reader: OpReader) -> Op:
    """dims, value (Fill), or value alone (FillD)."""
    return reader.configured(Fill, (0, ("dims",)))


def _range(reader: OpReader) -> Op:
    """start, limit, delta, all integers."""

    def make(start: Integers, limit: Integers, delta: Integers) -> Op:
        return Range(_one(start, "start"), _one(limit, "limit"), _one(delta, "delta"))

    return reader.configured(make, (0, ("start",)), (1, ("limit",)), (2, ("delta",)))


def _reverse(reader: OpReader) -> Op:
    return reader.configured(Reverse, (1, ("axis",)))


def _depth_to_space(reader: OpReader) -> Op:
    mode = reader.attrs.text("mode", default="DCR")
    if mode != "DCR":
        raise OpError(f"{mode!r} is not supported", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    return DepthToSpace(reader.attrs.integer("block_size"), reader.channel_last)


def _space_to_depth(reader: OpReader) -> Op:
    return SpaceToDepth(reader.attrs.integer("block_size"), reader.channel_last)


MEANINGS: dict[str, Meaning] = {
    "Cast": _cast,
    "CastT": _cast,
    "Identity": _copy,
    "MemcpyAsync": _copy,
    "MemcpyAddrAsync": _copy,
    "IdentityN": _copy,
    "Dropout": _copy,
    "Permute": _permute,
    "Transpose": _permute,
    "TransposeD": _permute,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "ExpandDims": _unsqueeze,
    "Concat": _concat,
    "ConcatD": _concat,
    "ConcatV2": _concat,
    "ConcatV2D": _concat,
    "Pack": _pack,
    "Unpack": _unpack,
    "Split": _split,
    "SplitD": _split,
    "SplitV": _split_v,
    "SplitVD": _split_v,
    "Slice": _slice,
    "SliceD": _slice,
    "StridedSlice": _strided_slice,
    "StridedSliceD": _strided_slice,
    "Pad": _pad,
    "PadD": _pad,
    "PadV2": _pad,
    "PadV3": _pad,
    "PadV3D": _pad,
    "MirrorPad": _pad,
    "Tile": _tile,
    "TileD": _tile,
    "BroadcastTo": _broadcast_to,
    "BroadcastToD": _broadcast_to,
    "Gather": _gather,
    "GatherV2": _gather,
    "GatherV2D": _gather,
    "GatherNd": _gather_nd,
    **dict.fromkeys((*REDUCTIONS, *(f"{name}D" for name in REDUCTIONS)), _reduce),
    "ArgMaxV2": _arg_best,
    "ArgMaxD": _arg_best,
    "ArgMin": _arg_best,
    "ArgMinD": _arg_best,
    "TopKV2": _top_k,
    "TopKV2D": _top_k,
    "TopKD": _top_k,
    "Shape": _shape,
    "Rank": _rank,
    "Fill": _fill,
    "FillD": _fill,
    "Range": _range,
    "ReverseV2": _reverse,
    "ReverseV2D": _reverse,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
}
