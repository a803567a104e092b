"""Advancing many frames in one step gives what playing them one by one gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SHARED, needs_shared
from tests.hw.captures import run_capture, state_of

pytestmark = needs_shared

CASES = [
    ("oracle/4.23/mnist_cnn.v0.hailo8.json", 300),
    ("oracle/4.23/mnist_cnn.v0.hailo8.batch8.json", 403),
    ("synth/capture/4.23/bat_a.batch63.json", 631),
    ("oracle/4.23/fast_depth_ddr.v1.hailo8.json", 100),
    ("oracle/4.23/yolov8n_320_nms.v2.hailo8.json", 100),
    ("oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh.on-hailo15h.json", 60),
    ("oracle/5.2/face_landmarks_lite_2ctx.v3.hailo1xh.batch8.on-hailo15h.json", 301),
    ("synth/capture/4.23/mc3_io.batch8.json", 205),
    ("synth/capture/4.23/ddr_mc_c.json", 64),
    ("synth/capture/4.23/net2_a.json", 120),
    ("synth/capture/4.23/onms_h8_burst.json", 90),
]


@pytest.mark.parametrize(("name", "frames"), CASES, ids=[Path(name).stem for name, _ in CASES])
def test_a_jump_changes_nothing_but_the_number_of_events(name: str, frames: int) -> None:
    played = run_capture(SHARED / name, frames, may_jump=False)
    jumped = run_capture(SHARED / name, frames)
    assert played.device is not None and jumped.device is not None
    assert played.device.core.jumps == 0
    assert state_of(jumped) == state_of(played)
    assert jumped.events < played.events
    assert jumped.device.core.jumps > 0


def test_steady_frames_cost_few_events() -> None:
    """At most 4 x boundary streams + 2 x internal edges + 8 discrete events a frame, played one by one."""
    for name, _ in CASES:
        few = run_capture(SHARED / name, 32, may_jump=False)
        many = run_capture(SHARED / name, 64, may_jump=False)
        streams = sum(len(group.streams) for group in many.groups)
        internal = sum(
            number
            for group in many.groups
            for context in group.contexts
            if context.context_type == "dynamic"
            for action, number in context.actions.items()
            if action.startswith("ACTIVATE_") and action.split("_")[1] in ("INTER", "DDR", "CACHE")
        )
        assert (many.events - few.events) / 32 <= 4 * streams + 2 * internal + 8, name
