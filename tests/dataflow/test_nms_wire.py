"""On-chip NMS streams: what a device sends, what the reader makes of it, and every way it can go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from emu.dataflow.nms_wire import (
    DELIMITER,
    H15_PADDING,
    IMAGE_DELIMITER,
    NmsOutputTransform,
    class_words,
    device_words,
    frame_from_noise,
    fuse,
    fused_info,
    nms_transfer_size,
    pack_words,
    read_nms_frame,
    unpack_words,
)
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import (
    Format,
    FormatFlags,
    FormatOrder,
    FormatType,
    NmsBurstType,
    NmsInfo,
    QuantInfo,
    nms_hw_frame_size,
)
from tests.dataflow.specs import nms_info

DEVICE = Format(FormatType.UINT16, FormatOrder.HAILO_NMS_ON_CHIP)
AUTO = Format(FormatType.AUTO, FormatOrder.AUTO)
QP = QuantInfo(10.0, float(np.float32(0.001)), 0.0, 1.0)

readable = st.sampled_from(
    [NmsBurstType.H8_BBOX, NmsBurstType.H15_BBOX, NmsBurstType.H8_PER_CLASS, NmsBurstType.H15_PER_CLASS]
)


def random_boxes(info: NmsInfo, rng: np.random.Generator) -> list[np.ndarray]:
    boxes = []
    for _ in range(info.number_of_classes * info.chunks_per_frame):
        count = int(rng.integers(0, info.max_bboxes_per_class + 1))
        codes = rng.integers(0, 4096, (count, 5), np.uint16)
        codes[:, 4] = rng.integers(0, 65535, count)  # an all-ones score could make a delimiter
        boxes.append(codes)
    return boxes


@settings(deadline=None, derandomize=True, max_examples=200)
@given(readable, st.integers(1, 5), st.integers(1, 6), st.integers(1, 3), st.integers(1, 9), st.integers(0, 2**32))
def test_every_burst_type_gives_the_boxes_back(
    burst_type: NmsBurstType, classes: int, most: int, chunks: int, burst: int, seed: int
) -> None:
    spec = {"classes": classes, "max_per_class": most, "chunks": chunks, "burst_type": burst_type, "burst_size": burst}
    if burst_type in (NmsBurstType.H8_BBOX, NmsBurstType.H15_BBOX):
        spec["burst_size"] = 1
    info = nms_info(spec)
    boxes = random_boxes(info, np.random.default_rng(seed))
    sent = device_words(boxes, info)
    read = read_nms_frame(sent + b"\x55" * 40, info)
    assert read.consumed == len(sent)
    for words, codes in zip(class_words(read.frame, info), boxes, strict=True):
        assert np.array_equal(unpack_words(words), codes)


def test_by_class_joins_chunks_and_dequantises_all_fields_alike() -> None:
    info = nms_info({"classes": 2, "max_per_class": 2, "chunks": 2})
    boxes = [
        np.array([[1, 2, 3, 4, 500]]),
        np.zeros((0, 5)),
        np.array([[5, 6, 7, 8, 900], [9, 9, 9, 9, 9]]),
        np.array([[1] * 5]),
    ]
    frame = read_nms_frame(device_words([one.astype(np.uint16) for one in boxes], info), info).frame
    convert = NmsOutputTransform(AUTO, DEVICE, [QP, QuantInfo(0.0, 5.0, 0.0, 1.0)], info)  # the second qp is ignored
    values = convert(frame).view("<f4")
    codes = np.array([1, 2, 3, 4, 500, 5, 6, 7, 8, 900, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1], np.float32)
    values_of = ((codes - np.float32(10)) * np.float32(0.001)).tolist()
    wanted = [3.0, *values_of[:15], 1.0, *values_of[15:]]
    np.testing.assert_array_equal(values[: len(wanted)], np.array(wanted, np.float32))
    assert convert.user_frame_size == 2 * (1 + 5 * 4) * 4


def test_the_worked_example_of_a_word() -> None:
    assert int(pack_words(np.array([[100, 200, 300, 400, 5000]], np.uint16))[0]) == 0x1388_0640_C812_C190


@pytest.mark.parametrize(
    ("burst_type", "size"),
    [(NmsBurstType.H8_PER_CLASS, 4), (NmsBurstType.H15_PER_CLASS, 5)],
)
def test_one_transfer_a_frame_where_the_burst_holds_a_class(burst_type: NmsBurstType, size: int) -> None:
    info = nms_info({"classes": 3, "max_per_class": 3, "burst_type": burst_type, "burst_size": size})
    assert nms_transfer_size(info) == size * 8 * 3
    assert nms_transfer_size(replace(info, burst_size=size - 1)) == (size - 1) * 8


def words(*values: int) -> bytes:
    return np.array(values, np.uint64).tobytes()


@pytest.mark.parametrize(
    ("spec", "sent", "status"),
    [
        ({}, words(1, 2, 3, DELIMITER, DELIMITER), HailoStatus.HAILO_INTERNAL_FAILURE),  # a box too many
        ({}, words(1, 2, DELIMITER), HailoStatus.HAILO_TIMEOUT),
        ({"burst_type": 1}, words(DELIMITER, DELIMITER, 7), HailoStatus.HAILO_INTERNAL_FAILURE),  # no image delimiter
        ({"burst_type": 1}, words(DELIMITER, DELIMITER), HailoStatus.HAILO_TIMEOUT),
        ({"burst_type": 2, "burst_size": 2}, words(1, 2, 3, DELIMITER), HailoStatus.HAILO_INTERNAL_FAILURE),
        ({"burst_type": 2, "burst_size": 2}, words(1, 2), HailoStatus.HAILO_TIMEOUT),
        ({"burst_type": 2, "burst_size": 3}, words(1, 2, 3, 4, 5, 6), HailoStatus.HAILO_INTERNAL_FAILURE),
        (
            {"burst_type": 2, "burst_size": 4, "max_per_class": 3},
            words(1, 1, 1, 1 << 40, 1, 1, 1, 1),
            HailoStatus.HAILO_INTERNAL_FAILURE,
        ),
        (
            {"burst_type": 3, "burst_size": 2},
            words(DELIMITER, IMAGE_DELIMITER, DELIMITER, 5),
            HailoStatus.HAILO_TIMEOUT,
        ),
        ({"burst_type": 4, "burst_size": 2}, words(DELIMITER, DELIMITER), HailoStatus.HAILO_NOT_SUPPORTED),
    ],
)
def test_streams_that_cannot_be_read(spec: dict, sent: bytes, status: HailoStatus) -> None:
    with pytest.raises(HailoError) as refusal:
        read_nms_frame(sent, nms_info({"classes": 2, "max_per_class": 2, **spec}))
    assert refusal.value.status is status


def test_box_mode_ignores_image_delimiters_anywhere() -> None:
    """known-bugs.md 35"""
    info = nms_info({"classes": 2, "max_per_class": 2})
    read = read_nms_frame(words(IMAGE_DELIMITER, 5, IMAGE_DELIMITER, DELIMITER, DELIMITER), info)
    assert [list(one) for one in class_words(read.frame, info)] == [[5], []]


def test_an_image_delimiter_alone_in_its_burst_is_read_too() -> None:
    info = nms_info({"classes": 1, "max_per_class": 3, "burst_type": 3, "burst_size": 2})
    read = read_nms_frame(words(7, DELIMITER, IMAGE_DELIMITER, H15_PADDING, 99, 99), info)
    assert read.consumed == 32
    assert [list(one) for one in class_words(read.frame, info)] == [[7]]


def test_a_box_of_another_size_is_refused() -> None:
    info = replace(nms_info({"classes": 1, "max_per_class": 1}), bbox_size=16)
    with pytest.raises(HailoError) as refusal:
        read_nms_frame(bytes(64), info)
    assert refusal.value.status is HailoStatus.HAILO_INTERNAL_FAILURE


def test_a_forged_count_does_not_leave_the_frame() -> None:
    info = nms_info({"classes": 2, "max_per_class": 2})
    frame = np.zeros(nms_hw_frame_size(info), np.uint8)
    frame[:2] = 0xFF
    with pytest.raises(HailoError, match="65535 boxes") as refusal:
        NmsOutputTransform(AUTO, DEVICE, [QP], info)(frame)
    assert refusal.value.status is HailoStatus.HAILO_INTERNAL_FAILURE


@pytest.mark.parametrize("seed", range(5))
def test_noise_becomes_a_frame_that_can_be_read(seed: int) -> None:
    info = nms_info({"classes": 7, "max_per_class": 5, "chunks": 2, "burst_type": 2, "burst_size": 6})
    noise = np.random.default_rng(seed).integers(0, 256, 300, np.uint8).tobytes()
    frame = frame_from_noise(noise, info)
    assert frame.size == nms_hw_frame_size(info)
    assert frame_from_noise(noise, info).tobytes() == frame.tobytes()
    assert len(list(class_words(frame, info))) == 14
    NmsOutputTransform(AUTO, DEVICE, [QP], info)(frame)


@pytest.mark.parametrize(
    ("user", "device", "status"),
    [
        (Format(FormatType.FLOAT32, FormatOrder.HAILO_NMS_BY_SCORE), DEVICE, HailoStatus.HAILO_INVALID_ARGUMENT),
        (Format(FormatType.UINT16, FormatOrder.HAILO_NMS_BY_CLASS), DEVICE, HailoStatus.HAILO_INVALID_ARGUMENT),
        (AUTO, replace(DEVICE, type=FormatType.UINT8), HailoStatus.HAILO_INTERNAL_FAILURE),
        (replace(AUTO, flags=FormatFlags.TRANSPOSED), DEVICE, HailoStatus.HAILO_INVALID_OPERATION),
    ],
)
def test_formats_that_a_stream_cannot_give(user: Format, device: Format, status: HailoStatus) -> None:
    info = nms_info({"classes": 1, "max_per_class": 1})
    with pytest.raises(HailoError) as refusal:
        NmsOutputTransform(user, device, [QP], info)(bytes(nms_hw_frame_size(info)))
    assert refusal.value.status is status


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 3), st.integers(0, 2**32))
def test_fused_classes_interleave(parts: int, classes: int, most: int, seed: int) -> None:
    """Class k of part g is class k*n + g of the whole."""
    rng = np.random.default_rng(seed)
    original = [rng.integers(0, 4096, (int(rng.integers(0, most + 1)), 5)).astype(np.uint16) for _ in range(classes)]
    infos, frames = [], []
    for group in range(min(parts, classes)):
        mine = original[group :: min(parts, classes)]
        info = nms_info({"classes": len(mine), "max_per_class": most, "is_defused": True, "group": group})
        infos.append(info)
        frames.append(read_nms_frame(device_words(mine, info), info).frame)
    order = rng.permutation(len(infos)).tolist()
    infos, frames = [infos[at] for at in order], [frames[at] for at in order]
    whole = fused_info(infos)
    fused = fuse(frames, infos)
    assert fused.size == nms_hw_frame_size(whole)
    for found, codes in zip(class_words(fused, whole), original, strict=True):
        assert np.array_equal(unpack_words(found), codes)


def test_parts_that_do_not_fit_together_are_refused() -> None:
    one = nms_info({"classes": 1, "max_per_class": 1, "group": 0})
    three = nms_info({"classes": 3, "max_per_class": 1, "group": 1})
    frames = [np.zeros(nms_hw_frame_size(info), np.uint8) for info in (one, three)]
    with pytest.raises(HailoError, match="class group 0 has 1 classes"):
        fuse(frames, [one, three])
    with pytest.raises(HailoError, match=r"are not 0\.\.1"):
        fuse(frames, [one, replace(three, defuse_info=replace(three.defuse_info, class_group_index=2))])
    with pytest.raises(HailoError, match="bytes given"):
        fuse([frames[0][:-1], frames[1]], [one, replace(one, defuse_info=three.defuse_info)])
    with pytest.raises(HailoError, match="at most 9"):
        fused_info([one] * 10)
