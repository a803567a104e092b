"""What watches a run from outside: the debugger, a recording, a replay, the coverage file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import click

from emu.cli.log import warn
from emu.cli.options import output_path
from emu.cli.run_options import RunOptions
from emu.cli.run_settings import settings
from emu.cli.screen import say
from emu.cli.tracing import wants_action_lists
from emu.errors import CommandLineError, EmuError, HailoError
from emu.files import is_there, read_document
from emu.host.coverage import Coverage, merge_into
from emu.host.debugger import Breakpoint, Debugger, DebuggerQuit
from emu.host.recording import Put, PutBlock, Recorder
from emu.host.session import RunRequest
from emu.hw.device import Device
from emu.output import Output
from emu.trace.record import RecordWriter

PROMPT = "(emu) "


@contextmanager
def watched(options: RunOptions, request: RunRequest, put: Put | None = None) -> Iterator[None]:
    """Attach to the run of `request` whatever the options ask for; `put` gets every crossing of the device's border.

    UsageError, before anything runs, for what cannot be written or read.
    """
    attachments: list[Callable[[Device], object]] = []
    devices: list[Device] = []
    debuggers: list[Debugger] = []
    debugger = _debugger(options, debuggers.append)
    if debugger is not None:
        attachments.append(debugger)
    if options.coverage_file is not None:
        coverage_file = output_path(options.coverage_file)
        if is_there(coverage_file):
            Coverage.read(coverage_file)  # a foreign file is refused before anything runs
        Output(coverage_file, wait=True).discard()  # not held: runs at one time may share a file
        attachments.append(devices.append)
    if put is not None:
        attachments.append(_recorder(put, options.record_registers))
    writer = None
    if options.record is not None:
        if wants_action_lists(options):
            raise CommandLineError("--record and action list dumps: not together, a replay would not ask for them")
        settings(options.spec, None)  # what cannot be replayed is refused before anything runs
        writer = RecordWriter(Path(options.record))
        attachments.append(_recorder(writer.put, options.record_registers, writer.put_block))
    if attachments:
        request.on_device = _all(attachments)
    ended: EmuError | None = None
    finished = False
    try:
        yield
        finished = True
        for one in debuggers:
            # where the commands ran out nothing was looked for any more
            for place in one.breaks if one.attached else ():
                if place not in one.reached:
                    warn(f"--break {place} was never reached")
    except EmuError as error:
        ended, finished = error, True
        raise
    except DebuggerQuit:
        raise click.exceptions.Exit(0) from None
    finally:
        # half a run, of which a signal or a `quit` was the end, is neither recorded nor counted
        if writer is not None:
            with writer:
                if finished:
                    writer.finish(settings(options.spec, ended, options.record_registers))
        if devices and finished:
            assert options.coverage_file is not None
            merge_into(Path(options.coverage_file), Coverage.of(devices[0].inspection))


def _all(attachments: Sequence[Callable[[Device], object]]) -> Callable[[Device], None]:
    def attach(device: Device) -> None:
        for one in attachments:
            one(device)

    return attach


def _recorder(put: Put, registers: bool, put_block: PutBlock | None = None) -> Callable[[Device], object]:
    return lambda device: Recorder(device.inspection, put, device.pcie if registers else None, put_block)


def _debugger(options: RunOptions, made: Callable[[Debugger], object]) -> Callable[[Device], object] | None:
    if not (options.breaks or options.step):
        if options.break_script is not None:
            raise CommandLineError("--break-script needs --break or --step")
        return None
    breaks = [Breakpoint.parse(text) for text in options.breaks]
    screen = sys.stderr if options.as_json else sys.stdout
    commands = _prompt(screen) if options.break_script is None else iter(_script(options.break_script))

    def show(line: str) -> None:
        say(line, screen)
        screen.flush()

    def attach(device: Device) -> None:
        debugger = Debugger(device.inspection, list(breaks), commands, show, steps=1 if options.step else 0)
        if options.break_script is None and _is_interactive(screen):
            _complete_with(debugger)
        made(debugger)
        debugger.attach()

    return attach


def _script(name: str) -> list[str]:
    try:
        return read_document(Path(name)).decode().splitlines()
    except (HailoError, UnicodeDecodeError) as error:
        raise CommandLineError(f"--break-script {name} cannot be read: {error}", file=name) from None


def _is_interactive(screen: TextIO) -> bool:
    """Whether somebody sits there, for whom lines can be edited."""
    return screen is sys.stdout and sys.stdin.isatty() and sys.stdout.isatty()


def _typed() -> Iterator[str]:
    """Commands with a history that the arrows go through; it ends with the run."""
    with suppress(ImportError):
        import readline  # noqa: F401 (input() edits lines with it)
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            return


def _complete_with(debugger: Debugger) -> None:
    """The tab key completes commands, places and channels."""
    try:
        import readline
    except ImportError:
        return

    def completer(_: str, number: int) -> str | None:
        found = debugger.complete(readline.get_line_buffer()[: readline.get_endidx()])
        return found[number] if number < len(found) else None

    readline.set_completer_delims(" ")
    readline.set_completer(completer)
    readline.parse_and_bind("tab: complete")


def _prompt(screen: TextIO) -> Iterator[str]:
    """Commands from standard input, with a prompt where somebody sits there."""
    if _is_interactive(screen):
        yield from _typed()
        return
    prompt = PROMPT if sys.stdin.isatty() else ""
    while True:
        screen.write(prompt)
        screen.flush()
        line = sys.stdin.readline()
        if not line:
            return
        yield line
