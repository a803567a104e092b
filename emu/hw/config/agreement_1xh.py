"""Hailo-10H/15H: what rings of commands, triggers and lists must agree on (chip-config.md 4)."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from emu.hw.config.addresses import LCU_BASE, LCU_STRIDE
from emu.hw.config.execute import Executed, ListRun, Run
from emu.sequencer.configuration import LcuInterrupt, SwitchLcuBatch, TriggerSequencer, WriteData
from emu.trace.hazards import Hazard

_DONE = (0xF0014C, 0xBAAB)  # the last word of boot programs, and of those that start a context
_SLOT_REGISTER = 0xF00158  # the last word of an LCU's program: its slot
_FIRST_PACKET = LCU_BASE + 0x10000
CLEAR_OFFSET, CLEAR_VALUE = 0xF0019C, b"\xff\xff\xff\xff"

Lcus = list[tuple[int, int]]


def hazards_1xh(executed: Executed) -> Iterator[Hazard]:
    """Breaches of the agreements of 1xh lists."""
    preliminary, dynamic = executed.runs[0], executed.runs[1:]
    if not any(len(run.records) for run in executed.runs):
        return
    rings: dict[int, Lcus] = {}
    for cluster in range(executed.image.chip.clusters):
        started = [run for run in preliminary.runs if run.cluster == cluster]
        if started:
            rings[cluster] = yield from _ring(preliminary, cluster, started)
    armed = {(step.cluster, step.lcu) for step in preliminary.source.steps if isinstance(step, SwitchLcuBatch)}
    awaited = [_interrupts(run) for run in dynamic]
    if len(dynamic) == 1:
        run_here = {lcu for ring in rings.values() for lcu in ring}
    else:
        run_here = {lcu for lcus in awaited for lcu in lcus}
        yield from _completion_order(rings, awaited)
        for number, run in enumerate(dynamic):
            yield from _next_context(executed, run, set(awaited[(number + 1) % len(dynamic)]))
    for cluster, lcu in sorted(armed - run_here):
        yield Hazard("armed-unused", f"cluster {cluster} LCU {lcu}", "named for batches, never started")
    for cluster, lcu in sorted(run_here - armed):
        yield Hazard("lcu-mismatch", f"cluster {cluster} LCU {lcu}", "started, not named for batches")


def _interrupts(run: ListRun) -> Lcus:
    return [(step.cluster, step.lcu) for step in run.source.steps if isinstance(step, LcuInterrupt)]


def _ends_with(run: Run, offset: int, value: int) -> bool:
    if not run.program.packets:
        return False
    last = run.program.packets[-1]
    return (last.address, int(last.words[-1])) == (offset, value)


def _ring(run: ListRun, cluster: int, started: list[Run]) -> Generator[Hazard, None, Lcus]:
    """The commands of one cluster in the preliminary list form a ring: boot, then one LCU a slot.

    Returns the LCUs in the order of the ring.
    """
    where = f"{run.source.name}, cluster {cluster}"
    slots = {one.command.slot: one for one in started if one.command is not None}
    order, slot = [], 0
    for _ in range(len(slots)):
        found = slots.get(slot)
        if found is None or found.command is None:
            break
        order.append(found)
        slot = found.command.next_slot
    if len(order) != len(started) or slot != 0 or len({id(one) for one in order}) != len(order):
        yield Hazard("ring-order", where, f"{len(started)} commands, {len(order)} follow from slot 0, then slot {slot}")
    lcus: Lcus = []
    for number, one in enumerate(order):
        effects = one.effects
        if number == 0:
            if effects.lcus or not _ends_with(one, *_DONE):
                yield Hazard("ring-order", where, "slot 0 holds no boot program")
            continue
        own = (one.program.packets[0].address - _FIRST_PACKET) // LCU_STRIDE if one.program.packets else -1
        slot_number = -1 if one.command is None else one.command.slot
        if effects.started != {own} or not _ends_with(one, _SLOT_REGISTER, slot_number):
            yield Hazard("lcu-mismatch", where, f"slot {slot_number} does not start one LCU, its own")
        lcus += [(cluster, lcu) for lcu in sorted(effects.started)]
    return lcus


def _completion_order(rings: dict[int, Lcus], awaited: list[Lcus]) -> Iterator[Hazard]:
    for cluster, ring in rings.items():
        expected = [lcu for lcu in awaited[0] if lcu[0] == cluster]
        if ring != expected:
            yield Hazard("ring-order", f"cluster {cluster}", "the ring and the LCU_INTERRUPTs of dynamic 0 differ")


def _next_context(executed: Executed, run: ListRun, following: set[tuple[int, int]]) -> Iterator[Hazard]:
    """A dynamic list configures by its triggers, and starts by a last command, the LCUs of the next context."""
    name, chip = run.source.name, executed.image.chip
    configured: set[tuple[int, int]] = set()
    started: set[tuple[int, int]] = set()
    for one in run.runs:
        effects = one.effects
        if one.trigger is not None:
            configured.update((one.cluster, lcu) for lcu in effects.lcus)
            if effects.started:
                yield Hazard("next-context-mismatch", f"{name}, cluster {one.cluster}", "its trigger starts LCUs")
        else:
            started.update((one.cluster, lcu) for lcu in effects.started)
            if not _ends_with(one, *_DONE):
                yield Hazard("next-context-mismatch", f"{name}, cluster {one.cluster}", "its start does not end")
    for found, verb in ((configured, "configures"), (started, "starts")):
        for cluster in sorted({lcu[0] for lcu in found ^ following}):
            own = sorted(lcu for c, lcu in found if c == cluster)
            expected = sorted(lcu for c, lcu in following if c == cluster)
            what = f"{verb} {own}, the next context has {expected}"
            yield Hazard("next-context-mismatch", f"{name}, cluster {cluster}", what)
    cleared = {
        chip.cluster_of(step.address)
        for step in run.source.steps
        if isinstance(step, WriteData)
        and step.data == CLEAR_VALUE
        and chip.place(step.address).unit == "control"
        and step.address - chip.window(chip.cluster_of(step.address) or 0) == CLEAR_OFFSET
    }
    for step in run.source.steps:
        if isinstance(step, TriggerSequencer) and step.cluster not in cleared:
            yield Hazard("done-not-cleared", f"{name}, cluster {step.cluster}", "")
