"""Maps sampled at another size (graph-conventions.md MS-O12)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import need_count, need_positive, need_rank


class Sampling(StrEnum):
    """What lies between the samples."""

    LINEAR = "linear"
    NEAREST = "nearest"


def resample(x: Array, axis: int, positions: Array, sampling: Sampling, *, half_up: bool = False) -> Array:
    """`x` at float64 `positions` along `axis`; positions beyond the last element give the last.

    Nearest takes the element below, or with `half_up` the nearer one. Linear results are float64 for float operands.
    """
    last = x.shape[axis] - 1
    if sampling is Sampling.NEAREST:
        places = np.floor(positions + 0.5) if half_up else np.floor(positions)
        return np.take(x, np.clip(places, 0, last).astype(np.int64), axis)
    low = np.clip(np.floor(positions), 0, last).astype(np.int64)
    high = np.minimum(low + 1, last)
    weight = np.clip(positions - low, 0, 1).reshape([-1 if at == axis else 1 for at in range(x.ndim)])
    below = np.take(x, low, axis).astype(np.float64)
    found: Array = below + (np.take(x, high, axis) - below) * weight
    return found


@dataclass(frozen=True, slots=True)
class Resize(Op):
    """Both map axes brought to a new size, as TensorFlow does it.

    src = dst * in / out, nearest takes the element below; with `align_corners` src = dst * (in - 1) / (out - 1),
    nearest rounds half up; with `half_pixel_centers` src = (dst + 0.5) * in / out, linear half an element before it,
    and nearest too where `shifted` is set (MindSpore Lite).
    Linear results of integers are float64.
    """

    height: int
    width: int
    sampling: Sampling
    align_corners: bool = False
    channels_last: bool = False
    half_pixel_centers: bool = False
    shifted: bool = False

    def _positions(self, length: int, size: int) -> Array:
        steps = np.arange(size, dtype=np.float64)
        if self.align_corners:
            return steps * (length - 1) / max(size - 1, 1)
        if self.half_pixel_centers:
            centres = (steps + 0.5) * length / size
            centred = self.sampling is Sampling.NEAREST and not self.shifted
            return centres if centred else np.clip(centres - 0.5, 0, None)
        return steps * length / size

    def _axes(self) -> tuple[int, int]:
        return (1, 2) if self.channels_last else (2, 3)

    def shape(self, x: Operand) -> Shape:
        need_rank(x.shape, 4, "input")
        need_positive(self.height, "newHeight")
        need_positive(self.width, "newWidth")
        if 0 in x.shape:
            raise OpError(f"no elements in {list(x.shape)}")
        found = list(x.shape)
        for axis, size in zip(self._axes(), (self.height, self.width), strict=True):
            found[axis] = size
        return tuple(found)

    def reference(self, x: Array) -> Array:
        y = x
        sizes = zip(self._axes(), (self.height, self.width), strict=True)
        # the axis that shrinks most first: what lies between is never larger than it must be
        for axis, size in sorted(sizes, key=lambda each: each[1] / x.shape[each[0]]):
            positions = self._positions(x.shape[axis], size)
            y = resample(y, axis, positions, self.sampling, half_up=self.align_corners)
        return y.astype(x.dtype) if x.dtype.kind == "f" or self.sampling is Sampling.NEAREST else y


@dataclass(frozen=True, slots=True)
class Upsample(Op):
    """ONNX Upsample-9: an axis of n elements becomes floor(n * scale), src = dst / scale, nearest is the one below."""

    sampling: Sampling
    scales: tuple[float, ...]

    def shape(self, x: Operand) -> Shape:
        need_count(self.scales, len(x.shape), "scales")
        if not all(math.isfinite(scale) and scale >= 1 for scale in self.scales):
            raise OpError(f"{list(self.scales)}, every scale is at least 1", "scales")
        return tuple(math.floor(size * scale) for size, scale in zip(x.shape, self.scales, strict=True))

    def reference(self, x: Array) -> Array:
        y = x
        for axis, scale in enumerate(self.scales):
            if scale != 1:
                positions = np.arange(math.floor(x.shape[axis] * scale), dtype=np.float64) / scale
                y = resample(y, axis, positions, self.sampling)
        return y.astype(x.dtype)
