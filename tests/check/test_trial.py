"""What `emu check` calls ok, `emu run` runs (units.md 8): over all given files, by the default device and runtime."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from emu.check.verdict import Verdict, verdict
from emu.errors import EmuError, FirmwareError
from emu.host.prepare import prepare
from emu.host.session import run_program
from emu.host.spec import RunSpec
from tests.conftest import ROOT, SHARED, needs_shared
from tests.trace.helpers import Cli

LINES = ("4.23", "5.2")  # the newest of either line: what `emu run` takes by itself
DEVICES = ("hailo8", "hailo8l", "hailo15h")
# of the given synthetic files; of them 2 halt, the others wait for a unit or an end that never comes
FAILING = 31


@cache
def verdicts() -> dict[Path, Verdict]:
    """Of every given file that is accepted."""
    files = sorted((SHARED / "hef").glob("*.hef")) + sorted((SHARED / "synth" / "hef").glob("*.hef"))
    found = {path: verdict(path, LINES, DEVICES) for path in files}
    return {path: one for path, one in found.items() if one.error is None}


def end_of_run(path: Path) -> str:
    try:
        run = prepare(RunSpec.of(path))
    except EmuError as error:
        return f"refused: {error.line()}"
    try:
        run_program(run.program, run.profile, run.request)
    except FirmwareError as error:
        return error.line()
    return ""


@needs_shared
def test_what_is_called_ok_runs_and_what_does_not_run_is_said_beforehand() -> None:
    wrong = []
    for path, one in verdicts().items():
        assert one.trial is not None, path
        ended = end_of_run(path)
        if ended.startswith("refused"):
            continue  # the default device or layout is another than those that accept it
        if bool(ended) != bool(one.failure) or not one.failure.endswith(ended):
            wrong.append(f"{path.name}: check says {one.failure!r}, run {ended!r}")
    assert len(verdicts()) > 200 and not wrong, "\n".join(wrong)


@needs_shared
def test_the_action_that_can_never_be_met_is_named() -> None:
    failures = [one.failure for one in verdicts().values() if one.failure]
    assert len(failures) >= FAILING
    named = (
        r"stalled: \w+(?: action \d+ [A-Z_]+|, at the end of its list,)|context \w+, action_index \d+, action [A-Z_]+"
    )
    assert not [failure for failure in failures if not re.search(named, failure)]


@needs_shared
def test_the_sound_ones_show_no_hazard() -> None:
    """Every given file that runs (units.md 6)."""
    sound = [one for one in verdicts().values() if not one.failure]
    assert len(sound) >= 191 + 9
    assert not [(one.path.name, one.trial.hazards) for one in sound if one.trial is not None and one.trial.hazards]


@needs_shared
def test_the_command_says_so(shared: Path, cli: Cli, tmp_path: Path) -> None:
    path = shared / "synth" / "hef" / "dbg_a.hef"
    assert cli("check", path) == 0
    assert cli.out.startswith("FAILS ") and "preliminary action 26 HALT waits for HALT" in cli.out
    assert cli("check", path, "--json", "--junit", tmp_path / "x.xml") == 0
    (model,) = cli.document["models"]
    assert model["accepted"] and model["runs"] is False and "action 26 HALT" in model["failure"]
    assert '<failure message="does not run on hailo8' in (tmp_path / "x.xml").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.hef")), ids=lambda path: path.stem)
def test_the_examples_run(path: Path) -> None:
    one = verdict(path, LINES, DEVICES)
    assert one.error is None and one.trial is not None and one.trial.error is None and not one.trial.hazards
