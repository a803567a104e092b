"""What is said of inputs and read out of outputs: statistics, detections, sparse made-up scores, 4:2:0 arrays."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest

from emu.dataflow.detections import by_score, detections, top_classes, with_masks
from emu.dataflow.frames import FrameBridge, FrameFiles, frame_files
from emu.dataflow.input_stats import input_statistics
from emu.dataflow.nms_inverse import boxes_by_class
from emu.dataflow.nms_wire import class_words, frame_from_noise
from emu.dataflow.sparse import sparse_scores
from emu.errors import HailoError
from emu.hef import open_hef
from emu.hef.formats import NmsBurstType, NmsDefuseInfo, NmsInfo, QuantInfo, Shape, nms_hw_frame_size
from emu.hef.infos import hef_infos
from tests.conftest import DATA, SHARED, needs_shared
from tests.dataflow.specs import post_process, vectors
from tests.reference import models

PIXELS = QuantInfo(0.0, 1.0, 0.0, 255.0)
UNIT = QuantInfo(0.0, 1 / 255, 0.0, 1.0)
U8 = np.dtype(np.uint8)
RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (16, 16, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("frame", "qp", "verdict"),
    [
        (PICTURE, PIXELS, "ok"),
        (PICTURE.astype(np.float32), PIXELS, "ok"),
        (PICTURE.astype(np.float32) / 255, PIXELS, "unit_range"),
        (PICTURE.astype(np.float32) / 255, UNIT, "ok"),
        (PICTURE // 255, PIXELS, "unit_range"),
        (np.full((16, 16, 3), 7, np.uint8), PIXELS, "constant"),
        (np.zeros((16, 16, 3), np.uint8), PIXELS, "constant"),
        (PICTURE.astype(np.float32) * 3, PIXELS, "clipped"),
        (PICTURE.astype(np.float32) - 120, PIXELS, "clipped"),
        (PICTURE // [1, 2, 4], PIXELS, "bgr_like"),
    ],
)
def test_verdicts(frame: np.ndarray, qp: QuantInfo, verdict: str) -> None:
    frame = frame.astype(np.uint8) if frame.dtype.kind != "f" else frame
    found = input_statistics([frame], qp, U8, given=1, used=1, channels_last=3)
    assert found.verdict == verdict
    assert bool(found.advice) == (verdict != "ok")


def test_figures() -> None:
    frame = np.array([0, 0, 128, 255], np.float32)
    found = input_statistics([frame, frame * 2], PIXELS, U8, given=3, used=2)
    assert (found.minimum, found.maximum, found.mean) == (0, 510, 383 * 3 / 8)
    assert found.codes_used == 4 / 256  # 0, 128, 255, and 254: the identity quantisation wraps 510 (transforms.md 2)
    assert found.clipped == 2 / 8
    used = input_statistics([frame], PIXELS, U8, given=4, used=1)
    assert used.verdict == "unused_frames" and "--frames 4" in used.advice


def test_top_classes() -> None:
    assert top_classes(np.array([1, 9, 3, 9, 2, 0], np.uint8)) == [(1, 9.0), (3, 9.0), (2, 3.0), (4, 2.0), (0, 1.0)]


@needs_shared
def test_detections_are_the_frame_s_boxes_best_first() -> None:
    group = hef_infos(open_hef(SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef")).network_groups[0]
    bridge = FrameBridge(group, runtime="4.23")
    rng = np.random.default_rng(5)
    streams = {s.name: rng.integers(0, 256, s.hw_frame_size, np.uint8).tobytes() for s in group.output_streams}
    (array,) = bridge.outputs(streams).values()
    found = detections(bridge.output_vstreams[0], array)
    by_class = boxes_by_class(array, 110)
    assert len(found) == sum(len(boxes) for boxes in by_class)
    assert 8 <= len(found) <= 48  # sparse: plain noise gives all 11,000
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    y_min, x_min, y_max, x_max, score = by_class[found[0].class_id][0]
    assert found[0].box == (y_min, x_min, y_max, x_max) and found[0].score == score
    assert found[0].pixels(100, 200) == pytest.approx((x_min * 200, y_min * 100, x_max * 200, y_max * 100))
    (again,) = bridge.outputs(streams).values()
    assert np.array_equal(again, array)


@pytest.mark.parametrize("case", vectors("ops"))
def test_sparse_scores_leave_some_boxes_and_few(case: dict) -> None:
    """Every recorded op: noise in all its streams, as it is and as a synthetic frame."""
    if case is None or case["spec"]["op"] not in ("yolov5", "yolov8", "yolox", "ssd"):
        pytest.skip("no detection op")
    if case["status"] != 0:
        pytest.skip("the op is refused")
    op = post_process(case["spec"], case["variant"].removeprefix("v")[:4].removesuffix("."))
    rng = np.random.default_rng(1)
    plain, sparse = 0, []
    for _ in range(6):
        noise = {name: rng.integers(0, 256, one.frame_size, np.uint8) for name, one in op.inputs.items()}
        before = {name: data.copy() for name, data in noise.items()}
        plain += len(op.detect(noise).scores)
        made = sparse_scores(op, noise)
        assert all(np.array_equal(noise[name], before[name]) for name in noise)
        again = sparse_scores(op, noise)
        assert all(bytes(made[name]) == bytes(again[name]) for name in made)
        sparse.append(len(op.detect(made).scores))
        for name, data in made.items():  # what changed holds the code of the lowest score, every bit of it set or none
            changed = np.frombuffer(data, np.uint8)[np.frombuffer(data, np.uint8) != noise[name].view(np.uint8)]
            assert set(changed.tolist()) <= ({0} if op.inputs[name].quant_info.scale >= 0 else {0xFF})
    classes = op.config.classes if case["spec"]["op"] in ("yolov5", "yolox") else 1
    assert max(sparse) <= max(48, 6 * classes) + len(op.inputs) * classes
    assert sum(sparse) <= plain


def test_4_2_0_frames_as_opencv_shapes_them_and_flat(tmp_path: Path) -> None:
    # an NV12 stream on the wire: luma 8 x 16, the vstream is (4, 16, 3)
    base = models.builder.layer_base(Shape(4, 16, 3), padded=Shape(4, 16, 3), format=14, sys_index=0)
    layer = models.builder.layer_info("cam/input", base)
    out = models.layer("cam/out", Shape(4, 8, 1), 8)
    path = tmp_path / "cam.hef"
    path.write_bytes(models.write_hef(models.digits.network("cam", [layer], [out]), version=2))
    (group,) = hef_infos(open_hef(path)).network_groups
    assert group.input_vstreams[0].format.order.name == "NV12"
    frame = np.arange(192, dtype=np.uint8)
    wire = set()
    for shape in ((12, 16), (192,), (4, 16, 3), (1, 12, 16), (1, 192)):
        np.save(tmp_path / "frame.npy", frame.reshape(shape))
        files = frame_files([group], [str(tmp_path / "frame.npy")])
        wire.add(FrameBridge(group, runtime="4.23", files=files).inputs_for(0)["cam/input"])
    assert len(wire) == 1
    (only,) = wire
    rows = np.frombuffer(only, np.uint8).reshape(12, 16)
    luma, chroma = frame[:128].reshape(8, 16), frame[128:].reshape(4, 16)
    assert np.array_equal(rows, np.stack([luma[::2], luma[1::2], chroma], axis=1).reshape(12, 16))


def test_planes_that_contradict_the_frame_take_no_frame_of_any_shape(tmp_path: Path) -> None:
    (group,) = hef_infos(open_hef(DATA / "hef" / "planes_nv12.hef")).network_groups
    (vstream,) = group.input_vstreams
    height, width, _ = vstream.shape
    for shape in ((height, width, 3), (height * 3, width), (height * width * 3,)):
        np.save(tmp_path / "frame.npy", np.zeros(shape, np.uint8))
        files = frame_files([group], [str(tmp_path / "frame.npy")])
        with pytest.raises(HailoError, match="contradicts itself"):
            FrameBridge(group, runtime="4.23", files=files)
    bridge = FrameBridge(group, runtime="4.23")
    assert set(bridge.stream_sources) == set(vstream.streams)
    assert FrameFiles() == FrameFiles()


def test_a_file_with_more_frames_than_the_run_is_said(tmp_path: Path) -> None:
    (group,) = hef_infos(open_hef(DATA / "hef" / "ctr_v2a.hef")).network_groups
    vstream = group.input_vstreams[0]
    rng = np.random.default_rng(2)
    np.save(tmp_path / "frames.npy", rng.integers(0, 256, (4, *vstream.shape), np.uint8))
    files = frame_files([group], [f"{vstream.name}={tmp_path / 'frames.npy'}"])
    for frames, verdict in ((1, "unused_frames"), (4, "ok"), (9, "ok")):
        found = FrameBridge(group, runtime="4.23", files=files, frames=frames).statistics()[vstream.name]
        assert found is not None and found.verdict == verdict


@pytest.mark.parametrize("case", vectors("seg"))
def test_masks_are_read_out_of_the_library_s_own_frames(case: dict) -> None:
    """Recorded YOLOv5-seg frames against a parser of this test's own."""
    if case is None or case["status"] not in (0, 5):
        pytest.skip("no frame came out")
    runtime = case["variant"].removeprefix("v")[:4].removesuffix(".")
    op = post_process(case["spec"], runtime)
    raw = bytes.fromhex(case["output_hex"])
    header = {"4.23": 38, "5.2": 46}[runtime]
    (count,) = struct.unpack_from("<H", raw)
    wanted, offset = [], 2
    for _ in range(count):
        if offset + header > len(raw):
            break
        y0, x0, y1, x1, score, kind, size = struct.unpack_from("<5fHQ", raw, offset)
        if offset + header + size > len(raw) or not 0 < score <= 1:
            break
        wanted.append(((y0, x0, y1, x1), score, kind, raw[offset + header : offset + header + size]))
        offset += header + size
    found = list(with_masks(np.frombuffer(raw, np.uint8), op))
    assert len(found) >= len(wanted) - 1
    for one, (box, score, kind, mask) in zip(found, wanted, strict=False):
        assert (one.box, one.score, one.class_id) == (pytest.approx(box), pytest.approx(score), kind)
        assert one.mask is not None and one.mask.tobytes() == mask
        height, width = case["spec"]["image"]
        assert one.mask.shape == (math.ceil((box[2] - box[0]) * height), math.ceil((box[3] - box[1]) * width))


def test_boxes_by_score() -> None:
    """The frame that netflow-nms.md 9.2 describes, written here; one record more than fits is announced."""
    frame = bytearray(2 + 3 * 22)
    struct.pack_into("<H", frame, 0, 4)
    records = [(0.1, 0.2, 0.3, 0.4, 0.9, 7), (0.0, 0.0, 1.0, 1.0, 0.8, 300), (0.5, 0.5, 0.6, 0.6, 0.7, 0)]
    for at, record in enumerate(records):
        struct.pack_into("<5fH", frame, 2 + 22 * at, *record)
    found = list(by_score(np.frombuffer(bytes(frame), np.uint8)))
    assert [one.class_id for one in found] == [7, 300, 0]
    for one, record in zip(found, records, strict=True):
        assert one.box == pytest.approx(record[:4]) and one.score == pytest.approx(record[4])


def test_made_up_on_chip_frames_hold_few_boxes() -> None:
    info = NmsInfo(80, 100, 8000, 8, 1, False, NmsDefuseInfo(0, ""), 1, NmsBurstType.H8_BBOX)
    noise = np.random.default_rng(3).integers(0, 256, nms_hw_frame_size(info), np.uint8)
    few, many = frame_from_noise(noise, info, 48), frame_from_noise(noise, info)
    counts = [sum(words.size for words in class_words(frame, info)) for frame in (few, many)]
    assert 0 < counts[0] <= 80 and counts[1] > 1000


def test_few_boxes_of_many_classes_are_still_one_of_each_at_most() -> None:
    """A share below one box is one box: otherwise no class had any."""
    info = NmsInfo(80, 100, 8000, 8, 1, False, NmsDefuseInfo(0, ""), 1, NmsBurstType.H8_BBOX)
    noise = np.random.default_rng(5).integers(0, 256, nms_hw_frame_size(info), np.uint8)
    counts = {words.size for words in class_words(frame_from_noise(noise, info, 8), info)}
    assert counts == {0, 1}


@needs_shared
def test_streams_that_are_real_are_left_as_they_are() -> None:
    group = hef_infos(open_hef(SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef")).network_groups[0]
    rng = np.random.default_rng(6)
    streams = {s.name: rng.integers(0, 58, s.hw_frame_size, np.uint8).tobytes() for s in group.output_streams}
    bridge = FrameBridge(group, runtime="4.23")
    (real,) = bridge.outputs(streams, real=set(streams)).values()
    (device,) = FrameBridge(group, runtime="4.23", origin="device").outputs(streams).values()
    (made_up,) = bridge.outputs(streams).values()
    assert np.array_equal(real, device) and not np.array_equal(made_up, device)


def test_made_up_masks_never_run_away(tmp_path: Path) -> None:
    """Boxes above or left of the picture, whose masks are an error (known-bugs.md 24), are not made up."""
    (group,) = hef_infos(open_hef(models.yolov5_seg(tmp_path))).network_groups
    bridge = FrameBridge(group, runtime="4.23")
    bridge.configure(score_threshold=0.05)
    rng = np.random.default_rng(9)
    found = 0
    for frame in range(60):
        streams = {s.name: rng.integers(0, 256, s.hw_frame_size, np.uint8).tobytes() for s in group.output_streams}
        (array,) = bridge.outputs(streams, frame).values()
        found += len(detections(bridge.output_vstreams[0], array))
    assert found > 60
