"""The two image resizes of YOLOv5-seg masks (netflow-nms.md 5), computed only where a mask needs them.

Bilinear is stb_image_resize's triangle filter: separable, half-pixel centres, edges clamped, horizontal pass first,
binary32 sums in source order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

F32 = np.float32
Float32s = NDArray[np.float32]
Indices = NDArray[np.intp]


class Contributions(Struct, frozen=True):
    """Source positions [out, k] and weights [out, k] of every output position along one axis."""

    positions: Indices
    weights: Float32s

    def apply(self, source: Float32s, outputs: Indices) -> Float32s:
        """[n, len(outputs)] from [n, in], the contributions added one after the other."""
        positions, weights = self.positions[outputs], self.weights[outputs]
        result = np.zeros((source.shape[0], outputs.size), F32)
        for k in range(positions.shape[1]):
            result += source[:, positions[:, k]] * weights[:, k]
        return result


@lru_cache(maxsize=64)
def bilinear(size: int, out_size: int) -> Contributions:
    """Triangle filter from `size` to `out_size` samples; it widens by the scale where the image shrinks."""
    scale = F32(out_size) / F32(size)
    centres = (np.arange(out_size, dtype=F32) + F32(0.5)) / scale
    reach = F32(1) if scale > 1 else F32(1) / scale
    first = np.floor(centres - reach + F32(0.5)).astype(np.intp)
    last = np.floor(centres + reach - F32(0.5)).astype(np.intp)
    width = int((last - first).max()) + 1
    samples = first[:, None] + np.arange(width)
    distance = np.abs(centres[:, None] - (samples.astype(F32) + F32(0.5)))
    if scale <= 1:
        distance *= scale
    weights = np.maximum(F32(1) - distance, F32(0)).astype(F32)
    weights *= F32(1) / weights.sum(axis=1, keepdims=True, dtype=F32)
    return Contributions(np.clip(samples, 0, size - 1), weights)


@lru_cache(maxsize=64)
def nearest(size: int, out_size: int) -> Indices:
    """Source position of every output position, -1 where none is: sample i fills [trunc(i*s), trunc((i+1)*s))."""
    scale = F32(out_size) / F32(size)
    ends = np.minimum((np.arange(1, size + 1, dtype=F32) * scale).astype(np.intp), out_size)
    source = np.searchsorted(ends, np.arange(out_size), side="right")
    return np.where(source < size, source, -1)


def resize_bilinear(image: Float32s, out_shape: tuple[int, int], rows: Indices, columns: Indices) -> Float32s:
    """The given rows and columns of `image` resized to `out_shape`."""
    horizontal = bilinear(image.shape[1], out_shape[1]).apply(image, columns)
    return bilinear(image.shape[0], out_shape[0]).apply(horizontal.T, rows).T


def resize_nearest(image: Float32s, out_shape: tuple[int, int], rows: Indices, columns: Indices) -> Float32s:
    """As `resize_bilinear`; positions that no sample fills are -inf."""
    from_rows = nearest(image.shape[0], out_shape[0])[rows]
    from_columns = nearest(image.shape[1], out_shape[1])[columns]
    result = image[np.maximum(from_rows, 0)][:, np.maximum(from_columns, 0)]
    result[from_rows < 0] = -np.inf
    result[:, from_columns < 0] = -np.inf
    return result
