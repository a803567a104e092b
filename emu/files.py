"""Opening what a user names: a regular file only, for anything else could block or never end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from emu.errors import HailoError, HailoStatus

_BLOCK = 1 << 16
LARGEST_DOCUMENT = 1 << 28
"""No capture, action list or report comes near it."""


LARGEST_MODEL = 1 << 30
"""Of a model that is no file but comes from a pipe, and has to fit into memory."""


def shown(path: str | Path) -> str:
    """A path as it can be printed and stand in JSON: bytes of a name that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def is_folder(path: str | Path) -> bool:
    """Whether there is such a folder; False too for a name that the system refuses (too long, NUL), which
    `Path.is_dir` raises for."""
    return os.path.isdir(path)  # noqa: PTH112


def is_regular(path: str | Path) -> bool:
    """The same for a file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_there(path: str | Path) -> bool:
    """The same for anything."""
    return os.path.exists(path)  # noqa: PTH110


def open_descriptor(path: str | Path) -> int:
    """The descriptor of a regular file, open for reading.

    HAILO_OPEN_FILE_FAILURE if it cannot be opened, HAILO_FILE_OPERATION_FAILURE for a directory, which opens but does
    not read (file_utils.cpp of HailoRT), and for a device or pipe.
    """
    try:
        # opening a pipe would wait for its other end; reading a regular file never waits
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()
        raise _refusal(HailoStatus.HAILO_OPEN_FILE_FAILURE, f"cannot open {shown(path)}: {reason}", path) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    what = "a directory" if stat.S_ISDIR(mode) else "not a regular file (`-` reads standard input)"
    raise _refusal(HailoStatus.HAILO_FILE_OPERATION_FAILURE, f"{shown(path)} is {what}", path)


def open_regular(path: Path) -> BinaryIO:
    """The same as a binary file."""
    return os.fdopen(open_descriptor(path), "rb")


def read_document(path: Path, begins: bytes = b"") -> bytes:
    """All of a file that must fit into memory; only its first block where its text does not begin with `begins`.

    Raises as `open_regular`, and where it is larger than any document.
    """
    with open_regular(path) as file:
        data = file.read(_BLOCK)
        if begins and not data.lstrip().startswith(begins):
            return data
        data += file.read(LARGEST_DOCUMENT + 1 - len(data))
    if len(data) > LARGEST_DOCUMENT:
        text = f"{shown(path)} is larger than {LARGEST_DOCUMENT} bytes"
        raise _refusal(HailoStatus.HAILO_FILE_OPERATION_FAILURE, text, path)
    return data


def _refusal(status: HailoStatus, text: str, path: str | Path) -> HailoError:
    return HailoError(status, text, file=shown(path))
