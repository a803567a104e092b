"""Which lines begin in colour: errors, warnings, verdicts, hazards. Said by whoever prints a line, acted on by the
screen alone, and only where a terminal shows it (NO_COLOR: https://no-color.org)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import TextIO

from emu.errors import printable


class Tone(Enum):
    """What the beginning of a line is to say before it is read: the parameter of the terminal's SGR (ECMA-48)."""

    GOOD = "32"
    BAD = "1;31"
    CAUTION = "33"
    REMARK = "36"
    QUIET = "2"
    STRONG = "1"


class Toned(str):
    """A line whose first `lead` characters have a tone; to everybody but the screen it is the line."""

    __slots__ = ("lead", "tone")
    lead: int
    tone: Tone

    def __new__(cls, line: str, lead: int, tone: Tone) -> Toned:
        found = super().__new__(cls, line)
        found.lead, found.tone = lead, tone
        return found


def marked(lines: Iterable[str], tones: Mapping[str, Tone]) -> Iterator[str]:
    """The lines; one that begins, its indent aside, with a key of `tones` begins in that tone."""
    for line in lines:
        start = len(line) - len(line.lstrip())
        found = next((lead for lead in tones if line.startswith(lead, start)), None)
        yield line if found is None else Toned(line, start + len(found), tones[found])


def wanted(stream: TextIO) -> bool:
    """Whether what is written there may be coloured: to a terminal that can, of somebody who has not said no."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except ValueError:
        return False  # closed


def painted(line: str) -> str:
    """A line as a terminal takes it: what it would act upon escaped, and then the tone."""
    if not isinstance(line, Toned):
        return printable(line)
    lead, rest = line[: line.lead], line[line.lead :]
    return f"\x1b[{line.tone.value}m{printable(lead)}\x1b[0m{printable(rest)}"
