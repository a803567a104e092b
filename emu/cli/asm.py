"""`emu asm`: the description that `emu disasm` writes, back to a HEF."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.disasm import refuse_overwriting, write_pieces
from emu.cli.options import located, output_path
from emu.errors import HailoError, HailoStatus
from emu.hef.assembly import assemble
from emu.hef.source import open_source


@click.command()
@click.argument("description", metavar="X.yaml")
@click.option("-o", "--output", required=True, metavar="X.hef", help="HEF to write.")
def command(description: str, output: str) -> None:
    """Assemble the HEF that a description stands for; the bulk file lies beside the description."""
    path = Path(description)
    target = output_path(output)
    try:
        text = bytes(open_source(path).data).decode()
    except UnicodeDecodeError as error:
        raise HailoError(
            HailoStatus.HAILO_INVALID_HEF, f"no YAML: byte {error.start} is not UTF-8", file=description
        ) from None
    refuse_overwriting(path, target)

    def read_bulk(name: str) -> memoryview:
        bulk = path.with_name(name)
        refuse_overwriting(bulk, target)
        return open_source(bulk).data

    with located(description):
        pieces = assemble(text, read_bulk)
    write_pieces(target, pieces)
