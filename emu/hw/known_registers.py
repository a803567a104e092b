"""The registers of a chip whose meaning is known, with the values that they have before anybody writes them.

What the references say of addresses, and no more: the interrupt-raise register (units.md 1) and the enable registers of
the LCUs (ccw.md), which are off until a list enables them (every real list begins by disabling all, units.md 4).
"""

from __future__ import annotations

from collections.abc import Iterable

from emu.hw.config.addresses import LCUS, ChipMap
from emu.hw.memory import lcu_address
from emu.hw.registers import Register, Registers


def declare_known(registers: Registers, chip: ChipMap, clusters: Iterable[int]) -> None:
    """Declare them for a chip with some clusters."""
    registers.declare(Register("interrupt raise", chip.raise_register, reset=0))
    for cluster in clusters:
        for lcu in range(LCUS):
            registers.declare(Register(f"cluster {cluster} LCU {lcu} enable", lcu_address(cluster, lcu), reset=0))
