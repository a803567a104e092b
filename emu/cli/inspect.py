"""`emu inspect`: everything a person asks of a file without a device."""

from __future__ import annotations

import click

from emu.cli.options import HefOptions, hef_options, open_model
from emu.errors import UsageError
from emu.recognise import Kind


@click.command()
@click.argument("model")
@hef_options
@click.option("--soc", metavar="NAME", help="Ascend chip to compare an OM file's soc_version with.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(model: str, common: HefOptions, soc: str | None, as_json: bool) -> None:
    """Show what a HEF, OM or MS file holds, and which runtimes and devices accept it."""
    opened = open_model(model)
    if soc is not None and opened.kind is not Kind.OM:
        raise UsageError("--soc: only OM files are made for an Ascend chip", file=model)
    if opened.kind is Kind.HEF:
        from emu.cli import inspect_hef

        inspect_hef.inspect(opened, common, as_json)
        return
    refused = common.given()
    if refused:
        raise UsageError(f"{', '.join(refused)}: not for OM and MS graphs", file=model)
    from emu.cli import inspect_graph

    inspect_graph.inspect(opened, as_json, soc)
