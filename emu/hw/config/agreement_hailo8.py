"""Hailo-8/8L: what programs, raises and actions must agree on (chip-config.md 4, 6)."""

from __future__ import annotations

from collections.abc import Iterator

from emu.hw.config.execute import Executed, ListRun
from emu.hw.config.routing import Routing
from emu.sequencer.configuration import DisableLcu, EnableLcu, TriggerSequencer, WaitConfigDone
from emu.trace.hazards import Hazard

CLUSTER_RAISE = 5  # the program of cluster c is complete: MODULE_CONFIG_DONE(5 + c)
_FIRST_GROUP = (18, 19, 17)  # before the first group of LCUs: its data in L3, and the system blocks
_LATER_GROUPS = ((20, 21), (22, 23), (24, 25))


def hazards_hailo8(executed: Executed) -> Iterator[Hazard]:
    """Breaches of the agreements of Hailo-8 lists."""
    enabled_anywhere = {
        (step.cluster, step.lcu) for run in executed.runs for step in run.source.steps if isinstance(step, EnableLcu)
    }
    configured: set[tuple[int, int]] = set()
    for run in executed.runs:
        yield from _lcus(run, configured)
        yield from _disable_order(run)
        yield from _disabled_before(run, enabled_anywhere)
        yield from _blocks(run)
        yield from _waits(run)
    if len(executed.configuration.lists) == 2:  # with one context the preliminary list configures everything
        effects = {started.cluster: started.effects for started in executed.runs[0].runs}
        buffers = {c: (e.units("input buffer"), e.units("output buffer")) for c, e in effects.items()}
        yield from Routing(executed.image).hazards(executed.runs[0].source.name, buffers)


def _lcus(run: ListRun, configured: set[tuple[int, int]]) -> Iterator[Hazard]:
    """The LCUs that a cluster's program writes are exactly those that are enabled there."""
    name = run.source.name
    enabled: dict[int, set[int]] = {}
    for step in run.source.steps:
        if isinstance(step, EnableLcu):
            enabled.setdefault(step.cluster, set()).add(step.lcu)
    written: dict[int, set[int]] = {}
    for started in run.runs:
        lcus = started.effects.lcus
        written.setdefault(started.cluster, set()).update(lcus)
        configured.update((started.cluster, lcu) for lcu in lcus)
    for cluster in sorted(enabled):
        for lcu in sorted(enabled[cluster]):
            if (cluster, lcu) not in configured:
                yield Hazard("enabled-unconfigured", f"{name}, cluster {cluster} LCU {lcu}", "no program wrote it")
    for cluster in sorted(written):
        surplus = written[cluster] - enabled.get(cluster, set())
        if surplus:
            what = f"configured, not enabled: {', '.join(map(str, sorted(surplus)))}"
            yield Hazard("lcu-mismatch", f"{name}, cluster {cluster}", what)


def _disable_order(run: ListRun) -> Iterator[Hazard]:
    """LCUs are disabled in the reverse order: before a list enables them, and where it disables them again behind."""
    steps = run.source.steps
    enables = [(step.cluster, step.lcu) for step in steps if isinstance(step, EnableLcu)]
    first = next((number for number, step in enumerate(steps) if isinstance(step, EnableLcu)), len(steps))
    for part in (steps[:first], steps[first:]):
        chosen = [(step.cluster, step.lcu) for step in part if isinstance(step, DisableLcu)]
        disables = [lcu for lcu in chosen if lcu in set(enables)]
        if disables and disables != enables[::-1]:
            yield Hazard("disable-order", run.source.name, f"{len(disables)} disabled, {len(enables)} enabled")


def _disabled_before(run: ListRun, enabled_anywhere: set[tuple[int, int]]) -> Iterator[Hazard]:
    """Every LCU that may run is disabled before its cluster is configured."""
    first: dict[int, int] = {}
    for stored in run.stored:
        first.setdefault(stored.cluster, stored.step)
    disabled: dict[tuple[int, int], int] = {}
    for number, step in enumerate(run.source.steps):
        if isinstance(step, DisableLcu):
            disabled.setdefault((step.cluster, step.lcu), number)
    for cluster, lcu in sorted(enabled_anywhere):
        if cluster in first and disabled.get((cluster, lcu), first[cluster]) >= first[cluster]:
            yield Hazard("not-disabled", f"{run.source.name}, cluster {cluster} LCU {lcu}", "")


def _blocks(run: ListRun) -> Iterator[Hazard]:
    """Blocks of a program come before its cluster's raise, data blocks after it, all on the channel that raises."""
    raises = {raised.interrupt - CLUSTER_RAISE: raised for raised in run.raises}
    programs: dict[int, set[int]] = {}
    for started in run.runs:
        programs.setdefault(started.cluster, set()).update(started.program.blocks)
    for stored in run.stored:
        raised = raises.get(stored.cluster)
        where = f"{run.source.name}, cluster {stored.cluster} L3 block {stored.block}"
        if raised is None or stored.cluster not in programs:
            yield Hazard("late-block", where, "nothing raises or triggers its cluster")
        elif stored.channel != raised.channel:
            yield Hazard("late-block", where, f"by channel {stored.channel}, channel {raised.channel} raises")
        elif (stored.record < raised.record) != (stored.block in programs[stored.cluster]):
            side = "before" if stored.record < raised.record else "after"
            kind = "a program's" if stored.block in programs[stored.cluster] else "a data"
            yield Hazard("late-block", where, f"{kind} block comes {side} the raise of its cluster")


def group_size(run: ListRun) -> int:
    """LCUs are enabled in four groups of this many, the last of which has the rest (chip-config.md 6)."""
    return -(-len([step for step in run.source.steps if isinstance(step, EnableLcu)]) // 4) or 1


def groups_of(run: ListRun) -> list[list[EnableLcu]]:
    """The LCUs of each group, in the order in which they are enabled."""
    enables = [step for step in run.source.steps if isinstance(step, EnableLcu)]
    size = group_size(run)
    return [enables[first : first + size] for first in range(0, len(enables), size)]


def _waits(run: ListRun) -> Iterator[Hazard]:
    """What starts does so behind the wait that says its configuration is there."""
    name = run.source.name
    group = group_size(run)
    done: set[int] = set()
    enabled = 0
    for number, step in enumerate(run.source.steps):
        if isinstance(step, WaitConfigDone):
            done.add(step.interrupt)
        elif isinstance(step, TriggerSequencer):
            if step.cluster + CLUSTER_RAISE not in done:
                yield Hazard("enabled-before-config", f"{name}, cluster {step.cluster}", f"step {number}: trigger")
        elif isinstance(step, EnableLcu):
            reached = min(enabled // group, len(_LATER_GROUPS))
            needed = {*_FIRST_GROUP, *(wait for pair in _LATER_GROUPS[:reached] for wait in pair)}
            if not needed <= done:
                missing = ", ".join(map(str, sorted(needed - done)))
                where = f"{name}, cluster {step.cluster} LCU {step.lcu}"
                yield Hazard("enabled-before-config", where, f"step {number}: before {missing}")
            enabled += 1
