"""From a HEF and what it compiled to, the timing of its network groups: for `emu run` and `emu estimate` alike."""

from __future__ import annotations

from collections.abc import Sequence

from emu.hef import Hef
from emu.hef.enums import HwArch
from emu.hw.profiles import Profile
from emu.hw.timing import GroupTiming, group_timing, network_compute
from emu.sequencer.compatibility import select_core_op
from emu.sequencer.compile import CompileOptions
from emu.sequencer.profiles import device_profile
from emu.sequencer.program import Program


def assumed_clock_hz(hef: Hef, profile: Profile) -> float:
    """The NN clock that the compiler assumed: the chip's nominal one, or that of a Hailo-8R for its HEF."""
    return profile.hailo8r_nn_hz if hef.header.hw_arch == HwArch.HAILO8R else profile.nominal_nn_hz


def group_timings(
    hef: Hef,
    program: Program,
    options: CompileOptions,
    profile: Profile,
    compute_time_ns: float | None = None,
) -> Sequence[GroupTiming]:
    """Timing of each of `program.network_groups`, in that order.

    `options` are those that `program` was compiled with; `compute_time_ns` is `--compute-time`.
    """
    device = device_profile(program.device)
    layout = options.cluster_layout if options.cluster_layout is not None else device.default_layout
    by_name = {group.network_group_name: group for group in hef.network_groups}
    timings = []
    for compiled in program.network_groups:
        core_op = select_core_op(hef, by_name[compiled.name], device, layout, options.host)
        metadata = core_op.network_group_metadata
        compute = network_compute(
            metadata.bottleneck_fps,
            metadata.latency,
            metadata.computational_ops,
            profile,
            assumed_clock_hz(hef, profile),
            compute_time_ns,
        )
        timings.append(group_timing(compiled, program.runtime, profile, compute))
    return tuple(timings)


def given_timings(program: Program, profile: Profile, compute_time_ns: float) -> Sequence[GroupTiming]:
    """Timing of action lists without a HEF (a capture): the compute time is measured, the rest is the model's."""
    compute = network_compute(0.0, 0.0, 0, profile, profile.nominal_nn_hz, compute_time_ns)
    return tuple(group_timing(group, program.runtime, profile, compute) for group in program.network_groups)
