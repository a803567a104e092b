"""Decompression of configuration: a prefix code over the bytes of a table of 56 symbols (chip-config.md 2).

Codes are 4, 6, 8 or 12 bits long, so that a stream is a chain of 2-bit units. Many streams are decoded at once: cut
into segments, each segment says for every way of entering it where it is left (all segments in step), then each
stream follows its chain of segments, then all segments mark their codes (in step again).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.hw.config.records import Bytes, Words

SYMBOLS = 56
_SEGMENT = 128  # units; a multiple of 4
_LONGEST = 6  # units of the escape code
_WINDOW = 1 << 2 * _LONGEST
_BATCH = 1 << 20  # compressed bytes that are decoded in step, which bounds the memory
_ALIGNMENT, _MOST_PADDING = 8, 5  # bytes of content; decoded bytes that 63 bits of padding may read as
_BAD = 0x100  # added to the byte of an escape whose last bit is not 0


class Plain(Struct, frozen=True):
    """A decoded stream without its padding.

    `sound` is False where it holds what compilers do not write: an escape with its last bit set or for a byte that has
    a symbol, a code that is cut off, or a number of bytes that is no multiple of 8.
    """

    data: Bytes
    sound: bool


class Compressed(Struct, frozen=True):
    """A compressed stream with its symbols."""

    data: Bytes
    symbols: Bytes


def symbols_of(table: Words) -> Bytes | None:
    """The symbols in the words of a symbol table record; None where it holds too few or one that is no byte."""
    return _symbols(table[1 : 1 + SYMBOLS].tobytes())


@lru_cache(maxsize=64)  # most tables of a program are the same
def _symbols(data: bytes) -> Bytes | None:
    words = np.frombuffer(data, "<u4")
    if len(words) < SYMBOLS or (words > 0xFF).any():
        return None
    found = words.astype(np.uint8)
    found.setflags(write=False)  # whoever asks for it gets the same one
    return found


@lru_cache(maxsize=1)
def _code_tables() -> tuple[NDArray[np.uint32], NDArray[np.int16]]:
    """The units of the codes at a byte's four places, a byte each, by the byte and the lowest bit of the next one; and
    by the next 12 bits the symbol number of a code or -1 - (what an escape holds)."""

    def marks(bits: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
        return [bits >> bit & 1 == 1 for bit in range(3)]

    starts = np.arange(1 << 9)[:, None] >> 2 * np.arange(4)
    units = np.select(marks(starts), [2, 3, 4], _LONGEST).astype(np.uint8)
    window = np.arange(_WINDOW)
    escape = (window >> 3 & 0xFF) + (window >> 11) * _BAD
    numbers = np.select(marks(window), [window >> 1 & 7, 8 + (window >> 2 & 15), 24 + (window >> 3 & 31)], -1 - escape)
    return units.view(np.uint32).reshape(-1), numbers.astype(np.int16)


def compress(data: bytes, symbols: bytes) -> bytes:
    """The compressed form of a multiple of 8 bytes; any bytes decode to themselves, zero bits pad to 8 bytes."""
    codes = 8 * np.arange(256)  # escapes
    units = np.full(256, _LONGEST)
    for first, stop, mark, width in ((0, 8, 1, 1), (8, 24, 2, 2), (24, SYMBOLS, 4, 3)):
        own = np.frombuffer(symbols, np.uint8)[first:stop]
        codes[own] = mark | np.arange(len(own)) << width
        units[own] = width + 1
    content = np.frombuffer(data, np.uint8)
    ends = np.cumsum(units[content])
    laid = np.zeros(-(-int(ends[-1]) // 32) * 32 if len(content) else 0, np.uint8)
    places, numbers = ends - units[content], codes[content]
    for unit in range(_LONGEST):
        long_enough = units[content] > unit
        laid[places[long_enough] + unit] = numbers[long_enough] >> 2 * unit & 3
    quarters = laid.reshape(-1, 4)
    packed = quarters[:, 0] | quarters[:, 1] << 2 | quarters[:, 2] << 4 | quarters[:, 3] << 6
    return packed.tobytes()


def decompress(streams: Sequence[Bytes], symbols: Bytes) -> list[Plain]:
    """Decode each stream; the order of the results is that of the streams. Never more than two bytes from one."""
    found: list[Plain] = []
    batch: list[Bytes] = []
    size = 0
    for stream in streams:
        if batch and size + len(stream) > _BATCH:
            found += _decode(batch, symbols)
            batch, size = [], 0
        batch.append(stream)
        size += len(stream)
    if batch:
        found += _decode(batch, symbols)
    return found


def decompress_each(streams: Sequence[Compressed]) -> list[Plain]:
    """Decode streams of any symbols, those of one table together."""
    tables: dict[int, list[int]] = {}
    for number, stream in enumerate(streams):
        tables.setdefault(id(stream.symbols), []).append(number)
    found: dict[int, Plain] = {}
    for numbers in tables.values():
        plain = decompress([streams[number].data for number in numbers], streams[numbers[0]].symbols)
        found.update(zip(numbers, plain, strict=True))
    return [found[number] for number in range(len(streams))]


def _decode(streams: list[Bytes], symbols: Bytes) -> list[Plain]:
    per_segment = _SEGMENT // 4
    segments = [-(-len(stream) // per_segment) for stream in streams]
    firsts = np.concatenate([[0], np.cumsum(segments)])
    total = int(firsts[-1])
    if not total:
        return [Plain(np.zeros(0, np.uint8), True) for _ in streams]
    laid = np.zeros(total * per_segment + 2, np.uint8)
    ends = []  # units at which each stream ends
    for stream, first in zip(streams, firsts.tolist(), strict=False):
        start = first * per_segment
        laid[start : start + len(stream)] = stream
        ends.append(4 * (start + len(stream)))
    units_of, number_of = _code_tables()
    steps = units_of.take(laid[:-2] | (laid[1:-1] & 1).astype(np.intp) << 8).view(np.uint8)
    for end, first in zip(ends, firsts[1:].tolist(), strict=True):
        # no code begins where it would not end before its stream does
        tail = np.arange(max(end - _LONGEST, 0), end)
        steps[tail] *= tail + steps[tail] <= end
        steps[end : first * _SEGMENT] = 0
    entries = _entries(steps.reshape(total, _SEGMENT), firsts.tolist())
    marks = np.zeros(len(steps) + _LONGEST, bool)
    ahead = np.concatenate([steps, np.zeros(_LONGEST, np.uint8)])
    places = np.arange(total) * _SEGMENT + entries
    for _ in range(_SEGMENT // 2):  # the shortest code has two units
        marks[places] = True
        places = places + ahead[places]
    codes = np.flatnonzero(marks[: len(steps)] & (steps > 0))
    padded = laid.astype(np.uint32)
    wide = (padded[:-2] | padded[1:-1] << 8 | padded[2:] << 16).take(codes >> 2)
    numbers = number_of.take(wide >> 2 * (codes & 3).astype(np.uint32) & (_WINDOW - 1))
    escaped = numbers < 0
    values = np.where(escaped, -1 - numbers, symbols[np.where(escaped, 0, numbers)]).astype(np.int16)
    has_symbol = np.zeros(2 * _BAD, bool)
    has_symbol[symbols] = True
    has_symbol[_BAD:] = True
    odd = escaped & has_symbol[values]  # escapes that compilers do not write, but for padding
    bounds = np.searchsorted(codes, firsts * _SEGMENT).tolist()
    found = []
    for end, start, stop in zip(ends, bounds, bounds[1:], strict=False):
        # zero bits behind the last code read as escapes of zero; what is written has a multiple of 8 bytes
        padding = (stop - start) % _ALIGNMENT
        clean = padding <= _MOST_PADDING and not (~escaped | (values != 0))[stop - padding : stop].any()
        last = int(codes[stop - 1]) + int(steps[codes[stop - 1]]) if stop > start else end
        rest = laid[last // 4 : end // 4]
        cut_off = len(rest) > 0 and (int(rest[0]) >> 2 * (last % 4) != 0 or bool(rest[1:].any()))
        stop -= padding if clean else 0
        sound = bool(clean) and not cut_off and not odd[start:stop].any()
        found.append(Plain(values[start:stop].astype(np.uint8), sound))
    return found


def _entries(steps: NDArray[np.uint8], firsts: list[int]) -> NDArray[np.int64]:
    """How many units into each segment its first code begins."""
    segments, width = steps.shape
    # leaves[p]: how far behind the end a chain that is at unit p leaves the segment; one row a unit
    leaves = np.zeros((width + _LONGEST, segments), np.uint8)
    leaves[width:] = np.arange(_LONGEST, dtype=np.uint8)[:, None]
    flat = leaves.reshape(-1)
    columns = np.arange(segments)
    ahead = np.ascontiguousarray(steps.T).astype(np.int64) * segments
    for unit in range(width - 1, -1, -1):
        leaves[unit] = flat.take(ahead[unit] + (unit * segments + columns))
    exits = leaves[:_LONGEST].T.tobytes()
    entries = np.zeros(segments, np.int64)
    for first, stop in itertools.pairwise(firsts):
        entry = 0
        for segment in range(first, stop):
            entries[segment] = entry
            entry = exits[segment * _LONGEST + entry]
    return entries
