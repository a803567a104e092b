"""`emu run` and `emu estimate` are one model: by events and analytically they agree within 2 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.errors import EmuError
from emu.estimate import estimate
from emu.hef import open_hef
from emu.hw import profiles
from emu.hw.session import GroupResult, RunRequest, run_program
from emu.hw.workload import group_timings
from emu.sequencer.compile import CompileOptions, compile_hef
from tests.conftest import SHARED, needs_shared
from tests.estimate.cases import FILES, devices

pytestmark = needs_shared

CASES = [(path, device) for path in FILES for device in devices(path.name)]


def run(path: Path, options: CompileOptions, frames: int, link: str | None, clock_mhz: float | None) -> GroupResult:
    hef = open_hef(path)
    program = compile_hef(hef, options)
    profile = profiles.load(program.device, clock_mhz, link)
    request = RunRequest(frames=frames, timings=group_timings(hef, program, options, profile))
    return run_program(program, profile, request).groups[0]


def assert_agree(
    path: Path, device: str | None, batch: int, frames: int, link: str | None = None, clock_mhz: float | None = None
) -> None:
    options = CompileOptions(device=device, batch=batch)
    ran = run(path, options, frames, link, clock_mhz)
    result = estimate(open_hef(path), options, (batch,), clock_mhz=clock_mhz, link=link)
    figures = result.batches[0]
    assert ran.fps == pytest.approx(figures.fps, rel=0.02)
    assert ran.latency_ns == pytest.approx(figures.first_frame_latency_ms * 1e6, rel=0.02)
    assert ran.activation_ns == pytest.approx(figures.activation_ms * 1e6, rel=0.02)


@pytest.mark.parametrize("batch", [1, 2, 8, 16])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_steady_state(path: Path, device: str | None, batch: int) -> None:
    assert_agree(path, device, batch, frames=12 * batch)


@pytest.mark.parametrize("frames", [1, 2])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_one_batch_only(path: Path, device: str | None, frames: int) -> None:
    """With one batch the run states the model's own steady state."""
    assert_agree(path, device, batch=frames, frames=frames)


@pytest.mark.parametrize("link", ["gen1x1", "gen2x1", "gen3x1", "gen4x8"])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_other_links(path: Path, device: str | None, link: str) -> None:
    assert_agree(path, device, batch=4, frames=40, link=link)


@pytest.mark.parametrize("clock_mhz", [100, 200, 800])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_other_clocks(path: Path, device: str | None, clock_mhz: float) -> None:
    assert_agree(path, device, batch=3, frames=30, clock_mhz=clock_mhz)


@pytest.mark.parametrize("frames", [9, 63, 700])
def test_many_frames_in_one_step(frames: int) -> None:
    """The device advances a steady flow in one step; the result is that of single frames."""
    (path,) = (path for path in FILES if path.name.startswith("arcface"))
    options = CompileOptions()
    program = compile_hef(open_hef(path), options)
    profile = profiles.load(program.device)
    timings = group_timings(open_hef(path), program, options, profile)
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
        assert ran.fps == pytest.approx(figures.fps, rel=0.02), path.name
        assert ran.latency_ns == pytest.approx(figures.first_frame_latency_ms * 1e6, rel=0.02), path.name
        assert ran.activation_ns == pytest.approx(figures.activation_ms * 1e6, rel=0.02), path.name
        compared += 1
    assert compared > 100
