"""What all detection ops share: detections, sorting, suppression, and the two box layouts (netflow-nms.md 2, 9).

Boxes are float32 rows (y_min, x_min, y_max, x_max), normalised and never clipped. A score of exactly 0.0 marks a
removed detection, so a real one with score 0.0 is never written although its class still counts it (known-bugs.md 3).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.dataflow.formats import Bytes
from emu.dataflow.postprocess.sort import sort_order
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import BBOX_PARAMS, NMS_COUNT_BYTES

REMOVED_SCORE = 0.0

# a class with more detections than this is suppressed block by block, the others many at once
_LARGE_CLASS = 128
_BLOCK_ROWS = 64
_PAIRS_AT_ONCE = 30_000  # binary32 numbers of so many stay under the 128 KiB from which malloc maps fresh pages

Float32s = NDArray[np.float32]
Indices = NDArray[np.intp]

DETECTION_DTYPE = np.dtype(
    [("y_min", "<f4"), ("x_min", "<f4"), ("y_max", "<f4"), ("x_max", "<f4"), ("score", "<f4"), ("class_id", "<u2")]
)


class NmsConfig(Struct, frozen=True):
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


class Detections(Struct):
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
    detections: Detections, classes: int, iou_threshold: float, cross_classes: bool = False, enough: int | None = None
) -> tuple[Detections, NDArray[np.int64]]:
    """Sort, then remove every box whose IoU with a better kept box of its class is >= `iou_threshold`.

    Returns the sorted detections with removed scores set to 0.0, and the remaining count of each class. Where only
    `enough` boxes of a class will be written, what follows them may be left undecided, and counted.
    """
    counts = detections.counts(classes)
    result = detections.sorted()
    groups = np.zeros_like(result.classes) if cross_classes else result.classes
    removed = suppressed(result.boxes, result.scores, groups, iou_threshold, None if cross_classes else enough)
    result.scores[removed] = REMOVED_SCORE
    counts -= np.bincount(result.classes[removed], minlength=classes)
    return result, counts


def suppressed(
    boxes: Float32s, scores: Float32s, groups: Indices, iou_threshold: float, enough: int | None = None
) -> Indices:
    """Positions that greedy suppression removes from detections sorted by score; only `groups` suppress each other.

    Behind the first `enough` that stay of a group it may stop.
    """
    taking_part = np.flatnonzero(scores != REMOVED_SCORE)
    groups = groups[taking_part]
    by_group = taking_part[_grouped(groups)]
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    # from here on positions count within `by_group`: groups one after the other, each from its best on
    removed = np.zeros(by_group.size, np.bool_)
    with np.errstate(all="ignore"):
        candidates = _Candidates.of(boxes[by_group], iou_threshold)
        small = sizes <= _LARGE_CLASS
        _suppress_small(candidates, starts[small], sizes[small], removed)
        for start, size in zip(starts[~small].tolist(), sizes[~small].tolist(), strict=True):
            _suppress_large(candidates, np.arange(start, start + size), removed, size if enough is None else enough)
    return by_group[removed]


def _grouped(groups: Indices) -> Indices:
    """Stable order by group; 16-bit numbers are sorted by counting."""
    fits = groups.size == 0 or int(groups.max()) <= 0xFFFF
    return np.argsort(groups.astype(np.uint16) if fits else groups, kind="stable")


class _Candidates(Struct, frozen=True):
    """Edges and areas, a contiguous array each."""

    y_min: Float32s
    x_min: Float32s
    y_max: Float32s
    x_max: Float32s
    areas: Float32s
    threshold: np.float64
    has_nan: bool

    @classmethod
    def of(cls, boxes: Float32s, iou_threshold: float) -> _Candidates:
        y_min, x_min, y_max, x_max = np.ascontiguousarray(boxes.T)
        areas = (y_max - y_min) * (x_max - x_min)
        return cls(y_min, x_min, y_max, x_max, areas, np.float64(iou_threshold), bool(np.isnan(boxes).any()))

    def overlapping(self, rows: Indices, columns: Indices, considered: NDArray[np.bool_]) -> tuple[Indices, Indices]:
        """The pairs (row, column) with IoU >= threshold, out of rows [g, r] and columns [g, c] of g independent grids.

        `considered` broadcasts to [g, r, c] and says which pairs count; the row is the box that is kept.
        """
        height = self._extent(self.y_min, self.y_max, rows[:, :, None], columns[:, None, :])
        apart = height <= 0  # not `not > 0`: NaN counts as touching
        near = np.flatnonzero(~apart & considered)
        first, second = _members(rows, columns, near)
        width = self._extent(self.x_min, self.x_max, first, second)
        beside = width <= 0
        inside = np.flatnonzero(~beside)
        intersection = width[inside] * height.reshape(-1)[near[inside]]
        union = (self.areas[first[inside]] + self.areas[second[inside]]) - intersection
        hits = inside[(intersection / union).astype(np.float64) >= self.threshold]
        if self.threshold > 0:
            return first[hits], second[hits]
        # boxes apart have IoU 0, which reaches a threshold of 0 or less (known-bugs.md 4)
        far = _members(rows, columns, np.flatnonzero(apart & considered))
        return np.concatenate([far[0], first[beside], first[hits]]), np.concatenate(
            [far[1], second[beside], second[hits]]
        )

    def _extent(self, low: Float32s, high: Float32s, first: Indices, second: Indices) -> Float32s:
        """std::min of the far edges minus std::max of the near ones: both keep their first operand unless the second
        is less or greater, which with NaN is neither np.minimum nor np.maximum."""
        a, b, c, d = high[first], high[second], low[first], low[second]
        if not self.has_nan:
            return np.minimum(a, b) - np.maximum(c, d)
        return np.where(b < a, b, a) - np.where(c < d, d, c)


def _members(rows: Indices, columns: Indices, flat: Indices) -> tuple[Indices, Indices]:
    """Row and column members of flat positions in [g, r, c]."""
    row, column = np.divmod(flat, columns.shape[1])
    grid = row // rows.shape[1]
    return rows.reshape(-1)[row], columns.reshape(-1)[grid * columns.shape[1] + column]


def _suppress_small(candidates: _Candidates, starts: Indices, sizes: Indices, removed: NDArray[np.bool_]) -> None:
    """Groups against themselves, many at once: grids as wide as the largest of them."""
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] > 1]
    firsts, seconds = [], []
    while order.size:
        count = max(int(np.searchsorted(np.arange(1, order.size + 1) * sizes[order] ** 2, _PAIRS_AT_ONCE)), 1)
        taken, order = order[:count], order[count:]
        width = int(sizes[taken[-1]])
        within = np.arange(width)
        real = within < sizes[taken, None]
        members = starts[taken, None] + np.where(real, within, 0)
        better = within[:, None] < within
        first, second = candidates.overlapping(members, members, better & real[:, None, :])
        firsts.append(first)
        seconds.append(second)
    if firsts:
        _resolve(np.concatenate(firsts), np.concatenate(seconds), removed)


def _resolve(first: Indices, second: Indices, removed: NDArray[np.bool_]) -> None:
    """Greedy outcome of the overlapping pairs: a box is removed exactly if a better box that stays overlaps it.

    Every pair points from a better to a worse box, so repeating this rule settles, from the best boxes on, at its
    only solution.
    """
    fixed = removed.copy()
    while first.size:
        settled = fixed.copy()
        settled[second[~removed[first]]] = True
        if np.array_equal(settled, removed):
            return
        removed[:] = settled


def _suppress_large(candidates: _Candidates, remaining: Indices, removed: NDArray[np.bool_], enough: int) -> None:
    """One group, rows of its best remaining boxes against each other, then the kept ones against all the rest."""
    everything = np.ones((1, 1, 1), np.bool_)
    while remaining.size and enough > 0:
        rows, remaining = remaining[:_BLOCK_ROWS], remaining[_BLOCK_ROWS:]
        within = np.arange(rows.size)
        _resolve(*candidates.overlapping(rows[None], rows[None], (within[:, None] < within)[None]), removed)
        kept = rows[~removed[rows]]
        enough -= kept.size
        _, second = candidates.overlapping(kept[None], remaining[None], everything)
        removed[second] = True
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
    order = alive[_grouped(detections.classes[alive])]
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
