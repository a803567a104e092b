"""What a file is, told by its content and never by its name (cli.md)."""

from __future__ import annotations

import struct
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from emu.files import open_regular

HEAD_SIZE = 4096
HEF_MAGIC = b"\x01HEF"


class Kind(Enum):
    """The model formats that emu reads; everything else is offered to the HEF reader, which refuses it."""

    HEF = "hef"
    OM = "om"
    MS = "ms"


_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer, not the file it points to (run `git lfs pull`)",
    ),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"ustar", "a tar archive"),
    (b"\x7fELF", "an ELF program"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x93NUMPY", "a numpy array"),
    (b"\x89HDF", "an HDF5 file (Keras model?)"),
    (b"%PDF", "a PDF document"),
    (b"PICO", "a HiSilicon SVP (PICO) model"),
)


def recognise(head: bytes | memoryview) -> Kind:
    """The kind of a model from its first `HEAD_SIZE` bytes (or the whole of a shorter file)."""
    data = bytes(head[:HEAD_SIZE])
    if data[:4] in (b"IMOD", b"PICO"):
        return Kind.OM
    if data[:4] != HEF_MAGIC and _is_mindspore(data):
        return Kind.MS
    return Kind.HEF


def _is_mindspore(data: bytes) -> bool:
    """A flatbuffer root table with a vtable near it, as MindSpore (predict or Lite) writes it (ms-predict.md 0)."""
    if data[4:8] in (b"MSL0", b"MSL1", b"MSL2"):
        return True
    if len(data) < 16:
        return False
    (root,) = struct.unpack_from("<I", data)
    if root < 4 or root % 4 or root + 4 > len(data):
        return False
    (to_vtable,) = struct.unpack_from("<i", data, root)
    vtable = root - to_vtable
    if vtable < 4 or vtable % 2 or vtable + 4 > len(data):
        return False
    vtable_size: int
    vtable_size, table_size = struct.unpack_from("<HH", data, vtable)
    return 4 <= vtable_size <= 64 and vtable_size % 2 == 0 and 4 <= table_size <= 256


def foreign_name(head: bytes | memoryview) -> str | None:
    """What a file that is no model of ours really is, where that can be told; None where it cannot."""
    data = bytes(head[:HEAD_SIZE])
    if not data:
        return "an empty file"
    for magic, name in _FOREIGN:
        if data.startswith(magic):
            return name
    if data[257:262] == b"ustar":
        return "a tar archive"
    start = data[:256].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "an HTML page (a download that needs a login?)"
    if start.startswith(b"<?xml"):
        return "an XML document"
    if data[4:8] == b"TFL3":
        return "a TensorFlow Lite model"
    if data[:1] == b"\x08" and b"onnx" in data[:256].lower():
        return "an ONNX model"
    if not any(data):
        return "a file of zero bytes only"
    if _is_text(data):
        return "a text file"
    return None


def _is_text(data: bytes) -> bool:
    """Text in any encoding that keeps ASCII; a few stray bytes do not make it binary."""
    control = sum(byte < 32 and byte not in b"\t\r\n\f" for byte in data)
    return control * 50 <= len(data)


def read_head(source: Path | BinaryIO) -> bytes:
    """The first bytes of a file. Raises as `open_regular`."""
    if not isinstance(source, Path):
        return source.read(HEAD_SIZE)
    with open_regular(source) as file:
        return file.read(HEAD_SIZE)
