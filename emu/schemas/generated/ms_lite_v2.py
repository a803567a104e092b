"""The tables of ms_lite/v2.fbs (MindSpore Lite). Written by emu.schemas.generate_fbs, not by hand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from emu.schemas import fbs
from emu.schemas.fbs import Table, slot


class ResizeMethod(IntEnum):
    UNKNOWN = -1
    LINEAR = 0
    NEAREST = 1
    CUBIC = 2


class CoordinateTransformMode(IntEnum):
    ASYMMETRIC = 0
    ALIGN_CORNERS = 1
    HALF_PIXEL = 2


class NearestMode(IntEnum):
    NORMAL = 0
    ROUND_HALF_DOWN = 1
    ROUND_HALF_UP = 2
    FLOOR = 3
    CEIL = 4


class Format(IntEnum):
    NCHW = 0
    NHWC = 1
    NHWC4 = 2
    HWKC = 3
    HWCK = 4
    KCHW = 5
    CKHW = 6
    KHWC = 7
    CHWK = 8
    HW = 9
    HW4 = 10
    NC = 11
    NC4 = 12
    NC4HW4 = 13
    NUM_OF_FORMAT = 14
    NCDHW = 15
    NWC = 16
    NCW = 17
    NC8HW8 = 18


class ActivationType(IntEnum):
    NO_ACTIVATION = 0
    RELU = 1
    SIGMOID = 2
    RELU6 = 3
    ELU = 4
    LEAKY_RELU = 5
    ABS = 6
    RELU1 = 7
    SOFTSIGN = 8
    SOFTPLUS = 9
    TANH = 10
    SELU = 11
    HSWISH = 12
    HSIGMOID = 13
    THRESHOLDRELU = 14
    LINEAR = 15
    HARD_TANH = 16
    SIGN = 17
    SWISH = 18
    GELU = 19
    FAST_GELU = 20
    UNKNOWN = 21


class ReduceMode(IntEnum):
    ReduceMean = 0
    ReduceMax = 1
    ReduceMin = 2
    ReduceProd = 3
    ReduceSum = 4
    ReduceSumSquare = 5
    ReduceASum = 6
    ReduceAll = 7
    ReduceL2 = 8


class EltwiseMode(IntEnum):
    PROD = 0
    SUM = 1
    MAXIMUM = 2
    UNKNOWN = 3


class PadMode(IntEnum):
    PAD = 0
    SAME = 1
    VALID = 2


class RoundMode(IntEnum):
    FLOOR = 0
    CEIL = 1


class PaddingMode(IntEnum):
    CONSTANT = 0
    REFLECT = 1
    SYMMETRIC = 2
    MODE_RESERVED = 3


@dataclass(frozen=True, slots=True)
class Vec(Table):
    data: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Vec2D(Table):
    data: tuple[Vec, ...] = slot(0, fbs.VectorOfTables(Vec), ())


@dataclass(frozen=True, slots=True)
class Attribute(Table):
    name: str = slot(0, fbs.Text(), "")
    data: memoryview | None = slot(1, fbs.Vector(fbs.UBYTE), None)


@dataclass(frozen=True, slots=True)
class Abs(Table):
    pass


@dataclass(frozen=True, slots=True)
class Activation(Table):
    activation_type: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)
    alpha: float = slot(1, fbs.FLOAT, 0.0)
    min_val: float = slot(2, fbs.FLOAT, 0.0)
    max_val: float = slot(3, fbs.FLOAT, 0.0)
    approximate: bool = slot(4, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class ActivationGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Adam(Table):
    pass


@dataclass(frozen=True, slots=True)
class AddFusion(Table):
    activation_type: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class AdderFusion(Table):
    pass


@dataclass(frozen=True, slots=True)
class AddGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class AddN(Table):
    pass


@dataclass(frozen=True, slots=True)
class All(Table):
    pass


@dataclass(frozen=True, slots=True)
class ApplyMomentum(Table):
    pass


@dataclass(frozen=True, slots=True)
class ArgMaxFusion(Table):
    axis: int = slot(0, fbs.LONG, 0)
    top_k: int = slot(1, fbs.LONG, 1)
    keep_dims: bool = slot(2, fbs.BOOL, False)
    out_max_value: bool = slot(3, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class ArgMinFusion(Table):
    axis: int = slot(0, fbs.LONG, 0)
    top_k: int = slot(1, fbs.LONG, 0)
    keep_dims: bool = slot(2, fbs.BOOL, False)
    out_max_value: bool = slot(3, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class Assert(Table):
    pass


@dataclass(frozen=True, slots=True)
class Assign(Table):
    pass


@dataclass(frozen=True, slots=True)
class AssignAdd(Table):
    pass


@dataclass(frozen=True, slots=True)
class AudioSpectrogram(Table):
    pass


@dataclass(frozen=True, slots=True)
class AvgPoolFusion(Table):
    kernel_size: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())
    strides: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())
    pad: tuple[int, ...] = slot(2, fbs.Vector(fbs.LONG), ())
    pad_mode: PadMode = slot(3, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.PAD)
    round_mode: RoundMode = slot(4, fbs.EnumOf(fbs.BYTE, RoundMode), RoundMode.FLOOR)
    format: Format = slot(5, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    global_: bool = slot(6, fbs.BOOL, False, name="global")
    activation_type: ActivationType = slot(7, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class AvgPoolGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class BatchNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 0.0)
    format: Format = slot(1, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    is_training: bool = slot(2, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class BatchNormGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class BatchToSpace(Table):
    block_size: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())
    crops: Vec2D | None = slot(1, fbs.TableOf(Vec2D), None)


@dataclass(frozen=True, slots=True)
class BatchToSpaceND(Table):
    block_shape: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())
    crops: Vec2D | None = slot(1, fbs.TableOf(Vec2D), None)


@dataclass(frozen=True, slots=True)
class BiasAdd(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)


@dataclass(frozen=True, slots=True)
class BinaryCrossEntropy(Table):
    pass


@dataclass(frozen=True, slots=True)
class BinaryCrossEntropyGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class BiasAddGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class BroadcastTo(Table):
    shape: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Cast(Table):
    pass


@dataclass(frozen=True, slots=True)
class Ceil(Table):
    pass


@dataclass(frozen=True, slots=True)
class Clip(Table):
    max: float = slot(0, fbs.FLOAT, 0.0)
    min: float = slot(1, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Concat(Table):
    axis: int = slot(0, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class Attention(Table):
    pass


@dataclass(frozen=True, slots=True)
class Conv2DBackpropFilterFusion(Table):
    pass


@dataclass(frozen=True, slots=True)
class Conv2DBackpropInputFusion(Table):
    pass


@dataclass(frozen=True, slots=True)
class Conv2DFusion(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    kernel_size: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())
    stride: tuple[int, ...] = slot(2, fbs.Vector(fbs.LONG), ())
    dilation: tuple[int, ...] = slot(3, fbs.Vector(fbs.LONG), ())
    pad_mode: PadMode = slot(4, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.PAD)
    pad_list: tuple[int, ...] = slot(5, fbs.Vector(fbs.LONG), ())
    mode: int = slot(6, fbs.LONG, 0)
    group: int = slot(7, fbs.LONG, 0)
    in_channel: int = slot(8, fbs.LONG, 0)
    out_channel: int = slot(9, fbs.LONG, 0)
    activation_type: ActivationType = slot(10, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class Conv2dTransposeFusion(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    kernel_size: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())
    stride: tuple[int, ...] = slot(2, fbs.Vector(fbs.LONG), ())
    dilation: tuple[int, ...] = slot(3, fbs.Vector(fbs.LONG), ())
    pad_mode: PadMode = slot(4, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.PAD)
    pad: tuple[int, ...] = slot(5, fbs.Vector(fbs.LONG), ())
    pad_list: tuple[int, ...] = slot(6, fbs.Vector(fbs.LONG), ())
    mode: int = slot(7, fbs.LONG, 0)
    group: int = slot(8, fbs.LONG, 0)
    in_channel: int = slot(9, fbs.LONG, 0)
    out_channel: int = slot(10, fbs.LONG, 0)
    activation_type: ActivationType = slot(11, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)
    output_paddings: tuple[int, ...] = slot(12, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Cos(Table):
    pass


@dataclass(frozen=True, slots=True)
class ConstantOfShape(Table):
    data_type: int = slot(0, fbs.LONG, 0)
    value: tuple[float, ...] = slot(1, fbs.Vector(fbs.FLOAT), ())


@dataclass(frozen=True, slots=True)
class Crop(Table):
    axis: int = slot(0, fbs.LONG, 0)
    offsets: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class CustomExtractFeatures(Table):
    pass


@dataclass(frozen=True, slots=True)
class CustomNormalize(Table):
    pass


@dataclass(frozen=True, slots=True)
class CustomPredict(Table):
    pass


@dataclass(frozen=True, slots=True)
class DeConv2DGradFilter(Table):
    pass


@dataclass(frozen=True, slots=True)
class Depend(Table):
    pass


@dataclass(frozen=True, slots=True)
class DepthToSpace(Table):
    block_size: int = slot(0, fbs.LONG, 0)
    format: Format = slot(1, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    mode: str = slot(2, fbs.Text(), "")


@dataclass(frozen=True, slots=True)
class DetectionPostProcess(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    input_size: int = slot(1, fbs.LONG, 0)
    scale: tuple[float, ...] = slot(2, fbs.Vector(fbs.FLOAT), ())
    nms_iou_threshold: float = slot(3, fbs.FLOAT, 0.0)
    nms_score_threshold: float = slot(4, fbs.FLOAT, 0.0)
    max_detections: int = slot(5, fbs.LONG, 0)
    detections_per_class: int = slot(6, fbs.LONG, 0)
    max_classes_per_detection: int = slot(7, fbs.LONG, 0)
    num_classes: int = slot(8, fbs.LONG, 0)
    use_regular_nms: bool = slot(9, fbs.BOOL, False)
    out_quantized: bool = slot(10, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class DivFusion(Table):
    activation_type: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class DivGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Dropout(Table):
    pass


@dataclass(frozen=True, slots=True)
class DropoutGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Elu(Table):
    alpha: float = slot(0, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Eltwise(Table):
    mode: EltwiseMode = slot(0, fbs.EnumOf(fbs.BYTE, EltwiseMode), EltwiseMode.PROD)


@dataclass(frozen=True, slots=True)
class Equal(Table):
    pass


@dataclass(frozen=True, slots=True)
class EmbeddingLookupFusion(Table):
    pass


@dataclass(frozen=True, slots=True)
class ExpFusion(Table):
    base: float = slot(0, fbs.FLOAT, -1.0)
    scale: float = slot(1, fbs.FLOAT, 1.0)
    shift: float = slot(2, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class ExpandDims(Table):
    pass


@dataclass(frozen=True, slots=True)
class FakeQuantWithMinMaxVars(Table):
    pass


@dataclass(frozen=True, slots=True)
class FakeQuantWithMinMaxVarsPerChannel(Table):
    pass


@dataclass(frozen=True, slots=True)
class FftReal(Table):
    pass


@dataclass(frozen=True, slots=True)
class FftImag(Table):
    pass


@dataclass(frozen=True, slots=True)
class Flatten(Table):
    axis: int = slot(0, fbs.LONG, 1)


@dataclass(frozen=True, slots=True)
class FlattenGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Floor(Table):
    pass


@dataclass(frozen=True, slots=True)
class FloorDiv(Table):
    pass


@dataclass(frozen=True, slots=True)
class FloorMod(Table):
    pass


@dataclass(frozen=True, slots=True)
class Fill(Table):
    pass


@dataclass(frozen=True, slots=True)
class FullConnection(Table):
    has_bias: bool = slot(0, fbs.BOOL, False)
    use_axis: bool = slot(1, fbs.BOOL, False)
    axis: int = slot(2, fbs.LONG, 0)
    activation_type: ActivationType = slot(3, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class FusedBatchNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 0.0001)
    momentum: float = slot(1, fbs.FLOAT, 0.9)
    mode: int = slot(2, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class Gather(Table):
    pass


@dataclass(frozen=True, slots=True)
class GatherNd(Table):
    pass


@dataclass(frozen=True, slots=True)
class Greater(Table):
    pass


@dataclass(frozen=True, slots=True)
class GreaterEqual(Table):
    pass


@dataclass(frozen=True, slots=True)
class HashtableLookup(Table):
    pass


@dataclass(frozen=True, slots=True)
class InstanceNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class LayerNormFusion(Table):
    begin_norm_axis: int = slot(0, fbs.LONG, 0)
    epsilon: float = slot(1, fbs.FLOAT, 1e-05)
    elementwise_affine: bool = slot(2, fbs.BOOL, False)
    begin_params_axis: int = slot(3, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class LeakyRelu(Table):
    negative_slope: float = slot(0, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Less(Table):
    pass


@dataclass(frozen=True, slots=True)
class LessEqual(Table):
    pass


@dataclass(frozen=True, slots=True)
class Log(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogicalAnd(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogicalNot(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogicalOr(Table):
    pass


@dataclass(frozen=True, slots=True)
class LpNormalization(Table):
    pass


@dataclass(frozen=True, slots=True)
class LRN(Table):
    depth_radius: int = slot(0, fbs.LONG, 0)
    bias: float = slot(1, fbs.FLOAT, 0.0)
    alpha: float = slot(2, fbs.FLOAT, 0.0)
    beta: float = slot(3, fbs.FLOAT, 0.0)
    norm_region: str = slot(4, fbs.Text(), "")


@dataclass(frozen=True, slots=True)
class LshProjection(Table):
    pass


@dataclass(frozen=True, slots=True)
class LSTM(Table):
    bidirectional: bool = slot(0, fbs.BOOL, False)
    has_bias: bool = slot(1, fbs.BOOL, False)
    input_size: int = slot(2, fbs.LONG, 0)
    hidden_size: int = slot(3, fbs.LONG, 0)
    num_layers: int = slot(4, fbs.LONG, 0)
    num_directions: int = slot(5, fbs.LONG, 0)
    dropout: float = slot(6, fbs.FLOAT, 0.0)
    zoneout_cell: float = slot(7, fbs.FLOAT, 0.0)
    zoneout_hidden: float = slot(8, fbs.FLOAT, 0.0)
    proj_size: int = slot(9, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class L2NormalizeFusion(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())
    epsilon: float = slot(1, fbs.FLOAT, 0.0)
    activation_type: ActivationType = slot(2, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class MatMulFusion(Table):
    transpose_a: bool = slot(0, fbs.BOOL, False)
    transpose_b: bool = slot(1, fbs.BOOL, False)
    activation_type: ActivationType = slot(2, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class Maximum(Table):
    pass


@dataclass(frozen=True, slots=True)
class MaximumGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class MaxPoolFusion(Table):
    kernel_size: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())
    strides: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())
    pad: tuple[int, ...] = slot(2, fbs.Vector(fbs.LONG), ())
    pad_mode: PadMode = slot(3, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.PAD)
    round_mode: RoundMode = slot(4, fbs.EnumOf(fbs.BYTE, RoundMode), RoundMode.FLOOR)
    format: Format = slot(5, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    global_: bool = slot(6, fbs.BOOL, False, name="global")
    activation_type: ActivationType = slot(7, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class MaxPoolGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class SwitchLayer(Table):
    pass


@dataclass(frozen=True, slots=True)
class Mfcc(Table):
    pass


@dataclass(frozen=True, slots=True)
class Minimum(Table):
    pass


@dataclass(frozen=True, slots=True)
class MinimumGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Mod(Table):
    pass


@dataclass(frozen=True, slots=True)
class MulFusion(Table):
    activation_type: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class MulGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Neg(Table):
    pass


@dataclass(frozen=True, slots=True)
class NegGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class NotEqual(Table):
    pass


@dataclass(frozen=True, slots=True)
class NonMaxSuppression(Table):
    pass


@dataclass(frozen=True, slots=True)
class OneHot(Table):
    axis: int = slot(0, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class OnesLike(Table):
    pass


@dataclass(frozen=True, slots=True)
class PadFusion(Table):
    paddings: Vec2D | None = slot(0, fbs.TableOf(Vec2D), None)
    padding_mode: PaddingMode = slot(1, fbs.EnumOf(fbs.BYTE, PaddingMode), PaddingMode.CONSTANT)
    constant_value: float = slot(2, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class PartialFusion(Table):
    pass


@dataclass(frozen=True, slots=True)
class PowerGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class PowFusion(Table):
    scale: float = slot(0, fbs.FLOAT, 1.0)
    shift: float = slot(1, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class PriorBox(Table):
    pass


@dataclass(frozen=True, slots=True)
class PReLUFusion(Table):
    channel_shared: bool = slot(0, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class QuantDTypeCast(Table):
    src_t: int = slot(0, fbs.LONG, 0)
    dst_t: int = slot(1, fbs.LONG, 0)
    axis: int = slot(2, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class Rank(Table):
    pass


@dataclass(frozen=True, slots=True)
class Range(Table):
    d_type: int = slot(0, fbs.LONG, 0)
    start: int = slot(1, fbs.LONG, 0)
    limit: int = slot(2, fbs.LONG, 0)
    delta: int = slot(3, fbs.LONG, 1)


@dataclass(frozen=True, slots=True)
class Reciprocal(Table):
    pass


@dataclass(frozen=True, slots=True)
class RealDiv(Table):
    pass


@dataclass(frozen=True, slots=True)
class ReduceFusion(Table):
    keep_dims: bool = slot(0, fbs.BOOL, False)
    mode: ReduceMode = slot(1, fbs.EnumOf(fbs.BYTE, ReduceMode), ReduceMode.ReduceMean)
    reduce_to_end: bool = slot(2, fbs.BOOL, False)
    coeff: float = slot(3, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Reshape(Table):
    pass


@dataclass(frozen=True, slots=True)
class Resize(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    method: ResizeMethod = slot(1, fbs.EnumOf(fbs.BYTE, ResizeMethod), ResizeMethod.LINEAR)
    new_height: int = slot(2, fbs.LONG, 0)
    new_width: int = slot(3, fbs.LONG, 0)
    preserve_aspect_ratio: bool = slot(4, fbs.BOOL, False)
    coordinate_transform_mode: CoordinateTransformMode = slot(5, fbs.EnumOf(fbs.BYTE, CoordinateTransformMode), CoordinateTransformMode.ASYMMETRIC)
    cubic_coeff: float = slot(6, fbs.FLOAT, 0.0)
    exclude_outside: int = slot(7, fbs.LONG, 0)
    extrapolation_value: float = slot(8, fbs.FLOAT, 0.0)
    nearest_mode: NearestMode = slot(9, fbs.EnumOf(fbs.BYTE, NearestMode), NearestMode.NORMAL)


@dataclass(frozen=True, slots=True)
class ReverseSequence(Table):
    seq_dim: int = slot(0, fbs.LONG, 0)
    batch_dim: int = slot(1, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class ReverseV2(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Rfft(Table):
    pass


@dataclass(frozen=True, slots=True)
class ROIPooling(Table):
    pass


@dataclass(frozen=True, slots=True)
class Round(Table):
    pass


@dataclass(frozen=True, slots=True)
class Rsqrt(Table):
    pass


@dataclass(frozen=True, slots=True)
class ScaleFusion(Table):
    axis: int = slot(0, fbs.LONG, 0)
    activation_type: ActivationType = slot(1, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class ScatterNd(Table):
    pass


@dataclass(frozen=True, slots=True)
class SGD(Table):
    pass


@dataclass(frozen=True, slots=True)
class Shape(Table):
    pass


@dataclass(frozen=True, slots=True)
class SigmoidCrossEntropyWithLogits(Table):
    pass


@dataclass(frozen=True, slots=True)
class SigmoidCrossEntropyWithLogitsGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Sin(Table):
    pass


@dataclass(frozen=True, slots=True)
class SkipGram(Table):
    pass


@dataclass(frozen=True, slots=True)
class SliceFusion(Table):
    axes: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class SmoothL1Loss(Table):
    pass


@dataclass(frozen=True, slots=True)
class SmoothL1LossGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Softmax(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class SoftmaxCrossEntropyWithLogits(Table):
    pass


@dataclass(frozen=True, slots=True)
class SpaceToBatch(Table):
    block_size: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())
    paddings: Vec2D | None = slot(1, fbs.TableOf(Vec2D), None)


@dataclass(frozen=True, slots=True)
class SpaceToBatchND(Table):
    block_shape: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())
    paddings: Vec2D | None = slot(1, fbs.TableOf(Vec2D), None)


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Table):
    block_size: int = slot(0, fbs.LONG, 0)
    format: Format = slot(1, fbs.EnumOf(fbs.INT, Format), Format.NCHW)


@dataclass(frozen=True, slots=True)
class SparseSoftmaxCrossEntropyWithLogits(Table):
    pass


@dataclass(frozen=True, slots=True)
class SparseToDense(Table):
    pass


@dataclass(frozen=True, slots=True)
class Split(Table):
    output_num: int = slot(0, fbs.LONG, 0)
    size_splits: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())
    axis: int = slot(2, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class Sqrt(Table):
    pass


@dataclass(frozen=True, slots=True)
class Squeeze(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Square(Table):
    pass


@dataclass(frozen=True, slots=True)
class SquaredDifference(Table):
    pass


@dataclass(frozen=True, slots=True)
class Stack(Table):
    axis: int = slot(0, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class StridedSlice(Table):
    begin_mask: int = slot(0, fbs.LONG, 0)
    end_mask: int = slot(1, fbs.LONG, 0)
    ellipsis_mask: int = slot(2, fbs.LONG, 0)
    new_axis_mask: int = slot(3, fbs.LONG, 0)
    shrink_axis_mask: int = slot(4, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class SubFusion(Table):
    activation_type: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class SubGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Switch(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListFromTensor(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListGetItem(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListReserve(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListSetItem(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListStack(Table):
    pass


@dataclass(frozen=True, slots=True)
class TileFusion(Table):
    dims: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class TopKFusion(Table):
    sorted: bool = slot(0, fbs.BOOL, True)
    axis: int = slot(1, fbs.LONG, 0)
    largest: int = slot(2, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class Transpose(Table):
    pass


@dataclass(frozen=True, slots=True)
class Unique(Table):
    pass


@dataclass(frozen=True, slots=True)
class UnsortedSegmentSum(Table):
    pass


@dataclass(frozen=True, slots=True)
class Unsqueeze(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Unstack(Table):
    axis: int = slot(0, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class LSTMGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Where(Table):
    pass


@dataclass(frozen=True, slots=True)
class ZerosLike(Table):
    pass


@dataclass(frozen=True, slots=True)
class Select(Table):
    pass


@dataclass(frozen=True, slots=True)
class ScatterNdUpdate(Table):
    pass


@dataclass(frozen=True, slots=True)
class GRU(Table):
    pass


@dataclass(frozen=True, slots=True)
class NonZero(Table):
    pass


@dataclass(frozen=True, slots=True)
class InvertPermutation(Table):
    pass


@dataclass(frozen=True, slots=True)
class Size(Table):
    pass


@dataclass(frozen=True, slots=True)
class RandomStandardNormal(Table):
    pass


@dataclass(frozen=True, slots=True)
class CropAndResize(Table):
    pass


@dataclass(frozen=True, slots=True)
class Erf(Table):
    pass


@dataclass(frozen=True, slots=True)
class StridedSliceGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class IsFinite(Table):
    pass


@dataclass(frozen=True, slots=True)
class LinSpace(Table):
    pass


@dataclass(frozen=True, slots=True)
class UniformReal(Table):
    pass


@dataclass(frozen=True, slots=True)
class AbsGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class RsqrtGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class SqrtGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class LayerNormGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class ResizeGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Splice(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogSoftmax(Table):
    axis: int = slot(0, fbs.LONG, 0)


@dataclass(frozen=True, slots=True)
class Call(Table):
    pass


@dataclass(frozen=True, slots=True)
class Custom(Table):
    type: str = slot(0, fbs.Text(), "")
    attr: tuple[Attribute, ...] = slot(1, fbs.VectorOfTables(Attribute), ())


@dataclass(frozen=True, slots=True)
class CumSum(Table):
    exclusive: bool = slot(0, fbs.BOOL, False)
    reverse: bool = slot(1, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class SplitWithOverlap(Table):
    pass


@dataclass(frozen=True, slots=True)
class GenOP(Table):
    pass


@dataclass(frozen=True, slots=True)
class RaggedRange(Table):
    pass


@dataclass(frozen=True, slots=True)
class GLU(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorArray(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorArrayRead(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorArrayWrite(Table):
    pass


@dataclass(frozen=True, slots=True)
class Affine(Table):
    pass


@dataclass(frozen=True, slots=True)
class AllGather(Table):
    pass


@dataclass(frozen=True, slots=True)
class ReduceScatter(Table):
    pass


@dataclass(frozen=True, slots=True)
class DynamicQuant(Table):
    pass


@dataclass(frozen=True, slots=True)
class LSTMGradData(Table):
    pass


@dataclass(frozen=True, slots=True)
class LSTMGradWeight(Table):
    pass


@dataclass(frozen=True, slots=True)
class RandomNormal(Table):
    pass


@dataclass(frozen=True, slots=True)
class NLLLoss(Table):
    pass


@dataclass(frozen=True, slots=True)
class NLLLossGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class FormatTranspose(Table):
    src_format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NHWC)
    dst_format: Format = slot(1, fbs.EnumOf(fbs.INT, Format), Format.NHWC)


@dataclass(frozen=True, slots=True)
class GatherD(Table):
    pass


@dataclass(frozen=True, slots=True)
class GroupNormFusion(Table):
    pass


@dataclass(frozen=True, slots=True)
class Log1p(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorScatterAdd(Table):
    pass


@dataclass(frozen=True, slots=True)
class SparseFillEmptyRows(Table):
    pass


@dataclass(frozen=True, slots=True)
class SparseReshape(Table):
    pass


@dataclass(frozen=True, slots=True)
class SparseSegmentSum(Table):
    pass


@dataclass(frozen=True, slots=True)
class ScatterElements(Table):
    pass


@dataclass(frozen=True, slots=True)
class Triu(Table):
    pass


@dataclass(frozen=True, slots=True)
class Tril(Table):
    pass


@dataclass(frozen=True, slots=True)
class AdamWeightDecay(Table):
    pass


@dataclass(frozen=True, slots=True)
class FillV2(Table):
    pass


PrimitiveType: TypeAlias = (
    Abs
    | Activation
    | ActivationGrad
    | Adam
    | AddFusion
    | AdderFusion
    | AddGrad
    | AddN
    | All
    | ApplyMomentum
    | ArgMaxFusion
    | ArgMinFusion
    | Assert
    | Assign
    | AssignAdd
    | AudioSpectrogram
    | AvgPoolFusion
    | AvgPoolGrad
    | BatchNorm
    | BatchNormGrad
    | BatchToSpace
    | BatchToSpaceND
    | BiasAdd
    | BinaryCrossEntropy
    | BinaryCrossEntropyGrad
    | BiasAddGrad
    | BroadcastTo
    | Cast
    | Ceil
    | Clip
    | Concat
    | Attention
    | Conv2DBackpropFilterFusion
    | Conv2DBackpropInputFusion
    | Conv2DFusion
    | Conv2dTransposeFusion
    | Cos
    | ConstantOfShape
    | Crop
    | CustomExtractFeatures
    | CustomNormalize
    | CustomPredict
    | DeConv2DGradFilter
    | Depend
    | DepthToSpace
    | DetectionPostProcess
    | DivFusion
    | DivGrad
    | Dropout
    | DropoutGrad
    | Elu
    | Eltwise
    | Equal
    | EmbeddingLookupFusion
    | ExpFusion
    | ExpandDims
    | FakeQuantWithMinMaxVars
    | FakeQuantWithMinMaxVarsPerChannel
    | FftReal
    | FftImag
    | Flatten
    | FlattenGrad
    | Floor
    | FloorDiv
    | FloorMod
    | Fill
    | FullConnection
    | FusedBatchNorm
    | Gather
    | GatherNd
    | Greater
    | GreaterEqual
    | HashtableLookup
    | InstanceNorm
    | LayerNormFusion
    | LeakyRelu
    | Less
    | LessEqual
    | Log
    | LogGrad
    | LogicalAnd
    | LogicalNot
    | LogicalOr
    | LpNormalization
    | LRN
    | LshProjection
    | LSTM
    | L2NormalizeFusion
    | MatMulFusion
    | Maximum
    | MaximumGrad
    | MaxPoolFusion
    | MaxPoolGrad
    | SwitchLayer
    | Mfcc
    | Minimum
    | MinimumGrad
    | Mod
    | MulFusion
    | MulGrad
    | Neg
    | NegGrad
    | NotEqual
    | NonMaxSuppression
    | OneHot
    | OnesLike
    | PadFusion
    | PartialFusion
    | PowerGrad
    | PowFusion
    | PriorBox
    | PReLUFusion
    | QuantDTypeCast
    | Rank
    | Range
    | Reciprocal
    | RealDiv
    | ReduceFusion
    | Reshape
    | Resize
    | ReverseSequence
    | ReverseV2
    | Rfft
    | ROIPooling
    | Round
    | Rsqrt
    | ScaleFusion
    | ScatterNd
    | SGD
    | Shape
    | SigmoidCrossEntropyWithLogits
    | SigmoidCrossEntropyWithLogitsGrad
    | Sin
    | SkipGram
    | SliceFusion
    | SmoothL1Loss
    | SmoothL1LossGrad
    | Softmax
    | SoftmaxCrossEntropyWithLogits
    | SpaceToBatch
    | SpaceToBatchND
    | SpaceToDepth
    | SparseSoftmaxCrossEntropyWithLogits
    | SparseToDense
    | Split
    | Sqrt
    | Squeeze
    | Square
    | SquaredDifference
    | Stack
    | StridedSlice
    | SubFusion
    | SubGrad
    | Switch
    | TensorListFromTensor
    | TensorListGetItem
    | TensorListReserve
    | TensorListSetItem
    | TensorListStack
    | TileFusion
    | TopKFusion
    | Transpose
    | Unique
    | UnsortedSegmentSum
    | Unsqueeze
    | Unstack
    | LSTMGrad
    | Where
    | ZerosLike
    | Select
    | ScatterNdUpdate
    | GRU
    | NonZero
    | InvertPermutation
    | Size
    | RandomStandardNormal
    | CropAndResize
    | Erf
    | StridedSliceGrad
    | IsFinite
    | LinSpace
    | UniformReal
    | AbsGrad
    | RsqrtGrad
    | SqrtGrad
    | LayerNormGrad
    | ResizeGrad
    | Splice
    | LogSoftmax
    | Call
    | Custom
    | CumSum
    | SplitWithOverlap
    | GenOP
    | RaggedRange
    | GLU
    | TensorArray
    | TensorArrayRead
    | TensorArrayWrite
    | Affine
    | AllGather
    | ReduceScatter
    | DynamicQuant
    | LSTMGradData
    | LSTMGradWeight
    | RandomNormal
    | NLLLoss
    | NLLLossGrad
    | FormatTranspose
    | GatherD
    | GroupNormFusion
    | Log1p
    | TensorScatterAdd
    | SparseFillEmptyRows
    | SparseReshape
    | SparseSegmentSum
    | ScatterElements
    | Triu
    | Tril
    | AdamWeightDecay
    | FillV2
)
PRIMITIVETYPE = fbs.Union("PrimitiveType", (
    Abs,
    Activation,
    ActivationGrad,
    Adam,
    AddFusion,
    AdderFusion,
    AddGrad,
    AddN,
    All,
    ApplyMomentum,
    ArgMaxFusion,
    ArgMinFusion,
    Assert,
    Assign,
    AssignAdd,
    AudioSpectrogram,
    AvgPoolFusion,
    AvgPoolGrad,
    BatchNorm,
    BatchNormGrad,
    BatchToSpace,
    BatchToSpaceND,
    BiasAdd,
    BinaryCrossEntropy,
    BinaryCrossEntropyGrad,
    BiasAddGrad,
    BroadcastTo,
    Cast,
    Ceil,
    Clip,
    Concat,
    Attention,
    Conv2DBackpropFilterFusion,
    Conv2DBackpropInputFusion,
    Conv2DFusion,
    Conv2dTransposeFusion,
    Cos,
    ConstantOfShape,
    Crop,
    CustomExtractFeatures,
    CustomNormalize,
    CustomPredict,
    DeConv2DGradFilter,
    Depend,
    DepthToSpace,
    DetectionPostProcess,
    DivFusion,
    DivGrad,
    Dropout,
    DropoutGrad,
    Elu,
    Eltwise,
    Equal,
    EmbeddingLookupFusion,
    ExpFusion,
    ExpandDims,
    FakeQuantWithMinMaxVars,
    FakeQuantWithMinMaxVarsPerChannel,
    FftReal,
    FftImag,
    Flatten,
    FlattenGrad,
    Floor,
    FloorDiv,
    FloorMod,
    Fill,
    FullConnection,
    FusedBatchNorm,
    Gather,
    GatherNd,
    Greater,
    GreaterEqual,
    HashtableLookup,
    InstanceNorm,
    LayerNormFusion,
    LeakyRelu,
    Less,
    LessEqual,
    Log,
    LogGrad,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LpNormalization,
    LRN,
    LshProjection,
    LSTM,
    L2NormalizeFusion,
    MatMulFusion,
    Maximum,
    MaximumGrad,
    MaxPoolFusion,
    MaxPoolGrad,
    SwitchLayer,
    Mfcc,
    Minimum,
    MinimumGrad,
    Mod,
    MulFusion,
    MulGrad,
    Neg,
    NegGrad,
    NotEqual,
    NonMaxSuppression,
    OneHot,
    OnesLike,
    PadFusion,
    PartialFusion,
    PowerGrad,
    PowFusion,
    PriorBox,
    PReLUFusion,
    QuantDTypeCast,
    Rank,
    Range,
    Reciprocal,
    RealDiv,
    ReduceFusion,
    Reshape,
    Resize,
    ReverseSequence,
    ReverseV2,
    Rfft,
    ROIPooling,
    Round,
    Rsqrt,
    ScaleFusion,
    ScatterNd,
    SGD,
    Shape,
    SigmoidCrossEntropyWithLogits,
    SigmoidCrossEntropyWithLogitsGrad,
    Sin,
    SkipGram,
    SliceFusion,
    SmoothL1Loss,
    SmoothL1LossGrad,
    Softmax,
    SoftmaxCrossEntropyWithLogits,
    SpaceToBatch,
    SpaceToBatchND,
    SpaceToDepth,
    SparseSoftmaxCrossEntropyWithLogits,
    SparseToDense,
    Split,
    Sqrt,
    Squeeze,
    Square,
    SquaredDifference,
    Stack,
    StridedSlice,
    SubFusion,
    SubGrad,
    Switch,
    TensorListFromTensor,
    TensorListGetItem,
    TensorListReserve,
    TensorListSetItem,
    TensorListStack,
    TileFusion,
    TopKFusion,
    Transpose,
    Unique,
    UnsortedSegmentSum,
    Unsqueeze,
    Unstack,
    LSTMGrad,
    Where,
    ZerosLike,
    Select,
    ScatterNdUpdate,
    GRU,
    NonZero,
    InvertPermutation,
    Size,
    RandomStandardNormal,
    CropAndResize,
    Erf,
    StridedSliceGrad,
    IsFinite,
    LinSpace,
    UniformReal,
    AbsGrad,
    RsqrtGrad,
    SqrtGrad,
    LayerNormGrad,
    ResizeGrad,
    Splice,
    LogSoftmax,
    Call,
    Custom,
    CumSum,
    SplitWithOverlap,
    GenOP,
    RaggedRange,
    GLU,
    TensorArray,
    TensorArrayRead,
    TensorArrayWrite,
    Affine,
    AllGather,
    ReduceScatter,
    DynamicQuant,
    LSTMGradData,
    LSTMGradWeight,
    RandomNormal,
    NLLLoss,
    NLLLossGrad,
    FormatTranspose,
    GatherD,
    GroupNormFusion,
    Log1p,
    TensorScatterAdd,
    SparseFillEmptyRows,
    SparseReshape,
    SparseSegmentSum,
    ScatterElements,
    Triu,
    Tril,
    AdamWeightDecay,
    FillV2,
))


class WeightQuantCompressType(IntEnum):
    NONE = 0
    INDEXING = 1
    SPARSE = 2
    FSE = 3
    BITPACKING = 4
    FSE_INT = 5
    FSE_INFER = 6


class QuantType(IntEnum):
    QUANT_NONE = 0
    AwareTraining = 1
    WeightQuant = 2
    PostTraining = 3
    QUANT_WEIGHT = 4
    QUANT_ALL = 5
    QUANT_DYNAMIC = 6


@dataclass(frozen=True, slots=True)
class QuantParam(Table):
    scale: float = slot(0, fbs.DOUBLE, 1.0)
    zeroPoint: int = slot(1, fbs.INT, 0)
    min: float = slot(2, fbs.DOUBLE, 0.0)
    max: float = slot(3, fbs.DOUBLE, 0.0)
    narrowRange: bool = slot(4, fbs.BOOL, True)
    numBits: int = slot(5, fbs.INT, 8)
    inited: bool = slot(6, fbs.BOOL, False)
    varCorr: float = slot(7, fbs.FLOAT, 1.0)
    meanCorr: float = slot(8, fbs.FLOAT, 0.0)
    dstDtype: int = slot(9, fbs.INT, 32)
    roundType: int = slot(10, fbs.INT, 1)
    multiplier: int = slot(11, fbs.INT, 1)


@dataclass(frozen=True, slots=True)
class ExternalData(Table):
    checkSum: str = slot(0, fbs.Text(), "")
    location: str = slot(1, fbs.Text(), "")
    offset: int = slot(2, fbs.LONG, 0)
    length: int = slot(3, fbs.LONG, -1)


@dataclass(frozen=True, slots=True)
class Tensor(Table):
    nodeType: int = slot(0, fbs.INT, 0)
    dataType: int = slot(1, fbs.INT, 0)
    dims: tuple[int, ...] = slot(2, fbs.Vector(fbs.INT), ())
    format: Format = slot(3, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    refCount: int = slot(4, fbs.INT, 0)
    offset: int = slot(5, fbs.INT, 0)
    data: memoryview | None = slot(6, fbs.Vector(fbs.UBYTE), None)
    quantParams: tuple[QuantParam, ...] = slot(7, fbs.VectorOfTables(QuantParam), ())
    quantClusters: tuple[float, ...] = slot(8, fbs.Vector(fbs.FLOAT), ())
    name: str = slot(9, fbs.Text(), "")
    enableHuffmanCode: bool = slot(10, fbs.BOOL, False)
    weightQuantCompressType: WeightQuantCompressType = slot(11, fbs.EnumOf(fbs.INT, WeightQuantCompressType), WeightQuantCompressType.NONE)
    externalData: tuple[ExternalData, ...] = slot(12, fbs.VectorOfTables(ExternalData), ())


@dataclass(frozen=True, slots=True)
class Primitive(Table):
    value: PrimitiveType | None = slot(1, PRIMITIVETYPE, None)


@dataclass(frozen=True, slots=True)
class CNode(Table):
    name: str = slot(0, fbs.Text(), "")
    nodeType: int = slot(1, fbs.INT, 0)
    primitive: Primitive | None = slot(2, fbs.TableOf(Primitive), None)
    inputIndex: tuple[int, ...] = slot(3, fbs.Vector(fbs.UINT), ())
    outputIndex: tuple[int, ...] = slot(4, fbs.Vector(fbs.UINT), ())
    quantType: QuantType = slot(5, fbs.EnumOf(fbs.INT, QuantType), QuantType.QUANT_NONE)
    deviceType: int = slot(6, fbs.INT, -1)


@dataclass(frozen=True, slots=True)
class SubGraph(Table):
    name: str = slot(0, fbs.Text(), "")
    inputIndices: tuple[int, ...] = slot(1, fbs.Vector(fbs.UINT), ())
    outputIndices: tuple[int, ...] = slot(2, fbs.Vector(fbs.UINT), ())
    nodeIndices: tuple[int, ...] = slot(3, fbs.Vector(fbs.UINT), ())
    tensorIndices: tuple[int, ...] = slot(4, fbs.Vector(fbs.UINT), ())


@dataclass(frozen=True, slots=True)
class MetaGraph(Table):
    name: str = slot(0, fbs.Text(), "")
    version: str = slot(1, fbs.Text(), "")
    fmkType: int = slot(2, fbs.INT, 0)
    inputIndex: tuple[int, ...] = slot(3, fbs.Vector(fbs.UINT), ())
    outputIndex: tuple[int, ...] = slot(4, fbs.Vector(fbs.UINT), ())
    mempoolSize: int = slot(5, fbs.UINT, 0)
    nodes: tuple[CNode, ...] = slot(6, fbs.VectorOfTables(CNode), ())
    allTensors: tuple[Tensor, ...] = slot(7, fbs.VectorOfTables(Tensor), ())
    subGraph: tuple[SubGraph, ...] = slot(8, fbs.VectorOfTables(SubGraph), ())
    obfuscate: bool = slot(9, fbs.BOOL, False)
    obfMetaData: memoryview | None = slot(10, fbs.Vector(fbs.UBYTE), None)


ROOT = MetaGraph
