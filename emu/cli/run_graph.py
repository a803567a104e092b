"""`emu run` of an OM or MS graph: execute it in numpy, print or keep its outputs (cli.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from emu.arrays import save_to_archive, save_to_directory
from emu.cli.document import print_document
from emu.cli.log import note
from emu.cli.options import Model, located, open_output, output_directory
from emu.cli.progress import progress
from emu.cli.run_graph_watching import Instruments
from emu.cli.run_options import RunOptions
from emu.cli.screen import say
from emu.errors import CommandLineError, ExitCode
from emu.graph.dynamic import specialise
from emu.graph.executor import run_plan
from emu.graph.feed import made_up, read_arguments
from emu.graph.ir import Array, Graph, Layout, Tensor
from emu.graph.load import map_file, read_graph
from emu.graph.ops.aipp import Aipp, Preceded
from emu.graph.plan import Plan, make_plan
from emu.hef.formats import FormatOrder
from emu.images.fit import LETTERBOX
from emu.images.frames import PictureOptions
from emu.images.read import pictures, stands_for_pictures
from emu.images.tensors import TensorOptions, picture_tensor
from emu.numerals import whole_number
from emu.output import Output
from emu.reference.options import numbers


def parse_gear(text: str) -> tuple[int, ...]:
    """The sizes of a gear, as `emu inspect` lists them; UsageError for anything else."""
    return tuple(whole_number(size, "--gear (sizes like 4 or 224,224)", 1) for size in text.split(","))


def run(options: RunOptions) -> int:
    """Execute the one model and return the exit code, 6 where it differs from what it is compared with.

    GraphError for a refused model or input, UsageError for an output that is a model.
    """
    model = options.models[0]
    gear = None if options.gear is None else parse_gear(options.gear)
    with located(model.name):
        graph = read_graph(map_file(model.source), gear)
        shown, plain = _pictures(graph, options)
        given = {**read_arguments(graph, plain, options.spec.inputs), **shown}
        graph = specialise(graph, {name: array.shape for name, array in given.items()})
        plan = make_plan(graph, options.until, limit=options.memory_limit)
    with ExitStack() as files:
        archive = open_output(options.outputs, files)
        instruments = Instruments(options, plan, gear, open_output(options.profile or None, files))
        return _execute(options, graph, plan, given, instruments, archive)


def _execute(
    options: RunOptions,
    graph: Graph,
    plan: Plan,
    given: dict[str, Array],
    instruments: Instruments,
    archive: Output | None,
) -> int:
    """Run the plan, keep and say what came out."""
    model = options.models[0]
    given = instruments.feeds(given)
    directory = None
    if options.output_dir is not None:
        directory = output_directory(options.output_dir, [port.name for port in plan.results])
    seed = options.spec.settings.seed
    ports = [port for port in graph.inputs if port.name not in given and port.tensor in _needed(plan)]
    inputs = {**given, **made_up(graph, ports, seed)}
    watch = instruments.prepared(inputs)
    started = time.perf_counter()
    with located(model.name), progress("executing", len(plan.order)) as advance:
        outputs = run_plan(plan, inputs, progress=advance, watch=watch, threads=options.threads or 1)
    wall = time.perf_counter() - started
    if directory is not None:
        save_to_directory(directory, outputs)
    if archive is not None:
        save_to_archive(archive, outputs)
    document = _document(model, plan, seed, given, outputs) | instruments.document()
    if options.timing:
        document["wall_s"] = wall
    if options.as_json:
        print_document(document)
    else:
        for text in graph.notes:
            note(text)
        say((*_text(document, options.until), *instruments.lines()))
    return ExitCode.DIFFERENT if instruments.different else 0


def _pictures(graph: Graph, options: RunOptions) -> tuple[dict[str, Array], list[str]]:
    """The inputs given as pictures, and the arguments that are none."""
    ports = {port.name: port.tensor for port in graph.inputs}
    shown: dict[str, Array] = {}
    plain: list[str] = []
    for argument in options.spec.input:
        name = next((one for one in ports if argument.startswith(f"{one}=")), None)
        path = argument if name is None else argument[len(name) + 1 :]
        if name is None and len(ports) == 1:
            (name,) = ports
        if name is None or not stands_for_pictures(path):
            plain.append(argument)
            continue
        if name in shown:
            raise CommandLineError(f"input {name!r} is given twice")
        said = options.spec.reference
        tensor = graph.tensors[ports[name]]
        shown[name] = picture_tensor(
            pictures(path),
            name,
            tensor.shape,
            tensor.dtype,
            TensorOptions(
                PictureOptions(options.spec.fit or LETTERBOX, options.spec.colour),
                numbers(said.input_mean, "--input-mean"),
                numbers(said.input_scale, "--input-scale"),
            ),
            channels_last=tensor.layout is Layout.NHWC,
            yuv_order=_aipp_order(graph, tensor),
        )
    if not shown and options.picture_options():
        raise CommandLineError(f"{', '.join(options.picture_options())}: no picture is given")
    return shown, plain


def _aipp_order(graph: Graph, tensor: Tensor) -> FormatOrder | None:
    """The 4:2:0 order that an AIPP reads from this tensor: it may exchange the chroma itself (om-format.md 9)."""
    for node in graph.nodes:
        op = node.op.before if isinstance(node.op, Preceded) else node.op
        if isinstance(op, Aipp) and tensor.shape[1:] == (op.source[0] * 3 // 2, op.source[1]):
            return FormatOrder.NV21 if op.swap_chroma else FormatOrder.NV12
    return None


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
