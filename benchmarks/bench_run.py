"""Running: actions a second with tracing off and on, events against a bare simpy loop, long runs.

    pytest benchmarks/bench_run.py

Rates are ratios against work measured in the same run: a bare loop of Python calls for actions, orjson for the trace,
a bare simpy loop for events.
"""

from __future__ import annotations

import hashlib
import io
import time
import tracemalloc
import zlib
from collections.abc import Generator
from typing import Any

import orjson
import pytest
import simpy
import xxhash

from benchmarks.hefs import HEFS, needs_hefs
from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.session import RunRequest, RunResult, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.timing.workload import program_timings
from emu.trace.events import Header, Tracer
from emu.trace.sinks.jsonl import JsonlSink
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from tests.conftest import SHARED, needs_shared
from tests.effort import calls, least, sized
from tests.hw.lists import act, single

pytestmark = needs_hefs

# 200,000 actions a second are 200 bare calls of about 25 ns each, 100,000 as JSONL 110 dumps of about 90 ns each
MAX_CALLS_AN_ACTION = 200
MAX_DUMPS_AN_ACTION = 110
# played one by one, an event of ours does a quarter of a frame's work, not nothing: the goal needs frames added up
MIN_EVENT_RATIO = 0.5
MIN_PLAYED_EVENT_RATIO = 0.1
# what fits into one list
ACTIONS = sized(9_000, 100)
MAX_FRAMES_RATIO = 20
# a file of the second version is hashed and parsed in 30 us: 60 to 80 of them; the others 5 to 30
MAX_PARSINGS_A_RUN = 110
# Python calls of a whole run of 10,000 frames, of files that come to more than 100 times real time with so many
MAX_CALLS_A_RUN = {"mnist_cnn.v0.hailo8": 7_700, "behaviour_cnn.v2.hailo8": 10_500}
# a round of 1,021 contexts is played four times and once more at the end; the first frame is configured, too
MAX_ROUNDS = 4.5
# what the frames of a run may leave behind, in bytes: lists of a few numbers, not something a frame
MAX_GROWTH = 200_000
FILES = HEFS[: sized(len(HEFS), 2)]


def many_actions() -> Any:
    lists = single()
    lists.preliminary += [act("ENABLE_LCU_DEFAULT", packed_lcu_id=n % 128) for n in range(ACTIONS)]
    return lists


def test_actions_with_tracing_off() -> None:
    """From ENABLE until the application waits for its first frame."""
    device = many_actions().session().chip

    def run() -> None:
        device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
        device.run_until(lambda: device.firmware.resting)
        device.control(change_context_switch_status(ContextSwitchStatus.RESET))

    def nothing(a: int, b: int) -> int:
        return a

    def bare_calls() -> None:
        for n in range(ACTIONS):
            nothing(n, n)

    seconds, bare = least(run, bare_calls, rounds=15)
    print(f"{ACTIONS / seconds:,.0f} actions/s, {seconds / bare:.0f} bare calls an action")
    assert seconds < MAX_CALLS_AN_ACTION * bare


def test_actions_written_as_jsonl() -> None:
    """The same, with a trace."""
    device = many_actions().session().chip
    header = Header("x", "4.23", "hailo8", 1, 1, 0, 200.0)

    def run() -> None:
        device.probe.tracer = Tracer([JsonlSink(io.BytesIO(), header)], lambda: device.clock.time)
        device.control(change_context_switch_status(ContextSwitchStatus.ENABLED, 0))
        device.run_until(lambda: device.firmware.resting)
        device.probe.tracer.close()
        device.probe.tracer = None
        device.control(change_context_switch_status(ContextSwitchStatus.RESET))

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

    seconds, bare = least(run, dumps, rounds=15)
    print(f"{ACTIONS / seconds:,.0f} actions/s as JSONL, {seconds / bare:.0f} dumps an action")
    assert seconds < MAX_DUMPS_AN_ACTION * bare


def _frames(frames: int, jump: bool) -> tuple[float, int]:
    """Seconds and discrete events of a run of the smallest application."""
    session = single().session(frames=frames)
    session.chip.probe.one_by_one = not jump
    started, before = time.process_time(), session.chip.clock.events
    session.run_group(session.applications[0])
    return time.process_time() - started, session.chip.clock.events - before


def test_events_against_a_bare_simpy_loop() -> None:
    """Played one by one, and added up: then a run stands for the events that playing its frames would take."""
    frames = sized(20_000, 200)
    played, events = min(_frames(frames, False) for _ in range(3))
    added_up = min(_frames(frames, True) for _ in range(3))[0]

    def process(env: simpy.Environment) -> Generator[simpy.Event, None, None]:
        while True:
            yield env.timeout(1)

    def bare() -> None:
        env = simpy.Environment()
        for _ in range(3):
            env.process(process(env))
        env.run(until=10_000)

    rate = 30_000 / least(bare)[0]
    print(f"{events / played:,.0f} events/s, added up {events / added_up:,.0f}, bare {rate:,.0f}")
    print(f"ratios {events / played / rate:.2f}, {events / added_up / rate:.1f}")
    assert events / played > MIN_PLAYED_EVENT_RATIO * rate
    assert events / added_up > MIN_EVENT_RATIO * rate


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_events_a_frame_in_steady_state(path: Any) -> None:
    few, many = (_run(path, frames, may_jump=False)[1] for frames in (100, 300))
    (group,) = many.groups
    events = (many.events - few.events) / 200
    most = 4 * len(group.streams) + 2 * _internal_edges(group) + 8
    print(f"{path.stem}: {events:.1f} events a frame, at most {most}")
    assert events <= most


def _internal_edges(group: Any) -> int:
    kinds = ("INTER_CONTEXT", "DDR_BUFFER", "CACHE")
    names = [f"ACTIVATE_{kind}_OUTPUT" for kind in kinds]
    return sum(context.actions.get(name, 0) for context in group.contexts for name in names)


@pytest.mark.parametrize(("frames", "jump"), [(100_000, True), (20_000, False)])
def test_frames_leave_nothing_behind(frames: int, jump: bool) -> None:
    def left(count: int) -> int:
        tracemalloc.start()
        try:
            _frames(count, jump)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    left(100)
    growth = left(sized(frames, 200)) - left(sized(1_000, 100))
    print(f"{growth:,} bytes more at the peak")
    assert growth < MAX_GROWTH


def _run(path: Any, frames: int, may_jump: bool = True, rounds: int = 10) -> tuple[float, RunResult]:
    hef = open_hef(path)
    options = CompileOptions()
    program = compile_hef(hef, options)
    profile = load(program.device)
    timings = program_timings(program, profile)
    results = []
    request = RunRequest(frames=frames, timings=timings, may_jump=may_jump)
    (seconds,) = least(lambda: results.append(run_program(program, profile, request)), rounds=rounds)
    return seconds, results[-1]


def test_a_thousand_frames_cost_no_more_than_twenty() -> None:
    path = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"
    assert _run(path, 1000)[0] < MAX_FRAMES_RATIO * _run(path, 1)[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_time_factor_of_ten_thousand_frames(path: Any) -> None:
    seconds, result = _run(path, 10_000, rounds=40)  # of a few ms each
    (group,) = result.groups
    factor = group.simulated_ns / 1e9 / seconds
    needed = 200 if group.fps < 5_000 else 70 if group.fps <= 20_000 else 35
    print(f"{path.stem}: {group.fps:,.0f} FPS, real-time factor {factor:.1f}")
    assert factor > needed


@pytest.mark.parametrize("path", [path for path in FILES if path.stem in MAX_CALLS_A_RUN], ids=lambda path: path.stem)
def test_calls_of_ten_thousand_frames(path: Any) -> None:
    """The same on every machine; more than nine in ten of them are the way to the first frame and back."""
    hef = open_hef(path)
    program = compile_hef(hef, CompileOptions())
    profile = load(program.device)
    request = RunRequest(frames=10_000, timings=program_timings(program, profile))
    run_program(program, profile, request)
    counted = calls(lambda: run_program(program, profile, request))
    print(f"{path.stem}: {counted:,} calls")
    assert counted < MAX_CALLS_A_RUN[path.stem]


@needs_shared
def test_a_thousand_frames_of_a_thousand_contexts() -> None:
    hef = open_hef(SHARED / "synth/hef/inv_ctx_1021.hef")
    program = compile_hef(hef, CompileOptions())
    profile = load(program.device)
    timings = program_timings(program, profile)

    def run(frames: int) -> None:
        run_program(program, profile, RunRequest(frames=frames, timings=timings))

    many, one = least(lambda: run(sized(1_000, 5)), lambda: run(1), rounds=3)
    print(f"{many / one:.1f} runs of one frame")
    assert many < MAX_ROUNDS * one


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

        seconds, (parsing,) = _run(path, 1)[0], least(parse)
        print(f"{path.stem}: {seconds / parsing:.1f} x parsing")
        assert seconds < MAX_PARSINGS_A_RUN * parsing, path.stem
