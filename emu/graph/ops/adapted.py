"""An op between a file's conventions and ours: operands in another order or axis order, results likewise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError


@dataclass(frozen=True, slots=True)
class View:
    """How an operand is turned: its axes transposed, then with `merge` the first two made one, an axis of 1 behind.

    `merge` makes [C, M, H, W], a depthwise weight, into [C * M, 1, H, W], that of C groups.
    """

    axes: tuple[int, ...]
    merge: bool = False

    def of(self, array: Array) -> Array:
        turned = array.transpose(self.axes)
        return turned.reshape(self._merged(turned.shape)) if self.merge else turned

    def laid_out(self, array: Array) -> Array:
        """The same array, in memory such that `of` need not copy."""
        back = np.argsort(self.axes)
        return np.ascontiguousarray(array.transpose(self.axes)).transpose(back)

    def of_operand(self, operand: Operand) -> Operand:
        if len(operand.shape) != len(self.axes):
            raise OpError(f"operand {list(operand.shape)} has not {len(self.axes)} dimensions")
        shape = tuple(operand.shape[axis] for axis in self.axes)
        value = None if operand.value is None else self.of(operand.value)
        return Operand(self._merged(shape) if self.merge else shape, operand.dtype, value)

    @staticmethod
    def _merged(shape: Shape) -> Shape:
        return shape[0] * shape[1], 1, *shape[2:]


@dataclass(frozen=True, slots=True)
class Adapted(Op):
    """`op` on operands in the order `order` (as they come where empty), each through its view; the result's axes are
    transposed by `result_axes`. A result without dimensions gets the dims [1] where `one_for_scalar` is set."""

    op: Op
    order: tuple[int, ...] = ()
    views: tuple[View | None, ...] = ()
    result_axes: tuple[int, ...] = ()
    one_for_scalar: bool = False

    def arity(self) -> tuple[int, int | None]:
        return self.op.arity()

    def in_order(self, values: tuple[Any, ...]) -> list[Any]:
        if not self.order:
            return list(values)
        return [values[at] for at in self.order if at < len(values)]

    def turned(self, operands: Sequence[Operand | None]) -> list[Operand | None]:
        """The operands as the inner op takes them."""
        given = self.in_order(tuple(operands))
        for at, view in enumerate(self.views[: len(given)]):
            if view is not None and given[at] is not None:
                given[at] = view.of_operand(given[at])
        return given

    def shape(self, *operands: Operand | None) -> list[Shape | None]:
        found = self.op.shape(*self.turned(operands))
        return [self._finished_shape(shape) for shape in (found if isinstance(found, list) else [found])]

    def _finished_shape(self, shape: Shape | None) -> Shape | None:
        if shape is None:
            return None
        if self.result_axes:
            if len(shape) != len(self.result_axes):
                raise OpError(f"result {list(shape)} has not {len(self.result_axes)} dimensions")
            shape = tuple(shape[axis] for axis in self.result_axes)
        return (1,) if self.one_for_scalar and not shape else shape

    def _prepared(self, arrays: tuple[Array | None, ...]) -> list[Array | None]:
        given = self.in_order(arrays)
        for at, view in enumerate(self.views[: len(given)]):
            if view is not None and given[at] is not None:
                given[at] = view.of(given[at])
        return given

    def _finished(self, found: Array | list[Array]) -> list[Array]:
        results = found if isinstance(found, list) else [found]
        if self.result_axes:
            results = [result.transpose(self.result_axes) for result in results]
        return [result.reshape(1) if self.one_for_scalar and not result.ndim else result for result in results]

    def reference(self, *arrays: Array | None) -> list[Array]:
        return self._finished(self.op.reference(*self._prepared(arrays)))

    def bind(self, *constants: Array | None) -> Callable[..., Array | list[Array]]:
        kept = [None if each is None else np.ascontiguousarray(each) for each in self._prepared(constants)]
        compute = self.op.bind(*kept)

        def run(*arrays: Array | None) -> list[Array]:
            given = self.in_order(arrays)
            for at, constant in enumerate(kept):
                view = self.views[at] if at < len(self.views) else None
                if constant is not None:
                    given[at] = constant
                elif view is not None and given[at] is not None:
                    given[at] = view.of(given[at])
            return self._finished(compute(*given))

        return run

    def fast(self, *arrays: Array | None) -> list[Array]:
        return self._finished(self.op.fast(*self._prepared(arrays)))
