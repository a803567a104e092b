"""AIPP: what the hardware does to an image before the first op (om-format.md 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.resize import Sampling, resample
from emu.graph.ops.window import Pads, Pair, check_positive, need_room, padded_size


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

    def reference(self, x: Array) -> Array:
        height, width = self.source
        luma = x[:, :height]
        chroma = x[:, height:].reshape(len(x), height // 2, width // 2, 2)
        planes = [luma, *(chroma[..., at].repeat(2, axis=1).repeat(2, axis=2) for at in (0, 1))]
        image = np.stack(planes, axis=1)
        if self.crop is not None:
            top, left, rows, columns = self.crop
            image = image[:, :, top : top + rows, left : left + columns]
        if self.swap_chroma:
            image = image[:, [0, 2, 1]]
        if self.matrix is not None:
            matrix = np.array(self.matrix, np.int64).reshape(3, 3)
            centred = image.astype(np.int64) - np.array(self.bias, np.int64).reshape(1, 3, 1, 1)
            mixed: Array = np.einsum("ci,nihw->nchw", matrix, centred)
            image = np.clip(mixed >> 8, 0, 255)
        real: Array = image.astype(np.float64)
        if self.resize is not None:
            for axis, size in ((2, self.resize[0]), (3, self.resize[1])):
                positions = np.arange(size) * (real.shape[axis] / size)
                real = resample(real, axis, positions, Sampling.LINEAR)
        real = (real - np.array(self.shift).reshape(1, 3, 1, 1)) * np.array(self.factor).reshape(1, 3, 1, 1)
        top, bottom, left, right = self.pads
        around = ((0, 0), (0, 0), (top, bottom), (left, right))
        # float64 still: it is stored with one rounding
        return np.pad(real, around, constant_values=self.pad_value)


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


@dataclass(frozen=True, slots=True)
class ResizeBilinear(Op):
    """Bilinear sampling at another size; TensorFlow's align_corners and half_pixel_centers.

    The second operand holds [height, width]; it must be a constant.
    """

    align_corners: bool = False
    half_pixel_centers: bool = False
    channel_last: bool = False

    def shape(self, x: Operand, size: Operand) -> Shape:
        if len(x.shape) != 4:
            raise OpError(f"{list(x.shape)} has not four dimensions")
        if size.value is None or size.value.size != 2 or size.value.dtype.kind not in "iu":
            raise OpError("must be two constant integers", "size")
        height, width = (int(value) for value in size.value.reshape(-1))
        if min(height, width) < 1 or height * width >= 1 << 31:
            raise OpError(f"{[height, width]}", "size")
        n, channels = x.shape[0], x.shape[3 if self.channel_last else 1]
        return (n, height, width, channels) if self.channel_last else (n, channels, height, width)

    def reference(self, x: Array, size: Array) -> Array:
        y = x
        for axis, value in zip((1, 2) if self.channel_last else (2, 3), size.reshape(-1), strict=True):
            out, length = int(value), x.shape[axis]
            places = np.arange(out, dtype=np.float64)
            if self.align_corners and out > 1:
                positions = places * (length - 1) / (out - 1)
            elif self.half_pixel_centers:
                positions = np.clip((places + 0.5) * length / out - 0.5, 0, None)
            else:
                positions = places * length / out
            y = resample(y, axis, positions, Sampling.LINEAR)
        return y.astype(x.dtype if x.dtype.kind == "f" else np.float32)
