"""Memory of a cluster that is written in blocks, compressed or not, and decoded when somebody looks."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
import xxhash
from msgspec import Struct

from emu.hw.config.addresses import L3_BLOCK
from emu.hw.config.compression import Compressed, Plain, decompress_each
from emu.hw.config.records import Bytes, Words
from emu.hw.fingerprint import item_hash


def _digest(data: Any, seed: int = 0) -> int:
    """Any buffer will do: the stub is narrower."""
    return xxhash.xxh3_64_intdigest(data, seed=seed)


_WORD64 = (1 << 64) - 1
_MOST_PIECES = 64  # of a block that are told apart by content; beyond, any further write makes it another


class Piece(Struct, frozen=True):
    """One write into a block: offset, the bytes as they came, and the symbols by which to decode them (None: plain)."""

    offset: int
    data: Bytes
    symbols: Bytes | None


class Block:
    """What a block of L3 holds: `data` (0x8000 bytes, 0 where nobody wrote) and where it was written.

    `sound` is False where something in it did not decode, `written_once` True while one record wrote it.
    """

    __slots__ = ("_ends", "_starts", "data", "headers", "sound", "words", "written_once")

    def __init__(self, before: Block | None, pieces: Iterable[tuple[int, Bytes]], sound: bool) -> None:
        self.data: Bytes = np.zeros(L3_BLOCK, np.uint8) if before is None else before.data.copy()
        self.words: Words = self.data.view("<u4")
        self.headers = self.data.data.cast("Q")  # far faster word by word than an array
        self.sound: bool = sound and (before is None or before.sound)
        spans = [] if before is None else before.spans
        pieces = list(pieces)
        self.written_once = before is None and len(pieces) == 1
        for offset, data in pieces:
            cut = data[: L3_BLOCK - offset]
            self.data[offset : offset + len(cut)] = cut
            spans.append((offset, offset + len(cut)))
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def written_until(self, offset: int) -> int:
        """Up to which offset everything from this one on was written; the offset itself where nobody wrote."""
        number = bisect_right(self._starts, offset) - 1
        return max(self._ends[number], offset) if number >= 0 else offset

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The written stretches, rising."""
        return list(zip(self._starts, self._ends, strict=True))


class Size(Struct, frozen=True):
    """How much configuration came for a block: bytes as they stand in the file, and whether they are compressed."""

    bytes: int
    compressed: bool


class _Content:
    """What one block was written with, for its fingerprint: the pieces that show, in the order of their writing.

    The same writes in the same order come to the same fingerprint however often they are repeated. It is worked out
    when somebody asks: most blocks are written by many records before one does.
    """

    __slots__ = ("_chain", "_fingerprint", "_pieces")

    def __init__(self) -> None:
        self._pieces: dict[tuple[int, int, bool], int] = {}
        self._chain: int | None = None
        self._fingerprint: int | None = None

    @property
    def fingerprint(self) -> int:
        if self._fingerprint is None:
            self._fingerprint = hash_of(self._pieces) if self._chain is None else self._chain
        return self._fingerprint

    def write(self, piece: Piece, digest: int) -> None:
        offset, size, plain = piece.offset, len(piece.data), piece.symbols is None
        self._fingerprint = None
        if self._chain is not None:
            self._chain = item_hash(self._chain, digest)
            return
        pieces = self._pieces
        pieces.pop((offset, size, plain), None)
        if plain:
            hidden = [key for key in pieces if key[2] and offset <= key[0] and key[0] + key[1] <= offset + size]
            for key in hidden:
                del pieces[key]
        pieces[offset, size, plain] = digest
        if len(pieces) > _MOST_PIECES:
            self._chain = hash_of(pieces)


def hash_of(pieces: dict[tuple[int, int, bool], int]) -> int:
    """One number for pieces in their order; all in it are numbers, whose hash is the same in every process."""
    return hash(tuple(pieces.items())) & _WORD64


class L3:
    """The blocks of one cluster's L3, decoded when somebody looks at one; `together`: with all that wait, which costs
    little more where most of them will be looked at.
    """

    def __init__(self, together: bool) -> None:
        self._together = together
        self._waiting: dict[int, dict[tuple[int, int], Piece]] = {}
        self._blocks: dict[int, Block] = {}
        self._contents: dict[int, _Content] = {}
        self.sizes: dict[int, Size] = {}

    def write(self, block: int, offset: int, data: Bytes, symbols: Bytes | None, digest: int) -> None:
        """Note what a record brings to `offset` of a block; a direct write goes on into the blocks behind.

        `digest` tells its data apart, which are not looked at.
        """
        if symbols is not None:
            self._note(block, Piece(offset, data, symbols), item_hash(digest, _digest(symbols)))
            return
        for start in range(0, len(data), L3_BLOCK):
            part = data[start : start + L3_BLOCK]
            room = L3_BLOCK - offset
            self._note(block, Piece(offset, part[:room], None), digest ^ start)
            block += 1
            if len(part) > room:
                self._note(block, Piece(0, part[room:], None), digest ^ (start + room))

    def _note(self, block: int, piece: Piece, digest: int) -> None:
        waiting = self._waiting.setdefault(block, {})
        key = piece.offset, len(piece.data)
        waiting.pop(key, None)
        waiting[key] = piece
        before = self.sizes.get(block, Size(0, False))
        self.sizes[block] = Size(before.bytes + len(piece.data), before.compressed or piece.symbols is not None)
        content = self._contents.get(block)
        if content is None:
            content = self._contents[block] = _Content()
        content.write(piece, digest)

    @property
    def fingerprint(self) -> int:
        """Tells contents apart."""
        found = 0
        for block, content in self._contents.items():
            found ^= item_hash(block, content.fingerprint)
        return found

    def content_of(self, block: int) -> int:
        """The fingerprint of one block, 0 where nobody wrote."""
        content = self._contents.get(block)
        return 0 if content is None else content.fingerprint

    @property
    def written(self) -> list[int]:
        """The numbers of the blocks that somebody wrote, rising."""
        return sorted(self.sizes)

    def block(self, number: int) -> Block | None:
        """A block, None where nobody wrote."""
        if number in self._waiting:
            numbers = list(self._waiting) if self._together else [number]
            self._decode({waiting: self._waiting.pop(waiting) for waiting in numbers})
        return self._blocks.get(number)

    def _decode(self, waiting: dict[int, dict[tuple[int, int], Piece]]) -> None:
        packed = [
            Compressed(piece.data, piece.symbols)
            for pieces in waiting.values()
            for piece in pieces.values()
            if piece.symbols is not None
        ]
        plain = iter(_decompressed(packed))
        for number, pieces in waiting.items():
            contents = [Plain(piece.data, True) if piece.symbols is None else next(plain) for piece in pieces.values()]
            placed = [(piece.offset, content.data) for piece, content in zip(pieces.values(), contents, strict=True)]
            sound = all(content.sound for content in contents)
            self._blocks[number] = Block(self._blocks.get(number), placed, sound)


_KEPT_BYTES = 32 << 20
_kept: OrderedDict[int, Plain] = OrderedDict()


def _decompressed(streams: list[Compressed]) -> list[Plain]:
    """Decode streams; the same content is decoded once a process while it is kept."""
    keys = [_digest(stream.data, _digest(stream.symbols)) for stream in streams]
    found = {key: _kept.pop(key) for key in keys if key in _kept}
    missing = {key: stream for key, stream in zip(keys, streams, strict=True) if key not in found}
    found.update(zip(missing, decompress_each(list(missing.values())), strict=True))
    _kept.update(found)
    size = sum(len(plain.data) for plain in _kept.values()) if missing else 0  # else it holds what it held
    while _kept and size > _KEPT_BYTES:
        size -= len(_kept.popitem(last=False)[1].data)
    return [found[key] for key in keys]
