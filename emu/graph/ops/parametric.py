"""Elementwise ops with parameters of their own, and choices between operands (graph-conventions.md MS-O4, O5, O10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.elementwise import BINARY, BinaryFunction, aligned_shape, broadcast, check_axis


@dataclass(frozen=True, slots=True)
class Power(Op):
    """(scale * x + shift)^power (Caffe)."""

    power: float
    scale: float
    shift: float

    def shape(self, x: Operand) -> Shape:
        return x.shape

    def reference(self, x: Array) -> Array:
        found: Array = np.power(self.scale * x.astype(np.float64) + self.shift, self.power)
        return np.asarray(found, x.dtype)


@dataclass(frozen=True, slots=True)
class Clip(Op):
    """min(max(x, low), high)."""

    low: float
    high: float

    def shape(self, x: Operand) -> Shape:
        if not self.low <= self.high:
            raise OpError(f"{self.low} is above max {self.high}", "min")
        return x.shape

    def reference(self, x: Array) -> Array:
        if x.dtype.kind == "f":
            floor: Array = np.maximum(x, x.dtype.type(self.low))
            return np.asarray(np.minimum(floor, x.dtype.type(self.high)))
        return np.clip(x.astype(np.float64), self.low, self.high).astype(x.dtype)


@dataclass(frozen=True, slots=True)
class PRelu(Op):
    """x where x is not negative, else x * slope: one slope for all, or one per index of `axis`."""

    axis: int = 1
    shared: bool = False

    def shape(self, x: Operand, slope: Operand) -> Shape:
        if self.shared:
            if slope.shape not in ((), (1,)):
                raise OpError(f"slope is {list(slope.shape)}, not one value", "channelShared")
            return x.shape
        channels = x.shape[check_axis(self.axis, len(x.shape))]
        if slope.shape != (channels,):
            raise OpError(f"slope is {list(slope.shape)}, not one value for each of {channels} channels")
        return x.shape

    def reference(self, x: Array, slope: Array) -> Array:
        factors = slope.reshape(()) if self.shared else slope.reshape(aligned_shape(slope.shape, self.axis, x.ndim))
        return np.where(x >= 0, x, x * factors).astype(x.dtype)


@dataclass(frozen=True, slots=True)
class Select(Op):
    """x where the condition is not 0, else y; a vector as condition chooses along axis 0 (TensorFlow), or with
    `broadcasting` all three follow numpy's rule (SelectV2)."""

    exact: ClassVar[bool] = True
    broadcasting: bool = False

    def shape(self, condition: Operand, x: Operand, y: Operand) -> Shape:
        if self.broadcasting:
            return broadcast(condition, x, y)
        if x.shape != y.shape:
            raise OpError(f"{list(x.shape)} and {list(y.shape)} differ")
        if condition.shape not in (x.shape, x.shape[:1]):
            raise OpError(f"condition {list(condition.shape)} for {list(x.shape)}")
        return x.shape

    def reference(self, condition: Array, x: Array, y: Array) -> Array:
        if condition.shape != x.shape and not self.broadcasting:
            condition = condition.reshape(aligned_shape(condition.shape, 0, x.ndim))
        return np.where(condition != 0, x, y)


@dataclass(frozen=True, slots=True)
class Fold(Op):
    """function(… function(function(a, b), c) …) with numpy's broadcasting (ONNX Min of any number of operands)."""

    function: BinaryFunction

    def shape(self, first: Operand, *others: Operand) -> Shape:
        return broadcast(first, *others)

    def reference(self, *operands: Array) -> Array:
        return reduce(BINARY[self.function], operands)
