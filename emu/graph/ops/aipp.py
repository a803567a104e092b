"""AIPP: what the hardware does to an image before the first op (om-format.md 9)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.resize import Sampling, resample
from emu.graph.ops.window import Pads, Pair, check_positive, need_room, padded_size

BAND_ROWS = 8
"""Rows of the result that are made together."""


@dataclass(frozen=True, slots=True)
class Aipp(Op):
    """YUV420SP (NV12) bytes [N, H*3/2, W] to a float map [N, 3, h, w], in the order of the members.

    `crop`: top, left, height, width. `matrix` (three rows of three) with `bias` gives out_c = clip((sum of
    r_ci * (in_i - bias_i)) >> 8, 0, 255), chroma replicated 2x2. `resize`: height and width, bilinear with
    src = dst * in / out. Then (x - shift_c) * factor_c, then `pads` filled with `pad_value`.
    """

    source: Pair
    crop: tuple[int, int, int, int] | None = None
    swap_chroma: bool = False
    matrix: tuple[int, ...] | None = None
    bias: tuple[int, int, int] = (0, 0, 0)
    resize: Pair | None = None
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    factor: tuple[float, float, float] = (1.0, 1.0, 1.0)
    pads: Pads = (0, 0, 0, 0)
    pad_value: float = 0.0

    def shape(self, x: Operand) -> Shape:
        height, width = self.source
        if height % 2 or width % 2 or min(self.source) < 2:
            raise OpError(f"{list(self.source)}: YUV420 needs even sizes", "src_image_size")
        if len(x.shape) != 3 or x.shape[1:] != (height * 3 // 2, width) or x.dtype != np.uint8:
            raise OpError(f"input is {x.dtype}{list(x.shape)}, uint8[N, {height * 3 // 2}, {width}] is needed")
        if self.crop is not None:
            top, left, rows, columns = self.crop
            if min(self.crop) < 0 or min(rows, columns) < 1 or top + rows > height or left + columns > width:
                raise OpError(f"{list(self.crop)} does not lie in {list(self.source)}", "crop")
            height, width = rows, columns
        if self.resize is not None:
            height, width = self.resize
            check_positive(self.resize, "aipp.resize_output")
        height, width = padded_size((height, width), self.pads)
        # the consumer may be the op itself: then no tensor of the file has this size
        need_room(x.shape[0] * 3 * height * width, x.shape[0] * 3 * math.prod(self.source))
        return x.shape[0], 3, height, width

    def _placed(self, image: Array, positions: tuple[Array, Array] | None) -> Array:
        """Planes Y, U, V [N, 3, h, w], as float64 after all that follows the crop but the padding."""
        if self.swap_chroma:
            image = image[:, [0, 2, 1]]
        if self.matrix is not None:
            matrix = np.array(self.matrix, np.int64).reshape(3, 3)
            centred = image.astype(np.int64) - np.array(self.bias, np.int64).reshape(1, 3, 1, 1)
            mixed: Array = np.einsum("ci,nihw->nchw", matrix, centred)
            image = np.clip(mixed >> 8, 0, 255)
        real: Array = image.astype(np.float64)
        for axis, places in zip((2, 3), positions or (), strict=False):
            real = resample(real, axis, places, Sampling.LINEAR)
        real -= np.array(self.shift).reshape(1, 3, 1, 1)
        real *= np.array(self.factor).reshape(1, 3, 1, 1)
        return real

    def _window(self) -> tuple[int, int, int, int]:
        """Top, left, height and width of what is used of the image."""
        return self.crop or (0, 0, *self.source)

    def reference(self, x: Array) -> Array:
        height, width = self.source
        luma = x[:, :height]
        chroma = x[:, height:].reshape(len(x), height // 2, width // 2, 2)
        planes = [luma, *(chroma[..., at].repeat(2, axis=1).repeat(2, axis=2) for at in (0, 1))]
        top, left, rows, columns = self._window()
        image = np.stack(planes, axis=1)[:, :, top : top + rows, left : left + columns]
        positions = None
        if self.resize is not None:
            positions = _positions(rows, self.resize[0]), _positions(columns, self.resize[1])
        real = self._placed(image, positions)
        top, bottom, left, right = self.pads
        around = ((0, 0), (0, 0), (top, bottom), (left, right))
        # float64 still: it is stored with one rounding
        return np.pad(real, around, constant_values=self.pad_value)

    def fast(self, x: Array) -> Array:
        """The same, some rows of the result at a time: an image is often many times larger than its result."""
        _, left, rows, columns = self._window()
        out_h, out_w = self.resize or (rows, columns)
        top, bottom, before, after = self.pads
        y = np.full((len(x), 3, out_h + top + bottom, out_w + before + after), self.pad_value)
        down, across = _positions(rows, out_h), _positions(columns, out_w)
        for start in range(0, out_h, BAND_ROWS):
            places = down[start : start + BAND_ROWS]
            first, end = int(places[0]), min(int(places[-1]) + 2, rows)
            image = self._rows(x, first, end)[..., left : left + columns]
            if self.resize is None:
                real = self._placed(image[:, :, : len(places)], None)
            else:
                real = self._placed(image, (places - first, across))
            y[:, :, top + start : top + start + len(places), before : before + out_w] = real
        return y

    def _rows(self, x: Array, first: int, end: int) -> Array:
        """Planes Y, U, V [N, 3, end - first, W] of rows of the window."""
        height, width = self.source
        first, end = self._window()[0] + first, self._window()[0] + end
        pairs = x[:, height + first // 2 : height + (end + 1) // 2].reshape(len(x), -1, width // 2, 2)
        planes = np.empty((len(x), 3, end - first, width), np.uint8)
        planes[:, 0] = x[:, first:end]
        for plane in (1, 2):
            doubled = pairs[..., plane - 1].repeat(2, axis=1).repeat(2, axis=2)
            planes[:, plane] = doubled[:, first % 2 : first % 2 + end - first]
        return planes


def _positions(length: int, size: int) -> Array:
    """Where `size` samples lie among `length`, src = dst * in / out."""
    return np.arange(size) * (length / size)


@dataclass(frozen=True, slots=True)
class Preceded(Op):
    """An op whose first operand passes through another op, and is stored as `dtype`, first."""

    before: Op
    op: Op
    dtype: np.dtype[np.floating]

    def arity(self) -> tuple[int, int | None]:
        return self.op.arity()

    def shape(self, x: Operand, *others: Operand | None) -> Shape | list[Shape | None] | list[Shape] | None:
        shape = self.before.shape(x)
        assert isinstance(shape, tuple)
        return self.op.shape(Operand(shape, self.dtype), *others)

    def _first(self, x: Array) -> Array:
        found = self.before.fast(x)
        assert isinstance(found, np.ndarray)
        # one rounding to the stored type, then float32 as every op computes in
        return found.astype(self.dtype).astype(np.float32)

    def reference(self, x: Array, *others: Array | None) -> Array | list[Array]:
        return self.op.reference(self._first(x), *others)

    def fast(self, x: Array, *others: Array | None) -> Array | list[Array]:
        return self.op.fast(self._first(x), *others)

    def bind(self, *constants: Array | None) -> Callable[..., Array | list[Array]]:
        compute = self.op.bind(None, *constants[1:])
        return lambda x, *others: compute(self._first(x), *others)
