"""Whole networks on the numpy executor against onnxruntime on one thread, and the kernels against what bounds them.

    pytest benchmarks/bench_graph.py

The same network is built as a domi .om model and as an ONNX model (tests/graph/nets.py); float32, batch 1. Both sides
are taken alternately and the fastest of each counts. The matrix products alone, which no numpy executor can beat, are
timed beside them: docs/graph.md says how much of the distance to onnxruntime they explain.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from threadpoolctl import threadpool_limits

from emu.graph.executor import run_plan
from emu.graph.plan import make_plan
from emu.graph.readers import om
from tests.graph import nets

LIMITS = {"residual": 2.5, "plain": 2.5, "separable": 4.5}
MEMORY = 3


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(limits=1):
        yield


def best(function: Callable[[], object], runs: int) -> float:
    shortest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def onnx_session(net: nets.Net, result: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(net.onnx(result), options, providers=["CPUExecutionProvider"])


def products(net: nets.Net) -> float:
    """Seconds that the matrix products of the convolutions alone take, depthwise ones left out."""
    total = 0.0
    random = np.random.default_rng(0)
    for op in net.model.op:
        param = op.convolution_param
        if not param.HasField("filter") or param.mode == 3:
            continue
        units, *rest = param.filter.shape.dim
        length, columns = int(np.prod(rest)), int(np.prod(op.output_desc[0].dim[2:]))
        a = random.standard_normal((units, length), np.float32)
        b, out = random.standard_normal((length, columns), np.float32), np.empty((units, columns), np.float32)
        total += best(lambda a=a, b=b, out=out: np.matmul(a, b, out=out), 3)
    return total


@pytest.mark.parametrize("name", list(LIMITS))
def test_whole_network(name: str, benchmark) -> None:
    net, result = getattr(nets, name)()
    x = np.random.default_rng(0).standard_normal(net.shape, np.float32)
    plan, session = make_plan(om.read(net.om(result))), onnx_session(net, result)
    got, want = run_plan(plan, {"data": x})[f"{result}:0"], session.run(None, {"data": x})[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
    times: list[tuple[float, float]] = []

    def alternate() -> None:
        start = time.perf_counter()
        run_plan(plan, {"data": x})
        middle = time.perf_counter()
        session.run(None, {"data": x})
        times.append((middle - start, time.perf_counter() - middle))

    benchmark.pedantic(alternate, rounds=25, warmup_rounds=2)
    ours, theirs = (min(column) for column in zip(*times, strict=True))
    benchmark.extra_info.update(
        ratio=round(ours / theirs, 2), limit=LIMITS[name], products=round(products(net) / theirs, 2)
    )
    print(f"\n{name}: {ours / theirs:.2f} times onnxruntime, the products alone {products(net) / theirs:.2f}")
    assert ours / theirs <= LIMITS[name]


def test_never_slower_than_onnx_reference() -> None:
    net, result = nets.separable(size=32, width=8)
    x = np.random.default_rng(0).standard_normal(net.shape, np.float32)
    plan = make_plan(om.read(net.om(result)))
    reference = ReferenceEvaluator(net.onnx(result))
    assert best(lambda: run_plan(plan, {"data": x}), 3) <= best(lambda: reference.run(None, {"data": x}), 1)


@pytest.mark.parametrize("name", list(LIMITS))
def test_peak_memory(name: str) -> None:
    net, result = getattr(nets, name)()
    x = np.zeros(net.shape, np.float32)
    plan = make_plan(om.read(net.om(result)))
    run_plan(plan, {"data": x})
    tracemalloc.start()
    run_plan(plan, {"data": x})
    peak = tracemalloc.get_traced_memory()[1] + x.nbytes
    tracemalloc.stop()
    assert peak <= MEMORY * plan.peak
