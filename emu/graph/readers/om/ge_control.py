"""Ops of a graph-style ModelDef that run other graphs of the model, and models of several gears.

OpDef.subgraph_name lists the graphs. A Data op of such a graph stands for the operand of the calling op that its
attribute _parent_node_index names, entry k of its NetOutput for the result that input_desc[k] names so (metadef,
ATTR_NAME_PARENT_NODE_INDEX); without that attribute they are counted from the first operand that is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from emu.errors import GraphError, GraphStatus
from emu.graph.ir import Graph, Node
from emu.graph.ops import Op, OpError
from emu.graph.ops.call import Body, Branch, Call, Loop, Subgraph
from emu.graph.readers.om.ge_attrs import Attrs
from emu.graph.readers.om.ge_site import OpReader

PARENT_INDEX = "_parent_node_index"

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
CONDITIONS = {"If", "_If", "StatelessIf"}
CASES = {"Case", "StatelessCase"}
LOOPS = {"While", "_While", "StatelessWhile"}
TYPES = CALLS | CONDITIONS | CASES | LOOPS

SUBGRAPH_LIMIT = 1024
"""Branches of one op."""


@dataclass(frozen=True, slots=True)
class ReadBody:
    """A graph of the model as others call it: per input its operand (`parents`, None where the file does not say) and
    its index; `results` are the names of the results in the order of the calling op's."""

    body: Body
    parents: tuple[int | None, ...]
    results: tuple[str, ...]

    def subgraph(self, first: int) -> Subgraph:
        """The graph called with the operands from `first` on, where the file does not say which."""
        feeds = tuple(first + at if parent is None else parent for at, parent in enumerate(self.parents))
        if any(place < 0 for place in feeds):
            raise OpError(f"{list(feeds)}", PARENT_INDEX)
        return Subgraph(self.body, feeds, self.results)


def control_op(reader: OpReader, names: Sequence[str], read: Callable[[str], ReadBody]) -> Op:
    """The op that runs the graphs `names`."""
    kind = reader.node.type
    if len(names) > SUBGRAPH_LIMIT:
        raise OpError(f"{len(names)} subgraphs, at most {SUBGRAPH_LIMIT}", "subgraph_name")
    if kind in CALLS:
        (name,) = _need(names, 1)
        return Call(read(name).subgraph(0))
    if kind in LOOPS:
        condition, body = (read(name).subgraph(0) for name in _need(names, 2))
        return Loop(condition, body)
    if kind in CONDITIONS:
        return Branch(tuple(read(name).subgraph(1) for name in _need(names, 2)), condition=True)
    if not names:
        _need(names, 1)
    return Branch(tuple(read(name).subgraph(1) for name in names), condition=False)


def _need(names: Sequence[str], count: int) -> Sequence[str]:
    if len(names) != count:
        raise OpError(f"names {len(names)} graphs, not {count}", "subgraph_name", GraphStatus.OM_MODEL)
    return names


# --- gears ------------------------------------------------------------------------------------------------------------

Gear = tuple[int, ...]


def gears_of(attrs: Attrs) -> list[Gear]:
    """The batch or image sizes of the op that chooses among them, else nothing.

    A model of several gears has an op (Case, StreamSwitchN in older ones) with `_batch_num` and one `_pred_value_<k>`
    a gear (graphengine, graph/passes/multi_batch_clone_pass.cc).
    """
    count = min(attrs.integer("_batch_num", default=0), sum(1 for _ in attrs.names()))
    return [attrs.integers(f"_pred_value_{at}") for at in range(count)]


def gear_place(gears: Sequence[Gear], chosen: Gear | None) -> int:
    """The place of the chosen gear; GraphError (GRAPH_INPUT) where none, or another, is chosen."""
    listed = ", ".join(gear_text(gear) for gear in gears)
    if chosen is None:
        raise GraphError(GraphStatus.GRAPH_INPUT, f"the model has gears ({listed}), one must be chosen")
    if chosen not in gears:
        raise GraphError(GraphStatus.GRAPH_INPUT, f"gear {gear_text(chosen)} is none of {listed}")
    return list(gears).index(chosen)


def no_gears() -> GraphError:
    """The error of a gear for a model that has none."""
    return GraphError(GraphStatus.GRAPH_INPUT, "the model has no gears to choose from")


def gear_text(gear: Gear) -> str:
    """A gear as it is written on the command line."""
    return ",".join(map(str, gear))


def take_gear(graph: Graph, node: Node, subgraph: Subgraph) -> None:
    """Make the node call the subgraph of its gear, and give its operands and results the dims of that gear.

    Operands come from Data ops; the first one, which chooses during a run on the device, is dropped.
    """
    made_by = {at: each for each in graph.nodes for at in each.outputs}
    inside = subgraph.body.graph
    for port, place in zip(inside.inputs, subgraph.feeds, strict=True):
        at = node.inputs[place] if 0 < place < len(node.inputs) else None
        if at is None or (producer := made_by.get(at)) is None or producer.type != "Data":
            raise OpError(f"operand {place} is no input of the model", "subgraph_name")
        wanted = inside.tensors[port.tensor]
        for each in (at, *(source for source in producer.inputs if source is not None)):
            graph.tensors[each].shape, graph.tensors[each].logical_shape = wanted.shape, wanted.logical_shape
    results = {port.name: inside.tensors[port.tensor] for port in inside.outputs}
    for at, name in zip(node.outputs, subgraph.results, strict=False):
        graph.tensors[at].shape, graph.tensors[at].logical_shape = results[name].shape, results[name].logical_shape
    node.inputs, node.input_shapes = node.inputs[1:], ()
    node.op = Call(Subgraph(subgraph.body, tuple(place - 1 for place in subgraph.feeds), subgraph.results))


def drop_what_chose(graph: Graph) -> None:
    """Ops and inputs that only served to choose the gear compute nothing any more."""
    made_by = {at: each for each in graph.nodes for at in each.outputs}
    pending = [node for node in graph.nodes if node.type == "NetOutput"]
    needed: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) not in needed:
            needed.add(id(node))
            pending += [made_by[at] for at in node.inputs if at is not None and at in made_by]
    for node in graph.nodes:
        if id(node) not in needed and node.type not in ("Send", "Recv"):
            node.op, node.refusal, node.inputs, node.input_shapes = None, None, (), ()
    _drop_ports(graph)


def drop_unread_inputs(graph: Graph) -> None:
    """Inputs that no op reads compute nothing: of a called graph, the one that the compiler gave to its labels."""
    read = {at for node in graph.nodes for at in node.inputs}
    for node in graph.nodes:
        if node.type == "Data" and not read & set(node.outputs):
            node.op, node.inputs = None, ()
    _drop_ports(graph)


def _drop_ports(graph: Graph) -> None:
    read = {at for node in graph.nodes for at in node.inputs}
    graph.inputs = [port for port in graph.inputs if port.tensor in read]
