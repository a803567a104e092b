"""The `emu` program: a group of lazily imported subcommands and the one place that reports errors."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from emu import __version__
from emu.cli import log
from emu.cli.screen import abandon, complain, complain_of
from emu.errors import CommandLineError, EmuError, HailoError, HailoStatus, OutputError, UsageError
from emu.interrupts import ENDED_BY_SIGNAL, EndedBySignal
from emu.naming import similar

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETION = "_EMU_COMPLETE"
"""The variable by which a shell asks for its completion script, and later for completions (docs/command-line.md)."""

# subcommand -> (module, help line); a module is imported only when its command runs, so that `--help` is fast
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("emu.cli.run", "Execute a HEF on the simulated device, or an OM/MS graph in numpy."),
    "inspect": ("emu.cli.inspect", "Show everything a file says about itself."),
    "report": ("emu.cli.report", "Write one HTML page of models: figures, contexts, chip, curves."),
    "net": ("emu.cli.net", "Read the network that a HEF's configuration holds: layers, dataflow, weights."),
    "export": ("emu.cli.export", "Write an OM or MS graph as an ONNX model."),
    "parse-hef": ("emu.cli.parse_hef", "Print what `hailortcli parse-hef` prints, to the byte."),
    "actions": ("emu.cli.actions", "Print the compiled action lists of a HEF, or disassemble one."),
    "diff": ("emu.cli.diff", "Compare two traces, HEFs, runtimes or captures by meaning."),
    "check": ("emu.cli.check", "Try every model of a folder, or check a trace against the invariants."),
    "replay": ("emu.cli.replay", "Run again what `run --record` kept, and report the first difference."),
    "conform": ("emu.cli.conform", "Send vectors to another implementation of the firmware: which rules hold."),
    "respond": ("emu.cli.respond", "Answer the protocol of conform with the simulated device."),
    "vectors": ("emu.cli.vectors", "Write the vectors of conform as files."),
    "explain": ("emu.cli.explain", "Say what a status, action, extension, register or rule is, and what to do."),
    "coverage": ("emu.cli.coverage", "Merge and show what runs touched: actions, statuses, units."),
    "disasm": ("emu.cli.disasm", "Describe a HEF as readable YAML."),
    "asm": ("emu.cli.asm", "Turn a description of `disasm` back into the HEF, byte for byte."),
    "bind": ("emu.cli.bind", "Show which tensor of a reference model each stream of a HEF is."),
    "compare": ("emu.cli.compare", "Compare recorded outputs of a device with the float model."),
    "estimate": ("emu.cli.estimate", "Estimate FPS, latency and activation time of a HEF, and say why."),
    "calibrate": ("emu.cli.calibrate", "Read what actions cost off the time stamps of measure-fw-actions."),
    "serve": ("emu.cli.serve", "Serve a simulated device to HailoRT 5.x programs over TCP."),
    "exec": ("emu.cli.exec", "Run a program on a simulated device: Python, or by --card any of HailoRT 4.x."),
    "benchmark": ("emu.cli.benchmark", "Measure a HEF, and print what `hailortcli benchmark` prints."),
    "run2": ("emu.cli.run2", "Run HEFs, and print the last screen of `hailortcli run2`."),
    "scan": ("emu.cli.scan", "List the devices there are: the simulated one."),
    "fw-control": ("emu.cli.fw_control", "Say what the simulated device is (fw-control identify)."),
    "sweep": ("emu.cli.sweep", "Estimate many HEFs at many batch sizes, devices and links into a table."),
}


_LISTED = " `emu --help` lists them."


class LazyGroup(click.Group):
    """A group whose commands are imported on first use; each module defines `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = similar(args[0], COMMANDS) or _LISTED
            raise CommandLineError(f"No such command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="emu")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """A software Hailo device: compile, execute, time and compare HEF files without hardware."""
    if context.invoked_subcommand != "exec":  # which hands its environment on to a program of the user's
        # numpy's products round differently with every number of threads, which would be that of the machine, and all
        # but one spin while there is nothing to multiply; its library reads the variable when it is loaded
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def report(error: EmuError, as_json: bool, debug: bool = False) -> int:
    """Print the error as cli.md prescribes, with `debug` behind its traceback, and return the exit code."""
    if debug:
        import traceback

        for line in "".join(traceback.format_exception(error)).split("\n"):
            complain(line)
    try:
        if as_json:
            import json

            sys.stdout.write(json.dumps(error.document()) + "\n")
        sys.stdout.flush()
    except OSError:
        abandon(sys.stdout)  # it is what failed, or its reader has gone: the line below says what is wrong
    complain_of(error)
    return error.exit_code


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; never returns. The process that does nothing else enters by `emu.__main__`."""
    _open_what_is_closed()
    if argv is None and COMPLETION in os.environ:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(cli, {}, "emu", COMPLETION, os.environ[COMPLETION]))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names out of a file may hold what a terminal does not
    log.set_level(log.NORMAL)
    args = list(sys.argv[1:] if argv is None else argv)
    ours, theirs = _split(args)
    as_json, debug = "--json" in ours, "--debug" in ours
    # --debug may stand anywhere; click knows it on the group only
    sys.exit(_run([arg for arg in ours if arg != "--debug"] + theirs, as_json, debug))


def _open_what_is_closed() -> None:
    """Take the places of standard streams that are closed, so that no file gets their number: an input that is empty,
    an output whose writes fail as they have to, and nowhere for what no one wants to be told."""
    streams: tuple[tuple[str, int, str], ...] = (
        ("stdin", os.O_RDONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    )
    for number, (name, flags, mode) in enumerate(streams):
        if getattr(sys, name) is None:
            with suppress(OSError):
                found = os.open(os.devnull, flags)  # the lowest number that is free
                if found != number:
                    os.dup2(found, number)
                    os.close(found)
                setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (a descriptor)


def _split(args: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and those of the program that `exec` runs."""
    first = next((at for at, arg in enumerate(args) if not arg.startswith("-")), None)
    if first is None or args[first] != "exec":
        return args, []
    return args[: first + 1], args[first + 1 :]


def _run(args: list[str], as_json: bool, debug: bool) -> int:
    try:
        if not args:
            raise CommandLineError(f"Missing command.{_LISTED}")
        # not cli.main(): it would end the process with 1 where the reader of our output has gone
        with cli.make_context("emu", args) as context:
            result: Any = cli.invoke(context)
        sys.stdout.flush()
    except EmuError as error:
        return report(error, as_json, debug)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.BadParameter as error:
        kind = CommandLineError if isinstance(error, click.MissingParameter) else UsageError
        return report(kind(error.format_message()), as_json, debug)
    except click.ClickException as error:
        return report(CommandLineError(error.format_message()), as_json, debug)
    except click.Abort:
        return 130
    except BrokenPipeError:
        # head or less have seen enough: not an error of ours
        abandon(sys.stdout)
        return 0
    except EndedBySignal as signal:
        return signal.exit_code
    except KeyboardInterrupt:
        return ENDED_BY_SIGNAL + 2
    except Exception as error:
        return report(_unforeseen(error), as_json, debug)
    return result if isinstance(result, int) else 0


def _unforeseen(error: Exception) -> EmuError:
    """One line for what no place in the program foresaw; `--debug` shows the cause."""
    found: EmuError
    if isinstance(error, OSError) and error.filename is None:
        # opening a file names it, so this is an output that takes no more: a full disk
        found = OutputError(f"cannot write the output: {(error.strerror or str(error)).lower()}")
    else:
        text = f"internal error, please report it (--debug shows where): {type(error).__name__}: {error}"
        found = HailoError(HailoStatus.HAILO_INTERNAL_FAILURE, text)
    found.__cause__ = error
    return found
