"""`emu disasm`: a HEF as readable YAML, its bulk bytes in a second file."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.command import Command
from emu.cli.options import open_model, output_path
from emu.errors import CommandLineError, HailoError
from emu.files import is_there, shown
from emu.hef.assembly import disassemble
from emu.hef.assembly_ccw import RecordTexts
from emu.hef.container import Container
from emu.hef.hef import open_hef
from emu.hef.runtime import runtimes
from emu.hef.source import open_source
from emu.output import Output, is_stream

BULK_SUFFIX = ".bin"


@click.command(cls=Command)
@click.argument("model")
@click.option("-o", "--output", metavar="X.yaml", help="Description to write; X.bin goes beside it.")
@click.option("--chip", is_flag=True, help="Records, sequencer programs and registers by name; without -o: print them.")
@click.option("--force", is_flag=True, help="Describe a damaged container too, as far as its message parses.")
def command(model: str, output: str | None, chip: bool, force: bool) -> None:
    """Describe a HEF; `emu asm` turns the description back into the file, byte for byte.

    With --chip the description holds what configuration means, to be read and edited: addresses by name, values,
    packets of sequencer programs. Without -o it is printed as a listing in the order of operations instead.
    """
    if chip and force:
        raise CommandLineError("--force: not with --chip", file=model)
    if chip and output is None:
        from emu.cli import inspect_chip

        inspect_chip.disassemble(open_model(model))
        return
    if output is None:
        raise CommandLineError("-o X.yaml says where to write the description", file=model)
    source = open_model(model).source
    container = Container(open_source(source)) if force else _open(source)
    path = output_path(output)
    if is_stream(path):
        raise CommandLineError(f"{shown(path)} is no file, and the bulk bytes go into one beside it: -o X.yaml")
    if path.suffix == BULK_SUFFIX:
        raise CommandLineError(f"{path} is where the bulk bytes go: choose another suffix than {BULK_SUFFIX}")
    bulk = output_path(str(path.with_suffix(BULK_SUFFIX)))
    if not bulk.name.isprintable():  # nor what is no UTF-8
        raise CommandLineError(f"{shown(bulk)}: the description names the bulk file, so its name has to be plain text")
    if isinstance(source, Path):
        refuse_overwriting(source, path, bulk)
    with Output(bulk) as bulk_output, Output(path) as text_output:
        description = disassemble(container, bulk.name, record_texts() if chip else None)
        for piece in description.bulk:
            bulk_output.stream.write(piece)
        text_output.stream.write(description.text.encode())


def record_texts() -> RecordTexts:
    """What describes and assembles records of the configuration, by architecture."""
    from emu.hw.config.assembler import RecordAssembler
    from emu.sequencer.configuration import family_of_arch

    return lambda hw_arch: RecordAssembler(family_of_arch(hw_arch))


def _open(source: Path | bytes) -> Container:
    """The container, if any runtime accepts it: each overlooks damage that the other refuses (hef-container.md 2)."""
    refused: HailoError | None = None
    for runtime in reversed(runtimes()):
        try:
            return open_hef(source, runtime=runtime.name).container
        except HailoError as error:
            refused = error
    assert refused is not None
    raise refused


def refuse_overwriting(source: Path, *targets: Path) -> None:
    """UsageError where an output is the file being read, which is mapped."""
    for target in targets:
        if is_there(target) and target.samefile(source):
            raise CommandLineError(f"{target} is read and cannot be written at the same time", file=str(target))
