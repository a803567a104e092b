"""A small HailoRT of our own: configures a compiled program and runs frames by the driver's calls alone.

`Calls` is how calls reach a driver: in this process (`InProcess`) or by ioctl on a node (`tests/card/ioctl_client.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from emu.card.calls import CALLS, MAX_BUFFERS, MAX_ENGINES, NO_HANDLE, Name
from emu.sequencer.program import Direction, NetworkGroupProgram, Program
from emu.wire.control import ContextSwitchStatus, Opcode, change_context_switch_status, encode_request
from tests.card.conversation import BY_NAME, Client

BY_HANDLE = {call.name: call for call in CALLS.values() if call.by_handle}
TO_DEVICE, FROM_DEVICE = 1, 2
NO_BUFFER = (0, 0, 0)


class DriverError(Exception):
    def __init__(self, name: Name, number: int) -> None:
        super().__init__(f"{name.name}: errno {number}")
        self.number = number


class Calls(Protocol):
    """A driver: `call` gives the value and the argument as it came back; DriverError where it fails."""

    def call(self, name: Name, *fields: Any, by_handle: bool = False) -> tuple[int, tuple[Any, ...]]: ...

    def allocate(self, size: int) -> int:
        """A page-aligned buffer of this process."""

    def write(self, address: int, data: bytes) -> None: ...

    def read(self, address: int, size: int) -> bytes: ...


class InProcess:
    """Calls answered by the library in this process."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._next = 0x10000
        self.read, self.write = client.memory.read, client.memory.write

    def call(self, name: Name, *fields: Any, by_handle: bool = False) -> tuple[int, tuple[Any, ...]]:
        call = (BY_HANDLE if by_handle else {}).get(name, BY_NAME[name])
        ticket = object()
        answer = self.client.raw(call, call.fields.pack(*fields), ticket)
        if answer is None:
            answer = self.client.answered.pop(ticket)
        if answer.error:
            raise DriverError(name, answer.error)
        return answer.value, call.fields.unpack(answer.data) if answer.data is not None else ()

    def allocate(self, size: int) -> int:
        address, self._next = self._next, self._next + -(-max(size, 1) // 4096) * 4096
        return address


class MiniRuntime:
    """What HailoRT does from configure to deactivate (driver-ioctl-4.23.md 5), without threads.

    `by_handle`: as up to 4.20.
    """

    def __init__(self, calls: Calls, program: Program, by_handle: bool = False) -> None:
        self.calls = calls
        self.program = program
        self.by_handle = by_handle
        self.lists: dict[int, tuple[int, int, int]] = {}  # handle, count, page by DMA address
        self.mapped: dict[int, int] = {}
        self._num_available: dict[int, int] = {}
        self._frames: dict[int, tuple[int, int, int]] = {}

    # -- configure

    def configure(self, sends: Callable[[bytes], bytes] | None = None) -> None:
        for message in self._opening():
            self.control(message)
        buffers = self._buffers()
        for described in self.program.descriptor_lists:
            fields = (described.count, described.page_size, described.circular, 0, 0)
            _, made = self.calls.call(Name.DESC_LIST_CREATE, *fields)
            assert made[4] == described.dma_address, "the card lays lists out as the compiler does"
            self.lists[made[4]] = made[3], described.count, described.page_size
            for entry in described.programs:
                self._program(made[3], buffers[entry.buffer_id], entry, described.page_size)
        for group in self.program.network_groups:
            for message in group.controls():
                self.control(message)

    def _opening(self) -> list[bytes]:
        from emu.sequencer.program import opening_controls

        return list(opening_controls(self.program.device))

    def _buffers(self) -> dict[int, tuple[int, int]]:
        """Handle and size of each mapped buffer, filled with what the program says."""
        sizes: dict[int, int] = {}
        for described in self.program.descriptor_lists:
            for entry in described.programs:
                each = -(-entry.size // described.page_size) * described.page_size
                end = entry.offset + each * entry.transfers
                sizes[entry.buffer_id] = max(sizes.get(entry.buffer_id, 0), end)
        made = {}
        for buffer, size in sizes.items():
            made[buffer] = self.map(size, TO_DEVICE)[0], size
        for described in self.program.descriptor_lists:
            for entry in described.programs:
                if entry.segments is not None:
                    address = self.mapped[made[entry.buffer_id][0]]
                    self.calls.write(address + entry.offset, b"".join(bytes(one) for one in entry.segments))
        return made

    def _program(self, handle: int, buffer: tuple[int, int], entry: Any, page: int) -> None:
        each = -(-entry.size // page) * page
        self.calls.call(Name.VDMA_BUFFER_SYNC, buffer[0], 1, entry.offset, min(entry.size, buffer[1] - entry.offset))
        domain = 1 if entry.device_interrupt else 0
        if self.by_handle:
            for at in range(entry.transfers):
                start = entry.start + at * each // page
                fields = buffer[0], entry.size, entry.offset + at * each, handle, 0, start, 1, domain, 0
                self.calls.call(Name.DESC_LIST_PROGRAM, *fields, by_handle=True)
            return
        fields = buffer[0], entry.size, entry.offset, entry.transfers, handle, 0, entry.start
        if entry.segments is not None:
            self.calls.call(Name.DESC_LIST_PROGRAM, *fields, 1, domain, 0, 0)
            return
        # memory between contexts: bound as a whole, and its frame and interrupt told by a call of their own
        self.calls.call(Name.DESC_LIST_PROGRAM, *fields, 1, 0, 0, 0)
        self.calls.call(Name.DESC_LIST_PROGRAM, *fields, 0, domain, 0, 0)

    def map(self, size: int, direction: int) -> tuple[int, int]:
        """Handle and address of a new buffer."""
        address = self.calls.allocate(size)
        _, fields = self.calls.call(Name.VDMA_BUFFER_MAP, address, size, direction, 0, NO_HANDLE, 0)
        self.mapped[fields[5]] = address
        return fields[5], address

    def control(self, message: bytes) -> bytes:
        digest = hashlib.md5(message, usedforsecurity=False).digest()
        _, fields = self.calls.call(Name.FW_CONTROL, digest, len(message), message, 1000, 1)
        reply = fields[2][: fields[1]]
        assert hashlib.md5(reply, usedforsecurity=False).digest() == fields[0]
        status = int.from_bytes(reply[16:20], "big")
        if status:
            raise RuntimeError(f"control {int.from_bytes(message[12:16], 'big')}: status 0x{status:08X}")
        return reply

    # -- run

    def activate(self, group: NetworkGroupProgram, index: int = 0, depth: int = 8, batch: int = 0) -> None:
        """`depth`: buffers of each stream; `batch`: frames of a batch, 0: what it is compiled for."""
        self.control(change_context_switch_status(ContextSwitchStatus.ENABLED, index, batch))
        self.bitmap = 0
        for stream in group.streams:
            packed = stream.packed_vdma_channel_id
            self.bitmap |= 1 << packed
            self._num_available[packed] = 0
            size = stream.transfer_size * stream.transfers_per_frame
            if packed not in self._frames:
                step = -(-size // 4096) * 4096
                direction = TO_DEVICE if stream.direction is Direction.H2D else FROM_DEVICE
                handle, address = self.map(step * depth, direction)
                self._frames[packed] = handle, address, step
        self.depth = depth
        self.calls.call(Name.VDMA_ENABLE_CHANNELS, self.bitmap, 0, 0, 0)

    def switch_batch(self, group: NetworkGroupProgram, batch: int) -> None:
        """Go on with another batch, as HailoRT's scheduler does where other frames are ready than before."""
        self.calls.call(Name.VDMA_DISABLE_CHANNELS, self.bitmap, 0, 0)
        self.activate(group, batch=batch)

    def launch(self, stream: Any, at: int, part: int = 0) -> None:
        """Launch one transfer of a stream: of buffer `at`, transfer `part` of its frame."""
        packed = stream.packed_vdma_channel_id
        buffer, address, step = self._frames[packed]
        handle, count, page = self.lists[stream.dma_address]
        size = stream.transfer_size
        offset = (at % self.depth) * step + part * size
        start = self._num_available[packed]
        if self.by_handle:
            pieces = (buffer, offset, size, *NO_BUFFER)
            self.calls.call(
                Name.VDMA_LAUNCH_TRANSFER, 0, packed, handle, start, 1, 1, *pieces, 0, 2, 0, 0, 0, by_handle=True
            )
        else:
            pieces = (0, address + offset, size) + NO_BUFFER * (MAX_BUFFERS - 1)
            self.calls.call(Name.VDMA_LAUNCH_TRANSFER, 0, packed, handle, start, 1, 1, *pieces, 0, 2, 0)
        self._num_available[packed] = (start + -(-size // page)) % count

    def wait(self) -> dict[int, int]:
        """Transfers completed by channel."""
        fields = (self.bitmap, 0, 0, 0, b"")
        _, got = self.calls.call(Name.VDMA_INTERRUPTS_WAIT, *fields, by_handle=self.by_handle)
        size = 7 if self.by_handle else 3
        entries = [got[4][size * at : size * at + size] for at in range(got[3])]
        return {one[1]: one[3 if self.by_handle else 2] for one in entries}

    def infer(self, group: NetworkGroupProgram, frames: Sequence[Mapping[str, bytes]]) -> list[dict[str, bytes]]:
        """Run frames, each launched when the one before is done (two launches and a wait where there is one output)."""
        inputs = [one for one in group.streams if one.direction is Direction.H2D]
        outputs = [one for one in group.streams if one.direction is Direction.D2H]
        batch = max(group.batch_size, 1) if len(group.contexts) > 4 else 1
        found: list[dict[str, bytes]] = []
        for first in range(0, len(frames), batch):
            now = frames[first : first + batch]
            done = {one.packed_vdma_channel_id: 0 for one in group.streams}
            wanted = {
                one.packed_vdma_channel_id: len(now) * (one.transfers_per_frame if one in outputs else 1)
                for one in group.streams
            }
            for at, frame in enumerate(now):
                for stream in inputs:
                    _, address, step = self._frames[stream.packed_vdma_channel_id]
                    self.calls.write(address + at * step, frame[stream.name])
                    self.launch(stream, at)
                for stream in outputs:
                    for part in range(stream.transfers_per_frame):
                        self.launch(stream, at, part)
            while any(done[packed] < count for packed, count in wanted.items()):
                for packed, count in self.wait().items():
                    done[packed] += count
            for at in range(len(now)):
                row = {}
                for stream in outputs:
                    _, address, step = self._frames[stream.packed_vdma_channel_id]
                    size = stream.transfer_size * stream.transfers_per_frame
                    row[stream.name] = self.calls.read(address + at * step, size)
                found.append(row)
        return found

    def deactivate(self) -> None:
        self.calls.call(Name.VDMA_DISABLE_CHANNELS, self.bitmap, 0, 0)
        self.control(change_context_switch_status(ContextSwitchStatus.RESET))

    def clear(self) -> None:
        self.control(encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS))
        for handle, _, _ in self.lists.values():
            self.calls.call(Name.DESC_LIST_RELEASE, handle)
        for handle in self.mapped:
            self.calls.call(Name.VDMA_BUFFER_UNMAP, handle)
        self.lists.clear()
        self.mapped.clear()


assert MAX_ENGINES == 3
