"""The map of the chip that configuration writes into: cluster windows, their units, system blocks (chip-config.md 5).

>>> MAPS["Hailo-8"].name(0x188E012C)
'cluster 4 LCU 7 +0x12C'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from emu.sequencer.configuration import HAILO1XH, HAILO8

CLUSTER_BASE = 0x10000000
CLUSTER_STRIDE = 0x02000000
L3 = 0x01000000  # the direct form of an address in L3, in a cluster's window
L3_COMPRESSED = 0x01400000  # Hailo-8: the same blocks through the decompressor
L3_BLOCK = 0x8000
COMPRESSED_L3 = "L3 block (compressed)"
L3_BLOCKS = 128
SUB_CLUSTER_STRIDE = 0x10000
SUB_CLUSTER_END = 0xC000  # of a sub-cluster's memory (L2)
L2_START = 0x8000
LCUS = 16
LCU_BASE, LCU_STRIDE = 0x800000, 0x20000
_NAME = re.compile(r"(?:cluster (\d{1,2}) )?(.+?)(?: (\d{1,5}))? \+0x([0-9A-Fa-f]{1,8})")


class Bank(Struct, frozen=True):
    """`units` equal units of a kind in a cluster's window: unit i at `base + i * stride`."""

    unit: str
    base: int
    stride: int
    units: int


class Place(Struct, frozen=True):
    """Where an address lies: a unit (of a cluster, or of the system with `cluster` None), its number, the offset.

    `number` is None where the unit is the only one of its kind.
    """

    cluster: int | None
    unit: str
    number: int | None
    offset: int

    def __str__(self) -> str:
        parts = [] if self.cluster is None else [f"cluster {self.cluster}"]
        parts.append(self.unit if self.number is None else f"{self.unit} {self.number}")
        return f"{' '.join(parts)} +{self.offset:#X}".replace("0X", "0x")


class System(Struct, frozen=True):
    """A block of system registers, `[base, base + size)`."""

    name: str
    base: int
    size: int
    stride: int  # of its instances; 0: there is one


class ChipMap(Struct, frozen=True):
    """The addresses of one family.

    `words_a_unit`: 32-bit words that the scatter packets of a program hold for each active unit, by the unit's name.
    `symbol_tables`: where the decompressor's table is written. `raise_register`: writing `1 << i` raises
    MODULE_CONFIG_DONE(i) (units.md 1).
    """

    family: str
    clusters: int
    banks: tuple[Bank, ...]
    system: tuple[System, ...]
    words_a_unit: Mapping[str, int]
    symbol_tables: tuple[int, ...]
    raise_register: int
    control: int
    l3_forms: int  # address forms of L3: direct, and on Hailo-8 through the decompressor

    def bank(self, unit: str) -> Bank:
        """The bank of a kind of unit; KeyError for one that the family has not."""
        for bank in self.banks:
            if bank.unit == unit:
                return bank
        raise KeyError(unit)

    def window(self, cluster: int) -> int:
        """Where the window of a cluster begins."""
        return CLUSTER_BASE + cluster * CLUSTER_STRIDE

    def cluster_of(self, address: int) -> int | None:
        """The cluster whose window an address lies in."""
        cluster = address - CLUSTER_BASE >> 25
        return cluster if 0 <= cluster < self.clusters else None

    def place(self, address: int) -> Place:
        """The unit at an address."""
        cluster = self.cluster_of(address)
        if cluster is None:
            return self._system_place(address)
        offset = address & CLUSTER_STRIDE - 1
        for bank in self.banks:
            number, rest = divmod(offset - bank.base, bank.stride)
            if 0 <= number < bank.units:
                return Place(cluster, bank.unit, None if bank.units == 1 else number, rest)
        return Place(cluster, "window", None, offset)

    def l3_block(self, address: int) -> int | None:
        """The block of L3 at an address, in either form; None elsewhere."""
        offset = (address & CLUSTER_STRIDE - 1) - L3
        if self.cluster_of(address) is None or not 0 <= offset < self.l3_forms * L3_BLOCKS * L3_BLOCK:
            return None
        return offset // L3_BLOCK % L3_BLOCKS

    def name(self, address: int) -> str:
        """An address as people write it."""
        return str(self.place(address))

    def address(self, name: str) -> int:
        """The address that a name stands for; ValueError where it names none."""
        found = _NAME.fullmatch(name)
        if found is None:
            raise ValueError(f"{name!r} is no address: a unit, its number and +0xOFFSET")
        cluster, unit, number, offset = found.groups()
        for base, stride, units in self._named(unit, cluster):
            address = base + stride * int(number or 0) + int(offset, 16)
            if int(number or 0) < units and self.name(address).lower() == name.lower():
                return address
        raise ValueError(f"{name!r} is no address of this chip")

    def _named(self, unit: str, cluster: str | None) -> list[tuple[int, int, int]]:
        """Base, stride and number of all that may be meant by a unit's name."""
        if cluster is None:
            named = [(one.base, one.stride, one.size // one.stride if one.stride else 1) for one in self.system]
            return [*(at for at, one in zip(named, self.system, strict=True) if one.name == unit), (0, 0, 1)]
        if int(cluster) >= self.clusters:
            return []
        window = self.window(int(cluster))
        return [*((window + b.base, b.stride, b.units) for b in self.banks if b.unit == unit), (window, 0, 1)]

    def is_known(self, address: int) -> bool:
        """Whether an address lies in a window or block that configuration is known to write (ccw.md)."""
        return self.cluster_of(address) is not None or self._block(address) is not None

    def _block(self, address: int) -> System | None:
        for block in self.system:
            if 0 <= address - block.base < block.size:
                return block
        return None

    def _system_place(self, address: int) -> Place:
        block = self._block(address)
        if block is None:
            return Place(None, "system", None, address)
        if not block.stride:
            return Place(None, block.name, None, address - block.base)
        return Place(None, block.name, *divmod(address - block.base, block.stride))


class Target(Struct, frozen=True):
    """What writing to an address reaches: a cluster's window or the system (`cluster` None), a block of L3 at an offset
    (elsewhere `block` None), `unpacked` through the decompressor; whether it is `known` that configuration goes there.
    """

    cluster: int | None
    block: int | None
    offset: int
    unpacked: bool
    is_symbol_table: bool
    raises: bool
    known: bool


@lru_cache(maxsize=1 << 12)  # the same configuration is written again and again
def target_of(family: str, address: int) -> Target:
    """The target of a record."""
    chip = MAPS[family]
    cluster, block = chip.cluster_of(address), chip.l3_block(address)
    unpacked = block is not None and address & CLUSTER_STRIDE - 1 >= L3_COMPRESSED
    is_table, raises = address in chip.symbol_tables, address == chip.raise_register
    return Target(cluster, block, address % L3_BLOCK, unpacked, is_table, raises, chip.is_known(address))


_L3_BANK = Bank("L3 block", L3, L3_BLOCK, L3_BLOCKS)
_LCU_BANK = Bank("LCU", LCU_BASE, LCU_STRIDE, LCUS)
_IA_BANK = Bank("input aligner", 0x400000, 0x8000, 32)

MAPS: Mapping[str, ChipMap] = MappingProxyType(
    {
        HAILO8: ChipMap(
            HAILO8,
            8,
            (
                Bank("sub-cluster", 0, SUB_CLUSTER_STRIDE, 64),
                _IA_BANK,
                _LCU_BANK,
                Bank("input buffer", 0xA00000, 0x10000, 8),
                Bank("output buffer", 0xB00000, 0x10000, 8),
                Bank("APU", 0xC00000, 0x10000, 20),
                Bank("control", 0xE00000, 0x200000, 1),
                _L3_BANK,
                Bank(COMPRESSED_L3, L3_COMPRESSED, L3_BLOCK, L3_BLOCKS),
                Bank("symbol table", 0x1800000, 0x100, 1),
            ),
            (
                System("interrupt raise", 0x00200684, 4, 0),
                System("stream unit", 0x20200000, 0x40000, 0x8000),
                System("stream control", 0x20240000, 0x1000, 0),
                System("input pair", 0x20600000, 0x100000, 0x10000),
                System("output pair", 0x20700000, 0x100000, 0x10000),
                System("routing", 0x29040000, 0x10000, 0x4000),
                System("streams", 0x30000000, 0x1000, 0),
            ),
            MappingProxyType({"sub-cluster": 7, "APU": 43, "input aligner": 6}),
            (0x11800000, 0x19800000),
            0x00200684,
            0xE00000,
            2,
        ),
        HAILO1XH: ChipMap(
            HAILO1XH,
            5,
            (
                Bank("sub-cluster", 0, SUB_CLUSTER_STRIDE, 48),
                _IA_BANK,
                _LCU_BANK,
                Bank("input buffer", 0xA00000, 0x8000, 8),
                Bank("output buffer", 0xB00000, 0x8000, 8),
                Bank("APU", 0xC00000, 0x10000, 32),
                Bank("control", 0xF00000, 0x100000, 1),
                _L3_BANK,
                Bank("routing", 0x1800000, 0x1000, 1),
            ),
            (
                System("system block 0x29", 0x29000000, 0x1000000, 0),
                System("system block 0x2A", 0x2A000000, 0x1000000, 0),
                System("streams", 0x2C000000, 0x1000000, 0),
                System("interrupt raise", 0x2D800250, 4, 0),
                System("system block 0x2D", 0x2D000000, 0x1000000, 0),
                System("symbol table", 0x2E000000, 0x1000000, 0),
            ),
            MappingProxyType({"sub-cluster": 11, "APU": 48, "input aligner": 17}),
            (0x2E000000,),
            0x2D800250,
            0xF00000,
            1,
        ),
    }
)
