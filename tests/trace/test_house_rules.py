"""`emu run --rules`: the house rules that a run rested on, each with its paragraph in docs/reference."""

from __future__ import annotations

import re

import pytest

from emu.hw.house_rules import HOUSE_RULES
from emu.hw.known_registers import known_registers
from emu.sequencer.configuration import HAILO1XH, HAILO8
from tests.conftest import ROOT
from tests.hw.lists import act, double, single, with_ddr
from tests.trace.helpers import Cli

REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize("name", HOUSE_RULES)
def test_each_rule_has_its_paragraph(name: str) -> None:
    file, _, paragraph = name.partition(" ")
    text = (REFERENCE / file).read_text()
    assert not paragraph or re.search(rf"^##+ {re.escape(paragraph)}\.? ", text, re.MULTILINE)


def test_what_a_run_does_decides_which_rules_it_rests_on() -> None:
    alone = single().run(3).groups[0].rules
    assert {"units.md 0", "units.md 1", "units.md 5", "firmware-actions.md 8"} <= set(alone)
    assert "firmware-actions.md 5.3" not in alone and "chip-config.md 8" not in alone
    assert "firmware-actions.md 5.3" in double(batch=2).run(3).groups[0].rules
    lists = with_ddr()
    lists.preliminary.append(act("ENABLE_NMS", number_of_classes=1, burst_size=1))
    assert "netflow-nms.md 10" in lists.run(3).groups[0].rules


def test_every_rule_is_one_of_some_run(cli: Cli) -> None:
    """The example with well-formed configuration rests on other rules than made-up ones."""
    assert cli("run", ROOT / "examples" / "configured.hef", "--json") == 0
    (group,) = cli.document["network_groups"]
    assert "chip-config.md 8" in group["rules"] and "units.md 1" not in group["rules"]
    assert cli("run", ROOT / "examples" / "two_context.hef", "--rules") == 0
    assert "  house rules (docs/reference):\n    units.md 0 " in cli.out
    assert cli("run", ROOT / "examples" / "two_context.hef") == 0 and "house rules" not in cli.out
    assert cli("run", ROOT / "examples" / "lenet.ms", "--rules") == 2


def test_registers_that_are_known_have_names_and_reset_values() -> None:
    for family, raised in ((HAILO8, 0x00200684), (HAILO1XH, 0x2D800250)):
        registers = known_registers(family, range(5))
        assert registers.reset_value(raised) == 0
        # lcu_enable_address of ccw.md
        enable = registers.at(0x108001DC + 4 * 0x02000000 + 7 * 0x00020000)
        assert enable is not None and (enable.name, enable.reset) == ("cluster 4 LCU 7 enable", 0)
        assert registers.at(0x108001E0) is None
