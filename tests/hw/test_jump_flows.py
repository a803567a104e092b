"""Frames of any flow that are added up leave, to the nanosecond, what playing them leaves."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from emu.chips.chips import load
from emu.host.session import RunRequest, RunResult, run_program
from emu.timing.model import Compute
from tests.hw.captures import state_of
from tests.hw.lists import Lists, with_outputs
from tests.strategies.flows import computes, host_times, timing_of


def outcome(lists: Lists, frames: int, compute: Compute, host_ns: float, may_jump: bool) -> RunResult:
    request = RunRequest(frames=frames, timings=[timing_of(lists, compute, host_ns)], may_jump=may_jump)
    return run_program(lists.program(), load(lists.device), request)


@settings(max_examples=150)
@given(
    compute=computes(),
    host_ns=host_times(),
    outputs=st.integers(1, 3),
    frames=st.integers(1, 70),
    batch=st.integers(1, 3),
    device=st.sampled_from(["hailo8", "hailo15h"]),
)
def test_any_flow(compute: Compute, host_ns: float, outputs: int, frames: int, batch: int, device: str) -> None:
    lists = with_outputs(outputs, device=device, batch=batch)
    played, jumped = (outcome(lists, frames, compute, host_ns, may_jump) for may_jump in (False, True))
    assert state_of(jumped) == state_of(played)


def test_frames_that_meet_no_others_are_played_until_two_are_through() -> None:
    """And one at the end."""
    lists, compute = with_outputs(1, device="hailo8"), Compute(50_000.25, 10_000.0, 60_000.0, "made up")
    few, many = (outcome(lists, frames, compute, 80_000.0, True) for frames in (8, 10_000))
    assert many.device is not None and many.device.core.jumps == 1
    assert many.events <= few.events + 4
