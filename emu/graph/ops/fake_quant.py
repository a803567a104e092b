"""What quantisation-aware training leaves in a graph (graph-conventions.md MS-Q4 to Q6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import need_shape
from emu.graph.ops.elementwise import check_axis

FOLD_EPSILON = 1e-5
"""What MindSpore's exporter assumes for BatchNorm and BatchNormFold (graph-conventions.md MS-Q6)."""


def _along(values: Array, axis: int, rank: int) -> Array:
    return values.astype(np.float64).reshape([-1 if at == axis else 1 for at in range(rank)])


@dataclass(frozen=True, slots=True)
class FakeQuantise(Op):
    """Quantise and dequantise between min and max, whose zero is nudged to a whole step (tf.quantization.fake_quant…).

    min and max are one value, or one per index of `axis`.
    """

    bits: int = 8
    narrow: bool = False
    axis: int | None = None

    def shape(self, x: Operand, low: Operand, high: Operand) -> Shape:
        if not 2 <= self.bits <= 16:
            raise OpError(f"{self.bits} bits, 2..16 are possible", "numBits")
        for name, operand in (("min", low), ("max", high)):
            if self.axis is None:
                if operand.shape not in ((), (1,)):
                    raise OpError(f"{name} is {list(operand.shape)}, not one value")
            else:
                need_shape(operand.shape, (x.shape[check_axis(self.axis, len(x.shape))],), name)
        return x.shape

    def reference(self, x: Array, low: Array, high: Array) -> Array:
        axis = -1 if self.axis is None else check_axis(self.axis, x.ndim)
        lowest, highest = _along(low, axis, x.ndim), _along(high, axis, x.ndim)
        if self.axis is None:
            lowest, highest = lowest.reshape(()), highest.reshape(())
        if not np.all(highest > lowest):
            raise OpError("max must be larger than min")
        first, last = int(self.narrow), 2**self.bits - 1
        scale = (highest - lowest) / (last - first)
        zero = np.clip(np.floor(first - lowest / scale + 0.5), first, last)
        steps = np.clip(np.floor(x.astype(np.float64) / scale + zero + 0.5), first, last)
        found: Array = ((steps - zero) * scale).astype(x.dtype)
        return found


@dataclass(frozen=True, slots=True)
class QuantiseLinear(Op):
    """ONNX QuantizeLinear to int8: clip(rhe(x / scale) + zero point, -128, 127)."""

    def shape(self, x: Operand, scale: Operand, zero_point: Operand) -> Shape:
        _one_value(scale, "scale")
        _one_value(zero_point, "zero point")
        return x.shape

    def reference(self, x: Array, scale: Array, zero_point: Array) -> Array:
        steps = np.rint(x.astype(np.float64) / _positive(scale)) + float(zero_point.reshape(-1)[0])
        return np.clip(steps, -128, 127).astype(np.int8)


@dataclass(frozen=True, slots=True)
class DequantiseLinear(Op):
    """ONNX DequantizeLinear: (q - zero point) * scale as float32."""

    def shape(self, q: Operand, scale: Operand, zero_point: Operand) -> Shape:
        _one_value(scale, "scale")
        _one_value(zero_point, "zero point")
        return q.shape

    def reference(self, q: Array, scale: Array, zero_point: Array) -> Array:
        steps = q.astype(np.float64) - float(zero_point.reshape(-1)[0])
        return (steps * _positive(scale)).astype(np.float32)


def _one_value(operand: Operand, what: str) -> None:
    if operand.shape not in ((), (1,)):
        raise OpError(f"{what} is {list(operand.shape)}, not one value")


def _positive(scale: Array) -> float:
    value = float(scale.reshape(-1)[0])
    if not value > 0:
        raise OpError(f"scale {value} is not positive")
    return value


@dataclass(frozen=True, slots=True)
class BatchNormFold(Op):
    """MindSpore's BatchNormFold in inference: (x, mean, variance, step) → batch mean 0, batch deviation 1, the running
    mean and the running deviation sqrt(variance + epsilon)."""

    epsilon: float = FOLD_EPSILON

    def shape(self, x: Operand, mean: Operand, variance: Operand, step: Operand) -> list[Shape | None]:
        need_shape(variance.shape, mean.shape, "variance")
        return [mean.shape] * 4

    def reference(self, x: Array, mean: Array, variance: Array, step: Array) -> list[Array]:
        deviation = np.sqrt(variance.astype(np.float64) + self.epsilon).astype(variance.dtype)
        return [np.zeros_like(mean), np.ones_like(mean), mean, deviation]


@dataclass(frozen=True, slots=True)
class MulFold(Op):
    """MindSpore's CorrectionMul: weight * gamma / deviation along axis 0."""

    def shape(self, weight: Operand, gamma: Operand, deviation: Operand) -> Shape:
        if not weight.shape:
            raise OpError("the weight has no dimensions")
        need_shape(gamma.shape, weight.shape[:1], "gamma")
        need_shape(deviation.shape, weight.shape[:1], "deviation")
        return weight.shape

    def reference(self, weight: Array, gamma: Array, deviation: Array) -> Array:
        factor = _along(gamma, 0, weight.ndim) / _along(deviation, 0, weight.ndim)
        return (weight * factor).astype(weight.dtype)


@dataclass(frozen=True, slots=True)
class AddFold(Op):
    """MindSpore's BatchNormFold2, axis 1: x * running / deviation + beta - gamma * mean / deviation."""

    axis: ClassVar[int] = 1

    def shape(
        self, x: Operand, beta: Operand, gamma: Operand, deviation: Operand, mean: Operand, running: Operand
    ) -> Shape:
        channels = (x.shape[check_axis(self.axis, len(x.shape))],)
        for name, operand in (
            ("beta", beta),
            ("gamma", gamma),
            ("batch_std", deviation),
            ("batch_mean", mean),
            ("running_std", running),
        ):
            need_shape(operand.shape, channels, name)
        return x.shape

    def reference(self, x: Array, beta: Array, gamma: Array, deviation: Array, mean: Array, running: Array) -> Array:
        b, g, d, m, r = (_along(values, self.axis, x.ndim) for values in (beta, gamma, deviation, mean, running))
        return (x * (r / d) + (b - g * m / d)).astype(x.dtype)
