"""Damaged .ms files: an answer or one clear refusal, never a crash, a hang, or memory by a forged number.

The suite takes a fixed seed and number of cases (about 20 s). For longer by hand:
`python -m tests.graph.test_ms_fuzz SECONDS SEED` prints the seed of the case that fails.
"""

from __future__ import annotations

import random
import resource
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from emu.errors import GraphError
from emu.graph import executor
from emu.graph.plan import make_plan
from emu.graph.readers import ms
from emu.graph.readers.ms import describe as ms_describe
from emu.graph.readers.ms.file import read_graph_def
from emu.graph.writers.ms import write
from emu.schemas.generated import ms_v0_1, ms_v0_5
from emu.schemas.generated import ms_v0_5 as b
from tests.conftest import SHARED
from tests.graph.ms_cases import file_a, file_b

CASES = 80000
ROOM = 600 << 20
"""Bytes that the whole run may add to the process: far less than what forged sizes ask for."""

EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 100, 101, 115, 116, 127, 128, 255, 256, 999, 0x7FFF, 0x8000, 0xFFFF)
WIDE = (0x10000, 0xFFFFFF, 0x1000000, 0x3FFFFFFF, 0x40000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


def corpus() -> list[bytes]:
    """The shared graphs where they are; always a few of our own."""
    folders = [SHARED / "graphs" / "ms", SHARED / "ms"]
    found = [path.read_bytes() for folder in folders for path in sorted(folder.glob("*.ms")) if small(path)]
    x = np.ones((1, 2, 5, 5), np.float32)
    w = np.ones((3, 2, 3, 3), np.float32)
    shape = ((1, 3, 3, 3), np.float32)
    found.append(file_a(ms_v0_1.Conv2D(strideH=1, strideW=1), [x, w], [shape], constants=[1]))
    quant = [(), (b.QuantParam(scale=0.5),), ()]
    found.append(file_b(b.Conv2D(strideH=1, strideW=1), [x, w.astype(np.int8)], [shape], constants=[1], quant=quant))
    rng = np.random.default_rng(0)
    for member in ms_v0_5.OPT.members:  # every operator with default attributes, on operands that may not suit it
        operands = [rng.standard_normal((2, 3)).astype(np.float32) for _ in range(rng.integers(0, 4))]
        found.append(file_b(member(), operands, [((2, 3), np.float32)]))
    return found


def small(path: Path) -> bool:
    return path.stat().st_size < 1 << 16


def mutated(rng: random.Random, files: list[bytes]) -> bytes:
    data = bytearray(rng.choice(files))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if len(data) < 8:
            return bytes(data)
        at = rng.randrange(len(data))
        kind = rng.randrange(8)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice(EDGES) & 0xFF
        elif kind == 2:
            struct.pack_into("<H", data, min(at & ~1, len(data) - 2), rng.choice(EDGES) & 0xFFFF)
        elif kind in (3, 4):
            struct.pack_into("<I", data, min(at & ~3, len(data) - 4), rng.choice(EDGES + WIDE))
        elif kind == 5:  # a number a little off: offsets and sizes that nearly fit
            place = min(at & ~3, len(data) - 4)
            value = struct.unpack_from("<I", data, place)[0] + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8))
            struct.pack_into("<I", data, place, value & 0xFFFFFFFF)
        elif kind == 6:
            del data[at:]
        else:  # a piece of another file, or of this one, over a piece of this one
            other = rng.choice((bytes(data), rng.choice(files)))
            start = rng.randrange(len(other) + 1) & ~3
            piece = other[start : start + rng.choice((4, 8, 16, 64))]
            place = at & ~3
            data[place : place + len(piece)] = piece[: len(data) - place]
    return bytes(data)


def answer(data: bytes) -> str:
    """What a file gives: its outputs, or the status of its refusal; anything else is a fault of ours."""
    try:
        graph = ms.read(data)
        plan = make_plan(graph)
    except GraphError as error:
        assert "\n" not in error.line()
        return error.name
    tensors = {port.name: graph.tensors[port.tensor] for port in graph.inputs}
    if plan.peak > 64 << 20:
        return "large"  # what it asks for is what it declares; not run here
    try:
        found = executor.run_plan(plan, {name: np.zeros(each.shape, each.dtype) for name, each in tensors.items()})
    except GraphError as error:
        assert "\n" not in error.line()
        return error.name
    assert found.keys() == {port.name for port in graph.outputs}
    return "outputs"


def describe(data: bytes) -> None:
    try:
        graph_def = read_graph_def(data)
    except GraphError:
        return
    ms_describe.document(graph_def)
    ms_describe.lines(graph_def)


def run(seed: int, files: list[bytes]) -> str:
    rng = random.Random(seed)
    data = mutated(rng, files)
    found = answer(data)
    if seed % 8 == 0:
        describe(data)
    return found


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_damaged_files() -> None:
    files = corpus()
    before = memory()
    counts: dict[str, int] = {}
    for seed in range(CASES):
        try:
            found = run(seed, files)
        except GraphError:
            raise
        except Exception as error:
            raise AssertionError(f"case {seed}: {type(error).__name__}: {error}") from error
        counts[found] = counts.get(found, 0) + 1
    assert memory() - before < ROOM
    # the cases reach every layer: sound files, broken buffers, broken graphs
    assert {"outputs", "MS_FLATBUFFER", "GRAPH_STRUCTURE", "GRAPH_SHAPE", "GRAPH_UNSUPPORTED"} <= counts.keys()


def test_every_truncation_of_a_file() -> None:
    x = np.ones((1, 2, 3, 3), np.float32)
    w = np.ones((1, 2, 1, 1), np.float32)
    attr = b.Conv2D(strideH=1, strideW=1)
    data = file_b(attr, [x, w], [((1, 1, 3, 3), np.float32)], constants=[1])
    assert answer(data) == "outputs"
    for size in range(len(data) - 3):  # the last bytes may be the padding of a string
        assert answer(data[:size]) == "MS_FLATBUFFER", size


def bombs() -> Iterator[tuple[str, bytes]]:
    """Small files that ask for much."""
    x = np.zeros((1, 1, 4, 4), np.float32)
    w = np.zeros((1, 1, 1, 1), np.float32)
    far = {"padUp": 60000, "padDown": 60000, "padLeft": 60000, "padRight": 60000, "strideH": 130000, "strideW": 130000}
    yield "padding", file_b(b.Conv2D(**far), [x, w], [((1, 1, 1, 1), np.float32)], constants=[1])
    yield "depthwise padding", file_b(b.DepthwiseConv2D(**far), [x, w], [((1, 1, 1, 1), np.float32)], constants=[1])
    window = {"windowH": 60001, "windowW": 60001}
    yield "pooling", file_b(b.Pooling(**far, **window), [x], [((1, 1, 1, 1), np.float32)])
    same = {"windowH": 2_500_000, "windowW": 2, "strideH": 2, "strideW": 2, "padMode": b.PadMode.SAME}
    yield "pooling window", file_b(b.Pooling(**same), [x], [((1, 1, 2, 2), np.float32)])
    many = ms_v0_5.OpDef(name="n" * 500_000, attr=b.Split(), inputIndex=(0,), outputIndex=tuple(range(1, 20_000)))
    tensors = (ms_v0_5.TensorDef(dims=(1,)),) * 20_000
    named = ms_v0_5.SubGraphDef(inputIndex=(0,), outputIndex=(1,), nodes=(many,), allTensors=tensors)
    yield "a long name for many results", write(ms_v0_5.GraphDef(subgraphs=(named,)))
    wide = np.broadcast_to(np.float32(0), (1, 1, 5000, 5000))  # an input: the file holds only its dims
    one_stride = {"strideH": 1, "strideW": 1}
    dot = np.zeros((1, 1, 1, 1), np.float32)
    yield "transposed kernel", file_b(b.DeConv2D(**one_stride), [dot, wide], [(wide.shape, np.float32)])
    crop = {"strideH": 30000, "strideW": 30000, "padUp": 45000, "padDown": 45000, "padLeft": 45000, "padRight": 45000}
    yield "transposed", file_b(b.DeConv2D(**crop), [x, w], [((1, 1, 1, 1), np.float32)], constants=[1])
    one, two = np.zeros((1, 2), np.int32), np.array([40000, 40000], np.int32)
    yield (
        "sparse",
        file_b(b.SparseToDense(), [one, two, np.ones(1, np.float32)], [((1, 1), np.float32)], constants=[0, 1, 2]),
    )
    yield "fill", file_b(b.Fill((40000, 40000)), [np.zeros(1, np.float32)], [((40000, 40000), np.float32)])
    yield "tile", file_b(b.Tile((2**30,)), [np.zeros(1, np.float32)], [((2**30,), np.float32)])
    yield "range", file_b(b.Range(b.DataType.DT_INT32, 0, 2**31 - 1, 1), [], [((5,), np.int32)])
    yield "split", file_b(b.Split(2**31 - 1, (), 0), [np.zeros((0,), np.float32)], [((0,), np.float32)])
    yield (
        "detections",
        file_b(
            b.DetectionPostProcess(
                hScale=1, wScale=1, xScale=1, yScale=1, MaxDetections=2**40, NumClasses=1, MaxClassesPreDetection=1
            ),
            [np.zeros((1, 1, 4), np.float32), np.zeros((1, 1, 1), np.float32), np.zeros((1, 4), np.float32)],
            [((1,), np.float32)] * 4,
        ),
    )
    yield "topK", file_b(b.TopK(2**31 - 1), [np.zeros(4, np.float32)], [((4,), np.float32), ((4,), np.int32)])
    yield "upsample", file_b(b.Upsample("nearest", (1e30,)), [np.zeros(4, np.float32)], [((4,), np.float32)])


BOMBS = dict(bombs())


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_small(name: str) -> None:
    before = memory()
    assert answer(BOMBS[name]) != "outputs"
    assert memory() - before < 200 << 20


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
