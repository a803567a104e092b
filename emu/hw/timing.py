"""The one timing model: how long things take, for the device's clock and for the estimator alike.

All times are nanoseconds as floats, all sizes bytes. Nothing here keeps state or knows simpy: the device asks for a
duration, or for an instant relative to one it knows; the estimator adds the same durations up. Where no document
gives a rule it is a house rule (docs/timing.md), and its numbers carry the basis "guessed" or "fitted" in the profile.

What a context's time is made of (docs/timing.md, house rules):

* its actions, one after the other: `action_ns` each (sub-actions of a REPEATED too), plus what the action waits for;
* configuration: a fetch action blocks nothing, it queues its `fetch_sizes` on the `ConfigBus`, which all config
  channels share; MODULE_CONFIG_DONE and DEACTIVATE_CFG_CHANNEL wait until the bus is idle;
* TRIGGER_SEQUENCER starts the sequencer of a cluster once the bus is idle, SEQUENCER_DONE waits until
  `profile.sequencer_ns` after that; where the list has no trigger, until the bus is idle;
* its `Flow`: frames pass from the moment the context has granted input (`grants_input`) and all that was fetched
  before its first wait for frames (before its end, if it has none) is loaded. Relative to that moment, frame k (from
  0) of the batch has its input consumed at `input_done_ns(k)` and its outputs in host memory at `output_done_ns(k)`.
  Whatever waits for the batch (LCU_INTERRUPT, transfer done, DMA or NMS idle) is satisfied with the last output;
* `profile.context_switch_ns` before the first action of a dynamic context when another context ran before it.

The host feeds frame f of a run not before f * `GroupTiming.host_ns`, counted from the first input launched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from emu.errors import UsageError
from emu.hw.profiles import Profile
from emu.sequencer.actions import Action, ActionType, Located, Repeated
from emu.sequencer.program import ContextProgram, ContextType, Direction, NetworkGroupProgram, Program

Bound = Literal["compute", "input dma", "output dma", "config", "host link"]

NS = 1e9
AT_PEAK_RATE = "computational_ops of the HEF at the chip's peak rate"  # a `Compute.source`
# figures of a file outside of these are not believed (they may be NaN, infinite or forged)
_MIN_FPS, _MAX_FPS, _MAX_LATENCY_S = 1e-3, 1e9, 1e3
_A = ActionType
# the actions that give a context's inputs their credits
GRANTS = frozenset({_A.FETCH_DATA_FROM_VDMA_CHANNEL, _A.BURST_CREDITS_TASK_START})
_EDGE_INPUTS = frozenset({_A.ACTIVATE_INTER_CONTEXT_INPUT, _A.ACTIVATE_DDR_BUFFER_INPUT, _A.ACTIVATE_CACHE_INPUT})
_EDGE_OUTPUTS = frozenset({_A.ACTIVATE_INTER_CONTEXT_OUTPUT, _A.ACTIVATE_DDR_BUFFER_OUTPUT, _A.ACTIVATE_CACHE_OUTPUT})


@dataclass(frozen=True, slots=True)
class Compute:
    """The core's share of a frame's time, at the profile's clock.

    `interval_ns` between frames in steady state, `intake_ns` to take one frame in, `after_ns` from the last input
    byte to the last output; `source` says where they come from, for the list of assumptions.
    """

    interval_ns: float
    intake_ns: float
    after_ns: float
    source: str

    def share(self, part: float) -> Compute:
        """The part of the work that one context does; the parts of all contexts add up to 1."""
        return Compute(self.interval_ns * part, self.intake_ns * part, self.after_ns * part, self.source)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that one frame moves through a context's channels, in each direction."""

    h2d_bytes: int
    d2h_bytes: int


@dataclass(frozen=True, slots=True)
class Flow:
    """Frames through one context; instants are relative to the moment its input is granted."""

    input_ns: float
    latency_ns: float
    interval_ns: float
    bound_by: Bound
    compute: Compute
    traffic: Traffic

    def input_done_ns(self, frame: int) -> float:
        """The host buffer of input frame `frame` (from 0) is consumed: the H2D interrupt."""
        return self.input_ns + frame * self.interval_ns

    @property
    def frames_inside(self) -> int:
        """How many frames are between the start of their input and their outputs in steady state."""
        return ceil(self.latency_ns / self.interval_ns) if self.interval_ns else 0

    def output_done_ns(self, frame: int) -> float:
        """All outputs of frame `frame` (from 0) are in host memory: the D2H interrupts."""
        return self.latency_ns + frame * self.interval_ns


@dataclass(frozen=True, slots=True)
class GroupTiming:
    """Timing of a network group: one flow per dynamic context, and what the host needs for each frame."""

    flows: tuple[Flow, ...]
    host_ns: float
    compute: Compute


def network_compute(
    bottleneck_fps: float,
    latency_s: float,
    operations: int,
    profile: Profile,
    assumed_clock_hz: float,
    compute_time_ns: float | None = None,
) -> Compute:
    """Compute figures of a network group from its metadata: `bottleneck_fps`, `latency`, `computational_ops`.

    The metadata hold at `assumed_clock_hz` and are scaled to the clock of the profile. `compute_time_ns`
    (`--compute-time`) overrides them with a measured time from the last input byte to the outputs; UsageError where
    that is out of range. Without any figure the core counts as infinitely fast; `source` says so.
    """
    if compute_time_ns is not None:
        if not 0 <= compute_time_ns <= _MAX_LATENCY_S * NS:
            raise UsageError(f"--compute-time {compute_time_ns:g} ns is out of range (0 to {_MAX_LATENCY_S * NS:g})")
        return Compute(compute_time_ns, 0.0, compute_time_ns, "given with --compute-time")
    scale = assumed_clock_hz / profile.nn_hz
    if _MIN_FPS <= bottleneck_fps <= _MAX_FPS:
        interval = NS / bottleneck_fps * scale
        latency = latency_s * NS * scale if 0 < latency_s <= _MAX_LATENCY_S else 0.0
        return Compute(interval, interval, max(latency - interval, 0.0), "bottleneck_fps and latency of the HEF")
    if operations > 0:
        interval = operations / profile.max_operations_per_second * NS * profile.clock_scale
        return Compute(interval, interval, 0.0, AT_PEAK_RATE)
    return Compute(0.0, 0.0, 0.0, "none: the HEF has neither a usable bottleneck_fps nor computational_ops")


def group_timing(group: NetworkGroupProgram, runtime: str, profile: Profile, compute: Compute) -> GroupTiming:
    """Flows of all dynamic contexts of a compiled network group.

    Compute time is divided among several contexts in proportion to their configuration bytes (house rule: the HEF
    states only the sum).
    """
    dynamic = [context for context in contexts_of(group) if context.context_type is ContextType.DYNAMIC]
    actions = [list(plain_actions(context.actions(runtime))) for context in dynamic]
    sizes = [sum(fetch_sizes(listed, {})) for listed in actions]
    whole = sum(sizes)
    parts = [size / whole if whole else 1 / len(sizes) for size in sizes]
    host_ns = _host_ns(group, profile)
    flows = tuple(
        flow_of(
            profile,
            compute.share(part),
            _traffic(group, context.index, listed),
            host_ns if len(dynamic) == 1 else 0.0,
        )
        for context, listed, part in zip(dynamic, actions, parts, strict=True)
    )
    return GroupTiming(flows, host_ns, compute)


def contexts_of(group: NetworkGroupProgram) -> tuple[ContextProgram, ...]:
    """The contexts of a group, wherever their action lists are: in control messages or in DDR."""
    return group.contexts or tuple(record.context for record in group.ddr_action_list)


def plain_actions(entries: Iterable[Located]) -> Iterator[Action]:
    """The actions of a list with REPEATED blocks unrolled."""
    for located in entries:
        if isinstance(located.entry, Repeated):
            yield from located.entry.items
        else:
            yield located.entry


def action_ns(profile: Profile, action: ActionType) -> float:
    """Firmware time to interpret one action or sub-action, waiting excluded."""
    return profile.action_cost(action.name)


class ConfigBus:
    """The path of all configuration data: fetches are served in order, each at the one config bandwidth."""

    def __init__(self, profile: Profile) -> None:
        self._fetch_ns = profile.config_fetch_ns
        self._byte_ns = NS / min(profile.config_bytes_per_second, profile.link.bytes_per_second)
        self.idle_at = 0.0

    def fetch(self, now: float, size: float) -> float:
        """Queue a fetch of `size` bytes at `now`; returns when its data has been consumed."""
        self.idle_at = max(now, self.idle_at) + self._fetch_ns + size * self._byte_ns
        return self.idle_at


def input_transfer_ns(profile: Profile, size: int) -> float:
    """Time of one isolated transfer of `size` bytes from host memory into the chip, launch to completion."""
    return profile.link.transfer_ns + size / _rate(profile) * NS


def grants_input(action: ActionType) -> bool:
    """Whether the action lets frames flow: the last such action of a list starts the context's `Flow`."""
    return action in GRANTS


BurstSizes = Mapping[int, Sequence[int]]


def burst_sizes(program: Program) -> BurstSizes:
    """Bytes of every configuration burst, by the DMA address of the buffer or list that holds them in order."""
    sizes: dict[int, list[int]] = {}
    for buffer in program.continuous_buffers:
        sizes[buffer.dma_address] = [len(segment) for segment in buffer.segments or ()]
    for listed in program.descriptor_lists:
        sizes[listed.dma_address] = [len(segment) for part in listed.programs for segment in part.segments or ()]
    return sizes


def fetch_sizes(actions: Iterable[Action], bursts: BurstSizes) -> list[float]:
    """Bytes that each fetch action of a context moves, in list order.

    FETCH_CFG_CHANNEL_DESCRIPTORS names descriptors, whose page size the context's ACTIVATE_CFG_CHANNEL gives.
    FETCH_CCW_BURSTS names bursts; where `bursts` does not know them (a capture), they share the channel's
    `bytes_in_pattern` evenly.
    """
    listed = list(actions)
    pages: dict[int, int] = {}
    buffers: dict[int, tuple[int, int]] = {}
    counts: dict[int, int] = {}
    for action in listed:
        if action.type is _A.ACTIVATE_CFG_CHANNEL:
            pages[action.value("packed_vdma_channel_id")] = action.value("desc_page_size")
            buffers[action.value("config_stream_index")] = (
                action.value("dma_address"),
                action.value("bytes_in_pattern"),
            )
        elif action.type is _A.FETCH_CCW_BURSTS:
            stream = action.value("config_stream_index")
            counts[stream] = counts.get(stream, 0) + action.value("ccw_bursts")
    sizes: list[float] = []
    fetched: dict[int, int] = {}
    for action in listed:
        if action.type is _A.FETCH_CFG_CHANNEL_DESCRIPTORS:
            page = pages.get(action.value("packed_vdma_channel_id"), 0)
            sizes.append(action.value("descriptors_count") * page)
        elif action.type is _A.FETCH_CCW_BURSTS:
            stream, count = action.value("config_stream_index"), action.value("ccw_bursts")
            start = fetched.get(stream, 0)
            fetched[stream] = start + count
            address, whole = buffers.get(stream, (0, 0))
            known = bursts.get(address, ())
            if len(known) >= counts[stream]:
                sizes.append(sum(known[start : start + count]))
            else:
                sizes.append(whole * count / counts[stream])
    return sizes


def _rate(profile: Profile) -> float:
    return min(profile.dma_bytes_per_second, profile.link.bytes_per_second)


def _host_ns(group: NetworkGroupProgram, profile: Profile) -> float:
    inputs = sum(
        stream.transfer_size * stream.transfers_per_frame
        for stream in group.streams
        if stream.direction == Direction.H2D
    )
    return (
        profile.host_frame_ns
        + profile.host_stream_ns * len(group.streams)
        + inputs / profile.host_input_bytes_per_second * NS
    )


def _traffic(group: NetworkGroupProgram, context: int, actions: Sequence[Action]) -> Traffic:
    size = {Direction.H2D: 0, Direction.D2H: 0}
    for stream in group.streams:
        if stream.context_index == context:
            size[stream.direction] += stream.transfer_size * stream.transfers_per_frame
    for action in actions:
        direction = (
            Direction.H2D if action.type in _EDGE_INPUTS else Direction.D2H if action.type in _EDGE_OUTPUTS else None
        )
        if direction is not None:
            size[direction] += action.value("periph_bytes_per_buffer") * action.value("periph_buffers_per_frame")
    return Traffic(size[Direction.H2D], size[Direction.D2H])


def flow_of(profile: Profile, compute: Compute, traffic: Traffic, host_ns: float) -> Flow:
    """The flow of frames through a context that moves `traffic`; `host_ns`: what the host needs for each frame."""
    rate = _rate(profile)
    h2d, d2h = traffic.h2d_bytes / rate * NS, traffic.d2h_bytes / rate * NS
    on_link = profile.link.bytes_per_second < profile.dma_bytes_per_second
    bounds: list[tuple[float, Bound]] = [
        (compute.interval_ns, "compute"),
        (h2d, "host link" if on_link else "input dma"),
        (d2h, "host link" if on_link else "output dma"),
        (host_ns, "host link"),
    ]
    # the first of equals wins, so that an unlimited context counts as compute bound
    interval, bound_by = max(bounds, key=lambda bound: bound[0])
    input_ns = profile.link.transfer_ns + max(h2d, compute.intake_ns)
    # outputs leave while the core works on the frame; a DMA that is slower than all of that makes the frame wait
    late_ns = max(0.0, d2h - max(h2d, compute.intake_ns, compute.after_ns))
    latency = input_ns + compute.after_ns + late_ns + profile.link.transfer_ns
    return Flow(input_ns, latency, interval, bound_by, compute, traffic)
