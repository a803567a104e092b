"""CCW records: what a config channel carries into the chip, decoded into register and block writes (ccw.md).

Two forms: Hailo-8 ("descriptors" style) and 10H/15H ("bursts" style). A run of bytes is decoded as a whole; one that
does not parse to its last byte is kept opaque: its bytes are counted and hashed, no register is written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import xxhash

_HEAD = struct.Struct("<II")
_NOP = bytes(8)
_REGISTER_WRITE_ID = 5
_MAX_1XH_ID = 11  # ids 0..3, 5, 8..11 were seen (ccw.md)


class Record(NamedTuple):
    """One CCW record: its place in the run, the address it writes to and the data.

    `word` is the value of a single-register record, None for a block.
    """

    offset: int
    size: int
    address: int
    data: memoryview
    digest: int
    word: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """Decoded bytes of one fetch. `records` is empty for opaque bytes; `digest` identifies the bytes."""

    size: int
    digest: int
    records: tuple[Record, ...]
    opaque: bool


def opaque_run(size: int, digest: int) -> Run:
    """Bytes whose content is unknown (a capture) or no sound record."""
    return Run(size, digest, (), True)


def decode_run(data: bytes, style: str) -> Run:
    """Decode one fetched run; NOP words (all zero) are skipped."""
    view = memoryview(data)
    digest = xxhash.xxh3_64_intdigest(view)
    records = _decode_hailo8(view) if style == "descriptors" else _decode_1xh(view)
    if records is None:
        return opaque_run(len(data), digest)
    return Run(len(data), digest, tuple(records), False)


def _decode_hailo8(view: memoryview) -> list[Record] | None:
    records: list[Record] = []
    offset, end = 0, len(view)
    while offset < end:
        if end - offset < _HEAD.size:
            return None
        head, address = _HEAD.unpack_from(view, offset)
        if head == 0 and address == 0:
            offset += _HEAD.size
            continue
        if head >> 16 or address % 4:
            return None
        words = head + 1
        start = offset + _HEAD.size
        # data is padded to a multiple of 8; the last record of a run may end without its padding
        stop = start + 4 * words
        if stop > end:
            return None
        records.append(_record(view, offset, address, start, stop))
        offset = start + -(-4 * words // 8) * 8
    return records


def _decode_1xh(view: memoryview) -> list[Record] | None:
    records: list[Record] = []
    offset, end = 0, len(view)
    while offset < end:
        if end - offset < _HEAD.size:
            return None
        head, address = _HEAD.unpack_from(view, offset)
        if head == 0 and address == 0:
            offset += _HEAD.size
            continue
        size = 24 + (head >> 17)
        identifier = head & 0xFF
        if offset + size > end or head & 0x10000 or identifier > _MAX_1XH_ID:
            return None
        check, zero = _HEAD.unpack_from(view, offset + size - 8)
        if zero or check >> 24:
            return None
        start, stop = offset + 8, offset + size - 8
        if identifier == _REGISTER_WRITE_ID:
            value, register = _HEAD.unpack_from(view, start)
            data = view[start : start + 4]
            records.append(Record(offset, size, register, data, 0, value))
        else:
            records.append(_record(view, offset, address, start, stop)._replace(size=size))
        offset += size
    return records


def _record(view: memoryview, offset: int, address: int, start: int, stop: int) -> Record:
    data = view[start:stop]
    if stop - start == 4:
        return Record(offset, stop - offset, address, data, 0, int.from_bytes(data, "little"))
    return Record(offset, stop - offset, address, data, xxhash.xxh3_64_intdigest(data), None)
