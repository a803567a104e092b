"""Depthwise convolution as small matrix products, one a channel and row of the kernel.

The maps of a block of channels are laid out once for every column of the kernel, shifted by it, so that all taps of a
kernel row are one matrix [Kw, rows * Ow] without a copy: the next row is the same matrix, further down. BLAS keeps the
sum over Kw taps in registers, which passes of numpy over whole maps cannot.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from emu.graph import threads
from emu.graph.ir import Array
from emu.graph.ops.activation import Epilogue, finish
from emu.graph.ops.window import Pads, Pair

BLOCK_BYTES = 1 << 19
"""Shifted maps of a block of channels: they stay in the second-level cache beside its results."""

MOST_TAPS = 128
"""Taps of a kernel for which shifted copies of a row are not out of proportion to it."""


ROOM_BYTES = 1 << 26
"""What a single row of results may take in shifted maps: a kernel that is spread far and wide costs no more."""


def suits(kernel: Pair, out_w: int, strides: Pair, dilations: Pair, itemsize: int) -> bool:
    """Whether the shifted maps stay in proportion."""
    reach = (kernel[0] - 1) * dilations[0] // strides[0] + 1
    phases = min(kernel[0], strides[0])
    return kernel[0] * kernel[1] <= MOST_TAPS and reach * phases * kernel[1] * out_w * itemsize <= ROOM_BYTES


def kernel_rows(weight: Array) -> Array:
    """weight [Units, 1, Kh, Kw] as [Kh, Units, Kw]."""
    return np.ascontiguousarray(weight[:, 0].transpose(1, 0, 2))


def convolve_depthwise(
    x: Array,
    filters: Array,
    bias: Array | None,
    y: Array,
    strides: Pair,
    dilations: Pair,
    pads: Pads,
    epilogue: Epilogue,
) -> None:
    """x [N, C, H, W], filters by `kernel_rows`, y [N, C*m, Oh, Ow]: channel c*m+j of the result reads channel c."""
    n, channels = x.shape[:2]
    kh, units, kw = filters.shape
    multiplier = units // channels
    out_h, out_w = y.shape[2:]
    filters = filters.reshape(kh, channels, multiplier, kw)
    # a row of the kernel reads the rows of one stride phase, from an offset on
    places = [(row * dilations[0] % strides[0], row * dilations[0] // strides[0]) for row in range(kh)]
    phases = sorted({phase for phase, _ in places})
    reach = max(offset for _, offset in places)
    row_bytes = len(phases) * kw * out_w * y.itemsize
    rows = max(1, min(out_h, BLOCK_BYTES // row_bytes - reach))
    step = max(1, min(channels, BLOCK_BYTES // (row_bytes * (rows + reach))))
    step = min(step, -(-channels // threads.count()))

    def worker() -> Callable[[tuple[int, int, int]], None]:
        room = np.zeros((step, len(phases), kw, rows + reach, out_w), y.dtype)
        spare = np.empty((step, multiplier, rows * out_w), y.dtype)

        def do(part: tuple[int, int, int]) -> None:
            top, image, start = part
            count = min(rows, out_h - top)
            if rows < out_h:
                room[...] = 0  # what lies outside the map differs from band to band
            source = x[image, start : start + step]
            size = len(source)
            maps = room[:size]
            for at, phase in enumerate(phases):
                for column in range(kw):
                    corner = top * strides[0] + phase, column * dilations[1]
                    _fill(source, maps[:, at, column], corner, strides, pads)
            own = slice(start * multiplier, (start + size) * multiplier)
            total = y[image, own, top : top + count].reshape(size, multiplier, count * out_w)
            for row, (phase, offset) in enumerate(places):
                taps = maps[:, phases.index(phase), :, offset : offset + count].reshape(size, kw, count * out_w)
                factors = filters[row, start : start + size]
                if row == 0:
                    np.matmul(factors, taps, out=total)
                else:
                    total += np.matmul(factors, taps, out=spare[:size, :, : count * out_w])
            finish(total.reshape(size * multiplier, -1), None if bias is None else bias[own], epilogue)

        return do

    parts = itertools.product(range(0, out_h, rows), range(n), range(0, channels, step))
    threads.spread(worker, list(parts))


def _fill(x: Array, target: Array, corner: Pair, strides: Pair, pads: Pads) -> None:
    """target [C, h, w] = every stride-th row and column of the padded x from `corner` on; its border stays zero."""
    (top, _, left, _), (sh, sw) = pads, strides
    # first target row whose source row (row * sh + corner - top) is not negative
    row = max(0, -(-(top - corner[0]) // sh))
    column = max(0, -(-(left - corner[1]) // sw))
    source = x[:, row * sh + corner[0] - top :: sh, column * sw + corner[1] - left :: sw]
    rows = min(source.shape[1], target.shape[1] - row)
    columns = min(source.shape[2], target.shape[2] - column)
    if rows > 0 and columns > 0:
        target[:, row : row + rows, column : column + columns] = source[:, :rows, :columns]
