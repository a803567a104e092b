"""What crosses the borders of the device: control messages, register accesses, transfers; as records of a recording.

The contents of frames and of memory blocks are kept as digests; accesses to the registers of a card as they are, since
a replay makes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import xxhash

from emu.hw.inspection import Inspection
from emu.hw.memory import Loadable
from emu.hw.probe import Access, AccessHook
from emu.hw.vdma import Channel, Edge
from emu.trace.record import Block, Record

Put = Callable[[Record], None]
PutBlock = Callable[[int, Block], None]
_LONGEST_KEPT = 64  # bytes of a block that are kept as they are


class Watchable(Protocol):
    """The registers of a card, for who looks on."""

    def watch(self, hook: AccessHook) -> None: ...


class _Writes:
    """The write hook of a recorder."""

    def __init__(self, chip: Inspection, put: Put, put_block: PutBlock | None) -> None:
        self._chip = chip
        self._put = put
        self._put_block = put_block
        self._blocks: dict[Loadable, Block] = {}

    def __call__(self, address: int, data: bytes) -> None:
        self._put({"ns": self._chip.now, **_write(address, data)})

    def loaded(self, image: Loadable) -> None:
        """An image is loaded; what a context loads at each of its runs is put into words once."""
        if self._put_block is None:
            for address, data in image.writes():
                self(address, bytes(data))
            return
        block = self._blocks.get(image)
        if block is None:
            block = self._blocks[image] = Block([_write(address, bytes(data)) for address, data in image.writes()])
        self._put_block(self._chip.now, block)


def _write(address: int, data: bytes) -> Record:
    """What a recording says of a write, but when it was."""
    if len(data) <= _LONGEST_KEPT:
        return {"kind": "write", "address": address, "data": data.hex()}
    return {"kind": "write", "address": address, "bytes": len(data), "digest": xxhash.xxh3_128_hexdigest(data)}


class Recorder:
    """Hands each crossing to `put`, in the order in which they happen. Frames are then played one by one.

    `bars`: the registers of the card, where the host's accesses to them and its interrupts are wanted too. `put_block`
    takes at one time what is written at one time.
    """

    def __init__(
        self, chip: Inspection, put: Put, bars: Watchable | None = None, put_block: PutBlock | None = None
    ) -> None:
        self._chip = chip
        self._put = put
        chip.probe.observers.append(self)
        chip.probe.write_hooks.append(_Writes(chip, put, put_block))
        chip.probe.read_hooks.append(self._read)
        if bars is not None:
            bars.watch(self._accessed)

    def control(self, ns: int, request: bytes, reply: bytes) -> None:
        self._put({"ns": ns, "kind": "control", "request": request.hex(), "reply": reply.hex()})

    def launch(self, channel: Channel, transfers: int) -> None:
        self._put(
            {
                "ns": self._chip.time,
                "kind": "launch",
                "channel": channel.packed,
                "transfers": transfers,
                "num_available": channel.num_available,
            }
        )

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        self._put(
            {
                "ns": self._chip.time,
                "kind": "transfer",
                "channel": edge.channel.packed,
                "stream": edge.stream,
                "direction": edge.direction.name.lower(),
                "frame": frame,
                "num_processed": edge.channel.num_processed,
                "digest": digest.hex(),
            }
        )

    def _read(self, address: int, size: int) -> None:
        self._put({"ns": self._chip.now, "kind": "read", "address": address, "bytes": size})

    def _accessed(self, access: Access) -> None:
        if access.what == "interrupt":
            self._put({"ns": access.ns, "kind": "interrupt", "value": access.value})
            return
        held = {"data": access.data.hex()} if access.data else {"value": access.value}
        place = {"name": access.name, "bar": access.bar, "offset": access.offset, "size": access.size}
        self._put({"ns": access.ns, "kind": "register", "access": access.what, **place, **held})
