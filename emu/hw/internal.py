"""Frames that stay in host memory: between contexts, in the ring of a DDR portal, in a cache."""

from __future__ import annotations

from emu.hw.hostmem import Stretch
from emu.hw.payload import Content, Parts, ring
from emu.hw.vdma import Edge, EdgeKind, Vdma


class InternalMemory:
    """What the internal edges of a chip read and write, through the descriptors of their lists."""

    def __init__(self, vdma: Vdma) -> None:
        self._vdma = vdma

    def read(self, edge: Edge, frame: int) -> Content | None:
        """What a frame (from 0 in its pass) finds; None where nobody knows."""
        stretches = self._stretches(edge, frame)
        if len(stretches) == 1:
            return stretches[0].content()
        parts = [(one.content() or bytes(one.size), 0, one.size) for one in stretches]
        return Parts(parts) if parts else None

    def is_written(self, edge: Edge, frame: int) -> bool:
        """Whether what a frame finds was written; of what no list of the host leads to nothing is known."""
        stretches = self._stretches(edge, frame)
        if not stretches:
            return not self._vdma.is_mapped(edge.buffer)
        return all(one.buffer.written(one.offset, one.size) for one in stretches)

    def write(self, edge: Edge, frame: int, content: Content) -> None:
        """Leave a frame (from 0 in its pass) there."""
        if edge.kind is EdgeKind.DDR:
            # a portal is a ring of rows: what remains in it are the last ones
            count = edge.buffer.total_desc_count
            size = count * edge.buffer.desc_page_size
            if edge.frame_bytes >= size:
                for one in self._vdma.memory_behind(edge.buffer, 0, count, size)[:1]:
                    one.buffer.write(one.offset, ring(content, size, frame * edge.frame_bytes))
                return
        at = 0
        stretches = self._stretches(edge, frame)
        for one in stretches:
            one.buffer.write(one.offset, content if len(stretches) == 1 else Parts([(content, at, one.size)]))
            at += one.size

    def _stretches(self, edge: Edge, frame: int) -> list[Stretch]:
        """Where a frame lies; the entries of a cache lie where its offset says, whichever frame it is."""
        count = edge.descriptors_per_frame
        place = 0 if edge.kind is EdgeKind.CACHE else frame
        return self._vdma.memory_behind(edge.buffer, place * count, count, edge.frame_bytes)
