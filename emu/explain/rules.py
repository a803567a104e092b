"""What may not happen: hazards and the rules of traces."""

from __future__ import annotations

from collections.abc import Iterator

from emu.explain.explanation import Explanation
from emu.trace.hazards import HAZARDS, TABLE
from emu.trace.invariants import RULES

_WHEN = "In a run (emu run lists it, --hazards=stop ends there) and in a trace (emu check --trace)."
_DO = (
    "The hazard names its list, action and unit: `emu actions FILE` shows the list, `emu inspect FILE --chip` what the "
    "configuration puts there. No file of the compiler has one: look for what was edited, or put in another order."
)
_RULE_DO = "`emu check --trace FILE` names the line, the context and the action where it does not hold."


def explanations() -> Iterator[Explanation]:
    """All hazards and all rules."""
    for name, sentence in HAZARDS.items():
        yield Explanation(
            name=name,
            kind="hazard",
            number=TABLE.index(name) + 1,
            text=f"{sentence[0].upper()}{sentence[1:]}: the chip does it without a complaint, with wrong results.",
            when=_WHEN,
            do=_DO,
            documented=("units.md 6",),
            source="units.md 6",
        )
    for rule in RULES:
        if rule.name not in HAZARDS:
            yield Explanation(
                name=rule.name,
                kind="rule of traces",
                text=rule.says(),
                when="emu check --trace finds a trace in which it does not hold (exit code 6).",
                do=_RULE_DO,
                documented=("firmware-actions.md 8",),
                source="emu's rules of traces",
            )
