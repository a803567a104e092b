"""The chip's sparse address space: registers and blocks in named regions (ccw.md).

Only what was written takes memory. Registers are 32-bit words; blocks are runs of bytes as a CCW record brings them
and are kept as views of their source. Where writes overlap the later one wins; that is worked out when somebody looks,
a load itself only notes that it happened. What was written in which order goes into a fingerprint (emu.hw.fingerprint).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from emu.hw.ccw import Image
from emu.hw.fingerprint import Fingerprint, Moment, Noted
from emu.hw.pieces import Pieces

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
    register_writes: int = 0
    read_before_write: list[int] = field(default_factory=list)
    write_hooks: list[WriteHook] = field(default_factory=list)
    read_hooks: list[ReadHook] = field(default_factory=list)
    use: list[RegionUse] = field(init=False)
    note: Callable[[Noted], None] = field(init=False)
    _note_all: Callable[[Iterable[Noted]], None] = field(init=False)
    _bases: list[int] = field(init=False)
    _uses: dict[int, RegionUse] = field(default_factory=dict)
    _fingerprint: Fingerprint = field(default_factory=Fingerprint)
    # registers written one by one, with the number of loads before; every image with the number of its last load
    _words: dict[int, tuple[int, int]] = field(default_factory=dict)
    _images: dict[Image, int] = field(default_factory=dict)
    _loads: int = 0

    def __post_init__(self) -> None:
        self.use = [RegionUse(region) for region in self.layout]
        self._bases = [region.base for region in self.layout]
        self.note, self._note_all = self._fingerprint.note, self._fingerprint.note_all

    def write_word(self, address: int, value: int) -> None:
        """Write one register."""
        self._words[address] = (value, self._loads)
        self.note((address, value))
        self.register_writes += 1
        use = self._uses.get(address)
        if use is None:
            use = self._uses[address] = self.use[bisect_right(self._bases, address) - 1]
        use.bytes_written += 4
        use.writes += 1
        if self.write_hooks:
            self._run_write_hooks(address, _WORD.pack(value))

    def write_unit(self, registers: Sequence[tuple[int, int]]) -> None:
        """Write (address, value) of several registers of one unit, which lie in one region."""
        for address, value in registers:
            self._words[address] = (value, self._loads)
        self._note_all(registers)
        address, count = registers[0][0], len(registers)
        self.register_writes += count
        use = self._uses.get(address)
        if use is None:
            use = self._uses[address] = self.use[bisect_right(self._bases, address) - 1]
        use.bytes_written += 4 * count
        use.writes += count
        if self.write_hooks:
            for address, value in registers:
                self._run_write_hooks(address, _WORD.pack(value))

    def load(self, image: Image) -> None:
        """Write everything of an image, as a config channel delivers it."""
        self._loads += 1
        self._images.pop(image, None)
        self._images[image] = self._loads
        self.note(image)
        self.register_writes += image.register_writes
        if image.usage is None:
            image.usage = self._usage(image)
        for region, size, writes in image.usage:
            use = self.use[region]
            use.bytes_written += size
            use.writes += writes
        if self.write_hooks:
            for address, data in image.writes():
                self._run_write_hooks(address, bytes(data))

    def _usage(self, image: Image) -> list[tuple[int, int, int]]:
        """(number of the region, bytes, writes) of an image."""
        found: dict[int, list[int]] = {}
        base = end = 0
        for _, _, address, _, size, _ in image.rows:
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

    def masked_write(self, address: int, value: int, mask: int) -> int:
        """reg = (reg & ~mask) | (value & mask); returns what the register then holds."""
        written = value & mask
        if mask & 0xFFFFFFFF != 0xFFFFFFFF:
            written |= (self.peek(address) or 0) & ~mask & 0xFFFFFFFF
        self.write_word(address, written)
        return written

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
        value, written_at = self._words.get(address, (None, -1))
        for image, loaded_at in reversed(self._images.items()):
            if loaded_at <= written_at:
                break
            found = image.word_at(address)
            if found is not None:
                return found
        return value

    def region_of(self, address: int) -> Region:
        return self.layout[bisect_right(self._bases, address) - 1]

    def snapshot(self) -> dict[int, bytes]:
        """Everything that was written, by address."""
        pieces = Pieces()
        words = sorted((written_at, address, value) for address, (value, written_at) in self._words.items())
        position = 0
        for image, loaded_at in self._images.items():
            while position < len(words) and words[position][0] < loaded_at:
                pieces.write(words[position][1], _WORD.pack(words[position][2]))
                position += 1
            for address, data in image.writes():
                pieces.write(address, bytes(data))
        for _, address, value in words[position:]:
            pieces.write(address, _WORD.pack(value))
        return pieces.content()

    def clear(self) -> None:
        """Forget all content (chip reset); hooks and the region map stay."""
        self._words.clear()
        self._images.clear()
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
