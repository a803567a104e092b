"""The FPS of a run are measured: whatever goes wrong in it makes them no better, and rates times times are frames."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import emu
from tests.conftest import ROOT, SHARED, needs_shared

DIGITS = ROOT / "examples" / "digits.hef"
EXAMPLE = ROOT / "examples" / "two_context.hef"
FAST_DEPTH = SHARED / "hef" / "fast_depth_ddr.v1.hailo8.hef"
SINGLE = SHARED / "hef" / "arcface_mobilefacenet.v1.hailo8.hef"
MNIST = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"
DELAYS = (1_000, 100_000, 1_000_000, 5_000_000, 50_000_000)


def only(path: Path, **options: Any) -> Any:
    (group,) = emu.run(path, **options).network_groups
    return group


@pytest.mark.parametrize("frames", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("late", [0, 1, 7])
def test_a_late_interrupt_never_raises_the_rate(frames: int, late: int) -> None:
    if late >= frames:
        return
    sound = only(EXAMPLE, frames=frames)
    rates = [only(EXAMPLE, frames=frames, inject=(f"delay-interrupt:16#{late}={delay}",)).fps for delay in DELAYS]
    assert all(rate <= sound.fps * (1 + 1e-9) for rate in rates)
    # nor does a later one; what is late by more than all that follows shows
    assert rates == sorted(rates, reverse=True)
    if late == frames - 1 and frames > 1:
        assert rates[-1] < sound.fps / 2  # no other interrupt comes that would tell of it


def test_a_late_first_output_is_a_late_first_frame() -> None:
    """Until the interrupt of the next one comes: num_processed says that both are through."""
    sound, late, later = (
        only(EXAMPLE, frames=2, inject=inject)
        for inject in ((), ("delay-interrupt:16#0=1000000",), ("delay-interrupt:16#0=50000000",))
    )
    assert late.latency_ns == sound.latency_ns + 1_000_000
    assert sound.latency_ns < later.latency_ns < sound.latency_ns + 50_000_000
    assert late.fps == later.fps == sound.fps  # both are through when they were


@pytest.mark.parametrize("frames", [2, 4])
def test_a_late_interrupt_of_an_input_may_come_when_all_is_over(frames: int) -> None:
    """The next one has told what it was to tell, and by then the channel is reset: it says nothing."""
    faults = ((), ("delay-interrupt:two_context/input_layer1#0=5000000",))
    sound, late = (only(EXAMPLE, batch=frames, frames=frames, inject=inject) for inject in faults)
    assert (late.fps, late.latency_ns) == (sound.fps, sound.latency_ns)


@pytest.mark.parametrize("frame", [0, 50, 99])
@pytest.mark.parametrize("path", [EXAMPLE, DIGITS], ids=lambda path: path.name)
def test_a_fault_in_the_middle_of_a_long_run_acts(path: Path, frame: int) -> None:
    """Frames that a fault waits for are not added up."""
    with emu.open_device("hailo8", faults=[f"delay-interrupt:16#{frame}=50000000"]) as device:
        application = device.configure(path)
        frames = {name: [bytes(size)] * 100 for name, size in application.input_streams.items()}
        application.submit_raw(frames).wait()
        assert device.chip.faults is not None and device.chip.faults.idle() == []


@needs_shared
@pytest.mark.parametrize("path", [EXAMPLE, FAST_DEPTH, SINGLE], ids=lambda path: path.name)
@pytest.mark.parametrize(("batch", "frames"), [(1, 1), (8, 8), (8, 3), (4, 12)])
def test_a_slow_channel_shows_in_the_rate(path: Path, batch: int, frames: int) -> None:
    rates = [
        only(path, batch=batch, frames=frames, inject=(f"slow-channel:16={factor}",)).fps
        for factor in (1.0, 10.0, 1e3, 1e4)
    ]
    assert all(slower <= faster * 1.000001 for faster, slower in itertools.pairwise(rates))
    assert rates[-1] < rates[0] / (50 if path == FAST_DEPTH else 1.2)


@needs_shared
def test_the_parts_of_a_run_on_one_device_add_up() -> None:
    frames = 10
    for schedule in ("round-robin", "sequential"):
        done = emu.run([MNIST, SINGLE], frames=frames, schedule=schedule)
        assert done.wall_ns > sum(group.simulated_ns for group in done.network_groups) * 0.99
        for group in done.network_groups:
            assert group.frames == frames
            assert group.wall_fps * done.wall_ns == pytest.approx(frames * 1e9)
            if schedule == "round-robin":
                assert group.fps_basis == "turns"
                assert group.fps * group.simulated_ns == pytest.approx(frames * 1e9)
            assert group.wall_fps <= group.fps * (1 + 1e-9)


def test_a_network_that_runs_alone_has_no_second_rate() -> None:
    assert only(EXAMPLE, frames=2).wall_fps is None
