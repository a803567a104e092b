"""Arrays and pictures that a user gives as inputs."""

from __future__ import annotations

import functools
import io
import struct
import zipfile
import zlib
from random import Random

import numpy as np
from PIL import Image

from emu.arrays import open_arrays, save_to_archive
from emu.images.read import read_picture
from emu.output import Output
from fuzz.files import folder, given
from fuzz.mutation import NUMBERS, mutate_bytes, mutate_word
from fuzz.target import Target

_PACKINGS = (*(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) * 8, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_MOST = 1 << 22


@functools.cache
def _archives() -> list[bytes]:
    found = []
    for arrays in (
        {"x": np.arange(12, dtype=np.float32).reshape(3, 4)},
        {"a/b": np.zeros((2, 0, 3), np.uint8), "c": np.asfortranarray(np.ones((4, 5), np.int16))},
        {"s": np.float64(1.5), "t": np.array([True, False])},
    ):
        path = folder() / "seed.npz"
        save_to_archive(Output(path), {name: np.asanyarray(value) for name, value in arrays.items()})
        found.append(path.read_bytes())
    return found


def read_archive(data: bytes) -> None:
    for array in open_arrays(given(data, "arrays.npz")).values():
        array.load(_MOST)


def _mutate_archive(data: bytes, random: Random) -> bytes:
    """A member's header text or bytes changed and packed anew, in any packing; or bytes of the archive itself."""
    if random.random() < 0.4:
        return mutate_word(data, random) if random.random() < 0.3 else mutate_bytes(data, random)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > 1 << 20:
                return mutate_bytes(data, random)
            members = {one.filename: archive.read(one) for one in archive.infolist()}
    except Exception:  # a mutant of a mutant, which zipfile refuses in many ways
        return mutate_bytes(data, random)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice(_PACKINGS)) as archive:
        for name, member in members.items():
            if random.random() < 0.5:
                member = _header(member, random) if random.random() < 0.6 else mutate_bytes(member, random)
            archive.writestr(name, member)
    return out.getvalue()


def _header(member: bytes, random: Random) -> bytes:
    words = [b"(", b")", b"{", b"True", b"'O'", b"'<U9'", b"'<f8'", b"-1", b"[('a','<i4')]", b"9" * 40]
    words += [str(one).encode() for one in NUMBERS]
    at = random.randrange(10, max(11, min(len(member), 128)))
    word = random.choice(words)
    return member[:at] + word + member[at + (len(word) if random.random() < 0.7 else 0) :]


@functools.cache
def _pictures() -> list[bytes]:
    pixels = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)
    found = []
    for mode in ("RGB", "L", "P", "RGBA", "I;16"):
        for kind in ("PNG", "JPEG", "BMP"):
            out = io.BytesIO()
            try:
                image = Image.fromarray(pixels)
                (Image.new(mode, (9, 8)) if mode == "I;16" else image.convert(mode)).save(out, kind)
            except OSError:  # a kind that has not this mode
                continue
            found.append(out.getvalue())
    return found


def read_any_picture(data: bytes) -> None:
    read_picture(given(data, "picture.bmp" if data.startswith(b"BM") else "picture.png"))


def _mutate_picture(data: bytes, random: Random) -> bytes:
    """Bytes, or a chunk of a PNG with its checksum redone."""
    if not data.startswith(b"\x89PNG") or random.random() < 0.3:
        return mutate_word(data, random) if random.random() < 0.3 else mutate_bytes(data, random)
    chunks, at = [], 8
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    if not chunks:
        return mutate_bytes(data, random)
    chosen = random.randrange(len(chunks))
    kind, body = chunks[chosen]
    change = random.randrange(4)
    if change == 0:
        del chunks[chosen]
    elif change == 1:
        chunks.insert(random.randrange(len(chunks)), (random.choice((kind, b"eXIf", b"iCCP", b"zTXt", b"acTL")), body))
    else:
        chunks[chosen] = (kind, mutate_bytes(body, random))
    out = bytearray(data[:8])
    for kind, body in chunks:
        out += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return bytes(out)


TARGETS = (
    Target("npz", _archives, read_archive, _mutate_archive),
    Target("picture", _pictures, read_any_picture, _mutate_picture),
)
