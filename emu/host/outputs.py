"""What gives the outputs of a network group that is configured: a reference, the core's own computation, or neither."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from emu.errors import UsageError
from emu.hef import Hef
from emu.hef.infos import hef_infos
from emu.host.computing import MODES, OFF, STRICT, ComputedOutputs, GroupComputing, compute_hef
from emu.host.jobs import Outputs
from emu.sequencer.options import CompileOptions
from emu.sequencer.program import Program

if TYPE_CHECKING:
    from emu.reference.reference import Function


def check_choice(reference: str | Path | Function | None, compute: bool | str | None) -> None:
    """UsageError for a `compute` that does not exist, and where both are asked for."""
    if compute not in (True, False, None, *MODES):
        raise UsageError(f"compute is True, False, None or one of {', '.join(MODES)}, not {compute!r}")
    if reference is not None and compute:
        raise UsageError("outputs either come from a reference or are computed")


def outputs_of(
    hef: Hef | None,
    program: Program,
    options: CompileOptions | None,
    group: str,
    reference: str | Path | Function | None,
    compute: bool | str | None,
) -> tuple[Outputs | ComputedOutputs | None, list[GroupComputing]]:
    """(what gives the outputs of `group`, what is computed of each group of the program).

    None: the bytes are synthetic. `hef` and `options` are None of a program that no HEF was compiled to. UsageError
    where it would take a HEF; raises what `choose_references` and `compute_hef` raise.
    """
    if reference is not None:
        return _referenced(hef, program, group, reference), []
    if compute is False or compute == OFF:
        return None, []
    if hef is None or options is None:
        if compute is not None:
            raise UsageError("a program holds no network to compute, only HEFs do")
        return None, []
    computing = compute_hef(hef, options, STRICT if compute is True else compute)
    return (ComputedOutputs(computing) if any(one.streams for one in computing) else None), computing


def _referenced(hef: Hef | None, program: Program, group: str, reference: str | Path | Function) -> Outputs:
    if hef is None:
        if not callable(reference):
            raise UsageError("a model as a reference needs a HEF, whose streams it is bound to, not a Program")
        return reference
    from emu.reference.choose import choose_references

    by_name = {info.name: info for info in hef_infos(hef).network_groups}
    infos = [by_name[one.name] for one in program.network_groups]
    return choose_references(infos, {group: reference})
