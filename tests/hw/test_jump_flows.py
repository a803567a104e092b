"""Frames of any flow that are added up leave, to the nanosecond, what playing them leaves."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from emu.chips.chips import load
from emu.host.session import RunRequest, RunResult, run_program
from emu.timing.model import Compute, GroupTiming, Traffic
from emu.timing.passage import flow_of
from tests.hw.captures import state_of
from tests.hw.lists import FRAME, OUT, Lists, act, buffer, single, stream_out


def with_outputs(outputs: int, **settings: Any) -> Lists:
    lists = single(**settings)
    for number in range(1, outputs):
        at = buffer(2 + number)
        lists.activation.append(act("OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=OUT + number, **at))
        lists.dynamic[0].insert(0, stream_out("BOUNDARY", OUT + number, 9 + number, 2 + number))
    return lists


def outcome(lists: Lists, frames: int, compute: Compute, host_ns: float, may_jump: bool) -> RunResult:
    profile = load(lists.device)
    flow = flow_of(profile, compute, Traffic(FRAME, FRAME), host_ns)
    timings = [GroupTiming((flow,), host_ns, compute)]
    return run_program(lists.program(), profile, RunRequest(frames=frames, timings=timings, may_jump=may_jump))


# around what a frame takes on the link, and far from it
TIMES = st.floats(0, 3_000) | st.floats(0, 100_000) | st.sampled_from([FRAME / 1.6, FRAME / 3.2, 1_000.0, 0.5])


@settings(max_examples=150)
@given(
    interval=TIMES,
    intake=TIMES,
    after=TIMES,
    host_ns=st.just(0.0) | TIMES,
    outputs=st.integers(1, 3),
    frames=st.integers(1, 70),
    batch=st.integers(1, 3),
    device=st.sampled_from(["hailo8", "hailo15h"]),
)
def test_any_flow(
    interval: float, intake: float, after: float, host_ns: float, outputs: int, frames: int, batch: int, device: str
) -> None:
    lists = with_outputs(outputs, device=device, batch=batch)
    compute = Compute(interval, intake, after, "made up")
    played, jumped = (outcome(lists, frames, compute, host_ns, may_jump) for may_jump in (False, True))
    assert state_of(jumped) == state_of(played)


def test_frames_that_meet_no_others_are_played_until_two_are_through() -> None:
    """And one at the end."""
    lists, compute = with_outputs(1, device="hailo8"), Compute(50_000.25, 10_000.0, 60_000.0, "made up")
    few, many = (outcome(lists, frames, compute, 80_000.0, True) for frames in (8, 10_000))
    assert many.device is not None and many.device.core.jumps == 1
    assert many.events <= few.events + 4
