"""Lowerings of the operators that compute element by element, normalise, or choose between operands."""

from __future__ import annotations

import math
from typing import TypeAlias

from emu.graph.ir import Layout, Op, OpError
from emu.graph.ops.adapted import Adapted
from emu.graph.ops.axes import need_shape
from emu.graph.ops.elementwise import Binary, BinaryFunction, Eltwise, EltwiseMode, Unary, UnaryFunction, check_axis
from emu.graph.ops.move import Convert, Copy
from emu.graph.ops.norm import BatchNorm, BiasAdd, L2Norm, LayerNorm, Scale
from emu.graph.ops.parametric import Clip, Power, PRelu, Select
from emu.graph.ops.softmax import Softmax
from emu.graph.readers import kernels
from emu.graph.readers.lite.activations import fused
from emu.graph.readers.lite.products import then
from emu.graph.readers.lite.site import Site, lowers, unsupported
from emu.schemas import fbs
from emu.schemas.generated import ms_lite_v2 as lite

Arithmetic: TypeAlias = lite.AddFusion | lite.SubFusion | lite.MulFusion | lite.DivFusion

_MEMBERS = {member.__name__ for member in lite.PRIMITIVETYPE.members}
_UNARY = {name: function for name, function in kernels.UNARY.items() if name in _MEMBERS} | {
    "Reciprocal": UnaryFunction.RECIPROCAL,
    "OnesLike": UnaryFunction.ONES_LIKE,
}
_BINARY = {name: function for name, function in kernels.BINARY.items() if name in _MEMBERS} | {
    "NotEqual": BinaryFunction.NOT_EQUAL,
    "LessEqual": BinaryFunction.LESS_EQUAL,
    "GreaterEqual": BinaryFunction.GREATER_EQUAL,
}
_FUSED = {
    "AddFusion": BinaryFunction.ADD,
    "SubFusion": BinaryFunction.SUB,
    "MulFusion": BinaryFunction.MUL,
    "DivFusion": BinaryFunction.DIV,
}
_ELTWISE = {
    lite.EltwiseMode.PROD: EltwiseMode.PROD,
    lite.EltwiseMode.SUM: EltwiseMode.SUM,
    lite.EltwiseMode.MAXIMUM: EltwiseMode.MAX,
}


@lowers(*_UNARY)
def _unary(attr: fbs.Table, at: Site) -> Op:
    return Unary(_UNARY[at.type])


@lowers(*_FUSED)
def _arithmetic(attr: Arithmetic, at: Site) -> Op:
    return then(Binary(_FUSED[at.type]), fused(attr.activation_type))


@lowers(*_BINARY)
def _binary(attr: fbs.Table, at: Site) -> Op:
    return Binary(_BINARY[at.type])


@lowers("Eltwise")
def _eltwise(attr: lite.Eltwise, at: Site) -> Op:
    if attr.mode not in _ELTWISE:
        raise unsupported(f"{attr.mode.value} {attr.mode.name} is no mode", "mode")
    return Eltwise(_ELTWISE[attr.mode])


@lowers("AddN")
def _add_n(attr: lite.AddN, at: Site) -> Op:
    return Eltwise(EltwiseMode.SUM)


@lowers("ExpFusion")
def _exponential(attr: lite.ExpFusion, at: Site) -> Op:
    if (attr.base, attr.scale, attr.shift) != (-1, 1, 0):
        said = f"base {attr.base}, scale {attr.scale}, shift {attr.shift}"
        raise unsupported(f"{said}: e to the power of x is computed (base -1, scale 1, shift 0)", "base")
    return Unary(UnaryFunction.EXP)


@lowers("PowFusion")
def _power(attr: lite.PowFusion, at: Site) -> Op:
    at.need(2, 2)
    if (attr.scale, attr.shift) == (1, 0):
        return Binary(BinaryFunction.POWER)
    power = at.value(1, "power")
    if power.size != 1:
        raise unsupported(f"a power of {power.size} numbers of a scaled base; one is computed")
    at.take(0)
    return Power(float(power.reshape(-1)[0]), attr.scale, attr.shift)


@lowers("Clip")
def _clip(attr: lite.Clip, at: Site) -> Op:
    at.need(1, 3)
    low, high = attr.min, attr.max
    if at.has(1):
        bounds = [at.value(place, what).reshape(-1) for place, what in ((1, "minimum"), (2, "maximum"))]
        if any(bound.size != 1 for bound in bounds):
            raise OpError(f"bounds of {[bound.size for bound in bounds]} numbers")
        low, high = (float(bound[0]) for bound in bounds)
    at.take(0)
    return Clip(low, high)


@lowers("PReLUFusion")
def _prelu(attr: lite.PReLUFusion, at: Site) -> Op:
    return PRelu(axis=-1, shared=attr.channel_shared or math.prod(at.shape(1)) == 1)


@lowers("Where", "Select")
def _select(attr: fbs.Table, at: Site) -> Op:
    if len(at.inputs) != 3:
        raise unsupported(
            f"the form with {len(at.inputs)} inputs; that of three, condition and both choices, is computed"
        )
    return Select()


@lowers("Cast", "QuantDTypeCast")
def _cast(attr: fbs.Table, at: Site) -> Op:
    at.take(0)
    return Convert()


@lowers("Depend", "Dropout")
def _copy(attr: fbs.Table, at: Site) -> Op:
    at.take(0)
    return Copy()


@lowers("BiasAdd")
def _bias_add(attr: lite.BiasAdd, at: Site) -> Op:
    return BiasAdd(axis=-1)


@lowers("ScaleFusion")
def _scale(attr: lite.ScaleFusion, at: Site) -> Op:
    at.need(2, 3)
    if len(at.shape(1)) != 1:
        raise unsupported(f"scale {list(at.shape(1))}: one factor for each index of one axis is computed")
    return then(Scale(attr.axis), fused(attr.activation_type))


@lowers("BatchNorm")
def _batch_norm(attr: lite.BatchNorm, at: Site) -> Op:
    if attr.is_training:
        raise unsupported("statistics of the batch are those of training", "is_training")
    at.need(3, 3)
    return BatchNorm(axis=-1, epsilon=attr.epsilon)


@lowers("FusedBatchNorm")
def _fused_batch_norm(attr: lite.FusedBatchNorm, at: Site) -> Op:
    at.need(5, 5)
    # the file has x, scale, offset, mean, variance
    return Adapted(BatchNorm(axis=-1, epsilon=attr.epsilon), order=(0, 3, 4, 1, 2))


@lowers("LayerNormFusion")
def _layer_norm(attr: lite.LayerNormFusion, at: Site) -> Op:
    at.need(1, 3)
    if len(at.outputs) != 1:
        raise unsupported(f"{len(at.outputs)} outputs; mean and variance are results of training")
    x = at.shape(0)
    start = check_axis(attr.begin_params_axis, len(x), "begin_params_axis")
    for place in range(1, len(at.inputs)):
        need_shape(at.shape(place), x[start:], "a parameter")
    return LayerNorm(attr.begin_norm_axis, attr.epsilon)


@lowers("InstanceNorm")
def _instance_norm(attr: lite.InstanceNorm, at: Site) -> Op:
    """Statistics of each map; the converter brings its input to NCHW (nnacl/fp32/instance_norm_fp32.c)."""
    at.need(3, 3)
    x = at.shape(0)
    if at.inputs[0].layout is not Layout.NCHW or len(x) < 3:
        raise unsupported(f"an input of {len(x)} dimensions in {at.inputs[0].layout}; NCHW is computed")
    for place in (1, 2):
        need_shape(at.shape(place), x[1:2], "a parameter")
        at.reads[place] = (x[1], *(1 for _ in x[2:]))
    return LayerNorm(2, attr.epsilon)


@lowers("L2NormalizeFusion")
def _l2_normalise(attr: lite.L2NormalizeFusion, at: Site) -> Op:
    if not attr.axis:
        raise OpError("names no axis", "axis")
    # the runtime bounds the root, our op what is below it
    return then(L2Norm(attr.axis, attr.epsilon**2), fused(attr.activation_type))


@lowers("Softmax")
def _softmax(attr: lite.Softmax, at: Site) -> Op:
    return Softmax((attr.axis[0] if attr.axis else -1,))


@lowers("LogSoftmax")
def _log_softmax(attr: lite.LogSoftmax, at: Site) -> Op:
    return Softmax((attr.axis,), log=True)
