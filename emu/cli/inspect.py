"""`emu inspect`: everything a person asks of a file without a device."""

from __future__ import annotations

import click

from emu.cli.command import Command
from emu.cli.options import hef_options_of_loading, open_model
from emu.errors import CommandLineError
from emu.host.spec import HefSettings
from emu.recognise import Kind

_OF_A_FILE = ("runtime", "device", "from_memory")


@click.command(cls=Command)
@click.argument("model")
@hef_options_of_loading(_OF_A_FILE)
@click.option("--soc", metavar="NAME", help="Ascend chip to compare an OM file's soc_version with.")
@click.option("--constants", is_flag=True, help="OM/MS: also tell each constant.")
@click.option("--chip", is_flag=True, help="Show what a HEF's configuration makes of the chip instead.")
@click.option("--dot", metavar="FILE", help="With --chip: write the ways of the data through the chip as Graphviz.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    model: str, common: HefSettings, soc: str | None, constants: bool, chip: bool, dot: str | None, as_json: bool
) -> None:
    """Show what a HEF, OM or MS file holds, and which runtimes and devices accept it."""
    opened = open_model(model)
    if soc is not None and opened.kind is not Kind.OM:
        raise CommandLineError("--soc: only OM files are made for an Ascend chip", file=model)
    if constants and (as_json or opened.kind is Kind.HEF):
        raise CommandLineError("--constants: for the text of OM and MS graphs (JSON tells them always)", file=model)
    if chip and opened.kind is not Kind.HEF:
        raise CommandLineError("--chip: only HEF files configure a chip", file=model)
    if dot is not None and not chip:
        raise CommandLineError("--dot: only with --chip", file=model)
    if chip:
        from emu.cli import inspect_chip

        common.refuse_but(_OF_A_FILE, "what a HEF configures")
        inspect_chip.inspect(opened, common, as_json, dot)
        return
    if opened.kind is Kind.HEF:
        common.refuse_but(_OF_A_FILE, "what a HEF holds")
        from emu.cli import inspect_hef

        inspect_hef.inspect(opened, common, as_json)
        return
    refused = common.given()
    if refused:
        raise CommandLineError(f"{', '.join(refused)}: not for OM and MS graphs", file=model)
    common.refuse_but((), "what a graph holds")
    from emu.cli import inspect_graph

    inspect_graph.inspect(opened, as_json, soc, constants)
