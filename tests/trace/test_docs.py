"""The documents name what there is: kinds, keys, rules, debugger commands."""

from __future__ import annotations

import re

import pytest

from emu.cli.main import COMMANDS
from emu.host.debugger import HELP
from emu.host.spec import HefSettings
from emu.trace.events import SCHEMA, SCHEMA_VERSION, Event, Header, Kind
from emu.trace.invariants import RULES
from tests.conftest import ROOT

TRACE = (ROOT / "docs" / "trace-schema.md").read_text()
REGRESSION = (ROOT / "docs" / "regression.md").read_text()


def _first_cells(text: str) -> set[str]:
    """Every name in backticks in the first cell of a table's rows."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
    return {name for cell in rows for name in re.findall(r"`([^`]+)`", cell)}


def test_the_schema() -> None:
    frozen = TRACE.split("## Not frozen")[0]
    cells = _first_cells(frozen)
    assert {kind.value for kind in Kind} <= cells
    assert set(Event._fields) <= cells
    assert cells == {kind.value for kind in Kind} | set(Event._fields)
    assert all(f"`{name}`" in frozen for name in Header._fields)
    assert f"`{SCHEMA}` version {SCHEMA_VERSION}" in TRACE


def test_the_rules() -> None:
    assert {rule.name for rule in RULES} == _first_cells(REGRESSION) & {
        name for name in _first_cells(REGRESSION) if "-" in name
    }


def test_the_debuggers_commands() -> None:
    documented = {word for cell in _first_cells(REGRESSION) for word in cell.split()[:1]}
    assert {line.split()[0] for line in HELP.splitlines()} <= documented


@pytest.mark.parametrize("name", [*HefSettings.__struct_fields__, "inject", "compute_time", "schedule"])
def test_the_settings_of_emu_run(name: str) -> None:
    assert f"`{name}`" in REGRESSION or f"{name}=" in REGRESSION


@pytest.mark.parametrize("name", ["diff", "check", "replay", "coverage"])
def test_the_commands(name: str) -> None:
    assert name in COMMANDS
    assert f"emu {name}" in REGRESSION
