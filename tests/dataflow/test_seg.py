"""YOLOv5-seg masks pixel by pixel, and the frame's edges (known-bugs.md 2, 14, 23 to 29)."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from emu.dataflow.postprocess.base import OpInput
from emu.dataflow.postprocess.build import seg_switches
from emu.dataflow.postprocess.nms import NmsConfig
from emu.dataflow.postprocess.resize import bilinear, nearest, resize_bilinear, resize_nearest
from emu.dataflow.postprocess.yolov5 import Anchors, Yolov5Config
from emu.dataflow.postprocess.yolov5_seg import SegConfig, SegSwitches, Yolov5Seg
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import Format, FormatOrder, FormatType, QuantInfo, Shape
from tests.dataflow import slow
from tests.dataflow.specs import FILL, filled

F = np.float32
NHCW = Format(FormatType.UINT8, FormatOrder.NHCW)
LOGITS = QuantInfo(128.0, float(F(0.03)), float(F(-3.84)), float(F(3.81)))
PROTO = QuantInfo(120.0, float(F(0.02)), float(F(-2.4)), float(F(2.7)))
HEADER = {"4.23": 38, "5.2": 46}


def seg_op(
    image: tuple[float, float], runtime: str = "4.23", proto: tuple[int, int] = (8, 8), classes: int = 2, **more: Any
) -> Yolov5Seg:
    anchors = Anchors(more.pop("widths", (9, 14)), more.pop("heights", (7, 9)))
    entry = (5 + classes + 32) * len(anchors.widths)
    inputs = [
        OpInput("l0", Shape(2, 3, entry), Shape(2, 8, entry), NHCW, LOGITS),
        OpInput("proto", Shape(*proto, 32), Shape(*proto, 32), NHCW, PROTO),
    ]
    config = NmsConfig(more.pop("threshold", 0.2), 0.6, 10, classes, more.pop("max_total", 10 * classes))
    return Yolov5Seg(
        inputs,
        config,
        Yolov5Config({"l0": anchors}, *map(float, image)),
        SegConfig("proto", 0.5, more.pop("mask_bytes", 4 * image[0] * image[1])),
        runtime=runtime,
        switches=SegSwitches(**more),
    )


def seg_frames(op: Yolov5Seg, seed: int, spread: int = 60) -> dict[str, bytes]:
    """Logits around zero, so that boxes stay near their cells; few classes reach the threshold."""
    rng = np.random.default_rng(seed)
    frames = {}
    for name, layer in op.inputs.items():
        codes = rng.integers(128 - spread, 128 + spread, layer.padded_shape.elements)
        frames[name] = codes.astype(np.uint8).tobytes()
    return frames


def pixel(image: np.ndarray, y: float, x: float) -> float:
    """Bilinear sample at half-pixel coordinates with clamped edges, in double precision."""
    h, w = image.shape
    total = 0.0
    for row in (math.floor(y - 0.5), math.floor(y - 0.5) + 1):
        for column in (math.floor(x - 0.5), math.floor(x - 0.5) + 1):
            weight = (1 - abs(y - row - 0.5)) * (1 - abs(x - column - 0.5))
            total += weight * float(image[min(max(row, 0), h - 1), min(max(column, 0), w - 1)])
    return total


@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(["4.23", "5.2"]), st.sampled_from([(32, 32), (30, 44)]))
def test_masks_pixel_by_pixel(seed: int, runtime: str, image: tuple[int, int]) -> None:
    """Every pixel of a mask inside the image; those within 1e-5 of the threshold may fall either way."""
    op = seg_op(image, runtime, proto=(8, 11), mask_bytes=100_000)
    frames = seg_frames(op, seed)
    detections = op.detect(frames)
    # boxes wholly outside are refused (known-bugs.md 24)
    assume(detections.scores.size and (detections.boxes[:, 2:] > 0).all())
    frame, status = op(frames)
    assert status is HailoStatus.HAILO_SUCCESS
    height, width = image
    proto = op.inputs["proto"]
    prototypes = slow.Nhcw(proto, frames["proto"])
    offset = 2
    assert int(frame[:2].view("<u2")[0]) >= 1
    detections = op.detect(frames)
    coefficients = np.concatenate(op._coefficients)
    for _ in range(int(frame[:2].view("<u2")[0])):
        y_min, x_min, y_max, x_max, score, cls = struct.unpack_from("<5fH", frame.tobytes(), offset)
        size = struct.unpack_from("<Q", frame.tobytes(), offset + 22)[0]
        mask = frame[offset + HEADER[runtime] : offset + HEADER[runtime] + size]
        if runtime == "5.2":
            assert struct.unpack_from("<Q", frame.tobytes(), offset + 38)[0] == offset + 46
        (at,) = (
            index
            for index in range(detections.scores.size)
            if [*detections.boxes[index].tolist(), detections.scores[index], detections.classes[index]]
            == [y_min, x_min, y_max, x_max, score, cls]
        )
        small = np.array(
            [
                [
                    1
                    / (
                        1
                        + math.exp(
                            -sum(float(coefficients[at, k]) * float(prototypes.value(r, k, c)) for k in range(32))
                        )
                    )
                    for c in range(proto.shape.width)
                ]
                for r in range(proto.shape.height)
            ]
        )
        columns = math.ceil(F(F(x_max) - F(x_min)) * F(width))
        assert size == columns * math.ceil(F(F(y_max) - F(y_min)) * F(height))
        top, left = max(math.ceil(F(y_min) * F(height)), 0), max(math.ceil(F(x_min) * F(width)), 0)
        bottom, right = math.ceil(F(y_max) * F(height)), math.ceil(F(x_max) * F(width))
        for i in range(top, min(bottom, height)):
            for j in range(left, min(right, width)):
                value = pixel(small, (i + 0.5) * proto.shape.height / height, (j + 0.5) * proto.shape.width / width)
                # columns past the stride are overwritten by the next row's first
                if abs(value - 0.5) > 1e-5 and j - left < columns:
                    assert mask[(i - top) * columns + j - left] == (value > 0.5)
        offset += HEADER[runtime] + size


@pytest.mark.parametrize(("size", "out"), [(8, 32), (8, 30), (11, 44), (3, 3), (5, 1), (7, 4), (1, 9)])
def test_resize_weights(size: int, out: int) -> None:
    weights = bilinear(size, out)
    np.testing.assert_allclose(weights.weights.sum(axis=1), 1, rtol=1e-6)
    assert weights.positions.min() >= 0 and weights.positions.max() < size
    ramp = np.arange(size, dtype=F)[None]
    found = weights.apply(ramp, np.arange(out))[0]
    if out >= size:
        wanted = [pixel(ramp, 0.5, (n + 0.5) * size / out) for n in range(out)]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert np.all(np.diff(found) >= -1e-5)


def test_resize_of_a_part_is_the_part_of_the_whole() -> None:
    image = np.random.default_rng(1).random((8, 11), np.float32)
    rows, columns = np.arange(5, 17), np.arange(3, 20)
    for resize in (resize_bilinear, resize_nearest):
        whole = resize(image, (30, 44), np.arange(30), np.arange(44))
        assert np.array_equal(resize(image, (30, 44), rows, columns), whole[5:17, 3:20])


@pytest.mark.parametrize(("size", "out"), [(4, 8), (3, 8), (8, 8), (5, 13)])
def test_nearest_fills_blocks(size: int, out: int) -> None:
    scale = F(out) / F(size)
    wanted = [-1] * out
    start = 0
    for sample in range(size):
        end = min(int(F(sample + 1) * scale), out)
        wanted[start:end] = [sample] * (end - start)
        start = end
    assert nearest(size, out).tolist() == wanted


def test_the_count_is_one_too_high_where_a_limit_cuts_the_list() -> None:
    """known-bugs.md 2"""
    frames = seg_frames(seg_op((32, 32)), 3)
    all_of_them = int(seg_op((32, 32))(frames)[0][:2].view("<u2")[0])
    assert all_of_them >= 3
    limited = seg_op((32, 32), max_total=2)
    frame, status = limited(frames, filled(limited.frame_size))
    assert (int(frame[:2].view("<u2")[0]), status) == (3, HailoStatus.HAILO_SUCCESS)


def test_a_full_frame_reports_and_keeps_what_fits() -> None:
    """known-bugs.md 29: exactly full is refused too."""
    op = seg_op((32, 32))
    frames = seg_frames(op, 3)
    whole, _ = op(frames, filled(20_000))
    first = 2 + 38 + struct.unpack_from("<Q", whole.tobytes(), 24)[0]
    for room, count in ((first, 1), (first + 1, 2)):
        frame, status = op(frames, filled(room))
        assert status is HailoStatus.HAILO_INSUFFICIENT_BUFFER
        assert int(frame[:2].view("<u2")[0]) == count
    assert frame[2:first].tobytes() == whole[2:first].tobytes()


def box_frames(op: Yolov5Seg, tx: int, ty: int, tw: int, th: int) -> dict[str, bytes]:
    """One detection in cell (0, 0) with the given codes, all mask coefficients the same."""
    layer = op.inputs["l0"]
    codes = np.full((2, layer.padded_shape.features, 8), 0, np.uint8)
    codes[0, :4, 0] = [tx, ty, tw, th]
    codes[0, 4:6, 0] = 255
    codes[0, 7:39, 0] = 255
    return {"l0": codes.tobytes(), "proto": bytes([255]) * op.inputs["proto"].frame_size}


def test_pixels_outside_the_image_keep_the_old_bytes() -> None:
    """known-bugs.md 7, 23, 27: the mask starts at the clipped corner, its stride is the unclipped box's."""
    op = seg_op((32, 32), widths=(40,), heights=(40,))
    frame, _ = op(box_frames(op, 40, 40, 128, 128), filled(5000))
    (y_min, x_min, y_max, x_max) = struct.unpack_from("<4f", frame.tobytes(), 2)
    assert y_min < 0 and x_min < 0
    columns, rows = math.ceil((x_max - x_min) * 32), math.ceil((y_max - y_min) * 32)
    mask = frame[40 : 40 + rows * columns].reshape(rows, columns)
    inside = math.ceil(x_max * 32) + 1, math.ceil(y_max * 32) + 1
    assert set(np.unique(mask[: inside[1], : inside[0]])) == {1}
    assert set(np.unique(mask[inside[1] :])) == {FILL}
    assert set(np.unique(mask[: inside[1], inside[0] :])) == {FILL}


def test_a_box_wholly_above_or_left_of_the_image_is_refused() -> None:
    """known-bugs.md 24"""
    op = seg_op((320, 320), widths=(3,), heights=(3,))
    with pytest.raises(HailoError, match="above or left of the image") as refusal:
        op(box_frames(op, 20, 20, 128, 128))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION


@pytest.mark.parametrize("edges", [(0.0, 0.5), (0.5, 0.0), (0.0, 0.0)])
def test_a_box_that_ends_at_the_first_row_or_column_is_not_refused(edges: tuple[float, float]) -> None:
    """0 converts to unsigned (known-bugs.md 24)."""
    op, (bottom, right) = seg_op((320, 320)), edges
    box = np.array([-0.25, -0.25, bottom, right], np.float32)
    assert op._inclusive_edges(box) == (0, 0, 320 * bottom, 320 * right)


def test_proto_layers_that_cannot_be_read() -> None:
    with pytest.raises(HailoError, match="proto layer"):
        Yolov5Seg(
            [OpInput("l0", Shape(1, 1, 38), Shape(1, 8, 38), NHCW, LOGITS)],
            NmsConfig(0.3, 0.6, 1, 1, 1),
            Yolov5Config({"l0": Anchors((1,), (1,))}, 8.0, 8.0),
            SegConfig("proto", 0.5, 100),
            runtime="4.23",
        )


def test_switches_are_5_2_only_and_on_with_a_one() -> None:
    environment = {"HAILORT_YOLOV5_SEG_PP_CROP_OPT": "1x", "HAILORT_YOLOV5_SEG_NN_RESIZE": "true"}
    assert seg_switches(environment, "5.2") == SegSwitches(crop=True, nearest=False)
    assert seg_switches(environment, "4.23") == SegSwitches()


@pytest.mark.parametrize("nearest_", [False, True])
def test_cropping_gives_exactly_the_clipped_box(nearest_: bool) -> None:
    op = seg_op((32, 32), "5.2", widths=(40,), heights=(40,), crop=True, nearest=nearest_)
    frame, _ = op(box_frames(op, 40, 40, 128, 128), filled(5000))
    _, _, y_max, x_max = struct.unpack_from("<4f", frame.tobytes(), 2)
    size = struct.unpack_from("<Q", frame.tobytes(), 24)[0]
    assert size == math.ceil(y_max * 32) * math.ceil(x_max * 32)
    assert set(np.unique(frame[48 : 48 + size])) == {1}
    assert set(np.unique(frame[48 + size :])) == {FILL}


@pytest.mark.parametrize("size", [float("nan"), float("inf"), -float("inf"), 0.0, -3.0, 0.5, 1e9])
def test_images_of_no_possible_size_are_refused(size: float) -> None:
    for image in ((size, 32.0), (32.0, size)):
        with pytest.raises(HailoError, match="an image of") as refusal:
            seg_op(image, mask_bytes=1000)
        assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_prototypes_without_pixels_are_refused() -> None:
    with pytest.raises(HailoError, match="has no pixels: 0x8"):
        seg_op((32, 32), proto=(0, 8))


def test_boxes_without_edges_are_refused() -> None:
    """A scale of infinity makes 0 times infinity of some coordinates while the objectness passes."""
    op = seg_op((32, 32))
    layer = replace(op.inputs["l0"], quant_info=QuantInfo(128.0, float("inf"), 0.0, 1.0))
    op = Yolov5Seg([layer, op.inputs["proto"]], op.config, op.yolo, op.seg, runtime="4.23")
    height, width, features = layer.padded_shape
    codes = np.full((height, features, width), 255, np.uint8)
    codes[:, 0] = 128
    frames = {"l0": codes.tobytes(), "proto": bytes(op.inputs["proto"].frame_size)}
    with pytest.raises(HailoError, match=r"a box with edges .*nan"):
        op(frames)
