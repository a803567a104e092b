"""The tables of ms.fbs (MindSpore predict). Written by emu.schemas.generate_fbs, not by hand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from emu.schemas import fbs
from emu.schemas.fbs import Table, slot


class ResizeMethod(IntEnum):
    UNKNOW = -1
    BILINEAR = 0
    NEAREST_NEIGHBOR = 1


class DataType(IntEnum):
    DT_FLOAT = 0
    DT_FLOAT16 = 1
    DT_INT8 = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 5
    DT_UINT32 = 8
    DT_INT64 = 9
    DT_UINT16 = 10
    DT_UNDEFINED = 16


class Format(IntEnum):
    NCHW = 0
    NHWC = 1
    HWKC = 2
    HWCK = 3
    KCHW = 4
    CKHW = 5
    KHWC = 6
    CHWK = 7
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
    UNKNOW = 16


class ReduceType(IntEnum):
    REDUCE_MAX = 0
    REDUCE_MEAN = 1
    REDUCE_ALL = 2
    REDUCE_ANY = 3
    REDUCE_LOG_SUM_EXP = 4
    REDUCE_PROD = 5
    REDUCE_SUM = 6
    UNKNOW = 7


class PoolMode(IntEnum):
    MAX_POOLING = 0
    MEAN_POOLING = 1


class EltwiseMode(IntEnum):
    PROD = 0
    SUM = 1
    MAXIMUM = 2
    UNKNOW = 3


class PadMode(IntEnum):
    NOTSET = 0
    SAME = 1
    VALID = 2
    CAFFE = 4


class RoundMode(IntEnum):
    FLOOR = 0
    CEIL = 1


class PaddingMode(IntEnum):
    CONSTANT = 0
    REFLECT = 1
    SYMMETRIC = 2
    MODE_RESERVED = 3


@dataclass(frozen=True, slots=True)
class Pad(Table):
    paddingmode: PaddingMode = slot(0, fbs.EnumOf(fbs.BYTE, PaddingMode), PaddingMode.CONSTANT)
    paddings: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Maximum(Table):
    pass


@dataclass(frozen=True, slots=True)
class Minimum(Table):
    pass


@dataclass(frozen=True, slots=True)
class Concat(Table):
    axis: int = slot(0, fbs.INT, 0)
    n: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class SoftMax(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Activation(Table):
    type: ActivationType = slot(0, fbs.EnumOf(fbs.BYTE, ActivationType), ActivationType.NO_ACTIVATION)


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
class CaffeBatchNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 0.0)


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
class FakeQuantWithMinMaxVars(Table):
    narrowRange: bool = slot(0, fbs.BOOL, False)
    numBits: int = slot(1, fbs.INT, 0)


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
    method: ResizeMethod = slot(1, fbs.EnumOf(fbs.BYTE, ResizeMethod), ResizeMethod.BILINEAR)
    newHeight: int = slot(2, fbs.LONG, 0)
    newWidth: int = slot(3, fbs.LONG, 0)
    alignCorners: bool = slot(4, fbs.BOOL, False)
    preserveAspectRatio: bool = slot(5, fbs.BOOL, False)


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
    DetectionsPreClass: int = slot(9, fbs.LONG, 0)
    MaxClassesPreDetection: int = slot(10, fbs.LONG, 0)
    NumClasses: int = slot(11, fbs.LONG, 0)
    UseRegularNms: bool = slot(12, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class FullConnection(Table):
    hasBias: bool = slot(0, fbs.BOOL, False)
    axis: int = slot(1, fbs.INT, 0)


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


@dataclass(frozen=True, slots=True)
class Scale(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)


@dataclass(frozen=True, slots=True)
class Eltwise(Table):
    mode: EltwiseMode = slot(0, fbs.EnumOf(fbs.BYTE, EltwiseMode), EltwiseMode.PROD)


@dataclass(frozen=True, slots=True)
class Add(Table):
    pass


@dataclass(frozen=True, slots=True)
class Sub(Table):
    pass


@dataclass(frozen=True, slots=True)
class Mul(Table):
    pass


@dataclass(frozen=True, slots=True)
class RealDiv(Table):
    pass


@dataclass(frozen=True, slots=True)
class Rsqrt(Table):
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
class Min(Table):
    pass


@dataclass(frozen=True, slots=True)
class Slice(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    begin: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())
    size: tuple[int, ...] = slot(2, fbs.Vector(fbs.INT), ())


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
class Exp(Table):
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
class Ceil(Table):
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
class Reshape(Table):
    format: Format = slot(0, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    shape: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Power(Table):
    power: float = slot(0, fbs.FLOAT, 0.0)
    scale: float = slot(1, fbs.FLOAT, 0.0)
    shift: float = slot(2, fbs.FLOAT, 0.0)


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
class NetOutput(Table):
    pass


@dataclass(frozen=True, slots=True)
class MatMul(Table):
    transposeA: bool = slot(0, fbs.BOOL, False)
    transposeB: bool = slot(1, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class CaffePReLU(Table):
    channelShared: bool = slot(0, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class LeakyReLU(Table):
    negativeSlope: float = slot(0, fbs.FLOAT, 0.0)


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
class Stack(Table):
    axis: int = slot(0, fbs.INT, 0)
    n: int = slot(1, fbs.INT, 0)
    isScale: tuple[int, ...] = slot(2, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Range(Table):
    dType: DataType = slot(0, fbs.EnumOf(fbs.INT, DataType), DataType.DT_FLOAT)
    start: int = slot(1, fbs.INT, 0)
    limit: int = slot(2, fbs.INT, 0)
    delta: int = slot(3, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class ExpandDims(Table):
    dim: int = slot(0, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Tile(Table):
    multiples: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Cast(Table):
    srcT: int = slot(0, fbs.INT, 0)
    dstT: int = slot(1, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class QuantDTypeCast(Table):
    srcT: DataType = slot(0, fbs.EnumOf(fbs.INT, DataType), DataType.DT_FLOAT)
    dstT: DataType = slot(1, fbs.EnumOf(fbs.INT, DataType), DataType.DT_FLOAT)


@dataclass(frozen=True, slots=True)
class Split(Table):
    numberSplit: int = slot(0, fbs.INT, 0)
    sizeSplits: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())
    splitDim: int = slot(2, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class CaffeCrop(Table):
    axis: int = slot(0, fbs.LONG, 0)
    offsets: tuple[int, ...] = slot(1, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Permute(Table):
    order: tuple[int, ...] = slot(0, fbs.Vector(fbs.LONG), ())


@dataclass(frozen=True, slots=True)
class Clip(Table):
    max: float = slot(0, fbs.FLOAT, 0.0)
    min: float = slot(1, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Constant(Table):
    pass


@dataclass(frozen=True, slots=True)
class Elu(Table):
    alpha: float = slot(0, fbs.FLOAT, 1.0)


@dataclass(frozen=True, slots=True)
class Broadcast(Table):
    pass


@dataclass(frozen=True, slots=True)
class Lrn(Table):
    alpha: float = slot(0, fbs.FLOAT, 0.0001)
    beta: float = slot(1, fbs.FLOAT, 0.75)
    bias: float = slot(2, fbs.FLOAT, 1.0)
    size: int = slot(3, fbs.INT, 0)


class ReduceMode(IntEnum):
    ReduceMean = 0
    ReduceMax = 1
    ReduceMin = 2
    ReduceProd = 3
    ReduceSum = 4
    ReduceSumSquare = 5


@dataclass(frozen=True, slots=True)
class Reduce(Table):
    axes: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    keepDims: int = slot(1, fbs.INT, 0)
    mode: ReduceMode = slot(2, fbs.EnumOf(fbs.BYTE, ReduceMode), ReduceMode.ReduceMean)


@dataclass(frozen=True, slots=True)
class Prelu(Table):
    slope: tuple[float, ...] = slot(0, fbs.Vector(fbs.FLOAT), ())


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
    mode: str = slot(0, fbs.Text(), "")
    scales: tuple[float, ...] = slot(1, fbs.Vector(fbs.FLOAT), ())


@dataclass(frozen=True, slots=True)
class Dropout(Table):
    ratio: float = slot(0, fbs.FLOAT, 0.5)


@dataclass(frozen=True, slots=True)
class LocalResponseNormalization(Table):
    depth_radius: int = slot(0, fbs.INT, 0)
    bias: float = slot(1, fbs.FLOAT, 0.0)
    alpha: float = slot(2, fbs.FLOAT, 0.0)
    beta: float = slot(3, fbs.FLOAT, 0.0)


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
    validateIndices: bool = slot(0, fbs.BOOL, False)


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
class EmbeddingLookup(Table):
    ids: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    maxNorm: float = slot(1, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class EmbeddingLookupSparse(Table):
    spIds: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    spWeights: tuple[float, ...] = slot(1, fbs.Vector(fbs.FLOAT), ())
    maxNortm: float = slot(2, fbs.FLOAT, 0.0)


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
class MatrixDiag(Table):
    k: int = slot(0, fbs.INT, 0)
    numRows: int = slot(1, fbs.INT, 0)
    numCols: int = slot(2, fbs.INT, 0)
    paddingValue: float = slot(3, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Select(Table):
    pass


@dataclass(frozen=True, slots=True)
class TfReduce(Table):
    type: ReduceType = slot(0, fbs.EnumOf(fbs.BYTE, ReduceType), ReduceType.UNKNOW)


@dataclass(frozen=True, slots=True)
class Reverse(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Round(Table):
    pass


@dataclass(frozen=True, slots=True)
class Scatter(Table):
    pass


@dataclass(frozen=True, slots=True)
class Unique(Table):
    pass


@dataclass(frozen=True, slots=True)
class Unstack(Table):
    num: int = slot(0, fbs.INT, 0)
    axis: int = slot(1, fbs.INT, 0)


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


class MSCONST(IntEnum):
    WEIGHT_REFCOUNT = 999


@dataclass(frozen=True, slots=True)
class QuantParam(Table):
    scale: float = slot(0, fbs.DOUBLE, 0.0)
    zeroPoint: int = slot(1, fbs.INT, 0)
    min: float = slot(2, fbs.DOUBLE, 0.0)
    max: float = slot(3, fbs.DOUBLE, 0.0)
    narrowRange: bool = slot(4, fbs.BOOL, True)
    numBits: int = slot(5, fbs.INT, 8)


@dataclass(frozen=True, slots=True)
class QuantParamArray(Table):
    param: tuple[QuantParam, ...] = slot(0, fbs.VectorOfTables(QuantParam), ())


@dataclass(frozen=True, slots=True)
class TensorDef(Table):
    dataType: DataType = slot(0, fbs.EnumOf(fbs.INT, DataType), DataType.DT_FLOAT)
    dims: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())
    format: Format = slot(2, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    refCount: int = slot(3, fbs.INT, 0)
    offset: int = slot(4, fbs.INT, 0)
    data: memoryview | None = slot(5, fbs.Vector(fbs.UBYTE), None)


OpT: TypeAlias = (
    Concat
    | SoftMax
    | Activation
    | Conv2D
    | FusedBatchNorm
    | CaffeBatchNorm
    | BiasAdd
    | Pooling
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
    | CaffePReLU
    | LeakyReLU
    | ArgMax
    | ArgMin
    | Exp
    | CaffeCrop
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
    | Lrn
    | Prelu
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
)
OPT = fbs.Union("OpT", (
    Concat,
    SoftMax,
    Activation,
    Conv2D,
    FusedBatchNorm,
    CaffeBatchNorm,
    BiasAdd,
    Pooling,
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
    CaffePReLU,
    LeakyReLU,
    ArgMax,
    ArgMin,
    Exp,
    CaffeCrop,
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
    Lrn,
    Prelu,
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
))


class QuantType(IntEnum):
    QUANT_NONE = 0
    AwareTrainning = 1
    WeightQuant = 2
    PostTraining = 3


class FmkType(IntEnum):
    TF = 0
    CAFFE = 1
    ONNX = 2
    MS = 3
    TFLITE = 4


@dataclass(frozen=True, slots=True)
class OpDef(Table):
    name: str = slot(0, fbs.Text(), "")
    fmkType: FmkType = slot(1, fbs.EnumOf(fbs.INT, FmkType), FmkType.TF)
    attr: OpT | None = slot(3, OPT, None)
    inputIndex: tuple[int, ...] = slot(4, fbs.Vector(fbs.UINT), ())
    outputIndex: tuple[int, ...] = slot(5, fbs.Vector(fbs.UINT), ())
    quantType: QuantType = slot(6, fbs.EnumOf(fbs.INT, QuantType), QuantType.QUANT_NONE)
    quantParam: tuple[QuantParamArray, ...] = slot(7, fbs.VectorOfTables(QuantParamArray), ())


@dataclass(frozen=True, slots=True)
class SubGraphDef(Table):
    name: str = slot(0, fbs.Text(), "")
    inputIndex: tuple[int, ...] = slot(1, fbs.Vector(fbs.UINT), ())
    outputIndex: tuple[int, ...] = slot(2, fbs.Vector(fbs.UINT), ())
    mempoolSize: int = slot(3, fbs.UINT, 0)
    nodes: tuple[OpDef, ...] = slot(4, fbs.VectorOfTables(OpDef), ())
    allTensors: tuple[TensorDef, ...] = slot(5, fbs.VectorOfTables(TensorDef), ())


@dataclass(frozen=True, slots=True)
class MempoolCfg(Table):
    size: int = slot(0, fbs.UINT, 0)
    shiftFactor: int = slot(1, fbs.UINT, 0)


@dataclass(frozen=True, slots=True)
class GraphDef(Table):
    name: str = slot(0, fbs.Text(), "")
    mempoolCfg: MempoolCfg | None = slot(1, fbs.TableOf(MempoolCfg), None)
    subgraphs: tuple[SubGraphDef, ...] = slot(2, fbs.VectorOfTables(SubGraphDef), ())


ROOT = GraphDef
