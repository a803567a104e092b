"""What must hold before a graph runs: structure, order, refusals, shapes; the result is a `Plan` for the executor.

Streams and events are a partial order (graph-conventions.md OM-S1): ops of one stream in list order, Recv after its
Send, and every op after what it reads. A graph that cannot be ordered is refused with the cycle that holds it up.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph.fusion import fused
from emu.graph.ir import Graph, Node, Op, Operand, OpError, Port, Shape, Tensor, node_error
from emu.graph.step import FAULTS, Step, held_dtype
from emu.naming import similar

LIVE_LIMIT = 4 << 30
"""Bytes that tensors alive at the same time may take; a graph that needs more is refused before it runs."""

SUM_LIMIT = 16 << 30
"""Bytes that all tensors that a run computes may take together: what bounds the time of a forged graph."""

MOST_DIMENSIONS = 64
"""numpy's own limit."""

Dead = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """`order` are places in `graph.nodes`; `releases[i]` the tensors that are dead after step i; `results` what to
    return; `peak` the largest live set in bytes as the executor holds it, constants excluded."""

    graph: Graph
    order: tuple[int, ...]
    releases: tuple[Dead, ...]
    results: tuple[Port, ...]
    peak: int
    _steps: dict[tuple[bool, bool], list[tuple[Step | None, Dead]]] = field(default_factory=dict, repr=False)

    def steps(self, apart: bool, reference: bool) -> list[tuple[Step | None, Dead]]:
        """What runs, and which tensors are dead afterwards; None for a node that computes nothing.

        Made at the first run and kept. `apart`: no nodes are joined; `reference`: in the plain form of each op.
        """
        found = self._steps.get((apart, reference))
        if found is None:
            nodes = [self.graph.nodes[place] for place in self.order]
            releases = self.releases
            if not apart:
                nodes = fused(self.graph, self.order, {port.tensor for port in self.results})
                releases, _ = _lifetimes(self.graph, nodes, self.results)
            read = {at for node in nodes for at in node.inputs}
            steps = [
                None if node.op is None else Step(self.graph, node, reference, read.isdisjoint(node.outputs))
                for node in nodes
            ]
            found = self._steps[apart, reference] = list(zip(steps, releases, strict=True))
        return found


def make_plan(
    graph: Graph, until: str | None = None, *, results: Sequence[Port] | None = None, limit: int | None = None
) -> Plan:
    """Check the graph and order it. With `until`, only what op `until` reads is checked, run and returned; with
    `results` only what they need.

    `limit` is the number of bytes that all tensors of the run may take together, in place of LIVE_LIMIT at once and
    SUM_LIMIT in all. Raises GraphError: GRAPH_STRUCTURE (edges, cycles, streams), GRAPH_SHAPE, GRAPH_UNSUPPORTED, or
    a node's own refusal; GRAPH_INPUT for an `until` that names no op.
    """
    producers = _producers(graph)
    order = _order(graph, producers)
    wanted = tuple(graph.outputs if results is None else results)
    if until is not None:
        stop = next((at for at, node in enumerate(graph.nodes) if node.name == until), None)
        if stop is None:
            near = similar(until, (node.name for node in graph.nodes))
            raise GraphError(GraphStatus.GRAPH_INPUT, f"no op is called {until!r}.{near}", op=until)
        wanted = _operands_of(graph, graph.nodes[stop])
    if until is not None or results is not None:
        needed = _ancestors(graph, producers, [port.tensor for port in wanted])
        order = [at for at in order if at in needed]
    _check_sources(graph, producers, order, wanted)
    for at in sorted(order):
        refusal = graph.nodes[at].refusal
        if refusal is not None:
            raise refusal
    _check_sizes(graph, order, wanted, SUM_LIMIT if limit is None else limit)
    for at in order:
        check_shapes(graph, graph.nodes[at])
    unknown = next((tensor for tensor in graph.tensors if any(size < 0 for size in tensor.op_shape)), None)
    if unknown is not None:
        raise GraphError(
            GraphStatus.GRAPH_SHAPE, f"the dims of {unknown.name!r}, {unknown}, do not follow from those of the inputs"
        )
    releases, peak = _lifetimes(graph, [graph.nodes[place] for place in order], wanted)
    most = LIVE_LIMIT if limit is None else limit
    if peak > most:
        raise GraphError(GraphStatus.GRAPH_SHAPE, f"the graph needs {peak} bytes at once, the limit is {most}")
    return Plan(graph, tuple(order), releases, wanted, peak)


def _check_sizes(graph: Graph, order: list[int], results: tuple[Port, ...], limit: int) -> None:
    """Ranks that numpy has, and the sum of what the run computes and is given."""
    given = {port.tensor for port in graph.inputs}
    read = {at for place in order for at in graph.nodes[place].inputs if at is not None}
    made = {at for place in order for at in graph.nodes[place].outputs}
    total = 0
    for at in sorted(read | made | {port.tensor for port in results}):
        tensor = graph.tensors[at]
        if max(len(tensor.shape), len(tensor.op_shape)) > MOST_DIMENSIONS:
            raise GraphError(
                GraphStatus.GRAPH_SHAPE,
                f"tensor {tensor.name!r} has {len(tensor.shape)} dimensions, at most {MOST_DIMENSIONS} are possible",
                tensor=tensor.name,
            )
        if tensor.value is None and (at in made or at in given):
            total += _held_bytes(tensor)
    if total > limit:
        raise GraphError(
            GraphStatus.GRAPH_SHAPE, f"the tensors of the graph take {total} bytes together, the limit is {limit}"
        )


def execution_order(graph: Graph) -> list[int]:
    """Places of all nodes in the order in which they run; GraphError (GRAPH_STRUCTURE) if there is none."""
    return _order(graph, _producers(graph))


def _operands_of(graph: Graph, node: Node) -> tuple[Port, ...]:
    seen: dict[int, Port] = {}
    for at in node.inputs:
        if at is not None and not graph.tensors[at].embedded:
            seen.setdefault(at, Port(graph.tensors[at].name, at))
    return tuple(seen.values())


def _producers(graph: Graph) -> dict[int, int]:
    producers: dict[int, int] = {}
    for place, node in enumerate(graph.nodes):
        for at in (*(at for at in node.inputs if at is not None), *node.outputs):
            if not 0 <= at < len(graph.tensors):
                raise GraphError(
                    GraphStatus.GRAPH_STRUCTURE,
                    f"op {node.name!r} ({node.type}) refers to tensor {at} of {len(graph.tensors)}",
                    op=node.name,
                )
        for at in node.outputs:
            if at in producers:
                other = graph.nodes[producers[at]].name
                raise node_error(
                    graph,
                    node,
                    f"tensor {graph.tensors[at].name!r} is produced by op {other!r} already",
                    status=GraphStatus.GRAPH_STRUCTURE,
                )
            producers[at] = place
    return producers


def _predecessors(graph: Graph, producers: dict[int, int]) -> list[dict[int, str]]:
    """Per node: what it waits for, and why."""
    before: list[dict[int, str]] = [{} for _ in graph.nodes]
    senders: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, node in enumerate(graph.nodes):
        if node.sends is not None:
            if node.sends in senders:
                raise node_error(
                    graph,
                    node,
                    f"event {node.sends} is sent by op {graph.nodes[senders[node.sends]].name!r} already",
                    status=GraphStatus.GRAPH_STRUCTURE,
                    attribute="event_id",
                )
            senders[node.sends] = place
        if graph.ordered:
            if node.stream in last:
                before[place].setdefault(last[node.stream], f"comes after it on stream {node.stream}")
            last[node.stream] = place
    for place, node in enumerate(graph.nodes):
        if node.waits is not None:
            if node.waits not in senders:
                raise node_error(
                    graph,
                    node,
                    f"waits for event {node.waits}, which no op sends",
                    status=GraphStatus.GRAPH_STRUCTURE,
                    attribute="event_id",
                )
            before[place].setdefault(senders[node.waits], f"waits for event {node.waits}")
        for at in node.inputs:
            if at is not None and at in producers:
                before[place].setdefault(producers[at], f"reads {graph.tensors[at].name!r}")
        for place_before in node.after:
            before[place].setdefault(place_before, "has a control edge from it")
    return before


def _order(graph: Graph, producers: dict[int, int]) -> list[int]:
    before = _predecessors(graph, producers)
    followers: list[list[int]] = [[] for _ in graph.nodes]
    missing = [len(waits) for waits in before]
    for place, waits in enumerate(before):
        for other in waits:
            followers[other].append(place)
    ready = [place for place, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        place = heapq.heappop(ready)
        order.append(place)
        for follower in followers[place]:
            missing[follower] -= 1
            if missing[follower] == 0:
                heapq.heappush(ready, follower)
    if len(order) < len(graph.nodes):
        raise _cycle_error(graph, before, missing)
    return order


def _cycle_error(graph: Graph, before: list[dict[int, str]], missing: list[int]) -> GraphError:
    place = next(place for place, count in enumerate(missing) if count)
    path: list[int] = []
    while place not in path:
        path.append(place)
        place = next(other for other in before[place] if missing[other])
    cycle = path[path.index(place) :]
    steps = []
    for at, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        steps.append(f"{graph.nodes[at].name!r} {before[at][other]} ({graph.nodes[other].name!r})")
    names = [graph.nodes[at].name for at in cycle]
    streams = {graph.nodes[at].stream for at in cycle}
    kind = "deadlock" if len(streams) > 1 or any(graph.nodes[at].waits is not None for at in cycle) else "cycle"
    shown = "; ".join(steps[:8]) + (f"; … {len(steps) - 8} more" if len(steps) > 8 else "")
    return GraphError(GraphStatus.GRAPH_STRUCTURE, f"{kind}: {shown}", op=names[0], cycle=names[:8])


def _ancestors(graph: Graph, producers: dict[int, int], tensors: list[int]) -> set[int]:
    needed: set[int] = set()
    pending = [producers[at] for at in tensors if at in producers]
    while pending:
        place = pending.pop()
        if place in needed:
            continue
        needed.add(place)
        pending += [producers[at] for at in graph.nodes[place].inputs if at is not None and at in producers]
    return needed


def _check_sources(graph: Graph, producers: dict[int, int], order: list[int], results: tuple[Port, ...]) -> None:
    given = {port.tensor for port in graph.inputs}
    for place in order:
        node = graph.nodes[place]
        for at in node.inputs:
            if at is None or at in producers or at in given or graph.tensors[at].value is not None:
                continue
            raise node_error(
                graph,
                node,
                f"input {graph.tensors[at].name!r} is neither a graph input, nor a constant, nor produced by any op",
                status=GraphStatus.GRAPH_STRUCTURE,
            )
    for port in results:
        if not 0 <= port.tensor < len(graph.tensors):
            raise GraphError(
                GraphStatus.GRAPH_STRUCTURE,
                f"graph output {port.name!r} is tensor {port.tensor} of {len(graph.tensors)}",
            )
        if port.tensor not in producers and port.tensor not in given and graph.tensors[port.tensor].value is None:
            raise GraphError(GraphStatus.GRAPH_STRUCTURE, f"graph output {port.name!r} is produced by no op")


def read_shape(graph: Graph, node: Node, operand: int) -> Shape:
    """The shape under which the node's op sees an operand that is present."""
    at = node.inputs[operand]
    assert at is not None
    override = node.input_shapes[operand] if operand < len(node.input_shapes) else None
    return graph.tensors[at].op_shape if override is None else override


def check_shapes(graph: Graph, node: Node) -> None:
    """Attributes and operand shapes against each other and against the dims that the file gives for the results."""
    if node.op is None:
        return
    check_arity(graph, node, node.op)
    operands: list[Operand | None] = []
    for place, at in enumerate(node.inputs):
        if at is None:
            operands.append(None)
            continue
        tensor = graph.tensors[at]
        shape = read_shape(graph, node, place)
        if math.prod(shape) != math.prod(tensor.op_shape):
            raise node_error(
                graph, node, f"input {place} is read as {list(shape)}, its producer gives {list(tensor.op_shape)}"
            )
        quantised = place < len(node.quantisations) and node.quantisations[place] is not None
        # a quantised operand comes to the op as real numbers (ops/__init__.py), a stored value says nothing then
        operands.append(
            Operand(shape, np.dtype(np.float32)) if quantised else Operand(shape, tensor.dtype, tensor.value)
        )
    try:
        found = node.op.shape(*operands)
    except OpError as error:
        raise node_error(graph, node, error.message, status=error.status, attribute=error.attribute) from error
    except FAULTS as error:
        raise node_error(graph, node, str(error)) from error
    shapes = found if isinstance(found, list) else [found]
    if len(node.outputs) > len(shapes):
        raise node_error(
            graph,
            node,
            f"gives {len(shapes)} results, the file has {len(node.outputs)}",
            status=GraphStatus.GRAPH_STRUCTURE,
        )
    for at, shape_found in zip(node.outputs, shapes, strict=False):
        tensor = graph.tensors[at]
        if shape_found is not None and shape_found != tensor.op_shape:
            raise node_error(
                graph, node, f"computes {list(shape_found)}, the file says {list(tensor.op_shape)}", attribute="dim"
            )


def check_arity(graph: Graph, node: Node, op: Op) -> None:
    """The number of operands, and that none is absent but optional ones; GRAPH_STRUCTURE."""
    given = len(node.inputs)
    least, most = op.arity()
    if given < least:
        raise node_error(graph, node, f"needs at least {least} inputs, has {given}", status=GraphStatus.GRAPH_STRUCTURE)
    if most is not None and given > most:
        raise node_error(graph, node, f"takes at most {most} inputs, has {given}", status=GraphStatus.GRAPH_STRUCTURE)
    # of an op that takes any number of operands none is optional
    needed = node.inputs if most is None else node.inputs[:least]
    absent = next((place for place, at in enumerate(needed) if at is None), None)
    if absent is not None:
        raise node_error(graph, node, f"input {absent} is required", status=GraphStatus.GRAPH_STRUCTURE)


def _lifetimes(graph: Graph, nodes: Sequence[Node], results: tuple[Port, ...]) -> tuple[tuple[Dead, ...], int]:
    """Per node the tensors that are dead after it, and the largest live set in bytes."""
    kept = {port.tensor for port in results}
    last: dict[int, int] = {}
    for step, node in enumerate(nodes):
        for at in (*(at for at in node.inputs if at is not None), *node.outputs):
            last[at] = step
    dead: list[list[int]] = [[] for _ in nodes]
    for at, step in last.items():
        if at not in kept and graph.tensors[at].value is None:
            dead[step].append(at)
    given = {port.tensor for port in graph.inputs}
    live = peak = sum(_held_bytes(graph.tensors[at]) for at in given)
    for step, node in enumerate(nodes):
        live += sum(
            _held_bytes(graph.tensors[at]) for at in node.outputs if at not in given and graph.tensors[at].value is None
        )
        peak = max(peak, live)
        live -= sum(_held_bytes(graph.tensors[at]) for at in dead[step])
    return tuple(tuple(tensors) for tensors in dead), peak


def _held_bytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * held_dtype(tensor.dtype).itemsize
