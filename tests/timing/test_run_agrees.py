"""`emu run` and `emu estimate` are one model: by events and analytically they agree within 1 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.chips import chips
from emu.errors import EmuError
from emu.hef import open_hef
from emu.host.device import open_device
from emu.host.estimate import estimate
from emu.host.session import GroupResult, RunRequest, run_program
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.timing.workload import program_timings
from tests.conftest import SHARED, needs_shared
from tests.timing.cases import FILES, devices

pytestmark = needs_shared

CASES = [(path, device) for path in FILES for device in devices(path.name)]


def run(path: Path, options: CompileOptions, frames: int, link: str | None, clock_mhz: float | None) -> GroupResult:
    hef = open_hef(path)
    program = compile_hef(hef, options)
    profile = chips.load(program.device, clock_mhz, link)
    request = RunRequest(frames=frames, timings=program_timings(program, profile))
    return run_program(program, profile, request).groups[0]


def assert_agree(
    path: Path, device: str | None, batch: int, frames: int, link: str | None = None, clock_mhz: float | None = None
) -> None:
    options = CompileOptions(device=device, batch=batch)
    ran = run(path, options, frames, link, clock_mhz)
    result = estimate(open_hef(path), options, (batch,), clock_mhz=clock_mhz, link=link)
    figures = result.batches[0]
    assert ran.fps == pytest.approx(figures.fps, rel=0.01)
    assert ran.latency_ns == pytest.approx(figures.first_frame_latency_ms * 1e6, rel=0.01)
    # the device goes on with the record that a MODULE_CONFIG_DONE belongs to, the estimate with all that was fetched
    assert ran.activation_ns == pytest.approx(figures.activation_ms * 1e6, rel=0.02)


@pytest.mark.parametrize("batch", [1, 2, 8, 16])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_steady_state(path: Path, device: str | None, batch: int) -> None:
    assert_agree(path, device, batch, frames=12 * batch)


@pytest.mark.parametrize("frames", [1, 2, 8])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_one_batch_only(path: Path, device: str | None, frames: int) -> None:
    """What is measured within one batch: frames behind the first, the only frame, or a round of the contexts."""
    options = CompileOptions(device=device, batch=frames)
    ran = run(path, options, frames, None, None)
    result = estimate(open_hef(path), options, (frames,))
    figures = result.batches[0]
    if not result.single_context:
        # the host is no limit of a single round: what its contexts take
        parts = sum(
            one.config_ms + one.compute_ms + one.dma_ms + one.switch_ms + one.unexplained_ms for one in figures.contexts
        )
        expected, basis = frames / parts * 1e3, "one_round"
    elif frames == 1:
        expected, basis = 1e3 / figures.first_frame_latency_ms, "one_frame"
    else:
        expected, basis = figures.fps, "one_batch"
    assert ran.fps_basis == basis
    if basis == "one_round":
        # the first round is that of the preliminary list, which is shorter than the list of context 0
        assert ran.fps < expected * 1.06
        # the host feeds the one batch no faster than it can, which may be slower than the first context takes it
        timing = result.schedule(0).timing
        assert ran.fps >= expected or timing.host_ns > timing.flows[0].interval_ns
        assert ran.fps >= expected * timing.flows[0].interval_ns / max(timing.host_ns, timing.flows[0].interval_ns)
    else:
        assert ran.fps == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("batch", [1, 2, 4, 8])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_calls_that_wait_for_their_results(path: Path, device: str | None, batch: int) -> None:
    """The time between two results of an application that hands over a batch and waits, again and again."""
    figures = estimate(open_hef(path), CompileOptions(device=device), (batch,))
    with open_device(figures.device) as opened:
        application = opened.configure(open_hef(path, runtime=opened.runtime), batch=batch)
        rows = {name: [bytes(size)] * batch for name, size in application.input_streams.items()}
        ends = []
        for _ in range(4):
            application.submit_raw(rows).wait()
            ends.append(opened.now_ns)
    assert batch * 1e9 / (ends[-1] - ends[-2]) == pytest.approx(figures.batches[0].sync_fps, rel=0.01)


@pytest.mark.parametrize("link", ["gen1x1", "gen2x1", "gen3x1", "gen4x8"])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_other_links(path: Path, device: str | None, link: str) -> None:
    assert_agree(path, device, batch=4, frames=40, link=link)


@pytest.mark.parametrize("clock_mhz", [100, 200, 390])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_other_clocks(path: Path, device: str | None, clock_mhz: float) -> None:
    assert_agree(path, device, batch=3, frames=30, clock_mhz=clock_mhz)


@pytest.mark.parametrize("frames", [9, 63, 700])
def test_many_frames_in_one_step(frames: int) -> None:
    """The device advances a steady flow in one step; the result is that of single frames."""
    (path,) = (path for path in FILES if path.name.startswith("arcface"))
    options = CompileOptions()
    program = compile_hef(open_hef(path), options)
    profile = chips.load(program.device)
    timings = program_timings(program, profile)
    results = [
        run_program(program, profile, RunRequest(frames=frames, timings=timings, may_jump=may_jump)).groups[0]
        for may_jump in (True, False)
    ]
    assert results[0].fps == pytest.approx(results[1].fps, rel=1e-6)
    assert results[0].latency_ns == results[1].latency_ns


def test_made_up_files() -> None:
    """All sound files of the synthetic set that the device runs: DDR, caches, NMS, several contexts and networks."""
    compared = 0
    for path in sorted((SHARED / "synth" / "hef").glob("*.hef")):
        options = CompileOptions(batch=4)
        try:
            result = estimate(open_hef(path), options, (4,))
            if len(result.batches[0].contexts) > 50:
                continue  # a thousand contexts: minutes by events
            ran = run(path, options, 24, None, None)
        except EmuError:
            continue
        figures = result.batches[0]
        assert ran.fps == pytest.approx(figures.fps, rel=0.01), path.name
        assert ran.latency_ns == pytest.approx(figures.first_frame_latency_ms * 1e6, rel=0.01), path.name
        assert ran.activation_ns == pytest.approx(figures.activation_ms * 1e6, rel=0.01), path.name
        compared += 1
    assert compared > 100
