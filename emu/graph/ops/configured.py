"""Ops whose attributes are operands, and ops one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError

RESULT_LIMIT = 1 << 28
"""Elements of a result whose dims only the run knows."""

LIST_LIMIT = 4096
"""Integers that an operand which stands for an attribute may have."""


def integers_of(value: Array, what: str) -> tuple[int, ...]:
    """The operand as a list of integers; OpError for another kind or size of array."""
    if value.dtype.kind not in "iu" or value.size > LIST_LIMIT:
        raise OpError(f"{value.dtype}{list(value.shape)} is no list of integers", what)
    return tuple(int(each) for each in value.reshape(-1))


@dataclass(frozen=True, slots=True)
class Configured(Op):
    """The op that `make` gives for the integers in the operands at `places`, on the other operands.

    `names` say what the lists are. Before the run the shape of the result is known if the lists are.
    """

    make: Callable[..., Op]
    places: tuple[int, ...]
    names: tuple[str, ...]
    count: int

    def arity(self) -> tuple[int, int | None]:
        return self.count, self.count

    def _split(self, values: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
        lists = [values[place] for place in self.places]
        return lists, [value for place, value in enumerate(values) if place not in self.places]

    def _made(self, lists: list[Array]) -> Op:
        return self.make(*(integers_of(value, name) for value, name in zip(lists, self.names, strict=True)))

    def shape(self, *operands: Operand | None) -> Any:
        lists, others = self._split(operands)
        known = [operand.value for operand in lists if operand is not None and operand.value is not None]
        if len(known) < len(lists):
            return [None] * LIST_LIMIT
        return self._made(known).shape(*others)

    def _checked(self, arrays: tuple[Array | None, ...]) -> tuple[Op, list[Array | None]]:
        """The op, after the checks that could not be made before the run."""
        lists, others = self._split(arrays)
        op = self._made(lists)
        found = op.shape(*(None if each is None else Operand(each.shape, each.dtype) for each in others))
        for shape in found if isinstance(found, list) else [found]:
            if shape is not None and math.prod(shape) > RESULT_LIMIT:
                raise OpError(f"the result would be {list(shape)}", self.names[0])
        return op, others

    def reference(self, *arrays: Array | None) -> Any:
        op, others = self._checked(arrays)
        return op.reference(*others)

    def fast(self, *arrays: Array | None) -> Any:
        op, others = self._checked(arrays)
        return op.fast(*others)

    def fixed(self, *constants: Array | None) -> Op | None:
        """The op, where the lists are constants; it takes the operands at the other places."""
        lists, _ = self._split(constants)
        return None if any(each is None for each in lists) else self._made(lists)

    def bind(self, *constants: Array | None) -> Callable[..., Array | list[Array]]:
        op = self.fixed(*constants)
        if op is None:
            return self.fast
        compute = op.bind(*self._split(constants)[1])
        return lambda *arrays: compute(*self._split(arrays)[1])


@dataclass(frozen=True, slots=True)
class Chain(Op):
    """Ops of one operand one after the other, in floating point as wide as the operand's."""

    ops: tuple[Op, ...]

    def shape(self, x: Operand) -> Shape | list[Shape | None] | list[Shape] | None:
        found: Any = x.shape
        for op in self.ops:
            found = op.shape(Operand(found, x.dtype))
        return found  # type: ignore[no-any-return]

    def is_pointwise(self) -> bool:
        return all(op.is_pointwise() for op in self.ops)

    def reference(self, x: Array) -> Array:
        found: Any = x
        for op in self.ops:
            found = op.fast(found)
        return np.asarray(found)


@dataclass(frozen=True, slots=True)
class Step:
    """One member of a fused op: `sources` are operands of the fused op (0, 1, …) or results of members (-1, -2, …)."""

    op: Op
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fused(Op):
    """Several ops as one: each member reads operands and results of members before it; the last result is stored."""

    steps: tuple[Step, ...]
    count: int

    def arity(self) -> tuple[int, int | None]:
        return self.count, self.count

    def shape(self, *operands: Operand | None) -> Shape:
        found: list[Operand] = []
        for step in self.steps:
            given = [operands[at] if at >= 0 else found[-at - 1] for at in step.sources]
            dtype = next(operand.dtype for operand in given if operand is not None)
            shape = step.op.shape(*given)
            if isinstance(shape, list):
                shape = shape[0]
            if shape is None:
                raise OpError("a member's result has no known dims", "type", GraphStatus.GRAPH_UNSUPPORTED)
            found.append(Operand(shape, dtype))
        return found[-1].shape

    def _run(self, arrays: tuple[Array | None, ...], reference: bool) -> Array:
        found: list[Array] = []
        for step in self.steps:
            given = [arrays[at] if at >= 0 else found[-at - 1] for at in step.sources]
            result = step.op.reference(*given) if reference else step.op.fast(*given)
            found.append(result[0] if isinstance(result, list) else result)
        return found[-1]

    def reference(self, *arrays: Array | None) -> Array:
        return self._run(arrays, True)

    def fast(self, *arrays: Array | None) -> Array:
        return self._run(arrays, False)
