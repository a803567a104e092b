"""From a program, the timing of its network groups: for runs and `emu estimate` alike."""

from __future__ import annotations

from emu.chips.chips import Profile
from emu.hef import Hef
from emu.hef.enums import HwArch
from emu.sequencer.program import ComputeFigures, Program
from emu.timing.demand import GroupDemand
from emu.timing.model import Compute, GroupTiming, host_ns, network_compute
from emu.timing.passage import flow_of

UNKNOWN_COMPUTE = Compute(0.0, 0.0, 0.0, "none: action lists say nothing about computing")


def assumed_clock_hz(hef: Hef, profile: Profile) -> float:
    """The NN clock that the compiler assumed: the chip's nominal one, or that of a Hailo-8R for its HEF."""
    return _clock_hz(hef.header.hw_arch == HwArch.HAILO8R, profile)


def _clock_hz(hailo8r: bool, profile: Profile) -> float:
    return profile.hailo8r_nn_hz if hailo8r else profile.nominal_nn_hz


def program_timings(
    program: Program, profile: Profile, compute_time_ns: float | None = None
) -> tuple[GroupTiming, ...]:
    """Timing of each of `program.network_groups`, in that order, from the figures that it carries.

    `compute_time_ns` (`--compute-time`) is a measured time in their place. A program of action lists alone has neither
    unless it is given: its core counts as infinitely fast, and `Compute.source` says so (`lacks_figures` asks).
    """
    demands = (GroupDemand(program, group) for group in program.network_groups)
    return tuple(group_timing(demand, profile, compute_time_ns) for demand in demands)


def group_timing(demand: GroupDemand, profile: Profile, compute_time_ns: float | None = None) -> GroupTiming:
    """Flows of all dynamic contexts of a compiled network group.

    Compute time is divided among several contexts in proportion to their configuration bytes (house rule: the HEF
    states only the sum).
    """
    compute = _compute(demand.figures, profile, compute_time_ns)
    contexts = demand.dynamic
    whole = sum(context.config_bytes for context in contexts)
    host = host_ns(profile, demand.streams, demand.input_bytes + demand.output_bytes)
    flows = tuple(
        flow_of(
            profile,
            compute.share(context.config_bytes / whole if whole else 1 / len(contexts)),
            context.traffic,
            host if len(contexts) == 1 else 0.0,
        )
        for context in contexts
    )
    return GroupTiming(flows, host, compute)


def lacks_figures(program: Program) -> bool:
    """Whether anything in it says nothing about computing: action lists alone do not."""
    return any(group.figures is None for group in program.network_groups)


def _compute(figures: ComputeFigures | None, profile: Profile, compute_time_ns: float | None) -> Compute:
    if figures is None:
        if compute_time_ns is None:
            return UNKNOWN_COMPUTE
        return network_compute(0.0, 0.0, 0, profile, profile.nominal_nn_hz, compute_time_ns)
    return network_compute(
        figures.bottleneck_fps,
        figures.latency_s,
        figures.operations,
        profile,
        _clock_hz(figures.hailo8r, profile),
        compute_time_ns,
    )
