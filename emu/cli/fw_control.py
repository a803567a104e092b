"""`emu fw-control identify`: as `hailortcli` has it."""

from __future__ import annotations

import click

from emu.cli.command import Command
from emu.cli.hailortcli import PASSED_ON, answer
from emu.errors import CommandLineError


@click.command(cls=Command, context_settings=PASSED_ON)
@click.argument("what", metavar="identify")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[--extended] [-s ID]")
def command(what: str, arguments: tuple[str, ...]) -> None:
    """Say what the simulated device is (EMU_DEVICE, hailo8), as `hailortcli fw-control identify` does."""
    if what != "identify":
        raise CommandLineError(f"fw-control {what}: the simulated device answers fw-control identify")
    answer("fw-control identify", arguments)
