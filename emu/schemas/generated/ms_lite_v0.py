"""The tables of ms_lite/v0.fbs (MindSpore Lite). Written by emu.schemas.generate_fbs, not by hand."""

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
    COMMON = 0
    HALF_PIXEL = 1
    PYTORCH_HALF_PIXEL = 2
    TF_HALF_PIXEL = 3
    TF_CROP_AND_RESIZE = 4
    ALIGN_CORNERS = 5
    ASYMMETRIC = 6
    ALIGN_CORNERS_WITH_HALF_PIEXL = 7


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
    NCW = 13
    NWC = 14
    NC4HW4 = 100
    NUM_OF_FORMAT = 101


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
    UNKNOWN = 19


class ReduceMode(IntEnum):
    ReduceMean = 0
    ReduceMax = 1
    ReduceMin = 2
    ReduceProd = 3
    ReduceSum = 4
    ReduceSumSquare = 5
    ReduceASum = 6
    ReduceAll = 7


class PoolMode(IntEnum):
    MAX_POOLING = 0
    MEAN_POOLING = 1


class EltwiseMode(IntEnum):
    PROD = 0
    SUM = 1
    MAXIMUM = 2
    UNKNOWN = 3


class PadMode(IntEnum):
    NOTSET = 0
    SAME_UPPER = 1
    VALID = 2
    CAFFE = 4
    SAME_LOWER = 5


class RoundMode(IntEnum):
    FLOOR = 0
    CEIL = 1


class PaddingMode(IntEnum):
    CONSTANT = 0
    REFLECT = 1
    SYMMETRIC = 2
    MODE_RESERVED = 3


@dataclass(frozen=True, slots=True)
class Concat(Table):
    axis: int = slot(0, fbs.INT, 0)
    n: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class SoftMax(Table):
    axis: int = slot(0, fbs.INT, -1)


@dataclass(frozen=True, slots=True)
class Activation(Table):
    type: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)
    alpha: float = slot(1, fbs.FLOAT, 0.2)
    min_val: float = slot(2, fbs.FLOAT, -1.0)
    max_val: float = slot(3, fbs.FLOAT, 1.0)


@dataclass(frozen=True, slots=True)
class Conv2D(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    group: int = slot(1, fbs.INT, 0)
    channelIn: int = slot(2, fbs.INT, 0)
    channelOut: int = slot(3, fbs.INT, 0)
    kernelW: int = slot(4, fbs.INT, 0)
    kernelH: int = slot(5, fbs.INT, 0)
    strideW: int = slot(6, fbs.INT, 0)
    strideH: int = slot(7, fbs.INT, 0)
    padMode: PadMode = slot(8, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.NOTSET)
    padUp: int = slot(9, fbs.INT, 0)
    padDown: int = slot(10, fbs.INT, 0)
    padLeft: int = slot(11, fbs.INT, 0)
    padRight: int = slot(12, fbs.INT, 0)
    dilateW: int = slot(13, fbs.INT, 0)
    dilateH: int = slot(14, fbs.INT, 0)
    hasBias: bool = slot(15, fbs.BOOL, False)
    activationType: ActivationType = slot(16, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class FusedBatchNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 1e-05)
    momentum: float = slot(1, fbs.FLOAT, 0.9)
    spatial: int = slot(2, fbs.INT, 1)


@dataclass(frozen=True, slots=True)
class BatchNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 1e-05)


@dataclass(frozen=True, slots=True)
class BiasAdd(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Pooling(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    poolingMode: PoolMode = slot(1, fbs.EnumOf(fbs.BYTE, PoolMode), PoolMode.MAX_POOLING)
    global_: bool = slot(2, fbs.BOOL, False, name="global")
    windowW: int = slot(3, fbs.INT, 0)
    windowH: int = slot(4, fbs.INT, 0)
    strideW: int = slot(5, fbs.INT, 0)
    strideH: int = slot(6, fbs.INT, 0)
    padMode: PadMode = slot(7, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.NOTSET)
    padUp: int = slot(8, fbs.INT, 0)
    padDown: int = slot(9, fbs.INT, 0)
    padLeft: int = slot(10, fbs.INT, 0)
    padRight: int = slot(11, fbs.INT, 0)
    roundMode: RoundMode = slot(12, fbs.EnumOf(fbs.BYTE, RoundMode), RoundMode.FLOOR)
    activationType: ActivationType = slot(13, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)
    avgMode: int = slot(14, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class ROIPooling(Table):
    pass


@dataclass(frozen=True, slots=True)
class DepthwiseConv2D(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    channelIn: int = slot(1, fbs.INT, 0)
    channelMultiplier: int = slot(2, fbs.INT, 0)
    kernelW: int = slot(3, fbs.INT, 0)
    kernelH: int = slot(4, fbs.INT, 0)
    strideW: int = slot(5, fbs.INT, 0)
    strideH: int = slot(6, fbs.INT, 0)
    padMode: PadMode = slot(7, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.NOTSET)
    padUp: int = slot(8, fbs.INT, 0)
    padDown: int = slot(9, fbs.INT, 0)
    padLeft: int = slot(10, fbs.INT, 0)
    padRight: int = slot(11, fbs.INT, 0)
    dilateW: int = slot(12, fbs.INT, 0)
    dilateH: int = slot(13, fbs.INT, 0)
    hasBias: bool = slot(14, fbs.BOOL, False)
    activationType: ActivationType = slot(15, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class DeDepthwiseConv2D(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    channelIn: int = slot(1, fbs.INT, 0)
    channelMultiplier: int = slot(2, fbs.INT, 0)
    kernelW: int = slot(3, fbs.INT, 0)
    kernelH: int = slot(4, fbs.INT, 0)
    strideW: int = slot(5, fbs.INT, 0)
    strideH: int = slot(6, fbs.INT, 0)
    padMode: PadMode = slot(7, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.NOTSET)
    padUp: int = slot(8, fbs.INT, 0)
    padDown: int = slot(9, fbs.INT, 0)
    padLeft: int = slot(10, fbs.INT, 0)
    padRight: int = slot(11, fbs.INT, 0)
    dilateW: int = slot(12, fbs.INT, 0)
    dilateH: int = slot(13, fbs.INT, 0)
    hasBias: bool = slot(14, fbs.BOOL, False)
    activationType: ActivationType = slot(15, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class Resize(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    method: ResizeMethod = slot(1, fbs.EnumOf(fbs.BYTE, ResizeMethod), ResizeMethod.LINEAR)
    newHeight: int = slot(2, fbs.LONG, 0)
    newWidth: int = slot(3, fbs.LONG, 0)
    alignCorners: bool = slot(4, fbs.BOOL, False)
    preserveAspectRatio: bool = slot(5, fbs.BOOL, False)
    coordinateTransformMode: CoordinateTransformMode = slot(6, fbs.EnumOf(fbs.BYTE, CoordinateTransformMode), CoordinateTransformMode.COMMON)
    cubicCoeff: float = slot(7, fbs.FLOAT, 0.0)
    excludeOutside: int = slot(8, fbs.INT, 0)
    extrapolationValue: float = slot(9, fbs.FLOAT, 0.0)
    nearestMode: NearestMode = slot(10, fbs.EnumOf(fbs.BYTE, NearestMode), NearestMode.NORMAL)


@dataclass(frozen=True, slots=True)
class DetectionPostProcess(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    inputSize: int = slot(1, fbs.INT, 0)
    hScale: float = slot(2, fbs.FLOAT, 0.0)
    wScale: float = slot(3, fbs.FLOAT, 0.0)
    xScale: float = slot(4, fbs.FLOAT, 0.0)
    yScale: float = slot(5, fbs.FLOAT, 0.0)
    NmsIouThreshold: float = slot(6, fbs.FLOAT, 0.0)
    NmsScoreThreshold: float = slot(7, fbs.FLOAT, 0.0)
    MaxDetections: int = slot(8, fbs.LONG, 0)
    DetectionsPerClass: int = slot(9, fbs.LONG, 0)
    MaxClassesPerDetection: int = slot(10, fbs.LONG, 0)
    NumClasses: int = slot(11, fbs.LONG, 0)
    UseRegularNms: bool = slot(12, fbs.BOOL, False)
    OutQuantized: bool = slot(13, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class FullConnection(Table):
    hasBias: bool = slot(0, fbs.BOOL, False)
    axis: int = slot(1, fbs.INT, 0)
    useAxis: bool = slot(2, fbs.BOOL, False)
    activationType: ActivationType = slot(3, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class Mean(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    keepDims: bool = slot(1, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class DeConv2D(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    group: int = slot(1, fbs.INT, 0)
    channelIn: int = slot(2, fbs.INT, 0)
    channelOut: int = slot(3, fbs.INT, 0)
    kernelW: int = slot(4, fbs.INT, 0)
    kernelH: int = slot(5, fbs.INT, 0)
    strideW: int = slot(6, fbs.INT, 0)
    strideH: int = slot(7, fbs.INT, 0)
    padMode: PadMode = slot(8, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.NOTSET)
    padUp: int = slot(9, fbs.INT, 0)
    padDown: int = slot(10, fbs.INT, 0)
    padLeft: int = slot(11, fbs.INT, 0)
    padRight: int = slot(12, fbs.INT, 0)
    dilateW: int = slot(13, fbs.INT, 0)
    dilateH: int = slot(14, fbs.INT, 0)
    hasBias: bool = slot(15, fbs.BOOL, False)
    activationType: ActivationType = slot(16, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)
    outputPaddingW: int = slot(17, fbs.INT, 0)
    outputPaddingH: int = slot(18, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Scale(Table):
    axis: int = slot(0, fbs.INT, 0)
    activationType: ActivationType = slot(1, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class Reshape(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    shape: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Eltwise(Table):
    mode: EltwiseMode = slot(0, fbs.EnumOf(fbs.BYTE, EltwiseMode), EltwiseMode.PROD)


@dataclass(frozen=True, slots=True)
class NetOutput(Table):
    pass


@dataclass(frozen=True, slots=True)
class Add(Table):
    activationType: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class Sub(Table):
    activationType: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class MatMul(Table):
    broadcast: bool = slot(0, fbs.BOOL, False)
    transposeA: bool = slot(1, fbs.BOOL, False)
    transposeB: bool = slot(2, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class StridedSlice(Table):
    beginMask: int = slot(0, fbs.INT, 0)
    endMask: int = slot(1, fbs.INT, 0)
    ellipsisMask: int = slot(2, fbs.INT, 0)
    newAxisMask: int = slot(3, fbs.INT, 0)
    shrinkAxisMask: int = slot(4, fbs.INT, 0)
    begin: tuple[int, ...] = slot(5, fbs.Vector(fbs.INT), ())
    end: tuple[int, ...] = slot(6, fbs.Vector(fbs.INT), ())
    stride: tuple[int, ...] = slot(7, fbs.Vector(fbs.INT), ())
    isScale: tuple[int, ...] = slot(8, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Power(Table):
    power: float = slot(0, fbs.FLOAT, 0.0)
    scale: float = slot(1, fbs.FLOAT, 0.0)
    shift: float = slot(2, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Slice(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    axes: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())
    begin: tuple[int, ...] = slot(2, fbs.Vector(fbs.INT), ())
    size: tuple[int, ...] = slot(3, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Stack(Table):
    axis: int = slot(0, fbs.INT, 0)
    n: int = slot(1, fbs.INT, 0)
    isScale: tuple[int, ...] = slot(2, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Mul(Table):
    activationType: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class RealDiv(Table):
    pass


@dataclass(frozen=True, slots=True)
class Pad(Table):
    paddings: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    paddingMode: PaddingMode = slot(1, fbs.EnumOf(fbs.BYTE, PaddingMode), PaddingMode.CONSTANT)
    constantValue: float = slot(2, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Maximum(Table):
    pass


@dataclass(frozen=True, slots=True)
class Minimum(Table):
    pass


@dataclass(frozen=True, slots=True)
class PReLU(Table):
    channelShared: bool = slot(0, fbs.BOOL, False)
    slope: tuple[float, ...] = slot(1, fbs.Vector(fbs.FLOAT), ())


@dataclass(frozen=True, slots=True)
class LeakyReLU(Table):
    negativeSlope: float = slot(0, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class ArgMax(Table):
    axis: int = slot(0, fbs.INT, 0)
    outMaxValue: bool = slot(1, fbs.BOOL, False)
    topK: int = slot(2, fbs.INT, 1)
    keepDims: bool = slot(3, fbs.BOOL, False)
    axisType: int = slot(4, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class ArgMin(Table):
    axis: int = slot(0, fbs.INT, 0)
    outMaxValue: bool = slot(1, fbs.BOOL, False)
    topK: int = slot(2, fbs.INT, 1)
    keepDims: bool = slot(3, fbs.BOOL, False)
    axisType: int = slot(4, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Exp(Table):
    base: float = slot(0, fbs.FLOAT, -1.0)
    scale: float = slot(1, fbs.FLOAT, 1.0)
    shift: float = slot(2, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Crop(Table):
    axis: int = slot(0, fbs.LONG, 0)
    offsets: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Range(Table):
    dType: int = slot(0, fbs.INT, 0)
    start: int = slot(1, fbs.INT, 0)
    limit: int = slot(2, fbs.INT, 0)
    delta: int = slot(3, fbs.INT, 1)


@dataclass(frozen=True, slots=True)
class Rsqrt(Table):
    pass


@dataclass(frozen=True, slots=True)
class ExpandDims(Table):
    dim: int = slot(0, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Tile(Table):
    multiples: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    dims: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Cast(Table):
    srcT: int = slot(0, fbs.INT, 0)
    dstT: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Shape(Table):
    pass


@dataclass(frozen=True, slots=True)
class Nchw2Nhwc(Table):
    pass


@dataclass(frozen=True, slots=True)
class Nhwc2Nchw(Table):
    pass


@dataclass(frozen=True, slots=True)
class QuantDTypeCast(Table):
    srcT: int = slot(0, fbs.INT, 0)
    dstT: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Split(Table):
    numberSplit: int = slot(0, fbs.INT, 0)
    sizeSplits: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())
    splitDim: int = slot(2, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Permute(Table):
    order: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class FakeQuantWithMinMaxVars(Table):
    pass


@dataclass(frozen=True, slots=True)
class Equal(Table):
    pass


@dataclass(frozen=True, slots=True)
class Less(Table):
    pass


@dataclass(frozen=True, slots=True)
class Greater(Table):
    pass


@dataclass(frozen=True, slots=True)
class NotEqual(Table):
    pass


@dataclass(frozen=True, slots=True)
class LessEqual(Table):
    pass


@dataclass(frozen=True, slots=True)
class GreaterEqual(Table):
    pass


@dataclass(frozen=True, slots=True)
class Min(Table):
    pass


@dataclass(frozen=True, slots=True)
class Floor(Table):
    pass


@dataclass(frozen=True, slots=True)
class Abs(Table):
    pass


@dataclass(frozen=True, slots=True)
class Neg(Table):
    pass


@dataclass(frozen=True, slots=True)
class Cos(Table):
    pass


@dataclass(frozen=True, slots=True)
class Sin(Table):
    pass


@dataclass(frozen=True, slots=True)
class Sqrt(Table):
    pass


@dataclass(frozen=True, slots=True)
class Square(Table):
    pass


@dataclass(frozen=True, slots=True)
class Constant(Table):
    pass


@dataclass(frozen=True, slots=True)
class Log(Table):
    pass


@dataclass(frozen=True, slots=True)
class Tan(Table):
    pass


@dataclass(frozen=True, slots=True)
class Atan(Table):
    pass


@dataclass(frozen=True, slots=True)
class Asin(Table):
    pass


@dataclass(frozen=True, slots=True)
class Clip(Table):
    max: float = slot(0, fbs.FLOAT, 0.0)
    min: float = slot(1, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Transpose(Table):
    perm: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    conjugate: bool = slot(1, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class Squeeze(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Unsqueeze(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Upsample(Table):
    pass


@dataclass(frozen=True, slots=True)
class Dropout(Table):
    pass


@dataclass(frozen=True, slots=True)
class Broadcast(Table):
    pass


@dataclass(frozen=True, slots=True)
class BroadcastTo(Table):
    dst_shape: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Lrn(Table):
    pass


@dataclass(frozen=True, slots=True)
class ZerosLike(Table):
    pass


@dataclass(frozen=True, slots=True)
class TopK(Table):
    k: int = slot(0, fbs.INT, 0)
    sorted: bool = slot(1, fbs.BOOL, True)


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Table):
    blockSize: int = slot(0, fbs.INT, 0)
    format: Format = slot(1, fbs.EnumOf(fbs.INT, Format), Format.NCHW)


@dataclass(frozen=True, slots=True)
class SpaceToBatch(Table):
    blockShape: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    paddings: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class SparseToDense(Table):
    pass


@dataclass(frozen=True, slots=True)
class ReverseSequence(Table):
    seqAxis: int = slot(0, fbs.INT, 0)
    batchAxis: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Rank(Table):
    pass


@dataclass(frozen=True, slots=True)
class Gather(Table):
    axis: int = slot(0, fbs.INT, 0)
    batchDims: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class GatherNd(Table):
    batchDims: int = slot(0, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Fill(Table):
    dims: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Elu(Table):
    alpha: float = slot(0, fbs.FLOAT, 1.0)


@dataclass(frozen=True, slots=True)
class DepthToSpace(Table):
    blockSize: int = slot(0, fbs.INT, 0)
    format: Format = slot(1, fbs.EnumOf(fbs.INT, Format), Format.NCHW)


@dataclass(frozen=True, slots=True)
class BatchToSpace(Table):
    blockShape: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    crops: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class AddN(Table):
    N: int = slot(0, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Ceil(Table):
    pass


@dataclass(frozen=True, slots=True)
class EmbeddingLookup(Table):
    pass


@dataclass(frozen=True, slots=True)
class EmbeddingLookupSparse(Table):
    pass


@dataclass(frozen=True, slots=True)
class FloorDiv(Table):
    pass


@dataclass(frozen=True, slots=True)
class FloorMod(Table):
    pass


@dataclass(frozen=True, slots=True)
class L2Norm(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    epsilon: float = slot(1, fbs.FLOAT, 0.0)
    activationType: ActivationType = slot(2, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class LocalResponseNormalization(Table):
    depth_radius: int = slot(0, fbs.INT, 0)
    bias: float = slot(1, fbs.FLOAT, 0.0)
    alpha: float = slot(2, fbs.FLOAT, 0.0)
    beta: float = slot(3, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class MatrixDiag(Table):
    pass


@dataclass(frozen=True, slots=True)
class Reduce(Table):
    axes: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    keepDims: int = slot(1, fbs.INT, 0)
    mode: ReduceMode = slot(2, fbs.EnumOf(fbs.BYTE, ReduceMode), ReduceMode.ReduceMean)
    reduceToEnd: bool = slot(3, fbs.BOOL, False)
    coeff: float = slot(4, fbs.FLOAT, 1.0)


@dataclass(frozen=True, slots=True)
class Reverse(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Round(Table):
    pass


@dataclass(frozen=True, slots=True)
class Select(Table):
    pass


@dataclass(frozen=True, slots=True)
class Scatter(Table):
    pass


@dataclass(frozen=True, slots=True)
class ScatterND(Table):
    pass


@dataclass(frozen=True, slots=True)
class ConstantOfShape(Table):
    dataType: int = slot(0, fbs.INT, 0)
    value: tuple[float, ...] = slot(1, fbs.Vector(fbs.FLOAT), ())


@dataclass(frozen=True, slots=True)
class Unique(Table):
    pass


@dataclass(frozen=True, slots=True)
class Unstack(Table):
    num: int = slot(0, fbs.INT, 0)
    axis: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class LogicalAnd(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogicalOr(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogicalXor(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogicalNot(Table):
    pass


@dataclass(frozen=True, slots=True)
class OnnxInt8Quantize(Table):
    pass


@dataclass(frozen=True, slots=True)
class OnnxInt8Dequantize(Table):
    pass


@dataclass(frozen=True, slots=True)
class FakeQuantWithMinMax(Table):
    pass


@dataclass(frozen=True, slots=True)
class FakeQuantWithMinMaxPerChannel(Table):
    pass


@dataclass(frozen=True, slots=True)
class BatchNormFold(Table):
    pass


@dataclass(frozen=True, slots=True)
class MulFold(Table):
    pass


@dataclass(frozen=True, slots=True)
class AddFold(Table):
    pass


@dataclass(frozen=True, slots=True)
class SquaredDifference(Table):
    pass


@dataclass(frozen=True, slots=True)
class Flatten(Table):
    pass


@dataclass(frozen=True, slots=True)
class FlattenGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class TupleGetItem(Table):
    pass


@dataclass(frozen=True, slots=True)
class Div(Table):
    activationType: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


@dataclass(frozen=True, slots=True)
class Where(Table):
    pass


@dataclass(frozen=True, slots=True)
class OneHot(Table):
    axis: int = slot(0, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Lstm(Table):
    bidirection: bool = slot(0, fbs.BOOL, False)
    smooth: float = slot(1, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Conv2DGradFilter(Table):
    pass


@dataclass(frozen=True, slots=True)
class Conv2DGradInput(Table):
    pass


@dataclass(frozen=True, slots=True)
class PoolingGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class BNGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Assign(Table):
    pass


@dataclass(frozen=True, slots=True)
class ApplyMomentum(Table):
    pass


@dataclass(frozen=True, slots=True)
class BiasGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class SoftmaxCrossEntropy(Table):
    pass


@dataclass(frozen=True, slots=True)
class AddGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class SubGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class MulGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class DivGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class PowerGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class ActivationGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class PriorBox(Table):
    pass


@dataclass(frozen=True, slots=True)
class SpaceToBatchND(Table):
    blockShape: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    paddings: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Depend(Table):
    pass


@dataclass(frozen=True, slots=True)
class Return(Table):
    pass


@dataclass(frozen=True, slots=True)
class MakeTuple(Table):
    pass


@dataclass(frozen=True, slots=True)
class ToFormat(Table):
    pass


@dataclass(frozen=True, slots=True)
class Proposal(Table):
    pass


@dataclass(frozen=True, slots=True)
class Custom(Table):
    custom: memoryview | None = slot(0, fbs.Vector(fbs.UBYTE), None)


@dataclass(frozen=True, slots=True)
class BlackBox(Table):
    pass


@dataclass(frozen=True, slots=True)
class NegGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class LogGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class BatchToSpaceND(Table):
    blockShape: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    crops: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class LshProjection(Table):
    pass


@dataclass(frozen=True, slots=True)
class HashtableLookup(Table):
    pass


@dataclass(frozen=True, slots=True)
class SkipGram(Table):
    pass


@dataclass(frozen=True, slots=True)
class DeConv2DGradFilter(Table):
    pass


@dataclass(frozen=True, slots=True)
class CustomPredict(Table):
    pass


@dataclass(frozen=True, slots=True)
class CustomNormalize(Table):
    pass


@dataclass(frozen=True, slots=True)
class CustomExtractFeatures(Table):
    pass


@dataclass(frozen=True, slots=True)
class AudioSpectrogram(Table):
    pass


@dataclass(frozen=True, slots=True)
class Mfcc(Table):
    pass


@dataclass(frozen=True, slots=True)
class Rfft(Table):
    pass


@dataclass(frozen=True, slots=True)
class FftReal(Table):
    pass


@dataclass(frozen=True, slots=True)
class FftImag(Table):
    pass


@dataclass(frozen=True, slots=True)
class Sgd(Table):
    pass


@dataclass(frozen=True, slots=True)
class Adam(Table):
    pass


@dataclass(frozen=True, slots=True)
class GroupConv2DGradInput(Table):
    pass


@dataclass(frozen=True, slots=True)
class Loop(Table):
    pass


@dataclass(frozen=True, slots=True)
class NonMaxSuppression(Table):
    pass


@dataclass(frozen=True, slots=True)
class InstanceNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 1e-05)


@dataclass(frozen=True, slots=True)
class Identity(Table):
    pass


@dataclass(frozen=True, slots=True)
class LayerNorm(Table):
    normalizedShape: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    epsilon: float = slot(1, fbs.FLOAT, 1e-05)
    elementwiseAffine: bool = slot(2, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class While(Table):
    pass


@dataclass(frozen=True, slots=True)
class ControlDepend(Table):
    pass


@dataclass(frozen=True, slots=True)
class UnsortedSegmentSum(Table):
    pass


@dataclass(frozen=True, slots=True)
class AssignAdd(Table):
    pass


@dataclass(frozen=True, slots=True)
class OnesLike(Table):
    pass


@dataclass(frozen=True, slots=True)
class BinaryCrossEntropyGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class BinaryCrossEntropy(Table):
    pass


@dataclass(frozen=True, slots=True)
class LpNormalization(Table):
    pass


@dataclass(frozen=True, slots=True)
class DropoutGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class MaximumGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class MinimumGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Switch(Table):
    pass


@dataclass(frozen=True, slots=True)
class Partial(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListFromTensor(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListStack(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListGetItem(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListSetItem(Table):
    pass


@dataclass(frozen=True, slots=True)
class TensorListReserve(Table):
    pass


@dataclass(frozen=True, slots=True)
class All(Table):
    pass


@dataclass(frozen=True, slots=True)
class Assert(Table):
    pass


@dataclass(frozen=True, slots=True)
class Adder(Table):
    pass


@dataclass(frozen=True, slots=True)
class SparseSoftmaxCrossEntropy(Table):
    pass


@dataclass(frozen=True, slots=True)
class SmoothL1Loss(Table):
    pass


@dataclass(frozen=True, slots=True)
class SmoothL1LossGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class SigmoidCrossEntropyWithLogits(Table):
    pass


@dataclass(frozen=True, slots=True)
class SigmoidCrossEntropyWithLogitsGrad(Table):
    pass


@dataclass(frozen=True, slots=True)
class Reciprocal(Table):
    pass


@dataclass(frozen=True, slots=True)
class Merge(Table):
    pass


@dataclass(frozen=True, slots=True)
class Mod(Table):
    pass


@dataclass(frozen=True, slots=True)
class GeLU(Table):
    approximate: bool = slot(0, fbs.BOOL, False)


PrimitiveType: TypeAlias = (
    Concat
    | SoftMax
    | Activation
    | Conv2D
    | FusedBatchNorm
    | BatchNorm
    | BiasAdd
    | Pooling
    | ROIPooling
    | DepthwiseConv2D
    | DeDepthwiseConv2D
    | Resize
    | DetectionPostProcess
    | FullConnection
    | Mean
    | DeConv2D
    | Scale
    | Reshape
    | Eltwise
    | NetOutput
    | Add
    | Sub
    | MatMul
    | StridedSlice
    | Power
    | Slice
    | Stack
    | Mul
    | RealDiv
    | Pad
    | Maximum
    | Minimum
    | PReLU
    | LeakyReLU
    | ArgMax
    | ArgMin
    | Exp
    | Crop
    | Range
    | Rsqrt
    | ExpandDims
    | Tile
    | Cast
    | Shape
    | Nchw2Nhwc
    | Nhwc2Nchw
    | QuantDTypeCast
    | Split
    | Permute
    | FakeQuantWithMinMaxVars
    | Equal
    | Less
    | Greater
    | NotEqual
    | LessEqual
    | GreaterEqual
    | Min
    | Floor
    | Abs
    | Neg
    | Cos
    | Sin
    | Sqrt
    | Square
    | Constant
    | Log
    | Tan
    | Atan
    | Asin
    | Clip
    | Transpose
    | Squeeze
    | Unsqueeze
    | Upsample
    | Dropout
    | Broadcast
    | BroadcastTo
    | Lrn
    | ZerosLike
    | TopK
    | SpaceToDepth
    | SpaceToBatch
    | SparseToDense
    | ReverseSequence
    | Rank
    | Gather
    | GatherNd
    | Fill
    | Elu
    | DepthToSpace
    | BatchToSpace
    | AddN
    | Ceil
    | EmbeddingLookup
    | EmbeddingLookupSparse
    | FloorDiv
    | FloorMod
    | L2Norm
    | LocalResponseNormalization
    | MatrixDiag
    | Reduce
    | Reverse
    | Round
    | Select
    | Scatter
    | ScatterND
    | ConstantOfShape
    | Unique
    | Unstack
    | LogicalAnd
    | LogicalOr
    | LogicalXor
    | LogicalNot
    | OnnxInt8Quantize
    | OnnxInt8Dequantize
    | FakeQuantWithMinMax
    | FakeQuantWithMinMaxPerChannel
    | BatchNormFold
    | MulFold
    | AddFold
    | SquaredDifference
    | Flatten
    | FlattenGrad
    | TupleGetItem
    | Div
    | Where
    | OneHot
    | Lstm
    | Conv2DGradFilter
    | Conv2DGradInput
    | PoolingGrad
    | BNGrad
    | Assign
    | ApplyMomentum
    | BiasGrad
    | SoftmaxCrossEntropy
    | AddGrad
    | SubGrad
    | MulGrad
    | DivGrad
    | PowerGrad
    | ActivationGrad
    | PriorBox
    | SpaceToBatchND
    | Depend
    | Return
    | MakeTuple
    | ToFormat
    | Proposal
    | Custom
    | BlackBox
    | NegGrad
    | LogGrad
    | BatchToSpaceND
    | LshProjection
    | HashtableLookup
    | SkipGram
    | DeConv2DGradFilter
    | CustomPredict
    | CustomNormalize
    | CustomExtractFeatures
    | AudioSpectrogram
    | Mfcc
    | Rfft
    | FftReal
    | FftImag
    | Sgd
    | Adam
    | GroupConv2DGradInput
    | Loop
    | NonMaxSuppression
    | InstanceNorm
    | Identity
    | LayerNorm
    | While
    | ControlDepend
    | UnsortedSegmentSum
    | AssignAdd
    | OnesLike
    | BinaryCrossEntropyGrad
    | BinaryCrossEntropy
    | LpNormalization
    | DropoutGrad
    | MaximumGrad
    | MinimumGrad
    | Switch
    | Partial
    | TensorListFromTensor
    | TensorListStack
    | TensorListGetItem
    | TensorListSetItem
    | TensorListReserve
    | All
    | Assert
    | Adder
    | SparseSoftmaxCrossEntropy
    | SmoothL1Loss
    | SmoothL1LossGrad
    | SigmoidCrossEntropyWithLogits
    | SigmoidCrossEntropyWithLogitsGrad
    | Reciprocal
    | Merge
    | Mod
    | GeLU
)
PRIMITIVETYPE = fbs.Union("PrimitiveType", (
    Concat,
    SoftMax,
    Activation,
    Conv2D,
    FusedBatchNorm,
    BatchNorm,
    BiasAdd,
    Pooling,
    ROIPooling,
    DepthwiseConv2D,
    DeDepthwiseConv2D,
    Resize,
    DetectionPostProcess,
    FullConnection,
    Mean,
    DeConv2D,
    Scale,
    Reshape,
    Eltwise,
    NetOutput,
    Add,
    Sub,
    MatMul,
    StridedSlice,
    Power,
    Slice,
    Stack,
    Mul,
    RealDiv,
    Pad,
    Maximum,
    Minimum,
    PReLU,
    LeakyReLU,
    ArgMax,
    ArgMin,
    Exp,
    Crop,
    Range,
    Rsqrt,
    ExpandDims,
    Tile,
    Cast,
    Shape,
    Nchw2Nhwc,
    Nhwc2Nchw,
    QuantDTypeCast,
    Split,
    Permute,
    FakeQuantWithMinMaxVars,
    Equal,
    Less,
    Greater,
    NotEqual,
    LessEqual,
    GreaterEqual,
    Min,
    Floor,
    Abs,
    Neg,
    Cos,
    Sin,
    Sqrt,
    Square,
    Constant,
    Log,
    Tan,
    Atan,
    Asin,
    Clip,
    Transpose,
    Squeeze,
    Unsqueeze,
    Upsample,
    Dropout,
    Broadcast,
    BroadcastTo,
    Lrn,
    ZerosLike,
    TopK,
    SpaceToDepth,
    SpaceToBatch,
    SparseToDense,
    ReverseSequence,
    Rank,
    Gather,
    GatherNd,
    Fill,
    Elu,
    DepthToSpace,
    BatchToSpace,
    AddN,
    Ceil,
    EmbeddingLookup,
    EmbeddingLookupSparse,
    FloorDiv,
    FloorMod,
    L2Norm,
    LocalResponseNormalization,
    MatrixDiag,
    Reduce,
    Reverse,
    Round,
    Select,
    Scatter,
    ScatterND,
    ConstantOfShape,
    Unique,
    Unstack,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    LogicalNot,
    OnnxInt8Quantize,
    OnnxInt8Dequantize,
    FakeQuantWithMinMax,
    FakeQuantWithMinMaxPerChannel,
    BatchNormFold,
    MulFold,
    AddFold,
    SquaredDifference,
    Flatten,
    FlattenGrad,
    TupleGetItem,
    Div,
    Where,
    OneHot,
    Lstm,
    Conv2DGradFilter,
    Conv2DGradInput,
    PoolingGrad,
    BNGrad,
    Assign,
    ApplyMomentum,
    BiasGrad,
    SoftmaxCrossEntropy,
    AddGrad,
    SubGrad,
    MulGrad,
    DivGrad,
    PowerGrad,
    ActivationGrad,
    PriorBox,
    SpaceToBatchND,
    Depend,
    Return,
    MakeTuple,
    ToFormat,
    Proposal,
    Custom,
    BlackBox,
    NegGrad,
    LogGrad,
    BatchToSpaceND,
    LshProjection,
    HashtableLookup,
    SkipGram,
    DeConv2DGradFilter,
    CustomPredict,
    CustomNormalize,
    CustomExtractFeatures,
    AudioSpectrogram,
    Mfcc,
    Rfft,
    FftReal,
    FftImag,
    Sgd,
    Adam,
    GroupConv2DGradInput,
    Loop,
    NonMaxSuppression,
    InstanceNorm,
    Identity,
    LayerNorm,
    While,
    ControlDepend,
    UnsortedSegmentSum,
    AssignAdd,
    OnesLike,
    BinaryCrossEntropyGrad,
    BinaryCrossEntropy,
    LpNormalization,
    DropoutGrad,
    MaximumGrad,
    MinimumGrad,
    Switch,
    Partial,
    TensorListFromTensor,
    TensorListStack,
    TensorListGetItem,
    TensorListSetItem,
    TensorListReserve,
    All,
    Assert,
    Adder,
    SparseSoftmaxCrossEntropy,
    SmoothL1Loss,
    SmoothL1LossGrad,
    SigmoidCrossEntropyWithLogits,
    SigmoidCrossEntropyWithLogitsGrad,
    Reciprocal,
    Merge,
    Mod,
    GeLU,
))


class QuantType(IntEnum):
    QUANT_NONE = 0
    AwareTraining = 1
    WeightQuant = 2
    PostTraining = 3


@dataclass(frozen=True, slots=True)
class QuantParam(Table):
    scale: float = slot(0, fbs.DOUBLE, 0.0)
    zeroPoint: int = slot(1, fbs.INT, 0)
    min: float = slot(2, fbs.DOUBLE, 0.0)
    max: float = slot(3, fbs.DOUBLE, 0.0)
    narrowRange: bool = slot(4, fbs.BOOL, True)
    numBits: int = slot(5, fbs.INT, 8)
    inited: bool = slot(6, fbs.BOOL, False)
    varCorr: float = slot(7, fbs.FLOAT, 1.0)
    meanCorr: float = slot(8, fbs.FLOAT, 0.0)
    dstDtype: int = slot(9, fbs.INT, 32)


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


@dataclass(frozen=True, slots=True)
class Primitive(Table):
    value: PrimitiveType | None = slot(1, PRIMITIVETYPE, None)


@dataclass(frozen=True, slots=True)
class CNode(Table):
    name: str = slot(0, fbs.Text(), "")
    nodeType: int = slot(1, fbs.INT, 2)
    primitive: Primitive | None = slot(2, fbs.TableOf(Primitive), None)
    inputIndex: tuple[int, ...] = slot(3, fbs.Vector(fbs.UINT), ())
    outputIndex: tuple[int, ...] = slot(4, fbs.Vector(fbs.UINT), ())
    quantType: QuantType = slot(5, fbs.EnumOf(fbs.INT, QuantType), QuantType.QUANT_NONE)


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


ROOT = MetaGraph
