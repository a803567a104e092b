"""Which data blocks of L3 hold the weights of which sub-cluster (network.md 14).

The control block says for each block which LCU uses it; those of an LCU rise with the slots of its sub-clusters, and a
sub-cluster k reaches the sixteen blocks from 2k - 8 on.
"""

from __future__ import annotations

from collections.abc import Sequence

from emu.hw.config.addresses import L3_BLOCKS, LCUS
from emu.hw.config.image import ChipImage
from emu.net.units import LcuId

_USES = 0x984  # of the control block: a word for each block
_WEIGHTS = 0x34  # bits 31..24 of the use of a block that an LCU's sub-clusters read
_REACH, _BEFORE = 16, 8


def blocks_of_cluster(image: ChipImage, cluster: int) -> dict[int, list[int]]:
    """The blocks that each LCU of a cluster reads weights from, rising."""
    uses = image.unit_words(cluster, "control", 0, L3_BLOCKS, _USES).words.tolist()
    found: dict[int, list[int]] = {}
    for block, use in enumerate(uses):
        if use >> 24 == _WEIGHTS:
            found.setdefault(((use >> 4 & 0xF) + 12 + (block + 4) // 8) % LCUS, []).append(block)
    return found


def runs_of(image: ChipImage, lcu: LcuId, sub_clusters: Sequence[int], blocks: int) -> list[list[int]] | None:
    """The `blocks` blocks of each sub-cluster of an LCU, by slot; None where the table gives it others."""
    own = blocks_of_cluster(image, lcu.cluster).get(lcu.number, [])
    if len(own) != blocks * len(sub_clusters):
        return None
    runs = [own[slot * blocks : (slot + 1) * blocks] for slot in range(len(sub_clusters))]
    reached = all(reaches(unit, block) for unit, run in zip(sub_clusters, runs, strict=True) for block in run)
    return runs if reached else None


def reaches(sub_cluster: int, block: int) -> bool:
    """Whether a sub-cluster can read weights from a block."""
    return (block - 2 * sub_cluster + _BEFORE) % L3_BLOCKS < _REACH
