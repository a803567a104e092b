"""When the actions of a context happen, computed without simulating: the analytic twin of the device's firmware.

The rules are those of `emu.timing.model`; what each adds to the device's clock is added here in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from emu.chips.chips import Profile
from emu.timing.demand import GroupDemand
from emu.timing.model import Bound, ConfigBus, Flow, GroupTiming
from emu.timing.passage import beside_configuration
from emu.timing.steps import Step
from emu.timing.stretches import Event

STATUS_REQUEST_BYTES = 42  # CHANGE_CONTEXT_SWITCH_STATUS, silicon-facts.md b


class Schedule(Struct, frozen=True):
    """One run of an action list, in ns from its first action.

    `total_ns` is when the last action is done and all frames have passed, `ready_ns` when the list first waits for
    frames (or ends, if it never does): a network just loaded then waits for its first input. `flow_start_ns` is when
    frames begin to pass (None: this list grants no input), `flow_end_ns` when the last one has. `loading_ns` is how
    long what was queued at `ready_ns` takes then, `loads` from when to when each fetch moved.
    """

    total_ns: float
    ready_ns: float
    flow_start_ns: float | None
    flow_end_ns: float
    loading_ns: float
    loads: list[tuple[float, float]]

    @property
    def config_ns(self) -> float:
        """The time outside the flow in which configuration was loaded."""
        config = sum(end - begin for begin, end in self.loads)
        if (start := self.flow_start_ns) is not None:
            flow_end = self.flow_end_ns
            beside = (load for load in self.loads if load[0] < flow_end and load[1] > start)
            config -= sum(min(end, flow_end) - max(begin, start) for begin, end in beside)
        return config


def schedule(
    profile: Profile,
    steps: Sequence[Step],
    flow: Flow | None,
    batch: int,
    pace_ns: float | None = None,
    busy_ns: float = 0.0,
) -> Schedule:
    """Run a list for `batch` frames; `flow` is None for a list that only configures.

    `pace_ns`: another list has let the frames in, and the host launches one after the other when this one waits for
    them. `busy_ns`: how long the configuration of a network before still moves.
    """
    bus = ConfigBus(profile)
    bus.idle_at = max(0.0, busy_ns)
    ends = [0.0]  # of the programs, by their number
    loads: list[tuple[float, float]] = []
    now = 0.0
    granted: float | None = None
    flow_start: float | None = None
    flow_end = 0.0
    ready: float | None = None
    loading = 0.0
    for fetches, ns, event, program, starts in steps:
        if fetches:
            now = bus.fetch_in_turn(now, fetches, loads)
        now += ns
        if event is Event.PROGRAM:
            now = max(now, ends[program])
        elif event is Event.CONFIG:
            now = max(now, bus.idle_at)
        elif event is Event.GRANT:
            granted = now
        elif event is Event.FRAMES:
            if ready is None:
                ready, loading = now, max(0.0, bus.idle_at - now)
            if flow is not None and flow_start is None:
                if pace_ns is not None:
                    left = beside_configuration(profile)
                    slower = 0.0 if left is None or not flow.wants else max(0.0, 1 - left / flow.wants)
                    late = max(0.0, bus.idle_at - now) * slower + flow.output_done_ns(batch - 1)
                    flow_start, flow_end = now, now + max(late, (batch - 1) * pace_ns + flow.latency_ns)
                elif granted is not None:
                    flow_start = max(granted, bus.idle_at)
                    flow_end = max(now, flow_start + flow.output_done_ns(batch - 1))
            now = max(now, flow_end)
        if starts:
            at = max(now, bus.idle_at)
            for lasting, behind in starts:
                ends.append(max(at, ends[behind]) + lasting)
    if granted is not None and flow is not None and flow_start is None:
        flow_start = max(granted, bus.idle_at, now)
        flow_end = flow_start + flow.output_done_ns(batch - 1)
    return Schedule(max(now, flow_end), now if ready is None else ready, flow_start, flow_end, loading, loads)


class Part(Struct, frozen=True):
    """What a share of a batch's time is spent on; `shared`: a larger batch spreads it over more frames."""

    bound: Bound
    ns: float
    shared: bool


class GroupSchedule:
    """The steady state of a compiled network group on a profile, for any batch size that its lists were made for."""

    def __init__(self, profile: Profile, demand: GroupDemand, timing: GroupTiming) -> None:
        self.profile = profile
        self.demand = demand
        self.timing = timing
        self.single_context = demand.single_context
        self._steps = demand.steps(profile)
        self._runs: dict[int, list[Schedule]] = {}
        self._first_rounds: dict[int, float] = {}

    def runs(self, batch: int) -> list[Schedule]:
        """One run of every dynamic context, on its own."""
        if batch not in self._runs:
            pairs = zip(self._steps.dynamic, self.timing.flows, strict=True)
            self._runs[batch] = [schedule(self.profile, steps, flow, batch) for steps, flow in pairs]
        return self._runs[batch]

    def switches_ns(self) -> float:
        """Unexplained time of the context switches of one batch."""
        return 0.0 if self.single_context else self.profile.context_switch_ns * len(self.demand.dynamic)

    def contexts_ns(self, batch: int) -> float:
        """Time that the contexts take for one batch: linear in the batch."""
        if self.single_context:
            return batch * self.timing.flows[0].interval_ns
        return sum(run.total_ns for run in self.runs(batch)) + self.switches_ns()

    def period_ns(self, batch: int) -> float:
        """Time of one batch in steady state, frames queued ahead."""
        contexts = self.contexts_ns(batch)
        return contexts if self.single_context else max(contexts, batch * self.timing.host_ns)

    def sync_period_ns(self, batch: int) -> float:
        """Time from one call to the next where each hands over a batch and waits for its results.

        The host prepares the frames of a call one after the other, the device waits for the first. With several
        contexts the device loads context 0 again meanwhile; with one the whole latency lies between two calls.
        """
        host, first = self.timing.host_ns, self.timing.flows[0]
        if self.single_context:
            return host + first.latency_ns + (batch - 1) * first.interval_ns
        runs = self.runs(batch)
        reload = runs[-1].total_ns - runs[-1].flow_end_ns + self.profile.context_switch_ns
        reload += runs[0].flow_start_ns or 0.0
        late = max(host, host * batch - (batch - 1) * first.interval_ns) - reload
        return self.contexts_ns(batch) + max(0.0, late)

    def line(self) -> tuple[float, float]:
        """(fixed, interval) in ns: the contexts take fixed + batch x interval for a batch."""
        one, two = self.contexts_ns(1), self.contexts_ns(2)
        return 2 * one - two, two - one

    def latency_ns(self, batch: int) -> float:
        """The first input launched to the last output of that frame, on a network just activated.

        With several contexts the frame waits in each until the whole batch has passed it (`batch_wait_ns`); the
        preliminary context is the first run of context 0 where it grants input.
        """
        flows = self.timing.flows
        if self.single_context:
            return flows[0].latency_ns
        runs = self.runs(batch)
        first = flows[0].latency_ns + (batch - 1) * max(flows[0].interval_ns, self.timing.host_ns)
        if not self.demand.grants_early:
            first += runs[0].total_ns - runs[0].flow_end_ns
        elif self._loads_next:
            first = self._first_round_ns(batch)
        between = sum(run.total_ns for run in runs[1:-1])
        last = (runs[-1].flow_start_ns or 0.0) + flows[-1].latency_ns
        return first + between + last + self.switches_ns() * (len(runs) - 1) / len(runs)

    def _first_round_ns(self, batch: int) -> float:
        """The first input launched until context 0 is over, where its own list loads context 1 meanwhile."""
        if batch not in self._first_rounds:
            listed, flow = self._steps.dynamic[0], self.timing.flows[0]
            run = schedule(self.profile, listed, flow, batch, self.timing.host_ns)
            self._first_rounds[batch] = run.total_ns - run.ready_ns
        return self._first_rounds[batch]

    @property
    def _loads_next(self) -> bool:
        """Whether context 1 is loaded and started under context 0 by that one's own list (units.md 4), the first time
        too."""
        return self.profile.config_starts_units and self.demand.well_formed

    def batch_wait_ns(self, batch: int) -> float:
        """The part of `latency_ns` in which the first frame only waits for the others of its batch."""
        return self.latency_ns(batch) - self.latency_ns(1)

    def first_batch_ns(self, batch: int) -> float:
        """The first input launched to the last output of its batch, on a network just activated."""
        first = self.latency_ns(batch)
        return first + (batch - 1) * self.timing.flows[-1].interval_ns

    def tail_ns(self, batch: int) -> float:
        """What the lists still do behind the last output of a batch, until they wait for the host's next frame."""
        if self.single_context:
            return 0.0
        runs = self.runs(batch)
        return runs[-1].total_ns - runs[-1].flow_end_ns + self.profile.context_switch_ns + runs[0].ready_ns

    def loading_ns(self, batch: int) -> float:
        """How long configuration still moves when the lists wait for the host's next frame (`tail_ns`)."""
        return 0.0 if self.single_context else self.runs(batch)[0].loading_ns

    def activation_ns(self, batch: int, behind: GroupSchedule | None = None) -> float:
        """ENABLE until the network waits for input: its message, the activation and the preliminary list.

        Where the preliminary list grants no input, context 0 has to be entered first. `behind`: the network that it
        follows, whose configuration is in its way while the host's message and the deactivation do not outlast it.
        """
        opened = schedule(self.profile, self._steps.activation, None, batch).ready_ns
        busy = 0.0
        if behind is not None:
            busy = behind.loading_ns(batch) - self.deactivation_ns() - self.profile.enable_ns - opened
        first, flow = self._steps.preliminary, self.timing.flows[0]
        loaded = schedule(self.profile, first, flow, batch, busy_ns=busy).ready_ns
        if not self.demand.grants_early:
            loaded += self.switches_ns() / len(self.demand.dynamic) + self.runs(batch)[0].ready_ns
        elif self.single_context or self._loads_next:
            loaded += self._steps.entry_ns
        return self._status_message_ns() + self.profile.enable_ns + opened + loaded

    def deactivation_ns(self) -> float:
        """RESET with an active network."""
        return self._status_message_ns() + self.profile.deactivate_ns

    def parts(self, batch: int) -> tuple[Part, ...]:
        """What the contexts spend the time of a batch on; they add up to `contexts_ns`."""
        flows = self.timing.flows
        steady: dict[Bound, float] = {}
        for flow in flows:
            steady["compute"] = steady.get("compute", 0.0) + batch * flow.compute.interval_ns
            beyond = batch * (flow.interval_ns - flow.compute.interval_ns)
            if beyond:
                steady[flow.bound_by] = steady.get(flow.bound_by, 0.0) + beyond
        found = [Part(bound, ns, False) for bound, ns in steady.items()]
        if not self.single_context:
            fill = sum(flow.latency_ns - flow.interval_ns for flow in flows)
            rest = self.contexts_ns(batch) - sum(part.ns for part in found) - fill
            found += [Part("pipeline fill", fill, True), Part("config reload", rest, True)]
        return tuple(found)

    def bound_by(self, batch: int) -> Bound:
        """What to change for more throughput: the slowest stage, or what a larger batch shares out if that is more."""
        flows = self.timing.flows
        if self.single_context:
            return flows[0].bound_by
        if self.contexts_ns(batch) <= batch * self.timing.host_ns:
            return "host"
        parts = self.parts(batch)
        shared, steady = ([part for part in parts if part.shared is kind] for kind in (True, False))
        slowest = max(steady, key=lambda part: part.ns)
        if sum(part.ns for part in shared) > slowest.ns:
            return max(shared, key=lambda part: part.ns).bound
        return slowest.bound

    def batch_for_share(self, share: float, most: int) -> int | None:
        """The smallest batch whose throughput is `share` of the limit for ever larger ones; None: above `most`."""
        if self.single_context:
            return 1
        fixed, interval = self.line()
        limit = max(interval, self.timing.host_ns)
        # batch / (fixed + batch * interval) >= share / limit
        slack = limit / share - interval
        batch = max(1, -int(-fixed // slack)) if slack > 0 else 1
        return batch if batch <= most else None

    def _status_message_ns(self) -> float:
        return self.profile.control_cost("CHANGE_CONTEXT_SWITCH_STATUS", STATUS_REQUEST_BYTES)
