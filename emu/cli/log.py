"""The program's own log: warnings, notes and details, a line each on stderr (cli.md).

What the device does is in the trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emu.cli.colour import Tone, Toned
from emu.cli.screen import complain

if TYPE_CHECKING:
    from collections.abc import MutableMapping

QUIET, NORMAL, VERBOSE = range(3)
_WORDS = {
    "warning": ("warning", Tone.CAUTION),
    "info": ("note", Tone.REMARK),
    "debug": ("detail", Tone.QUIET),
}
_level = NORMAL


def set_level(level: int) -> None:
    """What is said from now on: QUIET warnings alone, NORMAL notes too, VERBOSE details too."""
    global _level
    _level = level


def is_quiet() -> bool:
    return _level == QUIET


def warn(message: str) -> None:
    """Something is wrong that does not stop the command."""
    _logger().warning(message)


def note(message: str) -> None:
    """Something that explains the result; `-q` silences it."""
    if _level >= NORMAL:
        _logger().info(message)


def detail(message: str) -> None:
    """What was chosen or written; only `-v` asks for it."""
    if _level >= VERBOSE:
        _logger().debug(message)


def _logger() -> Any:
    """Made anew for each line: stderr may have been replaced, and most runs have nothing to say."""
    import structlog

    return structlog.wrap_logger(_Complaints(), processors=[_line], wrapper_class=structlog.BoundLogger)


class _Complaints:
    """Where structlog's lines go."""

    def msg(self, line: str) -> None:
        complain(line)

    info = warning = debug = msg


def _line(_: Any, level: str, event: MutableMapping[str, Any]) -> str:
    word, tone = _WORDS[level]
    lead = f"emu: {word}:"
    return Toned(f"{lead} {event['event']}", len(lead), tone)
