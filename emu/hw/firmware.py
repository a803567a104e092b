"""The context-switch state machine: it executes the stored contexts of the enabled application.

Order of contexts (firmware-actions.md 8): activation and preliminary once, then the dynamic contexts for each batch.
With preliminary_run_asap the preliminary context is itself the first run of dynamic context 0.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import partial

import simpy

from emu.hw.application import SETS_UP, Application, Context
from emu.hw.chip import Chip
from emu.hw.execution import State
from emu.hw.list_execution import ApplicationLeft, ListExecution, Steps
from emu.hw.notifications import RunTimeError
from emu.hw.periodic import BatchLoop
from emu.hw.standing import Round, Stage
from emu.hw.unit import Unit, passed
from emu.hw.waits import Wait, lines, unknown
from emu.sequencer.program import ContextType
from emu.timing.model import GRANTS, Flow
from emu.wire.actions import Target, having
from emu.wire.status import FirmwareStopError

HOST_WAITS = having(waits_for=Target.APPLICATION)


class BatchSwitched(Exception):  # noqa: N818 - control flow, not an error
    """The batch size of the running application changes."""


class Firmware(ListExecution):
    """The task of the core CPU and the applications that it keeps."""

    name = "context-switch task"

    def __init__(self, chip: Chip) -> None:
        super().__init__(chip)
        self.applications: list[Application] = []
        self.error: RunTimeError | None = None
        why = "all contexts ran without a boundary stream taking or giving a frame"
        self._boundary_wait = Wait("a frame of the host", unknown, partial(lines, why), "a boundary transfer")
        self._network_idle_wait = Wait("network idle", unknown, self._idle_chain, "network idle")
        self._process: simpy.Process | None = None
        self._round: Round | None = None
        self._switch_to: int | None = None
        self._counted_from = 0  # batch_index at the ENABLE that gave batch_count

    # -- what the controls ask for

    def enable(self, application: Application, dynamic_batch: int, batch_count: int) -> None:
        """CHANGE_CONTEXT_SWITCH_STATUS ENABLED: start, switch application, or switch batch."""
        batch = dynamic_batch or application.header.batch_size
        self.now = max(self.now, self.clock.time)
        if self.phase is State.RUNNING and self.application is application:
            self.batch_count, self._counted_from = batch_count, self.batch_index
            if batch != self.batch:
                self._switch_to = batch
                self.device.core.changed.notify()
            return
        if self.application is not None:
            self.reset()
        self.application, self.batch, self.batch_count = application, batch, batch_count
        self.phase, self.error = State.ACTIVATING, None
        self.batch_index = self.frames_done = self._counted_from = 0
        self._switch_to = self._round = self._standing = None
        self._generation += 1
        self._process = self.clock.start(self._run(application, self._generation))

    def reset(self) -> None:
        """CHANGE_CONTEXT_SWITCH_STATUS RESET: leave whatever runs, close all channels."""
        self._generation += 1
        if self.phase is not State.RESET:  # nothing is configured but by a list that runs
            self.device.reset_units()
        self.application = self.context = self.step = self.waiting = None
        self.phase = State.RESET

    def restart(self) -> None:
        """RESET: the whole chip with its memory; the applications are gone."""
        self.reset()
        self.forget_applications()
        self.device.reset_units(whole_chip=True)
        self.probe.reset()

    def forget_applications(self) -> None:
        """CLEAR_CONFIGURED_APPS: what comes next brings its own configuration."""
        self.applications.clear()
        self._straight.forget()
        self.device.config.cache.clear()

    # -- for a checkpoint

    @property
    def can_go_on(self) -> bool:
        """Whether the task waits, in a list or between two, and is not ahead of the queue: `go_on` could take it up."""
        if self._process is None or not self._process.is_alive:
            return True
        if self.phase is not State.RUNNING or self.batch_switching or self.probe.breakpoints.reached is not None:
            return False
        if not all(one.in_time for one in self.device.core.passes):
            return False
        return self._round is not None and self.waiting is not None and self.now <= self.clock.time

    @property
    def awaited(self) -> simpy.Event | None:
        """The event that the task waits for; None where it has come to its end."""
        return None if self._process is None or not self._process.is_alive else self._process.target

    def go_on(self, event: simpy.Event | None) -> None:
        """Take the task up where it stood, waiting for `event`; its attributes are what they were there."""
        self._process = None
        if event is not None and self.application is not None:
            self._goes_on = event
            self._process = self.clock.go_on(self._run(self.application, self._generation))

    # -- as a unit

    def parts(self) -> Iterable[Unit]:
        return self.application.contexts if self.application is not None else ()

    def state(self, now: int) -> tuple[object, ...]:
        place = self.context and self.context.name, self.step and self.step.number
        return (
            self.phase.value,
            len(self.applications),
            self._index,
            place,
            self.waiting and self.waiting.what,
            self.batch,
            self.batch_count,
            self._switch_to,
            self.batch_switching,
            None if self.grant_at is None else passed(self.grant_at, now),
            sorted(self.activated_streams),
            passed(self.now, now),
        )

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
        if self._goes_on is None:
            self.device.start_application(application)
            self.now += round(self.profile.enable_ns)
            yield from self._context(application.context(ContextType.ACTIVATION), generation)
            yield from self._meet_clock(generation)
            self.phase = State.RUNNING
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
        if self._goes_on is None:
            self._round = Round(BatchLoop(self.device, self))
        round_ = self._round
        assert round_ is not None
        if round_.stage is Stage.EARLY:
            round_.part = yield from self._preliminary(application, generation, round_)
            round_.stage = Stage.LISTS
        dynamic = application.dynamic
        while True:
            if round_.stage is Stage.LISTS:
                while round_.part < len(dynamic):
                    yield from self._dynamic(application, dynamic[round_.part], generation, round_)
                    round_.part += 1
                self.frames_done += self.batch
                self.batch_index += 1
                if self.batch_count and self.batch_index - self._counted_from >= self.batch_count:
                    self.phase = State.STOPPED
                    return
                round_.before, round_.moved = round_.moved, self.device.boundary_transfers
                round_.stage, round_.part = Stage.ROUND, 0
            round_.idling = True
            while round_.moved == round_.before:
                # a whole round without a frame of the host: going round again would be no progress
                if self._goes_on is None:
                    yield from self._meet_clock(generation)
                    self.waiting = self._boundary_wait
                yield self._changed()
                self._check(generation)
                round_.moved = self.device.boundary_transfers
            round_.idling, round_.stage = False, Stage.LISTS
            self.waiting = None
            batches = 0 if self.batch_count else round_.loop.skippable()
            if batches:
                self.now += round_.loop.skip(batches)
                yield from self._meet_clock(generation)

    def _preliminary(
        self, application: Application, generation: int, round_: Round
    ) -> Generator[simpy.Event, None, int]:
        """Run the preliminary context; returns the dynamic context to go on with."""
        run_asap = bool(application.header.preliminary_run_asap)
        if not round_.part:
            yield from self._context(application.context(ContextType.PRELIMINARY), generation)
            round_.part = 1
        first, split = application.dynamic[0], bool(application.header.split_allow_input_action)
        if not run_asap:
            if split and not application.single_context:
                # each list activates the edge layers of the next context: the last one's do so for the first
                # (hef-compile.md 4.5, ENABLE_CONFIG_CHANNELS)
                yield from self._context(application.dynamic[-1], generation, SETS_UP)
            return 0
        if self._goes_on is None:
            self._open_gate(application.context(ContextType.PRELIMINARY), first)
        if application.single_context:
            if self._goes_on is None:
                self.context, self.step = first, first.actions.steps[0]
            yield from self._context(first, generation, HOST_WAITS)
            return 0
        left_to_do = None
        if split:
            # the preliminary list granted the input; what activates context 1 is in context 0's own list
            left_to_do = self.handlers.keys() - GRANTS
        elif self.device.logic.active and self.profile.config_starts_units:
            # context 1 is loaded and started under context 0 by that one's own list (units.md 4)
            left_to_do = self.handlers.keys() - GRANTS - SETS_UP
        if left_to_do is not None:
            if not round_.idling:
                yield from self._context(first, generation, left_to_do)
            yield from self._network_idle(first, generation, round_)
            return 1
        if not round_.idling:
            round_.since = self.now
        yield from self._network_idle(first, generation, round_)
        self.device.core.close_internal_edges()
        first.runs += 1
        first.simulated_ns += self.now - round_.since
        return 1

    def _dynamic(self, application: Application, context: Context, generation: int, round_: Round) -> Steps:
        if not round_.idling:
            if self._goes_on is None and (not application.single_context or self.batch_index):
                self.now += round(self.profile.context_switch_ns)
            yield from self._context(context, generation)
            self._open_gate(context, context)
        if not application.single_context:
            yield from self._network_idle(context, generation, round_)

    def _network_idle(self, context: Context, generation: int, round_: Round) -> Steps:
        """Between two contexts all frames of the first have passed (firmware-actions.md 7, ...NETWORK_IDLE)."""
        core = self.device.core
        self.context, round_.idling = context, True
        if self._goes_on is None:
            yield from self._meet_clock(generation)
        while self._goes_on is not None or not core.idle:
            if self._goes_on is None and self._may_switch_batch(context):
                yield from self._serve_batch_switch(generation)
                continue
            self.waiting = self._network_idle_wait
            yield self._changed()
            self._check(generation)
            self.now = max(self.now, self.clock.time)
        self.waiting, round_.idling = None, False

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
            self.waiting = self._standing = None
            raise BatchSwitched
        device.clusters.rearm(self.batch, device.core.gates.switched)
        waiting, standing, self.batch_switching = self.waiting, self._standing, True
        yield from self._context(application.context(ContextType.BATCH_SWITCHING), generation)
        self.batch_switching, self.waiting, self._standing = False, waiting, standing
        self.grant_at = self.now
        self._open_gate(application.context(ContextType.BATCH_SWITCHING), application.dynamic[0])
        yield from self._meet_clock(generation)

    @property
    def resting(self) -> bool:
        """Whether the application has nothing to do before the host acts: frames, another batch or application."""
        if self.waiting is None or self.waiting.ready() is not None or self.waiting.hopeless():
            return False
        passes = self.device.core.passes
        if any(one.busy for one in passes):
            return False
        if self.step is not None and self.step.type in HOST_WAITS:
            return True
        return bool(passes) and all(one.finished or one.starved for one in passes) and not self.device.core.idle

    def _open_gate(self, context: Context, carrier: Context, before: int | None = None) -> None:
        """The granted inputs of the context begin to flow; `carrier` is the dynamic context they belong to.

        `before`: the number of the action at which its list waits (None: it has come to its end).
        """
        if self.grant_at is None:
            return
        application, device = self.application, self.device
        assert application is not None
        granted, self.grant_at = self.grant_at, None
        endless = application.single_context
        limit = None if endless and not self.batch_count else self.batch * (self.batch_count if endless else 1)
        device.core.open(
            carrier,
            context,
            self._flow(application, carrier),
            device.passage,
            max(granted, round(device.bus.idle_at)),
            self.now,
            self.batch,
            limit,
            device.first_frame + self.frames_done,
            application.configuring(carrier),
            before,
        )

    def _idle_chain(self) -> list[str]:
        found = []
        for one in self.device.core.passes:
            total = "endless" if one.limit is None else one.limit
            found.append(f"frames of {one.context.name}: {one.completed} of {total} delivered")
            found += [why for why in (one.held, one.blocked) if why]
        return found

    def _flow(self, application: Application, context: Context) -> Flow:
        return self.device.flow(application, context)

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
        self.phase = State.FAILED
        self.device.core.abort()
        self.probe.statuses.count(fault.status)
        self.device.notify(self.error.notification(self.device.wire), self.now)
