"""MindSpore predict graphs against onnxruntime and against plain work of the same run, on one thread.

    pytest benchmarks/bench_ms.py

Limits: LeNet (28x28, batch 1, float32) at most 3.5 times onnxruntime; reading its 1.7 MB file with every check at
most 8 times one pass over the bytes (crc32). Both sides are taken alternately and the fastest of each counts.

LeNet is small: onnxruntime needs some 60 µs for all of it. Two thirds of our time are products in BLAS, which takes
them at its own speed (2.4 times onnxruntime with the kernels that OpenBLAS chooses for AVX-512, 2.7 where
OPENBLAS_CORETYPE holds it to AVX2); the rest is the interpreter's price of eight operators and two
poolings in several passes.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from threadpoolctl import threadpool_limits

from emu.graph.executor import run_plan
from emu.graph.plan import make_plan
from emu.graph.readers import ms
from emu.graph.writers.ms import SubGraphBuilder, write
from emu.schemas.generated import ms_v0_5 as b

MAX_RUN_RATIO = 3.5
MAX_READ_RATIO = 8.0
WEIGHTS = {
    "conv1": (20, 1, 5, 5),
    "conv2": (50, 20, 5, 5),
    "ip1": (500, 800),
    "ip2": (10, 500),
}
SHAPES = [(1, 20, 24, 24), (1, 20, 12, 12), (1, 50, 8, 8), (1, 50, 4, 4), (1, 500), (1, 500), (1, 10), (1, 10)]


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {}
    for name, shape in WEIGHTS.items():
        found[name] = (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        found[name + "_bias"] = rng.standard_normal(shape[0]).astype(np.float32)
    return found


def lenet_file() -> bytes:
    held = weights()
    graph = SubGraphBuilder()
    at = graph.input((1, 1, 28, 28))
    window = {"strideW": 1, "strideH": 1, "hasBias": True}
    pool = b.Pooling(windowW=2, windowH=2, strideW=2, strideH=2)
    steps: list[tuple[b.OpT, str]] = [
        (b.Conv2D(**window), "conv1"),
        (pool, ""),
        (b.Conv2D(**window), "conv2"),
        (pool, ""),
        (b.FullConnection(hasBias=True, axis=1), "ip1"),
        (b.Activation(b.ActivationType.RELU), ""),
        (b.FullConnection(hasBias=True, axis=1), "ip2"),
        (b.SoftMax((1,)), ""),
    ]
    for (attr, name), shape in zip(steps, SHAPES, strict=True):
        operands = [at] + ([graph.constant(held[name]), graph.constant(held[name + "_bias"])] if name else [])
        at = graph.tensor(shape)
        graph.node(attr, operands, [at])
    graph.outputs.append(at)
    return write(graph.graph())


def lenet_session() -> onnxruntime.InferenceSession:
    nodes = [
        helper.make_node("Conv", ["x", "conv1", "conv1_bias"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["b", "conv2", "conv2_bias"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["d"], ["e"]),
        helper.make_node("Gemm", ["e", "ip1", "ip1_bias"], ["f"], transB=1),
        helper.make_node("Relu", ["f"], ["g"]),
        helper.make_node("Gemm", ["g", "ip2", "ip2_bias"], ["h"], transB=1),
        helper.make_node("Softmax", ["h"], ["y"], axis=1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 1, 28, 28))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 10))]
    held = [numpy_helper.from_array(value, name) for name, value in weights().items()]
    graph = helper.make_graph(nodes, "lenet", inputs, outputs, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def ratio(function: Callable[[], object], baseline: Callable[[], object], seconds: float = 2.0) -> float:
    """Fastest `function` over fastest `baseline`, taken in turn."""
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for index, one in enumerate((function, baseline)):
            start = time.perf_counter()
            one()
            best[index] = min(best[index], time.perf_counter() - start)
    return best[0] / best[1]


@pytest.mark.benchmark(group="ms")
def test_lenet_against_onnxruntime(benchmark) -> None:
    session = lenet_session()
    plan = make_plan(ms.read(lenet_file()))
    image = np.random.default_rng(1).standard_normal((1, 1, 28, 28)).astype(np.float32)
    with threadpool_limits(1):
        found = run_plan(plan, {"input_0": image})["output_0"]
        np.testing.assert_allclose(found, session.run(None, {"x": image})[0], rtol=1e-4, atol=1e-6)
        benchmark(run_plan, plan, {"input_0": image})
        slower = ratio(lambda: run_plan(plan, {"input_0": image}), lambda: session.run(None, {"x": image}))
    benchmark.extra_info["times onnxruntime"] = round(slower, 2)
    assert slower <= MAX_RUN_RATIO


@pytest.mark.benchmark(group="ms")
def test_reading_with_every_check(benchmark) -> None:
    data = lenet_file()
    benchmark(ms.read, data)
    slower = ratio(lambda: ms.read(data), lambda: zlib.crc32(data), seconds=1.0)
    benchmark.extra_info["times crc32"] = round(slower, 2)
    assert slower <= MAX_READ_RATIO
