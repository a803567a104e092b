"""One action list, executed: what is done before an action, the action, what is waited for behind it.

Straight-line actions cost no discrete event: the firmware carries its own instant `now`, ahead of the event queue,
and meets the queue only where it waits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence, Set

import simpy

from emu.chips.chips import Profile
from emu.hw.application import CONTEXT_ORDER, FIRST_DYNAMIC, SETS_UP, Context, Stamp, Step, list_name
from emu.hw.chip import Chip
from emu.hw.execution import Execution
from emu.hw.foresight import STRAIGHT
from emu.hw.handlers import HANDLERS
from emu.hw.handlers.own import handlers_with
from emu.hw.standing import Standing
from emu.hw.straight import SINGLY, Straight, one_by_one
from emu.hw.waits import Wait
from emu.sequencer.program import ContextType
from emu.trace.events import Event, Kind, Subject
from emu.wire.actions import ActionType

Steps = Generator[simpy.Event, None, None]
ALL_ACTIONS = frozenset(ActionType)


class ApplicationLeft(Exception):  # noqa: N818 - control flow, not an error
    """The application is to be left: reset or application change."""


class _Costs(dict[ActionType, int]):
    """What an action costs the firmware in whole ns, by its type: worked out when the first of a type comes."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self._profile = profile

    def __missing__(self, kind: ActionType) -> int:
        found = self[kind] = round(self._profile.action_cost(kind.name))
        return found


class ListExecution(Execution):
    """The task of the core CPU inside of a list. What comes before and behind it is the state machine's."""

    def __init__(self, chip: Chip) -> None:
        super().__init__(chip)
        self.context_started = 0
        self._standing: Standing | None = None  # None: it waits in no list
        self._goes_on: simpy.Event | None = None  # what a task that goes on waits for
        self._generation = 0
        self.handlers = handlers_with(chip.own_handlers) if chip.own_handlers else HANDLERS
        self._straight = Straight()
        self._costs = _Costs(self.profile)

    @abstractmethod
    def _may_switch_batch(self, context: Context) -> bool:
        """Whether a batch switch that the host asked for takes place now."""

    @abstractmethod
    def _serve_batch_switch(self, generation: int) -> Steps:
        """Switch the batch while an action waits."""

    @abstractmethod
    def _open_gate(self, context: Context, carrier: Context, before: int | None = None) -> None:
        """The granted inputs of the context begin to flow."""

    def _context(self, context: Context, generation: int, only: Set[ActionType] = ALL_ACTIONS) -> Steps:
        """Execute one list, or only its actions of some types."""
        device, name = self.device, context.name
        probe = self.probe
        standing = None if self._goes_on is None else self._standing
        if standing is None:
            outer, outer_step, started = self.context, self.step, self.now
            self._begin_list(context, name)
        else:
            outer, outer_step, started = standing.outer, standing.outer_step, standing.started
        tracer = probe.tracer
        costs, executed, attended = self._costs, probe.actions.counts, device.attended
        handlers = self.handlers
        together = self._straight.together if only is ALL_ACTIONS else one_by_one
        kinds = SINGLY if device.logic.active or only is not ALL_ACTIONS else STRAIGHT
        subjects: list[Subject] | None = None
        steps: Sequence[Step] = context.actions.steps
        if only is not ALL_ACTIONS:
            steps = [step for step in steps if step.type in only]
        if standing is not None:
            # what stands behind the action that it waits in, and that one
            assert self.step is not None
            steps = steps[steps.index(self.step) :]
        granting = context.actions.last_grant
        at, end = 0, len(steps)
        unwatched = not attended and tracer is None and handlers is HANDLERS
        while at < end:
            step = steps[at]
            if unwatched and step.type in kinds and standing is None:
                done = together(self, steps, at, costs)
                if done > at:
                    at = done
                    continue
            at += 1
            number, kind, arguments, _, _ = step
            if standing is None:
                self.step = step
                executed[kind] = executed.get(kind, 0) + 1
                if attended:
                    yield from self._attend(context, step, generation)
                begun = self.now
                self.now = begun + costs[kind]
                wait = handlers[kind](self, arguments)
            else:
                begun, wait, standing = standing.begun, standing.wait, None
            woke = ""
            if wait is not None:
                ready = None
                if self._goes_on is None:
                    self._standing = Standing(outer, outer_step, started, begun, wait)
                    ready = wait.ready() if self.grant_at is None or not wait.data else None
                if ready is None:
                    yield from self._wait(wait, generation, context)
                    # meanwhile somebody may have begun to trace, or a breakpoint been set
                    tracer, attended = probe.tracer, device.attended
                    unwatched = not attended and tracer is None and handlers is HANDLERS
                elif ready > self.now:
                    self.now = ready
                self._standing = None
                woke = wait.woke_by
            if number == granting:
                self.grant_at = self.now
            if unwatched:
                continue
            if (
                attended
                and probe.timestamp_batch is not None
                and (context.type is not ContextType.DYNAMIC or self.batch_index == probe.timestamp_batch)
            ):
                context.stamps[step.entry] = Stamp(device.timestamp(self.now), step.sub)
            if tracer is not None:
                if subjects is None:
                    subjects = context.subjects(self._index)
                now = self.now
                tracer.emit((now, subjects[number], woke, self.note, self.note_bytes, now - begun, ()))
                self.note, self.note_bytes = "", 0
        if device.logic.active and not self.batch_switching:
            self.step = None  # what is found now is of no action
            device.logic.end_list(self.now)
        device.list_ended(context, self.now)
        context.simulated_ns += self.now - started
        if only is not SETS_UP:
            context.runs += 1
        if steps is context.actions.steps:
            self._straight.ended(self._index, name, steps)
        if tracer is not None:
            tracer.emit(Event(self.now, Kind.CONTEXT_END, self._index, name))
        self.context, self.step = outer, outer_step
        if self.batch_switching:
            device.memory.resume()

    def _begin_list(self, context: Context, name: str) -> None:
        device, probe = self.device, self.probe
        for begins in probe.context_hooks:
            begins(name)
        self.context, self.context_started = context, self.now
        if not self.batch_switching:
            self.grant_at = None
            device.clusters.start_context()
            device.core.passes = [one for one in device.core.passes if not one.finished]
        self.activated_streams.clear()
        device.memory.begin(list_name(self._index, context))
        if device.logic.active and not self.batch_switching:
            device.logic.begin_list(name)
        if probe.tracer is not None:
            probe.tracer.emit(Event(self.now, Kind.CONTEXT_BEGIN, self._index, name))

    def _attend(self, context: Context, step: Step, generation: int) -> Steps:
        """Breakpoints, hooks and faults before an action."""
        probe, faults = self.probe, self.device.faults
        if probe.breakpoints:
            yield from self._at_breakpoint(context, step, generation)
        if probe.action_hooks:
            yield from self._meet_clock(generation)
            for hook in probe.action_hooks:
                hook(context, step)
        if faults is not None:
            faults.before(context, step)
            self._check(generation)

    def _wait(self, wait: Wait, generation: int, context: Context) -> Steps:
        """Wait until satisfied; batch switches are served meanwhile."""
        if wait.data and self._goes_on is None:
            assert self.step is not None
            carrier = context if context.type is ContextType.DYNAMIC else self._first_dynamic()
            self._open_gate(context, carrier, self.step.number)
        ready = wait.ready() if self._goes_on is None else None
        if ready is None:
            if self._goes_on is None:
                yield from self._meet_clock(generation)
            self.waiting = wait
            tracer = self.probe.tracer if self._goes_on is None else None
            if tracer is not None:
                assert self.step is not None
                tracer.emit(
                    Event(
                        self.now,
                        Kind.WAIT,
                        self._index,
                        context.name,
                        self.step.number,
                        self.step.type.name,
                        self.step.arguments.arguments(),
                        cause=wait.what,
                    )
                )
            while self._goes_on is not None or (ready := wait.ready()) is None:
                if self._goes_on is None and self._may_switch_batch(context):
                    yield from self._serve_batch_switch(generation)
                    continue
                yield self._changed()
                self._check(generation)
                self.now = max(self.now, self.clock.time)
            self.waiting = None
        self.now = max(self.now, ready)

    def _at_breakpoint(self, context: Context, step: Step, generation: int) -> Steps:
        """Stand before an action that a breakpoint names until the host says CONTINUE or CLEAR."""
        assert self.application is not None
        device = self.device
        breakpoints = self.probe.breakpoints
        index = context.index + FIRST_DYNAMIC
        if context.type in CONTEXT_ORDER:
            index = CONTEXT_ORDER.index(context.type)
        place = (self.application.index, self.batch_index, index, step.number)
        number = breakpoints.find(*place)
        if number is None:
            return
        yield from self._meet_clock(generation)
        breakpoints.reached = number
        device.notify(device.wire.notifications.breakpoint_reached(*place), self.now)
        while breakpoints.reached is not None:
            yield device.core.changed.wait()
            self._check(generation)
            self.now = max(self.now, self.clock.time)

    def _first_dynamic(self) -> Context:
        assert self.application is not None
        return self.application.dynamic[0]

    def _changed(self) -> simpy.Event:
        """The next change, or what a task that goes on stood at."""
        event, self._goes_on = self._goes_on, None
        return self.device.core.changed.wait() if event is None else event

    def _meet_clock(self, generation: int) -> Steps:
        if self.now > self.clock.time:
            yield self.clock.timeout(self.now - self.clock.time)
        self._check(generation)

    def _check(self, generation: int) -> None:
        if generation != self._generation:
            raise ApplicationLeft

    @property
    def _index(self) -> int:
        return self.application.index if self.application is not None else -1
