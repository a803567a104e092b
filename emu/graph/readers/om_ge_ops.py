"""What each op of a graph-style ModelDef means (om-format.md 10); products are in om_ge_products.py.

Nothing is inferred from names or shapes: an op whose meaning is not in its attributes is refused, naming the attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.errors import GraphStatus
from emu.graph.ir import Layout, Shape, Tensor
from emu.graph.ops import Op, OpError
from emu.graph.ops.activation import Activation, Function
from emu.graph.ops.aipp import ResizeBilinear
from emu.graph.ops.elementwise import Binary, BinaryFunction, Eltwise, EltwiseMode
from emu.graph.ops.move import Concat, Convert, Copy, Each, Flatten, Permute, Reshape, Squeeze, Unsqueeze
from emu.graph.ops.norm import BatchNorm, Scale
from emu.graph.ops.pool import Pool
from emu.graph.ops.reduce import ArgBest
from emu.graph.ops.softmax import Softmax
from emu.graph.readers.om_ge_aipp import read_aipp
from emu.graph.readers.om_ge_products import (
    conv2d,
    conv2d_backprop_input,
    conv_transpose,
    convolution,
    full_connection,
    gemm,
    mat_mul,
)
from emu.graph.readers.om_ge_site import OpReader
from emu.graph.readers.om_params import (
    ACTIVATIONS,
    DEFAULT_EPSILON,
    ELTWISE_MODES,
    POOL_MODES,
    four,
    pad_rule,
    pair,
    scaled,
)
from emu.graph.readers.om_types import INT_DTYPES, INT_FORMATS

# HiAI adds two to the modes of the seed (om-format.md 6)
GE_ACTIVATIONS = ACTIVATIONS | {14: Function.RELU6, 15: Function.GELU}


# functions that mean nothing without it (CONVENTIONS OM-O12)
WITH_COEF = {Function.CLIPPED_RELU, Function.ELU, Function.LEAKY_RELU, Function.THRESHOLDED_RELU}


def relayout(source: Tensor, read_as: Shape | None, target: Tensor) -> Op:
    """The change from one tensor to another: dtype, and the order of the axes where both layouts name one."""
    shape = source.op_shape if read_as is None else read_as
    orders = [_axis_order(tensor) for tensor in (source, target)]
    if len(shape) == len(target.op_shape) == 4 and None not in orders and orders[0] != orders[1]:
        before, after = orders
        assert before is not None and after is not None
        return Permute(tuple(before.index(axis) for axis in after))
    return Convert() if shape == target.op_shape else Reshape(target.op_shape)


def _axis_order(tensor: Tensor) -> str | None:
    if len(tensor.op_shape) != 4:
        return None
    if tensor.layout in (Layout.NCHW, Layout.NC1HWC0):
        return "NCHW"
    return "NHWC" if tensor.layout is Layout.NHWC else None


def _data(reader: OpReader) -> Op:
    source, target = reader.input(), reader.output()
    if reader.is_image(source):
        return Copy()
    return relayout(source, None, target)


def _net_output(reader: OpReader) -> Op:
    """A tensor per entry: dtype and dims of output_desc, else of input_desc (CONVENTIONS 0.8)."""
    ops = [
        relayout(reader.input(place), reader.read_as(place), reader.graph.tensors[at])
        for place, at in enumerate(reader.node.outputs)
    ]
    return Each(tuple(ops))


def _const(reader: OpReader) -> None:
    at = reader.node.outputs[0] if reader.node.outputs else None
    if at is None or reader.graph.tensors[at].value is None:
        raise OpError("is missing", "value", GraphStatus.GRAPH_UNSUPPORTED)


def _nothing(reader: OpReader) -> None:
    """An op that computes nothing."""
    reader.node.inputs, reader.node.input_shapes = (), ()


def _cast(reader: OpReader) -> Op:
    """The result's dtype is that of output_desc (om-format.md 8.2); the attribute must agree."""
    number = reader.attrs.integer("DstT", "dst_dtype")
    dtype = INT_DTYPES.get(number)
    if dtype is None:
        raise OpError(f"data type {number} is not supported", "dst_dtype", GraphStatus.GRAPH_UNSUPPORTED)
    if dtype != reader.output().dtype:
        raise OpError(f"{dtype}, output_desc says {reader.output().dtype}", "dst_dtype")
    return Convert()


def _trans_data(reader: OpReader) -> Op:
    for name in ("input_format", "output_format"):
        number = reader.attrs.integer(name)
        if number not in INT_FORMATS:
            raise OpError(f"format {number} is not supported", name, GraphStatus.GRAPH_UNSUPPORTED)
    return relayout(reader.input(), reader.read_as(0), reader.output())


def _permute(reader: OpReader) -> Op:
    return Permute(reader.attrs.integers("order"))


def _reshape(reader: OpReader) -> Op:
    """By attribute `shape`, else by the constant second operand; axis and num_axes as CONVENTIONS OM-O13."""
    axis, count = reader.attrs.integer("axis", default=0), reader.attrs.integer("num_axes", default=-1)
    if "shape" in reader.attrs:
        dims = reader.attrs.integers("shape")
    else:
        if len(reader.node.inputs) < 2:
            raise OpError("is missing", "shape", GraphStatus.GRAPH_UNSUPPORTED)
        value = reader.input(1).value
        if value is None or value.dtype.kind not in "iu":
            raise OpError("the second operand is no constant list of integers", "shape", GraphStatus.GRAPH_UNSUPPORTED)
        dims = tuple(int(size) for size in value.reshape(-1))
    return scaled(Reshape(dims, axis, count), reader.alpha())


def _flatten(reader: OpReader) -> Op:
    return scaled(
        Flatten(reader.attrs.integer("start_axis", "axis"), reader.attrs.integer("end_axis", default=-1)),
        reader.alpha(),
    )


def _squeeze(reader: OpReader) -> Op:
    return Squeeze(reader.attrs.integers("axes", "squeeze_dims", "axis"))


def _unsqueeze(reader: OpReader) -> Op:
    return Unsqueeze(reader.attrs.integers("axes", "axis"))


def _concat(reader: OpReader) -> Op:
    return scaled(Concat(reader.attrs.integer("axis", "concat_dim")), reader.alpha())


def _activation(reader: OpReader) -> Op:
    mode = reader.attrs.integer("mode")
    function = GE_ACTIVATIONS.get(mode)
    if function is None:
        raise OpError(f"unknown mode {mode}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    coef: dict[str, Any] = {} if function in WITH_COEF else {"default": 0.0}
    return scaled(Activation(function, reader.attrs.number("coef", **coef)), reader.alpha())


def _function(function: Function) -> Callable[[OpReader], Op]:
    return lambda reader: scaled(Activation(function), reader.alpha())


def _binary(function: BinaryFunction) -> Callable[[OpReader], Op]:
    return lambda reader: scaled(Binary(function), reader.alpha())


def _eltwise(reader: OpReader) -> Op:
    number = reader.attrs.integer("mode")
    mode = ELTWISE_MODES.get(number)
    if mode is None:
        raise OpError(f"unknown mode {number}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    given = reader.attrs.numbers("coeff", default=())
    coefficients = given if mode is EltwiseMode.SUM and any(value != 1 for value in given) else ()
    if given and len(given) != len(reader.node.inputs):
        raise OpError(f"{len(given)} values for {len(reader.node.inputs)} operands", "coeff")
    epilogue = reader.epilogue()
    return Eltwise(mode, coefficients, epilogue)


def _softmax(reader: OpReader) -> Op:
    """`axes` or `axis` wins over mode, whose letters lie where the layout has them (CONVENTIONS OM-O11)."""
    algorithm = reader.attrs.integer("algo", default=1)
    if algorithm not in (0, 1, 2, 3):
        raise OpError(f"unknown algorithm {algorithm}", "algo", GraphStatus.GRAPH_UNSUPPORTED)
    if "axes" in reader.attrs or "axis" in reader.attrs:
        axes = reader.attrs.integers("axes", "axis")
    else:
        named = {0: "CHW", 1: "C", 2: "H", 3: "W"}.get(reader.attrs.integer("mode"))
        if named is None:
            raise OpError(f"unknown mode {reader.attrs.integer('mode')}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
        places = {"C": 3, "H": 1, "W": 2} if reader.channel_last else {"C": 1, "H": 2, "W": 3}
        axes = tuple(sorted(places[axis] for axis in named))
    return scaled(Softmax(axes, log=algorithm == 2), reader.alpha())


def _arg_max(reader: OpReader) -> Op:
    return ArgBest(axis=reader.attrs.integer("dimension"))


def _batch_norm(reader: OpReader) -> Op:
    """Operands x, scale, bias, mean, variance, or x, mean, variance (om-format.md 8)."""
    inputs = reader.node.inputs
    if len(inputs) == 5:
        x, scale, bias, mean, variance = inputs
        reader.reorder((x, mean, variance, scale, bias))
    elif len(inputs) != 3:
        raise OpError(f"has {len(inputs)} operands, 3 or 5 are known", status=GraphStatus.GRAPH_UNSUPPORTED)
    mode = reader.attrs.integer("mode", default=1)
    if mode not in (0, 1):
        raise OpError(f"unknown mode {mode}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    epsilon = reader.attrs.number("epsilon", default=0.0) or DEFAULT_EPSILON
    return scaled(BatchNorm(reader.channel_axis if mode == 1 else None, epsilon), reader.alpha())


def _scale(reader: OpReader) -> Op:
    return scaled(Scale(reader.channel_axis), reader.alpha())


def _pooling(reader: OpReader) -> Op:
    """Attributes as PoolingOpParams; om-format.md 6."""
    number = reader.attrs.integer("mode")
    mode = POOL_MODES.get(number)
    if mode is None:
        raise OpError(f"unknown mode {number}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    whole = reader.attrs.boolean("global_pooling", default=False)
    pad_mode = reader.attrs.integer("pad_mode", default=0)
    rule, pads = pad_rule(pad_mode, reader.attrs.integers("pad", "pads", default=()))
    required = {"default": ()} if whole else {}
    op = Pool(
        mode=mode,
        window=pair(reader.attrs.integers("window", **required), (1, 1), "window"),
        strides=pair(reader.attrs.integers("stride", "strides", **required), (1, 1), "stride"),
        pads=pads,
        pad_rule=rule,
        ceil=reader.attrs.boolean("ceil_mode", default=False),
        whole=whole,
        channel_last=reader.channel_last,
        before_pad=four(reader.attrs.integers("before_pad", default=()), "before_pad"),
    )
    return scaled(op, reader.alpha())


def _resize_bilinear(reader: OpReader) -> Op:
    # the attribute `format` of a resize stays 0 where the file works on NHWC, `inferred_format` tells (aipp.om)
    layout = reader.attrs.integer("inferred_format", "format", default=0)
    return ResizeBilinear(
        align_corners=reader.attrs.boolean("align_corners"),
        half_pixel_centers=reader.attrs.boolean("half_pixel_centers", default=False),
        channel_last=layout == 1 or reader.input().layout is Layout.NHWC,
    )


MEANINGS: dict[str, Callable[[OpReader], Op | None]] = {
    "Data": _data,
    "NetOutput": _net_output,
    "Const": _const,
    "Send": _nothing,
    "Recv": _nothing,
    "AippConfig": _nothing,
    "AtomicAddrClean": _nothing,
    "Aipp": read_aipp,
    "Convolution": convolution,
    "ConvolutionDepthwise": convolution,
    "ConvTranspose": conv_transpose,
    "Conv2D": conv2d,
    "Conv2DBackpropInputD": conv2d_backprop_input,
    "FullyConnection": full_connection,
    "MatMul": mat_mul,
    "MatMulV2": mat_mul,
    "GEMM": gemm,
    "Pooling": _pooling,
    "PoolingD": _pooling,
    "Cast": _cast,
    "CastT": _cast,
    "TransData": _trans_data,
    "Permute": _permute,
    "ResizeBilinear": _resize_bilinear,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "ConcatD": _concat,
    "Activation": _activation,
    "Relu": _function(Function.RELU),
    "Relu6": _function(Function.RELU6),
    "Sigmoid": _function(Function.SIGMOID),
    "Tanh": _function(Function.TANH),
    "Abs": _function(Function.ABS),
    "Eltwise": _eltwise,
    "Add": _binary(BinaryFunction.ADD),
    "Sub": _binary(BinaryFunction.SUB),
    "Mul": _binary(BinaryFunction.MUL),
    "RealDiv": _binary(BinaryFunction.DIV),
    "Maximum": _binary(BinaryFunction.MAXIMUM),
    "Minimum": _binary(BinaryFunction.MINIMUM),
    "Softmax": _softmax,
    "SoftmaxV2": _softmax,
    "ArgMaxD": _arg_max,
    "BNInference": _batch_norm,
    "BatchNorm": _batch_norm,
    "Scale": _scale,
}
"""The rows of om-format.md 10 and the ops that every graph has; a type without a row is refused by name."""


def read_op(reader: OpReader) -> None:
    """Give the node its op; OpError where the file does not say what it means."""
    meaning = MEANINGS.get(reader.node.type)
    if meaning is None:
        raise OpError(f"type {reader.node.type!r} is not supported", "type", GraphStatus.GRAPH_UNSUPPORTED)
    op = meaning(reader)
    if op is None:
        return
    most = op.arity()[1]
    if most is not None and len(reader.node.inputs) > most:
        raise OpError(
            f"has {len(reader.node.inputs)} operands, {most} are known: what a fused op does with the others is not in "
            "its attributes",
            "type",
            GraphStatus.GRAPH_UNSUPPORTED,
        )
    reader.node.op = op
