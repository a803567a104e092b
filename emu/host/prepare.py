"""From the recipe of a run to what runs: open, compile, read the files, and tell what was asked for in vain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from emu.chips import chips
from emu.errors import EmuError, UsageError
from emu.hef import Hef
from emu.host.combine import combine
from emu.host.computing import MODES, ComputedOutputs, GroupComputing, agreements_of, compute_hef
from emu.host.layout import usable_clusters
from emu.host.modules import load_handlers
from emu.host.session import RunRequest
from emu.host.spec import REPORT, ROUND_ROBIN, STOP, RunSpec, option_name
from emu.sequencer.compile import compile_hef
from emu.sequencer.host import HostSettings
from emu.sequencer.program import Program
from emu.timing.workload import program_timings
from emu.trace.events import Header

if TYPE_CHECKING:
    from emu.dataflow.frames import FrameBridge
    from emu.hw.faults import Fault
    from emu.images.frames import PictureFrames
    from emu.reference.reference import References

REFERENCE = "reference"
"""The origin of outputs that a reference model computed (`FrameBridge.origin_of`)."""

# what a capture has of its own: it was compiled and sent long ago
OF_A_CAPTURE = ("runtime", "network_group", "batch", "net_batch", "host", "kv_cache", "from_memory")

MOST_FRAMES_ONE_BY_ONE = 10_000_000


class PreparedRun(Struct):
    """A run that only has to be started: `run_program(program, profile, request)`.

    `bridges` convert the frames of each group, `references` compute its outputs, `pictures` are the inputs given as
    such; `output_names` are those of all outputs in their order, where any are wanted; `group_of_model` counts the
    groups of each model; `unknown_clusters`: the lists name them, the device is not taken to have them.
    """

    spec: RunSpec
    program: Program
    profile: chips.Profile
    request: RunRequest
    hefs: list[Hef]
    name: str = ""
    bridges: list[FrameBridge] = field(default_factory=list)
    references: References | None = None
    pictures: dict[str, PictureFrames] = field(default_factory=dict)
    output_names: list[str] = field(default_factory=list)
    group_of_model: list[int] = field(default_factory=list)
    unknown_clusters: tuple[int, ...] = ()
    computing: list[GroupComputing] = field(default_factory=list)

    def compute(self) -> None:
        """Let the core compute outputs as the recipe says; files given for a stream go before.

        Raises as `compute_hef` does.
        """
        spec = self.spec
        if self.computing or not self.hefs or (spec.compute is None and self._all_given()):
            return
        options = spec.settings.compile_options()
        self.computing = [group for hef in self.hefs for group in compute_hef(hef, options, spec.compute, spec.assume)]
        if not any(group.streams for group in self.computing):
            return
        given = self.request.outputs
        assert not isinstance(given, ComputedOutputs)
        self.request.outputs = ComputedOutputs(self.computing, given)
        for bridge, group in zip(self.bridges, self.computing, strict=False):
            bridge.computed = group.streams

    def _all_given(self) -> bool:
        """Whether files hold every output stream."""
        return bool(self.bridges) and all(
            bridge.device_output(stream.name, 0) is not None
            for bridge in self.bridges
            for stream in bridge.group.output_streams
        )

    def header(self, name: str) -> Header:
        """The first record of a trace of this run; `name` is that of the model."""
        return Header(
            name,
            self.program.runtime,
            self.program.device,
            self.program.batch,
            self.request.frames,
            self.request.seed,
            self.profile.timestamp_hz / 1e6,
        )


def prepare(spec: RunSpec, names: Sequence[str] = ()) -> PreparedRun:
    """Open, compile and read what there is to read: everything but running.

    `names` stand for the models in errors. Raises what opening, compiling and reading raise; UsageError for an
    option that has no effect.
    """
    if spec.compute not in (None, *MODES):
        raise UsageError(f"compute is one of {', '.join(MODES)}, not {spec.compute!r}")
    if isinstance(spec.handlers, str):
        spec = replace(spec, handlers=load_handlers(spec.handlers))  # which may add actions that lists then have
    if spec.actions is not None:
        return _prepare_capture(spec)
    if spec.hef is not None:
        raise UsageError("--hef: for --actions, which takes the configuration bytes from it")
    compiled = []
    options = spec.settings.compile_options()
    for at, model in enumerate(spec.models):
        try:
            hef = model if isinstance(model, Hef) else spec.settings.open(model)
            compiled.append((hef, compile_hef(hef, options)))
        except EmuError as error:
            if at < len(names):
                error.where = {"file": names[at]} | error.where
            raise
    program = combine([program for _, program in compiled])
    run = _prepared(spec, program, [hef for hef, _ in compiled], spec.settings.cluster_layout)
    run.request.agreements = [judge for hef, _ in compiled for judge in agreements_of(hef, options)]
    run.group_of_model = [len(one.network_groups) for _, one in compiled]
    _bridge(spec, run, compiled, options.host)
    if spec.reference.reference and (spec.compute is not None or spec.assume):
        raise UsageError("--compute: outputs either come from a reference or are computed")
    if not spec.reference.reference and (spec.keep_outputs or spec.compute is not None):
        run.compute()
    elif spec.assume:
        raise UsageError("--assume: no effect without --compute or outputs that are kept")
    return run


def _prepare_capture(spec: RunSpec) -> PreparedRun:
    assert spec.actions is not None
    own = [name for name in OF_A_CAPTURE if name != "host" or spec.hef is None]
    given = [option_name(name) for name in own if option_name(name) in spec.settings.given()]
    if given:
        raise UsageError(f"{', '.join(given)}: a capture has its own", file=spec.actions)
    if spec.compute is not None or spec.assume:
        raise UsageError("--compute: a capture holds no network, only HEFs do", file=spec.actions)
    names = ("input", "inputs", "device_output", "fit", "colour")
    files = [option_name(name) for name in names if getattr(spec, name)]
    files += ["--reference"] * bool(spec.reference.reference) + spec.reference.given()
    if files:
        raise UsageError(f"{', '.join(files)}: a capture has no vstreams, only HEFs do", file=spec.actions)
    from emu.host.capture import load_capture

    capture = load_capture(spec.actions)
    program = capture.program
    if spec.hef is not None:
        from emu.hef import open_hef
        from emu.host.capture_hef import with_configuration

        host = HostSettings.parse(spec.settings.host)
        program = with_configuration(capture, open_hef(spec.hef, runtime=program.runtime), host)
    layout = spec.settings.cluster_layout
    run = _prepared(spec, program, [], capture.layout if layout is None else layout)
    run.name = capture.source
    return run


def _prepared(spec: RunSpec, program: Program, hefs: list[Hef], layout: int | None) -> PreparedRun:
    settings = spec.settings
    # the lists of a capture may be tried on another device than that which they were made for
    device = settings.device or program.device
    profile = chips.load(device, settings.clock_mhz, settings.link, settings.host_profile, settings.costs)
    clusters, unknown = usable_clusters(program, profile, layout)
    request = RunRequest(
        frames=settings.frames if settings.frames is not None else program.batch,
        seed=settings.seed,
        round_robin=spec.schedule == ROUND_ROBIN,
        faults=_faults(spec, program),
        timings=program_timings(program, profile, spec.compute_time),
        layout=clusters,
        keep_outputs=spec.keep_outputs,
        stop_at_hazard=_stops(spec),
        handlers=None if isinstance(spec.handlers, str) else spec.handlers,
    )
    if request.round_robin or request.keep_outputs:
        refuse_endless(request.frames, "--schedule round-robin" if request.round_robin else "kept outputs")
    return PreparedRun(spec, program, profile, request, hefs, unknown_clusters=unknown)


def refuse_endless(frames: int, why: str) -> None:
    """UsageError for more frames than anybody waits for, where each has to be run: only steady ones are skipped."""
    if frames > MOST_FRAMES_ONE_BY_ONE:
        raise UsageError(f"--frames {frames}: {why} runs each of them, at most {MOST_FRAMES_ONE_BY_ONE}")


def _faults(spec: RunSpec, program: Program) -> tuple[Fault, ...]:
    """The faults of a recipe, where channels may go by their streams' names."""
    if not spec.inject:
        return ()
    from emu.hw.faults import Fault

    streams = [stream.name for group in program.network_groups for stream in group.streams]
    return tuple(Fault.parse(text, streams) for text in spec.inject)


def _stops(spec: RunSpec) -> bool:
    if spec.hazards not in (REPORT, STOP):
        raise UsageError(f"hazards are {REPORT} or {STOP}, not {spec.hazards!r:.40}")
    return spec.hazards == STOP


def _bridge(spec: RunSpec, run: PreparedRun, compiled: Sequence[tuple[Hef, Program]], host: HostSettings) -> None:
    """Frame conversion per network group, where files or models are given or outputs are kept."""
    said = spec.reference
    if said.given() and not said.reference:
        raise UsageError(f"{', '.join(said.given())}: for a reference model, which --reference names")
    pictured = spec.fit is not None or spec.colour is not None
    if not (spec.input or spec.inputs or spec.device_output or spec.keep_outputs or said.reference or pictured):
        return
    from emu.dataflow.frames import SYNTHETIC, FrameBridge, build_outputs
    from emu.hef.infos import hef_infos
    from emu.images.given import input_files

    groups = []
    for hef, program in compiled:
        by_name = {group.name: group for group in hef_infos(hef).network_groups}
        groups += [by_name[group.name] for group in program.network_groups]
    files, run.pictures = input_files(groups, spec.input, spec.inputs, spec.fit, spec.colour, spec.device_output)
    if said.reference:
        from emu.reference.choose import choose_references, hef_names
        from emu.reference.options import bind_options, files_by_group

        by_group = files_by_group(said.reference, [group.name for group in groups])
        run.references = choose_references(groups, by_group, bind_options(said, hef_names(groups)))
    run.bridges = [
        FrameBridge(
            group,
            runtime=run.program.runtime,
            files=files,
            frames=run.request.frames,
            seed=run.request.seed,
            environment=host.switches,
            origin=REFERENCE if run.references is not None and run.references.covers(index) else SYNTHETIC,
        )
        for index, group in enumerate(groups)
    ]
    if spec.keep_outputs:
        # what the runtime refuses to build is refused before anything runs
        run.output_names = build_outputs(run.bridges)
    run.request.inputs = _inputs_of(run.bridges)
    if run.references is not None or (files.device_outputs and spec.keep_outputs):
        run.request.outputs = _outputs_of(run.bridges, run.references)


def _inputs_of(bridges: Sequence[FrameBridge]) -> Callable[[int, str, int], bytes]:
    cache: dict[tuple[int, int], dict[str, bytes]] = {}

    def inputs(group: int, stream: str, frame: int) -> bytes:
        key = (group, frame)
        if key not in cache:
            cache.clear()  # frames are asked for in order, stream by stream
            cache[key] = bridges[group].inputs_for(frame)
        return cache[key][stream]

    return inputs


def _outputs_of(
    bridges: Sequence[FrameBridge], references: References | None
) -> Callable[[int, int, Mapping[str, bytes]], Mapping[str, bytes]]:
    """What a reference computes, and `--device-output`: what the files hold, for the streams that they name."""

    def outputs(group: int, frame: int, inputs: Mapping[str, bytes]) -> Mapping[str, bytes]:
        computed = {} if references is None else references(group, frame, inputs)
        streams = (stream.name for stream in bridges[group].group.output_streams)
        given = {stream: bridges[group].device_output(stream, frame) for stream in streams}
        return computed | {stream: data for stream, data in given.items() if data is not None}

    return outputs
