"""Maximum and average pooling; a window's rows and columns are reduced one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.window import (
    NO_PADS,
    PadRule,
    Pads,
    Pair,
    channels_first,
    check_positive,
    from_channels_first,
    need_map,
    need_room,
    pad_map,
    padded_size,
    same_pads,
)

WINDOW_ROOM = 4096
"""Rows or columns that a window may have beyond four times the map: each costs a step, a forged window no time."""


PIECE_BYTES = 1 << 20
"""Padded input of the channels that are reduced together: it stays in the second-level cache."""


class PoolMode(StrEnum):
    MAX = "max"
    AVERAGE = "average"


@dataclass(frozen=True, slots=True)
class Pool(Op):
    """Maximum or average over windows of [N, C, H, W] (or channel_last) maps.

    Padding never wins the maximum, and the average divides by the number of real elements. `before_pad` zeros are real
    elements. `ceil`: sizes round up, but a last window that starts beyond input and leading pad is dropped.
    `whole`: the window is the whole map (graph-conventions.md OM-O6).
    """

    mode: PoolMode
    window: Pair = (1, 1)
    strides: Pair = (1, 1)
    pads: Pads = NO_PADS
    pad_rule: PadRule = PadRule.EXPLICIT
    ceil: bool = False
    whole: bool = False
    channel_last: bool = False
    before_pad: Pads = NO_PADS

    def geometry(self, size: Pair) -> tuple[Pair, Pads, Pair]:
        """Window, pads with the room that ceil needs at the end, result size; `size` has its before_pad."""
        if self.whole:
            return size, NO_PADS, (1, 1)
        pads = same_pads(size, self.window, self.strides, (1, 1)) if self.pad_rule is PadRule.SAME else self.pads
        out, ends = [], []
        for at, (length, k, s) in enumerate(zip(size, self.window, self.strides, strict=True)):
            begin, end = pads[2 * at], pads[2 * at + 1]
            room = length + begin + end - k
            count = (-(-room // s) if self.ceil else room // s) + 1
            if self.ceil and (count - 1) * s >= length + begin:
                count -= 1
            out.append(count)
            ends.append(max(0, (count - 1) * s + k - length - begin))
        return self.window, (pads[0], ends[0], pads[2], ends[1]), (out[0], out[1])

    def shape(self, x: Operand) -> Shape:
        need_map(x.shape)
        if x.dtype.kind != "f" and self.mode is PoolMode.AVERAGE:
            raise OpError(f"the average of {x.dtype} values is not defined", "mode")
        n, c, height, width = channels_first(x.shape, self.channel_last)
        size = padded_size((height, width), self.before_pad)
        if not self.whole:
            check_positive(self.window, "window")
            check_positive(self.strides, "stride")
            padded_size(size, self.pads)
            if any(k > 4 * length + WINDOW_ROOM for k, length in zip(self.window, size, strict=True)):
                raise OpError(f"{list(self.window)} on a map of {list(size)} is out of all proportion", "window")
            for at in range(4):
                if self.pads[at] >= self.window[at // 2] and self.pad_rule is PadRule.EXPLICIT:
                    raise OpError(f"{list(self.pads)} leaves windows {list(self.window)} without input", "pad")
        if min(size) < 1:
            raise OpError(f"map {list(size)} is empty")
        _, pads, out = self.geometry(size)
        if min(out) < 1:
            raise OpError(f"{list(self.window)} exceeds the padded input {list(size)}", "window")
        full = padded_size(size, pads)
        need_room(n * c * full[0] * full[1], n * c * height * width)
        return from_channels_first((n, c, *out), self.channel_last)

    def _prepared(self, x: Array) -> tuple[Array, Pair, Pads, Pair]:
        if self.channel_last:
            x = x.transpose(0, 3, 1, 2)
        x = pad_map(x, self.before_pad)
        return x, *self.geometry((x.shape[2], x.shape[3]))

    def _finished(self, y: Array) -> Array:
        # a view: the next op on maps wants the channels first again
        return y.transpose(0, 2, 3, 1) if self.channel_last else y

    def reference(self, x: Array) -> Array:
        x, window, pads, out = self._prepared(x)
        y = np.empty((*x.shape[:2], *out), x.dtype)
        for row in range(out[0]):
            top = row * self.strides[0] - pads[0]
            for column in range(out[1]):
                left = column * self.strides[1] - pads[2]
                seen = x[:, :, max(top, 0) : top + window[0], max(left, 0) : left + window[1]]
                if self.mode is PoolMode.MAX:
                    y[:, :, row, column] = seen.max(axis=(2, 3))
                else:
                    y[:, :, row, column] = seen.mean(axis=(2, 3), dtype=np.float64)
        return self._finished(y)

    def fast(self, x: Array) -> Array:
        x, window, pads, out = self._prepared(x)
        if self.whole:
            if self.mode is PoolMode.MAX:
                return self._finished(x.max(axis=(2, 3), keepdims=True))
            flat = np.ascontiguousarray(x).reshape(*x.shape[:2], -1)
            mean: Array = flat.mean(axis=2)
            return self._finished(mean.reshape(*x.shape[:2], 1, 1))
        n, channels, height, width = x.shape
        block = (height + pads[0] + pads[1]) * (width + pads[2] + pads[3]) * x.itemsize
        step = max(1, PIECE_BYTES // max(block, 1))
        if n == 1 and channels <= step:
            return self._finished(self._piece(x, window, pads, out))
        y = np.empty((n, channels, *out), x.dtype)
        for image in range(n):
            for start in range(0, channels, step):
                piece = x[image : image + 1, start : start + step]
                y[image, start : start + step] = self._piece(piece, window, pads, out)[0]
        return self._finished(y)

    def _piece(self, x: Array, window: Pair, pads: Pads, out: Pair) -> Array:
        """Some channels of one image."""
        if self.mode is PoolMode.MAX:
            lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
            return _reduce(np.maximum, pad_map(x, pads, lowest), window, self.strides, out)
        y = _reduce(np.add, pad_map(x, pads), window, self.strides, out)
        counts = [
            np.minimum(starts + window[at], x.shape[2 + at]) - np.maximum(starts, 0)
            for at in (0, 1)
            for starts in [np.arange(out[at]) * self.strides[at] - pads[2 * at]]
        ]
        y /= np.outer(counts[0], counts[1]).astype(y.dtype)
        return y


def _reduce(function: np.ufunc, x: Array, window: Pair, strides: Pair, out: Pair) -> Array:
    """Rows first (their inner loops are contiguous and they leave less for the columns), then columns."""
    for axis, (k, s, size) in enumerate(zip(window, strides, out, strict=True), 2):
        before = (slice(None),) * axis
        reach = (size - 1) * s + 1
        taps = [x[(*before, slice(at, at + reach, s))] for at in range(k)]
        x = function(taps[0], taps[1]) if k > 1 else taps[0].copy()
        for tap in taps[2:]:
            function(x, tap, out=x)
    return x
