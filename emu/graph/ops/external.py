"""An op from outside: a function of the caller's in place of an op of the file (Session, `ops`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.graph import half
from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class External(Op):
    """`function` on the operands in order (None for an absent one), in the dtype of their tensors; quantised ones come
    as the real numbers that they mean. It returns an array, or a sequence of them for several results."""

    function: Function
    dtypes: tuple[np.dtype[Any] | None, ...]
    results: int

    def shape(self, *operands: Operand | None) -> list[Shape | None]:
        return [None] * self.results

    def reference(self, *arrays: Array | None) -> list[Array]:
        given = [
            half.narrowed(array) if array is not None and dtype == np.float16 else array
            for array, dtype in zip(arrays, self.dtypes, strict=True)
        ]
        found = self.function(*given)
        # copies: what the function keeps stays its own
        return [np.array(each) for each in (found if isinstance(found, list | tuple) else [found])]
