"""Normalisation with stored statistics, scale and bias per channel, and normalisation over a window or an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.elementwise import aligned_shape, blockwise, broadcast, check_axis


def check_parameter(name: str, parameter: Operand, x: Operand, axis: int | None) -> None:
    """A parameter is per element (axis None: it broadcasts to x) or [C] or [1,C,1,1] on the channel axis."""
    if axis is None:
        if len(parameter.shape) != len(x.shape) or np.broadcast_shapes(parameter.shape, x.shape) != x.shape:
            raise OpError(f"{list(parameter.shape)} does not fit {list(x.shape)}", name)
        return
    channels = x.shape[check_axis(axis, len(x.shape))]
    sizes = [size for size in parameter.shape if size != 1] or [1]
    if sizes != [channels]:
        raise OpError(f"{list(parameter.shape)} for {channels} channels", name)


def parameter(array: Array, axis: int | None, rank: int) -> Array:
    """A parameter that check_parameter accepted, ready to broadcast against x."""
    return array if axis is None else array.reshape(aligned_shape((array.size,), axis, rank))


@dataclass(frozen=True, slots=True)
class BatchNorm(Op):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias; scale and bias optional, axis None: per element."""

    axis: int | None
    epsilon: float

    def shape(
        self,
        x: Operand,
        mean: Operand,
        variance: Operand,
        scale: Operand | None = None,
        bias: Operand | None = None,
    ) -> Shape:
        named = {"estimated_mean": mean, "estimated_variance": variance, "scale": scale, "bias": bias}
        for name, operand in named.items():
            if operand is not None:
                check_parameter(name, operand, x, self.axis)
        return x.shape

    def reference(
        self, x: Array, mean: Array, variance: Array, scale: Array | None = None, bias: Array | None = None
    ) -> Array:
        factor = 1 / np.sqrt(variance.astype(np.float64) + self.epsilon)
        if scale is not None:
            factor = factor * scale.reshape(factor.shape) if self.axis is not None else factor * scale
        factor = parameter(factor, self.axis, x.ndim)
        centre = parameter(mean, self.axis, x.ndim)
        if bias is None:
            return blockwise(lambda v, m, k: (v - m) * k, x, centre, factor)
        return blockwise(lambda v, m, k, b: (v - m) * k + b, x, centre, factor, parameter(bias, self.axis, x.ndim))


@dataclass(frozen=True, slots=True)
class Scale(Op):
    """x * scale + bias on the channel axis; bias optional."""

    axis: int

    def shape(self, x: Operand, scale: Operand, bias: Operand | None = None) -> Shape:
        check_parameter("scale", scale, x, self.axis)
        if bias is not None:
            check_parameter("bias", bias, x, self.axis)
        return x.shape

    def reference(self, x: Array, scale: Array, bias: Array | None = None) -> Array:
        factor = parameter(scale, self.axis, x.ndim)
        if bias is None:
            return x * factor
        return blockwise(lambda v, k, b: v * k + b, x, factor, parameter(bias, self.axis, x.ndim))


@dataclass(frozen=True, slots=True)
class BiasAdd(Op):
    """x + bias on the channel axis."""

    axis: int

    def shape(self, x: Operand, bias: Operand) -> Shape:
        check_parameter("bias", bias, x, self.axis)
        return x.shape

    def reference(self, x: Array, bias: Array) -> Array:
        y: Array = x + parameter(bias, self.axis, x.ndim)
        return y


@dataclass(frozen=True, slots=True)
class LocalResponseNorm(Op):
    """x / (bias + alpha * sum of squares)^beta over channels before..after each one (graph-conventions.md MS-O6)."""

    axis: int
    before: int
    after: int
    alpha: float
    beta: float
    bias: float

    def shape(self, x: Operand) -> Shape:
        check_axis(self.axis, len(x.shape))
        if self.before < 0 or self.after < 0:
            raise OpError(f"window reaches {self.before} before and {self.after} after", "size")
        return x.shape

    def reference(self, x: Array) -> Array:
        moved = np.moveaxis(x, self.axis, 0).astype(np.float64)
        channels = len(moved)
        # differences of running sums: the window may be wider than the channels
        running = np.concatenate([np.zeros_like(moved[:1]), np.cumsum(moved * moved, axis=0)])
        ends = np.minimum(np.arange(channels) + self.after + 1, channels)
        starts = np.maximum(np.arange(channels) - self.before, 0)
        y = moved / (self.bias + self.alpha * (running[ends] - running[starts])) ** self.beta
        result: Array = np.moveaxis(y, 0, self.axis).astype(x.dtype)
        return result


@dataclass(frozen=True, slots=True)
class L2Norm(Op):
    """x / sqrt(max(sum of squares over the axes, epsilon))."""

    axes: tuple[int, ...]
    epsilon: float

    def shape(self, x: Operand) -> Shape:
        for axis in self.axes:
            check_axis(axis, len(x.shape))
        return x.shape

    def reference(self, x: Array) -> Array:
        wide = x.astype(np.float64)
        total = np.sum(wide * wide, axis=self.axes, keepdims=True)
        y: Array = (wide / np.sqrt(np.maximum(total, self.epsilon))).astype(x.dtype)
        return y


@dataclass(frozen=True, slots=True)
class LayerNorm(Op):
    """(x - mean) / sqrt(variance + epsilon) over the axes from `axis` on, times gamma, plus beta; mean and variance are
    results too, with dims of 1 there. gamma and beta broadcast from the last axis."""

    axis: int
    epsilon: float

    def shape(self, x: Operand, gamma: Operand | None = None, beta: Operand | None = None) -> list[Shape]:
        start = check_axis(self.axis, len(x.shape), "begin_norm_axis")
        if 0 in x.shape:
            raise OpError(f"no elements in {list(x.shape)}")
        for name, operand in (("gamma", gamma), ("beta", beta)):
            if operand is not None and broadcast(x, operand) != x.shape:
                raise OpError(f"{list(operand.shape)} does not fit {list(x.shape)}", name)
        statistics = (*x.shape[:start], *(1 for _ in x.shape[start:]))
        return [x.shape, statistics, statistics]

    def reference(self, x: Array, gamma: Array | None = None, beta: Array | None = None) -> list[Array]:
        axes = tuple(range(check_axis(self.axis, x.ndim), x.ndim))
        wide = x.astype(np.float64)
        mean = wide.mean(axis=axes, keepdims=True)
        variance = wide.var(axis=axes, keepdims=True)
        y = (wide - mean) / np.sqrt(variance + self.epsilon)
        if gamma is not None:
            y = y * gamma
        if beta is not None:
            y = y + beta
        return [each.astype(x.dtype) for each in (y, mean, variance)]
