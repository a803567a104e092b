"""Memory of the client: what the card reads and writes, and the mapped buffers that the device sees of it."""

from __future__ import annotations

from contextlib import suppress
from errno import EFAULT
from typing import Protocol

from emu.card.errors import CallError
from emu.hw.hostmem import HostBuffer
from emu.hw.payload import Content

PAGE = 4096


class ClientMemory(Protocol):
    """The address space of one process, and the descriptors that it has open."""

    def read(self, address: int, size: int) -> bytes:
        """`size` bytes; CallError(EFAULT) where they are not all there."""

    def write(self, address: int, data: bytes) -> None:
        """CallError(EFAULT) where they cannot all be written."""


class MappedBuffer(HostBuffer):
    """A buffer of a client that is mapped for DMA. Its bytes are fetched when the device fetches them.

    What the device itself writes into inter-context buffers stays on this side: the client never looks at it, and
    made-up frames have to come back as what was written (`HostBuffer.content`).
    """

    handle: int = 0
    address: int = 0
    direction: int = 0  # 0 both, 1 to the device, 2 from it
    memory: ClientMemory | None = None

    def read(self, offset: int, size: int) -> bytes | None:
        """The client's bytes; None where its memory is gone or the range leaves the buffer."""
        if self.writes:
            return HostBuffer.read(self, offset, size)
        if self.memory is None or offset < 0 or size > self.size - offset:
            return None
        try:
            return self.memory.read(self.address + offset, size)
        except CallError:
            return None

    def content(self, offset: int, size: int) -> Content | None:
        """What the device wrote there; None where it wrote nothing, as of memory without initial content."""
        exact = self.writes.get((offset, size))
        if exact is not None and not isinstance(exact, bytes) and (offset, size) not in self.torn:
            return exact
        return HostBuffer.read(self, offset, size)

    def put(self, offset: int, data: bytes) -> None:
        """Write into the client's memory; what is not there any more takes nothing."""
        if self.memory is not None:
            with suppress(CallError):
                self.memory.write(self.address + offset, data)

    def unmap(self) -> None:
        """Lists that were programmed with it keep a stale address: what is behind it is not known any more."""
        self.memory = None
        self.version += 1


def checked_range(offset: int, size: int, whole: int, number: int = EFAULT) -> None:
    """CallError where `[offset, offset + size)` is not inside `[0, whole)`."""
    if offset > whole or size > whole - offset:
        raise CallError(number, f"{size} bytes from {offset} of {whole}")
