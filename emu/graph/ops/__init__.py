"""What the nodes of a graph do: one family a file, one op a small frozen dataclass of its attributes.

An op has a plain `reference` form, and a `fast` form where it pays; both take and return numpy arrays and know
nothing of file formats. `OPS` is the registry by class name; importing a family fills it.

Contract with the executor: float16 operands arrive as float32 (and quantised ones dequantised), results are rounded
once to the dtype of their tensor. An op with `exact = True` only moves or selects stored values and gets them as they
are. One with `half = True` takes float16 itself, computes in float32 and rounds once: that saves memory. One with
`pointwise = True` gives element i of its result from elements i alone, so that large operands may be cut in pieces.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Array, Shape

OPS: dict[str, type[Op]] = {}


class OpError(Exception):
    """What an op refuses; the executor adds the op's name and all shapes and raises a GraphError."""

    def __init__(
        self, message: str, attribute: str | None = None, status: GraphStatus = GraphStatus.GRAPH_SHAPE
    ) -> None:
        super().__init__(message)
        self.message = message
        self.attribute = attribute
        self.status = status


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """An operand as `Op.shape` sees it, before anything runs; `value` is known for constants."""

    shape: Shape
    dtype: np.dtype[Any]
    value: Array | None = None


class Op:
    """Base of all ops; a subclass is a frozen dataclass of typed attributes.

    `reference` takes one array an operand (None for an absent optional one) and returns an array, or a list of arrays
    for several results; `fast` is the same function, faster. `shape` takes one Operand each, checks attributes and
    shapes (raising OpError) and returns the shape, or a list of shapes, of the results; None instead of a shape means
    that only the run can tell.
    """

    exact: ClassVar[bool] = False
    half: ClassVar[bool] = False
    pointwise: ClassVar[bool] = False
    least: ClassVar[int] = 0
    most: ClassVar[int | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "reference" not in cls.__dict__:
            return
        OPS[cls.__name__] = cls
        parameters = list(inspect.signature(cls.reference).parameters.values())[1:]
        cls.least = sum(p.default is p.empty and p.kind is not inspect.Parameter.VAR_POSITIONAL for p in parameters)
        open_ended = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        cls.most = None if open_ended else len(parameters)

    def arity(self) -> tuple[int, int | None]:
        """Least and most number of operands."""
        return self.least, self.most

    def is_pointwise(self) -> bool:
        return self.pointwise

    def shape(self, *args: Any, **kwargs: Any) -> Shape | list[Shape | None] | list[Shape] | None:
        raise NotImplementedError

    def reference(self, *args: Any, **kwargs: Any) -> Array | list[Array]:
        raise NotImplementedError

    def fast(self, *args: Any, **kwargs: Any) -> Array | list[Array]:
        return self.reference(*args, **kwargs)
