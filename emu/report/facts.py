"""Everything that the page says of one model, gathered before anything of it is drawn.

The documents are those of the commands (`inspect --json`, `inspect --chip --json`, `estimate --json`): the page and the
commands cannot say different things.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from emu.chips.runtimes import device_names, runtime_names
from emu.errors import EmuError, UsageError
from emu.files import shown
from emu.graph.load import map_file, read_graph
from emu.graph.plan import Plan
from emu.graph.summary import summary
from emu.hef import Hef
from emu.hef.report import hef_report
from emu.hef.runtime import spans
from emu.host.estimate import compile_batch
from emu.host.prepare import prepare
from emu.host.session import GroupResult, RunResult, run_program
from emu.host.spec import HefSettings, RunSpec
from emu.hw.config.agreement import hazards_of
from emu.hw.config.report import chip_report, units_of, well_formed
from emu.recognise import Kind, read_head, recognise
from emu.report.lanes import Lane, LaneSink
from emu.report.operators import OperatorCost, operator_costs
from emu.report.traces import TraceFacts, profile_facts, trace_facts
from emu.sequencer.acceptance import acceptances
from emu.sequencer.configuration import read_configuration
from emu.sequencer.options import CompileOptions
from emu.timing.estimate import Compiled, Conditions, Estimate, estimate_compiled
from emu.trace.fw_actions import is_fw_actions
from emu.trace.reader import is_trace
from emu.trace.tracer import Tracer

Document = dict[str, Any]

BATCHES = (1, 2, 4, 8, 16, 32, 63)  # up to the most that the runtime takes
LINK_BATCHES = (1, 8)
LINKS = ("gen1x1", "gen2x1", "gen3x1", "gen3x2", "gen3x4")  # that slots of hosts have
LANE_FRAMES = 2  # at least, of a run whose lanes are drawn: from the second on they look the same


class Group(Struct):
    """A network group: its estimates by batch, and by link (`by_link`: {link: estimate}) where the device has one."""

    name: str
    curve: Estimate | None = None
    by_link: dict[str, Estimate] = field(default_factory=dict)
    refused: str = ""


class ChipUse(Struct):
    """What one core-op's configuration makes of the chip (`emu inspect --chip`), its hazards as lines of text.

    `units`: how many of each kind a cluster has.
    """

    place: str
    entries: list[Document]
    hazards: list[str]
    units: dict[str, int]


class RunFacts(Struct):
    """A short run: its figures as the command's, the lanes of its trace, its hazards or why it ended."""

    frames: int
    groups: list[GroupResult] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    start_ns: int = 0
    end_ns: int = 0
    dropped: int = 0
    refused: str = ""


class GraphFacts(Struct):
    """An OM or MS graph: its summary, and what each operator costs."""

    summary: Document
    plan: Plan | None = None
    operators: list[OperatorCost] = field(default_factory=list)
    timed: bool = False
    refused: str = ""


class ModelFacts(Struct):
    """One model. `refused` is the line of the error where the file cannot be read at all."""

    name: str
    kind: str
    refused: str = ""
    hef: Document | None = None
    accepted: list[str] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    chip: list[ChipUse] = field(default_factory=list)
    chip_known: bool = False
    run: RunFacts | None = None
    graph: GraphFacts | None = None
    trace: TraceFacts | None = None

    @property
    def first(self) -> Estimate | None:
        """The estimate that the page begins with: of the first group that has one."""
        return next((group.curve for group in self.groups if group.curve is not None), None)


def model_facts(path: Path, settings: HefSettings, run: bool = False) -> ModelFacts:
    """Gather what there is to say. Refuses no file that can be read: what it is refused for is part of what is said.

    `run`: also execute a HEF for its lanes and hazards, and a graph for the times of its operators.
    UsageError for settings that do not exist; raises as `read_head` where there is nothing to read.
    """
    name = shown(path)
    kind = ""
    head = read_head(path)
    try:
        if is_trace(head):
            return ModelFacts(name, "trace", trace=trace_facts(path))
        if is_fw_actions(head):
            return ModelFacts(name, "measured actions", trace=profile_facts(path, runtime_names()))
        found = recognise(head)
        kind = found.value
        if found is Kind.HEF:
            return _hef_facts(path, name, settings, run)
        return ModelFacts(name, kind, graph=_graph_facts(path, run))
    except UsageError:
        raise
    except EmuError as error:
        return ModelFacts(name, kind, refused=_line(error))


def _line(error: EmuError) -> str:
    return " ".join(error.line().split())


# -- HEF


def _hef_facts(path: Path, name: str, settings: HefSettings, run: bool) -> ModelFacts:
    hef = settings.open(path)
    facts = ModelFacts(name, Kind.HEF.value, hef=hef_report(hef))
    answers = list(acceptances(hef, device_names() if settings.device is None else (settings.device,)))
    by_device: dict[str, list[str]] = {}
    for answer in answers:
        if answer.error is None and answer.device is not None:
            by_device.setdefault(answer.device, []).append(answer.runtime)
    facts.accepted = [f"HailoRT {spans(runtimes)} on {device}" for device, runtimes in by_device.items()]
    first = next((answer for answer in answers if answer.error is None), None)
    if first is None:
        refusal = next((answer.error for answer in answers if answer.error is not None), None)
        facts.refused = "" if refusal is None else _line(refusal)
        return facts
    chosen = _chosen(settings, first.device, first.cluster_layouts)
    opened = hef if settings.runtime is not None else hef.reopen(first.runtime)
    names = [group.network_group_name for group in opened.ordered_network_groups]
    wanted = [one for one in names if settings.network_group in (None, one)]
    facts.groups = [_group(opened, one, chosen, settings) for one in wanted]
    facts.chip, facts.chip_known = _chip(opened)
    if run:
        facts.run = _run(path, settings)
    return facts


def _chosen(settings: HefSettings, device: str | None, layouts: tuple[int, ...]) -> CompileOptions:
    """The options of the estimates: as they were given, else for the first device that accepts the file."""
    options = settings.compile_options()
    layout = options.cluster_layout if options.cluster_layout is not None or not layouts else layouts[0]
    return CompileOptions(
        device=options.device or device, cluster_layout=layout, host=options.host, kv_cache=options.kv_cache
    )


def _group(hef: Hef, name: str, options: CompileOptions, settings: HefSettings) -> Group:
    group = Group(name)
    of_group = replace(options, network_group=name)

    try:
        compiled = _compiled(hef, of_group)
        group.curve = estimate_compiled(hef, compiled, _conditions(settings, settings.link))
        shown_by_link = [one for one in compiled if one.batch in LINK_BATCHES]
        for link in _links(group.curve):
            group.by_link[link] = estimate_compiled(hef, shown_by_link, _conditions(settings, link))
    except EmuError as error:
        group.refused = _line(error)
    return group


def _compiled(hef: Hef, options: CompileOptions) -> list[Compiled]:
    """The group at as many of the batches as the runtime takes for this file; raises what it says to the first."""
    compiled = [compile_batch(hef, options, BATCHES[0])]
    for batch in BATCHES[1:]:
        try:
            compiled.append(compile_batch(hef, options, batch))
        except EmuError:
            break
    return compiled


def _conditions(settings: HefSettings, link: str | None) -> Conditions:
    return Conditions(settings.clock_mhz, link, host=settings.host_profile, costs=settings.costs)


def _links(curve: Estimate) -> tuple[str, ...]:
    """The links to compare; a device inside a processor has the one."""
    return LINKS if curve.link != "integrated" else ()


def _chip(hef: Hef) -> tuple[list[ChipUse], bool]:
    uses, known = [], False
    for group in hef.network_groups:
        if group.core_op is None:
            continue
        partials = group.core_op.partial_core_ops
        ops = [(f", cluster layout {one.layout.partial_clusters_layout_bitmap}", one.core_op) for one in partials]
        for suffix, core_op in ops or [("", group.core_op)]:
            configuration = read_configuration(hef, core_op)
            if not well_formed(configuration):
                continue
            known = True
            hazards = [f"{one.rule}: {one.where}: {one.what}" for one in hazards_of(configuration)]
            uses.append(
                ChipUse(
                    group.network_group_name + suffix,
                    chip_report(configuration),
                    hazards,
                    units_of(configuration.family),
                )
            )
    return uses, known


def _run(path: Path, settings: HefSettings) -> RunFacts:
    prepared = prepare(RunSpec(models=(path,), settings=settings))
    sink = LaneSink()
    request = prepared.request
    if settings.frames is None:
        request.frames = max(LANE_FRAMES, request.frames)
    facts = RunFacts(request.frames)
    request.tracer_for = lambda clock: Tracer([sink], clock)
    try:
        result: RunResult = run_program(prepared.program, prepared.profile, request)
        facts.groups = result.groups
    except EmuError as error:
        facts.refused = _line(error)
    facts.lanes, facts.dropped = sink.lanes(), sink.dropped
    facts.start_ns, facts.end_ns = sink.span()
    return facts


# -- OM and MS


def _graph_facts(path: Path, run: bool) -> GraphFacts:
    graph = read_graph(map_file(path))
    facts = GraphFacts(summary(graph), timed=run)
    try:
        facts.plan, facts.operators = operator_costs(graph, run)
    except EmuError as error:
        facts.refused = _line(error)
    return facts
