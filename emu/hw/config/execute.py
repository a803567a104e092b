"""The lists of a core-op carried out on a chip: records written, programs run.

Config channels run side by side: each takes its records in order, and the go of a 1xh command holds its channel back
until the others have come to it (units.md 3). Nothing here takes time: it says what the memory holds, and which
programs ran or broke off. The device gives the instants (emu.hw.config.logic).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from emu.hw.config.addresses import CLUSTER_BASE, CLUSTER_STRIDE, L3, MAPS, ChipMap, target_of
from emu.hw.config.commands import GO, Barrier, Command, command_of
from emu.hw.config.effects import Effects, start_program
from emu.hw.config.image import ChipImage
from emu.hw.config.packets import MOST_PACKETS, Program
from emu.hw.config.records import Records, read_records
from emu.sequencer.configuration import (
    HAILO8,
    CcwRecords,
    Configuration,
    ConfigurationList,
    TriggerSequencer,
    WriteData,
)


class Raise(Struct, frozen=True):
    """A record that raised MODULE_CONFIG_DONE(interrupt): the step, its number in the list, the config channel."""

    step: int
    record: int
    channel: int
    interrupt: int


class Stored(Struct, frozen=True):
    """A record into L3: the step, its number among the records of the list, where it went, by which channel."""

    step: int
    record: int
    cluster: int
    block: int
    channel: int


class Run(Struct, frozen=True):
    """A program that a step started: by TRIGGER_SEQUENCER (`trigger`), by a 1xh command (`command`), or by both.

    `effects` are the program and the words that reached the cluster.
    """

    step: int
    cluster: int
    trigger: TriggerSequencer | None
    command: Command | None
    effects: Effects

    @property
    def program(self) -> Program:
        """The packets; `broken` says whether and where it broke off."""
        return self.effects.program

    @property
    def ends_sequence(self) -> bool:
        """Whether SEQUENCER_DONE follows: it comes to its end, and the ring of commands is back at slot 0."""
        if self.program.broken is not None or self.effects.wrong_codes:
            return False
        return self.command is None or self.command.closes_ring


class Outcome(Struct):
    """What records and triggers came to. `refused` and `outside` are (number of the record, why) for records that were
    not written, or that went where nothing is known."""

    refused: list[tuple[int, str]] = field(default_factory=list)
    outside: list[tuple[int, str]] = field(default_factory=list)
    raises: list[Raise] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)


class _Waiting(NamedTuple):
    """Records of one channel, from number `first` up to `stop`, that were not taken yet."""

    records: Records
    first: int
    stop: int


def _acting(chip: ChipMap, records: Records, known: bool) -> list[int]:
    """The numbers of all records but those to a cluster's memory, which nothing looks at before it is read as a whole,
    and to system registers that do nothing.

    `known`: their symbols are, so that compressed ones cannot fail either.
    """
    addresses = records.address.astype(np.int64)
    offsets = addresses & CLUSTER_STRIDE - 1
    inside = (addresses >= CLUSTER_BASE) & (addresses < CLUSTER_BASE + chip.clusters * CLUSTER_STRIDE)
    inert = inside & (offsets < L3) & ~records.is_register_write
    system = np.zeros(len(records), bool)
    for block in chip.system:
        system |= (addresses >= block.base) & (addresses < block.base + block.size)
    inert |= system & ~inside & ~records.goes_to((chip.raise_register, *chip.symbol_tables))
    inert &= records.is_right
    if not known:
        inert &= ~records.is_compressed
    return [int(number) for number in np.flatnonzero(~inert)]


def _commands(chip: ChipMap, records: Records) -> dict[int, Command]:
    """The records that write a command, by their number (1xh)."""
    if chip.family == HAILO8:
        return {}
    found = {}
    for number in np.flatnonzero(records.is_register_write).tolist():
        address = records.addresses[number]
        cluster = chip.cluster_of(address)
        command = None if cluster is None else command_of(cluster, address, records.values[number])
        if command is not None:
            found[number] = command
    return found


class Executor:
    """One chip that takes records and triggers; `image` is what it holds, `outcome` where is noted what happens."""

    def __init__(self, family: str, keeps_words: bool = True, keeps_programs: bool = True) -> None:
        self.chip = MAPS[family]
        self.image = ChipImage(self.chip, keeps_words)
        self._keeps_programs = keeps_words and keeps_programs  # the words that programs write
        self.outcome = Outcome()
        self._barriers = [Barrier() for _ in range(self.chip.clusters)]
        self._waiting: dict[int, deque[_Waiting]] = {}
        self._held: dict[tuple[int, ...], list[int]] = {}  # channels that stand at the go of a command: heaps
        self._woken: deque[int] = deque()
        self._packets_left = MOST_PACKETS

    def begin(self) -> Outcome:
        """A list begins: what happens from now on is noted in a new place."""
        self.outcome = Outcome()
        self._packets_left = MOST_PACKETS
        return self.outcome

    def feed(self, records: Records, first: int, stop: int) -> None:
        """Records `[first, stop)`, which came over one channel."""
        if first >= stop:
            return
        channel = records.channels[first]
        waiting = self._waiting.setdefault(channel, deque())
        waiting.append(_Waiting(records, first, stop))
        if len(waiting) > 1:
            return
        self._advance(channel)
        while self._woken:
            self._advance(self._woken.popleft())

    def _advance(self, channel: int) -> None:
        """Take what a channel can."""
        waiting = self._waiting[channel]
        while waiting:
            records, first, stop = waiting[0]
            right = records.rights
            for number in self._acting(records, first, stop):
                if not right[number]:
                    self.outcome.refused.append((number, "its check value, a parity or a constant bit is wrong"))
                elif not self._take(records, number):
                    waiting[0] = _Waiting(records, number, stop)
                    return
            waiting.popleft()

    def _acting(self, records: Records, first: int, stop: int) -> Sequence[int]:
        """The records of a range that do anything: where words are not kept, those to a cluster's memory do not."""
        if self.image.keeps_words:
            return range(first, stop)
        known = self.image.decodes(records.channels[first])
        numbers = records.acting.get(known)
        if numbers is None:
            numbers = records.acting[known] = _acting(self.chip, records, known)
        return numbers[bisect_left(numbers, first) : bisect_left(numbers, stop)]

    def held_back(self) -> list[Command]:
        """Commands at which a channel stands because others never came to them."""
        found = []
        for waiting in self._waiting.values():
            if waiting:
                records, number = waiting[0].records, waiting[0].first
                address = records.addresses[number]
                cluster = self.chip.cluster_of(address)
                command = None if cluster is None else command_of(cluster, address, records.values[number])
                if command is not None:
                    found.append(command)
        return found

    def _take(self, records: Records, record: int) -> bool:
        """Write one record and let it act; False where it has to wait."""
        if records.commands is None:
            records.commands = _commands(self.chip, records)
        command = records.commands.get(record)
        if command is not None:
            return self._take_command(records, record, command)
        outcome, target = self.outcome, target_of(self.chip.family, records.addresses[record])
        why = self.image.write_record(records, record, target)
        if why:
            outcome.outside.append((record, why))
        if target.raises:
            step, channel, value = records.steps[record], records.channels[record], records.values[record]
            bits = range(value.bit_length())
            outcome.raises += [Raise(step, record, channel, bit) for bit in bits if value >> bit & 1]
        elif target.cluster is not None and target.block is not None:
            step, channel = records.steps[record], records.channels[record]
            outcome.stored.append(Stored(step, record, target.cluster, target.block, channel))
        return True

    def _take_command(self, records: Records, record: int, command: Command) -> bool:
        """A write to the command register of a cluster; False where its go has to wait."""
        cluster, step = command.cluster, records.steps[record]
        barrier, is_go = self._barriers[cluster], command.phase == GO
        if is_go and not barrier.go(command):
            heappush(self._held.setdefault((cluster, *command[2:]), []), records.channels[record])
            return False
        if self.image.keeps_words:
            self.image.write_record(records, record, target_of(self.chip.family, records.addresses[record]))
        self.outcome.commands.append(command)
        if is_go:
            self._start(step, cluster, None, command)
        elif barrier.arrive(command):
            held = self._held.get((cluster, *command[2:]))
            if held:
                self._woken.append(heappop(held))
        return True

    def trigger(self, trigger: TriggerSequencer, step: int) -> Run | None:
        """TRIGGER_SEQUENCER; None for a cluster that the chip has not."""
        if not 0 <= trigger.cluster < self.chip.clusters:
            return None
        command = self._barriers[trigger.cluster].take(trigger.l3_index)
        return self._start(step, trigger.cluster, trigger, command)

    def _start(self, step: int, cluster: int, trigger: TriggerSequencer | None, command: Command | None) -> Run:
        block, offset = (command.block, 0) if command is not None else (0, 0)
        if trigger is not None:
            block, offset = trigger.l3_index, trigger.l3_offset
        effects = start_program(self.chip, self.image.l3[cluster], block, offset, trigger, self._packets_left)
        self._packets_left -= effects.program.cost
        if self._keeps_programs:
            store, base = self.image.store(cluster), self.chip.window(cluster)
            store.write((effects.offsets + base).astype(np.uint32), effects.words)
        run = Run(step, cluster, trigger, command, effects)
        self.outcome.runs.append(run)
        return run

    def state(self) -> tuple[object, ...]:
        """What the rest of a run depends on."""
        return (
            tuple(l3.fingerprint for l3 in self.image.l3),
            tuple(barrier.state() for barrier in self._barriers),
            tuple(
                (channel, sum(one.stop - one.first for one in waiting)) for channel, waiting in self._waiting.items()
            ),
        )

    def execute(self, steps: ConfigurationList, checked: bool = True) -> ListRun:
        """Carry out one list; where records are not `checked` all of them count as right."""
        records = read_records(self.chip.family, steps.steps)
        if not checked:
            records.is_right = np.ones(len(records), bool)
        outcome = self.begin()
        first = 0
        for number, step in enumerate(steps.steps):
            if isinstance(step, CcwRecords):
                first = self.feed_step(records, first, number)
            elif isinstance(step, TriggerSequencer):
                self.trigger(step, number)
            elif isinstance(step, WriteData) and step.data is not None and len(step.data) >= 4:
                words = np.frombuffer(step.data[: len(step.data) & ~3], "<u4")
                self.image.write_words(step.address, words)
        return ListRun(steps, records, outcome, tuple(self.held_back()))

    def feed_step(self, records: Records, first: int, step: int) -> int:
        """The records of one step, the first of which has number `first`; the number of the next step's first."""
        numbers, stop = records.steps, first
        while stop < len(numbers) and numbers[stop] == step:
            stop += 1
        self.feed(records, first, stop)
        return stop


class Held(NamedTuple):
    """What a chip holds while it runs: all words, the programs that ran, and a number that changes whenever anything
    is written."""

    image: ChipImage
    runs: tuple[Run, ...]
    version: int


class ListRun(Struct, frozen=True):
    """One list carried out; `held_back` are commands whose go never came, at its end."""

    source: ConfigurationList
    records: Records
    outcome: Outcome
    held_back: tuple[Command, ...]

    @property
    def raises(self) -> list[Raise]:
        """The config-dones that records raised."""
        return self.outcome.raises

    @property
    def stored(self) -> list[Stored]:
        """The records that went into L3."""
        return self.outcome.stored

    @property
    def runs(self) -> list[Run]:
        """The programs that ran."""
        return self.outcome.runs


class Executed(Struct, frozen=True):
    """A whole configuration carried out: one run a list, and what the chip holds after the last one."""

    configuration: Configuration
    runs: tuple[ListRun, ...]
    image: ChipImage


def execute(configuration: Configuration) -> Executed:
    """Carry out all lists of a core-op once, the preliminary one first."""
    executor = Executor(configuration.family)
    runs = tuple(executor.execute(steps) for steps in configuration.lists)
    return Executed(configuration, runs, executor.image)


def preliminary(configuration: Configuration) -> Executed:
    """Carry out the preliminary list alone: what the chip holds when the first context begins."""
    executor = Executor(configuration.family)
    return Executed(configuration, (executor.execute(configuration.lists[0]),), executor.image)
