"""`emu asm`: the description that `emu disasm` writes, back to a HEF."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.command import Command
from emu.cli.disasm import record_texts, refuse_overwriting
from emu.cli.options import located, output_path
from emu.errors import HailoError, HailoStatus
from emu.files import read_document
from emu.hef.assembly import assemble
from emu.hef.source import open_source
from emu.output import Output
from emu.recognise import HEAD_SIZE, read_head

_KEY = b"emu_hef"


@click.command(cls=Command)
@click.argument("description", metavar="X.yaml")
@click.option("-o", "--output", required=True, metavar="X.hef", help="HEF to write.")
def command(description: str, output: str) -> None:
    """Assemble the HEF that a description stands for; the bulk file lies beside the description.

    Records of the configuration (`emu disasm --chip`) are compressed and get their check values anew.
    """
    path = Path(description)
    target = output_path(output)
    head = read_head(path)
    if b"\0" in head:
        raise HailoError(HailoStatus.HAILO_INVALID_HEF, "no YAML but binary data", file=description)
    if len(head) == HEAD_SIZE and _KEY not in head:
        # not read whole: a text of any size may be something else
        why = f"no description of a HEF: its first {HEAD_SIZE} bytes have no {_KEY.decode()}"
        raise HailoError(HailoStatus.HAILO_INVALID_HEF, why, file=description)
    try:
        text = read_document(path).decode()
    except UnicodeDecodeError as error:
        raise HailoError(
            HailoStatus.HAILO_INVALID_HEF, f"no YAML: byte {error.start} is not UTF-8", file=description
        ) from None
    refuse_overwriting(path, target)

    def read_bulk(name: str) -> memoryview:
        bulk = path.with_name(name)
        refuse_overwriting(bulk, target)
        return open_source(bulk).data

    with Output(target) as opened, located(description):
        for piece in assemble(text, read_bulk, record_texts):
            opened.stream.write(piece)
