"""Readers that take a path get their input through one temporary file of the process."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path


@functools.cache
def folder() -> Path:
    found = Path(tempfile.mkdtemp(prefix="emu-fuzz-"))
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    return found


def given(data: bytes, name: str) -> Path:
    """A file of that name that holds `data`, until the next call."""
    path = folder() / name
    path.unlink(missing_ok=True)  # a file that is written over has to reach the disk first, fifty times as long
    path.write_bytes(data)
    return path
