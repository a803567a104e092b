"""A network group configured on an open device: frames go in by number, outputs come out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import xxhash

from emu.errors import EmuError, HailoError, HailoStatus, UsageError
from emu.host.computing import ComputedOutputs
from emu.host.driver import Driver
from emu.host.jobs import Agreements, Frames, InputContents, Job, Outputs, Taker, as_bytes
from emu.host.scheduler import Scheduling
from emu.host.streams import Host, input_queue_depth
from emu.hw.border import StreamLabel
from emu.hw.payload import Content, Payload
from emu.sequencer.program import BoundaryStream, Direction, Program
from emu.timing.model import GroupTiming
from emu.wire.control import ContextSwitchStatus, change_context_switch_status
from emu.wire.wire import wire_of

if TYPE_CHECKING:
    from emu.host.computing import GroupComputing
    from emu.host.vstreams import UserFrames

# wire bytes of one frame, or of several
Wire = bytes | Sequence[bytes]


class Application:
    """One configured application. `OpenDevice.configure` makes it.

    `position` is the group's in its program, `index` the firmware's number for it.
    `batch` is what it was configured with; a `single_context` network runs its one dynamic context without end, others
    run batch by batch.

    It owns the numbers of its frames: they count from 0 over its whole life, whatever runs between, and what a
    synthetic output holds follows from (seed, stream, number, input, configuration) alone.
    """

    def __init__(
        self,
        driver: Driver,
        program: Program,
        position: int,
        index: int,
        timing: GroupTiming,
        *,
        seed: int,
        advance: Callable[[Callable[[], bool]], None],
        release: Callable[[Application], None],
        user_frames: Callable[[], UserFrames] | None = None,
        outputs: Outputs | ComputedOutputs | None = None,
        agreements: Agreements | None = None,
        burst: int | None = None,
    ) -> None:
        group = program.network_groups[position]
        self.program = program
        self.position = position
        self.group = group
        self.index = index
        self.timing = timing
        self.seed = seed
        header = wire_of(program.runtime).header.decode(group.application_header)
        self.batch: int = header.batch_size
        self.single_context: bool = header.dynamic_contexts_count == 1
        self.scheduling = Scheduling(burst or input_queue_depth(self.batch), last_started_ns=driver.chip.clock.time)
        self.released = False
        self.host: Host | None = None
        self.hardware_batch = self.batch
        self.started_ns = 0
        self.activated_ns = 0
        self._driver = driver
        self._advance = advance
        self._release = release
        self._make_user_frames = user_frames
        self._user_frames: UserFrames | None = None
        self._looks = outputs is not None  # at every frame: what it gives may depend on those before
        given = outputs.given if isinstance(outputs, ComputedOutputs) else outputs
        core = outputs.groups[position].model(self._tell_real) if isinstance(outputs, ComputedOutputs) else None
        self.computing: GroupComputing | None = None  # what the core computes, where that was asked for
        self._sizes = {one.name: one.transfer_size * one.transfers_per_frame for one in group.streams}
        self._pending: deque[Frames] = deque()
        self._submitted = self._sent = self._finished = 0  # numbers of the next frames
        self._activated_at = 0  # number of the first frame since the activation
        self._rested = True  # it had nothing to do before its next frame
        self._first_batch = self.batch
        self._cache_offset = 0  # entries
        self.stop_at: int | None = None  # a frame behind which somebody wants to look
        self._real: dict[int, frozenset[str]] = {}  # streams of frames whose bytes are no synthetic ones
        driver.inspection.probe.judges[index] = agreements or tuple
        driver.chip.compute_with(index, None if given is None else partial(self._compute, given), core)
        driver.chip.name_streams(index, {one.packed_vdma_channel_id: label_of(one) for one in group.streams})

    # -- what the user calls

    @property
    def name(self) -> str:
        """The network group's name."""
        return self.group.name

    @property
    def input_streams(self) -> dict[str, int]:
        """Bytes of a frame of each input stream on the wire, by name."""
        return self._streams(Direction.H2D)

    @property
    def output_streams(self) -> dict[str, int]:
        """Bytes of a frame of each output stream on the wire, by name."""
        return self._streams(Direction.D2H)

    def infer(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Submit frames and wait for them: {input vstream: array} to {output vstream: array}, a frame a row.

        Each array is of the vstream's default user format behind a leading frames axis (float32 is quantised); outputs
        likewise, NMS results as their raw bytes. UsageError for a name, shape or dtype that does not fit.
        """
        return self.submit(inputs).wait()

    def submit(self, inputs: Mapping[str, Any]) -> Job[dict[str, Any]]:
        """As `infer`, without waiting: no simulated time passes."""
        user = self.user_frames
        frames = user.to_wire(inputs)
        return self._job(
            [_checked(frame, self.input_streams) for frame in frames],
            lambda done: user.from_wire(done.results, done.first, done.real),
        )

    def submit_raw(self, frames: Mapping[str, Wire]) -> Job[dict[str, Any]]:
        """Wire bytes of every input stream, one frame as bytes or one entry a frame; the job's outputs likewise.

        UsageError for a stream that is missing, unknown or of another size.
        """
        self._check_alive()
        one = all(isinstance(data, bytes | bytearray | memoryview) for data in frames.values())
        columns: dict[str, Sequence[bytes]] = {
            name: [bytes(data)] if isinstance(data, bytes | bytearray | memoryview) else data
            for name, data in frames.items()
        }
        counts = {len(column) for column in columns.values()}
        if len(counts) > 1:
            raise UsageError(f"streams with {', '.join(map(str, sorted(counts)))} frames at once")
        rows = [{name: bytes(column[at]) for name, column in columns.items()} for at in range(min(counts, default=1))]
        checked = [_checked(row, self.input_streams) for row in rows]
        names = list(self.output_streams)

        def convert(done: Frames) -> dict[str, Any]:
            return {name: done.results[0][name] if one else [row[name] for row in done.results] for name in names}

        return self._job(checked, convert)

    def set_scheduler(
        self, *, threshold: int | None = None, timeout_ms: float | None = None, priority: int | None = None
    ) -> None:
        """HailoRT's set_scheduler_threshold, _timeout, _priority (pyhailort-api.md, Scheduler).

        HAILO_INVALID_ARGUMENT for a threshold above the batch of a network whose batch matters, a priority above 31.
        """
        self.scheduling.change(
            threshold=threshold,
            timeout_ns=None if timeout_ms is None else round(timeout_ms * 1e6),
            priority=priority,
            batch=self.batch if self.dynamic_batch else None,
        )

    def release(self) -> None:
        """Give the application back; frames that are still queued end with HAILO_STREAM_ABORT."""
        if not self.released:
            self._release(self)

    def move_cache(self, entries: int | None = None) -> None:
        """HailoRT's update_cache_offset: reading starts so many entries later, and writing behind what is read.

        None: as many as a frame writes, so that they are read next (house rule; vdma.md 3.6).
        """
        memory = self._driver.chip.host_memory
        self._cache_offset += (
            max((one.output_length for one in self.group.caches), default=0) if entries is None else entries
        )
        for cache in self.group.caches:
            ring = cache.input_length + cache.output_length
            reads, writes = cache.programs(self._cache_offset % ring)
            for address, programs in ((cache.input_dma_address, reads), (cache.output_dma_address, writes)):
                if address in memory.lists:
                    memory.lists[address].program(programs)

    # -- frames

    def submit_frames(
        self, count: int, inputs: InputContents | None = None, keep: bool = False, take: Taker | None = None
    ) -> Frames:
        """`count` frames whose contents come from `inputs` by stream and number (None: seeded random).

        Their outputs are kept where `keep` asks for them, or given to `take` one by one.
        """
        self._check_alive()
        if not self._pending:
            self._rested = True
        keep = keep or take is not None or self._looks
        frames = Frames(self._submitted, count, inputs or self._random_input, keep, take)
        self._submitted += count
        self._pending.append(frames)
        if self.host is not None:
            self.host.keeps_outputs |= frames.keep
        return frames

    @property
    def queued(self) -> int:
        """Frames that wait to be sent to the device."""
        return self._submitted - self._sent

    @property
    def on_device(self) -> int:
        """Frames that were sent and are not done."""
        return self._sent - self._finished

    @property
    def ready(self) -> int:
        """Frames that the device would take now (pyhailort-api.md, Scheduler)."""
        return min(self.queued, max(0, input_queue_depth(self.batch) - self.on_device))

    @property
    def dynamic_batch(self) -> bool:
        """Whether the hardware batch is the number of frames that are sent (pyhailort-api.md, Scheduler)."""
        return not self.single_context and self.batch > 1

    def portion(self, most: int | None = None) -> tuple[int, int]:
        """(frames that can be sent together, their hardware batch): `most` at a time, or all that are queued."""
        count = self.queued if most is None else min(self.ready, most)
        if not self.dynamic_batch:
            return count, self.batch
        return (count - count % self.batch, self.batch) if count >= self.batch else (count, count)

    def send(self, count: int, hardware_batch: int) -> None:
        """Make it the running application, with that batch, and send frames."""
        prepared = self.host is None  # while the network was activated
        self._activate(hardware_batch)
        assert self.host is not None
        self._sent += count
        self.host.feed(count, self._rested, prepared)
        self._rested = False

    def collect(self) -> None:
        """Take what the device has delivered; jobs that are done say so."""
        host = self.host
        if host is None:
            return
        arrived = self._activated_at + host.delivered
        while self._pending and self._finished < arrived:
            frames = self._pending[0]
            if frames.keep:
                self._keep(frames, self._finished, host.contents.pop(self._finished, {}))
                self._finished += 1
                frames.finished += 1
            else:
                count = min(arrived - self._finished, frames.count - frames.finished)
                self._finished += count
                frames.finished += count
            if frames.done:
                self._pending.popleft()
                host.keeps_outputs = any(one.keep for one in self._pending)
                frames.end()

    @property
    def delivered(self) -> int:
        """Frames that have been delivered until now, those on their way to `collect` included."""
        host = self.host
        return self._finished if host is None else max(self._finished, self._activated_at + host.delivered)

    @property
    def next_end(self) -> int:
        """Frames since the activation after which there is something to tell or to do."""
        sent = self._sent - self._activated_at
        if self.stop_at is not None and self.stop_at > self._finished:
            sent = min(sent, self.stop_at - self._activated_at)
        return min(sent, self.first_end)

    @property
    def first_end(self) -> int:
        """The frame since the activation with which the first of the frames that were submitted together are done."""
        first = self._pending[0] if self._pending else None
        return self._submitted - self._activated_at if first is None else first.first + first.count - self._activated_at

    def begin_measurement(self, frames: int) -> None:
        """The frames submitted next, `frames` of them, are measured on their own."""
        self._first_batch = min(self.batch, frames)
        if self.host is not None:
            self.host.begin_measurement(self._first_batch)
            self.started_ns = self.activated_ns = self._driver.chip.clock.time

    def skip_turns(self, frames: int) -> None:
        """`frames` frames more came and went in turns of their own; its next one activates it."""
        self._submitted += frames
        self._sent += frames
        self._finished += frames

    def abort(self, error: EmuError) -> None:
        """Nothing more comes of the frames that are not done."""
        self._sent = self._finished = self._submitted
        self.host = None
        pending, self._pending = list(self._pending), deque()
        for frames in pending:
            frames.error = error
        for frames in pending:
            frames.end()

    def left(self) -> None:
        """Another application or none runs now."""
        self.host = None

    def _activate(self, hardware_batch: int) -> None:
        driver, chip = self._driver, self._driver.chip
        dynamic = 0 if hardware_batch == self.batch else hardware_batch
        if self.host is not None:
            if hardware_batch != self.hardware_batch:
                self.hardware_batch = hardware_batch
                driver.send(change_context_switch_status(ContextSwitchStatus.ENABLED, self.index, dynamic))
            return
        host = Host(
            chip,
            self.group.streams,
            self.batch,
            self._content,
            # the flow of a single context contains the host's pace
            0.0 if self.single_context else self.timing.host_ns,
            self.timing.host_ns,
            self._sent,
        )
        host.keeps_outputs = any(one.keep for one in self._pending)
        host.wanted, host.batch = self.queued, self._first_batch
        self._activated_at = self._sent
        chip.attach_host(host, self._activated_at)
        self.hardware_batch = hardware_batch
        self.started_ns = chip.clock.time
        driver.send(change_context_switch_status(ContextSwitchStatus.ENABLED, self.index, dynamic))
        self.host = driver.host = host
        driver.cache_moved = self.move_cache
        host.queue_outputs()
        driver.settle()
        self.activated_ns = driver.inspection.now
        self._rested = True
        self.scheduling.last_started_ns = chip.clock.time

    def _content(self, stream: str, number: int) -> Content | None:
        for frames in self._pending:
            if frames.first <= number < frames.first + frames.count:
                return frames.inputs(stream, number)
        return None

    def _random_input(self, stream: str, number: int) -> Content:
        """Bytes that depend on the seed, the stream and the frame number."""
        return Payload(partial(_random_key, self.seed, stream, number), self._sizes[stream])

    def _keep(self, frames: Frames, number: int, contents: Mapping[str, Content | None]) -> None:
        row = {name: as_bytes(contents.get(name), size) for name, size in self.output_streams.items()}
        real = self._real.pop(number, frozenset())
        if frames.take is not None:
            frames.take(number, row, real)
            return
        frames.results.append(row)
        frames.real.append(real)

    def _compute(self, outputs: Outputs, number: int, arrived: Mapping[str, Content | None]) -> Mapping[str, bytes]:
        """What `outputs` make of a frame, from the inputs as they came over the channels."""
        sizes = self.input_streams
        # an input of a later context has not come yet: a reference sees it all the same (house rule)
        inputs = {name: arrived[name] if name in arrived else self._content(name, number) for name in sizes}
        found = outputs(self.position, number, {name: as_bytes(inputs[name], size) for name, size in sizes.items()})
        given = _checked({name: bytes(data) for name, data in found.items()}, self.output_streams, all_of=False)
        self._tell_real(number, frozenset(given))
        return given

    def _tell_real(self, number: int, streams: frozenset[str]) -> None:
        """Some streams of a frame hold no synthetic bytes."""
        self._real[number] = self._real.get(number, frozenset()) | streams

    def _job(self, rows: list[dict[str, bytes]], convert: Callable[[Frames], dict[str, Any]]) -> Job[dict[str, Any]]:
        first = self._submitted
        frames = self.submit_frames(len(rows), lambda stream, number: rows[number - first][stream], keep=True)
        return Job(frames, self._advance, convert)

    @property
    def user_frames(self) -> UserFrames:
        """Converts user frames; UsageError where the application comes from a program, which has no vstreams."""
        if self._user_frames is None:
            if self._make_user_frames is None:
                raise UsageError(f"{self.name} was configured from a program, which has no vstreams: submit_raw")
            self._user_frames = self._make_user_frames()
        return self._user_frames

    def _streams(self, direction: Direction) -> dict[str, int]:
        return {one.name: self._sizes[one.name] for one in self.group.streams if one.direction is direction}

    def _check_alive(self) -> None:
        if self.released:
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, f"{self.name} was released")


def _random_key(seed: int, stream: str, number: int) -> bytes:
    return xxhash.xxh3_128_digest(f"input {seed} {stream} {number}".encode())


def _checked(row: dict[str, bytes], sizes: Mapping[str, int], all_of: bool = True) -> dict[str, bytes]:
    """The bytes of a frame by stream; UsageError where they are not those of `sizes`."""
    unknown = [name for name in row if name not in sizes]
    missing = [name for name in sizes if name not in row] if all_of else []
    if unknown or missing:
        what = f"no stream {unknown[0]!r}" if unknown else f"nothing for stream {missing[0]!r}"
        raise UsageError(f"{what}; the streams are {', '.join(sizes) or 'none'}")
    for name, data in row.items():
        if len(data) != sizes[name]:
            raise UsageError(f"stream {name}: {len(data)} bytes, a frame has {sizes[name]}")
    return row


def label_of(stream: BoundaryStream) -> StreamLabel:
    """What the device is told of a boundary stream."""
    return StreamLabel(
        stream.name,
        stream.transfers_per_frame,
        stream.stream_index,
        stream.context_index,
        stream.transfer_size * stream.transfers_per_frame,
    )
