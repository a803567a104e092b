"""Integer products: quantise the input, sum integers, scale the sums (graph-conventions.md OM-Q, om-format.md 7.1).

Products of integers are summed in floating point, which is exact while every partial sum is below 2^24 (float32) or
2^53 (float64): that is what makes them fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.conv import Conv, ConvTranspose
from emu.graph.ops.elementwise import blockwise
from emu.graph.ops.linear import FullConnection, MatMul

FLOAT32_EXACT = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class Scheme:
    """How an integer product is fed and read out.

    A floating input becomes q = clip(rhe(x * multiplier) + offset_data, lowest, highest), x / step instead where
    `step` is given; an integer input is q already. The sum is over (q - offset_data) * (w - offset_weight), so that
    padding contributes nothing. The result is sum * scale (one value, or one per output channel), plus a floating bias;
    an integer bias joins the sum instead. With `requantise` the result is clip(rhe(sum * scale) + offset_out,
    lowest, highest). `offset_weight` may be an array that broadcasts against the weight.
    """

    lowest: int
    highest: int
    scale: NDArray[np.float64]
    multiplier: float | None = None
    step: float | None = None
    offset_data: float = 0
    offset_weight: float | NDArray[np.float64] = 0
    relu: bool = False
    requantise: bool = False
    offset_out: float = 0

    def quantise(self, x: Array) -> Array:
        """q - offset_data as float32."""
        if x.dtype.kind != "f":
            return x.astype(np.float32) - np.float32(self.offset_data)
        factor, step = self.multiplier, self.step
        if factor is None and step is None:
            raise OpError(f"a {x.dtype} input needs an input scale", "quantize_param.scale")
        low, high = self.lowest - self.offset_data, self.highest - self.offset_data

        def steps(v: Array) -> Array:
            scaled: Array = np.rint(v / step if factor is None else v * factor)
            return np.clip(scaled, low, high, out=scaled)

        return blockwise(steps, x)


@dataclass(frozen=True, slots=True)
class QuantisedProduct(Op):
    """A product (without epilogue) on integers; operands x, weight, [bias]."""

    product: Conv | ConvTranspose | FullConnection | MatMul
    scheme: Scheme

    def shape(self, x: Operand, weight: Operand, bias: Operand | None = None) -> Shape:
        shape = self.product.shape(x, weight, bias)
        if weight.dtype.kind not in "iu":
            raise OpError(f"filter is {weight.dtype}, integers are needed", "filter")
        if x.dtype.kind == "f" and self.scheme.multiplier is None and self.scheme.step is None:
            raise OpError(f"a {x.dtype} input needs an input scale", "quantize_param.scale")
        channels = shape[self.axis]
        if self.scheme.scale.size not in (1, channels):
            raise OpError(f"{self.scheme.scale.size} output scales for {channels} channels", "scale_value")
        return shape

    @property
    def axis(self) -> int:
        """The channel axis of the result."""
        if isinstance(self.product, MatMul):
            return -1
        return 3 if not isinstance(self.product, FullConnection) and self.product.channel_last else 1

    def terms(self, weight: Array) -> int:
        """Products in one sum."""
        if isinstance(self.product, MatMul):
            return int(weight.shape[-1 if self.product.transpose_b else -2])
        if isinstance(self.product, ConvTranspose):
            return int(weight.shape[0]) * math.prod(weight.shape[2:])
        return math.prod(weight.shape[1:])

    def reference(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        q = self.scheme.quantise(x).astype(np.float64)
        w = weight.astype(np.float64) - self.scheme.offset_weight
        return self._read_out(self.product.reference(q, w), bias)

    def fast(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        compute, w = self._prepared(weight, kept=False)
        return self._summed(compute, x, w, bias)

    def bind(self, *constants: Array | None) -> Callable[..., Array | list[Array]]:
        weight = constants[1]
        if weight is None:
            return self.fast
        compute, w = self._prepared(weight, kept=True)
        return lambda x, _, bias=None: self._summed(compute, x, w, bias)

    def _prepared(self, weight: Array, kept: bool) -> tuple[Callable[..., Array | list[Array]], Array]:
        """The product, and the weight without its offset in the type in which sums of its products are exact."""
        # most weights have no offset, and are widened once, to the type they are multiplied in
        w = weight - np.asarray(self.scheme.offset_weight) if np.any(self.scheme.offset_weight) else weight
        span = self.scheme.highest - self.scheme.lowest
        widest = self.terms(weight) * span * max(float(w.max(initial=0)), -float(w.min(initial=0)))
        w = w.astype(np.float32 if widest < FLOAT32_EXACT else np.float64, copy=False)
        product = replace(self.product, direct=True) if isinstance(self.product, Conv) else self.product
        return product.bind(None, w) if kept else product.fast, w

    def _summed(self, compute: Callable[..., Array | list[Array]], x: Array, w: Array, bias: Array | None) -> Array:
        total = compute(self.scheme.quantise(x).astype(w.dtype, copy=False), w)
        assert isinstance(total, np.ndarray)
        return self._read_out(total, bias)

    def _read_out(self, total: Array, bias: Array | None) -> Array:
        scheme = self.scheme
        shape = [1] * total.ndim
        shape[self.axis] = -1
        scale = scheme.scale.reshape(shape if scheme.scale.size > 1 else [1] * total.ndim)
        none = np.zeros((1,) * total.ndim)
        whole = real = none
        if bias is not None and bias.dtype.kind == "f":
            real = bias.reshape(shape)
        elif bias is not None:
            whole = bias.reshape(shape)

        def read(acc: Array, w: Array, k: Array, r: Array) -> Array:
            y: Array = (acc + w) * k + r
            if scheme.relu:
                y = np.maximum(y, 0)
            if scheme.requantise:
                y = np.clip(np.rint(y) + scheme.offset_out, scheme.lowest, scheme.highest)
            return y

        return blockwise(read, total, whole, scale, real)
