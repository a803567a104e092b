"""`emu export`: an OM or MS graph as an ONNX model."""

from __future__ import annotations

from typing import Any

import click

from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.log import note
from emu.cli.options import located, open_model, output_path
from emu.cli.screen import say
from emu.errors import CommandLineError
from emu.files import shown
from emu.output import Output
from emu.recognise import Kind


@click.command(cls=Command)
@click.argument("model")
@click.option("-o", "--output", required=True, metavar="FILE.onnx", help="Where to write the ONNX model.")
@click.option("--gear", metavar="SIZES", help="OM: the batch or image size, of a model that has several.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(model: str, output: str, gear: str | None, as_json: bool) -> None:
    """Write an OM or MS graph as an ONNX model: the same inputs, outputs and values (docs/graph.md, ONNX).

    Dims that only the run knows are 1. An op without a counterpart in ONNX is named, and nothing is written. Needs the
    extra `onnx`.
    """
    opened = open_model(model)
    if opened.kind not in (Kind.OM, Kind.MS):
        raise CommandLineError("only OM and MS graphs can be exported", file=opened.name)
    output_path(output)
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise CommandLineError("needs the package onnx: pip install 'emu[onnx]'") from None
    from emu.cli.run_graph import parse_gear
    from emu.graph.dynamic import specialise
    from emu.graph.load import map_file, read_graph
    from emu.graph.writers.onnx import export

    with Output(output) as target, located(opened.name):
        graph = read_graph(map_file(opened.source), None if gear is None else parse_gear(gear))
        graph = specialise(graph, {})
        found = export(graph)
        target.stream.write(found.SerializeToString())
    document: dict[str, Any] = {
        "model": {"file": opened.name, "format": graph.format, "kind": graph.kind, "name": graph.name},
        "output": shown(output),
        "opset": found.opset_import[0].version,
        "nodes": len(found.graph.node),
        "inputs": [value.name for value in found.graph.input],
        "outputs": [value.name for value in found.graph.output],
    }
    if as_json:
        print_document(document)
        return
    for text in graph.notes:
        note(text)
    sizes = f"{len(graph.nodes)} ops as {document['nodes']} nodes"
    say(f"{shown(output)}: ONNX opset {document['opset']}, {sizes}")
