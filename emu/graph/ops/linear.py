"""Matrix products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.activation import NO_EPILOGUE, Epilogue
from emu.graph.ops.norm import parameter


@dataclass(frozen=True, slots=True)
class FullConnection(Op):
    """x flattened to [N, D] in stored order, times weight [K, D] (or [K, C, H, W]) transposed, plus bias [K].

    The result is [N, K], or [N, K, 1, 1] if `four_dimensional`.
    """

    units: int | None = None
    four_dimensional: bool = False
    epilogue: Epilogue = NO_EPILOGUE

    def shape(self, x: Operand, weight: Operand, bias: Operand | None = None) -> Shape:
        if not x.shape or not weight.shape:
            raise OpError(f"operands {list(x.shape)} and {list(weight.shape)} need dimensions")
        units, length = weight.shape[0], math.prod(weight.shape[1:])
        if math.prod(x.shape[1:]) != length:
            raise OpError(f"input has {math.prod(x.shape[1:])} values a row, the filter {length}", "filter")
        if self.units not in (None, units):
            raise OpError(f"{self.units}, the filter has {units}", "num_output")
        if bias is not None and math.prod(bias.shape) != units:
            raise OpError(f"{list(bias.shape)} for {units} outputs", "bias")
        return (x.shape[0], units, 1, 1) if self.four_dimensional else (x.shape[0], units)

    def reference(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        y: Array = x.reshape(x.shape[0], -1) @ weight.reshape(weight.shape[0], -1).T
        if bias is not None:
            y = y + bias.reshape(-1)
        y = self.epilogue(y)
        return y.reshape(*y.shape, 1, 1) if self.four_dimensional else y


@dataclass(frozen=True, slots=True)
class MatMul(Op):
    """a @ b (+ bias on the last axis) with numpy's batch dimensions; either operand transposed first."""

    transpose_a: bool = False
    transpose_b: bool = False
    matrices_only: bool = False

    def shape(self, a: Operand, b: Operand, bias: Operand | None = None) -> Shape:
        if min(len(a.shape), len(b.shape)) < 2 or (self.matrices_only and len(a.shape) + len(b.shape) > 4):
            raise OpError(f"{list(a.shape)} by {list(b.shape)}: matrices are needed")
        rows, inner = a.shape[-2:] if not self.transpose_a else a.shape[:-3:-1]
        other, columns = b.shape[-2:] if not self.transpose_b else b.shape[:-3:-1]
        if inner != other:
            raise OpError(f"inner dimensions {inner} and {other} differ")
        if bias is not None and math.prod(bias.shape) != columns:
            raise OpError(f"{list(bias.shape)} for {columns} columns", "bias")
        return (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), rows, columns)

    def reference(self, a: Array, b: Array, bias: Array | None = None) -> Array:
        y: Array = (a.swapaxes(-1, -2) if self.transpose_a else a) @ (b.swapaxes(-1, -2) if self.transpose_b else b)
        return y if bias is None else y + parameter(bias, -1, y.ndim)


@dataclass(frozen=True, slots=True)
class Gemm(Op):
    """alpha * a @ b + beta * c, alpha and beta operands of one value (om-format.md 8)."""

    transpose_a: bool = False
    transpose_b: bool = False

    def shape(self, a: Operand, b: Operand, c: Operand, alpha: Operand, beta: Operand) -> Shape:
        for name, operand in (("alpha", alpha), ("beta", beta)):
            if math.prod(operand.shape) != 1:
                raise OpError(f"{list(operand.shape)} is not one value", name)
        shape = MatMul(self.transpose_a, self.transpose_b).shape(a, b)
        if np.broadcast_shapes(c.shape, shape) != shape:
            raise OpError(f"{list(c.shape)} does not fit {list(shape)}", "c")
        return shape

    def reference(self, a: Array, b: Array, c: Array, alpha: Array, beta: Array) -> Array:
        product = MatMul(self.transpose_a, self.transpose_b).reference(a, b)
        y: Array = product * alpha.reshape(()) + c * beta.reshape(())
        return y
