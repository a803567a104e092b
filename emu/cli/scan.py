"""`emu scan`: as `hailortcli` has it."""

from __future__ import annotations

import click

from emu.cli.command import Command
from emu.cli.hailortcli import PASSED_ON, answer


@click.command(cls=Command, context_settings=PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="")
def command(arguments: tuple[str, ...]) -> None:
    """List the devices there are, as `hailortcli scan` does: the simulated one (EMU_DEVICE, hailo8)."""
    answer("scan", arguments)
