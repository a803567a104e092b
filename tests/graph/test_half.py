"""float16 by integers against numpy's own conversion, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from emu.graph import half


def every_half() -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def floats() -> np.ndarray:
    """Every float16, the ties between neighbours, what lies just beside both, and any pattern at all."""
    with np.errstate(invalid="ignore"):
        grid = every_half().astype(np.float32)
        finite = np.sort(grid[np.isfinite(grid)])
        ties = ((finite[:-1].astype(np.float64) + finite[1:]) / 2).astype(np.float32)
        near = [np.nextafter(values, np.float32(end)) for values in (grid, ties) for end in (np.inf, -np.inf)]
        edges = np.array([65519.996, 65520, 65535, 65536, 1e38, 1e-45, 2.0**-25, 2.0**-24, 0.0, -0.0], np.float32)
        random = np.random.default_rng(0).integers(0, 1 << 32, 200_000, np.uint64).astype(np.uint32).view(np.float32)
        return np.concatenate([grid, ties, *near, edges, -edges, random])


def same(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype
    number = ~np.isnan(want)
    assert np.array_equal(np.isnan(got), ~number)
    kind = f"u{want.dtype.itemsize}"
    assert np.array_equal(got[number].view(kind), want[number].view(kind))


@pytest.mark.filterwarnings("ignore")
def test_rounding_and_narrowing_are_those_of_numpy() -> None:
    x = floats()
    kept = x.copy()
    found = half.rounded(x)
    same(found, x.astype(np.float16).astype(np.float32))
    same(half.narrowed(found), x.astype(np.float16))
    assert np.array_equal(x.view(np.uint32), kept.view(np.uint32))
    # a block with an infinity goes another way
    finite = found[np.isfinite(found)]
    same(half.narrowed(finite), finite.astype(np.float16))


@pytest.mark.filterwarnings("ignore")
def test_both_at_once_are_those_of_numpy() -> None:
    x = floats()
    plain = np.abs(x) <= 65504
    room = np.empty((3, half.BLOCK), np.uint32)
    for values in (x, x[plain]):
        for start in range(0, len(values), half.BLOCK):
            piece = np.ascontiguousarray(values[start : start + half.BLOCK])
            out = np.empty(piece.shape, np.float16)
            half.narrow_block(piece, out, room[:, : len(piece)])
            same(out, piece.astype(np.float16))


@pytest.mark.filterwarnings("ignore")
def test_widening_is_that_of_numpy() -> None:
    x = every_half()
    same(half.widened(x), x.astype(np.float32))
    finite = x[np.isfinite(x)]
    same(half.widened(finite), finite.astype(np.float32))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_memory_order_stays(order: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal((5, 300, 70), np.float32).transpose(order)
    for function, given in ((half.rounded, x), (half.widened, x.astype(np.float16))):
        found = function(given)
        assert found.strides == x.strides
        same(found, x.astype(np.float16).astype(np.float32))
    part = x[::2, 1:, ::-1]
    same(half.rounded(part), part.astype(np.float16).astype(np.float32))
    same(half.narrowed(half.rounded(part)), part.astype(np.float16))
    broadcast = np.broadcast_to(x[:1], (4, *x.shape[1:]))
    same(half.rounded(broadcast), broadcast.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2)])
def test_small_arrays(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.1, np.float32)
    same(half.rounded(x), x.astype(np.float16).astype(np.float32))
    same(half.widened(half.narrowed(half.rounded(x))), half.rounded(x))
