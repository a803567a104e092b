"""HailoRT's Python logger: its warnings go to stdout, as there; the file pyhailort.log is not written."""

from __future__ import annotations

import logging
import sys

from emu.errors import without_controls

_NAME = "pyhailort"


class _StdoutHandler(logging.Handler):
    """Writes to what is the standard output at the time, as tests exchange it."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stdout.write(f"{without_controls(self.format(record))}\n")


def default_logger() -> logging.Logger:
    """The logger, with a handler from its first use on."""
    logger = logging.getLogger(_NAME)
    if not logger.handlers:
        logger.setLevel(logging.INFO)
        logger.addHandler(_StdoutHandler())
    return logger
