"""From a MODEL argument and the common options to a compiled program: what `actions` and `run` do alike."""

from __future__ import annotations

from emu.cli.log import warn
from emu.cli.options import HefOptions, Model, located
from emu.errors import UsageError
from emu.hef import Hef, open_hef
from emu.recognise import Kind
from emu.sequencer.compile import CompileOptions, compile_hef
from emu.sequencer.host import HostSettings
from emu.sequencer.program import Program


def open_hef_model(model: Model, common: HefOptions) -> Hef:
    """The HEF of a MODEL argument; UsageError for an OM or MS model."""
    if model.kind is not Kind.HEF:
        raise UsageError(f"{model.name} is no HEF: only HEFs have action lists", file=model.name)
    return open_hef(model.source, runtime=common.runtime, from_memory=common.from_memory)


def compile_options(common: HefOptions) -> CompileOptions:
    """The common options as the compiler takes them."""
    return CompileOptions(
        device=common.device,
        cluster_layout=common.cluster_layout,
        batch=1 if common.batch is None else common.batch,
        net_batch=common.net_batch,
        network_group=common.network_group,
        host=HostSettings.parse(common.host),
        kv_cache=common.kv_cache,
    )


def compile_model(model: Model, common: HefOptions) -> tuple[Hef, Program]:
    """Open and compile; raises as `open_hef` and `compile_hef` do."""
    options = compile_options(common)
    with located(model.name):
        hef = open_hef_model(model, common)
        return hef, compile_hef(hef, options)


def warn_of_clock(assumed_hz: float, clock_hz: float) -> None:
    """HailoRT warns too where the NN clock is not the one that the HEF was compiled for (vdma.md 7)."""
    if clock_hz != assumed_hz:
        clock = f"{clock_hz / 1e6:g} MHz"
        warn(f"the HEF was compiled for {assumed_hz / 1e6:g} MHz, the NN clock is {clock}: compute times are scaled")
