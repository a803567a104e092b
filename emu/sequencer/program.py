"""The compiled result: everything the runtime sends to one device for one configure call.

This is the only thing that passes from the sequencer to the device: bytes for the control messages, and the host
memory (descriptor lists over buffers) that the bytes point into.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from emu.sequencer.actions import Located, decode


class ContextType(IntEnum):
    """Context types on the wire (firmware-actions.md 4)."""

    PRELIMINARY = 0
    DYNAMIC = 1
    BATCH_SWITCHING = 2
    ACTIVATION = 3


class Direction(IntEnum):
    """edge_layer_direction (firmware-actions.md 1)."""

    H2D = 1
    D2H = 2


@lru_cache(maxsize=16)
def _decoded(action_list: bytes, runtime: str) -> tuple[Located, ...]:
    # timing, estimate and schedule look at the same few lists in turn
    return tuple(decode(action_list, runtime))


@dataclass(frozen=True, slots=True)
class ContextProgram:
    """One context: `index` counts dynamic contexts, 0 for the three others; `chunks` are bytes per control message."""

    context_type: ContextType
    index: int
    action_list: bytes
    chunks: tuple[int, ...]

    def actions(self, runtime: str) -> list[Located]:
        return list(_decoded(self.action_list, runtime))


@dataclass(frozen=True, slots=True)
class DescriptorProgram:
    """Descriptors written into a list: `transfers` transfers of `size` bytes each, from descriptor `start` on.

    Each transfer begins on a descriptor of its own, and the buffer advances by whole pages (vdma.md 2.3); circular
    lists may wrap. `segments` are the source bytes in order (views of the mapped file, never copies); None: memory
    without initial content (boundary, inter-context, DDR, cache). `offset` is the position in the buffer `buffer_id`,
    so that several lists over one buffer share its bytes. `device_interrupt`: on the last descriptor of all.
    """

    start: int
    size: int
    buffer_id: int
    offset: int
    segments: tuple[memoryview | bytes, ...] | None
    device_interrupt: bool
    transfers: int = 1


@dataclass(frozen=True, slots=True)
class DescriptorList:
    """A descriptor list at its DMA address; `programs` in the order the driver was told."""

    dma_address: int
    count: int
    page_size: int
    circular: bool
    programs: tuple[DescriptorProgram, ...]


@dataclass(frozen=True, slots=True)
class ContinuousBuffer:
    """A CCB buffer in device-visible memory; `segments` as in DescriptorProgram, the rest of `size` is zero."""

    dma_address: int
    size: int
    segments: tuple[memoryview | bytes, ...] | None


@dataclass(frozen=True, slots=True)
class BoundaryStream:
    """A boundary stream as the host sees it: which channel and list, how large a frame is on the wire."""

    name: str
    direction: Direction
    stream_index: int
    packed_vdma_channel_id: int
    network_index: int
    context_index: int
    hw_frame_size: int
    transfer_size: int
    transfers_per_frame: int
    dma_address: int
    batch_size: int


@dataclass(frozen=True, slots=True)
class Cache:
    """A KV cache: a ring of entries behind two descriptor lists, one that reads and one that writes (vdma.md 3.6).

    `input_length` and `output_length`: entries that move per frame; the ring has as many as both together.
    """

    cache_id: int
    buffer_id: int
    entry_size: int
    padded_entry_size: int
    page_size: int
    input_length: int
    output_length: int
    input_dma_address: int
    output_dma_address: int

    def programs(self, read_offset: int) -> tuple[tuple[DescriptorProgram, ...], tuple[DescriptorProgram, ...]]:
        """What both lists hold while reading starts at entry `read_offset`; the writing starts behind what is read."""
        return (
            self._side(read_offset, self.input_length),
            self._side(read_offset + self.input_length, self.output_length),
        )

    def _side(self, first: int, length: int) -> tuple[DescriptorProgram, ...]:
        """One or two runs of entries, wrapping at the end of the ring."""
        ring = self.input_length + self.output_length
        per_entry = -(-self.entry_size // self.page_size)
        out = []
        done = 0
        while done < length:
            entry = (first + done) % ring
            count = min(length - done, ring - entry)
            offset = entry * self.padded_entry_size
            out.append(DescriptorProgram(done * per_entry, self.entry_size, self.buffer_id, offset, None, False, count))
            done += count
        return tuple(out)


@dataclass(frozen=True, slots=True)
class ActionListRecord:
    """An action list handed over through DDR (firmware-actions.md 4): its DMA address and the joined bytes."""

    dma_address: int
    context: ContextProgram


@dataclass(frozen=True, slots=True)
class NetworkGroupProgram:
    """One network group (application): header, contexts in the order sent, boundary streams inputs first."""

    name: str
    application_index: int
    application_header: bytes
    contexts: tuple[ContextProgram, ...]
    ddr_action_list: tuple[ActionListRecord, ...]
    streams: tuple[BoundaryStream, ...]
    batch_size: int
    caches: tuple[Cache, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Everything sent for one configure call; lists and buffers in creation order."""

    runtime: str
    device: str
    batch: int
    network_groups: tuple[NetworkGroupProgram, ...]
    descriptor_lists: tuple[DescriptorList, ...]
    continuous_buffers: tuple[ContinuousBuffer, ...]
    controls: tuple[bytes, ...]
