"""The host's memory over the protocol: a compiled program as messages, and those as memory that the DMA reaches."""

from __future__ import annotations

from collections.abc import Iterator

from emu.conform.protocol import CHUNK, MOST_ENTRIES, Entry, Kind, Message, ProtocolError, entries_of, message
from emu.conform.protocol import pack_entries as packed
from emu.hw.border import ChipPort
from emu.sequencer.program import (
    ActionListRecord,
    ContextProgram,
    ContextType,
    ContinuousBuffer,
    DescriptorList,
    DescriptorProgram,
    NetworkGroupProgram,
    Program,
)
from emu.sequencer.segments import Segments

MOST_BYTES = 1 << 30
"""Of all contents that one host gives."""

ANY_CONTEXT, NO_STREAM = 0xFFFF, 0xFF
"""Of STREAM: any context, an unknown stream."""


def memory_messages(program: Program) -> Iterator[Message]:
    """What tells a target of a program's memory, in the order in which it has to be told."""
    yield from _Teller().tell(program)


def stream_messages(program: Program) -> Iterator[Message]:
    """What tells a target of a program's boundary channels."""
    for group in program.network_groups:
        for one in group.streams:
            yield message(
                Kind.STREAM,
                application=group.application_index,
                channel=one.packed_vdma_channel_id,
                direction=int(one.direction),
                stream=one.stream_index if one.stream_index >= 0 else NO_STREAM,
                context=one.context_index if one.context_index >= 0 else ANY_CONTEXT,
                transfers=one.transfers_per_frame,
                transfer_size=one.transfer_size,
                address=one.dma_address,
                name=one.name,
            )


class _Teller:
    """Numbers buffers: one for each that several programmings share, one for each content."""

    def __init__(self) -> None:
        self._shared: dict[int, int] = {}
        self._count = 0

    def tell(self, program: Program) -> Iterator[Message]:
        sizes = _shared_sizes(program)
        for described in program.descriptor_lists:
            entries = []
            for one in described.programs:
                if one.segments is None:
                    if one.buffer_id not in self._shared:
                        self._shared[one.buffer_id] = self._next()
                        yield _buffer(self._shared[one.buffer_id], sizes[one.buffer_id], None)
                    number, offset = self._shared[one.buffer_id], one.offset
                else:
                    number, offset = self._next(), 0
                    yield from _filled(number, one.size, one.segments)
                interrupt = int(one.device_interrupt)
                entries.append(Entry(one.start, one.transfers, one.size, number, offset, interrupt))
            for at in range(0, len(entries) or 1, MOST_ENTRIES):
                yield message(
                    Kind.LIST,
                    address=described.dma_address,
                    count=described.count,
                    page_size=described.page_size,
                    circular=int(described.circular),
                    entries=packed(entries[at : at + MOST_ENTRIES]),
                )
        for continuous in program.continuous_buffers:
            number = self._next()
            if continuous.segments is None:
                yield _buffer(number, continuous.size, None)
            else:
                yield from _filled(number, continuous.size, continuous.segments)
            yield message(Kind.CONTINUOUS, address=continuous.dma_address, buffer=number)
        for group in program.network_groups:
            for record in group.ddr_action_list:
                yield message(
                    Kind.ACTION_LIST,
                    address=record.dma_address,
                    context_type=int(record.context.context_type),
                    data=record.context.action_list,
                )

    def _next(self) -> int:
        self._count += 1
        return self._count


def _shared_sizes(program: Program) -> dict[int, int]:
    """Bytes of the buffers without a content of their own, by their ids: as far as anything is programmed."""
    sizes: dict[int, int] = {}
    for described in program.descriptor_lists:
        for one in described.programs:
            if one.segments is None:
                per_transfer = -(-one.size // described.page_size) * described.page_size
                end = one.offset + (one.size if one.transfers == 1 else one.transfers * per_transfer)
                sizes[one.buffer_id] = max(sizes.get(one.buffer_id, 0), end)
    return sizes


def _buffer(number: int, size: int, data: bytes | None, offset: int = 0) -> Message:
    known = int(data is not None)
    return message(Kind.BUFFER, buffer=number, size=size, known=known, offset=offset, data=data or b"")


def _filled(number: int, size: int, segments: Segments) -> Iterator[Message]:
    offset = 0
    if not any(len(one) for one in segments):
        yield _buffer(number, size, b"")
    for segment in segments:
        for at in range(0, len(segment), CHUNK):
            data = bytes(segment[at : at + CHUNK])
            yield _buffer(number, size, data, offset)
            offset += len(data)


class GivenMemory:
    """What a host told; `map_into` puts it where a chip's DMA finds it, once. It costs what was received."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._contents: dict[int, list[bytes]] = {}
        self._received: dict[int, int] = {}
        self._lists: list[DescriptorList] = []
        self._continuous: list[ContinuousBuffer] = []
        self._records: list[ActionListRecord] = []
        self._total = 0

    def take(self, told: Message) -> None:
        """One message; ProtocolError for a buffer that was not named before, or bytes out of their order."""
        self._total += sum(len(one) for one in told.fields.values() if isinstance(one, bytes)) + 64
        if self._total > MOST_BYTES:
            raise ProtocolError(f"more than {MOST_BYTES} bytes of memory")
        match told.kind:
            case Kind.BUFFER:
                self._buffer(told)
            case Kind.LIST:
                self._list(told)
            case Kind.CONTINUOUS:
                number = told["buffer"]
                self._check(number)
                size = self._sizes[number]
                self._continuous.append(ContinuousBuffer(told["address"], size, self._segments(number)))
            case _:
                try:
                    kind = ContextType(told["context_type"])
                except ValueError:
                    raise ProtocolError(f"no context has the type {told['context_type']}") from None
                context = ContextProgram(kind, 0, told["data"], ())
                self._records.append(ActionListRecord(told["address"], context))

    def map_into(self, chip: ChipPort) -> None:
        """What was told since the last call; ProtocolError where something else is at an address."""
        if not (self._lists or self._continuous or self._records):
            return
        group = NetworkGroupProgram("", 0, b"", (), tuple(self._records), (), 1)
        told = Program("", "", 1, (group,), tuple(self._lists), tuple(self._continuous))
        self._lists, self._continuous, self._records = [], [], []
        try:
            chip.map_memory(told)
        except ValueError as error:
            raise ProtocolError(str(error)) from None

    def _buffer(self, told: Message) -> None:
        number = told["buffer"]
        self._sizes[number] = told["size"]
        if told["known"]:
            content = self._contents.setdefault(number, [])
            there = self._received.get(number, 0)
            if told["offset"] != there:
                raise ProtocolError(f"buffer {number}: bytes at {told['offset']}, {there} were given")
            content.append(told["data"])
            self._received[number] = there + len(told["data"])

    def _list(self, told: Message) -> None:
        if not told["count"] or not told["page_size"]:
            raise ProtocolError(f"a list of {told['count']} descriptors of {told['page_size']} bytes")
        programs = []
        for one in entries_of(told["entries"]):
            self._check(one.buffer)
            programs.append(
                DescriptorProgram(
                    one.start,
                    one.size,
                    one.buffer,
                    one.offset,
                    self._segments(one.buffer),
                    bool(one.device_interrupt),
                    max(1, one.transfers),
                )
            )
        last = self._lists[-1] if self._lists else None
        if last is not None and last.dma_address == told["address"]:
            programs[:0] = self._lists.pop().programs
        self._lists.append(
            DescriptorList(told["address"], told["count"], told["page_size"], bool(told["circular"]), tuple(programs))
        )

    def _segments(self, number: int) -> Segments | None:
        content = self._contents.get(number)
        return None if content is None else tuple(content)

    def _check(self, number: int) -> None:
        if number not in self._sizes:
            raise ProtocolError(f"buffer {number} was not described")
