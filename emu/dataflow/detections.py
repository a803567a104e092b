"""Results as people read them: boxes out of NMS frames, the best classes, maps of classes (netflow-nms.md 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from emu.dataflow.formats import Bytes
from emu.dataflow.nms_inverse import boxes_by_class
from emu.dataflow.postprocess.nms import DETECTION_DTYPE
from emu.dataflow.postprocess.yolov5_seg import Yolov5Seg
from emu.dataflow.vstreams import OutputVStream
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import NMS_COUNT_BYTES, FormatOrder
from emu.hef.runtime import library_rules

TOP_CLASSES = 5


class Detection(Struct, frozen=True):
    """One box, as fractions of the picture that the op takes it to be: (y_min, x_min, y_max, x_max), never clipped.

    `mask`, of a segmentation, are pixels [rows, columns] of 0 or 1 whose corner is at `mask_at` (top, left) of an image
    of `mask_image` (height, width).
    """

    class_id: int
    score: float
    box: tuple[float, float, float, float]
    mask: NDArray[np.uint8] | None = None
    mask_at: tuple[int, int] = (0, 0)
    mask_image: tuple[int, int] = (0, 0)

    def pixels(self, height: int, width: int) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1) in a picture of this size."""
        y_min, x_min, y_max, x_max = self.box
        return (x_min * width, y_min * height, x_max * width, y_max * height)


def detections(vstream: OutputVStream, frame: Bytes) -> list[Detection]:
    """The boxes of an NMS vstream's frame, best first (of equal scores in the frame's order)."""
    order = vstream.user.order
    if order is FormatOrder.HAILO_NMS_BY_CLASS:
        found = list(_by_class(frame, _classes(vstream)))
    elif order is FormatOrder.HAILO_NMS_BY_SCORE:
        found = list(by_score(frame))
    elif order is FormatOrder.HAILO_NMS_WITH_BYTE_MASK:
        assert isinstance(vstream.op, Yolov5Seg)
        found = list(with_masks(frame, vstream.op))
    else:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{vstream.info.name} is no NMS output")
    return sorted(found, key=lambda one: -one.score)


def _classes(vstream: OutputVStream) -> int:
    assert vstream.info.nms_shape is not None
    return vstream.info.nms_shape.number_of_classes


def _by_class(frame: Bytes, classes: int) -> Iterator[Detection]:
    for class_id, boxes in enumerate(boxes_by_class(frame, classes)):
        for box in boxes.tolist():
            yield Detection(class_id, box[4], (box[0], box[1], box[2], box[3]))


def _count(frame: Bytes) -> int:
    return int.from_bytes(frame[:NMS_COUNT_BYTES].tobytes(), "little")


def by_score(frame: Bytes) -> Iterator[Detection]:
    """The records of a HAILO_NMS_BY_SCORE frame, in its order."""
    room = (frame.size - NMS_COUNT_BYTES) // DETECTION_DTYPE.itemsize
    count = min(_count(frame), room)  # one more than fits may be announced (known-bugs.md 1)
    records = frame[NMS_COUNT_BYTES : NMS_COUNT_BYTES + count * DETECTION_DTYPE.itemsize].view(DETECTION_DTYPE)
    for record in records:
        yield _record(record)


def _record(record: Any) -> Detection:
    y_min, x_min, y_max, x_max = (float(record[name]) for name in ("y_min", "x_min", "y_max", "x_max"))
    return Detection(int(record["class_id"]), float(record["score"]), (y_min, x_min, y_max, x_max))


def with_masks(frame: Bytes, op: Yolov5Seg) -> Iterator[Detection]:
    """The records of a HAILO_NMS_WITH_BYTE_MASK frame that `op` made, in its order."""
    header = library_rules(op.runtime).mask_header_bytes
    offset = NMS_COUNT_BYTES
    for _ in range(_count(frame)):
        if offset + header > frame.size:
            return
        record = frame[offset : offset + DETECTION_DTYPE.itemsize].copy().view(DETECTION_DTYPE)[0]
        size = int.from_bytes(frame[offset + 22 : offset + 30].tobytes(), "little")
        # a list that was cut announces one record more than it has (known-bugs.md 2): that one is all zero
        if not record["score"] or offset + header + size > frame.size:
            return
        found = _record(record)
        top, left, rows, columns = op.mask_window(np.array(found.box, np.float32))
        mask = frame[offset + header : offset + header + rows * columns].reshape(rows, columns)
        yield replace(found, mask=mask, mask_at=(top, left), mask_image=op.image_size)
        offset += header + size


def top_classes(values: NDArray[Any]) -> list[tuple[int, float]]:
    """The best (class, value) pairs of a frame of scores; of equal ones the first."""
    flat = values.reshape(-1)
    best = np.argsort(-flat.astype(np.float64), kind="stable")[:TOP_CLASSES]
    return [(int(at), float(flat[at])) for at in best]


def is_classification(vstream: OutputVStream) -> bool:
    """Whether an output is one score for each of several classes."""
    shape = vstream.info.shape
    return not vstream.is_nms and shape is not None and shape.height == shape.width == 1 and shape.features > 1


def is_map(vstream: OutputVStream) -> bool:
    """Whether an output is a picture of class numbers: one integer a pixel."""
    shape = vstream.info.shape
    if vstream.is_nms or shape is None or min(shape.height, shape.width) < 2:
        return False
    return vstream.user.order is FormatOrder.NHW
