"""Which model gives the outputs of which network group: `[GROUP=]FILE`, as commands and the environment say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from emu.errors import UsageError
from emu.files import is_regular
from emu.hef import Hef

# what gives the outputs of a network group, as `OpenDevice.configure` takes it; None: nothing does
ReferenceFor = Callable[[Hef, str], Any]


def reference_files(arguments: Sequence[str], option: str = "--reference") -> ReferenceFor:
    """`[GROUP=]FILE` arguments: a plain file is for every group that no other argument names.

    UsageError, which names `option`, for a file that is not there, and for two of one group.
    """
    files: dict[str | None, Path] = {}
    for text in arguments:
        head, sign, rest = text.partition("=")
        group, path = (head, Path(rest)) if sign and not is_regular(text) else (None, Path(text))
        if not is_regular(path):
            raise UsageError(f"{option} {text}: there is no file {path}")
        if group in files:
            raise UsageError(f"{option} {text}: a second model for {group or 'every group'}")
        files[group] = path
    return lambda hef, group: files.get(group, files.get(None))
