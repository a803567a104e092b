"""Elementwise ops in ONNX."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from emu.graph.ops.activation import SELU_ALPHA, SELU_GAMMA, Activation, Epilogue, Function, Then
from emu.graph.ops.elementwise import (
    Binary,
    BinaryFunction,
    Eltwise,
    EltwiseMode,
    Unary,
    UnaryFunction,
    aligned_shape,
)
from emu.graph.ops.parametric import Clip, Fold, Power, PRelu, Select
from emu.graph.writers.onnx.builder import Builder, Site, emit, emits

_PLAIN = {
    Function.SIGMOID: "Sigmoid",
    Function.RELU: "Relu",
    Function.TANH: "Tanh",
    Function.ABS: "Abs",
    Function.SOFTSIGN: "Softsign",
    Function.SOFTPLUS: "Softplus",
    Function.HARD_SWISH: "HardSwish",
}
_WITH_ALPHA = {
    Function.ELU: "Elu",
    Function.LEAKY_RELU: "LeakyRelu",
    Function.THRESHOLDED_RELU: "ThresholdedRelu",
}
_CLIPPED = {Function.RELU6: (0.0, 6.0), Function.RELU1: (-1.0, 1.0)}


def clip(b: Builder, x: str, low: float, high: float, dtype: type = np.float32) -> str:
    """min(max(x, low), high)."""
    return b.add("Clip", x, b.constant(low, dtype), b.constant(high, dtype))


def activation(b: Builder, x: str, function: Function, coef: float) -> str:
    """An activation of a float32 value."""
    if function is Function.LINEAR:
        return x
    if function in _PLAIN:
        return b.add(_PLAIN[function], x)
    if function in _WITH_ALPHA:
        return b.add(_WITH_ALPHA[function], x, alpha=float(coef))
    if function in _CLIPPED:
        return clip(b, x, *_CLIPPED[function])
    if function is Function.CLIPPED_RELU:
        return b.add("Min", b.add("Relu", x), b.constant(coef, np.float32))
    if function is Function.HARD_SIGMOID:
        return b.add("HardSigmoid", x, alpha=0.2, beta=0.5)
    if function is Function.SELU:
        return b.add("Selu", x, alpha=SELU_ALPHA, gamma=SELU_GAMMA)
    assert function is Function.GELU
    erf = b.add("Erf", b.add("Mul", x, b.constant(1 / math.sqrt(2), np.float32)))
    factor = b.add("Mul", b.add("Add", erf, b.constant(1, np.float32)), b.constant(0.5, np.float32))
    return b.add("Mul", x, factor)


def epilogue(b: Builder, y: str, what: Epilogue) -> str:
    if what.alpha != 1:
        y = b.add("Mul", y, b.constant(what.alpha, np.float32))
    return activation(b, y, what.function, what.coef)


@emits(Activation)
def _activation(op: Activation, site: Site) -> list[str]:
    b, x, dtype = site.builder, site.name(0), site.operand(0).dtype
    if dtype.kind == "f":
        return [activation(b, x, op.function, op.coef)]
    return [b.cast(activation(b, b.cast(x, np.float32), op.function, op.coef), dtype)]


@emits(Then)
def _then(op: Then, site: Site) -> list[str]:
    return [epilogue(site.builder, y, op.epilogue) for y in emit(op.op, site)]


_UNARY = {
    UnaryFunction.ABS: "Abs",
    UnaryFunction.NEG: "Neg",
    UnaryFunction.EXP: "Exp",
    UnaryFunction.LOG: "Log",
    UnaryFunction.SIN: "Sin",
    UnaryFunction.COS: "Cos",
    UnaryFunction.TAN: "Tan",
    UnaryFunction.ASIN: "Asin",
    UnaryFunction.ATAN: "Atan",
    UnaryFunction.SQRT: "Sqrt",
    UnaryFunction.CEIL: "Ceil",
    UnaryFunction.FLOOR: "Floor",
    UnaryFunction.ROUND: "Round",
    UnaryFunction.RECIPROCAL: "Reciprocal",
    UnaryFunction.SIGN: "Sign",
}


@emits(Unary)
def _unary(op: Unary, site: Site) -> list[str]:
    b, x, dtype = site.builder, site.name(0), site.operand(0).dtype
    if op.function is UnaryFunction.ZEROS_LIKE:
        return [b.constant(np.zeros(site.shape(0), dtype))]
    if op.function is UnaryFunction.LOGICAL_NOT:
        return [b.cast(b.add("Sub", b.constant(1, np.int64), b.cast(x, np.int64)), dtype)]
    if op.function is UnaryFunction.RSQRT:
        return [b.add("Reciprocal", b.add("Sqrt", x))]
    if op.function is UnaryFunction.SQUARE:
        x = x if dtype.kind == "f" else b.cast(x, np.int64)
        return [b.add("Mul", x, x)]
    return [b.add(_UNARY[op.function], x)]


_ARITHMETIC = {
    BinaryFunction.ADD: "Add",
    BinaryFunction.SUB: "Sub",
    BinaryFunction.MUL: "Mul",
    BinaryFunction.DIV: "Div",
    BinaryFunction.MAXIMUM: "Max",
    BinaryFunction.MINIMUM: "Min",
    BinaryFunction.POWER: "Pow",
}
_COMPARISON = {
    BinaryFunction.EQUAL: ("Equal", False),
    BinaryFunction.NOT_EQUAL: ("Equal", True),
    BinaryFunction.LESS: ("Less", False),
    BinaryFunction.LESS_EQUAL: ("LessOrEqual", False),
    BinaryFunction.GREATER: ("Greater", False),
    BinaryFunction.GREATER_EQUAL: ("GreaterOrEqual", False),
}
_LOGICAL = {
    BinaryFunction.LOGICAL_AND: "And",
    BinaryFunction.LOGICAL_OR: "Or",
    BinaryFunction.LOGICAL_XOR: "Xor",
}


def binary(b: Builder, function: BinaryFunction, x: str, y: str, floating: bool) -> str:
    """A function of two values, in float32 or int64; comparisons give uint8."""
    if function in _ARITHMETIC:
        return b.add(_ARITHMETIC[function], x, y)
    if function in _COMPARISON:
        kind, inverted = _COMPARISON[function]
        found = b.add(kind, x, y)
        return b.cast(b.add("Not", found) if inverted else found, np.uint8)
    if function in _LOGICAL:
        return b.cast(b.add(_LOGICAL[function], b.cast(x, np.bool_), b.cast(y, np.bool_)), np.uint8)
    if function is BinaryFunction.SQUARED_DIFFERENCE:
        difference = b.add("Sub", x, y)
        return b.add("Mul", difference, difference)
    if function is BinaryFunction.FLOOR_DIV and floating:
        return b.add("Floor", b.add("Div", x, y))
    if function is BinaryFunction.FLOOR_DIV:
        return b.add("Div", b.add("Sub", x, b.add("Mod", x, y)), y)
    assert function is BinaryFunction.FLOOR_MOD
    if not floating:
        return b.add("Mod", x, y)
    return b.add("Sub", x, b.add("Mul", b.add("Floor", b.add("Div", x, y)), y))


def _numbers(site: Site) -> list[str]:
    """All operands in one type in which ONNX computes: float32, or int64 for integers alone."""
    wide = np.float32 if site.floating else np.int64
    return [
        site.name(place) if operand is not None and operand.dtype == wide else site.builder.cast(site.name(place), wide)
        for place, operand in enumerate(site.operands)
    ]


@emits(Binary)
def _binary(op: Binary, site: Site) -> list[str]:
    b = site.builder
    x, y = _numbers(site)
    if op.axis is not None:
        y = b.reshape(y, aligned_shape(site.shape(1), op.axis, len(site.shape(0))))
    return [binary(b, op.function, x, y, site.floating)]


@emits(Fold)
def _fold(op: Fold, site: Site) -> list[str]:
    return [reduce(lambda x, y: binary(site.builder, op.function, x, y, site.floating), _numbers(site))]


@emits(Eltwise)
def _eltwise(op: Eltwise, site: Site) -> list[str]:
    b, values = site.builder, _numbers(site)
    kind = {EltwiseMode.PROD: "Mul", EltwiseMode.SUM: "Add", EltwiseMode.MAX: "Max", EltwiseMode.MIN: "Min"}[op.mode]
    if op.coefficients:
        dtype = np.float32 if site.floating else np.int64
        values = [b.add("Mul", x, b.constant(k, dtype)) for x, k in zip(values, op.coefficients, strict=True)]
    y = reduce(lambda x, y: b.add(kind, x, y), values)
    return [y if op.epilogue.idle else epilogue(b, y, op.epilogue)]


@emits(Power)
def _power(op: Power, site: Site) -> list[str]:
    b = site.builder
    scaled = b.add("Mul", b.cast(site.name(0), np.float64), b.constant(op.scale, np.float64))
    shifted = b.add("Add", scaled, b.constant(op.shift, np.float64))
    return [b.cast(b.add("Pow", shifted, b.constant(op.power, np.float64)), site.operand(0).dtype)]


@emits(Clip)
def _clip(op: Clip, site: Site) -> list[str]:
    b, dtype = site.builder, site.operand(0).dtype
    if dtype.kind == "f":
        return [clip(b, site.name(0), op.low, op.high)]
    return [b.cast(clip(b, b.cast(site.name(0), np.float64), op.low, op.high, np.float64), dtype)]


@emits(PRelu)
def _prelu(op: PRelu, site: Site) -> list[str]:
    rank = len(site.shape(0))
    shape = (1,) * rank if op.shared else aligned_shape(site.shape(1), op.axis, rank)
    return [site.builder.add("PRelu", site.name(0), site.builder.reshape(site.name(1), shape))]


@emits(Select)
def _select(op: Select, site: Site) -> list[str]:
    b, condition = site.builder, site.name(0)
    if site.shape(0) != site.shape(1) and not op.broadcasting:
        condition = b.reshape(condition, aligned_shape(site.shape(0), 0, len(site.shape(1))))
    return [b.add("Where", b.cast(condition, np.bool_), site.name(1), site.name(2))]
