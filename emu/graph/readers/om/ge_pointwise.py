"""Ops of a graph-style ModelDef that work element by element, or normalise along axes."""

from __future__ import annotations

import math
from typing import Any

from emu.errors import GraphStatus
from emu.graph.ir import Layout
from emu.graph.ops import Op, OpError
from emu.graph.ops.activation import Activation, Function
from emu.graph.ops.configured import Chain
from emu.graph.ops.elementwise import Binary, BinaryFunction, Eltwise, EltwiseMode, Unary, UnaryFunction
from emu.graph.ops.norm import BatchNorm, BiasAdd, LayerNorm, Scale
from emu.graph.ops.parametric import Clip, Power, PRelu, Select
from emu.graph.ops.softmax import Softmax
from emu.graph.readers.kernels import BINARY, UNARY
from emu.graph.readers.om.ge_site import Meaning, OpReader, bare
from emu.graph.readers.om.params import ACTIVATIONS, DEFAULT_EPSILON, ELTWISE_MODES, scaled

# HiAI adds two to the modes of the seed (om-format.md 6)
GE_ACTIVATIONS = ACTIVATIONS | {14: Function.RELU6, 15: Function.GELU}

# functions that mean nothing without it (graph-conventions.md OM-O12)
WITH_COEF = {Function.CLIPPED_RELU, Function.ELU, Function.LEAKY_RELU, Function.THRESHOLDED_RELU}

FUNCTIONS = {
    "Relu": Function.RELU,
    "Relu6": Function.RELU6,
    "Sigmoid": Function.SIGMOID,
    "Tanh": Function.TANH,
    "Selu": Function.SELU,
    "Softplus": Function.SOFTPLUS,
    "Softsign": Function.SOFTSIGN,
    "HardSwish": Function.HARD_SWISH,
    "Gelu": Function.GELU,
}

GE_UNARY = UNARY | {
    "Rint": UnaryFunction.ROUND,
    "Reciprocal": UnaryFunction.RECIPROCAL,
    "Sign": UnaryFunction.SIGN,
}

GE_BINARY = BINARY | {
    "Div": BinaryFunction.DIV,
    "Pow": BinaryFunction.POWER,
    "NotEqual": BinaryFunction.NOT_EQUAL,
    "LessEqual": BinaryFunction.LESS_EQUAL,
    "GreaterEqual": BinaryFunction.GREATER_EQUAL,
}


def _activation(reader: OpReader) -> Op:
    mode = reader.attrs.integer("mode")
    function = GE_ACTIVATIONS.get(mode)
    if function is None:
        raise OpError(f"unknown mode {mode}", "mode", GraphStatus.GRAPH_UNSUPPORTED)
    coef: dict[str, Any] = {} if function in WITH_COEF else {"default": 0.0}
    return scaled(Activation(function, reader.attrs.number("coef", **coef)), reader.alpha())


def _function(reader: OpReader) -> Op:
    return scaled(Activation(FUNCTIONS[reader.node.type]), reader.alpha())


def _unary(reader: OpReader) -> Op:
    return scaled(Unary(GE_UNARY[reader.node.type]), reader.alpha())


def _binary(reader: OpReader) -> Op:
    return scaled(Binary(GE_BINARY[reader.node.type]), reader.alpha())


def _exponential(reader: OpReader) -> Op:
    """base ^ (scale * x + shift); base -1 is e."""
    base, scale, shift = _base_scale_shift(reader)
    return _chained(Power(1.0, scale * base, shift * base), Unary(UnaryFunction.EXP))


def _logarithm(reader: OpReader) -> Op:
    """The logarithm of scale * x + shift to the base; base -1 is e."""
    base, scale, shift = _base_scale_shift(reader)
    return _chained(Power(1.0, scale, shift), Unary(UnaryFunction.LOG), Power(1.0, 1 / base, 0.0))


def _base_scale_shift(reader: OpReader) -> tuple[float, float, float]:
    """The natural logarithm of `base`, then `scale` and `shift`."""
    base = reader.attrs.number("base", default=-1.0)
    if base != -1 and (not math.isfinite(base) or base <= 0 or base == 1):
        raise OpError(f"{base} is no base", "base")
    return (
        1.0 if base == -1 else math.log(base),
        reader.attrs.number("scale", default=1.0),
        reader.attrs.number("shift", default=0.0),
    )


def _chained(*ops: Op) -> Op:
    """The ops without those that change nothing."""
    needed = tuple(op for op in ops if op != Power(1.0, 1.0, 0.0))
    return needed[0] if len(needed) == 1 else Chain(needed)


def _power(reader: OpReader) -> Op:
    return Power(
        reader.attrs.number("power", default=1.0),
        reader.attrs.number("scale", default=1.0),
        reader.attrs.number("shift", default=0.0),
    )


def _leaky_relu(reader: OpReader) -> Op:
    return Activation(Function.LEAKY_RELU, reader.attrs.number("alpha", "negative_slope"))


def _elu(reader: OpReader) -> Op:
    for name in ("scale", "input_scale"):
        if reader.attrs.number(name, default=1.0) != 1:
            raise OpError(f"{reader.attrs.number(name)} is not supported", name, GraphStatus.GRAPH_UNSUPPORTED)
    return Activation(Function.ELU, reader.attrs.number("alpha"))


def _hard_sigmoid(reader: OpReader) -> Op:
    return _chained(Power(1.0, reader.attrs.number("alpha"), reader.attrs.number("beta")), Clip(0.0, 1.0))


def _prelu(reader: OpReader) -> Op:
    """x, weight: one slope, or one a channel (axis 1), perhaps with dims of 1 behind it."""
    sizes = bare(reader.shape(1))
    shapes = [reader.read_as(place) for place in range(2)]
    shapes[1] = sizes or (1,)
    reader.node.input_shapes = tuple(shapes)
    return PRelu(axis=reader.channel_axis, shared=not sizes)


def _bias_add(reader: OpReader) -> Op:
    """On the channels: axis 1 of NCHW, the last axis of everything else (graph-conventions.md OM-O16)."""
    rank = len(reader.shape())
    first = reader.input().layout in (Layout.NCHW, Layout.NC1HWC0) and rank == 4
    named = reader.input().layout is Layout.ND and reader.attrs.text("data_format", default="") == "NCHW"
    return scaled(BiasAdd(1 if first or named else rank - 1), reader.alpha())


def _select(reader: OpReader) -> Op:
    return Select(broadcasting=reader.node.type == "SelectV2")


def _clip_by_value(reader: OpReader) -> Op:
    """x, minimum, maximum: both constants of one value."""
    limits = []
    for place in (1, 2):
        value = reader.input(place).value
        if value is None or value.size != 1:
            raise OpError(f"operand {place} is no constant of one value", "type", GraphStatus.GRAPH_UNSUPPORTED)
        limits.append(float(value.reshape(-1)[0]))
    reader.reorder(reader.node.inputs[:1])
    return Clip(limits[0], limits[1])


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


def _add_n(reader: OpReader) -> Op:
    count = reader.attrs.integer("N", default=len(reader.node.inputs))
    if count != len(reader.node.inputs):
        raise OpError(f"{count}, the op has {len(reader.node.inputs)} operands", "N", GraphStatus.GRAPH_STRUCTURE)
    return Eltwise(EltwiseMode.SUM)


def _softmax(reader: OpReader) -> Op:
    """`axes` or `axis` wins over mode, whose letters lie where the layout has them (graph-conventions.md OM-O11)."""
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


def _log_softmax(reader: OpReader) -> Op:
    return Softmax(reader.attrs.integers("axes", "axis"), log=True)


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
    for name, stored in (("use_global_stats", True), ("is_training", False)):
        if reader.attrs.boolean(name, default=stored) is not stored:
            reader.graph.notes.append(
                f"op {reader.node.name!r}: {name} is {not stored}, the stored statistics are used"
            )
    epsilon = reader.attrs.number("epsilon", default=0.0) or DEFAULT_EPSILON
    return scaled(BatchNorm(reader.channel_axis if mode == 1 else None, epsilon), reader.alpha())


def _scale(reader: OpReader) -> Op:
    return scaled(Scale(reader.channel_axis), reader.alpha())


def _layer_norm(reader: OpReader) -> Op:
    """x, gamma, beta; results y, mean, variance."""
    axis = reader.attrs.integer("begin_norm_axis")
    parameters = reader.attrs.integer("begin_params_axis", default=axis)
    rank = len(reader.shape())
    for place in range(1, len(reader.node.inputs)):
        if len(reader.shape(place)) != rank - parameters % max(rank, 1):
            raise OpError(
                f"{parameters}: operand {place} is {list(reader.shape(place))} for {rank} dimensions",
                "begin_params_axis",
            )
    return LayerNorm(axis, reader.attrs.number("epsilon"))


MEANINGS: dict[str, Meaning] = {
    **dict.fromkeys(GE_UNARY, _unary),
    **dict.fromkeys(GE_BINARY, _binary),
    **dict.fromkeys(FUNCTIONS, _function),
    "Exp": _exponential,
    "Log": _logarithm,
    "Power": _power,
    "LeakyRelu": _leaky_relu,
    "PRelu": _prelu,
    "Elu": _elu,
    "HardSigmoid": _hard_sigmoid,
    "ClipByValue": _clip_by_value,
    "Activation": _activation,
    "Eltwise": _eltwise,
    "AddN": _add_n,
    "BiasAdd": _bias_add,
    "Select": _select,
    "SelectV2": _select,
    "Softmax": _softmax,
    "SoftmaxV2": _softmax,
    "LogSoftmaxV2": _log_softmax,
    "BNInference": _batch_norm,
    "BNInferenceD": _batch_norm,
    "BatchNorm": _batch_norm,
    "Scale": _scale,
    "LayerNorm": _layer_norm,
}


def without_attributes(kind: str) -> Op | None:
    """The op of a type that is whole without attributes; None for every other type."""
    if kind in FUNCTIONS:
        return Activation(FUNCTIONS[kind])
    if kind in GE_UNARY and kind not in ("Exp", "Log"):
        return Unary(GE_UNARY[kind])
    return Binary(GE_BINARY[kind]) if kind in GE_BINARY else None
