"""The chip: all of its units, and what the firmware that runs on it needs from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from emu.chips.chips import Profile
from emu.hw.application import Application, Context
from emu.hw.border import CoreModel, Model, StreamLabel
from emu.hw.clock import NEVER, Clock
from emu.hw.cluster import Clusters
from emu.hw.config.channels import Bus, ConfigChannel, ConfigManager
from emu.hw.config.logic import ConfigLogic
from emu.hw.config.runs import FAMILIES, Fetched, RunCache
from emu.hw.core import Core
from emu.hw.edition import Edition
from emu.hw.frame_loop import FrameLoop
from emu.hw.gating import Gates
from emu.hw.hostmem import HostMemory
from emu.hw.known_registers import known_registers
from emu.hw.link import Link
from emu.hw.list_checks import list_hazards
from emu.hw.memory import AddressSpace, regions
from emu.hw.nms import NmsUnits
from emu.hw.probe import Probe
from emu.hw.run_checks import left_running, not_switched
from emu.hw.tasks import BurstCreditsTask, CacheUpdates, DdrBufferingTask
from emu.hw.unit import Unit, walk
from emu.hw.vdma import Edge, Vdma
from emu.sequencer.program import ContextType, Direction
from emu.timing.model import Compute, Flow, Traffic, bytes_per_ns
from emu.timing.passage import Passage, beside_configuration, flow_of, passage_of
from emu.trace.events import Event, Kind
from emu.trace.hazards import FoundHazard, Hazard
from emu.wire.lists import TIMESTAMP_INIT
from emu.wire.notifications import Notification, start_update_cache_offset
from emu.wire.wire import wire_of

if TYPE_CHECKING:
    from emu.hw.faults import Faults


@dataclass(eq=False, repr=False, slots=True)
class Notifications(Unit):
    """What the device told the host unasked."""

    name: ClassVar[str] = "notifications"
    COUNTERS: ClassVar[tuple[str, ...]] = ("posted",)
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    sent: list[Notification] = field(default_factory=list)
    posted: int = 0

    def reset(self) -> None:
        """What was sent is the host's."""

    def levels(self) -> tuple[int, ...]:
        # each is an event of its own: a batch in which one was sent has no like
        return (self.posted,)

    def post(self, notification: Notification) -> None:
        self.sent.append(replace(notification, sequence=self.posted))
        self.posted += 1


@dataclass(eq=False, repr=False)
class Chip(Unit):
    """The units of one chip. `profile` says which, `runtime` (by its file) which firmware generation it speaks.

    `layout` is the bitmap of usable clusters (None: those that the profile reports). `flows` gives the timing of a
    dynamic context by (application, context index); without one the core counts as infinitely fast. `models` give what
    the core of an application computes, in place of synthetic bytes. `own_handlers` stand in for the firmware's
    (`emu.hw.handlers.own`).
    """

    name: ClassVar[str] = "chip"
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    profile: Profile
    runtime: str
    host_memory: HostMemory = field(default_factory=HostMemory)
    layout: int | None = None
    seed: int = 0
    clock: Clock = field(default_factory=Clock)
    flows: Callable[[int, int], Flow | None] | None = None
    labels: dict[int, Mapping[int, StreamLabel]] = field(default_factory=dict)
    models: dict[int, tuple[Model | None, CoreModel | None]] = field(default_factory=dict)
    faults: Faults | None = None
    probe: Probe = field(default_factory=Probe)
    own_handlers: Mapping[Any, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.wire = wire_of(self.runtime)
        profile = self.profile
        layout = profile.identity.partial_clusters_layout_bitmap if self.layout is None else self.layout
        self.memory = AddressSpace(regions(max(profile.clusters, layout.bit_length())), self.probe)
        edition = Edition()
        self.clusters = Clusters(profile, layout, self.memory, edition)
        self.nms = NmsUnits()
        self.burst = BurstCreditsTask()
        self.ddr = DdrBufferingTask()
        self.bus = Bus(profile)
        self.vdma = Vdma(profile, self.wire, self.host_memory)
        self.config = ConfigManager(
            profile.config_style, self.memory, RunCache(self.host_memory, profile.config_style, self._fetched)
        )
        self.logic = ConfigLogic(profile.config_style, profile, self.memory, self.hazard, edition, self._busy)
        self.memory.registers = known_registers(FAMILIES[profile.config_style], sorted(self.clusters.enabled))
        rate, beside = bytes_per_ns(profile), beside_configuration(profile)
        busy = None if beside is None else self.bus.busy
        self.links = {
            Direction.H2D: Link("link to the chip", self.clock, rate, busy, beside or 0.0),
            Direction.D2H: Link("link to the host", self.clock, rate),
        }
        self._beside = self.links[Direction.H2D]  # data that configuration may slow down
        self.core = Core(
            self.clock,
            self.vdma,
            self.clusters,
            self.nms,
            self.burst,
            self.ddr,
            self.links,
            self.memory.moment,
            Gates(self.clusters, self.logic, profile.config_starts_units),
            self.hazard,
            self.seed,
            probe=self.probe,
            held=self.logic.held,
        )
        self.core.frame_in = FrameLoop(self.core, self.clock).frame_in
        self.cache = CacheUpdates()
        self.posted = Notifications()
        self._passages: dict[tuple[Flow, tuple[int, ...]], Passage] = {}
        self.hazards: dict[FoundHazard, None] = {}  # all since the chip was made, each once, in their order
        self._told: set[Hazard] = set()  # those of this activation
        self.first_frame = 0  # number of the first frame after the next ENABLE, where the host counts on
        if self.faults is not None:
            self.core.interrupts = self.faults.interrupt
            self.core.carried = self.faults.carried if self.faults.flips else None

    # -- as a unit

    def parts(self) -> Iterable[Unit]:
        return (
            self.core,
            self.vdma,
            self.config,
            self.logic,
            self.bus,
            *self.links.values(),
            self.burst,
            self.ddr,
            self.nms,
            self.clusters,
            self.cache,
            self.memory,
            self.posted,
            self.probe.actions,
            self.probe.statuses,
        )

    def units(self) -> list[Unit]:
        """All units of the hardware, at any depth."""
        return walk(*Chip.parts(self))

    def reset(self) -> None:
        """Its units are all that it has."""

    def reset_units(self, whole_chip: bool = False) -> None:
        """Reset every unit; those that outlive applications only where the whole chip is reset."""
        for unit in self.units():
            if whole_chip or not unit.OUTLIVES_APPLICATIONS:
                unit.reset()

    # -- used by the firmware and its handlers

    def start_application(self, application: Application) -> None:
        """Names and transfer counts of the boundary channels, as the host knows them; what the configuration is."""
        labels = self.labels.get(application.index, {})
        model, core_model = self.models.get(application.index, (None, None))
        self.core.begin(application.index, model, core_model)
        self._told.clear()
        damaged = self.faults is not None and self.faults.harms_configuration
        self.logic.begin(
            application, self.config.cache, self.clock.time, keeps_words=damaged and core_model is not None
        )
        self.core.gates.begin(application)
        judge = self.probe.judges.get(application.index)
        if judge is not None and self.logic.active:
            self.logic.found(judge(), self.clock.time)
        starts_units = self.profile.config_starts_units
        for found in list_hazards(application.sent, well_formed=self.logic.active, starts_units=starts_units):
            self.hazard(found.hazard, self.clock.time, found.action_index)
        self.core.stream_names = {packed: label.name for packed, label in labels.items()}
        # where each list sets up the next context, frames of a stream count for the list before its own
        split = bool(application.header.split_allow_input_action)
        self.core.labels, self.core.asked_by_context = labels, not split and not application.single_context
        self.core.transfers = {packed: label.transfers_per_frame for packed, label in labels.items()}

    def flow(self, application: Application, context: Context) -> Flow:
        """Timing of the frames of a dynamic context."""
        found = self.flows(application.index, context.index) if self.flows is not None else None
        return found if found is not None else self._default_flow()

    def passage(self, flow: Flow, outputs: list[Edge]) -> Passage:
        """How frames of a flow come in and leave over some outputs."""
        rows = [max(1, edge.registers.core_buffers_per_frame) if edge.boundary else 0 for edge in outputs]
        key = flow, tuple(rows)
        found = self._passages.get(key)
        if found is None:
            found = self._passages[key] = passage_of(self.profile, flow, rows)
        return found

    def _default_flow(self) -> Flow:
        sizes = {Direction.H2D: 0, Direction.D2H: 0}
        for edge in self.core.participants():
            sizes[edge.direction] += edge.frame_bytes
        compute = Compute(0.0, 0.0, 0.0, "none given to the device")
        return flow_of(self.profile, compute, Traffic(sizes[Direction.H2D], sizes[Direction.D2H]), 0.0)

    def _fetched(self) -> Fetched | None:
        return None if self.faults is None else self.faults.corrupt

    @property
    def batch_size(self) -> int:
        """The batch that runs."""
        return 1

    @property
    def action_index(self) -> int:
        """The action that is being executed; -1: none is."""
        return -1

    def hazard(self, hazard: Hazard, now: int, action: int | None = None) -> None:
        """Something went wrong that the chip carries out all the same; told once an activation.

        `action`: the number of the action that it lies in (None: the one that is executed).
        """
        if hazard in self._told:
            return
        self._told.add(hazard)
        index, action = self.core.application, self.action_index if action is None else action
        found = FoundHazard(index, hazard, action)
        self.hazards[found] = None
        if self.probe.tracer is not None:
            place = now, Kind.HAZARD, index, hazard.context, action, hazard.rule
            self.probe.tracer.emit(Event(*place, unit=hazard.where, cause=hazard.what))
        if self.probe.stop_at_hazard:
            raise found.error()

    def _busy(self, cluster: int) -> bool:
        """Whether LCUs of a cluster are enabled and have frames inside."""
        inside = any(one.launched > one.completed for one in self.core.passes)
        return inside and any(lcu.enabled for lcu in self.clusters.clusters[cluster].lcus.values())

    def list_ended(self, context: Context, now: int) -> None:
        """A list has come to its end: what it left as it should not be."""
        if context.type is ContextType.BATCH_SWITCHING:
            for hazard in not_switched(
                self.clusters, self.core.gates.switched, self.burst.jobs.values(), self.batch_size
            ):
                self.hazard(hazard, now, -1)
        elif self.logic.active and not self.core.gates.single_context and not self.profile.config_starts_units:
            for hazard in left_running(context, self.clusters):
                self.hazard(hazard, now, -1)

    def config_fetch(self, channel: ConfigChannel, now: int, size: int) -> int:
        """Queue a config fetch; returns when it has been consumed."""
        moved = self.vdma.channels[channel.channel]
        if moved.lost:  # an injected fault: the channel stands at the descriptor that it lacks
            moved.stalled = True
        if moved.stalled:
            return NEVER
        done = round(self.bus.fetch(now, size if moved.slow == 1 else round(size * moved.slow)))
        if self._beside.active:
            self._beside.replan()
        return done

    @property
    def moves_beside_configuration(self) -> bool:
        """Whether data is under way that configuration may slow down."""
        return bool(self._beside.active)

    def memory_note(self, what: str, index: int, values: tuple[int, ...]) -> None:
        """A unit was programmed through registers whose addresses are not public: only the hash knows."""
        self.memory.note((what, index, values))

    @property
    def attended(self) -> bool:
        """Whether anything has to be looked after at every action."""
        return self.faults is not None or self.probe.attends_actions

    def timestamp(self, ns: int) -> int:
        """The down-counting timer that stamps actions (firmware-actions.md 2)."""
        ticks = ns * round(self.profile.timestamp_hz) // 1_000_000_000
        return (TIMESTAMP_INIT - ticks) & 0xFFFFFFFF

    def notify(self, notification: Notification, now: int) -> None:
        """Tell the host."""
        self.posted.post(notification)
        if self.probe.tracer is not None:
            self.probe.tracer.emit(
                Event(now, Kind.NOTIFICATION, action=notification.event_id.name, cause=notification.text)
            )

    def report_start_update_cache_offset(self, now: int) -> None:
        self.notify(start_update_cache_offset((1 << 64) - 1), now)

    @property
    def boundary_transfers(self) -> int:
        """Transfers of all open boundary channels so far."""
        return sum(channel.transfers for channel in self.vdma.channels.values() if channel.boundary)
