"""`emu run2`: as `hailortcli` has it."""

from __future__ import annotations

import click

from emu.cli.command import Command
from emu.cli.hailortcli import PASSED_ON, answer


@click.command(cls=Command, context_settings=PASSED_ON)
@click.argument(
    "arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-t S] [-m MODE] [-s ID] set-net HEF [--batch-size N] ..."
)
def command(arguments: tuple[str, ...]) -> None:
    """Run HEFs, and print the last screen of `hailortcli run2`.

    The device is EMU_DEVICE (hailo8), the release EMU_RUNTIME, as for `emu exec`.
    """
    answer("run2", arguments)
