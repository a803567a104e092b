"""The simulated host of one application: it queues buffers, feeds input frames and collects outputs.

As HailoRT does (silicon-facts.md c): eight transfers are queued on every output before the first input, and one is
queued again for each that completes. Inputs are queued as far ahead as two batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import xxhash

from emu.hw.payload import Content, Payload
from emu.hw.vdma import Channel, Edge, EdgeKind
from emu.sequencer.program import BoundaryStream, Direction

if TYPE_CHECKING:
    from emu.hw.device import Device

OUTPUT_QUEUE_DEPTH = 8
MINIMAL_INPUT_QUEUE_DEPTH = 4

InputFrames = Callable[[str, int], "Content | None"]


@dataclass(slots=True)
class StreamState:
    """One boundary stream: frames queued, frames done, when; `contents` only where outputs are kept."""

    stream: BoundaryStream
    queued: int = 0
    done: int = 0
    first_ns: int | None = None
    last_ns: int = 0
    batch_ns: int | None = None
    transfers: int = 0
    contents: list[Content | None] = field(default_factory=list)


class Host:
    """Runs `frames` frames of one application; the device calls back as frames are taken and delivered."""

    def __init__(
        self,
        device: Device,
        streams: Sequence[BoundaryStream],
        frames: int,
        batch: int,
        inputs: InputFrames,
        keep_outputs: bool = False,
        host_ns: float = 0.0,
    ) -> None:
        self.device = device
        self.frames = frames
        self.batch = batch
        self.inputs = {s.packed_vdma_channel_id: StreamState(s) for s in streams if s.direction is Direction.H2D}
        self.outputs = {s.packed_vdma_channel_id: StreamState(s) for s in streams if s.direction is Direction.D2H}
        self._awaited = tuple((self.outputs or self.inputs).values())
        self._input_frames = inputs
        self.keeps_outputs = keep_outputs
        self._host_ns = host_ns
        self.first_input_ns: int | None = None
        self._goal = frames

    @property
    def done(self) -> bool:
        """Whether the frames asked for have been delivered on every output (taken, where there is none)."""
        goal = self._goal
        # asked at every event: a list is faster than all()
        return not [state for state in self._awaited if state.done < goal]

    def set_goal(self, frames: int) -> None:
        """Stop at this many frames (the last, partial batch runs after a batch switch)."""
        self._goal = frames
        for packed, state in self.outputs.items():
            self._queue_output(packed, state)

    def queue_outputs(self) -> None:
        """Before the first input: buffers on every output."""
        for packed, state in self.outputs.items():
            self._queue_output(packed, state)

    def feed(self) -> None:
        """Queue input frames as far ahead as the host goes."""
        if self.first_input_ns is None:
            self.first_input_ns = self.device.clock.time
        for packed, state in self.inputs.items():
            self._feed(packed, state)

    def _feed(self, packed: int, state: StreamState) -> None:
        depth = max(2 * self.batch, MINIMAL_INPUT_QUEUE_DEPTH)
        while state.queued < self._goal and state.queued - state.done < depth:
            if not self._room(packed):
                return
            due = (self.first_input_ns or 0) + round(state.queued * self._host_ns)
            state.queued += 1
            if due <= self.device.clock.time:
                self.device.launch(packed)
            else:
                self.device.clock.at(due, partial(self._launch_late, packed))

    def _launch_late(self, packed: int) -> None:
        if self._room(packed):  # the channel may have been closed meanwhile
            self.device.launch(packed)

    def _room(self, packed: int) -> bool:
        channel = self.device.vdma.channels.get(packed)
        if channel is None or channel.buffer is None:
            return False
        return channel.length - channel.available + channel.processed > channel.descriptors_per_transfer

    def _queue_output(self, packed: int, state: StreamState) -> None:
        """Keep eight transfers queued, but none beyond the eight behind the last frame wanted."""
        per_frame = self.device.vdma.channel(packed).transfers_per_frame
        limit = self._goal * per_frame + OUTPUT_QUEUE_DEPTH
        while state.queued - state.done * per_frame < OUTPUT_QUEUE_DEPTH and state.queued < limit:
            if not self._room(packed):
                return
            state.queued += 1
            self.device.launch(packed)

    # -- HostPort: what the device asks and tells

    def input_content(self, channel: Channel, frame: int) -> Content | None:
        state = self.inputs[channel.packed]
        return self._input_frames(state.stream.name, frame)

    def input_done(self, channel: Channel, frames: int, ns: int) -> None:
        state = self.inputs[channel.packed]
        state.done += frames
        state.last_ns = ns
        self._feed(channel.packed, state)

    def output_done(self, channel: Channel, frame: int, content: Content | None, ns: int) -> None:
        state = self.outputs[channel.packed]
        state.done += 1
        state.last_ns = ns
        if state.first_ns is None:
            state.first_ns = ns
        if state.done == self.batch:
            state.batch_ns = ns
        if self.keeps_outputs:
            state.contents.append(content)
        self._queue_output(channel.packed, state)

    def free_frames(self, inputs: Iterable[int] | None = None) -> int:
        """Frames that will flow without the host being late: none if outputs are to be kept."""
        if self.keeps_outputs:
            return 0
        # what is queued already will be played; only frames not yet queued can be skipped
        wanted = self.inputs if inputs is None else inputs
        return self._goal - max((self.inputs[p].queued for p in wanted if p in self.inputs), default=self._goal)

    def counters(self) -> Iterable[tuple[object, str]]:
        for state in (*self.inputs.values(), *self.outputs.values()):
            yield state, "queued"
            yield state, "done"

    def skip(self, inputs: list[Edge], outputs: list[Edge], frames: int, interval_ns: float, last_ns: int) -> None:
        for edge in inputs:
            if edge.kind is EdgeKind.BOUNDARY:
                state = self.inputs[edge.channel.packed]
                state.done += frames
                state.queued += frames
        for edge in outputs:
            if edge.kind is EdgeKind.BOUNDARY:
                state = self.outputs[edge.channel.packed]
                state.done += frames
                state.queued += frames * edge.channel.transfers_per_frame
                state.last_ns = last_ns


def random_input(seed: int, sizes: dict[str, int]) -> InputFrames:
    """Seeded random input frames: bytes that depend on the seed, the stream and the frame number."""

    def frame(stream: str, number: int) -> Content:
        return Payload(
            lambda: xxhash.xxh3_128_digest(f"input {seed} {stream} {number}".encode()),
            sizes[stream],
        )

    return frame
