"""`emu net`: the network that a HEF's configuration holds (docs/network.md)."""

from __future__ import annotations

from contextlib import ExitStack

import click

from emu.cli.colour import Tone, marked
from emu.cli.command import Command
from emu.cli.document import print_document
from emu.cli.options import hef_options, located, open_model, output_path
from emu.cli.screen import say
from emu.errors import CommandLineError
from emu.host.spec import HefSettings
from emu.output import Output
from emu.recognise import Kind

EFFECTIVE = ("runtime", "device", "cluster_layout", "network_group", "host", "from_memory")


@click.command(cls=Command)
@click.argument("model")
@hef_options(EFFECTIVE)
@click.option("--assume", "assumed", multiple=True, metavar="C.L.KEY=VALUE", help="Padding, stride, pool of a layer.")
@click.option("--dot", metavar="FILE", help="Also write the layers as a Graphviz graph.")
@click.option("--weights", metavar="FILE.npz", help="Also write weights and biases.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    model: str, common: HefSettings, assumed: tuple[str, ...], dot: str | None, weights: str | None, as_json: bool
) -> None:
    """Read the network of a Hailo-8/8L HEF from its configuration: layers, dataflow, weights."""
    common.refuse_but(EFFECTIVE, "net")
    opened = open_model(model)
    if opened.kind is not Kind.HEF:
        raise CommandLineError("only HEFs hold a network in the chip's configuration", file=model)
    from emu.net.assume import parse_assumptions

    taken = parse_assumptions(assumed)
    with ExitStack() as files, located(opened.name):
        drawn, kept = (
            None if name is None else files.enter_context(Output(output_path(name))) for name in (dot, weights)
        )
        from emu.net import report
        from emu.net.checks import network_hazards
        from emu.net.load import networks_of
        from emu.net.reading import read_group

        options = common.compile_options()
        found = [
            (group, read_group(networks, taken).contexts)
            for group, networks in networks_of(common.open(opened.source), options)
        ]
        if len(found) > 1 and (drawn or kept):
            raise CommandLineError(f"{len(found)} network groups: --network-group NAME says whose graph or weights")
        if drawn is not None:
            drawn.stream.write(report.dot(found[0][1]).encode())
        if kept is not None:
            from emu.arrays import save_to_archive

            save_to_archive(kept, report.weights([reading.network for reading in found[0][1]]))
    entries = [
        (group, context, reading, network_hazards(reading.network))
        for group, readings in found
        for context, reading in enumerate(readings)
    ]
    if as_json:
        documents = [
            {"network_group": group, "context": context, **report.document(reading, hazards)}
            for group, context, reading, hazards in entries
        ]
        print_document(documents[0] if len(documents) == 1 else {"networks": documents})
        return
    contexts = {group: len(readings) for group, readings in found}
    for group, context, reading, hazards in entries:
        title = group if contexts[group] == 1 else f"{group}, context {context}"
        say(marked(report.lines(title, reading, hazards), {"hazard:": Tone.BAD}))
