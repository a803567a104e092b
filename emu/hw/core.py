"""The NN core as frames see it: what flows in through the active inputs comes out of the active outputs.

A `FramePass` carries the frames of one network through one context. It exists from the moment the context's list has
nothing more to configure before it waits for data (or ends); its instants come from the timing model, counted from the
action that granted the input. A frame costs two discrete events: one to take the input, one to deliver all outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import simpy

from emu.hw.application import Context
from emu.hw.clock import Clock, Signal
from emu.hw.cluster import Clusters
from emu.hw.fingerprint import Moment
from emu.hw.nms import NmsUnits
from emu.hw.passes import FramePass, HostPort, OpenedInput
from emu.hw.payload import Content, Essence, Payload, digest, kept, synthetic
from emu.hw.tasks import BurstCreditsTask, DdrBufferingTask
from emu.hw.timing import Flow
from emu.hw.vdma import Edge, EdgeKind, HostBufferType, Vdma
from emu.sequencer.program import Direction
from emu.trace.events import Event, Kind, Tracer

# frames that are always played one by one at the end of a jump, so that everything in flight is real again
JUMP_TAIL = 16
JUMP_HEAD = 8


class TransferObserver(Protocol):
    """Sees each frame that passes a channel, with the digest of its content."""

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None: ...


@dataclass(eq=False)
class Core:
    """The active edge layers and the passes over them. `changed` wakes whoever waits for anything here."""

    clock: Clock
    vdma: Vdma
    clusters: Clusters
    nms: NmsUnits
    burst: BurstCreditsTask
    ddr: DdrBufferingTask
    moment: Callable[[], Moment]
    seed: int = 0
    host: HostPort | None = None
    tracer: Tracer | None = None
    stream_names: dict[int, str] = field(default_factory=dict)
    transfers: dict[int, int] = field(default_factory=dict)
    interrupts: Callable[[int, Callable[[], None]], None] | None = None
    observer: TransferObserver | None = None
    opened: dict[int, OpenedInput] = field(default_factory=dict)
    edges: dict[tuple[Direction, int], Edge] = field(default_factory=dict)
    passes: list[FramePass] = field(default_factory=list)
    jumps: int = 0
    may_jump: bool = True
    application: int = -1

    def __post_init__(self) -> None:
        self.changed = Signal(self.clock)

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
        flow: Flow,
        origin: int,
        gate: int,
        batch: int,
        limit: int | None,
        first_frame: int,
    ) -> None:
        """Let the granted inputs flow, one pass per network."""
        edges = self.participants()
        networks = sorted({e.network for e in edges if e.direction is Direction.H2D and e.fetched})
        for network in networks or [0]:
            # an edge of a network that has no input of its own goes with the first one
            mine = (
                [e for e in edges if e.network == network or (e.network not in networks and network == networks[0])]
                if networks
                else edges
            )
            its_flow = flow
            slowest = max((e.channel.slow * e.frame_bytes for e in mine if e.channel.slow > 1), default=0.0)
            if slowest:
                # an injected fault: the channel needs that much longer for each frame
                extra = slowest / self.vdma.profile.link.bytes_per_second * 1e9
                interval = max(flow.interval_ns, extra)
                its_flow = replace(flow, latency_ns=flow.latency_ns + extra, interval_ns=interval)
            one = FramePass(
                core=self,
                context=context,
                network=network if len(networks) > 1 else None,
                inputs=[e for e in mine if e.direction is Direction.H2D],
                outputs=[e for e in mine if e.direction is Direction.D2H],
                flow=its_flow,
                origin=origin,
                gate=gate,
                batch=batch,
                limit=limit,
                first_frame=first_frame,
            )
            for edge in mine:
                edge.done = 0
            self.passes.append(one)
            self.clock.process(one.run())
        self.changed.notify()

    def abort(self) -> None:
        """Stop all passes (reset, batch switch); frames in flight are lost, claimed buffers go back to the host."""
        for one in self.passes:
            one.cancelled = True
            for edge in one.inputs + one.outputs:
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

    # -- one frame

    def blocked(self, one: FramePass) -> str:
        """Why the next frame cannot enter; empty if it can."""
        if not one.inputs:
            return "no active input feeds the core"
        hungry = ""
        for edge in one.inputs:
            reason = self._input_blocked(edge)
            if not reason:
                continue
            if not self._queue_empty(edge):
                return f"{edge.describe()}: {reason}"
            hungry = hungry or f"{edge.describe()}: {reason}"
        for edge in one.outputs:
            reason = self._output_blocked(edge, one.frames_inside)
            if reason:
                return f"{edge.describe()}: {reason}"
        # that the host is late is the last thing to say: everything else is a fault of the lists
        return hungry

    def starved(self, one: FramePass) -> bool:
        """Whether every input that blocks does so for want of host frames."""
        reasons = [(edge, self._input_blocked(edge)) for edge in one.inputs]
        return all(not reason or self._queue_empty(edge) for edge, reason in reasons)

    def _queue_empty(self, edge: Edge) -> bool:
        channel = edge.channel
        return (
            edge.boundary
            and channel.host_opened
            and not channel.paused
            and channel.packed in self.burst.jobs
            and self.burst.running
            and channel.available - channel.claimed < edge.descriptors_per_frame
        )

    def _edge_blocked(self, edge: Edge) -> str:
        channel = edge.channel
        if channel.stalled:
            return "the channel is stalled"
        if channel.mapped_stream is not None and channel.mapped_stream != edge.stream:
            return f"its channel is mapped to stream {channel.mapped_stream}"
        return self._ddr_blocked(edge) if edge.kind is EdgeKind.DDR else ""

    def _input_blocked(self, edge: Edge) -> str:
        channel = edge.channel
        blocked = self._edge_blocked(edge)
        if blocked or edge.kind is EdgeKind.DDR:
            return blocked
        if not edge.fetched:
            return "no FETCH_DATA_FROM_VDMA_CHANNEL granted it credits"
        if not edge.boundary:
            return ""
        if not channel.host_opened:
            return "its host side was never opened"
        if channel.paused:
            return "the channel is paused"
        job = self.burst.jobs.get(channel.packed)
        if job is None or not self.burst.running:
            return "the burst-credits task gives it no credits (not started)"
        opened = self.opened.get(channel.packed)
        if opened is not None and opened.frame_periph_size != job.frame_periph_size:
            return (
                f"FETCH_DATA grants {job.frame_periph_size} bytes a frame, "
                f"OPEN_BOUNDARY_INPUT_CHANNEL announced {opened.frame_periph_size}"
            )
        if channel.available - channel.claimed < edge.descriptors_per_frame:
            return f"the host has queued no further frame ({channel.counters()})"
        return ""

    def _output_blocked(self, edge: Edge, frames_inside: int) -> str:
        channel = edge.channel
        blocked = self._edge_blocked(edge)
        if blocked or not edge.boundary:
            return blocked
        if not channel.host_opened:
            return "its host side was never opened"
        # a frame needs its buffer when it comes out; the core may hold as many more as are under way in it
        inside = frames_inside * edge.transfers * edge.descriptors_per_frame
        if self._lacks_buffer(edge) or channel.claimed - channel.available >= inside > 0:
            return f"the host has queued no buffer ({channel.counters()})"
        if not inside and channel.available - channel.claimed < edge.buffer.descriptors_per_transfer:
            return f"the host has queued no buffer ({channel.counters()})"
        return ""

    def _lacks_buffer(self, edge: Edge) -> bool:
        """Whether the next frame out has nowhere to go; an NMS frame is many transfers, queued one by one."""
        channel = edge.channel
        return edge.boundary and channel.available - channel.processed < channel.descriptors_per_transfer

    def _ddr_blocked(self, edge: Edge) -> str:
        if edge.buffer.buffer_type == HostBufferType.CCB:
            return ""  # the pair is linked in hardware (vdma.md 3.3)
        pairs = self.ddr.pairs.values()
        packed = edge.channel.packed
        if not any(packed in (pair.h2d, pair.d2h) for pair in pairs):
            return "no ADD_DDR_PAIR_INFO names its channel"
        if not self.ddr.running:
            return "the DDR-buffering task is not running"
        return ""

    def claim(self, one: FramePass) -> list[Payload]:
        """Reserve the descriptors of the next frame; returns its inputs."""
        contents: list[Payload] = []
        wanted = self._contents_wanted(one)
        for edge in one.inputs:
            channel = edge.channel
            per_frame = edge.descriptors_per_frame
            if edge.boundary:
                number = channel.claimed // per_frame
                channel.claimed += per_frame
                if wanted and self.host is not None:
                    contents.append(kept(self.host.input_content(channel, number)))
            elif wanted and edge.kind is not EdgeKind.DDR:
                contents.append(kept(self._internal_content(edge, one.launched)))
        for edge in one.outputs:
            if edge.boundary:
                edge.channel.claimed += edge.descriptors_per_frame * edge.transfers
        return contents

    def _contents_wanted(self, one: FramePass) -> bool:
        """Whether anybody will look at what this pass puts out: the host, or a later context."""
        if self.observer is not None or (self.host is not None and self.host.keeps_outputs):
            return True
        return one.writes_memory

    def take(self, one: FramePass, frame: int, contents: list[Payload]) -> None:
        """The input of a frame has been fetched; schedule its outputs."""
        now = self.clock.time
        if self.observer is not None:
            carried = [edge for edge in one.inputs if edge.kind is not EdgeKind.DDR]
            for edge, content in zip(carried, contents, strict=False):
                self.observer.transfer(edge, one.first_frame + frame, content.key)
        for edge in one.inputs:
            self._count(one, edge, 1)
            if self.tracer is not None:
                self._trace(one, edge, frame, now)
            if edge.boundary and self.host is not None:
                if self.interrupts is None:
                    self.host.input_done(edge.channel, 1, now)
                else:
                    self.interrupts(edge.channel.packed, partial(self._input_done, edge))
        common = Essence(contents, self.moment()) if self._contents_wanted(one) else None
        self.clock.at(one.instant(one.flow.output_done_ns(frame)), partial(self._deliver, one, frame, common))

    def _input_done(self, edge: Edge) -> None:
        assert self.host is not None
        self.host.input_done(edge.channel, 1, self.clock.time)

    def _output_done(self, edge: Edge, number: int, content: Content | None) -> None:
        assert self.host is not None
        self.host.output_done(edge.channel, number, content, self.clock.time)

    def _deliver(self, one: FramePass, frame: int, common: Essence | None) -> None:
        if one.cancelled:
            return
        if one.completed < frame or [edge for edge in one.outputs if self._lacks_buffer(edge)]:
            self.clock.process(self._deliver_later(one, frame, common))
            return
        now = self.clock.time
        number = one.first_frame + frame
        for edge in one.outputs:
            content = None if common is None else self._content(one, edge, number, common)
            self._count(one, edge, 1)
            if self.observer is not None:
                self.observer.transfer(edge, number, digest(content))
            if self.tracer is not None:
                self._trace(one, edge, frame, now)
            if edge.boundary:
                if self.host is not None:
                    if self.interrupts is None:
                        self.host.output_done(edge.channel, number, content, now)
                    else:
                        self.interrupts(edge.channel.packed, partial(self._output_done, edge, number, content))
            elif content is not None:
                self._write_internal(edge, frame, content)
        one.completed += 1
        if self.ddr.pairs:
            self.ddr.count_frames(1)
        if self.nms.units:
            self.nms.count_frames(one.network, 1)
        finished = self.clusters.count_frames(one.network, 1)
        if self.tracer is not None:
            for lcu in finished:
                self._trace_unit(lcu.describe(), "done", f"frame {number}")
        if one.finished:
            self._finish(one)
        elif one.completed % one.batch == 0:
            self.changed.notify()

    def _content(self, one: FramePass, edge: Edge, number: int, common: Essence) -> Payload:
        name = self.stream_names.get(edge.channel.packed)
        if not edge.boundary or name is None:
            name = f"{one.context.name} stream {edge.stream}"
        return synthetic(name, self.seed, number, common, edge.frame_bytes * edge.transfers)

    def _deliver_later(self, one: FramePass, frame: int, common: Essence | None) -> Generator[simpy.Event, None, None]:
        """Frames stay in the core, in order, until the host has queued buffers for them."""
        while not one.cancelled and (one.completed < frame or any(self._lacks_buffer(e) for e in one.outputs)):
            yield self.changed.wait()
        self._deliver(one, frame, common)
        self.changed.notify()

    def _finish(self, one: FramePass) -> None:
        """All frames of a batch passed: the tasks that served it go idle (firmware-actions.md 8)."""
        if all(other.finished for other in self.passes):
            if self.tracer is not None and self.burst.running:
                self._trace_unit("burst-credits task", "idle", f"{one.completed} frames")
            self.burst.finish()
            self.ddr.reset()
        self.changed.notify()

    def jump(self, one: FramePass) -> int:
        """Advance many frames of a steady, endless flow in one step; returns how many."""
        if (
            not self.may_jump
            or self.tracer is not None
            or self.host is None
            or one.limit is not None
            or one.completed < one.rebased + one.batch
            or one.launched < one.rebased + one.batch + JUMP_HEAD
        ):
            return 0
        frames = self.host.free_frames(edge.channel.packed for edge in one.inputs) - JUMP_TAIL
        if frames <= 0:
            return 0
        for edge in one.inputs + one.outputs:
            self._count(one, edge, frames)
            if edge.boundary:
                step = frames * edge.descriptors_per_frame * edge.transfers
                edge.channel.available += step
                edge.channel.claimed += step
        one.launched += frames
        one.completed += frames
        self.ddr.count_frames(frames)
        self.nms.count_frames(one.network, frames)
        self.clusters.count_frames(one.network, frames)
        last = one.instant(one.flow.output_done_ns(one.launched - 1))
        self.host.skip(one.inputs, one.outputs, frames, one.flow.interval_ns, last)
        self.jumps += 1
        return frames

    def _count(self, one: FramePass, edge: Edge, frames: int) -> None:
        transfers, channel = frames * edge.transfers, edge.channel
        edge.done += frames
        channel.processed += transfers * edge.descriptors_per_frame
        channel.transfers += transfers
        size = transfers * edge.frame_bytes
        channel.bytes += size
        one.context.data_bytes += size

    def _internal_content(self, edge: Edge, frame: int) -> Content | None:
        found = self.vdma.memory_behind(edge.buffer, frame, edge.descriptors_per_frame)
        if found is None:
            return None
        buffer, offset = found
        return buffer.content(offset, edge.frame_bytes)

    def _write_internal(self, edge: Edge, frame: int, content: Content) -> None:
        # a DDR portal is a ring of rows: what remains in it are the rows of the last frame
        place = 0 if edge.kind is EdgeKind.DDR else frame
        found = self.vdma.memory_behind(edge.buffer, place, edge.descriptors_per_frame)
        if found is not None:
            buffer, offset = found
            buffer.write(offset, content)

    def _trace_unit(self, unit: str, what: str, cause: str) -> None:
        assert self.tracer is not None
        self.tracer.emit(Event(self.clock.time, Kind.UNIT, self.application, action=what, unit=unit, cause=cause))

    def _trace(self, one: FramePass, edge: Edge, frame: int, now: int) -> None:
        assert self.tracer is not None
        name = self.stream_names.get(edge.channel.packed, "") if edge.boundary else ""
        self.tracer.emit(
            Event(
                now,
                Kind.TRANSFER,
                self.application,
                one.context.name,
                unit=edge.channel.describe(),
                cause=f"{edge.kind.value} stream {edge.stream}" + (f" {name}" if name else ""),
                bytes=edge.frame_bytes * edge.transfers,
                frame=one.first_frame + frame,
                arguments={
                    "available": edge.channel.available,
                    "processed": edge.channel.processed,
                    "transfers": edge.transfers,
                    "dma_address": edge.buffer.dma_address,
                },
            )
        )
