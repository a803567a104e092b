"""What can be looked at from outside a chip: its place, its waits, its units; looking changes nothing.

Debugger, watchdog, checkpoints, coverage and the results of a run see the chip through this and its `Probe` alone; what
the host does to it goes through `emu.hw.border.ChipPort`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import simpy
from msgspec import Struct

from emu.hw.application import Application, Context, Step
from emu.hw.chip import Chip
from emu.hw.cluster import Lcu, Sequencer
from emu.hw.config.channels import ConfigChannel
from emu.hw.firmware import Firmware
from emu.hw.memory import Region, RegionUse
from emu.hw.passes import FramePass
from emu.hw.probe import Probe
from emu.hw.unit import Unit, walk
from emu.hw.vdma import Channel, Edge
from emu.hw.waits import Wait
from emu.trace.hazards import FoundHazard


class Usage(Struct, frozen=True):
    """What the lists wrote so far: registers, configuration whose meaning is known and not, bytes of each region."""

    register_writes: int
    ccw_bytes: int
    opaque_bytes: int
    regions: tuple[RegionUse, ...]


class Inspection:
    """Looks at one chip and the firmware on it."""

    def __init__(self, chip: Chip, firmware: Firmware) -> None:
        self._chip = chip
        self._firmware = firmware

    @property
    def probe(self) -> Probe:
        """Who watches it."""
        return self._chip.probe

    # -- time

    @property
    def time(self) -> int:
        """Simulated time in ns."""
        return self._chip.clock.time

    @property
    def now(self) -> int:
        """The firmware's own instant in ns, never behind `time`."""
        return self._firmware.now

    @property
    def events(self) -> int:
        """Discrete events so far."""
        return self._chip.clock.events

    # -- where the firmware stands

    @property
    def applications(self) -> Sequence[Application]:
        """The network groups that were configured, by their index."""
        return self._firmware.applications

    @property
    def application(self) -> int:
        """Index of the application that is enabled; -1: none is."""
        application = self._firmware.application
        return -1 if application is None else application.index

    @property
    def batch(self) -> int:
        """Number of the batch since ENABLE."""
        return self._firmware.batch_index

    @property
    def context(self) -> Context | None:
        """Whose list is executed."""
        return self._firmware.context

    @property
    def step(self) -> Step | None:
        """The action that is executed."""
        return self._firmware.step

    @property
    def waiting(self) -> Wait | None:
        """What the firmware waits for."""
        return self._firmware.waiting

    @property
    def can_go_on(self) -> bool:
        """Whether the firmware stands where a checkpoint can take it up again."""
        return self._firmware.can_go_on

    @property
    def awaited(self) -> simpy.Event | None:
        """The event that the firmware waits for; None where it has come to its end."""
        return self._firmware.awaited

    def go_on(self, event: simpy.Event | None) -> None:
        """Take the firmware up where it stood, waiting for `event`."""
        self._firmware.go_on(event)

    def running_since(self, context: Context) -> int | None:
        """When the list of a context that runs without end began, in ns; None where it does not run, or has an end."""
        firmware = self._firmware
        if context is not firmware.context or firmware.application is None:
            return None
        return firmware.context_started if firmware.application.single_context else None

    # -- what it is made of

    @property
    def passes(self) -> Sequence[FramePass]:
        """The frames under way."""
        return self._chip.core.passes

    def units(self) -> list[Unit]:
        """The device and all that it is made of, at any depth."""
        return walk(self._chip)

    def channels(self) -> Iterator[tuple[Channel, Edge | None]]:
        """DMA channels by their packed id, each with the edge layer that it serves."""
        for packed, channel in sorted(self._chip.vdma.channels.items()):
            yield channel, self._chip.core.edge_of_channel(packed)

    def config_channels(self) -> Iterator[tuple[int, ConfigChannel]]:
        """(config stream, its channel), by stream."""
        yield from sorted(self._chip.config.channels.items())

    @property
    def config_style(self) -> str:
        """In what config channels count: "descriptors" or "bursts"."""
        return self._chip.config.style

    def lcus(self) -> Sequence[Lcu]:
        """The LCUs that count frames or were done."""
        return self._chip.clusters.running()

    def sequencers(self) -> Iterator[Sequencer]:
        """The sequencers of all clusters that are enabled."""
        yield from self._chip.clusters.sequencers.values()

    # -- what it holds and has noted

    def peek(self, address: int) -> int | None:
        """The word at an address; None where nothing was written."""
        return self._chip.memory.peek(address)

    def region_of(self, address: int) -> Region:
        """Which part of the address space an address lies in."""
        return self._chip.memory.region_of(address)

    def usage(self) -> Usage:
        """What was written so far."""
        memory, config = self._chip.memory, self._chip.config
        regions = tuple(RegionUse(use.region, use.bytes_written, use.writes) for use in memory.use)
        return Usage(memory.register_writes, config.ccw_bytes, config.opaque_bytes, regions)

    def hazards(self, application: int) -> tuple[FoundHazard, ...]:
        """The hazards found in an application so far, each once."""
        return tuple(one for one in self._chip.hazards if one.application == application)

    def house_rules(self, application: int) -> tuple[str, ...]:
        """The paragraphs of the house rules that the last run of an application rested on."""
        from emu.hw.house_rules import rested_on

        return rested_on(self._chip, self.applications[application])

    def faults(self) -> list[str]:
        """The faults that were injected, in words."""
        return [] if self._chip.faults is None else list(self._chip.faults.describe())


class Inspected(Protocol):
    """Whatever lets itself be looked at."""

    @property
    def inspection(self) -> Inspection:
        """The way to look."""
