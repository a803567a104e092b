"""Elementwise arithmetic: unary functions, two operands with broadcasting, and weighted sums of any number.

Each result is within 4 ulp of the float64 value of its formula: what float32 cannot keep (sums of products, which
cancel) is computed in float64, block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.activation import NO_EPILOGUE, Epilogue

_BLOCK = 16384
"""Elements of a float64 block: a few of them stay in the L2 cache."""


def blockwise(function: Callable[..., Array], *arrays: Array, dtype: np.dtype[np.floating] | None = None) -> Array:
    """function(*arrays) elementwise with broadcasting, computed in float64, stored as `dtype` (default float32)."""
    stored = np.dtype(np.float32) if dtype is None else dtype
    if not all(array.size for array in arrays):
        return np.empty(np.broadcast_shapes(*(array.shape for array in arrays)), stored)
    flags: list[Any] = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    dtypes: list[Any] = [np.float64] * len(arrays) + [stored]
    walk = np.nditer(
        [*arrays, None],
        flags=["external_loop", "buffered"],
        op_flags=flags,
        op_dtypes=dtypes,
        casting="same_kind" if all(array.dtype.kind == "f" for array in arrays) else "unsafe",
        buffersize=_BLOCK,
        order="C",
    )
    with walk:
        for *operands, result in walk:
            result[...] = function(*operands)
        found: Array = walk.operands[len(arrays)]
    return found


def broadcast(*operands: Operand) -> Shape:
    """numpy's broadcasting of all shapes; OpError if there is none."""
    try:
        return np.broadcast_shapes(*(operand.shape for operand in operands))
    except ValueError:
        shapes = ", ".join(str(list(operand.shape)) for operand in operands)
        raise OpError(f"shapes {shapes} cannot be broadcast together") from None


def check_axis(axis: int, rank: int, attribute: str = "axis") -> int:
    """The axis counted from the front; OpError if it is out of range."""
    if not -rank <= axis < rank:
        raise OpError(f"axis {axis} is out of range for {rank} dimensions", attribute)
    return axis % rank


def _wide(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def widened(x: Array) -> Array:
        return function(x.astype(np.float64)).astype(x.dtype) if x.dtype.kind == "f" else function(x)

    return widened


class UnaryFunction(StrEnum):
    ABS = "abs"
    NEG = "neg"
    EXP = "exp"
    LOG = "log"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ATAN = "atan"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    SQUARE = "square"
    RECIPROCAL = "reciprocal"
    SIGN = "sign"
    CEIL = "ceil"
    FLOOR = "floor"
    ROUND = "round"
    ZEROS_LIKE = "zeros like"
    LOGICAL_NOT = "logical not"
    ONES_LIKE = "ones like"


# the float32 forms of sin, cos, tan, asin, atan and log may err by more than a few ulp, those of float64 do not
UNARY: dict[UnaryFunction, Callable[[Array], Array]] = {
    UnaryFunction.ABS: np.abs,
    UnaryFunction.NEG: np.negative,
    UnaryFunction.EXP: np.exp,
    UnaryFunction.LOG: _wide(np.log),
    UnaryFunction.SIN: _wide(np.sin),
    UnaryFunction.COS: _wide(np.cos),
    UnaryFunction.TAN: _wide(np.tan),
    UnaryFunction.ASIN: _wide(np.arcsin),
    UnaryFunction.ATAN: _wide(np.arctan),
    UnaryFunction.SQRT: np.sqrt,
    UnaryFunction.RSQRT: lambda x: 1 / np.sqrt(x),
    UnaryFunction.SQUARE: np.square,
    UnaryFunction.RECIPROCAL: lambda x: 1 / x,
    UnaryFunction.SIGN: np.sign,
    UnaryFunction.CEIL: np.ceil,
    UnaryFunction.FLOOR: np.floor,
    UnaryFunction.ROUND: np.rint,
    UnaryFunction.ZEROS_LIKE: np.zeros_like,
    UnaryFunction.LOGICAL_NOT: lambda x: 1 - x,
    UnaryFunction.ONES_LIKE: np.ones_like,
}


@dataclass(frozen=True, slots=True)
class Unary(Op):
    """y = function(x)."""

    pointwise: ClassVar[bool] = True
    function: UnaryFunction

    def shape(self, x: Operand) -> Shape:
        return x.shape

    def reference(self, x: Array) -> Array:
        return UNARY[self.function](x)


class BinaryFunction(StrEnum):
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    FLOOR_DIV = "floor div"
    FLOOR_MOD = "floor mod"
    SQUARED_DIFFERENCE = "squared difference"
    POWER = "power"
    EQUAL = "equal"
    NOT_EQUAL = "not equal"
    LESS = "less"
    LESS_EQUAL = "less equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater equal"
    LOGICAL_AND = "logical and"
    LOGICAL_OR = "logical or"
    LOGICAL_XOR = "logical xor"


def _divisor(b: Array) -> Array:
    if b.dtype.kind in "iu" and not b.all():
        raise OpError("integer division by zero")
    return b


def _div(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return np.divide(a, b)
    # integers: toward zero, as C has it
    quotient = np.abs(a) // np.abs(_divisor(b))
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        # in float64: the float32 form errs by more than a few ulp
        return np.power(a.astype(np.float64), b.astype(np.float64)).astype(np.result_type(a, b))
    if (b < 0).any():
        raise OpError("an integer to a negative power")
    return np.power(a, b)


def _compared(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(a, b).astype(np.uint8)


def _logical(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(a != 0, b != 0).astype(np.uint8)


BINARY: dict[BinaryFunction, Callable[[Array, Array], Array]] = {
    BinaryFunction.ADD: np.add,
    BinaryFunction.SUB: np.subtract,
    BinaryFunction.MUL: np.multiply,
    BinaryFunction.DIV: _div,
    BinaryFunction.MAXIMUM: np.maximum,
    BinaryFunction.MINIMUM: np.minimum,
    BinaryFunction.FLOOR_DIV: lambda a, b: np.floor_divide(a, _divisor(b)),
    BinaryFunction.FLOOR_MOD: lambda a, b: np.mod(a, _divisor(b)),
    BinaryFunction.SQUARED_DIFFERENCE: lambda a, b: np.square(a - b),
    BinaryFunction.POWER: _power,
    BinaryFunction.EQUAL: _compared(np.equal),
    BinaryFunction.NOT_EQUAL: _compared(np.not_equal),
    BinaryFunction.LESS: _compared(np.less),
    BinaryFunction.LESS_EQUAL: _compared(np.less_equal),
    BinaryFunction.GREATER: _compared(np.greater),
    BinaryFunction.GREATER_EQUAL: _compared(np.greater_equal),
    BinaryFunction.LOGICAL_AND: _logical(np.logical_and),
    BinaryFunction.LOGICAL_OR: _logical(np.logical_or),
    BinaryFunction.LOGICAL_XOR: _logical(np.logical_xor),
}


def aligned_shape(b: Shape, axis: int, rank: int) -> Shape:
    """`b` with ones around it, so that its first dimension meets dimension `axis` of `rank`; OpError if it cannot."""
    start = check_axis(axis, rank)
    if start + len(b) > rank:
        raise OpError(f"{len(b)} dimensions do not fit {rank} from axis {start} on", "axis")
    return (1,) * start + b + (1,) * (rank - start - len(b))


@dataclass(frozen=True, slots=True)
class Binary(Op):
    """function(a, b) with numpy's broadcasting.

    With `axis` the dims of b are first aligned with those of a from there, and must not enlarge a; with `same` the
    shapes must be equal.
    """

    pointwise: ClassVar[bool] = True
    function: BinaryFunction
    axis: int | None = None
    same: bool = False

    def shape(self, a: Operand, b: Operand) -> Shape:
        if self.same and a.shape != b.shape:
            raise OpError(f"shapes {list(a.shape)} and {list(b.shape)} differ, and broadcast is off")
        if self.axis is None:
            return broadcast(a, b)
        shape = broadcast(a, Operand(aligned_shape(b.shape, self.axis, len(a.shape)), b.dtype))
        if shape != a.shape:
            raise OpError(f"{list(b.shape)} does not fit {list(a.shape)} from axis {self.axis} on", "axis")
        return shape

    def reference(self, a: Array, b: Array) -> Array:
        if self.axis is not None:
            b = b.reshape(aligned_shape(b.shape, self.axis, a.ndim))
        return BINARY[self.function](a, b)


class EltwiseMode(StrEnum):
    PROD = "prod"
    SUM = "sum"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True)
class Eltwise(Op):
    """Product, weighted sum, maximum or minimum of one or more operands of the same shape."""

    pointwise: ClassVar[bool] = True
    mode: EltwiseMode
    coefficients: tuple[float, ...] = ()
    epilogue: Epilogue = NO_EPILOGUE

    def shape(self, first: Operand, *others: Operand) -> Shape:
        for other in others:
            if other.shape != first.shape:
                raise OpError(f"operands {list(first.shape)} and {list(other.shape)} differ in shape")
        if self.coefficients and len(self.coefficients) != 1 + len(others):
            raise OpError(f"{len(self.coefficients)} coefficients for {1 + len(others)} operands", "coeff")
        return first.shape

    def reference(self, *operands: Array) -> Array:
        floating = operands[0].dtype.kind == "f"
        if self.mode is EltwiseMode.SUM and floating and (self.coefficients or len(operands) > 2):
            factors = self.coefficients or (1.0,) * len(operands)
            y = blockwise(
                lambda *xs: sum(factor * x for factor, x in zip(factors, xs, strict=True)),
                *operands,
                dtype=operands[0].dtype,
            )
        else:
            function = {
                EltwiseMode.PROD: np.multiply,
                EltwiseMode.SUM: np.add,
                EltwiseMode.MAX: np.maximum,
                EltwiseMode.MIN: np.minimum,
            }[self.mode]
            y = operands[0] if not self.coefficients else operands[0] * operands[0].dtype.type(self.coefficients[0])
            for place, operand in enumerate(operands[1:], 1):
                factor = self.coefficients[place] if self.coefficients else 1
                y = function(y, operand if factor == 1 else operand * operand.dtype.type(factor))
        return self.epilogue(y)
