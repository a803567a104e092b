"""Sorting, suppression and the two box layouts, and what known-bugs.md says of their results."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emu.dataflow.postprocess.nms as nms_module
from emu.dataflow.postprocess.nms import Detections, NmsConfig, fill_by_class, fill_by_score, remove_overlapping
from emu.dataflow.postprocess.sort import sort_order
from emu.errors import HailoError
from emu.hef.formats import DETECTION_BYTES
from tests.conftest import DATA
from tests.dataflow import slow
from tests.dataflow.specs import FILL, filled

F = np.float32


def test_ties_come_out_as_std_sort_leaves_them() -> None:
    """Orders recorded from libstdc++, heapsort included (tests/data/std_sort.json says how)."""
    for case in json.loads((DATA / "std_sort.json").read_text())["cases"]:
        assert sort_order(np.array(case["scores"], F)).tolist() == case["order"]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.floats(0, 1, width=32), max_size=60, unique=True))
def test_distinct_scores_have_one_order(scores: list[float]) -> None:
    assert sort_order(np.array(scores, F)).tolist() == sorted(range(len(scores)), key=lambda at: -scores[at])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.integers(0, 60),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]),
    st.sampled_from([1, 3, 200]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_suppression_pair_by_pair(
    count: int, classes: int, threshold: float, large: int, strange: bool, seed: int
) -> None:
    """Pairwise and blockwise, with boxes that touch, coincide, are empty, inverted, infinite or NaN."""
    rng = np.random.default_rng(seed)
    boxes = (rng.integers(0, 6, (count, 4)) / F(4)).astype(F)
    if strange and count:
        boxes[rng.integers(0, count, 3), rng.integers(0, 4, 3)] = [np.nan, np.inf, -np.inf]
    scores = (rng.integers(0, 9, count) / F(8)).astype(F)
    found_classes = rng.integers(0, classes, count)
    before = nms_module._LARGE_CLASS, nms_module._BLOCK_ROWS, nms_module._PAIRS_AT_ONCE
    try:
        nms_module._LARGE_CLASS, nms_module._BLOCK_ROWS, nms_module._PAIRS_AT_ONCE = large, 4, 16
        result, counts = remove_overlapping(Detections.of(boxes, scores, found_classes), classes, threshold)
    finally:
        nms_module._LARGE_CLASS, nms_module._BLOCK_ROWS, nms_module._PAIRS_AT_ONCE = before
    order = sort_order(scores)
    loops = [[list(boxes[at]), scores[at], int(found_classes[at])] for at in order]
    wanted = [int((found_classes == one).sum()) for one in range(classes)]
    for cls in slow.suppress(loops, threshold):
        wanted[cls] -= 1
    assert result.scores.tolist() == [float(score) for _, score, _ in loops]
    assert counts.tolist() == wanted


@pytest.mark.parametrize("limit", [0, 1, 2, 63, 64, 65, 500])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_boxes_beyond_the_limit_need_no_decision(limit: int, threshold: float) -> None:
    """The frame by class is the same whether suppression stops at the limit of a class or not."""
    rng = np.random.default_rng(limit)
    boxes = np.sort(rng.integers(0, 40, (900, 2, 2)), axis=1).reshape(-1, 4).astype(F) / F(40)
    scores = (rng.integers(0, 300, 900) / F(256)).astype(F)
    rows = Detections.of(boxes, scores, rng.choice([0, 2, 3], 900, p=[0.6, 0.39, 0.01]))
    config = NmsConfig(0.0, threshold, limit, 4, 4 * limit)
    frames = []
    for enough in (None, limit):
        result, counts = remove_overlapping(rows, 4, threshold, enough=enough)
        frames.append(np.full(4 * (1 + 5 * limit) * 4, 0xCD, np.uint8))
        fill_by_class(result, counts, config, frames[-1])
    assert frames[0].tobytes() == frames[1].tobytes()


def detections(*rows: tuple[float, ...]) -> Detections:
    table = np.array(rows, np.float64).reshape(-1, 6)
    return Detections.of(table[:, :4].astype(F), table[:, 4].astype(F), table[:, 5].astype(np.intp))


def kept(result: Detections) -> list[float]:
    return [round(float(score), 6) for score in result.scores if score != 0]


UNIT, HALF = (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 0.5)


def test_a_box_exactly_at_the_threshold_is_removed() -> None:
    pair = detections((*UNIT, 0.75, 0), (*HALF, 0.5, 0))
    assert kept(remove_overlapping(pair, 1, 0.5)[0]) == [0.75]
    assert kept(remove_overlapping(pair, 1, float(np.nextafter(F(0.5), F(1))))[0]) == [0.75, 0.5]


def test_full_overlap_keeps_the_first_of_equal_scores_and_only_within_a_class() -> None:
    rows = detections((*UNIT, 0.5, 0), (*UNIT, 0.5, 0), (*UNIT, 0.5, 1))
    result, counts = remove_overlapping(rows, 2, 1.0)
    assert counts.tolist() == [1, 1]
    assert result.scores.tolist() == [0.5, 0.0, 0.5]


def test_across_classes_only_if_asked() -> None:
    rows = detections((*UNIT, 0.75, 0), (*UNIT, 0.5, 1))
    assert remove_overlapping(rows, 2, 0.5, cross_classes=True)[1].tolist() == [1, 0]


def test_zero_area_never_overlaps_but_threshold_zero_removes_everything_after_the_best() -> None:
    point = (0.5, 0.5, 0.5, 0.5)
    rows = detections((*point, 0.75, 0), (*point, 0.5, 0), (2.0, 2.0, 3.0, 3.0, 0.25, 0))
    assert kept(remove_overlapping(rows, 1, 0.01)[0]) == [0.75, 0.5, 0.25]
    assert kept(remove_overlapping(rows, 1, 0.0)[0]) == [0.75]


def test_a_suppressed_box_does_not_suppress() -> None:
    chain = detections((0, 0, 1, 1, 0.9, 0), (0, 0.3, 1, 1.3, 0.8, 0), (0, 0.6, 1, 1.6, 0.7, 0))
    assert kept(remove_overlapping(chain, 1, 0.5)[0]) == [pytest.approx(0.9), pytest.approx(0.7)]


def test_nan_boxes_survive_and_suppress_nothing() -> None:
    """known-bugs.md 11"""
    nan = float("nan")
    rows = detections((nan, 0, 1, 1, 0.9, 0), (0, 0, 1, 1, 0.8, 0), (0, 0, nan, 1, 0.7, 0))
    assert len(kept(remove_overlapping(rows, 1, 0.1)[0])) == 3


def test_nan_edges_count_as_std_min_and_max_see_them() -> None:
    """min(1, NaN) is 1, so the box lies apart and IoU 0 reaches the threshold 0 (netflow-nms.md 2)."""
    nan = float("nan")
    assert kept(remove_overlapping(detections((*UNIT, 0.75, 0), (5, 0, nan, 1, 0.5, 0)), 1, 0.0)[0]) == [0.75]
    assert kept(remove_overlapping(detections((*UNIT, 0.75, 0), (nan, 0, 1, 1, 0.5, 0)), 1, 0.0)[0]) == [0.75, 0.5]


def test_nan_scores_are_refused() -> None:
    with pytest.raises(HailoError, match="NaN"):
        detections((*UNIT, float("nan"), 0))


def test_a_score_of_zero_is_counted_but_never_written() -> None:
    """known-bugs.md 3: the class announces two boxes, the second slot keeps its old bytes."""
    result, counts = remove_overlapping(detections((*UNIT, 0.0, 0), (2, 2, 3, 3, 0.5, 0), (*UNIT, 0.25, 1)), 2, 0.5)
    frame = filled(200)
    fill_by_class(result, counts, NmsConfig(0, 0.5, 9, 2, 18), frame)
    values = frame.view("<f4")
    assert values[0] == 2 and values[1:6].tolist() == [2, 2, 3, 3, 0.5]
    assert frame[24:44].tolist() == [FILL] * 20
    assert values[11] == 1 and values[12:17].tolist() == [*UNIT, 0.25]


def test_no_boxes_write_counts_alone() -> None:
    frame = filled(60)
    empty, counts = remove_overlapping(Detections.concatenate([]), 3, 0.5)
    fill_by_class(empty, counts, NmsConfig(0, 0.5, 1, 3, 3), frame)
    assert frame[:12].tolist() == [0] * 12 and frame[12:].tolist() == [FILL] * 48
    frame = filled(24)
    fill_by_score(empty, NmsConfig(0, 0.5, 1, 3, 1), frame)
    assert frame[:2].tolist() == [0, 0] and frame[2:].tolist() == [FILL] * 22


def test_a_class_keeps_its_best_up_to_the_limit() -> None:
    rows = detections(*((0, i, 1, i + 1, 0.1 * (i + 1), 0) for i in range(5)), (0, 0, 1, 1, 0.05, 1))
    result, counts = remove_overlapping(rows, 2, 0.5)
    frame = np.zeros(2 * 44, np.uint8)
    fill_by_class(result, counts, NmsConfig(0, 0.5, 2, 2, 4), frame)
    values = frame.view("<f4")
    assert values[0] == 2 and [round(float(values[at]), 4) for at in (5, 10)] == [0.5, 0.4]
    assert values[11] == 1 and round(float(values[16]), 4) == 0.05


def test_records_are_packed() -> None:
    assert nms_module.DETECTION_DTYPE.itemsize == DETECTION_BYTES


def test_by_score_announces_one_more_than_the_limit_and_drops_its_bytes() -> None:
    """known-bugs.md 1"""
    rows = detections(*((0, i, 1, i + 1, 0.9 - 0.1 * i, i) for i in range(4)))
    result, _ = remove_overlapping(rows, 4, 0.5)
    frame = filled(2 + 2 * 22)
    fill_by_score(result, NmsConfig(0, 0.5, 4, 4, 2), frame)
    assert int(frame[:2].view("<u2")[0]) == 3
    assert frame[-2:].tolist() == [1, 0]  # the second record's class


def test_background_removal_leaves_a_last_zero_count() -> None:
    """known-bugs.md 5"""
    result, counts = remove_overlapping(detections((*UNIT, 0.5, 0)), 2, 0.5)
    frame = filled(44)
    fill_by_class(result, counts, NmsConfig(0, 0.5, 1, 2, 2, background_removal=True), frame[:24])
    assert frame[:24].view("<f4").tolist() == [1, *UNIT, 0.5]
    assert frame[24:].tolist() == [FILL] * 20
