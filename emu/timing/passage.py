"""A frame on its way through a context: when its outputs begin to leave, and how fast its streams are by themselves.

What the transfers really take is the link's business (`emu.hw.link`): these are the instants and rates of a frame that
nothing slows down. The `Flow` that the estimate uses follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

from msgspec import Struct

from emu.chips.chips import Profile
from emu.timing.model import NS, Bound, Compute, Flow, Traffic, bytes_per_ns


class Leaving(Struct, frozen=True):
    """Outputs that leave together: from `begin_ns` to `end_ns` after the input began to come, if nothing slows them."""

    begin_ns: float
    end_ns: float
    outputs: tuple[int, ...]


class Passage(Struct, frozen=True):
    """One context's frames. `rate` is that of the DMA or the link in bytes/ns, in each direction.

    `lead_ns` from a launch to the first byte, `intake_ns` the least time that the core needs to take a frame in,
    `entry_ns` until all of it is in; `compute_ns` from there to the last output, without what the link adds.
    """

    rate: float
    lead_ns: int
    intake_ns: float
    entry_ns: float
    compute_ns: int
    leaving: tuple[Leaving, ...]
    ends_ns: tuple[float, ...]

    def intake(self, size: int) -> float:
        """Bytes/ns of an input of `size` bytes a frame."""
        return size / self.intake_ns if self.intake_ns else inf

    def after_ns(self, output: int) -> float:
        """From the last input byte to the last byte of an output that nothing slows down."""
        return max(0.0, self.ends_ns[output] - self.entry_ns)


def flow_of(profile: Profile, compute: Compute, traffic: Traffic, frame_host_ns: float) -> Flow:
    """The flow of frames through a context that moves `traffic`; `frame_host_ns`: what the host needs for each."""
    rate = bytes_per_ns(profile)
    h2d, d2h = traffic.h2d_bytes / rate, traffic.d2h_bytes / rate
    on_link = profile.link.bytes_per_second < profile.dma_bytes_per_second
    bounds: list[tuple[float, Bound]] = [
        (compute.interval_ns, "compute"),
        (h2d, "link" if on_link else "input dma"),
        (d2h, "link" if on_link else "output dma"),
        (frame_host_ns, "host"),
    ]
    # the first of equals wins, so that an unlimited context counts as compute bound
    interval, bound_by = max(bounds, key=lambda bound: bound[0])
    input_ns = profile.link.transfer_ns + max(h2d, compute.intake_ns)
    rest = traffic.d2h_bytes - sum(size for _, size in traffic.outputs)
    outputs = [*traffic.outputs, (0, rest)] if rest or not traffic.outputs else [*traffic.outputs]
    passage = _passage(profile, compute, h2d, [rows for rows, _ in outputs])
    last, behind = 0.0, 0.0
    for leaving in reversed(passage.leaving):
        # from when these begin to leave, the link has them and all later ones to move
        behind += sum(outputs[one][1] for one in leaving.outputs) / rate
        last = max(last, leaving.end_ns, leaving.begin_ns + behind)
    return Flow(input_ns, profile.link.transfer_ns + last, interval, bound_by, compute, traffic)


def passage_of(profile: Profile, flow: Flow, rows: Sequence[int]) -> Passage:
    """Of a flow with outputs of so many rows each; 0: one that goes on with the work, which ends with the last.

    The core works row by row: an output of few rows needs more of the picture before it is complete, so it is later by
    the time that the profile's `kernel_rows` of its own take. The last one ends with the core's latency, none before
    its input is in.
    """
    return _passage(profile, flow.compute, flow.traffic.h2d_bytes / bytes_per_ns(profile), rows)


def _passage(profile: Profile, compute: Compute, h2d: float, rows: Sequence[int]) -> Passage:
    lead, intake, after = profile.link.transfer_ns, compute.intake_ns, compute.after_ns
    entry = max(h2d, intake)
    window = max(h2d, compute.interval_ns)  # over which the core makes the outputs of a frame
    whole = entry + after + lead
    behind = [min(profile.kernel_rows, one) / one if one else 0.0 for one in rows]
    latest = max(behind, default=0.0)
    ends = [max(whole - (latest - (one or latest)) * whole, entry + lead) for one in behind]
    groups: dict[tuple[float, float], list[int]] = {}
    for output, end in enumerate(ends):
        groups.setdefault((max(0.0, end - window), end), []).append(output)
    leaving = tuple(Leaving(begin, end, tuple(found)) for (begin, end), found in sorted(groups.items()))
    return Passage(bytes_per_ns(profile), round(lead), intake, entry, ceil(after + lead), leaving, tuple(ends))


def beside_configuration(profile: Profile) -> float | None:
    """What the link leaves to data while configuration moves; None: configuration has a way of its own."""
    link = profile.link.bytes_per_second
    if link == inf:
        return None
    return max(0.0, link - profile.config_bytes_per_second) / NS
