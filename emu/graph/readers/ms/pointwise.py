"""Lowerings of the members of OpT that compute element by element, normalise, multiply matrices or fake quantisation
(graph-conventions.md MS-O3 to O7, MS-Q3 to Q6)."""

from __future__ import annotations

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ops import Op, OpError
from emu.graph.ops.activation import Activation, Function
from emu.graph.ops.adapted import Adapted
from emu.graph.ops.elementwise import Binary, BinaryFunction, Eltwise, EltwiseMode, Unary
from emu.graph.ops.fake_quant import (
    FOLD_EPSILON,
    AddFold,
    BatchNormFold,
    DequantiseLinear,
    FakeQuantise,
    MulFold,
    QuantiseLinear,
)
from emu.graph.ops.linear import FullConnection, MatMul
from emu.graph.ops.move import Convert
from emu.graph.ops.norm import BatchNorm, BiasAdd, L2Norm, LocalResponseNorm, Scale
from emu.graph.ops.parametric import Clip, Fold, Power, PRelu, Select
from emu.graph.ops.softmax import Softmax
from emu.graph.readers.kernels import BINARY, UNARY
from emu.graph.readers.ms.site import Site, channels_last, lowers, unsupported
from emu.schemas.generated import ms_v0_1 as a
from emu.schemas.generated import ms_v0_5 as b

_ELTWISE = {
    "PROD": (EltwiseMode.PROD, BinaryFunction.MUL),
    "SUM": (EltwiseMode.SUM, BinaryFunction.ADD),
    "MAXIMUM": (EltwiseMode.MAX, BinaryFunction.MAXIMUM),
}


@lowers(*UNARY)
def _unary(attr: object, at: Site) -> Op:
    return Unary(UNARY[at.type])


@lowers(*BINARY)
def _binary(attr: object, at: Site) -> Op:
    return Binary(BINARY[at.type])


@lowers("Min")
def _min(attr: b.Min, at: Site) -> Op:
    return Fold(BinaryFunction.MINIMUM)


@lowers("AddN")
def _add_n(attr: b.AddN, at: Site) -> Op:
    if attr.N not in (0, len(at.inputs)):
        raise OpError(f"{attr.N}, the node has {len(at.inputs)} inputs", "N", GraphStatus.GRAPH_STRUCTURE)
    return Eltwise(EltwiseMode.SUM)


@lowers("Eltwise")
def _eltwise(attr: a.Eltwise | b.Eltwise, at: Site) -> Op:
    if attr.mode.name not in _ELTWISE:
        raise unsupported(f"{attr.mode.value} {attr.mode.name} is no mode", "mode")
    mode, function = _ELTWISE[attr.mode.name]
    at.need(2)
    if len(at.inputs) == 2 and len(at.shape(0)) == 4 and len(at.shape(1)) == 1:
        return Binary(function, axis=1)
    return Eltwise(mode)


@lowers("Elu")
def _elu(attr: b.Elu, at: Site) -> Op:
    return Activation(Function.ELU, attr.alpha)


@lowers("LeakyReLU")
def _leaky_relu(attr: b.LeakyReLU, at: Site) -> Op:
    return Activation(Function.LEAKY_RELU, attr.negativeSlope)


@lowers("Clip")
def _clip(attr: b.Clip, at: Site) -> Op:
    return Clip(attr.min, attr.max)


@lowers("Power")
def _power(attr: a.Power | b.Power, at: Site) -> Op:
    return Power(attr.power, attr.scale, attr.shift)


@lowers("CaffePReLU")
def _caffe_prelu(attr: a.CaffePReLU | b.CaffePReLU, at: Site) -> Op:
    return PRelu(shared=attr.channelShared)


@lowers("Prelu")
def _prelu(attr: b.Prelu, at: Site) -> Op:
    if not attr.slope:
        raise OpError("no slope", "slope")
    at.need_exactly(1)
    at.more.append(np.array(attr.slope, np.float32))
    return PRelu(shared=len(attr.slope) == 1)


@lowers("Select")
def _select(attr: b.Select, at: Site) -> Op:
    return Select()


@lowers("SoftMax")
def _softmax(attr: a.SoftMax | b.SoftMax, at: Site) -> Op:
    return Softmax((_first(attr.axis),))


def _first(axes: tuple[int, ...]) -> int:
    """The one entry that counts of an axis list (ms-predict.md 4)."""
    if not axes:
        raise OpError("names no axis", "axis")
    return axes[0]


@lowers("FusedBatchNorm")
def _fused_batch_norm(attr: a.FusedBatchNorm | b.FusedBatchNorm, at: Site) -> Op:
    if isinstance(attr, b.FusedBatchNorm) and attr.spatial != 1:
        raise unsupported(f"{attr.spatial}: only parameters per channel are defined", "spatial")
    at.need_exactly(5)
    # the file has x, scale, offset, mean, variance
    return Adapted(BatchNorm(axis=1, epsilon=attr.epsilon), order=(0, 3, 4, 1, 2))


@lowers("CaffeBatchNorm")
def _caffe_batch_norm(attr: a.CaffeBatchNorm | b.CaffeBatchNorm, at: Site) -> Op:
    at.need_exactly(3)
    return BatchNorm(axis=1, epsilon=attr.epsilon)


@lowers("Scale")
def _scale(attr: a.Scale | b.Scale, at: Site) -> Op:
    return Scale(axis=-1 if channels_last(attr) else 1)


@lowers("BiasAdd")
def _bias_add(attr: a.BiasAdd | b.BiasAdd, at: Site) -> Op:
    return BiasAdd(axis=_first(attr.axis))


@lowers("Lrn")
def _lrn(attr: b.Lrn, at: Site) -> Op:
    if attr.size < 1:
        raise OpError(f"{attr.size} is no window", "size")
    before = (attr.size - 1) // 2
    after = attr.size - 1 - before
    return LocalResponseNorm(1, before, after, attr.alpha / attr.size, attr.beta, attr.bias)


@lowers("LocalResponseNormalization")
def _local_response_normalization(attr: b.LocalResponseNormalization, at: Site) -> Op:
    return LocalResponseNorm(-1, attr.depth_radius, attr.depth_radius, attr.alpha, attr.beta, attr.bias)


@lowers("L2Norm")
def _l2_norm(attr: b.L2Norm, at: Site) -> Op:
    _first(attr.axis)
    return L2Norm(attr.axis, attr.epsilon)


@lowers("FullConnection")
def _full_connection(attr: a.FullConnection | b.FullConnection, at: Site) -> Op:
    at.need_exactly(3 if attr.hasBias else 2)
    at.need_real(1)
    if attr.axis not in (0, 1):  # the exporter of 0.1 has no such field
        raise unsupported(f"{attr.axis}: only axis 1 is defined", "axis")
    if len(at.shape(1)) != 2:
        raise OpError(f"weight {list(at.shape(1))} is no matrix")
    return FullConnection()


@lowers("MatMul")
def _mat_mul(attr: a.MatMul | b.MatMul, at: Site) -> Op:
    at.need_exactly(2)
    at.need_real(1)
    return MatMul(attr.transposeA, attr.transposeB, matrices_only=True)


@lowers("QuantDTypeCast")
def _quant_dtype_cast(attr: b.QuantDTypeCast, at: Site) -> Op:
    at.need_exactly(1)
    at.need_outputs(1)
    for tensor, quantised in zip((at.inputs[0], at.outputs[0]), at.quantised, strict=True):
        if tensor.dtype.kind != "f" and not quantised:
            raise OpError(f"{tensor} has no quantisation parameters", "quantParam")
    return Convert()


@lowers("OnnxInt8Quantize")
def _quantize(attr: b.OnnxInt8Quantize, at: Site) -> Op:
    return QuantiseLinear()


@lowers("OnnxInt8Dequantize")
def _dequantize(attr: b.OnnxInt8Dequantize, at: Site) -> Op:
    return DequantiseLinear()


@lowers("FakeQuantWithMinMaxVars")
def _fake_quant_vars(attr: b.FakeQuantWithMinMaxVars, at: Site) -> Op:
    return FakeQuantise(attr.numBits, attr.narrowRange)


@lowers("FakeQuantWithMinMax")
def _fake_quant(attr: b.FakeQuantWithMinMax, at: Site) -> Op:
    return FakeQuantise()


@lowers("FakeQuantWithMinMaxPerChannel")
def _fake_quant_per_channel(attr: b.FakeQuantWithMinMaxPerChannel, at: Site) -> Op:
    return FakeQuantise(axis=1)


@lowers("BatchNormFold")
def _batch_norm_fold(attr: b.BatchNormFold, at: Site) -> Op:
    if len(at.inputs) == 5:
        at.need_outputs(1)
        return Adapted(BatchNorm(axis=1, epsilon=FOLD_EPSILON), order=(0, 3, 4, 1, 2))
    at.need_exactly(4)
    at.need_outputs(4)
    return BatchNormFold()


@lowers("MulFold")
def _mul_fold(attr: b.MulFold, at: Site) -> Op:
    return MulFold()


@lowers("AddFold")
def _add_fold(attr: b.AddFold, at: Site) -> Op:
    return AddFold()
