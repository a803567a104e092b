"""AIPP in ONNX: from the bytes of an image to the map that the first op reads."""

from __future__ import annotations

import numpy as np

from emu.graph.ops.aipp import Aipp
from emu.graph.writers.onnx.builder import Builder, Site, emits


def _planes(b: Builder, op: Aipp, x: str, count: int) -> str:
    """Y, U and V of the whole image, [N, 3, H, W] of uint8."""
    height, width = op.source
    luma = b.reshape(b.slice(x, [0], [height], [1]), (count, 1, height, width))
    pairs = b.reshape(b.slice(x, [height], [height * 3 // 2], [1]), (count, height // 2, 1, width // 2, 1, 2))
    spread = b.add("Expand", pairs, b.integers([count, height // 2, 2, width // 2, 2, 2]))
    chroma = b.reshape(b.transpose(spread, (0, 5, 1, 2, 3, 4)), (count, 2, height, width))
    return b.add("Concat", luma, chroma, axis=1)


@emits(Aipp)
def _aipp(op: Aipp, site: Site) -> list[str]:
    b, count = site.builder, site.shape(0)[0]
    image, (rows, columns) = _planes(b, op, site.name(0), count), op.source
    if op.crop is not None:
        top, left, rows, columns = op.crop
        image = b.slice(image, [top, left], [top + rows, left + columns], [2, 3])
    if op.swap_chroma:
        image = b.add("Gather", image, b.integers([0, 2, 1]), axis=1)
    image = b.cast(image, np.float32)
    if op.matrix is not None:
        # whole numbers below 2^24: exact
        matrix = b.constant(np.array(op.matrix, np.float32).reshape(1, 3, 3))
        centred = b.add("Sub", image, b.constant(np.array(op.bias, np.float32).reshape(1, 3, 1, 1)))
        mixed = b.add("MatMul", matrix, b.reshape(centred, (count, 3, rows * columns)))
        shifted = b.add("Floor", b.add("Mul", mixed, b.constant(1 / 256, np.float32)))
        clipped = b.add("Clip", shifted, b.constant(0, np.float32), b.constant(255, np.float32))
        image = b.reshape(clipped, (count, 3, rows, columns))
    if op.resize is not None:
        size = b.integers([count, 3, *op.resize])
        image = b.add("Resize", image, None, None, size, mode="linear", coordinate_transformation_mode="asymmetric")
    image = b.add("Sub", image, b.constant(np.array(op.shift, np.float32).reshape(1, 3, 1, 1)))
    image = b.add("Mul", image, b.constant(np.array(op.factor, np.float32).reshape(1, 3, 1, 1)))
    if any(op.pads):
        top, bottom, left, right = op.pads
        around = b.integers([0, 0, top, left, 0, 0, bottom, right])
        image = b.add("Pad", image, around, b.constant(op.pad_value, np.float32))
    return [image]
