"""NMS buffers that are packed by hand (docs/reference/pyhailort-api.md, Raw NMS buffers)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from emu.hailo_platform import nms
from emu.hailo_platform.exceptions import HailoRTException, HailoRTInvalidArgumentException

BOXES = [(0.1, 0.2, 0.3, 0.4, 0.9), (0.5, 0.5, 1.0, 0.75, 0.6)]


def f32(values: Any) -> Any:
    return np.array(values, np.float32)


def test_by_class() -> None:
    frame = f32([1, *BOXES[0], 0, 2, *BOXES[1], *BOXES[0], 99, 99])
    first, second, third = nms.by_class(frame, 3)
    assert (first == f32([BOXES[0]])).all()
    assert second.shape == (0, 5)
    assert (third == f32([BOXES[1], BOXES[0]])).all()


def test_by_class_as_one_array() -> None:
    empty = f32([7, 7, 7, 7, 7])
    found = nms.by_class_tf(f32([1, *BOXES[0], 0]), 2, 3, empty)
    assert found.shape == (2, 5, 3)
    assert (found[0, :, 0] == f32(BOXES[0])).all()
    assert (found[0, :, 1:] == 7).all()
    assert (found[1] == 7).all()


@pytest.mark.parametrize("frame", [[3, *BOXES[0]], [-1, 0], [float("nan")], [1e9], [0]])
def test_a_forged_count_costs_one_error(frame: list[float]) -> None:
    with pytest.raises(HailoRTInvalidArgumentException):
        nms.by_class(f32(frame), 2)


def test_by_score() -> None:
    packed = struct.pack("<H", 2) + b"".join(
        struct.pack("<5fH", *box, number) for box, number in zip(BOXES, (3, 70), strict=True)
    )
    found = nms.by_score(np.frombuffer(packed + bytes(44), np.uint8))
    assert [(one.class_id, round(one.score, 3)) for one in found] == [(3, 0.9), (70, 0.6)]
    assert [round(edge, 3) for edge in (found[1].y_min, found[1].x_min, found[1].y_max, found[1].x_max)] == [
        *BOXES[1][:4]
    ]
    with pytest.raises(HailoRTException):
        nms.by_score(np.frombuffer(struct.pack("<H", 9), np.uint8))


@pytest.mark.parametrize("header", [38, 46])
def test_byte_masks(header: int) -> None:
    """38 bytes before a mask in 4.23, 46 in 5.2: the offset of the mask is the last of them."""
    masks = [bytes([1, 0, 1, 1, 1, 0]), bytes([1] * 4)]
    packed = struct.pack("<H", 2)
    for box, number, mask in zip(BOXES, (1, 2), masks, strict=True):
        record = struct.pack("<5fHQQ", *box, number, len(mask), 0)
        record += struct.pack("<Q", len(packed) + header) if header == 46 else b""
        packed += record + mask
    data = np.frombuffer(packed + bytes(100), np.uint8)
    found = nms.with_byte_masks(data, header)
    assert [one.class_id for one in found] == [1, 2]
    assert [one.mask.tobytes() for one in found] == masks
    array = nms.masks_tf(data, header, 4, 10, 12, np.float32)
    assert array.shape == (10 * 12 + 6, 4)
    assert (array[:6, 0] == f32([*BOXES[0], 1])).all()
    image = array[6:, 1].reshape(10, 12)
    # ceil(0.25 * 12) = 3 columns from ceil(0.5 * 12) = 6 on, row 5: four pixels wrap into the next row
    assert np.argwhere(image == 1).tolist() == [[5, 6], [5, 7], [5, 8], [6, 6]]
    assert (array[:, 2:] == 0).all()


def test_masks_that_do_not_fit_are_left_out() -> None:
    packed = struct.pack("<H", 5) + struct.pack("<5fHQQ", *BOXES[0], 1, 1 << 40, 0)
    assert nms.with_byte_masks(np.frombuffer(packed, np.uint8), 38) == []
