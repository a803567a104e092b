"""Winograd's F(4, 3) down the columns: a 3x3 convolution with stride 1 by half of its products.

Four rows of results take six products of rows instead of twelve; along a row the three taps stay a sum. So every
transform is an addition of whole rows, which numpy does at the speed of the cache; nested in both directions the form
saves more products than it gives back in passes over strided columns. Points 0, 1, -1, 2, -2 and infinity.

It pays where channels are many enough to make the products dear and the map large enough to make the transform of the
weights cheap (`pays`). What a result does not read cancels out of it but for its rounding, so the form is unfit for
products of integers, which must be exact, and for maps with values beyond all the others (`Filters.suit`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from emu.graph import threads
from emu.graph.ir import Array
from emu.graph.ops.activation import Epilogue
from emu.graph.ops.product import multiply
from emu.graph.ops.window import Pads

BAND_BYTES = 2 << 20
"""What a band of rows takes in all its forms: the better half of it stays in the second-level cache."""

LEAST_CHANNELS = 32
LEAST_UNITS = 32
LEAST_RESULTS = 512
"""Elements of one map of the result, for each of which a pair of channels saves 4.5 products."""

SMALL_CHANNELS = 128
SMALL_RESULTS = 128
"""The same for smaller maps, where the transformed weights are kept: the products are thin, so there must be many."""

THIN = 256
"""Columns of a product below which it is slower than a wide one."""

SPREAD = 1 << 10
"""How far the largest value may stand above the average: the rounding of one is then lost in the sum of many."""

LARGEST = 2.0**90
"""Product of the largest operands below which no sum of products overflows."""


def pays(channels: int, units: int, out_h: int, out_w: int, kept: bool) -> bool:
    """Whether the transforms cost less than the products that they save (benchmarks/bench_graph.py)."""
    results = out_h * out_w
    if kept and min(channels, units) >= SMALL_CHANNELS:
        return results >= SMALL_RESULTS
    return channels >= LEAST_CHANNELS and units >= LEAST_UNITS and results >= LEAST_RESULTS


class Filters:
    """A weight [Co, C, 3, 3] with its transform, made when it is first needed."""

    def __init__(self, weight: Array) -> None:
        self._weight = weight
        self.units, self.channels = weight.shape[:2]
        self._heaviest = max(float(weight.max()), -float(weight.min()))

    @cached_property
    def transformed(self) -> Array:
        return _transformed_weights(self._weight)

    def suit(self, x: Array) -> bool:
        """Whether no value of x [C, H, W] stands out so far that results which do not read it would show its
        rounding."""
        largest = max(float(x.max()), -float(x.min()))
        # not a number compares as false
        return largest <= SPREAD * float(np.abs(x[:, ::4]).mean()) and largest * self._heaviest < LARGEST


def _transformed_weights(weight: Array) -> Array:
    """G·w over the rows of weight [Co, C, 3, 3], as [6, Co, C·3]."""
    units, channels = weight.shape[:2]
    one = weight.dtype.type
    first, middle, last = np.ascontiguousarray(weight.transpose(2, 0, 1, 3)).reshape(3, units, channels * 3)
    found = np.empty((6, units, channels * 3), weight.dtype)
    np.multiply(first, one(1 / 4), out=found[0])
    even, odd = (first + last) * one(-1 / 6), middle * one(1 / 6)
    np.subtract(even, odd, out=found[1])
    np.add(even, odd, out=found[2])
    np.multiply(first, one(1 / 24), out=even)
    even += last * one(1 / 6)
    odd *= one(1 / 2)
    np.add(even, odd, out=found[3])
    np.subtract(even, odd, out=found[4])
    found[5] = last
    return found


def _phases(x: Array, pads: Pads, bands: int) -> Array:
    """The padded x [C, H, W] by rows modulo four: [4, C, bands + 1, W + left + right], zero beyond its end."""
    channels, _, width = x.shape
    found = np.zeros((4, channels, bands + 1, width + pads[2] + pads[3]), x.dtype)
    for phase in range(4):
        # first row whose source row (4 * row + phase - top) is not negative
        start = max(0, -(-(pads[0] - phase) // 4))
        rows = x[:, 4 * start + phase - pads[0] :: 4][:, : bands + 1 - start]
        found[phase, :, start : start + rows.shape[1], pads[2] : pads[2] + width] = rows
    return found


def convolve_3x3(x: Array, filters: Filters, bias: Array | None, y: Array, pads: Pads, epilogue: Epilogue) -> None:
    """One image: x [C, H, W], filters [Co, C, 3, 3], y [Co, Oh, Ow], all of one type."""
    channels, (units, out_h, out_w) = x.shape[0], y.shape
    bands = -(-out_h // 4)
    phases = _phases(x, pads, bands)
    line = phases.shape[3]
    column = None if bias is None else bias.reshape(-1, 1).astype(y.dtype, copy=False)
    fitting = max(1, min(bands, BAND_BYTES // (line * (6 * channels + 7 * units) * x.itemsize)))
    step = -(-bands // -(-bands // fitting))
    transformed = filters.transformed
    some = [slice(0, units)]
    if threads.count() > 1:
        # bands that are too short to multiply fast: all bands, and some of the units a thread
        if step * threads.count() > bands and bands * line < THIN * threads.count():
            some = threads.shares(units, threads.count())
        else:
            step = min(step, -(-bands // threads.count()))

    def worker() -> Callable[[tuple[int, slice]], None]:
        rooms: dict[int, _Band] = {}

        def do(part: tuple[int, slice]) -> None:
            top, own = part
            size, count = own.stop - own.start, min(step, bands - top)
            room = rooms.setdefault(size, _Band(channels, size, step * line, x.dtype))
            rows = [phases[at % 4, :, top + at // 4 : top + at // 4 + count].reshape(channels, -1) for at in range(6)]
            results = room.results(rows, transformed[:, own], None if column is None else column[own])
            for at, result in enumerate(results):
                target = y[own, 4 * top + at : 4 * (top + count) : 4]
                epilogue.store(result.reshape(size, count, line)[:, : target.shape[1], :out_w], target)

        return do

    threads.spread(worker, [(top, own) for top in range(0, bands, step) for own in some])


class _Band:
    """Buffers for a band of rows of up to `length` values a channel, and the arithmetic on them."""

    def __init__(self, channels: int, units: int, length: int, dtype: np.dtype[np.generic]) -> None:
        self._channels, self._units = channels, units
        self._sums = np.empty(3 * channels * length, dtype)
        # the last columns of the shifted rows are never written; they reach columns that are thrown away
        self._taps = np.zeros(3 * channels * length, dtype)
        self._products = np.empty(7 * units * length, dtype)

    def results(self, d: list[Array], weights: Array, bias: Array | None) -> tuple[Array, Array, Array, Array]:
        """Aᵀ·(G·w · Bᵀ·d) of rows d, six arrays [C, n]: four rows of results, each [Co, n]."""
        length = d[0].shape[1]
        four, two = d[0].dtype.type(4), d[0].dtype.type(2)
        a, b, c = self._sums[: 3 * self._channels * length].reshape(3, self._channels, length)
        taps = self._taps[: 3 * self._channels * length].reshape(self._channels, 3, length)
        p0, p1, p2, p3, p4, p5, spare = self._products[: 7 * self._units * length].reshape(7, self._units, length)
        row = taps[:, 0]

        def products(place: int, out: Array) -> None:
            """Transformed weights times the row in `row` and its two shifts."""
            taps[:, 1, :-1] = row[:, 1:]
            taps[:, 2, :-2] = row[:, 2:]
            multiply(weights[place], taps.reshape(3 * self._channels, length), out)

        np.subtract(d[4], d[2], out=a)
        np.subtract(d[3], d[1], out=b)
        b *= two
        np.add(a, b, out=row)
        products(3, p3)
        np.subtract(a, b, out=row)
        products(4, p4)
        np.subtract(d[0], d[2], out=c)
        c *= four
        np.add(c, a, out=row)
        products(0, p0)
        np.subtract(d[5], d[3], out=row)
        b *= two
        row -= b
        products(5, p5)
        np.multiply(d[2], four, out=a)
        np.subtract(d[4], a, out=a)
        np.multiply(d[1], four, out=b)
        np.subtract(d[3], b, out=b)
        np.add(a, b, out=row)
        products(1, p1)
        np.subtract(a, b, out=row)
        products(2, p2)

        if bias is not None:
            p1 += bias  # all four rows have it from here
        even, odd = np.add(p1, p2, out=spare), np.subtract(p1, p2, out=p1)
        far_even, far_odd = np.add(p3, p4, out=p2), np.subtract(p3, p4, out=p3)
        p0 += even
        p0 += far_even
        far_even *= four
        far_even += even
        far_odd *= two
        np.add(odd, far_odd, out=p4)
        far_odd *= four
        far_odd += odd
        far_odd += p5
        return p0, p4, far_even, far_odd
