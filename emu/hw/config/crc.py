"""The check values of configuration: the CRC of 1xh records and the error code of LCU instructions.

Both are linear over single bits, so that a value is the xor of what its bytes contribute by position: whole files are
checked in a few numpy steps, without a loop over bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x281BE1  # x^23 is implied (chip-config.md 1)
_BITS = 23
_MASK = (1 << _BITS) - 1
_CHUNK = 64  # bytes that one step of the lookup takes; a power of two
_BATCH = 1 << 21  # bytes of stretches that are laid out for the lookup at once
_RADIX = 8  # chunks are skipped digit by digit

_INSTRUCTION = 16  # bytes; the last one is the code (network.md 7)


@lru_cache(maxsize=1)
def _byte_table() -> NDArray[np.uint32]:
    """What one byte makes of a register that holds 0."""
    table: NDArray[np.uint32] = np.arange(256, dtype=np.uint32) << np.uint32(_BITS - 8)
    for _ in range(8):
        table = np.bitwise_and(table << 1 ^ (table >> (_BITS - 1) & 1) * np.uint32(_POLYNOMIAL), np.uint32(_MASK))
    return table


def _advance(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The register after one zero byte."""
    moved: NDArray[np.uint32] = values << 8 & np.uint32(_MASK) ^ _byte_table()[values >> (_BITS - 8)]
    return moved


@lru_cache(maxsize=1)
def _chunk_table() -> NDArray[np.uint32]:
    """(64, 256): what a byte at a place of a chunk contributes to the chunk's value."""
    table = np.empty((_CHUNK, 256), np.uint32)
    table[-1] = _byte_table()
    for place in range(_CHUNK - 2, -1, -1):
        table[place] = _advance(table[place + 1])
    return table


def _through(tables: NDArray[np.uint32], values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Registers through a linear map, which (3, 256) tables hold by byte."""
    mapped: NDArray[np.uint32] = tables[0].take(values & 0xFF)
    mapped ^= tables[1].take(values >> 8 & 0xFF)
    mapped ^= tables[2].take(values >> 16)
    return mapped


@lru_cache(maxsize=8)
def _chunks_ahead(level: int) -> NDArray[np.uint32]:
    """(8, 3, 256): registers moved on by 0 to 7 times 8 ** `level` chunks of zeros, by byte."""
    bytes_of = np.arange(256, dtype=np.uint32) << np.array([[0], [8], [16]], np.uint32) & np.uint32(_MASK)
    if level:
        step = _through(_chunks_ahead(level - 1)[-1], _chunks_ahead(level - 1)[1])
    else:
        step = _advance(bytes_of)
        for _ in range(_CHUNK.bit_length() - 1):
            step = _through(step, step)
    found = [bytes_of]
    while len(found) < _RADIX:
        found.append(_through(step, found[-1]))
    return np.array(found)


def _moved(values: NDArray[np.uint32], chunks: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Each register moved on by its own number of chunks of zeros."""
    moved = values
    level, left = 0, chunks
    while left.any():
        tables = _chunks_ahead(level).reshape(-1)
        places = left % _RADIX * (3 * 256)
        rest = moved.astype(np.int64)
        moved = tables.take(places + (rest & 0xFF))
        moved ^= tables.take(places + 256 + (rest >> 8 & 0xFF))
        moved ^= tables.take(places + 512 + (rest >> 16))
        level, left = level + 1, left // _RADIX
    return moved


def record_crcs(buffer: NDArray[np.uint8], starts: Sequence[int], sizes: Sequence[int]) -> NDArray[np.uint32]:
    """The CRC of each stretch `[start, start + size)` of a buffer (chip-config.md 1)."""
    found, first, held = [np.zeros(0, np.uint32)], 0, 0
    for number, size in enumerate(sizes):
        held += size
        if held >= _BATCH or number == len(sizes) - 1:
            found.append(_crcs(buffer, starts[first : number + 1], sizes[first : number + 1]))
            first, held = number + 1, 0
    return np.concatenate(found)


def _crcs(buffer: NDArray[np.uint8], starts: Sequence[int], sizes: Sequence[int]) -> NDArray[np.uint32]:
    chunks = [-(-size // _CHUNK) or 1 for size in sizes]
    ends = np.cumsum(chunks, dtype=np.int64)
    # zeros in front of a stretch change nothing: the register starts at 0
    padded = np.zeros(int(ends[-1]) * _CHUNK, np.uint8)
    for start, size, end in zip(starts, sizes, ends.tolist(), strict=True):
        padded[end * _CHUNK - size : end * _CHUNK] = buffer[start : start + size]
    table, rows = _chunk_table(), padded.reshape(-1, _CHUNK)
    values = np.zeros(len(rows), np.uint32)
    for place in range(_CHUNK):
        values ^= table[place].take(rows[:, place])
    left = np.repeat(ends, chunks) - 1 - np.arange(len(rows))
    crcs: NDArray[np.uint32] = np.bitwise_xor.reduceat(_moved(values, left), ends - np.array(chunks))
    return crcs


@lru_cache(maxsize=1)
def _code_table() -> NDArray[np.uint8]:
    """(15, 256): what a byte at a place of an instruction contributes to its code, bit 7 being the parity of all."""
    positions = [position for position in range(3, 128) if position & (position - 1)][: 8 * (_INSTRUCTION - 1)]
    table = np.zeros((_INSTRUCTION - 1, 256), np.uint8)
    values = np.arange(256, dtype=np.uint8)
    for number, position in enumerate(positions):
        # the overall parity counts the bit itself and the bits of the code that it flips
        flips = position | ((1 + position.bit_count()) & 1) << 7
        table[number // 8] ^= (values >> (number % 8) & 1) * np.uint8(flips)
    return table


def instruction_codes(instructions: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The code that byte 15 of each instruction (rows of 16 bytes) has to hold (network.md 7)."""
    table = _code_table()
    codes = np.zeros(len(instructions), np.uint8)
    for place in range(_INSTRUCTION - 1):
        codes ^= table[place].take(instructions[:, place])
    return codes


def flipped_bit(instruction: NDArray[np.uint8]) -> int | None:
    """Which bit of an instruction (16 bytes) was flipped, by its code: 8 * byte + bit; None: it was not just one."""
    wrong = int(instruction_codes(instruction[None])[0]) ^ int(instruction[-1])
    position = wrong & 0x7F
    if not wrong.bit_count() & 1:
        return None
    first = 8 * (_INSTRUCTION - 1)  # of the code
    if not position:
        return first + 7
    if position & (position - 1) == 0:
        return first + position.bit_length() - 1
    data = position - position.bit_length() - 1  # positions before it that are no powers of two, and not 0
    return data if data < first else None
