"""The compiled result: everything the runtime sends to one device for one configure call.

This is the only thing that passes from the sequencer to the device: bytes for the control messages, and the host
memory (descriptor lists over buffers) that the bytes point into.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from msgspec import Struct

from emu.chips.runtimes import device_profile
from emu.sequencer.segments import Segments
from emu.wire.control import (
    ContextSwitchStatus,
    Opcode,
    change_context_switch_status,
    encode_request,
    set_context_info,
    set_network_group_header,
)
from emu.wire.lists import Located
from emu.wire.wire import wire_of

MAX_CONTEXTS = 1024  # with the three that are not dynamic (hef-compile.md 1)


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
    return tuple(wire_of(runtime).decode(action_list))


class ContextProgram(Struct, frozen=True):
    """One context: `index` counts dynamic contexts, 0 for the three others; `chunks` are bytes per control message."""

    context_type: ContextType
    index: int
    action_list: bytes
    chunks: tuple[int, ...]

    def actions(self, runtime: str) -> list[Located]:
        return list(_decoded(self.action_list, runtime))


class DescriptorProgram(Struct, frozen=True):
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
    segments: Segments | None
    device_interrupt: bool
    transfers: int = 1


class DescriptorList(Struct, frozen=True):
    """A descriptor list at its DMA address; `programs` in the order the driver was told."""

    dma_address: int
    count: int
    page_size: int
    circular: bool
    programs: tuple[DescriptorProgram, ...]


class ContinuousBuffer(Struct, frozen=True):
    """A CCB buffer in device-visible memory; `segments` as in DescriptorProgram, the rest of `size` is zero."""

    dma_address: int
    size: int
    segments: Segments | None


class BoundaryStream(Struct, frozen=True):
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


class Cache(Struct, frozen=True):
    """A KV cache: a ring of entries behind two descriptor lists, one that reads and one that writes (vdma.md 3.6).

    `input_length` and `output_length`: entries that move per frame; the ring has as many as both together. `in_one`:
    entries that lie together are one transfer.
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
    in_one: bool = False

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
            start, size, transfers = done * per_entry, self.entry_size, count
            if self.in_one:
                start, size, transfers = done * self.padded_entry_size // self.page_size, count * self.entry_size, 1
            out.append(DescriptorProgram(start, size, self.buffer_id, offset, None, False, transfers))
            done += count
        return tuple(out)


class ActionListRecord(Struct, frozen=True):
    """An action list handed over through DDR (firmware-actions.md 4): its DMA address and the joined bytes."""

    dma_address: int
    context: ContextProgram


class ComputeFigures(Struct, frozen=True):
    """What a HEF says about the computing of a network group, at the NN clock that it was compiled for.

    `bottleneck_fps` in frames a second, `latency_s` in seconds, `operations` a frame; `hailo8r`: that clock is the
    Hailo-8R's, not the chip's nominal one.
    """

    bottleneck_fps: float
    latency_s: float
    operations: int
    hailo8r: bool


class NetworkGroupProgram(Struct, frozen=True):
    """One network group (application): header, contexts in the order sent, boundary streams inputs first.

    `hw_consts_requests`: how often the library asks for the constants while it compiles the group.
    `figures` None: action lists alone say nothing about computing.
    """

    name: str
    application_index: int
    application_header: bytes
    contexts: tuple[ContextProgram, ...]
    ddr_action_list: tuple[ActionListRecord, ...]
    streams: tuple[BoundaryStream, ...]
    batch_size: int
    caches: tuple[Cache, ...] = ()
    hw_consts_requests: int = 1
    figures: ComputeFigures | None = None

    def controls(self) -> Iterator[bytes]:
        """The messages that configure it; lists in DDR are found through the header (firmware-actions.md 4)."""
        yield from [encode_request(Opcode.GET_HW_CONSTS)] * self.hw_consts_requests
        yield set_network_group_header(self.application_header)
        for context in self.contexts:
            yield from set_context_info(context.context_type, context.action_list, context.chunks)


class Program(Struct, frozen=True):
    """Everything sent for one configure call; lists and buffers in creation order.

    `controls` is the one list of messages: whoever configures a device sends these, in this order.
    """

    runtime: str
    device: str
    batch: int
    network_groups: tuple[NetworkGroupProgram, ...]
    descriptor_lists: tuple[DescriptorList, ...]
    continuous_buffers: tuple[ContinuousBuffer, ...]

    @property
    def controls(self) -> tuple[bytes, ...]:
        """The control messages of the configure call (captures, phase configure; silicon-facts.md a)."""
        return (
            *opening_controls(self.device),
            *(message for group in self.network_groups for message in group.controls()),
        )


def opening_controls(device: str) -> Iterator[bytes]:
    """What the library asks before it compiles the first HEF."""
    profile = device_profile(device)
    device_information = encode_request(Opcode.GET_DEVICE_INFORMATION)
    yield encode_request(Opcode.IDENTIFY)
    if not profile.integrated:
        yield device_information
    yield change_context_switch_status(ContextSwitchStatus.RESET)
    yield encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS)
    if profile.has_layouts and not profile.integrated:
        yield device_information  # for its cluster layout
