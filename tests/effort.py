"""What a call costs, measured so that neither a collection of the garbage of other tests nor a busy machine counts."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

from tests.conftest import ROOT

_TRIES = 4
_T = TypeVar("_T")

QUICK = os.environ.get("EMU_BENCH_QUICK") == "1"
"""Whether benchmarks are only tried, each once with little to do (benchmarks/conftest.py)."""


def sized(usual: _T, tiny: _T) -> _T:
    """How much a benchmark does: `tiny` where it is only tried."""
    return tiny if QUICK else usual


def spent(function: Callable[[], object], tries: int = 1) -> float:
    """Seconds of this thread's processor time that the cheapest of some calls took."""
    return min(_once(function) for _ in range(tries))


def least(*functions: Callable[[], object], rounds: int = 7) -> list[float]:
    """Seconds of this process's processor time, user and system, that the cheapest call of each took.

    They take turns, so that what else the machine does meets all of them alike.
    """
    found = [float("inf")] * len(functions)
    for _ in range(sized(rounds, 1)):
        for place, function in enumerate(functions):
            found[place] = min(found[place], _once(function, time.process_time))
    return found


def costs_at_most(function: Callable[[], object], seconds: float) -> bool:
    """Whether one of a few calls stays within what was measured for something else on this machine."""
    return any(_once(function) <= seconds for _ in range(_TRIES))


@contextmanager
def within(memory: int) -> Iterator[None]:
    """What would take the process beyond that many more bytes raises MemoryError, as on a small machine.

    It costs nothing, where tracemalloc makes what is under it four times as dear; what is free already is not counted.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + memory, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _once(function: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        function()
        return clock() - start
    finally:
        if collecting:
            gc.enable()


# what wait4 tells of a child counts the process that started it, too
_MEASURED = """
import atexit, re, sys
atexit.register(lambda: print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1], file=sys.stderr))
from emu.__main__ import main
main()
"""


def peak_bytes(*command: str) -> int:
    """Bytes of memory that an `emu` command took at most, pages of mapped files among them; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1]) * 1024


def calls(function: Callable[[], object]) -> int:
    """How many functions a call enters, Python's own and built-in ones: the same on every machine."""
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return counted
