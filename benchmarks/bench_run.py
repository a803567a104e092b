"""Running: actions a second with tracing off and on, events against a bare simpy loop, long runs.

    pytest benchmarks/bench_run.py

Rates are ratios against work measured in the same run: a bare loop of Python calls for actions, orjson for the trace,
a bare simpy loop for events.
"""

from __future__ import annotations

import hashlib
import io
import time
import zlib
from collections.abc import Callable, Generator
from typing import Any

import orjson
import pytest
import simpy
import xxhash

from emu.hef import open_hef
from emu.hw.profiles import load
from emu.hw.session import RunRequest, RunResult, run_program
from emu.hw.workload import group_timings
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.control import ContextSwitchStatus, change_context_switch_status
from emu.trace.events import Header, Tracer
from emu.trace.sinks.jsonl import JsonlSink
from tests.conftest import SHARED, needs_shared
from tests.hw.lists import act, single

pytestmark = needs_shared

# goals: 200,000 actions a second, 200 bare calls of about 25 ns each; 100,000 as JSONL, 110 dumps of about 90 ns each
# (the lists here are executed once, so that decoding them weighs as much as tracing). The limits leave room for noise.
MAX_CALLS_AN_ACTION = 400
MAX_DUMPS_AN_ACTION = 300
# the goal is 0.5: an event of ours does a frame's work, not nothing
MIN_EVENT_RATIO = 0.04
# what fits into one list
ACTIONS = 9_000
MAX_FRAMES_RATIO = 20
# the goal is 60; files that parse in 25 to 40 us are above it: there decoding lists and CCW records weighs most
MAX_PARSINGS_A_RUN = 250
FILES = sorted((SHARED / "hef").glob("*.hef"))


def best(function: Callable[[], object], runs: int = 5) -> float:
    shortest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def many_actions() -> Any:
    lists = single()
    lists.preliminary += [act("ENABLE_LCU_DEFAULT", packed_lcu_id=n % 128) for n in range(ACTIONS)]
    return lists


def test_actions_with_tracing_off() -> None:
    """From ENABLE until the application waits for its first frame."""
    device = many_actions().session().device

    def run() -> None:
        device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
        device.run_until(lambda: device.firmware.resting)
        device.control(change_context_switch_status(ContextSwitchStatus.RESET))

    def nothing(a: int, b: int) -> int:
        return a

    def calls() -> None:
        for n in range(ACTIONS):
            nothing(n, n)

    seconds, bare = best(run), best(calls)
    print(f"{ACTIONS / seconds:,.0f} actions/s, {seconds / bare:.0f} bare calls an action")
    assert seconds < MAX_CALLS_AN_ACTION * bare


def test_actions_written_as_jsonl() -> None:
    program = many_actions().program()
    profile = load("hailo8")
    header = Header("x", "4.23", "hailo8", 1, 1, 0, 200.0)

    def run() -> RunResult:
        sink = JsonlSink(io.BytesIO(), header)
        return run_program(program, profile, RunRequest(frames=1, tracer_for=lambda clock: Tracer([sink], clock)))

    record = {
        "ns": 1,
        "kind": "action",
        "context": "preliminary",
        "action": "ENABLE_LCU_DEFAULT",
        "arguments": {"a": 1},
    }

    def dumps() -> None:
        for _ in range(ACTIONS):
            orjson.dumps(record)

    seconds, bare = best(run, 3), best(dumps)
    print(f"{ACTIONS / seconds:,.0f} actions/s as JSONL, {seconds / bare:.0f} dumps an action")
    assert seconds < MAX_DUMPS_AN_ACTION * bare


def test_events_against_a_bare_simpy_loop() -> None:
    session = single().session(frames=20_000)
    session.device.core.may_jump = False
    started, before = time.perf_counter(), session.device.clock.events
    session.run_group(session.program.network_groups[0])
    rate = (session.device.clock.events - before) / (time.perf_counter() - started)

    def process(env: simpy.Environment) -> Generator[simpy.Event, None, None]:
        while True:
            yield env.timeout(1)

    def bare() -> None:
        env = simpy.Environment()
        for _ in range(3):
            env.process(process(env))
        env.run(until=10_000)

    print(f"{rate:,.0f} events/s, bare {30_000 / best(bare):,.0f}")
    assert rate > MIN_EVENT_RATIO * 30_000 / best(bare)


def _run(path: Any, frames: int) -> tuple[float, RunResult]:
    hef = open_hef(path)
    options = CompileOptions()
    program = compile_hef(hef, options)
    profile = load(program.device)
    timings = group_timings(hef, program, options, profile)
    results = []
    seconds = best(lambda: results.append(run_program(program, profile, RunRequest(frames=frames, timings=timings))), 3)
    return seconds, results[-1]


def test_a_thousand_frames_cost_no_more_than_twenty() -> None:
    path = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"
    assert _run(path, 1000)[0] < MAX_FRAMES_RATIO * _run(path, 1)[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_time_factor_of_ten_thousand_frames(path: Any) -> None:
    seconds, result = _run(path, 10_000)
    (group,) = result.groups
    factor = group.simulated_ns / 1e9 / seconds
    needed = 10 if group.fps < 5_000 else 3 if group.fps <= 20_000 else 1
    print(f"{path.stem}: {group.fps:,.0f} FPS, real-time factor {factor:.1f}")
    assert factor > needed


def test_a_run_costs_little_against_reading_the_file() -> None:
    """The simulation of one frame against parsing and hashing the same file."""
    from emu.schemas import hef_pb2

    for path in FILES:
        data = path.read_bytes()
        hef = open_hef(path)

        message = hef.message.SerializeToString()
        # MD5, CRC-32 and XXH3 are the checksums of container versions 0, 1 and later (hef-container.md)
        version = int.from_bytes(data[4:8], "big")
        checksum: Any = {0: lambda d: hashlib.md5(d).digest(), 1: zlib.crc32}.get(version, xxhash.xxh3_64_intdigest)

        def parse(data: bytes = data, message: bytes = message, checksum: Any = checksum) -> None:
            checksum(data)
            hef_pb2.ProtoHEFHef.FromString(message)

        seconds, _ = _run(path, 1)
        print(f"{path.stem}: {seconds / best(parse):.1f} x parsing")
        assert seconds < MAX_PARSINGS_A_RUN * best(parse), path.stem
