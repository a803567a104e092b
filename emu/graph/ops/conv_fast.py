"""The fast forms of convolution on [N, C, H, W] maps.

- 1x1 without padding: one product of matrices, x is not copied.
- depthwise: k*k multiply-adds of the padded map shifted against itself. A map is laid out as one line a channel, one
  map per stride phase, so that every shift is an offset and the inner loops run over whole maps, not rows.
- 3x3 with stride 1 in float32 on many channels and large maps: Winograd's form (conv_winograd.py).
- the rest: patches of a band of rows side by side (im2col), a few MiB at a time, times the weight matrix.

Bias, alpha and activation are applied to a block while it is in the cache.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.lib.stride_tricks import as_strided

from emu.graph.ir import Array
from emu.graph.ops import conv_winograd as winograd
from emu.graph.ops.activation import Epilogue
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

DEPTHWISE_BYTES = 1 << 20
"""Size of a block of channels in the depthwise form: many rows a call, and still in the second-level cache."""


def convolve(
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    strides: Pair,
    dilations: Pair,
    pads: Pads,
    groups: int,
    epilogue: Epilogue,
    direct: bool = False,
) -> Array:
    """Cross-correlation; x [N, C, H, W], weight [Co, C/groups, Kh, Kw], bias [Co]; the result [N, Co, Oh, Ow].

    A float16 x is computed with in float32; the result is then float16, rounded once. `direct` sums the products
    themselves, which integers need to stay exact.
    """
    half = x.dtype == np.float16
    dtype = np.result_type(x, weight, np.float32) if half else np.result_type(x, weight)
    stored = x.dtype if half else dtype
    # an unaligned weight would be copied in the product of every band
    weight = np.require(weight.astype(dtype, copy=False), requirements="A")
    n, _, height, width = x.shape
    units, inner, kh, kw = weight.shape
    out_h = (height + pads[0] + pads[1] - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    out_w = (width + pads[2] + pads[3] - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.empty((n, units, out_h, out_w), stored)
    if not y.size:
        return y
    if not inner:
        y[...] = 0
        _finish(y, bias, epilogue)
        return y
    if inner == 1 and groups > 1:
        _depthwise(x, weight, bias, y, strides, dilations, pads, epilogue)
        return y
    three = groups == 1 and (kh, kw, *strides, *dilations) == (3, 3, 1, 1, 1, 1)
    # float16 has eleven bits where results cancel, so its sums are not to have less than float32 gives them
    faster = three and not direct and dtype == stored == np.float32 and winograd.pays(inner, units, out_h, out_w)
    if faster and all(winograd.is_even(image, weight) for image in x):
        for image, result in zip(x, y, strict=True):
            winograd.convolve_3x3(image, weight, bias, result, pads, epilogue)
        return y
    full = pad_map(x, pads, dtype=dtype) if any(pads) else x
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


def _finish(block: Array, bias: Array | None, epilogue: Epilogue) -> None:
    """Bias and epilogue on a block [Co, …] that is still in the cache."""
    if bias is not None:
        block += bias.reshape(-1, *(1,) * (block.ndim - 1)).astype(block.dtype, copy=False)
    epilogue.in_place(block)


def _product(matrix: Array, patches: Array, block: Array, bias: Array | None, epilogue: Epilogue) -> None:
    """block = finished matrix @ patches, through a buffer where block is stored in another dtype."""
    if block.dtype == matrix.dtype:
        np.matmul(matrix, patches, out=block)
        _finish(block, bias, epilogue)
        return
    wide = np.matmul(matrix, patches)
    _finish(wide, bias, epilogue)
    block[...] = wide


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
        flat = x.reshape(channels, -1)
        result = y.reshape(units, -1)
        # bands again: the epilogue finds its block in the cache
        step = max(1, BAND_BYTES // (max(units, channels) * matrix.itemsize))
        for start in range(0, out_h * out_w, step):
            source = flat[:, start : start + step].astype(matrix.dtype, copy=False)
            _product(matrix, source, result[:, start : start + step], bias, epilogue)
        return
    short = out_w <= SHORT_ROW and length * out_h >= MANY_ROWS
    collect = _by_columns if short and kh > 1 and strides[0] == dilations[0] == 1 else _by_windows
    columns = max(1, min(out_w, ROW_BYTES // (length * matrix.itemsize)))
    rows = max(1, min(out_h, BAND_BYTES // (length * out_w * matrix.itemsize)))
    band = np.empty((channels, kh, kw, rows, columns), matrix.dtype)
    for top, left in itertools.product(range(0, out_h, rows), range(0, out_w, columns)):
        count, width = min(rows, out_h - top), min(columns, out_w - left)
        # a shorter last band needs its own contiguous buffer
        patches = band if (count, width) == (rows, columns) else np.empty((channels, kh, kw, count, width), band.dtype)
        first = top * strides[0]
        seen = x[:, first : first + (count - 1) * strides[0] + (kh - 1) * dilations[0] + 1, left * strides[1] :]
        collect(seen, patches, strides, dilations)
        # a view: rows are whole, or there is one
        block = y[:, top : top + count, left : left + width].reshape(units, count * width)
        _product(matrix, patches.reshape(length, count * width), block, bias, epilogue)


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


def _depthwise(
    x: Array,
    weight: Array,
    bias: Array | None,
    y: Array,
    strides: Pair,
    dilations: Pair,
    pads: Pads,
    epilogue: Epilogue,
) -> None:
    """Every output channel reads one input channel: channel c*m+j of the result reads channel c."""
    n, channels = x.shape[:2]
    units, _, kh, kw = weight.shape
    multiplier = units // channels
    out_h, out_w = y.shape[2:]
    sh, sw = strides
    # one map per stride phase; a tap reads phase (offset mod stride), shifted by (offset div stride)
    line_w = out_w + ((kw - 1) * dilations[1]) // sw
    line_h = out_h + ((kh - 1) * dilations[0]) // sh
    used = (out_h - 1) * line_w + out_w
    taps = []
    phases: dict[Pair, int] = {}
    for row in range(kh):
        for column in range(kw):
            down, right = row * dilations[0], column * dilations[1]
            phase = phases.setdefault((down % sh, right % sw), len(phases))
            taps.append((row, column, phase, (down // sh) * line_w + right // sw))
    dtype = weight.dtype
    per_channel = (len(phases) * line_h * line_w + 2 * used) * dtype.itemsize
    block = max(1, min(channels, DEPTHWISE_BYTES // per_channel))
    lines = np.zeros((block, len(phases), line_h * line_w), dtype)
    product = np.empty((block, used), dtype)
    total = np.empty((block, out_h * line_w), dtype)
    filters = weight.reshape(channels, multiplier, kh, kw)
    for image in range(n):
        for start in range(0, channels, block):
            count = min(block, channels - start)
            for corner, place in phases.items():
                line = lines[:count, place].reshape(count, line_h, line_w)
                _fill_phase(x[image, start : start + count], line, corner, strides, pads)
            for j in range(multiplier):
                acc = total[:count, :used]
                for tap, (row, column, map_at, offset) in enumerate(taps):
                    source = lines[:count, map_at, offset : offset + used]
                    factor = filters[start : start + count, j, row, column, None]
                    if tap == 0:
                        np.multiply(source, factor, out=acc)
                    else:
                        np.multiply(source, factor, out=product[:count])
                        np.add(acc, product[:count], out=acc)
                target = y[image, start * multiplier + j : (start + count) * multiplier : multiplier]
                own = None if bias is None else bias[start * multiplier + j :: multiplier][:count]
                _finish(acc, own, epilogue)
                target[...] = total[:count].reshape(count, out_h, line_w)[:, :, :out_w]


def _fill_phase(x: Array, target: Array, phase: Pair, strides: Pair, pads: Pads) -> None:
    """target [C, h, w] = every stride-th row and column of the padded x from `phase` on; its border stays zero."""
    (top, _, left, _), (sh, sw) = pads, strides
    # first target row whose source row (row * sh + phase - top) is not negative
    row = max(0, -(-(top - phase[0]) // sh))
    column = max(0, -(-(left - phase[1]) // sw))
    source = x[:, row * sh + phase[0] - top :: sh, column * sw + phase[1] - left :: sw]
    rows = min(source.shape[1], target.shape[1] - row)
    columns = min(source.shape[2], target.shape[2] - column)
    if rows > 0 and columns > 0:
        target[:, row : row + rows, column : column + columns] = source[:, :rows, :columns]
