"""Channels as the driver keeps them: transfers under way, interrupts, stamps (driver-ioctl-4.23.md 4.7 to 4.11)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from emu.card.calls import MAX_TIMESTAMPS
from emu.card.lists import DescriptorList
from emu.card.memory import MappedBuffer
from emu.hw.hostmem import Extent, HostBuffer
from emu.hw.payload import Content

MAX_ONGOING = 127
NOT_ACTIVE = 0xFF  # what stands for the count where the channel does not run


class Piece(NamedTuple):
    """A stretch of a mapped buffer that takes part in a transfer."""

    buffer: MappedBuffer
    offset: int
    size: int


class Transfer(HostBuffer):
    """A launched transfer, as the DMA meets it: the client's memory is read when it is taken, written when it is put.

    It has `descriptors` of its channel's list from `start` on; num_processed is `after_first` and `after_last` when the
    first and the last of them is done. `taken` hears that the device reads it, `arrive` gets what it writes, and where.
    """

    stretches: tuple[Piece, ...] = ()
    start: int = 0
    descriptors: int = 0
    after_first: int = 0
    after_last: int = 0
    interrupts_at_first: bool = False
    taken: Callable[[Transfer], None] | None = None
    arrive: Callable[[Transfer, int, Content], None] | None = None

    def read(self, offset: int, size: int) -> bytes | None:
        """The bytes to the device; None where the client's memory is gone."""
        if len(self.stretches) == 1:
            piece = self.stretches[0]
            return piece.buffer.read(piece.offset + offset, size)
        parts = [piece.buffer.read(piece.offset, piece.size) for piece in self.stretches]
        return None if None in parts else b"".join(part for part in parts if part is not None)[offset : offset + size]

    def content(self, offset: int, size: int) -> Content | None:
        if self.taken is not None:
            self.taken(self)
        return self.read(offset, size)

    def write(self, offset: int, content: Content) -> None:
        if self.arrive is not None:
            self.arrive(self, offset, content)

    def fill(self, data: bytes) -> None:
        """All bytes from the device; zero behind their end."""
        self.put(0, data.ljust(self.size, b"\0"))

    def put(self, offset: int, data: bytes) -> None:
        """Bytes from the device; those that do not fit, or whose memory is gone, go nowhere."""
        at = 0
        for buffer, begin, size in self.stretches:
            first, last = max(at, offset), min(at + size, offset + len(data))
            if first < last:
                buffer.put(begin + first - at, data[first - offset : last - offset])
            at += size


class Owner(Protocol):
    """The open file that enabled a channel."""


class HostChannel:
    """One channel of the card. `owner`: the open file that enabled it, None: nobody did.

    `sent` are transfers that were launched and not completed since the firmware opened the channel, in order: the
    driver forgets them when the channel is disabled, the device does not. `early` is what came out before there was a
    buffer for it (on-chip NMS, a transfer for each word), `frames` counts what came out.
    """

    def __init__(self, packed: int, to_device: bool) -> None:
        self.packed = packed
        self.to_device = to_device
        self.owner: Owner | None = None
        self.stamped = False
        self.descriptors: DescriptorList | None = None  # of its first launch
        self.num_available = self.num_processed = 0
        self.sent: deque[Transfer] = deque()
        self.early: deque[bytes] = deque()
        self.frames = 0
        self.orphaned = False
        self.launched = False
        self.interrupted = False
        self.completed = 0
        self.stamps: deque[tuple[int, int]] = deque(maxlen=MAX_TIMESTAMPS)

    def enable(self, owner: Owner, stamped: bool) -> None:
        """VDMA_ENABLE_CHANNELS."""
        self._clear()
        self.owner, self.stamped = owner, stamped

    def disable(self) -> None:
        """VDMA_DISABLE_CHANNELS: what is under way is forgotten; nothing more until the firmware opens it again."""
        self._clear()
        self.owner, self.stamped = None, False
        self.orphaned = True

    def opened(self) -> None:
        """The firmware opened or closed the channel: its counters begin at 0."""
        self._forget_transfers()
        self.frames = 0
        self.orphaned = False

    def reopened(self) -> None:
        """As `opened`, by an application that goes on: what came out is counted on."""
        self._forget_transfers()
        self.orphaned = False

    def _clear(self) -> None:
        self._forget_transfers()
        self.stamps.clear()
        self.descriptors = None
        self.num_available = self.num_processed = self.completed = 0
        self.launched = self.interrupted = False

    def _forget_transfers(self) -> None:
        if self.descriptors is not None:
            for transfer in self.sent:
                self.descriptors.host.bound.pop(transfer.start, None)
        self.sent.clear()
        self.early.clear()

    @property
    def ongoing(self) -> int:
        """Transfers that were launched and that nobody has heard of the end of."""
        return len(self.sent) + self.completed

    def bind(self, descriptors: DescriptorList, transfer: Transfer) -> None:
        """Write the descriptors of one more transfer."""
        extent = Extent(transfer.start, descriptors.descriptors(transfer.size), transfer.size, transfer, 0)
        descriptors.host.bound[transfer.start] = extent
        self.descriptors, self.num_available = descriptors, transfer.after_last
        self.sent.append(transfer)
        self.launched = True

    def progress(self, num_processed: int, ns: int) -> int:
        """The hardware came to `num_processed`: the transfers that end before it are complete, all where it has no
        more (driver-ioctl-4.23.md 4.9). Gives their bytes."""
        size = 0
        while self.sent and self.descriptors is not None:
            transfer = self.sent[0]
            moved = (num_processed - self.num_processed) % self.descriptors.count
            if moved < transfer.descriptors and num_processed != self.num_available:
                break
            self.sent.popleft()
            size += transfer.size
            self.descriptors.host.bound.pop(transfer.start, None)
            self.num_processed = transfer.after_last
            self.completed += 1
            if self.stamped:
                if transfer.interrupts_at_first:
                    self.stamps.append((ns, transfer.after_first))
                self.stamps.append((ns, transfer.after_last))
        return size

    def take_interrupt(self, runs: bool) -> int | None:
        """What INTERRUPTS_WAIT reports of it, which clears it; None where there is nothing to report."""
        if not self.interrupted or not self.launched:
            return None
        self.interrupted = False
        if not runs:
            self.completed = 0
            return NOT_ACTIVE
        count, self.completed = self.completed, 0
        return count

    def take_stamps(self) -> list[tuple[int, int]]:
        """(ns, num_processed) of each interrupt; reading empties the ring."""
        found = list(self.stamps)
        self.stamps.clear()
        return found
