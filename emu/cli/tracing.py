"""Which sinks a run writes to: `--trace`, `--trace-format` (cli.md)."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from emu.chips.chips import Profile
from emu.cli.log import note
from emu.cli.options import output_path
from emu.cli.progress import bytes_text
from emu.cli.run_options import TRACE_TO_STDOUT, RunOptions
from emu.errors import CommandLineError, EmuError
from emu.output import Output
from emu.reference import SOURCE
from emu.trace.events import Header, Sink

if TYPE_CHECKING:
    from emu.cli.run_outputs import RunOutputs
    from emu.cli.run_report import Outcome
    from emu.host.prepare import PreparedRun

FW_ACTIONS = "fw-actions"
_LATEST = 253_402_300_799  # the last second of the year 9999, where calendars end


def check_trace(options: RunOptions) -> None:
    """UsageError for a trace that cannot be written; nothing has run yet."""
    if options.trace == TRACE_TO_STDOUT and options.trace_format not in (None, "text"):
        raise CommandLineError(f"--trace-format {options.trace_format} needs --trace=FILE")
    if options.registers and options.trace_format == FW_ACTIONS:
        raise CommandLineError(f"--trace=registers: the format {FW_ACTIONS} has no place for registers")
    if options.trace:
        output_path(options.trace)
    if options.dump_action_list is not None:
        output_path(options.dump_action_list)
    if wants_action_lists(options):
        source_date_epoch(0)  # refused before anything runs
        if len(options.models) > 1:
            raise CommandLineError(f"an action list dump describes one HEF, {len(options.models)} were given")


def check_registers(profile: Profile, option: str) -> None:
    """CommandLineError, of the option that asked, for a device whose registers nobody reaches."""
    if profile.boot is None:
        raise CommandLineError(f"{option}: {profile.device} is part of its host, only cards have registers")


def trace_sinks(options: RunOptions, header: Header, files: ExitStack) -> list[Sink]:
    """The sinks that events go to; `fw-actions` has none, it is made of what the device hands out afterwards."""
    if options.trace is None or options.trace_format == FW_ACTIONS:
        return []
    if options.trace == TRACE_TO_STDOUT:
        return [_text_sink(options, header, sys.stdout)]
    return [_sink(options, header, files.enter_context(Output(options.trace)))]


def _sink(options: RunOptions, header: Header, output: Output | _Counted) -> Sink:
    """The sink of the format that was asked for, onto a file."""
    stream: Any = output.stream if isinstance(output, Output) else output
    if options.trace_format == "text":
        if isinstance(output, Output):
            return _text_sink(options, header, output.text())
        return _text_sink(options, header, io.TextIOWrapper(io.BufferedWriter(output), encoding="utf-8"))
    if options.trace_format == "perfetto":
        from emu.trace.sinks.perfetto import PerfettoSink

        return PerfettoSink(stream, header)
    from emu.trace.sinks.jsonl import JsonlSink

    return JsonlSink(stream, header)


def _text_sink(options: RunOptions, header: Header, stream: TextIO) -> Sink:
    from emu.trace.sinks.text import TextSink

    return TextSink(stream, header, SOURCE) if options.spec.reference.reference else TextSink(stream, header)


_MANY_FRAMES = 2000
"""From which on a trace may become large enough to be measured beforehand."""
_LARGE = 1_000_000_000


def warn_of_size(run: PreparedRun, options: RunOptions, name: str) -> None:
    """A note before a trace of more than 1 GB is written: measured over a few batches, and carried on to all frames."""
    request = run.request
    frames = request.frames * len(run.program.network_groups)
    if not options.trace or options.trace_format == FW_ACTIONS or frames < _MANY_FRAMES or request.faults:
        return
    from msgspec.structs import replace

    from emu.host.session import run_program
    from emu.trace.tracer import Tracer

    batch = max(group.batch_size for group in run.program.network_groups)
    sizes = []
    for batches in (4, 8):
        counted = _Counted()
        sinks = [_sink(options, run.header(name), counted)]
        tracer = partial(Tracer, sinks, registers=options.registers)
        try:
            few = replace(request, frames=batches * batch, tracer_for=tracer, inputs=None, outputs=None)
            run_program(run.program, run.profile, replace(few, keep_outputs=False, measure_actions=False, take=None))
        except EmuError:
            return  # the run itself will say so
        sizes.append(counted.size)
    a_batch = (sizes[1] - sizes[0]) / 4
    whole = sizes[0] + a_batch * (request.frames / batch - 4)
    if whole > _LARGE:
        note(f"the trace of {request.frames:,} frames will take about {bytes_text(whole)}")


class _Counted(io.RawIOBase):
    """A stream that only counts."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.size += len(data)
        return len(data)


def profile_of(options: RunOptions) -> str | None:
    """Where the document of `--trace-format fw-actions` goes, if it was asked for."""
    return options.trace if options.trace_format == FW_ACTIONS else None


def wants_action_lists(options: RunOptions) -> bool:
    """Whether the run has to download the action lists at its end."""
    return options.trace_format == FW_ACTIONS or options.dump_action_list is not None


def write_action_lists(
    outcome: Outcome, options: RunOptions, outputs: RunOutputs, profile: Profile, timestamp: int
) -> None:
    """The `measure-fw-actions` document of `--trace-format fw-actions`, the dump of `--dump-action-list`.

    `timestamp` (seconds since 1970) is the creation time where SOURCE_DATE_EPOCH is not set.
    """
    if not wants_action_lists(options):
        return
    from emu.trace.sinks import fw_actions

    actions = options.spec.actions
    name = actions if actions is not None else options.models[0].name
    source = actions if actions is not None else options.models[0].source
    with _opened(source) as stream:
        file_hash = fw_actions.md5(stream)
    runs = [
        fw_actions.MeasuredRun(group.batch_size, result.fps, result.action_lists)
        for group, result in zip(outcome.program.network_groups, outcome.result.groups, strict=True)
    ]
    makers: list[tuple[Output | None, Callable[..., dict[str, Any]]]] = [
        (outputs.profile, fw_actions.profile),
        (outputs.action_list, fw_actions.action_list_dump),
    ]
    for output, make in makers:
        if output is None:
            continue
        document = make(
            runs,
            runtime=outcome.program.runtime,
            created=source_date_epoch(timestamp),
            clock_cycle_mhz=int(profile.timestamp_hz) // 1_000_000,
            path=name,
            file_hash=file_hash,
        )
        with output:
            output.stream.write((fw_actions.dumps(document) + "\n").encode())


def _opened(source: Path | str | bytes) -> io.BufferedIOBase:
    return io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb")


def source_date_epoch(otherwise: int) -> int:
    """Seconds since 1970 that a document was made; UsageError for a SOURCE_DATE_EPOCH that is none."""
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if text is None:
        return min(otherwise, _LATEST)  # a HEF may say anything
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_LATEST)) and int(text) <= _LATEST):
        raise CommandLineError(f"SOURCE_DATE_EPOCH is {text[:40]!r}, no number of seconds up to the year 9999")
    return int(text)
