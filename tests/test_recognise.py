"""What a file is by its first bytes: the magic numbers of the formats' own specifications."""

from __future__ import annotations

import struct

import pytest

from emu.recognise import HEF_MAGIC, Kind, foreign_name, recognise

# a flatbuffer: offset of the root table, identifier, a vtable of 3 slots, the table that points back to it
FLATBUFFER = struct.pack("<I4sHHHHHHi", 20, b"\0\0\0\0", 10, 8, 4, 0, 0, 0, 12) + bytes(8)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (HEF_MAGIC + bytes(60), Kind.HEF),
        (b"IMOD" + bytes(252), Kind.OM),
        (b"PICO" + bytes(252), Kind.OM),
        (struct.pack("<I4s", 16, b"MSL2") + bytes(40), Kind.MS),
        (FLATBUFFER, Kind.MS),
        (FLATBUFFER[:16], Kind.HEF),
        (b"", Kind.HEF),
        (b"\0" * 64, Kind.HEF),
    ],
)
def test_the_kind_of_a_model(head: bytes, kind: Kind) -> None:
    assert recognise(head) is kind
    assert recognise(memoryview(head)) is kind


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"", "an empty file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
        (b"PK\x03\x04\x14\0", "zip"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd\x04", "zstd"),
        (bytes(257) + b"ustar\x0000", "tar"),
        (b"\x7fELF\x02\x01", "ELF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"\x93NUMPY\x01\0", "numpy"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"%PDF-1.7", "PDF"),
        (b"  <!DOCTYPE html><html>", "HTML"),
        (b"<html>", "HTML"),
        (b"<?xml version='1.0'?>", "XML"),
        (b"\x1c\0\0\0TFL3" + bytes(20), "TensorFlow Lite"),
        (b"\x08\x07\x12\x0connx-example", "ONNX"),
        (bytes(100), "zero bytes"),
        (b"just some words\n", "text"),
        ("Grüße\n".encode("latin-1"), "text"),
    ],
)
def test_what_is_no_model_is_named(head: bytes, name: str) -> None:
    found = foreign_name(head)
    assert found is not None and name in found


def test_what_cannot_be_told_has_no_name() -> None:
    assert foreign_name(bytes(range(1, 32)) * 4) is None
