"""The page: facts in, one self-contained HTML document out (jinja2, which escapes whatever a file says)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from emu import __version__
from emu.graph.plan import Plan
from emu.hef.words import architecture, dims, host_side, quantisation, wire_side
from emu.report.curves import Series, curves
from emu.report.facts import Group, ModelFacts
from emu.report.pictures import UNIT_NAMES, Node, floor_plan, layered
from emu.timing.estimate import BatchEstimate, ContextEstimate, Estimate
from emu.timing.model import Bound

Document = dict[str, Any]

MOST_BOXES = 150  # of a graph that is drawn operator by operator; larger ones by the first parts of their names
DRAWN_BATCHES = (1, 8)  # whose time is drawn context by context
# what to change where a model is bound by something (docs/timing.md)
ADVICE: Mapping[Bound, str] = {
    "compute": "the core is busy all the time: a smaller network, a higher clock or a larger device",
    "input dma": "the inputs take longest to arrive: smaller inputs, fewer bytes a value",
    "output dma": "the outputs take longest to leave: smaller outputs, results computed on the chip",
    "link": "the link is busy all the time: more lanes, a later generation, fewer bytes a frame",
    "host": "the host's own work a frame takes longest: a faster host, fewer and larger frames",
    "config reload": "loading the contexts takes longest: a larger batch shares each load among more frames",
    "pipeline fill": "each batch fills and empties the chip: a larger batch does so less often",
}
# no document may hold them, and names out of a file may
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_PARTS = ("config", "compute", "dma", "switch", "unexplained")


def page(models: Sequence[ModelFacts]) -> str:
    """The HTML of one model, or of several beside each other. The same facts give the same bytes."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("emu.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"host_side": host_side, "wire_side": wire_side, "quantisation": quantisation, "dims": dims}
    environment.globals |= {
        "advice": ADVICE,
        "architecture": architecture,
        "batch_curves": batch_curves,
        "drawn_batches": DRAWN_BATCHES,
        "context_edges": context_edges,
        "floor_plan": floor_plan,
        "graph_picture": graph_picture,
        "key_figures": key_figures,
        "link_curves": link_curves,
        "link_rate": link_rate,
        "over_links": over_links,
        "timeline": timeline,
        "unit_names": UNIT_NAMES,
    }
    folder = files("emu.report") / "page"
    html = environment.get_template("page.html").render(
        models=models,
        style=Markup((folder / "style.css").read_text("utf-8")),
        script=Markup((folder / "page.js").read_text("utf-8")),
        figures=Markup(_embedded(models)),
        version=__version__,
    )
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", html)


def _embedded(models: Sequence[ModelFacts]) -> str:
    """The documents behind the page for scripts, in a form that no text in them can leave the element.

    Contexts stand where they are drawn: of hundreds, those of every batch would be most of the page.
    """
    documents = []
    for model in models:
        curves_of = [(group, group.curve) for group in model.groups if group.curve is not None]
        documents.append(
            {
                "file": model.name,
                "refused": model.refused or None,
                "estimates": [curve.document() | {"batches": _batches(curve, DRAWN_BATCHES)} for _, curve in curves_of],
                "by_link": [
                    {link: _batches(estimate, ()) for link, estimate in group.by_link.items()} for group, _ in curves_of
                ],
            }
        )
    return json.dumps(documents, separators=(",", ":")).replace("<", "\\u003c")


def _batches(estimate: Estimate, with_contexts: Sequence[int]) -> list[Document]:
    return [
        {key: value for key, value in batch.items() if key != "contexts" or batch["batch"] in with_contexts}
        for batch in estimate.batch_documents()
    ]


def key_figures(model: ModelFacts) -> Iterator[tuple[str, str, str]]:
    """(what, figure, remark) of the first network group at batch 1, and at the largest batch where that matters."""
    estimate = model.first
    if estimate is None:
        return
    one, most = estimate.batches[0], estimate.batches[-1]
    low, high = estimate.intervals[0]
    between = f" between {low:,.2f} and {high:,.2f}" if low < high else ""
    yield "throughput", f"{one.fps:,.2f} FPS", f"pipelined, batch {one.batch}, estimated{between}"
    if not estimate.single_context and most.batch > one.batch:
        yield "with a large batch", f"{most.fps:,.2f} FPS", f"batch {most.batch}"
    yield "latency", f"{one.first_frame_latency_ms:,.3f} ms", "of the first frame"
    yield "bound by", one.bound_by, f"on {estimate.device}, link {estimate.link}, {estimate.clock_hz / 1e6:g} MHz"
    contexts = len(one.contexts)
    yield "contexts", str(contexts), "loaded once" if estimate.single_context else "switched for every batch"


# -- curves


def batch_curves(groups: Sequence[Group]) -> Markup:
    """Throughput over the batch, a line for each network group, with what the guesses make of it."""
    series = [
        Series(group.name, [(one.batch, one.fps) for one in group.curve.batches], group.curve.intervals)
        for group in groups
        if group.curve is not None and not group.curve.single_context
    ]
    return curves(series, "batch", "frames per second")


def link_curves(group: Group) -> Markup:
    """Throughput over what the link carries, a line for each batch that is shown, with what the guesses make of it."""
    points: dict[int, list[tuple[float, float]]] = {}
    intervals: dict[int, list[tuple[float, float]]] = {}
    for estimate in group.by_link.values():
        for figures, interval in over_links(estimate):
            points.setdefault(figures.batch, []).append((link_rate(estimate), figures.fps))
            intervals.setdefault(figures.batch, []).append(interval)
    series = [Series(f"batch {batch}", places, intervals[batch]) for batch, places in points.items()]
    return curves(series, "MB/s of payload that the link carries each way", "frames per second")


def over_links(estimate: Estimate) -> list[tuple[BatchEstimate, tuple[float, float]]]:
    """What is shown of one link's estimate: the figures at each batch with their interval, once if all are the same."""
    found = list(zip(estimate.batches, estimate.intervals, strict=True))
    return found[:1] if estimate.single_context else found


def link_rate(estimate: Estimate) -> float:
    """MB/s of payload that the link of an estimate carries each way."""
    return estimate.conditions.profile(estimate.device).link.bytes_per_second / 1e6


# -- time


def timeline(figures: BatchEstimate) -> list[Document]:
    """The parts of one batch's time in their order, each with its place and length in percent of the whole."""
    spans = [(context.index, part, _part(context, part)) for context in figures.contexts for part in _PARTS]
    whole = sum(length for _, _, length in spans if length > 0) or 1.0
    placed, at = [], 0.0
    for index, part, length in spans:
        if length <= 0:
            continue
        text = f"context {index}, {part}: {length:.3f} ms"
        placed.append({"part": part, "left": 100 * at / whole, "width": 100 * length / whole, "text": text})
        at += length
    return placed


def _part(context: ContextEstimate, part: str) -> float:
    value: float = getattr(context, f"{part}_ms")
    return value


# -- graphs


def context_edges(group: Document) -> Markup:
    """What contexts hand to each other, and what host and chip exchange, as a graph; none for a single context."""
    contexts = group.get("contexts", [])
    if len(contexts) < 2:
        return Markup("")
    nodes = {"in": Node("host: inputs", kind="host")}
    for context in contexts:
        index = context["context_index"]
        nodes[str(index)] = Node(f"context {index}", f"{context['config_bytes']:,} config bytes")
    nodes["out"] = Node("host: outputs", kind="host")
    edges = []
    for context in contexts:
        here = str(context["context_index"])
        for layer in context["edge_layers"]:
            text = f"{layer.get('name', '')} {dims(layer.get('shape', []))} {layer['edge_connection_type']}"
            into = layer["direction"] == "HOST_TO_DEVICE"
            if layer["edge_connection_type"] == "BOUNDARY":
                edges.append(("in", here, text) if into else (here, "out", text))
            elif not into:
                others = [str(one["index"]) for one in layer["connected_contexts"]]
                edges += [(here, other, text) for other in others if other in nodes and other != here]
    return layered(nodes, edges, "contexts and their edges")


def graph_picture(plan: Plan) -> Markup:
    """The operators of a graph and what they hand on; large graphs by the first parts of the operators' names."""
    graph = plan.graph
    keys = _boxes({place: graph.nodes[place].name for place in plan.order})
    if not keys:
        return Markup("")
    nodes: dict[str, Node] = {}
    for place in plan.order:
        node, key = graph.nodes[place], keys[place]
        known = nodes.get(key)
        nodes[key] = Node(key, node.type if known is None else f"{known.text}, {node.type}"[:400])
    made = {at: keys[place] for place in plan.order for at in graph.nodes[place].outputs}
    edges: dict[tuple[str, str], str] = {}
    for place in plan.order:
        for at in graph.nodes[place].inputs:
            if at is not None and at in made and made[at] != keys[place]:
                edges.setdefault((made[at], keys[place]), str(graph.tensors[at]))
    return layered(nodes, [(source, sink, text) for (source, sink), text in edges.items()], "operators")


def _boxes(names: dict[int, str]) -> dict[int, str]:
    """The box of each operator: its own, or the scope that it shares with others; empty where neither is few enough."""
    if len(names) <= MOST_BOXES:
        count = Counter(names.values())
        return {place: name if count[name] == 1 else f"{name} #{place}" for place, name in names.items()}
    for depth in (4, 3, 2, 1):
        scopes = {place: "/".join(name.split("/")[:depth]) for place, name in names.items()}
        if len(set(scopes.values())) <= MOST_BOXES:
            return scopes
    return {}
