"""The chip's sparse address space: registers and blocks in named regions (ccw.md).

Only what was written takes memory. Registers are 32-bit words; blocks are runs of bytes as a CCW record brings them
and are kept as views of their source. Where writes overlap the later one wins; that is worked out when somebody looks,
a load itself only notes that it happened. What was written in which order goes into a fingerprint (emu.hw.fingerprint).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Protocol

from msgspec import Struct
from msgspec import field as struct_field

from emu.hw.config.addresses import CLUSTER_BASE, CLUSTER_STRIDE
from emu.hw.fingerprint import Fingerprint, Hashed, Lists, Moment, Noted
from emu.hw.pieces import Pieces
from emu.hw.probe import Probe
from emu.hw.registers import Registers
from emu.hw.unit import Unit

LCU_BLOCK_OFFSET = 0x00800000
LCU_BLOCK_STRIDE = 0x00020000
LCU_ENABLE_OFFSET = 0x1DC  # lcu_enable_address = 0x108001DC + cluster·0x02000000 + lcu·0x00020000 (ccw.md)
MAX_CLUSTERS = 8

_WORD = struct.Struct("<I")


class Region(Struct, frozen=True):
    """A named range of addresses, `[base, base + size)`."""

    name: str
    base: int
    size: int


@lru_cache(maxsize=16)
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
class RegionUse(Unit):
    """What was written into one region."""

    COUNTERS: ClassVar[tuple[str, ...]] = ("bytes_written", "writes")
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    region: Region
    bytes_written: int = 0
    writes: int = 0

    @property
    def name(self) -> str:
        return self.region.name

    def document(self) -> dict[str, str | int]:
        """Its JSON in what a run tells (cli.md)."""
        return {"name": self.region.name, "base": self.region.base, "bytes_written": self.bytes_written}

    def reset(self) -> None:
        """It only counts."""


# a layout, and (number of the region, bytes, writes) of an image in it
Usage = tuple[tuple[Region, ...], list[tuple[int, int, int]]]


class Loadable(Hashed, Protocol):
    """Writes that arrive together. `spans` are address and size of each, `usage` belongs to memories of one layout."""

    usage: Usage | None
    register_writes: int

    @property
    def spans(self) -> Sequence[tuple[int, int]]: ...

    def writes(self) -> Iterator[tuple[int, memoryview]]: ...

    def word_at(self, address: int) -> int | None: ...


class Overlay(Protocol):
    """Memory that holds something else than what was written to it: what came compressed."""

    def covers(self, address: int) -> bool: ...

    def word_at(self, address: int) -> int | None: ...

    def pieces(self) -> Iterator[tuple[int, bytes]]: ...


class MemoryDifference(Struct, frozen=True):
    """One address at which two snapshots differ; None where one has nothing there."""

    address: int
    before: bytes | None
    after: bytes | None


class Writes(Struct):
    """Writes that follow one another: what they leave in registers, what of them goes into the hash, in order, and
    (number of the region, bytes, writes). `placed`: the registers behind so many `loads`, as the memory keeps them."""

    words: dict[int, int]
    noted: tuple[Noted, ...]
    usage: tuple[tuple[int, int, int], ...]
    placed: dict[int, tuple[int, int]] = struct_field(default_factory=dict)
    loads: int = -1


@dataclass(eq=False, repr=False, slots=True)
class AddressSpace(Unit):
    """See the module. `read_before_write` lists addresses that were read while nothing had been written there.

    `registers` are the addresses that have a name, a reset value or a unit that acts on what is written to them;
    `overlay` says what stands in memory that decodes what comes.
    """

    name: ClassVar[str] = "memory"
    COUNTERS: ClassVar[tuple[str, ...]] = ("register_writes",)
    OUTLIVES_APPLICATIONS: ClassVar[bool] = True

    layout: tuple[Region, ...]
    probe: Probe = field(default_factory=Probe)
    register_writes: int = 0
    read_before_write: list[int] = field(default_factory=list)
    registers: Registers = field(default_factory=Registers)
    overlay: Overlay | None = None
    use: list[RegionUse] = field(init=False)
    note: Callable[[Noted], None] = field(init=False)
    note_all: Callable[[Iterable[Noted]], None] = field(init=False)
    _bases: list[int] = field(init=False)
    _uses: dict[int, RegionUse] = field(default_factory=dict)
    _fingerprint: Fingerprint = field(default_factory=Fingerprint)
    # registers written one by one, with the number of loads before; every image with the number of its last load
    _words: dict[int, tuple[int, int]] = field(default_factory=dict)
    _images: dict[Loadable, int] = field(default_factory=dict)
    _loads: int = 0

    def __post_init__(self) -> None:
        self.use = [RegionUse(region) for region in self.layout]
        self._bases = [region.base for region in self.layout]
        self.note, self.note_all = self._fingerprint.note, self._fingerprint.note_all

    def parts(self) -> Iterable[Unit]:
        return self.use

    def state(self, now: int) -> tuple[object, ...]:
        return tuple(sorted(self.written_by_lists().items()))

    def reset(self) -> None:
        self.clear()

    def write_word(self, address: int, value: int, noted: int | None = None) -> None:
        """Write one register. `noted` goes into the hash in place of a value that depends on the batch."""
        self._words[address] = (value, self._loads)
        self.note((address, value if noted is None else noted))
        self.register_writes += 1
        use = self._uses.get(address)
        if use is None:
            use = self._uses[address] = self.use[bisect_right(self._bases, address) - 1]
        use.bytes_written += 4
        use.writes += 1
        if self.registers.act:
            self.registers.written(address, value)
        if self.probe.write_hooks:
            self._run_write_hooks(address, _WORD.pack(value))

    def write_unit(self, registers: Sequence[tuple[int, int]], noted: Sequence[tuple[int, int]] | None = None) -> None:
        """Write (address, value) of several registers of one unit, which lie in one region.

        `noted` goes into the hash in their place where a value depends on the batch.
        """
        for address, value in registers:
            self._words[address] = (value, self._loads)
        self.note_all(registers if noted is None else noted)
        address, count = registers[0][0], len(registers)
        self.register_writes += count
        use = self._uses.get(address)
        if use is None:
            use = self._uses[address] = self.use[bisect_right(self._bases, address) - 1]
        use.bytes_written += 4 * count
        use.writes += count
        if self.registers.act:
            for address, value in registers:
                self.registers.written(address, value)
        if self.probe.write_hooks:
            for address, value in registers:
                self._run_write_hooks(address, _WORD.pack(value))

    def write_all(self, writes: Writes) -> None:
        """As `write_word` of each, where no register acts on them and no hook looks."""
        if writes.loads != self._loads:
            writes.loads = loads = self._loads
            writes.placed = {address: (value, loads) for address, value in writes.words.items()}
        self._words.update(writes.placed)
        self.note_all(writes.noted)
        for region, size, times in writes.usage:
            self.register_writes += times
            use = self.use[region]
            use.bytes_written += size
            use.writes += times

    def together(self, words: Sequence[tuple[int, int]], noted: Iterable[Noted]) -> Writes:
        """(address, value) of registers as writes that follow one another, of which `noted` goes into the hash."""
        regions = Counter(bisect_right(self._bases, address) - 1 for address, _ in words)
        usage = tuple((region, 4 * count, count) for region, count in regions.items())
        return Writes(dict(words), tuple(noted), usage)

    def load(self, image: Loadable) -> None:
        """Write everything of an image, as a config channel or a sequencer's program delivers it."""
        self._loads += 1
        self._images.pop(image, None)
        self._images[image] = self._loads
        self.note(image)
        self.register_writes += image.register_writes
        usage = image.usage
        if usage is None or usage[0] is not self.layout:
            usage = image.usage = self.layout, self._usage(image)
        for region, size, writes in usage[1]:
            use = self.use[region]
            use.bytes_written += size
            use.writes += writes
        if self.registers.act:
            for address, data in image.writes():
                self.registers.block_written(address, data)
        for hook in self.probe.write_hooks:
            whole: Callable[[Loadable], None] | None = getattr(hook, "loaded", None)
            if whole is not None:
                whole(image)
                continue
            for address, data in image.writes():
                hook(address, bytes(data))

    def _usage(self, image: Loadable) -> list[tuple[int, int, int]]:
        """(number of the region, bytes, writes) of an image."""
        found: dict[int, list[int]] = {}
        base = end = 0
        for address, size in image.spans:
            if not base <= address < end:
                number = bisect_right(self._bases, address) - 1
                entry = found.setdefault(number, [0, 0])
                base, end = self.layout[number].base, self.layout[number].base + self.layout[number].size
            entry[0] += size
            entry[1] += 1
        return [(number, size, writes) for number, (size, writes) in found.items()]

    def masked_write(self, address: int, value: int, mask: int, noted: int | None = None) -> int:
        """reg = (reg & ~mask) | (value & mask); returns what the register then holds. `noted`: as in `write_word`."""
        written = value & mask
        if mask & 0xFFFFFFFF != 0xFFFFFFFF:
            written |= (self.peek(address) or 0) & ~mask & 0xFFFFFFFF
        self.write_word(address, written, noted)
        return written

    def read_word(self, address: int) -> int:
        """Read one register; 0 where nothing was written, and noted."""
        for hook in self.probe.read_hooks:
            hook(address, 4)
        value = self.peek(address)
        if value is None:
            self.read_before_write.append(address)
            return 0
        return value

    def peek(self, address: int) -> int | None:
        """What a read would give, without the traces of one; None where nothing was written."""
        if self.overlay is not None and self.overlay.covers(address):
            return self.overlay.word_at(address)
        value, written_at = self._words.get(address, (None, -1))
        for image, loaded_at in reversed(self._images.items()):
            if loaded_at <= written_at:
                break
            found = image.word_at(address)
            if found is not None:
                return found
        return self.registers.reset_value(address) if value is None else value

    def region_of(self, address: int) -> Region:
        return self.layout[bisect_right(self._bases, address) - 1]

    def describe(self, address: int) -> str:
        """The register at an address, or the place in its region."""
        register = self.registers.at(address)
        if register is None:
            region = self.region_of(address)
            return f"{region.name} +0x{address - region.base:X}"
        offset = address - register.address
        return f"{register.name} +0x{offset:X}" if offset else register.name

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
                if self.overlay is None or not self.overlay.covers(address):
                    pieces.write(address, bytes(data))
        for address, content in () if self.overlay is None else self.overlay.pieces():
            pieces.write(address, content)
        for _, address, value in words[position:]:
            pieces.write(address, _WORD.pack(value))
        return pieces.content()

    def clear(self) -> None:
        """Forget all content (chip reset); registers have their reset values, hooks and the region map stay."""
        self._words.clear()
        self._images.clear()
        self.overlay = None
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

    def written_by_lists(self) -> dict[str, int]:
        """For each list by name, a hash of what its last run wrote, units without public registers included."""
        return self._fingerprint.written()

    def moment(self, lists: Lists) -> Moment:
        """The fingerprint of what `lists` last wrote, worked out when somebody asks."""
        return self._fingerprint.moment(lists)

    def _run_write_hooks(self, address: int, data: bytes) -> None:
        for hook in self.probe.write_hooks:
            hook(address, data)


def difference(before: dict[int, bytes], after: dict[int, bytes]) -> Iterable[MemoryDifference]:
    """Where two snapshots differ, in address order."""
    for address in sorted(before.keys() | after.keys()):
        old, new = before.get(address), after.get(address)
        if old != new:
            yield MemoryDifference(address, old, new)
