"""Where the tasks of a sweep run: here, in local processes, or on a Dask cluster. No result is ever lost.

A worker that dies takes only the task with it that killed it: that task becomes rows with the error, every other one
is done again where needed.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from emu.errors import EmuError, HailoError, HailoStatus, UsageError
from emu.sweep.table import Row
from emu.sweep.work import Task, prepare

Work = Callable[[Task], list[Row]]
Results = Iterator[tuple[int, list[Row]]]

_ATTEMPTS = 2
_CONNECT_S = 5
_POLL_S = 2
_DESERTED_POLLS = 15  # so long may a cluster have no worker: nannies need a few seconds to start one again


def run_here(tasks: Sequence[Task], work: Work) -> Results:
    """One after the other in this process."""
    for index, task in enumerate(tasks):
        yield index, work(task)


def run_processes(tasks: Sequence[Task], work: Work, jobs: int) -> Results:
    """In `jobs` local processes; results come as they are done."""
    left = dict(enumerate(tasks))
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=_context()) as pool:
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
        yield index, _alone(task, work)


def run_dask(tasks: Sequence[Task], work: Work, scheduler: str) -> Results:
    """On the Dask cluster of `scheduler`, whose workers see the same files and have emu installed.

    What a cluster that has lost all its workers leaves undone is done in local processes.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise UsageError("--scheduler needs dask.distributed: install emu[dask]") from None
    try:
        client = distributed.Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {scheduler}: {' '.join(str(error).split())}") from error
    left = dict(enumerate(tasks))
    with client:
        pending = {client.submit(work, task, pure=False): index for index, task in left.items()}
        deserted = 0
        while pending and deserted < _DESERTED_POLLS:
            try:
                with client.as_current():
                    done = distributed.wait(list(pending), timeout=_POLL_S, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                deserted = 0 if client.scheduler_info()["workers"] else deserted + 1
                continue
            deserted = 0
            for future in done:
                index = pending.pop(future)
                try:
                    rows = future.result()
                except distributed.KilledWorker:
                    rows = tasks[index].failed(_died())
                except CancelledError:
                    continue
                del left[index]
                yield index, rows
    for index, task in left.items():
        yield index, _alone(task, work)


def _alone(task: Task, work: Work) -> list[Row]:
    """In a process of its own; a second one if that dies, which may have been an accident."""
    for _ in range(_ATTEMPTS):
        with ProcessPoolExecutor(1, mp_context=_context()) as pool:
            try:
                return pool.submit(work, task).result()
            except BrokenProcessPool:
                continue
    return task.failed(_died())


def _died() -> EmuError:
    return HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, "every process that worked on this file died")


def _context() -> multiprocessing.context.BaseContext:
    """Forking is fastest, but only safe while there is a single thread."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return multiprocessing.get_context("spawn")
    prepare()
    return multiprocessing.get_context("fork")
