"""What holds in every trace: named rules, each checked on the way through the records in constant memory.

A rule is a class: its docstring says what holds, `check` gets each record and yields what is wrong with it. Rules
know only what the trace says, not the program behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from msgspec import Struct, field

from emu.errors import HailoError, HailoStatus
from emu.trace.events import Kind
from emu.trace.reader import Record
from emu.trace.rules.causes import ConfigureBeforeData, CreditsBeforeInput, WaitEnds, WaitHasCause
from emu.trace.rules.channels import ClosedChannel, CreditsConserved, FramesInOrder, ReadWasWritten
from emu.trace.rules.hazards import HAZARD_RULES
from emu.trace.rules.order import ActionOrder, ContextOrder, NoStall, TimeOrder
from emu.trace.rules.pairs import ConfigClosed, OutputAwaited, PausedBefore, ResetBeforeOpened
from emu.trace.rules.rule import Rule

MAX_VIOLATIONS = 100
_ACTION = Kind.ACTION.value
_Shown = tuple[Rule, Callable[[Record], Iterable[str]]]
_MOST_KEYS = 1 << 10  # a file may name anything


class Violation(NamedTuple):
    """`line` of the file (the header is line 1)."""

    rule: str
    line: int
    ns: int
    context: str
    action_index: int
    message: str


class Checked(Protocol):
    """What can be checked: a trace, or another source of its records (`emu.trace.stamped`).

    `kinds`: of records that it can hold at all, None for every kind.
    """

    kinds: frozenset[str] | None

    @property
    def name(self) -> str: ...

    @property
    def runtime(self) -> str: ...

    def known(self) -> Iterator[Record]:
        """Its records, with the keys of the schema."""


class Result(Struct):
    """The first MAX_VIOLATIONS violations; `more` counts the rest. `unjudged`: the rules about records that this
    source cannot hold."""

    events: int = 0
    unjudged: tuple[str, ...] = ()
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
    ConfigClosed,
    OutputAwaited,
    PausedBefore,
    ResetBeforeOpened,
    NoStall,
    *HAZARD_RULES,
)


def check(trace: Checked) -> Result:
    """Check every record against every rule; HAILO_INVALID_ARGUMENT for a trace that cannot be read."""
    unjudged = {rule for rule in RULES if trace.kinds is not None and not trace.kinds.issuperset(rule.kinds)}
    rules = [rule(trace.runtime) for rule in RULES if rule not in unjudged]
    of_kind = _Concerned(rules, lambda rule, kind: not rule.kinds or kind in rule.kinds)
    of_action = _Concerned(
        [rule for rule, _ in of_kind[_ACTION]], lambda rule, action: rule.actions is None or action in rule.actions
    )
    result, line = Result(unjudged=tuple(rule.name for rule in RULES if rule in unjudged)), 1
    for line, record in enumerate(trace.known(), 2):
        kind = record["kind"]
        try:
            for rule, check_record in of_action[record["action"]] if kind == _ACTION else of_kind[kind]:
                for message in check_record(record):
                    _report(result, Violation(rule.name, line, record["ns"], *_place(record), message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"the record does not say what it has to ({type(error).__name__} {error})",
                file=trace.name,
                line=line,
            ) from None
    result.events = line - 1
    return result


class _Concerned(dict[str, list[_Shown]]):
    """The rules that a record of some kind, or of some action, is shown to, and how."""

    def __init__(self, rules: list[Rule], looks_at: Callable[[Rule, str], bool]) -> None:
        self._rules, self._looks_at = rules, looks_at

    def __missing__(self, key: str) -> list[_Shown]:
        found: list[_Shown] = [(rule, rule.check) for rule in self._rules if self._looks_at(rule, key)]
        if len(self) < _MOST_KEYS:
            self[key] = found
        return found


def _place(record: Record) -> tuple[str, int]:
    return record.get("context", ""), record.get("action_index", -1)


def _report(result: Result, violation: Violation) -> None:
    if len(result.violations) < MAX_VIOLATIONS:
        result.violations.append(violation)
    else:
        result.more += 1
