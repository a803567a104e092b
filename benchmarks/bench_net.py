"""Reading networks from their configuration and computing frames, against onnxruntime on the same layers.

    pytest benchmarks/bench_net.py

CPU time of this process, one thread, the least of interleaved rounds. Limits: a batch of 64 frames of mnist_cnn 3 times
onnxruntime's float layers (convolutions of the same kernels, rectifiers, pools); reading yolov8n_320 1 second, again
from what is kept 0.05.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from emu.hef import open_hef
from emu.hef.infos import hef_infos
from emu.net import load
from emu.net.layers import Kind
from emu.net.reading import Reading, read
from tests.conftest import SHARED, needs_shared
from tests.effort import sized
from tests.net.given import network_of

pytestmark = needs_shared
ROUNDS, FRAMES = sized(7, 1), sized(64, 2)


def least(*works: Callable[[], object]) -> list[float]:
    """The least CPU seconds of each, in interleaved rounds."""
    found = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            begun = time.process_time()
            work()
            found[place] = min(found[place], time.process_time() - begun)
    return found


def session_of(reading: Reading) -> Any:
    """onnxruntime on the same layers in floats."""
    onnx = pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    helper = onnx.helper
    nodes, weights, last = [], [], "x"
    for number, layer in enumerate(reading.network.layers.values()):
        window, name = reading.geometry[layer.lcu].window, f"m{number}"
        if layer.kind is Kind.MAX_POOL:
            nodes.append(helper.make_node("MaxPool", [last], [name], kernel_shape=[2, 2], strides=[2, 2]))
        else:
            assert layer.weights is not None
            kernel = layer.weights.kernel.transpose(0, 3, 1, 2).astype(np.float32)
            bias = layer.weights.bias.astype(np.float32)
            weights += [onnx.numpy_helper.from_array(one, f"{name}{tag}") for one, tag in ((kernel, "w"), (bias, "b"))]
            pads = [window.rows // 2 if window.padded else 0] * 4
            nodes.append(helper.make_node("Conv", [last, f"{name}w", f"{name}b"], [f"{name}c"], pads=pads))
            nodes.append(helper.make_node("Relu", [f"{name}c"], [name]))
        last = name
    stream = next(one for one in reading.network.streams.values() if one.is_input)
    of = onnx.TensorProto.FLOAT
    shape = [FRAMES, stream.shape.features, stream.shape.height, stream.shape.width]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", of, shape)],
        [helper.make_tensor_value_info(last, of, None)],
        weights,
    )
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def bench_frames_of_mnist() -> None:
    reading = read(network_of("mnist_cnn"))
    session = session_of(reading)
    frames = np.random.default_rng(0).integers(0, 256, (FRAMES, 32, 32, 1), dtype=np.uint8)
    floats = np.ascontiguousarray(frames.transpose(0, 3, 1, 2), np.float32)
    ours, theirs = least(lambda: reading.computation({1: frames}), lambda: session.run(None, {"x": floats}))
    print(f"{ours * 1e3:.1f} ms, onnxruntime {theirs * 1e3:.1f} ms: {ours / theirs:.2f}")
    assert ours < 3 * theirs


def bench_reading_of_yolov8n() -> None:
    def reading() -> object:
        hef = open_hef(SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef")
        (core_op,) = hef.core_ops()
        return load.load_networks(hef, core_op, hef_infos(hef).network_groups[0])

    def fresh() -> None:
        load._kept.clear()
        reading()

    first, kept = least(fresh, reading)
    print(f"{first:.2f} s, again {kept * 1e3:.0f} ms")
    assert first < 1 and kept < 0.05
