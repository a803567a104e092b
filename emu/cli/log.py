"""The program's own log: warnings, notes and details, a line each on stderr (cli.md).

What the device does is in the trace.
"""

from __future__ import annotations

from emu.cli.screen import complain

QUIET, NORMAL, VERBOSE = range(3)
_level = NORMAL


def set_level(level: int) -> None:
    """What is said from now on: QUIET warnings alone, NORMAL notes too, VERBOSE details too."""
    global _level
    _level = level


def is_quiet() -> bool:
    return _level == QUIET


def warn(message: str) -> None:
    """Something is wrong that does not stop the command."""
    complain(f"emu: warning: {message}")


def note(message: str) -> None:
    """Something that explains the result; `-q` silences it."""
    if _level >= NORMAL:
        complain(f"emu: note: {message}")


def detail(message: str) -> None:
    """What was chosen or written; only `-v` asks for it."""
    if _level >= VERBOSE:
        complain(f"emu: detail: {message}")
