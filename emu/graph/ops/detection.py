"""Boxes out of a detector's raw results, as TFLite_Detection_PostProcess gives them (graph-conventions.md MS-O17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.axes import need_rank, need_shape


@dataclass(frozen=True, slots=True)
class DetectionPostProcess(Op):
    """encodings [1, N, 4] (y, x, h, w), scores [1, N, classes, one more where class 0 is background], anchors [N, 4]
    (y, x, h, w of the centre) → boxes [1, M, 4] (ymin, xmin, ymax, xmax), classes [1, M], scores [1, M], count [1].

    `regular`: per class the best `per_class` boxes that overlap no better one, all merged by score; else one such run
    on the best class of each box. M is `detections`; unused places are 0.
    """

    y_scale: float
    x_scale: float
    h_scale: float
    w_scale: float
    iou_threshold: float
    score_threshold: float
    detections: int
    per_class: int
    classes_per_detection: int
    classes: int
    regular: bool

    def shape(self, encodings: Operand, scores: Operand, anchors: Operand) -> list[Shape | None]:
        need_rank(encodings.shape, 3, "encodings")
        count = encodings.shape[1]
        need_shape(encodings.shape, (1, count, 4), "encodings")
        need_shape(anchors.shape, (count, 4), "anchors")
        if self.classes < 1:
            raise OpError(f"{self.classes} classes", "NumClasses")
        if scores.shape not in ((1, count, self.classes), (1, count, self.classes + 1)):
            raise OpError(f"scores {list(scores.shape)} of {count} boxes and {self.classes} classes", "NumClasses")
        if self.classes_per_detection > 1:
            raise OpError(
                f"{self.classes_per_detection} classes a detection are not supported",
                "MaxClassesPreDetection",
                GraphStatus.GRAPH_UNSUPPORTED,
            )
        if self.detections < 1:
            raise OpError(f"{self.detections} detections", "MaxDetections")
        if self.regular and self.per_class < 1:
            raise OpError(f"{self.per_class} detections a class", "DetectionsPreClass")
        for name, scale in zip("yxhw", (self.y_scale, self.x_scale, self.h_scale, self.w_scale), strict=True):
            if scale == 0:
                raise OpError("0 is no scale", f"{name}Scale")
        m = self.detections
        return [(1, m, 4), (1, m), (1, m), (1,)]

    def reference(self, encodings: Array, scores: Array, anchors: Array) -> list[Array]:
        boxes = self._decode(encodings[0].astype(np.float64), anchors.astype(np.float64))
        of_classes = scores[0, :, scores.shape[2] - self.classes :]
        found = self._regular(boxes, of_classes) if self.regular else self._fast(boxes, of_classes)
        out = [
            np.zeros((1, self.detections, 4), np.float32),
            np.zeros((1, self.detections), np.float32),
            np.zeros((1, self.detections), np.float32),
            np.array([len(found)], np.float32),
        ]
        for at, (box, kind) in enumerate(found):
            out[0][0, at] = boxes[box]
            out[1][0, at] = kind
            out[2][0, at] = of_classes[box, kind]
        return out

    def _decode(self, encodings: Array, anchors: Array) -> Array:
        centre_y = encodings[:, 0] / self.y_scale * anchors[:, 2] + anchors[:, 0]
        centre_x = encodings[:, 1] / self.x_scale * anchors[:, 3] + anchors[:, 1]
        half_h = np.exp(encodings[:, 2] / self.h_scale) * anchors[:, 2] / 2
        half_w = np.exp(encodings[:, 3] / self.w_scale) * anchors[:, 3] / 2
        return np.stack([centre_y - half_h, centre_x - half_w, centre_y + half_h, centre_x + half_w], 1)

    def _fast(self, boxes: Array, scores: Array) -> list[tuple[int, int]]:
        best = np.argmax(scores, 1)
        kept = self._suppress(boxes, scores[np.arange(len(scores)), best], self.detections)
        return [(box, int(best[box])) for box in kept]

    def _regular(self, boxes: Array, scores: Array) -> list[tuple[int, int]]:
        found = [
            (box, kind)
            for kind in range(self.classes)
            for box in self._suppress(boxes, scores[:, kind], self.per_class)
        ]
        found.sort(key=lambda entry: -float(scores[entry]))
        return found[: self.detections]

    def _suppress(self, boxes: Array, scores: Array, limit: int) -> list[int]:
        """Greedy: the best box that overlaps none of those kept by more than the threshold, until `limit` are kept."""
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] >= self.score_threshold]
        kept: list[int] = []
        while len(order) and len(kept) < limit:
            best, order = int(order[0]), order[1:]
            kept.append(best)
            order = order[overlap(boxes[best], boxes[order]) <= self.iou_threshold]
        return kept


def overlap(box: Array, others: Array) -> Array:
    """Intersection over union of one box [4] with others [N, 4]; 0 with a box that has no area."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=1)
    area = np.prod(box[2:] - box[:2])
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    union = area + areas - common
    return np.where((area > 0) & (areas > 0), common / np.where(union > 0, union, 1), 0)
