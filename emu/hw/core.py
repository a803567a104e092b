"""The NN core as frames see it: what flows in through the active inputs comes out of the active outputs.

A `FramePass` carries the frames of one network through one context. It exists from the moment the context's list has
nothing more to configure before it waits for data (or ends); what it takes is moved by the links, what it gives is made
here: synthetic bytes, or those of a model of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import simpy

from emu.hw.application import Context
from emu.hw.border import CoreModel, HostPort, Model, StreamLabel
from emu.hw.clock import Clock, Signal
from emu.hw.cluster import Clusters
from emu.hw.computed import ComputedFrames
from emu.hw.config.execute import Held
from emu.hw.descriptors import put, take
from emu.hw.fingerprint import Lists, Moment
from emu.hw.frame_events import FrameEvents
from emu.hw.gating import Gates
from emu.hw.internal import InternalMemory
from emu.hw.link import Link
from emu.hw.nms import NmsUnits
from emu.hw.passes import Frame, FramePass, OpenedInput
from emu.hw.payload import Content, Essence, digest, kept, synthetic
from emu.hw.probe import Probe
from emu.hw.run_checks import misdirected
from emu.hw.supply import Supply, settle
from emu.hw.tasks import BurstCreditsTask, DdrBufferingTask
from emu.hw.unit import Unit
from emu.hw.vdma import Edge, EdgeKind, Vdma
from emu.sequencer.program import Direction
from emu.timing.model import Flow
from emu.timing.passage import Passage
from emu.trace.hazards import Hazard

# frames that are always played one by one behind a jump, so that everything in flight is real again
JUMP_TAIL = 4
JUMP_HEAD = 4
_TOLD = 3  # units that are missing, of which a stall tells


def _nobody(packed: int, processed_ns: Sequence[int]) -> None:
    """No host hears of interrupts."""


@dataclass(eq=False, repr=False)
class Core(Unit):
    """The active edge layers and the passes over them. `changed` wakes whoever waits for anything here."""

    name: ClassVar[str] = "core"

    clock: Clock
    vdma: Vdma
    clusters: Clusters
    nms: NmsUnits
    burst: BurstCreditsTask
    ddr: DdrBufferingTask
    links: Mapping[Direction, Link]
    moment: Callable[[Lists], Moment]
    gates: Gates
    report: Callable[[Hazard, int], None]
    seed: int = 0
    host: HostPort | None = None
    # where interrupts of the channels go
    tell: Callable[[int, Sequence[int]], None] = field(default_factory=lambda: _nobody)
    probe: Probe = field(default_factory=Probe)
    stream_names: dict[int, str] = field(default_factory=dict)
    labels: Mapping[int, StreamLabel] = field(default_factory=dict)
    asked_by_context: bool = False  # the contexts of the labels say which of them the host asked for
    transfers: dict[int, int] = field(default_factory=dict)
    frame_in: Callable[[FramePass], None] | None = None  # asked instead of `jump` while a tracer watches
    interrupts: Callable[[int, Callable[[], None]], None] | None = None
    carried: Callable[[int, Content | None], Content | None] | None = None
    edges: dict[tuple[Direction, int], Edge] = field(default_factory=dict)
    passes: list[FramePass] = field(default_factory=list)
    jumps: int = 0
    application: int = -1
    computed: ComputedFrames | None = None
    core_model: CoreModel | None = None
    held: Callable[[], Held | None] | None = None
    _untold: dict[int, list[int]] = field(default_factory=dict)  # when frames were through, by channel

    def __post_init__(self) -> None:
        self.supply = Supply(self.burst, self.ddr)
        self.internal = InternalMemory(self.vdma)
        self.changed = Signal(self.clock, self.supplied)
        self.told = FrameEvents(self.probe, self.clock)
        self._stuck = self._asking = False

    @property
    def opened(self) -> dict[int, OpenedInput]:
        """What OPEN_BOUNDARY_INPUT_CHANNEL said of each boundary input."""
        return self.supply.opened

    def reset(self) -> None:
        self.abort()
        self.edges.clear()
        self.opened.clear()

    def state(self, now: int) -> tuple[object, ...]:
        return (
            tuple(edge.state() for edge in self.edges.values()),
            tuple((packed, one.stream, one.network, one.frame_periph_size) for packed, one in self.opened.items()),
            tuple(one.state(now) for one in self.passes),
        )

    def begin(self, application: int, model: Model | None, core_model: CoreModel | None) -> None:
        """Another application runs from now on; `model` and `core_model` compute for it."""
        self.application = application
        self.core_model = core_model
        self.computed = None if model is None else ComputedFrames(model)
        self._untold.clear()

    # -- edges

    def edge_of_channel(self, packed: int) -> Edge | None:
        for edge in self.edges.values():
            if edge.channel.packed == packed:
                return edge
        return None

    def participants(self) -> list[Edge]:
        """Active edges that are not routed to a dummy stream."""
        return [edge for edge in self.edges.values() if not edge.channel.dummy]

    def close_internal_edges(self) -> None:
        """Close what a context left open: its inter-context, DDR and cache channels."""
        for key, edge in list(self.edges.items()):
            if not edge.boundary:
                edge.channel.close()
                del self.edges[key]

    # -- passes

    def open(
        self,
        context: Context,
        executing: Context,
        flow: Flow,
        passage: Callable[[Flow, list[Edge]], Passage],
        origin: int,
        gate: int,
        batch: int,
        limit: int | None,
        first_frame: int,
        lists: Lists,
        before: int | None,
    ) -> None:
        """Let the granted inputs flow through a context, one pass per network.

        `executing` is the list that does so when it has come to action `before` (None: to its end).
        """
        edges = self.participants()
        for hazard in misdirected(context, edges, self.labels, self.asked_by_context):
            self.report(hazard, self.clock.time)
        networks = sorted({e.network for e in edges if e.fetched and e.direction is Direction.H2D})
        for network in networks or [0]:
            # an edge of a network that has no input of its own goes with the first one
            mine = (
                [e for e in edges if e.network == network or (e.network not in networks and network == networks[0])]
                if len(networks) > 1
                else edges
            )
            only = network if len(networks) > 1 else None
            outputs = [e for e in mine if e.direction is Direction.D2H]
            outputs.sort(key=lambda edge: edge.boundary)  # what the host waits for is the last of what ends together
            for edge in mine:
                settle(edge)
            one = FramePass(
                core=self,
                context=context,
                network=only,
                inputs=[e for e in mine if e.direction is Direction.H2D],
                outputs=outputs,
                flow=flow,
                passage=passage(flow, outputs),
                origin=origin,
                gate=gate,
                batch=batch,
                limit=limit,
                first_frame=first_frame,
                lists=lists,
                needs=self.gates.needed(context, executing, only, before, batch),
            )
            for edge in mine:
                edge.most = None
                if edge.channel.lost and not edge.boundary:  # an injected fault: it lacks a frame of the batch
                    edge.most = max(0, (batch if limit is None else limit) - 1)
                    edge.channel.lost = 0
            self.passes.append(one)
            one.begin()
        self.changed.notify()

    def abort(self) -> None:
        """Stop all passes (reset, batch switch); frames in flight are lost, claimed buffers go back to the host."""
        for one in self.passes:
            one.cancel()
            for edge in one.inputs + one.outputs:
                self.links[edge.direction].drop(edge.transfer)
                if edge.boundary:
                    edge.channel.claimed = edge.channel.processed
        self.passes.clear()
        self.changed.notify()

    @property
    def idle(self) -> bool:
        return all(one.finished for one in self.passes)

    def frames_passed(self, network: int) -> int:
        """Frames of a network that the present context has let through."""
        if not self.passes:
            return 0
        return max((one.completed for one in self.passes if one.network in (None, network)), default=0)

    @property
    def batch_passed(self) -> bool:
        """Whether every pass has let its batch through."""
        return all(one.completed >= one.batch for one in self.passes)

    def pass_of_edge(self, edge: Edge) -> FramePass | None:
        for one in self.passes:
            if edge in one.inputs or edge in one.outputs:
                return one
        return None

    # -- what a pass asks for

    def supplied(self) -> None:
        """Something changed: what waits is tried again, at this instant."""
        if self._stuck and not self._asking:
            self._asking = True
            self.clock.call(self.clock.time, self._retry)

    def stick(self) -> None:
        """Something waits for a change."""
        self._stuck = True

    def _retry(self, _: simpy.Event) -> None:
        self._stuck = self._asking = False
        for one in list(self.passes):
            one.retry()

    def blocked(self, one: FramePass) -> str:
        """Why the next frame cannot enter; empty if it can."""
        if not one.inputs:
            return "no active input feeds the core"
        supply = self.supply
        hungry = ""
        for edge in one.inputs:
            reason = supply.input_blocked(edge)
            if not reason:
                continue
            if not supply.queue_empty(edge):
                return f"{edge.describe()}: {reason}"
            hungry = hungry or f"{edge.describe()}: {reason}"
        inside = one.launched - one.completed
        if inside > one.frames_inside:
            return f"{inside} frames are inside, and none leaves"
        # that the host is late is the last thing to say: everything else is a fault of the lists
        return hungry

    def starved(self, one: FramePass) -> bool:
        """Whether every input that blocks does so for want of host frames."""
        supply = self.supply
        return all(not supply.input_blocked(edge) or supply.queue_empty(edge) for edge in one.inputs)

    def held_back(self, one: FramePass, edge: Edge) -> bool:
        """Whether the next frame cannot leave over an edge; `held` of the pass says why."""
        if self._lacking(one):
            return True
        if edge.direction is Direction.D2H:
            reason = self.supply.output_blocked(edge)
            if reason:
                one.held = f"{edge.describe()}: {reason}"
                return True
        return False

    def _lacking(self, one: FramePass) -> bool:
        """Whether something that frames need is missing (units.md 5)."""
        edition = self.gates.edition
        if one.checked != edition:
            one.checked = edition
            missing = [] if one.needs.met == edition else list(self.gates.missing(one.needs))
            if not missing:
                one.needs.met = edition
            one.lacks = "; ".join(missing[:_TOLD])
            if len(missing) > _TOLD:
                one.lacks += f"; and {len(missing) - _TOLD} more units"
        if one.lacks:
            one.held = one.lacks
        return bool(one.lacks)

    def move(self, edge: Edge, most: float, early: float, done: partial[None]) -> None:
        """Move a frame over an edge, at `most` bytes/ns; it began `early` ns, a part of one, before now."""
        link, channel = self.links[edge.direction], edge.channel
        if channel.slow > 1:
            most = min(most, link.rate / channel.slow)  # an injected fault
        link.start(edge.transfer, edge.frame_bytes * edge.transfers, most, early, done)

    def early(self, edge: Edge) -> float:
        """By which part of a nanosecond the transfer over an edge that is done now was done before this event."""
        return self.links[edge.direction].early

    # -- one frame

    def come(self, one: FramePass, frame: Frame) -> None:
        """A frame begins to come in: its descriptors are taken, and what they point to."""
        wanted = self._contents_wanted(one)
        if one.reads_memory:
            self._check_written(one, frame.index)
        for edge in one.inputs:
            content: Content | None = None
            if edge.boundary:
                content = take(edge, wanted)
            elif wanted and edge.kind is not EdgeKind.DDR:
                content = self.internal.read(edge, frame.index)
            if self.carried is not None:
                content = self.carried(edge.channel.packed, content)
            # rows of a DDR portal are the core's own: what it reads follows from its inputs, unless it was damaged
            if wanted and (edge.kind is not EdgeKind.DDR or content is not None):
                frame.contents.append(kept(content))
                if edge.kind is EdgeKind.DDR:
                    frame.arrived = None
                elif self.core_model is not None and frame.arrived is not None:
                    frame.arrived[edge.stream] = content
                if self.computed is not None and edge.boundary:
                    name = self.stream_names.get(edge.channel.packed, "")
                    self.computed.arrived(one.first_frame + frame.index, name, content)
        if self.carried is not None:
            for edge in one.outputs:
                damaged = self.carried(edge.channel.packed, None) if edge.kind is EdgeKind.DDR else None
                if damaged is not None:
                    frame.contents.append(kept(damaged))
                    frame.arrived = None
        if one.launched == one.wanted:
            self.changed.notify()

    def _check_written(self, one: FramePass, frame: int) -> None:
        """Inter-context inputs read what an earlier context wrote; the caches of a runtime hold zeros at first."""
        for edge in one.inputs:
            # a capture may hold fewer descriptors than its lists have: of those nothing is known
            if edge.kind is EdgeKind.INTER_CONTEXT and not self.internal.is_written(edge, frame):
                where = f"{one.context.name}, {edge.describe()}"
                what = f"frame {frame} of the batch, at 0x{edge.buffer.dma_address:X}"
                self.report(Hazard("read-unwritten", where, what), self.clock.time)

    def _contents_wanted(self, one: FramePass) -> bool:
        """Whether anybody will look at what this pass puts out: the host, or a later context."""
        if self.probe.observers or self.carried is not None or (self.host is not None and self.host.keeps_outputs):
            return True
        return one.writes_memory

    def came(self, one: FramePass, frame: Frame, edge: Edge) -> None:
        """All bytes of a frame have come in over an edge."""
        self._count(one, edge)
        if edge.boundary:
            edge.channel.processed += edge.claims
        if self.probe.tracer is not None:
            self.told.transfer(one, edge, frame.index, self.application, self.stream_names)
        if edge.boundary:
            self._interrupt(edge)

    def all_in(self, one: FramePass, frame: Frame) -> None:
        """The whole input of a frame is there."""
        probe = self.probe
        if probe.observers:
            carried = [edge for edge in one.inputs if edge.kind is not EdgeKind.DDR]
            for edge, content in zip(carried, frame.contents, strict=False):
                for observer in probe.observers:
                    observer.transfer(edge, one.first_frame + frame.index, content.key)
        if self._contents_wanted(one):
            frame.common = Essence(frame.contents, self.moment(one.lists))

    def _interrupt(self, edge: Edge) -> None:
        """A descriptor that asks for it was processed: the host's interrupt of a boundary channel."""
        host = self.host
        if host is None:
            return
        packed = edge.channel.packed
        if self.interrupts is None:
            self.tell(packed, (self.clock.time,))
        else:
            self._untold.setdefault(packed, []).append(self.clock.time)
            self.interrupts(packed, partial(self._tell_host, packed))

    def _tell_host(self, packed: int) -> None:
        self.tell(packed, self._untold.pop(packed, ()))

    def gone(self, one: FramePass, frame: Frame, edge: Edge) -> None:
        """A frame has left over an edge: it is in host memory."""
        probe = self.probe
        number = one.first_frame + frame.index
        content = None if frame.common is None else self._content(one, edge, number, frame, frame.common)
        if self.carried is not None and edge.kind is not EdgeKind.DDR:
            content = self.carried(edge.channel.packed, content)
        self._count(one, edge)
        for observer in probe.observers:
            observer.transfer(edge, number, digest(content))
        if edge.boundary:
            put(edge, content)
        elif content is not None:
            self.internal.write(edge, frame.index, content)
        if probe.tracer is not None:
            self.told.transfer(one, edge, frame.index, self.application, self.stream_names)
        if edge.boundary:
            self._interrupt(edge)
        if edge.done == one.batch:
            self.changed.notify()  # somebody may wait for just that

    def completed(self, one: FramePass, frame: Frame) -> None:
        """All outputs of a frame are through."""
        if self.ddr.pairs:
            self.ddr.count_frames(1)
        if self.nms.units:
            self.nms.count_frames(one.network, 1)
        finished = self.clusters.count_frames(one.network, 1)
        if finished:
            self.gates.completed(finished)
        if self.probe.tracer is not None:
            self.told.done(finished, one.first_frame + frame.index, self.application)
        if one.finished:
            self._finish(one)
        elif finished or one.completed == one.batch:
            self.changed.notify()

    def _content(self, one: FramePass, edge: Edge, number: int, frame: Frame, common: Essence) -> Content:
        name = self.stream_names.get(edge.channel.packed)
        if self.core_model is not None and frame.arrived is not None and frame.computed is None:
            held = None if self.held is None else self.held()
            frame.computed = self.core_model(number, one.context.index, frame.arrived, held)
        if not edge.boundary or name is None:
            name = f"{one.context.name} stream {edge.stream}"
        elif self.computed is not None:
            found = self.computed.output(number, name)
            if found is not None:
                return found
        computed = None if frame.computed is None else frame.computed.get(edge.stream)
        if computed is not None:
            return computed
        return synthetic(name, self.seed, number, common, edge.frame_bytes * edge.transfers)

    def _finish(self, one: FramePass) -> None:
        """All frames of a batch passed: the tasks that served it go idle (firmware-actions.md 8)."""
        if all(other.finished for other in self.passes):
            if self.probe.tracer is not None and self.burst.running:
                self.told.idle("burst-credits task", f"{one.completed} frames", self.application)
            self.burst.finish()
            self.ddr.reset()
        self.changed.notify()

    def jump(self, one: FramePass) -> int:
        """Advance many frames of a steady, endless flow in one step; returns how many."""
        if self.probe.tracer is not None and self.frame_in is not None:
            self.frame_in(one)
        if not self.probe.skippable(1):
            return 0
        # frames that meet no others are the same behind none
        alone = one.undisturbed and len(self.passes) == 1
        if (
            one.limit is not None
            or self.host is None
            or not (alone or one.steady >= one.frames_inside + JUMP_HEAD)
            or one.completed < one.rebased + one.batch
            or not one.plain
            or self._lacking(one)
        ):
            return 0
        if alone:
            frames = self.host.free_batches(1)
        else:
            free = self.host.free_frames(edge.channel.packed for edge in one.inputs)
            frames = free - JUMP_TAIL - 2 * one.frames_inside
        if frames <= 0:
            return 0
        self.pass_by(one, frames)
        return frames

    def pass_by(self, one: FramePass, frames: int) -> None:
        """Count frames that pass in one step."""
        assert self.host is not None
        edges = one.inputs + one.outputs
        for edge in edges:
            self._count(one, edge, frames)
        steps = {e.channel.packed: frames * e.descriptors_per_frame * e.transfers for e in edges if e.boundary}
        fewer = self.host.skip(steps)
        for packed, step in steps.items():
            channel = self.vdma.channels[packed]
            channel.available += step - fewer.get(packed, 0)
            channel.claimed += step
            channel.processed += step
            channel.register = channel.num_available
        self.ddr.count_frames(frames)
        self.nms.count_frames(one.network, frames)
        self.clusters.count_frames(one.network, frames)
        self.jumps += 1

    def _count(self, one: FramePass, edge: Edge, frames: int = 1) -> None:
        transfers, channel = frames * edge.transfers, edge.channel
        edge.done += frames
        if not edge.boundary:
            channel.processed += transfers * edge.descriptors_per_frame
        channel.transfers += transfers
        size = transfers * edge.frame_bytes
        channel.bytes += size
        one.context.data_bytes += size
