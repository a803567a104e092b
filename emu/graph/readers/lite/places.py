"""Lowerings of the operators that move, choose, reduce or make elements.

Shapes, axes and sizes are operands; they must be known before anything runs (constants, or computed from shapes).
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from emu.graph.ir import Op, OpError
from emu.graph.ops.activation import Epilogue
from emu.graph.ops.detection import DetectionPostProcess
from emu.graph.ops.elementwise import check_axis
from emu.graph.ops.fill import Broadcast, Fill, Rank, ShapeOf
from emu.graph.ops.gather import Gather, GatherNd
from emu.graph.ops.move import Concat, Copy, Permute, Reshape, Squeeze, Unsqueeze
from emu.graph.ops.one_hot import OneHot
from emu.graph.ops.reduce import ArgBest, Reduce, Reduction, TopK
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
from emu.graph.readers import kernels
from emu.graph.readers.lite.products import then
from emu.graph.readers.lite.site import Site, lowers, unsupported
from emu.graph.readers.lite.tensors import DTYPES
from emu.schemas.generated import ms_lite_v2 as lite

ArgBestTable: TypeAlias = lite.ArgMaxFusion | lite.ArgMinFusion

_REDUCTIONS = kernels.REDUCTIONS | {
    "ReduceASum": Reduction.SUM_OF_MAGNITUDES,
    "ReduceAll": Reduction.ALL,
    "ReduceL2": Reduction.NORM,
}
_ORDERS = {("NCHW", "NHWC"): (0, 2, 3, 1), ("NHWC", "NCHW"): (0, 3, 1, 2)}


@lowers("Reshape")
def _reshape(attr: lite.Reshape, at: Site) -> Op:
    dims = at.integers(1, "shape")
    at.take(0)
    return Reshape(dims)


@lowers("Squeeze")
def _squeeze(attr: lite.Squeeze, at: Site) -> Op:
    return Squeeze(attr.axis)


@lowers("Unsqueeze")
def _unsqueeze(attr: lite.Unsqueeze, at: Site) -> Op:
    return Unsqueeze(attr.axis)


@lowers("ExpandDims")
def _expand_dims(attr: lite.ExpandDims, at: Site) -> Op:
    axis = at.integer(1, "axis")
    at.take(0)
    return Unsqueeze((axis,))


@lowers("Flatten")
def _flatten(attr: lite.Flatten, at: Site) -> Op:
    shape = at.shape(0)
    axis = attr.axis + len(shape) if attr.axis < 0 else attr.axis
    if not 0 <= axis <= len(shape):
        raise OpError(f"axis {attr.axis} of {len(shape)} dimensions", "axis")
    at.reads[0] = (math.prod(shape[:axis]), math.prod(shape[axis:]))
    return Copy()


@lowers("Transpose")
def _transpose(attr: lite.Transpose, at: Site) -> Op:
    order = at.integers(1, "order of the axes")
    at.take(0)
    if len(order) == 4 and len(at.shape(0)) != 4:
        return Copy()  # the runtime leaves what is no map as it is (nnacl/infer/transpose_infer.c)
    return Permute(order)


@lowers("FormatTranspose")
def _format_transpose(attr: lite.FormatTranspose, at: Site) -> Op:
    formats = (attr.src_format.name, attr.dst_format.name)
    if formats not in _ORDERS:
        raise unsupported(f"{formats[0]} to {formats[1]}: NCHW and NHWC are exchanged", "dst_format")
    return Permute(_ORDERS[formats])


@lowers("Concat")
def _concat(attr: lite.Concat, at: Site) -> Op:
    return Concat(attr.axis)


@lowers("Stack")
def _stack(attr: lite.Stack, at: Site) -> Op:
    return Stack(attr.axis)


@lowers("Unstack")
def _unstack(attr: lite.Unstack, at: Site) -> Op:
    shape = at.shape(0)
    at.need_outputs(shape[check_axis(attr.axis, len(shape))])
    return Unstack(attr.axis)


@lowers("Split")
def _split(attr: lite.Split, at: Site) -> Op:
    at.need(1, 2)
    sizes = at.integers(1, "sizes") if at.has(1) else attr.size_splits
    at.take(0)
    if sizes and sizes[-1] == -1:  # the rest
        shape = at.shape(0)
        sizes = (*sizes[:-1], shape[check_axis(attr.axis, len(shape))] - sum(sizes[:-1]))
    at.need_outputs(attr.output_num or len(at.outputs))
    return Split(attr.axis, len(at.outputs), sizes)


@lowers("SliceFusion")
def _slice(attr: lite.SliceFusion, at: Site) -> Op:
    at.need(3, 3)
    begin, size = at.integers(1, "begin"), at.integers(2, "size")
    at.take(0)
    rank = len(at.shape(0))
    axes = attr.axes[: len(begin)] or tuple(range(len(begin)))
    if not len(axes) == len(begin) == len(size):
        raise OpError(f"{len(axes)} axes, {len(begin)} begins and {len(size)} sizes", "axes")
    places = [check_axis(axis, rank, "axes") for axis in axes]
    if len(set(places)) != len(places):
        raise OpError(f"{list(axes)} names an axis twice", "axes")
    begins, sizes = [0] * rank, [-1] * rank
    for place, first, count in zip(places, begin, size, strict=True):
        begins[place], sizes[place] = first, count
    return Slice(tuple(begins), size=tuple(sizes))


@lowers("StridedSlice")
def _strided_slice(attr: lite.StridedSlice, at: Site) -> Op:
    """Begin, end and stride of the leading axes; or with axes before the strides, of those."""
    at.need(4, 5)
    begin, end = at.integers(1, "begin"), at.integers(2, "end")
    stride = at.integers(len(at.inputs) - 1, "stride")
    at.take(0)
    if len(at.inputs) == 5:
        return _slice_of_axes(at, begin, end, stride or (1,) * len(begin))
    return StridedSlice(
        begin,
        end,
        stride,
        begin_mask=attr.begin_mask,
        end_mask=attr.end_mask,
        ellipsis_mask=attr.ellipsis_mask,
        new_axis_mask=attr.new_axis_mask,
        shrink_axis_mask=attr.shrink_axis_mask,
    )


def _slice_of_axes(at: Site, begin: tuple[int, ...], end: tuple[int, ...], stride: tuple[int, ...]) -> Op:
    axes = at.integers(3, "axes") or tuple(range(len(begin)))
    if not len(axes) == len(begin) == len(end) == len(stride):
        raise OpError(f"{len(axes)} axes, {len(begin)} begins, {len(end)} ends and {len(stride)} strides")
    rank = len(at.shape(0))
    parts = {
        check_axis(axis, rank): part for axis, part in zip(axes, zip(begin, end, stride, strict=True), strict=True)
    }
    whole = sum(1 << axis for axis in range(rank) if axis not in parts)
    first, last, step = (tuple(parts.get(axis, (0, 0, 1))[of] for axis in range(rank)) for of in range(3))
    return StridedSlice(first, last, step, begin_mask=whole, end_mask=whole)


@lowers("Crop")
def _crop(attr: lite.Crop, at: Site) -> Op:
    return CaffeCrop(attr.axis, attr.offsets)


@lowers("PadFusion")
def _pad(attr: lite.PadFusion, at: Site) -> Op:
    at.need(1, 3)
    if attr.padding_mode is lite.PaddingMode.MODE_RESERVED:
        raise unsupported("MODE_RESERVED is no mode", "padding_mode")
    said = attr.paddings.data if attr.paddings else ()
    paddings = at.integers(1, "paddings") if at.has(1) else tuple(number for row in said for number in row.data)
    value = float(at.value(2, "value").reshape(-1)[0]) if at.has(2) else attr.constant_value
    at.take(0)
    return Pad(PadMode(attr.padding_mode.name.lower()), paddings, value)


@lowers("TileFusion")
def _tile(attr: lite.TileFusion, at: Site) -> Op:
    multiples = at.integers(1, "multiples")
    at.take(0)
    rank = len(at.shape(0))
    axes = attr.dims or tuple(range(len(multiples)))
    if len(axes) != len(multiples):
        raise OpError(f"{len(axes)} axes for {len(multiples)} multiples", "dims")
    found = [1] * rank
    for axis, multiple in zip(axes, multiples, strict=True):
        found[check_axis(axis, rank, "dims")] = multiple
    return Tile(tuple(found))


@lowers("BroadcastTo")
def _broadcast_to(attr: lite.BroadcastTo, at: Site) -> Op:
    dims = at.integers(1, "shape") if at.has(1) else attr.shape
    at.take(0)
    shape = at.shape(0)
    lead = len(dims) - len(shape)
    if lead < 0:
        raise OpError(f"{list(shape)} to {list(dims)}", "shape")
    return Broadcast(
        tuple(shape[place - lead] if size == -1 and place >= lead else size for place, size in enumerate(dims))
    )


@lowers("ReverseV2")
def _reverse(attr: lite.ReverseV2, at: Site) -> Op:
    return Reverse(attr.axis)


@lowers("ReverseSequence")
def _reverse_sequence(attr: lite.ReverseSequence, at: Site) -> Op:
    return ReverseSequence(attr.seq_dim, attr.batch_dim)


@lowers("Gather")
def _gather(attr: lite.Gather, at: Site) -> Op:
    at.need(2, 3)
    axis = at.integer(2, "axis") if at.has(2) else 0
    at.take(0, 1)
    return Gather(axis)


@lowers("GatherNd")
def _gather_nd(attr: lite.GatherNd, at: Site) -> Op:
    return GatherNd()


@lowers("ReduceFusion")
def _reduce(attr: lite.ReduceFusion, at: Site) -> Op:
    at.need(1, 2)
    axes = at.integers(1, "axes") if at.has(1) else ()
    at.take(0)
    keep = attr.keep_dims
    factor = 1.0
    if attr.reduce_to_end:
        if len(axes) != 1:
            raise OpError(f"axes {list(axes)}: one is needed, from which on all are reduced", "reduce_to_end")
        rank = len(at.shape(0))
        axes, keep = tuple(range(check_axis(axes[0], rank), rank)), False
        factor = attr.coeff
    return then(Reduce(_REDUCTIONS[attr.mode.name], axes, keep), Epilogue(alpha=factor))


@lowers("ArgMaxFusion", "ArgMinFusion")
def _arg_best(attr: ArgBestTable, at: Site) -> Op:
    if len(at.outputs) != 1:
        raise unsupported(f"{len(at.outputs)} outputs; one, places or values, is computed")
    return ArgBest(
        attr.axis,
        largest=isinstance(attr, lite.ArgMaxFusion),
        count=attr.top_k or 1,
        keep=attr.keep_dims,
        values=attr.out_max_value,
    )


@lowers("TopKFusion")
def _top_k(attr: lite.TopKFusion, at: Site) -> Op:
    if not attr.sorted:
        raise unsupported("the best in order of place", "sorted")
    count = at.integer(1, "count")
    at.take(0)
    return TopK(count, attr.axis)


@lowers("OneHot")
def _one_hot(attr: lite.OneHot, at: Site) -> Op:
    """Indices, depth, and off with on as one operand, or on and off as two."""
    at.need(3, 4)
    depth = at.integer(1, "depth")
    if at.has(3):
        values = [at.value(place, what).reshape(-1) for place, what in ((3, "off value"), (2, "on value"))]
        at.more.append(np.concatenate(values))
        at.take(0)
    else:
        at.take(0, 2)
    return OneHot(attr.axis, depth)


@lowers("Shape")
def _shape(attr: lite.Shape, at: Site) -> Op:
    return ShapeOf()


@lowers("Rank")
def _rank(attr: lite.Rank, at: Site) -> Op:
    return Rank()


@lowers("Fill")
def _fill(attr: lite.Fill, at: Site) -> Op:
    dims = at.integers(1, "dims")
    at.take(0)
    return Fill(dims)


@lowers("ConstantOfShape")
def _constant_of_shape(attr: lite.ConstantOfShape, at: Site) -> Op:
    dims = at.integers(0, "dims")
    if attr.data_type not in DTYPES:
        raise unsupported(f"data type {attr.data_type} is not read", "data_type")
    if len(attr.value) > 1:
        raise OpError(f"{len(attr.value)} values, not one", "value")
    at.more.append(np.array(attr.value[:1] or (0,)).astype(DTYPES[attr.data_type]))
    at.take()
    return Fill(dims)


@lowers("Range")
def _range(attr: lite.Range, at: Site) -> Op:
    numbers = [attr.start, attr.limit, attr.delta]
    dtype = at.outputs[0].dtype if at.outputs else np.dtype(np.int32)
    if at.inputs:
        at.need(3, 3)
        ends = [at.value(place, what).reshape(-1) for place, what in enumerate(("start", "limit", "step"))]
        if any(end.size != 1 for end in ends):
            raise OpError(f"{[end.size for end in ends]} numbers as start, limit and step")
        numbers = [end[0].item() for end in ends]
    if not numbers[2] or not math.isfinite(sum(numbers)) or abs((numbers[1] - numbers[0]) / numbers[2]) > _RANGE_LIMIT:
        raise OpError(f"from {numbers[0]} to {numbers[1]} in steps of {numbers[2]}", "delta")
    at.more.append(np.arange(*numbers).astype(dtype))
    at.take()
    return Copy()


_RANGE_LIMIT = 1 << 20
"""Elements of a range: a forged one is not made."""


@lowers("DetectionPostProcess")
def _detection_post_process(attr: lite.DetectionPostProcess, at: Site) -> Op:
    at.need(3, 3)
    if len(attr.scale) != 4:
        raise OpError(f"{list(attr.scale)}: height, width, x and y are needed", "scale")
    height, width, x, y = attr.scale
    return DetectionPostProcess(
        y_scale=y,
        x_scale=x,
        h_scale=height,
        w_scale=width,
        iou_threshold=attr.nms_iou_threshold,
        score_threshold=attr.nms_score_threshold,
        detections=attr.max_detections,
        per_class=attr.detections_per_class,
        classes_per_detection=attr.max_classes_per_detection,
        classes=attr.num_classes,
        regular=attr.use_regular_nms,
    )
