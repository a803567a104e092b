"""`emu benchmark`: as `hailortcli` has it."""

from __future__ import annotations

import click

from emu.cli.command import Command
from emu.cli.hailortcli import PASSED_ON, answer


@click.command(cls=Command, context_settings=PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="HEF [--batch-size N] [-t S] [-s ID]")
def command(arguments: tuple[str, ...]) -> None:
    """Measure FPS and latency of a HEF, and print what `hailortcli benchmark` prints.

    Measured in a run on the simulated device, so -t changes nothing that is printed; power is not measured.
    The device is EMU_DEVICE (hailo8), the release EMU_RUNTIME, as for `emu exec`.
    """
    answer("benchmark", arguments)
