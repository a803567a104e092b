"""Damaged MindSpore Lite files: an answer or one clear refusal, never a crash, a hang, or memory by a forged number.

The suite takes a fixed seed and number of cases. For longer by hand:
`python -m tests.graph.test_lite_fuzz SECONDS SEED` prints the seed of the case that fails.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError
from emu.graph import executor
from emu.graph.dynamic import specialise
from emu.graph.load import read_graph
from emu.graph.plan import make_plan
from emu.graph.readers.lite import describe
from emu.graph.readers.lite.file import is_lite, read_meta_graph
from emu.graph.readers.lite.site import LOWERINGS
from emu.graph.writers.ms_lite import ModelBuilder
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from tests.conftest import SHARED
from tests.graph.lite_cases import file_of, ints
from tests.graph.test_ms_fuzz import memory, mutated, small

CASES = 30000
ROOM = 600 << 20
"""Bytes that the whole run may add to the process."""


def corpus() -> list[bytes]:
    """The small given files where they are; always a net of our own, and every operator that is executed."""
    found = [path.read_bytes() for path in sorted((SHARED / "ms").glob("lite*.ms")) if small(path)]
    found += [net(old), net(lite)] * 8
    rng = np.random.default_rng(0)
    tables = [member() for member in lite.PRIMITIVETYPE.members if member.__name__ in LOWERINGS]
    tables += [member() for member in old.PRIMITIVETYPE.members[::3]]
    for attr in tables:  # with default attributes, on operands that may not suit it
        operands: list[Any] = [rng.standard_normal((2, 3)).astype(np.float32), ints(1, 0), ints(2, 3), ints(1, 1)]
        count = int(rng.integers(1, 5))
        found.append(file_of(attr, operands[:count], [np.float32], constants=range(1, count)))
    return found


def net(schema: Any) -> bytes:
    """Convolution of int8, pooling, a reshape by the computed shape, a dense layer, softmax."""
    model = ModelBuilder(schema)
    quant = {"quantParams": (schema.QuantParam(scale=0.5, zeroPoint=1, inited=True),)}
    x = model.input((1, 5, 5, 2), np.int8, **quant)
    weight = model.constant(np.ones((3, 2, 2, 2), np.int8), "KHWC", **quant)
    y, z, flat, dense, last = (model.tensor(()) for _ in range(5))
    if schema is lite:
        model.node(
            lite.Conv2DFusion(stride=(1, 1), kernel_size=(2, 2), pad_list=(0, 0, 0, 0), group=1), [x, weight], [y]
        )
        model.node(lite.MaxPoolFusion(kernel_size=(2, 2), strides=(2, 2)), [y], [z])
    else:
        model.node(old.Conv2D(strideH=1, strideW=1, kernelH=2, kernelW=2, group=1), [x, weight], [y])
        model.node(old.Pooling(windowH=2, windowW=2, strideH=2, strideW=2), [y], [z])
    model.node(schema.Reshape(), [z, model.constant(ints(1, -1))], [flat])
    model.node(schema.FullConnection(), [flat, model.constant(np.ones((4, 12), np.float32))], [dense])
    model.node(lite.Softmax((1,)) if schema is lite else old.SoftMax(1), [dense], [last])
    model.outputs.append(last)
    return model.write()


def answer(data: bytes) -> str:
    """What a file gives: its outputs, or the status of its refusal; anything else is a fault of ours."""
    try:
        graph = specialise(read_graph(data), {})
        plan = make_plan(graph)
    except GraphError as error:
        assert error.line().isprintable()
        return error.name
    if plan.peak > 16 << 20:
        return "large"  # what it asks for is what it declares; not run here
    tensors = {port.name: graph.tensors[port.tensor] for port in graph.inputs}
    try:
        found = executor.run_plan(plan, {name: np.zeros(each.shape, each.dtype) for name, each in tensors.items()})
    except GraphError as error:
        assert error.line().isprintable()
        return error.name
    assert found.keys() == {port.name for port in graph.outputs}
    return "outputs"


def shown(data: bytes) -> None:
    if not is_lite(data):
        return
    try:
        meta = read_meta_graph(data)
    except GraphError:
        return
    describe.document(meta)
    assert all(line.isprintable() for line in describe.lines(meta))


def run(seed: int, files: list[bytes]) -> str:
    data = mutated(random.Random(seed), files)
    found = answer(data)
    if seed % 8 == 0:
        shown(data)
    return found


def test_the_net_runs() -> None:
    assert (answer(net(old)), answer(net(lite))) == ("outputs", "outputs")


def test_damaged_files() -> None:
    files = corpus()
    before = memory()
    counts: dict[str, int] = {}
    for seed in range(CASES):
        try:
            found = run(seed, files)
        except Exception as error:
            raise AssertionError(f"case {seed}: {type(error).__name__}: {error}") from error
        counts[found] = counts.get(found, 0) + 1
    assert memory() - before < ROOM
    assert {"outputs", "MS_FLATBUFFER", "GRAPH_STRUCTURE", "GRAPH_SHAPE", "GRAPH_UNSUPPORTED"} <= counts.keys()


@pytest.mark.parametrize("schema", [old, lite])
def test_every_cut_of_a_file(schema: Any) -> None:
    data = net(schema)
    for size in range(len(data) - 3):  # the last bytes may be the padding of a string
        assert answer(data[:size]) in ("MS_FLATBUFFER", "GRAPH_UNSUPPORTED"), size


def test_every_flip_of_a_bit() -> None:
    data = net(lite)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        answer(bytes(changed))


def bombs() -> Iterator[tuple[str, bytes]]:
    """Small files that ask for much."""
    x = np.zeros((1, 4, 4, 1), np.float32)
    w = np.zeros((1, 1, 1, 1), np.float32)
    far = {"pad_list": (60000,) * 4, "stride": (130000, 130000)}
    yield "padding", file_of(lite.Conv2DFusion(**far, group=1), [x, w], [np.float32], constants=(1,))
    crop = {"pad_list": (45000,) * 4, "stride": (30000, 30000)}
    yield "transposed", file_of(lite.Conv2dTransposeFusion(**crop, group=1), [x, w], [np.float32], constants=(1,))
    window = {"kernel_size": (60001, 60001), "strides": (130000, 130000), "pad": (60000,) * 4}
    yield "pooling", file_of(lite.MaxPoolFusion(**window), [x], [np.float32])
    resize = lite.Resize(method=lite.ResizeMethod.NEAREST, new_height=2**40, new_width=2**20)
    yield "resize", file_of(resize, [x], [np.float32])
    many = ints(40000, 40000)
    yield "fill", file_of(lite.Fill(), [np.zeros(1, np.float32), many], [np.float32], constants=(1,))
    yield "constant", file_of(lite.ConstantOfShape(43), [many], [np.float32], constants=(0,))
    yield "tile", file_of(lite.TileFusion(), [np.zeros((1, 1), np.float32), many], [np.float32], constants=(1,))
    yield "one hot", file_of(lite.OneHot(-1), [ints(0), ints(2**31 - 1), ints(0, 1)], [np.int32], constants=(1, 2))
    ends = [np.array(number, np.int64) for number in (0, 2**62, 1)]
    yield "range", file_of(lite.Range(), ends, [np.int64], constants=(0, 1, 2))
    pads = ints(0, 2**31 - 1, 0, 0, 0, 0, 0, 0)
    yield "pad", file_of(lite.PadFusion(), [x, pads], [np.float32], constants=(1,))
    yield "unstack", file_of(lite.Unstack(), [np.broadcast_to(np.float32(0), (1 << 30,))], [np.float32])
    yield "split", file_of(lite.Split(2**31 - 1), [np.zeros((0,), np.float32)], [np.float32])
    yield "topK", file_of(lite.TopKFusion(), [np.zeros(4, np.float32), ints(2**31 - 1)], [np.float32], constants=(1,))
    state = np.zeros((1, 1, 1), np.float32)
    long = np.broadcast_to(np.float32(0), (2**24, 1, 1))
    cell = [long, np.zeros((1, 4, 1), np.float32), np.zeros((1, 4, 1), np.float32), np.zeros((1, 8), np.float32)]
    yield "lstm", file_of(lite.LSTM(), [*cell, state, state], [np.float32], constants=(1, 2, 3))
    model = ModelBuilder()  # a chain that doubles
    at = model.input((1 << 10,))
    for _ in range(60):
        at, before = model.tensor(()), at
        model.node(lite.Concat(), [before, before], [at])
    model.outputs.append(at)
    yield "doubling", model.write()
    model = ModelBuilder()  # one long name for many results
    results = [model.tensor(()) for _ in range(20000)]
    model.node(lite.Split(20000), [model.input((20000,))], results, name="n" * 500_000)
    model.outputs.append(results[0])
    model.tensors = [replace(tensor, dims=(1,)) for tensor in model.tensors]
    yield "a long name", model.write()


BOMBS = dict(bombs())


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_small(name: str) -> None:
    before, started = memory(), time.monotonic()
    assert answer(BOMBS[name]) != "outputs"
    shown(BOMBS[name])
    assert memory() - before < 200 << 20
    assert time.monotonic() - started < 60


def main(seconds: float, first: int) -> None:
    files = corpus()
    end = time.monotonic() + seconds
    counts: dict[str, int] = {}
    slowest = (0.0, 0)
    seed = first
    while time.monotonic() < end:
        started = time.perf_counter()
        try:
            found = run(seed, files)
        except Exception:
            print(f"case {seed} fails")
            raise
        counts[found] = counts.get(found, 0) + 1
        slowest = max(slowest, (time.perf_counter() - started, seed))
        seed += 1
    print(f"{seed - first} cases, {counts}, slowest {slowest[0]:.2f} s (case {slowest[1]}), {memory() >> 20} MiB")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
