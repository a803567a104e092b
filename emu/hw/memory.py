"""The chip's sparse address space: registers and blocks in named regions (ccw.md).

Only what was written takes memory. Registers are 32-bit words; blocks are runs of bytes as a CCW record brings them
and are kept as views of their source. What was written in which order goes into a fingerprint (emu.hw.fingerprint).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from emu.hw.ccw import Image
from emu.hw.fingerprint import Fingerprint, Moment, Noted

CLUSTER_BASE = 0x10000000
CLUSTER_STRIDE = 0x02000000
LCU_BLOCK_OFFSET = 0x00800000
LCU_BLOCK_STRIDE = 0x00020000
LCU_ENABLE_OFFSET = 0x1DC  # lcu_enable_address = 0x108001DC + cluster·0x02000000 + lcu·0x00020000 (ccw.md)
MAX_CLUSTERS = 8
OPAQUE_KEY = 1 << 32  # above every address

_WORD = struct.Struct("<I")

WriteHook = Callable[[int, bytes], None]
ReadHook = Callable[[int, int], None]


class Region(NamedTuple):
    """A named range of addresses, `[base, base + size)`."""

    name: str
    base: int
    size: int


def regions(clusters: int) -> tuple[Region, ...]:
    """The map of ccw.md: one window per cluster (LCU blocks in its lower half, configuration memory in its upper
    half), the rest system registers."""
    found: list[Region] = [Region("system low", 0, CLUSTER_BASE)]
    for cluster in range(clusters):
        base = CLUSTER_BASE + cluster * CLUSTER_STRIDE
        found.append(Region(f"cluster {cluster} lcu", base, CLUSTER_STRIDE // 2))
        found.append(Region(f"cluster {cluster} memory", base + CLUSTER_STRIDE // 2, CLUSTER_STRIDE // 2))
    system = CLUSTER_BASE + clusters * CLUSTER_STRIDE
    found.append(Region("system high", system, (1 << 32) - system))
    return tuple(found)


def lcu_address(cluster: int, lcu: int) -> int:
    """The enable register of an LCU (ccw.md)."""
    block = CLUSTER_BASE + cluster * CLUSTER_STRIDE + LCU_BLOCK_OFFSET + lcu * LCU_BLOCK_STRIDE
    return block + LCU_ENABLE_OFFSET


@dataclass(slots=True)
class RegionUse:
    """What was written into one region."""

    region: Region
    bytes_written: int = 0
    writes: int = 0


@dataclass(frozen=True, slots=True)
class MemoryDifference:
    """One address at which two snapshots differ; None where one has nothing there."""

    address: int
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class AddressSpace:
    """See the module. `read_before_write` lists addresses that were read while nothing had been written there."""

    layout: tuple[Region, ...]
    words: dict[int, int] = field(default_factory=dict)
    blocks: dict[int, memoryview | bytes] = field(default_factory=dict)
    register_writes: int = 0
    read_before_write: list[int] = field(default_factory=list)
    write_hooks: list[WriteHook] = field(default_factory=list)
    read_hooks: list[ReadHook] = field(default_factory=list)
    use: list[RegionUse] = field(init=False)
    note: Callable[[Noted], None] = field(init=False)
    _bases: list[int] = field(init=False)
    _uses: dict[int, RegionUse] = field(default_factory=dict)
    _fingerprint: Fingerprint = field(default_factory=Fingerprint)

    def __post_init__(self) -> None:
        self.use = [RegionUse(region) for region in self.layout]
        self._bases = [region.base for region in self.layout]
        self.note = self._fingerprint.note

    def write_word(self, address: int, value: int) -> None:
        """Write one register."""
        self.words[address] = value
        self.note((address, value))
        self.register_writes += 1
        use = self._uses.get(address)
        if use is None:
            use = self._uses[address] = self.use[bisect_right(self._bases, address) - 1]
        use.bytes_written += 4
        use.writes += 1
        if self.write_hooks:
            self._run_write_hooks(address, _WORD.pack(value))

    def load(self, image: Image) -> None:
        """Write everything of an image, as a config channel delivers it."""
        self.words.update(image.words)
        self.blocks.update(image.blocks)
        self.note(image)
        self.register_writes += image.register_writes
        if image.usage is None:
            image.usage = self._usage(image)
        for region, size, writes in image.usage:
            use = self.use[region]
            use.bytes_written += size
            use.writes += writes
        if self.write_hooks:
            for address, value in image.words:
                self._run_write_hooks(address, _WORD.pack(value))
            for address, data in image.blocks:
                self._run_write_hooks(address, bytes(data))

    def _usage(self, image: Image) -> list[tuple[int, int, int]]:
        """(number of the region, bytes, writes) of an image."""
        found: dict[int, list[int]] = {}
        base = end = 0
        for address, size in image.places():
            if not base <= address < end:
                number = bisect_right(self._bases, address) - 1
                entry = found.setdefault(number, [0, 0])
                base, end = self.layout[number].base, self.layout[number].base + self.layout[number].size
            entry[0] += size
            entry[1] += 1
        return [(number, size, writes) for number, (size, writes) in found.items()]

    def note_opaque(self, source: int, digest: int) -> None:
        """Unknown bytes reached the chip through config stream `source`: only the hash can know of them."""
        self.note((OPAQUE_KEY + source, digest))

    def masked_write(self, address: int, value: int, mask: int) -> None:
        """reg = (reg & ~mask) | (value & mask)."""
        self.write_word(address, (self.words.get(address, 0) & ~mask & 0xFFFFFFFF) | (value & mask))

    def read_word(self, address: int) -> int:
        """Read one register; 0 where nothing was written, and noted."""
        for hook in self.read_hooks:
            hook(address, 4)
        value = self.peek(address)
        if value is None:
            self.read_before_write.append(address)
            return 0
        return value

    def peek(self, address: int) -> int | None:
        """What a read would give, without the traces of one; None where nothing was written."""
        value = self.words.get(address)
        if value is not None:
            return value
        for base, data in self.blocks.items():
            if base <= address < base + len(data):
                return int.from_bytes(bytes(data[address - base : address - base + 4]), "little")
        return None

    def region_of(self, address: int) -> Region:
        return self.layout[bisect_right(self._bases, address) - 1]

    def snapshot(self) -> dict[int, bytes]:
        """Everything that was written, by address."""
        state = {address: bytes(data) for address, data in self.blocks.items()}
        state.update({address: _WORD.pack(value) for address, value in self.words.items()})
        return dict(sorted(state.items()))

    def clear(self) -> None:
        """Forget all content (chip reset); hooks and the region map stay."""
        self.words.clear()
        self.blocks.clear()
        self._fingerprint.clear()

    def begin(self, context: str) -> None:
        """A context begins to write."""
        self._fingerprint.begin(context)

    def resume(self) -> None:
        """The context that was interrupted by the last one goes on."""
        self._fingerprint.resume()

    @property
    def content_hash(self) -> int:
        """Hash of the content: what stands where, in whatever order it was written."""
        return self._fingerprint.content

    def moment(self) -> Moment:
        """The fingerprint of all that was written so far, worked out when somebody asks."""
        return self._fingerprint.moment()

    def _run_write_hooks(self, address: int, data: bytes) -> None:
        for hook in self.write_hooks:
            hook(address, data)


def difference(before: dict[int, bytes], after: dict[int, bytes]) -> Iterable[MemoryDifference]:
    """Where two snapshots differ, in address order."""
    for address in sorted(before.keys() | after.keys()):
        old, new = before.get(address), after.get(address)
        if old != new:
            yield MemoryDifference(address, old, new)
