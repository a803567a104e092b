"""MindSpore Lite's operators that move, reduce or make elements, against onnxruntime and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph.load import read_graph
from emu.graph.writers.ms_lite import ModelBuilder
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from tests.graph.lite_cases import Array, file_of, gives, ints, normal, run_file
from tests.graph.ms_cases import onnx

X = normal(np.random.default_rng(0), 2, 3, 4, 5)
WIDE = np.int64


def test_reshape() -> None:
    want = X.reshape(2, 12, 5)
    for dims in (ints(2, -1, 5), ints(0, 12, 5, dtype=WIDE)):
        gives(lite.Reshape(), [X, dims], [want], how="exact", constants=(1,))
    gives(old.Reshape(shape=(2, -1, 5)), [X], [want], how="exact")
    gives(old.Reshape(shape=(7, 7)), [X, ints(2, -1, 5)], [want], how="exact", constants=(1,))


def test_dims_of_one() -> None:
    x = X[:, :1, :, :1]
    gives(lite.Squeeze((1, -1)), [x], [x.reshape(2, 4)], how="exact")
    gives(old.Squeeze(), [x], [x.reshape(2, 4)], how="exact")
    gives(lite.Unsqueeze((0, 3)), [X], [X[None, :, :, None]], how="exact")
    gives(old.Unsqueeze((0, 3)), [X], [X[None, :, :, None]], how="exact")
    gives(lite.ExpandDims(), [X, ints(-1)], [X[..., None]], how="exact", constants=(1,))
    gives(old.ExpandDims(1), [X], [X[:, None]], how="exact")


@pytest.mark.parametrize(("axis", "dims"), [(1, (2, 60)), (2, (6, 20)), (0, (1, 120)), (4, (120, 1)), (-1, (24, 5))])
def test_flatten(axis: int, dims: tuple[int, int]) -> None:
    gives(lite.Flatten(axis), [X], [X.reshape(dims)], how="exact")
    if axis == 1:
        gives(old.Flatten(), [X], [X.reshape(dims)], how="exact")


def test_transpose() -> None:
    want = np.ascontiguousarray(X.transpose(0, 3, 1, 2))
    gives(lite.Transpose(), [X, ints(0, 3, 1, 2)], [want], how="exact", constants=(1,))
    for attr in (old.Transpose((0, 3, 1, 2)), old.Permute((0, 3, 1, 2)), old.Nhwc2Nchw()):
        gives(attr, [X], [want], how="exact")
    gives(lite.FormatTranspose(lite.Format.NHWC, lite.Format.NCHW), [X], [want], how="exact")
    gives(old.Nchw2Nhwc(), [want], [X], how="exact")
    # what is no map stays as it is
    gives(lite.Transpose(), [X[0, 0], ints(0, 3, 1, 2)], [X[0, 0]], how="exact", constants=(1,))
    with pytest.raises(GraphError, match="no permutation"):
        run_file(file_of(lite.Transpose(), [X, ints(0, 1)], [np.float32], constants=(1,)), [X])


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_joining_and_parting(axis: int) -> None:
    for schema in (lite, old):
        gives(schema.Concat(axis), [X, X + 1], onnx("Concat", [X, X + 1], axis=axis), how="exact")
        gives(schema.Stack(axis), [X, X + 1], [np.stack([X, X + 1], axis)], how="exact")
        parts = list(np.moveaxis(X, axis, 0))
        gives(schema.Unstack(axis=axis), [X], parts, how="exact")


def test_split() -> None:
    wants = onnx("Split", [X, ints(1, 2, 2, dtype=WIDE)], outputs=3, axis=3)
    gives(lite.Split(3, (1, 2, 2), -1), [X], wants, how="exact")
    gives(lite.Split(3, (1, 2, -1), -1), [X], wants, how="exact")
    gives(lite.Split(3, axis=3), [X, ints(1, 2, 2)], wants, how="exact", constants=(1,))
    gives(old.Split(3, (1, 2, 2), 3), [X], wants, how="exact")
    gives(lite.Split(2, axis=2), [X], onnx("Split", [X], outputs=2, axis=2), how="exact")


def test_slice() -> None:
    want = X[:, 1:3, :, 2:]
    gives(lite.SliceFusion((1, 3)), [X, ints(1, 2), ints(2, -1)], [want], how="exact", constants=(1, 2))
    begin, size = ints(0, 1, 0, 2), ints(2, 2, 4, 3)
    gives(lite.SliceFusion(), [X, begin, size], [want], how="exact", constants=(1, 2))
    gives(old.Slice(axes=(3, 1), begin=(2, 1), size=(-1, 2)), [X], [want], how="exact")
    for bad in (lite.SliceFusion((1, 1)), lite.SliceFusion((1, 9)), lite.SliceFusion((1,))):
        with pytest.raises(GraphError, match="attribute axes"):
            run_file(file_of(bad, [X, ints(0, 0), ints(1, 1)], [np.float32], constants=(1, 2)), [X])


@pytest.mark.parametrize("axes", [None, (0, 2), (-1,)])
def test_strided_slice_of_axes(axes: tuple[int, ...] | None) -> None:
    begin, end, step = ints(1, -3, dtype=WIDE), ints(-9, 99, dtype=WIDE), ints(-1, 2, dtype=WIDE)
    count = 2 if axes is None else len(axes)
    given = [begin[:count], end[:count], np.array(axes or (), WIDE), step[:count]]
    (want,) = onnx("Slice", [X, *given[:2], np.array(axes or range(count), WIDE), given[3]])
    gives(lite.StridedSlice(), [X, *given], [want], how="exact", constants=(1, 2, 3, 4))


def test_strided_slice_with_masks() -> None:
    begin, end, step = (1, 0, 2, 4), (2, 0, 4, 0), (1, 1, 1, -2)
    want = X[1, :, 2:4, 4:0:-2]
    masks = {"begin_mask": 0b10, "end_mask": 0b10, "shrink_axis_mask": 0b1}
    operands = [ints(*numbers) for numbers in (begin, end, step)]
    gives(lite.StridedSlice(**masks), [X, *operands], [want], how="exact", constants=(1, 2, 3))
    attr = old.StridedSlice(beginMask=0b10, endMask=0b10, shrinkAxisMask=0b1, begin=begin, end=end, stride=step)
    gives(attr, [X], [want], how="exact")
    new_axis = lite.StridedSlice(new_axis_mask=0b1, ellipsis_mask=0b10)
    operands = [ints(0, 0, 1), ints(0, 0, 3), ints(1, 1, 1)]
    gives(new_axis, [X, *operands], [X[None, ..., 1:3]], how="exact", constants=(1, 2, 3))


def test_pad() -> None:
    pairs = ((0, 0), (1, 2), (0, 3), (1, 0))
    flat = ints(*(number for pair in pairs for number in pair))
    rows = lite.Vec2D(tuple(lite.Vec(pair) for pair in pairs))
    want = np.pad(X, pairs, constant_values=0.5)
    gives(lite.PadFusion(constant_value=0.5), [X, flat], [want], how="exact", constants=(1,))
    gives(lite.PadFusion(rows, constant_value=0.5), [X], [want], how="exact")
    value = np.array(0.5, np.float32)
    gives(lite.PadFusion(), [X, flat, value], [want], how="exact", constants=(1, 2))
    gives(old.Pad(tuple(flat.tolist()), constantValue=0.5), [X], [want], how="exact")
    for mode in ("REFLECT", "SYMMETRIC"):
        want = np.pad(X, pairs, mode=mode.lower())
        attr = lite.PadFusion(padding_mode=lite.PaddingMode[mode])
        gives(attr, [X, flat], [want], how="exact", constants=(1,))


def test_tile_and_broadcast() -> None:
    gives(lite.TileFusion(), [X, ints(1, 2, 1, 3)], [np.tile(X, (1, 2, 1, 3))], how="exact", constants=(1,))
    gives(lite.TileFusion((3, 1)), [X, ints(3, 2)], [np.tile(X, (1, 2, 1, 3))], how="exact", constants=(1,))
    gives(old.Tile((2, 1, 1, 1)), [X], [np.tile(X, (2, 1, 1, 1))], how="exact")
    row = X[0, :1]
    want = np.broadcast_to(row, (6, 3, 4, 5)).copy()
    gives(lite.BroadcastTo((6, 3, -1, 5)), [row], [want], how="exact")
    gives(lite.BroadcastTo(), [row, ints(6, 3, 4, 5)], [want], how="exact", constants=(1,))
    gives(old.BroadcastTo((6, 3, 4, 5)), [row], [want], how="exact")


def test_reversal() -> None:
    for attr in (lite.ReverseV2((1, -1)), old.Reverse((1, -1))):
        gives(attr, [X], [X[:, ::-1, :, ::-1]], how="exact")
    x, lengths = X[0], ints(2, 4, 0)
    (want,) = onnx("ReverseSequence", [x, lengths.astype(WIDE)], batch_axis=0, time_axis=1)
    gives(lite.ReverseSequence(1, 0), [x, lengths], [want], how="exact")
    gives(old.ReverseSequence(1, 0), [x, lengths], [want], how="exact")


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_gather(axis: int) -> None:
    indices = np.array([[1, 0], [0, 1]], np.int32)
    (want,) = onnx("Gather", [X, indices], axis=axis)
    gives(lite.Gather(), [X, indices, ints(axis)], [want], how="exact", constants=(2,))
    gives(old.Gather(axis), [X, indices], [want], how="exact")
    places = np.array([[1, 2], [0, 1]], np.int32)
    gives(lite.GatherNd(), [X, places], onnx("GatherND", [X, places.astype(WIDE)]), how="exact")


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int) -> None:
    indices, on, off = np.array([[0, 2], [1, 7]], np.int32), np.array(2.0, np.float32), np.array(-1.0, np.float32)
    values = np.array([-1.0, 2.0], np.float32)
    (want,) = onnx("OneHot", [indices, ints(3), values], axis=axis)
    for schema in (lite, old):
        gives(schema.OneHot(axis), [indices, ints(3), on, off], [want], how="exact", constants=(1, 2, 3))
        gives(schema.OneHot(axis), [indices, ints(3), values], [want], how="exact", constants=(1, 2))


REDUCTIONS = {
    "ReduceMean": "ReduceMean",
    "ReduceMax": "ReduceMax",
    "ReduceMin": "ReduceMin",
    "ReduceProd": "ReduceProd",
    "ReduceSum": "ReduceSum",
    "ReduceSumSquare": "ReduceSumSquare",
    "ReduceASum": "ReduceL1",
    "ReduceL2": "ReduceL2",
}


@pytest.mark.parametrize("mode", REDUCTIONS)
@pytest.mark.parametrize("keep", [False, True])
def test_reduce(mode: str, keep: bool) -> None:
    axes = ints(1, -1)
    (want,) = onnx(REDUCTIONS[mode], [X, axes.astype(WIDE)], opset=18, keepdims=int(keep))
    attr = lite.ReduceFusion(keep, lite.ReduceMode[mode])
    gives(attr, [X, axes], [want], constants=(1,))
    if mode in old.ReduceMode.__members__:
        gives(old.Reduce((1, -1), int(keep), old.ReduceMode[mode]), [X], [want])
    if mode == "ReduceMean":
        gives(old.Mean((1, -1), keep), [X], [want])
        everything = np.full((1,) * 4 if keep else (), X.astype(np.float64).mean())
        gives(attr, [X], [everything])
        gives(attr, [X, np.zeros(0, np.int32)], [everything], constants=(1,))


def test_reduce_to_the_end_takes_a_factor() -> None:
    """Caffe's Reduction: all axes from one on, the result times the coefficient; else there is none."""
    end = lite.ReduceFusion(True, lite.ReduceMode.ReduceSum, True, 0.5)
    gives(end, [X, ints(2)], [X.astype(np.float64).sum((2, 3)) * 0.5], constants=(1,))
    plain = lite.ReduceFusion(False, lite.ReduceMode.ReduceSum, False, 0.5)
    gives(plain, [X, ints(2)], [X.astype(np.float64).sum(2)], constants=(1,))


def test_all() -> None:
    x = np.array([[True, True], [False, True]])
    gives(lite.ReduceFusion(mode=lite.ReduceMode.ReduceAll), [x, ints(1)], [x.all(1)], how="exact", constants=(1,))


@pytest.mark.parametrize("keep", [False, True])
def test_best_places(keep: bool) -> None:
    for name in ("ArgMax", "ArgMin"):
        want = onnx(name, [X], axis=2, keepdims=int(keep))[0].astype(np.int32)
        gives(getattr(lite, f"{name}Fusion")(axis=2, keep_dims=keep), [X], [want], how="exact")
        gives(getattr(old, name)(axis=2, keepDims=keep), [X], [want], how="exact")
    gives(lite.ArgMaxFusion(axis=2, keep_dims=keep, out_max_value=True), [X], [X.max(2, keepdims=keep)], how="exact")


@pytest.mark.parametrize("axis", [-1, 0, 2])
def test_top_k(axis: int) -> None:
    count = ints(2)
    values, places = onnx("TopK", [X, count.astype(WIDE)], outputs=2, axis=axis)
    wants = [values, places.astype(np.int32)]
    gives(lite.TopKFusion(axis=axis), [X, count], wants, how="exact", constants=(1,))
    if axis == -1:
        gives(old.TopK(2), [X], wants, how="exact")
    with pytest.raises(GraphError, match="attribute sorted"):
        run_file(file_of(lite.TopKFusion(False), [X, count], [np.float32, np.int32], constants=(1,)), [X])


def test_made_tensors() -> None:
    value = np.array([3], np.int32)
    gives(lite.Fill(), [value, ints(2, 3)], [np.full((2, 3), 3, np.int32)], how="exact", constants=(1,))
    gives(old.Fill((2, 3)), [value], [np.full((2, 3), 3, np.int32)], how="exact")
    for schema in (lite, old):
        attr = schema.ConstantOfShape(43, (2.5,))
        gives(attr, [ints(2, 2)], [np.full((2, 2), 2.5, np.float32)], how="exact", constants=(0,))
        gives(schema.Shape(), [X], [ints(2, 3, 4, 5)], how="exact")
        gives(schema.Rank(), [X], [np.array(4, np.int32)], how="exact")
        gives(schema.Range(start=1, limit=8, delta=3), [], [ints(1, 4, 7)], how="exact")
    ends = [np.array(number, np.float32) for number in (1, 2, 0.25)]
    want = np.arange(1, 2, 0.25, dtype=np.float32)
    gives(lite.Range(), ends, [want], how="exact", constants=(0, 1, 2))


@pytest.mark.parametrize("numbers", [(0, 1, 0), (0, 2**62, 1), (0, float("nan"), 1), (0, float("inf"), 1)])
def test_ranges_that_are_none(numbers: tuple[float, ...]) -> None:
    ends = [np.array(number, WIDE if isinstance(number, int) else np.float32) for number in numbers]
    with pytest.raises(GraphError, match="attribute delta"):
        run_file(file_of(lite.Range(), ends, [np.int32], constants=(0, 1, 2)), [])


def test_crop() -> None:
    reference = np.zeros((2, 2, 2, 2), np.float32)
    for schema in (lite, old):
        gives(schema.Crop(2, (1, 3)), [X[:, :2], reference], [X[:, :2, 1:3, 3:5]], how="exact")


def test_boxes() -> None:
    """The kernel is that of predict's operator, which has its own tests; here that the attributes reach it."""
    encodings, scores = np.zeros((1, 2, 4), np.float32), np.array([[[0.9], [0.8]]], np.float32)
    anchors = np.array([[0.5, 0.5, 1, 1], [3, 3, 1, 1]], np.float32)
    boxes = np.array([[[0, 0, 1, 1], [2.5, 2.5, 3.5, 3.5]]], np.float32)
    wants = [boxes, np.zeros((1, 2), np.float32), scores[:, :, 0], np.array([2], np.float32)]
    attr: Any = lite.DetectionPostProcess(
        scale=(5, 5, 10, 10),
        nms_iou_threshold=0.5,
        nms_score_threshold=0.1,
        max_detections=2,
        detections_per_class=2,
        max_classes_per_detection=1,
        num_classes=1,
    )
    gives(attr, [encodings, scores, anchors], wants, constants=(2,))
    attr = old.DetectionPostProcess(
        hScale=5, wScale=5, xScale=10, yScale=10, NmsIouThreshold=0.5, NmsScoreThreshold=0.1, MaxDetections=2,
        DetectionsPerClass=2, MaxClassesPerDetection=1, NumClasses=1,
    )  # fmt: skip
    gives(attr, [encodings, scores, anchors], wants, constants=(2,))


def shape_arithmetic(fixed: bool) -> tuple[bytes, Array]:
    """x reshaped to [batch, -1], the batch cut out of its shape while reading; or a shape that is an input."""
    model = ModelBuilder()
    x = model.input(X.shape)
    if fixed:
        shape = model.tensor((), np.int32)
        model.node(lite.Shape(), [x], [shape])
        batch, dims = model.tensor((), np.int32), model.tensor((), np.int32)
        numbers = [model.constant(ints(number)) for number in (0, 1, 1)]
        model.node(lite.StridedSlice(), [shape, *numbers], [batch])
        model.node(lite.Concat(), [batch, model.constant(ints(-1))], [dims])
    else:
        dims = model.input((2,), np.int32)
    y = model.tensor(())
    model.node(lite.Reshape(), [x, dims], [y], name="reshape")
    model.outputs.append(y)
    return model.write(), X.reshape(2, 60)


def test_shapes_are_computed_while_reading() -> None:
    data, want = shape_arithmetic(True)
    graph = read_graph(data)
    assert next(node for node in graph.nodes if node.name == "reshape").inputs == (0,)
    np.testing.assert_array_equal(run_file(data, [X])[0], want)


def test_a_shape_that_only_a_run_knows_is_refused() -> None:
    data, _ = shape_arithmetic(False)
    with pytest.raises(GraphError, match=r"the shape \(input 1\) is computed at run time") as caught:
        run_file(data, [X, ints(2, 60)])
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED
