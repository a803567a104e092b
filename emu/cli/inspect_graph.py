"""`emu inspect` of an OM or MS file, as JSON or as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from emu.cli.document import print_document
from emu.cli.options import Model, located
from emu.graph.load import map_file
from emu.recognise import Kind


def inspect(opened: Model, as_json: bool, soc: str | None = None) -> None:
    """Print everything the file says about itself; GraphError if it cannot be read at all.

    `soc` is the Ascend chip that an OM file is to run on; the document tells whether it was made for it.
    """
    data = map_file(opened.source)
    with located(opened.name):
        document, lines = _ms(data) if opened.kind is Kind.MS else _om(data, soc)
    if as_json:
        print_document({"model": {"file": opened.name}, **document})
        return
    click.echo(opened.name)
    for line in lines:
        click.echo(line)


def _om(data: memoryview, soc: str | None) -> tuple[dict[str, Any], Iterable[str]]:
    from emu.graph.readers import om_describe

    document = om_describe.document(data, soc)
    return document, om_describe.lines(document)


def _ms(data: memoryview) -> tuple[dict[str, Any], Iterable[str]]:
    from emu.graph.readers import ms_describe
    from emu.graph.readers.ms_file import read_graph_def

    tables = read_graph_def(data)
    return ms_describe.document(tables), ms_describe.lines(tables)
