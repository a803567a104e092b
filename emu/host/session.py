"""A closed run of a program: all its groups on an open device, frames counted, figures taken (cli.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from emu.chips.chips import Profile
from emu.errors import FirmwareError, UsageError
from emu.host.application import Application
from emu.host.computing import ComputedOutputs
from emu.host.device import OpenDevice
from emu.host.driver import StalledError
from emu.host.jobs import Agreements, Frames, Outputs
from emu.host.results import NS_PER_S, ContextResult, FpsBasis, GroupResult, StreamResult, Switch, merged
from emu.host.streams import Host, StreamState
from emu.hw.application import Application as Stored
from emu.hw.application import Context
from emu.hw.device import Device
from emu.hw.handlers.own import OwnHandlers
from emu.hw.inspection import Inspection, Usage
from emu.hw.memory import RegionUse
from emu.hw.unit import Counts, NotNowError
from emu.sequencer.program import ContextType, Direction, Program
from emu.timing.model import GroupTiming
from emu.trace.tracer import Tracer

if TYPE_CHECKING:
    from emu.hw.faults import Fault

__all__ = [
    "ContextResult",
    "GroupResult",
    "RunRequest",
    "RunResult",
    "Session",
    "StalledError",
    "StreamResult",
    "Switch",
    "run_program",
]


class _Counted(Struct, frozen=True):
    """What the chip has counted at one moment: in all, and of each context of one application."""

    usage: Usage
    contexts: tuple[Counts, ...]

    @classmethod
    def of(cls, chip: Inspection, stored: Stored) -> _Counted:
        return cls(chip.usage(), tuple(context.counters() for context in stored.contexts))


class RunRequest(Struct):
    """What to run.

    `frames` per group; `inputs` gives the wire bytes of a stream's frame by (group, stream, frame), None: seeded
    random. `keep_outputs`: in the results; `take` is given them frame by frame instead (the position of the group, then
    as `emu.host.jobs.Taker`). `outputs` gives the bytes of device output streams (`emu.host.jobs.Outputs`),
    `agreements` per group what the chip does not see itself (`emu.host.jobs.Agreements`). `timings` per group; None:
    from the figures that the program carries. `measure_actions`: keep the time stamps of the actions
    (GroupResult.action_lists).
    `stop_at_hazard`: the first hazard ends the run (HazardError), else they are kept (GroupResult.hazards).
    `on_device` sees the device before anything is sent to it, `on_session` the session before its first frame.
    `handlers` as of `OpenDevice`. `on_pause` is called at the first moment at which `pause_at` frames have been
    delivered, of all groups together, and the firmware stands where it can be taken up again (emu.host.checkpoint).
    """

    frames: int
    seed: int = 0
    inputs: Callable[[int, str, int], bytes] | None = None
    keep_outputs: bool = False
    take: Callable[[int, int, Mapping[str, bytes], frozenset[str]], None] | None = None
    outputs: Outputs | ComputedOutputs | None = None
    agreements: Sequence[Agreements] | None = None
    timings: Sequence[GroupTiming] | None = None
    layout: int | None = None
    tracer_for: Callable[[Callable[[], int]], Tracer] | None = None
    may_jump: bool = True
    round_robin: bool = False
    faults: Sequence[Fault] = ()
    measure_actions: bool = False
    stop_at_hazard: bool = False
    on_device: Callable[[Device], None] | None = None
    on_session: Callable[[Session], None] | None = None
    handlers: OwnHandlers | None = None
    pause_at: int | None = None
    on_pause: Callable[[Session], None] | None = None


class RunResult(Struct):
    """All groups, the application changes of a round-robin schedule, the number of discrete events processed.

    `wall_ns`: from the first ENABLE to the last output of any group. `device` is there for whoever wants to look
    further.
    """

    groups: list[GroupResult] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    events: int = 0
    wall_ns: int = 0
    device: Device | None = None


def run_program(program: Program, profile: Profile, request: RunRequest) -> RunResult:
    """Configure all groups of a program and run each for `request.frames` frames, one after the other.

    FirmwareError where the firmware stops with a status, StalledError where nothing can progress (both with the hazards
    until then), HazardError where the request stops at the first hazard.
    """
    device = open_for(program, profile, request)
    return finish(device, lambda: Session.configured(device, program, request))


def finish(device: OpenDevice, make: Callable[[], Session]) -> RunResult:
    """Run a session on a device to its end; `make` gives it, and what that raises ends the run too."""
    try:
        session = make()
        result = RunResult(device=device.chip)
        result.groups, result.switches = session.run()
        result.wall_ns = session.last_output_ns - session.first_enable_ns
        if len(result.groups) > 1 and result.wall_ns:
            result.groups = [
                replace(group, wall_fps=group.frames * NS_PER_S / result.wall_ns) for group in result.groups
            ]
        device.close()
        result.events = device.inspection.events
        return result
    except FirmwareError as error:
        applications = range(len(device.inspection.applications))
        error.hazards = [one.document() for index in applications for one in device.inspection.hazards(index)]
        raise
    finally:
        device.abandon()


def open_for(program: Program, profile: Profile, request: RunRequest) -> OpenDevice:
    """The device that a request asks for, for programs such as this one."""
    return OpenDevice(
        profile,
        program.runtime,
        clusters=profile.identity.partial_clusters_layout_bitmap if request.layout is None else request.layout,
        seed=request.seed,
        faults=request.faults,
        tracer_for=request.tracer_for,
        on_chip=request.on_device,
        may_jump=request.may_jump,
        handlers=request.handlers,
    )


class _Turn(Struct, eq=False):
    """A group runs: `count` frames of it, from `before` on, to be left behind them where `leave` says so."""

    application: Application
    count: int
    leave: bool
    before: _Counted
    rounds: _Rounds
    job: Frames


class Session:
    """The groups of one program on an open device, run frame for frame as a request says.

    Group after group, each with all its frames; in a round-robin schedule a batch of each in turn.
    """

    def __init__(self, device: OpenDevice, program: Program, request: RunRequest) -> None:
        self.device = device
        self.program = program
        self.request = request
        self.applications: list[Application] = []
        self.first_enable_ns = -1
        self.last_output_ns = 0
        self.paused = False
        self.taken: list[tuple[int, int, Mapping[str, bytes], frozenset[str]]] = []  # what `take` got before a pause
        self._turns: list[list[tuple[GroupResult, int]]] = []  # of each group, with how often
        self._done: list[int] = []  # frames of each group
        self._switches: list[Switch] = []
        self._turn: _Turn | None = None
        self._last = -1  # position of the group that ran last

    @classmethod
    def configured(cls, device: OpenDevice, program: Program, request: RunRequest) -> Session:
        """With all groups configured, before the first frame."""
        session = cls(device, program, request)
        session.configure()
        device.inspection.probe.stop_at_hazard = request.stop_at_hazard
        if request.on_session is not None:
            request.on_session(session)
        return session

    @property
    def chip(self) -> Device:
        """The simulated hardware, for whoever wants to look further."""
        return self.device.chip

    @property
    def delivered(self) -> int:
        """Frames that have been delivered until now, of all groups."""
        return sum(application.delivered for application in self.applications)

    def configure(self) -> None:
        """Configure all groups."""
        timings, hook = self.request.timings, self.request.outputs
        self.applications = self.device.configure_program(
            self.program, timings, outputs=hook, agreements=self.request.agreements
        )
        self._turns = [[] for _ in self.applications]
        self._done = [0] * len(self.applications)

    def run(self) -> tuple[list[GroupResult], list[Switch]]:
        """All that is left to run: what each group did, and the application changes of a round-robin schedule."""
        if self._turn is not None:
            self._finish(self._turn)
        if self.request.round_robin:
            self._take_turns()
        while (position := self._next()) is not None:
            self.run_group(self.applications[position])
        if self._pauses:
            raise UsageError(f"no checkpoint can be taken from frame {self.request.pause_at} on")
        if self.request.round_robin:
            return [merged(turns) for turns in self._turns], self._switches
        return [turns[0][0] for turns in self._turns], self._switches

    def _take_turns(self) -> None:
        """One batch of every group in turn until all frames have run, with an application change between turns.

        Rounds that repeat are added up, where nobody looks at their frames.
        """
        applications, request, loop = self.applications, self.request, self.chip.turn_loop()
        looked_at = request.keep_outputs or request.take or request.outputs or request.measure_actions
        # the offset of a cache moves from turn to turn
        alike = not looked_at and not any(application.group.caches for application in applications)
        known, before = len(self._switches), list[GroupResult]()
        while (position := self._next()) is not None:
            application = applications[position]
            self.run_group(application, min(application.group.batch_size, self._left(position)), leave=False)
            active = [at for at in range(len(applications)) if self._left(at)]
            if not active or position < active[-1]:
                continue  # the round goes on
            switched, known = self._switches[known:], len(self._switches)
            # one that has the device for itself goes on where it was; and a last round is played
            left = min(self._left(at) // applications[at].group.batch_size for at in active) - 1
            rounds = loop.skippable(left) if alike and len(active) > 1 else 0
            this, before = before, [self._turns[at][-1][0] for at in active]
            if not rounds or this != before:
                continue
            loop.skip(rounds)
            self._switches += switched * rounds
            known = len(self._switches)
            for at in active:
                skipped = rounds * applications[at].group.batch_size
                applications[at].skip_turns(skipped)
                self._done[at] += skipped
                self._turns[at].append((self._turns[at][-1][0], rounds))

    def _next(self) -> int | None:
        """Whose turn it is; None where all frames have run."""
        positions = range(len(self.applications))
        if not self.request.round_robin:
            return next((at for at in positions if not self._turns[at]), None)
        behind = [*positions[self._last + 1 :], *positions[: self._last + 1]]
        return next((at for at in behind if self._left(at)), None)

    def _left(self, position: int) -> int:
        """Frames of a group that have not run."""
        return self.request.frames - self._done[position]

    def run_group(self, application: Application, frames: int | None = None, leave: bool = True) -> GroupResult:
        """Run frames of one group to the end of its lists (None: as requested), and deactivate it to leave."""
        self._turn = self._begin(application, self.request.frames if frames is None else frames, leave)
        return self._finish(self._turn)

    def _begin(self, application: Application, frames: int, leave: bool) -> _Turn:
        """Submit the frames of a turn."""
        device, stored = self.device, self._stored(application)
        before = _Counted.of(device.inspection, stored)
        if self.request.measure_actions:
            from emu.host.profiler import config_timestamp, measured_batch

            measured = measured_batch(stored, -(-frames // application.batch))
            device.send(config_timestamp(self.program.runtime, measured))
        at = application.position
        inputs = None if self.request.inputs is None else partial(self._input, at)
        take = None if self.request.take is None else partial(self._take, at)
        job = application.submit_frames(frames, inputs, self.request.keep_outputs, take)
        application.begin_measurement(frames)
        rounds = _Rounds(device.inspection, stored)
        return _Turn(application, frames, leave, before, rounds, job)

    def _finish(self, turn: _Turn) -> GroupResult:
        """Run a turn to the end of its lists, and deactivate its group to leave."""
        application, job, device = turn.application, turn.job, self.device
        with turn.rounds if turn.count <= application.batch and not application.single_context else nullcontext():
            while True:
                application.stop_at = self._stop_at(application)
                device.run_until(lambda: job.done or self._pauses)
                if job.error is None and self._pauses:
                    self._pause(job)
                if job.error is not None:
                    raise job.error
                if job.done:
                    break
            # what the lists still do behind the last output belongs to the run: it can fail or stall
            device.settle()
        result = self._result(application, job, application.started_ns, turn.before, turn.rounds)
        if self.request.measure_actions:
            from emu.host.profiler import download

            result = replace(result, action_lists=download(device.send, self._stored(application)))
        position = application.position
        if turn.leave:
            device.deactivate()
        elif self._last not in (-1, position):
            leaving = self.applications[self._last].name
            self._switches.append(Switch(leaving, application.name, result.activation_ns))
        self._last, self._turn = position, None
        self._turns[position].append((result, 1))
        self._done[position] += turn.count
        return result

    def _input(self, position: int, stream: str, frame: int) -> bytes:
        assert self.request.inputs is not None
        return self.request.inputs(position, stream, frame)

    def _take(self, position: int, frame: int, wire: Mapping[str, bytes], real: frozenset[str]) -> None:
        assert self.request.take is not None
        if self.request.pause_at is not None and not self.paused:
            self.taken.append((position, frame, wire, real))
        self.request.take(position, frame, wire, real)

    # -- a moment to look at it

    @property
    def _pauses(self) -> bool:
        wanted = self.request.pause_at
        return wanted is not None and not self.paused and self.delivered >= wanted

    def _stop_at(self, application: Application) -> int | None:
        """The frame of an application with whose end the moment has come."""
        if self.request.pause_at is None or self.paused:
            return None
        return application.delivered + self.request.pause_at - self.delivered

    def _pause(self, job: Frames) -> None:
        """The moment has come as soon as the firmware stands where it can be taken up again, in another turn maybe."""
        while not self._can_pause():
            if not self.device.run_one() or job.error is not None:
                return
        self.paused = True
        self.taken.clear()

    def _can_pause(self) -> bool:
        """Whether this is the moment; who wanted it has been told."""
        assert self.request.on_pause is not None
        if not self.device.inspection.can_go_on:
            return False
        try:
            self.request.on_pause(self)
        except NotNowError:
            return False
        return True

    def _stored(self, application: Application) -> Stored:
        return self.device.inspection.applications[application.index]

    def _result(
        self, application: Application, job: Frames, started: int, before: _Counted, rounds: _Rounds
    ) -> GroupResult:
        chip, host, stored = self.device.inspection, application.host, self._stored(application)
        assert host is not None
        outputs = list((host.outputs or host.inputs).values())
        last = max((state.last_ns for state in outputs), default=chip.time)
        after = _Counted.of(chip, stored)
        latency = max((state.first_ns or 0 for state in outputs), default=0) - (host.first_input_ns or 0)
        fps, basis = _fps(application, host, outputs, last, latency, rounds)
        self.first_enable_ns = started if self.first_enable_ns < 0 else self.first_enable_ns
        self.last_output_ns = last
        return GroupResult(
            name=application.name,
            simulated_ns=last - started,
            activation_ns=application.activated_ns - started,
            fps=fps,
            fps_basis=basis,
            latency_ns=latency,
            contexts=tuple(
                _context_result(context, now, then, self._running_ns(context, last))
                for context, now, then in zip(stored.contexts, after.contexts, before.contexts, strict=True)
            ),
            streams=tuple(_stream_result(state, job) for state in (host.inputs | host.outputs).values()),
            register_writes=after.usage.register_writes - before.usage.register_writes,
            ccw_bytes=after.usage.ccw_bytes - before.usage.ccw_bytes,
            opaque_bytes=after.usage.opaque_bytes - before.usage.opaque_bytes,
            regions=tuple(
                RegionUse(now.region, now.bytes_written - then.bytes_written, now.writes - then.writes)
                for now, then in zip(after.usage.regions, before.usage.regions, strict=True)
                if now != then
            ),
            real=tuple(job.real),
            hazards=chip.hazards(application.index),
            rules=chip.house_rules(application.index),
        )

    def _running_ns(self, context: Context, last: int) -> int | None:
        """For the dynamic context of a single-context application, which never ends: its time up to `last`."""
        since = self.device.inspection.running_since(context)
        return None if since is None else max(0, last - since)


class _Rounds:
    """The instants at which the round of contexts begins, seen while it is entered."""

    def __init__(self, chip: Inspection, stored: Stored) -> None:
        self._chip = chip
        # a damaged capture may have none of them
        self._first = stored.dynamic[0].name if stored.dynamic else ""
        early = [one.name for one in stored.contexts if one.type is ContextType.PRELIMINARY]
        self._early = early[0] if early and stored.header.preliminary_run_asap else ""
        self._begun_ns: dict[str, list[int]] = {self._early: [], self._first: []}

    def __enter__(self) -> None:
        self._chip.probe.context_hooks.append(self._begins)

    def __exit__(self, *_: object) -> None:
        self._chip.probe.context_hooks.remove(self._begins)

    def _begins(self, name: str) -> None:
        if name in self._begun_ns:
            self._begun_ns[name].append(self._chip.now)

    @property
    def round_ns(self) -> int:
        """Time of the first round, up to the next one, which the device enters by itself; 0: it did not.

        From the list of dynamic context 0 to that list again; where the preliminary list alone was its first run, from
        that one.
        """
        first = self._begun_ns[self._first]
        begun = first if len(first) > 1 else [*self._begun_ns[self._early], *first]
        return begun[-1] - begun[0] if begun else 0


def _fps(
    application: Application, host: Host, outputs: Sequence[StreamState], last: int, latency: int, rounds: _Rounds
) -> tuple[float, FpsBasis]:
    """Frames a second of the steady part of a run, or of what comes nearest to it (cli.md, JSON for a HEF).

    A steady part begins when the device has written the last output of the first batch, and ends when the host has
    been told of the last one: what goes wrong in between makes it longer, never shorter.
    """
    frames = min((state.done - state.begun for state in outputs), default=0)
    first: int = host.batch
    basis: FpsBasis = "steady"
    if frames <= first:
        if not application.single_context:
            return _rate(frames, rounds.round_ns), "one_round"
        if frames <= 1:
            return _rate(frames, latency), "one_frame"
        first, basis = 1, "one_batch"
    begins = max(((state.batch_ns if basis == "steady" else state.written_ns) or 0 for state in outputs), default=0)
    return _rate(frames - first, last - begins), basis


def _rate(frames: int, ns: int) -> float:
    return frames * NS_PER_S / ns if ns > 0 else 0.0


def _context_result(context: Context, now: Counts, then: Counts, running_ns: int | None) -> ContextResult:
    counted = {name: value - then[name] for name, value in now.items()}
    return ContextResult(
        context.type.name.lower(),
        context.index,
        counted["runs"] + (running_ns is not None),
        counted["simulated_ns"] + (running_ns or 0),
        dict(context.actions.counts),
        counted["config_bytes"],
        counted["data_bytes"],
    )


def _stream_result(state: StreamState, job: Frames) -> StreamResult:
    stream, frames = state.stream, state.done - state.begun
    return StreamResult(
        stream.name,
        stream.direction,
        frames,
        frames * stream.transfer_size * stream.transfers_per_frame,
        tuple(row[stream.name] for row in job.results) if stream.direction is Direction.D2H else (),
    )
