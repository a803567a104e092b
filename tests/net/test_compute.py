"""Integer arithmetic (network.md 6, 11) against a model of single numbers, written without the library's means."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu.net.compute import activate, convolve, convolve_apart
from emu.net.layers import Curve
from emu.net.shapes import Area, Geometry, Window


def one_code(total: int, curve: Curve, level: int) -> int:
    """The code of one accumulator, in fractions: 16 bits of half units, which wrap around."""
    held = (Fraction(total, 1 << 1 + level) + 32768) % 65536 - 32768
    piece = sum(brk <= held for brk in curve.breaks)
    mantissa, exponent = curve.slopes[piece]
    value = held * Fraction(mantissa, 1024) / 2**exponent + Fraction(curve.offsets[piece], 8)
    return min(max(floor(value + Fraction(1, 2)), 0), 65535 if curve.wide else 255)


def curves() -> list[Curve]:
    rng = np.random.default_rng(7)
    rectifier = Curve((0, *[32767] * 7), ((0, 1), *[(629, 5)] * 8), (88, *[88] * 8), False)
    linear = Curve((0,) * 8, ((-700, 3),) * 9, (1000,) * 9, True)
    curved = [
        Curve(
            tuple(sorted(rng.integers(-3000, 3000, 8).tolist())),
            tuple((int(m), int(e)) for m, e in zip(rng.integers(-2048, 2048, 9), rng.integers(0, 9, 9), strict=True)),
            tuple(rng.integers(-500, 2040, 9).tolist()),
            bool(wide),
        )
        for wide in (0, 1, 0)
    ]
    jump = Curve((100, *[32767] * 7), ((0, 1), *[(629, 5)] * 8), (24, *[88] * 8), False)
    falling = Curve((0, *[32767] * 7), ((0, 1), *[(-629, 5)] * 8), (800, *[800] * 8), False)
    return [rectifier, jump, falling, linear, *curved]


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("curve", curves())
def test_codes_are_exact(curve: Curve, level: int) -> None:
    rng = np.random.default_rng(3)
    edges = [brk << 1 + level for brk in (*curve.breaks, -32768, 32768)]
    sums = [*edges, *(edge - 1 for edge in edges), *(edge + 1 for edge in edges), -(1 << 23), (1 << 23) - 1]
    sums += rng.integers(-(1 << 17), 1 << 17, 400).tolist()
    for dtype in (np.float32, np.float64):
        found = activate(np.array(sums, dtype), curve, level)
        assert found.tolist() == [one_code(total, curve, level) for total in sums]


def naive(codes: NDArray[Any], kernel: NDArray[Any], window: Window, zero_point: int) -> NDArray[Any]:
    rows, columns, channels = codes.shape
    area = window.over(Area(rows, columns))
    top, left = window.before(Area(rows, columns))
    found = np.zeros((*area, len(kernel)), np.int64)
    for row, column, output in np.ndindex(*area, len(kernel)):
        total = 0
        for i, j, channel in np.ndindex(window.rows, window.columns, channels):
            y, x = row * window.stride + i - top, column * window.stride + j - left
            inside = 0 <= y < rows and 0 <= x < columns
            total += int(kernel[output, i, j, channel]) * (int(codes[y, x, channel]) if inside else zero_point)
        found[row, column, output] = total
    return found


@pytest.mark.parametrize(
    "window",
    [
        Window(3, 3, 1, True),
        Window(3, 3, 2, True),
        Window(3, 3, 2, True, True),
        Window(5, 5, 2, False),
        Window(1, 1, 2, False),
        Window(1, 5, 1, True),
    ],
)
@pytest.mark.parametrize("channels", [1, 3, 20])
def test_convolutions_are_exact(window: Window, channels: int) -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 256, (2, 7, 8, channels), dtype=np.uint8)
    kernel = rng.integers(-128, 128, (4, window.rows, window.columns, channels), dtype=np.int8)
    found = convolve(codes, kernel.astype(np.float32), Geometry(window, window.over(Area(7, 8)), ""), 9)
    assert np.array_equal(found, np.stack([naive(frame, kernel, window, 9) for frame in codes]))


@pytest.mark.parametrize(
    "window", [Window(3, 3, 1, True), Window(5, 5, 2, True), Window(5, 5, 2, True, True), Window(3, 3, 2, False)]
)
def test_convolutions_of_each_channel_are_exact(window: Window) -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 256, (2, 7, 8, 5), dtype=np.uint8)
    kernel = rng.integers(-128, 128, (5, window.rows, window.columns, 1), dtype=np.int8)
    found = convolve_apart(codes, kernel.astype(np.float32), Geometry(window, window.over(Area(7, 8)), ""), 9)
    for channel in range(5):
        own = codes[..., channel : channel + 1]
        wanted = np.stack([naive(frame, kernel[channel : channel + 1], window, 9) for frame in own])
        assert np.array_equal(found[..., channel : channel + 1], wanted)


def test_padding_lies_as_the_window_says() -> None:
    """What halves an even map needs one row of padding: before it where the kernel is centred, else behind it."""
    area = Area(8, 8)
    assert Window(3, 3, 2, True).before(area) == (0, 0) and Window(3, 3, 2, True, True).before(area) == (1, 1)
    assert Window(5, 5, 2, True).before(area) == (1, 1) and Window(5, 5, 2, True, True).before(area) == (2, 2)
    assert Window(3, 3, 1, True).before(area) == Window(3, 3, 1, True, True).before(area) == (1, 1)
