"""What an open file holds of the DMA: mapped buffers, descriptor lists, enabled channels (driver-ioctl-4.23.md 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import ECONNRESET, EFAULT, EINVAL, ENOBUFS, ENOMEM
from typing import Any

from emu.card.calls import (
    CHANNELS,
    MAX_BUFFERS,
    MAX_BUFFERS_BY_HANDLE,
    MAX_ENGINES,
    MAX_INTERRUPTS,
    Call,
    Name,
)
from emu.card.card import Answer, Caller, Card
from emu.card.channels import MAX_ONGOING, HostChannel, Owner, Piece, Transfer
from emu.card.errors import CallError
from emu.card.lists import DescriptorList, Programming
from emu.card.memory import PAGE, ClientMemory, MappedBuffer, checked_range
from emu.card.waiting import Handlers, Waiter, Waiters

BOTH, TO_DEVICE, FROM_DEVICE = range(3)
USER_POINTER, DMA_BUF = range(2)
SYNC_FOR_CPU, SYNC_FOR_DEVICE = range(2)
HOST_INTERRUPT = 2
_HANDLE_SHIFT = 12
# what a client can make this side keep; a real driver has the memory of the machine as its limit
MOST_BUFFERS = 1 << 16
MOST_LISTS = 1 << 12
MOST_ALLOCATED = 1 << 18  # pages of low-memory and continuous buffers
MOST_BYTES = 1 << 32  # of a mapped buffer

_CONTINUOUS_BASE = 1 << 40  # DMA addresses of continuous buffers, behind those of all lists


class DmaContext:
    """Buffers, lists and channels of one open file, and the calls that are about them.

    `allocate`: makes room for a low-memory or continuous buffer behind the descriptor, from an offset on (bytes).
    """

    def __init__(self, card: Card, owner: Owner) -> None:
        self.card = card
        self.allocate: Callable[[int, int], None] | None = None
        self.waiting = Waiters()  # for interrupts
        self._owner = owner
        self._buffers: dict[int, MappedBuffer] = {}
        self._next_buffer = 1
        self._lists: dict[int, DescriptorList] = {}
        self._allocated: dict[int, int] = {}
        self._next_handle = 1
        self._found: dict[tuple[int, int, bool], MappedBuffer] = {}
        self.handlers: Handlers = {
            Name.VDMA_ENABLE_CHANNELS: self._enable_channels,
            Name.VDMA_DISABLE_CHANNELS: self._disable_channels,
            Name.VDMA_INTERRUPTS_WAIT: self._interrupts_wait,
            Name.VDMA_INTERRUPTS_READ_TIMESTAMPS: self._read_timestamps,
            Name.VDMA_BUFFER_MAP: self._map,
            Name.VDMA_BUFFER_UNMAP: self._unmap,
            Name.VDMA_BUFFER_SYNC: self._sync,
            Name.DESC_LIST_CREATE: self._create_list,
            Name.DESC_LIST_RELEASE: self._release_list,
            Name.DESC_LIST_PROGRAM: self._program_list,
            Name.VDMA_LOW_MEMORY_BUFFER_ALLOC: self._allocate,
            Name.VDMA_LOW_MEMORY_BUFFER_FREE: self._free,
            Name.VDMA_CONTINUOUS_BUFFER_ALLOC: self._allocate,
            Name.VDMA_CONTINUOUS_BUFFER_FREE: self._free,
            Name.VDMA_LAUNCH_TRANSFER: self._launch,
        }

    def release(self) -> None:
        """Give back everything."""
        for channel in self.card.channels.values():
            if channel.owner is self._owner:
                channel.disable()
        for descriptors in self._lists.values():
            self._forget_list(descriptors)
        self._lists.clear()
        for buffer in self._buffers.values():
            buffer.unmap()
        self._buffers.clear()
        self._found.clear()
        self._allocated.clear()
        self.waiting.clear()

    def answers(self) -> Iterator[tuple[Any, Answer]]:
        """The calls that waited for interrupts and need not wait any more."""
        return self.waiting.answered(lambda waiter: self._interrupts(waiter.call, waiter.fields))

    def ranges(self, call: Call, fields: tuple[Any, ...]) -> list[tuple[int, int]]:
        """Address and size of the client's memory that a call hands to the device, or that has to be there for it."""
        if call.name is Name.VDMA_BUFFER_MAP:
            address, size = fields[:2]
            return [(address, 1), (address + (max(size, 1) - 1) // PAGE * PAGE, 1)]
        if call.name is Name.VDMA_BUFFER_SYNC:
            handle, _, offset, count = fields
            buffer = self._buffers.get(handle)
            fits = buffer is not None and offset <= buffer.size and count <= buffer.size - offset
            return [(buffer.address + offset, count)] if buffer is not None and fits else []
        if call.name is Name.VDMA_LAUNCH_TRANSFER and fields[1] < CHANNELS and self.card.channels[fields[1]].to_device:
            find = self._piece_by_handle if call.by_handle else self._piece
            most = MAX_BUFFERS_BY_HANDLE if call.by_handle else MAX_BUFFERS
            try:
                pieces = [find(True, *fields[6 + 3 * at : 9 + 3 * at]) for at in range(min(fields[5], most))]
            except CallError:
                return []
            return [(piece.buffer.address + piece.offset, piece.size) for piece in pieces if piece.size]
        return []

    # -- buffers

    def _map(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        address, size, direction, kind, allocated, _ = fields
        if direction not in (BOTH, TO_DEVICE, FROM_DEVICE):
            raise CallError(EINVAL, f"direction {direction}")
        if kind == DMA_BUF:
            raise CallError(EINVAL, f"descriptor {address} is no dma-buf")  # this side has made none
        if not 0 < size < MOST_BYTES:
            raise CallError(EINVAL if not size else ENOMEM, f"a buffer of {size} bytes")
        pages = -(-size // PAGE)
        if allocated in self._allocated:
            if pages != self._allocated[allocated]:
                raise CallError(EINVAL, f"{pages} pages of a buffer of {self._allocated[allocated]}")
        else:
            _check_mapped(caller.memory, address, pages)
        if len(self._buffers) >= MOST_BUFFERS:
            raise CallError(ENOMEM, f"more than {MOST_BUFFERS} mapped buffers")
        handle, self._next_buffer = self._next_buffer, self._next_buffer + 1
        self._buffers[handle] = MappedBuffer(
            size, handle=handle, address=address, direction=direction, memory=caller.memory
        )
        self._found.clear()
        return Answer(data=call.fields.pack(address, size, direction, kind, allocated, handle))

    def _unmap(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        buffer = self._buffers.pop(fields[0], None)
        if buffer is None:
            raise CallError(EINVAL, f"buffer {fields[0]} is not mapped")
        buffer.unmap()
        self._found.clear()
        return Answer()

    def _sync(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        handle, kind, offset, count = fields
        buffer = self._buffers.get(handle)
        if buffer is None:
            raise CallError(EINVAL, f"buffer {handle} is not mapped")
        if kind not in (SYNC_FOR_CPU, SYNC_FOR_DEVICE):
            raise CallError(EINVAL, f"sync type {kind}")
        checked_range(offset, count, buffer.size, EINVAL)
        buffer.version += 1  # the client may have written meanwhile
        return Answer()

    def _allocate(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        size = fields[0]
        continuous = call.name is Name.VDMA_CONTINUOUS_BUFFER_ALLOC
        refusal = ENOBUFS if continuous else ENOMEM
        pages = -(-size // PAGE)
        if pages > MOST_ALLOCATED - sum(self._allocated.values()) or (continuous and not pages):
            raise CallError(refusal, f"{pages} pages more than {MOST_ALLOCATED} in all")
        handle = self._next_handle << _HANDLE_SHIFT
        if self.allocate is not None and pages:
            try:
                self.allocate(handle, pages * PAGE)
            except OSError as error:
                raise CallError(refusal, str(error)) from None
        self._next_handle += max(1, pages)  # the handle is the offset in the file
        self._allocated[handle] = pages
        if continuous:
            return Answer(data=call.fields.pack(size, handle, _CONTINUOUS_BASE + handle))
        return Answer(data=call.fields.pack(size, handle))

    def _free(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        if self._allocated.pop(fields[0], None) is None:
            raise CallError(EINVAL, f"buffer {fields[0]} was not allocated")
        return Answer()

    # -- descriptor lists

    def _create_list(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        count, page_size, circular = fields[:3]
        if len(self._lists) >= MOST_LISTS:
            raise CallError(ENOBUFS, f"more than {MOST_LISTS} descriptor lists")
        place = self.card.take_place()
        try:
            made = DescriptorList(self._next_handle << _HANDLE_SHIFT, place, count, page_size, bool(circular))
        except CallError:
            self.card.give_place()
            raise
        self._next_handle += 1
        self._lists[made.handle] = made
        self.card.device.host_memory.lists[made.dma_address] = made.host
        return Answer(data=call.fields.pack(count, page_size, circular, made.handle, made.dma_address))

    def _release_list(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        found = self._lists.pop(fields[0], None)
        if found is None:
            raise CallError(EINVAL, f"no descriptor list {fields[0]}")
        self._forget_list(found)
        return Answer()

    def _forget_list(self, descriptors: DescriptorList) -> None:
        device = self.card.device
        device.host_memory.lists.pop(descriptors.dma_address, None)
        device.config.cache.forget()
        self.card.give_place()

    def _program_list(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        if call.by_handle:
            handle, size, offset, list_handle, _, start, bind, interrupts, _ = fields
            batch, stride = 1, 0
        else:
            handle, size, offset, batch, list_handle, _, start, bind, interrupts, _, stride = fields
        buffer, descriptors = self._buffers.get(handle), self._lists.get(list_handle)
        if buffer is None or descriptors is None:
            raise CallError(EFAULT, f"list {list_handle} over buffer {handle}")
        count = descriptors.program(buffer, Programming(size, offset, batch, start, bool(bind), interrupts, stride))
        self.card.device.config.cache.forget()
        return Answer(count)

    # -- channels

    def _bitmap(self, words: tuple[int, ...]) -> list[HostChannel]:
        """The channels of a bitmap; engines that there are not are ignored."""
        found = []
        for engine, word in enumerate(words[: self.card.engines]):
            while word:
                lowest = word & -word
                found.append(self.card.channel(engine, lowest.bit_length() - 1))
                word ^= lowest
        return found

    def _enable_channels(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        channels = self._bitmap(fields[:MAX_ENGINES])
        taken = [channel for channel in channels if channel.owner is not None]
        if taken:
            raise CallError(EINVAL, f"channel {taken[0].packed} is enabled")
        for channel in channels:
            channel.enable(self._owner, bool(fields[MAX_ENGINES]))
        return Answer()

    def _disable_channels(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        channels = self._bitmap(fields[:MAX_ENGINES])
        for channel in channels:  # whoever enabled them
            channel.disable()
        return Answer()

    def _interrupts_wait(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer | None:
        if not any(fields[: self.card.engines]):
            raise CallError(EINVAL, "no channel to wait for")
        answer = self._interrupts(call, fields)
        if answer is None:
            self.waiting.add(Waiter(caller.ticket, call, fields))
        return answer

    def _interrupts(self, call: Call, fields: tuple[Any, ...]) -> Answer | None:
        """What INTERRUPTS_WAIT has to report; None: nothing yet."""
        channels = self._bitmap(fields[:MAX_ENGINES])
        off = any(channel.owner is None for channel in channels)
        if not off and not any(channel.interrupted for channel in channels):
            return None
        entries = []
        for channel in channels:
            count = channel.take_interrupt(self.card.runs(channel)) if channel.owner is not None else None
            if count is not None:
                entries.append(_interrupt_entry(channel.packed, count, call.by_handle))
        data = b"".join(entries[:MAX_INTERRUPTS])
        return Answer(data=call.fields.pack(*fields[:MAX_ENGINES], len(entries), data))

    def _read_timestamps(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        engine, index = fields[:2]
        stamps = self.card.channel(engine, index).take_stamps()
        data = b"".join(ns.to_bytes(8, "little") + processed.to_bytes(2, "little") for ns, processed in stamps)
        return Answer(data=call.fields.pack(engine, index, len(stamps), data))

    def _launch(self, call: Call, fields: tuple[Any, ...], caller: Caller) -> Answer:
        engine, index, list_handle, start, _, count = fields[:6]
        channel = self.card.channel(engine, index)
        most = MAX_BUFFERS_BY_HANDLE if call.by_handle else MAX_BUFFERS
        if count > most:
            raise CallError(EINVAL, f"{count} buffers")
        descriptors = self._lists.get(list_handle)
        if descriptors is None:
            raise CallError(EFAULT, f"no descriptor list {list_handle}")
        find = self._piece_by_handle if call.by_handle else self._piece
        pieces = tuple(find(channel.to_device, *fields[6 + 3 * at : 9 + 3 * at]) for at in range(count))
        if channel.descriptors not in (None, descriptors):
            raise CallError(EINVAL, f"channel {channel.packed} works with another list than {list_handle}")
        if not self.card.runs(channel):
            raise CallError(ECONNRESET, f"channel {channel.packed} does not run")
        if start != channel.num_available or channel.orphaned:
            raise CallError(EFAULT, f"descriptor {start}, num_available is {channel.num_available}")
        if channel.ongoing >= MAX_ONGOING:
            raise CallError(EFAULT, f"{channel.ongoing} transfers are under way")
        total = sum(descriptors.descriptors(piece.size) for piece in pieces)
        if not total:
            return Answer(0, call.fields.pack(*fields) if call.by_handle else None)
        if total > descriptors.count or (not descriptors.circular and start + total > descriptors.count):
            raise CallError(EFAULT, f"{total} descriptors from {start} of {descriptors.count}")
        first_domain = fields[6 + 3 * most]
        hardware = self.card.device.vdma.channels[channel.packed]
        if total > hardware.length - (hardware.available - hardware.processed):
            raise CallError(EFAULT, f"channel {channel.packed}: its list has no room")
        transfer = Transfer(
            sum(piece.size for piece in pieces),
            stretches=pieces,
            start=start,
            descriptors=total,
            after_first=(start + 1) % descriptors.count,
            after_last=(start + total) % descriptors.count,
            interrupts_at_first=total > 1 and first_domain == HOST_INTERRUPT,
        )
        self.card.boundary.launch(channel, descriptors, transfer)
        if call.by_handle:
            return Answer(0, call.fields.pack(*fields[:-2], total, 0))
        return Answer(total)

    def _piece(self, to_device: bool, kind: int, address: int, size: int) -> Piece:
        """A user-pointer buffer of a launch: it lies inside one mapping whose direction fits."""
        if kind != USER_POINTER:
            raise CallError(EFAULT, f"buffer type {kind}")
        key = address, size, to_device
        found = self._found.get(key)
        if found is None:
            wanted = TO_DEVICE if to_device else FROM_DEVICE
            found = next(
                (
                    buffer
                    for buffer in self._buffers.values()
                    if buffer.direction in (BOTH, wanted)
                    and buffer.address <= address
                    and address + size <= buffer.address + buffer.size
                ),
                None,
            )
            if found is None:
                raise CallError(EFAULT, f"{size} bytes at 0x{address:X} are not mapped")
            if len(self._found) >= MOST_BUFFERS:
                self._found.clear()
            self._found[key] = found
        return Piece(found, address - found.address, size)

    def _piece_by_handle(self, to_device: bool, handle: int, offset: int, size: int) -> Piece:
        buffer = self._buffers.get(handle)
        if buffer is None or buffer.direction not in (BOTH, TO_DEVICE if to_device else FROM_DEVICE):
            raise CallError(EFAULT, f"{size} bytes of buffer {handle}")
        checked_range(offset, size, buffer.size)
        return Piece(buffer, offset, size)


def _interrupt_entry(packed: int, count: int, by_handle: bool) -> bytes:
    engine, index = divmod(packed, CHANNELS)
    if not by_handle:
        return bytes((engine, index, count))
    active = count <= MAX_ONGOING
    # is_active, transfers_completed, host_error, device_error, validation_success
    return bytes((engine, index, active, count if active else 0, 0, 0, 1))


def _check_mapped(memory: ClientMemory, address: int, pages: int) -> None:
    """The ends of a buffer have to be memory of the client; pages between them are looked at when they are used."""
    try:
        memory.read(address, 1)
    except CallError:
        raise CallError(EFAULT, f"nothing at 0x{address:X}") from None
    try:
        memory.read(address + (pages - 1) * PAGE, 1)
    except CallError:
        raise CallError(EINVAL, f"not all of {pages} pages at 0x{address:X}") from None
