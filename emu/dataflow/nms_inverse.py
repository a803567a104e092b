"""Boxes by class -> the frame of an on-chip NMS stream, or of the parts of a fused one (netflow-nms.md 10, 11).

The reverse of `NmsOutputTransform` and `fuse`. A class's boxes fill its chunks one after the other, since the result
does not say which chunk a box came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes
from emu.dataflow.inverse import nearest_codes
from emu.dataflow.nms_wire import H15_PADDING, fused_info, pack_words, parts_by_group
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import BBOX_PARAMS, NMS_COUNT_BYTES, NmsInfo, QuantInfo, nms_hw_frame_size

_MAX_COORDINATE = 0xFFF  # 12 bits of a box word

Boxes = NDArray[Any]  # [n, 5]: y_min, x_min, y_max, x_max, score


def boxes_by_class(frame: Buffer, classes: int) -> list[NDArray[np.float32]]:
    """The [n, 5] boxes of every class of a HAILO_NMS_BY_CLASS frame; HAILO_INVALID_ARGUMENT for impossible counts."""
    raw = np.frombuffer(frame, np.uint8) if not isinstance(frame, np.ndarray) else frame.reshape(-1).view(np.uint8)
    values: NDArray[np.float32] = raw[: raw.size // 4 * 4].view("<f4")
    found: list[NDArray[np.float32]] = []
    offset = 0
    for index in range(classes):
        count = float(values[offset]) if offset < values.size else -1.0
        end = offset + 1 + BBOX_PARAMS * int(count) if 0 <= count <= values.size else values.size + 1
        if end > values.size or not count.is_integer():
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"class {index} of an NMS frame of {values.size * 4} bytes announces {count:g} boxes",
            )
        found.append(values[offset + 1 : end].reshape(-1, BBOX_PARAMS))
        offset = end
    return found


def box_codes(boxes: Boxes, qp: QuantInfo) -> NDArray[np.uint16]:
    """The codes of real boxes: coordinates of 12 bits, score of 16, all with one qp."""
    codes = nearest_codes(boxes, qp, np.dtype("<u2")).astype(np.uint16)
    codes[:, :4] = np.minimum(codes[:, :4], _MAX_COORDINATE)
    # a word of ones would be a delimiter (known-bugs.md 40)
    codes[pack_words(codes) >= H15_PADDING, 4] -= np.uint16(1)
    return codes


def nms_stream_frame(classes: Sequence[Boxes], info: NmsInfo, qp: QuantInfo) -> Bytes:
    """The frame of one on-chip NMS stream out of real boxes by class (HAILO_INVALID_ARGUMENT for too many).

    `qp` quantises all five fields. The bytes behind the last class are zero.
    """
    most = info.max_bboxes_per_class
    if len(classes) != info.number_of_classes:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"boxes of {len(classes)} classes for {info.number_of_classes}"
        )
    frame = np.zeros(nms_hw_frame_size(info), np.uint8)
    codes = [box_codes(np.asarray(boxes).reshape(-1, BBOX_PARAMS), qp) for boxes in classes]
    for index, boxes in enumerate(codes):
        if len(boxes) > most * info.chunks_per_frame:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{len(boxes)} boxes of class {index}, at most {most} x {info.chunks_per_frame} are possible",
            )
    offset = 0
    for chunk in range(info.chunks_per_frame):
        for boxes in codes:
            words = pack_words(boxes[chunk * most : (chunk + 1) * most])
            record = words.size.to_bytes(NMS_COUNT_BYTES, "little") + words.astype("<u8").tobytes()
            frame[offset : offset + len(record)] = np.frombuffer(record, np.uint8)
            offset += len(record)
    return frame


def fused_stream_frames(classes: Sequence[Boxes], infos: Sequence[NmsInfo], qp: QuantInfo) -> list[Bytes]:
    """The frames of the parts of a fused NMS, in the order of `infos`: class i belongs to part i mod n."""
    total = fused_info(infos).number_of_classes
    if len(classes) != total:
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"boxes of {len(classes)} classes for {total}")
    order = parts_by_group(infos)
    frames: list[Bytes] = [np.zeros(0, np.uint8)] * len(infos)
    for group, at in enumerate(order):
        frames[at] = nms_stream_frame(classes[group :: len(order)], infos[at], qp)
    return frames
