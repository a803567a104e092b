"""Runs a graph in numpy: one step after another in the order of its plan, every array freed after its last use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from emu.errors import GraphError, GraphStatus
from emu.graph.dynamic import specialise
from emu.graph.ir import Array, Graph, Node, Tensor
from emu.graph.plan import Plan, make_plan
from emu.graph.step import as_stored, missing
from emu.graph.threads import using


class Watch(Protocol):
    """What sees every node of a run; `stored` gives a tensor by its place, as the file would store it."""

    def before(self, node: Node, stored: Callable[[int], Array]) -> None: ...

    def after(self, node: Node, stored: Callable[[int], Array]) -> None: ...


def run(
    graph: Graph, inputs: Mapping[str, Array], *, until: str | None = None, reference: bool = False
) -> dict[str, Array]:
    """Execute the graph on `inputs` (key: port name; shape and dtype exactly those of the file).

    Returns the graph's outputs by key, or with `until` the operands of that op by tensor name. `reference` uses the
    plain form of every op. Raises GraphError.
    """
    shapes = {name: array.shape for name, array in inputs.items()}
    return run_plan(make_plan(specialise(graph, shapes), until), inputs, reference=reference)


def run_plan(
    plan: Plan,
    inputs: Mapping[str, Array],
    *,
    reference: bool = False,
    progress: Callable[[int], None] | None = None,
    watch: Watch | None = None,
    threads: int = 1,
) -> dict[str, Array]:
    """Execute a checked graph; a plan may be run any number of times, the first run prepares it.

    `progress` gets the number of nodes done after each step. Nodes are only joined where neither `reference` nor
    `watch` wants each of them. `threads` share the convolutions; BLAS is to have one thread of its own then.
    """
    graph = plan.graph
    arrays = _checked_inputs(graph, inputs)
    apart = reference or watch is not None
    steps = plan.steps(apart, reference)

    def stored(at: int) -> Array:
        return _stored(graph, at, arrays)

    with using(threads), np.errstate(all="ignore"):
        for step, dead in steps:
            if step is not None:
                if watch is not None:
                    watch.before(step.node, stored)
                step(arrays)
                if watch is not None:
                    watch.after(step.node, stored)
            for at in dead:
                arrays.pop(at, None)
            if progress is not None:
                progress(1)
        return {port.name: np.asarray(_stored(graph, port.tensor, arrays), order="C") for port in plan.results}


def _checked_inputs(graph: Graph, inputs: Mapping[str, Array]) -> dict[int, Array]:
    """The given inputs by the place of their tensor."""
    known = {port.name: port.tensor for port in graph.inputs}
    found: dict[int, Array] = {}
    for name, array in inputs.items():
        if name not in known:
            raise GraphError(
                GraphStatus.GRAPH_INPUT, f"no input is called {name!r}; inputs: {', '.join(sorted(known)) or 'none'}"
            )
        _check_input(name, graph.tensors[known[name]], array)
        found[known[name]] = array
    return found


def _check_input(name: str, tensor: Tensor, array: Array) -> None:
    if array.dtype != tensor.dtype or array.shape != tensor.shape:
        raise GraphError(
            GraphStatus.GRAPH_INPUT,
            f"input {name!r} is {array.dtype}{list(array.shape)}, the model takes {tensor.dtype}{list(tensor.shape)}",
            input=name,
        )


def _stored(graph: Graph, at: int, arrays: Mapping[int, Array]) -> Array:
    """A tensor as the file stores it."""
    tensor = graph.tensors[at]
    if at in arrays:
        return as_stored(arrays[at], tensor.dtype)
    if tensor.value is None:
        raise missing(graph, at)
    return tensor.value
