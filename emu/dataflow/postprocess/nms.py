"""What all detection ops share: detections, sorting, suppression, and the two box layouts (netflow-nms.md 2, 9).

Boxes are float32 rows (y_min, x_min, y_max, x_max), normalised and never clipped. A score of exactly 0.0 marks a
removed detection, so a real one with score 0.0 is never written although its class still counts it (known-bugs.md 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.formats import Bytes
from emu.dataflow.postprocess.sort import sort_order
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import BBOX_PARAMS, DETECTION_BYTES, NMS_COUNT_BYTES

REMOVED_SCORE = 0.0

# a class with more detections than this is suppressed block by block, the others together pair by pair
_LARGE_CLASS = 128
_BLOCK_ROWS = 64
_PAIRS_AT_ONCE = 1 << 17  # of two rows of boxes and their scratch; stays in the second-level cache

Float32s = NDArray[np.float32]
Indices = NDArray[np.intp]

DETECTION_DTYPE = np.dtype(
    [("y_min", "<f4"), ("x_min", "<f4"), ("y_max", "<f4"), ("x_max", "<f4"), ("score", "<f4"), ("class_id", "<u2")]
)


@dataclass(frozen=True, slots=True)
class NmsConfig:
    """Configuration common to the detection ops; thresholds are doubles that hold binary32 values.

    `classes` and `max_proposals_total` include the background class. `cross_classes` suppresses over all classes at
    once; no HEF can ask for it and HailoRT never does it.
    """

    score_threshold: float
    iou_threshold: float
    max_proposals_per_class: int
    classes: int
    max_proposals_total: int
    background_removal: bool = False
    background_removal_index: int = 0
    cross_classes: bool = False


@dataclass(slots=True)
class Detections:
    """Detections in generation order, then (`sorted`) by score: boxes [n, 4], scores [n], classes [n].

    `source` [n] is the position of each in generation order.
    """

    boxes: Float32s
    scores: Float32s
    classes: Indices
    source: Indices

    @classmethod
    def of(cls, boxes: Float32s, scores: Float32s, classes: NDArray[np.integer]) -> Detections:
        """From arrays of one length; NaN scores are refused (std::sort would leave the array with them)."""
        if np.isnan(scores).any():
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, "a detection's score is NaN: it has no order")
        return cls(boxes, scores, classes.astype(np.intp), np.arange(scores.size))

    @classmethod
    def concatenate(cls, parts: list[Detections]) -> Detections:
        if not parts:
            empty = np.zeros(0, np.float32)
            return cls.of(empty.reshape(0, 4), empty, np.zeros(0, np.intp))
        return cls.of(
            np.concatenate([part.boxes for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.classes for part in parts]),
        )

    def counts(self, classes: int) -> NDArray[np.int64]:
        """Detections of each class; removed ones included."""
        if self.classes.size and int(self.classes.max()) >= classes:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"a detection of class {int(self.classes.max())} where there are {classes}",
            )
        return np.bincount(self.classes, minlength=classes).astype(np.int64)

    def sorted(self) -> Detections:
        order = sort_order(self.scores)
        return Detections(self.boxes[order], self.scores[order], self.classes[order], self.source[order])


def remove_overlapping(
    detections: Detections, classes: int, iou_threshold: float, cross_classes: bool = False
) -> tuple[Detections, NDArray[np.int64]]:
    """Sort, then remove every box whose IoU with a better kept box of its class is >= `iou_threshold`.

    Returns the sorted detections with removed scores set to 0.0, and the remaining count of each class.
    """
    counts = detections.counts(classes)
    result = detections.sorted()
    groups = np.zeros_like(result.classes) if cross_classes else result.classes
    removed = suppressed(result.boxes, result.scores, groups, iou_threshold)
    result.scores[removed] = REMOVED_SCORE
    counts -= np.bincount(result.classes[removed], minlength=classes)
    return result, counts


def suppressed(boxes: Float32s, scores: Float32s, groups: Indices, iou_threshold: float) -> Indices:
    """Positions that greedy suppression removes from detections sorted by score; only `groups` suppress each other."""
    taking_part = np.flatnonzero(scores != REMOVED_SCORE)
    by_group = taking_part[np.argsort(groups[taking_part], kind="stable")]
    starts = np.flatnonzero(np.diff(groups[by_group], prepend=-1))
    sizes = np.diff(starts, append=by_group.size)
    threshold = np.float64(iou_threshold)
    has_nan = bool(np.isnan(boxes).any())
    removed = np.zeros(scores.size, np.bool_)
    with np.errstate(all="ignore"):
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        shapes = _Boxes(boxes, areas, threshold, has_nan)
        small = np.repeat(sizes <= _LARGE_CLASS, sizes)
        _suppress_pairs(shapes, by_group[small], sizes[sizes <= _LARGE_CLASS], removed)
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            if size > _LARGE_CLASS:
                _suppress_blocks(shapes, by_group[start : start + size], removed)
    return np.flatnonzero(removed)


@dataclass(frozen=True, slots=True)
class _Boxes:
    boxes: Float32s
    areas: Float32s
    threshold: np.float64
    has_nan: bool

    def overlaps(self, first: Indices, second: Indices) -> NDArray[np.bool_]:
        """IoU(first, second) >= threshold, elementwise over broadcast index arrays; `first` is the kept box."""
        a, b = self.boxes, self.boxes
        height = self._min(a[first, 2], b[second, 2]) - self._max(a[first, 0], b[second, 0])
        width = self._min(a[first, 3], b[second, 3]) - self._max(a[first, 1], b[second, 1])
        touching = ~((width <= 0) | (height <= 0))  # not `> 0`: NaN counts as touching
        # boxes apart have IoU 0, which reaches a threshold of 0 or less (known-bugs.md 4)
        hits: NDArray[np.bool_] = ~touching if self.threshold <= 0 else np.zeros(touching.shape, np.bool_)
        where = np.nonzero(touching)
        if where[0].size:
            grid_first, grid_second = np.broadcast_arrays(first, second)
            at_first, at_second = grid_first[where], grid_second[where]
            intersection = width[where] * height[where]
            union = (self.areas[at_first] + self.areas[at_second]) - intersection
            hits[where] = (intersection / union).astype(np.float64) >= self.threshold
        return hits

    def _min(self, a: Float32s, b: Float32s) -> Float32s:
        """std::min: the first operand unless the second is less, which with NaN is not np.minimum."""
        return np.where(b < a, b, a) if self.has_nan else np.minimum(a, b)

    def _max(self, a: Float32s, b: Float32s) -> Float32s:
        return np.where(a < b, b, a) if self.has_nan else np.maximum(a, b)


def iou(box: Float32s, other: Float32s) -> np.float32:
    """IoU of two boxes (y_min, x_min, y_max, x_max) in binary32, no epsilon; 0 where they do not overlap."""
    height = min(box[2], other[2]) - max(box[0], other[0])
    width = min(box[3], other[3]) - max(box[1], other[1])
    if width <= 0 or height <= 0:
        return np.float32(0)
    intersection = width * height
    areas = (box[2] - box[0]) * (box[3] - box[1]) + (other[2] - other[0]) * (other[3] - other[1])
    return np.float32(intersection / (areas - intersection))


def _suppress_pairs(shapes: _Boxes, members: Indices, sizes: Indices, removed: NDArray[np.bool_]) -> None:
    """All pairs inside groups laid one after the other in `members`, best first."""
    if members.size == 0:
        return
    ends = np.repeat(np.cumsum(sizes), sizes)
    later = ends - 1 - np.arange(members.size)  # members after each one in its group
    firsts, seconds = [], []
    for start, stop in _pair_chunks(later):
        counts = later[start:stop]
        first = np.repeat(np.arange(start, stop), counts)
        within = np.arange(first.size) - np.repeat(np.cumsum(counts) - counts, counts)
        second = first + 1 + within
        first, second = members[first], members[second]
        hits = shapes.overlaps(first, second)
        firsts.append(first[hits])
        seconds.append(second[hits])
    _resolve(np.concatenate(firsts), np.concatenate(seconds), removed)


def _pair_chunks(later: Indices) -> Iterator[tuple[int, int]]:
    cumulative = np.cumsum(later)
    start = 0
    while start < later.size:
        base = int(cumulative[start - 1]) if start else 0
        stop = max(int(np.searchsorted(cumulative, base + _PAIRS_AT_ONCE, side="right")), start + 1)
        yield start, stop
        start = stop


def _resolve(first: Indices, second: Indices, removed: NDArray[np.bool_]) -> None:
    """Greedy outcome of the overlapping pairs: a box is removed exactly if a better box that stays overlaps it.

    Every pair points from a better to a worse box, so repeating this rule settles, from the best boxes on, at its
    only solution.
    """
    fixed = removed.copy()
    while True:
        settled = fixed.copy()
        settled[second[~removed[first]]] = True
        if np.array_equal(settled, removed):
            return
        removed[:] = settled


def _suppress_blocks(shapes: _Boxes, members: Indices, removed: NDArray[np.bool_]) -> None:
    """One large group: rows of its best remaining boxes against everything after them."""
    remaining = members
    while remaining.size:
        rows = remaining[:_BLOCK_ROWS]
        hits = shapes.overlaps(rows[:, None], rows[None, :])
        first, second = np.nonzero(np.triu(hits, 1))
        _resolve(rows[first], rows[second], removed)
        kept = rows[~removed[rows]]
        remaining = remaining[_BLOCK_ROWS:]
        for start in range(0, kept.size, _BLOCK_ROWS):
            hits = shapes.overlaps(kept[start : start + _BLOCK_ROWS, None], remaining[None, :])
            removed[remaining[hits.any(axis=0)]] = True
        remaining = remaining[~removed[remaining]]


def fill_by_class(detections: Detections, counts: NDArray[np.int64], config: NmsConfig, out: Bytes) -> None:
    """Write HAILO_NMS_BY_CLASS: every class a float32 count and its boxes, compact; the rest of `out` untouched.

    All `config.classes` counts are written, so with background removal a last 0.0 follows the reported classes; where
    that lies past the frame it is dropped (known-bugs.md 5).
    """
    values = out[: out.size // 4 * 4].view("<f4")
    written = np.minimum(counts, config.max_proposals_per_class)
    before = np.cumsum(written) - written
    positions = np.arange(config.classes) + BBOX_PARAMS * before
    inside = positions < values.size
    values[positions[inside]] = written[inside].astype(np.float32)

    alive = np.flatnonzero(detections.scores != REMOVED_SCORE)
    order = alive[np.argsort(detections.classes[alive], kind="stable")]
    classes = detections.classes[order]
    starts = np.searchsorted(classes, np.arange(config.classes))
    rank = np.arange(order.size) - starts[classes]
    fits = rank < written[classes]
    order, classes, rank = order[fits], classes[fits], rank[fits]
    records = np.concatenate([detections.boxes[order], detections.scores[order, None]], axis=1)
    targets = (positions[classes] + 1 + BBOX_PARAMS * rank)[:, None] + np.arange(BBOX_PARAMS)
    inside = targets < values.size
    values[targets[inside]] = records[inside]


def fill_by_score(detections: Detections, config: NmsConfig, out: Bytes, sort_again: bool = False) -> None:
    """Write HAILO_NMS_BY_SCORE: u16 count, then 22-byte records over all classes.

    Up to max_proposals_total + 1 detections are counted and written; what lies past the frame is dropped
    (known-bugs.md 1).
    """
    if sort_again:
        detections = detections.sorted()
    alive = np.flatnonzero(detections.scores != REMOVED_SCORE)[: config.max_proposals_total + 1]
    if alive.size > 0xFFFF:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"{alive.size} detections do not fit the 16-bit count of a frame"
        )
    records = np.zeros(alive.size, DETECTION_DTYPE)
    for column, name in enumerate(("y_min", "x_min", "y_max", "x_max")):
        records[name] = detections.boxes[alive, column]
    records["score"] = detections.scores[alive]
    records["class_id"] = detections.classes[alive] & 0xFFFF
    raw = records.view(np.uint8).reshape(-1) if alive.size else np.zeros(0, np.uint8)
    room = max(out.size - NMS_COUNT_BYTES, 0)
    out[NMS_COUNT_BYTES : NMS_COUNT_BYTES + min(room, raw.size)] = raw[:room]
    out[:NMS_COUNT_BYTES] = np.frombuffer(int(alive.size).to_bytes(NMS_COUNT_BYTES, "little"), np.uint8)


assert DETECTION_DTYPE.itemsize == DETECTION_BYTES
