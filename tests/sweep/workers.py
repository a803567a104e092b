"""Work that misbehaves, for the pools; importable by every worker process."""

from __future__ import annotations

import os
import time
from pathlib import Path

from emu.sweep.table import Row
from emu.sweep.work import Task, run_task


def dies_on_poison(task: Task) -> list[Row]:
    """Kills its process on a file called poison, else works."""
    if task.path.name.startswith("poison"):
        os._exit(42)
    return run_task(task)


def dies_in_company(task: Task) -> list[Row]:
    """Kills a worker of a Dask cluster, works in any other process: as a file that others' deaths are blamed on."""
    import distributed

    try:
        distributed.get_worker()
    except ValueError:
        return run_task(task)
    os._exit(42)


def dies_once(task: Task) -> list[Row]:
    """Kills its process the first time it sees a file: a worker lost by accident."""
    mark = Path(os.environ["EMU_TEST_MARKS"]) / task.path.name
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return run_task(task)
    os._exit(42)


def slow(task: Task) -> list[Row]:
    """Long enough that the worker can be killed meanwhile."""
    time.sleep(0.3)
    return run_task(task)
