"""What a release sent runs on the device of that release as the newest of its line runs: frames, contexts, statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emu.errors import EmuError
from tests.conftest import OLDER, RUNTIMES, SAMPLE, SHARED, needs_shared
from tests.hw.captures import run_capture

pytestmark = needs_shared


def _folder(place: str, runtime: str) -> Path:
    own = SHARED / place / runtime
    return own if own.exists() else SHARED / place / f"{runtime}.0"


def _configured(path: Path) -> bool:
    if not path.exists():
        return False
    document = json.loads(path.read_bytes())
    return document.get("stage", "ok") == "ok" and not document.get("rc") and bool(document.get("network_groups"))


def _outcome(path: Path) -> object:
    """Frames by stream and runs by context of every group, whatever its place; or the status."""
    try:
        result = run_capture(path)
    except EmuError as error:
        return type(error).__name__, error.number
    return sorted(
        (
            sorted((stream.name, stream.frames, stream.size) for stream in group.streams),
            sorted((context.context_type, context.index, context.runs) for context in group.contexts),
        )
        for group in result.groups
    )


@pytest.mark.parametrize("runtime", OLDER)
def test_captures_run_as_their_twins(runtime: str) -> None:
    """All real files; of the synthetic ones every fifth, or all with EMU_ALL_CAPTURES=1. On a device that 4.23 serves
    no more, 5.2's capture is the twin."""
    compared = 0
    twins = RUNTIMES if runtime[0] == "4" else RUNTIMES[::-1]
    for place, step in (("oracle", 1), ("synth/capture", SAMPLE)):
        for path in sorted(_folder(place, runtime).glob("*.json"))[::step]:
            twin = next((one for name in twins if _configured(one := SHARED / place / name / path.name)), None)
            if twin is not None and _configured(path):
                assert _outcome(path) == _outcome(twin), path.name
                compared += 1
    assert compared > 10
