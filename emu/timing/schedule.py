"""When the actions of a context happen, computed without simulating: the analytic twin of the device's firmware.

The rules are those of `emu.timing.model`; what each adds to the device's clock is added here in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from emu.chips.chips import Profile
from emu.timing.demand import Event, GroupDemand, Stretch
from emu.timing.model import Bound, ConfigBus, Flow, GroupTiming
from emu.timing.passage import beside_configuration
from emu.timing.programs import Sequencers

REQUEST_BYTES = 20  # of a control message without parameters (firmware-actions.md 5)
STATUS_REQUEST_BYTES = 42  # CHANGE_CONTEXT_SWITCH_STATUS, silicon-facts.md b


class Schedule(Struct, frozen=True):
    """One run of an action list, in ns from its first action.

    `total_ns` is when the last action is done and all frames have passed, `ready_ns` when the list first waits for
    frames (or ends, if it never does): a network just loaded then waits for its first input. `flow_start_ns` is when
    frames begin to pass (None: this list grants no input), `flow_end_ns` when the last one has. `config_ns` is the time
    outside the flow in which configuration was loaded, `loading_ns` how long what was queued at `ready_ns` takes then.
    """

    total_ns: float
    ready_ns: float
    flow_start_ns: float | None
    flow_end_ns: float
    config_ns: float
    loading_ns: float


def schedule(
    profile: Profile,
    stretches: Sequence[Stretch],
    flow: Flow | None,
    batch: int,
    costs: Mapping[str, float],
    pace_ns: float | None = None,
    busy_ns: float = 0.0,
) -> Schedule:
    """Run a list for `batch` frames; `flow` is None for a list that only configures. `costs`: ns of each action.

    `pace_ns`: another list has let the frames in, and the host launches one after the other when this one waits for
    them. `busy_ns`: how long the configuration of a network before still moves.
    """
    bus = ConfigBus(profile)
    bus.idle_at = max(0.0, busy_ns)
    triggered: dict[float, float] = {}
    sequencers = Sequencers(profile)
    loads: list[tuple[float, float]] = []
    now = 0.0
    granted: float | None = None
    flow_start: float | None = None
    flow_end = 0.0
    left = beside_configuration(profile)
    ready: float | None = None
    loading = 0.0
    for actions, event, amount, starts in stretches:
        for name, count in actions:
            now += costs[name] * count
        if event is Event.FETCH:
            begin = max(now, bus.idle_at)
            loads.append((begin, bus.fetch(now, amount)))
        elif event is Event.CONFIG:
            now = max(now, bus.idle_at)
        elif event is Event.TRIGGER:
            triggered[amount] = max(now, bus.idle_at) + profile.sequencer_ns
        elif event is Event.SEQUENCER:
            now = max(now, triggered.get(amount, bus.idle_at))
        elif event is Event.PROGRAM:
            done = sequencers.take_done(int(amount))
            now = now if done is None else max(now, done)
        elif event is Event.FRAMES:
            if ready is None:
                ready, loading = now, max(0.0, bus.idle_at - now)
            if pace_ns is not None and flow is not None and flow_start is None:
                slower = 0.0 if left is None or not flow.wants else max(0.0, 1 - left / flow.wants)
                late = max(0.0, bus.idle_at - now) * slower + flow.output_done_ns(batch - 1)
                flow_start, flow_end = now, now + max(late, (batch - 1) * pace_ns + flow.latency_ns)
            if granted is not None and flow is not None and flow_start is None:
                flow_start = max(granted, bus.idle_at)
                flow_end = max(now, flow_start + flow.output_done_ns(batch - 1))
            now = max(now, flow_end)
        elif event is Event.CACHE:
            now += profile.control_cost("SIGNAL_CACHE_UPDATED", REQUEST_BYTES)
        elif event is Event.SLEEP:
            now += amount * 1000.0
        elif event is Event.GRANT:
            granted = now
        for start in starts:
            sequencers.start(start, max(now, bus.idle_at))
    if granted is not None and flow is not None and flow_start is None:
        flow_start = max(granted, bus.idle_at, now)
        flow_end = flow_start + flow.output_done_ns(batch - 1)
    config = sum(end - begin for begin, end in loads)
    if flow_start is not None:
        config -= sum(max(0.0, min(end, flow_end) - max(begin, flow_start)) for begin, end in loads)
    return Schedule(max(now, flow_end), now if ready is None else ready, flow_start, flow_end, config, loading)


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
        self._costs = {name: profile.action_cost(name) for name in _names(demand)}
        self._runs: dict[int, list[Schedule]] = {}

    def run(self, stretches: Sequence[Stretch], flow: Flow | None, batch: int) -> Schedule:
        """One run of a list of this group, on its own."""
        return schedule(self.profile, stretches, flow, batch, self._costs)

    def runs(self, batch: int) -> list[Schedule]:
        """One run of every dynamic context, on its own."""
        if batch not in self._runs:
            pairs = zip(self.demand.dynamic, self.timing.flows, strict=True)
            self._runs[batch] = [self.run(context.stretches, flow, batch) for context, flow in pairs]
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
            listed = self.demand.dynamic[0].stretches
            first_run = schedule(self.profile, listed, flows[0], batch, self._costs, self.timing.host_ns)
            first = first_run.total_ns - first_run.ready_ns
        between = sum(run.total_ns for run in runs[1:-1])
        last = (runs[-1].flow_start_ns or 0.0) + flows[-1].latency_ns
        return first + between + last + self.switches_ns() * (len(runs) - 1) / len(runs)

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
        opened = self.run(self.demand.activation, None, batch).ready_ns
        busy = 0.0
        if behind is not None:
            busy = behind.loading_ns(batch) - self.deactivation_ns() - self.profile.enable_ns - opened
        first, flow = self.demand.preliminary, self.timing.flows[0]
        loaded = schedule(self.profile, first, flow, batch, self._costs, busy_ns=busy).ready_ns
        if not self.demand.grants_early:
            loaded += self.switches_ns() / len(self.demand.dynamic) + self.runs(batch)[0].ready_ns
        elif self._loads_next and not self.single_context:
            loaded += sum(self._costs[name] * count for name, count in self.demand.entry())
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


def _names(demand: GroupDemand) -> Iterator[str]:
    for listed in (demand.activation, demand.preliminary, *(context.stretches for context in demand.dynamic)):
        for stretch in listed:
            yield from (name for name, _ in stretch.actions)
