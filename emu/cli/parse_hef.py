"""`emu parse-hef`: the text of `hailortcli parse-hef`, to the byte."""

from __future__ import annotations

from pathlib import Path

import click

from emu.catalog import names
from emu.cli.command import Command
from emu.cli.log import warn
from emu.cli.options import LOAD_RUNTIME_OPTION, located, open_model
from emu.errors import HailoError, HailoStatus
from emu.files import is_folder, shown
from emu.hef import open_hef
from emu.hef.runtime import LINES, by_preference
from emu.hef.text import parse_hef_text

_FLAGS = ("--parse-streams", "--parse-vstreams")


class _ParseHefCommand(Command):
    """A command whose flags may carry a value, as CLI11's do: `--parse-vstreams=false`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"{arg}=true" if arg in _FLAGS else arg for arg in args])


@click.command(cls=_ParseHefCommand)
@click.argument("model")
@click.option("--parse-streams", type=bool, default=False, metavar="[=BOOL]", help="List streams (off).")
@click.option("--parse-vstreams", type=bool, default=True, metavar="[=BOOL]", help="List vstreams (on).")
@LOAD_RUNTIME_OPTION
def command(model: str, parse_streams: bool, parse_vstreams: bool, runtime: str | None) -> None:
    """Print what parse-hef of the real HailoRT prints; of a directory, for every .hef file in it."""

    def text(name: str, source: Path | bytes) -> str:
        with located(name):
            hef = open_hef(source, runtime_version=runtime)
            if hef.version.label not in by_preference(names("runtimes"))[:LINES]:
                warn(
                    f"the text of HailoRT {hef.version.label} is not known: as the newest release of its line prints it"
                )
            return parse_hef_text(hef, streams=parse_streams, vstreams=parse_vstreams)

    directory = Path(model)
    if model == "-" or not is_folder(directory):
        out = text(model, open_model(model).source)
    else:
        files = _hef_files(directory)
        out = "".join(f"{'*' * 80}\nParsing {path}:\n{text(shown(path), path)}" for path in files)
    click.echo(out.encode(errors="surrogateescape"), nl=False)


def _hef_files(directory: Path) -> list[Path]:
    """In order of their names; HAILO_INVALID_ARGUMENT if there are none, as the real one (fw-trace.md 1)."""
    try:
        files = sorted(path for path in directory.iterdir() if path.suffix == ".hef")
    except OSError as error:
        raise HailoError(
            HailoStatus.HAILO_OPEN_FILE_FAILURE, f"cannot list {directory}: {error.strerror}", file=str(directory)
        ) from error
    if not files:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"there are no .hef files in the directory {directory}",
            file=str(directory),
        )
    return files
