"""What lets data move over an edge: credits, descriptors, an open channel; and what to say where one is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from emu.hw.descriptors import agrees, walk, wanted_bytes
from emu.hw.passes import OpenedInput
from emu.hw.tasks import BurstCreditsTask, DdrBufferingTask, DdrPair
from emu.hw.vdma import UNMAPPED, Edge, EdgeKind
from emu.sequencer.program import Direction
from emu.wire.actions import HostBufferType


@dataclass(eq=False, slots=True)
class Supply:
    """`opened` is what OPEN_BOUNDARY_INPUT_CHANNEL said of each boundary input."""

    burst: BurstCreditsTask
    ddr: DdrBufferingTask
    opened: dict[int, OpenedInput] = field(default_factory=dict)

    def input_blocked(self, edge: Edge) -> str:
        """Why the next frame cannot come in over an edge; empty if it can."""
        channel = edge.channel
        if _may_be_blocked(edge):
            blocked = self._edge_blocked(edge)
            if blocked or edge.kind is EdgeKind.DDR:
                return blocked
        if not edge.fetched:
            return "no FETCH_DATA_FROM_VDMA_CHANNEL granted it credits"
        if not edge.boundary:
            return self._spent(edge)
        if not channel.host_opened:
            return "its host side was never opened"
        if channel.paused:
            return "the channel is paused"
        job = self.burst.jobs.get(channel.packed)
        if job is None or not self.burst.feeds:
            why = "paused" if self.burst.held else "not started"
            return f"the burst-credits task gives it no credits ({why})"
        opened = self.opened.get(channel.packed)
        if opened is not None and opened.frame_periph_size != job.frame_periph_size:
            return (
                f"FETCH_DATA grants {job.frame_periph_size} bytes a frame, "
                f"OPEN_BOUNDARY_INPUT_CHANNEL announced {opened.frame_periph_size}"
            )
        if not edge.plain:
            return self._poor(edge, job.frame_periph_size) or self._walked(edge)
        if channel.available - channel.claimed < edge.descriptors_per_frame:
            return f"the host has queued no further frame ({channel.progress()})"
        return ""

    def output_blocked(self, edge: Edge) -> str:
        """Why the next frame cannot leave over an edge; empty if it can."""
        channel = edge.channel
        if _may_be_blocked(edge):
            blocked = self._edge_blocked(edge)
            if blocked:
                return blocked
        if not edge.boundary:
            return ""
        if not channel.host_opened:
            return "its host side was never opened"
        if not edge.plain:
            return self._walked(edge)
        # an NMS frame is many transfers, queued one by one: the first of them has to be there
        if channel.available - channel.claimed < channel.descriptors_per_transfer:
            return f"the host has queued no buffer ({channel.progress()})"
        return ""

    def _spent(self, edge: Edge) -> str:
        """Of an internal input: whether the credits of its batch are used up; they are counted in descriptors."""
        taken = (edge.done % edge.batch + 1) * edge.descriptors_per_frame
        if taken <= edge.granted:
            return ""
        return (
            f"FETCH_DATA granted {edge.granted} descriptors for {edge.batch} frames, "
            f"of which each takes {edge.descriptors_per_frame}"
        )

    def _poor(self, edge: Edge, granted: int) -> str:
        """Of a boundary input: whether a frame gets fewer credits than its stream takes; they are counted in bytes."""
        wanted = _credits_of_frame(edge)
        if granted >= wanted:
            return ""
        return f"FETCH_DATA grants {granted} bytes a frame, the stream takes {wanted}"

    def _walked(self, edge: Edge) -> str:
        """Of a channel whose halves or list do not agree: what the walk over its descriptors comes to."""
        channel = edge.channel
        found = walk(edge, max(0, channel.available - channel.claimed))
        wanted = wanted_bytes(edge)
        if found.moved >= wanted:
            return ""
        if found.nowhere >= 0 and channel.available > channel.claimed:
            base = channel.buffer.dma_address if channel.buffer is not None else 0
            channel.aborted = (
                f"the channel is aborted: descriptor {found.nowhere} of the list at 0x{base:X} points nowhere"
            )
            return channel.aborted
        if not found.moved:
            what = "further frame" if channel.packed in self.opened else "buffer"
            return f"the host has queued no {what} ({channel.progress()})"
        return (
            f"a short transfer: {found.moved} of {wanted} bytes moved by {found.descriptors} descriptors "
            f"({channel.progress()})"
        )

    def queue_empty(self, edge: Edge) -> bool:
        """Whether an input has everything but frames of the host."""
        channel = edge.channel
        return (
            edge.boundary
            and channel.host_opened
            and not channel.paused
            and not channel.aborted
            and channel.packed in self.burst.jobs
            and self.burst.feeds
            and channel.available - channel.claimed < edge.descriptors_per_frame
        )

    def _edge_blocked(self, edge: Edge) -> str:
        channel = edge.channel
        if channel.stalled:
            return "the channel is stalled"
        if channel.aborted:
            return channel.aborted
        if edge.most is not None and edge.done >= edge.most:
            return "a descriptor of its list was lost"
        if channel.mapped_stream == UNMAPPED:
            return "no CHANGE_VDMA_TO_STREAM_MAPPING has mapped its channel"
        if channel.mapped_stream is not None and channel.mapped_stream != edge.stream:
            return f"its channel is mapped to stream {channel.mapped_stream}"
        return self._ddr_blocked(edge) if edge.kind is EdgeKind.DDR else ""

    def _ddr_blocked(self, edge: Edge) -> str:
        if edge.buffer.buffer_type == HostBufferType.CCB:
            return ""  # the pair is linked in hardware (vdma.md 3.3)
        pairs = self.ddr.pairs.values()
        packed = edge.channel.packed
        if not any(packed in (pair.h2d, pair.d2h) for pair in pairs):
            return "no ADD_DDR_PAIR_INFO names its channel"
        if not self.ddr.running:
            return "the DDR-buffering task is not running"
        return self._ring_blocked(edge, next(pair for pair in pairs if packed in (pair.h2d, pair.d2h)))

    def _ring_blocked(self, edge: Edge, pair: DdrPair) -> str:
        """The task moves credits of so many descriptors a frame; the producer is at most its buffered rows ahead."""
        if edge.direction is Direction.H2D:
            if pair.descriptors_per_frame < edge.descriptors_per_frame:
                return (
                    f"the DDR-buffering task moves {pair.descriptors_per_frame} descriptors a frame, "
                    f"the stream takes {edge.descriptors_per_frame}"
                )
            return ""
        if pair.descriptors_per_frame > edge.descriptors_per_frame:
            return (
                f"the DDR ring overruns: the task moves {pair.descriptors_per_frame} descriptors a frame, "
                f"the stream gives {edge.descriptors_per_frame}"
            )
        row = -(-edge.registers.core_bytes_per_buffer // edge.buffer.desc_page_size)
        if not edge.buffered_rows:
            return "the DDR ring buffers no row"
        if edge.buffered_rows * row > edge.buffer.total_desc_count:
            return (
                f"the DDR ring overruns: {edge.buffered_rows} rows of {row} descriptors, "
                f"it has {edge.buffer.total_desc_count}"
            )
        return ""


def _may_be_blocked(edge: Edge) -> bool:
    channel = edge.channel
    at_fault = channel.stalled or channel.aborted or edge.most is not None
    return bool(at_fault) or channel.mapped_stream is not None or edge.kind is EdgeKind.DDR


def settle(edge: Edge) -> None:
    """Frames are about to pass: what their channel, list and credits say holds for all of them."""
    edge.plain = not edge.boundary or (agrees(edge) and (edge.direction is Direction.D2H or _paid(edge)))


def _paid(edge: Edge) -> bool:
    """Whether FETCH_DATA grants a boundary input what its stream takes of the burst-credits task for a frame."""
    return not edge.fetched or edge.granted >= _credits_of_frame(edge) * edge.batch


def _credits_of_frame(edge: Edge) -> int:
    """Bytes that a boundary stream counts for a frame: its periph buffers (units.md 7)."""
    return edge.registers.periph_bytes_per_buffer * edge.registers.periph_buffers_per_frame
