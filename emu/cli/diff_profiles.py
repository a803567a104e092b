"""`emu diff` where a side is what measure-fw-actions wrote: list by list, action by action, in order and in time."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from emu.cli.document import print_document
from emu.cli.log import warn
from emu.cli.screen import say
from emu.errors import CommandLineError, ExitCode
from emu.files import is_regular, open_regular, shown
from emu.host.spec import COMPILING, HefSettings, RunSpec
from emu.recognise import Kind, read_head, recognise
from emu.trace.fw_actions import FirmwareProfile, is_fw_actions, read_fw_actions
from emu.trace.list_diff import compare_profiles, document, text
from emu.trace.reader import TraceReader, is_trace
from emu.trace.sinks.fw_actions import md5
from emu.trace.stamped import executed_only, profile_of_trace

RUNNING = (*(name for name in COMPILING if name not in ("batch", "net_batch")), "clock_mhz", "link", "host_profile")
"""Settings of the run that a profile is compared with; its batches are the profile's."""


def is_profile(argument: str) -> bool:
    """Whether a file is what measure-fw-actions or `--trace-format fw-actions` wrote."""
    path = Path(argument)
    return is_regular(path) and is_fw_actions(read_head(path))


def compare(a: str, b: str, common: HefSettings, tolerance: float | None, as_json: bool) -> int:
    """Print what differs; exit code 6 where something does. One side at least is a profile; the other a profile, a
    trace, or a HEF, which is run. Raises what reading, compiling and running raise."""
    profiles = [read_fw_actions(Path(one)) if is_profile(one) else None for one in (a, b)]
    kept = [one for one in profiles if one is not None]
    if len(kept) == 2:
        common.refuse_but((), "two profiles")
        first, second = kept
    else:
        (given,) = kept
        given, other = _other(given, b if profiles[1] is None else a, common)
        first, second = (given, other) if profiles[0] is not None else (other, given)
    result = compare_profiles(first, second, (shown(a), shown(b)), tolerance)
    if as_json:
        print_document(document(result))
    else:
        say(text(result))
    return 0 if result.equal else ExitCode.DIFFERENT


def _other(given: FirmwareProfile, argument: str, common: HefSettings) -> tuple[FirmwareProfile, FirmwareProfile]:
    """What the profile can be compared with of it, and the other side in the same form."""
    path = Path(argument)
    head = read_head(path)
    if is_trace(head):
        common.refuse_but((), "a profile and a trace")
        trace = profile_of_trace(TraceReader(path))
        batch = trace.runs[0].batch_size
        same = tuple(run for run in given.runs if run.batch_size == batch) or given.runs[:1] * (len(given.runs) == 1)
        if not same:
            batches = ", ".join(str(run.batch_size) for run in given.runs) or "none"
            raise CommandLineError(f"the trace is of batch {batch}, the profile of {batches}")
        return executed_only(given._replace(runs=same)), trace
    if recognise(head) is not Kind.HEF:
        raise CommandLineError("a profile is compared with a profile, a trace or a HEF", file=shown(argument))
    common.refuse_but(RUNNING, "a profile and a HEF")
    if not given.runs:
        raise CommandLineError("the profile holds no runs")
    from emu.host.measured import measured

    with open_regular(path) as stream:
        found = md5(stream)
    if given.file_hash and given.file_hash != found:
        warn(f"the profile was measured of another file, {given.hef!r:.80} with md5 {given.file_hash:.32}")
    settings = replace(common, batch=None, frames=None)
    sizes = [run.batch_size for run in given.runs]
    return given, measured(RunSpec(models=(path,), settings=settings), sizes, shown(argument))
