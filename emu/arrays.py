"""Arrays in files: .npy, .npz and raw bytes in, outputs out.

A file's header is checked before anything is allocated for it, so a forged shape costs nothing. All refusals are
UsageError with the file's name; nothing is ever unpickled.
"""

from __future__ import annotations

import io
import math
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from msgspec import Struct
from numpy.lib import format as npy
from numpy.typing import NDArray

from emu.errors import UsageError
from emu.output import Output, make_folder

_MAX_NPY_HEADER = 1 << 16
# Fortran-ordered data has to be read whole, which a small archive of nothing but zeros must not make us do
_MAX_FORTRAN_BYTES = 1 << 28
# version of the format -> bytes of its header's length, numpy's reader; 3.0 is for structures with unicode names
_NPY_HEADERS = {(1, 0): (2, npy.read_array_header_1_0), (2, 0): (4, npy.read_array_header_2_0)}
# others unpack a thousandfold and more before a byte of it can be counted: bzip2, lzma
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class ArrayFile(Struct, frozen=True):
    """An array in a file whose data has not been read yet: `shape` None for raw bytes."""

    name: str
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any]
    size: int  # bytes of data
    _open: Callable[[], AbstractContextManager[IO[bytes]]]
    _data_offset: int
    _fortran: bool

    def load(self, max_bytes: int | None = None) -> NDArray[Any]:
        """The array, or of a C-ordered one its first `max_bytes` as a flat array of whole elements."""
        if self._fortran and self.size > _MAX_FORTRAN_BYTES:
            raise UsageError(
                f"{self.name} is in Fortran order, of which at most {_MAX_FORTRAN_BYTES} bytes are read, not"
                f" {self.size}: save np.ascontiguousarray of it",
                file=self.name,
            )
        size = self.size if self._fortran or max_bytes is None else min(self.size, max_bytes)
        with _refused_as(f"cannot read {self.name}", self.name), self._open() as file:
            skip = self._data_offset
            while skip:
                skip -= len(file.read(min(skip, 1 << 20)))
            data = file.read(size)
        if len(data) < size:
            raise UsageError(f"{self.name} ends after {len(data)} of {size} bytes of data", file=self.name)
        flat = np.frombuffer(data, self.dtype)
        if self.shape is None or size != self.size:
            return flat
        return flat.reshape(self.shape, order="F" if self._fortran else "C")


def open_array(path: Path) -> ArrayFile:
    """A `.npy` file, told by its content or its name's ending; anything else as raw bytes."""
    with _refused_as(f"cannot open {path}", str(path)):
        size = _regular_size(path)
        with path.open("rb") as file:
            magic = file.read(len(npy.MAGIC_PREFIX))
    if magic[:4] == b"PK\x03\x04":
        raise UsageError(f"{path} is an archive; .npz files are for --inputs", file=str(path))
    if magic != npy.MAGIC_PREFIX and path.suffix.lower() != ".npy":
        return ArrayFile(str(path), None, np.dtype(np.uint8), size, lambda: path.open("rb"), 0, False)
    return _npy(str(path), size, lambda: path.open("rb"))


def open_arrays(path: Path) -> dict[str, ArrayFile]:
    """The arrays of a `.npz` file by name, in file order."""
    with _refused_as(f"cannot open {path} as .npz", str(path)):
        _regular_size(path)
        archive = zipfile.ZipFile(path)
    arrays: dict[str, ArrayFile] = {}
    for member in archive.infolist():
        if member.compress_type not in _PACKINGS:
            raise UsageError(
                f"{path}: {member.filename:.80} is packed by method {member.compress_type}; numpy stores or deflates",
                file=str(path),
            )
        name = member.filename.removesuffix(".npy")
        arrays[name] = _npy(f"{path}[{name}]", member.file_size, _member_opener(archive, member))
    return arrays


def _member_opener(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> Callable[[], AbstractContextManager[IO[bytes]]]:
    return lambda: archive.open(member)


def _npy(name: str, size: int, opener: Callable[[], AbstractContextManager[IO[bytes]]]) -> ArrayFile:
    with _refused_as(f"{name} is no .npy array", name), opener() as file:
        version = npy.read_magic(file)
        if version not in _NPY_HEADERS:
            raise ValueError(f"version {version[0]}.{version[1]} of the format")
        length_bytes, read_header = _NPY_HEADERS[version]
        length = file.read(length_bytes)
        header = file.read(min(int.from_bytes(length, "little"), _MAX_NPY_HEADER + 1))
        shape, fortran, dtype = read_header(io.BytesIO(length + header), max_header_size=_MAX_NPY_HEADER)
        if any(type(extent) is not int or extent < 0 for extent in shape):
            raise ValueError(f"shape {shape}")
    offset = npy.MAGIC_LEN + length_bytes + len(header)
    if dtype.hasobject:
        raise UsageError(f"{name} holds Python objects, not numbers", file=name)
    needed = math.prod(shape) * dtype.itemsize
    if offset + needed != size:
        raise UsageError(
            f"{name} has {size - offset} bytes of data, its header says {needed} = "
            f"{'·'.join(str(extent) for extent in (*shape, dtype.itemsize))}",
            file=name,
        )
    return ArrayFile(name, tuple(shape), dtype, needed, opener, offset, bool(fortran))


def _regular_size(path: Path) -> int:
    """Bytes of a file; a pipe or device has no size to check and may never answer."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("is a directory" if stat.S_ISDIR(status.st_mode) else "is no regular file")
    return status.st_size


@contextmanager
def _refused_as(message: str, file: str) -> Iterator[None]:
    """Whatever goes wrong inside as a UsageError of one line.

    On hostile bytes zipfile, its decompressors and numpy's header parser (a Python tokenizer) raise many kinds.
    """
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        first = (reason.splitlines() or [type(error).__name__])[0]
        acronym = first[1:2].isupper()
        raise UsageError(f"{message}: {first if acronym else first[:1].lower() + first[1:]}", file=file) from None


def output_file_name(position: int, name: str) -> str:
    """`NN_NAME.npy`, characters outside [A-Za-z0-9._-] replaced (cli.md)."""
    return f"{position:02d}_{_UNSAFE.sub('_', name)}.npy"


def save_to_directory(directory: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Every array as `NN_NAME.npy`, NN its position; the directory is made if it is not there."""
    make_folder(directory)
    for position, (name, array) in enumerate(arrays.items()):
        save_array(directory / output_file_name(position, name), array)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """One array as a `.npy` file; its directory is made if it is not there."""
    make_folder(path.parent)
    with Output(path) as output:
        npy.write_array(output.stream, np.asanyarray(array), allow_pickle=False)


def save_to_archive(target: Path | Output, arrays: Mapping[str, NDArray[Any]]) -> None:
    """All arrays in one .npz file under their exact names."""
    opened = Output(target) if isinstance(target, Path) else target
    with opened as output, zipfile.ZipFile(output.stream, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            # a fixed date: the same arrays give the same bytes
            member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(member, "w", force_zip64=True) as file:
                npy.write_array(file, np.asanyarray(array), allow_pickle=False)
