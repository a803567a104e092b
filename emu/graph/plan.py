"""What must hold before a graph runs: structure, order, refusals, shapes; the result is a `Plan` for the executor.

Streams and events are a partial order (CONVENTIONS OM-S1): ops of one stream in list order, Recv after its Send, and
every op after what it reads. A graph that cannot be ordered is refused with the cycle that holds it up.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph.ir import Array, Graph, Node, Port, Shape, node_error
from emu.graph.ops import Op, Operand, OpError

LIVE_LIMIT = 4 << 30
"""Bytes that tensors alive at the same time may take; a graph that needs more is refused before it runs."""

FAULTS = (ValueError, IndexError, OverflowError, ZeroDivisionError, MemoryError, TypeError)
"""What numpy raises for operands that an op's own checks let through."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`order` are places in `graph.nodes`; `releases[i]` the tensors that are dead after step i; `results` what to
    return; `peak` the largest live set in bytes, constants excluded; `constants` the tensors with a value. `plain` are
    the nodes whose operands and results are arrays as the op takes them: nothing to unpack, reshape, widen or
    quantise."""

    graph: Graph
    order: tuple[int, ...]
    releases: tuple[tuple[int, ...], ...]
    results: tuple[Port, ...]
    peak: int
    plain: frozenset[int]
    constants: dict[int, Array]


def make_plan(graph: Graph, until: str | None = None) -> Plan:
    """Check the graph and order it. With `until`, only what op `until` reads is checked, run and returned.

    Raises GraphError: GRAPH_STRUCTURE (edges, cycles, streams), GRAPH_SHAPE, GRAPH_UNSUPPORTED, or a node's own
    refusal; GRAPH_INPUT for an `until` that names no op.
    """
    producers = _producers(graph)
    order = _order(graph, producers)
    results = tuple(graph.outputs)
    if until is not None:
        stop = next((at for at, node in enumerate(graph.nodes) if node.name == until), None)
        if stop is None:
            raise GraphError(GraphStatus.GRAPH_INPUT, f"no op is called {until!r}", op=until)
        results = _operands_of(graph, graph.nodes[stop])
        needed = _ancestors(graph, producers, [port.tensor for port in results])
        order = [at for at in order if at in needed]
    _check_sources(graph, producers, order, results)
    for at in sorted(order):
        refusal = graph.nodes[at].refusal
        if refusal is not None:
            raise refusal
    for at in order:
        check_shapes(graph, graph.nodes[at])
    releases, peak = _lifetimes(graph, order, results)
    if peak > LIVE_LIMIT:
        raise GraphError(GraphStatus.GRAPH_SHAPE, f"the graph needs {peak} bytes at once, the limit is {LIVE_LIMIT}")
    plain = frozenset(at for at in order if _is_plain(graph, graph.nodes[at]))
    constants = {at: tensor.value for at, tensor in enumerate(graph.tensors) if tensor.value is not None}
    return Plan(graph, tuple(order), releases, results, peak, plain, constants)


def _is_plain(graph: Graph, node: Node) -> bool:
    if node.op is None or any(node.quantisations) or any(node.input_shapes) or None in node.inputs:
        return False
    tensors = [graph.tensors[at] for at in (*node.inputs, *node.outputs) if at is not None]
    return all(tensor.logical_shape is None and tensor.dtype != np.float16 for tensor in tensors)


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
    _check_arity(graph, node, node.op)
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


def _check_arity(graph: Graph, node: Node, op: Op) -> None:
    given = len(node.inputs)
    least, most = op.arity()
    if given < least:
        raise node_error(graph, node, f"needs at least {least} inputs, has {given}", status=GraphStatus.GRAPH_STRUCTURE)
    if most is not None and given > most:
        raise node_error(graph, node, f"takes at most {most} inputs, has {given}", status=GraphStatus.GRAPH_STRUCTURE)
    absent = next((place for place, at in enumerate(node.inputs[:least]) if at is None), None)
    if absent is not None:
        raise node_error(graph, node, f"input {absent} is required", status=GraphStatus.GRAPH_STRUCTURE)


def _lifetimes(graph: Graph, order: list[int], results: tuple[Port, ...]) -> tuple[tuple[tuple[int, ...], ...], int]:
    kept = {port.tensor for port in results}
    last: dict[int, int] = {}
    for step, place in enumerate(order):
        node = graph.nodes[place]
        for at in (*(at for at in node.inputs if at is not None), *node.outputs):
            last[at] = step
    dead: list[list[int]] = [[] for _ in order]
    for at, step in last.items():
        if at not in kept and graph.tensors[at].value is None:
            dead[step].append(at)
    live = sum(graph.tensors[port.tensor].nbytes for port in graph.inputs)
    peak = live
    given = {port.tensor for port in graph.inputs}
    for step, place in enumerate(order):
        live += sum(
            graph.tensors[at].nbytes
            for at in graph.nodes[place].outputs
            if at not in given and graph.tensors[at].value is None
        )
        peak = max(peak, live)
        live -= sum(graph.tensors[at].nbytes for at in dead[step])
    return tuple(tuple(tensors) for tensors in dead), peak
