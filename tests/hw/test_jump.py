"""Advancing many frames in one step gives what playing them one by one gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emu.host.session import RunResult
from tests.conftest import SHARED, needs_shared
from tests.hw.captures import run_capture

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


def _state(result: RunResult) -> dict[str, Any]:
    device = result.device
    assert device is not None
    return {
        "groups": [
            (
                group.simulated_ns,
                group.activation_ns,
                group.fps,
                group.latency_ns,
                group.contexts,
                group.streams,
                group.register_writes,
                group.ccw_bytes,
                group.opaque_bytes,
                [(use.region.name, use.bytes_written, use.writes) for use in group.regions],
            )
            for group in result.groups
        ],
        "channels": {
            packed: (channel.transfers, channel.bytes, channel.num_available, channel.num_processed)
            for packed, channel in device.vdma.channels.items()
        },
        "memory": device.memory.snapshot(),
        "content_hash": device.memory.content_hash,
        "buffers": [
            dict(extent.buffer.writes)
            for host_list in device.host_memory.lists.values()
            for extent in host_list.extents
        ]
        + [dict(buffer.writes) for _, buffer in device.host_memory.continuous],
        "ddr": device.ddr.moved_descriptors,
        "clock": device.clock.time,
    }


@pytest.mark.parametrize(("name", "frames"), CASES, ids=[Path(name).stem for name, _ in CASES])
def test_a_jump_changes_nothing_but_the_number_of_events(name: str, frames: int) -> None:
    played = run_capture(SHARED / name, frames, may_jump=False)
    jumped = run_capture(SHARED / name, frames)
    assert played.device is not None and jumped.device is not None
    assert played.device.core.jumps == 0
    assert _state(jumped) == _state(played)
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
