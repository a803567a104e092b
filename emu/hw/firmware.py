"""The context-switch state machine: it executes the stored contexts of the enabled application.

Straight-line actions cost no discrete event: the firmware carries its own instant `now`, ahead of the event queue,
and meets the queue only where it waits. Order of contexts (firmware-actions.md 8): activation and preliminary once,
then the dynamic contexts for each batch. With preliminary_run_asap the preliminary context is itself the first run of
dynamic context 0.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import simpy

from emu.hw.application import CONTEXT_ORDER, FIRST_DYNAMIC, Application, Context, Step
from emu.hw.handlers import HANDLERS
from emu.hw.periodic import BatchLoop
from emu.hw.status import FirmwareStatus as S
from emu.hw.status import FirmwareStopError, require
from emu.hw.timing import GRANTS, Flow
from emu.hw.waits import Wait
from emu.sequencer.actions import FIELD_NAMES, ActionType
from emu.sequencer.program import ContextType
from emu.trace.events import Event, Kind

if TYPE_CHECKING:
    from emu.hw.device import Device

Steps = Generator[simpy.Event, None, None]
_A = ActionType
NEXT_CONTEXT = frozenset(
    {
        _A.ACTIVATE_BOUNDARY_INPUT,
        _A.ACTIVATE_BOUNDARY_OUTPUT,
        _A.ACTIVATE_INTER_CONTEXT_INPUT,
        _A.ACTIVATE_INTER_CONTEXT_OUTPUT,
        _A.ACTIVATE_DDR_BUFFER_INPUT,
        _A.ACTIVATE_DDR_BUFFER_OUTPUT,
        _A.ACTIVATE_CACHE_INPUT,
        _A.ACTIVATE_CACHE_OUTPUT,
        _A.CHANGE_VDMA_TO_STREAM_MAPPING,
        _A.ADD_DDR_PAIR_INFO,
        _A.DDR_BUFFERING_START,
        _A.RESUME_VDMA_CHANNEL,
    }
)
HOST_WAITS = frozenset({_A.APPLICATION_CHANGE_INTERRUPT})
ALL_ACTIONS = frozenset(_A)
ACTION_NAMES = {kind: kind.name for kind in _A}


class State(Enum):
    """What the state machine is doing."""

    RESET = "reset"
    ACTIVATING = "activating"
    RUNNING = "running"
    STOPPED = "stopped"  # batch_count reached
    FAILED = "failed"


class ApplicationLeft(Exception):  # noqa: N818 - control flow, not an error
    """The application is to be left: reset or application change."""


class BatchSwitched(Exception):  # noqa: N818 - control flow, not an error
    """The batch size of the running application changes."""


@dataclass(slots=True)
class RunTimeError:
    """What CONTEXT_SWITCH_RUN_TIME_ERROR reports (firmware-actions.md 6)."""

    status: S
    message: str
    application: int
    batch: int
    context: Context
    action: int
    action_name: str


def check_same_context(preliminary: Context, first: Context) -> None:
    """A preliminary list that ran as context 0 must have activated what context 0's own list names (house rule)."""
    ran = [(step.type, step.arguments) for step in preliminary.steps if step.type in NEXT_CONTEXT | GRANTS]
    named = [(step.type, step.arguments) for step in first.steps if step.type in NEXT_CONTEXT | GRANTS]
    require(
        ran == named,
        S.CONTEXT_SWITCH_STATUS_EDGE_LAYER_ALREADY_SET,
        "the preliminary list ran as context 0 and activated other edge layers than the list of dynamic_0 names",
    )


class Firmware:
    """The task of the core CPU. `now` is its own instant in ns, never behind the clock's."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.clock = device.clock
        self.profile = device.profile
        self.runtime = device.runtime
        self.state = State.RESET
        self.now = 0
        self.application: Application | None = None
        self.context: Context | None = None
        self.step: Step | None = None
        self.waiting: Wait | None = None
        self.batch = 1
        self.batch_count = 0
        self.batch_index = 0
        self.frames_done = 0
        self.error: RunTimeError | None = None
        self.context_started = 0
        self.grant_at: int | None = None
        self.activated_streams: set[tuple[int, int]] = set()
        self.batch_switching = False
        # what a handler wants the trace to say about the action: what it started or moved
        self.note = ""
        self.note_bytes = 0
        self._switch_to: int | None = None
        self._counted_from = 0  # batch_index at the ENABLE that gave batch_count
        self._generation = 0
        self._costs = {kind: round(self.profile.action_cost(kind.name)) for kind in ActionType}

    # -- what the controls ask for

    def enable(self, application: Application, dynamic_batch: int, batch_count: int) -> None:
        """CHANGE_CONTEXT_SWITCH_STATUS ENABLED: start, switch application, or switch batch."""
        batch = dynamic_batch or application.header.batch_size
        self.now = max(self.now, self.clock.time)
        if self.state is State.RUNNING and self.application is application:
            self.batch_count, self._counted_from = batch_count, self.batch_index
            if batch != self.batch:
                self._switch_to = batch
                self.device.core.changed.notify()
            return
        if self.application is not None:
            self.reset()
        self.application, self.batch, self.batch_count = application, batch, batch_count
        self.state, self.error = State.ACTIVATING, None
        self.batch_index = self.frames_done = self._counted_from = 0
        self._switch_to = None
        self._generation += 1
        self.clock.process(self._run(application, self._generation))

    def reset(self) -> None:
        """CHANGE_CONTEXT_SWITCH_STATUS RESET: leave whatever runs, close all channels."""
        self._generation += 1
        device = self.device
        device.core.abort()
        device.core.edges.clear()
        device.core.opened.clear()
        device.vdma.reset()
        device.config.channels.clear()
        device.burst.reset()
        device.ddr.reset()
        device.nms.reset()
        device.clusters.reset()
        self.application = self.context = self.step = self.waiting = None
        self.state = State.RESET

    # -- the task

    def _run(self, application: Application, generation: int) -> Steps:
        try:
            yield from self._application(application, generation)
        except ApplicationLeft:
            return
        except FirmwareStopError as fault:
            if generation == self._generation:
                self._fail(application, fault)

    def _application(self, application: Application, generation: int) -> Steps:
        self.device.start_application(application)
        self.now += round(self.profile.enable_ns)
        yield from self._context(application.context(ContextType.ACTIVATION), generation)
        yield from self._meet_clock(generation)
        self.state = State.RUNNING
        self.device.core.changed.notify()
        # the reply to ENABLE goes out here, before any configuration is fetched (silicon-facts.md b)
        yield self.clock.timeout(0)
        self._check(generation)
        while True:
            try:
                yield from self._batches(application, generation)
                return
            except BatchSwitched:
                # a regular batch switch: everything is loaded again (firmware-actions.md 8)
                continue

    def _batches(self, application: Application, generation: int) -> Steps:
        first = yield from self._preliminary(application, generation)
        loop = BatchLoop(self.device, application)
        moved = -1
        while True:
            for context in application.dynamic[first:]:
                yield from self._dynamic(application, context, generation)
            self.frames_done += self.batch
            self.batch_index += 1
            if self.batch_count and self.batch_index - self._counted_from >= self.batch_count:
                self.state = State.STOPPED
                return
            first = 0
            before, moved = moved, self.device.boundary_transfers
            while moved == before:
                # a whole round without a frame of the host: going round again would be no progress
                yield from self._meet_clock(generation)
                self.waiting = self.device.boundary_wait
                yield self.device.core.changed.wait()
                self._check(generation)
                moved = self.device.boundary_transfers
            self.waiting = None
            batches = 0 if self.batch_count else loop.skippable(self.now, self.batch)
            if batches:
                self.now += loop.skip(batches)
                yield from self._meet_clock(generation)

    def _preliminary(self, application: Application, generation: int) -> Generator[simpy.Event, None, int]:
        """Run the preliminary context; returns the dynamic context to go on with."""
        run_asap = bool(application.header.preliminary_run_asap)
        yield from self._context(application.context(ContextType.PRELIMINARY), generation)
        first, split = application.dynamic[0], bool(application.header.split_allow_input_action)
        if not run_asap:
            if split and not application.single_context:
                # each list activates the edge layers of the next context: the last one's do so for the first
                # (hef-compile.md 4.5, ENABLE_CONFIG_CHANNELS)
                yield from self._context(application.dynamic[-1], generation, NEXT_CONTEXT)
            return 0
        self._open_gate(application.context(ContextType.PRELIMINARY), first)
        if application.single_context:
            self.context, self.step = first, first.steps[0]
            check_same_context(application.context(ContextType.PRELIMINARY), first)
            yield from self._context(first, generation, frozenset({_A.APPLICATION_CHANGE_INTERRUPT}))
            return 0
        if split:
            # the preliminary list granted the input; what activates context 1 is in context 0's own list
            yield from self._context(first, generation, ALL_ACTIONS - GRANTS)
            yield from self._network_idle(first, generation)
            return 1
        started = self.now
        yield from self._network_idle(first, generation)
        self.device.core.close_internal_edges()
        first.runs += 1
        first.simulated_ns += self.now - started
        return 1

    def _dynamic(self, application: Application, context: Context, generation: int) -> Steps:
        if not application.single_context or self.batch_index:
            self.now += round(self.profile.context_switch_ns)
        yield from self._context(context, generation)
        self._open_gate(context, context)
        if not application.single_context:
            yield from self._network_idle(context, generation)

    def _context(self, context: Context, generation: int, only: frozenset[ActionType] = ALL_ACTIONS) -> Steps:
        """Execute one list, or only its actions of some types."""
        device, name = self.device, context.name
        if device.at_context is not None:
            device.at_context(name)
        outer, outer_step, started = self.context, self.step, self.now
        self.context, self.context_started = context, self.now
        if not self.batch_switching:
            self.grant_at = None
            device.clusters.start_context()
            device.core.passes = [one for one in device.core.passes if not one.finished]
        self.activated_streams.clear()
        device.memory.begin(name)
        tracer = device.tracer
        if tracer is not None:
            tracer.emit(Event(self.now, Kind.CONTEXT_BEGIN, self._index, name))
        costs, coverage, attended = self._costs, device.coverage, device.attended
        index, new = self._index, tuple.__new__
        steps = context.steps if only is ALL_ACTIONS else [step for step in context.steps if step.type in only]
        for step in steps:
            self.step = step
            kind = step.type
            coverage[kind] = coverage.get(kind, 0) + 1
            if attended and device.breakpoints:
                yield from self._at_breakpoint(context, step, generation)
            if attended and device.action_hooks:
                yield from self._meet_clock(generation)
                for hook in device.action_hooks:
                    hook(context, step)
            if attended and device.faults is not None:
                device.faults.before(device, context, step)
                self._check(generation)
            begun = self.now
            self.now += costs[kind]
            wait = HANDLERS[kind](self, step.arguments)
            woke = ""
            if wait is not None:
                woke = yield from self._wait(wait, generation, context)
                # meanwhile a resumed run may have begun to trace, or a breakpoint been set
                tracer, attended = device.tracer, device.attended
            if step.number == context.last_grant:
                self.grant_at = self.now
            if (
                attended
                and device.timestamp_batch is not None
                and (context.type is not ContextType.DYNAMIC or self.batch_index == device.timestamp_batch)
            ):
                entry = context.entries[step.entry]
                entry.timestamp, entry.last_executed = device.timestamp(self.now), step.sub
            if tracer is not None:
                now = self.now
                arguments = dict(zip(FIELD_NAMES[kind], step.arguments, strict=True))
                place = (now, Kind.ACTION, index, name, step.number, ACTION_NAMES[kind], arguments)
                # past the namedtuple's own __new__, all fields in their order
                tracer.emit(new(Event, (*place, "", woke, self.note, self.note_bytes, -1, now - begun)))
                self.note, self.note_bytes = "", 0
        context.simulated_ns += self.now - started
        if only is not NEXT_CONTEXT:
            context.runs += 1
        if tracer is not None:
            tracer.emit(Event(self.now, Kind.CONTEXT_END, self._index, name))
        self.context, self.step = outer, outer_step
        if self.batch_switching:
            device.memory.resume()

    def _wait(self, wait: Wait, generation: int, context: Context) -> Generator[simpy.Event, None, str]:
        """Wait until satisfied; batch switches are served meanwhile. Returns what woke the action."""
        device = self.device
        if wait.data:
            self._open_gate(context, context if context.type is ContextType.DYNAMIC else self._first_dynamic())
        ready = wait.ready()
        if ready is None:
            yield from self._meet_clock(generation)
            self.waiting = wait
            if device.tracer is not None:
                assert self.step is not None
                device.tracer.emit(
                    Event(
                        self.now,
                        Kind.WAIT,
                        self._index,
                        context.name,
                        self.step.number,
                        self.step.type.name,
                        self.step.arguments._asdict(),
                        cause=wait.what,
                    )
                )
            while (ready := wait.ready()) is None:
                if self._may_switch_batch(context):
                    yield from self._serve_batch_switch(generation)
                    continue
                yield device.core.changed.wait()
                self._check(generation)
                self.now = max(self.now, self.clock.time)
            self.waiting = None
        self.now = max(self.now, ready)
        return wait.woke_by

    def _at_breakpoint(self, context: Context, step: Step, generation: int) -> Steps:
        """Stand before an action that a breakpoint names until the host says CONTINUE or CLEAR."""
        assert self.application is not None
        device = self.device
        index = context.index + FIRST_DYNAMIC
        if context.type in CONTEXT_ORDER:
            index = CONTEXT_ORDER.index(context.type)
        place = (self.application.index, self.batch_index, index, step.number)
        number = device.breakpoints.find(*place)
        if number is None:
            return
        yield from self._meet_clock(generation)
        device.breakpoints.reached = number
        device.report_breakpoint(*place)
        while device.breakpoints.reached is not None:
            yield device.core.changed.wait()
            self._check(generation)
            self.now = max(self.now, self.clock.time)

    def _network_idle(self, context: Context, generation: int) -> Steps:
        """Between two contexts all frames of the first have passed (firmware-actions.md 7, ...NETWORK_IDLE)."""
        core = self.device.core
        self.context = context
        yield from self._meet_clock(generation)
        while not core.idle:
            if self._may_switch_batch(context):
                yield from self._serve_batch_switch(generation)
                continue
            self.waiting = self.device.network_idle_wait
            yield core.changed.wait()
            self._check(generation)
            self.now = max(self.now, self.clock.time)
        self.waiting = None

    def _may_switch_batch(self, context: Context) -> bool:
        """Whether a batch switch that the host asked for takes place now.

        Contexts that take turns finish the batch whose input has come in: the batch-switching list expects the edge
        layers of context 0 (house rule).
        """
        application = self.application
        if self._switch_to is None or self.batch_switching or application is None:
            return False
        if application.single_context:
            return True
        passes = self.device.core.passes
        is_first = context.type is ContextType.PRELIMINARY or context is application.dynamic[0]
        return is_first and not (passes and all(one.all_launched for one in passes))

    def _serve_batch_switch(self, generation: int) -> Steps:
        """ENABLE over ENABLE with another batch: run the batch-switching list, then go on (firmware-actions.md 8)."""
        application = self.application
        assert application is not None and self._switch_to is not None
        self.batch, self._switch_to = self._switch_to, None
        device = self.device
        if application.single_context:
            self.frames_done += max((one.completed for one in device.core.passes), default=0)
        device.core.abort()
        device.burst.stop()
        if not application.header.can_fast_batch_switch:
            device.core.close_internal_edges()
            device.burst.reset()
            device.ddr.reset()
            device.config.channels.clear()
            self.waiting = None
            raise BatchSwitched
        device.clusters.rearm(self.batch)
        waiting, self.batch_switching = self.waiting, True
        yield from self._context(application.context(ContextType.BATCH_SWITCHING), generation)
        self.batch_switching, self.waiting = False, waiting
        self.grant_at = self.now
        self._open_gate(application.context(ContextType.BATCH_SWITCHING), application.dynamic[0])
        yield from self._meet_clock(generation)

    @property
    def resting(self) -> bool:
        """Whether the application has nothing to do before the host acts: frames, another batch or application."""
        if self.waiting is None or self.waiting.ready() is not None or self.waiting.hopeless():
            return False
        if self.step is not None and self.step.type in HOST_WAITS:
            return True
        passes = self.device.core.passes
        return bool(passes) and all(one.finished or one.starved for one in passes) and not self.device.core.idle

    def _open_gate(self, context: Context, carrier: Context) -> None:
        """The granted inputs of the context begin to flow; `carrier` is the dynamic context they belong to."""
        if self.grant_at is None:
            return
        application, device = self.application, self.device
        assert application is not None
        granted, self.grant_at = self.grant_at, None
        endless = application.single_context
        limit = None if endless and not self.batch_count else self.batch * (self.batch_count if endless else 1)
        device.core.open(
            carrier,
            self._flow(application, carrier),
            max(granted, round(device.bus.idle_at)),
            self.now,
            self.batch,
            limit,
            device.first_frame + self.frames_done,
        )

    def _flow(self, application: Application, context: Context) -> Flow:
        return self.device.flow(application, context)

    def _first_dynamic(self) -> Context:
        assert self.application is not None
        return self.application.dynamic[0]

    def _meet_clock(self, generation: int) -> Steps:
        if self.now > self.clock.time:
            yield self.clock.timeout(self.now - self.clock.time)
        self._check(generation)

    def _check(self, generation: int) -> None:
        if generation != self._generation:
            raise ApplicationLeft

    @property
    def tracing(self) -> bool:
        return self.device.tracer is not None

    @property
    def _index(self) -> int:
        return self.application.index if self.application is not None else -1

    def _fail(self, application: Application, fault: FirmwareStopError) -> None:
        assert self.context is not None and self.step is not None
        self.error = RunTimeError(
            fault.status,
            fault.message,
            application.index,
            self.batch_index,
            self.context,
            self.step.number,
            self.step.type.name,
        )
        self.state = State.FAILED
        self.device.core.abort()
        self.device.report_run_time_error(self.error)
