"""Where the tasks of a sweep run: here or in local processes. No result is ever lost.

A worker that dies takes only the task with it that killed it: that task becomes rows with the error, every other one
is done again where needed.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress

from emu.errors import EmuError, HailoError, HailoStatus
from emu.interrupts import at_forced_end, leave_to_default
from emu.sweep.table import Row
from emu.sweep.work import Task, prepare

Work = Callable[[Task], list[Row]]
Results = Iterator[tuple[int, list[Row]]]

_ATTEMPTS = 2
_PR_SET_PDEATHSIG = 1  # prctl(2)


def run_here(tasks: Sequence[Task], work: Work) -> Results:
    """One after the other in this process."""
    for index, task in enumerate(tasks):
        yield index, work(task)


def run_processes(tasks: Sequence[Task], work: Work, jobs: int) -> Results:
    """In `jobs` local processes; results come as they are done."""
    left = dict(enumerate(tasks))
    with _processes(min(jobs, len(tasks))) as pool:
        futures: dict[Future[list[Row]], int] = {pool.submit(work, task): index for index, task in left.items()}
        for future in as_completed(futures):
            index = futures[future]
            try:
                rows = future.result()
            except BrokenProcessPool:
                continue
            del left[index]
            yield index, rows
    # a process died and took the whole pool with it: the rest runs one task a process, so that the culprit shows
    for index, task in left.items():
        yield index, run_alone(task, work)


def run_alone(task: Task, work: Work) -> list[Row]:
    """In a process of its own; a second one if that dies, which may have been an accident."""
    for _ in range(_ATTEMPTS):
        with _processes(1) as pool:
            try:
                return pool.submit(work, task).result()
            except BrokenProcessPool:
                continue
    return task.failed(died())


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end with this one, whatever ends it: nobody waits for what they were doing."""
    at_forced_end(_end_processes)
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(count, mp_context=_context(), initializer=_in_worker)
    try:
        yield pool
    except BaseException:
        _end_processes(others)
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _end_processes(others: Sequence[object] = ()) -> None:
    for process in multiprocessing.active_children():
        if process not in others:
            process.kill()


def _in_worker() -> None:
    """Signals are the parent's; where it is killed, the kernel kills its workers."""
    leave_to_default()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def died() -> EmuError:
    """What stands in the rows of a file that no process survives."""
    return HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, "every process that worked on this file died")


def _context() -> multiprocessing.context.BaseContext:
    """Forking is fastest, but only safe while there is a single thread."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return multiprocessing.get_context("spawn")
    prepare()
    return multiprocessing.get_context("fork")
