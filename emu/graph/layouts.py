"""Packed element orders and weight axis orders: pure functions between plain arrays and packed ones.

Facts: om-format.md 3 (checked there on real files), graph-conventions.md OM-L2, OM-T4, MS-T4, MS-T5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from emu.graph.ir import Array, Layout, Shape

CUBE = 16
"""Side of the matrix unit's block: rows of FRACTAL_Z, FRACTAL_NZ and of C04 filters come in groups of 16."""

AXIS_ORDERS: dict[str, str] = {
    "NCHW": "NCHW",
    "NHWC": "NHWC",
    "HWCN": "HWCN",
    "KCHW": "NCHW",
    "CKHW": "CNHW",
    "HWCK": "HWCN",
    "HWKC": "HWNC",
    "KHWC": "NHWC",
    "CHWK": "CHWN",
}
"""Weight format -> order of its four axes, N being the output channels."""


def c0_of(dtype: np.dtype[Any]) -> int:
    """Channels of one NC1HWC0 block: 32 for one-byte types, 16 for every other size."""
    return 32 if dtype.itemsize == 1 else 16


def to_oihw(weight: Array, order: str) -> Array:
    """A view of a four-dimensional weight with axes [N, C, H, W]; `order` is a key of AXIS_ORDERS."""
    axes = AXIS_ORDERS[order]
    return weight.transpose([axes.index(axis) for axis in "NCHW"])


def packed_shape(layout: Layout, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    """Shape of the packed array that holds a logical array of `shape`; ValueError for a rank that does not fit."""
    c0 = c0_of(dtype)
    if layout in (Layout.NC1HWC0, Layout.FRACTAL_Z, Layout.FRACTAL_Z_C04, Layout.NC4HW4) and len(shape) != 4:
        raise ValueError(f"{layout} packs four dimensions, not {list(shape)}")
    if layout is Layout.NC1HWC0:
        n, c, h, w = shape
        return n, -(-c // c0), h, w, c0
    if layout is Layout.NC4HW4:
        n, c, h, w = shape
        return n, -(-c // 4), h, w, 4
    if layout is Layout.FRACTAL_Z:
        n, c, h, w = shape
        return -(-c // c0) * h * w, -(-n // CUBE), CUBE, c0
    if layout is Layout.FRACTAL_Z_C04:
        n, c, h, w = shape
        if c > 4:
            raise ValueError(f"FRACTAL_Z_C04 holds at most 4 channels, not {c}")
        return -(-h * w * 4 // CUBE), -(-n // CUBE), CUBE, CUBE
    if layout is Layout.FRACTAL_NZ:
        if len(shape) < 2:
            raise ValueError(f"FRACTAL_NZ packs matrices, not {list(shape)}")
        rows, columns = shape[-2:]
        return *shape[:-2], -(-columns // c0), -(-rows // CUBE), CUBE, c0
    return shape


def _padded(array: Array, shape: Shape) -> Array:
    if array.shape == shape:
        return array
    out = np.zeros(shape, array.dtype)
    out[tuple(slice(size) for size in array.shape)] = array
    return out


def pack(array: Array, layout: Layout) -> Array:
    """Pack a logical array; unused lanes are zero. Shape: `packed_shape(layout, array.shape, array.dtype)`."""
    shape = packed_shape(layout, array.shape, array.dtype)
    if layout in (Layout.NC1HWC0, Layout.NC4HW4):
        n, c1, h, w, c0 = shape
        return np.ascontiguousarray(
            _padded(array, (n, c1 * c0, h, w)).reshape(n, c1, c0, h, w).transpose(0, 1, 3, 4, 2)
        )
    if layout is Layout.FRACTAL_Z:
        _, n1, n0, c0 = shape
        _, c, h, w = array.shape
        c1 = -(-c // c0)
        blocks = _padded(array, (n1 * n0, c1 * c0, h, w)).reshape(n1, n0, c1, c0, h, w)
        return np.ascontiguousarray(blocks.transpose(2, 4, 5, 0, 1, 3)).reshape(shape)
    if layout is Layout.FRACTAL_Z_C04:
        k1, n1, n0, k0 = shape
        n, _, h, w = array.shape
        flat = _padded(array, (n, 4, h, w)).transpose(0, 2, 3, 1).reshape(n, h * w * 4)
        return np.ascontiguousarray(_padded(flat, (n1 * n0, k1 * k0)).reshape(n1, n0, k1, k0).transpose(2, 0, 1, 3))
    if layout is Layout.FRACTAL_NZ:
        *lead, c1, r1, r0, c0 = shape
        blocks = _padded(array, (*lead, r1 * r0, c1 * c0)).reshape(*lead, r1, r0, c1, c0)
        at = len(lead)
        return np.ascontiguousarray(blocks.transpose(*range(at), at + 2, at, at + 1, at + 3))
    return array


def unpack(packed: Array, layout: Layout, shape: Shape) -> Array:
    """The logical array of `shape` that `packed` (any shape with enough elements, more are ignored) holds."""
    full = packed_shape(layout, shape, packed.dtype)
    if full == shape:
        return packed.reshape(shape)
    blocks = packed.reshape(-1)[: math.prod(full)].reshape(full)
    if layout in (Layout.NC1HWC0, Layout.NC4HW4):
        n, c1, h, w, c0 = full
        return blocks.transpose(0, 1, 4, 2, 3).reshape(n, c1 * c0, h, w)[:, : shape[1]]
    if layout is Layout.FRACTAL_Z:
        n, c, h, w = shape
        _, n1, n0, c0 = full
        c1 = -(-c // c0)
        six = blocks.reshape(c1, h, w, n1, n0, c0).transpose(3, 4, 0, 5, 1, 2)
        return six.reshape(n1 * n0, c1 * c0, h, w)[:n, :c]
    if layout is Layout.FRACTAL_Z_C04:
        n, c, h, w = shape
        k1, n1, n0, k0 = full
        flat = blocks.transpose(1, 2, 0, 3).reshape(n1 * n0, k1 * k0)[:n, : h * w * 4]
        return flat.reshape(n, h, w, 4).transpose(0, 3, 1, 2)[:, :c]
    *lead, c1, r1, r0, c0 = full
    at = len(lead)
    matrix = blocks.transpose(*range(at), at + 1, at + 2, at, at + 3).reshape(*lead, r1 * r0, c1 * c0)
    return matrix[..., : shape[-2], : shape[-1]]
