"""Collects the nodes and constants of an ONNX model; every value is known by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from emu.errors import GraphStatus
from emu.graph.ir import Array, Op, Operand, OpError, Shape

OPSET = 17
"""Axes of most reductions are attributes up to here, and every runtime of the last years reads it."""


@dataclass(slots=True)
class Builder:
    """Nodes in order. `used` are the names that are taken."""

    used: set[str] = field(default_factory=set)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initialisers: list[onnx.TensorProto] = field(default_factory=list)
    _constants: dict[tuple[str, Shape, bytes], str] = field(default_factory=dict)

    def fresh(self, wanted: str) -> str:
        """A name like `wanted` that is not taken."""
        name, count = wanted or "value", 0
        while name in self.used:
            count += 1
            name = f"{wanted}_{count}"
        self.used.add(name)
        return name

    def add(self, kind: str, *inputs: str | None, name: str | None = None, **attributes: Any) -> str:
        """A node with one result; its name."""
        return self.add_many(kind, inputs, 1, name=name, **attributes)[0]

    def add_many(
        self, kind: str, inputs: Sequence[str | None], count: int, *, name: str | None = None, **attributes: Any
    ) -> list[str]:
        results = [name] if name is not None else [self.fresh(kind.lower()) for _ in range(count)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, [each or "" for each in inputs], results, **given))
        return results

    def constant(self, value: Any, dtype: Any = None, wanted: str = "constant") -> str:
        """An initialiser; equal small ones are kept once."""
        array = np.array(value, dtype=dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes() if array.size <= 64 else b"")
        if array.size <= 64 and key in self._constants:
            return self._constants[key]
        name = self.fresh(wanted)
        self.initialisers.append(numpy_helper.from_array(array, name))
        if array.size <= 64:
            self._constants[key] = name
        return name

    def integers(self, values: Sequence[int]) -> str:
        return self.constant(list(values), np.int64)

    def cast(self, x: str, dtype: Any) -> str:
        return self.add("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        return self.add("Reshape", x, self.integers(shape), allowzero=1)

    def transpose(self, x: str, axes: Sequence[int]) -> str:
        return self.add("Transpose", x, perm=[int(axis) for axis in axes])

    def slice(self, x: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int]) -> str:
        return self.add("Slice", x, *(self.integers(each) for each in (starts, ends, axes)))


@dataclass(frozen=True, slots=True)
class Site:
    """An op to be written: its operands and results as the op sees them, and the names of the operands' values."""

    builder: Builder
    names: tuple[str | None, ...]
    operands: tuple[Operand | None, ...]
    results: tuple[Shape, ...]
    dtype: np.dtype[Any]
    """Of the first result."""

    def name(self, place: int) -> str:
        found = self.names[place] if place < len(self.names) else None
        if found is None:
            raise OpError(f"operand {place} is absent", status=GraphStatus.GRAPH_STRUCTURE)
        return found

    def optional(self, place: int) -> str | None:
        return self.names[place] if place < len(self.names) else None

    def operand(self, place: int) -> Operand:
        found = self.operands[place]
        assert found is not None
        return found

    def shape(self, place: int) -> Shape:
        return self.operand(place).shape

    def value(self, place: int, what: str) -> Array:
        """A constant operand; OpError if it is computed."""
        value = self.operand(place).value
        if value is None:
            raise no_counterpart(f"{what} is computed, not a constant")
        return value

    @property
    def floating(self) -> bool:
        return any(operand is not None and operand.dtype.kind == "f" for operand in self.operands)


Emitter = Callable[[Any, Site], list[str]]
EMITTERS: dict[type[Op], Emitter] = {}


def emits(*kinds: type[Op]) -> Callable[[Emitter], Emitter]:
    """The decorated function writes ops of these classes: the names of the results."""

    def register(function: Emitter) -> Emitter:
        EMITTERS.update(dict.fromkeys(kinds, function))
        return function

    return register


def no_counterpart(reason: str) -> OpError:
    return OpError(f"has no counterpart in ONNX: {reason}", status=GraphStatus.GRAPH_UNSUPPORTED)


def emit(op: Op, site: Site) -> list[str]:
    """Write an op; OpError (GRAPH_UNSUPPORTED) for one without a counterpart."""
    emitter = EMITTERS.get(type(op))
    if emitter is None:
        raise no_counterpart(f"no operator does what {type(op).__name__} does")
    return emitter(op, site)
