"""What holds in every trace: named rules, each checked on the way through the records in constant memory.

A rule is a class: its docstring says what holds, `check` gets each record and yields what is wrong with it. Rules
know only what the trace says, not the program behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from emu.errors import HailoError, HailoStatus
from emu.trace.events import Kind
from emu.trace.reader import Record, TraceReader
from emu.trace.rules.causes import ConfigureBeforeData, CreditsBeforeInput, WaitEnds, WaitHasCause
from emu.trace.rules.channels import ClosedChannel, CreditsConserved, FramesInOrder, ReadWasWritten
from emu.trace.rules.order import ActionOrder, ContextOrder, NoStall, TimeOrder
from emu.trace.rules.rule import Rule

MAX_VIOLATIONS = 100


class Violation(NamedTuple):
    """`line` of the file (the header is line 1)."""

    rule: str
    line: int
    ns: int
    context: str
    action_index: int
    message: str


@dataclass(slots=True)
class Result:
    """The first MAX_VIOLATIONS violations; `more` counts the rest."""

    events: int = 0
    violations: list[Violation] = field(default_factory=list)
    more: int = 0


RULES: tuple[type[Rule], ...] = (
    TimeOrder,
    ContextOrder,
    ActionOrder,
    ConfigureBeforeData,
    CreditsBeforeInput,
    WaitHasCause,
    WaitEnds,
    ClosedChannel,
    CreditsConserved,
    ReadWasWritten,
    FramesInOrder,
    NoStall,
)


def check(trace: TraceReader) -> Result:
    """Check every record against every rule; HAILO_INVALID_ARGUMENT for a trace that cannot be read."""
    rules = [rule(trace.header.runtime) for rule in RULES]
    by_kind = {kind.value: [rule for rule in rules if not rule.kinds or kind.value in rule.kinds] for kind in Kind}
    of_any_kind = [rule for rule in rules if not rule.kinds]  # kinds of a later emu are passed over
    result = Result()
    for line, record in enumerate(trace, 2):
        result.events += 1
        try:
            for rule in by_kind.get(record["kind"], of_any_kind):
                for message in rule.check(record):
                    _report(result, Violation(rule.name, line, record["ns"], *_place(record), message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"the record does not say what it has to ({type(error).__name__} {error})",
                file=trace.name,
                line=line,
            ) from None
    return result


def _place(record: Record) -> tuple[str, int]:
    return record.get("context", ""), record.get("action_index", -1)


def _report(result: Result, violation: Violation) -> None:
    if len(result.violations) < MAX_VIOLATIONS:
        result.violations.append(violation)
    else:
        result.more += 1
