"""However fast the host feeds, advancing many frames in one step gives what playing them one by one gives."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from emu.chips import chips
from emu.host.session import RunRequest, run_program
from emu.timing.demand import GroupDemand
from emu.timing.schedule import GroupSchedule
from emu.timing.workload import program_timings
from tests.conftest import SHARED, needs_shared
from tests.timing.cases import program

pytestmark = needs_shared

FILES = ("hef/face_landmarks_lite_2ctx.v3.hailo1xh.hef", "synth/hef/mc3_io.hef", "hef/mnist_cnn.v0.hailo8.hef")


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("pace", [0.34, 0.51, 0.6, 0.7, 0.95, 1.001, 1.3])
@pytest.mark.parametrize("name", FILES)
def test_one_step_is_what_its_frames_are(name: str, pace: float, batch: int) -> None:
    """`pace`: the host's time a frame as a share of the chip's; below 1 the host catches up until its queue is full."""
    lists = program(SHARED / name, None, batch)
    profile = chips.load(lists.device)
    (timing,) = program_timings(lists, profile)
    interval = GroupSchedule(profile, GroupDemand(lists, lists.network_groups[0]), timing).contexts_ns(batch) / batch
    timings = (replace(timing, host_ns=pace * interval),)
    frames = 30 * batch
    jumped, played = (
        run_program(lists, profile, RunRequest(frames=frames, timings=timings, may_jump=may_jump)).groups[0]
        for may_jump in (True, False)
    )
    assert [stream.frames for stream in played.streams] == [frames] * len(played.streams)
    assert (jumped.simulated_ns, jumped.fps, jumped.latency_ns) == (played.simulated_ns, played.fps, played.latency_ns)
    assert (jumped.contexts, jumped.streams) == (played.contexts, played.streams)
