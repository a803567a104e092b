"""Estimates that know the sequencer programs of a file: what the device would find out as it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emu.hef.hef import Hef
from emu.sequencer.options import CompileOptions
from emu.timing.estimate import Compiled, Conditions, Estimate, estimate_compiled
from emu.timing.estimate import compile_batch as compile_bare

if TYPE_CHECKING:
    from emu.sequencer.program import NetworkGroupProgram, Program
    from emu.timing.programs import Starts


def estimate(
    hef: Hef,
    options: CompileOptions | None = None,
    batches: Sequence[int] = (1,),
    *,
    clock_mhz: float | None = None,
    link: str | None = None,
    host_profile: str | None = None,
    costs: str | None = None,
    compute_time_ns: float | None = None,
) -> Estimate:
    """Estimate the first network group that `options` select, at each batch size.

    `options.batch` is ignored; what well-formed configuration holds of sequencer programs is known, the rest is as in
    `Conditions`. Raises what `compile_hef` raises, UsageError for a clock, link or host that does not exist.
    """
    compiled = [compile_batch(hef, options or CompileOptions(), batch) for batch in batches]
    return estimate_compiled(hef, compiled, Conditions(clock_mhz, link, compute_time_ns, host_profile, costs))


def compile_batch(hef: Hef, options: CompileOptions, batch: int) -> Compiled:
    """`emu.timing.estimate.compile_batch`, likewise."""
    return compile_bare(hef, options, batch, _starts)


def _starts(program: Program, group: NetworkGroupProgram) -> Sequence[Starts] | None:
    """Loaded where there is something to find only: the chip's model costs more than the rest of an estimate."""
    from emu.hw.config.starts import program_starts

    return program_starts(program, group)
