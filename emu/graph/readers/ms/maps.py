"""Lowerings of the members of OpT that work on maps (graph-conventions.md MS-O1 to O3, O12, O13)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from emu.graph.ir import Tensor
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.activation import Activation, Epilogue, Function
from emu.graph.ops.adapted import Adapted, View
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.pool import Pool, PoolMode
from emu.graph.ops.resize import Resize, Sampling, Upsample
from emu.graph.ops.space import BatchToSpace, DepthToSpace, SpaceToBatch, SpaceToDepth
from emu.graph.ops.window import NO_PADS, PadRule, Pads
from emu.graph.readers.ms.site import Site, channels_last, lowers, unsupported
from emu.schemas.generated import ms_v0_1 as a
from emu.schemas.generated import ms_v0_5 as b

Convolution: TypeAlias = a.Conv2D | b.Conv2D | a.DeConv2D | b.DeConv2D
Depthwise: TypeAlias = a.DepthwiseConv2D | b.DepthwiseConv2D | a.DeDepthwiseConv2D | b.DeDepthwiseConv2D

_ACTIVATIONS: dict[str, tuple[Function, float]] = {
    "NO_ACTIVATION": (Function.LINEAR, 0.0),
    "RELU": (Function.RELU, 0.0),
    "SIGMOID": (Function.SIGMOID, 0.0),
    "RELU6": (Function.RELU6, 0.0),
    "ELU": (Function.ELU, 1.0),
    "ABS": (Function.ABS, 0.0),
    "RELU1": (Function.RELU1, 0.0),
    "SOFTSIGN": (Function.SOFTSIGN, 0.0),
    "SOFTPLUS": (Function.SOFTPLUS, 0.0),
    "TANH": (Function.TANH, 0.0),
    "SELU": (Function.SELU, 0.0),
    "HSWISH": (Function.HARD_SWISH, 0.0),
    "HSIGMOID": (Function.HARD_SIGMOID, 0.0),
    "THRESHOLDRELU": (Function.THRESHOLDED_RELU, 1.0),
    "LINEAR": (Function.LINEAR, 0.0),
}
"""By name, for 11 means another thing in each generation (graph-conventions.md MS-O3)."""


def _activation(kind: a.ActivationType | b.ActivationType, attribute: str) -> tuple[Function, float]:
    try:
        return _ACTIVATIONS[kind.name]
    except KeyError:
        why = "has no slope field" if kind.name == "LEAKY_RELU" else "is no activation"
        raise unsupported(f"{kind.value} {kind.name} {why}", attribute) from None


@lowers("Activation")
def _activation_op(attr: a.Activation | b.Activation, at: Site) -> Op:
    function, coef = _activation(attr.type, "type")
    return Activation(function, coef)


def _pads(attr: Convolution | Depthwise | a.Pooling | b.Pooling) -> tuple[PadRule, Pads]:
    if attr.padMode.name == "SAME":
        return PadRule.SAME, NO_PADS
    if attr.padMode.name == "VALID":
        return PadRule.EXPLICIT, NO_PADS
    return PadRule.EXPLICIT, (attr.padUp, attr.padDown, attr.padLeft, attr.padRight)


def _check_said(attr: Convolution | Depthwise, **found: int) -> None:
    """What the file says of its weight and input beside their dims must agree with them; 0 says nothing."""
    for name, value in found.items():
        said = getattr(attr, name)
        if said not in (0, value):
            raise OpError(f"{said}, the operands have {value}", name)


def _channels(attr: Convolution | Depthwise, at: Site) -> int:
    """Channels of the input; refuses another number of operands than the attributes call for, and other ranks."""
    at.need_exactly(3 if attr.hasBias else 2)
    at.need_real(1)
    for place, what in ((0, "input"), (1, "weight")):
        if len(at.shape(place)) != 4:
            raise OpError(f"{what} {list(at.shape(place))} has not four dimensions")
    return at.shape(0)[3 if channels_last(attr) else 1]


@lowers("Conv2D")
def _conv2d(attr: a.Conv2D | b.Conv2D, at: Site) -> Op:
    channels = _channels(attr, at)
    axes = at.weight_axes(1, "KCHW", "KCHW")
    k, _, h, w = (at.shape(1)[axis] for axis in axes)
    _check_said(attr, channelIn=channels, channelOut=k, kernelH=h, kernelW=w)
    rule, pads = _pads(attr)
    op = Conv(
        strides=(attr.strideH, attr.strideW),
        dilations=(attr.dilateH or 1, attr.dilateW or 1),
        pads=pads,
        pad_rule=rule,
        groups=attr.group or 1,
        channel_last=channels_last(attr),
        epilogue=_epilogue(attr),
    )
    return _with_weight(op, View(axes), at.inputs[1])


@lowers("DepthwiseConv2D")
def _depthwise(attr: a.DepthwiseConv2D | b.DepthwiseConv2D, at: Site) -> Op:
    channels = _channels(attr, at)
    axes = at.weight_axes(1, "CKHW", "CKHW")
    c, m, h, w = (at.shape(1)[axis] for axis in axes)
    _check_said(attr, channelIn=channels, channelMultiplier=m, kernelH=h, kernelW=w)
    if c != channels:
        raise OpError(f"input has {channels} channels, the weight {c}")
    rule, pads = _pads(attr)
    op = Conv(
        strides=(attr.strideH, attr.strideW),
        dilations=(attr.dilateH or 1, attr.dilateW or 1),
        pads=pads,
        pad_rule=rule,
        groups=channels,
        channel_last=channels_last(attr),
        epilogue=_epilogue(attr),
    )
    return _with_weight(op, View(axes, merge=True), at.inputs[1])


@lowers("DeConv2D", "DeDepthwiseConv2D")
def _transposed(attr: a.DeConv2D | b.DeConv2D | a.DeDepthwiseConv2D | b.DeDepthwiseConv2D, at: Site) -> Op:
    channels = _channels(attr, at)
    axes = at.weight_axes(1, "CKHW", "CKHW")
    _, k, h, w = (at.shape(1)[axis] for axis in axes)
    if isinstance(attr, a.DeConv2D | b.DeConv2D):
        groups = attr.group or 1
        _check_said(attr, channelIn=channels, channelOut=k * groups, kernelH=h, kernelW=w)
    else:
        groups = channels
        _check_said(attr, channelIn=channels, channelMultiplier=k, kernelH=h, kernelW=w)
    rule, pads = _pads(attr)
    op = ConvTranspose(
        strides=(attr.strideH, attr.strideW),
        dilations=(attr.dilateH or 1, attr.dilateW or 1),
        pads=pads,
        pad_rule=rule,
        groups=groups,
        channel_last=channels_last(attr),
        epilogue=_epilogue(attr),
    )
    return _with_weight(op, View(axes), at.inputs[1])


def _epilogue(attr: Convolution | Depthwise) -> Epilogue:
    function, coef = _activation(attr.activationType, "activationType")
    return Epilogue(function=function, coef=coef)


def _with_weight(op: Op, view: View, weight: Tensor) -> Op:
    if view == View((0, 1, 2, 3)):
        return op
    if weight.value is not None and weight.value.ndim == len(view.axes):
        weight.value = view.laid_out(weight.value)  # once, not at every run
    return Adapted(op, views=(None, view))


@lowers("Pooling")
def _pooling(attr: a.Pooling | b.Pooling, at: Site) -> Op:
    if attr.poolingMode.name == "GLOBAL_POOING":
        raise unsupported("GLOBAL_POOING does not say whether maximum or mean", "poolingMode")
    rule, pads = _pads(attr)
    if isinstance(attr, b.Pooling):
        ceil, whole = attr.roundMode is b.RoundMode.CEIL, attr.global_
    else:
        ceil, whole = attr.caffeMode, False
    op = Pool(
        mode=PoolMode.MAX if attr.poolingMode.name == "MAX_POOLING" else PoolMode.AVERAGE,
        window=(attr.windowH, attr.windowW),
        strides=(attr.strideH, attr.strideW),
        pads=pads,
        pad_rule=rule,
        ceil=ceil,
        whole=whole,
        channel_last=channels_last(attr),
    )
    return _rounded_as_the_output(op, at)


def _rounded_as_the_output(op: Pool, at: Site) -> Pool:
    """The pooling with the rounding that gives the dims of the output, which are the authority (MS-O2).

    Caffe's models carry dims rounded up beside attributes that round down (ms-predict.md 4). Other dims than those of
    one of both roundings stay a contradiction (MS-T3).
    """
    x = Operand(at.shape(0), np.dtype(np.float32))
    other = replace(op, ceil=not op.ceil)
    with suppress(OpError):  # what is wrong with the attributes is told of the op as the file has it
        if op.shape(x) != at.output_shape and other.shape(x) == at.output_shape:
            at.notes.append(f"rounds {'up' if op.ceil else 'down'} by its attributes, the other way by its output")
            return other
    return op


@lowers("Resize")
def _resize(attr: a.Resize | b.Resize, at: Site) -> Op:
    if attr.method.name == "UNKNOW":
        raise unsupported("UNKNOW is no method", "method")
    sampling = Sampling.LINEAR if attr.method.name == "BILINEAR" else Sampling.NEAREST
    return Resize(attr.newHeight, attr.newWidth, sampling, attr.alignCorners, channels_last(attr))


@lowers("Upsample")
def _upsample(attr: b.Upsample, at: Site) -> Op:
    try:
        return Upsample(Sampling(attr.mode), attr.scales)
    except ValueError:
        raise unsupported(f"{attr.mode!r} is neither 'nearest' nor 'linear'", "mode") from None


@lowers("SpaceToDepth")
def _space_to_depth(attr: b.SpaceToDepth, at: Site) -> Op:
    return SpaceToDepth(attr.blockSize, channels_last(attr))


@lowers("DepthToSpace")
def _depth_to_space(attr: b.DepthToSpace, at: Site) -> Op:
    return DepthToSpace(attr.blockSize, channels_last(attr))


@lowers("SpaceToBatch")
def _space_to_batch(attr: b.SpaceToBatch, at: Site) -> Op:
    return SpaceToBatch(attr.blockShape, attr.paddings)


@lowers("BatchToSpace")
def _batch_to_space(attr: b.BatchToSpace, at: Site) -> Op:
    return BatchToSpace(attr.blockShape, attr.crops)
