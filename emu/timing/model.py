"""The one timing model: how long things take, for the device's clock and for the estimator alike.

All times are nanoseconds as floats, all sizes bytes. Nothing here keeps state or knows simpy: the device asks for a
duration, or for an instant relative to one it knows; the estimator adds the same durations up. Where no document
gives a rule it is a house rule (docs/timing.md), and its numbers carry the basis "guessed" or "fitted" in the profile.

What a context's time is made of (docs/timing.md, the model):

* its actions, one after the other: the profile's cost each (sub-actions of a REPEATED too), plus what it waits for;
* configuration: a fetch action blocks nothing, it queues its bytes on the `ConfigBus`, which all config
  channels share; MODULE_CONFIG_DONE and DEACTIVATE_CFG_CHANNEL wait until the bus is idle;
* TRIGGER_SEQUENCER starts the sequencer of a cluster once the bus is idle, a command when its record has landed;
  SEQUENCER_DONE waits for the words of the programs (emu.timing.programs). Where they are not known it waits until
  `profile.sequencer_ns` after the trigger; where the list has no trigger, until the bus is idle;
* its `Flow`: frames pass from the moment the context has granted input (`GRANTS`) and all that was fetched
  before its first wait for frames (before its end, if it has none) is loaded. Relative to that moment, frame k (from
  0) of the batch has its input consumed at `input_done_ns(k)` and its outputs in host memory at `output_done_ns(k)`.
  Whatever waits for the batch (LCU_INTERRUPT, transfer done, DMA or NMS idle) is satisfied with the last output;
* `profile.context_switch_ns` before the first action of a dynamic context when another context ran before it.

The host feeds frame f of a run not before f * `GroupTiming.host_ns`, counted from the first input launched.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Literal

from msgspec import Struct

from emu.chips.chips import Profile
from emu.errors import UsageError
from emu.wire.actions import having

# what limits the throughput, named after what to change; the last two after the batch, which shares them out
Bound = Literal["compute", "input dma", "output dma", "link", "host", "config reload", "pipeline fill"]

NS = 1e9
AT_PEAK_RATE = "computational_ops of the HEF at the chip's peak rate"  # a `Compute.source`
# figures of a file outside of these are not believed (they may be NaN, infinite or forged)
_MIN_FPS, _MAX_FPS, _MAX_LATENCY_S = 1e-3, 1e9, 1e3
# the actions that give a context's inputs their credits
GRANTS = having(grants=True)


class Compute(Struct, frozen=True):
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


class Traffic(Struct, frozen=True):
    """Bytes that one frame moves through a context's channels, in each direction.

    `outputs`: (rows, bytes) of each boundary output; what else goes out goes on with the work to its end.
    """

    h2d_bytes: int
    d2h_bytes: int
    outputs: tuple[tuple[int, int], ...] = ()


class Flow(Struct, frozen=True):
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
    def wants(self) -> float:
        """Bytes/ns of the link towards the chip that its inputs take where nothing else moves."""
        return self.traffic.h2d_bytes / self.input_ns if self.input_ns else 0.0

    @property
    def frames_inside(self) -> int:
        """How many frames are between the start of their input and their outputs in steady state."""
        return ceil(self.latency_ns / self.interval_ns) if self.interval_ns else 0

    def output_done_ns(self, frame: int) -> float:
        """All outputs of frame `frame` (from 0) are in host memory: the D2H interrupts."""
        return self.latency_ns + frame * self.interval_ns


class GroupTiming(Struct, frozen=True):
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


class ConfigBus:
    """The path of all configuration data: fetches are served in order, each at the one config bandwidth."""

    def __init__(self, profile: Profile) -> None:
        self._fetch_ns = profile.config_fetch_ns
        self._byte_ns = NS / min(profile.config_bytes_per_second, profile.link.bytes_per_second)
        self.idle_at = 0.0

    def fetch_in_turn(
        self, now: float, fetches: Sequence[tuple[float, float]], loads: list[tuple[float, float]]
    ) -> float:
        """Queue fetches of (ns from the one before, bytes); returns when the last was queued.

        To `loads` goes from when to when each of them moves.
        """
        idle_at, fetch_ns, byte_ns = self.idle_at, self._fetch_ns, self._byte_ns
        for before, size in fetches:
            now += before
            begin = idle_at if idle_at > now else now
            idle_at = begin + fetch_ns + size * byte_ns
            loads.append((begin, idle_at))
        self.idle_at = idle_at
        return now


def bytes_per_ns(profile: Profile) -> float:
    """What the chip moves in one direction: all its engines together, for no figure of one engine is public."""
    return min(profile.dma_bytes_per_second, profile.link.bytes_per_second) / NS


def host_ns(profile: Profile, streams: int, boundary_bytes: int) -> float:
    """What the host needs for a frame of so many boundary streams, inputs and outputs of so many bytes in all."""
    return (
        profile.host_frame_ns + profile.host_stream_ns * streams + boundary_bytes / profile.host_bytes_per_second * NS
    )
