"""Byte equality with the real runtime, and its refusals, over every capture (shared/oracle, shared/synth)."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.errors import HailoError, IncompatibleError
from tests.conftest import DATA, OLDER, RUNTIMES
from tests.sequencer.captures import Capture, captures, difference

# hailo_status at configure -> only this device or runtime (cli.md, exit codes)
_INCOMPATIBLE_TEXTS = (
    "There is no matching partial_clusters_layout_bitmap",
    "DFC version from which this HEF",
    "HEF format is not compatible with device",  # 26 up to 4.20
)


@pytest.fixture(scope="module", params=[*RUNTIMES, *OLDER])
def runs(request: pytest.FixtureRequest, shared: Path) -> list[Capture]:
    """All captures of a release, of the older ones a sample unless EMU_ALL_CAPTURES=1."""
    found = list(captures(shared, request.param))
    assert len(found) > (100 if request.param in OLDER else 600)
    return found


@pytest.mark.parametrize("runtime", ["4.23", "5.2"])
def test_the_captures_that_the_project_carries(runtime: str) -> None:
    """A dozen of the same captures, so that this means something without the shared folder."""
    found = list(captures(DATA / "sequencer", runtime))
    assert len(found) > 5
    for capture in found:
        if capture.stage == "ok":
            assert difference(capture, capture.compile()) is None, capture.name
        else:
            with pytest.raises(HailoError) as refusal:
                capture.compile()
            assert refusal.value.number == capture.status, capture.name


def test_what_the_runtime_sent_is_what_we_send(runs: list[Capture]) -> None:
    """Headers, contexts, chunks, lists, buffers, controls and config bytes of every configure that worked."""
    worked = [capture for capture in runs if capture.stage == "ok"]
    assert len(worked) > (10 if runs[0].runtime in OLDER else 150)
    different = {}
    for capture in worked:
        found = difference(capture, capture.compile())
        if found:
            different[capture.name] = found
    assert not different, "\n".join(f"{name}: {found}" for name, found in different.items())


def test_what_the_runtime_refused_we_refuse_with_its_status(runs: list[Capture]) -> None:
    """Every refusal with the same number; where the real program crashed, an error of our own."""
    refused = [capture for capture in runs if capture.stage != "ok"]
    assert len(refused) > (10 if runs[0].runtime in OLDER else 150)
    wrong = {}
    for capture in refused:
        try:
            capture.compile()
        except HailoError as error:
            if capture.status is not None and error.number != capture.status:
                wrong[capture.name] = f"{error} instead of {capture.status}"
        else:
            wrong[capture.name] = f"accepted instead of {capture.stage} {capture.status}"
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


def test_exit_code_4_is_for_sound_files_on_the_wrong_device_or_runtime(runs: list[Capture]) -> None:
    for capture in runs:
        if capture.stage != "configure":
            continue
        with pytest.raises(HailoError) as refusal:
            capture.compile()
        incompatible = capture.status == 93 or any(
            text in str(capture.document.get("first_error")) for text in _INCOMPATIBLE_TEXTS
        )
        assert isinstance(refusal.value, IncompatibleError) == incompatible, capture.name
