"""`emu run` for HEFs and captures: compile, execute on the simulated device, report (cli.md)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu.cli.compiling import compile_model, compile_options
from emu.cli.options import HefOptions, output_path
from emu.cli.run import TRACE_TO_STDOUT, RunOptions
from emu.errors import UsageError
from emu.hw.application import clusters_named
from emu.hw.capture import load_capture
from emu.hw.memory import MAX_CLUSTERS
from emu.hw.profiles import Profile, load
from emu.hw.session import GroupResult, RunRequest, RunResult, run_program
from emu.hw.workload import given_timings, group_timings
from emu.sequencer.profiles import device_profile
from emu.sequencer.program import Direction, Program
from emu.trace.events import Header, Sink, Tracer
from emu.trace.sinks.jsonl import JsonlSink
from emu.trace.sinks.text import TextSink

if TYPE_CHECKING:
    from emu.dataflow.frames import FrameBridge
    from emu.hef import Hef

SYNTHETIC = "synthetic"


def run(options: RunOptions) -> None:
    """Run one HEF; FirmwareError where the device stops or stalls."""
    if len(options.models) > 1:
        raise UsageError("several HEFs at once: not built yet, run them one by one")
    model = options.models[0]
    hef, program = compile_model(model, options.common)
    profile = load(program.device, options.common.clock_mhz, options.common.link)
    request = _request(program, options.common)
    request.timings = group_timings(hef, program, compile_options(options.common), profile, options.compute_time)
    request.layout = _layout(program, profile, options.common.cluster_layout)
    bridges = _bridges(hef, program, options, request)
    result, wall = _execute(program, profile, request, options, model.name)
    sources = {name: source for bridge in bridges for name, source in bridge.input_sources.items()}
    supplied = {argument.partition("=")[0] for argument in options.device_output}
    kept = _keep(program, result, bridges, options)
    if options.as_json:
        _print_json(
            _document(_model_facts(hef, model.name), program, request, result, wall, options, sources, supplied)
        )
    else:
        sys.stdout.write("".join(_text(model.name, program, request, result, wall, sources, supplied, kept)))


def run_capture(options: RunOptions) -> None:
    """Run the action lists of a capture from their bytes alone."""
    refused = ["--input"] * bool(options.input) + ["--inputs"] * bool(options.inputs)
    refused += ["--device-output"] * bool(options.device_output) + ["--output-dir"] * bool(options.output_dir)
    refused += ["--outputs"] * bool(options.outputs)
    if refused:
        raise UsageError(f"{', '.join(refused)}: a capture has no vstreams, only HEFs do")
    assert options.actions is not None
    capture = load_capture(Path(options.actions))
    program = capture.program
    profile = load(options.common.device or program.device, options.common.clock_mhz, options.common.link)
    request = _request(program, options.common)
    layout = options.common.cluster_layout if options.common.cluster_layout is not None else capture.layout
    request.layout = _layout(program, profile, layout)
    if options.compute_time is not None:
        request.timings = given_timings(program, profile, options.compute_time)
    result, wall = _execute(program, profile, request, options, capture.source)
    if options.as_json:
        facts = {"file": options.actions, "format": "capture"}
        _print_json(_document(facts, program, request, result, wall, options, {}, set()))
    else:
        sys.stdout.write("".join(_text(capture.source, program, request, result, wall, {}, set(), [])))


def _request(program: Program, common: HefOptions) -> RunRequest:
    frames = common.frames if common.frames is not None else program.batch
    return RunRequest(frames=frames, seed=common.seed)


def _layout(program: Program, profile: Profile, given: int | None) -> int:
    """The clusters of the device: the layout given, else its own.

    How many clusters a 10H/15H has is inferred (ccw.md), so lists that name more get them, with a warning.
    """
    if given is not None:
        return given
    default = device_profile(program.device).default_layout
    if default is not None:
        return default
    own = (1 << profile.clusters) - 1
    lists = [context.action_list for group in program.network_groups for context in group.contexts]
    lists += [record.context.action_list for group in program.network_groups for record in group.ddr_action_list]
    more = clusters_named(lists, program.runtime) & ((1 << MAX_CLUSTERS) - 1) & ~own
    if more:
        names = ", ".join(str(cluster) for cluster in range(MAX_CLUSTERS) if more >> cluster & 1)
        sys.stderr.write(
            f"emu: warning: the lists name clusters {names}, {program.device} is taken to have "
            f"{profile.clusters}: run with them\n"
        )
    return own | more


def _bridges(hef: Hef, program: Program, options: RunOptions, request: RunRequest) -> list[FrameBridge]:
    """Frame conversion per network group, where files are given or outputs are kept."""
    wanted = options.input or options.inputs or options.device_output or options.output_dir or options.outputs
    if not wanted:
        return []
    from emu.dataflow.frames import FrameBridge, frame_files
    from emu.hef.infos import hef_infos

    by_name = {group.name: group for group in hef_infos(hef).network_groups}
    groups = [by_name[group.name] for group in program.network_groups]
    files = frame_files(groups, options.input, options.inputs, options.device_output)
    switches = compile_options(options.common).host.switches
    bridges = [
        FrameBridge(
            group,
            runtime=program.runtime,
            files=files,
            frames=request.frames,
            seed=request.seed,
            environment=switches,
        )
        for group in groups
    ]
    request.keep_outputs = bool(options.output_dir or options.outputs)
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
    program: Program, profile: Profile, request: RunRequest, options: RunOptions, name: str
) -> tuple[RunResult, float]:
    with ExitStack() as files:
        request.tracer_for = _tracer(program, profile, request, options, name, files)
        started = time.perf_counter()
        result = run_program(program, profile, request)
        return result, time.perf_counter() - started


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
    sink: Sink
    if options.trace == TRACE_TO_STDOUT:
        if options.trace_format not in (None, "text"):
            raise UsageError(f"--trace-format {options.trace_format} needs --trace=FILE")
        sink = TextSink(sys.stdout, header)
    elif options.trace_format == "text":
        sink = TextSink(files.enter_context(_writable(options.trace).open("w", encoding="utf-8")), header)
    elif options.trace_format in (None, "jsonl"):
        sink = JsonlSink(files.enter_context(_writable(options.trace).open("wb")), header)
    else:
        raise UsageError(f"--trace-format {options.trace_format} is not built yet")
    return lambda clock: Tracer([sink], clock)


def _writable(argument: str) -> Path:
    path = output_path(argument)
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no directory", file=argument)
    return path


def _keep(program: Program, result: RunResult, bridges: list[FrameBridge], options: RunOptions) -> list[str]:
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
    for bridge, group in zip(bridges, result.groups, strict=True):
        outputs = [stream for stream in group.streams if stream.direction is Direction.D2H]
        frames = min((len(stream.contents) for stream in outputs), default=0)
        per_name: dict[str, list[Any]] = {}
        for frame in range(frames):
            wire = {stream.name: stream.contents[frame] for stream in outputs}
            for name, array in bridge.outputs(wire, frame).items():
                per_name.setdefault(name, []).append(array)
        arrays.update({name: np.stack(list_of) for name, list_of in per_name.items()})
        for note in bridge.notes:
            sys.stderr.write(f"emu: warning: {note}\n")
    if options.output_dir:
        save_to_directory(Path(options.output_dir), arrays)
    if options.outputs:
        save_to_archive(output_path(options.outputs), arrays)
    return [
        f"kept {name}: {array.dtype} {array.shape}" + (f", {SYNTHETIC}" if name in made_up else "")
        for name, array in arrays.items()
    ]


# --- reports ---------------------------------------------------------------------------------------------------------


def _model_facts(hef: Hef, name: str) -> dict[str, Any]:
    return {"file": name, "format": "hef", "hw_arch": int(hef.header.hw_arch)}


def _document(
    model: dict[str, Any],
    program: Program,
    request: RunRequest,
    result: RunResult,
    wall: float,
    options: RunOptions,
    sources: dict[str, str],
    supplied: set[str],
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "model": model,
        "runtime": program.runtime,
        "device": program.device,
        "batch": program.batch,
        "frames": request.frames,
        "seed": request.seed,
        "inputs": [{"name": name, "source": source} for name, source in sources.items()],
        "network_groups": [_group_document(group, request, sources, supplied) for group in result.groups],
        "events": result.events,
    }
    if options.timing:
        simulated = sum(group.simulated_ns for group in result.groups) / 1e9
        document["wall_s"] = wall
        document["real_time_factor"] = simulated / wall if wall else 0.0
    return document


def _group_document(
    group: GroupResult, request: RunRequest, sources: dict[str, str], supplied: set[str]
) -> dict[str, Any]:
    return {
        "name": group.name,
        "simulated_ns": group.simulated_ns,
        "activation_ns": group.activation_ns,
        "fps": group.fps,
        "latency_ns": group.latency_ns,
        "contexts": [
            {
                "context_type": context.context_type,
                "index": context.index,
                "runs": context.runs,
                "simulated_ns": context.simulated_ns,
                "actions": context.actions,
                "config_bytes": context.config_bytes,
                "data_bytes": context.data_bytes,
            }
            for context in group.contexts
        ],
        "streams": [
            {
                "name": stream.name,
                "direction": stream.direction.name.lower(),
                "frames": stream.frames,
                "bytes": stream.size,
                "data": _data(stream.name, stream.direction, request, sources, supplied),
            }
            for stream in group.streams
        ],
        "memory": {
            "register_writes": group.register_writes,
            "ccw_bytes": group.ccw_bytes,
            "opaque_bytes": group.opaque_bytes,
            "regions": [
                {"name": use.region.name, "base": use.region.base, "bytes_written": use.bytes_written}
                for use in group.regions
            ],
        },
    }


def _data(name: str, direction: Direction, request: RunRequest, sources: dict[str, str], supplied: set[str]) -> str:
    if direction is Direction.D2H:
        return "given with --device-output" if name in supplied else SYNTHETIC
    return sources.get(name, f"random (seed {request.seed})")


def _print_json(document: dict[str, Any]) -> None:
    import orjson

    sys.stdout.write(orjson.dumps(document).decode() + "\n")


def _text(
    name: str,
    program: Program,
    request: RunRequest,
    result: RunResult,
    wall: float,
    sources: dict[str, str],
    supplied: set[str],
    kept: list[str],
) -> Iterator[str]:
    yield (
        f"{name} on {program.device}, runtime {program.runtime}, batch {program.batch}, "
        f"{_count(request.frames, 'frame')}\n"
    )
    for group in result.groups:
        yield from _group_text(group, request, sources, supplied)
    yield from (f"{line}\n" for line in kept)
    yield f"{result.events:,} discrete events\n"


def _group_text(group: GroupResult, request: RunRequest, sources: dict[str, str], supplied: set[str]) -> Iterator[str]:
    yield f"\nnetwork group {group.name}\n"
    yield f"  {'context':<18}{'runs':>7}{'actions':>9}{'time ms':>13}{'config bytes':>15}{'data bytes':>15}\n"
    for context in group.contexts:
        label = context.context_type + (f" {context.index}" if context.context_type == "dynamic" else "")
        yield (
            f"  {label:<18}{context.runs:>7}{sum(context.actions.values()):>9}"
            f"{context.simulated_ns / 1e6:>13.3f}{context.config_bytes:>15,}{context.data_bytes:>15,}\n"
        )
    yield (
        f"  {group.fps:,.2f} FPS, latency {group.latency_ns / 1e6:.3f} ms, activated in "
        f"{group.activation_ns / 1e6:.3f} ms, {group.simulated_ns / 1e6:.3f} ms in all (simulated)\n"
    )
    for stream in group.streams:
        word = "input " if stream.direction is Direction.H2D else "output"
        data = _data(stream.name, stream.direction, request, sources, supplied)
        yield f"  {word} {stream.name}: {_count(stream.frames, 'frame')}, {stream.size:,} bytes, {data}\n"
    opaque = f", {group.opaque_bytes:,} of them opaque" if group.opaque_bytes else ""
    yield f"  memory: {group.register_writes:,} register writes, {group.ccw_bytes:,} bytes of CCW{opaque}\n"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
