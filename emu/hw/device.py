"""The device: it takes control messages as bytes, keeps the applications, and runs them in simulated time."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from emu.errors import UsageError
from emu.hw.application import Application, Context, Step
from emu.hw.breakpoints import Breakpoints
from emu.hw.clock import Clock
from emu.hw.cluster import Clusters
from emu.hw.config import NEVER, ConfigChannel, ConfigManager, ConfigSource, RunCache
from emu.hw.controls import Controls
from emu.hw.core import Core
from emu.hw.faults import Faults
from emu.hw.firmware import Firmware, RunTimeError
from emu.hw.hostmem import HostMemory
from emu.hw.memory import AddressSpace, regions
from emu.hw.nms import NmsUnits
from emu.hw.notifications import Notification, breakpoint_reached, run_time_error, start_update_cache_offset
from emu.hw.passes import HostPort
from emu.hw.profiles import Profile
from emu.hw.tasks import BurstCreditsTask, DdrBufferingTask
from emu.hw.timing import NS, Compute, ConfigBus, Flow, Traffic, input_transfer_ns
from emu.hw.vdma import Channel, Edge, Vdma
from emu.hw.waits import Wait
from emu.sequencer.actions import RUNTIMES, TIMESTAMP_INIT, ActionType
from emu.sequencer.control import status_change
from emu.sequencer.program import Direction
from emu.trace.events import Event, Kind, Tracer

ActionHook = Callable[[Context, Step], None]
_NOTE = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class StreamLabel:
    """What the host knows of a boundary channel and the device does not: its name, transfers a frame."""

    name: str
    transfers_per_frame: int = 1


class Observer(Protocol):
    """Sees everything that crosses the border of the device, register accesses excepted (they have hooks)."""

    def control(self, ns: int, request: bytes, reply: bytes) -> None: ...

    def launch(self, channel: Channel, transfers: int) -> None: ...

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None: ...


@dataclass
class Device:
    """One chip. `profile` says which, `runtime` ("4.23" or "5.2") which firmware generation it speaks.

    `layout` is the bitmap of usable clusters (None: those that the profile reports). `flows` gives the timing of a
    dynamic context by (application, context index); without one the core counts as infinitely fast.
    `action_hooks` are called before each action, `observer` of everything that crosses the device's border.
    `timestamp_batch` is the batch whose actions get time stamps (None: no action does).
    """

    profile: Profile
    runtime: str
    host_memory: HostMemory = field(default_factory=HostMemory)
    layout: int | None = None
    seed: int = 0
    tracer: Tracer | None = None
    clock: Clock = field(default_factory=Clock)
    flows: Callable[[int, int], Flow | None] | None = None
    labels: dict[int, Mapping[int, StreamLabel]] = field(default_factory=dict)
    timestamp_batch: int | None = None
    faults: Faults | None = None
    action_hooks: list[ActionHook] = field(default_factory=list)
    observer: Observer | None = None

    def __post_init__(self) -> None:
        if self.runtime not in RUNTIMES:
            raise UsageError(f"runtime {self.runtime!r} is none of {', '.join(RUNTIMES)}")
        profile = self.profile
        layout = profile.identity.partial_clusters_layout_bitmap if self.layout is None else self.layout
        self.memory = AddressSpace(regions(max(profile.clusters, layout.bit_length())))
        self.clusters = Clusters(profile, layout, self.memory)
        self.nms = NmsUnits()
        self.burst = BurstCreditsTask()
        self.ddr = DdrBufferingTask()
        self.bus = ConfigBus(profile)
        self.vdma = Vdma(profile, self.runtime, self.host_memory)
        self.config = ConfigManager(
            profile.config_style, self.memory, RunCache(self.host_memory, profile.config_style, self._fetched)
        )
        self.core = Core(
            self.clock,
            self.vdma,
            self.clusters,
            self.nms,
            self.burst,
            self.ddr,
            self.memory.moment,
            self.seed,
            tracer=self.tracer,
        )
        self.coverage: dict[ActionType, int] = {}
        self.statuses: dict[int, int] = {}
        self.breakpoints = Breakpoints()
        self.applications: list[Application] = []
        self.notifications: list[Notification] = []
        self.first_frame = 0  # number of the first frame after the next ENABLE, where the host counts on
        self.at_context: Callable[[str], None] | None = None  # told before a list begins
        self.cache_signals = 0
        self.cache_signals_used = 0
        self.firmware = Firmware(self)
        self.controls = Controls(self)
        if self.faults is not None:
            self.core.may_jump = False
            self.core.interrupts = self._interrupt
            self.faults.start(self)
        self.boundary_wait = Wait(
            "a frame of the host",
            lambda: None,
            lambda: ["all contexts ran without a boundary stream taking or giving a frame"],
            "a boundary transfer",
        )
        self.network_idle_wait = Wait("network idle", lambda: None, self._idle_chain, "network idle")

    # -- the host's side

    def attach_host(self, host: HostPort) -> None:
        """Connect the host that queues and collects frames."""
        self.core.host = host

    def control(self, request: bytes) -> bytes:
        """Serve one control message and return the reply; simulated time passes meanwhile."""
        started = self.clock.time
        reply, name, status = self.controls.serve(request)
        if self.observer is not None:
            self.observer.control(started, request, reply)
        if self.tracer is not None:
            self.tracer.emit(
                Event(
                    started,
                    Kind.CONTROL,
                    action=name,
                    arguments=status_change(request),
                    cause=status,
                    bytes=len(request),
                    unit="control",
                )
            )
        return reply

    def launch(self, packed: int, transfers: int = 1) -> None:
        """The host wrote descriptors of `transfers` transfers and moved num_available of an open channel."""
        channel = self.vdma.channels.get(packed)
        if channel is None or not channel.host_opened or channel.buffer is None:
            raise UsageError(f"channel {packed} is not open")
        wanted = transfers * channel.descriptors_per_transfer
        free = channel.length - (channel.available - channel.processed)
        if wanted > free:
            raise UsageError(f"channel {packed}: {transfers} transfers need {wanted} descriptors, {free} are free")
        channel.available += wanted
        if channel.lost:
            channel.available -= min(channel.lost, wanted)
            channel.lost = 0
        if self.observer is not None:
            self.observer.launch(channel, transfers)
        if self.tracer is not None:
            self.tracer.emit(
                Event(
                    self.clock.time,
                    Kind.LAUNCH,
                    self.core.application,
                    unit=channel.describe(),
                    bytes=transfers * channel.buffer.bytes_in_pattern,
                    arguments={"transfers": transfers, "available": channel.available, "processed": channel.processed},
                )
            )
        self.core.changed.notify()

    def run_until(self, stop: Callable[[], bool]) -> bool:
        """Let simulated time pass until `stop()`; False if nothing can progress before that."""
        firmware = self.firmware
        return self.clock.run_until(lambda: firmware.error is not None or stop())

    def soft_reset(self) -> None:
        """The whole chip: applications, memory, units."""
        self.firmware.reset()
        self.applications.clear()
        self.memory.clear()
        self.breakpoints = Breakpoints()
        self.timestamp_batch = None
        self.cache_signals = self.cache_signals_used = 0
        self.bus = ConfigBus(self.profile)
        self.bus.idle_at = float(self.clock.time)

    # -- used by the firmware and its handlers

    def start_application(self, application: Application) -> None:
        """Names and transfer counts of the boundary channels, as the host knows them."""
        labels = self.labels.get(application.index, {})
        self.core.application = application.index
        self.core.stream_names = {packed: label.name for packed, label in labels.items()}
        self.core.transfers = {packed: label.transfers_per_frame for packed, label in labels.items()}

    def flow(self, application: Application, context: Context) -> Flow:
        """Timing of the frames of a dynamic context."""
        found = self.flows(application.index, context.index) if self.flows is not None else None
        return found if found is not None else self._default_flow()

    def _default_flow(self) -> Flow:
        sizes = {Direction.H2D: 0, Direction.D2H: 0}
        for edge in self.core.participants():
            sizes[edge.direction] += edge.frame_bytes
        rate = self.profile.link.bytes_per_second
        h2d, d2h = (sizes[direction] / rate * NS for direction in (Direction.H2D, Direction.D2H))
        compute = Compute(0.0, 0.0, 0.0, "none given to the device")
        entry = input_transfer_ns(self.profile, sizes[Direction.H2D])
        return Flow(
            entry,
            entry + self.profile.link.transfer_ns + d2h,
            max(h2d, d2h),
            "input dma" if h2d >= d2h else "output dma",
            compute,
            Traffic(sizes[Direction.H2D], sizes[Direction.D2H]),
        )

    def _fetched(self, stream: int, source: ConfigSource, data: bytes) -> bytes:
        return data if self.faults is None else self.faults.corrupt(self, stream, source, data)

    def _interrupt(self, packed: int, deliver: Callable[[], None]) -> None:
        assert self.faults is not None
        self.faults.interrupt(self, packed, deliver)

    def config_fetch(self, channel: ConfigChannel, now: int, size: int) -> int:
        """Queue a config fetch; returns when it has been consumed."""
        if self.vdma.channel(channel.channel).stalled:
            return NEVER
        return round(self.bus.fetch(now, size))

    def memory_note(self, what: str, index: int, values: tuple[int, ...]) -> None:
        """A unit was programmed through registers whose addresses are not public: only the hash knows."""
        self.memory.note((what, index, values))

    @property
    def attended(self) -> bool:
        """Whether anything has to be looked after at every action."""
        return (
            bool(self.breakpoints)
            or bool(self.action_hooks)
            or self.faults is not None
            or self.timestamp_batch is not None
        )

    def timestamp(self, ns: int) -> int:
        """The down-counting timer that stamps actions (firmware-actions.md 2)."""
        ticks = ns * round(self.profile.timestamp_hz) // 1_000_000_000
        return (TIMESTAMP_INIT - ticks) & 0xFFFFFFFF

    def report_run_time_error(self, error: RunTimeError) -> None:
        self.statuses[error.status] = self.statuses.get(error.status, 0) + 1
        self._notify(run_time_error(self.runtime, error))

    def report_breakpoint(self, application: int, batch: int, context: int, action: int) -> None:
        self._notify(breakpoint_reached(self.runtime, application, batch, context, action))

    def report_start_update_cache_offset(self) -> None:
        self._notify(start_update_cache_offset((1 << 64) - 1))

    def _notify(self, notification: Notification) -> None:
        self.notifications.append(notification._replace(sequence=len(self.notifications)))
        if self.tracer is not None:
            self.tracer.emit(
                Event(
                    self.firmware.now,
                    Kind.NOTIFICATION,
                    action=notification.event_id.name,
                    cause=notification.text,
                )
            )

    @property
    def boundary_transfers(self) -> int:
        """Transfers of all open boundary channels so far."""
        return sum(channel.transfers for channel in self.vdma.channels.values() if channel.boundary)

    def _idle_chain(self) -> list[str]:
        lines = []
        for one in self.core.passes:
            total = "endless" if one.limit is None else one.limit
            lines.append(f"frames of {one.context.name}: {one.completed} of {total} delivered")
            if one.blocked:
                lines.append(one.blocked)
        return lines

    @property
    def awaits_cache_update(self) -> bool:
        """Whether the firmware stands in WAIT_FOR_CACHE_UPDATED."""
        step = self.firmware.step
        return (
            self.firmware.waiting is not None
            and step is not None
            and step.type is ActionType.WAIT_FOR_CACHE_UPDATED
            and self.cache_signals < self.cache_signals_used
        )
