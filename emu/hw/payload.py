"""Frame contents. emu does not compute the network (the chip's microcode is closed): what the core writes is made up.

A made-up frame depends on the seed, the stream, the frame number, the input bytes of that frame and a hash of the
configuration (cli.md). It is kept as its 16-byte key and becomes bytes only when somebody looks.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import NamedTuple

import xxhash

_FRAME = struct.Struct("<QQ")


class Payload(NamedTuple):
    """`size` bytes that follow from `key`."""

    key: bytes
    size: int

    def materialise(self) -> bytes:
        return hashlib.shake_128(self.key).digest(self.size)


Content = bytes | Payload


def digest(content: Content | None) -> bytes:
    """16 bytes that stand for the content; None is memory that nothing was written to."""
    if content is None:
        return bytes(16)
    if isinstance(content, Payload):
        return content.key
    return xxhash.xxh3_128_digest(content)


def essence(inputs: Iterable[bytes], content_hash: int) -> bytes:
    """What all outputs of one frame have in common: the digests of its inputs and the configuration."""
    return xxhash.xxh3_128_digest(b"".join(inputs) + content_hash.to_bytes(8, "little"))


def synthetic(stream: str, seed: int, frame: int, frame_essence: bytes, size: int) -> Payload:
    """The content of `stream` for one frame."""
    text = stream.encode() + _FRAME.pack(seed & 0xFFFFFFFFFFFFFFFF, frame) + frame_essence
    return Payload(xxhash.xxh3_128_digest(text), size)
