"""Random shapes and attributes of the members of OpT against their oracles."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import Array, onnx
from tests.graph.ms_checks import Check, Rng, ints, normal
from tests.graph.test_ms_maps import resized, stored, to_batches
from tests.graph.test_ms_places import REDUCTIONS

Maker = Callable[[Rng], Check]
MAKERS: dict[str, Maker] = {}
SEEDS = 25


def maker(function: Maker) -> Maker:
    MAKERS[function.__name__.strip("_")] = function
    return function


def shape(rng: Rng, rank: int, low: int = 1, high: int = 6) -> list[int]:
    return rng.integers(low, high, rank).tolist()


def some_axes(rng: Rng, rank: int) -> list[int]:
    """Distinct axes, some of them counted from the end."""
    axes = rng.permutation(rank)[: rng.integers(1, rank + 1)].tolist()
    return [axis - rank if rng.random() < 0.5 else axis for axis in axes]


def window(rng: Rng) -> dict[str, int]:
    names = ("strideH", "strideW", "dilateH", "dilateW")
    return dict(zip(names, rng.integers(1, 4, 4).tolist(), strict=True))


def pads(rng: Rng, limit_h: int, limit_w: int) -> tuple[dict[str, int], list[int]]:
    up, down = rng.integers(0, limit_h, 2).tolist()
    left, right = rng.integers(0, limit_w, 2).tolist()
    return {"padUp": up, "padDown": down, "padLeft": left, "padRight": right}, [up, left, down, right]


@maker
def _conv(rng: Rng) -> Check:
    groups, inner, units = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    kh, kw = shape(rng, 2, 1, 4)
    steps = window(rng)
    around, onnx_pads = pads(rng, kh + 1, kw + 1)
    x = normal(rng, 2, groups * inner, *shape(rng, 2, 10, 14))
    w, c = normal(rng, groups * units, inner, kh, kw), normal(rng, groups * units)
    (want,) = onnx(
        "Conv", [x, w, c], group=groups, pads=onnx_pads,
        strides=[steps["strideH"], steps["strideW"]], dilations=[steps["dilateH"], steps["dilateW"]],
    )  # fmt: skip
    order = str(rng.choice(["KCHW", "CKHW", "HWKC", "HWCK", "KHWC", "CHWK"]))
    last = bool(rng.integers(0, 2))
    attr = b.Conv2D(format=b.Format.NHWC if last else b.Format.NCHW, group=groups, hasBias=True, **steps, **around)
    if last:
        x, want = x.transpose(0, 2, 3, 1).copy(), want.transpose(0, 2, 3, 1)
    return Check(attr, [x, stored(w, order), c], [want], "close", constants=[1, 2], formats={1: b.Format[order]})


@maker
def _deconv(rng: Rng) -> Check:
    groups, inner, units = int(rng.integers(1, 3)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    kh, kw = shape(rng, 2, 2, 5)
    steps = window(rng)
    around, onnx_pads = pads(rng, kh, kw)
    x, w = normal(rng, 2, groups * inner, *shape(rng, 2, 4, 7)), normal(rng, groups * inner, units, kh, kw)
    want = onnx(
        "ConvTranspose", [x, w], group=groups, pads=onnx_pads,
        strides=[steps["strideH"], steps["strideW"]], dilations=[steps["dilateH"], steps["dilateW"]],
    )  # fmt: skip
    return Check(b.DeConv2D(group=groups, **steps, **around), [x, w], want, "close", constants=[1])


@maker
def _pool(rng: Rng) -> Check:
    kh, kw = shape(rng, 2, 1, 5)
    steps = window(rng)
    around, onnx_pads = pads(rng, kh, kw)
    mode = b.PoolMode(int(rng.integers(0, 2)))
    x = normal(rng, 2, 3, *shape(rng, 2, 5, 12))
    word = "MaxPool" if mode is b.PoolMode.MAX_POOLING else "AveragePool"
    strides = [steps["strideH"], steps["strideW"]]
    want = onnx(word, [x], kernel_shape=[kh, kw], strides=strides, pads=onnx_pads)
    attr = b.Pooling(poolingMode=mode, windowH=kh, windowW=kw, strideH=strides[0], strideW=strides[1], **around)
    return Check(attr, [x], want, "close")


@maker
def _reduce(rng: Rng) -> Check:
    x = normal(rng, *shape(rng, 4))
    mode = b.ReduceMode(int(rng.integers(0, 6)))
    axes, keep = some_axes(rng, 4), int(rng.integers(0, 2))
    (want,) = onnx(REDUCTIONS[mode], [x], opset=11, axes=axes, keepdims=keep)
    return Check(b.Reduce(tuple(axes), keep, mode), [x], [want.reshape(want.shape or (1,))], "close")


@maker
def _resize(rng: Rng) -> Check:
    x = normal(rng, 2, 2, *shape(rng, 2, 1, 9))
    height, width = shape(rng, 2, 1, 12)
    corners = bool(rng.integers(0, 2))
    attr = b.Resize(newHeight=height, newWidth=width, alignCorners=corners)
    return Check(attr, [x], [resized(x, height, width, corners)], "close")


@maker
def _pad(rng: Rng) -> Check:
    sizes = shape(rng, 3, 3, 6)
    before, after = rng.integers(0, 3, (2, 3)).tolist()
    mode = b.PaddingMode(int(rng.integers(0, 2)))
    x = normal(rng, *sizes)
    want = onnx("Pad", [x, np.array([*before, *after], np.int64)], mode=mode.name.lower())
    paddings = tuple(itertools.chain(*zip(before, after, strict=True)))
    return Check(b.Pad(mode, paddings), [x], want)


@maker
def _gather_nd(rng: Rng) -> Check:
    sizes = shape(rng, 4, 1, 4)
    batch = int(rng.integers(0, 3))
    depth = int(rng.integers(1, 5 - batch))
    lead = (*sizes[:batch], *shape(rng, int(rng.integers(1, 3)), 1, 4))
    limits = sizes[batch : batch + depth]
    places = np.stack([rng.integers(0, limit, lead) for limit in limits], -1)
    x = normal(rng, *sizes)
    return Check(b.GatherNd(batch), [x, places.astype(np.int32)], onnx("GatherND", [x, places], batch_dims=batch))


@maker
def _scatter(rng: Rng) -> Check:
    rows, columns = shape(rng, 2, 2, 6)
    x, updates = normal(rng, rows, columns), normal(rng, rows, columns)
    places = np.stack([rng.permutation(rows) for _ in range(columns)], 1).astype(np.int32)  # no element twice
    return Check(b.Scatter(), [x, places, updates], onnx("ScatterElements", [x, places, updates], axis=0))


@maker
def _arg_best(rng: Rng) -> Check:
    x = ints(rng, 0, 4, *shape(rng, 3)).astype(np.float32)
    axis, keep = int(rng.integers(-3, 3)), bool(rng.integers(0, 2))
    word = str(rng.choice(["ArgMax", "ArgMin"]))
    (want,) = onnx(word, [x], axis=axis, keepdims=int(keep))
    kind: Any = getattr(b, word)
    return Check(kind(axis=axis, keepDims=keep), [x], [want.astype(np.int32)])


@maker
def _top_k(rng: Rng) -> Check:
    x = ints(rng, 0, 9, *shape(rng, 2), 12).astype(np.float32)
    k = int(rng.integers(1, 13))
    values, places = onnx("TopK", [x, np.array([k], np.int64)], outputs=2)
    return Check(b.TopK(k), [x], [values, places.astype(np.int32)])


@maker
def _unique(rng: Rng) -> Check:
    x = ints(rng, 0, 7, int(rng.integers(1, 20))).astype(np.float32)
    values, _, inverse, _ = onnx("Unique", [x], outputs=4, sorted=0)
    return Check(b.Unique(), [x], [values, inverse.astype(np.int32)])


@maker
def _space_to_batch(rng: Rng) -> Check:
    block, sizes = shape(rng, 2, 1, 4), shape(rng, 2, 2, 7)
    before = rng.integers(0, 3, 2).tolist()
    after = [-(size + start) % step for size, start, step in zip(sizes, before, block, strict=True)]
    paddings = (before[0], after[0], before[1], after[1])
    x = normal(rng, 2, *sizes, 3)
    want = to_batches(x, (block[0], block[1]), paddings)
    if rng.integers(0, 2):
        return Check(b.BatchToSpace(tuple(block), paddings), [want], [x])
    return Check(b.SpaceToBatch(tuple(block), paddings), [x], [want])


@maker
def _binary(rng: Rng) -> Check:
    sizes = shape(rng, 4)
    arrays = [
        normal(rng, *[1 if rng.random() < 0.3 else size for size in sizes][int(rng.integers(0, 3)) :]) for _ in range(2)
    ]
    word = str(rng.choice(["Add", "Sub", "Mul"]))
    attr: Any = getattr(b, word)()
    return Check(attr, arrays, onnx(word, arrays))


@maker
def _matrix_diag(rng: Rng) -> Check:
    length, k = int(rng.integers(1, 5)), int(rng.integers(-3, 4))
    x = normal(rng, length)
    size = length + abs(k)
    want = np.full((size, size), 0.25, np.float32)
    for row, column in np.ndindex(size, size):
        if column - row == k:
            want[row, column] = x[min(row, column)]
    return Check(b.MatrixDiag(k, -1, -1, 0.25), [x], [want])


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", MAKERS)
def test_random(name: str, seed: int) -> None:
    MAKERS[name](np.random.default_rng([seed, sorted(MAKERS).index(name)])).run()


def test_later_updates_of_one_element_win() -> None:
    x: Array = np.zeros((2, 1), np.float32)
    places, updates = np.zeros((2, 1), np.int32), np.array([[1], [2]], np.float32)
    Check(b.Scatter(), [x, places, updates], [np.array([[2], [0]], np.float32)]).run()
