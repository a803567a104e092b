"""When the actions of a context happen, computed without simulating: the analytic twin of the device's firmware.

The rules are those of `emu.hw.timing`; what each adds to the device's clock is added here in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from emu.hw.profiles import Profile
from emu.hw.timing import (
    BurstSizes,
    ConfigBus,
    Flow,
    GroupTiming,
    action_ns,
    burst_sizes,
    contexts_of,
    fetch_sizes,
    grants_input,
    plain_actions,
)
from emu.sequencer.actions import Action, ActionType
from emu.sequencer.program import ContextType, NetworkGroupProgram, Program

REQUEST_BYTES = 20  # of a control message without parameters (firmware-actions.md 5)
_A = ActionType
_FETCHES = frozenset({_A.FETCH_CFG_CHANNEL_DESCRIPTORS, _A.FETCH_CCW_BURSTS})
_CONFIG_WAITS = frozenset({_A.MODULE_CONFIG_DONE_INTERRUPT, _A.DEACTIVATE_CFG_CHANNEL})
_BATCH_WAITS = frozenset(
    {
        _A.LCU_INTERRUPT,
        _A.INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
        _A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
        _A.WAIT_FOR_DMA_IDLE_ACTION,
        _A.WAIT_FOR_NMS,
    }
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run of an action list, in ns from its first action.

    `total_ns` is when the last action is done and all frames have passed, `ready_ns` when the list first waits for
    frames (or ends, if it never does): a network just loaded then waits for its first input. `flow_start_ns` is when
    frames begin to pass (None: this list grants no input). `config_ns` is the time outside the flow in which
    configuration was loaded.
    """

    total_ns: float
    ready_ns: float
    flow_start_ns: float | None
    config_ns: float


def schedule(
    profile: Profile, actions: Sequence[Action], flow: Flow | None, batch: int, bursts: BurstSizes
) -> Schedule:
    """Run `actions` (REPEATED unrolled) for `batch` frames; `flow` is None for a list that only configures."""
    bus = ConfigBus(profile)
    sizes = iter(fetch_sizes(actions, bursts))
    sequencers: dict[int, float] = {}
    loads: list[tuple[float, float]] = []
    now = 0.0
    granted: float | None = None
    flow_start: float | None = None
    flow_end = 0.0
    ready: float | None = None
    costs = {kind: action_ns(profile, kind) for kind in {action.type for action in actions}}
    for action in actions:
        kind = action.type
        now += costs[kind]
        if kind in _FETCHES:
            begin = max(now, bus.idle_at)
            loads.append((begin, bus.fetch(now, next(sizes))))
        elif kind in _CONFIG_WAITS:
            now = max(now, bus.idle_at)
        elif kind is _A.TRIGGER_SEQUENCER:
            sequencers[action.value("cluster_index")] = max(now, bus.idle_at) + profile.sequencer_ns
        elif kind is _A.SEQUENCER_DONE_INTERRUPT:
            now = max(now, sequencers.get(action.value("sequencer_index"), bus.idle_at))
        elif kind in _BATCH_WAITS:
            ready = now if ready is None else ready
            if granted is not None and flow is not None and flow_start is None:
                flow_start = max(granted, bus.idle_at)
                flow_end = max(now, flow_start + flow.output_done_ns(batch - 1))
            now = max(now, flow_end)
        elif kind is _A.WAIT_FOR_CACHE_UPDATED:
            now += profile.control_cost("SIGNAL_CACHE_UPDATED", REQUEST_BYTES)
        elif kind is _A.SLEEP:
            now += action.value("sleep_time") * 1000.0
        elif grants_input(kind):
            granted = now
    if granted is not None and flow is not None and flow_start is None:
        flow_start = max(granted, bus.idle_at, now)
        flow_end = flow_start + flow.output_done_ns(batch - 1)
    config = sum(end - begin for begin, end in loads)
    if flow_start is not None:
        config -= sum(max(0.0, min(end, flow_end) - max(begin, flow_start)) for begin, end in loads)
    return Schedule(max(now, flow_end), now if ready is None else ready, flow_start, config)


class GroupSchedule:
    """The steady state of a compiled network group, for any batch size."""

    def __init__(self, profile: Profile, program: Program, group: NetworkGroupProgram, timing: GroupTiming) -> None:
        self.profile = profile
        self.timing = timing
        self._program = program
        self._contexts = contexts_of(group)
        self.single_context = sum(context.context_type is ContextType.DYNAMIC for context in self._contexts) == 1

    # decoded on first use: the steady state of a single context follows from its flow alone

    @cached_property
    def activation(self) -> list[Action]:
        return list(chain.from_iterable(self._lists(ContextType.ACTIVATION)))

    @cached_property
    def preliminary(self) -> list[Action]:
        return list(chain.from_iterable(self._lists(ContextType.PRELIMINARY)))

    @cached_property
    def dynamic(self) -> list[list[Action]]:
        return self._lists(ContextType.DYNAMIC)

    @cached_property
    def _bursts(self) -> BurstSizes:
        return burst_sizes(self._program)

    def _lists(self, kind: ContextType) -> list[list[Action]]:
        runtime = self._program.runtime
        return [list(plain_actions(one.actions(runtime))) for one in self._contexts if one.context_type is kind]

    def run(self, actions: Sequence[Action], flow: Flow | None, batch: int) -> Schedule:
        """One run of a list of this group, on its own."""
        return schedule(self.profile, actions, flow, batch, self._bursts)

    def runs(self, batch: int) -> list[Schedule]:
        """One run of every dynamic context, on its own."""
        return [self.run(actions, flow, batch) for actions, flow in zip(self.dynamic, self.timing.flows, strict=True)]

    def switches_ns(self) -> float:
        """Unexplained time of the context switches of one batch."""
        return 0.0 if self.single_context else self.profile.context_switch_ns * len(self.dynamic)

    def contexts_ns(self, batch: int) -> float:
        """Time that the contexts take for one batch: linear in the batch."""
        if self.single_context:
            return batch * self.timing.flows[0].interval_ns
        return sum(run.total_ns for run in self.runs(batch)) + self.switches_ns()

    def period_ns(self, batch: int) -> float:
        """Time of one batch in steady state."""
        return (
            self.contexts_ns(batch)
            if self.single_context
            else max(self.contexts_ns(batch), batch * self.timing.host_ns)
        )

    def line(self) -> tuple[float, float]:
        """(fixed, interval) in ns: the contexts take fixed + batch x interval for a batch."""
        one, two = self.contexts_ns(1), self.contexts_ns(2)
        return 2 * one - two, two - one

    def latency_ns(self, batch: int) -> float:
        """The first input launched to the last output of that frame, on a network just activated.

        With several contexts the frame waits in each until the whole batch has passed it; the preliminary context is
        the first run of context 0 where it grants input.
        """
        flows = self.timing.flows
        if self.single_context:
            return flows[0].latency_ns
        host_ns = self.timing.host_ns
        first = flows[0].latency_ns + (batch - 1) * max(flows[0].interval_ns, host_ns)
        runs = self.runs(batch)
        if self.run(self.preliminary, flows[0], batch).flow_start_ns is None:
            first += runs[0].total_ns - (runs[0].flow_start_ns or 0.0) - flows[0].output_done_ns(batch - 1)
        between = sum(run.total_ns for run in runs[1:-1])
        last = (runs[-1].flow_start_ns or 0.0) + flows[-1].latency_ns
        return first + between + last + self.switches_ns() * (len(runs) - 1) / len(runs)
