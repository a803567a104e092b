"""Ops of the graph kind that no given file shows, one a file; expected values from onnxruntime or numpy.

An op that the format has with operands and with attributes is tested in both forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph import executor
from emu.graph.readers import om
from emu.graph.writers.om import write_om
from tests.graph.om_models import Model, refused, set_attr
from tests.graph.test_kernels import onnx_run

Array = np.ndarray
RANDOM = np.random.default_rng(20)
X = RANDOM.standard_normal((2, 3, 4, 5)).astype(np.float32)
Y = RANDOM.standard_normal((2, 3, 4, 5)).astype(np.float32)
POSITIVE = np.abs(X) + np.float32(0.1)
MAP = RANDOM.standard_normal((1, 2, 7, 9)).astype(np.float32)


def one_model(kind: str, given: list[Array], constants: list[Array | None], attrs: dict[str, Any], *want: Array,
              layout: str = "ND") -> tuple[Model, dict[str, Array], list[str]]:  # fmt: skip
    """A model of one op, what it is fed with, and its results; a constant that is not None stands in for an input."""
    model = Model()
    edges, inputs, fed = [], {}, iter(given)
    for place, constant in enumerate([*constants, *(None for _ in range(len(given)))]):
        if constant is not None:
            edges.append(model.const(f"c{place}", constant))
            continue
        array = next(fed, None)
        if array is None:
            break
        model.data(array.shape, array.dtype, name=f"x{place}", layout=layout if array.ndim == 4 else "ND")
        edges.append(f"x{place}:0")
        inputs[f"x{place}"] = array
    dtypes = [np.float32 if each.dtype == np.float64 else each.dtype for each in want]
    op = model.op("y", kind, edges, want[0].shape, dtypes[0], layout, **attrs)
    for each, dtype in zip(want[1:], dtypes[1:], strict=True):
        model.describe(op.output_desc.add(), each.shape, dtype)
    results = [f"y:{at}" for at in range(len(want))]
    model.end(*results)
    return model, inputs, results


def run_op(kind: str, given: list[Array], constants: list[Array | None], want: list[Array], layout: str = "ND",
           **attrs: Any) -> list[Array]:  # fmt: skip
    model, inputs, results = one_model(kind, given, constants, attrs, *want, layout=layout)
    found = executor.run(om.read(write_om(model.message)), inputs)
    return [found[result] for result in results]


def ints(*values: int) -> Array:
    return np.array(values, np.int32)


F = np.float64
ONE: list[tuple[str, list[Array], list[Array | None], dict[str, Any], Array]] = [
    ("Sqrt", [POSITIVE], [], {}, np.sqrt(POSITIVE.astype(F))),
    ("Rsqrt", [POSITIVE], [], {}, 1 / np.sqrt(POSITIVE.astype(F))),
    ("Reciprocal", [POSITIVE], [], {}, 1 / POSITIVE.astype(F)),
    ("Exp", [X], [], {}, np.exp(X.astype(F))),
    ("Exp", [X], [], {"base": 2.0, "scale": 0.5, "shift": 1.0}, 2 ** (0.5 * X.astype(F) + 1)),
    ("Log", [POSITIVE], [], {"base": -1.0}, np.log(POSITIVE.astype(F))),
    ("Log", [POSITIVE], [], {"base": 10.0, "scale": 2.0, "shift": 1.0}, np.log10(2 * POSITIVE.astype(F) + 1)),
    ("Power", [POSITIVE], [], {"power": 1.5, "scale": 2.0, "shift": 0.5}, (2 * POSITIVE.astype(F) + 0.5) ** 1.5),
    ("Pow", [POSITIVE, Y], [], {}, POSITIVE.astype(F) ** Y),
    ("Neg", [X], [], {}, -X),
    ("Sign", [X], [], {}, np.sign(X)),
    ("Rint", [X], [], {}, np.rint(X)),
    ("LeakyRelu", [X], [], {"negative_slope": 0.25}, np.where(X > 0, X, X * 0.25)),
    ("Elu", [X], [], {"alpha": 0.5}, np.where(X > 0, X, 0.5 * np.expm1(X.astype(F)))),
    ("HardSigmoid", [X], [], {"alpha": 0.3, "beta": 0.4}, np.clip(X.astype(F) * 0.3 + 0.4, 0, 1)),
    ("PRelu", [X], [None, np.float32([0.1, 0.2, 0.3])], {}, np.where(X > 0, X, X * np.c_[[0.1, 0.2, 0.3]][..., None])),
    ("PRelu", [X], [None, np.float32([[[[0.5]]]])], {}, np.where(X > 0, X, X * 0.5)),
    ("ClipByValue", [X], [None, np.float32([-0.5]), np.float32([0.75])], {}, np.clip(X, -0.5, 0.75)),
    ("BiasAdd", [X], [None, np.float32([1, 2, 3, 4, 5])], {"data_format": "NHWC"}, X + np.float32([1, 2, 3, 4, 5])),
    ("BiasAdd", [X], [None, np.float32([1, 2, 3])], {"data_format": "NCHW"}, X + np.c_[[1, 2, 3]][:, None]),
    ("AddN", [X, Y, X], [], {"N": 3}, 2 * X.astype(F) + Y),
    ("LogSoftmaxV2", [X], [], {"axes": [1]}, X - np.log(np.exp(X.astype(F)).sum(1, keepdims=True))),
    ("Transpose", [X], [None, ints(2, 0, 3, 1)], {}, X.transpose(2, 0, 3, 1)),
    ("TransposeD", [X], [], {"perm": [3, 2, 0, 1]}, X.transpose(3, 2, 0, 1)),
    ("ExpandDims", [X], [None, ints(-1)], {}, X[..., None]),
    ("ExpandDims", [X], [], {"axis": 1}, X[:, None]),
    ("Unsqueeze", [X], [], {"axes": [0, 3]}, X[None, :, :, None]),
    ("Squeeze", [X[:1]], [], {"axis": [0]}, X[0]),
    ("ConcatV2D", [X, Y], [], {"concat_dim": -1, "N": 2}, np.concatenate([X, Y], -1)),
    ("ConcatV2", [X, Y], [None, None, ints(2)], {"N": 2}, np.concatenate([X, Y], 2)),
    ("Concat", [X, Y], [ints(0)], {"N": 2}, np.concatenate([X, Y], 0)),
    ("Pack", [X, Y], [], {"axis": 1, "N": 2}, np.stack([X, Y], 1)),
    ("SliceD", [X], [], {"offsets": [0, 1, 2, 0], "size": [2, -1, 2, 3]}, X[:, 1:, 2:4, :3]),
    ("Slice", [X], [None, ints(1, 0, 0, 1), ints(1, 2, 4, -1)], {}, X[1:, :2, :, 1:]),
    ("StridedSliceD", [X], [], {"begin": [0, 2, -1], "end": [2, 0, -5], "strides": [1, -1, -2], "begin_mask": 1,
     "end_mask": 1, "shrink_axis_mask": 0}, X[:, 2:0:-1, -1:-5:-2]),
    ("StridedSlice", [X], [None, ints(1, 0), ints(2, 9), ints(1, 2)], {"shrink_axis_mask": 1, "ellipsis_mask": 0},
     X[1, ::2]),
    ("PadD", [X], [], {"paddings": [[0, 1], [2, 0], [1, 1], [0, 3]]}, np.pad(X, ((0, 1), (2, 0), (1, 1), (0, 3)))),
    ("Pad", [X], [None, np.array([[0, 0], [1, 0], [0, 0], [2, 1]], np.int32)], {},
     np.pad(X, ((0, 0), (1, 0), (0, 0), (2, 1)))),
    ("PadV3D", [X], [], {"paddings": [[0, 0], [0, 0], [1, 1], [2, 2]], "constant_values": 3, "mode": "constant",
     "paddings_contiguous": True}, np.pad(X, ((0, 0), (0, 0), (1, 1), (2, 2)), constant_values=3)),
    ("PadV3", [X], [None, ints(0, 0, 1, 2, 0, 0, 1, 0), np.float32([-2])], {"mode": "constant",
     "paddings_contiguous": False}, np.pad(X, ((0, 0), (0, 0), (1, 1), (2, 0)), constant_values=-2)),
    ("PadV3", [X], [None, ints(0, 0, 0, 0, 1, 2, 3, 1)], {"mode": "edge"},
     np.pad(X, ((0, 0), (0, 0), (1, 2), (3, 1)), mode="edge")),
    ("MirrorPad", [X], [None, ints(0, 0, 0, 0, 1, 2, 3, 1)], {"mode": "REFLECT"},
     np.pad(X, ((0, 0), (0, 0), (1, 2), (3, 1)), mode="reflect")),
    ("Gather", [X], [None, ints(1, 0, 1)], {"validate_indices": True}, X[[1, 0, 1]]),
    ("GatherV2", [X], [None, ints(2, 2, 0), ints(1)], {"batch_dims": 0}, X[:, [2, 2, 0]]),
    ("GatherV2D", [X], [None, ints(4, 0)], {"axis": -1}, X[..., [4, 0]]),
    ("GatherNd", [X], [None, np.array([[1, 2], [0, 1]], np.int32)], {}, X[[1, 0], [2, 1]]),
    ("ReduceSum", [X], [None, ints(1, -1)], {"keep_dims": False}, X.astype(F).sum((1, 3))),
    ("ReduceSumD", [X], [], {"axes": [0], "keep_dims": True}, X.astype(F).sum(0, keepdims=True)),
    ("ReduceMeanD", [X], [], {"axes": [2, 3], "keep_dims": True}, X.astype(F).mean((2, 3), keepdims=True)),
    ("ReduceMax", [X], [None, ints(2)], {"keep_dims": False}, X.max(2)),
    ("ReduceMaxD", [X], [], {"axes": [-1], "keep_dims": False}, X.max(-1)),
    ("ReduceMinD", [X], [], {"axes": [0, 1, 2, 3], "keep_dims": True}, X.min(keepdims=True)),
    ("ReduceProd", [X], [None, ints(0)], {"keep_dims": False}, X.astype(F).prod(0)),
    ("ReduceSumD", [X], [], {"axes": [], "keep_dims": False}, X),
    ("Tile", [X], [None, ints(1, 2, 1, 3)], {}, np.tile(X, (1, 2, 1, 3))),
    ("TileD", [X], [], {"multiples": [2, 1, 1, 1]}, np.tile(X, (2, 1, 1, 1))),
    ("BroadcastTo", [X[:1]], [None, ints(2, 3, 4, 5)], {}, np.broadcast_to(X[:1], X.shape)),
    ("Greater", [X, Y], [], {}, X > Y),
    ("GreaterEqual", [X, X], [], {}, X >= X),
    ("Less", [X, Y], [], {}, X < Y),
    ("LessEqual", [X, Y], [], {}, X <= Y),
    ("Equal", [np.rint(X), np.rint(Y)], [], {}, np.rint(X) == np.rint(Y)),
    ("NotEqual", [np.rint(X), np.rint(Y)], [], {}, np.rint(X) != np.rint(Y)),
    ("LogicalNot", [X > 0], [], {}, X <= 0),
    ("LogicalAnd", [X > 0, Y > 0], [], {}, (X > 0) & (Y > 0)),
    ("Select", [X > 0, X, Y], [], {}, np.where(X > 0, X, Y)),
    ("SelectV2", [X[:1] > 0, X, Y[:, :1]], [], {}, np.where(X[:1] > 0, X, Y[:, :1])),
    ("Cast", [X * 3], [], {"dst_type": 3}, np.trunc(X * 3).astype(np.int32)),
    ("Shape", [X], [], {}, ints(2, 3, 4, 5)),
    ("Rank", [X], [], {}, np.array(4, np.int32)),
    ("Fill", [], [ints(2, 3), np.float32(7)], {}, np.full((2, 3), 7, np.float32)),
    ("Range", [], [ints(2), ints(11), ints(3)], {}, ints(2, 5, 8)),
    ("ArgMaxV2", [X], [None, ints(1)], {}, X.argmax(1).astype(np.int32)),
    ("ArgMinD", [X], [], {"dimension": -1}, X.argmin(-1).astype(np.int32)),
    ("ReverseV2", [X], [None, ints(1, 3)], {}, X[:, ::-1, :, ::-1]),
    ("BatchMatMul", [X, Y], [], {"adj_x1": False, "adj_x2": True}, X.astype(F) @ Y.swapaxes(2, 3)),
    ("BatchMatMulV2", [X, Y], [], {"adj_x1": True, "adj_x2": False}, X.astype(F).swapaxes(2, 3) @ Y),
    ("BatchMatMulV2", [X, Y[0, 0].T], [None, None, np.float32([1, 2, 3, 4])], {"adj_x1": False, "adj_x2": False},
     X.astype(F) @ Y[0, 0].T + np.arange(1, 5)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "given", "constants", "attrs", "want"), ONE, ids=[f"{at}-{case[0]}" for at, case in enumerate(ONE)]
)
def test_one_op(kind: str, given: list[Array], constants: list[Array | None], attrs: dict[str, Any], want: Array):
    want = want.astype(np.float32) if want.dtype == np.float64 else want
    (got,) = run_op(kind, given, constants, [want], **attrs)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.astype(F), want.astype(F), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("attribute", [False, True])
def test_splits(attribute: bool):
    parts = np.split(X, 2, 2)
    constants: list[Array | None] = [] if attribute else [ints(2)]
    got = run_op("SplitD" if attribute else "Split", [X], constants, parts, num_split=2,
                 **({"split_dim": 2} if attribute else {}))  # fmt: skip
    assert all(np.array_equal(a, b) for a, b in zip(got, parts, strict=True))
    parts = np.split(X, [1, 4], 3)
    constants = [] if attribute else [None, ints(1, -1, 1), ints(3)]
    got = run_op("SplitVD" if attribute else "SplitV", [X], constants, parts, num_split=3,
                 **({"split_dim": 3, "size_splits": [1, 3, 1]} if attribute else {}))  # fmt: skip
    assert all(np.array_equal(a, b) for a, b in zip(got, parts, strict=True))


def test_unpack_and_top_k():
    parts = [X[:, at] for at in range(3)]
    got = run_op("Unpack", [X], [], parts, num=3, axis=1)
    assert all(np.array_equal(a, b) for a, b in zip(got, parts, strict=True))
    order = np.argsort(-X, axis=-1, kind="stable")[..., :2]
    values, places = run_op("TopKV2", [X], [None, ints(2)], [np.take_along_axis(X, order, -1), order.astype(np.int32)])
    assert np.array_equal(values, np.take_along_axis(X, order, -1))
    assert np.array_equal(places, order)


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_layer_norm(axis: int):
    gamma, beta = (RANDOM.standard_normal(X.shape[axis:]).astype(np.float32) for _ in range(2))
    want = onnx_run("LayerNormalization", [X, gamma, beta], axis=axis, epsilon=0.01)
    mean = X.mean(tuple(range(axis % 4, 4)), keepdims=True)
    variance = X.var(tuple(range(axis % 4, 4)), keepdims=True)
    attrs = {"begin_norm_axis": axis, "begin_params_axis": axis, "epsilon": 0.01}
    got = run_op("LayerNorm", [X], [None, gamma, beta], [want, mean, variance], **attrs)
    for a, b in zip(got, (want, mean, variance), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# --- maps -------------------------------------------------------------------------------------------------------------


def as_layout(x: Array, layout: str) -> Array:
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if layout == "NHWC" else x


def four(h: int, w: int, layout: str) -> list[int]:
    return [1, h, w, 1] if layout == "NHWC" else [1, 1, h, w]


POOLS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("MaxPool", {"padding": "SAME"}, "MaxPool", {"auto_pad": "SAME_UPPER"}),
    ("MaxPool", {"padding": "VALID"}, "MaxPool", {}),
    ("MaxPoolV3", {"padding_mode": "CALCULATED", "pads": [1, 0, 1, 1], "ceil_mode": True}, "MaxPool",
     {"pads": [1, 1, 0, 1], "ceil_mode": 1}),
    ("AvgPool", {"padding": "SAME"}, "AveragePool", {"auto_pad": "SAME_UPPER"}),
    ("AvgPoolV2", {"padding_mode": "CALCULATED", "pads": [1, 1, 1, 1], "exclusive": True}, "AveragePool",
     {"pads": [1, 1, 1, 1]}),
    ("AvgPoolV2", {"padding_mode": "CALCULATED", "pads": [1, 1, 1, 1], "exclusive": False}, "AveragePool",
     {"pads": [1, 1, 1, 1], "count_include_pad": 1}),
]  # fmt: skip


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("kind", "attrs", "onnx", "onnx_attrs"), POOLS)
def test_pooling(kind: str, attrs: dict[str, Any], onnx: str, onnx_attrs: dict[str, Any], layout: str):
    want = as_layout(onnx_run(onnx, [MAP], kernel_shape=[3, 2], strides=[2, 2], **onnx_attrs), layout)
    attrs = {"ksize": four(3, 2, layout), "strides": four(2, 2, layout), "data_format": layout} | attrs
    (got,) = run_op(kind, [as_layout(MAP, layout)], [], [want], layout, **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("filter_layout", ["NCHW", "NHWC", "HWCN"])
def test_conv2d_with_plain_filters(layout: str, filter_layout: str):
    weight = RANDOM.standard_normal((4, 2, 3, 2)).astype(np.float32)
    bias = RANDOM.standard_normal(4).astype(np.float32)
    want = as_layout(onnx_run("Conv", [MAP, weight, bias], strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 2]), layout)
    axes = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 2, 3, 1), "HWCN": (2, 3, 1, 0)}[filter_layout]
    model = Model()
    x = as_layout(MAP, layout)
    model.data(x.shape, layout=layout)
    edges = ["x:0", model.const("w", weight.transpose(axes), filter_layout), model.const("b", bias)]
    model.op("y", "Conv2D", edges, want.shape, layout=layout, strides=four(2, 1, layout), pads=[1, 0, 0, 1],
             dilations=four(1, 2, layout), groups=1, data_format=layout)  # fmt: skip
    (got,) = model.run({"x": x}, "y:0")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("filter_layout", ["NCHW", "HWCN"])
def test_depthwise_conv2d(filter_layout: str):
    """HWCN holds [H, W, C, multiplier]; output channel c * multiplier + m."""
    weight = RANDOM.standard_normal((2 * 3, 1, 3, 3)).astype(np.float32)
    want = onnx_run("Conv", [MAP, weight], strides=[1, 1], pads=[1, 1, 1, 1], group=2)
    stored = weight if filter_layout == "NCHW" else weight.reshape(2, 3, 3, 3).transpose(2, 3, 0, 1)
    model = Model()
    model.data(MAP.shape, layout="NCHW")
    edges = ["x:0", model.const("w", stored, filter_layout)]
    model.op("y", "DepthwiseConv2D", edges, want.shape, layout="NCHW", strides=[1, 1, 1, 1], pads=[1, 1, 1, 1],
             dilations=[1, 1, 1, 1], data_format="NCHW")  # fmt: skip
    (got,) = model.run({"x": MAP}, "y:0")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["Conv2DTransposeD", "Conv2DTranspose", "Conv2DBackpropInputD", "Conv2DBackpropInput"])
def test_transposed_convolutions(kind: str):
    weight = RANDOM.standard_normal((2, 3, 3, 3)).astype(np.float32)
    geometry: dict[str, Any] = {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 0]}
    want = onnx_run("ConvTranspose", [MAP, weight], **geometry)
    model = Model()
    model.data(MAP.shape, layout="NCHW")
    filter_edge = model.const("w", weight, "NCHW")
    edges = [filter_edge, "x:0"] if "Backprop" in kind else ["x:0", filter_edge]
    attrs: dict[str, Any] = {"input_size": list(want.shape)} if kind.endswith("D") else {}
    if not attrs:
        edges.insert(0, model.const("size", ints(*want.shape)))
    model.op("y", kind, edges, want.shape, layout="NCHW", strides=[1, 1, 2, 2], pads=[1, 1, 1, 1], groups=1,
             dilations=[1, 1, 1, 1], data_format="NCHW", **attrs)  # fmt: skip
    (got,) = model.run({"x": MAP}, "y:0")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("attribute", [False, True])
@pytest.mark.parametrize(
    ("linear", "attrs", "mode", "nearest"),
    [
        (True, {}, "asymmetric", None),
        (True, {"align_corners": True}, "align_corners", None),
        (True, {"half_pixel_centers": True}, "half_pixel", None),
        (False, {}, "asymmetric", "floor"),
        (False, {"align_corners": True}, "align_corners", "round_prefer_ceil"),
        (False, {"half_pixel_centers": True}, "tf_half_pixel_for_nn", "floor"),
    ],
)
def test_resizes(linear: bool, attrs: dict[str, Any], mode: str, nearest: str | None, attribute: bool, layout: str):
    size = [11, 5]
    scales = np.float32([1, 1, size[0] / 7, size[1] / 9])
    more = {} if nearest is None else {"nearest_mode": nearest}
    kind_of = "linear" if linear else "nearest"
    if mode == "tf_half_pixel_for_nn":  # which onnxruntime refuses from opset 13 on: by its formula
        rows, columns = (np.floor((np.arange(n) + 0.5) * m / n).astype(int) for n, m in zip(size, (7, 9), strict=True))
        plain = MAP[:, :, rows][:, :, :, columns]
    else:
        plain = onnx_run("Resize", [MAP, scales[:0], scales],
                         coordinate_transformation_mode=mode, mode=kind_of, **more)  # fmt: skip
    want = as_layout(plain, layout)
    kind = ("ResizeBilinearV2" if linear else "ResizeNearestNeighborV2") + ("D" if attribute else "")
    attrs = {"align_corners": False, "half_pixel_centers": False} | attrs
    constants: list[Array | None] = [] if attribute else [None, ints(*size)]
    given = attrs | ({"size": size} if attribute else {})
    (got,) = run_op(kind, [as_layout(MAP, layout)], constants, [want], layout, **given)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


# --- lists that only the run knows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "values", "want", "attrs"),
    [
        ("Reshape", ints(6, -1), X.reshape(6, 20), {}),
        ("Transpose", ints(1, 0, 3, 2), X.transpose(1, 0, 3, 2), {}),
        ("Tile", ints(1, 1, 2, 1), np.tile(X, (1, 1, 2, 1)), {}),
        ("ReduceSum", ints(3, 1), X.astype(F).sum((1, 3)).astype(np.float32), {"keep_dims": False}),
    ],
)
def test_attributes_that_are_computed(kind: str, values: Array, want: Array, attrs: dict[str, Any]):
    (got,) = run_op(kind, [X, values], [], [want], **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_computed_attributes_are_checked_when_they_are_known():
    model = Model()
    model.data(X.shape)
    model.data((4,), np.int32, name="order")
    model.op("y", "Transpose", ["x:0", "order:0"], X.shape)
    graph = model.read("y:0")
    with pytest.raises(Exception, match="is no permutation"):
        executor.run(graph, {"x": X, "order": ints(0, 1, 1, 2)})
    with pytest.raises(Exception, match="the file says"):
        executor.run(graph, {"x": X, "order": ints(3, 2, 1, 0)})


# --- fused ops --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("types", "count", "formula"),
    [
        (["Abs", "Mul"], 2, lambda a, b: np.abs(a) * b),
        (["Mul", "Maximum"], 3, lambda a, b, c: np.maximum(a * b, c)),
        (["Abs", "Cast", "Relu"], 1, lambda a: np.abs(a)),
        (["Add", "Relu"], 2, lambda a, b: np.maximum(a + b, 0)),
        (["Sub", "Sqrt"], 2, lambda a, b: np.sqrt(a - b)),
    ],
)
@pytest.mark.parametrize("kind", ["own", "AutomaticBufferFusionOp"])
def test_fused_ops_whose_members_are_listed(types: list[str], count: int, formula: Callable[..., Array], kind: str):
    given = [np.abs(X) + 2, Y / 4, Y + X][:count]
    want = formula(*(each.astype(F) for each in given)).astype(np.float32)
    attrs = {"_datadump_original_op_types": types, "fusion_scope": 1}
    (got,) = run_op(types[0] if kind == "own" else kind, given, [], [want], **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize(
    ("types", "count", "words"),
    [
        (["Abs", "Mul", "Mul", "Add"], 4, "more than one way"),
        (["Mul", "Sub"], 3, "more than one way"),
        (["Mul", "Add"], 2, "no way"),
        (["Relu", "Conv2D"], 2, "attributes of its member Conv2D"),
    ],
)
def test_fused_ops_that_the_file_does_not_explain(types: list[str], count: int, words: str):
    """vae_hh_om.om has the first one, with the names of the members alone."""
    model = Model()
    for at in range(count):
        model.data((2,), name=f"x{at}")
    model.op("y", types[0], [f"x{at}:0" for at in range(count)], (2,), _datadump_original_op_types=types,
             fusion_scope=1)  # fmt: skip
    error = refused(model, "y:0")
    assert error.status is GraphStatus.OM_MODEL
    assert words in error.line()


# --- who is at fault --------------------------------------------------------------------------------------------------


def test_statistics_that_are_not_used_are_noted():
    model = Model()
    model.data(X.shape, layout="NCHW")
    edges = ["x:0", *(model.const(f"c{at}", np.float32([1, 2, 3])) for at in range(4))]
    model.op("y", "BNInference", edges, X.shape, layout="NCHW", epsilon=0.1, use_global_stats=False)
    assert any("use_global_stats" in note for note in model.read("y:0").notes)


def test_random_ops_without_a_seed_are_the_files_fault():
    model = Model()
    model.data((2,), np.int32)
    model.op("y", "FrameworkOp", ["x:0"], (2, 3), original_type="RandomStandardNormal", seed=0, seed2=0)
    assert refused(model, "y:0").status is GraphStatus.OM_MODEL


@pytest.mark.parametrize("rank", [65, 200])
def test_more_dims_than_an_array_has_are_refused(rank: int):
    """Of an input, of a result, of a constant: one line, not numpy's ValueError."""
    for where in ("input", "result", "constant"):
        model = Model()
        model.data((1,) * rank if where == "input" else (1,))
        edge = model.const("c", np.float32([1]))
        if where == "constant":
            model.graph.op[-1].attr["value"].t.desc.shape.dim[:] = [1] * rank
        model.op("y", "Add", ["x:0", edge], (1,) * rank if where == "result" else (1,))
        with pytest.raises(GraphError, match=f"{rank} dims"):
            executor.run(model.read("y:0"), {"x": np.float32([1])})


def test_attributes_that_repeat_an_operand_are_noted():
    model = Model()
    model.data((2,))
    model.op("y", "Relu", ["x:0"], (2,), bias=b"1234")
    assert any("bias holds a tensor" in note for note in model.read("y:0").notes)


@pytest.mark.parametrize("kind", ["ConcatV2D", "AddN", "Pack"])
def test_an_absent_operand_among_any_number_is_refused(kind: str):
    model = Model()
    model.data((2,))
    model.op("y", kind, ["x:0", "", "x:0"], (6,), concat_dim=0, axis=0)
    assert "input 1 is required" in refused(model, "y:0").line()


def test_only_a_positive_scope_is_a_fused_kernel():
    """Negative ones are all other ops, whose list of original types has what was folded into their constants."""
    want = np.abs(X)
    (got,) = run_op("Abs", [X], [], [want], _datadump_original_op_types=["Abs", "BatchNorm"], fusion_scope=-2)
    assert np.array_equal(got, want)
    (got,) = run_op("Abs", [X], [], [want], _datadump_original_op_types=["Abs", "Cast"], fusion_scope=3)
    assert np.array_equal(got, want)
    (got,) = run_op("Cast", [X], [], [X.astype(np.int32)], DstT=3, fusion_scope=1,
                    _datadump_original_op_types=["Cast", "TransData"])  # fmt: skip
    assert np.array_equal(got, np.trunc(X))
    for kind, attrs in (
        ("Abs", {"fusion_scope": 2}),
        ("Abs", {"_is_compiled_fusion_op": True}),
        ("AutomaticBufferFusionOp", {}),
    ):
        model = Model()
        model.data((2,))
        model.op("y", kind, ["x:0"], (2,), **attrs)
        error = refused(model, "y:0")
        assert error.status is GraphStatus.OM_MODEL
        assert "ops that the file does not list" in error.line()


@pytest.mark.parametrize("with_bias", [False, True])
def test_a_convolution_fused_with_functions(with_bias: bool):
    """Its attributes are those of the op, and all operands are its own."""
    weight = RANDOM.standard_normal((4, 2, 3, 3)).astype(np.float32)
    bias = [RANDOM.standard_normal(4).astype(np.float32)] if with_bias else []
    want = np.sqrt(np.maximum(onnx_run("Conv", [MAP, weight, *bias], strides=[2, 2]), 0))
    attrs: dict[str, Any] = {"strides": [1, 1, 2, 2], "pads": [0, 0, 0, 0], "data_format": "NCHW", "fusion_scope": 1}
    attrs["_datadump_original_op_types"] = ["Conv2D", "Relu", "Sqrt"]
    (got,) = run_op("Conv2D", [MAP], [None, weight, *bias], [want], "NCHW", **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    del attrs["strides"]  # as a3c_pong_model_v1.om has lost them
    model = one_model("Conv2D", [MAP], [None, weight, *bias], attrs, want, layout="NCHW")[0]
    with pytest.raises(GraphError, match="attribute strides: is missing"):
        executor.run(om.read(write_om(model.message)), {"x0": MAP})


# --- packed tensors ---------------------------------------------------------------------------------------------------


def packed(x: Array) -> Array:
    """[N, H, W, C] as NC1HWC0, by its definition."""
    n, h, w, c = x.shape
    out = np.zeros((n, -(-c // 16), h, w, 16), x.dtype)
    for channel in range(c):
        out[:, channel // 16, :, :, channel % 16] = x[..., channel]
    return out


def describe_packed(model: Model, target: Any, shape: tuple[int, ...]) -> None:
    model.describe(target, packed(np.zeros(shape, np.float32)).shape, np.float32, "NC1HWC0")
    target.attr["origin_shape"].list.i.extend(shape)
    target.attr["origin_format"].s = b"NHWC"


def packed_model(kind: str, operands: list[Array], want: Array, to_packed: bool, **attrs: Any) -> Array:
    """The op on NHWC tensors that are packed, as atc leaves it: the attributes are those of the NHWC graph."""
    model = Model()
    edges, inputs = [], {}
    for at, operand in enumerate(operands):
        if operand.ndim < 4:
            edges.append(model.const(f"c{at}", operand))
            continue
        op = model.graph.op.add(name=f"x{at}", type="Data")
        op.input.append("")
        for target in (op.input_desc.add(), op.output_desc.add()):
            describe_packed(model, target, operand.shape)
        edges.append(f"x{at}:0")
        inputs[f"x{at}"] = packed(operand)
    op = model.graph.op.add(name="y", type=kind)
    op.input.extend(edges)
    if to_packed:
        describe_packed(model, op.output_desc.add(), want.shape)
    else:
        model.describe(op.output_desc.add(), want.shape)
    for key, value in attrs.items():
        set_attr(op.attr[key], value)
    (got,) = model.run(inputs, "y:0")
    return got


NHWC = RANDOM.standard_normal((2, 3, 4, 20)).astype(np.float32)
OTHER = RANDOM.standard_normal((2, 3, 4, 5)).astype(np.float32)
CHANNELS = RANDOM.standard_normal(20).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "operands", "attrs", "want"),
    [
        ("ReduceMeanD", [NHWC], {"axes": [1, 2], "keep_dims": True}, NHWC.mean((1, 2), keepdims=True)),
        ("ReduceMaxD", [NHWC], {"axes": [-1], "keep_dims": True}, NHWC.max(-1, keepdims=True)),
        ("ReduceSumD", [NHWC], {"axes": [3], "keep_dims": False}, NHWC.sum(3)),
        ("ConcatD", [NHWC, OTHER], {"concat_dim": 3}, np.concatenate([NHWC, OTHER], 3)),
        ("ConcatD", [NHWC, NHWC], {"concat_dim": 1}, np.concatenate([NHWC, NHWC], 1)),
        ("SliceD", [NHWC], {"offsets": [0, 1, 0, 3], "size": [2, 2, 4, 9]}, NHWC[:, 1:3, :, 3:12]),
        (
            "PadD",
            [NHWC],
            {"paddings": [[0, 0], [1, 0], [0, 2], [0, 0]]},
            np.pad(NHWC, ((0, 0), (1, 0), (0, 2), (0, 0))),
        ),
        ("TransposeD", [NHWC], {"perm": [0, 2, 1, 3]}, NHWC.transpose(0, 2, 1, 3)),
        ("Mul", [NHWC, CHANNELS], {}, NHWC * CHANNELS),
        ("Add", [NHWC, np.float32(3)], {}, NHWC + 3),
        (
            "Add",
            [NHWC, CHANNELS],
            {"fusion_scope": 1, "_datadump_original_op_types": ["Add", "Relu"]},
            np.maximum(NHWC + CHANNELS, 0),
        ),
        ("Add", [NHWC, NHWC], {}, NHWC + NHWC),
    ],
)
@pytest.mark.parametrize("to_packed", [False, True])
def test_axes_of_packed_tensors(kind: str, operands: list[Array], attrs: dict[str, Any], want: Array, to_packed: bool):
    if want.ndim < 4 and to_packed:
        pytest.skip("three dims are not packed")
    if kind in ("Add", "Mul") and not to_packed:
        pytest.skip("the result has the layout of the operand")
    got = packed_model(kind, operands, want, to_packed, **attrs)
    np.testing.assert_allclose(got, packed(want) if to_packed else want, rtol=1e-5, atol=1e-6)


def test_softmax_of_a_packed_tensor():
    want = onnx_run("Softmax", [NHWC], axis=-1)
    np.testing.assert_allclose(packed_model("SoftmaxV2", [NHWC], want, True, axes=[-1]), packed(want), rtol=1e-5)
