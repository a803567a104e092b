"""The tables of ms_v0_1/ms.fbs (MindSpore predict). Written by emu.schemas.generate_fbs, not by hand."""

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


class DataFormatType(IntEnum):
    UNKNOW = -1
    NCHW = 0
    NHWC = 1
    HWC = 2
    CHW = 3


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
    UNKNOW = 11


class PoolMode(IntEnum):
    MAX_POOLING = 0
    MEAN_POOLING = 1
    GLOBAL_POOING = 2


class EltwiseMode(IntEnum):
    PROD = 0
    SUM = 1
    MAXIMUM = 2


class PadMode(IntEnum):
    NOTSET = 0
    SAME = 1
    VALID = 2
    CAFFE_CEIL_NEW = 4


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
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)


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
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
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
    epsilon: float = slot(0, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class CaffeBatchNorm(Table):
    epsilon: float = slot(0, fbs.FLOAT, 0.0)


@dataclass(frozen=True, slots=True)
class Squeeze(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class BiasAdd(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Pooling(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
    poolingMode: PoolMode = slot(1, fbs.EnumOf(fbs.BYTE, PoolMode), PoolMode.MAX_POOLING)
    windowW: int = slot(2, fbs.INT, 0)
    windowH: int = slot(3, fbs.INT, 0)
    strideW: int = slot(4, fbs.INT, 0)
    strideH: int = slot(5, fbs.INT, 0)
    padMode: PadMode = slot(6, fbs.EnumOf(fbs.BYTE, PadMode), PadMode.NOTSET)
    padUp: int = slot(7, fbs.INT, 0)
    padDown: int = slot(8, fbs.INT, 0)
    padLeft: int = slot(9, fbs.INT, 0)
    padRight: int = slot(10, fbs.INT, 0)
    caffeMode: bool = slot(11, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class DepthwiseConv2D(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
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
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
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
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
    method: ResizeMethod = slot(1, fbs.EnumOf(fbs.BYTE, ResizeMethod), ResizeMethod.BILINEAR)
    newHeight: int = slot(2, fbs.LONG, 0)
    newWidth: int = slot(3, fbs.LONG, 0)
    alignCorners: bool = slot(4, fbs.BOOL, False)
    preserveAspectRatio: bool = slot(5, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class DetectionPostProcess(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
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
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
    hasBias: bool = slot(1, fbs.BOOL, False)
    axis: int = slot(2, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class Mean(Table):
    axis: tuple[int, ...] = slot(0, fbs.Vector(fbs.INT), ())
    keepDims: bool = slot(1, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class DeConv2D(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
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
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)


@dataclass(frozen=True, slots=True)
class Eltwise(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
    mode: EltwiseMode = slot(1, fbs.EnumOf(fbs.BYTE, EltwiseMode), EltwiseMode.PROD)


@dataclass(frozen=True, slots=True)
class Add(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)


@dataclass(frozen=True, slots=True)
class Slice(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
    begin: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())
    end: tuple[int, ...] = slot(2, fbs.Vector(fbs.INT), ())
    stride: tuple[int, ...] = slot(3, fbs.Vector(fbs.INT), ())


@dataclass(frozen=True, slots=True)
class Mul(Table):
    pass


@dataclass(frozen=True, slots=True)
class Exp(Table):
    pass


@dataclass(frozen=True, slots=True)
class Reshape(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)
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
    topK: int = slot(2, fbs.INT, 0)
    keepDims: bool = slot(3, fbs.BOOL, False)
    axisType: int = slot(4, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class NetOutput(Table):
    format: DataFormatType = slot(0, fbs.EnumOf(fbs.BYTE, DataFormatType), DataFormatType.NCHW)


@dataclass(frozen=True, slots=True)
class MatMul(Table):
    transposeA: bool = slot(0, fbs.BOOL, False)
    transposeB: bool = slot(1, fbs.BOOL, False)


@dataclass(frozen=True, slots=True)
class CaffePReLU(Table):
    channelShared: bool = slot(0, fbs.BOOL, False)


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
    start: int = slot(0, fbs.INT, 0)
    limit: int = slot(1, fbs.INT, 0)
    delta: int = slot(2, fbs.INT, 0)


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


class DataType(IntEnum):
    DT_FLOAT = 0
    DT_FLOAT16 = 1
    DT_INT8 = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_UINT32 = 8
    DT_UNDEFINED = 16


class Format(IntEnum):
    NCHW = 0
    NHWC = 1
    NC4HW4 = 100
    NUM_OF_FORMAT = 101


class MSConst(IntEnum):
    WEIGHT_REFCOUNT = 999


@dataclass(frozen=True, slots=True)
class QuantizationDef(Table):
    min: tuple[float, ...] = slot(0, fbs.Vector(fbs.FLOAT), ())
    max: tuple[float, ...] = slot(1, fbs.Vector(fbs.FLOAT), ())
    scale: tuple[float, ...] = slot(2, fbs.Vector(fbs.FLOAT), ())
    zero_point: tuple[int, ...] = slot(3, fbs.Vector(fbs.LONG), ())
    dimension: int = slot(4, fbs.INT, 0)


@dataclass(frozen=True, slots=True)
class TensorDef(Table):
    dataType: DataType = slot(0, fbs.EnumOf(fbs.INT, DataType), DataType.DT_FLOAT)
    dims: tuple[int, ...] = slot(1, fbs.Vector(fbs.INT), ())
    format: Format = slot(2, fbs.EnumOf(fbs.INT, Format), Format.NCHW)
    refCount: int = slot(3, fbs.INT, 0)
    offset: int = slot(4, fbs.INT, 0)
    data: memoryview | None = slot(5, fbs.Vector(fbs.UBYTE), None)
    quantization: QuantizationDef | None = slot(6, fbs.TableOf(QuantizationDef), None)


OpT: TypeAlias = (
    Concat
    | SoftMax
    | Activation
    | Conv2D
    | FusedBatchNorm
    | CaffeBatchNorm
    | Squeeze
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
    | MatMul
    | StridedSlice
    | Power
    | Slice
    | Stack
    | Mul
    | Pad
    | Maximum
    | CaffePReLU
    | ArgMax
    | Exp
    | CaffeCrop
    | Range
    | ExpandDims
    | Tile
    | Cast
)
OPT = fbs.Union("OpT", (
    Concat,
    SoftMax,
    Activation,
    Conv2D,
    FusedBatchNorm,
    CaffeBatchNorm,
    Squeeze,
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
    MatMul,
    StridedSlice,
    Power,
    Slice,
    Stack,
    Mul,
    Pad,
    Maximum,
    CaffePReLU,
    ArgMax,
    Exp,
    CaffeCrop,
    Range,
    ExpandDims,
    Tile,
    Cast,
))


class QuantType(IntEnum):
    QUANT_NONE = 0
    QUANT_INT8 = 1


@dataclass(frozen=True, slots=True)
class OpDef(Table):
    name: str = slot(0, fbs.Text(), "")
    attr: OpT | None = slot(2, OPT, None)
    inputIndex: tuple[int, ...] = slot(3, fbs.Vector(fbs.UINT), ())
    outputIndex: tuple[int, ...] = slot(4, fbs.Vector(fbs.UINT), ())
    isLastConv: bool = slot(5, fbs.BOOL, False)
    quantType: QuantType = slot(6, fbs.EnumOf(fbs.INT, QuantType), QuantType.QUANT_NONE)


class FmkType(IntEnum):
    TF = 0
    CAFFE = 1


@dataclass(frozen=True, slots=True)
class NodeDef(Table):
    fmkType: FmkType = slot(0, fbs.EnumOf(fbs.INT, FmkType), FmkType.TF)
    opDef: OpDef | None = slot(1, fbs.TableOf(OpDef), None)


@dataclass(frozen=True, slots=True)
class SubGraphDef(Table):
    name: str = slot(0, fbs.Text(), "")
    inputIndex: tuple[int, ...] = slot(1, fbs.Vector(fbs.UINT), ())
    outputIndex: tuple[int, ...] = slot(2, fbs.Vector(fbs.UINT), ())
    mempoolSize: int = slot(3, fbs.UINT, 0)
    nodes: tuple[NodeDef, ...] = slot(4, fbs.VectorOfTables(NodeDef), ())
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
