"""What the device tests share: the captures of a real runtime, and runs of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from emu.chips.chips import load
from emu.host.capture import CapturedRun, load_capture
from emu.host.session import RunRequest, RunResult, run_program
from emu.hw.application import clusters_named
from emu.wire.wire import wire_of
from tests.conftest import RUNTIMES, SHARED


def capture_files() -> list[Path]:
    """Every oracle and synth capture whose configure call succeeded."""
    found = []
    for folder in ("oracle", "synth/capture"):
        for path in (path for runtime in RUNTIMES for path in sorted((SHARED / folder / runtime).glob("*.json"))):
            document = json.loads(path.read_bytes())
            if document.get("stage", "ok") == "ok" and not document.get("rc") and document.get("network_groups"):
                found.append(path)
    return found


@cache
def loaded(path: Path) -> CapturedRun:
    return load_capture(path)


def layout_of(capture: CapturedRun) -> int:
    """The captured layout, else all clusters of the chip and those the lists name."""
    profile = load(capture.program.device)
    if capture.layout is not None:
        return capture.layout
    lists = [context.action_list for group in capture.program.network_groups for context in group.contexts]
    lists += [r.context.action_list for group in capture.program.network_groups for r in group.ddr_action_list]
    return (profile.identity.partial_clusters_layout_bitmap) | clusters_named(lists, wire_of(capture.program.runtime))


def run_capture(path: Path, frames: int | None = None, **settings: Any) -> RunResult:
    capture = loaded(path)
    request = RunRequest(
        frames=capture.program.batch if frames is None else frames, layout=layout_of(capture), **settings
    )
    return run_program(capture.program, load(capture.program.device), request)


def state_of(result: RunResult) -> dict[str, Any]:
    """What a run has left and counted, but for the number of its events."""
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
        + [dict(buffer.writes) for buffer in device.host_memory.continuous.values()],
        "ddr": device.ddr.moved_descriptors,
        "clock": device.clock.time,
        "hazards": list(device.hazards),
        "notifications": device.notifications,
        "units": [(unit.name, unit.counters(), unit.levels()) for unit in device.inspection.units()],
    }
