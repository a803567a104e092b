"""NMS frames in the shapes of HailoRT's Python API (pyhailort-api.md 7, 8, Raw NMS buffers)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.hailo_platform.exceptions import exception_of
from emu.hailo_platform.infos import BBOX_WITH_MASK_PARAMS
from emu.hef.formats import BBOX_PARAMS

Array = NDArray[Any]
_COUNT = struct.Struct("<H")
_DETECTION = struct.Struct("<5fH")  # y_min, x_min, y_max, x_max, score, class
_MASK_SIZE = struct.Struct("<Q")
_INVALID_ARGUMENT = 2


class Detection:
    """One detection; edges of the box from 0 to 1."""

    def __init__(self, y_min: float, x_min: float, y_max: float, x_max: float, score: float, class_id: int) -> None:
        self.y_min, self.x_min, self.y_max, self.x_max = y_min, x_min, y_max, x_max
        self.score = score
        self.class_id = class_id

    def __repr__(self) -> str:
        box = ", ".join(f"{edge:.4f}" for edge in (self.y_min, self.x_min, self.y_max, self.x_max))
        return f"{type(self).__name__}(class_id={self.class_id}, score={self.score:.4f}, box=({box}))"


class DetectionWithByteMask(Detection):
    """`mask`: uint8, flat, ceil((y_max - y_min) * H) rows of ceil((x_max - x_min) * W) bytes, 1 inside the object."""

    def __init__(self, *values: Any, mask: Array) -> None:
        super().__init__(*values)
        self.mask = mask


def by_class(frame: Array, classes: int) -> list[Array]:
    """Flat float32 frame -> per class (detections, 5): y_min, x_min, y_max, x_max, score."""
    values = frame.reshape(-1)
    found: list[Array] = []
    at = 0
    for _ in range(classes):
        count = _count(values, at)
        boxes = values[at + 1 : at + 1 + count * BBOX_PARAMS]
        if boxes.size != count * BBOX_PARAMS:
            raise exception_of(_INVALID_ARGUMENT, f"an NMS frame of {values.size} values ends within its boxes")
        found.append(boxes.reshape(count, BBOX_PARAMS) if count else np.empty([0, BBOX_PARAMS]))
        at += 1 + count * BBOX_PARAMS
    return found


def by_class_tf(frame: Array, classes: int, boxes: int, empty: Array) -> Array:
    """As `by_class`, as one array (classes, 5, boxes) that is filled up with empty boxes."""
    found = np.empty((classes, BBOX_PARAMS, boxes), frame.dtype)
    found[:] = empty[:, None]
    for index, detections in enumerate(by_class(frame, classes)):
        count = min(len(detections), boxes)
        found[index, :, :count] = detections[:count].T
    return found


def _count(values: Array, at: int) -> int:
    if at >= values.size:
        raise exception_of(_INVALID_ARGUMENT, f"an NMS frame of {values.size} values ends within its classes")
    count = float(values[at])
    if not 0 <= count <= values.size:
        raise exception_of(_INVALID_ARGUMENT, f"{count:g} detections in an NMS frame of {values.size} values")
    return int(count)


def by_score(frame: Array) -> list[Detection]:
    """The detections, best first."""
    data = frame.reshape(-1).view(np.uint8).tobytes()
    (count,) = _COUNT.unpack_from(data, 0)
    if _COUNT.size + count * _DETECTION.size > len(data):
        raise exception_of(_INVALID_ARGUMENT, f"{count} detections in an NMS frame of {len(data)} bytes")
    return [Detection(*_DETECTION.unpack_from(data, _COUNT.size + at * _DETECTION.size)) for at in range(count)]


def with_byte_masks(frame: Array, header: int) -> list[DetectionWithByteMask]:
    """The detections with their masks, best first; `header`: bytes of a record before its mask."""
    return list(_masked(frame.reshape(-1).view(np.uint8), header))


def _masked(data: Array, header: int) -> Iterator[DetectionWithByteMask]:
    packed = data.tobytes()
    (count,) = _COUNT.unpack_from(packed, 0)
    at = _COUNT.size
    for _ in range(count):
        if at + header > data.size:  # the frame had no room for the rest of them
            return
        values = _DETECTION.unpack_from(packed, at)
        (size,) = _MASK_SIZE.unpack_from(packed, at + _DETECTION.size)
        at += header
        if at + size > data.size:
            return
        yield DetectionWithByteMask(*values, mask=data[at : at + size].copy())
        at += size


def masks_tf(frame: Array, header: int, boxes: int, height: int, width: int, dtype: Any) -> Array:
    """(H * W + 6, boxes): y_min, x_min, y_max, x_max, score, class, then the mask in the whole image."""
    found = np.zeros((boxes, height * width + BBOX_WITH_MASK_PARAMS), dtype)
    for row, one in zip(found, with_byte_masks(frame, header), strict=False):
        row[:BBOX_WITH_MASK_PARAMS] = (one.y_min, one.x_min, one.y_max, one.x_max, one.score, one.class_id)
        row[BBOX_WITH_MASK_PARAMS:] = _in_image(one, height, width)
    return found.T


def _in_image(one: DetectionWithByteMask, height: int, width: int) -> Array:
    """The mask as a flat image; what reaches beyond the last row or column lies on it."""
    columns = max(math.ceil((one.x_max - one.x_min) * width), 1)
    inside = np.flatnonzero(one.mask == 1)
    rows = np.minimum(math.ceil(one.y_min * height) + inside // columns, height - 1)
    across = np.minimum(math.ceil(one.x_min * width) + inside % columns, width - 1)
    image = np.zeros((height, width), np.uint8)
    image[np.maximum(rows, 0), np.maximum(across, 0)] = 1
    return image.reshape(-1)
