"""Straight-line actions that are done together where nobody watches: those that only take their time.

Of a context that is loaded under another one they are most of the list (units.md 4). What a stretch of them comes to is
worked out when a list that has come to its end is run again (`emu.hw.foresight`), and carried out as a whole from then
on. Whoever has a tracer, a breakpoint, a hook before actions, a fault or handlers of his own gets them one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emu.hw.application import Step
from emu.hw.execution import Execution
from emu.hw.foresight import STRAIGHT, foreseen
from emu.hw.handlers import HANDLERS
from emu.hw.stretch import Stretch
from emu.wire.actions import ActionType

_FETCH, _LCU_DONE = ActionType.FETCH_CCW_BURSTS, ActionType.LCU_INTERRUPT
SINGLY = frozenset({_FETCH, _LCU_DONE})  # of those, what `one_by_one` does
_AWAITED = frozenset({_LCU_DONE})
_MOST_STRETCHES = 64  # of a list: where every LCU is waited for, none comes twice

# by place, batch, whether the first wait lets frames in, and whether records act; None: the first one is done by itself
_Stretches = dict[tuple[int, int, bool, bool], Stretch | None]


class Straight:
    """Does what stands together in the lists that a task runs."""

    def __init__(self) -> None:
        # of lists that have come to their end, by application and name
        self._known: dict[tuple[int, str], tuple[Sequence[Step], _Stretches]] = {}

    def forget(self) -> None:
        """The lists are gone."""
        self._known.clear()

    def ended(self, application: int, name: str, steps: Sequence[Step]) -> None:
        """A list has come to its end: nothing is wrong with what its actions say."""
        known = self._known.get((application, name))
        if known is None or known[0] is not steps:
            self._known[application, name] = steps, {}

    def together(self, fw: Execution, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int]) -> int:
        """Do what stands from place `at` of the list that runs on, as far as it is of these kinds and nothing waits.

        Returns the place that it came to.
        """
        granted = fw.grant_at is not None
        if granted and steps[at].type is _LCU_DONE:
            return at  # it lets frames in
        assert fw.application is not None and fw.context is not None
        found = self._known.get((fw.application.index, fw.context.name))
        if found is None or found[0] is not steps:  # or what is left of a list that went on from a checkpoint
            return one_by_one(fw, steps, at, costs)
        known = found[1]
        place = at, fw.batch, granted, fw.device.logic.active
        stretch = known.get(place)
        if stretch is None and place not in known and len(known) < _MOST_STRETCHES:
            stretch = known[place] = self._foreseen(fw, steps, at, costs)
        alone = stretch is not None and stretch.stands_alone(fw)
        if stretch is not None and alone and not stretch.repeats(fw):
            stretch = known[place] = self._foreseen(fw, steps, at, costs)
            alone = stretch is not None and stretch.stands_alone(fw)
        if stretch is None or not alone:
            return one_by_one(fw, steps, at, costs)
        stretch.carry_out(fw)
        fw.step = steps[stretch.end - 1]
        return stretch.end

    @staticmethod
    def _foreseen(fw: Execution, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int]) -> Stretch | None:
        kinds = _AWAITED if fw.device.logic.active else STRAIGHT  # each record acts
        if fw.grant_at is not None:
            kinds -= _AWAITED  # the first of them lets frames in, and ends it
        return foreseen(fw, steps, at, costs, kinds)


def one_by_one(fw: Execution, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int]) -> int:
    """As `Straight.together`, each by itself: fetches, and waits for LCUs that are done."""
    if steps[at].type not in SINGLY:
        return at
    granted = fw.grant_at is not None
    lcus, fetch, counts = fw.device.clusters.named, HANDLERS[_FETCH], fw.probe.actions.counts
    a_wait, a_fetch = costs[_LCU_DONE], costs[_FETCH]
    waits = fetches = 0
    first, end = at, len(steps)
    try:
        while at < end:
            step = steps[at]
            if step.type is _FETCH:
                fetches += 1
                fw.step = step
                fw.now += a_fetch
                fetch(fw, step.arguments)
            elif step.type is _LCU_DONE and not granted:
                lcu = lcus.get(step.arguments.packed_lcu_id)
                if lcu is None or lcu.frames < lcu.target:
                    break
                waits += 1
                fw.now += a_wait
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
