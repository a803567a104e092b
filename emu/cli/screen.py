"""What a command says to people: the one door to stdout and stderr, through which no control character passes but those
that colour the beginning of a line on a terminal."""

from __future__ import annotations

import io
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TextIO

from emu.cli.colour import Tone, Toned, painted, wanted
from emu.errors import EmuError, printable

NARROWEST = 20  # columns; a terminal that says less (0: it was never told) is not asked for its width


def say(lines: str | Iterable[str], to: TextIO | None = None) -> None:
    """A line, or lines, on stdout or `to`. Each item is one line, whatever names out of a file stand in it."""
    stream = sys.stdout if to is None else to
    shown = painted if wanted(stream) else printable
    for line in (lines,) if isinstance(lines, str) else lines:
        stream.write(f"{shown(line.removesuffix(chr(10)) if line.endswith(chr(10)) else line)}\n")


def columns(stream: TextIO) -> int | None:
    """How wide the terminal is that a stream goes to; None where it goes to none, or to one too narrow for text."""
    try:
        found = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return None
    return found if found >= NARROWEST else None


def folded(line: str, width: int | None) -> Iterator[str]:
    """A line as a terminal shows it best: one that is too long is broken behind its semicolons, and at words."""
    if width is None or len(line) <= width:
        yield line
        return
    parts = printable(line).replace("; ", ";\n").split("\n")
    for at, part in enumerate(parts):
        wrapped = textwrap.wrap(
            part,
            width,
            initial_indent="    " if at else "",
            subsequent_indent="      " if at else "    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for first in wrapped[:1]:
            yield _led(first, line) if at == 0 else _subject(first)
        yield from wrapped[1:]


def _led(first: str, line: str) -> str:
    """The first of the lines that a line became, which begins as that did."""
    if isinstance(line, Toned) and first.startswith(line[: line.lead]):
        return Toned(first, line.lead, line.tone)
    return first


def _subject(part: str) -> str:
    """A link of a chain of causes: what it is about leads to what is wrong with it."""
    subject, colon, _ = part.partition(": ")
    return Toned(part, len(subject), Tone.STRONG) if colon else part


def complain(line: str) -> None:
    """A line on stderr, folded on a terminal; where that takes none, nobody is told, and the command goes on."""
    try:
        say(folded(line, columns(sys.stderr)), sys.stderr)
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def complain_of(error: EmuError) -> None:
    """The one line of an error."""
    lead = "emu: error:"
    complain(Toned(f"{lead} {' '.join(error.line().split())}", len(lead), Tone.BAD))


def abandon(stream: TextIO) -> None:
    """What is still buffered goes nowhere, so that the interpreter does not fail over it once more at its end."""
    with suppress(io.UnsupportedOperation, OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
