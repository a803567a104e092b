"""A rule for each hazard: none may occur in a trace (units.md 6)."""

from __future__ import annotations

from collections.abc import Iterator

from emu.trace.hazards import HAZARDS
from emu.trace.reader import Record
from emu.trace.rules.rule import Rule


class _NoHazard(Rule):
    """No hazard of one name."""

    kinds = ("hazard",)

    def check(self, record: Record) -> Iterator[str]:
        if record.get("action") == self.name:
            yield f"{record.get('unit', '')}: {record.get('cause', '')}"


def _rule(name: str, sentence: str) -> type[Rule]:
    return type(f"No_{name}", (_NoHazard,), {"name": name, "__doc__": f"It does not happen that {sentence}."})


HAZARD_RULES: tuple[type[Rule], ...] = tuple(_rule(name, sentence) for name, sentence in HAZARDS.items())
