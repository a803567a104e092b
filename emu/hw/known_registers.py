"""The registers of a chip whose meaning is known, with the values that they have before anybody writes them.

What the references say of addresses, and no more: the interrupt-raise register (units.md 1) and the enable registers of
the LCUs (ccw.md), which are off until a list enables them (every real list begins by disabling all, units.md 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from emu.hw.config.addresses import LCUS, MAPS
from emu.hw.memory import lcu_address
from emu.hw.registers import Register, Registers


def known_registers(family: str, clusters: Iterable[int]) -> Registers:
    """Those of a chip of a family with some clusters, declared; others may be added."""
    return _known(family, tuple(clusters)).copy()


@cache
def _known(family: str, clusters: tuple[int, ...]) -> Registers:
    found = Registers()
    found.declare(Register("interrupt raise", MAPS[family].raise_register, reset=0))
    for cluster in clusters:
        for lcu in range(LCUS):
            found.declare(Register(f"cluster {cluster} LCU {lcu} enable", lcu_address(cluster, lcu), reset=0))
    return found
