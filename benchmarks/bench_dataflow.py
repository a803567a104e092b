"""The data plane against plain numpy work of the same run.

    pytest benchmarks/bench_dataflow.py

Limits, in copies of a 640x640x3 frame: formatting and quantising a float frame 4.5 in pixel order, 6 as RGB888, 7.5 in
planes; formatting a uint8 one 2.5, 7 and 10; making one up 6. YOLOv8 post-processing of 80 classes on 8,400 cells,
suppression included, at most 1.5 plain sigmoids over its scores with 300 of them passing the threshold, and 15 with
5,000. Both sides are taken in turn in this thread's processor time and the fastest run of each counts, so that a busy
machine slows both or neither. What has no limit is measured and reported with the benchmark. docs/performance.md has
what was measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from emu.dataflow.formats import InputTransform, OutputTransform
from emu.dataflow.nms_wire import device_words, read_nms_frame
from emu.dataflow.postprocess.base import OpInput
from emu.dataflow.postprocess.nms import NmsConfig
from emu.dataflow.postprocess.yolov8 import Yolov8, Yolov8Config, Yolov8Decoder
from emu.hef.formats import (
    Format,
    FormatOrder,
    FormatType,
    NmsBurstType,
    NmsDefuseInfo,
    NmsInfo,
    QuantInfo,
    Shape,
)
from emu.noise import noise
from tests.effort import sized

MAX_COPIES = {FormatOrder.NHWC: 4.5, FormatOrder.NHCW: 7.5, FormatOrder.RGB888: 6.0}
MAX_BYTE_COPIES = {FormatOrder.NHWC: 2.5, FormatOrder.NHCW: 10.0, FormatOrder.RGB888: 7.0}
MAX_NOISE_COPIES = 6
MAX_SIGMOIDS = {300: 1.5, 5000: 15.0}
CLASSES, IMAGE = 80, 640
IMAGE_SHAPE = Shape(IMAGE, IMAGE, 3)
QP = QuantInfo(3.0, float(np.float32(1 / 255)), 0.0, float(np.float32(0.9)))
FROM_ZERO_QP = QuantInfo(0.0, float(np.float32(1 / 255)), 0.0, float(np.float32(0.9)))
PIXEL_QP = QuantInfo(0.0, 1.0, 0.0, 255.0)
SCORE_QP = QuantInfo(0.0, float(np.float32(1 / 255)), 0.0, 1.0)


SECONDS = sized(0.6, 0.02)


def ratio(function: Callable[[], object], baseline: Callable[[], object], seconds: float = SECONDS) -> float:
    """Fastest `function` over fastest `baseline`, in this thread's time; taken in turn, a few runs each."""
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for index, one in enumerate((function, baseline)):
            for _ in range(5):
                start = time.thread_time()
                one()
                best[index] = min(best[index], time.thread_time() - start)
    return best[0] / best[1]


def input_transform(
    order: FormatOrder, features: int = 3, qp: QuantInfo = QP, user: FormatType = FormatType.FLOAT32
) -> InputTransform:
    device = Format(FormatType.UINT8, order)
    return InputTransform(IMAGE_SHAPE, Format(user, FormatOrder.NHWC), Shape(IMAGE, IMAGE, features), device, [qp])


@pytest.fixture(scope="module")
def frame() -> np.ndarray:
    return np.random.default_rng(1).random(IMAGE_SHAPE, np.float32)


@pytest.mark.parametrize(
    ("order", "features", "qp"),
    [
        (FormatOrder.NHWC, 3, QP),
        (FormatOrder.NHWC, 3, FROM_ZERO_QP),
        (FormatOrder.NHWC, 3, PIXEL_QP),
        (FormatOrder.NHCW, 3, QP),
        (FormatOrder.NHCW, 3, PIXEL_QP),
        (FormatOrder.RGB888, 4, QP),
        (FormatOrder.RGB888, 4, PIXEL_QP),
    ],
)
def bench_format_and_quantise(frame: np.ndarray, order: FormatOrder, features: int, qp: QuantInfo) -> None:
    """Any scale, and that of image inputs, which is 1; no value is clipped."""
    transform = input_transform(order, features, qp)
    pixels = frame * np.float32(255 if qp is PIXEL_QP else qp.limvals_max)
    found = ratio(lambda: transform(pixels), pixels.copy)
    assert found <= MAX_COPIES[order], f"{found:.2f} copies of the frame"


@pytest.mark.parametrize(("order", "features"), [(FormatOrder.NHWC, 3), (FormatOrder.NHCW, 3), (FormatOrder.RGB888, 4)])
def bench_format_bytes(frame: np.ndarray, order: FormatOrder, features: int) -> None:
    transform = input_transform(order, features, user=FormatType.UINT8)
    pixels = (frame * 255).astype(np.uint8)
    found = ratio(lambda: transform(pixels), pixels.copy)
    assert found <= MAX_BYTE_COPIES[order], f"{found:.2f} copies of the frame"


def bench_made_up_frame(frame: np.ndarray) -> None:
    """Inputs and outputs alike; 3 GB/s are 15 copies of what lies in the cache."""
    pixels = (frame * 255).astype(np.uint8)
    found = ratio(lambda: noise(b"a key of sixteen", pixels.size), pixels.copy)
    assert found <= MAX_NOISE_COPIES, f"{found:.2f} copies of the frame"


@pytest.mark.parametrize("user", [FormatType.FLOAT32, FormatType.UINT8], ids=["float32", "uint8"])
@pytest.mark.parametrize(
    ("order", "features"),
    [(FormatOrder.NHCW, 3), (FormatOrder.RGB888, 4), (FormatOrder.F8CR, 8), (FormatOrder.FCR, 8)],
)
def bench_reorder(benchmark: Any, frame: np.ndarray, order: FormatOrder, features: int, user: FormatType) -> None:
    """Layouts that take pixels apart or pad them, in copies of the frame as it is given."""
    transform = input_transform(order, features, user=user)
    given = frame if user is FormatType.FLOAT32 else (frame * 255).astype(np.uint8)
    benchmark.extra_info["copies"] = ratio(lambda: transform(given), given.copy)
    benchmark(transform, given)


def bench_dequantise(benchmark: Any) -> None:
    shape, padded = Shape(80, 80, 80), Shape(80, 80, 80)
    transform = OutputTransform(
        shape,
        Format(FormatType.FLOAT32, FormatOrder.NHWC),
        padded,
        Format(FormatType.UINT8, FormatOrder.NHCW),
        [SCORE_QP],
    )
    benchmark(transform, np.zeros(transform.hw_frame_size, np.uint8))


def yolov8(passing: int, runtime: str) -> tuple[Yolov8, dict[str, np.ndarray], np.ndarray]:
    """The op of a 640 pixel model, frames in which `passing` cells have one class above the threshold, its scores."""
    rng = np.random.default_rng(passing)
    cells = [(IMAGE // stride, stride) for stride in (8, 16, 32)]
    total = sum(size * size for size, _ in cells)
    codes = rng.integers(0, 100, (total, CLASSES), np.uint8)
    codes[rng.choice(total, passing, replace=False), rng.integers(0, CLASSES, passing)] = rng.integers(
        128, 256, passing
    )
    layers, decoders, frames, start = [], [], {}, 0
    for size, stride in cells:
        width = -(-size // 8) * 8
        reg = OpInput(f"reg{stride}", Shape(size, size, 64), Shape(size, width, 64), NHCW, QuantInfo(30.0, 0.1, 0, 0))
        cls = OpInput(f"cls{stride}", Shape(size, size, CLASSES), Shape(size, width, CLASSES), NHCW, SCORE_QP)
        layers += [reg, cls]
        decoders.append(Yolov8Decoder(reg.name, cls.name, stride))
        frames[reg.name] = rng.integers(0, 256, reg.frame_size, np.uint8)
        planes = np.zeros((size, CLASSES, width), np.uint8)
        planes[:, :, :size] = codes[start : start + size * size].reshape(size, size, CLASSES).transpose(0, 2, 1)
        frames[cls.name] = planes.reshape(-1)
        start += size * size
    config = NmsConfig(0.5, 0.7, 100, CLASSES, 100 * CLASSES)
    op = Yolov8(layers, config, Yolov8Config(tuple(decoders), float(IMAGE), float(IMAGE)), runtime=runtime)
    return op, frames, codes.astype(np.float32) * np.float32(1 / 255)


NHCW = Format(FormatType.UINT8, FormatOrder.NHCW)


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
@pytest.mark.parametrize("passing", sorted(MAX_SIGMOIDS))
def bench_yolov8(passing: int, runtime: str) -> None:
    op, frames, scores = yolov8(passing, runtime)
    assert op.detect(frames).scores.size == passing
    found = ratio(lambda: op(frames), lambda: 1 / (1 + np.exp(-scores)))
    assert found <= MAX_SIGMOIDS[passing], f"{found:.2f} sigmoids with {passing} cells passing"


def bench_yolov8_everything_passes(benchmark: Any) -> None:
    """What synthetic device bytes do: nearly every class of every cell is a detection."""
    op, frames, _ = yolov8(0, "4.23")
    op.configure(score_threshold=0.3)
    frames = {name: np.random.default_rng(2).integers(0, 256, data.size, np.uint8) for name, data in frames.items()}
    frames |= {name: np.where(data < 250, 0, data).astype(np.uint8) for name, data in frames.items() if "cls" in name}
    benchmark.extra_info["detections"] = int(op.detect(frames).scores.size)
    benchmark.pedantic(op, (frames,), rounds=3)


def bench_on_chip_nms(benchmark: Any) -> None:
    info = NmsInfo(80, 100, 8000, 8, 1, False, NmsDefuseInfo(0, ""), 101, NmsBurstType.H8_PER_CLASS)
    rng = np.random.default_rng(3)
    boxes = [rng.integers(0, 4096, (int(rng.integers(0, 101)), 5)).astype(np.uint16) for _ in range(80)]
    words = device_words(boxes, info)
    benchmark(read_nms_frame, words, info)
