"""Operators of MindSpore Lite 0.7 to 1.1 as those of 1.2: other names, and attributes that became operands.

The runtime does the same for old files (mindspore/lite/src/ops/compat). An upgrade takes the old table and how many
operands the node has, and gives the new table and the constants that join the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from emu.graph.ir import Array
from emu.graph.readers.lite.site import unsupported
from emu.schemas import fbs
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as new

Upgraded: TypeAlias = tuple[fbs.Table, tuple[Array, ...]]
Upgrade = Callable[[Any, int], Upgraded]
F = TypeVar("F", bound=Upgrade)

_UPGRADES: dict[str, Upgrade] = {}

_KEPT = {
    "Abs", "Ceil", "Cos", "Equal", "Floor", "FloorDiv", "FloorMod", "GatherNd", "Greater", "GreaterEqual", "Less",
    "LessEqual", "Log", "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum", "Minimum", "Neg", "NotEqual", "OnesLike",
    "Rank", "RealDiv", "Reciprocal", "Round", "Rsqrt", "Select", "Shape", "Sin", "Sqrt", "Square",
    "SquaredDifference", "ZerosLike", "AddN", "BiasAdd", "Dropout", "Depend",
}  # fmt: skip
"""Those that keep their name and have no attribute that means anything."""

_FIELDS: dict[str, tuple[str, dict[str, str]]] = {
    "SoftMax": ("Softmax", {}),
    "BatchNorm": ("BatchNorm", {"epsilon": "epsilon"}),
    "FusedBatchNorm": ("FusedBatchNorm", {"epsilon": "epsilon"}),
    "Concat": ("Concat", {"axis": "axis"}),
    "Stack": ("Stack", {"axis": "axis"}),
    "Unstack": ("Unstack", {"axis": "axis"}),
    "OneHot": ("OneHot", {"axis": "axis"}),
    "Squeeze": ("Squeeze", {"axis": "axis"}),
    "Unsqueeze": ("Unsqueeze", {"axis": "axis"}),
    "Reverse": ("ReverseV2", {"axis": "axis"}),
    "LeakyReLU": ("LeakyRelu", {"negativeSlope": "negative_slope"}),
    "Elu": ("Elu", {"alpha": "alpha"}),
    "Clip": ("Clip", {"max": "max", "min": "min"}),
    "Exp": ("ExpFusion", {"base": "base", "scale": "scale", "shift": "shift"}),
    "QuantDTypeCast": ("QuantDTypeCast", {"srcT": "src_t", "dstT": "dst_t"}),
    "Range": ("Range", {"start": "start", "limit": "limit", "delta": "delta"}),
    "Crop": ("Crop", {"axis": "axis", "offsets": "offsets"}),
    "Split": ("Split", {"numberSplit": "output_num", "sizeSplits": "size_splits", "splitDim": "axis"}),
    "SpaceToDepth": ("SpaceToDepth", {"blockSize": "block_size"}),
    "DepthToSpace": ("DepthToSpace", {"blockSize": "block_size"}),
    "ReverseSequence": ("ReverseSequence", {"seqAxis": "seq_dim", "batchAxis": "batch_dim"}),
    "BroadcastTo": ("BroadcastTo", {"dst_shape": "shape"}),
    "ConstantOfShape": ("ConstantOfShape", {"dataType": "data_type", "value": "value"}),
    "LocalResponseNormalization": (
        "LRN",
        {"depth_radius": "depth_radius", "bias": "bias", "alpha": "alpha", "beta": "beta"},
    ),
    "FullConnection": ("FullConnection", {"hasBias": "has_bias", "useAxis": "use_axis", "axis": "axis"}),
    "Scale": ("ScaleFusion", {"axis": "axis"}),
    "L2Norm": ("L2NormalizeFusion", {"axis": "axis", "epsilon": "epsilon"}),
    "Add": ("AddFusion", {}),
    "Sub": ("SubFusion", {}),
    "Mul": ("MulFusion", {}),
    "Div": ("DivFusion", {}),
    "MatMul": ("MatMulFusion", {"transposeA": "transpose_a", "transposeB": "transpose_b"}),
    "ArgMax": (
        "ArgMaxFusion",
        {"axis": "axis", "topK": "top_k", "keepDims": "keep_dims", "outMaxValue": "out_max_value"},
    ),
    "ArgMin": (
        "ArgMinFusion",
        {"axis": "axis", "topK": "top_k", "keepDims": "keep_dims", "outMaxValue": "out_max_value"},
    ),
    "Eltwise": ("Eltwise", {}),
    "Identity": ("Depend", {}),
}
"""New name, and which old field is which new one; `activationType` and `mode` go by the name of their value."""


def upgraded(attr: Any, operands: int) -> Upgraded | None:
    """The operator as 1.2 has it; None where this reader does not execute it."""
    name = type(attr).__name__
    if name in _KEPT:
        return getattr(new, name)(), ()
    if name in _UPGRADES:
        return _UPGRADES[name](attr, operands)
    if name not in _FIELDS:
        return None
    target, fields = _FIELDS[name]
    values = {to: getattr(attr, since) for since, to in fields.items()}
    if hasattr(attr, "activationType"):
        values["activation_type"] = _activation(attr.activationType)
    if hasattr(attr, "mode"):
        values["mode"] = new.EltwiseMode[attr.mode.name]
    if name == "SoftMax":
        values["axis"] = (attr.axis,)
    return getattr(new, target)(**values), ()


def _upgrades(*names: str) -> Callable[[F], F]:
    def register(function: F) -> F:
        for name in names:
            _UPGRADES[name] = function
        return function

    return register


def _activation(kind: old.ActivationType) -> new.ActivationType:
    return new.ActivationType[kind.name]


def _joining(
    operands: int, first: int, *values: Sequence[int] | Sequence[float], dtype: Any = np.int32
) -> tuple[Array, ...]:
    """Attributes as the operands from place `first` on, where the node has not those already."""
    return tuple(np.array(value, dtype) for place, value in enumerate(values, first) if place >= operands)


@_upgrades("Activation")
def _activation_op(attr: old.Activation, operands: int) -> Upgraded:
    return new.Activation(_activation(attr.type), attr.alpha, attr.min_val, attr.max_val), ()


@_upgrades("GeLU")
def _gelu(attr: old.GeLU, operands: int) -> Upgraded:
    return new.Activation(new.ActivationType.GELU, approximate=attr.approximate), ()


Windowed: TypeAlias = old.Conv2D | old.DepthwiseConv2D | old.DeConv2D | old.DeDepthwiseConv2D | old.Pooling


def _padding(attr: Windowed) -> tuple[new.PadMode, tuple[int, int, int, int]]:
    modes = {
        old.PadMode.NOTSET: new.PadMode.PAD,
        old.PadMode.CAFFE: new.PadMode.PAD,
        old.PadMode.VALID: new.PadMode.VALID,
        old.PadMode.SAME_UPPER: new.PadMode.SAME,
    }
    if attr.padMode not in modes:
        raise unsupported(f"{attr.padMode.value} {attr.padMode.name}: the runtime pads the lower side more", "padMode")
    return modes[attr.padMode], (attr.padUp, attr.padDown, attr.padLeft, attr.padRight)


@_upgrades("Conv2D", "DepthwiseConv2D")
def _convolution(attr: old.Conv2D | old.DepthwiseConv2D, operands: int) -> Upgraded:
    mode, pads = _padding(attr)
    table = new.Conv2DFusion(
        kernel_size=(attr.kernelH, attr.kernelW),
        stride=(attr.strideH, attr.strideW),
        dilation=(attr.dilateH or 1, attr.dilateW or 1),
        pad_mode=mode,
        pad_list=pads,
        group=attr.group or 1 if isinstance(attr, old.Conv2D) else 0,
        activation_type=_activation(attr.activationType),
    )
    return table, ()


@_upgrades("DeConv2D", "DeDepthwiseConv2D")
def _transposed(attr: old.DeConv2D | old.DeDepthwiseConv2D, operands: int) -> Upgraded:
    mode, pads = _padding(attr)
    table = new.Conv2dTransposeFusion(
        kernel_size=(attr.kernelH, attr.kernelW),
        stride=(attr.strideH, attr.strideW),
        dilation=(attr.dilateH or 1, attr.dilateW or 1),
        pad_mode=mode,
        pad_list=pads,
        group=attr.group or 1 if isinstance(attr, old.DeConv2D) else 0,
        activation_type=_activation(attr.activationType),
        output_paddings=(attr.outputPaddingH, attr.outputPaddingW) if isinstance(attr, old.DeConv2D) else (),
    )
    return table, ()


@_upgrades("Pooling")
def _pooling(attr: old.Pooling, operands: int) -> Upgraded:
    mode, pads = _padding(attr)
    if attr.avgMode:
        raise unsupported(f"{attr.avgMode}: a mean that counts the padding", "avgMode")
    kind = new.MaxPoolFusion if attr.poolingMode is old.PoolMode.MAX_POOLING else new.AvgPoolFusion
    table = kind(
        kernel_size=(attr.windowH, attr.windowW),
        strides=(attr.strideH, attr.strideW),
        pad=pads,
        pad_mode=mode,
        round_mode=new.RoundMode[attr.roundMode.name],
        global_=attr.global_,
        activation_type=_activation(attr.activationType),
    )
    return table, ()


@_upgrades("Resize")
def _resize(attr: old.Resize, operands: int) -> Upgraded:
    modes = {
        old.CoordinateTransformMode.COMMON: new.CoordinateTransformMode.ASYMMETRIC,
        old.CoordinateTransformMode.ASYMMETRIC: new.CoordinateTransformMode.ASYMMETRIC,
        old.CoordinateTransformMode.ALIGN_CORNERS: new.CoordinateTransformMode.ALIGN_CORNERS,
        old.CoordinateTransformMode.HALF_PIXEL: new.CoordinateTransformMode.HALF_PIXEL,
    }
    said = attr.coordinateTransformMode
    if said not in modes:
        raise unsupported(f"{said.value} {said.name} is not computed", "coordinateTransformMode")
    corners = attr.alignCorners and said is old.CoordinateTransformMode.COMMON
    table = new.Resize(
        method=new.ResizeMethod[attr.method.name],
        new_height=attr.newHeight,
        new_width=attr.newWidth,
        coordinate_transform_mode=new.CoordinateTransformMode.ALIGN_CORNERS if corners else modes[said],
    )
    return table, ()


@_upgrades("Reshape")
def _reshape(attr: old.Reshape, operands: int) -> Upgraded:
    return new.Reshape(), _joining(operands, 1, attr.shape, dtype=np.int64)


@_upgrades("StridedSlice")
def _strided_slice(attr: old.StridedSlice, operands: int) -> Upgraded:
    table = new.StridedSlice(attr.beginMask, attr.endMask, attr.ellipsisMask, attr.newAxisMask, attr.shrinkAxisMask)
    return table, _joining(operands, 1, attr.begin, attr.end, attr.stride)


@_upgrades("Slice")
def _slice(attr: old.Slice, operands: int) -> Upgraded:
    return new.SliceFusion(attr.axes), _joining(operands, 1, attr.begin, attr.size)


@_upgrades("Power")
def _power(attr: old.Power, operands: int) -> Upgraded:
    return new.PowFusion(attr.scale, attr.shift), _joining(operands, 1, (attr.power,), dtype=np.float32)


@_upgrades("Pad")
def _pad(attr: old.Pad, operands: int) -> Upgraded:
    mode = new.PaddingMode[attr.paddingMode.name]
    return new.PadFusion(None, mode, attr.constantValue), _joining(operands, 1, attr.paddings)


@_upgrades("PReLU")
def _prelu(attr: old.PReLU, operands: int) -> Upgraded:
    return new.PReLUFusion(attr.channelShared), _joining(operands, 1, attr.slope, dtype=np.float32)


@_upgrades("ExpandDims")
def _expand_dims(attr: old.ExpandDims, operands: int) -> Upgraded:
    return new.ExpandDims(), _joining(operands, 1, (attr.dim,))


@_upgrades("Tile")
def _tile(attr: old.Tile, operands: int) -> Upgraded:
    return new.TileFusion(attr.dims), _joining(operands, 1, attr.multiples)


@_upgrades("Cast")
def _cast(attr: old.Cast, operands: int) -> Upgraded:
    return new.Cast(), ()


@_upgrades("Nchw2Nhwc")
def _to_nhwc(attr: old.Nchw2Nhwc, operands: int) -> Upgraded:
    return new.Transpose(), _joining(operands, 1, (0, 2, 3, 1))


@_upgrades("Nhwc2Nchw")
def _to_nchw(attr: old.Nhwc2Nchw, operands: int) -> Upgraded:
    return new.Transpose(), _joining(operands, 1, (0, 3, 1, 2))


@_upgrades("Transpose")
def _transpose(attr: old.Transpose, operands: int) -> Upgraded:
    return new.Transpose(), _joining(operands, 1, attr.perm)


@_upgrades("Permute")
def _permute(attr: old.Permute, operands: int) -> Upgraded:
    return new.Transpose(), _joining(operands, 1, attr.order)


@_upgrades("TopK")
def _top_k(attr: old.TopK, operands: int) -> Upgraded:
    return new.TopKFusion(attr.sorted, axis=-1, largest=1), _joining(operands, 1, (attr.k,))


def _rows(numbers: Sequence[int]) -> new.Vec2D:
    return new.Vec2D((new.Vec(tuple(numbers)),))


@_upgrades("SpaceToBatch", "SpaceToBatchND")
def _space_to_batch(attr: old.SpaceToBatch | old.SpaceToBatchND, operands: int) -> Upgraded:
    return new.SpaceToBatchND(attr.blockShape, _rows(attr.paddings)), ()


@_upgrades("BatchToSpace", "BatchToSpaceND")
def _batch_to_space(attr: old.BatchToSpace | old.BatchToSpaceND, operands: int) -> Upgraded:
    return new.BatchToSpaceND(attr.blockShape, _rows(attr.crops)), ()


@_upgrades("Gather")
def _gather(attr: old.Gather, operands: int) -> Upgraded:
    if attr.batchDims:
        raise unsupported(f"{attr.batchDims}: the runtime takes all indices for all of the batch", "batchDims")
    return new.Gather(), _joining(operands, 2, (attr.axis,))


@_upgrades("Fill")
def _fill(attr: old.Fill, operands: int) -> Upgraded:
    return new.Fill(), _joining(operands, 1, attr.dims)


@_upgrades("Reduce")
def _reduce(attr: old.Reduce, operands: int) -> Upgraded:
    mode = new.ReduceMode[attr.mode.name]
    table = new.ReduceFusion(bool(attr.keepDims), mode, attr.reduceToEnd, attr.coeff)
    return table, _joining(operands, 1, attr.axes)


@_upgrades("Mean")
def _mean(attr: old.Mean, operands: int) -> Upgraded:
    return new.ReduceFusion(attr.keepDims, new.ReduceMode.ReduceMean), _joining(operands, 1, attr.axis)


@_upgrades("Flatten")
def _flatten(attr: old.Flatten, operands: int) -> Upgraded:
    return new.Flatten(), ()


@_upgrades("LayerNorm")
def _layer_norm(attr: old.LayerNorm, operands: int) -> Upgraded:
    axis = -len(attr.normalizedShape)
    return new.LayerNormFusion(axis, attr.epsilon, attr.elementwiseAffine, axis), ()


@_upgrades("Lstm")
def _lstm(attr: old.Lstm, operands: int) -> Upgraded:
    return new.LSTM(attr.bidirection, zoneout_cell=attr.smooth, zoneout_hidden=attr.smooth), ()


@_upgrades("DetectionPostProcess")
def _detection_post_process(attr: old.DetectionPostProcess, operands: int) -> Upgraded:
    table = new.DetectionPostProcess(
        scale=(attr.hScale, attr.wScale, attr.xScale, attr.yScale),
        nms_iou_threshold=attr.NmsIouThreshold,
        nms_score_threshold=attr.NmsScoreThreshold,
        max_detections=attr.MaxDetections,
        detections_per_class=attr.DetectionsPerClass,
        max_classes_per_detection=attr.MaxClassesPerDetection,
        num_classes=attr.NumClasses,
        use_regular_nms=attr.UseRegularNms,
    )
    return table, ()
