"""Frame contents: what the core writes is made up, where neither it nor a reference gives real numbers.

A made-up frame depends on the seed, the stream, the frame number, the input bytes of that frame and a hash of the
configuration (cli.md). It is kept as what its 16-byte key follows from, and becomes bytes only when somebody looks.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial

import xxhash

from emu.hw.fingerprint import Moment
from emu.noise import noise

_FRAME = struct.Struct("<QQ")


# frames that follow from frames (a cache) are worked out after so many steps, so that none drags all before it along
_MOST_STEPS = 32


class Payload:
    """`size` bytes that follow from `key`, which is worked out when somebody asks.

    `make` is a `partial` of a module's function, so that a checkpoint can keep it (emu.host.world).
    """

    __slots__ = ("_key", "_make", "size", "steps")

    def __init__(self, make: Callable[[], bytes], size: int, steps: int = 0) -> None:
        self._make: Callable[[], bytes] | None = make
        self._key = b""
        self.size = size
        self.steps = steps
        if steps >= _MOST_STEPS:
            _ = self.key

    @property
    def key(self) -> bytes:
        if self._make is not None:
            self._key, self._make, self.steps = self._make(), None, 0
        return self._key

    def materialise(self) -> bytes:
        return self.part(0, self.size)

    def part(self, offset: int, size: int) -> bytes:
        """`size` of its bytes from `offset` on, at the cost of these alone."""
        return noise(self.key, size, offset)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payload) and (self.key, self.size) == (other.key, other.size)

    def __hash__(self) -> int:
        return hash((self.key, self.size))


class Parts(Payload):
    """Stretches of other contents, one behind the other: (content, offset, size); put together when somebody asks."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[tuple[Content, int, int]]) -> None:
        self._parts = tuple(parts)
        steps = max([one.steps for one, _, _ in parts if isinstance(one, Payload)], default=0)
        super().__init__(self._digest, sum(size for _, _, size in parts), steps)

    def _digest(self) -> bytes:
        return xxhash.xxh3_128_digest(self.materialise())

    def part(self, offset: int, size: int) -> bytes:
        out, at, end = [], 0, offset + size
        for content, begin, length in self._parts:
            start, stop = max(at, offset), min(at + length, end)
            if start < stop:
                out.append(part(content, begin + start - at, stop - start).ljust(stop - start, b"\0"))
            at += length
        return b"".join(out)


Content = bytes | Payload


def part(content: Content, offset: int, size: int) -> bytes:
    """At most `size` bytes of a content from `offset` on."""
    if isinstance(content, Payload):
        return content.part(offset, max(0, min(size, content.size - offset)))
    return content[offset : offset + size]


def ring(content: Content, size: int, begin: int) -> Content:
    """What is in a ring of `size` bytes once a content at least as long was written into it from `begin` on."""
    length = content.size if isinstance(content, Payload) else len(content)
    if length == size and not begin % size:
        return content
    end = (begin + length) % size
    return Parts([(content, length - end, end), (content, length - size, size - end)])


def digest(content: Content | None) -> bytes:
    """16 bytes that stand for the content; None is memory that nothing was written to."""
    if content is None:
        return bytes(16)
    if isinstance(content, Payload):
        return content.key
    return xxhash.xxh3_128_digest(content)


class Essence:
    """What all outputs of one frame have in common: its inputs, and the configuration at that moment."""

    __slots__ = ("_inputs", "_key", "_moment", "steps")

    def __init__(self, inputs: Sequence[Payload], moment: Moment) -> None:
        self._inputs = inputs
        self._moment = moment
        self._key = b""
        self.steps = 1 + max([one.steps for one in inputs], default=0)

    @property
    def key(self) -> bytes:
        if not self._key:
            inputs = b"".join([one.key for one in self._inputs])
            self._key = xxhash.xxh3_128_digest(inputs + self._moment.resolve().to_bytes(8, "little"))
            self._inputs = ()
        return self._key


def synthetic(stream: str, seed: int, frame: int, essence: Essence, size: int) -> Payload:
    """The content of `stream` for one frame."""
    return Payload(partial(_synthetic_key, stream, seed, frame, essence), size, essence.steps)


def _synthetic_key(stream: str, seed: int, frame: int, essence: Essence) -> bytes:
    head = stream.encode() + _FRAME.pack(seed & 0xFFFFFFFFFFFFFFFF, frame)
    return xxhash.xxh3_128_digest(head + essence.key)


def kept(content: Content | None) -> Payload:
    """What has to be kept of an input frame until somebody asks for what follows from it."""
    if isinstance(content, Payload):
        return content
    return Payload(partial(_same, digest(content)), len(content or b""))


def _same(key: bytes) -> bytes:
    return key
