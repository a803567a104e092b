"""The frames of `emu run`: what becomes of them, and what is said of what went in (cli.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from emu.cli.log import note, warn
from emu.cli.results import Results, require_drawable
from emu.cli.run_options import RunOptions
from emu.cli.run_outputs import KeptOutputs
from emu.dataflow.frames import COMPUTED, DEVICE, SYNTHETIC, FrameBridge
from emu.dataflow.input_stats import BGR_LIKE, OK, InputStatistics
from emu.dataflow.quantize import dtype_of
from emu.dataflow.vstreams import array_shape
from emu.errors import CommandLineError
from emu.hef.infos import NetworkGroupInfo, VStreamInfo, hef_infos
from emu.hef.plausibility import implausible
from emu.host.computing import ComputedOutputs
from emu.host.prepare import REFERENCE, PreparedRun
from emu.output import make_folder
from emu.reference import SOURCE
from emu.sequencer.program import Direction

if TYPE_CHECKING:
    from emu.cli.run_report import Outcome


@dataclass(slots=True)
class RunFrames:
    """What is to be made of the frames of a run's network groups; `results` is empty where nothing is kept or shown.

    `kept`: where their outputs are written, `rows` the first frame of each that is.
    """

    run: PreparedRun
    results: list[Results] = field(default_factory=list)
    kept: KeptOutputs | None = None
    rows: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: PreparedRun, options: RunOptions) -> RunFrames:
        """UsageError, before anything runs, for an option that would have no effect."""
        for text in run.references.binding_notes if run.references is not None else ():
            note(text)
        found = cls(run)
        if run.spec.keep_outputs:
            found.results = _results(run, options)
            for hef in run.hefs:
                for text in implausible(hef):
                    warn(text)
        return found

    def take(self, group: int, frame: int, wire: Mapping[str, bytes], real: Collection[str]) -> None:
        """Convert, keep, read and draw what came out of a frame of a group."""
        results = self.results[group]
        arrays = self.run.bridges[group].outputs(wire, frame, real=real)
        results.add(frame, arrays)
        if self.kept is not None:
            row = {output.name: arrays[output.name] for output in results.outputs}
            self.kept.add(row)
            if frame == 0:
                self.rows |= row

    def collect(self, outcome: Outcome) -> None:
        """Say in the outcome what went in and came out."""
        run = self.run
        for bridge in run.bridges:
            outcome.stream_sources.update(bridge.stream_sources)
            outcome.inputs.extend(_input_documents(bridge))
        if not run.bridges:
            source = f"random (seed {run.request.seed})"
            vstreams = [vstream for info in _groups(run) for vstream in info.input_vstreams]
            outcome.inputs += [_input_document(vstream.name, source, None) for vstream in vstreams]
        if not self.results:
            computed = ComputedOutputs(outcome.computing).streams
            outcome.described = [
                one for info in _groups(run) for one in _output_documents(info, outcome.supplied, computed)
            ]
            return
        for index, (bridge, group, results) in enumerate(
            zip(run.bridges, outcome.result.groups, self.results, strict=True)
        ):
            outputs = {stream.name: stream for stream in group.streams if stream.direction is Direction.D2H}
            if run.references is not None and run.references.covers(index):
                outcome.referenced.update(outputs)
            for text in dict.fromkeys(bridge.notes):
                warn(text)
            outcome.outputs.extend(results.outputs)
        for text in run.references.notes() if run.references is not None else ():
            note(text)
        if self.kept is not None:
            self.kept.commit()
            outcome.kept = list(self._kept_lines())

    def _kept_lines(self) -> Iterator[str]:
        frames = self.run.request.frames
        for output in (output for results in self.results for output in results.outputs):
            row = self.rows[output.name]
            origin = output.bridge.origin_of(output.name)
            yield f"kept {output.name}: {row.dtype} {(frames, *row.shape)}{_said(origin)}"


def _said(origin: str) -> str:
    return {SYNTHETIC: f", {SYNTHETIC}", COMPUTED: f", {COMPUTED}", REFERENCE: f", {SOURCE}"}.get(origin, "")


def _input_document(name: str, source: str, statistics: InputStatistics | None) -> dict[str, Any]:
    """The JSON of an input; random numbers have no statistics worth a look."""
    figures = ("min", "max", "mean", "codes_used", "clipped", "verdict")
    document: dict[str, Any] = {"name": name, "source": source}
    if statistics is None:
        return document | dict.fromkeys(figures)
    values = (statistics.minimum, statistics.maximum, statistics.mean, statistics.codes_used, statistics.clipped)
    return document | dict(zip(figures, (*values, statistics.verdict), strict=True))


def _input_documents(bridge: FrameBridge) -> list[dict[str, Any]]:
    """The JSON of a group's inputs; what is suspicious is said on stderr too."""
    found = []
    sources = bridge.input_sources
    for name, statistics in bridge.statistics().items():
        if statistics is not None and statistics.verdict != OK:
            say = note if statistics.verdict == BGR_LIKE else warn
            say(f"input {name}: {statistics.advice}")
        found.append(_input_document(name, sources[name], statistics))
    return found


def _output_documents(
    group: NetworkGroupInfo, supplied: Collection[str], computed: Collection[str]
) -> list[dict[str, Any]]:
    """The JSON of a group's outputs of which nothing is to be seen; `supplied` and `computed` are device streams."""

    def source(vstream: VStreamInfo) -> str:
        if all(stream in supplied for stream in vstream.streams):
            return DEVICE
        real = all(stream in supplied or stream in computed for stream in vstream.streams)
        return COMPUTED if real else SYNTHETIC

    return [
        {
            "name": vstream.name,
            "shape": [vstream.frame_size] if vstream.shape is None else list(_shape_of(vstream)),
            "dtype": "uint8" if vstream.shape is None else str(dtype_of(vstream.format.type)),
            "order": vstream.format.order.name,
            "source": source(vstream),
            "detections": None,
        }
        for vstream in group.output_vstreams
    ]


def _shape_of(vstream: VStreamInfo) -> tuple[int, ...]:
    """Shape of a frame of a vstream that is no NMS result."""
    assert vstream.shape is not None
    return array_shape(vstream.shape, vstream.format.order)


def _groups(run: PreparedRun) -> list[NetworkGroupInfo]:
    """The infos of the groups that run, in the program's order."""
    if run.bridges:
        return [bridge.group for bridge in run.bridges]
    found, names = [], iter(run.program.network_groups)
    for hef, count in zip(run.hefs, run.group_of_model, strict=True):
        by_name = {group.name: group for group in hef_infos(hef).network_groups}
        found += [by_name[next(names).name] for _ in range(count)]
    return found


def _results(run: PreparedRun, options: RunOptions) -> list[Results]:
    """The outputs' side of every group."""
    thresholds = options.thresholds()
    changed = [bridge.configure(**thresholds) for bridge in run.bridges] if thresholds else []
    if changed and not any(changed):
        given = ", ".join(options.threshold_options())
        raise CommandLineError(f"{given}: no output comes from a detection op on the host")
    labels: tuple[str, ...] = ()
    if options.labels or options.draw:
        from emu.images.draw import read_labels
        from emu.images.read import pillow

        labels = read_labels(Path(options.labels)) if options.labels else ()
        if options.draw:
            pillow("--draw")
    folder = None if options.draw is None else Path(options.draw)
    results = []
    for bridge in run.bridges:
        own = [run.pictures[info.name] for info in bridge.group.input_vstreams if info.name in run.pictures]
        results.append(Results(bridge, labels, folder, own[0] if own else None))
    require_drawable(results, bool(options.labels), bool(options.draw))
    if folder is not None:
        make_folder(folder)
    return results
