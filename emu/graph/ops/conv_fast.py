"""The fast forms of convolution on [N, C, H, W] maps.

- 1x1 without padding: one product of matrices, x is not copied.
- depthwise: small products, one a channel and row of the kernel (conv_depthwise.py).
- 3x3 with stride 1 in float32 on many channels: Winograd's form (conv_winograd.py).
- the rest: patches of a band of rows side by side (im2col), a few MiB at a time, times the weight matrix.

Bias, alpha and activation are applied to a block while it is in the cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import as_strided

from emu.graph import threads
from emu.graph.ir import Array
from emu.graph.ops import conv_depthwise as depthwise
from emu.graph.ops import conv_winograd as winograd
from emu.graph.ops.activation import Epilogue, finish
from emu.graph.ops.product import multiply
from emu.graph.ops.window import Pads, Pair, pad_map

BAND_BYTES = 2 << 20
"""Size of a band of patches: it stays in the second-level cache while the product reads it."""

ROW_BYTES = 16 * BAND_BYTES
"""Size above which the patches of one row of results are parted too: a forged kernel costs no memory. More than a band,
so that only single rows are parted."""

SHORT_ROW = 32
"""Elements up to which a row is short: its shifts are then made apart from those along a column (`_by_columns`)."""

MANY_ROWS = 1024
"""Rows of patches from which that pays."""


class Filters:
    """A weight [Co, C/groups, Kh, Kw] and the forms of it that are made when they are first needed, and then kept."""

    def __init__(self, weight: Array, kept: bool = False) -> None:
        """`kept`: the filters serve more than one run, so that a dear form of them pays earlier."""
        # an unaligned weight would be copied in the product of every band
        self.weight = np.require(weight, requirements="A")
        self.kept = kept

    @cached_property
    def winograd(self) -> winograd.Filters:
        return winograd.Filters(self.weight)

    @cached_property
    def rows(self) -> Array:
        """For depthwise convolution (conv_depthwise.py)."""
        return depthwise.kernel_rows(self.weight)


def convolve(
    x: Array,
    filters: Filters,
    bias: Array | None,
    *,
    strides: Pair,
    dilations: Pair,
    pads: Pads,
    groups: int,
    epilogue: Epilogue,
    direct: bool = False,
) -> Array:
    """Cross-correlation; x [N, C, H, W], filters of its dtype, bias [Co]; the result [N, Co, Oh, Ow].

    `direct` sums the products themselves, which integers need to stay exact.
    """
    weight = filters.weight
    n, _, height, width = x.shape
    units, inner, kh, kw = weight.shape
    out_h = (height + pads[0] + pads[1] - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    out_w = (width + pads[2] + pads[3] - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.empty((n, units, out_h, out_w), np.result_type(x, weight))
    if not y.size:
        return y
    if not inner:
        y[...] = 0
        finish(y.reshape(n * units, -1), None if bias is None else np.tile(bias, n), epilogue)
        return y
    if inner == 1 and groups > 1 and depthwise.suits((kh, kw), out_w, strides, dilations, y.itemsize):
        depthwise.convolve_depthwise(x, filters.rows, bias, y, strides, dilations, pads, epilogue)
        return y
    three = groups == 1 and (kh, kw, *strides, *dilations) == (3, 3, 1, 1, 1, 1)
    faster = three and not direct and y.dtype == np.float32 and winograd.pays(inner, units, out_h, out_w, filters.kept)
    if faster and all(filters.winograd.suit(image) for image in x):
        for image, result in zip(x, y, strict=True):
            winograd.convolve_3x3(image, filters.winograd, bias, result, pads, epilogue)
        return y
    full = pad_map(x, pads, dtype=y.dtype)
    matrices = weight.reshape(groups, units // groups, inner * kh * kw)
    for image in range(n):
        for group in range(groups):
            outputs = slice(group * (units // groups), (group + 1) * (units // groups))
            _patches(
                full[image, group * inner : (group + 1) * inner],
                matrices[group],
                None if bias is None else bias[outputs],
                y[image, outputs],
                (kh, kw),
                strides,
                dilations,
                epilogue,
            )
    return y


def _patches(
    x: Array,
    matrix: Array,
    bias: Array | None,
    y: Array,
    kernel: Pair,
    strides: Pair,
    dilations: Pair,
    epilogue: Epilogue,
) -> None:
    """One group of one image: x [C, H, W] padded, matrix [Co, C*Kh*Kw], y [Co, Oh, Ow]."""
    channels = x.shape[0]
    units, out_h, out_w = y.shape
    kh, kw = kernel
    length = channels * kh * kw
    if kh == kw == 1 and strides == (1, 1):
        _products(matrix, x.reshape(channels, -1), bias, y.reshape(units, -1), epilogue)
        return
    short = out_w <= SHORT_ROW and length * out_h >= MANY_ROWS
    collect = _by_columns if short and kh > 1 and strides[0] == dilations[0] == 1 else _by_windows
    columns = max(1, min(out_w, ROW_BYTES // (length * matrix.itemsize)))
    rows = max(1, min(out_h, BAND_BYTES // (length * out_w * matrix.itemsize)))
    bands = list(itertools.product(range(0, out_h, rows), range(0, out_w, columns)))
    # a band a thread, or where there are few of them all threads on each band
    whole = threads.count() == 1 or len(bands) >= 2 * threads.count()

    def worker() -> Callable[[Pair], None]:
        room = np.empty((channels, kh, kw, rows, columns), matrix.dtype)

        def do(corner: Pair) -> None:
            top, left = corner
            count, width = min(rows, out_h - top), min(columns, out_w - left)
            fits = (count, width) == (rows, columns)
            # a shorter last band needs its own contiguous buffer
            patches = room if fits else np.empty((channels, kh, kw, count, width), room.dtype)
            first = top * strides[0]
            seen = x[:, first : first + (count - 1) * strides[0] + (kh - 1) * dilations[0] + 1, left * strides[1] :]
            # a view: rows are whole, or there is one
            block = y[:, top : top + count, left : left + width].reshape(units, count * width)
            if whole:
                collect(seen, patches, strides, dilations)
                multiply(matrix, patches.reshape(length, count * width), block)
                finish(block, bias, epilogue)
                return
            parts = threads.shares(channels, threads.count(), 1)
            threads.spread(lambda: lambda part: collect(seen[part], patches[part], strides, dilations), parts)
            _products(matrix, patches.reshape(length, count * width), bias, block, epilogue)

        return do

    if whole:
        threads.spread(worker, bands)
    else:
        do = worker()
        for corner in bands:
            do(corner)


def _products(matrix: Array, columns: Array, bias: Array | None, y: Array, epilogue: Epilogue) -> None:
    """y [Co, N] = finished matrix [Co, K] @ columns [K, N], in blocks that the epilogue finds in the cache."""
    units, length = y.shape
    step = max(1, BAND_BYTES // (max(units, matrix.shape[1]) * matrix.itemsize))
    starts = range(0, length, step)
    few = len(starts) < 2 * threads.count()
    rows = threads.shares(units, threads.count()) if few and threads.count() > 1 else [slice(0, units)]

    def do(part: tuple[int, slice]) -> None:
        start, some = part
        block = y[some, start : start + step]
        multiply(matrix[some], columns[:, start : start + step], block)
        finish(block, None if bias is None else bias[some], epilogue)

    threads.spread(lambda: do, list(itertools.product(starts, rows)))


def _by_windows(x: Array, patches: Array, strides: Pair, dilations: Pair) -> None:
    """patches [C, Kh, Kw, rows, Ow] of the rows x [C, H, W] that they reach, row for row."""
    sc, sh, sw = x.strides
    steps = (sc, sh * dilations[0], sw * dilations[1], sh * strides[0], sw * strides[1])
    np.copyto(patches, as_strided(x, patches.shape, steps, writeable=False))


def _by_columns(x: Array, patches: Array, strides: Pair, dilations: Pair) -> None:
    """The same where rows are short and neither skipped nor spread: first the shifts along a row, then those along a
    column, which move all rows in one piece."""
    channels, kh, kw, rows, out_w = patches.shape
    reach = (out_w - 1) * strides[1] + 1
    shifted = np.empty((channels, kw, x.shape[1], out_w), patches.dtype)
    for column in range(kw):
        left = column * dilations[1]
        shifted[:, column] = x[:, :, left : left + reach : strides[1]]
    for row in range(kh):
        patches[:, row] = shifted[:, :, row : row + rows]
