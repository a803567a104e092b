"""`emu run` for HEFs and captures: compile, execute on the simulated device, report (cli.md)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu.cli.compiling import compile_model, compile_options, warn_of_clock
from emu.cli.document import print_document
from emu.cli.log import warn
from emu.cli.options import output_directory, output_path
from emu.cli.run import RunOptions
from emu.cli.run_report import SYNTHETIC, Outcome, document, text, write_dump
from emu.cli.tracing import check_trace, trace_sinks, wants_action_lists, writable, write_action_lists
from emu.cli.watching import Put, watched
from emu.errors import UsageError
from emu.hw.capture import load_capture
from emu.hw.combine import combine
from emu.hw.faults import Fault
from emu.hw.layout import usable_clusters
from emu.hw.profiles import Profile, load
from emu.hw.session import RunRequest, run_program
from emu.hw.workload import assumed_clock_hz, given_timings, group_timings
from emu.sequencer.program import Direction, Program
from emu.trace.events import Header, Tracer

if TYPE_CHECKING:
    from emu.dataflow.frames import FrameBridge
    from emu.hef import Hef


def run(options: RunOptions, put: Put | None = None) -> None:
    """Run HEFs on one device; FirmwareError where it stops or stalls. `put`: as in `watched`."""
    compiled = [compile_model(model, options.common) for model in options.models]
    program = combine([one for _, one in compiled])
    profile = load(program.device, options.common.clock_mhz, options.common.link)
    check_trace(options)
    request = _request(program, options)
    settings = compile_options(options.common)
    request.timings = [
        timing for hef, one in compiled for timing in group_timings(hef, one, settings, profile, options.compute_time)
    ]
    for assumed_hz in sorted({assumed_clock_hz(hef, profile) for hef, _ in compiled}):
        warn_of_clock(assumed_hz, profile.nn_hz)
    request.layout = _layout(program, profile, options.common.cluster_layout)
    bridges = _bridges(compiled, options, request)
    name = ", ".join(model.name for model in options.models)
    outcome = _execute(program, profile, request, options, name, put)
    outcome.models = [
        {"file": model.name, "format": "hef", "hw_arch": int(hef.header.hw_arch)}
        for model, (hef, _) in zip(options.models, compiled, strict=True)
    ]
    outcome.model_of_group = [at for at, (_, one) in enumerate(compiled) for _ in one.network_groups]
    for bridge in bridges:
        outcome.sources.update(bridge.input_sources)
    outcome.supplied = {argument.partition("=")[0] for argument in options.device_output}
    write_action_lists(outcome, options, profile, compiled[0][0].header.timestamp // 1000)
    outcome.kept = _keep(outcome, bridges, options)
    _report(outcome, options)


def run_capture(options: RunOptions, put: Put | None = None) -> None:
    """Run the action lists of a capture from their bytes alone. `put`: as in `watched`."""
    refused = ["--input"] * bool(options.input) + ["--inputs"] * bool(options.inputs)
    refused += ["--device-output"] * bool(options.device_output) + ["--output-dir"] * bool(options.output_dir)
    refused += ["--outputs"] * bool(options.outputs)
    if refused:
        raise UsageError(f"{', '.join(refused)}: a capture has no vstreams, only HEFs do")
    assert options.actions is not None
    check_trace(options)
    capture = load_capture(Path(options.actions))
    program = capture.program
    profile = load(options.common.device or program.device, options.common.clock_mhz, options.common.link)
    request = _request(program, options)
    layout = options.common.cluster_layout if options.common.cluster_layout is not None else capture.layout
    request.layout = _layout(program, profile, layout)
    if options.compute_time is not None:
        request.timings = given_timings(program, profile, options.compute_time)
    outcome = _execute(program, profile, request, options, capture.source, put)
    outcome.models = [{"file": options.actions, "format": "capture"}]
    write_action_lists(outcome, options, profile, 0)
    _report(outcome, options)


def _report(outcome: Outcome, options: RunOptions) -> None:
    if options.dump_memory is not None:
        assert outcome.result.device is not None
        write_dump(outcome.result.device.memory, writable(options.dump_memory))
    if options.as_json:
        print_document(document(outcome, options.timing, options.coverage))
    else:
        sys.stdout.write("".join(text(outcome, options.timing, options.coverage)))


def _request(program: Program, options: RunOptions) -> RunRequest:
    common = options.common
    return RunRequest(
        frames=common.frames if common.frames is not None else program.batch,
        seed=common.seed,
        round_robin=options.schedule == "round-robin",
        faults=tuple(Fault.parse(text) for text in options.inject),
        measure_actions=wants_action_lists(options),
    )


def _layout(program: Program, profile: Profile, given: int | None) -> int:
    """The clusters of the device, with a warning where the lists name more than it is taken to have."""
    layout, more = usable_clusters(program, profile, given)
    if more:
        names = ", ".join(map(str, more))
        warn(f"the lists name clusters {names}, {program.device} is taken to have {profile.clusters}: run with them")
    return layout


def _bridges(compiled: Sequence[tuple[Hef, Program]], options: RunOptions, request: RunRequest) -> list[FrameBridge]:
    """Frame conversion per network group, where files are given or outputs are kept."""
    wanted = options.input or options.inputs or options.device_output or options.output_dir or options.outputs
    if not wanted:
        return []
    if options.outputs:
        output_path(options.outputs)  # refused before anything runs
    from emu.dataflow.frames import FrameBridge, build_outputs, frame_files
    from emu.hef.infos import hef_infos

    groups = []
    for hef, program in compiled:
        by_name = {group.name: group for group in hef_infos(hef).network_groups}
        groups += [by_name[group.name] for group in program.network_groups]
    files = frame_files(groups, options.input, options.inputs, options.device_output)
    switches = compile_options(options.common).host.switches
    bridges = [
        FrameBridge(
            group,
            runtime=compiled[0][1].runtime,
            files=files,
            frames=request.frames,
            seed=request.seed,
            environment=switches,
        )
        for group in groups
    ]
    request.keep_outputs = bool(options.output_dir or options.outputs)
    if request.keep_outputs:
        names = build_outputs(bridges)  # what the runtime refuses to build is refused before anything runs
        if options.output_dir:
            output_directory(options.output_dir, names)
    cache: dict[tuple[int, int], dict[str, bytes]] = {}

    def inputs(group: int, stream: str, frame: int) -> bytes:
        key = (group, frame)
        if key not in cache:
            cache.clear()  # frames are asked for in order, stream by stream
            cache[key] = bridges[group].inputs_for(frame)
        return cache[key][stream]

    request.inputs = inputs
    return bridges


def _execute(
    program: Program, profile: Profile, request: RunRequest, options: RunOptions, name: str, put: Put | None
) -> Outcome:
    with ExitStack() as files, watched(options, request, put):
        request.tracer_for = _tracer(program, profile, request, options, name, files)
        started = time.perf_counter()
        result = run_program(program, profile, request)
        outcome = Outcome(name, program, request, result, time.perf_counter() - started)
    faults = result.device.faults if result.device is not None else None
    for fault in faults.idle() if faults is not None else ():
        warn(f"--inject {fault} never struck")
    return outcome


def _tracer(
    program: Program, profile: Profile, request: RunRequest, options: RunOptions, name: str, files: ExitStack
) -> Callable[[Callable[[], int]], Tracer] | None:
    if options.trace is None:
        return None
    header = Header(
        name,
        program.runtime,
        program.device,
        program.batch,
        request.frames,
        request.seed,
        profile.timestamp_hz / 1e6,
    )
    sinks = trace_sinks(options, header, files)
    return (lambda clock: Tracer(sinks, clock)) if sinks else None


def _keep(outcome: Outcome, bridges: list[FrameBridge], options: RunOptions) -> list[str]:
    """Write `--output-dir` and `--outputs`; returns a line about what was kept, for each output."""
    if not (options.output_dir or options.outputs):
        return []
    import numpy as np

    from emu.arrays import save_to_archive, save_to_directory

    arrays: dict[str, Any] = {}
    made_up = {
        vstream.name
        for bridge in bridges
        for vstream in bridge.group.output_vstreams
        if bridge.is_synthetic(vstream.name)
    }
    for bridge, group in zip(bridges, outcome.result.groups, strict=True):
        outputs = [stream for stream in group.streams if stream.direction is Direction.D2H]
        frames = min((len(stream.contents) for stream in outputs), default=0)
        per_name: dict[str, list[Any]] = {}
        for frame in range(frames):
            wire = {stream.name: stream.contents[frame] for stream in outputs}
            for name, array in bridge.outputs(wire, frame).items():
                per_name.setdefault(name, []).append(array)
        arrays.update({name: np.stack(list_of) for name, list_of in per_name.items()})
        for note in bridge.notes:
            warn(note)
    if options.output_dir:
        save_to_directory(output_directory(options.output_dir, arrays), arrays)
    if options.outputs:
        save_to_archive(output_path(options.outputs), arrays)
    return [
        f"kept {name}: {array.dtype} {array.shape}" + (f", {SYNTHETIC}" if name in made_up else "")
        for name, array in arrays.items()
    ]
