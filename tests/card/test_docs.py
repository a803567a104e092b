"""docs/card.md and its workflow name what there is."""

from __future__ import annotations

import re
from typing import Any

import yaml

from emu.card.card import Card, CardOptions
from emu.chips import chips
from emu.cli.exec import command
from emu.cli.exec_card_report import Ended, document
from tests.conftest import ROOT, RUNTIMES

DOCUMENT = (ROOT / "docs" / "card.md").read_text()


def test_every_option_is_there() -> None:
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    table = "".join(line for line in DOCUMENT.splitlines(keepends=True) if line.startswith("| `"))
    assert set(re.findall(r"`(--[a-z-]+)", table)) == options - {"--card"}


def test_the_document_is_as_described() -> None:
    """Each key of it, and no other."""
    shown = DOCUMENT.partition("### The document")[2].partition("```text\n")[2].partition("```")[0]
    card = Card(CardOptions(chips.load("hailo8"), RUNTIMES[0]))
    (unused,) = document(Ended(["true"], 0, [card], 0))["cards"]
    assert card.device.clock.time == 0  # whoever looks powers it on
    found = document(Ended(["true"], 0, [card], 0, 1.0))
    keys = {*found, *unused, *found["cards"][0]}
    groups = {"name", "model", "difference", "batch", "activations", "fps", "contexts", "streams"}
    streams = {"channel", "direction", "frames", "bytes", "data"}
    assert set(re.findall(r'"(\w+)"[:,}]', shown)) - {"hailo8", "hailortcli"} == keys | groups | streams


def test_the_workflow() -> None:
    found: dict[Any, Any] = yaml.safe_load((ROOT / "examples" / "github-actions-card.yml").read_text())
    commands = [step["run"] for step in found["jobs"]["run"]["steps"] if "run" in step]
    assert sum(one.startswith("emu exec --card ") for one in commands) == 2
