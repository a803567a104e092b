"""`emu disasm`: a HEF as readable YAML, its bulk bytes in a second file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from emu.cli.options import open_model, output_path
from emu.errors import HailoError, UsageError
from emu.hef.assembly import disassemble
from emu.hef.container import Container
from emu.hef.hef import open_hef
from emu.hef.source import open_source

BULK_SUFFIX = ".bin"


@click.command()
@click.argument("model")
@click.option("-o", "--output", required=True, metavar="X.yaml", help="Description to write; X.bin goes beside it.")
@click.option("--force", is_flag=True, help="Describe a damaged container too, as far as its message parses.")
def command(model: str, output: str, force: bool) -> None:
    """Describe a HEF; `emu asm` turns the description back into the file, byte for byte."""
    source = open_model(model).source
    container = Container(open_source(source)) if force else _open(source)
    path = output_path(output)
    if path.suffix == BULK_SUFFIX:
        raise UsageError(f"{path} is where the bulk bytes go: choose another suffix than {BULK_SUFFIX}")
    bulk = output_path(str(path.with_suffix(BULK_SUFFIX)))
    if isinstance(source, Path):
        refuse_overwriting(source, path, bulk)
    description = disassemble(container, bulk.name)
    write_pieces(bulk, description.bulk)
    write_pieces(path, [description.text.encode()])


def _open(source: Path | bytes) -> Container:
    """The container, if any runtime accepts it: each overlooks damage that the other refuses (hef-container.md 2)."""
    try:
        return open_hef(source, runtime="5.2").container
    except HailoError:
        return open_hef(source, runtime="4.23").container


def refuse_overwriting(source: Path, *targets: Path) -> None:
    """UsageError where an output is the file being read, which is mapped."""
    for target in targets:
        if target.exists() and target.samefile(source):
            raise UsageError(f"{target} is read and cannot be written at the same time", file=str(target))


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write buffers one after the other; UsageError where the path cannot be written."""
    try:
        with path.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {(error.strerror or str(error)).lower()}", file=str(path)) from error
