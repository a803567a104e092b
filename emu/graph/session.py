"""A graph of an OM or MS file, ready to run any number of times: what `emu.open_graph` returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph.dynamic import is_dynamic, specialise
from emu.graph.executor import run_plan
from emu.graph.ir import Array, Graph, Node, Port, Shape
from emu.graph.load import ModelSource, map_file, read_graph
from emu.graph.ops.external import External, Function
from emu.graph.plan import Plan, make_plan

PLAN_LIMIT = 16
"""Choices of outputs and dims of inputs for which a session keeps its plan."""

_Key = tuple[tuple[str, ...] | None, tuple[tuple[str, Shape], ...]]

Hook = Callable[[Node, list[Array | None]], None]


@dataclass(frozen=True, slots=True)
class Value:
    """An input or output of a graph, as the file has it."""

    name: str
    shape: Shape
    dtype: np.dtype[Any]


class Session:
    """A graph that has been read: `graph` is the IR, `inputs` and `outputs` are what goes in and out."""

    def __init__(
        self,
        graph: Graph,
        ops: Mapping[str, Function] | None = None,
        limit: int | None = None,
        threads: int = 1,
    ) -> None:
        """As `open_graph`, of a graph that has been read already."""
        self.graph = with_ops(graph, ops) if ops else graph
        self.inputs = _values(self.graph, self.graph.inputs)
        self.outputs = _values(self.graph, self.graph.outputs)
        self._limit, self._threads = limit, threads
        self._plans: dict[_Key, Plan] = {}

    def run(
        self,
        feeds: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        *,
        before: Hook | None = None,
        after: Hook | None = None,
    ) -> dict[str, Array]:
        """Execute the graph on `feeds`: input name → array of exactly the file's dtype and shape (-1: any size).

        Returns all outputs by name; or those of `outputs`, which may also name any tensor inside, and then only what
        they need is computed. `before` gets each node and its operands (None for an absent one), `after` each node and
        its results, as the file stores them; both in the order of execution. Raises GraphError (GRAPH_INPUT for a feed
        or name that does not fit).
        """
        shapes = {name: array.shape for name, array in feeds.items()} if is_dynamic(self.graph) else {}
        plan = self._plan(None if outputs is None else tuple(outputs), shapes)
        watch = None if before is None and after is None else _Hooks(before, after)
        return run_plan(plan, feeds, watch=watch, threads=self._threads)

    def _plan(self, names: tuple[str, ...] | None, shapes: Mapping[str, Shape]) -> Plan:
        key = names, tuple(sorted(shapes.items()))
        found = self._plans.get(key)
        if found is None:
            graph = specialise(self.graph, shapes)
            results = None if names is None else [self._port(name) for name in names]
            found = make_plan(graph, results=results, limit=self._limit)
            if len(self._plans) >= PLAN_LIMIT:
                self._plans.clear()
            self._plans[key] = found
        return found

    def _port(self, name: str) -> Port:
        for port in self.graph.outputs:
            if port.name == name:
                return port
        for at, tensor in enumerate(self.graph.tensors):
            if tensor.name == name:
                return Port(name, at)
        outputs = ", ".join(port.name for port in self.graph.outputs)
        raise GraphError(GraphStatus.GRAPH_INPUT, f"no output or tensor is called {name!r}; outputs: {outputs}")


@dataclass(frozen=True, slots=True)
class _Hooks:
    """Hooks as the executor's Watch."""

    first: Hook | None
    second: Hook | None

    def before(self, node: Node, stored: Callable[[int], Array]) -> None:
        if self.first is not None:
            self.first(node, [None if at is None else stored(at) for at in node.inputs])

    def after(self, node: Node, stored: Callable[[int], Array]) -> None:
        if self.second is not None:
            self.second(node, [stored(at) for at in node.outputs])


def _values(graph: Graph, ports: Sequence[Port]) -> tuple[Value, ...]:
    tensors = [graph.tensors[port.tensor] for port in ports]
    return tuple(Value(port.name, tensor.shape, tensor.dtype) for port, tensor in zip(ports, tensors, strict=True))


def with_ops(graph: Graph, ops: Mapping[str, Function]) -> Graph:
    """The graph with functions in place of the nodes of these names, or of these types; a name goes before a type."""
    used: set[str] = set()
    nodes: list[Node] = []
    for node in graph.nodes:
        key = node.name if node.name in ops else node.type
        if key in ops:
            used.add(key)
            dtypes = tuple(None if at is None else graph.tensors[at].dtype for at in node.inputs)
            node = replace(node, op=External(ops[key], dtypes, len(node.outputs)), refusal=None)
        nodes.append(node)
    unused = [name for name in ops if name not in used]
    if unused:
        types = ", ".join(sorted({node.type for node in graph.nodes}))
        raise GraphError(
            GraphStatus.GRAPH_INPUT, f"no op has the name or type {', '.join(map(repr, unused))}; types: {types}"
        )
    return replace(graph, nodes=nodes)


def open_graph(
    source: ModelSource,
    *,
    ops: Mapping[str, Function] | None = None,
    gear: tuple[int, ...] | None = None,
    limit: int | None = None,
    threads: int = 1,
) -> Session:
    """Open an OM or MS file (a path, or its bytes); that it can be executed is checked by the first `run`.

    `ops`: functions that stand for ops of the file, by op name or type, also for those that emu does not know:
    arrays in, an array or a list of arrays out. `gear`: the batch or image size of an OM model that has several.
    `limit`: bytes that all tensors of a run may take together, in place of the default. `threads` share the
    convolutions; the results are those of one thread, and OMP_NUM_THREADS=1 is to keep BLAS to one of its own. Raises
    GraphError, OSError for a file that cannot be opened.
    """
    return Session(read_graph(map_file(source), gear), ops, limit, threads)
