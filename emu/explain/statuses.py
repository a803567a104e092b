"""The statuses: of HailoRT, of the firmware, of graphs, and the names in error lines that are nobody's status."""

from __future__ import annotations

from collections.abc import Iterator

from emu.errors import GraphStatus, HailoStatus
from emu.explain.explanation import Entry, Explanation, own_words, texts
from emu.wire.status import FirmwareStatus

FIRMWARE = 4
"""The component in the top four bits of a firmware status (firmware-actions.md 7)."""
_PREFIXES = ("CONTEXT_SWITCH_STATUS_", "CONTEXT_SWITCH_TASK_STATUS_", "CONTROL_PROTOCOL_STATUS_", "CONTROL_STATUS_")


def explanations() -> Iterator[Explanation]:
    """All that have a name."""
    yield from _hailort()
    yield from _firmware()
    graph = texts("graph")
    for status in GraphStatus:
        entry = graph.entries.get(status.name) or own_words(status.name)
        yield _of(status.name, "graph status", entry, int(status), graph.source)
    other = texts("errors")
    for name, entry in other.entries.items():
        yield _of(name, "error", entry, entry.number, other.source)


def _of(
    name: str, kind: str, entry: Entry, number: int | None, source: str, aliases: tuple[str, ...] = ()
) -> Explanation:
    return Explanation(
        name=name,
        kind=kind,
        number=number,
        text=entry.what,
        when=entry.when,
        do=entry.do,
        documented=entry.documented,
        source=source,
        aliases=aliases,
    )


def _hailort() -> Iterator[Explanation]:
    found = texts("hailort")
    for status in HailoStatus:
        entry = found.entries.get(status.name) or own_words(status.name)
        short = status.name.removeprefix("HAILO_")
        yield _of(status.name, "HailoRT status", entry, int(status), found.source, (short,))


def _firmware() -> Iterator[Explanation]:
    found = texts("firmware")
    ours = {status.name: int(status) for status in FirmwareStatus}
    never_given = {name: entry.number for name, entry in found.entries.items() if entry.number is not None}
    for name, number in (never_given | ours).items():
        entry = found.entries.get(name) or own_words(name)
        short = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
        module = number >> 16 & 0xFF
        yield Explanation(
            name=name,
            kind="firmware status",
            number=number,
            text=entry.what,
            when=entry.when,
            do=entry.do or (found.tables["helps"].get(str(module), "") if number else ""),
            details=(("module", module_name(module)),) if number else (),
            documented=entry.documented or (("firmware-actions.md 7",) if number else ()),
            source=found.source,
            aliases=(short,),
        )


def module_name(module: int) -> str:
    """A module of the firmware by number and name."""
    name = texts("firmware").tables["modules"].get(str(module))
    return f"{module}, {name}" if name else f"{module}, whose name is not known here"


def is_firmware_status(number: int) -> bool:
    """Whether a number has the form of a firmware status: component 4, a module and a value."""
    return number >> 28 == FIRMWARE and number < 1 << 32


def unknown_firmware_status(number: int) -> Explanation:
    """What its digits tell of a status that has no name here."""
    module = number >> 16 & 0xFF
    return Explanation(
        name="FIRMWARE_STATUS",
        kind="firmware status",
        number=number,
        text=f"A status of the firmware that has no name here: number {number & 0xFFFF} of its module.",
        do=texts("firmware").tables["helps"].get(str(module), ""),
        details=(("module", module_name(module)),),
        documented=("firmware-actions.md 7",),
    )
