"""float16 in numpy at the speed of the cache.

numpy converts float16 one element at a time. Here integers do it, a block that stays in the cache at a time, with the
same results: rounding to the nearest, ties to even, subnormals and infinities. Between ops a float16 tensor is held as
float32 whose values are those of float16 (`rounded`), so that an op in float32 converts nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from emu.graph.ir import Array

BLOCK = 1 << 16
"""Elements of a block: what is needed beside it still lies near, and numpy's calls are few."""

_EXPONENT, _MAGNITUDE, _SIGN = np.uint32(0x7F800000), np.uint32(0x7FFFFFFF), np.uint32(0x80000000)
_LEAST = np.full(BLOCK, 0x38800000, np.uint32)
"""2^-14: below it float16 has the step that it has there. A whole vector: numpy compares with a scalar slowly."""
_TO_STEP = np.uint32(13 << 23)
"""Added to an exponent: a sum with such a number has the step of float16, 13 bits less than float32."""
_LARGEST = np.float32(65504)
_INFINITE = 0x7C00
_REBIAS = np.float32(2.0**112)
"""Between the exponents of both types, 15 and 127."""


def widened(array: Array) -> Array:
    """float16 as float32, in the same memory order."""
    return _blockwise(widen_block, array, np.dtype(np.float32))


def rounded(array: Array) -> Array:
    """float32 as float32 whose values are those of float16: a new array in the same memory order."""
    return _blockwise(round_block, array.astype(np.float32, copy=False), np.dtype(np.float32))


def round_in_place(array: Array) -> Array:
    """The same in the array itself, which nothing else must refer to; or in a new one where it is not dense."""
    turned = array.transpose(memory_order(array))
    if array.dtype != np.float32 or not turned.flags.c_contiguous or not array.flags.writeable:
        return rounded(array)
    flat = turned.reshape(-1)
    room = np.empty((2, min(BLOCK, flat.size)), np.uint32)
    for start in range(0, flat.size, BLOCK):
        piece = flat[start : start + BLOCK]
        round_block(piece, piece, room[:, : piece.size])
    return array


def narrowed(array: Array) -> Array:
    """float32 whose values are those of float16 (`rounded`) as float16, in the same memory order."""
    return _blockwise(_narrow, array, np.dtype(np.float16))


def memory_order(array: Array) -> list[int]:
    """The axes from the slowest to the fastest: transposed by them, a dense array is C-contiguous."""
    if array.flags.c_contiguous:
        return list(range(array.ndim))
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def _blockwise(function: Callable[[Array, Array, Array], None], array: Array, dtype: np.dtype[np.floating]) -> Array:
    order = memory_order(array)
    turned = np.ascontiguousarray(array.transpose(order)).reshape([array.shape[axis] for axis in order])
    found = np.empty(turned.shape, dtype)
    flat, result = turned.reshape(-1), found.reshape(-1)
    room = np.empty((2, min(BLOCK, flat.size)), np.uint32)
    for start in range(0, flat.size, BLOCK):
        piece = flat[start : start + BLOCK]
        function(piece, result[start : start + BLOCK], room[:, : piece.size])
    return found.transpose(np.argsort(order))


def round_block(x: Array, out: Array, room: Array) -> None:
    """Round a short contiguous float32 vector into `out`, which may be `x`; `room` holds two vectors of uint32."""
    sign, step = room
    bits, pattern = x.view(np.uint32), out.view(np.uint32)
    # as whole numbers all negative ones are larger than every other; what activations leave has none
    positive = bits.max() <= _LARGEST.view(np.uint32)
    if not positive:
        np.bitwise_and(bits, _SIGN, out=sign)
        np.abs(x, out=out)
        x = out
        # not a number is larger than every number here
        if pattern.max() > _LARGEST.view(np.uint32):
            out[...] = out.astype(np.float16)
            pattern |= sign
            return
    _round_positive(x, out, step)
    if not positive:
        pattern |= sign


def _round_positive(x: Array, out: Array, step: Array) -> None:
    """Round numbers without a sign that float16 can hold, by adding one whose last bit is worth what theirs is in
    float16, and taking it off again."""
    np.bitwise_and(x.view(np.uint32), _EXPONENT, out=step)
    np.maximum(step, _LEAST[: len(step)], out=step)
    step += _TO_STEP
    np.add(x, step.view(np.float32), out=out)
    out -= step.view(np.float32)


def narrow_block(x: Array, out: Array, room: Array) -> None:
    """Round a short contiguous float32 vector to float16; `room` holds three vectors of uint32."""
    sign, step, pattern = room
    wide = pattern.view(np.float32)
    np.bitwise_and(x.view(np.uint32), _SIGN, out=sign)
    np.abs(x, out=wide)
    if pattern.max() > _LARGEST.view(np.uint32):
        out[...] = x
        return
    _round_positive(wide, wide, step)
    wide *= 1 / _REBIAS
    pattern >>= np.uint32(13)
    sign >>= np.uint32(16)
    pattern |= sign
    np.copyto(out.view(np.uint16), pattern, casting="unsafe")


def widen_block(x: Array, out: Array, room: Array) -> None:
    """float16 as float32, of short contiguous vectors; `room` holds a vector of uint32."""
    bits = x.view(np.int16)
    magnitude = room[0].view(np.int16)[: len(x)]
    np.bitwise_and(bits, np.int16(0x7FFF), out=magnitude)
    if magnitude.max() >= _INFINITE:
        out[...] = x
        return
    pattern = out.view(np.int32)
    np.copyto(pattern, bits)
    pattern <<= 13
    pattern &= np.int32(-0x70002000)  # the sign, and what lay in the 15 bits beside it
    out *= _REBIAS


def _narrow(x: Array, out: Array, room: Array) -> None:
    magnitude, sign = room
    bits = x.view(np.uint32)
    np.bitwise_and(bits, _MAGNITUDE, out=magnitude)
    if magnitude.max() > _LARGEST.view(np.uint32):
        out[...] = x
        return
    small = magnitude.view(np.float32)
    small *= 1 / _REBIAS
    magnitude >>= np.uint32(13)
    np.bitwise_and(bits, _SIGN, out=sign)
    sign >>= np.uint32(16)
    magnitude |= sign
    np.copyto(out.view(np.uint16), magnitude, casting="unsafe")
