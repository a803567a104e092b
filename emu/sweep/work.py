"""One piece of a sweep: all rows of one HEF. Runs in any process, so that everything in and out can be pickled."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from emu.errors import EmuError, HailoError, HailoStatus
from emu.files import shown
from emu.sweep.table import Row

if TYPE_CHECKING:
    from emu.hef import Hef
    from emu.timing.estimate import Compiled


class Task(Struct, frozen=True):
    """Estimate `path` at every combination; None leaves a choice to the HEF or the device."""

    path: Path
    batches: tuple[int, ...]
    devices: tuple[str | None, ...] = (None,)
    links: tuple[str | None, ...] = (None,)
    runtime: str | None = None
    clock_mhz: float | None = None
    cluster_layout: int | None = None
    network_group: str | None = None
    host_profile: str | None = None

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
    import_module("emu.timing.estimate")
    import_module("emu.hw.config.starts")


def run_task(task: Task) -> list[Row]:
    """The rows of a task, in the order devices, links, batches. What the file is refused for becomes rows.

    So does an error of our own: one file must not cost the results of all others.
    """
    from emu.hef import open_hef

    try:
        hef = open_hef(task.path, runtime=task.runtime)
        return [row for device in task.devices for row in _device(task, hef, device)]
    except EmuError as error:
        return task.failed(error)
    except Exception as error:
        message = f"internal error, please report it: {type(error).__name__}: {error}"
        return task.failed(HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, message))


def _device(task: Task, hef: Hef, device: str | None) -> Iterator[Row]:
    """The rows of one device: each batch is compiled once, whatever the links."""
    from emu.hw.config.starts import program_starts
    from emu.sequencer.compile import CompileOptions
    from emu.timing.estimate import Conditions, compile_batch, estimate_compiled

    options = CompileOptions(device=device, cluster_layout=task.cluster_layout, network_group=task.network_group)
    compiled: list[Compiled | EmuError] = []
    for batch in task.batches:
        try:
            compiled.append(compile_batch(hef, options, batch, program_starts))
        except EmuError as error:
            compiled.append(error)
    for link in task.links:
        for batch, one in zip(task.batches, compiled, strict=True):
            try:
                if isinstance(one, EmuError):
                    raise one
                result = estimate_compiled(hef, (one,), Conditions(task.clock_mhz, link, host=task.host_profile))
            except EmuError as error:
                yield Row.of_error(shown(task.path), device, link, batch, error)
            else:
                yield Row.of_estimate(shown(task.path), result)
