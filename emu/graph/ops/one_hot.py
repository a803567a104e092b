"""Indices as vectors with one element set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.elementwise import check_axis


@dataclass(frozen=True, slots=True)
class OneHot(Op):
    """tf.one_hot: a new axis of `depth` elements that are `off`, but `on` at the index; none is for an index outside.

    `values` holds off and on, in this order (ONNX).
    """

    exact: ClassVar[bool] = True
    axis: int
    depth: int

    def shape(self, indices: Operand, values: Operand) -> Shape:
        axis = check_axis(self.axis, len(indices.shape) + 1)
        if indices.dtype.kind not in "iu":
            raise OpError(f"indices are {indices.dtype}, not integers")
        if self.depth < 0:
            raise OpError(f"{self.depth} is negative", "depth")
        if values.shape != (2,):
            raise OpError(f"values are {list(values.shape)}, not off and on")
        return (*indices.shape[:axis], self.depth, *indices.shape[axis:])

    def reference(self, indices: Array, values: Array) -> Array:
        axis = check_axis(self.axis, indices.ndim + 1)
        steps = np.arange(self.depth).reshape([-1 if at == axis else 1 for at in range(indices.ndim + 1)])
        found: Array = np.where(np.expand_dims(indices, axis) == steps, values[1], values[0])
        return found
