"""Straight-line actions that are done together where nobody watches: fetches, LCU_INTERRUPTs of LCUs that are done.

Of a context that is loaded under another one they are most of the list (units.md 4). What a stretch of them comes to is
worked out when it is met for the second time, and from then on carried out as a whole wherever its channels stand as
they stood. Whoever has a tracer, a breakpoint, a hook before actions, a fault or handlers of his own gets them one by
one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from emu.hw.application import Step
from emu.hw.cluster import FrameCount
from emu.hw.config.fetches import Fetches
from emu.hw.execution import Execution
from emu.hw.handlers import HANDLERS
from emu.wire.actions import ActionType

_FETCH, _LCU_DONE = ActionType.FETCH_CCW_BURSTS, ActionType.LCU_INTERRUPT
TOGETHER = frozenset({_FETCH, _LCU_DONE})
_MOST_STRETCHES = 64  # of a list: where every LCU is waited for, none comes twice


class Stretch(Struct):
    """The actions of these kinds from a place of a list on, up to `end`.

    `ns` is what they cost, `awaited` are the LCUs that have to be done (packed), `counts` how many actions there are of
    each kind, `bursts` the fetches: (ns behind the first action, stream, bursts).
    """

    end: int
    ns: int
    awaited: tuple[int, ...]
    counts: Mapping[ActionType, int]
    bursts: tuple[tuple[int, int, int], ...]
    among: list[FrameCount] | None = None  # all counts when those of the LCUs were looked up
    seen: list[FrameCount] | None = None
    fetches: Fetches | None = None

    @classmethod
    def of(cls, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int], granted: bool) -> Stretch:
        """`granted`: the first wait lets frames in, and ends it."""
        ns, first = 0, at
        awaited, bursts = dict[int, None](), []
        while at < len(steps) and (kind := steps[at].type) in TOGETHER and not (granted and kind is _LCU_DONE):
            arguments = steps[at].arguments
            ns += costs[kind]
            if kind is _FETCH:
                bursts.append((ns, arguments.config_stream_index, arguments.ccw_bursts))
            else:
                awaited[arguments.packed_lcu_id] = None
            at += 1
        counts = Counter(step.type for step in steps[first:at])
        return cls(at, ns, tuple(awaited), counts, tuple(bursts))

    def carry_out(self, fw: Execution) -> bool:
        """Do all of it at once; False, and nothing done, where something in it has to be looked at."""
        counts = fw.device.clusters.frame_counts()
        if counts is not self.among:
            self.among, self.seen = counts, fw.device.clusters.counts_of(self.awaited)
        if self.seen is None:
            return False
        for one in self.seen:
            if one.frames < one.target:
                return False
        if self.bursts and not self._fetch(fw):
            return False
        fw.now += self.ns
        executed = fw.probe.actions.counts
        for kind, count in self.counts.items():
            executed[kind] = executed.get(kind, 0) + count
        return True

    def _fetch(self, fw: Execution) -> bool:
        device = fw.device
        config = device.config
        if device.logic.active or device.moves_beside_configuration:
            return False  # each record acts, each fetch slows what moves
        fetches = self.fetches
        if fetches is None or not fetches.hold(config):
            fetches = self.fetches = Fetches.foreseen(config, self.bursts)
            if fetches is None:
                return False
        assert fw.context is not None
        fetches.carry_out(config, device.bus, fw.now)
        fw.context.config_bytes += fetches.size
        return True


class Straight:
    """Does what stands together in the lists that a task runs."""

    def __init__(self) -> None:
        # by application and list; by place, and whether the first wait lets frames in; None: met once
        self._known: dict[tuple[int, str], tuple[Sequence[Step], dict[tuple[int, bool], Stretch | None]]] = {}

    def forget(self) -> None:
        """The lists are gone."""
        self._known.clear()

    def together(self, fw: Execution, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int]) -> int:
        """Do what stands from place `at` of the list that runs on, as far as it is of these kinds and nothing waits.

        Returns the place that it came to.
        """
        granted = fw.grant_at is not None
        if granted and steps[at].type is _LCU_DONE:
            return at
        assert fw.application is not None and fw.context is not None
        name, place = (fw.application.index, fw.context.name), (at, granted)
        found = self._known.get(name)
        if found is None or found[0] is not steps:  # or what is left of a list that went on from a checkpoint
            found = self._known[name] = steps, {}
        known = found[1]
        stretch = known.get(place)
        if stretch is None and place in known:
            stretch = known[place] = Stretch.of(steps, at, costs, granted)
        elif stretch is None and len(known) < _MOST_STRETCHES:
            known[place] = None
        if stretch is not None and stretch.carry_out(fw):
            fw.step = steps[stretch.end - 1]
            return stretch.end
        return one_by_one(fw, steps, at, costs)


def one_by_one(fw: Execution, steps: Sequence[Step], at: int, costs: Mapping[ActionType, int]) -> int:
    """As `Straight.together`, each by itself."""
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
