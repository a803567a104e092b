"""The server's log on stderr: a line each, for people or (`--json-log`) as JSON."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, TextIO

import structlog

from emu.errors import printable


def server_log(stream: TextIO, as_json: bool) -> Any:
    """A structlog logger; `bind` adds what every later line carries."""
    render = _json_line if as_json else _line
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    processors = [structlog.processors.add_log_level, *([stamp] if as_json else []), render]
    return structlog.wrap_logger(_Writer(stream), processors=processors, wrapper_class=structlog.BoundLogger)


class _Writer:
    """Writes lines for as long as somebody reads them: a server outlives the reader of its log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    info = warning = error = msg


def _line(_: Any, level: str, event: MutableMapping[str, Any]) -> str:
    word = "warning: " if level == "warning" else ""
    text = event.pop("message", None) or event["event"].replace("_", " ")
    places = " ".join(f"{key}={value}" for key, value in event.items() if key not in ("event", "level"))
    return printable(f"emu: {word}{text}" + (f" ({places})" if places else ""))


def _json_line(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    if "message" in event:
        event["message"] = f"emu: {event['message']}"
    return json.dumps(event, default=str)
