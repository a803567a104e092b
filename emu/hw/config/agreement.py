"""What the configuration of a core-op must agree on, whatever the family: each breach is a hazard (units.md 6).

The rules of one family are in agreement_hailo8 and agreement_1xh. None is broken by a real file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from emu.hw.config.addresses import CLUSTER_BASE, CLUSTER_STRIDE, L3_BLOCK, L3_BLOCKS, L3_COMPRESSED, MAPS
from emu.hw.config.addresses import L3 as L3_BASE
from emu.hw.config.agreement_1xh import hazards_1xh
from emu.hw.config.agreement_hailo8 import hazards_hailo8
from emu.hw.config.agreement_order import order_hazards
from emu.hw.config.execute import Executed, Executor, ListRun
from emu.hw.config.image import ChipImage
from emu.hw.config.overwriting import overwriting_hazards
from emu.hw.config.packets import NOBODY_WROTE
from emu.hw.config.streams import stream_hazards
from emu.sequencer.configuration import HAILO8, Configuration, EnableLcu, WaitConfigDone, WaitSequencer
from emu.trace.hazards import Hazard


def hazards_of(configuration: Configuration, thorough: bool = True) -> list[Hazard]:
    """Carry out a well-formed configuration and list every breach, in the order of lists.

    Where it is not `thorough`, check values of records are taken as right, and blocks of L3 that no program visits
    (weights) stay compressed: the device looks at the first itself, and nobody at the second.
    """
    executor = Executor(configuration.family, keeps_programs=False)
    found: list[Hazard] = []
    runs: list[ListRun] = []
    for steps in configuration.lists:
        run = executor.execute(steps, checked=thorough)
        runs.append(run)
        found += _records(run)
        found += _overlaps(run)
        found += _programs(run)
        if thorough:
            found += _unsound(run, executor.image)
        found += _raises(run)
        found += _order(run)
        found += order_hazards(run, MAPS[configuration.family])
        found += stream_hazards(configuration, run, executor.image)
    executed = Executed(configuration, tuple(runs), executor.image)
    if configuration.family == HAILO8:
        found += hazards_hailo8(executed)
    else:
        found += hazards_1xh(executed)
        found += overwriting_hazards(runs, MAPS[configuration.family])
    return found


def _records(run: ListRun) -> Iterator[Hazard]:
    where = run.source.name
    for step, offset in run.records.broken:
        yield Hazard("config-outside", where, f"step {step}: no record at byte {offset}")
    for record, why in run.outcome.refused:
        yield Hazard("record-refused", where, f"record {record} (step {run.records.step[record]}): {why}")
    for record, why in run.outcome.outside:
        yield Hazard("config-outside", where, f"record {record} to {run.records.address[record]:#010x}: {why}")
    for command in run.held_back:
        yield Hazard("go-without-barrier", f"{where}, cluster {command.cluster}", f"L3 block {command.block}")


def _overlaps(run: ListRun) -> Iterator[Hazard]:
    """No memory is written twice within a list; a compressed record may fill its whole block (chip-config.md 2)."""
    records = run.records
    chip = MAPS[records.family]
    chosen = ~records.is_register_write & records.is_right & ~records.goes_to(chip.symbol_tables)
    numbers = np.flatnonzero(chosen)
    addresses = records.address[numbers].astype(np.int64)
    offsets = addresses & CLUSTER_STRIDE - 1
    in_cluster = (addresses >= CLUSTER_BASE) & (addresses < CLUSTER_BASE + chip.clusters * CLUSTER_STRIDE)
    other_form = in_cluster & (offsets >= L3_COMPRESSED) & (offsets < L3_COMPRESSED + L3_BLOCKS * L3_BLOCK)
    other_form &= chip.l3_forms > 1
    starts = addresses - other_form * (L3_COMPRESSED - L3_BASE)
    plain = np.where(records.is_compressed[numbers], 4, records.length[numbers])
    ends = starts + np.where(other_form, L3_BLOCK, plain)
    order = np.argsort(starts, kind="stable")
    for place in np.flatnonzero(starts[order][1:] < ends[order][:-1]).tolist():
        first, second = sorted(numbers[order[place : place + 2]].tolist())
        where = f"{run.source.name}, {chip.name(int(starts[order[place + 1]]))}"
        yield Hazard("block-overwritten", where, f"records {first} and {second}")


def _unsound(run: ListRun, image: ChipImage) -> Iterator[Hazard]:
    """Blocks of L3 that hold codes which compilers do not write."""
    for cluster, block in sorted({(stored.cluster, stored.block) for stored in run.stored}):
        held = image.l3[cluster].block(block)
        if held is not None and not held.sound:
            yield Hazard("config-outside", f"{run.source.name}, cluster {cluster} L3 block {block}", "does not decode")


def _programs(run: ListRun) -> Iterator[Hazard]:
    for started in run.runs:
        for code in started.effects.wrong_codes:
            where = f"{run.source.name}, cluster {started.cluster} LCU {code.lcu}"
            yield Hazard("program-broken", where, str(code))
        broken = started.program.broken
        if broken is None:
            continue
        unwritten = not started.program.steps and broken.why == NOBODY_WROTE
        rule = "started-unwritten" if unwritten else "program-broken"
        yield Hazard(
            rule,
            f"{run.source.name}, cluster {started.cluster}",
            f"L3 block {broken.block} +{broken.offset:#x}: {broken.why}",
        )


def _raises(run: ListRun) -> Iterator[Hazard]:
    """Every config-done is a latch that one record sets and the next wait clears (units.md 1)."""
    where = run.source.name
    pending: Counter[int] = Counter()
    events = [(raised.step, 0, raised.interrupt) for raised in run.raises]
    events += [(n, 1, step.interrupt) for n, step in enumerate(run.source.steps) if isinstance(step, WaitConfigDone)]
    for step, is_wait, interrupt in sorted(events):
        if not is_wait:
            if pending[interrupt]:
                yield Hazard("raise-overwritten", where, f"step {step}: {interrupt} was still pending")
            pending[interrupt] = 1
        elif pending[interrupt]:
            pending[interrupt] = 0
        else:
            yield Hazard("raise-missing", where, f"step {step} waits for {interrupt}")
    for interrupt in sorted(interrupt for interrupt, count in pending.items() if count):
        yield Hazard("raise-unawaited", where, f"{interrupt}")


def _order(run: ListRun) -> Iterator[Hazard]:
    """No LCU is enabled while a SEQUENCER_DONE of its cluster is still to come."""
    last = {step.cluster: n for n, step in enumerate(run.source.steps) if isinstance(step, WaitSequencer)}
    for number, step in enumerate(run.source.steps):
        if isinstance(step, EnableLcu) and last.get(step.cluster, -1) > number:
            yield Hazard(
                "enabled-before-sequencer",
                f"{run.source.name}, cluster {step.cluster} LCU {step.lcu}",
                f"step {number}",
            )
