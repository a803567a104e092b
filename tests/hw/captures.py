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
