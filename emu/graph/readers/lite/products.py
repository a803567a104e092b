"""Lowerings of the operators that multiply by a weight: convolutions, matrix products, LSTM.

Maps are NHWC and weights KHWC whatever the `format` attribute says: the runtime computes nothing else (nnacl/infer).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from emu.graph.ir import Op, OpError, Shape, Tensor
from emu.graph.ops.activation import Epilogue, Then
from emu.graph.ops.adapted import Adapted, View
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.linear import MatMul
from emu.graph.ops.recurrent import LSTM
from emu.graph.ops.window import NO_PADS, PadRule, Pads, Pair
from emu.graph.readers.lite.activations import fused
from emu.graph.readers.lite.site import Site, lowers, unsupported
from emu.schemas import fbs
from emu.schemas.generated import ms_lite_v2 as lite

Convolution: TypeAlias = lite.Conv2DFusion | lite.Conv2dTransposeFusion

_KHWC_TO_KCHW = View((0, 3, 1, 2))


def channel_axis(attr: fbs.Table | None, place: int, shape: Shape, count: int) -> int:
    """The axis that several quantisation parameters of a constant operand run along.

    Source: the preferred dimension of mindspore-lite/src/litert/weight_decoder.h.
    """
    match attr:
        case lite.MatMulFusion() if len(shape) > 1:
            rows = attr.transpose_b if place == 1 else not attr.transpose_a
            return len(shape) - (2 if rows else 1)
        case lite.Conv2dTransposeFusion() if place == 1 and len(shape) == 4 and shape[3] == count:
            return 3
        case _:
            return 0


def pair(values: Sequence[int], attribute: str, default: Pair | None = None) -> Pair:
    """Height and width; refused where the file has neither them nor a default exists."""
    if not values and default is not None:
        return default
    if len(values) < 2:
        raise OpError(f"{list(values)} is not height and width", attribute)
    return values[0], values[1]


def four_pads(values: Sequence[int]) -> Pads:
    """Top, bottom, left, right; none where the file has fewer than four."""
    return (values[0], values[1], values[2], values[3]) if len(values) >= 4 else NO_PADS


def _weight(attr: Convolution, at: Site) -> Shape:
    """The dims of the weight, checked against what the file says beside them."""
    at.need(2, 3)
    for place, what in ((0, "input"), (1, "weight")):
        if len(at.shape(place)) != 4:
            raise OpError(f"{what} {list(at.shape(place))} has not four dimensions")
    kernel = pair(attr.kernel_size, "kernel_size", (-1, -1))
    if any(said not in (-1, found) for said, found in zip(kernel, at.shape(1)[1:3], strict=True)):
        raise OpError(f"{list(kernel)}, the weight has {list(at.shape(1)[1:3])}", "kernel_size")
    return at.shape(1)


def _turned(op: Op, weight: Tensor) -> Op:
    """The op on a KHWC weight, which is laid out once for it."""
    if weight.value is not None:
        weight.value = _KHWC_TO_KCHW.laid_out(weight.value)
    return Adapted(op, views=(None, _KHWC_TO_KCHW))


@lowers("Conv2DFusion")
def _convolution(attr: lite.Conv2DFusion, at: Site) -> Op:
    units = _weight(attr, at)[0]
    same = attr.pad_mode is lite.PadMode.SAME
    op = Conv(
        strides=pair(attr.stride, "stride"),
        dilations=pair(attr.dilation, "dilation", (1, 1)),
        pads=NO_PADS if same else four_pads(attr.pad_list),
        pad_rule=PadRule.SAME if same else PadRule.EXPLICIT,
        groups=attr.group or units,
        channel_last=True,
        epilogue=fused(attr.activation_type),
    )
    return _turned(op, at.inputs[1])


@lowers("Conv2dTransposeFusion")
def _transposed_convolution(attr: lite.Conv2dTransposeFusion, at: Site) -> Op:
    channels, kernel_h, kernel_w, units = _weight(attr, at)
    groups = attr.group or channels
    if groups != 1 and (groups != channels or units != 1):
        raise unsupported(f"{groups} groups of a transposed convolution: one, or one for each channel", "group")
    strides, dilations = pair(attr.stride, "stride"), pair(attr.dilation, "dilation", (1, 1))
    more = pair(attr.output_paddings, "output_paddings", (0, 0))
    pads = NO_PADS if attr.pad_mode is lite.PadMode.VALID else four_pads(attr.pad_list)
    if attr.pad_mode is lite.PadMode.SAME:
        # the result is stride times the input, and what the kernel reaches beyond that is cut on both sides
        beyond = [
            (k - 1) * d + 1 - s - extra
            for k, d, s, extra in zip((kernel_h, kernel_w), dilations, strides, more, strict=True)
        ]
        more = max(-beyond[0], 0), max(-beyond[1], 0)
        cut = [max(each, 0) for each in beyond]
        pads = (cut[0] // 2, cut[0] - cut[0] // 2, cut[1] // 2, cut[1] - cut[1] // 2)
    op = ConvTranspose(
        strides=strides,
        dilations=dilations,
        pads=pads,
        groups=groups,
        adj=more,
        channel_last=True,
        epilogue=fused(attr.activation_type),
    )
    return _turned(op, at.inputs[1])


@lowers("MatMulFusion")
def _matrix_product(attr: lite.MatMulFusion, at: Site) -> Op:
    at.need(2, 3)
    return then(MatMul(attr.transpose_a, attr.transpose_b), fused(attr.activation_type))


@lowers("FullConnection")
def _full_connection(attr: lite.FullConnection, at: Site) -> Op:
    """x, as rows of as many values as the weight [K, D] has, times the weight transposed, plus bias."""
    wanted = 3 if attr.has_bias else 2
    at.need(wanted, wanted)
    x, weight = at.shape(0), at.shape(1)
    if len(weight) != 2:
        raise OpError(f"weight {list(weight)} has not two dimensions")
    width = weight[1]
    if attr.use_axis:
        if not 1 <= attr.axis < len(x):
            raise OpError(f"axis {attr.axis} of {len(x)} dimensions", "axis")
        lead, found = x[: attr.axis], math.prod(x[attr.axis :])
    else:
        rows = math.prod(x) // width if width else 0
        lead, found = (rows,), width if rows * width == math.prod(x) else math.prod(x)
    if found != width:
        raise OpError(f"input {list(x)} is no rows of {width} values, which the weight takes")
    at.reads[0] = (*lead, width)
    return then(MatMul(transpose_b=True), fused(attr.activation_type))


def then(op: Op, epilogue: Epilogue) -> Op:
    """The op with its fused activation."""
    return op if epilogue.idle else Then(op, epilogue)


@lowers("LSTM")
def _lstm(attr: lite.LSTM, at: Site) -> Op:
    """Input, weight, recurrence, bias, hidden and cell state (nnacl/infer/lstm_infer.c); another form has four."""
    if len(at.inputs) != 6:
        raise unsupported(f"an LSTM of {len(at.inputs)} inputs; six are read, the form of the ONNX converter")
    if attr.zoneout_cell or attr.zoneout_hidden:
        raise unsupported("zone-out keeps a part of the old state", "zoneout_cell")
    if attr.proj_size:
        raise unsupported(f"{attr.proj_size}: a projection of the hidden state", "proj_size")
    return LSTM(attr.bidirectional)
