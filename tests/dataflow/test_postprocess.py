"""Detection ops against loops over single cells, and what known-bugs.md says of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from emu.dataflow.postprocess.argmax import Argmax
from emu.dataflow.postprocess.base import NmsPostProcess, OpInput
from emu.dataflow.postprocess.iou import IouOnly
from emu.dataflow.postprocess.nms import NmsConfig
from emu.dataflow.postprocess.softmax import Softmax, softmax
from emu.dataflow.postprocess.sort import sort_order
from emu.dataflow.postprocess.ssd import Ssd, SsdConfig, SsdDecoder
from emu.dataflow.postprocess.yolov5 import Anchors, Yolov5, Yolov5BboxOnly, Yolov5Config
from emu.dataflow.postprocess.yolov8 import Yolov8, Yolov8BboxOnly, Yolov8Config, Yolov8Decoder
from emu.dataflow.postprocess.yolox import Yolox, YoloxDecoder
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import Format, FormatFlags, FormatOrder, FormatType, QuantInfo, Shape
from tests.dataflow import slow
from tests.dataflow.specs import FILL, filled, nms_info

F = np.float32
RUNTIMES = ("4.23", "5.2")
BY_CLASS = Format(FormatType.AUTO, FormatOrder.HAILO_NMS_BY_CLASS)
BY_SCORE = Format(FormatType.AUTO, FormatOrder.HAILO_NMS_BY_SCORE)

# quant infos whose codes cover scores from below 0 to above 1, coarse enough for ties
SCORES = (
    QuantInfo(0.0, float(F(1 / 255)), 0.0, 1.0),
    QuantInfo(20.0, float(F(0.006)), -0.05, 1.3),
    QuantInfo(0.0, 0.125, 0.0, 2.0),
    QuantInfo(0.0, float(F(1 / 200)), 0.6, 1.0),  # limvals above thresholds: 5.2's pre-filters drop more
)
BOXES = (QuantInfo(128.0, float(F(1 / 64)), -2.0, 2.0), QuantInfo(100.0, float(F(0.02)), -1.0, 1.0))


def layer(name: str, h: int, w: int, f: int, qp: QuantInfo, bits: int = 8) -> OpInput:
    kind = FormatType.UINT8 if bits == 8 else FormatType.UINT16
    return OpInput(name, Shape(h, w, f), Shape(h, -(-w // 8) * 8, f), Format(kind, FormatOrder.NHCW), qp)


def frames_of(layers: list[OpInput], rng: np.random.Generator, levels: int) -> dict[str, bytes]:
    """Random frames with `levels` different codes, so that scores tie."""
    frames = {}
    for one in layers:
        top = 255 if one.format.type is FormatType.UINT8 else 65535
        values = rng.integers(0, levels, one.padded_shape.elements) * (top // max(levels - 1, 1))
        frames[one.name] = values.astype(np.uint8 if top == 255 else np.uint16).tobytes()
    return frames


def config(rng: np.random.Generator, classes: int, **more: Any) -> NmsConfig:
    return NmsConfig(
        score_threshold=float(F(rng.choice([0.0, 0.1, 0.5, 0.9]))),
        iou_threshold=float(F(rng.choice([0.0, 0.3, 0.6, 1.0]))),
        max_proposals_per_class=int(rng.integers(1, 8)),
        classes=classes,
        max_proposals_total=int(rng.integers(1, 30)),
        **more,
    )


def check_against_loops(
    op: NmsPostProcess, frames: dict[str, bytes], loops: list[list[Any]], tolerance: float | None = None
) -> None:
    """Detections in generation order, then the frame. Tied scores are ordered by `sort_order`, tested on its own."""
    found = op.detect(frames)
    assert found.classes.tolist() == [cls for _, _, cls in loops]
    np.testing.assert_array_equal(found.scores, np.array([score for _, score, _ in loops], F))
    boxes = np.array([box for box, _, _ in loops], F).reshape(-1, 4)
    if tolerance is None:
        np.testing.assert_array_equal(found.boxes, boxes)
    else:
        np.testing.assert_allclose(found.boxes, boxes, rtol=0, atol=tolerance)
        loops = [[box, score, cls] for box, (_, score, cls) in zip(found.boxes, loops, strict=True)]
    ordered = [[list(loops[at][0]), *loops[at][1:]] for at in sort_order(found.scores)]
    counts = [sum(cls == one for _, _, cls in loops) for one in range(op.config.classes)]
    for cls in slow.suppress(ordered, op.config.iou_threshold):
        counts[cls] -= 1
    frame, _ = op(frames, filled(op.frame_size))
    if op.user.order is FormatOrder.HAILO_NMS_BY_SCORE:
        wanted = slow.by_score(ordered, op.config.max_proposals_total, op.frame_size, FILL)
    else:
        wanted = slow.by_class(ordered, counts, op.config.max_proposals_per_class, op.frame_size, FILL)
    assert frame.tobytes() == wanted


op_settings = settings(deadline=None, derandomize=True, max_examples=25)
op_cases = given(
    seed=st.integers(0, 2**32),
    runtime=st.sampled_from(RUNTIMES),
    user=st.sampled_from([BY_CLASS, BY_SCORE]),
    bits=st.sampled_from([8, 16]),
    levels=st.sampled_from([3, 16, 256]),
)


@op_settings
@op_cases
def test_yolov5_cell_by_cell(seed: int, runtime: str, user: Format, bits: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(1, 4))
    layers, anchors = [], {}
    for name in ("conv9", "conv10")[: int(rng.integers(1, 3))]:
        count = int(rng.integers(1, 4))
        qp = SCORES[int(rng.integers(len(SCORES)))]
        layers.append(layer(name, int(rng.integers(1, 4)), int(rng.integers(1, 5)), count * (5 + classes), qp, bits))
        sizes = rng.integers(1, 200, (2, count)).tolist()
        anchors[name] = Anchors(tuple(sizes[0]), tuple(sizes[1]))
    op = Yolov5(layers, config(rng, classes), Yolov5Config(anchors, 64.0, 96.0), user, runtime=runtime)
    frames = frames_of(layers, rng, levels)
    check_against_loops(op, frames, slow.yolov5(op, frames, runtime == "5.2"))


@op_settings
@op_cases
def test_yolox_cell_by_cell(seed: int, runtime: str, user: Format, bits: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(1, 4))
    layers, decoders = [], []
    for index in range(int(rng.integers(1, 3))):
        h, w = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        one = [
            layer(f"reg{index}", h, w, 4, BOXES[int(rng.integers(len(BOXES)))], bits),
            layer(f"obj{index}", h, w, 1, SCORES[int(rng.integers(len(SCORES)))], bits),
            layer(f"cls{index}", h, w, classes, SCORES[int(rng.integers(len(SCORES)))], bits),
        ]
        layers += one
        decoders.append(YoloxDecoder(*(part.name for part in one)))
    op = Yolox(layers, config(rng, classes), decoders, user, runtime=runtime)
    frames = frames_of(layers, rng, levels)
    check_against_loops(op, frames, slow.yolox(op, frames, runtime == "5.2"))


@op_settings
@op_cases
def test_ssd_cell_by_cell(seed: int, runtime: str, user: Format, bits: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    layers, decoders = [], []
    for index in rng.permutation(int(rng.integers(1, 3))).tolist():
        h, w, anchors = int(rng.integers(1, 3)), int(rng.integers(1, 5)), int(rng.integers(1, 3))
        reg = layer(f"reg{index}", h, w, 4 * anchors, BOXES[0], bits)
        cls = layer(f"cls{index}", h, w, classes * anchors, SCORES[int(rng.integers(len(SCORES)))], bits)
        layers += [reg, cls]
        sizes = rng.random((2, anchors)).astype(F).tolist()
        decoders.append(SsdDecoder(reg.name, cls.name, tuple(sizes[0]), tuple(sizes[1])))
    order = (0, 0, 0, 0) if rng.random() < 0.3 else tuple(rng.permutation(4).tolist())
    background = bool(rng.random() < 0.6)
    settings_ = config(
        rng, classes, background_removal=background, background_removal_index=int(rng.choice([0, classes - 1]))
    )
    op = Ssd(layers, settings_, SsdConfig(10, 5, *order), decoders, user, runtime=runtime)
    frames = frames_of(layers, rng, levels)
    check_against_loops(op, frames, slow.ssd(op, frames))


@op_settings
@op_cases
def test_yolov8_cell_by_cell(seed: int, runtime: str, user: Format, bits: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    classes, length = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    layers, decoders = [], []
    for index in range(int(rng.integers(1, 3))):
        h, w = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        reg = layer(f"reg{index}", h, w, 4 * length, QuantInfo(30.0, 0.0625 if bits == 8 else 2.0**-12, 0, 0), bits)
        cls = layer(f"cls{index}", h, w, classes, SCORES[int(rng.integers(len(SCORES)))], bits)
        layers += [reg, cls]
        decoders.append(Yolov8Decoder(reg.name, cls.name, 8 << index))
    op = Yolov8(layers, config(rng, classes), Yolov8Config(tuple(decoders), 64.0, 96.0), user, runtime=runtime)
    frames = frames_of(layers, rng, levels)
    check_against_loops(op, frames, slow.yolov8(op, frames, runtime == "5.2"), tolerance=1e-6)


def test_bbox_only_ops_decode_every_cell() -> None:
    """The rows of the thresholding ops, at threshold 0 with one class of score 1, are those of the bbox-only ones."""
    rng = np.random.default_rng(3)
    everything = NmsConfig(-1e30, 1.0, 99, 2, 999)
    reg = layer("r", 2, 3, 16, QuantInfo(30.0, 0.0625, 0, 0))
    cls = layer("c", 2, 3, 2, SCORES[0])
    yolo = Yolov8Config((Yolov8Decoder("r", "c", 16),), 64.0, 96.0)
    frames = frames_of([reg, cls], rng, 256)
    rows, _ = Yolov8BboxOnly([reg, cls], everything, yolo, runtime="4.23")(frames)
    table = rows.view("<f4").reshape(6, 6)
    found = Yolov8([reg, cls], everything, yolo, runtime="4.23").detect(frames)
    np.testing.assert_array_equal(table[:, :4], found.boxes[::2])
    np.testing.assert_array_equal(table[:, 4:].reshape(-1), found.scores)

    one = layer("x", 2, 3, 14, SCORES[0])
    anchors = Yolov5Config({"x": Anchors((10, 20), (5, 9))}, 64.0, 96.0)
    frames = frames_of([one], rng, 256)
    bbox_only = Yolov5BboxOnly([one], everything, anchors, runtime="5.2")
    table = bbox_only(frames)[0].view("<f4").reshape(12, 7)
    assert bbox_only.frame_size == 12 * 7 * 4
    found = Yolov5([one], everything, anchors, runtime="4.23").detect(frames)
    np.testing.assert_array_equal(table[:, :4], found.boxes[::2])
    np.testing.assert_array_equal((table[:, 5:] * table[:, 4:5]).reshape(-1), found.scores)


# --- configuration and refusals -------------------------------------------------------------------------------------


def yolov8(runtime: str = "4.23", user: Format = BY_CLASS, **changes: Any) -> Yolov8:
    reg = replace(layer("r", 2, 3, 16, BOXES[0]), **changes)
    return Yolov8(
        [reg, layer("c", 2, 3, 2, SCORES[0])],
        NmsConfig(0.5, 0.5, 4, 2, 8),
        Yolov8Config((Yolov8Decoder("r", "c", 16),), 64.0, 64.0),
        user,
        runtime=runtime,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"format": Format(FormatType.UINT8, FormatOrder.NHWC)},
        {"format": Format(FormatType.UINT16, FormatOrder.NHCW)},
        {"format": Format(FormatType.FLOAT32, FormatOrder.NHCW)},
        {"format": Format(FormatType.UINT8, FormatOrder.NHCW, FormatFlags.TRANSPOSED)},
        {"shape": Shape(2, 4, 16)},
        {"shape": Shape(2, 3, 18), "padded_shape": Shape(2, 8, 18)},
        {"quant_info": QuantInfo(0.0, 0.0, 0.0, 0.0)},
        {"name": "other"},
    ],
)
def test_inputs_an_op_cannot_read_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(HailoError) as refusal:
        yolov8(**changes)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("runtime", "user", "works"),
    [
        ("4.23", Format(FormatType.FLOAT32, FormatOrder.HAILO_NMS_BY_SCORE), True),
        ("4.23", Format(FormatType.UINT8, FormatOrder.HAILO_NMS_BY_SCORE), False),
        ("5.2", Format(FormatType.UINT8, FormatOrder.HAILO_NMS_BY_SCORE), True),
        ("5.2", Format(FormatType.FLOAT32, FormatOrder.HAILO_NMS_BY_SCORE), False),
        ("5.2", Format(FormatType.UINT8, FormatOrder.HAILO_NMS_BY_CLASS), False),
        ("4.23", Format(FormatType.AUTO, FormatOrder.NHWC), False),
        ("4.23", Format(FormatType.AUTO, FormatOrder.HAILO_NMS_WITH_BYTE_MASK), False),
        ("4.23", replace(BY_CLASS, flags=FormatFlags.TRANSPOSED), False),
    ],
)
def test_output_formats_by_runtime(runtime: str, user: Format, works: bool) -> None:
    if works:
        assert yolov8(runtime, user).user == user
        return
    with pytest.raises(HailoError) as refusal:
        yolov8(runtime, user)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_limits_change_the_frame_and_belong_to_one_layout() -> None:
    op = yolov8()
    assert op.frame_size == 2 * (1 + 5 * 4) * 4
    op.configure(score_threshold=0.3, iou_threshold=0.7, max_proposals_per_class=10)
    assert op.frame_size == 2 * (1 + 5 * 10) * 4
    assert op.config.score_threshold == float(F(0.3))
    with pytest.raises(HailoError) as refusal:
        op.configure(max_proposals_total=5)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    op = yolov8(user=BY_SCORE)
    op.configure(max_proposals_total=5)
    assert op.frame_size == 2 + 5 * 22
    with pytest.raises(HailoError):
        op.configure(max_proposals_per_class=5)


def test_a_missing_stream_is_named() -> None:
    with pytest.raises(HailoError, match="no frame for stream c"):
        yolov8()({"r": bytes(256)})


def test_decoders_of_more_cells_than_the_frame_has_are_refused() -> None:
    """The library would write on past the frame."""
    reg, cls = layer("r", 2, 3, 16, BOXES[0]), layer("c", 2, 3, 2, SCORES[0])
    twice = Yolov8Config((Yolov8Decoder("r", "c", 16),) * 2, 64.0, 64.0)
    op = Yolov8BboxOnly([reg, cls], NmsConfig(0.5, 0.5, 4, 2, 8), twice, runtime="4.23")
    with pytest.raises(HailoError, match="more cells than the 6 proposals"):
        op(frames_of([reg, cls], np.random.default_rng(1), 256))


def test_background_needs_a_class_to_be_removed() -> None:
    reg, cls = layer("r", 2, 3, 16, BOXES[0]), layer("c", 2, 3, 2, SCORES[0])
    config = NmsConfig(0.5, 0.5, 4, 0, 8, background_removal=True)
    with pytest.raises(HailoError, match="background removal from 0 classes"):
        Yolov8([reg, cls], config, Yolov8Config((), 64.0, 64.0), runtime="4.23")


@pytest.mark.parametrize("numbers", [(float("inf"), 1.0), (1e38, 1e38), (float("nan"), 1.0), (0.0, float("inf"))])
@pytest.mark.filterwarnings("error")
def test_overflow_and_nan_are_results_without_a_warning(numbers: tuple[float, float]) -> None:
    qp = QuantInfo(numbers[0], numbers[1], 0.0, 1.0)
    one = layer("x", 2, 3, 14, qp)
    anchors = Yolov5Config({"x": Anchors((10, 20), (5, 9))}, 64.0, 0.0)
    config = NmsConfig(0.5, 0.5, 4, 2, 8)
    for runtime in RUNTIMES:
        for op in (Yolov5([one], config, anchors, runtime=runtime), yolov8(runtime, quant_info=qp)):
            op(frames_of(list(op.inputs.values()), np.random.default_rng(1), 256))


def test_unknown_runtimes_are_refused() -> None:
    with pytest.raises(HailoError, match=r"4\.24"):
        yolov8("4.24")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_class_below_the_threshold_with_objectness_above_one(runtime: str) -> None:
    """known-bugs.md 13: 4.23 keeps it, 5.2's pre-filter drops it."""
    one = layer("x", 1, 1, 6, QuantInfo(0.0, float(F(1.1 / 255)), 0.0, float(F(1.1))))
    codes = np.zeros((6, 8), np.uint8)
    codes[:, 0] = [128, 128, 100, 100, 255, 110]  # objectness 1.1, class 0.4745, product 0.522
    op = Yolov5(
        [one], NmsConfig(0.5, 0.5, 2, 1, 2), Yolov5Config({"x": Anchors((10,), (13,))}, 64, 64), runtime=runtime
    )
    assert op.detect({"x": codes.tobytes()}).scores.size == (1 if runtime == "4.23" else 0)


def test_ssd_scale_factors_of_zero_divide_by_zero() -> None:
    """known-bugs.md 18"""
    layers = [layer("r", 1, 1, 4, BOXES[0]), layer("c", 1, 1, 1, SCORES[0])]
    op = Ssd(
        layers,
        NmsConfig(0.1, 0.5, 1, 1, 1),
        SsdConfig(0, 0, 0, 1, 2, 3),
        [SsdDecoder("r", "c", (0.5,), (0.5,))],
        runtime="4.23",
    )
    boxes = op.detect({"r": bytes([0] * 32), "c": bytes([255] * 8)}).boxes
    assert not np.isfinite(boxes).any()


# --- logits ---------------------------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.sampled_from([FormatOrder.NHCW, FormatOrder.NHWC, FormatOrder.NC, FormatOrder.F8CR]),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 19),
    st.integers(0, 3),
    st.integers(0, 2**32),
)
def test_argmax_pixel_by_pixel(order: FormatOrder, h: int, w: int, f: int, more: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if order is FormatOrder.NC:
        h = w = 1
    padded = Shape(
        h, w + (0 if order is FormatOrder.NC else more), -(-f // 8) * 8 if order is FormatOrder.F8CR else f + more
    )
    one = OpInput("i", Shape(h, w, f), padded, Format(FormatType.UINT8, order), QuantInfo(0, 0, 0, 0))
    op = Argmax(one, Format(FormatType.UINT16, FormatOrder.AUTO), runtime="5.2")
    data = rng.integers(0, 5, one.frame_size, np.uint8)
    found = op({"i": data})[0].view("<u2").reshape(h, w)
    considered = f
    if order is FormatOrder.F8CR:
        considered = max((padded.features // 8 - 1) * 8 + f % 8, 1)  # a full last block is ignored (known-bugs.md 30)
    for r, c in np.ndindex(h, w):
        best, best_value = 0, -1
        for k in range(considered):
            at = {
                FormatOrder.NHCW: r * padded.width * padded.features + k * padded.width + c,
                FormatOrder.NHWC: (r * padded.width + c) * padded.features + k,
                FormatOrder.NC: k,
                FormatOrder.F8CR: r * padded.width * padded.features + (k // 8) * 8 * padded.width + c * 8 + k % 8,
            }[order]
            if data[at] > best_value:
                best, best_value = k, int(data[at])
        assert found[r, c] == best


@pytest.mark.parametrize(
    ("features", "user", "order"),
    [
        (256, FormatType.UINT8, FormatOrder.NHW),  # 255 would fit (known-bugs.md 32)
        (4, FormatType.UINT8, FormatOrder.NHWC),
        (4, FormatType.UINT8, FormatOrder.NC),
    ],
)
def test_argmax_outputs_that_are_refused(features: int, user: FormatType, order: FormatOrder) -> None:
    one = OpInput(
        "i",
        Shape(1, 1, features),
        Shape(1, 1, features),
        Format(FormatType.UINT8, FormatOrder.NHWC),
        QuantInfo(0, 1, 0, 0),
    )
    with pytest.raises(HailoError) as refusal:
        Argmax(one, Format(user, order), runtime="4.23")
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-80, 80, width=32), min_size=1, max_size=20))
def test_softmax_against_exact_sums(values: list[float]) -> None:
    exact = np.exp(np.array(values, F).astype(np.longdouble))
    np.testing.assert_allclose(softmax(np.array(values, F)), (exact / exact.sum()).astype(float), rtol=2e-6, atol=1e-9)


def test_softmax_overflows_as_the_library_does() -> None:
    assert np.isnan(softmax(np.array([89.0, 1.0], F))[0])
    assert np.isnan(softmax(np.array([-200.0, -300.0], F))).all()


def test_softmax_op_dequantises_and_reorders_first() -> None:
    one = OpInput(
        "i", Shape(2, 3, 4), Shape(2, 8, 4), Format(FormatType.UINT8, FormatOrder.NHCW), QuantInfo(5.0, 0.5, 0, 0)
    )
    data = np.random.default_rng(5).integers(0, 20, 64, np.uint8)
    found = Softmax(one, runtime="4.23")({"i": data})[0].view("<f4").reshape(2, 3, 4)
    values = (data.reshape(2, 4, 8)[:, :, :3].transpose(0, 2, 1).astype(F) - F(5)) * F(0.5)
    np.testing.assert_allclose(found, np.exp(values) / np.exp(values).sum(-1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize(
    "user", [Format(FormatType.UINT8, FormatOrder.NHWC), Format(FormatType.FLOAT32, FormatOrder.NHCW)]
)
def test_softmax_gives_only_float_pixels(user: Format) -> None:
    one = OpInput(
        "i", Shape(1, 8, 4), Shape(1, 8, 4), Format(FormatType.UINT8, FormatOrder.NHCW), QuantInfo(0, 1, 0, 0)
    )
    with pytest.raises(HailoError) as refusal:
        Softmax(one, user, runtime="4.23")
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION


# --- IoU-only -------------------------------------------------------------------------------------------------------


def iou_only(change: Callable[[NmsConfig], NmsConfig] = lambda one: one, user: Format = BY_CLASS) -> IouOnly:
    info = nms_info({"classes": 2, "max_per_class": 3})
    on_chip = OpInput(
        "n",
        Shape(2, 5, 3),
        Shape(2, 5, 3),
        Format(FormatType.UINT16, FormatOrder.HAILO_NMS_ON_CHIP),
        QuantInfo(0.0, float(F(0.001)), 0, 1),
    )
    return IouOnly(on_chip, info, change(NmsConfig(0.9, 0.5, 3, 2, 6)), user, runtime="4.23")


def test_iou_only_suppresses_without_a_score_threshold() -> None:
    from emu.dataflow.nms_wire import device_words, read_nms_frame

    info = nms_info({"classes": 2, "max_per_class": 3})
    boxes = [
        np.array([[0, 0, 1000, 1000, 300], [0, 0, 1000, 900, 500], [2000, 2000, 3000, 3000, 1]], np.uint16),
        np.zeros((0, 5), np.uint16),
    ]
    frame = read_nms_frame(device_words(boxes, info), info).frame
    values = iou_only()({"n": frame})[0].view("<f4")
    assert values[0] == 2
    assert [float(values[at]) for at in (5, 10)] == [0.5, float(F(0.001))]
    assert values[11] == 0


def test_what_iou_only_cannot_do() -> None:
    with pytest.raises(HailoError) as refusal:
        iou_only(user=BY_SCORE)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    with pytest.raises(HailoError):
        iou_only(lambda one: replace(one, classes=3))
    with pytest.raises(HailoError) as refusal:
        iou_only(lambda one: replace(one, background_removal=True))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_yolox_class_codes_below_the_clipped_requirement(runtime: str) -> None:
    """required = threshold / objectness is clipped to the class layer's limvals before 5.2 compares codes."""
    layers = [
        layer("r", 1, 1, 4, BOXES[0]),
        layer("o", 1, 1, 1, QuantInfo(0.0, float(F(0.01)), 0.0, 2.5)),
        layer("c", 1, 1, 1, QuantInfo(0.0, float(F(0.005)), float(F(0.6)), 1.0)),
    ]
    op = Yolox(layers, NmsConfig(0.5, 0.5, 2, 1, 2), [YoloxDecoder("r", "o", "c")], runtime=runtime)
    found = op.detect({"r": bytes(32), "o": bytes([200] * 8), "c": bytes([80] * 8)})  # 2.0 · 0.4
    assert found.scores.size == (1 if runtime == "4.23" else 0)
