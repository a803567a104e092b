"""The members of OpT that choose elements by the value of others, and detection; each by onnxruntime or a formula."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import Array, onnx
from tests.graph.ms_checks import Cases, Check, Rng, ints, normal

CASES = Cases()


for _axis in (0, 1, -1):

    @CASES.add(f"Gather {_axis}")
    def _gather(rng: Rng, axis: int = _axis) -> Check:
        x, places = normal(rng, 4, 3, 5), ints(rng, 0, 3, 2, 2)
        return Check(b.Gather(axis), [x, places], onnx("Gather", [x, places], axis=axis))


@CASES.add("Gather in batches")
def _gather_batches(rng: Rng) -> Check:
    x, places = normal(rng, 2, 3, 4, 5), ints(rng, 0, 4, 2, 3, 6)
    want = np.stack([np.stack([x[n, c][places[n, c]] for c in range(3)]) for n in range(2)])
    return Check(b.Gather(axis=2, batchDims=2), [x, places], [want])


@CASES.add("Gather behind the batches")
def _gather_behind(rng: Rng) -> Check:
    x, places = normal(rng, 2, 3, 4), ints(rng, 0, 4, 2, 5)
    want = np.stack([x[n][:, places[n]] for n in range(2)])  # the new axis stands where axis was
    return Check(b.Gather(axis=-1, batchDims=1), [x, places], [want])


for _batch in (0, 1):
    for _depth in (1, 2):

        @CASES.add(f"GatherNd {_batch} {_depth}")
        def _gather_nd(rng: Rng, batch: int = _batch, depth: int = _depth) -> Check:
            x, places = normal(rng, 3, 3, 3, 5), ints(rng, 0, 3, 3, 4, depth)
            want = onnx("GatherND", [x, places.astype(np.int64)], batch_dims=batch)
            return Check(b.GatherNd(batch), [x, places], want)


@CASES.add("Scatter")
def _scatter(rng: Rng) -> Check:
    x, updates = normal(rng, 4, 3), normal(rng, 2, 3)
    places = np.array([[0, 1, 2], [3, 0, -1]], np.int32)
    return Check(b.Scatter(), [x, places, updates], onnx("ScatterElements", [x, places, updates], axis=0))


@CASES.add("SparseToDense")
def _sparse_to_dense(rng: Rng) -> Check:
    places, values = np.array([[0, 1], [2, 3], [1, 0]], np.int32), normal(rng, 3)
    want = np.full((3, 4), 0.5, np.float32)
    want[0, 1], want[2, 3], want[1, 0] = values
    inputs = [places, np.array([3, 4], np.int32), values, np.array([0.5], np.float32)]
    return Check(b.SparseToDense(True), inputs, [want], constants=[1])


@CASES.add("SparseToDense of a vector")
def _sparse_to_dense_vector(rng: Rng) -> Check:
    inputs = [np.array([1, 4], np.int32), np.array([6], np.int32), np.array([7], np.int32)]
    return Check(b.SparseToDense(True), inputs, [np.array([0, 7, 0, 0, 7, 0], np.int32)])


@CASES.add("EmbeddingLookup")
def _embedding(rng: Rng) -> Check:
    table, ids = normal(rng, 5, 3), np.array([[4, 0], [0, 2]], np.int32)
    return Check(b.EmbeddingLookup(), [table, ids], onnx("Gather", [table, ids]))


def limited(row: Array, limit: float) -> Array:
    length = math.sqrt(math.fsum(float(v) ** 2 for v in row))
    return row.astype(np.float64) * min(1.0, limit / length)


@CASES.add("EmbeddingLookup by attribute, with a norm")
def _embedding_norm(rng: Rng) -> Check:
    table = normal(rng, 5, 3)
    want = np.stack([limited(table[at], 1.0) for at in (4, 1, 1)])
    return Check(b.EmbeddingLookup((4, 1, 1), 1.0), [table], [want], "ulp")


@CASES.add("EmbeddingLookupSparse")
def _embedding_sparse(rng: Rng) -> Check:
    table = normal(rng, 5, 3)
    want = 0.5 * limited(table[4], 1.0) - 2 * limited(table[1], 1.0)
    attr = b.EmbeddingLookupSparse((4, 1), (0.5, -2.0), 1.0)
    return Check(attr, [table], [want[None]], "close")


@CASES.add("EmbeddingLookupSparse without weights")
def _embedding_sparse_plain(rng: Rng) -> Check:
    table = normal(rng, 5, 3)
    want = table[4].astype(np.float64) + table[1] + table[1]
    return Check(b.EmbeddingLookupSparse((4, 1, 1)), [table], [want[None]], "close")


for _k, _rows, _columns, _shape in ((0, -1, -1, (3, 3)), (1, -1, -1, (4, 4)), (-2, 5, 4, (5, 4)), (1, 3, -1, (3, 4))):

    @CASES.add(f"MatrixDiag {_k} {_rows} {_columns}")
    def _matrix_diag(
        rng: Rng, k: int = _k, rows: int = _rows, columns: int = _columns, shape: tuple[int, int] = _shape
    ) -> Check:
        x = normal(rng, 2, 3)
        want = np.full((2, *shape), 0.5, np.float32)
        for n, at in itertools.product(range(2), range(3)):
            want[n, at + max(-k, 0), at + max(k, 0)] = x[n, at]
        return Check(b.MatrixDiag(k, rows, columns, 0.5), [x], [want])


def detections(
    encodings: Array, scores: Array, anchors: Array, attr: b.DetectionPostProcess
) -> tuple[list[list[float]], list[int], list[float]]:
    """TFLite_Detection_PostProcess in Python numbers."""
    boxes = []
    for (y, x, h, w), (ay, ax, ah, aw) in zip(encodings.tolist(), anchors.tolist(), strict=True):
        cy, cx = y / attr.yScale * ah + ay, x / attr.xScale * aw + ax
        hh, hw = math.exp(h / attr.hScale) * ah / 2, math.exp(w / attr.wScale) * aw / 2
        boxes.append([cy - hh, cx - hw, cy + hh, cx + hw])

    def overlap(p: list[float], q: list[float]) -> float:
        common = max(min(p[2], q[2]) - max(p[0], q[0]), 0) * max(min(p[3], q[3]) - max(p[1], q[1]), 0)
        areas = [(r[2] - r[0]) * (r[3] - r[1]) for r in (p, q)]
        return common / (sum(areas) - common) if min(areas) > 0 else 0.0

    def suppress(of: list[float], limit: int) -> list[int]:
        kept: list[int] = []
        for at in sorted(range(len(of)), key=lambda place: -of[place]):
            if of[at] < attr.NmsScoreThreshold or len(kept) == limit:
                break
            if all(overlap(boxes[at], boxes[other]) <= attr.NmsIouThreshold for other in kept):
                kept.append(at)
        return kept

    real = scores[:, scores.shape[1] - attr.NumClasses :].tolist()
    if attr.UseRegularNms:
        found = [
            (box, kind)
            for kind in range(attr.NumClasses)
            for box in suppress([row[kind] for row in real], attr.DetectionsPreClass)
        ]
        found = sorted(found, key=lambda each: -real[each[0]][each[1]])[: attr.MaxDetections]
    else:
        found = [
            (box, real[box].index(max(real[box]))) for box in suppress([max(row) for row in real], attr.MaxDetections)
        ]
    return [boxes[box] for box, _ in found], [kind for _, kind in found], [real[box][kind] for box, kind in found]


for _regular, _background in itertools.product((False, True), (0, 1)):

    @CASES.add(f"DetectionPostProcess {'regular' if _regular else 'fast'} {_background}")
    def _detection(rng: Rng, regular: bool = _regular, background: int = _background) -> Check:
        count, slots = 40, 35
        encodings = normal(rng, 1, count, 4)
        scores = rng.random((1, count, 3 + background), dtype=np.float32)
        anchors = np.concatenate([rng.random((count, 2)), rng.uniform(0.1, 0.5, (count, 2))], 1).astype(np.float32)
        attr = b.DetectionPostProcess(
            hScale=5, wScale=4, xScale=10, yScale=8, NmsIouThreshold=0.4, NmsScoreThreshold=0.6,
            MaxDetections=slots, DetectionsPreClass=6, MaxClassesPreDetection=1, NumClasses=3, UseRegularNms=regular,
        )  # fmt: skip
        boxes, kinds, values = detections(encodings[0], scores[0], anchors, attr)
        wants = [np.zeros((1, slots, 4)), np.zeros((1, slots)), np.zeros((1, slots)), np.array([float(len(boxes))])]
        assert 3 < len(boxes) < slots or regular
        wants[0][0, : len(boxes)], wants[1][0, : len(boxes)], wants[2][0, : len(boxes)] = boxes, kinds, values
        return Check(attr, [encodings, scores, anchors], wants, "close", constants=[2])


@pytest.mark.parametrize("name", CASES)
def test_against_the_oracle(name: str) -> None:
    CASES.run(name)


@pytest.mark.parametrize("seed", range(30))
def test_random_gathers(seed: int) -> None:
    """tf.gather by its definition, element by element: any axis, batch dimensions and index shape."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 4, 4).tolist()
    batch = int(rng.integers(0, 3))
    axis = int(rng.integers(batch, 4))
    index_shape = (*shape[:batch], *rng.integers(1, 4, int(rng.integers(0, 3))).tolist())
    x, places = normal(rng, *shape), ints(rng, 0, shape[axis], *index_shape)
    want = np.empty((*shape[:axis], *index_shape[batch:], *shape[axis + 1 :]), np.float32)
    for at in np.ndindex(*want.shape):
        lead, inner = at[:axis], at[axis : axis + len(index_shape) - batch]
        rest = at[axis + len(inner) :]
        want[at] = x[(*lead, places[(*at[:batch], *inner)], *rest)]
    Check(b.Gather(axis, batch), [x, places], [want]).run()


X = np.zeros((4, 5), np.float32)


def one(attr: b.OpT, *inputs: Array, shape: tuple[int, ...] = (4, 5), outputs: int = 1) -> Check:
    return Check(attr, inputs, [np.zeros(shape, np.float32)] * outputs)


REFUSED = {
    "index beyond": (one(b.Gather(0), X, np.array([0, 4], np.int32), shape=(2, 5)), "0..3"),
    "index negative": (one(b.Gather(0), X, np.array([0, -1], np.int32), shape=(2, 5)), "0..3"),
    "index of floats": (one(b.Gather(0), X, np.zeros(2, np.float32), shape=(2, 5)), "integer"),
    "batch dims": (one(b.Gather(1, 1), X, np.zeros((3, 1), np.int32)), "batchDims"),
    "places too deep": (one(b.GatherNd(), X, np.zeros((2, 3), np.int32)), "places"),
    "scatter beyond": (one(b.Scatter(), X, np.full((1, 5), 4, np.int32), X[:1]), "0..3"),
    "scatter shapes": (one(b.Scatter(), X, np.zeros((1, 5), np.int32), X), "differ"),
    "sparse places": (
        one(b.SparseToDense(), np.array([[4, 0]], np.int32), np.array([4, 5], np.int32), X[0, :1]),
        "0..3",
    ),
    "sparse default": (
        one(b.SparseToDense(), np.array([[0, 0]], np.int32), np.array([4, 5], np.int32), X[0, :1], X[0, :2]),
        "default",
    ),
    "no ids": (one(b.EmbeddingLookup(), X), "ids"),
    "id beyond": (one(b.EmbeddingLookup((4,)), X, shape=(1, 5)), "0..3"),
    "weights": (one(b.EmbeddingLookupSparse((1, 2), (1.0,)), X, shape=(1, 5)), "spWeights"),
    "detection outputs": (one(b.DetectionPostProcess(), X, X, X), "gives 4 outputs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    case, words = REFUSED[name]
    with pytest.raises(GraphError, match=words):
        case.run()


def test_more_classes_a_detection_are_unsupported() -> None:
    attr = b.DetectionPostProcess(
        hScale=1, wScale=1, xScale=1, yScale=1, MaxDetections=1, MaxClassesPreDetection=2, NumClasses=2
    )
    arrays = [np.zeros((1, 3, 4), np.float32), np.zeros((1, 3, 2), np.float32), np.zeros((3, 4), np.float32)]
    wants = [np.zeros(shape, np.float32) for shape in ((1, 1, 4), (1, 1), (1, 1), (1,))]
    with pytest.raises(GraphError, match="MaxClassesPreDetection") as caught:
        Check(attr, arrays, wants).run()
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED
