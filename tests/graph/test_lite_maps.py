"""MindSpore Lite's operators on maps against onnxruntime, and those of TensorFlow's kind against their definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from tests.graph.lite_cases import Array, file_of, gives, ints, nhwc, normal, run_file
from tests.graph.ms_cases import onnx

RNG = np.random.default_rng


@pytest.mark.parametrize("padding", ["pad", "valid", "same"])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_pooling(padding: str, ceil: bool, mean: bool) -> None:
    x = normal(RNG(0), 2, 3, 8, 7)
    pads = (1, 0, 1, 1) if padding == "pad" else (0, 0, 0, 0)
    options: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 2]}
    options |= {"auto_pad": "SAME_UPPER"} if padding == "same" else {"pads": [pads[0], pads[2], pads[1], pads[3]]}
    options["ceil_mode"] = int(ceil and padding != "same")
    (want,) = onnx("AveragePool" if mean else "MaxPool", [x], **options)
    kind = lite.AvgPoolFusion if mean else lite.MaxPoolFusion
    attr = kind(
        kernel_size=(3, 2),
        strides=(2, 2),
        pad=pads,
        pad_mode=lite.PadMode[padding.upper()],
        round_mode=lite.RoundMode.CEIL if ceil else lite.RoundMode.FLOOR,
        activation_type=lite.ActivationType.RELU,
    )
    gives(attr, [nhwc(x)], [np.maximum(nhwc(want), 0)])
    attr_old = old.Pooling(
        poolingMode=old.PoolMode.MEAN_POOLING if mean else old.PoolMode.MAX_POOLING,
        windowW=2,
        windowH=3,
        strideW=2,
        strideH=2,
        padMode=old.PadMode[{"pad": "NOTSET", "valid": "VALID", "same": "SAME_UPPER"}[padding]],
        padUp=pads[0],
        padDown=pads[1],
        padLeft=pads[2],
        padRight=pads[3],
        roundMode=old.RoundMode.CEIL if ceil else old.RoundMode.FLOOR,
    )
    gives(attr_old, [nhwc(x)], [nhwc(want)])


@pytest.mark.parametrize("mean", [False, True])
def test_global_pooling(mean: bool) -> None:
    x = normal(RNG(1), 2, 3, 5, 4)
    (want,) = onnx("GlobalAveragePool" if mean else "GlobalMaxPool", [x])
    gives((lite.AvgPoolFusion if mean else lite.MaxPoolFusion)(global_=True), [nhwc(x)], [nhwc(want)])
    mode = old.PoolMode.MEAN_POOLING if mean else old.PoolMode.MAX_POOLING
    gives(old.Pooling(poolingMode=mode, global_=True), [nhwc(x)], [nhwc(want)])


@pytest.mark.parametrize(
    ("attr", "word"),
    [
        (old.Pooling(windowW=2, windowH=2, strideH=1, strideW=1, avgMode=1), "avgMode"),
        (old.Pooling(windowW=2, windowH=2, strideH=1, strideW=1, padMode=old.PadMode.SAME_LOWER), "padMode"),
        (lite.Resize(method=lite.ResizeMethod.CUBIC, new_height=2, new_width=2), "method"),
        (lite.Resize(method=lite.ResizeMethod.UNKNOWN, new_height=2, new_width=2), "method"),
        (old.Resize(coordinateTransformMode=old.CoordinateTransformMode.TF_HALF_PIXEL), "coordinateTransformMode"),
        (lite.DepthToSpace(2, mode="CRD"), "mode"),
        (lite.LRN(norm_region="WITHIN_CHANNEL"), "norm_region"),
    ],
)
def test_variants_that_are_refused(attr: Any, word: str) -> None:
    x = normal(RNG(0), 1, 4, 4, 4)
    with pytest.raises(GraphError, match=f"attribute {word}") as caught:
        run_file(file_of(attr, [x], [np.float32]), [x])
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED


MODES = {"ASYMMETRIC": "asymmetric", "ALIGN_CORNERS": "align_corners", "HALF_PIXEL": "half_pixel"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(9, 4), (3, 11), (5, 7), (10, 14)])
def test_resize_linear(mode: str, size: tuple[int, int]) -> None:
    x = normal(RNG(2), 2, 3, 5, 7)
    sizes = np.array([2, 3, *size], np.int64)
    (want,) = onnx("Resize", [x, None, None, sizes], mode="linear", coordinate_transformation_mode=MODES[mode])
    table = lite.Resize(
        method=lite.ResizeMethod.LINEAR,
        new_height=size[0],
        new_width=size[1],
        coordinate_transform_mode=lite.CoordinateTransformMode[mode],
    )
    gives(table, [nhwc(x)], [nhwc(want)])
    gives(table, [nhwc(x), ints(*size)], [nhwc(want)], constants=(1,))
    older = old.Resize(newHeight=size[0], newWidth=size[1], coordinateTransformMode=old.CoordinateTransformMode[mode])
    gives(older, [nhwc(x)], [nhwc(want)])
    if mode == "ALIGN_CORNERS":
        gives(old.Resize(newHeight=size[0], newWidth=size[1], alignCorners=True), [nhwc(x)], [nhwc(want)])


@pytest.mark.parametrize("mode", MODES)
def test_resize_nearest(mode: str) -> None:
    """Below the position, but half up on aligned corners (nnacl/fp32/resize_fp32.c)."""
    x = normal(RNG(3), 1, 2, 4, 6)
    sizes = np.array([1, 2, 7, 9], np.int64)
    rounding = "round_prefer_ceil" if mode == "ALIGN_CORNERS" else "floor"
    (want,) = onnx(
        "Resize",
        [x, None, None, sizes],
        mode="nearest",
        coordinate_transformation_mode=MODES[mode],
        nearest_mode=rounding,
    )
    attr = lite.Resize(
        method=lite.ResizeMethod.NEAREST,
        new_height=7,
        new_width=9,
        coordinate_transform_mode=lite.CoordinateTransformMode[mode],
    )
    gives(attr, [nhwc(x)], [nhwc(want)], how="exact")


@pytest.mark.parametrize(
    ("size", "want"),
    [
        (ints(1, 6, 9, 2), (6, 9)),
        (np.array([1, 2, 1.5, 1], np.float32), (8, 9)),
        (np.array([0.5, 2], np.float32), (2, 12)),
        (ints(3), (10, 16)),
    ],
)
def test_sizes_of_a_resize(size: Array, want: tuple[int, int]) -> None:
    """Sizes or factors of two or four axes, or Caffe's zoom, which keeps the corners: n + (n - 1) * (zoom - 1)."""
    x = normal(RNG(4), 1, 4, 6, 2)
    attr = lite.Resize(method=lite.ResizeMethod.NEAREST)
    (got,) = run_file(file_of(attr, [x, size], [np.float32], constants=(1,)), [x])
    assert got.shape == (1, *want, 2)


@pytest.mark.parametrize("size", [ints(1, 2, 3), np.array([np.nan, 1], np.float32), np.array([1e30, 1], np.float32)])
def test_sizes_that_are_none(size: Array) -> None:
    x = normal(RNG(4), 1, 4, 6, 2)
    with pytest.raises(GraphError, match=r"size of 3|factors"):
        run_file(file_of(lite.Resize(), [x, size], [np.float32], constants=(1,)), [x])


def test_space_and_depth() -> None:
    x = normal(RNG(5), 2, 12, 4, 6)
    (want,) = onnx("DepthToSpace", [x], blocksize=2, mode="DCR")
    for deeper in (lite.DepthToSpace(2), lite.DepthToSpace(2, mode="DCR"), old.DepthToSpace(2)):
        gives(deeper, [nhwc(x)], [nhwc(want)], how="exact")
    for wider in (lite.SpaceToDepth(2), old.SpaceToDepth(2)):
        gives(wider, [nhwc(want)], [nhwc(x)], how="exact")


def to_batch(x: Array, block: tuple[int, int], pads: tuple[int, int, int, int]) -> Array:
    """tf.space_to_batch_nd, one block position after the other."""
    padded = np.pad(x, ((0, 0), pads[:2], pads[2:], (0, 0)))
    parts = [padded[:, row :: block[0], column :: block[1]] for row, column in itertools.product(*map(range, block))]
    return np.concatenate(parts)


def test_space_and_batch() -> None:
    x = normal(RNG(6), 2, 4, 5, 3)
    block, pads = (2, 3), (1, 1, 0, 1)
    rows = lite.Vec2D((lite.Vec(pads[:2]), lite.Vec(pads[2:])))
    want = to_batch(x, block, pads)
    for attr in (lite.SpaceToBatchND(block, rows), lite.SpaceToBatch(block, rows), old.SpaceToBatch(block, pads)):
        gives(attr, [x], [want], how="exact")
    gives(lite.SpaceToBatchND(), [x, ints(*block), ints(*pads)], [want], how="exact", constants=(1, 2))
    for back in (lite.BatchToSpaceND(block, rows), lite.BatchToSpace(block, rows), old.BatchToSpaceND(block, pads)):
        gives(back, [want], [x], how="exact")


def test_local_response_normalisation() -> None:
    x = normal(RNG(7), 2, 6, 3, 4)
    (want,) = onnx("LRN", [x], size=5, alpha=0.5 * 5, beta=0.75, bias=2.0)  # ONNX divides alpha by the size
    for attr in (lite.LRN(2, 2.0, 0.5, 0.75), old.LocalResponseNormalization(2, 2.0, 0.5, 0.75)):
        gives(attr, [nhwc(x)], [nhwc(want)])
