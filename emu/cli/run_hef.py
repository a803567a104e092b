"""`emu run` for HEFs and captures: compile, execute on the simulated device, report (cli.md)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from emu.cli.colour import Tone, marked
from emu.cli.compiling import warn_of_clock
from emu.cli.document import print_document
from emu.cli.log import detail, warn
from emu.cli.progress import watching
from emu.cli.run_options import RunOptions
from emu.cli.run_outputs import KeptOutputs, RunOutputs
from emu.cli.run_report import Outcome, document, text, write_dump
from emu.cli.screen import say
from emu.cli.tracing import (
    check_registers,
    check_trace,
    profile_of,
    trace_sinks,
    wants_action_lists,
    warn_of_size,
    write_action_lists,
)
from emu.errors import CommandLineError, FirmwareError
from emu.host.prepare import PreparedRun, prepare, refuse_endless
from emu.host.session import Session, run_program
from emu.output import bytes_so_far
from emu.timing.workload import assumed_clock_hz, lacks_figures
from emu.trace.tracer import Tracer

if TYPE_CHECKING:
    from emu.cli.checkpoints import Checkpoints
    from emu.cli.run_frames import RunFrames
    from emu.host.recording import Put


def run(options: RunOptions, put: Put | None = None) -> None:
    """Run HEFs or a capture on one device; FirmwareError where it stops or stalls. `put`: as in `watched`."""
    check_trace(options)
    if options.spec.actions is not None and (options.shown_options() or options.output_dir or options.outputs):
        shown = [
            *options.shown_options(),
            *["--output-dir"] * bool(options.output_dir),
            *["--outputs"] * bool(options.outputs),
        ]
        raise CommandLineError(f"{', '.join(shown)}: a capture has no vstreams, only HEFs do")
    spec = options.spec
    run = prepare(spec, [model.name for model in options.models])
    if options.device_ids:
        from emu.hailo_platform.environment import require_there

        require_there(options.device_ids, run.program.device)
    if options.trace is not None or options.record is not None:
        refuse_endless(run.request.frames, "--trace" if options.trace is not None else "--record")
    for asked, option in ((options.registers, "--trace=registers"), (options.record_registers, "--record-registers")):
        if asked:
            check_registers(run.profile, option)
    frames = _frames(run, options)
    run.request.measure_actions = wants_action_lists(options)
    checkpoints = None
    if options.checkpoint is not None or options.resume is not None:
        from emu.cli.checkpoints import Checkpoints

        checkpoints = Checkpoints.of(run, options)
    for assumed_hz in sorted({assumed_clock_hz(hef, run.profile) for hef in run.hefs}):
        warn_of_clock(assumed_hz, run.profile.nn_hz)
    _warn_of_clusters(run)
    for group in run.computing:
        if group.note:
            warn(group.note)
    name = run.name or ", ".join(model.name for model in options.models)
    warn_of_size(run, options, name)
    clock = f"{run.profile.nn_hz / 1e6:g} MHz"
    detail(f"{run.program.device}, HailoRT {run.program.runtime}, link {run.profile.link.name}, {clock}")
    with ExitStack() as files:
        outputs = RunOutputs.opened(options, profile_of(options), files)
        if frames is not None and frames.results:
            frames.kept = KeptOutputs.opened(options, run.output_names, run.request.frames, files)
            run.request.take = frames.take
        if checkpoints is not None:
            checkpoints.open(files)
        outcome = _execute(run, options, name, put, checkpoints)
        _finish(run, options, outcome, outputs, frames)


def _finish(
    run: PreparedRun, options: RunOptions, outcome: Outcome, outputs: RunOutputs, frames: RunFrames | None
) -> None:
    """Write, keep and say what came out of a run."""
    spec = options.spec
    if spec.compute_time is None and lacks_figures(run.program):
        warn("action lists say nothing about computing: the core counts as infinitely fast (--compute-time says more)")
    if spec.actions is not None:
        outcome.models = [{"file": spec.actions, "format": "capture"}]
    else:
        outcome.models = [
            {"file": model.name, "format": "hef", "hw_arch": int(hef.header.hw_arch)}
            for model, hef in zip(options.models, run.hefs, strict=True)
        ]
    outcome.model_of_group = [at for at, count in enumerate(run.group_of_model) for _ in range(count)]
    outcome.computing = run.computing
    for group in run.computing:
        for stream, why in group.lost.items():
            warn(f"{stream}: synthetic, the chip holds something else than the file says: {why}")
    asked = run.computing or spec.compute is not None or run.references is not None
    outcome.could_compute = not asked and run.profile.config_style == "descriptors"
    outcome.supplied = {name for bridge in run.bridges for name in bridge.supplied}
    write_action_lists(outcome, options, outputs, run.profile, run.hefs[0].header.timestamp // 1000 if run.hefs else 0)
    if frames is not None:
        frames.collect(outcome)
    _report(outcome, options, outputs)


def _frames(run: PreparedRun, options: RunOptions) -> RunFrames | None:
    """What is to be said of frames; a run of which nobody asks for any needs none of it."""
    if not run.hefs or not (run.bridges or options.as_json):
        return None
    from emu.cli.run_frames import RunFrames

    return RunFrames.of(run, options)


def _report(outcome: Outcome, options: RunOptions, outputs: RunOutputs) -> None:
    if outputs.memory is not None:
        assert outcome.result.device is not None
        write_dump(outcome.result.device, outputs.memory)
    if options.as_json:
        print_document(document(outcome, options.timing, options.coverage))
    else:
        say(marked(text(outcome, options.timing, options.coverage, options.rules), {"hazard:": Tone.BAD}))


def _warn_of_clusters(run: PreparedRun) -> None:
    if run.unknown_clusters:
        names = ", ".join(map(str, run.unknown_clusters))
        warn(
            f"the lists name clusters {names}, {run.program.device} is taken to have {run.profile.clusters}: "
            "run with them"
        )


def _execute(
    run: PreparedRun, options: RunOptions, name: str, put: Put | None, checkpoints: Checkpoints | None
) -> Outcome:
    request = run.request
    with ExitStack() as files:
        if options.is_watched or put is not None:
            from emu.cli.watching import watched

            files.enter_context(watched(options, request, put))
        request.tracer_for = _tracer(run, options, name, files)
        sessions: list[Session] = []
        request.on_session = sessions.append
        frames = request.frames * len(run.program.network_groups)
        started = time.perf_counter()
        try:
            with watching("running", frames, lambda: sum(one.delivered for one in sessions), bytes_so_far):
                if checkpoints is None:
                    result = run_program(run.program, run.profile, request)
                else:
                    result = checkpoints.run(run.program, run.profile, request)
        except FirmwareError as error:
            for hazard in error.hazards if not options.as_json else ():
                place = ", ".join(str(hazard[key]) for key in ("context", "unit") if hazard[key])
                warn(f"hazard: {hazard['rule']}: {place}: {hazard['message']}")
            raise
        outcome = Outcome(name, run.program, request, result, time.perf_counter() - started)
    faults = result.device.faults if result.device is not None else None
    for fault in faults.idle() if faults is not None else ():
        warn(f"--inject {fault} never struck")
    return outcome


def _tracer(
    run: PreparedRun, options: RunOptions, name: str, files: ExitStack
) -> Callable[[Callable[[], int]], Tracer] | None:
    if options.trace is None:
        return None
    sinks = trace_sinks(options, run.header(name), files)
    return (lambda clock: Tracer(sinks, clock, options.registers)) if sinks else None
