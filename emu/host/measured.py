"""A run as `hailortcli run2 measure-fw-actions` measures it, without a file: to be compared with what hardware gave."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from emu.errors import UsageError
from emu.host.prepare import prepare
from emu.host.profiler import MEASURED_BATCH
from emu.host.session import run_program
from emu.host.spec import RunSpec
from emu.trace.fw_actions import FirmwareProfile, profile_of
from emu.trace.sinks import fw_actions
from emu.trace.sinks.fw_actions import UNKNOWN
from emu.wire.control import MAX_BATCH_SIZE


def measured(spec: RunSpec, batches: Sequence[int], name: str) -> FirmwareProfile:
    """The profile of one run for each batch size, each of three batches, of which the third is stamped.

    A batch that is not known is the recipe's own. UsageError for a batch that the runtime does not allow and for a
    model of several network groups. Raises what compiling and running raise.
    """
    runs = []
    for batch in batches:
        if batch != UNKNOWN and not 1 <= batch <= MAX_BATCH_SIZE:
            raise UsageError(f"a run of batch {batch}: batches are 1 to {MAX_BATCH_SIZE}")
        size = batch if batch != UNKNOWN else spec.settings.batch or 1
        settings = replace(spec.settings, batch=size, frames=size * (MEASURED_BATCH + 1))
        run = prepare(replace(spec, settings=settings), [name])
        if len(run.program.network_groups) != 1:
            groups = ", ".join(group.name for group in run.program.network_groups)
            raise UsageError(f"a profile is of one network group, not of {groups}: name one by --network-group")
        run.request.measure_actions = True
        (result,) = run_program(run.program, run.profile, run.request).groups
        runs.append((batch, result, run))
    first = runs[0][2]
    document = fw_actions.profile(
        [fw_actions.MeasuredRun(batch, result.fps, result.action_lists) for batch, result, _ in runs],
        runtime=first.program.runtime,
        created=0,
        clock_cycle_mhz=int(first.profile.timestamp_hz) // 1_000_000,
        path=name,
        file_hash="",
    )
    return profile_of(document, name)
