"""The table of a sweep for people: the columns that differ, aligned, as many digits as anybody reads, no wider than
what it is shown on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import PurePath
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
_SAID_ONCE = ("device", "link", "batch")  # above the table, where every row has the same
_SPARED = ("network_group", "activation_ms", "sync_fps", "bound_by", "first_frame_latency_ms")  # left out in turn
_SHORTEST = 16  # characters that a file's name keeps


def table(rows: Sequence[Row], width: int | None = None) -> Iterator[str]:
    """A heading, a line a row, and the reason where a row has no figures; in `width` columns, where that is given.

    What does not fit is said once instead of in each row, then left out (and the last line says so).
    """
    several = [name for name in _IF_SEVERAL if len(_values(rows, name)) > 1]
    names = [_ALWAYS[0], *several, *_ALWAYS[1:]]
    files = [printable(row.file) for row in rows]
    above: list[str] = []
    left_out: list[str] = []
    if width is not None and _width(rows, names, files) > width:
        once = [name for name in _SAID_ONCE if len(_values(rows, name)) == 1]
        names = [name for name in names if name not in once]
        above = [f"{_HEADINGS.get(name, name)} {_values(rows, name).pop()}" for name in once]
        parents = {str(PurePath(file).parent) for file in files}
        if len(parents) == 1 and parents != {"."}:
            above.insert(0, f"files of {parents.pop()}")
            files = [PurePath(file).name for file in files]
        spared = (name for name in _SPARED if name in names)
        while _width(rows, names, files) > width and (name := next(spared, None)) is not None:
            names.remove(name)
            left_out.append(_HEADINGS.get(name, name))
        excess = _width(rows, names, files) - width
        longest = max(_SHORTEST, max(map(len, files), default=0) - max(0, excess))
        files = [file if len(file) <= longest else f"…{file[1 - longest :]}" for file in files]
    if above:
        yield from _lines("; ".join(above), width)
    cells = _cells(rows, names, files)
    widths = _widths(cells)
    for number, line in enumerate(cells):
        text = "  ".join(
            cell.rjust(size) if name in _NUMBERS else cell.ljust(size)
            for cell, size, name in zip(line, widths, names, strict=True)
        ).rstrip()
        row = rows[number - 1] if number else None
        if row is None or row.error is None:
            yield text
            continue
        reason = f"{row.error_name}({row.error_status}): {printable(row.error)}"
        if width is None or len(text) + 2 + len(reason) <= width:
            yield f"{text}  {reason}"
            continue
        yield text
        behind = rows[number] if number < len(rows) else None
        if behind is None or (behind.file, behind.error_status, behind.error) != (
            row.file,
            row.error_status,
            row.error,
        ):
            yield from _lines(reason, width, "    ")  # once for rows that have it in common
    if left_out:
        yield from _lines(f"not shown in {width} columns: {', '.join(left_out)} (--csv has everything)", width)


def _values(rows: Sequence[Row], name: str) -> set[Any]:
    """What the rows say in a column that say anything."""
    return {getattr(row, name) for row in rows} - {None}


def _width(rows: Sequence[Row], names: Sequence[str], files: Sequence[str]) -> int:
    return sum(_widths(_cells(rows, names, files))) + 2 * (len(names) - 1)


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*cells, strict=True)]


def _cells(rows: Sequence[Row], names: Sequence[str], files: Sequence[str]) -> list[list[str]]:
    return [
        [_HEADINGS.get(name, name) for name in names],
        *(
            [file if name == "file" else _cell(row, name) for name in names]
            for row, file in zip(rows, files, strict=True)
        ),
    ]


def _lines(text: str, width: int | None, indent: str = "") -> Iterator[str]:
    """Text that is no row, broken at words."""
    if width is None:
        yield indent + text
    else:
        yield from textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _cell(row: Row, name: str) -> str:
    value: Any = getattr(row, name)
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.2f}" if name.endswith("fps") else f"{value:,.3f}"
    return printable(str(value))
