"""The boundary streams of one activated application: buffers are queued, input frames fed, outputs collected.

A stream has no end: whoever has frames says how many more there are. As HailoRT does (silicon-facts.md c), eight
transfers are queued on every output before the first input, and one is queued again for each that completes. Inputs are
queued as far ahead as two batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct, field

from emu.hw.border import ChipPort
from emu.hw.hostmem import Extent, FrameBuffer, HostList
from emu.hw.payload import Content
from emu.sequencer.program import BoundaryStream, Direction

OUTPUT_QUEUE_DEPTH = 8
MINIMAL_INPUT_QUEUE_DEPTH = 4
_COMMON_LENGTH, _COMMON_PAGE = 1 << 16, 512  # of a descriptor list (silicon-facts.md c)

InputFrames = Callable[[str, int], "Content | None"]


def input_queue_depth(batch: int) -> int:
    """Input frames that the host queues ahead on the device."""
    return max(2 * batch, MINIMAL_INPUT_QUEUE_DEPTH)


class Flight(NamedTuple):
    """A transfer that is queued: its descriptors end before the absolute position `end`, its bytes are in `buffer`."""

    end: int
    buffer: FrameBuffer


class StreamState(Struct):
    """One boundary stream since its activation: transfers queued, of which `due` wait for their instant; frames done.

    Its descriptor list is `listed`; `position`, `completed` are absolute descriptor counts: written, and known to be
    processed. `in_flight` are the transfers between them, `frames` the output frames that are not through. `begun` is
    what was done when the present measurement began; the instants are of frames since then: the device wrote the first
    at `written_ns` and the last of the first batch at `batch_ns`, the host was told of the first at `first_ns` and of
    the last at `last_ns`.
    """

    stream: BoundaryStream
    listed: HostList
    per_transfer: int
    queued: int = 0
    due: int = 0
    done: int = 0
    position: int = 0
    completed: int = 0
    in_flight: deque[Flight] = field(default_factory=deque)
    frames: deque[FrameBuffer] = field(default_factory=deque)
    begun: int = 0
    written_ns: int | None = None
    first_ns: int | None = None
    last_ns: int = 0
    batch_ns: int | None = None

    @property
    def room(self) -> int:
        """Transfers that can be queued now: one descriptor stays free, but for a list that is one transfer long."""
        free, size = self.listed.count - (self.position - self.completed), self.per_transfer
        if free == size == self.listed.count:
            return 1
        return max(0, free - 1) // size

    def bind(self, buffer: FrameBuffer, offset: int = 0) -> int:
        """Write the descriptors of one more transfer; returns num_available."""
        start, count = self.position % self.listed.count, self.per_transfer
        self.listed.bound[start] = Extent(start, count, self.stream.transfer_size, buffer, offset)
        self.position += count
        self.in_flight.append(Flight(self.position, buffer))
        return self.position % self.listed.count

    def progress(self, num_processed: int) -> int:
        """The channel came to `num_processed`: how many frames are through since the activation."""
        count = self.listed.count
        moved = (num_processed - self.completed) % count
        if not moved and self.in_flight and self.per_transfer == count:
            moved = count
        self.completed += moved
        flights, bound = self.in_flight, self.listed.bound
        while flights and flights[0].end <= self.completed:
            bound.pop((flights.popleft().end - self.per_transfer) % count, None)
        return self.completed // self.per_transfer // self.stream.transfers_per_frame

    def moved_on(self, descriptors: int, most: int) -> int:
        """So many descriptors more in one step, of whole frames: what is queued lies behind them.

        No more than `most` transfers are queued in all; returns how many descriptors fewer are queued than before.
        """
        bound, count = self.listed.bound, self.listed.count
        bound.clear()
        transfers, per_frame = descriptors // self.per_transfer, self.stream.transfers_per_frame
        fewer = max(0, self.queued + transfers - most)
        self.done += transfers // per_frame
        self.completed += descriptors
        queued = transfers - fewer
        self.queued += queued
        self.position += queued * self.per_transfer
        flights, self.in_flight = list(self.in_flight)[fewer:], deque()
        for end, buffer in flights:
            end += queued * self.per_transfer
            start = (end - self.per_transfer) % count
            if buffer.make is not None:
                buffer.number += queued // per_frame
            bound[start] = Extent(start, self.per_transfer, self.stream.transfer_size, buffer, 0)
            self.in_flight.append(Flight(end, buffer))
        return fewer * self.per_transfer


class Host:
    """Feeds one activated application and collects from it; the device interrupts as frames are taken and delivered.

    `inputs` gives the content of a stream's frame by its number; `contents` keeps those of outputs, by number and
    stream, while `keeps_outputs` is set. `first`: the number of the first frame since the activation. `batch`: frames
    after which the steady part of a measurement begins. The host needs `prepare_ns` before it can launch a frame that
    it has only now, and launches frames `pace_ns` apart.
    """

    def __init__(
        self,
        device: ChipPort,
        streams: Sequence[BoundaryStream],
        batch: int,
        inputs: InputFrames,
        pace_ns: float = 0.0,
        prepare_ns: float = 0.0,
        first: int = 0,
    ) -> None:
        self.device = device
        self.depth = input_queue_depth(batch)
        self.batch = batch
        self.first = first
        self.inputs = {s.packed_vdma_channel_id: self._state(s) for s in streams if s.direction is Direction.H2D}
        self.outputs = {s.packed_vdma_channel_id: self._state(s) for s in streams if s.direction is Direction.D2H}
        self._states = self.inputs | self.outputs
        self._awaited = tuple((self.outputs or self.inputs).values())
        self._least = 0 if self._awaited else 1 << 62  # frames that all of them have delivered
        self._makes = {packed: partial(inputs, one.stream.name) for packed, one in self.inputs.items()}
        self.keeps_outputs = False
        self.contents: dict[int, dict[str, Content | None]] = {}
        self._pace_ns = pace_ns
        self._prepare_ns = round(prepare_ns)
        self.first_input_ns: int | None = None
        self._paced_from = (0, 0)  # the host gives one frame after the other from this instant, and this frame, on
        self._goal = 0
        self.wanted = 0  # frames that there will be since the activation, fed or not
        self.heeded = 1 << 62  # the frame since the activation of which somebody hears as it is done

    def _state(self, stream: BoundaryStream) -> StreamState:
        listed = self.device.host_memory.lists.get(stream.dma_address)
        if listed is None:
            # a capture that lacks it: the host has a list of the common size, which the device does not find
            listed = HostList(stream.dma_address, _COMMON_LENGTH, _COMMON_PAGE, True)
        listed.bound.clear()
        return StreamState(stream, listed, max(1, -(-stream.transfer_size // listed.page_size)))

    @property
    def done(self) -> bool:
        """Whether the frames asked for have been delivered on every output (taken, where there is none)."""
        goal = self._goal
        return self._least >= goal

    def reached(self, frames: int) -> bool:
        """Whether so many frames have been delivered since the activation."""
        return self._least >= frames  # asked at every event

    @property
    def delivered(self) -> int:
        """Frames that every output has delivered (every input taken, where there is none) since the activation."""
        return self._least if self._awaited else self._goal

    def begin_measurement(self, batch: int) -> None:
        """Frames from now on are measured; `batch` of them come before the steady part."""
        self.batch = batch
        self.first_input_ns = None
        for state in (*self.inputs.values(), *self.outputs.values()):
            state.begun, state.written_ns, state.first_ns, state.batch_ns = state.done, None, None, None

    def queue_outputs(self) -> None:
        """Before the first input: buffers on every output."""
        for packed, state in self.outputs.items():
            self._queue_output(packed, state)

    def feed(self, frames: int, rested: bool = False, prepared: bool = False) -> None:
        """There are `frames` more: queue them as far ahead as the host goes.

        `rested`: the host had none before, its pace counts from now; `prepared`: it had the first of them ready.
        """
        if rested:
            ready = self.device.clock.time + (0 if prepared else self._prepare_ns)
            self._paced_from = (ready, self._goal)
        self._goal += frames
        self.wanted = max(self.wanted, self._goal)
        self.queue_outputs()
        for packed, state in self.inputs.items():
            self._feed(packed, state)

    def _feed(self, packed: int, state: StreamState) -> None:
        while state.queued < self._goal and state.queued - state.done < self.depth:
            if state.room <= state.due:  # what is due has room of its own
                return  # the next interrupt comes here again
            due = self._due(state.queued)
            number = self.first + state.queued
            state.queued += 1
            if due <= self.device.clock.time:
                self._launch_input(packed, state, number)
            else:
                state.due += 1
                self.device.clock.at(due, partial(self._launch_late, packed, state, number))

    def _due(self, queued: int) -> int:
        """When the host has a frame, at its pace."""
        begun_ns, begun_at = self._paced_from
        return begun_ns + round((queued - begun_at) * self._pace_ns)

    def _launch_input(self, packed: int, state: StreamState, number: int) -> None:
        if self.first_input_ns is None:
            self.first_input_ns = self.device.clock.time
        buffer = FrameBuffer(state.stream.transfer_size, number=number, make=self._makes[packed])
        self.device.launch(packed, state.bind(buffer))

    def _launch_late(self, packed: int, state: StreamState, number: int) -> None:
        state.due -= 1
        if state.room:
            self._launch_input(packed, state, number)

    def _queue_output(self, packed: int, state: StreamState) -> None:
        """Keep eight transfers queued, but none beyond the eight behind the last frame wanted."""
        per_frame, size = state.stream.transfers_per_frame, state.stream.transfer_size
        limit = self._most_queued(state)
        while state.queued - state.done * per_frame < OUTPUT_QUEUE_DEPTH and state.queued < limit:
            if not state.room:
                return
            part = state.queued % per_frame
            if not part:
                state.frames.append(FrameBuffer(size * per_frame))
            # what is queued of an NMS frame that has come already is no more than its place in the list
            buffer = state.frames[-1] if state.frames else FrameBuffer(size * per_frame)
            state.queued += 1
            self.device.launch(packed, state.bind(buffer, part * size))

    def _most_queued(self, output: StreamState) -> int:
        """Transfers of an output that are ever queued: eight behind the last frame wanted."""
        return self._goal * output.stream.transfers_per_frame + OUTPUT_QUEUE_DEPTH

    # -- HostPort: what the device asks and tells

    def interrupt(self, packed: int, processed_ns: Sequence[int]) -> None:
        if not processed_ns:
            return  # a late one: another has told it all, and by now the channel may be reset
        state = self._states[packed]
        frames = state.progress(self.device.num_processed(packed)) - state.done
        if frames <= 0:
            return
        if packed in self.inputs:
            state.done += frames
            state.last_ns = processed_ns[-1]
            if not self.outputs:
                self._least = min([one.done for one in self._awaited])
            self._feed(packed, state)
            return
        before = state.done
        for _ in range(frames):
            buffer = state.frames.popleft() if state.frames else None
            if self.keeps_outputs:
                found = None if buffer is None else buffer.content(0, buffer.size)
                self.contents.setdefault(self.first + state.done, {})[state.stream.name] = found
            state.done += 1
            if state.done - state.begun == self.batch:
                state.batch_ns = processed_ns[min(state.done - before, len(processed_ns)) - 1]
        state.last_ns = told = self.device.clock.time
        if before == self._least:
            self._least = min([one.done for one in self._awaited])
        if state.first_ns is None:
            state.written_ns, state.first_ns = processed_ns[0], told
        self._queue_output(packed, state)

    @property
    def _heeded_end(self) -> int:
        """The frame that none is advanced over with: the last one, or one before it that somebody waits for."""
        return min(self._goal, self.heeded)

    def free_frames(self, inputs: Iterable[int] | None = None) -> int:
        """Frames that will flow without the host being late: none if outputs are to be kept."""
        if self.keeps_outputs:
            return 0
        # what is queued already will be played; only frames not yet queued can be skipped
        wanted, end = self.inputs if inputs is None else inputs, self._heeded_end
        return end - max((self.inputs[p].queued for p in wanted if p in self.inputs), default=end)

    def free_batches(self, batch: int) -> int:
        """All but one where what is left behind them is queued; else one beside those that are."""
        if self.keeps_outputs or not self.inputs:
            return 0
        states = self.inputs.values()
        left = min([self._heeded_end - state.done for state in states])
        ahead = min([state.queued - state.done for state in states])
        batches = left // batch - 1
        if ahead >= left - batches * batch:
            return batches
        return (left - ahead) // batch - (ahead < batch)

    def at_once(self, batch: int, ns: int, first: int, last: int) -> bool:
        now = self.device.clock.time
        # the last frame that a batch queues is due before it begins; what a batch adds is the same for all
        return all(
            self._due(state.queued + (number + 1) * batch - 1) < now + number * ns
            for state in self.inputs.values()
            for number in (first, last)
        )

    def counters(self) -> Iterable[tuple[object, str]]:
        for state in self._states.values():
            yield state, "queued"
            yield state, "done"

    def skip(self, descriptors: Mapping[int, int]) -> Mapping[int, int]:
        fewer = {}
        for packed, count in descriptors.items():
            state = self._states.get(packed)
            if state is not None:
                most = self._goal if packed in self.inputs else self._most_queued(state)
                fewer[packed] = state.moved_on(count, most)
        if self._awaited:
            self._least = min([one.done for one in self._awaited])
        return fewer
