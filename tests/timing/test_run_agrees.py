"""`emu run` and `emu estimate` are one model: by events and analytically they agree within 1 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.chips import chips
from emu.errors import EmuError
from emu.host.device import open_device
from emu.host.session import RunRequest, run_program
from emu.timing.estimate import Conditions
from emu.timing.workload import program_timings
from tests.conftest import needs_shared
from tests.timing.cases import CASES, FILES, MADE_UP, compiled, estimated, figures, opened, program, run

pytestmark = needs_shared


def assert_agree(
    path: Path, device: str | None, batch: int, frames: int, link: str | None = None, clock_mhz: float | None = None
) -> None:
    conditions = Conditions(clock_mhz, link)
    ran = run(path, device, batch, frames, conditions)
    expected = figures(path, device, batch, conditions)
    assert ran.fps == pytest.approx(expected.fps, rel=0.01)
    assert ran.latency_ns == pytest.approx(expected.first_frame_latency_ms * 1e6, rel=0.01)
    # the device goes on with the record that a MODULE_CONFIG_DONE belongs to, the estimate with all that was fetched
    assert ran.activation_ns == pytest.approx(expected.activation_ms * 1e6, rel=0.02)


@pytest.mark.parametrize("batch", [1, 2, 8, 16])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_steady_state(path: Path, device: str | None, batch: int) -> None:
    assert_agree(path, device, batch, frames=12 * batch)


@pytest.mark.parametrize("frames", [1, 2, 8])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_one_batch_only(path: Path, device: str | None, frames: int) -> None:
    """What is measured within one batch: frames behind the first, the only frame, or a round of the contexts."""
    ran = run(path, device, frames, frames)
    result = estimated(path, device, frames)
    (batch,) = result.batches
    if not result.single_context:
        # the host is no limit of a single round: what its contexts take
        parts = sum(
            one.config_ms + one.compute_ms + one.dma_ms + one.switch_ms + one.unexplained_ms for one in batch.contexts
        )
        expected, basis = frames / parts * 1e3, "one_round"
    elif frames == 1:
        expected, basis = 1e3 / batch.first_frame_latency_ms, "one_frame"
    else:
        expected, basis = batch.fps, "one_batch"
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
    result = estimated(path, device, batch)
    with open_device(result.device) as card:
        application = card.configure(opened(path), batch=batch)
        rows = {name: [bytes(size)] * batch for name, size in application.input_streams.items()}
        ends = []
        for _ in range(4):
            application.submit_raw(rows).wait()
            ends.append(card.now_ns)
    assert batch * 1e9 / (ends[-1] - ends[-2]) == pytest.approx(result.batches[0].sync_fps, rel=0.01)


@pytest.mark.parametrize("link", ["gen1x1", "gen2x1", "gen3x1", "gen4x8"])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_other_links(path: Path, device: str | None, link: str) -> None:
    assert_agree(path, device, batch=4, frames=40, link=link)


@pytest.mark.parametrize("clock_mhz", [100, 200, 390])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_other_clocks(path: Path, device: str | None, clock_mhz: float) -> None:
    assert_agree(path, device, batch=3, frames=30, clock_mhz=clock_mhz)


@pytest.mark.parametrize("action", ["APPLICATION_CHANGE_INTERRUPT", "BURST_CREDITS_TASK_START", "DISABLE_LCU"])
@pytest.mark.parametrize(("path", "device"), CASES, ids=lambda value: getattr(value, "name", value))
def test_activations_where_one_action_is_dear(
    path: Path, device: str | None, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As measured costs may say: a single context, whose preliminary list ran as its first, still awaits the host."""
    plain = chips.quantities(estimated(path, device, 1).device)
    dear = plain["action_ns.default"]._replace(value=5e5)
    monkeypatch.setattr(chips, "quantities", lambda *_: {**plain, f"action_ns.{action}": dear})
    ran, expected = run(path, device, 1, 4), figures(path, device, 1)
    assert ran.activation_ns == pytest.approx(expected.activation_ms * 1e6, rel=0.02)
    assert ran.fps == pytest.approx(expected.fps, rel=0.01)


@pytest.mark.parametrize("frames", [9, 63, 700])
def test_many_frames_in_one_step(frames: int) -> None:
    """The device advances a steady flow in one step; the result is that of single frames."""
    (path,) = (path for path in FILES if path.name.startswith("arcface"))
    lists = program(path, None, 1)
    profile = chips.load(lists.device)
    timings = program_timings(lists, profile)
    results = [
        run_program(lists, profile, RunRequest(frames=frames, timings=timings, may_jump=may_jump)).groups[0]
        for may_jump in (True, False)
    ]
    assert results[0].fps == pytest.approx(results[1].fps, rel=1e-6)
    assert results[0].latency_ns == results[1].latency_ns


def test_made_up_files() -> None:
    """All sound files of the synthetic set that the device runs: DDR, caches, NMS, several contexts and networks."""
    compared = 0
    for path in MADE_UP:
        if compiled(path, None, 4) is None:
            continue
        try:
            ran = run(path, None, 4, frames=24)
        except EmuError:
            continue
        expected = figures(path, None, 4)
        assert ran.fps == pytest.approx(expected.fps, rel=0.01), path.name
        assert ran.latency_ns == pytest.approx(expected.first_frame_latency_ms * 1e6, rel=0.01), path.name
        assert ran.activation_ns == pytest.approx(expected.activation_ms * 1e6, rel=0.01), path.name
        compared += 1
    assert compared > 100
