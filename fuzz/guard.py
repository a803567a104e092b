"""The limits of one input, in time and memory: a hang is ended by an alarm, a bomb by the limit of the process."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Callable

SECONDS = 2.0
BYTES = 300 << 20
_ADDRESS_SPACE = 8 << 30
_HANG = 120.0  # seconds of the clock, on a machine however busy: what waits for nobody takes no processor time


class HangError(BaseException):
    """An input that takes more than `SECONDS`; no handler of a reader's may swallow it."""


class MemoryHogError(Exception):
    """An input that takes more than `BYTES`."""


def limit_process() -> None:
    """Memory beyond all reason is refused by the system, as MemoryError, instead of taking the machine down."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, hard))


def guarded(judge: Callable[[bytes], str], data: bytes) -> str:
    """`judge(data)` within the limits of one input. Raises HangError or MemoryHogError beside what it raises."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    previous = signal.signal(signal.SIGALRM, _ended)
    signal.setitimer(signal.ITIMER_REAL, _HANG)
    try:
        outcome = judge(data)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    if (took := time.process_time() - began) > SECONDS:
        raise HangError(f"{took:.0f} s")
    if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 > BYTES:
        raise MemoryHogError
    return outcome


def _ended(number: int, frame: object) -> None:
    raise HangError("no end")
