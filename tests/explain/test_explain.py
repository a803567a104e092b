"""`emu explain`: everything that an error can be called is explained, with the numbers that the references give."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import pytest

from emu.errors import EmuError, GraphError, GraphStatus, HailoError, HailoStatus, UsageError
from emu.explain.explanation import texts
from emu.explain.find import everything, explain
from emu.hef.enums import ExtensionType
from emu.hw.config.addresses import MAPS
from emu.trace.hazards import HAZARDS, TABLE, FoundHazard, Hazard
from emu.trace.invariants import RULES
from emu.wire.actions import ACTIONS, ActionType
from emu.wire.status import FirmwareStatus, firmware_error
from tests.conftest import ROOT

REFERENCE = (ROOT / "docs" / "reference" / "firmware-actions.md").read_text()
_BASES = {"EmuError", "HailoError", "IncompatibleError", "UsageError", "OutputError", "HazardError", "FirmwareError"}


def errors() -> Iterator[EmuError]:
    """An error of every status that the product has, as it is printed."""
    yield from (HailoError(status, "what is wrong", file="x.hef") for status in HailoStatus)
    yield from (GraphError(status, "what is wrong") for status in GraphStatus)
    yield from (firmware_error(status, "what is wrong", context="dynamic_0") for status in FirmwareStatus)
    yield from (FoundHazard(0, Hazard(rule, "dynamic_0, LCU 3", "so"), 7).error() for rule in HAZARDS)
    yield firmware_error(0x4013FFFF, "a status without a name")


@pytest.mark.parametrize("error", list(errors()), ids=lambda error: f"{error.name}-{error.number}")
def test_every_error_line_can_be_explained(error: EmuError) -> None:
    """By its NAME alone, by its number, and as it is printed."""
    assert any(one.name == error.name for one in explain(error.name))
    found = explain(f"emu: error: {error.line()}")
    assert any(one.name == error.name for one in found)
    assert found[0].text
    assert found[0].number == error.number
    assert any(one.number == error.number for one in explain(error.number_text()))


def test_no_error_has_a_name_of_its_own() -> None:
    """Names are those of statuses, or literals that are explained: whatever makes an error takes one of the two."""
    literals: dict[str, str] = {}
    for path in sorted((ROOT / "emu").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            made = ast.unparse(node.func)
            # UsageError and OutputError take a message first, and their name is a HailoStatus
            direct = made.rpartition(".")[2] in _BASES - {"UsageError", "OutputError"}
            if (direct or (made == "super().__init__" and path.name == "errors.py")) and len(node.args) > 1:
                literals[str(node.args[0].value)] = str(path)
    assert "HAZARD" in literals
    for name in literals:
        assert any(one.name == name for one in explain(name)), literals[name]


def test_nothing_is_without_words_of_its_own() -> None:
    assert set(texts("hailort").entries) == {status.name for status in HailoStatus}
    assert set(texts("graph").entries) == {status.name for status in GraphStatus}
    assert set(texts("extensions").entries) == {extension.name for extension in ExtensionType}
    assert set(texts("fields").entries) == {name for made in ACTIONS.values() for name in made.NAMES}
    firmware = texts("firmware").entries
    assert {status.name for status in FirmwareStatus} <= set(firmware)
    for name, entry in firmware.items():
        assert (entry.number is None) == (name in FirmwareStatus.__members__), f"{name}: one owner of its number"
    units = {bank.unit for chip in MAPS.values() for bank in chip.banks}
    units |= {system.name for chip in MAPS.values() for system in chip.system}
    assert units - {"L3 block (compressed)"} <= set(texts("registers").entries)


def _documented_statuses() -> Iterator[tuple[int, str]]:
    """(number, end of the name) of firmware-actions.md 7: modules, and behind each its statuses."""
    section = REFERENCE.partition("## 7. ")[2].partition("## 8. ")[0]
    parts = re.split(r"Module (\d+) \w+", section)
    for module, listed in zip(parts[1::2], parts[2::2], strict=True):
        for digits, name in re.findall(r"[ ·,]([0-9A-F]{1,4}) ([A-Z][A-Z0-9_]{5,})(?![A-Z0-9_/{])", listed):
            yield 0x40000000 | int(module) << 16 | int(digits, 16), name


def test_numbers_of_firmware_statuses_are_the_references() -> None:
    listed = list(_documented_statuses())
    assert len(listed) > 100
    for number, name in listed:
        found = explain(f"0x{number:08X}")[0]
        words = set(name.split("_")) - {"IS", "BASE", "DESC"}
        assert words <= set(found.name.split("_")) | {"DESCRIPTOR"}, f"0x{number:08X} {name}: {found.name}"


def test_what_people_ask_first() -> None:
    """silicon-facts.md d: seen on silicon in several situations."""
    (found,) = explain("0x40130016")
    assert found.name.endswith("MISALIGNMENT_ERROR_WHILE_READING_ACTIONS")
    assert "CLEAR_CONFIGURED_APPS" in found.when
    assert "--decode" in found.do
    assert "silicon-facts.md d" in found.documented
    # the header of 4.23 spells it so
    assert explain("CONTEXT_SWTICH_STATUS_MISALIGNMENT_ERROR_WHILE_READING_ACTIONS") == [found]
    assert explain("1074987030") == [found]


@pytest.mark.parametrize("kind", list(ActionType))
def test_actions_are_found_by_name_class_and_number(kind: ActionType) -> None:
    by_name = [one for one in explain(kind.name) if one.kind == "action"]
    assert by_name[0].number == kind
    assert by_name[0] in explain(str(int(kind)))
    if kind in ACTIONS:
        assert by_name[0] in explain(ACTIONS[kind].__name__)


def test_a_field_says_where_it_is_wider() -> None:
    """firmware-actions.md 1.2: u16 up to 5.0, u32 since 5.1."""
    (found,) = explain("periph_buffers_per_frame")
    assert dict(found.details)["type"] == "u16 (4.17.1 to 5.0.1); u32 (5.1.0 to 5.2)"
    assert "ACTIVATE_DDR_BUFFER_INPUT" in dict(found.details)["in"]


def test_an_extension_says_since_when() -> None:
    """hef-container.md 4.1."""
    (found,) = explain("ko run asap")
    assert found.number == 12
    assert dict(found.details)["taken by"] == "HailoRT 4.7 and later"
    assert dict(explain("TEST_ONE")[0].details)["taken by"] == "no release"


def test_rules_and_hazards_are_found_by_their_names() -> None:
    for rule in RULES:
        assert any(one.name == rule.name for one in explain(rule.name))
    assert explain("late-block")[0].number == TABLE.index("late-block") + 1


def test_registers_are_found_by_address_and_name() -> None:
    """ccw.md: the enable register of an LCU; units.md 1: the raise register of each family."""
    named = explain("cluster 4 LCU 7 +0x12C")
    assert {one.number for one in named} == {0x188E012C}
    assert explain("0x188E012C") == named
    assert explain("0x00200684")[0].name.startswith("interrupt raise")
    assert explain("ISTATUS_HOST")[0].details == (("at", "BAR0 + 0x18C"),)


@pytest.mark.parametrize("thing", ["", " ", "x" * 3000, "frobnicate", "4294967295", "0xFFFFFFFF", "LENGTH"])
def test_what_is_nothing_is_refused(thing: str) -> None:
    with pytest.raises(UsageError):
        explain(thing)


def test_what_is_nearly_something_is_named() -> None:
    with pytest.raises(UsageError, match="TRIGGER_SEQUENCER"):
        explain("TRIGER_SEQUENCR")


def test_every_explanation_says_where_it_comes_from() -> None:
    for one in everything():
        assert one.text, one.name
        assert one.source, one.name
        assert one.documented or one.kind in ("HailoRT status", "firmware status"), one.name


def test_the_command(emu) -> None:  # type: ignore[no-untyped-def]
    code, out, err = emu("explain", "0x40130016", "--json")
    assert code == 0
    assert err == ""
    document = json.loads(out)
    assert document["number"] == 0x40130016
    assert document["kind"] == "firmware status"
    assert document["name"].startswith("CONTEXT_SWTICH_STATUS_MISALIGNMENT")
    assert document["text"]
    code, out, _ = emu("explain", "26")
    assert code == 0
    assert out.startswith("HAILO_INVALID_HEF (26): HailoRT status\n")
    assert "WAIT_FOR_NMS (26): action" in out
    code, out, err = emu("explain", "nothing\x1b[31m of the kind")
    assert code == 2
    assert "\x1b" not in err
