"""No run is stopped by a status that has no source (units.md 8): each that the model uses is named in a reference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from emu.wire.status import FirmwareStatus as S
from tests.conftest import ROOT

REFERENCES = "\n".join(path.read_text() for path in sorted((ROOT / "docs" / "reference").glob("*.md")))
_PREFIX = re.compile(r"CONTEXT_SWITCH_TASK_STATUS_|[A-Z_]*?STATUS_")

# statuses that firmware-actions.md 7 and silicon-facts.md d name in a shorter form
_REPEATED = "REPEATED_ACTION_INVALID_HEADER/SUBACTION_TYPE/ACTION_COUNT"
_WRITE_DATA = "WRITE_DATA_BY_TYPE INVALID_TYPE/INVALID_MEMORY_SPACE"
SHORTENED = {
    "CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_ACTION_COUNT": _REPEATED,
    "CONTEXT_SWITCH_STATUS_REPEATED_ACTION_INVALID_SUBACTION_TYPE": _REPEATED,
    "CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_TYPE": _WRITE_DATA,
    "CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_MEMORY_SPACE": _WRITE_DATA,
    "RESTRICTED_MEMORY_ACCESS": "0x40000058",
}


def used() -> Iterator[tuple[str, str]]:
    """Every status that the device's code names, and where."""
    for path in sorted((ROOT / "emu" / "hw").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "S"
            if named and node.attr in S.__members__:
                yield node.attr, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_each_status_of_the_model_is_named_in_a_reference() -> None:
    found = dict(used())
    assert len(found) > 70
    missing = {
        name: place
        for name, place in found.items()
        if SHORTENED.get(name, _PREFIX.sub("", name, count=1)) not in REFERENCES
    }
    assert not missing


@pytest.mark.parametrize("name", sorted(SHORTENED))
def test_the_short_forms_are_used_and_stand_there(name: str) -> None:
    assert name in dict(used())
    assert _PREFIX.sub("", name, count=1) not in REFERENCES
