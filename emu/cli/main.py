"""The `emu` program: a group of lazily imported subcommands and the one place that reports errors."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from emu import __version__
from emu.errors import EmuError, HailoError, HailoStatus, UsageError

# subcommand -> (module, help line); a module is imported only when its command runs, so that `--help` is fast
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("emu.cli.run", "Execute a HEF on the simulated device, or an OM/MS graph in numpy."),
    "inspect": ("emu.cli.inspect", "Show everything a file says about itself."),
    "parse-hef": ("emu.cli.parse_hef", "Print what `hailortcli parse-hef` prints, to the byte."),
    "actions": ("emu.cli.actions", "Print the compiled action lists of a HEF, or disassemble one."),
    "diff": ("emu.cli.diff", "Compare two traces, HEFs, runtimes or captures by meaning."),
    "check": ("emu.cli.check", "Try every model of a folder, or check a trace against the invariants."),
    "replay": ("emu.cli.replay", "Run again what `run --record` kept, and report the first difference."),
    "coverage": ("emu.cli.coverage", "Merge and show what runs touched: actions, statuses, units."),
    "disasm": ("emu.cli.disasm", "Describe a HEF as readable YAML."),
    "asm": ("emu.cli.asm", "Turn a description of `disasm` back into the HEF, byte for byte."),
    "estimate": ("emu.cli.estimate", "Estimate FPS, latency and activation time of a HEF, and say why."),
    "sweep": ("emu.cli.sweep", "Estimate many HEFs at many batch sizes, devices and links into a table."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use; each module defines `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="emu")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """A software Hailo device: compile, execute, time and compare HEF files without hardware."""


def report(error: EmuError, as_json: bool, debug: bool = False) -> int:
    """Print the error as cli.md prescribes, with `debug` behind its traceback, and return the exit code."""
    if debug:
        import traceback

        traceback.print_exception(error)
    try:
        if as_json:
            import json

            sys.stdout.write(json.dumps(error.document()) + "\n")
        sys.stdout.flush()
    except OSError:
        _abandon_stdout()  # it is what failed, or its reader has gone: the line below says what is wrong
    sys.stderr.write(f"emu: error: {' '.join(error.line().split())}\n")
    return error.exit_code


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of `python -m emu` and of the console script; never returns."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names out of a file may hold what a terminal does not
    args = list(sys.argv[1:] if argv is None else argv)
    as_json, debug = "--json" in args, "--debug" in args
    # --debug may stand anywhere; click knows it on the group only
    args = [arg for arg in args if arg != "--debug"]
    sys.exit(_run(args, as_json, debug))


def _abandon_stdout() -> None:
    """What is still buffered goes nowhere, so that the interpreter does not fail over it once more at its end."""
    with suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(args: list[str], as_json: bool, debug: bool) -> int:
    try:
        # not cli.main(): it would end the process with 1 where the reader of our output has gone
        with cli.make_context("emu", args) as context:
            result: Any = cli.invoke(context)
        sys.stdout.flush()
    except EmuError as error:
        return report(error, as_json, debug)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return report(UsageError(error.format_message()), as_json, debug)
    except click.Abort:
        return 130
    except BrokenPipeError:
        # head or less have seen enough: not an error of ours
        _abandon_stdout()
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return report(_unforeseen(error), as_json, debug)
    return result if isinstance(result, int) else 0


def _unforeseen(error: Exception) -> EmuError:
    """One line for what no place in the program foresaw; `--debug` shows the cause."""
    found: EmuError
    if isinstance(error, OSError) and error.filename is None:
        # opening a file names it, so this is an output that takes no more: a full disk
        found = UsageError(f"cannot write the output: {(error.strerror or str(error)).lower()}")
    else:
        text = f"internal error, please report it (--debug shows where): {type(error).__name__}: {error}"
        found = HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, text)
    found.__cause__ = error
    return found
