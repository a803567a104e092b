"""Straight-line actions that are done together where nobody watches: fetches, LCU_INTERRUPTs of LCUs that are done.

Of a context that is loaded under another one they are most of the list (units.md 4). Whoever has a tracer, a
breakpoint, a hook before actions, a fault or handlers of his own gets them one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emu.hw.application import Step
from emu.hw.execution import Execution
from emu.hw.handlers import HANDLERS
from emu.wire.actions import ActionType

_FETCH, _LCU_DONE = ActionType.FETCH_CCW_BURSTS, ActionType.LCU_INTERRUPT
TOGETHER = frozenset({_FETCH, _LCU_DONE})


def together(fw: Execution, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int]) -> int:
    """Do what stands from place `at` of a list on, as far as it is of these kinds and nothing in it waits.

    Returns the place that it came to.
    """
    if fw.grant_at is not None:
        return at  # the first wait lets frames in
    lcus, fetch, counts = fw.device.clusters.named, HANDLERS[_FETCH], fw.probe.actions.counts
    a_wait, a_fetch = costs[_LCU_DONE], costs[_FETCH]
    waits = fetches = 0
    first, end = at, len(steps)
    try:
        while at < end:
            step = steps[at]
            if step.type is _LCU_DONE:
                lcu = lcus.get(step.arguments.packed_lcu_id)
                if lcu is None or lcu.frames < lcu.target:
                    break
                waits += 1
                fw.now += a_wait
            elif step.type is _FETCH:
                fetches += 1
                fw.step = step
                fw.now += a_fetch
                fetch(fw, step.arguments)
            else:
                break
            at += 1
    finally:
        for kind, count in ((_LCU_DONE, waits), (_FETCH, fetches)):
            if count:
                counts[kind] = counts.get(kind, 0) + count
    if at > first:
        fw.step = steps[at - 1]
    return at
