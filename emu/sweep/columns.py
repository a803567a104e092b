"""The table of a sweep for people: the columns that differ, aligned, as many digits as anybody reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from emu.errors import printable
from emu.sweep.table import Row

_ALWAYS = ("file", "device", "link", "batch", "fps", "sync_fps", "first_frame_latency_ms", "activation_ms", "bound_by")
_IF_SEVERAL = ("network_group", "runtime", "host_profile")
_HEADINGS = {
    "network_group": "group",
    "host_profile": "host",
    "fps": "FPS",
    "sync_fps": "FPS one by one",
    "first_frame_latency_ms": "latency ms",
    "activation_ms": "activation ms",
    "bound_by": "bound by",
}
_NUMBERS = {"batch", "fps", "sync_fps", "first_frame_latency_ms", "activation_ms"}


def table(rows: Sequence[Row]) -> Iterator[str]:
    """A heading, a line a row, and the reason where a row has no figures."""
    several = [name for name in _IF_SEVERAL if len({getattr(row, name) for row in rows if row.error is None}) > 1]
    names = [_ALWAYS[0], *several, *_ALWAYS[1:]]
    cells = [[_HEADINGS.get(name, name) for name in names], *([_cell(row, name) for name in names] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(names))]
    for number, line in enumerate(cells):
        text = "  ".join(
            cell.rjust(width) if name in _NUMBERS else cell.ljust(width)
            for cell, width, name in zip(line, widths, names, strict=True)
        )
        row = rows[number - 1] if number else None
        if row is not None and row.error is not None:
            text = f"{text.rstrip()}  {row.error_name}({row.error_status}): {printable(row.error)}"
        yield text.rstrip()


def _cell(row: Row, name: str) -> str:
    value: Any = getattr(row, name)
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.2f}" if name.endswith("fps") else f"{value:,.3f}"
    return printable(str(value))
