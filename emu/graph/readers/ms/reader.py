"""MindSpore predict (.ms) of both generations → the graph IR (graph-conventions.md part MS; ms-predict.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from emu.errors import GraphError, GraphStatus
from emu.graph.ir import Array, Graph, Layout, Node, Port, Quantisation, Tensor, node_error
from emu.graph.ops import Op, OpError
from emu.graph.ops.adapted import Adapted
from emu.graph.readers.ms import maps, places, pointwise
from emu.graph.readers.ms.file import GraphDef, generation, read_graph_def
from emu.graph.readers.ms.site import LOWERINGS, Site
from emu.graph.readers.ms.tensors import TensorDef, read_quant_params, read_quantization_def, read_tensor
from emu.schemas.generated import ms_v0_1, ms_v0_5

SubGraphDef: TypeAlias = ms_v0_1.SubGraphDef | ms_v0_5.SubGraphDef
OpDef: TypeAlias = ms_v0_1.OpDef | ms_v0_5.OpDef

NODE_LIMIT = 10000
"""Nodes of one subgraph that the runtime takes (ms-predict.md 1)."""

_NAME_SHOWN = 1024
"""Characters of an operator's name that go into those of its results: many results share one long name."""

_QUANTISES_BY_OPERAND = {"OnnxInt8Quantize", "OnnxInt8Dequantize"}
"""Their scale and zero point are operands; parameters would apply twice."""

FAMILIES = (maps, places, pointwise)
"""The modules that fill LOWERINGS."""


def read(data: bytes | memoryview) -> Graph:
    """The graph of a .ms file; several subgraphs are merged, their names prefixed `sg<i>.`.

    Raises GraphError: MS_FLATBUFFER for a broken or foreign file, GRAPH_STRUCTURE, GRAPH_SHAPE or GRAPH_UNSUPPORTED for
    what its tables say. An operator that cannot be executed is a refusal of its node.
    """
    return build(read_graph_def(data))


def build(graph_def: GraphDef) -> Graph:
    """The graph of checked tables; see `read`."""
    subgraphs: Sequence[SubGraphDef] = graph_def.subgraphs
    if not subgraphs:
        raise GraphError(GraphStatus.GRAPH_STRUCTURE, "the file has no subgraph")
    graph = Graph("ms", generation(graph_def), graph_def.name)
    for index, subgraph in enumerate(subgraphs):
        prefix = f"sg{index}." if len(subgraphs) > 1 else ""
        _SubgraphReader(graph, subgraph, index, prefix).read()
    return graph


class _SubgraphReader:
    """Adds one subgraph to the graph; its tensors lie there from `first` on."""

    def __init__(self, graph: Graph, subgraph: SubGraphDef, index: int, prefix: str) -> None:
        self.graph = graph
        self.subgraph = subgraph
        self.place = f"subgraphs[{index}]"
        self.prefix = prefix
        self.first = len(graph.tensors)
        self.tensors: Sequence[TensorDef] = subgraph.allTensors
        nodes: Sequence[ms_v0_1.NodeDef | ms_v0_5.OpDef] = subgraph.nodes
        self.op_defs = [self._op_def(node, at) for at, node in enumerate(nodes)]

    def _op_def(self, node: ms_v0_1.NodeDef | ms_v0_5.OpDef, at: int) -> OpDef:
        if isinstance(node, ms_v0_5.OpDef):
            return node
        if node.opDef is None:
            raise self._error(f"nodes[{at}] is without opDef")
        return node.opDef

    def _error(self, problem: str, status: GraphStatus = GraphStatus.GRAPH_STRUCTURE) -> GraphError:
        return GraphError(status, f"{self.place}: {problem}", subgraph=self.place)

    def read(self) -> None:
        """Tensors, ports, then nodes."""
        if len(self.op_defs) > NODE_LIMIT:
            raise self._error(f"{len(self.op_defs)} nodes, the runtime takes {NODE_LIMIT}")
        names = self._tensor_names()
        for at, tensor in enumerate(self.tensors):
            self.graph.add(read_tensor(tensor, names[at], f"{self.place}.allTensors[{at}]"))
        inputs = self._places(self.subgraph.inputIndex, "inputIndex")
        if len(set(inputs)) != len(inputs):
            raise self._error(f"inputIndex {list(self.subgraph.inputIndex)} names a tensor twice")
        for at, tensor_at in enumerate(inputs):
            if self.graph.tensors[tensor_at].value is not None:
                raise self._error(f"graph input {at} is a constant (tensor {tensor_at - self.first} has data)")
            self.graph.inputs.append(Port(f"{self.prefix}input_{at}", tensor_at))
        for at, tensor_at in enumerate(self._places(self.subgraph.outputIndex, "outputIndex")):
            self.graph.outputs.append(Port(f"{self.prefix}output_{at}", tensor_at))
        self._check_names()
        for at, op_def in enumerate(self.op_defs):
            self._read_node(op_def, at, set(inputs))

    def _check_names(self) -> None:
        seen: set[str] = set()
        for op_def in self.op_defs:
            if op_def.name and op_def.name in seen:
                raise self._error(f"two nodes are called {op_def.name!r}")
            seen.add(op_def.name)

    def _tensor_names(self) -> dict[int, str]:
        """Tensors have no names in the file: `input_<k>` for graph inputs, else `NODE:k` by the producer."""
        names = {at: f"{self.prefix}tensor_{at}" for at in range(len(self.tensors))}
        for place, op_def in enumerate(self.op_defs):
            producer = self._node_name(op_def, place)[:_NAME_SHOWN]
            for k, at in enumerate(op_def.outputIndex):
                if at in names:
                    names[at] = f"{producer}:{k}"
        for k, at in enumerate(self.subgraph.inputIndex):
            if at in names:
                names[at] = f"{self.prefix}input_{k}"
        return names

    def _node_name(self, op_def: OpDef, place: int) -> str:
        return self.prefix + (op_def.name or f"nodes[{place}]")

    def _places(self, indices: tuple[int, ...], what: str) -> tuple[int, ...]:
        count = len(self.tensors)
        for index in indices:
            if index >= count:
                raise self._error(f"{what}: tensor {index} of {count}")
        return tuple(self.first + index for index in indices)

    def _read_node(self, op_def: OpDef, place: int, graph_inputs: set[int]) -> None:
        graph = self.graph
        kind = type(op_def.attr).__name__ if op_def.attr is not None else "NONE"
        node = Node(
            self._node_name(op_def, place),
            kind,
            None,
            self._places(op_def.inputIndex, f"nodes[{place}].inputIndex"),
            self._places(op_def.outputIndex, f"nodes[{place}].outputIndex"),
        )
        graph.nodes.append(node)
        for at in node.outputs:
            if at in graph_inputs:
                raise node_error(
                    graph, node, f"writes graph input {graph.tensors[at].name!r}", status=GraphStatus.GRAPH_STRUCTURE
                )
            if graph.tensors[at].value is not None and kind != "Constant":
                raise node_error(
                    graph,
                    node,
                    f"writes the constant {graph.tensors[at].name!r}",
                    status=GraphStatus.GRAPH_STRUCTURE,
                )
        node.quantisations = self._quantisations(op_def, node, place)
        try:
            node.op = self._lower(op_def, node, kind)
        except OpError as error:
            node.refusal = node_error(graph, node, error.message, status=error.status, attribute=error.attribute)

    def _lower(self, op_def: OpDef, node: Node, kind: str) -> Op | None:
        if op_def.attr is None:
            raise OpError("the node is without operator (attr NONE)", status=GraphStatus.GRAPH_UNSUPPORTED)
        tensors = self.graph.tensors
        is_last_conv = isinstance(op_def, ms_v0_1.OpDef) and op_def.isLastConv
        site = Site(
            kind,
            [tensors[at] for at in node.inputs if at is not None],
            [tensors[at] for at in node.outputs],
            [each is not None for each in node.quantisations] or [False] * (len(node.inputs) + len(node.outputs)),
            is_last_conv,
        )
        op = LOWERINGS[kind](op_def.attr, site)
        self.graph.notes += (f"op {node.name!r}: {note}" for note in site.notes)
        if op is None:
            return None
        if site.more:
            self._append_operands(node, site.more)
        if is_last_conv:
            op = Adapted(op, result_axes=(0, 2, 3, 1))
        if any(tensor.shape == (1,) for tensor in site.outputs):
            op = Adapted(op, one_for_scalar=True)
        return op

    def _append_operands(self, node: Node, values: list[Array]) -> None:
        """Constants that an attribute holds, as further operands."""
        given = len(node.inputs)
        added = tuple(self.graph.constant(f"{node.name}.{at}", value, embedded=True) for at, value in enumerate(values))
        node.inputs = (*node.inputs, *added)
        if node.quantisations:
            node.quantisations = (
                *node.quantisations[:given],
                *(None,) * len(added),
                *node.quantisations[given:],
            )

    def _quantisations(self, op_def: OpDef, node: Node, place: int) -> tuple[Quantisation | None, ...]:
        tensors = [self.graph.tensors[at] for at in (*node.inputs, *node.outputs) if at is not None]
        if type(op_def.attr).__name__ in _QUANTISES_BY_OPERAND:
            return ()
        where = f"{self.place}.nodes[{place}]"
        if isinstance(op_def, ms_v0_5.OpDef):
            found = self._of_params(op_def, tensors, where)
        else:
            found = tuple(
                self._of_tensor(index, tensor)
                for index, tensor in zip((*op_def.inputIndex, *op_def.outputIndex), tensors, strict=True)
            )
        return found if any(found) else ()

    def _of_params(self, op_def: ms_v0_5.OpDef, tensors: list[Tensor], where: str) -> tuple[Quantisation | None, ...]:
        if not op_def.quantParam:
            return ()
        if len(op_def.quantParam) != len(tensors):
            raise GraphError(
                GraphStatus.GRAPH_STRUCTURE,
                f"{where} ({op_def.name!r}): {len(op_def.quantParam)} quantParam for {len(tensors)} inputs and outputs",
                op=op_def.name,
            )
        return tuple(
            read_quant_params(array.param, tensor, self._channel_axis(op_def, at, tensor), f"{where}.quantParam[{at}]")
            for at, (array, tensor) in enumerate(zip(op_def.quantParam, tensors, strict=True))
        )

    @staticmethod
    def _channel_axis(op_def: ms_v0_5.OpDef, operand: int, tensor: Tensor) -> int:
        """K of a Conv2D weight by its format, axis 0 of every other tensor (graph-conventions.md MS-Q1)."""
        if operand == 1 and isinstance(op_def.attr, ms_v0_5.Conv2D) and tensor.layout is not Layout.NC4HW4:
            return max(tensor.layout.value.find("K"), 0)
        return 0

    def _of_tensor(self, index: int, tensor: Tensor) -> Quantisation | None:
        definition = self.tensors[index]
        assert isinstance(definition, ms_v0_1.TensorDef)
        return read_quantization_def(definition.quantization, tensor, f"{self.place}.allTensors[{index}]")
