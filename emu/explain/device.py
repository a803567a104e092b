"""What the firmware is told: actions, their fields, and control messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from emu.chips.runtimes import runtime_names
from emu.explain.explanation import Explanation, own_words, texts
from emu.hef.runtime import spans
from emu.wire.actions import ACTIONS, Action, ActionType, Target
from emu.wire.control import Opcode
from emu.wire.messages import REQUESTS, RESPONSES, Kind
from emu.wire.wire import wire_of

_BITS = {"B": "u8", "H": "u16", "I": "u32", "Q": "u64"}
_REPEATED = "Several actions of one type in a row: one header, their number and type, and their payloads."


def explanations() -> Iterator[Explanation]:
    """All actions, fields and control messages."""
    yield from _actions()
    yield from _fields()
    yield from _controls()


def _by_runtime(what: Callable[[str], str]) -> str:
    """What each runtime has, those that have the same together; one answer where all have it."""
    found: dict[str, list[str]] = {}
    for runtime in runtime_names():
        found.setdefault(what(runtime), []).append(runtime)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{text or 'none'} ({spans(runtimes)})" for text, runtimes in found.items())


def _code(made: type[Action], name: str, runtime: str) -> str:
    """The type of a field on the wire of a runtime; empty where its action has none of that name."""
    lists = wire_of(runtime).lists
    own = lists.classes[made.type]
    if name not in own.NAMES:
        return ""
    return _BITS[lists.payloads[made.type].format[1 + own.NAMES.index(name)]]


def _actions() -> Iterator[Explanation]:
    for kind, made in sorted(ACTIONS.items()):
        own: Any = made
        details = [("role", own.role.value)]
        details += [("starts", own.starts.value)] if own.starts else []
        details += [("waits for", own.waits_for.value)] if own.waits_for else []
        details += [("edge layer", own.edge.value)] if own.edge else []
        details += [("may be repeated", "in a REPEATED_ACTION")] if own.repeatable else []
        details.append(("payload", _by_runtime(partial(_size, made))))
        fields = ", ".join(f"{name} {_by_runtime(partial(_code, made, name))}" for name in made.NAMES)
        details += [("fields", fields)] if fields else []
        yield Explanation(
            name=kind.name,
            kind="action",
            number=int(kind),
            text=" ".join((made.__doc__ or "").split()),
            details=tuple(details),
            documented=("firmware-actions.md 3", "firmware-actions.md 8"),
            source="context_switch_defs.h of HailoRT; firmware-actions.md 3",
            aliases=(made.__name__,),
        )
    yield Explanation(
        name=ActionType.REPEATED_ACTION.name,
        kind="action",
        number=int(ActionType.REPEATED_ACTION),
        text=_REPEATED,
        documented=("firmware-actions.md 2", "hef-compile.md 4.9"),
        source="context_switch_defs.h of HailoRT; firmware-actions.md 2",
        aliases=("REPEATED",),
    )


def _size(made: type[Action], runtime: str) -> str:
    return f"{wire_of(runtime).payloads[made.type].size} bytes"


def _fields() -> Iterator[Explanation]:
    found = texts("fields")
    users: dict[str, list[type[Action]]] = {}
    for made in ACTIONS.values():
        for name in made.NAMES:
            users.setdefault(name, []).append(made)
    for name, actions in users.items():
        entry = found.entries.get(name) or own_words(name)
        names: Target | None = actions[0].FIELDS[name].names
        details = [("type", _by_runtime(partial(_code, actions[0], name)))]
        details += [("names a", names.value)] if names is not None else []
        details.append(("in", ", ".join(made.type.name for made in actions)))
        yield Explanation(
            name=name,
            kind="action field",
            text=entry.what,
            details=tuple(details),
            documented=entry.documented,
            source=found.source,
        )


def _controls() -> Iterator[Explanation]:
    found = texts("controls")
    for opcode in Opcode:
        entry = found.entries.get(opcode.name)
        details = []
        for title, kind, table in (("request", Kind.REQUEST, REQUESTS), ("reply", Kind.RESPONSE, RESPONSES)):
            if opcode in table:
                details.append((title, _by_runtime(partial(_parameters, opcode, kind))))
        yield Explanation(
            name=opcode.name,
            kind="control message",
            number=int(opcode),
            text=entry.what if entry is not None else "A control message of the host to the firmware.",
            when=entry.when if entry is not None else "",
            details=tuple(details),
            documented=entry.documented if entry is not None else ("firmware-actions.md 5",),
            source=found.source,
            aliases=(opcode.name.removeprefix("CONTEXT_SWITCH_"), opcode.name.removeprefix("CONFIG_CONTEXT_SWITCH_")),
        )


def _parameters(opcode: Opcode, kind: Kind, runtime: str) -> str:
    layout = wire_of(runtime).messages.layout(opcode, kind)
    return ", ".join(name for field in layout for name in field.names) or "no parameters"
