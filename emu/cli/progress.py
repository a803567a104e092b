"""Progress of work that turns out long (cli.md): how much, how fast, how long still, how large what is written has
become. On stderr, and only where that is a terminal; `-q` silences it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from emu.cli import log
from emu.errors import printable

LONG = 1.0
"""Seconds before the bar appears."""
POLL = 0.25
"""Seconds between two looks at work that does not tell of itself."""


def bytes_text(size: float) -> str:
    """A size as people say it, in powers of 1,000."""
    if size < 1000:
        return f"{size:,.0f} bytes"
    for unit in ("kB", "MB"):
        size /= 1000
        if size < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.2f} GB"


@contextmanager
def progress(label: str, length: int, size: Callable[[], int] | None = None) -> Iterator[Callable[[int], None]]:
    """Yields what takes the number of steps just done, of `length` in all. `size`: bytes written until now."""
    meter = _Meter(label, length, size)
    try:
        yield meter.advance
    finally:
        meter.finish()


@contextmanager
def watching(label: str, length: int, done: Callable[[], int], size: Callable[[], int] | None = None) -> Iterator[None]:
    """Progress of work that has no time to tell of itself: `done` steps and `size` bytes are looked at meanwhile."""
    meter = _Meter(label, length, size)
    if not meter.wanted:
        yield
        return
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(POLL):
            meter.advance(done() - meter.done)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        meter.finish()


class _Meter:
    """The bar of one piece of work."""

    def __init__(self, label: str, length: int, size: Callable[[], int] | None) -> None:
        self.wanted = sys.stderr.isatty() and not log.is_quiet()
        self.done = 0
        self._label, self._length, self._size = label, length, size
        self._started = time.monotonic()
        self._bar: Any = None

    def advance(self, steps: int) -> None:
        self.done += steps
        if self._bar is not None:
            self._bar.update(steps, self.done)
        elif self.wanted and time.monotonic() - self._started > LONG:
            self._bar = click.progressbar(
                length=self._length,
                label=printable(self._label),
                item_show_func=self._pace,
                update_min_steps=max(1, self._length // 1000),
                file=sys.stderr,
            )
            self._bar.update(self.done, self.done)

    def finish(self) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def _pace(self, done: int | None) -> str:
        took = max(time.monotonic() - self._started, 1e-9)
        rate = (done or 0) / took
        text = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2f}/s"
        return text if self._size is None else f"{text}, {bytes_text(self._size())}"
