"""Compiling: actions per second, copies of CCW data, and `emu actions` as a process.

    pytest benchmarks/bench_compile.py

Of the four largest given files, an action costs as much as so many events of a bare simpy loop: compiled again, and
with the model and the checks of loading (of a file that was opened). Measured on a busy two-core machine: 3.3 and 7.9
over all four; by themselves 2.7 to 4.0, the file of the fewest actions most (10 to 14 with the model).

The rate is measured against packing the same actions with `struct` alone, the process against one that only imports
numpy and the generated schema module (processor time of both, each the best of several runs).
"""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Generator
from functools import partial
from itertools import islice

import pytest
import simpy

from benchmarks.hefs import HEFS, needs_hefs
from emu.hef import Hef, builder, open_hef
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, HwArch, WriteDataType
from emu.hef.formats import Shape
from emu.hef.writer import write_hef
from emu.sequencer.compile import compile_hef
from tests.effort import least, sized

ACTIONS = sized(60_000, 1_000)
MAX_PACKING_RATIO = 25  # what 200,000 actions a second come to where packing takes 0.2 microseconds
MAX_PROCESS_RATIO = 3
MAX_COPIED = 0.1
MAX_EVENTS, MAX_EVENTS_WITH_MODEL = 3.5, 8
EVENTS = sized(20_000, 100)
FILES = HEFS
LARGEST = sorted(FILES, key=lambda path: -path.stat().st_size)[: sized(4, 1)]


def _mixed_actions(count: int) -> list[ops.Action]:
    """What real preliminary contexts are made of, in their usual proportions."""
    out: list[ops.Action] = []
    while len(out) < count:
        index = len(out)
        lcu, cluster = index % 16, index % 8
        out += [ops.ActionWriteDataCcw(struct.pack("<4I", 1, index, 2, 3), index % 2) for _ in range(3)]
        out += [ops.ActionEnableLcu(lcu, cluster, 1, 2, 0, 0) for _ in range(3)]
        out.append(ops.ActionEnableLcu(lcu, cluster, 5, 7, 0, 0))
        out.append(ops.ActionWaitForModuleConfigDone(lcu))
        out.append(ops.ActionDisableLcu(lcu, cluster, 0))
        out.append(ops.ActionWriteDataByType(4 * index, WriteDataType.DATA_FROM_ACTION, b"\1\2\3\4", 255, 0, 0))
    return out[:count]


def large_hef(count: int = ACTIONS) -> Hef:
    """A single-context Hailo-8 HEF whose preliminary context has `count` actions in operations of 50."""
    directions = {"in": EdgeLayerDirection.HOST_TO_DEVICE, "out": EdgeLayerDirection.DEVICE_TO_HOST}
    layers = [
        builder.edge_layer(
            builder.layer_info(name, builder.layer_base(Shape(8, 8, 8), sys_index=index)), direction, context_index=0
        )
        for index, (name, direction) in enumerate(directions.items())
    ]
    none = ops.TriggerNone()
    allow = builder.operation(none, ops.ActionAllowInputDataflow(0, EdgeConnectionType.BOUNDARY))
    actions = iter(_mixed_actions(count))
    preliminary = tuple(builder.operation(none, *part) for part in iter(lambda: tuple(islice(actions, 50)), ()))
    core = builder.core_op(
        "net",
        [builder.context((allow,), layers, index=0)],
        preliminary=preliminary,
        sorted_outputs=["out"],
        networks=("net",),
        config_channels=2,
    )
    contents = builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)])
    return open_hef(write_hef(contents, 2), runtime="4.23")


def bench_rate(benchmark):
    hef = large_hef()
    assert hef.network_groups
    header, payload = struct.Struct("<BI"), struct.Struct("<BBHI")

    def pack() -> bytes:
        return b"".join([header.pack(4, 0xFFFFFFFF) + payload.pack(i & 255, 0, 5, 7) for i in range(ACTIONS)])

    benchmark.pedantic(lambda: compile_hef(hef), rounds=3)
    seconds, packing = least(lambda: compile_hef(hef), pack)
    benchmark.extra_info["actions_per_second"] = round(ACTIONS / seconds)
    benchmark.extra_info["ratio_to_packing"] = round(seconds / packing, 1)
    assert seconds / packing <= MAX_PACKING_RATIO


@needs_hefs
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def bench_real_file(path, benchmark):
    hef = open_hef(path)
    assert hef.network_groups
    benchmark.pedantic(lambda: compile_hef(hef), rounds=5)
    tracemalloc.start()
    program = compile_hef(hef)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ccw = sum(len(s) for item in program.descriptor_lists for part in item.programs for s in part.segments or ())
    ccw += sum(len(s) for item in program.continuous_buffers for s in item.segments or ())
    benchmark.extra_info["ccw_bytes"], benchmark.extra_info["peak_bytes"] = ccw, peak
    assert peak <= MAX_COPIED * ccw + (2 << 20)


@needs_hefs
def bench_process(benchmark):
    largest = max(FILES, key=lambda path: path.stat().st_size)

    def spent(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    actions = ("-m", "emu", "actions", str(largest), "--json")
    imports = ("-c", "import numpy, emu.schemas.hef_pb2")
    benchmark.pedantic(lambda: spent(*actions), rounds=3)
    ratio = min(spent(*actions) for _ in range(sized(8, 1))) / min(spent(*imports) for _ in range(sized(8, 1)))
    benchmark.extra_info["ratio"] = round(ratio, 2)
    assert ratio <= MAX_PROCESS_RATIO


def _event() -> float:
    """Seconds of processor time of one event of a bare simpy loop."""

    def process(env: simpy.Environment) -> Generator[simpy.Event, None, None]:
        for _ in range(EVENTS):
            yield env.timeout(1)

    def loop() -> None:
        env = simpy.Environment()
        env.process(process(env))
        env.run()

    return min(_spent(loop) for _ in range(sized(15, 1))) / EVENTS


def _spent(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


@needs_hefs
def bench_events_an_action() -> None:
    event, actions, again, first = _event(), 0, 0.0, 0.0
    for path in LARGEST:
        opened = [open_hef(path) for _ in range(sized(30, 2))]
        program = compile_hef(opened[0])
        count = sum(
            len(getattr(located.entry, "items", (1,)))
            for group in program.network_groups
            for context in group.contexts
            for located in context.actions(program.runtime)
        )
        with_model = min(_spent(partial(compile_hef, hef)) for hef in opened[1:])
        alone = min(_spent(partial(compile_hef, opened[0])) for _ in range(sized(30, 1)))
        event = min(event, _event())
        each = (seconds / count / event for seconds in (alone, with_model))
        print(f"{path.name}: {count} actions, {next(each):.2f}, with the model {next(each):.2f}")
        actions, again, first = actions + count, again + alone, first + with_model
    print(f"all: {again / actions / event:.2f}, with the model {first / actions / event:.2f}")
    assert again <= MAX_EVENTS * event * actions
    assert first <= MAX_EVENTS_WITH_MODEL * event * actions
