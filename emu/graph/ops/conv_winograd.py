"""Winograd's F(2x2, 3x3): a 3x3 convolution with stride 1 by 16 products a tile of 2x2 results instead of 36.

Its transforms are additions, which numpy does one pass each; they pay where channels are many enough to make the
products dear and the map large enough to make the transform of the weights cheap (`pays`): a quarter of the time where
BLAS has AVX2, little where it has AVX-512. Halves of weights make it unfit for products of integers, which must be
exact.
"""

from __future__ import annotations

import numpy as np

from emu.graph.ir import Array
from emu.graph.ops.activation import Epilogue

BAND_BYTES = 2 << 20
"""Size of the transformed tiles of a band of rows."""

LEAST_CHANNELS = 32
LEAST_UNITS = 64
LEAST_TILES = 128


def pays(channels: int, units: int, out_h: int, out_w: int) -> bool:
    """Whether the transforms cost less than the products that they save (benchmarks/bench_graph.py)."""
    tiles = ((out_h + 1) // 2) * ((out_w + 1) // 2)
    return channels >= LEAST_CHANNELS and units >= LEAST_UNITS and tiles >= LEAST_TILES


def _four(a: Array) -> Array:
    """G·a over the first axis: three taps to four."""
    half = a.dtype.type(0.5)
    sides, centre = (a[0] + a[2]) * half, a[1] * half
    return np.stack([a[0], sides + centre, sides - centre, a[2]])


def transformed_weights(weight: Array) -> Array:
    """G·w·Gᵀ of weight [Co, C, 3, 3] as [16, Co, C]; entry 4·column + row."""
    taps = np.ascontiguousarray(weight.transpose(2, 3, 0, 1))
    rows = np.ascontiguousarray(_four(taps).swapaxes(0, 1))
    return _four(rows).reshape(16, *weight.shape[:2])


def convolve_3x3(x: Array, weights: Array, bias: Array | None, y: Array, epilogue: Epilogue) -> None:
    """One image: x [C, Oh + 2, Ow + 2] padded, weights of `transformed_weights`, y [Co, Oh, Ow], maybe float16."""
    channels, height, width = x.shape
    units, out_h, out_w = y.shape
    down, across = (out_h + 1) // 2, (out_w + 1) // 2
    if (height, width) != (2 * down + 2, 2 * across + 2):
        even = np.zeros((channels, 2 * down + 2, 2 * across + 2), x.dtype)
        even[:, :height, :width] = x
        x = even
    rows = max(1, BAND_BYTES // (64 * max(channels, units) * across))
    for top in range(0, down, rows):
        count = min(rows, down - top)
        tiles = _tiles(x[:, 2 * top : 2 * (top + count) + 2], count, across)
        products = np.matmul(weights, tiles.reshape(16, channels, count * across))
        del tiles  # as large as what follows
        upper, lower = _results(products.reshape(4, 4, units, count, across))
        del products
        for row, block in enumerate((upper, lower)):
            if bias is not None:
                block += bias.reshape(1, -1, 1, 1).astype(block.dtype, copy=False)
            epilogue.in_place(block)
            for column in (0, 1):
                target = y[:, 2 * top + row : min(2 * (top + count), out_h) : 2, column::2]
                target[...] = block[column][:, : target.shape[1], : target.shape[2]]


def _tiles(x: Array, down: int, across: int) -> Array:
    """Bᵀ·d·B of every tile as [4 (column), 4 (row), C, down, across]; x [C, 2·down + 2, 2·across + 2]."""
    channels = len(x)
    # split by parity first: every addition then runs over contiguous rows
    phases = [[np.ascontiguousarray(x[:, row::2, column::2]) for column in (0, 1)] for row in (0, 1)]
    half = np.empty((4, 2, channels, down, across + 1), x.dtype)
    for column in (0, 1):
        d0, d2 = phases[0][column][:, :down], phases[0][column][:, 1:]
        d1, d3 = phases[1][column][:, :down], phases[1][column][:, 1:]
        np.subtract(d0, d2, out=half[0, column])
        np.add(d1, d2, out=half[1, column])
        np.subtract(d2, d1, out=half[2, column])
        np.subtract(d1, d3, out=half[3, column])
    tiles = np.empty((4, 4, channels, down, across), x.dtype)
    d0, d2 = half[:, 0, ..., :across], half[:, 0, ..., 1:]
    d1, d3 = half[:, 1, ..., :across], half[:, 1, ..., 1:]
    np.subtract(d0, d2, out=tiles[0])
    np.add(d1, d2, out=tiles[1])
    np.subtract(d2, d1, out=tiles[2])
    np.subtract(d1, d3, out=tiles[3])
    return tiles


def _results(products: Array) -> tuple[Array, Array]:
    """Aᵀ·m·A: the upper and the lower row of every tile's results, each [2 (column), Co, down, across]."""
    columns = np.empty((2, *products.shape[1:]), products.dtype)
    np.add(products[1], products[2], out=columns[0])
    columns[0] += products[0]
    np.subtract(products[1], products[2], out=columns[1])
    columns[1] -= products[3]
    upper = columns[:, 1] + columns[:, 2]
    upper += columns[:, 0]
    lower = columns[:, 1] - columns[:, 2]
    lower -= columns[:, 3]
    return upper, lower
