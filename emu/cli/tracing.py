"""Which sinks a run writes to: `--trace`, `--trace-format` (cli.md)."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu.cli.options import output_path
from emu.cli.run import TRACE_TO_STDOUT, RunOptions
from emu.errors import UsageError
from emu.hw.profiles import Profile
from emu.trace.events import Header, Sink

if TYPE_CHECKING:
    from emu.cli.run_report import Outcome

FW_ACTIONS = "fw-actions"
_LATEST = 253_402_300_799  # the last second of the year 9999, where calendars end


def check_trace(options: RunOptions) -> None:
    """UsageError for a trace that cannot be written; nothing has run yet."""
    if options.trace == TRACE_TO_STDOUT and options.trace_format not in (None, "text"):
        raise UsageError(f"--trace-format {options.trace_format} needs --trace=FILE")
    if options.trace:
        writable(options.trace)
    if options.dump_action_list is not None:
        writable(options.dump_action_list)
    if wants_action_lists(options):
        _source_date_epoch(0)  # refused before anything runs
        if len(options.models) > 1:
            raise UsageError(f"an action list dump describes one HEF, {len(options.models)} were given")


def trace_sinks(options: RunOptions, header: Header, files: ExitStack) -> list[Sink]:
    """The sinks that events go to; `fw-actions` has none, it is made of what the device hands out afterwards."""
    if options.trace is None or options.trace_format == FW_ACTIONS:
        return []
    if options.trace == TRACE_TO_STDOUT or options.trace_format == "text":
        from emu.trace.sinks.text import TextSink

        if options.trace == TRACE_TO_STDOUT:
            return [TextSink(sys.stdout, header)]
        return [TextSink(files.enter_context(writable(options.trace).open("w", encoding="utf-8")), header)]
    stream = files.enter_context(writable(options.trace).open("wb"))
    if options.trace_format == "perfetto":
        from emu.trace.sinks.perfetto import PerfettoSink

        return [PerfettoSink(stream, header)]
    from emu.trace.sinks.jsonl import JsonlSink

    return [JsonlSink(stream, header)]


def wants_action_lists(options: RunOptions) -> bool:
    """Whether the run has to download the action lists at its end."""
    return options.trace_format == FW_ACTIONS or options.dump_action_list is not None


def write_action_lists(outcome: Outcome, options: RunOptions, profile: Profile, timestamp: int) -> None:
    """The `measure-fw-actions` document of `--trace-format fw-actions`, the dump of `--dump-action-list`.

    `timestamp` (seconds since 1970) is the creation time where SOURCE_DATE_EPOCH is not set.
    """
    if not wants_action_lists(options):
        return
    from emu.trace.sinks import fw_actions

    name = options.actions if options.actions is not None else options.models[0].name
    source = options.actions if options.actions is not None else options.models[0].source
    with _opened(source) as stream:
        file_hash = fw_actions.md5(stream)
    runs = [
        fw_actions.MeasuredRun(group.batch_size, result.fps, result.action_lists)
        for group, result in zip(outcome.program.network_groups, outcome.result.groups, strict=True)
    ]
    documents: list[tuple[str | None, Callable[..., dict[str, Any]]]] = []
    if options.trace_format == FW_ACTIONS:
        documents.append((options.trace, fw_actions.profile))
    if options.dump_action_list is not None:
        documents.append((options.dump_action_list, fw_actions.action_list_dump))
    for target, make in documents:
        assert target is not None
        document = make(
            runs,
            runtime=outcome.program.runtime,
            created=_source_date_epoch(timestamp),
            clock_cycle_mhz=int(profile.timestamp_hz) // 1_000_000,
            path=name,
            file_hash=file_hash,
        )
        writable(target).write_text(fw_actions.dumps(document) + "\n", encoding="utf-8")


def _opened(source: Path | str | bytes) -> io.BufferedIOBase:
    return io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb")


def _source_date_epoch(otherwise: int) -> int:
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if text is None:
        return min(otherwise, _LATEST)  # a HEF may say anything
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_LATEST)) and int(text) <= _LATEST):
        raise UsageError(f"SOURCE_DATE_EPOCH is {text[:40]!r}, no number of seconds up to the year 9999")
    return int(text)


def writable(argument: str) -> Path:
    """A path that can be written to; UsageError for a model file, a directory, a missing folder."""
    path = output_path(argument)
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no directory", file=argument)
    return path
