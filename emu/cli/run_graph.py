"""`emu run` of an OM or MS graph: execute it in numpy, print or keep its outputs (cli.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click

from emu.arrays import save_to_archive, save_to_directory
from emu.cli.document import print_document
from emu.cli.log import note
from emu.cli.options import Model, located, output_directory, output_path
from emu.cli.progress import progress
from emu.cli.run import RunOptions
from emu.graph.executor import run_plan
from emu.graph.feed import made_up, read_arguments
from emu.graph.ir import Array
from emu.graph.load import map_file, read_graph
from emu.graph.plan import Plan, make_plan


def run(options: RunOptions) -> None:
    """Execute the one model; GraphError for a refused model or input, UsageError for an output that is a model."""
    model = options.models[0]
    archive = None if options.outputs is None else output_path(options.outputs)
    with located(model.name):
        graph = read_graph(map_file(model.source))
        given = read_arguments(graph, options.input, options.inputs)
        plan = make_plan(graph, options.until)
    directory = None
    if options.output_dir is not None:
        directory = output_directory(options.output_dir, [port.name for port in plan.results])
    seed = options.common.seed
    ports = [port for port in graph.inputs if port.name not in given and port.tensor in _needed(plan)]
    inputs = {**given, **made_up(graph, ports, seed)}
    started = time.perf_counter()
    with located(model.name), progress("executing", len(plan.order)) as advance:
        outputs = run_plan(plan, inputs, progress=advance)
    wall = time.perf_counter() - started
    if directory is not None:
        save_to_directory(directory, outputs)
    if archive is not None:
        save_to_archive(archive, outputs)
    document = _document(model, plan, seed, given, outputs)
    if options.timing:
        document["wall_s"] = wall
    if options.as_json:
        print_document(document)
        return
    for text in graph.notes:
        note(text)
    for line in _text(document, options.until):
        click.echo(line)


def _needed(plan: Plan) -> set[int]:
    """Tensors that the plan reads or returns."""
    graph = plan.graph
    read = {at for place in plan.order for at in graph.nodes[place].inputs if at is not None}
    return read | {port.tensor for port in plan.results}


def _document(
    model: Model, plan: Plan, seed: int, given: dict[str, Array], outputs: dict[str, Array]
) -> dict[str, Any]:
    graph = plan.graph
    needed = _needed(plan)
    return {
        "model": {"file": model.name, "format": graph.format, "kind": graph.kind, "name": graph.name},
        "seed": seed,
        "inputs": [
            {
                "name": port.name,
                "shape": list(graph.tensors[port.tensor].shape),
                "dtype": str(graph.tensors[port.tensor].dtype),
                "source": "file" if port.name in given else "random",
            }
            for port in graph.inputs
            if port.name in given or port.tensor in needed
        ],
        "outputs": [
            {
                "name": name,
                "shape": list(array.shape),
                "dtype": str(array.dtype),
                "min": array.min().item() if array.size else None,
                "max": array.max().item() if array.size else None,
            }
            for name, array in outputs.items()
        ],
        "nodes": len(graph.nodes),
    }


def _text(document: dict[str, Any], until: str | None) -> Iterator[str]:
    model = document["model"]
    kind = f"{model['format'].upper()} graph {model['name']!r} ({model['kind']})"
    yield f"{model['file']}: {kind}, {document['nodes']} nodes"
    for port in document["inputs"]:
        made = "from file" if port["source"] == "file" else f"random (seed {document['seed']})"
        yield f"  input   {port['name']}  {port['dtype']}{port['shape']}  {made}"
    what = "output" if until is None else f"operand of {until}:"
    for port in document["outputs"]:
        yield f"  {what}  {port['name']}  {port['dtype']}{port['shape']}  min {port['min']}  max {port['max']}"
    if "wall_s" in document:
        yield f"  executed in {document['wall_s']:.3f} s"
