"""1xh: commands to sequencers by register, their barrier of channels and their rings of slots (units.md 3)."""

from __future__ import annotations

from typing import NamedTuple

from emu.hw.config.addresses import CLUSTER_STRIDE

COMMAND_OFFSET = 0x00F00250  # in a cluster's window
GO = 4  # the phase that starts the program, by channel 0
_BARRIER = frozenset({0, 1, 2})  # phases that channels 0, 1 and 2 have to write before


class Command(NamedTuple):
    """A write to the command register of a cluster: run the program of L3 block `block` as slot `slot` of the ring."""

    cluster: int
    phase: int
    block: int
    next_slot: int
    slot: int

    @property
    def closes_ring(self) -> bool:
        """Behind it the ring is back at slot 0: SEQUENCER_DONE."""
        return self.next_slot == 0


def command_of(cluster: int, address: int, value: int) -> Command | None:
    """The command that a write to an address in a cluster's window gives; None where it is no command register."""
    if address & CLUSTER_STRIDE - 1 != COMMAND_OFFSET:
        return None
    return Command(cluster, value >> 28, value >> 10 & 0x3FFFF, value >> 5 & 31, value & 31)


class Barrier:
    """The command register of one cluster: a go waits until every config channel has come to the same command."""

    def __init__(self) -> None:
        self._arrived: dict[tuple[int, int, int], set[int]] = {}

    def arrive(self, command: Command) -> bool:
        """A channel has come to a command; whether all have now."""
        phases = self._arrived.setdefault(command[2:], set())
        phases.add(command.phase)
        return phases == _BARRIER

    def go(self, command: Command) -> bool:
        """Whether all channels have come to a command; it is done with then."""
        key = command[2:]
        if self._arrived.get(key, set()) != _BARRIER:
            return False
        del self._arrived[key]
        return True

    def take(self, block: int) -> Command | None:
        """TRIGGER_SEQUENCER is the go of the command for `block` that all channels have come to, if there is one."""
        for key, phases in self._arrived.items():
            if key[0] == block and phases == _BARRIER:
                del self._arrived[key]
                return Command(-1, GO, *key)
        return None

    def state(self) -> tuple[object, ...]:
        """Which channels have come to which commands."""
        return tuple((key, tuple(sorted(phases))) for key, phases in self._arrived.items())
