"""What an estimate takes for granted: the numbers behind it, each with its source."""

from __future__ import annotations

from typing import Any, NamedTuple

from emu.hw.profiles import Profile
from emu.hw.timing import GroupTiming


class Assumption(NamedTuple):
    """One number of the model; `source` starts with its basis: documented, measured, fitted or guessed."""

    name: str
    value: Any
    unit: str
    source: str


_ALWAYS = ("clocks.nn_hz", "dma.bytes_per_second", "link.transfer_ns", "host.frame_ns")
_ACTIVATION = ("config.bytes_per_second", "config.fetch_ns", "config.sequencer_ns", "action_ns.default")
_PCIE = ("link.pcie_efficiency",)
_HOST = ("host.stream_ns", "host.input_bytes_per_second")
_SWITCH = ("firmware.context_switch_ns",)


def assumptions(profile: Profile, timing: GroupTiming, single_context: bool) -> tuple[Assumption, ...]:
    """The assumptions of an estimate on `profile`, the compute time of the network first."""
    compute = timing.compute
    out = [
        Assumption("compute.interval_ns", compute.interval_ns, "ns", compute.source),
        Assumption("compute.latency_ns", compute.intake_ns + compute.after_ns, "ns", compute.source),
    ]
    names = [*_ALWAYS, *_ACTIVATION]
    if profile.host_stream_ns:
        names += _HOST
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
