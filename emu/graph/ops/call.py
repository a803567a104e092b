"""Nodes that run graphs of their own: calls, branches and loops (GraphOp, PartitionedCall, If, Case, While)."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from emu.errors import GraphStatus
from emu.graph import layouts
from emu.graph.dynamic import fits
from emu.graph.ir import Array, Graph, Shape, Tensor
from emu.graph.ops import Op, Operand, OpError

if TYPE_CHECKING:
    from emu.graph.plan import Plan

PLAN_LIMIT = 16
"""Shapes of its inputs for which a graph keeps its plan."""

RUN_LIMIT = 100_000
"""Runs of graphs that one node may cause, those inside of others counted: loops that never end, and graphs that call
others that call others, cost no more."""

_runs_left: ContextVar[int | None] = ContextVar("runs_left", default=None)
"""Of the node that runs now; None outside of all."""


@dataclass(slots=True, eq=False)
class Body:
    """A graph that nodes run; its plan is made once for the shapes of its inputs, however many nodes run it."""

    graph: Graph
    _plans: dict[tuple[Shape, ...], Plan] = field(default_factory=dict, init=False)

    def plan(self, shapes: tuple[Shape, ...]) -> Plan:
        """The plan for inputs of these shapes; GraphError for a graph that cannot run."""
        found = self._plans.get(shapes)
        if found is None:
            from emu.graph.dynamic import specialise
            from emu.graph.plan import make_plan

            named = {port.name: shape for port, shape in zip(self.graph.inputs, shapes, strict=True)}
            found = make_plan(specialise(self.graph, named))
            if len(self._plans) >= PLAN_LIMIT:
                self._plans.clear()
            self._plans[shapes] = found
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """How a node runs a body: input i of the graph is operand `feeds[i]`, result k its output `results[k]`."""

    body: Body
    feeds: tuple[int, ...]
    results: tuple[str, ...]

    @classmethod
    def in_order(cls, graph: Graph) -> Subgraph:
        """Operands and results are the inputs and outputs of the graph in their order."""
        return cls(Body(graph), tuple(range(len(graph.inputs))), tuple(port.name for port in graph.outputs))

    def shapes(self, operands: Sequence[Operand | None]) -> list[Shape]:
        """Checks the operands and the graph; the shapes of the results."""
        graph = self.body.graph
        given: list[Shape] = []
        for port, place in zip(graph.inputs, self.feeds, strict=True):
            operand = operands[place] if place < len(operands) else None
            inside = graph.tensors[port.tensor]
            if operand is None:
                raise OpError(
                    f"{len(operands)} operands, the subgraph takes {inside} as {port.name!r} from place {place}",
                    "subgraph",
                    GraphStatus.GRAPH_STRUCTURE,
                )
            if not fits(operand.shape, inside.op_shape):
                raise OpError(
                    f"operand {list(operand.shape)}, the subgraph takes {inside} as {port.name!r}", "subgraph"
                )
            given.append(operand.shape)
        graph = self.body.plan(tuple(given)).graph
        places = {port.name: port.tensor for port in graph.outputs}
        return [graph.tensors[places[name]].op_shape for name in self.results]

    def run(self, arrays: Sequence[Array | None], reference: bool) -> list[Array]:
        """The results for these operands of the node."""
        from emu.graph.executor import run_plan

        left = _runs_left.get()
        if left is not None:
            if left == 0:
                raise OpError(f"more than {RUN_LIMIT} runs of graphs", "subgraph", GraphStatus.GRAPH_UNSUPPORTED)
            _runs_left.set(left - 1)
        graph = self.body.graph
        inputs: dict[str, Array] = {}
        for port, place in zip(graph.inputs, self.feeds, strict=True):
            array = arrays[place]
            assert array is not None  # shapes() has seen it
            inputs[port.name] = array.astype(graph.tensors[port.tensor].dtype, copy=False)
        plan = self.body.plan(tuple(array.shape for array in inputs.values()))
        tensors = plan.graph.tensors
        for port in graph.inputs:
            if tensors[port.tensor].logical_shape is not None:
                inputs[port.name] = layouts.pack(inputs[port.name], tensors[port.tensor].layout)
        found = run_plan(plan, inputs, reference=reference)
        places = {port.name: tensors[port.tensor] for port in plan.graph.outputs}
        return [_unpacked(found[name], places[name]) for name in self.results]


def _unpacked(array: Array, tensor: Tensor) -> Array:
    return array if tensor.logical_shape is None else layouts.unpack(array, tensor.layout, tensor.logical_shape)


class Caller(Op):
    """Base of the ops that run graphs: `call` runs them, in the plain or the fast form."""

    exact: ClassVar[bool] = True

    def arity(self) -> tuple[int, int | None]:
        return 0, None

    def call(self, arrays: tuple[Array | None, ...], reference: bool) -> list[Array]:
        raise NotImplementedError

    def graphs(self) -> tuple[Graph, ...]:
        """The graphs that the op runs."""
        raise NotImplementedError

    def _counted(self, arrays: tuple[Array | None, ...], reference: bool) -> list[Array]:
        if _runs_left.get() is not None:
            return self.call(arrays, reference)
        token = _runs_left.set(RUN_LIMIT)
        try:
            return self.call(arrays, reference)
        finally:
            _runs_left.reset(token)

    def reference(self, *arrays: Array | None) -> list[Array]:
        return self._counted(arrays, True)

    def fast(self, *arrays: Array | None) -> list[Array]:
        return self._counted(arrays, False)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Caller):
    """Run the subgraph."""

    subgraph: Subgraph

    def shape(self, *operands: Operand | None) -> list[Shape]:
        return self.subgraph.shapes(operands)

    def call(self, arrays: tuple[Array | None, ...], reference: bool) -> list[Array]:
        return self.subgraph.run(arrays, reference)

    def graphs(self) -> tuple[Graph, ...]:
        return (self.subgraph.body.graph,)


@dataclass(frozen=True, slots=True, eq=False)
class Branch(Caller):
    """Run one of the subgraphs, which the first operand chooses.

    A `condition` chooses the first where it is true (not 0, or more than one element), else the second; an index that
    names none chooses the last (tf.switch_case).
    """

    subgraphs: tuple[Subgraph, ...]
    condition: bool

    def shape(self, *operands: Operand | None) -> list[Shape | None]:
        if not operands or operands[0] is None:
            raise OpError("has no operand that chooses", "subgraph", GraphStatus.GRAPH_STRUCTURE)
        if not self.condition and (operands[0].dtype.kind not in "iu" or operands[0].shape not in ((), (1,))):
            raise OpError(f"the index is {operands[0].dtype}{list(operands[0].shape)}, not one integer", "branch_index")
        found = [subgraph.shapes(operands) for subgraph in self.subgraphs]
        return [shapes[0] if len(set(shapes)) == 1 else None for shapes in zip(*found, strict=True)]

    def call(self, arrays: tuple[Array | None, ...], reference: bool) -> list[Array]:
        chooser = arrays[0]
        assert chooser is not None  # shape() has seen it
        if self.condition:
            at = 0 if is_true(chooser) else 1
        else:
            at = int(chooser.reshape(-1)[0])
            at = at if 0 <= at < len(self.subgraphs) else len(self.subgraphs) - 1
        return self.subgraphs[at].run(arrays, reference)

    def graphs(self) -> tuple[Graph, ...]:
        return tuple(subgraph.body.graph for subgraph in self.subgraphs)


def is_true(value: Array) -> bool:
    """One element that is not 0, or any number of elements but none (TensorFlow's If)."""
    return bool(value.reshape(-1)[0] != 0) if value.size == 1 else value.size > 0


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Caller):
    """While `condition` holds of the operands, they are replaced by the results of `body`; their last values are the
    results."""

    condition: Subgraph
    body: Subgraph

    def shape(self, *operands: Operand | None) -> list[Shape]:
        test = self.condition.shapes(operands)
        if len(test) != 1:
            raise OpError(f"the condition has {len(test)} results, not 1", "subgraph", GraphStatus.GRAPH_STRUCTURE)
        shapes = self.body.shapes(operands)
        given = [None if operand is None else operand.shape for operand in operands]
        if shapes != given:
            raise OpError(
                f"the body makes {[list(shape) for shape in shapes]} of operands "
                f"{[None if shape is None else list(shape) for shape in given]}",
                "subgraph",
            )
        return shapes

    def call(self, arrays: tuple[Array | None, ...], reference: bool) -> list[Array]:
        state = [array for array in arrays if array is not None]
        while is_true(self.condition.run(state, reference)[0]):
            state = self.body.run(state, reference)
        return state

    def graphs(self) -> tuple[Graph, ...]:
        return self.condition.body.graph, self.body.body.graph


def all_graphs(graph: Graph) -> list[Graph]:
    """The graph and those that its nodes run, each once, outer ones first."""
    found = [graph]
    seen = {id(graph)}
    for each in found:
        for node in each.nodes:
            for inner in node.op.graphs() if isinstance(node.op, Caller) else ():
                if id(inner) not in seen:
                    seen.add(id(inner))
                    found.append(inner)
    return found
