"""Run a program on a device, as the host's driver and application would: configure, activate, frames, release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from emu.errors import FirmwareError
from emu.hw.application import Context
from emu.hw.controls import opcode_name
from emu.hw.device import Device, StreamLabel
from emu.hw.faults import Fault, Faults
from emu.hw.firmware import State
from emu.hw.host import Host, InputFrames, StreamState, random_input
from emu.hw.hostmem import HostMemory
from emu.hw.memory import RegionUse
from emu.hw.profiler import config_timestamp, download, measured_batch
from emu.hw.profiles import Profile
from emu.hw.schedule import GroupSchedule
from emu.hw.status import firmware_error
from emu.hw.timing import Compute, Flow, GroupTiming, group_timing
from emu.hw.watchdog import Stall, examine
from emu.sequencer.control import (
    ContextSwitchStatus,
    Opcode,
    Response,
    change_context_switch_status,
    decode_response,
    encode_request,
    set_context_info,
    set_network_group_header,
)
from emu.sequencer.program import Direction, NetworkGroupProgram, Program
from emu.trace.events import Event, Kind, Tracer
from emu.trace.sinks.fw_actions import DownloadedContext

NS_PER_S = 1e9
UNKNOWN_COMPUTE = Compute(0.0, 0.0, 0.0, "none: action lists say nothing about computing")


@dataclass(frozen=True, slots=True)
class ContextResult:
    """One context of a group: executed `runs` times, `simulated_ns` and bytes moved (configuration, data) in all."""

    context_type: str
    index: int
    runs: int
    simulated_ns: int
    actions: dict[str, int]
    config_bytes: int
    data_bytes: int


@dataclass(frozen=True, slots=True)
class StreamResult:
    """One boundary stream: frames and bytes that passed; `contents` of all frames of an output if asked for."""

    name: str
    direction: Direction
    frames: int
    size: int
    contents: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What one network group did. Times in simulated ns (cli.md, JSON for a HEF)."""

    name: str
    simulated_ns: int
    activation_ns: int
    fps: float
    latency_ns: int
    contexts: tuple[ContextResult, ...]
    streams: tuple[StreamResult, ...]
    register_writes: int
    ccw_bytes: int
    opaque_bytes: int
    regions: tuple[RegionUse, ...]
    action_lists: tuple[DownloadedContext, ...] = ()


class Usage(NamedTuple):
    """Counters of the device at one moment."""

    register_writes: int
    ccw_bytes: int
    opaque_bytes: int
    regions: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """One application change: from ENABLE until the new network waits for its first frame."""

    leaving: str
    entering: str
    ns: int


@dataclass(slots=True)
class RunRequest:
    """What to run. `frames` per group; `inputs` gives the wire bytes of a stream's frame by (group, stream, frame),
    None: seeded random. `timings` per group; None: the core counts as infinitely fast. `measure_actions`: keep the time
    stamps of the actions (GroupResult.action_lists). `on_device` sees the device before anything is sent to it."""

    frames: int
    seed: int = 0
    inputs: Callable[[int, str, int], bytes] | None = None
    keep_outputs: bool = False
    timings: Sequence[GroupTiming] | None = None
    layout: int | None = None
    tracer_for: Callable[[Callable[[], int]], Tracer] | None = None
    may_jump: bool = True
    round_robin: bool = False
    faults: Sequence[Fault] = ()
    measure_actions: bool = False
    on_device: Callable[[Device], None] | None = None


@dataclass(slots=True)
class RunResult:
    """All groups, the application changes of a round-robin schedule, the number of discrete events processed.

    `device` is there for whoever wants to look further.
    """

    groups: list[GroupResult] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    events: int = 0
    device: Device | None = None


class StalledError(FirmwareError):
    """The device stalled; `stall` holds the wait-for chain."""

    def __init__(self, stall: Stall) -> None:
        error = stall.error()
        super().__init__(error.name, error.number, error.message, **error.where)
        self.stall = stall

    def line(self) -> str:
        # the message already says where, in the order of the chain
        return f"{self.name}({self.number_text()}): {self.message}"


def run_program(program: Program, profile: Profile, request: RunRequest) -> RunResult:
    """Configure all groups of a program and run each for `request.frames` frames, one after the other.

    FirmwareError where the firmware stops with a status, StalledError where nothing can progress.
    """
    device = Device(
        profile,
        program.runtime,
        HostMemory.from_program(program),
        layout=request.layout,
        seed=request.seed,
        faults=Faults(request.faults) if request.faults else None,
    )
    device.core.may_jump = request.may_jump and not request.faults
    if request.tracer_for is not None:
        device.tracer = device.core.tracer = request.tracer_for(lambda: device.clock.time)
    session = Session(device, program, request)
    try:
        session.configure()
        result = RunResult(device=device)
        if request.round_robin:
            result.groups, result.switches = round_robin(session)
        else:
            result.groups = [session.run_group(group) for group in program.network_groups]
        session.release()
        result.events = device.clock.events
        return result
    finally:
        if device.tracer is not None:
            device.tracer.close()


def round_robin(session: Session) -> tuple[list[GroupResult], list[Switch]]:
    """One batch of every group in turn until all frames have run, with an application change between turns."""
    groups, frames = session.program.network_groups, session.request.frames
    turns: list[list[GroupResult]] = [[] for _ in groups]
    done, switches, leaving = [0] * len(groups), [], -1
    while any(count < frames for count in done):
        for position, group in enumerate(groups):
            size = min(group.batch_size, frames - done[position])
            if size <= 0:
                continue
            result = session.run_group(group, size, done[position], leave=False)
            if leaving not in (-1, position):
                switches.append(Switch(groups[leaving].name, group.name, result.activation_ns))
            leaving = position
            done[position] += size
            turns[position].append(result)
    return [_merged(results) for results in turns], switches


def _merged(turns: list[GroupResult]) -> GroupResult:
    """The turns of one group as one result: what counts adds up, the rate is over the time it ran."""
    first = turns[0]
    frames = sum(max((stream.frames for stream in turn.streams), default=0) for turn in turns)
    simulated = sum(turn.simulated_ns for turn in turns)
    regions: dict[str, RegionUse] = {}
    for use in (use for turn in turns for use in turn.regions):
        have = regions.setdefault(use.region.name, RegionUse(use.region))
        have.bytes_written += use.bytes_written
        have.writes += use.writes
    return replace(
        first,
        simulated_ns=simulated,
        fps=frames * NS_PER_S / simulated if simulated else 0.0,
        contexts=tuple(
            replace(
                context,
                runs=sum(turn.contexts[at].runs for turn in turns),
                simulated_ns=sum(turn.contexts[at].simulated_ns for turn in turns),
                config_bytes=sum(turn.contexts[at].config_bytes for turn in turns),
                data_bytes=sum(turn.contexts[at].data_bytes for turn in turns),
            )
            for at, context in enumerate(first.contexts)
        ),
        streams=tuple(
            replace(
                stream,
                frames=sum(turn.streams[at].frames for turn in turns),
                size=sum(turn.streams[at].size for turn in turns),
                contents=tuple(content for turn in turns for content in turn.streams[at].contents),
            )
            for at, stream in enumerate(first.streams)
        ),
        register_writes=sum(turn.register_writes for turn in turns),
        ccw_bytes=sum(turn.ccw_bytes for turn in turns),
        opaque_bytes=sum(turn.opaque_bytes for turn in turns),
        regions=tuple(regions.values()),
    )


class Session:
    """One device with one configured program."""

    def __init__(self, device: Device, program: Program, request: RunRequest) -> None:
        self.device = device
        if request.on_device is not None:
            request.on_device(device)
        self.program = program
        self.request = request
        self.timings: list[GroupTiming] = []

    def configure(self) -> None:
        """The controls of HailoRT's configure, in its order (silicon-facts.md a)."""
        self._send(encode_request(Opcode.IDENTIFY))
        self._send(encode_request(Opcode.GET_DEVICE_INFORMATION))
        self._send(change_context_switch_status(ContextSwitchStatus.RESET))
        self._send(encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS))
        self._send(encode_request(Opcode.GET_HW_CONSTS))
        for group in self.program.network_groups:
            self._send(set_network_group_header(group.application_header))
            for context in group.contexts:
                for message in set_context_info(context.context_type, context.action_list, context.chunks):
                    self._send(message)
            self._prepare_timing(group)
        self.device.flows = self._flow

    def run_group(
        self, group: NetworkGroupProgram, frames: int | None = None, first_frame: int = 0, leave: bool = True
    ) -> GroupResult:
        """Activate, run frames (a partial last batch after a batch switch), deactivate unless `leave` is False.

        `frames` None: as requested; `first_frame` numbers them where a group runs in several turns.
        """
        device = self.device
        application = device.applications[group.application_index]
        for context in application.contexts:
            context.runs = context.simulated_ns = context.config_bytes = context.data_bytes = 0
        before = self._usage()
        batch = application.header.batch_size
        frames = self.request.frames if frames is None else frames
        first_batch = min(batch, frames)
        host = self._host(group, frames, first_batch, first_frame)
        device.attach_host(host)
        device.first_frame = first_frame
        if self.request.measure_actions:
            measured = measured_batch(application, -(-frames // batch))
            self._send(config_timestamp(self.program.runtime, measured))
        started = device.clock.time
        self._send(
            change_context_switch_status(
                ContextSwitchStatus.ENABLED,
                group.application_index,
                0 if first_batch == batch else first_batch,
            )
        )
        host.queue_outputs()
        self._await(lambda: device.firmware.resting, host)
        activated = device.firmware.now
        host.set_goal(frames - frames % batch if frames > batch else frames)
        host.feed()
        self._await(lambda: host.done, host)
        if frames > batch and frames % batch:
            self._send(
                change_context_switch_status(ContextSwitchStatus.ENABLED, group.application_index, frames % batch)
            )
            host.set_goal(frames)
            host.feed()
            self._await(lambda: host.done, host)
        # what the lists still do behind the last output belongs to the run: it can fail or stall
        self._await(lambda: device.firmware.resting, host)
        result = self._result(group, host, started, activated, before)
        if self.request.measure_actions:
            result = replace(result, action_lists=download(self._send, application))
        if leave:
            self._send(change_context_switch_status(ContextSwitchStatus.RESET))
        return result

    def _usage(self) -> Usage:
        device = self.device
        return Usage(
            device.memory.register_writes,
            device.config.ccw_bytes,
            device.config.opaque_bytes,
            tuple((use.bytes_written, use.writes) for use in device.memory.use),
        )

    def release(self) -> None:
        """RESET and CLEAR, as HailoRT ends (silicon-facts.md a)."""
        self._send(change_context_switch_status(ContextSwitchStatus.RESET))
        self._send(encode_request(Opcode.CONTEXT_SWITCH_CLEAR_CONFIGURED_APPS))

    def _host(self, group: NetworkGroupProgram, frames: int, batch: int, first_frame: int) -> Host:
        sizes = {s.name: s.transfer_size * s.transfers_per_frame for s in group.streams}
        self.device.labels[group.application_index] = {
            s.packed_vdma_channel_id: StreamLabel(s.name, s.transfers_per_frame) for s in group.streams
        }
        single = self.device.applications[group.application_index].single_context
        return Host(
            self.device,
            group.streams,
            frames,
            batch,
            self._inputs(group.application_index, first_frame, sizes),
            self.request.keep_outputs,
            0.0 if single else self.timings[group.application_index].host_ns,
        )

    def _inputs(self, group: int, first_frame: int, sizes: dict[str, int]) -> InputFrames:
        inputs = self.request.inputs
        if inputs is None:
            made_up = random_input(self.request.seed, sizes)
            return lambda stream, frame: made_up(stream, first_frame + frame)
        return lambda stream, frame: inputs(group, stream, first_frame + frame)

    def _prepare_timing(self, group: NetworkGroupProgram) -> None:
        if self.request.timings is not None:
            self.timings.append(self.request.timings[group.application_index])
            return
        if not group.contexts:
            group = replace(group, contexts=tuple(record.context for record in group.ddr_action_list))
        self.timings.append(group_timing(group, self.program.runtime, self.device.profile, UNKNOWN_COMPUTE))

    def _flow(self, application: int, context: int) -> Flow | None:
        flows = self.timings[application].flows
        return flows[context] if context < len(flows) else None

    def _await(self, condition: Callable[[], bool], host: Host) -> None:
        device = self.device
        progressed = device.run_until(condition)
        while not progressed and not condition() and device.awaits_cache_update:
            # the host moves the cache offset and says so (firmware-actions.md 8, WAIT_FOR_CACHE_UPDATED)
            self._send(encode_request(Opcode.CONTEXT_SWITCH_SIGNAL_CACHE_UPDATED))
            progressed = device.run_until(condition)
        error = device.firmware.error
        if error is not None and device.firmware.state is State.FAILED:
            raise firmware_error(
                error.status,
                error.message,
                application=error.application,
                context=error.context.name,
                action_index=error.action,
                action=error.action_name,
                batch=error.batch,
            )
        if not progressed and not condition():
            stall = examine(device, _missing(host))
            if device.tracer is not None:
                device.tracer.emit(
                    Event(
                        device.clock.time,
                        Kind.STALL,
                        stall.application,
                        stall.context,
                        stall.action_index,
                        stall.action,
                        stall.arguments,
                        cause=stall.line(),
                    )
                )
            raise StalledError(stall)

    def _send(self, message: bytes) -> Response:
        reply = decode_response(self.device.control(message))
        if reply.major_status:
            fault = self.device.controls.last_fault
            where: dict[str, object] = {"control": opcode_name(reply.opcode)}
            error = self.device.firmware.error
            if error is not None and error.status == reply.major_status:
                where |= {
                    "context": error.context.name,
                    "action_index": error.action,
                    "action": error.action_name,
                }
            raise firmware_error(reply.major_status, fault.message if fault is not None else "control refused", **where)
        return reply

    def _result(
        self,
        group: NetworkGroupProgram,
        host: Host,
        started: int,
        activated: int,
        before: Usage,
    ) -> GroupResult:
        device = self.device
        application = device.applications[group.application_index]
        outputs = list((host.outputs or host.inputs).values())
        last = max((state.last_ns for state in outputs), default=device.clock.time)
        after = self._usage()
        return GroupResult(
            name=group.name,
            simulated_ns=last - started,
            activation_ns=activated - started,
            fps=self._fps(group, host, outputs, last),
            latency_ns=max((state.first_ns or 0 for state in outputs), default=0) - (host.first_input_ns or 0),
            contexts=tuple(
                _context_result(context, self._running_ns(context, last)) for context in application.contexts
            ),
            streams=tuple(_stream_result(state) for state in (host.inputs | host.outputs).values()),
            register_writes=after.register_writes - before.register_writes,
            ccw_bytes=after.ccw_bytes - before.ccw_bytes,
            opaque_bytes=after.opaque_bytes - before.opaque_bytes,
            regions=tuple(
                RegionUse(use.region, now[0] - then[0], now[1] - then[1])
                for use, now, then in zip(device.memory.use, after.regions, before.regions, strict=True)
                if now != then
            ),
        )

    def _running_ns(self, context: Context, last: int) -> int | None:
        """For the dynamic context of a single-context application, which never ends: its time up to `last`."""
        firmware = self.device.firmware
        if context is not firmware.context or firmware.application is None:
            return None
        return max(0, last - firmware.context_started) if firmware.application.single_context else None

    def _fps(self, group: NetworkGroupProgram, host: Host, outputs: list[StreamState], last: int) -> float:
        device, batch = self.device, host.batch
        first_batch_at = max((state.batch_ns or 0 for state in outputs), default=0)
        if host.frames > batch and last > first_batch_at:
            return (host.frames - batch) * NS_PER_S / (last - first_batch_at)
        # one batch only: the model's own steady state, analytically (cli.md)
        timing = self.timings[group.application_index]
        period = GroupSchedule(device.profile, self.program, group, timing).period_ns(batch)
        return batch * NS_PER_S / period if period else 0.0


def _context_result(context: Context, running_ns: int | None) -> ContextResult:
    return ContextResult(
        context.type.name.lower(),
        context.index,
        context.runs + (running_ns is not None),
        context.simulated_ns + (running_ns or 0),
        dict(context.counts),
        context.config_bytes,
        context.data_bytes,
    )


def _stream_result(state: StreamState) -> StreamResult:
    stream = state.stream
    return StreamResult(
        stream.name,
        stream.direction,
        state.done,
        state.done * stream.transfer_size * stream.transfers_per_frame,
        tuple(
            content if isinstance(content, bytes) else content.materialise() if content is not None else b""
            for content in state.contents
        ),
    )


def _missing(host: Host) -> str:
    late = [
        f"{state.stream.name}: {state.done} of {host.frames} frames"
        for state in (host.outputs or host.inputs).values()
        if state.done < host.frames
    ]
    return "the host still expects " + ", ".join(late) if late else "the host expects nothing more"
