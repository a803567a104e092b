"""MindSpore Lite (.ms) of every release → the graph IR.

The runtime infers all dims itself and so does this reader: of what a node computes, the dims in the file are only what
the converter knew (an old training file has NCHW dims there for NHWC maps).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph.dynamic import UNKNOWN
from emu.graph.ir import Array, Graph, Node, Op, Operand, OpError, Port, Quantisation, Shape, Tensor, node_error
from emu.graph.ops.fill import ShapeOf
from emu.graph.readers.lite import activations, maps, places, pointwise, products
from emu.graph.readers.lite.file import read_meta_graph
from emu.graph.readers.lite.products import channel_axis
from emu.graph.readers.lite.site import LOWERINGS, Site, unsupported
from emu.graph.readers.lite.tensors import UNTYPED, dequantised, quantisation, read_tensor
from emu.graph.step import FAULTS
from emu.schemas import fbs

if TYPE_CHECKING:
    from emu.graph.readers.lite.file import MetaGraph
    from emu.graph.readers.lite.tensors import LiteTensor
    from emu.schemas.generated import ms_lite_v0, ms_lite_v2

    CNode = ms_lite_v0.CNode | ms_lite_v2.CNode

FAMILIES = (activations, maps, places, pointwise, products)
"""The modules that fill LOWERINGS."""

_TRAINING = {
    "Adam", "AdamWeightDecay", "ApplyMomentum", "Assign", "AssignAdd", "BinaryCrossEntropy", "LSTMGradData",
    "LSTMGradWeight", "NLLLoss", "SGD", "Sgd", "SigmoidCrossEntropyWithLogits", "SmoothL1Loss", "SoftmaxCrossEntropy",
    "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropy", "SparseSoftmaxCrossEntropyWithLogits",
    "Conv2DBackpropFilterFusion", "Conv2DBackpropInputFusion", "Conv2DGradFilter", "Conv2DGradInput",
    "DeConv2DGradFilter", "GroupConv2DGradInput",
}  # fmt: skip
"""Operators of training beside those whose name ends in Grad."""

_NAME_SHOWN = 1024
"""Characters of an operator's name that go into those of its results: many results share one long name."""

_KNOWN_LIMIT = 1024
"""Elements of a value that is computed while reading: shapes, axes and the like."""


def read(data: bytes | memoryview) -> Graph:
    """The graph of a Lite file; of several subgraphs the first, which calls the others.

    Raises GraphError: MS_FLATBUFFER for a broken file, GRAPH_STRUCTURE, GRAPH_SHAPE or GRAPH_UNSUPPORTED for what its
    tables say. An operator that cannot be executed is a refusal of its node.
    """
    return build(read_meta_graph(data))


def build(meta: MetaGraph, shapes: Mapping[str, Shape] | None = None) -> Graph:
    """The graph of checked tables (see `read`), for inputs of these dims where the file leaves them open.

    Without them the graph is the one for sizes of 1, its open inputs have UNKNOWN dims, and `for_shapes` gives others.
    """
    graph = _Reader(meta, shapes or {}).read()
    for port in graph.inputs:
        dims = tuple(UNKNOWN if size < 0 else size for size in meta.allTensors[port.tensor].dims)
        if UNKNOWN in dims and shapes is None:
            graph.tensors[port.tensor].shape = dims
            graph.for_shapes = partial(build, meta)
    return graph


class _Reader:
    """Fills one graph; tensor i of the file is tensor i there."""

    def __init__(self, meta: MetaGraph, shapes: Mapping[str, Shape]) -> None:
        self.meta = meta
        self.shapes = shapes
        subgraphs: Sequence[ms_lite_v0.SubGraph | ms_lite_v2.SubGraph] = meta.subGraph
        self.main = subgraphs[0] if subgraphs else None
        name = meta.name or (self.main.name if self.main is not None else "")
        self.graph = Graph("ms", "lite", name)
        self.tensors: Sequence[LiteTensor] = meta.allTensors
        self.known: dict[int, Array] = {}
        self.corrected: list[str] = []
        self.names: set[str] = set()

    def read(self) -> Graph:
        """Tensors, ports, then the nodes in the order of the data."""
        if getattr(self.meta, "obfuscate", False):
            raise GraphError(GraphStatus.GRAPH_UNSUPPORTED, "the model is obfuscated")
        graph = self.graph
        if len(self.meta.subGraph) > 1:
            graph.notes.append(f"{len(self.meta.subGraph)} subgraphs: the first is executed, which calls the others")
        cnodes = self._cnodes()
        names = self._tensor_names(cnodes)
        for at, tensor in enumerate(self.tensors):
            graph.add(read_tensor(tensor, names[at], f"allTensors[{at}]"))
        inputs = self._inputs()
        self._fill_empty(inputs.union(*(cnode.outputIndex for _, cnode in cnodes)))
        self.known = {at: tensor.value for at, tensor in enumerate(graph.tensors) if tensor.value is not None}
        for place, cnode in cnodes:
            self._add_node(place, cnode, inputs)
        for at in self._order():
            self._lower(at, cnodes[at][1])
        if self.corrected:
            shown = ", ".join(self.corrected[:3]) + (", …" if len(self.corrected) > 3 else "")
            graph.notes.append(
                f"{len(self.corrected)} tensors have other dims in the file than their operators give: {shown}"
            )
        return graph

    # what the file lists

    def _cnodes(self) -> list[tuple[int, CNode]]:
        """The nodes of the main subgraph, with their places in the file."""
        nodes: Sequence[CNode] = self.meta.nodes
        if self.main is None or not self.main.nodeIndices:
            return list(enumerate(nodes))
        found = self._places(self.main.nodeIndices, len(nodes), "subGraph[0].nodeIndices", "node")
        if len(set(found)) != len(found):
            raise _structure("subGraph[0].nodeIndices names a node twice")
        return [(place, nodes[place]) for place in found]

    def _places(self, indices: Sequence[int], count: int, what: str, kind: str = "tensor") -> tuple[int, ...]:
        for index in indices:
            if index >= count:
                raise _structure(f"{what}: {kind} {index} of {count}")
        return tuple(indices)

    def _tensor_names(self, cnodes: list[tuple[int, CNode]]) -> list[str]:
        """The file's names; a tensor without one is called by its producer, or by its place."""
        names = [tensor.name for tensor in self.tensors]
        for place, cnode in cnodes:
            producer = (cnode.name or f"nodes[{place}]")[:_NAME_SHOWN]
            for k, at in enumerate(cnode.outputIndex):
                if at < len(names) and not names[at]:
                    names[at] = f"{producer}:{k}"
        return [name or f"tensor_{at}" for at, name in enumerate(names)]

    def _inputs(self) -> set[int]:
        graph, main = self.graph, self.main
        count = len(self.tensors)
        indices = self.meta.inputIndex or (main.inputIndices if main is not None else ())
        inputs = self._places(indices, count, "inputIndex")
        if len(set(inputs)) != len(inputs):
            raise _structure(f"inputIndex {list(indices)} names a tensor twice")
        for k, at in enumerate(inputs):
            tensor = graph.tensors[at]
            if tensor.value is not None:
                raise _structure(f"graph input {k} is a constant (tensor {at} has data)")
            if tensor.dtype == UNTYPED:
                problem = f"graph input {k} ({tensor.name!r}) has data type {self.tensors[at].dataType}"
                raise GraphError(GraphStatus.GRAPH_UNSUPPORTED, f"{problem}, which is not read", tensor=tensor.name)
            port = Port(f"input_{k}", at)
            tensor.shape = self.shapes.get(port.name, tuple(1 if size < 0 else size for size in self.tensors[at].dims))
            graph.inputs.append(port)
        outputs = self.meta.outputIndex or (main.outputIndices if main is not None else ())
        for k, at in enumerate(self._places(outputs, count, "outputIndex")):
            graph.outputs.append(Port(f"output_{k}", at))
        return set(inputs)

    def _fill_empty(self, given: set[int]) -> None:
        """A constant without elements has no data either: a list of no axes, above all."""
        for at, tensor in enumerate(self.graph.tensors):
            if at not in given and tensor.value is None and 0 in self.tensors[at].dims:
                tensor.value = np.zeros(tensor.shape, tensor.dtype)

    def _add_node(self, place: int, cnode: CNode, inputs: set[int]) -> None:
        graph = self.graph
        attr = cnode.primitive.value if cnode.primitive is not None else None
        count = len(self.tensors)
        node = Node(
            self._unique(cnode.name or f"nodes[{place}]", place),
            "NONE" if attr is None else type(attr).__name__,
            None,
            self._places(cnode.inputIndex, count, f"nodes[{place}].inputIndex"),
            self._places(cnode.outputIndex, count, f"nodes[{place}].outputIndex"),
        )
        graph.nodes.append(node)
        for at in node.outputs:
            tensor = graph.tensors[at]
            if at in inputs or tensor.value is not None:
                what = "graph input" if at in inputs else "constant"
                raise node_error(graph, node, f"writes the {what} {tensor.name!r}", status=GraphStatus.GRAPH_STRUCTURE)

    def _unique(self, name: str, place: int) -> str:
        """Names need not differ in the file, but `--until` goes by them."""
        found = f"{name}#{place}" if name in self.names else name
        self.names.add(found)
        return found

    def _order(self) -> list[int]:
        """Producers before their consumers; what lies on a cycle comes last, the plan reports it."""
        nodes = self.graph.nodes
        producer = {at: place for place, node in enumerate(nodes) for at in node.outputs}
        missing = [0] * len(nodes)
        followers: list[list[int]] = [[] for _ in nodes]
        for place, node in enumerate(nodes):
            for before in {producer[at] for at in node.inputs if at is not None and at in producer}:
                followers[before].append(place)
                missing[place] += 1
        ready = [place for place, count in enumerate(missing) if not count]
        order: list[int] = []
        while ready:
            place = heapq.heappop(ready)
            order.append(place)
            for follower in followers[place]:
                missing[follower] -= 1
                if not missing[follower]:
                    heapq.heappush(ready, follower)
        return [*order, *(place for place, count in enumerate(missing) if count)]

    # one node

    def _lower(self, at: int, cnode: CNode) -> None:
        graph, node = self.graph, self.graph.nodes[at]
        try:
            attr, constants = self._operator(cnode, node)
            inputs = [
                *(at for at in node.inputs if at is not None),
                *(self._constant(node, each) for each in constants),
            ]
            node.op, node.inputs = self._op(attr, node, inputs)
        except OpError as error:
            node.refusal = node_error(graph, node, error.message, status=error.status, attribute=error.attribute)
            return
        self._infer(node)

    def _operator(self, cnode: CNode, node: Node) -> tuple[fbs.Table, tuple[Array, ...]]:
        """The table of the 1.2 schema, and the constants that attributes of an older one became."""
        attr: fbs.Table | None = cnode.primitive.value if cnode.primitive is not None else None
        if attr is None:
            raise unsupported("the node is without operator (primitive NONE)")
        constants: tuple[Array, ...] = ()
        if type(attr).__module__.endswith("v0"):
            from emu.graph.readers.lite.upgrade import upgraded

            found = upgraded(attr, len(node.inputs))
            if found is None:
                raise _refused(attr)
            attr, constants = found
        if type(attr).__name__ not in LOWERINGS:
            raise _refused(attr)
        return attr, constants

    def _constant(self, node: Node, value: Array) -> int:
        at = self.graph.constant(f"{node.name}.{len(self.graph.tensors)}", value, embedded=True)
        self.known[at] = value
        return at

    def _op(self, attr: fbs.Table, node: Node, inputs: list[int]) -> tuple[Op, tuple[int, ...]]:
        graph = self.graph
        self._dequantise(attr, inputs)
        tensors = [graph.tensors[at] for at in inputs]
        kind = type(attr).__name__
        self._type(tensors, node.outputs)
        site = Site(kind, tensors, [self.known.get(at) for at in inputs], [graph.tensors[at] for at in node.outputs])
        op = LOWERINGS[kind](attr, site)
        if site.taken is not None:
            inputs = [inputs[place] for place in site.taken]
        inputs += [self._constant(node, value) for value in site.more]
        if site.reads:
            node.input_shapes = tuple(site.reads.get(place) for place in range(len(inputs)))
        node.quantisations = self._quantisations(op, inputs, node.outputs)
        return op, tuple(inputs)

    def _type(self, inputs: list[Tensor], outputs: Sequence[int]) -> None:
        """Results whose type the file leaves open have that of the first operand (SetDataTypeFormat of nnacl/infer)."""
        for tensor in inputs:
            if tensor.dtype == UNTYPED:
                raise unsupported(f"the type of {tensor.name!r} is not read")
        for at in outputs:
            if self.graph.tensors[at].dtype == UNTYPED:
                self.graph.tensors[at].dtype = inputs[0].dtype if inputs else np.dtype(np.float32)

    def _dequantise(self, attr: fbs.Table, inputs: list[int]) -> None:
        """Constants that stand for real numbers become them, once."""
        scales: list[Array | None] = [None, None]
        for place, at in enumerate(inputs):
            if at >= len(self.tensors):
                continue
            source, tensor = self.tensors[at], self.graph.tensors[at]
            if place < 2 and tensor.dtype.kind in "iu" and source.quantParams:
                scales[place] = np.array([param.scale for param in source.quantParams])
            if tensor.value is None or tensor.dtype.kind not in "iu":
                continue
            axis = channel_axis(attr, place, tensor.shape, len(source.quantParams))
            real = dequantised(source, tensor.value, axis, f"allTensors[{at}]", tensor.name)
            if real is None and place == 2 and tensor.dtype == np.int32:
                real = _real_bias(attr, tensor.value, scales)
            if real is not None:
                tensor.value, tensor.dtype = real, real.dtype
                self.known[at] = real

    def _quantisations(self, op: Op, inputs: list[int], outputs: Sequence[int]) -> tuple[Quantisation | None, ...]:
        """How the node reads and stores integers that stand for real numbers; empty where it moves them as they are."""
        found = tuple(self._quantisation(at) for at in (*inputs, *outputs))
        if not any(found) or (op.exact and not all(found[len(inputs) :])):
            return ()
        return found

    def _quantisation(self, at: int) -> Quantisation | None:
        tensor = self.graph.tensors[at]
        if at >= len(self.tensors) or tensor.value is not None:
            return None
        return quantisation(self.tensors[at], f"allTensors[{at}]", tensor.name)

    # dims

    def _infer(self, node: Node) -> None:
        """Give the results the dims that the op computes, and what can be known of them already."""
        graph, op = self.graph, node.op
        assert op is not None
        operands = [self._operand(node, place) for place in range(len(node.inputs))]
        try:
            least, most = op.arity()
            if len(operands) < least or (most is not None and len(operands) > most):
                return  # the plan says so
            found = op.shape(*operands)
        except (OpError, *FAULTS):
            return  # the plan raises it with the node's name
        shapes: Sequence[Shape | None] = found if isinstance(found, list) else [found]
        for at, shape in zip(node.outputs, shapes, strict=False):
            if shape is not None:
                self._correct(at, shape)
        if isinstance(op, ShapeOf) and len(node.outputs) == 1:
            self.known[node.outputs[0]] = np.array(operands[0].shape, graph.tensors[node.outputs[0]].dtype)
        elif not any(node.quantisations):
            self._know(node, op)

    def _operand(self, node: Node, place: int) -> Operand:
        at = node.inputs[place]
        assert at is not None
        tensor = self.graph.tensors[at]
        read = node.input_shapes[place] if place < len(node.input_shapes) else None
        dtype = tensor.dtype
        if place < len(node.quantisations) and node.quantisations[place] is not None:
            dtype = np.dtype(np.float32)
        return Operand(tensor.shape if read is None else read, dtype, tensor.value)

    def _correct(self, at: int, shape: Shape) -> None:
        tensor, said = self.graph.tensors[at], self.tensors[at].dims
        if said and not any(size < 0 for size in said) and said != shape:
            self.corrected.append(f"{tensor.name!r} {list(said)}, computed {list(shape)}")
        tensor.shape = shape

    def _know(self, node: Node, op: Op) -> None:
        """Compute small results of known operands: what shapes are made of."""
        graph = self.graph
        values = [self.known.get(at) for at in node.inputs if at is not None]
        outputs = [graph.tensors[at] for at in node.outputs]
        if any(value is None or value.size > _KNOWN_LIMIT for value in values) or node.input_shapes:
            return
        if any(math.prod(tensor.shape) > _KNOWN_LIMIT for tensor in outputs):
            return
        try:
            found = op.reference(*values)
        except (OpError, *FAULTS):
            return
        for at, tensor, value in zip(
            node.outputs, outputs, found if isinstance(found, list) else [found], strict=False
        ):
            if value.shape == tensor.shape:
                self.known[at] = value.astype(tensor.dtype)


def _real_bias(attr: fbs.Table, value: Array, scales: list[Array | None]) -> Array | None:
    """A bias of whole numbers counts in steps of the input's times the weight's scale; None where those have none."""
    kinds = ("Conv2DFusion", "Conv2dTransposeFusion", "MatMulFusion", "FullConnection")
    first, second = scales
    if type(attr).__name__ not in kinds or first is None or second is None or second.size not in (1, value.size):
        return None
    real: Array = (value.reshape(-1) * (first[0] * second)).astype(np.float32)
    return real.reshape(value.shape)


def _refused(attr: fbs.Table) -> OpError:
    name = type(attr).__name__
    if name in _TRAINING or name.endswith("Grad"):
        return unsupported("an operator of training, which is not executed")
    kind = getattr(attr, "type", "")  # of Custom
    return unsupported(f"{f'{kind!r} ' if isinstance(kind, str) and kind else ''}is not executed")


def _structure(problem: str) -> GraphError:
    return GraphError(GraphStatus.GRAPH_STRUCTURE, problem)
