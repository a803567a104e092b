"""One piece of a sweep: all rows of one HEF. Runs in any process, so that everything in and out can be pickled."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from emu.errors import EmuError, HailoError, HailoStatus
from emu.files import shown
from emu.sweep.table import Row

if TYPE_CHECKING:
    from emu.hef import Hef


@dataclass(frozen=True, slots=True)
class Task:
    """Estimate `path` at every combination; None leaves a choice to the HEF or the device."""

    path: Path
    batches: tuple[int, ...]
    devices: tuple[str | None, ...] = (None,)
    links: tuple[str | None, ...] = (None,)
    runtime: str | None = None
    clock_mhz: float | None = None
    cluster_layout: int | None = None
    network_group: str | None = None

    def failed(self, error: EmuError) -> list[Row]:
        """A row for each combination, with the error in place of the figures."""
        return [
            Row.of_error(shown(self.path), device, link, batch, error)
            for device in self.devices
            for link in self.links
            for batch in self.batches
        ]


def prepare() -> None:
    """Import what the work needs, so that forked workers find it there instead of importing it once each."""
    import_module("emu.estimate")


def run_task(task: Task) -> list[Row]:
    """The rows of a task, in the order devices, links, batches. What the file is refused for becomes rows.

    So does an error of our own: one file must not cost the results of all others.
    """
    from emu.hef import open_hef

    try:
        hef = open_hef(task.path, runtime=task.runtime)
        return [row for device in task.devices for link in task.links for row in _combination(task, hef, device, link)]
    except EmuError as error:
        return task.failed(error)
    except Exception as error:
        message = f"internal error, please report it: {type(error).__name__}: {error}"
        return task.failed(HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, message))


def _combination(task: Task, hef: Hef, device: str | None, link: str | None) -> list[Row]:
    from emu.estimate import estimate
    from emu.sequencer.compile import CompileOptions

    options = CompileOptions(device=device, cluster_layout=task.cluster_layout, network_group=task.network_group)
    rows: list[Row] = []
    for batch in task.batches:
        try:
            result = estimate(hef, options, (batch,), clock_mhz=task.clock_mhz, link=link)
        except EmuError as error:
            rows.append(Row.of_error(shown(task.path), device, link, batch, error))
        else:
            rows.append(Row.of_estimate(shown(task.path), result))
    return rows
