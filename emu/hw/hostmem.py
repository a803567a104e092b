"""Host memory as the device's DMA sees it: descriptor lists over buffers, continuous buffers, action lists in DDR.

Built from a compiled `Program`, or from a capture. A capture holds only sizes and hashes of config buffers: such
memory is opaque, its bytes are None and only their count is real.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from emu.hw.payload import Content, Payload
from emu.sequencer.program import DescriptorProgram, Program

Segments = tuple[memoryview | bytes, ...]


@dataclass(slots=True)
class HostBuffer:
    """A mapped buffer: the source bytes it was filled with, and what the device wrote over them.

    `writes` maps an offset to the content written there. Boundary buffers are the host's frames and are not kept.
    """

    size: int
    segments: Segments | None = None
    writes: dict[int, Content] = field(default_factory=dict)
    _ends: list[int] = field(default_factory=list)

    @property
    def opaque(self) -> bool:
        return self.segments is None and not self.writes

    def read(self, offset: int, size: int) -> bytes | None:
        """`size` bytes from `offset`; None where the content is not known."""
        if self.opaque:
            return None
        if self.segments is not None and not self.writes:
            return self._source(offset, size)
        out = bytearray(size)
        if self.segments is not None:
            position = 0
            for segment in self.segments:
                start, stop = max(position, offset), min(position + len(segment), offset + size)
                if start < stop:
                    out[start - offset : stop - offset] = segment[start - position : stop - position]
                position += len(segment)
        for at, content in self.writes.items():
            data = content.materialise() if isinstance(content, Payload) else content
            start, stop = max(at, offset), min(at + len(data), offset + size)
            if start < stop:
                out[start - offset : stop - offset] = data[start - at : stop - at]
        return bytes(out)

    def _source(self, offset: int, size: int) -> bytes:
        """Bytes of the segments alone, zero behind their end; copied once."""
        assert self.segments is not None
        ends = self._ends
        if not ends and self.segments:
            ends = self._ends = list(accumulate(map(len, self.segments)))
        if not offset and ends and ends[-1] <= size:
            return b"".join(self.segments).ljust(size, b"\0")
        first, last = bisect_right(ends, offset), bisect_left(ends, offset + size)
        parts = list(self.segments[first : last + 1])
        if parts:
            # the last one first: it may be the first one too
            if last < len(ends):
                parts[-1] = parts[-1][: offset + size - ends[last] + len(parts[-1])]
            parts[0] = parts[0][offset - (ends[first] - len(self.segments[first])) :]
        return b"".join(parts).ljust(size, b"\0")

    def content(self, offset: int, size: int) -> Content | None:
        """As `read`, without making up the bytes of a frame that was written in one piece."""
        exact = self.writes.get(offset)
        if isinstance(exact, Payload) and exact.size == size:
            return exact
        return self.read(offset, size)

    def write(self, offset: int, content: Content) -> None:
        self.writes[offset] = content


@dataclass(frozen=True, slots=True)
class Extent:
    """Descriptors `[start, start + count)` of a list cover `size` bytes of `buffer` from `offset` on."""

    start: int
    count: int
    size: int
    buffer: HostBuffer
    offset: int
    device_interrupt: bool = False


@dataclass(slots=True)
class HostList:
    """A descriptor list. `extents` in programming order; a later one replaces what it overlaps."""

    dma_address: int
    count: int
    page_size: int
    circular: bool
    extents: list[Extent] = field(default_factory=list)

    def read(self, start: int, count: int) -> tuple[bytes | None, int]:
        """The bytes behind descriptors `[start, start + count)` and how many they are; bytes None if opaque."""
        parts: list[bytes] = []
        total, known, position = 0, True, start
        while position < start + count:
            extent, stop = self._extent_at(position)
            if extent is None:
                # a descriptor that nothing was bound to moves a page of unknown bytes
                total, known, position = total + self.page_size, False, stop
                continue
            stop = min(start + count, stop)
            first = (position - extent.start) * self.page_size
            size = min((stop - extent.start) * self.page_size, extent.size) - first
            data = extent.buffer.read(extent.offset + first, size)
            total += size
            if data is None:
                known = False
            else:
                parts.append(data)
            position = stop
        return (b"".join(parts) if known else None), total

    def buffer_at(self, position: int) -> tuple[HostBuffer, int] | None:
        """The buffer and the offset in it that descriptor `position` points to."""
        extent, _ = self._extent_at(position % self.count)
        if extent is None:
            return None
        return extent.buffer, extent.offset + (position % self.count - extent.start) * self.page_size

    def _extent_at(self, position: int) -> tuple[Extent | None, int]:
        """The extent that covers a descriptor, and the descriptor behind it from which on it no longer does."""
        replaced_from: list[int] = []
        for extent in reversed(self.extents):
            if extent.start <= position < extent.start + extent.count:
                return extent, min([extent.start + extent.count, *replaced_from])
            if extent.start > position:
                replaced_from.append(extent.start)
        return None, position + 1


@dataclass(slots=True)
class HostMemory:
    """Everything the device can reach by DMA address."""

    lists: dict[int, HostList] = field(default_factory=dict)
    continuous: list[tuple[int, HostBuffer]] = field(default_factory=list)
    action_lists: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def continuous_at(self, address: int) -> tuple[HostBuffer, int] | None:
        """The continuous buffer at a DMA address and the offset in it."""
        for base, buffer in self.continuous:
            if base <= address < base + buffer.size:
                return buffer, address - base
        return None

    def action_lists_from(self, address: int) -> Iterator[tuple[int, bytes]]:
        """Type and bytes of the action lists in DDR, from `address` upwards (firmware-actions.md 4)."""
        for base in sorted(self.action_lists):
            if base >= address:
                yield self.action_lists[base]

    @classmethod
    def from_program(cls, program: Program) -> HostMemory:
        """The memory that the sequencer laid out."""
        memory = cls()
        buffers: dict[int, HostBuffer] = {}
        for described in program.descriptor_lists:
            host_list = HostList(described.dma_address, described.count, described.page_size, described.circular)
            for entry in described.programs:
                host_list.extents.append(_extent(entry, described.page_size, buffers))
            memory.lists[described.dma_address] = host_list
        for continuous in program.continuous_buffers:
            memory.continuous.append((continuous.dma_address, HostBuffer(continuous.size, continuous.segments)))
        for group in program.network_groups:
            for record in group.ddr_action_list:
                context = record.context
                memory.action_lists[record.dma_address] = (int(context.context_type), context.action_list)
        return memory


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
