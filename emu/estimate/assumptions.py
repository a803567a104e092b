"""What an estimate takes for granted: the numbers behind it, each with its source."""

from __future__ import annotations

from typing import Any, NamedTuple

from emu.hw.profiles import Profile
from emu.hw.timing import AT_PEAK_RATE, GroupTiming


class Assumption(NamedTuple):
    """One number of the model; the `source` of a profile's number starts with its basis."""

    name: str
    value: Any
    unit: str
    source: str


# what every estimate rests on; tests/estimate/test_assumptions.py finds any entry of a profile that is missing here
_ALWAYS = (
    "clocks.nn_hz",
    "dma.bytes_per_second",
    "link.transfer_ns",
    "host.frame_ns",
    "host.stream_ns",
    "host.input_bytes_per_second",
    "config.bytes_per_second",
    "config.fetch_ns",
    "config.sequencer_ns",
    "firmware.enable_ns",
    "firmware.deactivate_ns",
    "control.core_message_ns",
    "control.core_request_byte_ns",
)
_PCIE = ("link.lane_bytes_per_second", "link.pcie_efficiency")
_OTHER_CLOCK = ("clocks.hailo8r_nn_hz",)
_SWITCH = ("firmware.context_switch_ns",)
_PEAK_RATE = ("counts.max_operations_per_second",)
_ACTION_SECTION = "action_ns."


def assumptions(
    profile: Profile, timing: GroupTiming, single_context: bool, assumed_clock_hz: float
) -> tuple[Assumption, ...]:
    """The assumptions of an estimate on `profile`, the compute time of the network first.

    `assumed_clock_hz`: the NN clock that the HEF was compiled for.
    """
    compute = timing.compute
    out = [
        Assumption("compute.interval_ns", compute.interval_ns, "ns", compute.source),
        Assumption("compute.latency_ns", compute.intake_ns + compute.after_ns, "ns", compute.source),
    ]
    names = [*_ALWAYS, *(name for name in profile.provenance if name.startswith(_ACTION_SECTION))]
    if assumed_clock_hz != profile.nominal_nn_hz:
        names += _OTHER_CLOCK
    if compute.source == AT_PEAK_RATE:
        names += _PEAK_RATE
    if not profile.link.integrated:
        names += _PCIE
    if not single_context:
        names += _SWITCH
        out.append(
            Assumption(
                "compute.share",
                [
                    flow.compute.interval_ns / compute.interval_ns if compute.interval_ns else 0.0
                    for flow in timing.flows
                ],
                "ratio",
                "guessed: compute time divided among contexts by their configuration bytes, the HEF states the sum",
            )
        )
    for name in names:
        value, unit, source, basis = profile.provenance[name]
        if name == "clocks.nn_hz" and profile.nn_hz != profile.nominal_nn_hz:
            out.append(Assumption(name, profile.nn_hz, unit, "given with --clock-mhz"))
        else:
            out.append(Assumption(name, value, unit, f"{basis}: {source}"))
    if profile.guessed:
        out.append(Assumption("device", profile.device, "device", "guessed: no public figures of this chip exist"))
    return tuple(out)
