"""A progress bar for work that turns out long (cli.md): on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

LONG = 1.0
"""Seconds before the bar appears."""


@contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Yields what takes the number of steps just done, of `length` in all."""
    started = time.monotonic()
    done = 0
    bar: Any = None

    def advance(steps: int) -> None:
        nonlocal done, bar
        done += steps
        if bar is not None:
            bar.update(steps)
        elif sys.stderr.isatty() and time.monotonic() - started > LONG:
            bar = click.progressbar(length=length, label=label, file=sys.stderr)
            bar.update(done)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.render_finish()
