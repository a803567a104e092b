"""`emu vectors`: the vectors of `emu conform` as files."""

from __future__ import annotations

import re
from pathlib import Path

import click

from emu.cli.command import Command
from emu.cli.screen import say

_OTHER = re.compile(r"[^A-Za-z0-9._-]")


@click.command(cls=Command)
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="A JSON document for each vector in DIR.")
def command(folder: str) -> None:
    """Write the vectors that `emu conform` sends, with the answers that are expected and what those rest on.

    `emu conform --vectors DIR` sends those of a folder.
    """
    import orjson

    from emu.conform.suite import vectors
    from emu.conform.vector_document import document_of
    from emu.output import make_folder, write

    top = make_folder(folder)
    made = vectors()
    for vector in made:
        family, _, what = vector.name.partition("/")
        path = make_folder(top / family) / f"{_OTHER.sub('_', what)}.json"
        write(Path(path), orjson.dumps(document_of(vector), option=orjson.OPT_INDENT_2) + b"\n")
    say(f"{len(made)} vectors in {folder}")
