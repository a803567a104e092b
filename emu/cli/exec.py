"""`emu exec`: an unchanged Python program whose `import hailo_platform` is answered by emu."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from emu.catalog import names
from emu.cli.command import Command
from emu.cli.exec_card import run as run_card
from emu.cli.exec_card_options import AUTO, MOST_CARDS, ExecCard
from emu.cli.options import Release, Whole
from emu.errors import CommandLineError
from emu.hailo_platform.environment import CARD, REFERENCE, environment

ROOM = Path(__file__).resolve().parent.parent / "hailo_platform"


class _ReleaseOrAuto(Release):
    """A runtime, or the one of the client's own library."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return AUTO if value == AUTO else super().convert(value, param, ctx)


_CARD_OPTIONS = (
    click.option("--device", type=click.Choice(names("chips")), help="With --card: the card (default: hailo8)."),
    click.option("--cards", type=Whole(1, MOST_CARDS), metavar="N", help="So many cards (default 1)."),
    click.option("--runtime", type=_ReleaseOrAuto(), help="HailoRT of the card (default: auto, as the client's own)."),
    click.option("--seed", type=Whole(0), metavar="N", help="Seed of made-up outputs."),
    click.option("--link", metavar="LINK", help="Link of the card: genXxY."),
    click.option("--clock-mhz", type=Whole(1), metavar="MHZ", help="Clock of the NN core."),
    click.option("--reference", multiple=True, metavar="[GROUP=]FILE", help="Model that computes the outputs."),
    click.option("--compute", type=click.Choice(("strict", "partial", "off")), help="Outputs that the core computes."),
    click.option("--outputs", type=click.Choice(("made-up", "zeros")), help="What nothing computes (made-up)."),
    click.option("--trace", metavar="FILE", help="Write what happens; registers:FILE each register access too."),
    click.option("--trace-format", type=click.Choice(("jsonl", "text", "perfetto")), help="Format (jsonl)."),
    click.option("--record", metavar="DIR", help="Keep what the program said to the card, for replay."),
    click.option("--coverage-file", metavar="FILE", help="Add what ran to a coverage file."),
    click.option("--inject", multiple=True, metavar="FAULT", help="A fault, as run takes it."),
    click.option("--handlers", metavar="MODULE", help="Actions served by a module of your own (docs/hacking.md)."),
    click.option("--break", "breaks", multiple=True, metavar="PLACE", help="Stop at an action or a register write."),
    click.option("--step", is_flag=True, default=None, help="Stop before the first action."),
    click.option("--break-script", metavar="FILE", help="What to do there (else: show where, and go on)."),
    click.option("--hazards", type=click.Choice(("report", "stop")), help="Go on at a hazard, or stop the device."),
    click.option("--pace", type=click.Choice(("fast", "real")), help="As fast as possible, or as the card would."),
    click.option("--check-compile", is_flag=True, default=None, help="Compare what is sent with what emu compiles."),
    click.option("--json", metavar="=FILE", help="Write one JSON document of what ran at the end."),
    click.option("--timing", is_flag=True, default=None, help="Also show wall-clock figures."),
    click.option("--dump-memory", metavar="FILE", help="Write the registers and memory of the chip at the end."),
    click.option("--dump-action-list", metavar="FILE", help="Write what `hailortcli fw-control action-list` writes."),
)


class _Exec(Command):
    """Takes `--json=FILE` alone: a bare one would swallow the program, and standard output is the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        valued = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        own = iter(args)
        for arg in own:
            if not arg.startswith("-"):
                break
            if arg == "--json":
                raise CommandLineError("--json: standard output is the program's; --json=FILE keeps the document")
            if arg in valued:
                next(own, None)
        return super().parse_args(ctx, args)


def _with_card_options(function: Any) -> Any:
    for option in reversed(_CARD_OPTIONS):
        function = option(function)
    return function


@click.command(cls=_Exec, context_settings={"allow_interspersed_args": False})
@click.option("-m", "as_module", is_flag=True, help="PROGRAM is a module, as python -m takes it.")
@click.option("--card", is_flag=True, help="PROGRAM is any program that looks for a Hailo card by HailoRT 4.x.")
@_with_card_options
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(as_module: bool, card: bool, program: str, arguments: tuple[str, ...], **given: Any) -> int:
    """Run PROGRAM with ARGUMENTS in Python, a simulated device behind `import hailo_platform`.

    Everything behind PROGRAM is its own, and so are its output and its exit code. A `hailortcli` is on the PATH unless
    a real one is. Environment: EMU_DEVICE (hailo8), EMU_RUNTIME (4.23 or 5.2, by the device), EMU_PACE (fast, real),
    EMU_REFERENCE ([GROUP=]FILE: an ONNX, OM or MS model that computes the outputs), EMU_COMPUTE (strict, partial, off:
    outputs that the core computes; by default those of networks that are read whole).

    With --card PROGRAM is any program that uses HailoRT 4.20 to 4.23 (hailortcli, C++, Python, GStreamer): it finds a
    simulated Hailo-8 at /dev/hailo0. The environment holds there too, and options go before it.
    """
    said = {name: value for name, value in given.items() if value not in (None, ())}
    if card:
        if as_module:
            raise CommandLineError("-m: --card runs any program, not a Python module")
        return run_card(ExecCard(**(_environment() | said)), (program, *arguments))
    if said:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in said).replace("--breaks", "--break")
        raise CommandLineError(f"{options}: no effect without --card")
    return _become_python((*(["-m"] if as_module else []), program, *arguments))


def _environment() -> dict[str, Any]:
    """What EMU_DEVICE, EMU_RUNTIME, EMU_PACE, EMU_REFERENCE and EMU_COMPUTE say of a card; options go before them."""
    checked = environment()
    found: dict[str, Any] = {"device": checked.device, "pace": "real" if checked.real_pace else "fast"}
    if os.environ.get("EMU_RUNTIME"):
        found["runtime"] = checked.runtime
    if os.environ.get(REFERENCE):
        found["reference"] = tuple(os.environ[REFERENCE].split(os.pathsep))
    if checked.compute is not None:
        found["compute"] = checked.compute
    return found


def _become_python(arguments: tuple[str, ...]) -> NoReturn:
    environment()  # refuse what it cannot be before anything starts
    variables = dict(os.environ)
    variables["PYTHONPATH"] = _joined(str(ROOM / "shim"), variables.get("PYTHONPATH"))
    variables["PATH"] = _joined(variables.get("PATH") or os.defpath, str(ROOM / "bin"))
    variables["EMU_PYTHON"] = sys.executable
    variables.setdefault(CARD, str(os.getppid()))
    sys.stdout.flush()
    sys.stderr.flush()
    # the interpreter itself runs it: tracebacks, exit codes and signals are Python's own
    os.execve(sys.executable, [sys.executable, *arguments], variables)


def _joined(*parts: str | None) -> str:
    return os.pathsep.join(part for part in parts if part)
