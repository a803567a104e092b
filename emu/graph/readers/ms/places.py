"""The members of OpT that move, choose or make elements, lowered (graph-conventions.md MS-O8 to O11, O14 to O17)."""

from __future__ import annotations

from emu.errors import GraphStatus
from emu.graph.ops import Op, OpError
from emu.graph.ops.detection import DetectionPostProcess
from emu.graph.ops.fill import Broadcast, Fill, MatrixDiag, Range, Rank, ShapeOf
from emu.graph.ops.gather import (
    EmbeddingLookup,
    EmbeddingLookupSparse,
    Gather,
    GatherNd,
    ScatterElements,
    SparseToDense,
)
from emu.graph.ops.move import Concat, Convert, Copy, Permute, Reshape, Squeeze, Unsqueeze
from emu.graph.ops.reduce import ArgBest, Reduce, Reduction, TopK, Unique
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
from emu.graph.readers.kernels import REDUCTIONS
from emu.graph.readers.ms.site import Site, lowers, unsupported
from emu.graph.readers.ms.tensors import DTYPES
from emu.schemas.generated import ms_v0_1 as a
from emu.schemas.generated import ms_v0_5 as b


def _check_count(said: int, found: int, attribute: str) -> None:
    """A count that the file repeats; 0 says nothing."""
    if said not in (0, found):
        raise OpError(f"{said}, the node has {found}", attribute, GraphStatus.GRAPH_STRUCTURE)


@lowers("NetOutput", "Dropout")
def _copy(attr: a.NetOutput | b.NetOutput | b.Dropout, at: Site) -> Op:
    at.need_outputs(len(at.inputs))
    return Copy()


@lowers("Cast")
def _cast(attr: a.Cast | b.Cast, at: Site) -> Op:
    for name, said, tensors in (("srcT", attr.srcT, at.inputs), ("dstT", attr.dstT, at.outputs)):
        # 0 is float32, and what is not set
        if said and tensors and DTYPES.get(said) != tensors[0].dtype:
            at.notes.append(f"{name} is {DTYPES.get(said, said)}, the tensor is {tensors[0].dtype}, which decides")
    return Convert()


@lowers("Constant")
def _constant(attr: b.Constant, at: Site) -> None:
    at.need_exactly(0)
    for tensor in at.outputs:
        if tensor.value is None:
            raise OpError("its output tensor holds no data", status=GraphStatus.GRAPH_STRUCTURE)


@lowers("Reshape")
def _reshape(attr: a.Reshape | b.Reshape, at: Site) -> Op:
    return Reshape(attr.shape or at.output_shape)


@lowers("Squeeze")
def _squeeze(attr: a.Squeeze | b.Squeeze, at: Site) -> Op:
    return Squeeze(attr.axis)


@lowers("Unsqueeze")
def _unsqueeze(attr: b.Unsqueeze, at: Site) -> Op:
    return Unsqueeze(attr.axis)


@lowers("ExpandDims")
def _expand_dims(attr: a.ExpandDims | b.ExpandDims, at: Site) -> Op:
    return Unsqueeze((attr.dim,))


@lowers("Concat")
def _concat(attr: a.Concat | b.Concat, at: Site) -> Op:
    _check_count(attr.n, len(at.inputs), "n")
    return Concat(attr.axis)


@lowers("Stack")
def _stack(attr: a.Stack | b.Stack, at: Site) -> Op:
    _check_count(attr.n, len(at.inputs), "n")
    return Stack(attr.axis)


@lowers("Unstack")
def _unstack(attr: b.Unstack, at: Site) -> Op:
    rank = len(at.shape(0))
    if -rank <= attr.axis < rank:
        size = at.shape(0)[attr.axis]
        _check_count(attr.num, size, "num")
        at.need_outputs(size)
    return Unstack(attr.axis)


@lowers("Split")
def _split(attr: b.Split, at: Site) -> Op:
    count = attr.numberSplit or len(attr.sizeSplits) or len(at.outputs)
    if attr.sizeSplits and len(attr.sizeSplits) != count:
        raise OpError(f"{len(attr.sizeSplits)} sizes of {count} parts", "sizeSplits")
    at.need_outputs(count)
    return Split(attr.splitDim, count, attr.sizeSplits)


@lowers("Permute")
def _permute(attr: b.Permute, at: Site) -> Op:
    return Permute(attr.order)


@lowers("Transpose")
def _transpose(attr: b.Transpose, at: Site) -> Op:
    return Permute(attr.perm)


@lowers("Nchw2Nhwc")
def _nchw_to_nhwc(attr: b.Nchw2Nhwc, at: Site) -> Op:
    return Permute((0, 2, 3, 1))


@lowers("Nhwc2Nchw")
def _nhwc_to_nchw(attr: b.Nhwc2Nchw, at: Site) -> Op:
    return Permute((0, 3, 1, 2))


@lowers("Slice")
def _slice(attr: a.Slice | b.Slice, at: Site) -> Op:
    if isinstance(attr, b.Slice):
        return Slice(attr.begin, size=attr.size)
    return Slice(attr.begin, end=attr.end, stride=attr.stride or (1,) * len(attr.begin))


@lowers("StridedSlice")
def _strided_slice(attr: a.StridedSlice | b.StridedSlice, at: Site) -> Op:
    return StridedSlice(
        attr.begin,
        attr.end,
        attr.stride,
        begin_mask=attr.beginMask,
        end_mask=attr.endMask,
        ellipsis_mask=attr.ellipsisMask,
        new_axis_mask=attr.newAxisMask,
        shrink_axis_mask=attr.shrinkAxisMask,
    )


@lowers("CaffeCrop")
def _caffe_crop(attr: a.CaffeCrop | b.CaffeCrop, at: Site) -> Op:
    return CaffeCrop(attr.axis, attr.offsets)


@lowers("Pad")
def _pad(attr: a.Pad | b.Pad, at: Site) -> Op:
    if attr.paddingmode.name == "MODE_RESERVED":
        raise unsupported("MODE_RESERVED is no mode", "paddingmode")
    return Pad(PadMode(attr.paddingmode.name.lower()), attr.paddings)


@lowers("Tile")
def _tile(attr: a.Tile | b.Tile, at: Site) -> Op:
    return Tile(attr.multiples)


@lowers("Reverse")
def _reverse(attr: b.Reverse, at: Site) -> Op:
    return Reverse(attr.axis)


@lowers("ReverseSequence")
def _reverse_sequence(attr: b.ReverseSequence, at: Site) -> Op:
    return ReverseSequence(attr.seqAxis, attr.batchAxis)


@lowers("Mean")
def _mean(attr: a.Mean | b.Mean, at: Site) -> Op:
    return Reduce(Reduction.MEAN, attr.axis, attr.keepDims)


@lowers("Reduce")
def _reduce(attr: b.Reduce, at: Site) -> Op:
    return Reduce(REDUCTIONS[attr.mode.name], attr.axes, bool(attr.keepDims))


@lowers("ArgMax", "ArgMin")
def _arg_best(attr: a.ArgMax | b.ArgMax | b.ArgMin, at: Site) -> Op:
    if attr.topK < 0:
        raise OpError(f"{attr.topK}", "topK")
    return ArgBest(
        attr.axis,
        largest=not isinstance(attr, b.ArgMin),
        count=attr.topK or 1,
        keep=attr.keepDims,
        values=attr.outMaxValue,
    )


@lowers("TopK")
def _top_k(attr: b.TopK, at: Site) -> Op:
    return TopK(attr.k)


@lowers("Unique")
def _unique(attr: b.Unique, at: Site) -> Op:
    return Unique()


@lowers("Shape")
def _shape(attr: b.Shape, at: Site) -> Op:
    return ShapeOf()


@lowers("Rank")
def _rank(attr: b.Rank, at: Site) -> Op:
    return Rank()


@lowers("Fill")
def _fill(attr: b.Fill, at: Site) -> Op:
    return Fill(attr.dims)


@lowers("Range")
def _range(attr: a.Range | b.Range, at: Site) -> Op:
    return Range(attr.start, attr.limit, attr.delta)


@lowers("Broadcast")
def _broadcast(attr: b.Broadcast, at: Site) -> Op:
    return Broadcast(at.output_shape)


@lowers("Gather")
def _gather(attr: b.Gather, at: Site) -> Op:
    return Gather(attr.axis, attr.batchDims)


@lowers("GatherNd")
def _gather_nd(attr: b.GatherNd, at: Site) -> Op:
    return GatherNd(attr.batchDims)


@lowers("Scatter")
def _scatter(attr: b.Scatter, at: Site) -> Op:
    return ScatterElements()


@lowers("SparseToDense")
def _sparse_to_dense(attr: b.SparseToDense, at: Site) -> Op:
    return SparseToDense(at.output_shape)


@lowers("EmbeddingLookup")
def _embedding_lookup(attr: b.EmbeddingLookup, at: Site) -> Op:
    return EmbeddingLookup(attr.ids, attr.maxNorm)


@lowers("EmbeddingLookupSparse")
def _embedding_lookup_sparse(attr: b.EmbeddingLookupSparse, at: Site) -> Op:
    return EmbeddingLookupSparse(attr.spIds, attr.spWeights, attr.maxNortm)


@lowers("MatrixDiag")
def _matrix_diag(attr: b.MatrixDiag, at: Site) -> Op:
    return MatrixDiag(attr.k, attr.numRows, attr.numCols, attr.paddingValue)


@lowers("DetectionPostProcess")
def _detection_post_process(attr: a.DetectionPostProcess | b.DetectionPostProcess, at: Site) -> Op:
    at.need_outputs(4)
    return DetectionPostProcess(
        y_scale=attr.yScale,
        x_scale=attr.xScale,
        h_scale=attr.hScale,
        w_scale=attr.wScale,
        iou_threshold=attr.NmsIouThreshold,
        score_threshold=attr.NmsScoreThreshold,
        detections=attr.MaxDetections,
        per_class=attr.DetectionsPreClass,
        classes_per_detection=attr.MaxClassesPreDetection,
        classes=attr.NumClasses,
        regular=attr.UseRegularNms,
    )
