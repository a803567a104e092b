"""What each op of a domi.ModelDef means, as an op of emu/graph/ops (graph-conventions.md OM-O, OM-Q)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.errors import GraphStatus
from emu.graph.ir import Layout, Port, Tensor
from emu.graph.ops import Op, OpError
from emu.graph.ops.activation import NO_EPILOGUE, Activation, Epilogue, Function
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.elementwise import Binary, BinaryFunction, Eltwise, EltwiseMode, Unary, UnaryFunction
from emu.graph.ops.linear import FullConnection, MatMul
from emu.graph.ops.move import Concat, Copy, Flatten, Reshape
from emu.graph.ops.norm import BatchNorm, BiasAdd, Scale
from emu.graph.ops.pool import Pool
from emu.graph.ops.quantised import QuantisedProduct
from emu.graph.ops.softmax import Softmax
from emu.graph.readers.om.domi_site import FILTER_FORMATS, MATRIX_FORMATS, VECTOR_FORMATS, OpReader, op_kind
from emu.graph.readers.om.params import (
    ACTIVATIONS,
    DEFAULT_EPSILON,
    ELTWISE_MODES,
    POOL_MODES,
    alpha_of,
    four,
    pad_rule,
    pair,
    scaled,
)
from emu.graph.readers.om.quantise import factor_scheme


def _attr_alpha(reader: OpReader) -> float:
    return alpha_of(reader.attr("alpha", "f", 0.0), reader.attr("beta", "f", 0.0))


def _epilogue(alpha: float, relu_flag: bool) -> Epilogue:
    if alpha == 1 and not relu_flag:
        return NO_EPILOGUE
    return Epilogue(alpha, Function.RELU if relu_flag else Function.LINEAR)


Meaning = tuple[Op, list[int | None]]
"""The op and the constants that follow the data inputs as operands."""


def _convolution(reader: OpReader) -> Meaning:
    param = reader.op.convolution_param
    if param.mode not in (0, 1, 2, 3):
        raise OpError(f"unknown mode {param.mode}", "mode")
    if not param.HasField("filter"):
        raise OpError("is missing", "filter")
    if param.mode == 3 and param.filter.format in (4, 13):
        raise OpError("a packed filter is not defined for depthwise convolution", "filter")
    rule, pads = pad_rule(param.pad_mode, param.pad)
    alpha = alpha_of(param.alpha, param.beta)
    quantised = reader.op.HasField("quantize_factor")
    x = reader.input()
    common: dict[str, Any] = {
        "strides": pair(param.stride, (1, 1), "stride"),
        "dilations": pair(param.dilation, (1, 1), "dilation"),
        "pads": pads,
        "pad_rule": rule,
        "groups": param.group or 1,
        "channel_last": reader.channel_last,
        "before_pad": four(param.before_pad, "before_pad"),
        "kernel": pair(param.kernel, (0, 0), "kernel") if param.kernel else None,
        "units": param.num_output or None,
        "epilogue": NO_EPILOGUE if quantised else _epilogue(alpha, param.relu_flag),
    }
    adj, target = pair(param.adj, (0, 0), "adj"), param.target_shape
    product: Conv | ConvTranspose
    if param.mode == 2:
        product = ConvTranspose(**common, adj=adj, target=pair(target, (0, 0), "target_shape") if target else None)
    else:
        if param.mode == 3:
            if len(x.op_shape) != 4:
                raise OpError(f"input {x} has not four dimensions")
            common["groups"] = x.op_shape[reader.channel_axis]
        product = Conv(**common, flip=param.mode == 0)
    filter_at = reader.weight(param.filter, "filter", FILTER_FORMATS)
    constants: list[int | None] = [filter_at, reader.bias(param)]
    if quantised:
        units = reader.graph.tensors[filter_at].shape[0]
        if isinstance(product, ConvTranspose):
            units = reader.graph.tensors[filter_at].shape[1] * product.groups
        return _quantised(reader, product, units, alpha, param.relu_flag), constants
    _need_real_weight(reader, filter_at)
    return product, constants


def _need_real_weight(reader: OpReader, at: int) -> None:
    tensor = reader.graph.tensors[at]
    if tensor.dtype.kind != "f" and at not in reader.quantisations:
        raise OpError(f"is {tensor.dtype} without quantize_factor or alloffset_quantize_info", "filter")


def _quantised(
    reader: OpReader, product: Conv | ConvTranspose | FullConnection, units: int, alpha: float, relu_flag: bool
) -> Op:
    """The integer form that quantize_factor describes."""
    if alpha != 1:
        raise OpError(f"{alpha} on an integer product is not defined", "alpha", GraphStatus.GRAPH_UNSUPPORTED)
    return QuantisedProduct(product, factor_scheme(reader.op.quantize_factor, reader.weights, units, relu_flag))


def _pooling(reader: OpReader) -> Meaning:
    param = reader.op.pooling_param
    mode = POOL_MODES.get(param.mode)
    if mode is None:
        raise OpError(f"unknown mode {param.mode}", "mode")
    rule, pads = pad_rule(param.pad_mode, param.pad)
    if not param.window and not param.global_pooling:
        raise OpError("is missing", "window")
    op = Pool(
        mode=mode,
        window=pair(param.window, (1, 1), "window"),
        strides=pair(param.stride, (1, 1), "stride"),
        pads=pads,
        pad_rule=rule,
        ceil=param.ceil_mode,
        whole=param.global_pooling,
        channel_last=reader.channel_last,
        before_pad=four(param.before_pad, "before_pad"),
    )
    return scaled(op, alpha_of(param.alpha, param.beta)), []


def _eltwise(reader: OpReader) -> Meaning:
    param = reader.op.eltwise_param
    mode = ELTWISE_MODES.get(param.mode)
    if mode is None:
        raise OpError(f"unknown mode {param.mode}", "mode")
    weights = [reader.weight(weight, "weight", VECTOR_FORMATS) for weight in param.weight]
    operands = len(reader.node.inputs) + len(weights)
    if param.coeff and len(param.coeff) != operands:
        raise OpError(f"{len(param.coeff)} values for {operands} operands", "coeff")
    coefficients = tuple(param.coeff) if mode is EltwiseMode.SUM else ()
    if all(value == 1 for value in coefficients):
        coefficients = ()
    return Eltwise(mode, coefficients, _epilogue(alpha_of(param.alpha, param.beta), param.relu_flag)), [*weights]


def _batch_norm(reader: OpReader) -> Meaning:
    param = reader.op.batchnorm_param
    if param.mode not in (0, 1):
        raise OpError(f"unknown mode {param.mode}", "mode")
    for name in ("estimated_mean", "estimated_variance"):
        if not param.HasField(name):
            raise OpError("is missing", name)
    constants: list[int | None] = [
        reader.weight(getattr(param, name), name, VECTOR_FORMATS) if param.HasField(name) else None
        for name in ("estimated_mean", "estimated_variance", "scale", "bias")
    ]
    axis = reader.channel_axis if param.mode == 1 else None
    if not param.use_global_stats:
        reader.graph.notes.append(
            f"op {reader.op.name!r}: use_global_stats is not set, the stored statistics are used all the same"
        )
    return scaled(BatchNorm(axis, param.epsilon or DEFAULT_EPSILON), alpha_of(param.alpha, param.beta)), constants


def _scale(reader: OpReader) -> Meaning:
    param = reader.op.scale_param
    if not param.HasField("scale"):
        raise OpError("is missing", "scale")
    return Scale(reader.channel_axis), [reader.weight(param.scale, "scale", VECTOR_FORMATS), reader.bias(param)]


def _full_connection(reader: OpReader) -> Meaning:
    param = reader.op.full_connection_param
    if not param.HasField("filter"):
        raise OpError("is missing", "filter")
    formats = FILTER_FORMATS if len(param.filter.shape.dim) == 4 else MATRIX_FORMATS
    weight = reader.weight(param.filter, "filter", formats)
    constants: list[int | None] = [weight, reader.bias(param)]
    alpha = _attr_alpha(reader)
    quantised = reader.op.HasField("quantize_factor")
    product = FullConnection(
        units=param.num_output or None,
        four_dimensional=reader.output_rank() == 4,
        epilogue=NO_EPILOGUE if quantised else _epilogue(alpha, param.relu_flag),
    )
    if quantised:
        shape = reader.graph.tensors[weight].shape
        return _quantised(reader, product, shape[0] if shape else 0, alpha, param.relu_flag), constants
    _need_real_weight(reader, weight)
    return product, constants


def _softmax(reader: OpReader) -> Meaning:
    param = reader.op.softmax_param
    if param.algo not in (0, 1, 2, 3):
        raise OpError(f"unknown algorithm {param.algo}", "algo")
    if "axis" in reader.op.attr:
        axes: tuple[int, ...] = (reader.attr("axis", "i"),)
    else:
        # modes name the axes C, H, W; where they lie follows from the layout
        places = {"C": 3, "H": 1, "W": 2} if reader.channel_last else {"C": 1, "H": 2, "W": 3}
        named = {0: "CHW", 1: "C", 2: "H", 3: "W"}.get(param.mode)
        if named is None:
            raise OpError(f"unknown mode {param.mode}", "mode")
        axes = tuple(sorted(places[axis] for axis in named))
    return scaled(Softmax(axes, log=param.algo == 2), alpha_of(param.alpha, param.beta)), []


def _activation(reader: OpReader) -> Meaning:
    param = reader.op.activation_param
    function = ACTIVATIONS.get(param.mode)
    if function is None:
        raise OpError(f"unknown mode {param.mode}", "mode")
    return scaled(Activation(function, param.coef), alpha_of(param.alpha, param.beta)), []


def _reshape(reader: OpReader) -> Meaning:
    param = reader.op.reshape_param
    if not param.HasField("shape"):
        raise OpError("is missing", "shape")
    op = Reshape(tuple(param.shape.dim), param.axis, param.num_axes)
    return scaled(op, alpha_of(param.alpha, param.beta)), []


def _flatten(reader: OpReader) -> Meaning:
    op = Flatten(reader.attr("start_axis", "i"), reader.attr("end_axis", "i"))
    return scaled(op, _attr_alpha(reader)), []


def _arithmetic(function: BinaryFunction) -> Callable[[OpReader], Meaning]:
    def read(reader: OpReader) -> Meaning:
        weight = reader.named_weight("weight", VECTOR_FORMATS)
        return scaled(Binary(function), _attr_alpha(reader)), [] if weight is None else [weight]

    return read


def _limited(function: BinaryFunction) -> Callable[[OpReader], Meaning]:
    def read(reader: OpReader) -> Meaning:
        weight = reader.named_weight("weight", VECTOR_FORMATS)
        aligned = reader.attr("broadcast", "b", False)
        op = Binary(function, axis=reader.attr("axis", "i", 0)) if aligned else Binary(function, same=True)
        return scaled(op, _attr_alpha(reader)), [] if weight is None else [weight]

    return read


def _bias_add(reader: OpReader) -> Meaning:
    x = reader.input()
    axis = 1 if x.layout in (Layout.NCHW, Layout.NC1HWC0) and len(x.op_shape) == 4 else len(x.op_shape) - 1
    bias = reader.named_weight("bias", VECTOR_FORMATS)
    return scaled(BiasAdd(axis), _attr_alpha(reader)), [] if bias is None else [bias]


def _mat_mul(reader: OpReader) -> Meaning:
    op = MatMul(reader.attr("transposeX", "b", False), reader.attr("transposeW", "b", False), matrices_only=True)
    weight = reader.named_weight("filter", MATRIX_FORMATS)
    bias = reader.named_weight("bias", VECTOR_FORMATS)
    return scaled(op, _attr_alpha(reader)), [*([] if weight is None else [weight]), *([] if bias is None else [bias])]


def _rsqrt(reader: OpReader) -> Meaning:
    return scaled(Unary(UnaryFunction.RSQRT), _attr_alpha(reader)), []


def _concat(reader: OpReader) -> Meaning:
    return Concat(reader.attr("axis", "i")), []


def _const(reader: OpReader) -> Meaning:
    if not reader.op.weights or len(reader.node.outputs) != 1:
        raise OpError(f"{len(reader.op.weights)} weights for {len(reader.node.outputs)} outputs", "weights")
    return Copy(), [reader.weight(reader.op.weights[0], "value", (*VECTOR_FORMATS, 16, 4, 13, 29))]


def _data(reader: OpReader) -> Meaning:
    if reader.node.inputs:
        raise OpError(f"has {len(reader.node.inputs)} inputs", status=GraphStatus.GRAPH_STRUCTURE)
    if len(reader.node.outputs) != 1:
        raise OpError(f"has {len(reader.node.outputs)} outputs, not 1", status=GraphStatus.GRAPH_STRUCTURE)
    result = reader.graph.tensors[reader.node.outputs[0]]
    port = Tensor(reader.op.name, result.shape, result.dtype, result.layout, result.logical_shape)
    at = reader.graph.add(port)
    reader.graph.inputs.append(Port(reader.op.name, at))
    return Copy(), [at]


def _copy(reader: OpReader) -> Meaning:
    return Copy(), []


MEANINGS: dict[str, Callable[[OpReader], Meaning]] = {
    "Convolution": _convolution,
    "Deconvolution": _convolution,
    "ConvolutionDepthwise": _convolution,
    "Pooling": _pooling,
    "Eltwise": _eltwise,
    "BatchNorm": _batch_norm,
    "Scale": _scale,
    "FullConnection": _full_connection,
    "Softmax": _softmax,
    "Activation": _activation,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "AddLimited": _limited(BinaryFunction.ADD),
    "MulLimited": _limited(BinaryFunction.MUL),
    "Add": _arithmetic(BinaryFunction.ADD),
    "Sub": _arithmetic(BinaryFunction.SUB),
    "Mul": _arithmetic(BinaryFunction.MUL),
    "BiasAdd": _bias_add,
    "MatMul": _mat_mul,
    "Rsqrt": _rsqrt,
    "Concat": _concat,
    "Const": _const,
    "Data": _data,
    "NetOutput": _copy,
    "Send": _copy,
    "Recv": _copy,
}
"""Every type that graph-conventions.md OM-G4 lists."""


def read_op(reader: OpReader) -> None:
    """Give the node its op and constants; OpError where the file does not say what it means."""
    kind = op_kind(reader.op)
    meaning = MEANINGS.get(kind)
    if meaning is None:
        raise OpError(f"type {kind!r} is unknown", "type", GraphStatus.GRAPH_UNSUPPORTED)
    if reader.op.HasField("quantize_factor") and kind not in (
        "Convolution",
        "Deconvolution",
        "ConvolutionDepthwise",
        "FullConnection",
    ):
        raise OpError(f"is not defined for {kind}", "quantize_factor", GraphStatus.GRAPH_UNSUPPORTED)
    reader.node.op, constants = meaning(reader)
    if kind != "Const":
        reader.note_what_is_not_read()
    while constants and constants[-1] is None:
        constants.pop()
    node = reader.node
    node.inputs = (*node.inputs, *constants)
    if reader.quantisations:
        of_inputs = (None if at is None else reader.quantisations.get(at) for at in node.inputs)
        node.quantisations = (*of_inputs, *(None for _ in node.outputs))
