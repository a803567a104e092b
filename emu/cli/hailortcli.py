"""hailortcli's commands by their own names, for the simulated device: `emu benchmark`, `run2`, `scan`, `fw-control`.

Their texts and options are those of `emu.hailo_platform.hailortcli`; errors and exit codes are emu's.
"""

from __future__ import annotations

from emu.cli.screen import say
from emu.errors import CommandLineError, UsageError

# click's settings of a command that hands on what it is given
PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def answer(name: str, arguments: tuple[str, ...]) -> None:
    """Print what `hailortcli NAME ARGUMENTS` prints."""
    from emu.hailo_platform.environment import environment
    from emu.hailo_platform.hailortcli import COMMANDS

    try:
        text = COMMANDS[name](environment(), list(arguments))
    except UsageError as error:
        raise CommandLineError(f"{name}: {error.message}", **error.where) from None
    say(text.removesuffix("\n").split("\n"))
