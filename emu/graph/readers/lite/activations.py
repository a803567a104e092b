"""Activations of MindSpore Lite: as an operator, and fused into another (nnacl/fp32/activation_fp32.c)."""

from __future__ import annotations

from emu.graph.ir import Op
from emu.graph.ops.activation import Activation, Epilogue, Function
from emu.graph.ops.parametric import Clip
from emu.graph.readers.lite.site import Site, lowers, unsupported
from emu.schemas.generated import ms_lite_v2 as lite

_PLAIN: dict[lite.ActivationType, Function] = {
    lite.ActivationType.NO_ACTIVATION: Function.LINEAR,
    lite.ActivationType.RELU: Function.RELU,
    lite.ActivationType.SIGMOID: Function.SIGMOID,
    lite.ActivationType.RELU6: Function.RELU6,
    lite.ActivationType.ABS: Function.ABS,
    lite.ActivationType.RELU1: Function.RELU1,
    lite.ActivationType.SOFTSIGN: Function.SOFTSIGN,
    lite.ActivationType.SOFTPLUS: Function.SOFTPLUS,
    lite.ActivationType.TANH: Function.TANH,
    lite.ActivationType.SELU: Function.SELU,
    lite.ActivationType.HSWISH: Function.HARD_SWISH,
    lite.ActivationType.HSIGMOID: Function.RELU6_SIGMOID,
    lite.ActivationType.LINEAR: Function.LINEAR,
    lite.ActivationType.SIGN: Function.SIGN,
    lite.ActivationType.SWISH: Function.SWISH,
    lite.ActivationType.GELU: Function.GELU,
    lite.ActivationType.FAST_GELU: Function.FAST_GELU,
}
"""Those without a parameter."""
_SLOPED = {
    lite.ActivationType.ELU: Function.ELU,
    lite.ActivationType.LEAKY_RELU: Function.LEAKY_RELU,
}


def fused(kind: lite.ActivationType) -> Epilogue:
    """An activation in an attribute of another operator, which has no place for a parameter."""
    if kind not in _PLAIN:
        raise unsupported(f"{kind.value} {kind.name} cannot be fused", "activation_type")
    return Epilogue(function=_PLAIN[kind])


@lowers("Activation")
def _activation(attr: lite.Activation, at: Site) -> Op:
    kind = attr.activation_type
    if kind in _SLOPED:
        return Activation(_SLOPED[kind], attr.alpha)
    if kind is lite.ActivationType.HARD_TANH:
        return Clip(attr.min_val, attr.max_val)
    if kind is lite.ActivationType.GELU and attr.approximate:
        return Activation(Function.GELU_TANH)
    if kind not in _PLAIN:
        raise unsupported(f"{kind.value} {kind.name} is no activation that the runtime has", "activation_type")
    return Activation(_PLAIN[kind])


@lowers("LeakyRelu")
def _leaky_relu(attr: lite.LeakyRelu, at: Site) -> Op:
    return Activation(Function.LEAKY_RELU, attr.negative_slope)


@lowers("Elu")
def _elu(attr: lite.Elu, at: Site) -> Op:
    return Activation(Function.ELU, attr.alpha)
