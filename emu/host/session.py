"""A closed run of a program: all its groups on an open device, frames counted, figures taken (cli.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from emu.chips.chips import Profile
from emu.errors import FirmwareError
from emu.host.application import Application
from emu.host.computing import ComputedOutputs
from emu.host.device import OpenDevice
from emu.host.driver import StalledError
from emu.host.jobs import Agreements, Frames, InputContents, Outputs
from emu.host.streams import Host, StreamState
from emu.hw.application import Application as Stored
from emu.hw.application import Context
from emu.hw.device import Device
from emu.hw.faults import Fault
from emu.hw.handlers.own import OwnHandlers
from emu.hw.inspection import Inspection, Usage
from emu.hw.memory import RegionUse
from emu.hw.unit import Counts
from emu.sequencer.program import ContextType, Direction, Program
from emu.timing.model import GroupTiming
from emu.trace.events import Tracer
from emu.trace.hazards import FoundHazard

if TYPE_CHECKING:
    from emu.trace.sinks.fw_actions import DownloadedContext

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

NS_PER_S = 1e9
# what a run's FPS is the rate of (docs/timing.md, the figures of a run)
FpsBasis = Literal["steady", "one_batch", "one_frame", "one_round", "turns"]


class ContextResult(Struct, frozen=True):
    """One context of a group: executed `runs` times, `simulated_ns` and bytes moved (configuration, data) in all."""

    context_type: str
    index: int
    runs: int
    simulated_ns: int
    actions: dict[str, int]
    config_bytes: int
    data_bytes: int


class StreamResult(Struct, frozen=True):
    """One boundary stream: frames and bytes that passed; `contents` of all frames of an output if asked for."""

    name: str
    direction: Direction
    frames: int
    size: int
    contents: tuple[bytes, ...]


class GroupResult(Struct, frozen=True):
    """What one network group did. Times in simulated ns (cli.md, JSON for a HEF).

    `fps` is measured: frames a second of what `fps_basis` names. `wall_fps`: its frames over the time of the whole run,
    whatever else ran meanwhile (None: it ran alone).
    """

    name: str
    simulated_ns: int
    activation_ns: int
    fps: float
    fps_basis: FpsBasis
    latency_ns: int
    contexts: tuple[ContextResult, ...]
    streams: tuple[StreamResult, ...]
    register_writes: int
    ccw_bytes: int
    opaque_bytes: int
    regions: tuple[RegionUse, ...]
    action_lists: tuple[DownloadedContext, ...] = ()
    real: tuple[frozenset[str], ...] = ()  # per kept frame, the output streams whose bytes are no synthetic ones
    hazards: tuple[FoundHazard, ...] = ()
    rules: tuple[str, ...] = ()  # paragraphs of the house rules that it rested on (emu.hw.house_rules)
    wall_fps: float | None = None

    @property
    def well_formed(self) -> bool:
        """Whether its configuration is a real compiler's (units.md 0): of no other are programs read."""
        return "chip-config.md 8" in self.rules

    @property
    def frames(self) -> int:
        """Frames that every output has delivered (every input taken, where there is none)."""
        outputs = [stream for stream in self.streams if stream.direction is Direction.D2H]
        return min((stream.frames for stream in outputs or self.streams), default=0)


class _Counted(Struct, frozen=True):
    """What the chip has counted at one moment: in all, and of each context of one application."""

    usage: Usage
    contexts: tuple[Counts, ...]

    @classmethod
    def of(cls, chip: Inspection, stored: Stored) -> _Counted:
        return cls(chip.usage(), tuple(context.counters() for context in stored.contexts))


class Switch(Struct, frozen=True):
    """One application change: from ENABLE until the new network waits for its first frame."""

    leaving: str
    entering: str
    ns: int


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
    `handlers` as of `OpenDevice`.
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
    try:
        session = Session(device, program, request)
        session.configure()
        device.inspection.probe.stop_at_hazard = request.stop_at_hazard
        if request.on_session is not None:
            request.on_session(session)
        result = RunResult(device=device.chip)
        if request.round_robin:
            result.groups, result.switches = _round_robin(session)
        else:
            result.groups = [session.run_group(application) for application in session.applications]
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


def _round_robin(session: Session) -> tuple[list[GroupResult], list[Switch]]:
    """One batch of every group in turn until all frames have run, with an application change between turns.

    Rounds that repeat are added up, where nobody looks at their frames.
    """
    applications, frames, request = session.applications, session.request.frames, session.request
    # the last turn of each kind, and how often there were such ones in a row
    turns: list[list[tuple[GroupResult, int]]] = [[] for _ in applications]
    switches: list[Switch] = []
    done, leaving = [0] * len(applications), -1
    looked_at = request.keep_outputs or request.take or request.outputs or request.measure_actions
    alike = not looked_at and not any(application.group.caches for application in applications)  # whose offset moves
    loop = session.chip.turn_loop()
    before: list[GroupResult] = []
    while any(count < frames for count in done):
        known = len(switches)
        active = [position for position in range(len(applications)) if done[position] < frames]
        for position in active:
            application = applications[position]
            size = min(application.group.batch_size, frames - done[position])
            result = session.run_group(application, size, leave=False)
            if leaving not in (-1, position):
                switches.append(Switch(applications[leaving].name, application.name, result.activation_ns))
            leaving = position
            done[position] += size
            turns[position].append((result, 1))
        # one that has the device for itself goes on where it was; and a last round is played
        left = min((frames - done[at]) // applications[at].group.batch_size for at in active) - 1
        rounds = loop.skippable(left) if alike and len(active) > 1 else 0
        this, before = before, [turns[position][-1][0] for position in active]
        if not rounds or this != before:
            continue
        loop.skip(rounds)
        switches += switches[known:] * rounds
        for position in active:
            skipped = rounds * applications[position].group.batch_size
            applications[position].skip_turns(skipped)
            done[position] += skipped
            turns[position].append((turns[position][-1][0], rounds))
    return [_merged(results) for results in turns], switches


def _merged(turns: list[tuple[GroupResult, int]]) -> GroupResult:
    """The turns of one group, each so many times, as one result: what counts adds up.

    The rate is over its turns, activations included.
    """
    first, last = turns[0][0], turns[-1][0]
    frames = sum(turn.frames * times for turn, times in turns)
    simulated = sum(turn.simulated_ns * times for turn, times in turns)
    regions: dict[str, RegionUse] = {}
    for use, times in ((use, times) for turn, times in turns for use in turn.regions):
        have = regions.setdefault(use.region.name, RegionUse(use.region))
        have.bytes_written += use.bytes_written * times
        have.writes += use.writes * times
    return replace(
        first,
        simulated_ns=simulated,
        fps=frames * NS_PER_S / simulated if simulated else 0.0,
        fps_basis="turns",
        contexts=tuple(
            replace(
                context,
                runs=sum(turn.contexts[at].runs * times for turn, times in turns),
                simulated_ns=sum(turn.contexts[at].simulated_ns * times for turn, times in turns),
                config_bytes=sum(turn.contexts[at].config_bytes * times for turn, times in turns),
                data_bytes=sum(turn.contexts[at].data_bytes * times for turn, times in turns),
            )
            for at, context in enumerate(first.contexts)
        ),
        streams=tuple(
            replace(
                stream,
                frames=sum(turn.streams[at].frames * times for turn, times in turns),
                size=sum(turn.streams[at].size * times for turn, times in turns),
                contents=tuple(content for turn, _ in turns for content in turn.streams[at].contents),
            )
            for at, stream in enumerate(first.streams)
        ),
        register_writes=sum(turn.register_writes * times for turn, times in turns),
        ccw_bytes=sum(turn.ccw_bytes * times for turn, times in turns),
        opaque_bytes=sum(turn.opaque_bytes * times for turn, times in turns),
        real=tuple(names for turn, _ in turns for names in turn.real),
        regions=tuple(regions.values()),
        hazards=last.hazards,
        rules=last.rules,
    )


class Session:
    """The groups of one program on an open device, run frame for frame as a request says."""

    def __init__(self, device: OpenDevice, program: Program, request: RunRequest) -> None:
        self.device = device
        self.program = program
        self.request = request
        self.applications: list[Application] = []
        self.first_enable_ns = -1
        self.last_output_ns = 0

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

    def run_group(self, application: Application, frames: int | None = None, leave: bool = True) -> GroupResult:
        """Run frames of one group to the end of its lists (None: as requested), and deactivate it to leave."""
        device, stored = self.device, self._stored(application)
        before = _Counted.of(device.inspection, stored)
        frames = self.request.frames if frames is None else frames
        if self.request.measure_actions:
            from emu.host.profiler import config_timestamp, measured_batch

            measured = measured_batch(stored, -(-frames // application.batch))
            device.send(config_timestamp(self.program.runtime, measured))
        take = None if self.request.take is None else partial(self.request.take, application.position)
        job = application.submit_frames(frames, self._inputs(application), self.request.keep_outputs, take)
        application.begin_measurement(frames)
        rounds = _Rounds(device.inspection, stored)
        with rounds if frames <= application.batch and not application.single_context else nullcontext():
            device.run_until(lambda: job.done)
            if job.error is not None:
                raise job.error
            # what the lists still do behind the last output belongs to the run: it can fail or stall
            device.settle()
        result = self._result(application, job, application.started_ns, before, rounds)
        if self.request.measure_actions:
            from emu.host.profiler import download

            result = replace(result, action_lists=download(device.send, stored))
        if leave:
            device.deactivate()
        return result

    def _inputs(self, application: Application) -> InputContents | None:
        inputs, position = self.request.inputs, application.position
        return None if inputs is None else lambda stream, frame: inputs(position, stream, frame)

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
        dict(context.counts),
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
