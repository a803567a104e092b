"""The order in which lists do things, which is the same in all real files (units.md 1, 3; chip-config.md 4, 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from emu.hw.config.addresses import ChipMap
from emu.hw.config.agreement_1xh import CLEAR_OFFSET, CLEAR_VALUE
from emu.hw.config.agreement_hailo8 import CLUSTER_RAISE, group_size
from emu.hw.config.execute import ListRun
from emu.sequencer.configuration import (
    HAILO8,
    CcwRecords,
    EnableLcu,
    LcuInterrupt,
    SwitchLcuBatch,
    TriggerSequencer,
    WaitConfigDone,
    WaitSequencer,
    WriteData,
)
from emu.trace.hazards import Hazard

_FIRST_WAITS, _GROUP_WAITS, _LAST_WAITS = (18, 19, 17), ((20, 21), (22, 23), (24, 25)), (13, 14)
_GROUP_ENDS = {20: 1, 22: 2, 24: 3, 13: 4}  # groups of LCUs that have been enabled when this is awaited
_PREPARE_OFFSET, _PREPARE_VALUE = 0xF0025C, (0x2217).to_bytes(4, "little")


def order_hazards(run: ListRun, chip: ChipMap) -> Iterator[Hazard]:
    """What stands in the wrong place of one list, and dones of sequencers that it does not await."""
    yield from _dones(run)
    if chip.family == HAILO8:
        yield from _waits(run)
        yield from _groups(run)
    elif run.source.context is None:
        yield from _prepared(run, chip)
        yield from _armed_before_started(run)
    else:
        yield from _interrupts_first(run, chip)


def _dones(run: ListRun) -> Iterator[Hazard]:
    """Each sequencer that comes to its end is awaited."""
    ended = Counter(
        one.cluster
        for one in run.runs
        if one.program.broken is None and (one.command is None or one.command.closes_ring)
    )
    ended.subtract(step.cluster for step in run.source.steps if isinstance(step, WaitSequencer))
    for cluster in sorted(cluster for cluster, left in ended.items() if left > 0):
        yield Hazard("done-unawaited", f"{run.source.name}, cluster {cluster}", f"{ended[cluster]} of them")


def _waits(run: ListRun) -> Iterator[Hazard]:
    """Config-dones, triggers and sequencers come in one order in all lists (20 of 20)."""
    steps = [step for step in run.source.steps if isinstance(step, WaitConfigDone | TriggerSequencer | WaitSequencer)]
    clusters = sorted({step.cluster for step in steps if isinstance(step, TriggerSequencer)})
    if not clusters:
        return
    due: list[str] = []
    for cluster in clusters:
        due += [f"config-done {CLUSTER_RAISE + cluster}", f"trigger of cluster {cluster}"]
    due += [f"sequencer of cluster {cluster}" for cluster in clusters]
    enabled = sum(isinstance(step, EnableLcu) for step in run.source.steps)
    later_groups = -(-enabled // group_size(run)) - 1
    waits = [*_FIRST_WAITS, *(wait for pair in _GROUP_WAITS[: max(0, later_groups)] for wait in pair), *_LAST_WAITS]
    due += [f"config-done {interrupt}" for interrupt in waits]
    for found, expected in zip(map(_named, steps), due, strict=False):
        if found != expected:
            yield Hazard("list-order", run.source.name, f"{found} where {expected} is due")
            return
    if len(steps) != len(due):
        yield Hazard("list-order", run.source.name, f"{len(steps)} waits and triggers, {len(due)} are due")


def _named(step: WaitConfigDone | TriggerSequencer | WaitSequencer) -> str:
    if isinstance(step, WaitConfigDone):
        return f"config-done {step.interrupt}"
    return f"{'trigger' if isinstance(step, TriggerSequencer) else 'sequencer'} of cluster {step.cluster}"


def _groups(run: ListRun) -> Iterator[Hazard]:
    """A group of LCUs is enabled before the data of the next are awaited (chip-config.md 6)."""
    total = sum(isinstance(step, EnableLcu) for step in run.source.steps)
    size, enabled = group_size(run), 0
    for step in run.source.steps:
        if isinstance(step, EnableLcu):
            enabled += 1
        elif isinstance(step, WaitConfigDone) and total:
            due = min(total, _GROUP_ENDS.get(step.interrupt, 0) * size)
            if enabled < due:
                what = f"{enabled} LCUs are enabled before config-done {step.interrupt}, {due} are due"
                yield Hazard("list-order", run.source.name, what)
                return


def _prepared(run: ListRun, chip: ChipMap) -> Iterator[Hazard]:
    """1xh: a write prepares the sequencer of each cluster that is used, before any record (units.md 3)."""
    prepared: set[int | None] = set()
    for step in run.source.steps:
        if isinstance(step, CcwRecords):
            break
        if isinstance(step, WriteData) and step.data == _PREPARE_VALUE and _offset(chip, step) == _PREPARE_OFFSET:
            prepared.add(chip.cluster_of(step.address))
    for cluster in sorted({one.cluster for one in run.runs} - prepared):
        yield Hazard("cluster-not-prepared", f"{run.source.name}, cluster {cluster}", "")


def _armed_before_started(run: ListRun) -> Iterator[Hazard]:
    """1xh: an LCU knows its batch before the command that starts it."""
    armed: dict[tuple[int, int], int] = {}
    for number, step in enumerate(run.source.steps):
        if isinstance(step, SwitchLcuBatch):
            armed.setdefault((step.cluster, step.lcu), number)
    for one in run.runs:
        for lcu in sorted(one.effects.started):
            if armed.get((one.cluster, lcu), -1) > one.step:
                where = f"{run.source.name}, cluster {one.cluster} LCU {lcu}"
                yield Hazard("batch-not-switched", where, "started before SWITCH_LCU_BATCH gave it its batch")


def _interrupts_first(run: ListRun, chip: ChipMap) -> Iterator[Hazard]:
    """1xh: a dynamic list awaits all LCUs, then clears the done bits of all clusters, then triggers (4 of 4 lists)."""
    order: dict[type, int] = {LcuInterrupt: 0, WriteData: 1, TriggerSequencer: 2}
    names = ("LCU_INTERRUPT", "a clear of done bits", "TRIGGER_SEQUENCER")
    latest = 0
    for step in run.source.steps:
        if isinstance(step, WriteData) and not (step.data == CLEAR_VALUE and _offset(chip, step) == CLEAR_OFFSET):
            continue
        place = order.get(type(step))
        if place is None:
            continue
        if place < latest:
            yield Hazard("list-order", run.source.name, f"{names[place]} behind {names[latest]}")
            return
        latest = place


def _offset(chip: ChipMap, step: WriteData) -> int:
    cluster = chip.cluster_of(step.address)
    return -1 if cluster is None else step.address - chip.window(cluster)
