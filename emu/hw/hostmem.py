"""Host memory as the device's DMA sees it: descriptor lists over buffers, continuous buffers, action lists in DDR.

Built from a compiled `Program`, or from a capture. A capture holds only sizes and hashes of config buffers: such
memory is opaque, its bytes are None and only their count is real.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from msgspec import Struct, field

from emu.hw.gather import Piece, gathered
from emu.hw.payload import Content, Payload, part
from emu.sequencer.program import DescriptorProgram, Program
from emu.sequencer.segments import Segments


class SourceStretch(Struct, frozen=True):
    """`size` bytes of what a buffer was filled with, from `offset` on."""

    segments: Segments
    offset: int
    size: int


class HostBuffer(Struct):
    """A mapped buffer: the source bytes it was filled with, and what the device wrote over them.

    `writes` holds contents by where they were written (offset, size), in the order of time; what is overwritten whole
    is gone, what is overwritten in part is `torn`. Boundary buffers are the host's frames and are not kept.
    """

    size: int
    segments: Segments | None = None
    writes: dict[tuple[int, int], Content] = field(default_factory=dict)
    version: int = 0  # grows with every write, so that what was read can be known to hold still
    torn: set[tuple[int, int]] = field(default_factory=set)
    shared: bool = False  # writes have overlapped
    _ends: list[int] = field(default_factory=list)

    @property
    def opaque(self) -> bool:
        return self.segments is None and not self.writes

    def read(self, offset: int, size: int) -> bytes | None:
        """`size` bytes from `offset`; None where the content is not known."""
        if self.opaque:
            return None
        if self.segments is not None and not self.writes:
            return b"".join(self._source(self.segments, offset, size)).ljust(size, b"\0")
        out = bytearray(size)
        if self.segments is not None:
            position = 0
            for segment in self.segments:
                start, stop = max(position, offset), min(position + len(segment), offset + size)
                if start < stop:
                    out[start - offset : stop - offset] = segment[start - position : stop - position]
                position += len(segment)
        for (at, length), content in self.writes.items():
            start, stop = max(at, offset), min(at + length, offset + size)
            if start < stop:
                out[start - offset : stop - offset] = part(content, start - at, stop - start)
        return bytes(out)

    def pieces(self, offset: int, size: int) -> list[Piece] | None:
        """As `read`, in pieces: source bytes are not copied."""
        if self.segments is not None and not self.writes:
            found = self._source(self.segments, offset, size)
            lacking = size - sum(map(len, found))
            return [*found, bytes(lacking)] if lacking > 0 else found
        data = self.read(offset, size)
        return None if data is None else [data]

    def source(self, offset: int, size: int) -> SourceStretch | None:
        """Where bytes come from that nobody wrote since the buffer was filled; None for any other."""
        return None if self.segments is None or self.writes else SourceStretch(self.segments, offset, size)

    @property
    def filled(self) -> Piece:
        """All that it was filled with."""
        segments = self.segments or ()
        return gathered(segments, sum(map(len, segments)))

    def _source(self, segments: Segments, offset: int, size: int) -> list[Piece]:
        """Pieces of the segments alone."""
        ends = self._ends
        if not ends and segments:
            ends = self._ends = list(accumulate(map(len, segments)))
        if not offset and ends and ends[-1] <= size:
            return list(segments)
        first, last = bisect_right(ends, offset), bisect_left(ends, offset + size)
        parts = list(segments[first : last + 1])
        if parts:
            # the last one first: it may be the first one too
            if last < len(ends):
                parts[-1] = parts[-1][: offset + size - ends[last] + len(parts[-1])]
            parts[0] = parts[0][offset - (ends[first] - len(segments[first])) :]
        return parts

    def content(self, offset: int, size: int) -> Content | None:
        """As `read`, without making up the bytes of a frame that was written in one piece."""
        exact = self.writes.get((offset, size))
        if isinstance(exact, Payload) and (offset, size) not in self.torn:
            return exact
        return self.read(offset, size)

    def written(self, offset: int, size: int) -> bool:
        """Whether anything of a stretch was written since the buffer was mapped."""
        if (offset, size) in self.writes or self.segments is not None:
            return True
        return any(at < offset + size and offset < at + length for at, length in self.writes)

    def write(self, offset: int, content: Content) -> None:
        """Write a content over whatever was there; buffers of several streams may share a stretch."""
        place = offset, _size(content)
        if self.shared or place not in self.writes:
            self._overwrite(*place)
        self.writes[place] = content
        self.version += 1

    def _overwrite(self, offset: int, size: int) -> None:
        """Forget what lies within a stretch, and know what reaches into it."""
        end = offset + size
        for at, length in list(self.writes):
            if offset <= at and at + length <= end:
                self.shared |= (at, length) != (offset, size)
                del self.writes[at, length]
                self.torn.discard((at, length))
            elif at < end and offset < at + length:
                self.shared = True
                self.torn.add((at, length))


class FrameBuffer(HostBuffer):
    """A buffer of one frame on a boundary stream; `make` gives its content by its number when somebody reads it."""

    number: int = 0
    make: Callable[[int], Content | None] | None = None

    @property
    def opaque(self) -> bool:
        return False

    def content(self, offset: int, size: int) -> Content | None:
        if self.make is not None:
            made, self.make = self.make(self.number), None
            if made is not None:
                self.writes[0, _size(made)] = made
        if not self.writes:
            return None
        whole = self.writes.get((0, size))
        if whole is not None and offset == 0 and len(self.writes) == 1:
            return whole
        return HostBuffer.read(self, offset, size)

    def read(self, offset: int, size: int) -> bytes | None:
        found = self.content(offset, size)
        return found.materialise() if isinstance(found, Payload) else found


def _size(content: Content) -> int:
    return content.size if isinstance(content, Payload) else len(content)


class Extent(Struct, frozen=True):
    """Descriptors `[start, start + count)` of a list cover `size` bytes of `buffer` from `offset` on."""

    start: int
    count: int
    size: int
    buffer: HostBuffer
    offset: int
    device_interrupt: bool = False


class Stretch(Struct, frozen=True):
    """`size` bytes of a buffer from `offset` on."""

    buffer: HostBuffer
    offset: int
    size: int

    def content(self) -> Content | None:
        return self.buffer.content(self.offset, self.size)


class HostList(Struct):
    """A descriptor list. `extents` in programming order; a later one replaces what it overlaps.

    `bound`: the transfers that the host has queued on a boundary channel, by their first descriptor; they may wrap.
    """

    dma_address: int
    count: int
    page_size: int
    circular: bool
    extents: list[Extent] = field(default_factory=list)
    bound: dict[int, Extent] = field(default_factory=dict)

    def read(self, start: int, count: int) -> tuple[Piece | None, int]:
        """The bytes behind descriptors `[start, start + count)` and how many they are; bytes None if opaque."""
        pieces, total = self.pieces(start, count)
        return (None if pieces is None else gathered(pieces, total)), total

    def pieces(self, start: int, count: int) -> tuple[list[Piece] | None, int]:
        """The same as pieces, source bytes not copied."""
        pieces: list[Piece] = []
        total, known = 0, True
        for buffer, offset, size in self._parts(start, count):
            found = None if buffer is None else buffer.pieces(offset, size)
            total += size
            if found is None:
                known = False
            else:
                pieces += found
        return (pieces if known else None), total

    def sources(self, start: int, count: int) -> tuple[SourceStretch, ...] | None:
        """Where the bytes behind descriptors `[start, start + count)` come from; None where a buffer does not say."""
        found = []
        for buffer, offset, size in self._parts(start, count):
            stretch = None if buffer is None else buffer.source(offset, size)
            if stretch is None:
                return None
            found.append(stretch)
        return tuple(found)

    def _parts(self, start: int, count: int) -> Iterator[tuple[HostBuffer | None, int, int]]:
        """Buffer (None: nothing was bound), offset in it and size of what descriptors move."""
        position = start
        while position < start + count:
            extent, stop = self._extent_at(position)
            if extent is None:
                # a descriptor that nothing was bound to moves a page of unknown bytes
                yield None, 0, self.page_size
            else:
                stop = min(start + count, stop)
                first = (position - extent.start) * self.page_size
                size = min((stop - extent.start) * self.page_size, extent.size) - first
                yield extent.buffer, extent.offset + first, size
            position = stop

    def buffers(self, start: int, count: int) -> list[HostBuffer]:
        """The buffers that any programming of descriptors `[start, start + count)` names."""
        return [one.buffer for one in self.extents if one.start < start + count and start < one.start + one.count]

    def buffer_at(self, position: int) -> tuple[HostBuffer, int] | None:
        """The buffer and the offset in it that descriptor `position` points to."""
        extent, _ = self._extent_at(position % self.count)
        if extent is None:
            return None
        return extent.buffer, extent.offset + (position % self.count - extent.start) * self.page_size

    def stretches(self, start: int, count: int, size: int) -> list[Stretch]:
        """The memory behind `count` descriptors from `start` on, of which `size` bytes move."""
        found: list[Stretch] = []
        position = start
        while position < start + count and size > 0:
            place = position % self.count
            extent, stop = self._extent_at(place)
            if extent is None:
                return found
            covered = min(stop - place, start + count - position)
            moved = min(size, covered * self.page_size)
            offset = extent.offset + (place - extent.start) * self.page_size
            before = found[-1] if found else None
            if before is not None and before.buffer is extent.buffer and before.offset + before.size == offset:
                # programmed at several times, in one piece all the same
                found[-1] = Stretch(before.buffer, before.offset, before.size + moved)
            else:
                found.append(Stretch(extent.buffer, offset, moved))
            position, size = position + covered, size - moved
        return found

    def program(self, programs: Iterable[DescriptorProgram]) -> None:
        """Write the descriptors anew, over the buffer that they are over (a cache whose offset moves)."""
        if self.extents:
            buffers = dict.fromkeys((one.buffer_id for one in programs), self.extents[0].buffer)
            self.extents = [_extent(one, self.page_size, buffers) for one in programs]

    def _extent_at(self, position: int) -> tuple[Extent | None, int]:
        """The extent that covers a descriptor, and the descriptor behind it from which on it no longer does."""
        replaced_from: list[int] = []
        for extent in reversed(self.extents):
            if extent.start <= position < extent.start + extent.count:
                return extent, min([extent.start + extent.count, *replaced_from])
            if extent.start > position:
                replaced_from.append(extent.start)
        return None, position + 1


class HostMemory(Struct):
    """Everything the device can reach by DMA address."""

    lists: dict[int, HostList] = field(default_factory=dict)
    continuous: dict[int, HostBuffer] = field(default_factory=dict)  # by where they begin
    action_lists: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def continuous_at(self, address: int) -> tuple[HostBuffer, int] | None:
        """The continuous buffer at a DMA address and the offset in it."""
        found = self.continuous.get(address)
        if found is not None and found.size:
            return found, 0
        for base, buffer in self.continuous.items():
            if base <= address < base + buffer.size:
                return buffer, address - base
        return None

    def filled_near(self, address: int) -> Iterator[Piece]:
        """What the host filled buffers with (configuration) that lie in the 4 GiB around an address (of a program)."""
        place = address >> 32
        for host_list in self.lists.values():
            if host_list.dma_address >> 32 == place:
                yield from (one.buffer.filled for one in host_list.extents if one.buffer.segments)
        for base, buffer in self.continuous.items():
            if base >> 32 == place and buffer.segments:
                yield buffer.filled

    def action_lists_from(self, address: int) -> Iterator[tuple[int, bytes]]:
        """Type and bytes of the action lists in DDR, from `address` upwards (firmware-actions.md 4)."""
        for base in sorted(self.action_lists):
            if base >= address:
                yield self.action_lists[base]

    @classmethod
    def from_program(cls, program: Program) -> HostMemory:
        """The memory that the sequencer laid out."""
        memory = cls()
        memory.map(program)
        return memory

    def unmap(self, program: Program) -> None:
        """Give back what `map` added for this program."""
        for described in program.descriptor_lists:
            self.lists.pop(described.dma_address, None)
        for continuous in program.continuous_buffers:
            self.continuous.pop(continuous.dma_address, None)
        for group in program.network_groups:
            for record in group.ddr_action_list:
                self.action_lists.pop(record.dma_address, None)

    def map(self, program: Program) -> None:
        """Add the memory that the sequencer laid out for a program; its addresses must be free."""
        buffers: dict[int, HostBuffer] = {}
        for described in program.descriptor_lists:
            host_list = HostList(described.dma_address, described.count, described.page_size, described.circular)
            for entry in described.programs:
                host_list.extents.append(_extent(entry, described.page_size, buffers))
            self.lists[described.dma_address] = host_list
        for continuous in program.continuous_buffers:
            self.continuous[continuous.dma_address] = HostBuffer(continuous.size, continuous.segments)
        for group in program.network_groups:
            for record in group.ddr_action_list:
                context = record.context
                self.action_lists[record.dma_address] = (int(context.context_type), context.action_list)


def _extent(entry: DescriptorProgram, page_size: int, buffers: dict[int, HostBuffer]) -> Extent:
    per_transfer = -(-entry.size // page_size)
    count = per_transfer * entry.transfers
    size = entry.size if entry.transfers == 1 else count * page_size
    if entry.segments is not None:
        # source bytes belong to this one programming; `offset` counts in the mapped buffer, not in the segments
        buffer, offset = HostBuffer(entry.size, entry.segments), 0
    else:
        buffer = buffers.setdefault(entry.buffer_id, HostBuffer(0))
        buffer.size = max(buffer.size, entry.offset + size)
        offset = entry.offset
    return Extent(entry.start, count, size, buffer, offset, entry.device_interrupt)
