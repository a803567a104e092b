"""Run a sweep: find the files, spread the work, put the rows in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from emu.errors import OutputError, UsageError
from emu.files import is_folder, is_regular
from emu.recognise import HEF_MAGIC
from emu.sweep.pools import Results, Work, run_here, run_processes
from emu.sweep.table import Row
from emu.sweep.work import Task, run_task


class UnfinishedError(OutputError):
    """A sweep that was cut off; `rows` are done."""

    def __init__(self, cause: OutputError, rows: list[Row]) -> None:
        super().__init__(cause.message, **cause.where)
        self.rows = rows


class Sweep(Struct, frozen=True):
    """What to estimate: every file at every batch size, device and link; None is the default of the HEF or device."""

    files: tuple[Path, ...]
    batches: tuple[int, ...] = (1,)
    devices: tuple[str | None, ...] = (None,)
    links: tuple[str | None, ...] = (None,)
    runtime: str | None = None
    clock_mhz: float | None = None
    cluster_layout: int | None = None
    network_group: str | None = None
    host_profile: str | None = None

    def tasks(self) -> list[Task]:
        """One task a file."""
        return [
            Task(
                path,
                self.batches,
                self.devices,
                self.links,
                self.runtime,
                self.clock_mhz,
                self.cluster_layout,
                self.network_group,
                self.host_profile,
            )
            for path in self.files
        ]


def find_files(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The files named, and of every directory, at any depth, those that are HEFs by content or by name."""
    found: list[Path] = []
    for path in paths:
        if is_folder(path):
            found += sorted(file for file in path.rglob("*") if is_regular(file) and _is_hef(file))
        else:
            found.append(path)
    if not found:
        raise UsageError("nothing to sweep: no HEF among " + ", ".join(map(str, paths)))
    return tuple(found)


def sweep(
    plan: Sweep,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int], object] = lambda done: None,
    work: Work = run_task,
) -> list[Row]:
    """All rows of a plan, in its order whatever the order of completion.

    `jobs` local processes (default: the processors this process may use), or the Dask cluster at `scheduler`.
    `progress` is called with the number of files just done. A file that is refused becomes rows with its error.
    UnfinishedError, with the rows that are done, where the cluster goes away.
    """
    tasks = plan.tasks()
    rows: list[list[Row]] = [[] for _ in tasks]
    try:
        for index, done in _results(tasks, work, jobs, scheduler):
            rows[index] = done
            progress(1)
    except OutputError as error:
        raise UnfinishedError(error, _flat(rows)) from error
    return _flat(rows)


def _flat(rows: list[list[Row]]) -> list[Row]:
    return [row for group in rows for row in group]


def _results(tasks: Sequence[Task], work: Work, jobs: int | None, scheduler: str | None) -> Results:
    if scheduler is not None:
        from emu.sweep.cluster import run_dask

        return run_dask(tasks, work, scheduler)
    count = min(processors() if jobs is None else jobs, len(tasks))
    return run_here(tasks, work) if count <= 1 else run_processes(tasks, work, count)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_hef(path: Path) -> bool:
    if path.suffix.lower() == ".hef":
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(HEF_MAGIC)) == HEF_MAGIC
    except OSError:
        return False
