"""Softmax and its logarithm over any axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.elementwise import check_axis

_BLOCK = 1 << 16
"""Elements of a block: float64 of a whole map would double the peak memory."""


@dataclass(frozen=True, slots=True)
class Softmax(Op):
    """exp(x - max) / sum over `axes`, or its logarithm; in float64, so that x - max keeps every bit of x."""

    axes: tuple[int, ...]
    log: bool = False

    def shape(self, x: Operand) -> Shape:
        found = [check_axis(axis, len(x.shape)) for axis in self.axes]
        if len(set(found)) != len(found) or not found:
            raise OpError(f"axes {list(self.axes)} of {len(x.shape)} dimensions", "axes")
        return x.shape

    def _whole(self, x: Array, axes: tuple[int, ...]) -> Array:
        shifted = x.astype(np.float64)
        shifted -= np.max(shifted, axis=axes, keepdims=True)
        if self.log:
            shifted -= np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True))
            return shifted
        np.exp(shifted, out=shifted)
        shifted /= np.sum(shifted, axis=axes, keepdims=True)
        return shifted

    def reference(self, x: Array) -> Array:
        return self._whole(x, self.axes).astype(x.dtype)

    def fast(self, x: Array) -> Array:
        axes = sorted(axis % x.ndim for axis in self.axes)
        if x.size <= _BLOCK or axes != list(range(axes[0], axes[-1] + 1)):
            return self.reference(x)
        outer, length = math.prod(x.shape[: axes[0]]), math.prod(x.shape[axes[0] : axes[-1] + 1])
        blocks = x.reshape(outer, length, -1)
        y = np.empty(blocks.shape, x.dtype)
        inner = blocks.shape[2]
        # rows of the outer dimension together while they are short, else pieces of the inner one
        rows = max(1, _BLOCK // (length * inner))
        columns = inner if rows > 1 else max(1, _BLOCK // length)
        for row in range(0, outer, rows):
            for column in range(0, inner, columns):
                at = np.s_[row : row + rows, :, column : column + columns]
                y[at] = self._whole(blocks[at], (1,))
        return y.reshape(x.shape)
