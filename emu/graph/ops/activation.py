"""Activations, as functions on arrays (for fusing into other ops) and as an op.

Definitions: graph-conventions.md OM-O12 and MS-O3; those shared by both are written once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError

SELU_ALPHA = 1.6732632423543772
SELU_GAMMA = 1.0507009873554805


class Function(StrEnum):
    """Which activation; `coef` of Activation is the parameter where one is named in FUNCTIONS."""

    LINEAR = "linear"
    SIGMOID = "sigmoid"
    RELU = "relu"
    RELU6 = "relu6"
    RELU1 = "relu1"
    TANH = "tanh"
    CLIPPED_RELU = "clipped relu"
    ELU = "elu"
    LEAKY_RELU = "leaky relu"
    ABS = "abs"
    SOFTSIGN = "softsign"
    SOFTPLUS = "softplus"
    HARD_SIGMOID = "hard sigmoid"
    HARD_SWISH = "hard swish"
    THRESHOLDED_RELU = "thresholded relu"
    SELU = "selu"
    GELU = "gelu"
    GELU_TANH = "gelu by tanh"
    FAST_GELU = "fast gelu"
    SWISH = "swish"
    SIGN = "sign"
    RELU6_SIGMOID = "relu6 sigmoid"


_ZEROS = np.zeros(1 << 14, np.float32)
"""numpy compares vectors four times as fast as a vector with a scalar."""


def relu(x: Array, _: float = 0.0) -> Array:
    y: Array = np.empty_like(x)
    relu_into(x, y)
    return y


def relu_into(x: Array, out: Array) -> None:
    """max(x, 0) into `out`, which may be `x`."""
    if x.dtype != np.float32 or x.ndim == 0:
        np.maximum(x, x.dtype.type(0), out=out)
    elif x.flags.c_contiguous and out.flags.c_contiguous:
        flat, result = x.reshape(-1), out.reshape(-1)
        for start in range(0, len(flat), len(_ZEROS)):
            piece = flat[start : start + len(_ZEROS)]
            np.maximum(piece, _ZEROS[: len(piece)], out=result[start : start + len(_ZEROS)])
    elif x.shape[-1] <= len(_ZEROS):
        np.maximum(x, _ZEROS[: x.shape[-1]], out=out)
    else:
        np.maximum(x, np.float32(0), out=out)


def _sigmoid(x: Array, _: float) -> Array:
    # e^-|x| never overflows, and both branches keep their relative precision
    small = np.exp(-np.abs(x))
    y: Array = np.where(x >= 0, 1, small).astype(x.dtype) / (1 + small)
    return y


def _elu(x: Array, alpha: float) -> Array:
    y: Array = np.where(x >= 0, x, x.dtype.type(alpha) * np.expm1(np.minimum(x, 0)))
    return y


def _selu(x: Array, _: float) -> Array:
    gamma, alpha = x.dtype.type(SELU_GAMMA), x.dtype.type(SELU_GAMMA * SELU_ALPHA)
    y: Array = np.where(x >= 0, gamma * x, alpha * np.expm1(np.minimum(x, 0)))
    return y


def _softplus(x: Array, _: float) -> Array:
    y: Array = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return y


def _hard_swish(x: Array, _: float) -> Array:
    wide = x.astype(np.float64)
    y: Array = (wide * np.clip(wide + 3, 0, 6) / 6).astype(x.dtype)
    return y


def _hard_sigmoid(x: Array, _: float) -> Array:
    # float64: the sum cancels near x = -2.5
    return np.clip(0.2 * x.astype(np.float64) + 0.5, 0, 1).astype(x.dtype)


_erf = np.frompyfunc(math.erf, 1, 1)


def _gelu(x: Array, _: float) -> Array:
    wide = x.astype(np.float64)
    erf: Array = np.asarray(_erf(wide / math.sqrt(2)), dtype=np.float64)
    y: Array = (0.5 * wide * (1 + erf)).astype(x.dtype)
    return y


def _gelu_tanh(x: Array, _: float) -> Array:
    wide = x.astype(np.float64)
    # 0.5 * (1 + tanh z) is the sigmoid of 2 z, which does not cancel
    inner = math.sqrt(8 / math.pi) * (wide + 0.044715 * wide**3)
    y: Array = (wide * _sigmoid(inner, 0)).astype(x.dtype)
    return y


def _swish(x: Array, steepness: float) -> Array:
    """x * sigmoid(steepness * x)."""
    wide = x.astype(np.float64)
    y: Array = (wide * _sigmoid(steepness * wide, 0)).astype(x.dtype)
    return y


def _relu6_sigmoid(x: Array, _: float) -> Array:
    return (np.clip(x.astype(np.float64) + 3, 0, 6) / 6).astype(x.dtype)


FUNCTIONS: dict[Function, Callable[[Array, float], Array]] = {
    Function.LINEAR: lambda x, _: x,
    Function.SIGMOID: _sigmoid,
    Function.RELU: relu,
    Function.RELU6: lambda x, _: np.clip(x, x.dtype.type(0), x.dtype.type(6)),
    Function.RELU1: lambda x, _: np.clip(x, x.dtype.type(-1), x.dtype.type(1)),
    Function.TANH: lambda x, _: np.tanh(x),
    Function.CLIPPED_RELU: lambda x, coef: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(coef)),
    Function.ELU: _elu,
    Function.LEAKY_RELU: lambda x, coef: np.where(x >= 0, x, x.dtype.type(coef) * x),
    Function.ABS: lambda x, _: np.abs(x),
    Function.SOFTSIGN: lambda x, _: x / (1 + np.abs(x)),
    Function.SOFTPLUS: _softplus,
    Function.HARD_SIGMOID: _hard_sigmoid,
    Function.HARD_SWISH: _hard_swish,
    Function.THRESHOLDED_RELU: lambda x, coef: np.where(x > coef, x, x.dtype.type(0)),
    Function.SELU: _selu,
    Function.GELU: _gelu,
    Function.GELU_TANH: _gelu_tanh,
    Function.FAST_GELU: lambda x, _: _swish(x, 1.702),
    Function.SWISH: lambda x, _: _swish(x, 1.0),
    Function.SIGN: lambda x, _: np.sign(x),
    Function.RELU6_SIGMOID: _relu6_sigmoid,
}

_ON_INTEGERS = {Function.LINEAR, Function.RELU, Function.RELU6, Function.RELU1, Function.ABS}


def activate(x: Array, function: Function, coef: float = 0.0) -> Array:
    """Apply an activation elementwise; the dtype stays (integers only for functions that give no fraction)."""
    if x.dtype.kind != "f" and function not in _ON_INTEGERS:
        raise OpError(f"{function} is not defined on {x.dtype}")
    return FUNCTIONS[function](x, coef)


@dataclass(frozen=True, slots=True)
class Activation(Op):
    """y = function(x); `coef` is the limit, slope or threshold of the functions that have one."""

    pointwise: ClassVar[bool] = True
    function: Function
    coef: float = 0.0

    def shape(self, x: Operand) -> Shape:
        return x.shape

    def reference(self, x: Array) -> Array:
        return activate(x, self.function, self.coef)


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What an op does to its result before storing it (graph-conventions.md OM-O5, OM-G6): times alpha, activation."""

    alpha: float = 1.0
    function: Function = Function.LINEAR
    coef: float = 0.0

    @property
    def idle(self) -> bool:
        return self.alpha == 1 and self.function is Function.LINEAR

    def __call__(self, y: Array) -> Array:
        if self.alpha != 1:
            y = y * y.dtype.type(self.alpha)
        return y if self.function is Function.LINEAR else activate(y, self.function, self.coef)

    def in_place(self, y: Array) -> None:
        """The same on a block that the caller owns."""
        if not self.idle:
            self.store(y, y)

    def store(self, y: Array, target: Array) -> None:
        """The same into `target`, which may be `y`; y is overwritten."""
        if self.alpha != 1:
            np.multiply(y, y.dtype.type(self.alpha), out=y)
        if self.function is Function.RELU:
            relu_into(y, target)
        elif self.function is Function.RELU6:
            np.clip(y, y.dtype.type(0), y.dtype.type(6), out=target)
        elif self.function is not Function.LINEAR:
            target[...] = activate(y, self.function, self.coef)
        elif target is not y:
            target[...] = y


NO_EPILOGUE = Epilogue()


def finish(block: Array, bias: Array | None, epilogue: Epilogue) -> None:
    """Bias [Co] and epilogue on a block [Co, …] of results that is still in the cache."""
    if bias is not None:
        block += bias.reshape(-1, *(1,) * (block.ndim - 1)).astype(block.dtype, copy=False)
    epilogue.in_place(block)


@dataclass(frozen=True, slots=True)
class Then(Op):
    """Any op followed by an epilogue."""

    op: Op
    epilogue: Epilogue

    def arity(self) -> tuple[int, int | None]:
        return self.op.arity()

    def is_pointwise(self) -> bool:
        return self.op.is_pointwise()

    def shape(self, *operands: Operand | None) -> Any:
        return self.op.shape(*operands)

    def _finish(self, found: Array | list[Array]) -> Array | list[Array]:
        return [self.epilogue(y) for y in found] if isinstance(found, list) else self.epilogue(found)

    def reference(self, *arrays: Array | None) -> Array | list[Array]:
        return self._finish(self.op.reference(*arrays))

    def fast(self, *arrays: Array | None) -> Array | list[Array]:
        return self._finish(self.op.fast(*arrays))

    def bind(self, *constants: Array | None) -> Callable[..., Array | list[Array]]:
        compute = self.op.bind(*constants)
        return lambda *arrays: self._finish(compute(*arrays))
