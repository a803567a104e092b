"""The program's own log: warnings and notes, a line each on stderr (cli.md). What the device does is in the trace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from emu.errors import printable

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_WORDS = {"warning": "warning", "info": "note"}


def warn(message: str) -> None:
    """Something is wrong that does not stop the command."""
    _logger().warning(message)


def note(message: str) -> None:
    """Something that explains the result."""
    _logger().info(message)


def _logger() -> Any:
    """Made anew for each line: stderr may have been replaced, and most runs have nothing to say."""
    import structlog

    return structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr), processors=[_line], wrapper_class=structlog.BoundLogger
    )


def _line(_: Any, level: str, event: MutableMapping[str, Any]) -> str:
    return f"emu: {_WORDS[level]}: {printable(event['event'])}"
