"""CCW records: what a config channel carries into the chip, decoded into register and block writes (ccw.md).

Two forms: Hailo-8 ("descriptors" style) and 10H/15H ("bursts" style). A run of bytes is decoded as a whole; one that
does not parse to its last byte is kept opaque: its bytes are counted and hashed, no register is written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import xxhash
from msgspec import Struct

from emu.hw.config.records import Records, read_run_once
from emu.hw.fingerprint import item_hash
from emu.hw.gather import Piece
from emu.hw.pieces import Pieces

if TYPE_CHECKING:
    from emu.hw.memory import Usage

_HEAD = struct.Struct("<II")
_WORD = struct.Struct("<I")
_PAIR = struct.Struct("<Q")
_REGISTER_WRITE_ID = 5
_MAX_1XH_ID = 11  # ids 0..3, 5, 8..11 were seen (ccw.md)

_HEADER = 8  # bytes in front of the data, in both forms
# a record while many are handled: offset, size, address, size of the data, value of a single register
Row = tuple[int, int, int, int, int | None]


class Record(Struct, frozen=True):
    """One CCW record: its place in the run, the address it writes to and the data.

    `word` is the value of a single-register record, None for a block.
    """

    offset: int
    size: int
    address: int
    data: memoryview
    word: int | None


class Image:
    """Some records of a run ready to be written: `rows` of them, `size` bytes of the run.

    `usage` belongs to the memory that loads the image.
    """

    __slots__ = ("_block_hashes", "_bounds", "_digest", "_pieces", "_view", "_word_hashes", "register_writes", "rows",
                 "size", "usage")  # fmt: skip

    def __init__(self, rows: Sequence[Row], view: memoryview) -> None:
        self.rows = rows
        self._view = view
        self._pieces: Pieces | None = None
        self._bounds: tuple[int, int] | None = None if rows else (0, 0)
        self.size = sum([row[1] for row in rows])
        self.register_writes = sum([row[3] >> 2 for row in rows])
        self.usage: Usage | None = None
        self._digest: int | None = None
        self._word_hashes: tuple[tuple[int, int, int], ...] = ()
        self._block_hashes: tuple[tuple[int, int], ...] = ()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Address and size of each write."""
        return [(row[2], row[3]) for row in self.rows]

    def writes(self) -> Iterator[tuple[int, memoryview]]:
        """Address and data of each write, in their order."""
        for offset, _, address, size, _ in self.rows:
            start = offset + _HEADER
            yield address, self._view[start : start + size]

    def word_at(self, address: int) -> int | None:
        """What a register holds once all is written; None where nothing is."""
        end = address + 4
        if self._bounds is None:
            self._bounds = (min([row[2] for row in self.rows]), max([row[2] + row[3] for row in self.rows]))
        if not self._bounds[0] < end <= self._bounds[1] + 3:
            return None
        for offset, _, base, size, _ in reversed(self.rows):
            if base < end and address < base + size:
                if base <= address and end <= base + size:
                    start = offset + _HEADER + address - base
                    return int.from_bytes(self._view[start : start + 4], "little")
                break  # the word is of several writes
        else:
            return None
        if self._pieces is None:
            self._pieces = Pieces()
            for base, data in self.writes():
                self._pieces.write(base, bytes(data))
        return self._pieces.word_at(address)

    # what the fingerprint asks (emu.hw.fingerprint.Hashed)

    def word_hashes(self) -> tuple[tuple[int, int, int], ...]:
        self.digest()
        return self._word_hashes

    def block_hashes(self) -> tuple[tuple[int, int], ...]:
        self.digest()
        return self._block_hashes

    def digest(self) -> int:
        if self._digest is None:
            words, blocks, total = [], [], 0
            for offset, _, address, size, word in self.rows:
                if word is None:
                    start = offset + _HEADER
                    item = item_hash(address, xxhash.xxh3_64_intdigest(self._view[start : start + size]))
                    blocks.append((address, item))
                else:
                    item = item_hash(address, word)
                    words.append((address, word, item))
                total += (offset + 1) * item
            self._word_hashes, self._block_hashes, self._digest = tuple(words), tuple(blocks), total
        return self._digest


class Run:
    """Decoded bytes of one fetch, `size` of them in `count` records.

    Opaque ones (a capture, or no sound records) have none; `digest` identifies them.
    """

    __slots__ = ("_images", "_rows", "_view", "digest", "opaque", "size", "table")

    def __init__(self, size: int, digest: int, rows: list[Row] | None, view: memoryview) -> None:
        self.size = size
        self.digest = digest
        self.opaque = rows is None
        self._rows = rows or []
        self._view = view
        self._images: dict[tuple[int, int], Image] = {}
        self.table: Records | None = None  # where records are checked before they are written (units.md 0)

    @property
    def count(self) -> int:
        return len(self._rows)

    @property
    def records(self) -> list[Record]:
        return [
            Record(offset, size, address, self._view[offset + _HEADER : offset + _HEADER + length], word)
            for offset, size, address, length, word in self._rows
        ]

    def image(self, first: int, count: int) -> Image:
        """Up to `count` records from number `first` on; a repeated fetch finds them prepared."""
        found = self._images.get((first, count))
        if found is None:
            rows = self._rows[first : first + count]
            if self.table is not None:
                right = self.table.is_right[first : first + count].tolist()
                if not all(right):
                    rows = [row for row, written in zip(rows, right, strict=True) if written]
            found = self._images[first, count] = Image(rows, self._view)
        return found


def opaque_run(size: int, digest: int) -> Run:
    """Bytes whose content is unknown (a capture) or no sound record."""
    return Run(size, digest, None, memoryview(b""))


def decode_checked(data: Piece, family: str, channel: int) -> Run:
    """Decode one fetched run of well-formed configuration: each record is checked, those that are wrong are not
    written, and what does not decode is left out (chip-config.md 8)."""
    table = read_run_once(family, data, channel)
    words = [value if single else None for value, single in zip(table.values, table.is_single, strict=True)]
    lengths = table.length.tolist()
    rows = list(zip(table.offset.tolist(), table.size.tolist(), table.addresses, lengths, words, strict=True))
    run = Run(len(data), 0, rows, memoryview(data))
    run.table = table
    return run


def decode_run(data: Piece, style: str) -> Run:
    """Decode one fetched run; NOP words (all zero) are skipped."""
    view = memoryview(data)
    try:
        rows = _decode_hailo8(view) if style == "descriptors" else _decode_1xh(view)
    except struct.error:  # cut off within a header
        rows = None
    if rows is None:
        return opaque_run(len(data), xxhash.xxh3_64_intdigest(view))
    return Run(len(data), 0, rows, view)


def _decode_hailo8(view: memoryview) -> list[Row] | None:
    rows: list[Row] = []
    unpack, unpack_word, add = _HEAD.unpack_from, _WORD.unpack_from, rows.append
    offset, end = 0, len(view)
    while offset < end:
        head, address = unpack(view, offset)
        if head >> 16 or address & 3:
            return None
        start = offset + _HEADER
        if head:
            length = 4 * head + 4
            stop = start + length
            if stop > end:
                return None
            add((offset, _HEADER + length, address, length, None))
            # data is padded to a multiple of 8; the last record of a run may end without its padding
            offset = (stop + 7) & ~7
        elif address:
            add((offset, 12, address, 4, unpack_word(view, start)[0]))
            offset = start + 8
        else:
            offset = start
    return rows


def _decode_1xh(view: memoryview) -> list[Row] | None:
    rows: list[Row] = []
    unpack, unpack_pair, add = _HEAD.unpack_from, _PAIR.unpack_from, rows.append
    offset, end = 0, len(view)
    while offset < end:
        head, address = unpack(view, offset)
        if not head and not address:
            offset += 8
            continue
        size = 24 + (head >> 17)
        following = offset + size
        identifier = head & 0xFF
        # the last 8 bytes: a check of three bytes, zero
        if following > end or head & 0x10000 or identifier > _MAX_1XH_ID or unpack_pair(view, following - 8)[0] >> 24:
            return None
        if identifier == _REGISTER_WRITE_ID:
            value, register = unpack(view, offset + _HEADER)
            add((offset, size, register, 4, value))
        else:
            add((offset, size, address, size - 16, None))
        offset = following
    return rows
