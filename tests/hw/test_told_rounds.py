"""A trace of rounds that were added up is, to the byte, that of rounds that were played."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.chips.chips import load
from emu.hef import open_hef
from emu.host.application import Application
from emu.host.combine import combine
from emu.host.device import OpenDevice, open_device
from emu.host.jobs import Frames
from emu.host.session import RunRequest, RunResult, run_program
from emu.host.streams import Host
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.program import Program
from emu.timing.model import Compute, GroupTiming, Traffic
from emu.timing.passage import flow_of
from emu.trace.events import Event, Header
from emu.trace.sinks.jsonl import JsonlSink
from emu.trace.sinks.perfetto import PerfettoSink
from emu.trace.sinks.text import TextSink
from emu.trace.tracer import Tracer
from tests.conftest import ROOT, SHARED, needs_shared
from tests.hw.captures import layout_of, loaded, state_of
from tests.hw.lists import FRAME, Lists, act, double, single, with_ddr, with_outputs
from tests.hw.test_units import double_with_ddr
from tests.strategies.flows import WHOLE, computes, host_times, timing_of

HEADER = Header("made up", "4.23", "hailo8", 1, 1, 0, 200.0)
Traces = tuple[bytes, str, bytes]


def traced(
    program: Program, may_jump: bool, frames: int, link: str | None = None, **settings: Any
) -> tuple[Traces, RunResult]:
    """A run, and its trace in all forms."""
    lines, text, packets = io.BytesIO(), io.StringIO(), io.BytesIO()
    sinks = [JsonlSink(lines, HEADER), TextSink(text, HEADER), PerfettoSink(packets, HEADER)]
    request = RunRequest(frames=frames, may_jump=may_jump, tracer_for=lambda clock: Tracer(sinks, clock), **settings)
    result = run_program(program, load(program.device, link=link), request)
    return (lines.getvalue(), text.getvalue(), packets.getvalue()), result


def agree(program: Program, frames: int, **settings: Any) -> int:
    """Both traces are the same, and what the runs have left; how often rounds were added up."""
    (played, one_by_one), (told, result) = (traced(program, jump, frames, **settings) for jump in (False, True))
    assert told == played
    assert state_of(result) == state_of(one_by_one)
    assert result.events == one_by_one.events
    assert one_by_one.device is not None and result.device is not None
    assert one_by_one.device.core.jumps == 0
    return result.device.core.jumps


@settings(max_examples=40)
@given(
    make=st.sampled_from([double, double_with_ddr]),
    compute=computes(),
    host_ns=host_times(),
    frames=st.integers(1, 90),
    batch=st.integers(1, 4),
    asap=st.integers(0, 1),
)
def test_any_flow(
    make: Callable[..., Lists], compute: Compute, host_ns: float, frames: int, batch: int, asap: int
) -> None:
    lists = make(batch=batch, asap=asap)
    agree(lists.program(), frames, timings=[timing_of(lists, compute, host_ns, contexts=2)])


@settings(max_examples=60)
@given(
    compute=computes(WHOLE),
    host_ns=host_times(WHOLE),
    outputs=st.integers(1, 3),
    frames=st.integers(1, 110),
    batch=st.integers(1, 3),
    device=st.sampled_from(["hailo8", "hailo15h"]),
)
def test_any_flow_without_an_end(
    compute: Compute, host_ns: float, outputs: int, frames: int, batch: int, device: str
) -> None:
    lists = with_outputs(outputs, device=device, batch=batch)
    agree(lists.program(), frames, timings=[timing_of(lists, compute, host_ns)])


@pytest.mark.parametrize(("interval", "jumps"), [(50_000.0, 1), (50_000.5, 1), (50_000.0625, 1), (50_000.3, 0)])
def test_frames_are_told_whose_pace_comes_to_a_whole_nanosecond(interval: float, jumps: int) -> None:
    lists, compute = single(), Compute(interval, 10_000.0, 60_000.0, "made up")
    flow = flow_of(load(lists.device), compute, Traffic(FRAME, FRAME), 0.0)
    assert agree(lists.program(), 200, timings=[GroupTiming((flow,), 0.0, compute)]) == jumps


@needs_shared
@pytest.mark.parametrize("link", [None, "gen2x1"])
@pytest.mark.parametrize("name", ["arcface_mobilefacenet.v1.hailo8", "mnist_cnn.v0.hailo8"])
def test_given_files(name: str, link: str | None) -> None:
    program = compile_hef(open_hef(SHARED / "hef" / f"{name}.hef"), CompileOptions())
    assert agree(program, 100, link=link) == 1


@pytest.mark.parametrize("drift", [-0.01, 0.01])
def test_a_host_that_falls_behind_or_catches_up_by_parts_of_a_nanosecond(
    drift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds are alike for as long as its instants are rounded to the same ones, and no longer."""
    program, frames = double().program(), 120
    once = launches(program, 12)
    period = once[-1] - once[-2]
    monkeypatch.setattr(Host, "_due", lambda host, queued: once[6] + 1 + round((queued - 6) * (period + drift)))
    assert agree(program, frames) == 0
    monkeypatch.undo()
    assert agree(program, frames) == 1


def launches(program: Program, frames: int) -> list[int]:
    """When the host queues inputs."""
    lines = traced(program, False, frames)[0][0]
    records = [orjson.loads(line) for line in lines.splitlines()[1:]]
    return [one["ns"] for one in records if one["kind"] == "launch" and one["unit"].endswith("(H2D)")]


@needs_shared
@pytest.mark.parametrize(
    ("name", "batches"),
    [
        ("oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh.on-hailo15h.json", 20),
        ("oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh.batch8.on-hailo15h.json", 24),
        ("synth/capture/4.23/mc3_io.batch8.json", 20),
        ("synth/capture/4.23/ddr_mc_c.json", 20),
        ("synth/capture/5.2/envx_ddrccb_a.json", 20),
        ("synth/capture/5.2/mx3_fan.json", 20),
        ("synth/capture/4.23/onms_h8_defused.json", 85),
    ],
)
def test_captures(name: str, batches: int) -> None:
    capture = loaded(SHARED / name)
    assert agree(capture.program, batches * capture.program.batch + 3, layout=layout_of(capture)) == 1


def test_the_example_however_few_frames() -> None:
    """None is told that has less to queue than those before it."""
    program = compile_hef(open_hef(ROOT / "examples" / "two_context.hef"), CompileOptions())
    assert [agree(program, frames) for frames in range(1, 13)] == [0] * 8 + [1] * 4


def test_groups_one_after_the_other() -> None:
    assert agree(combine([double().program(), double(batch=2).program()]), 40) == 2


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from([single, double, with_ddr]), st.integers(1, 3)), min_size=2, max_size=3),
    st.integers(1, 30),
    st.booleans(),
)
def test_turns(made: list[tuple[Callable[..., Lists], int]], frames: int, with_a_hazard: bool) -> None:
    lists = [make(batch=batch) for make, batch in made]
    if with_a_hazard:
        # an LCU that its sequencer is not done for: a hazard in every activation
        lists[0].preliminary.insert(0, act("ENABLE_LCU_DEFAULT", packed_lcu_id=2))
    jumps = agree(combine([one.program() for one in lists]), frames, round_robin=True)
    assert jumps > 0 or min(frames // batch for _, batch in made) < 8


def opened(make: Callable[..., Lists], batch: int, may_jump: bool) -> tuple[OpenDevice, Application]:
    """A device, and lists on it at a pace that is told."""
    lists, compute = make(batch=batch), Compute(50_000.0, 10_000.0, 60_000.0, "made up")
    flow = flow_of(load(lists.device), compute, Traffic(FRAME, FRAME), 0.0)
    device = open_device(lists.device, "4.23", may_jump=may_jump)
    timings = [GroupTiming((flow,) * len(lists.dynamic), 0.0, compute)]
    return device, device.configure_program(lists.program(), timings)[0]


def watched(device: OpenDevice) -> io.BytesIO:
    """The trace from now on."""
    lines = io.BytesIO()
    device.chip.trace_with(Tracer([JsonlSink(lines, HEADER)], lambda: device.chip.clock.time))
    return lines


def wait_for(device: OpenDevice, frames: Frames) -> None:
    device.run_until(lambda: frames.done)


@settings(max_examples=40)
@given(
    make=st.sampled_from([single, double, with_ddr, double_with_ddr]),
    batch=st.integers(1, 3),
    jobs=st.lists(st.tuples(st.integers(1, 90), st.none() | st.integers(0, 4)), min_size=1, max_size=5),
    begins=st.integers(0, 4),
)
def test_an_open_device(
    make: Callable[..., Lists], batch: int, jobs: list[tuple[int, int | None]], begins: int
) -> None:
    """Frames come in portions, some of which are waited for, and tracing begins with any of them."""
    seen = []
    for may_jump in (False, True):
        device, application = opened(make, batch, may_jump)
        lines, ends, submitted = io.BytesIO(), [], []
        with device:
            for number, (frames, waits) in enumerate(jobs):
                if number == begins % len(jobs):
                    lines = watched(device)
                submitted.append(application.submit_frames(frames))
                if waits is not None:
                    wait_for(device, submitted[waits % len(submitted)])
                    ends.append(device.now_ns)
        seen.append((lines.getvalue(), ends))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("make", [single, double])
def test_frames_that_somebody_waits_for_are_not_told_with_those_behind_them(make: Callable[..., Lists]) -> None:
    """What he does then comes at its instant."""
    seen = []
    for may_jump in (False, True):
        device, application = opened(make, 1, may_jump)
        with device:
            lines = watched(device)
            first, second = application.submit_frames(100), application.submit_frames(100)
            wait_for(device, first)
            end = device.now_ns
            assert second.finished == 0
            wait_for(device, second)
            assert device.chip.core.jumps == (2 if may_jump else 0)
        seen.append((lines.getvalue(), end))
    assert seen[0] == seen[1]


def test_a_batch_that_is_stamped_is_played() -> None:
    """The others are told around it."""
    assert agree(double().program(), 40, measure_actions=True) == 1


def test_what_is_told_comes_in_pieces() -> None:
    """Memory does not grow with the rounds."""
    sizes: list[int] = []

    class Sizes:
        def write(self, events: Sequence[Event]) -> None:
            sizes.append(len(events))

        def close(self) -> None:
            pass

    tracers: list[Tracer] = []

    def tracer(clock: Callable[[], int]) -> Tracer:
        tracers.append(Tracer([Sizes()], clock))
        return tracers[0]

    double().run(5_000, tracer_for=tracer)
    assert sum(sizes) == tracers[0].count > 100_000
    assert max(sizes) < 2 * Tracer.BATCH
