"""What watches a run from outside: the debugger, a recording, a replay, the coverage file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from emu.cli.log import warn
from emu.cli.replay import settings
from emu.cli.run import RunOptions
from emu.cli.tracing import wants_action_lists, writable
from emu.errors import EmuError, HailoError, UsageError
from emu.files import read_document
from emu.hw.coverage import Coverage, merge_into
from emu.hw.debugger import Breakpoint, Debugger, DebuggerQuit
from emu.hw.device import Device
from emu.hw.recording import Recorder
from emu.hw.session import RunRequest
from emu.trace.record import RecordWriter

PROMPT = "(emu) "

Put = Callable[[dict[str, Any]], None]


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
        coverage_file = writable(options.coverage_file)
        if coverage_file.exists():
            Coverage.read(coverage_file)  # a foreign file is refused before anything runs
        attachments.append(devices.append)
    if put is not None:
        attachments.append(_recorder(put))
    writer = None
    if options.record is not None:
        if wants_action_lists(options):
            raise UsageError("--record does not go together with action list dumps: a replay would not ask for them")
        settings(options, None)  # what cannot be replayed is refused before anything runs
        writer = RecordWriter(Path(options.record))
        attachments.append(_recorder(writer.put))
    if attachments:
        request.on_device = _all(attachments)
    ended: EmuError | None = None
    try:
        yield
        for one in debuggers:
            # where the commands ran out nothing was looked for any more
            for place in one.breaks if one.attached else ():
                if place not in one.reached:
                    warn(f"--break {place} was never reached")
    except EmuError as error:
        ended = error
        raise
    except DebuggerQuit:
        raise click.exceptions.Exit(0) from None
    finally:
        if writer is not None:
            writer.finish(settings(options, ended))
        if devices:
            assert options.coverage_file is not None
            merge_into(Path(options.coverage_file), Coverage.of(devices[0]))


def _all(attachments: Sequence[Callable[[Device], object]]) -> Callable[[Device], None]:
    def attach(device: Device) -> None:
        for one in attachments:
            one(device)

    return attach


def _recorder(put: Put) -> Callable[[Device], object]:
    return lambda device: Recorder(device, put)


def _debugger(options: RunOptions, made: Callable[[Debugger], object]) -> Callable[[Device], object] | None:
    if not (options.breaks or options.step):
        if options.break_script is not None:
            raise UsageError("--break-script needs --break or --step")
        return None
    breaks = [Breakpoint.parse(text) for text in options.breaks]
    screen = sys.stderr if options.as_json else sys.stdout
    commands = _prompt(screen) if options.break_script is None else iter(_script(options.break_script))

    def show(line: str) -> None:
        screen.write(line + "\n")
        screen.flush()

    def attach(device: Device) -> None:
        debugger = Debugger(device, list(breaks), commands, show, steps=1 if options.step else 0)
        made(debugger)
        debugger.attach()

    return attach


def _script(name: str) -> list[str]:
    try:
        return read_document(Path(name)).decode().splitlines()
    except (HailoError, UnicodeDecodeError) as error:
        raise UsageError(f"--break-script {name} cannot be read: {error}", file=name) from None


def _prompt(screen: TextIO) -> Iterator[str]:
    """Commands from standard input, with a prompt where somebody sits there."""
    prompt = PROMPT if sys.stdin.isatty() else ""
    while True:
        screen.write(prompt)
        screen.flush()
        line = sys.stdin.readline()
        if not line:
            return
        yield line
