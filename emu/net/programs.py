"""What the programs of LCUs say of their layers: padding, how often a second input is added (network.md 11, 13, 14).

`instructions` are [n, 16] bytes. Of byte 0 the upper four bits are the depth of loops, bit 2 awaits a row of the input,
bit 1 gives one on; bytes 1 and 2 of a loop's first instruction say how often it turns, byte 1 of its last one is 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Instructions = NDArray[np.uint8]

_COUNTS, _FEWEST = 0xF, 4  # of an instruction that repeats: 8 * times - 17
_HEAD = 3  # instructions that all programs begin with
_AWAITS, _GIVES, _LAST = 4, 2, 2
_TURNS = 5  # of a loop, modulo 8: 8 * turns - 3


def is_padded(instructions: Instructions) -> bool:
    """Whether a program has the instruction that padded 3x3 stride 1 layers have (network.md 11)."""
    words = instructions.view("<u4")
    tail = words[:, 3] & 0xFFFFFF
    found = (words[:, 2] & 0x20000880 == 0x20000880) & (tail & 0x8002 == 0x8002) & (tail & 0x800000 == 0)
    return bool(found.any())


def repeats(instructions: Instructions) -> int:
    """How often a program adds its second input: the instructions that do, or what the first of them counts to in
    eighths (network.md 13); 0 where it does not."""
    adds = instructions[:, 13] & 0xA0 == 0xA0
    if not adds.any():
        return 0
    first = int(adds.argmax())
    count = int(instructions[first, 1])
    if count >= _COUNTS and count % 8 == _COUNTS % 8:
        return (count - _COUNTS) // 8 + _FEWEST
    return int(adds[first:].argmin()) if not adds[first:].all() else int(adds[first:].sum())


def awaited_rows(instructions: Instructions) -> int:
    """How many rows of the input a program awaits before it computes the first row of its output; 0 where its begin
    does not say that."""
    operations, counts = instructions[:, 0].tolist(), instructions[:, 1:3].copy().view("<u2")[:, 0].tolist()
    awaited = 0
    place = _HEAD
    while place < len(operations):
        operation = operations[place]
        if operation >> 4:
            return awaited + _rows_of_loop(operations[place:], counts[place:])
        if operation & _GIVES:
            return awaited
        awaited += bool(operation & _AWAITS)
        place += 1
    return 0


def _rows_of_loop(operations: list[int], counts: list[int]) -> int:
    """Rows that a loop awaits: all its turns where it does nothing else, the first one where loops follow inside."""
    awaited = 0
    for place, operation in enumerate(operations):
        if operation >> 4 != 1:
            return awaited
        awaited += bool(operation & _AWAITS)
        if place and counts[place] & 0xFF == _LAST:
            return awaited * ((counts[0] + 3) // 8) if counts[0] % 8 == _TURNS else 0
    return 0
