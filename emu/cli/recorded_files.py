"""The files that a recording is of, and those that stand for them now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emu.cli.run_settings import md5
from emu.errors import HailoError, HailoStatus, UsageError
from emu.files import is_regular
from emu.trace.record import Recording


def says_nothing(recording: Recording, error: Exception) -> HailoError:
    """For a manifest in which something is missing or of another kind."""
    return HailoError(
        HailoStatus.HAILO_INVALID_ARGUMENT,
        f"the manifest does not say what ran ({type(error).__name__} {error})",
        file=str(recording.folder),
    )


def recorded_files(recording: Recording) -> list[tuple[str, str]]:
    """(path, md5) of each, in their order; raises as a document does that is not what it should be."""
    return [(str(entry["path"]), str(entry["md5"])) for entry in recording.run["files"]]


def files_now(recorded: Sequence[tuple[str, str]], models: Sequence[str]) -> tuple[list[Path], list[str]]:
    """(the files that are taken, what is to be said of them); `models` stand for the recorded ones, in their order.

    UsageError where there are more or fewer of them, or a file is not there.
    """
    if models and len(models) != len(recorded):
        raise UsageError(f"the recording is of {len(recorded)} files, {len(models)} were given")
    paths = [Path(one) for one in models or [path for path, _ in recorded]]
    notes = []
    for path, (then, digest) in zip(paths, recorded, strict=True):
        if not is_regular(path):
            raise UsageError(f"{path} is not there any more: name the file that stands in for it", file=str(path))
        if md5(path) != digest:
            notes.append(f"{path} is not the file that was recorded ({then}): its bytes differ")
    return paths, notes
