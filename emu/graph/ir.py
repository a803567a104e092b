"""The one small graph that the OM and MS readers produce and the executor runs.

A `Graph` is a list of tensors and a list of nodes; a node names its operands by their place in the tensor list.
What a node does is its `op`, an `Op` object (ops/__init__.py) that holds the typed attributes. Constants are views
of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emu.errors import GraphError, GraphStatus

if TYPE_CHECKING:
    from emu.graph.ops import Op

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
    ops then see the unpacked array of that shape, and `layout` says how the array in memory is packed.
    `embedded` marks a weight that the file keeps inside the op itself, so that it is no operand for `--until`.
    """

    name: str
    shape: Shape
    dtype: np.dtype[Any]
    layout: Layout = Layout.ND
    logical_shape: Shape | None = None
    value: Array | None = None
    embedded: bool = False

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
    (OM GraphOp) is an attribute of that node's op. `notes` are remarks for `inspect` and the summary.
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
