"""The chip's sparse address space: registers and blocks in named regions (ccw.md).

Only what was written takes memory. Registers are 32-bit words; blocks are runs of bytes as a CCW record brings them
and are kept as views of their source. The space carries a running hash of its content (order of independent writes
does not matter), which is what makes the synthetic outputs depend on the configuration.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import xxhash

from emu.hw.ccw import Record

CLUSTER_BASE = 0x10000000
CLUSTER_STRIDE = 0x02000000
LCU_BLOCK_OFFSET = 0x00800000
LCU_BLOCK_STRIDE = 0x00020000
LCU_ENABLE_OFFSET = 0x1DC  # lcu_enable_address = 0x108001DC + cluster·0x02000000 + lcu·0x00020000 (ccw.md)
MAX_CLUSTERS = 8
OPAQUE_KEY = 1 << 32  # above every address
_MIX = 0x9E3779B97F4A7C15
_WORD64 = (1 << 64) - 1

_ITEM = struct.Struct("<QQ")
_WORD = struct.Struct("<I")


def item_hash(address: int, value: int) -> int:
    """What one written address contributes to the hash of the content."""
    return xxhash.xxh3_64_intdigest(_ITEM.pack(address, value))


class Image(NamedTuple):
    """Decoded records ready to be written: words and blocks with the hash of each, and what they add up to."""

    words: tuple[tuple[int, int, int], ...]
    blocks: tuple[tuple[int, memoryview, int], ...]
    register_writes: int
    digest: int
    usage: tuple[tuple[int, int, int], ...]


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
    content_hash: int = 0
    use: list[RegionUse] = field(init=False)
    _bases: list[int] = field(init=False)
    _uses: dict[int, RegionUse] = field(default_factory=dict)
    _context: str = ""
    _sequence: int = 0
    _sequences: dict[str, int] = field(default_factory=dict)
    _fingerprint_of: tuple[int, int, str] | None = None
    _fingerprint: int = 0
    _items: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.use = [RegionUse(region) for region in self.layout]
        self._bases = [region.base for region in self.layout]

    def write_word(self, address: int, value: int) -> None:
        """Write one register."""
        if self.words.get(address) == value:
            # the same value again: only the order of writes has changed
            self._sequence = (self._sequence * _MIX + self._items[address]) & _WORD64
        else:
            self.words[address] = value
            self._replace(address, item_hash(address, value))
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
        items, words, blocks = self._items, self.words, self.blocks
        content = self.content_hash
        for address, value, item in image.words:
            content ^= items.get(address, 0) ^ item
            items[address] = item
            words[address] = value
        for address, data, item in image.blocks:
            content ^= items.get(address, 0) ^ item
            items[address] = item
            blocks[address] = data
        self.content_hash = content
        self._sequence = (self._sequence * _MIX + image.digest) & _WORD64
        self.register_writes += image.register_writes
        for region, size, writes in image.usage:
            use = self.use[region]
            use.bytes_written += size
            use.writes += writes
        if self.write_hooks:
            for address, value, _ in image.words:
                self._run_write_hooks(address, _WORD.pack(value))
            for address, data, _ in image.blocks:
                self._run_write_hooks(address, bytes(data))

    def image(self, records: Sequence[Record]) -> Image:
        """Prepare records for `load`: their hashes and the regions they fall into."""
        usage: dict[int, list[int]] = {}
        for record in records:
            entry = usage.setdefault(bisect_right(self._bases, record.address) - 1, [0, 0])
            entry[0] += len(record.data)
            entry[1] += 1
        return Image(
            tuple((r.address, r.word, item_hash(r.address, r.word)) for r in records if r.word is not None),
            tuple((r.address, r.data, item_hash(r.address, r.digest)) for r in records if r.word is None),
            sum(len(record.data) // 4 for record in records),
            sum((r.offset + 1) * item_hash(r.address, r.word if r.word is not None else r.digest) for r in records),
            tuple((region, size, writes) for region, (size, writes) in usage.items()),
        )

    def note_opaque(self, source: int, digest: int) -> None:
        """Unknown bytes reached the chip through config stream `source`: only the hash can know of them."""
        self.note(OPAQUE_KEY + source, digest)

    def note(self, key: int, digest: int) -> None:
        """Something without a public address was programmed: it counts for the hash only."""
        self._replace(key, item_hash(key, digest))

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
        self._items.clear()
        self._sequences.clear()
        self._context, self._sequence = "", 0
        self.content_hash = 0

    def begin(self, context: str) -> tuple[str, int]:
        """A context begins to write; returns what `resume` takes to go on with the one before."""
        before = (self._context, self._sequence)
        self._sequences[self._context] = self._sequence
        self._context, self._sequence = context, 0
        return before

    def resume(self, before: tuple[str, int]) -> None:
        """The context that was interrupted goes on."""
        self._sequences[self._context] = self._sequence
        self._context, self._sequence = before

    def fingerprint(self) -> int:
        """Hash of the configuration written so far: the content, and for each context the order of its writes."""
        self._sequences[self._context] = self._sequence
        key = (self.content_hash, self._sequence, self._context)
        if key != self._fingerprint_of:
            text = repr((self.content_hash, sorted(self._sequences.items())))
            self._fingerprint_of, self._fingerprint = key, xxhash.xxh3_64_intdigest(text.encode())
        return self._fingerprint

    def _replace(self, key: int, item: int) -> None:
        self._sequence = (self._sequence * _MIX + item) & _WORD64
        self.content_hash ^= self._items.get(key, 0) ^ item
        self._items[key] = item

    def _run_write_hooks(self, address: int, data: bytes) -> None:
        for hook in self.write_hooks:
            hook(address, data)


def difference(before: dict[int, bytes], after: dict[int, bytes]) -> Iterable[MemoryDifference]:
    """Where two snapshots differ, in address order."""
    for address in sorted(before.keys() | after.keys()):
        old, new = before.get(address), after.get(address)
        if old != new:
            yield MemoryDifference(address, old, new)
