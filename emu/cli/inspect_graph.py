"""`emu inspect` of an OM or MS file, as JSON or as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emu.cli.document import print_document
from emu.cli.options import Model, located
from emu.cli.screen import say
from emu.graph.load import map_file
from emu.recognise import Kind


def inspect(opened: Model, as_json: bool, soc: str | None = None, constants: bool = False) -> None:
    """Print everything the file says about itself; GraphError if it cannot be read at all.

    `soc` is the Ascend chip that an OM file is to run on; the document tells whether it was made for it. The text
    tells each constant only where `constants` asks for it.
    """
    data = map_file(opened.source)
    with located(opened.name):
        document, lines = _ms(data, constants) if opened.kind is Kind.MS else _om(data, soc, constants)
    if as_json:
        print_document({"model": {"file": opened.name}, **document})
        return
    say((opened.name, *lines))


def _om(data: memoryview, soc: str | None, constants: bool) -> tuple[dict[str, Any], Iterable[str]]:
    from emu.graph.readers.om import describe

    document = describe.document(data, soc)
    return document, describe.lines(document, constants)


def _ms(data: memoryview, constants: bool) -> tuple[dict[str, Any], Iterable[str]]:
    from emu.graph.readers.lite.file import is_lite, read_meta_graph

    if is_lite(data):
        from emu.graph.readers.lite import describe as lite_describe

        meta = read_meta_graph(data)
        return lite_describe.document(meta), lite_describe.lines(meta)
    from emu.graph.readers.ms import describe
    from emu.graph.readers.ms.file import read_graph_def

    tables = read_graph_def(data)
    return describe.document(tables), describe.lines(tables, constants)
