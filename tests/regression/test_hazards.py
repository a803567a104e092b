"""Hazards of a run (units.md 6): where they are shown, what ends at them, and that sound files have none."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

import emu
from emu.errors import HazardError, UsageError
from emu.hef import operations as ops
from emu.host.prepare import prepare
from emu.host.session import run_program
from emu.host.spec import ROUND_ROBIN, STOP, RunSpec
from emu.regression.run import execute
from emu.sequencer.program import ContextType
from emu.trace.hazards import HAZARDS, TABLE
from emu.wire.actions import ActionType
from tests.conftest import DATA, ROOT, needs_shared
from tests.processes import run_module
from tests.scripts import script
from tests.trace.helpers import Cli

UNITS = ROOT / "docs" / "reference" / "units.md"
EXAMPLES = sorted((ROOT / "examples").glob("*.hef"))
CONFIGURED = ROOT / "examples" / "configured.hef"
FIRST = {
    "rule": "not-disabled",
    "context": "preliminary",
    "action_index": None,
    "unit": "cluster 4 LCU 3",
    "message": HAZARDS["not-disabled"],
}


@pytest.fixture(scope="module")
def hazardous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configured example without its first DISABLE_LCU: it runs to its end, with two hazards."""
    maker = script("examples/make_configured.py")
    operations = list(maker.preliminary())
    first = next(one for one in operations[0].actions if isinstance(one, ops.ActionDisableLcu))
    rest = tuple(one for one in operations[0].actions if one is not first)
    maker.preliminary = lambda: [replace(operations[0], actions=rest), *operations[1:]]
    target = tmp_path_factory.mktemp("hazards") / "hazardous.hef"
    maker.main(["", str(target)])
    return target


def test_the_table_is_that_of_the_reference() -> None:
    """The numbers of HAZARD(n) are places in it."""
    rows = UNITS.read_text().partition("\n## 6.")[2].partition("\n## 7.")[0].splitlines()
    names = [name.strip() for row in rows if row.startswith("| ") for name in row.split("|")[1].split(",")]
    assert names == ["rule", *TABLE]
    assert set(HAZARDS) == set(TABLE)


def test_hazards_are_lines_of_the_summary_and_in_the_json(hazardous: Path, cli: Cli) -> None:
    assert cli("run", hazardous) == 0
    lines = [line for line in cli.out.splitlines() if line.startswith("  hazard: ")]
    assert f"  hazard: not-disabled: preliminary, cluster 4 LCU 3: {HAZARDS['not-disabled']}" in lines
    assert cli("run", hazardous, "--json") == 0
    (group,) = cli.document["network_groups"]
    assert FIRST in group["hazards"] and len(group["hazards"]) == len(lines) == 2
    assert {one["rule"] for one in group["hazards"]} == {"not-disabled", "disable-order"}


def test_stop_ends_the_run_at_the_first(hazardous: Path, cli: Cli) -> None:
    assert cli("run", hazardous, "--hazards=stop") == 6
    assert (cli.out, cli.err.count("\n")) == ("", 1)
    found = re.match(r"emu: error: HAZARD\((\d+)\): ([a-z-]+): ", cli.err)
    assert found is not None and TABLE[int(found[1]) - 1] == found[2]
    assert cli("run", hazardous, "--hazards=stop", "--json") == 6
    assert cli.document["error"]["where"]["context"] == "preliminary"
    # a run without a hazard is none the worse for it
    assert cli("run", CONFIGURED, "--hazards=stop") == 0


@needs_shared
def test_hazards_show_where_the_run_ends_in_a_stall_too(shared: Path, cli: Cli) -> None:
    """A bit of a 10H/15H record: it is refused, a sequencer is never done, and both are said."""
    path, fault = shared / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef", "--inject=flip-ccw:0=200000"
    assert cli("run", path, fault) == 5
    first, *_, last = cli.err.splitlines()
    assert first.startswith("emu: warning: hazard: record-refused: preliminary, config stream 0: record ")
    assert last.startswith("emu: error: ") and "stalled" in last
    assert cli("run", path, fault, "--json") == 5
    assert cli.document["error"]["hazards"][0]["rule"] == "record-refused"


def test_stop_in_python_and_what_it_does_not_take(hazardous: Path) -> None:
    with pytest.raises(HazardError) as stopped:
        emu.run(hazardous, hazards=STOP)
    assert stopped.value.exit_code == 6 and stopped.value.name == "HAZARD"
    with pytest.raises(UsageError):
        emu.run(hazardous, hazards="ignore")


def test_a_recipe_keeps_what_hazards_do() -> None:
    spec = RunSpec.of("x.hef", hazards=STOP)
    assert RunSpec.of_document(spec.document()).hazards == STOP
    assert RunSpec.of_document({k: v for k, v in spec.document().items() if k != "hazards"}).hazards == "report"


def test_graphs_have_no_hazards(cli: Cli) -> None:
    assert cli("run", ROOT / "examples" / "lenet.ms", "--hazards=report") == 2
    assert "--hazards" in cli.err


def test_each_is_told_once_however_often_the_group_is_activated(hazardous: Path) -> None:
    prepared = prepare(RunSpec.of(hazardous, CONFIGURED, frames=6, schedule=ROUND_ROBIN))
    result = run_program(prepared.program, prepared.profile, prepared.request)
    assert [len(group.hazards) for group in result.groups] == [2, 0]


@needs_shared
def test_the_action_of_a_hazard_is_the_one_it_came_with(shared: Path, tmp_path: Path) -> None:
    path = shared / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"
    run = execute(path, RunSpec.of(path, inject=("flip-ccw:0=200000",)), tmp_path / "t")
    assert run.device is not None
    first = run.hazards[0]
    step = run.device.applications[0].context(ContextType.PRELIMINARY).actions.steps[first.action_index]
    assert first.hazard.context == "preliminary" and step.type is ActionType.FETCH_CCW_BURSTS


def test_the_pytest_plugin_fails_at_a_hazard_that_is_not_allowed(hazardous: Path, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(
        f"""
import pytest
X = {str(hazardous)!r}
def test_plain(emu_run):
    emu_run(X)
@pytest.mark.hailo(allow_hazards=["not-disabled"])
def test_one_allowed(emu_run):
    emu_run(X)
@pytest.mark.hailo(allow_hazards=["not-disabled", "disable-order"])
def test_allowed(emu_run):
    assert len(emu_run(X).hazards) == 2
@pytest.mark.hailo(allow_hazards=["never-heard-of"])
def test_unknown(emu_run):
    emu_run(X)
@pytest.mark.hailo("not-disabled")
def test_wrong_use(emu_run):
    emu_run(X)
"""
    )
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = ("-q", "--strict-markers", "-p", "emu.regression.pytest_plugin")
    done = run_module("pytest", *options, cwd=tmp_path, env=environment)
    text = done.stdout.decode()
    assert "3 failed, 1 passed, 1 error" in text, text
    assert "2 hazards" in text and "1 hazards" in text
    assert "never-heard-of: no hazard that is looked for" in text
    assert "takes allow_hazards=" in text


def without_hazards(path: Path, trace: Path) -> list[str]:
    """The hazards of a run with the defaults; a run that stops has none either."""
    return [one.line() for one in execute(path, RunSpec.of(path, frames=3), trace).hazards]


@pytest.mark.parametrize("path", [*EXAMPLES, *sorted((DATA / "hef").glob("*.hef"))], ids=lambda path: path.stem)
def test_examples_have_no_hazard(path: Path, tmp_path: Path) -> None:
    assert without_hazards(path, tmp_path / "t") == []


@needs_shared
def test_no_given_real_file_has_a_hazard(shared: Path, tmp_path: Path) -> None:
    files = sorted((shared / "hef").glob("*.hef"))
    assert len(files) == 9
    assert {path.name: found for path in files if (found := without_hazards(path, tmp_path / "t"))} == {}


# configured, but their own lists wait for what they never start (rnd*, trg*, cache), or say HALT: not sound
UNSOUND = """
    cache2_ctx dbg_a inv_cache_batch rnd8_01 rnd8_03 rnd8_04 rnd8_05 rnd8_07 rnd8_11 rnd8_12 rnd8_16 rnd8_17
    rnd8_20 rnd8_21 rnd8_22 rnd8_23 rnd8_24 rnd8_27 rnd8_28 rndl_03 rndm_01 rndm_02 rndm_03 rndx_08 rndx_09
    rndx_12 rndx_14 rndx_18 rndx_21 rndx_27 rndx_29 sx_actions trg_lcu_many trg_mix
"""


@needs_shared
def test_no_sound_synthetic_file_has_a_hazard(shared: Path, tmp_path: Path) -> None:
    """Sound: configures and runs to its end (units.md 6), with the defaults."""
    ran, stopped, found = 0, set(), {}
    for path in sorted((shared / "synth" / "hef").glob("*.hef")):
        run = execute(path, RunSpec.of(path, frames=3), tmp_path / "t")
        ran += run.device is not None and run.error is None
        if run.device is not None and run.error is not None:
            stopped.add(path.stem)
        if run.hazards:
            found[path.stem] = [one.line() for one in run.hazards]
    assert (ran, stopped, found) == (198, set(UNSOUND.split()), {})
