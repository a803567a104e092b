"""Mutations of plain bytes, and the numbers and texts that forged fields take."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

NUMBERS = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 4095, 4096, 32767, 32768, 65535, 65536)
WIDE = (1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
TEXTS = (
    b"",
    b"x",
    b"\x1b[31mX\x1b]0;t\x07",
    b"\xff\xfe",
    b"\xc2\x9b31m",
    b"a\nb",
    b"\0",
    b"../../x",
    b"%s%n",
    b"x" * 300,
)


def number(random: Random) -> int:
    return random.choice(NUMBERS if random.random() < 0.6 else WIDE)


def near(value: int, random: Random, bits: int = 64) -> int:
    """A forged number, or the one that was there a little off."""
    forged = number(random) if random.random() < 0.6 else value + random.choice((-8, -4, -2, -1, 1, 2, 4, 8))
    return forged & (1 << bits) - 1


def mutate_bytes(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """One to four changes: bits, bytes, words, cuts, removed, repeated and foreign pieces."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(out) + 1)
        kind = random.randrange(8)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << random.randrange(8)
        elif kind == 1 and at < len(out):
            out[at] = random.randrange(256)
        elif kind in (2, 3):
            size, order = random.choice((1, 2, 4, 4, 8)), random.choice(("little", "big"))
            at -= at % size
            value = near(int.from_bytes(out[at : at + size], order), random, 8 * size)
            out[at : at + size] = value.to_bytes(size, order)
        elif kind == 4 and random.random() < 0.3:
            del out[at:]
        elif kind == 5:
            del out[at : at + random.randrange(1, 17)]
        elif kind == 6:
            size = random.randrange(1, 33)
            out[at:at] = out[at : at + size]
        else:
            source = random.choice(others) if others and random.random() < 0.5 else bytes(out)
            start = random.randrange(len(source) + 1)
            piece = source[start : start + random.choice((1, 4, 16, 64))]
            out[at : at + len(piece)] = piece
    return bytes(out)


def mutate_word(data: bytes, random: Random) -> bytes:
    """One aligned little-endian word changed: offsets, sizes and counts of flatbuffers and headers."""
    if len(data) < 8:
        return mutate_bytes(data, random)
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        size = random.choice((2, 4, 4, 4, 8))
        at = random.randrange(len(out) // size) * size
        value = near(int.from_bytes(out[at : at + size], "little"), random, 8 * size)
        out[at : at + size] = value.to_bytes(size, "little")
    return bytes(out)


def float_bytes(random: Random, size: int) -> bytes:
    value = random.choice((0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, float("inf"), float("nan")))
    return struct.pack("<f" if size == 4 else "<d", value)
