"""1xh, several contexts: the next context's data come in under the running one, LCU by LCU (units.md 4).

A block of sub-cluster memory belongs in context 0 to the LCU whose command follows it in the preliminary list
(chip-config.md 6); in a dynamic list the LCU that was awaited last says whose blocks may be overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emu.hw.config.addresses import ChipMap
from emu.hw.config.commands import GO, command_of
from emu.hw.config.execute import ListRun
from emu.sequencer.configuration import LcuInterrupt, TriggerSequencer, WaitConfigDone, WaitSequencer
from emu.trace.hazards import Hazard

_BLOCK_SHIFT = 16
_LOWER_BLOCKS = 0x100  # units.md 4: `offset >> 16` below this is sub-cluster memory
_RULE = "config-over-running"
_WAITS = (LcuInterrupt, WaitConfigDone, WaitSequencer)

Lcu = tuple[int, int]
Block = tuple[int, int]  # of a cluster


def overwriting_hazards(runs: Sequence[ListRun], chip: ChipMap) -> Iterator[Hazard]:
    """Records of dynamic lists that overwrite what an LCU may still work with."""
    if len(runs) < 3:
        return
    owners = _owners(runs[0], chip)
    for run in runs[1:]:
        yield from _list(run, chip, owners if run.source.context == 0 else {})


def _owners(preliminary: ListRun, chip: ChipMap) -> dict[Block, Lcu]:
    """Whose block is which in context 0: the LCU of the next command to its cluster."""
    records = preliminary.records
    started = {
        (one.cluster, one.command.slot): one.effects.started for one in preliminary.runs if one.command is not None
    }
    found: dict[Block, Lcu] = {}
    open_blocks: dict[int, list[Block]] = {}
    for record, block in _blocks(preliminary, chip):
        if block is not None:
            open_blocks.setdefault(block[0], []).append(block)
            continue
        address = records.addresses[record]
        cluster = chip.cluster_of(address)
        command = None if cluster is None else command_of(cluster, address, records.values[record])
        if command is None or command.phase == GO:
            continue
        lcus = started.get((command.cluster, command.slot), frozenset())
        for one in open_blocks.pop(command.cluster, ()):
            if len(lcus) == 1:
                found.setdefault(one, (command.cluster, next(iter(lcus))))
    return found


def _blocks(run: ListRun, chip: ChipMap) -> Iterator[tuple[int, Block | None]]:
    """Each record that goes to a cluster, with the block of sub-cluster memory that it writes (None: it is a register
    of the cluster)."""
    records = run.records
    for record, address in enumerate(records.addresses):
        cluster = chip.cluster_of(address)
        if cluster is None:
            continue
        number = address - chip.window(cluster) >> _BLOCK_SHIFT
        if records.is_single[record]:
            yield record, None
        elif number < _LOWER_BLOCKS:
            yield record, (cluster, number)


def _list(run: ListRun, chip: ChipMap, owners: dict[Block, Lcu]) -> Iterator[Hazard]:
    steps = run.source.steps
    by_step: dict[int, list[Block]] = {}
    for record, block in _blocks(run, chip):
        if block is not None:
            by_step.setdefault(run.records.steps[record], []).append(block)
    done: Lcu | None = None  # the LCU that was awaited last, and nothing else since
    behind: dict[Block, Lcu] = {}
    for number, step in enumerate(steps):
        if isinstance(step, TriggerSequencer):
            return  # the running context has done its batch
        if isinstance(step, _WAITS):
            done = (step.cluster, step.lcu) if isinstance(step, LcuInterrupt) else None
        for block in by_step.get(number, ()):
            why = _wrong(block, done, behind, owners)
            if why:
                yield Hazard(_RULE, f"{run.source.name}, cluster {block[0]} sub-cluster {block[1]}", why)
                return
            assert done is not None
            behind[block] = done


def _wrong(block: Block, done: Lcu | None, behind: dict[Block, Lcu], owners: dict[Block, Lcu]) -> str:
    """Why a block may not be overwritten here; empty where it may."""
    if done is None or done[0] != block[0]:
        return "written although no LCU of its cluster was awaited just before"
    if behind.get(block, done) != done:
        return f"written behind LCU {behind[block][1]} and behind LCU {done[1]}"
    owner = owners.get(block)
    if owner is not None and owner != done:
        return f"written behind LCU {done[1]}, it is LCU {owner[1]}'s"
    return ""
