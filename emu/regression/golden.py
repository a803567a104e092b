"""Golden traces: a trace kept beside a test, compared by meaning, and written anew only for the same run."""

from __future__ import annotations

import shutil
from pathlib import Path

from emu.errors import HailoError, HailoStatus
from emu.trace import diff
from emu.trace.events import Header
from emu.trace.reader import TraceReader


def check_golden(golden: Path, trace: Path, *, update: bool, tolerance: float | None = None) -> None:
    """AssertionError with the difference where the trace is not the golden one; `update` writes it instead.

    HAILO_INVALID_ARGUMENT for a golden file that is no trace or of another model; it is left as it is.
    """
    __tracebackhide__ = True
    mine = TraceReader(trace)
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
    # a cut-off update must not leave half a golden file
    half = golden.with_name(golden.name + ".new")
    shutil.copyfile(trace, half)
    half.replace(golden)


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


def _settings(kept: Header, mine: Header) -> list[tuple[str, object, object]]:
    names = ("runtime", "device", "batch", "frames", "seed")
    return [(name, getattr(kept, name), getattr(mine, name)) for name in names]
