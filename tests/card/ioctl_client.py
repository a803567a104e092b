"""A client of a card in a process of its own, by ioctl: run it under `emu exec --card` (python -m …).

It calls libc itself: Python's own open adds O_CLOEXEC to what HailoRT opens without, and `fcntl.ioctl` keeps the
interpreter's lock in a call that waits with a long argument (driver-ioctl-4.23.md 8.3).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import Any

from emu.card.calls import Name
from tests.card.conversation import BY_NAME
from tests.card.runtime import BY_HANDLE, DriverError

libc = ctypes.CDLL(None, use_errno=True)
NODE = "/dev/hailo0"


def libc_open(path: str, flags: int) -> int:
    descriptor = int(libc.open(path.encode(), flags))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), path)
    return descriptor


class Ioctls:
    """`tests.card.runtime.Calls` of a node."""

    def __init__(self, node: str = NODE) -> None:
        self.descriptor = libc_open(node, os.O_RDWR | os.O_CLOEXEC)
        self._maps: list[tuple[int, mmap.mmap]] = []

    def call(self, name: Name, *fields: Any, by_handle: bool = False) -> tuple[int, tuple[Any, ...]]:
        call = (BY_HANDLE if by_handle else {}).get(name, BY_NAME[name])
        argument = ctypes.create_string_buffer(call.fields.pack(*fields), max(call.size, 1))
        value = libc.ioctl(self.descriptor, ctypes.c_ulong(call.number), argument)
        if value < 0:
            raise DriverError(name, ctypes.get_errno())
        return value, call.fields.unpack(argument.raw[: call.size]) if call.returns else ()

    def allocate(self, size: int) -> int:
        made = mmap.mmap(-1, -(-max(size, 1) // 4096) * 4096)
        address = ctypes.addressof(ctypes.c_char.from_buffer(made))
        self._maps.append((address, made))
        return address

    def write(self, address: int, data: bytes) -> None:
        ctypes.memmove(address, data, len(data))

    def read(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)


def infer(path: str, count: int, node: str = NODE) -> None:
    """Configure a HEF and run frames; the hash of each output, a line a frame."""
    import hashlib

    import emu
    from tests.card.runtime import MiniRuntime

    os.close(libc_open(path, os.O_RDONLY))  # HailoRT opens it so, by which it is seen
    program = emu.compile_hef(emu.open_hef(path))
    calls = Ioctls(node)
    runtime = MiniRuntime(calls, program)
    calls.call(Name.MARK_AS_IN_USE, 0)
    runtime.configure()
    (group,) = program.network_groups
    runtime.activate(group)
    frames = [made_up(program, number) for number in range(count)]
    for row in runtime.infer(group, frames):
        print(*(f"{name}={hashlib.sha256(data).hexdigest()}" for name, data in sorted(row.items())))
    runtime.deactivate()
    runtime.clear()


def hand_over(path: str, count: int, client: str) -> None:
    """Configure and enable a HEF of one input and one output, and become the client in C, which runs its frames."""
    import emu
    from tests.card.runtime import MiniRuntime

    os.close(libc_open(path, os.O_RDONLY))
    program = emu.compile_hef(emu.open_hef(path))
    calls = Ioctls()
    runtime = MiniRuntime(calls, program)
    runtime.configure()
    (group,) = program.network_groups
    runtime.activate(group)
    sides = []
    for stream in sorted(group.streams, key=lambda one: one.direction):
        handle, length, page = runtime.lists[stream.dma_address]
        size = stream.transfer_size
        sides += [stream.packed_vdma_channel_id, handle, size, -(-size // page), length]
    os.set_inheritable(calls.descriptor, True)
    os.execv(client, [client, "frames", str(calls.descriptor), str(count), *map(str, sides)])


def made_up(program: Any, number: int) -> dict[str, bytes]:
    """Bytes of every input stream, other ones for each frame."""
    return {
        one.name: bytes((number * 7 + at * 3) % 251 for at in range(one.transfer_size * one.transfers_per_frame))
        for one in program.network_groups[0].streams
        if one.direction == 1
    }


if __name__ == "__main__":
    if len(sys.argv) > 4:
        infer(sys.argv[1], int(sys.argv[2]), sys.argv[4])
    elif len(sys.argv) > 3:
        hand_over(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        infer(sys.argv[1], int(sys.argv[2]))
