"""Which units of a cluster belong to which LCU: the tables of its control block (network.md 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from emu.hw.config.addresses import LCUS
from emu.hw.config.image import ChipImage

VALID = 1 << 8
_OFFSET = 0xFF
_SUB_CLUSTERS, _APUS, _ALIGNERS = 64, 20, 32
_SC_OWNERS, _APU_OWNERS, _ALIGNER_OWNERS = 0x7B4, 0x8B4, 0x904
_OWNERS = (0x984 - _SC_OWNERS) // 4  # words of the three tables of owners
_SLOTS = 0x5E4
_ALIGNER_BLOCKS, _APU_BLOCKS, _BUFFER_BLOCKS = 0x4, 0x84, 0x544
_READ = 0xF8C  # a word for each sub-cluster: the aligner that it reads from
_BLOCKS = 128  # data memory blocks of a cluster


class LcuId(NamedTuple):
    """An LCU: its cluster and its number there."""

    cluster: int
    number: int

    def __str__(self) -> str:
        return f"{self.cluster}.{self.number}"


class LcuUnits(Struct, frozen=True):
    """The units of one LCU in the order of their slots, each by its number in the cluster; sub-clusters that share an
    LCU with several APUs in the order of the aligners that they read from, which is that of their channels.

    `told`: somebody wrote the tables that say so.
    """

    sub_clusters: tuple[int, ...]
    apus: tuple[int, ...]
    aligners: tuple[int, ...]
    told: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """The kinds of which a real LCU has at least one and this has none (network.md 2)."""
        kinds = {"sub-cluster": self.sub_clusters, "APU": self.apus, "input aligner": self.aligners}
        return tuple(kind for kind, units in kinds.items() if not units)


def units_of_cluster(image: ChipImage, cluster: int) -> dict[int, LcuUnits]:
    """The units of each of the 16 LCUs of a cluster; those that no table names have none."""
    slots = _words(image, cluster, _SLOTS, _SUB_CLUSTERS + _APUS + _ALIGNERS)
    first_apu, first_aligner = _SUB_CLUSTERS, _SUB_CLUSTERS + _APUS
    sub_clusters, apus, aligners = (
        _owned(_words(image, cluster, _SC_OWNERS, _SUB_CLUSTERS), slots, lambda k: 12 + (k + 2) // 4),
        _owned(_words(image, cluster, _APU_OWNERS, _APUS), slots[first_apu:], lambda i: 12 + (4 * i + 2) // 5),
        _owned(_words(image, cluster, _ALIGNER_OWNERS, _ALIGNERS), slots[first_aligner:], lambda i: 14 + (i + 1) // 2),
    )
    told = bool(image.unit_words(cluster, "control", 0, _OWNERS, _SC_OWNERS).written.all())
    read = aligners_read(image, cluster)
    for lcu, units in sub_clusters.items():
        own = aligners.get(lcu, [])
        if len(apus.get(lcu, ())) > 1 and all(read[unit] in own for unit in units):
            units.sort(key=lambda unit: own.index(read[unit]))
    return {
        lcu: LcuUnits(tuple(sub_clusters.get(lcu, ())), tuple(apus.get(lcu, ())), tuple(aligners.get(lcu, ())), told)
        for lcu in range(LCUS)
    }


def aligners_read(image: ChipImage, cluster: int) -> list[int]:
    """The input aligner that each sub-cluster of a cluster reads from (network.md 14)."""
    codes = _words(image, cluster, _READ, _SUB_CLUSTERS)
    return [((code & _OFFSET) - 4 + (unit + 1) // 2) % _ALIGNERS for unit, code in enumerate(codes)]


def aligner_block(image: ChipImage, cluster: int, aligner: int) -> int | None:
    """The data memory block that an input aligner reads from."""
    code = _words(image, cluster, _ALIGNER_BLOCKS + 4 * aligner, 1)[0]
    return ((code & _OFFSET) + 116 + 4 * aligner) % _BLOCKS if code & VALID else None


def apu_blocks(image: ChipImage, cluster: int, apu: int) -> frozenset[int]:
    """The data memory blocks that an APU writes."""
    codes = _words(image, cluster, _APU_BLOCKS + 16 * apu, 4)
    return frozenset(((code & _OFFSET) + 116 + (32 * apu + 2) // 5) % _BLOCKS for code in codes if code & VALID)


def buffer_blocks(image: ChipImage, cluster: int, buffer: int) -> frozenset[int]:
    """The data memory blocks that an input buffer writes."""
    codes = _words(image, cluster, _BUFFER_BLOCKS + 16 * buffer, 4)
    return frozenset(((code & _OFFSET) + 112 + 16 * buffer) % _BLOCKS for code in codes if code & VALID)


def _words(image: ChipImage, cluster: int, offset: int, count: int) -> list[int]:
    found: list[int] = image.unit_words(cluster, "control", 0, count, offset).words.tolist()
    return found


def _owned(codes: list[int], slots: list[int], place: Callable[[int], int]) -> dict[int, list[int]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for unit, code in enumerate(codes):
        if code & VALID:
            found.setdefault(((code & _OFFSET) + place(unit)) % LCUS, []).append((slots[unit] & _OFFSET, unit))
    return {lcu: [unit for _, unit in sorted(units)] for lcu, units in found.items()}
