"""Writing what a user names: a file takes its name when it is whole, and what stood there survives a failure."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TextIO

from emu.errors import FirmwareError, OutputError
from emu.files import is_regular, is_there, shown
from emu.interrupts import at_forced_end

PART_SUFFIX = ".part"
_LONGEST_NAME = 255  # bytes of a file name on the file systems in use
_PART_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_BUFFER = 1 << 17
# names of what this process was given open
_STANDARD = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")


on_commit: list[Callable[[Path, int], None]] = []
"""Who is told of every output that is complete: its path as it was given, its bytes."""

_parts: set[Path] = set()  # of the outputs that are open


def abandon_all() -> None:
    """Nothing that is open is kept: the process ends without unwinding."""
    for part in list(_parts):
        with suppress(OSError):
            part.unlink()


def bytes_so_far() -> int:
    """Bytes that the outputs which are open hold until now; what is still buffered does not count."""
    found = 0
    for part in list(_parts):
        with suppress(OSError):
            found += part.stat().st_size
    return found


class Output:
    """One output file, opened at once and complete at `commit`.

    A regular file is written beside its final name (`.part`, locked against a second writer) and renamed when whole; a
    device, a pipe, and what the process was given open (`-` for stdout, `/dev/fd/3`) are written directly. As a context
    manager it commits at the end, after a FirmwareError too (what a stopped device did is all there is to tell), and
    otherwise leaves what stood there before.

    Raises OutputError, with the path as it was given, for whatever the system refuses, and BrokenPipeError where nobody
    reads a pipe any more. One that `fails_at_end` raises in `commit` alone, for who writes cannot stop, and a reader
    that has gone is no failure of it. `wait`: for another writer to finish instead of refusing: what is written is then
    made of what that one wrote.
    """

    def __init__(self, path: str | Path, *, wait: bool = False, fails_at_end: bool = False) -> None:
        self.path = Path(path)
        self._wait = wait
        self._part: Path | None = None
        self._text: TextIO | None = None
        self._spool: BinaryIO | None = None
        descriptor = self._open()
        self._raw = _Reporting(descriptor, self.path, fails_at_end)
        self.stream: BinaryIO = io.BufferedWriter(self._raw, _BUFFER)

    def text(self) -> TextIO:
        """The same stream for text: UTF-8, lines end in LF."""
        if self._text is None:
            self._text = io.TextIOWrapper(self.stream, encoding="utf-8", newline="\n")
        return self._text

    def random_access(self) -> BinaryIO:
        """A stream to write here and there: of a device or pipe a temporary file, which `commit` copies."""
        if self._part is not None:
            return self.stream
        import tempfile

        try:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115  # `discard` closes it
            return io.BufferedWriter(_Reporting(os.dup(self._spool.fileno()), self.path), _BUFFER)
        except OSError as error:
            raise _refusal(self.path, error) from error

    def commit(self) -> None:
        """All is written: the file takes its name."""
        if self.stream.closed:
            return
        try:
            if self._spool is not None:
                import shutil

                self._spool.seek(0)
                shutil.copyfileobj(self._spool, self.stream)
            (self._text or self.stream).flush()
            if self._raw.failure is not None:
                raise self._raw.failure
            for told in on_commit:
                told(self.path, os.fstat(self.stream.fileno()).st_size)
            if self._part is not None:
                self._part.replace(self._final)
                _parts.discard(self._part)
                self._part = None
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _refusal(self.path, error) from error
        finally:
            self.discard()

    def discard(self) -> None:
        """Nothing of it is kept; without effect on a committed one."""
        part, self._part = self._part, None
        if part is not None:
            _parts.discard(part)
            with suppress(OSError):
                part.unlink()
        with suppress(OSError, OutputError):
            self.stream.close()
        if self._spool is not None:
            self._spool.close()

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, FirmwareError):
            self.commit()
        else:
            self.discard()

    def _open(self) -> int:
        try:
            given = _given_open(str(self.path))
            if given is not None:
                return _duplicate(given)
            try:
                mode = self.path.stat().st_mode
            except FileNotFoundError:
                mode = None
            if mode is not None and not stat.S_ISREG(mode):
                # by the name that was given: a link of /proc to a pipe leads to no other. A fifo waits for its reader
                return os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            # a link stays: what it points to is replaced
            self._final = Path(os.path.realpath(self.path))
            if mode is not None and not os.access(self._final, os.W_OK):
                raise PermissionError(0, "permission denied")
            descriptor, self._part = _locked(_part_name(self._final), self._wait)
            _parts.add(self._part)
            at_forced_end(abandon_all)
            if mode is not None:
                os.fchmod(descriptor, stat.S_IMODE(mode))
            return descriptor
        except BlockingIOError:
            raise OutputError(
                f"{shown(self.path)} is being written by another process", file=shown(self.path)
            ) from None
        except (OSError, ValueError) as error:
            raise _refusal(self.path, error) from error


class _Reporting(io.FileIO):
    """A descriptor whose failing writes name the path that the user gave; `failure` is one that is not raised yet."""

    def __init__(self, descriptor: int, path: Path, fails_at_end: bool = False) -> None:
        os.set_blocking(descriptor, True)
        super().__init__(descriptor, "wb")
        self._path = path
        self._fails_at_end = fails_at_end
        self.failure: OutputError | None = None

    def tell(self) -> int:
        # a device or pipe may answer anything, and writers of archives believe it
        if not stat.S_ISREG(os.fstat(self.fileno()).st_mode):
            raise io.UnsupportedOperation("tell")
        return super().tell()

    def write(self, data: Any, /) -> int:
        size = memoryview(data).nbytes
        if self.failure is not None:
            return size
        try:
            return super().write(data)
        except BrokenPipeError:
            # no refusal: whoever read has seen enough, as of stdout
            if not self._fails_at_end:
                raise
        except OSError as error:
            self.failure = _refusal(self._path, error)
            if not self._fails_at_end:
                raise self.failure from error
        return size


def write(path: str | Path, pieces: bytes | str | Iterable[bytes | memoryview]) -> None:
    """A whole file at once."""
    with Output(path) as output:
        if isinstance(pieces, str):
            output.stream.write(pieces.encode())
        elif isinstance(pieces, bytes):
            output.stream.write(pieces)
        else:
            for piece in pieces:
                output.stream.write(piece)


def is_stream(path: str | Path) -> bool:
    """Whether an output of that name is written directly: it has no place, beside which something else could stand."""
    return _given_open(str(path)) is not None or (is_there(path) and not is_regular(path))


def make_folder(path: str | Path) -> Path:
    """The folder, made with its parents where it is missing. OutputError where that fails."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _refusal(folder, error) from error
    return folder


def _given_open(name: str) -> int | None:
    """The descriptor that a name means; None: it means none."""
    numbered = _NUMBERED.fullmatch(name)
    return _STANDARD.get(name) if numbered is None else int(numbered[1])


def _duplicate(number: int) -> int:
    """Another descriptor for what one leads to: opened by its name a file would begin anew, and a socket not open.

    OSError where it takes no writing.
    """
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC)


def _part_name(final: Path) -> Path:
    name, room = os.fsencode(final.name), _LONGEST_NAME - len(PART_SUFFIX)
    if room < len(name) <= _LONGEST_NAME:
        name = name[:room]
    return final.with_name(os.fsdecode(name) + PART_SUFFIX)


def _locked(part: Path, wait: bool) -> tuple[int, Path]:
    """The part file, empty and ours alone. BlockingIOError while another process holds it, unless we wait."""
    while True:
        descriptor = os.open(part, _PART_FLAGS, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), part.stat()):
                    os.ftruncate(descriptor, 0)
                    return descriptor, part
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # renamed between open and lock: its writer has just finished


def _refusal(path: Path, error: OSError | ValueError) -> OutputError:
    reason = ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()
    return OutputError(f"cannot write {shown(path)}: {reason}", file=shown(path))
