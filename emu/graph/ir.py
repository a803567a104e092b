"""The one small graph that the OM and MS readers produce and the executor runs.

A `Graph` is a list of tensors and a list of nodes; a node names its operands by their place in the tensor list.
What a node does is its `op`, an `Op` object that holds the typed attributes; the families of them are in ops/.
Constants are views of the file.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from emu.errors import GraphError, GraphStatus

_SHOWN = 16
"""Operands that an error shows: a line stays a line."""

Array = NDArray[Any]
Shape = tuple[int, ...]


class Layout(StrEnum):
    """Element order of a tensor, as the formats spell it (om-format.md 2, ms-predict.md 2)."""

    ND = "ND"
    NCHW = "NCHW"
    NHWC = "NHWC"
    NC1HWC0 = "NC1HWC0"
    NC4HW4 = "NC4HW4"
    FRACTAL_Z = "FRACTAL_Z"
    FRACTAL_Z_C04 = "FRACTAL_Z_C04"
    FRACTAL_NZ = "FRACTAL_NZ"
    HWCN = "HWCN"
    HWKC = "HWKC"
    HWCK = "HWCK"
    KCHW = "KCHW"
    CKHW = "CKHW"
    KHWC = "KHWC"
    CHWK = "CHWK"


@dataclass(frozen=True, slots=True, eq=False)
class Quantisation:
    """real = scale * (stored - zero_point), per tensor (axis None, one value) or per index of `axis`.

    `lowest` and `highest` bound the stored value (bits and narrow range already applied).
    """

    scale: NDArray[np.float64]
    zero_point: NDArray[np.int64]
    lowest: int
    highest: int
    axis: int | None = None


@dataclass(slots=True, eq=False)
class Tensor:
    """One value of the graph. `shape` is that of its array, exactly as the file has the dims.

    A constant has `value`. `logical_shape` is set where the array is packed (five-dimensional NC1HWC0, FRACTAL_NZ):
    ops then see the unpacked array of that shape, and `layout` says how the array in memory is packed. `origin` is the
    order of the four axes in which attributes of ops count those of a packed tensor, where it is another than that of
    its logical shape. `embedded` marks a weight that the file keeps inside the op itself, so that it is no operand for
    `--until`.
    """

    name: str
    shape: Shape
    dtype: np.dtype[Any]
    layout: Layout = Layout.ND
    logical_shape: Shape | None = None
    value: Array | None = None
    embedded: bool = False
    origin: str | None = None

    @property
    def op_shape(self) -> Shape:
        """The shape that ops see."""
        return self.shape if self.logical_shape is None else self.logical_shape

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        packed = f" of {list(self.logical_shape)}" if self.logical_shape is not None else ""
        return f"{self.dtype}{list(self.shape)}{packed}"


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

    def bind(self, *constants: Array | None) -> Callable[..., Array | list[Array]]:
        """`fast` for operands that `constants` repeats at every run (None: another one each time).

        An op overrides it where something that follows from constants alone is worth keeping.
        """
        return self.fast


@dataclass(slots=True, eq=False)
class Node:
    """One op of the file.

    `inputs` and `outputs` are places in `Graph.tensors`; None is an optional operand that is absent. `input_shapes`
    holds, per operand, the dims under which the node reads it where the file says so (om-format.md 8.2), else None.
    `quantisations` holds, inputs then outputs, how the node reads and stores integers (MS-Q1: it is a node that has
    parameters for a tensor, and another node may read the same tensor without); empty means none at all.
    `stream`, `sends` and `waits` order the execution (om-format.md 5), `after` lists further nodes (places in
    `Graph.nodes`) that must run before. `refusal` is why the node cannot be executed: it is raised before anything
    runs if the node is needed, and listed by `inspect`.
    """

    name: str
    type: str
    op: Op | None
    inputs: tuple[int | None, ...] = ()
    outputs: tuple[int, ...] = ()
    stream: int = 0
    sends: int | None = None
    waits: int | None = None
    after: tuple[int, ...] = ()
    input_shapes: tuple[Shape | None, ...] = ()
    quantisations: tuple[Quantisation | None, ...] = ()
    refusal: GraphError | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """A graph input or output: the key of its array and its place in `Graph.tensors`."""

    name: str
    tensor: int


@dataclass(slots=True, eq=False)
class Graph:
    """A whole model.

    `ordered` tells that the ops of one stream run in list order (OM); otherwise the edges alone order them (MS).
    Independent subgraphs (MS) are merged here, with prefixed port and node names; a subgraph that is called by a node
    (OM GraphOp) is an attribute of that node's op. `notes` are remarks for `inspect` and the summary. `for_shapes`
    gives the graph for inputs of other dims (key: port name) where the ops themselves depend on them (MindSpore Lite).
    """

    format: str
    kind: str
    name: str
    tensors: list[Tensor] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    ordered: bool = False
    notes: list[str] = field(default_factory=list)
    for_shapes: Callable[[Mapping[str, Shape]], Graph] | None = None

    def add(self, tensor: Tensor) -> int:
        """Append a tensor and return its place."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def constant(self, name: str, value: Array, **more: Any) -> int:
        """Append a constant that holds `value` and return its place."""
        return self.add(Tensor(name, value.shape, value.dtype, value=value, **more))


def node_error(
    graph: Graph,
    node: Node,
    message: str,
    *,
    status: GraphStatus = GraphStatus.GRAPH_SHAPE,
    attribute: str | None = None,
    **where: Any,
) -> GraphError:
    """The error of one node: op name and type, attribute, all shapes."""
    named = f" attribute {attribute}:" if attribute else ""
    shapes = _listed(graph, node.inputs)
    results = _listed(graph, node.outputs)
    place: Mapping[str, Any] = {"op": node.name, **({"attribute": attribute} if attribute else {}), **where}
    return GraphError(
        status,
        f"op {node.name!r} ({node.type}):{named} {message}; inputs {shapes or 'none'}; outputs {results or 'none'}",
        **place,
    )


def _listed(graph: Graph, places: Sequence[int | None]) -> str:
    shown = ["absent" if at is None else str(graph.tensors[at]) for at in places[:_SHOWN]]
    return ", ".join(shown) + (f", … {len(places) - _SHOWN} more" if len(places) > _SHOWN else "")
