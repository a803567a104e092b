"""Descriptor lists as the driver makes and programs them (driver-ioctl-4.23.md 4.4 to 4.6)."""

from __future__ import annotations

from errno import EFAULT, EINVAL, ENOBUFS, ERANGE
from typing import NamedTuple

from emu.card.errors import CallError
from emu.card.memory import MappedBuffer
from emu.hw.hostmem import Extent, HostList

MAX_DESCRIPTORS = 1 << 16  # vdma.md 2.4
FIRST_ADDRESS = 0x1000_0000  # what made-up outputs depend on: as the compiler lays lists out
ADDRESS_STRIDE = 0x10_0000
DEVICE_INTERRUPT = 1  # last_interrupts_domain
MOST_COUNTED = 1 << 31  # by the driver
MOST_PROGRAMMED = 1 << 24  # descriptors of one call: what the real driver would be busy with for seconds
_COMPACT_FROM = 64


class Programming(NamedTuple):
    """The arguments of one DESC_LIST_PROGRAM."""

    size: int
    offset: int
    batch: int
    start: int
    bind: bool
    interrupts: int
    stride: int = 0


class DescriptorList:
    """One list of an open file. `place` says where it lies among the lists of the card."""

    def __init__(self, handle: int, place: int, count: int, page_size: int, circular: bool) -> None:
        if circular and count & (count - 1):
            raise CallError(EINVAL, f"a circular list of {count} descriptors")
        if not page_size or page_size & (page_size - 1):
            raise CallError(EINVAL, f"descriptor pages of {page_size} bytes")
        if count > MOST_COUNTED:
            raise CallError(EINVAL, f"a list of {count} descriptors")
        if not 0 < count <= MAX_DESCRIPTORS:  # no memory for it
            raise CallError(ENOBUFS, f"a list of {count} descriptors, at most {MAX_DESCRIPTORS}")
        self.handle = handle
        self.count = count
        self.page_size = page_size
        self.circular = circular
        self.host = HostList(FIRST_ADDRESS + place * ADDRESS_STRIDE, count, page_size, circular)
        self._compact_at = _COMPACT_FROM

    @property
    def dma_address(self) -> int:
        """Where the device finds it."""
        return self.host.dma_address

    def descriptors(self, size: int) -> int:
        """Descriptors of a transfer of `size` bytes."""
        return -(-size // self.page_size)

    def program(self, buffer: MappedBuffer, what: Programming) -> int:
        """Program a batch of transfers; the number of descriptors (driver-ioctl-4.23.md 4.6)."""
        if what.size > buffer.size:
            raise CallError(EFAULT, f"{what.size} bytes of a buffer of {buffer.size}")
        if not what.size:
            return 0
        each = self.descriptors(what.size)
        if each * what.batch > MOST_PROGRAMMED:
            raise CallError(ERANGE, f"{what.batch} transfers of {each} descriptors")
        # what goes round the whole list is programmed over by what follows
        first = max(0, what.batch - self.count) if not what.bind else 0
        for transfer in range(first, what.batch):
            last = transfer == what.batch - 1 and what.interrupts == DEVICE_INTERRUPT
            start = what.start + transfer * each
            if what.bind:
                self._bind(buffer, start % self.count if self.circular else start, what, transfer * each, last)
            else:
                self._finish(start + each - 1, what.size - (each - 1) * self.page_size, last)
        if len(self.host.extents) >= self._compact_at:
            self._compact()
        return each * what.batch

    def _bind(self, buffer: MappedBuffer, start: int, what: Programming, pages: int, last: bool) -> None:
        """One transfer with its addresses; one that goes round the end of the list is two stretches."""
        offset = what.offset + pages * self.page_size
        each = self.descriptors(what.size)
        if offset % self.page_size or start >= self.count:
            raise CallError(EINVAL, f"descriptor {start} of {self.count}, offset {offset}")
        stride = what.stride if what.stride % self.page_size else self.page_size
        if stride > self.page_size or (stride < self.page_size and what.size % self.page_size):
            raise CallError(EINVAL, f"stride {stride} in pages of {self.page_size}")
        if each > self.count or (not self.circular and start + each > self.count):
            raise CallError(ERANGE, f"{each} descriptors from {start} of a list of {self.count}")
        if offset > buffer.size or what.size > buffer.size - offset:
            raise CallError(EFAULT, f"{what.size} bytes from {offset} of {buffer.size}")
        step = each if stride == self.page_size else 1
        done = 0
        while done < each:
            at = (start + done) % self.count
            here = min(step, each - done, self.count - at)
            size = min(what.size - done * self.page_size, here * stride)
            self.host.extents.append(Extent(at, here, size, buffer, offset + done * self.page_size, last))
            done += here

    def _finish(self, position: int, size: int, last: bool) -> None:
        """A descriptor that is bound already moves so many bytes: the last one of a transfer."""
        at = position % self.count
        behind = self.host.buffer_at(at)
        if behind is not None:  # else nothing was ever bound there: the descriptor has no address
            self.host.extents.append(Extent(at, 1, size, behind[0], behind[1], last))

    def _compact(self) -> None:
        """Forget what was programmed over as a whole, so that a list does not grow by being programmed again."""
        covered = bytearray(self.count)
        kept = []
        for extent in reversed(self.host.extents):
            span = slice(extent.start, extent.start + extent.count)
            if covered.find(0, span.start, span.stop) >= 0:
                kept.append(extent)
                covered[span] = b"\1" * extent.count
        self.host.extents[:] = reversed(kept)
        self._compact_at = max(_COMPACT_FROM, 2 * len(kept))
