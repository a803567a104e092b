"""Golden traces: a trace kept beside a test, compared by meaning, and written anew only for the same run."""

from __future__ import annotations

import shutil
from pathlib import Path

from emu.errors import HailoError, HailoStatus
from emu.output import Output
from emu.recognise import read_head
from emu.trace import diff, list_diff
from emu.trace.events import Header
from emu.trace.fw_actions import is_fw_actions, read_fw_actions
from emu.trace.reader import TraceReader
from emu.trace.stamped import executed_only, profile_of_trace


def check_golden(golden: Path, trace: Path, *, update: bool, tolerance: float | None = None) -> None:
    """AssertionError with the difference where the trace is not the golden one; `update` writes it instead.

    A golden file of `hailortcli run2 measure-fw-actions` is compared action by action, and never written.
    HAILO_INVALID_ARGUMENT for a golden file that is no trace or of another model; it is left as it is.
    """
    __tracebackhide__ = True
    mine = TraceReader(trace)
    if golden.is_file() and is_fw_actions(read_head(golden)):
        _compare_profile(golden, mine, tolerance)
        return
    if golden.exists():
        kept = TraceReader(golden)
        _check_same_model(kept, mine)
        if not update:
            _compare(kept, mine, tolerance)
            return
    elif not update:
        raise AssertionError(f"there is no golden file {golden}: run `pytest --emu-update` and look at what it writes")
    if not golden.parent.is_dir():
        raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{golden.parent} is no directory", file=str(golden))
    with Output(golden) as output, trace.open("rb") as source:
        shutil.copyfileobj(source, output.stream)


def _check_same_model(kept: TraceReader, mine: TraceReader) -> None:
    if Path(kept.header.model).name != Path(mine.header.model).name:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT,
            f"the golden file is of {kept.header.model}, this run is of {mine.header.model}: it is left as it is",
            file=kept.name,
        )


def _compare(kept: TraceReader, mine: TraceReader, tolerance: float | None) -> None:
    __tracebackhide__ = True
    different = [
        f"{name}: golden {want}, this run {have}"
        for name, want, have in _settings(kept.header, mine.header)
        if want != have
    ]
    if different:
        raise AssertionError("\n  ".join([f"{kept.name} is of a run with other settings", *different]))
    result = diff.compare(kept, mine, tolerance)
    if not result.equal:
        raise AssertionError("\n".join([f"the trace is not {kept.name} (A golden, B this run)", *diff.text(result)]))


def _compare_profile(golden: Path, mine: TraceReader, tolerance: float | None) -> None:
    """The lists that hardware executed against those of the run, where it measured this batch."""
    __tracebackhide__ = True
    kept = executed_only(read_fw_actions(golden))
    runs = tuple(run for run in kept.runs if run.batch_size == mine.header.batch)
    if not runs:
        measured = ", ".join(str(run.batch_size) for run in kept.runs) or "nothing"
        raise AssertionError(f"{golden} was measured with batch {measured}, this run is of batch {mine.header.batch}")
    ours = profile_of_trace(mine)
    result = list_diff.compare_profiles(kept._replace(runs=runs), ours, (str(golden), mine.name), tolerance)
    if not result.equal:
        raise AssertionError("\n".join([f"the run is not {golden} (A golden, B this run)", *list_diff.text(result)]))


def _settings(kept: Header, mine: Header) -> list[tuple[str, object, object]]:
    names = ("runtime", "device", "batch", "frames", "seed")
    return [(name, getattr(kept, name), getattr(mine, name)) for name in names]
