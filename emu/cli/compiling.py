"""From a MODEL argument and the common options to a compiled program: what several commands do alike."""

from __future__ import annotations

from emu.cli.log import warn
from emu.cli.options import Model, located
from emu.errors import CommandLineError
from emu.hef import Hef
from emu.host.spec import HefSettings
from emu.recognise import Kind
from emu.sequencer.compile import compile_hef
from emu.sequencer.program import Program


def open_hef_model(model: Model, common: HefSettings) -> Hef:
    """The HEF of a MODEL argument; UsageError for an OM or MS model."""
    if model.kind is not Kind.HEF:
        raise CommandLineError(f"{model.name} is no HEF: only HEFs have action lists", file=model.name)
    return common.open(model.source)


def compile_model(model: Model, common: HefSettings) -> tuple[Hef, Program]:
    """Open and compile; raises as `open_hef` and `compile_hef` do."""
    options = common.compile_options()
    with located(model.name):
        hef = open_hef_model(model, common)
        return hef, compile_hef(hef, options)


def warn_of_clock(assumed_hz: float, clock_hz: float) -> None:
    """HailoRT warns too where the NN clock is not the one that the HEF was compiled for (vdma.md 7)."""
    if clock_hz != assumed_hz:
        clock = f"{clock_hz / 1e6:g} MHz"
        warn(f"the HEF was compiled for {assumed_hz / 1e6:g} MHz, the NN clock is {clock}: compute times are scaled")
