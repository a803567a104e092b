"""What a person asks first of a graph: what goes in and out, how large it is, what it takes to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from emu.errors import GraphError
from emu.graph.costs import parameters, total_macs
from emu.graph.dynamic import specialise
from emu.graph.ir import Graph, Port
from emu.graph.plan import make_plan

_LABELS = {
    "operators": "ops",
    "parameters": "parameters",
    "constant_bytes": "constants",
    "macs": "MACs",
    "peak_bytes": "memory",
}


def summary(graph: Graph | None) -> dict[str, Any]:
    """Inputs, outputs, op counts, parameters, MACs and memory; null what a graph that cannot run does not tell.

    `macs` are multiply-accumulates of the products of one run, `peak_bytes` what tensors alive at the same time take
    in the executor, constants aside; dims that only the run knows count as 1. Empty where there is no graph.
    """
    if graph is None:
        return {}
    macs: int | None = None
    peak: int | None = None
    with suppress(GraphError):
        whole = specialise(graph, {})
        peak = make_plan(whole).peak
        macs = total_macs(whole)
    return {
        "inputs": [_port(graph, port) for port in graph.inputs],
        "outputs": [_port(graph, port) for port in graph.outputs],
        "operators": dict(Counter(node.type for node in graph.nodes).most_common()),
        "parameters": parameters(graph),
        "constant_bytes": sum(tensor.value.nbytes for tensor in graph.tensors if tensor.value is not None),
        "macs": macs,
        "peak_bytes": peak,
    }


def _port(graph: Graph, port: Port) -> dict[str, Any]:
    # a graph that cannot run may have an output that is none of its tensors
    if not 0 <= port.tensor < len(graph.tensors):
        return {"name": port.name, "dtype": None, "shape": None}
    tensor = graph.tensors[port.tensor]
    return {"name": port.name, "dtype": str(tensor.dtype), "shape": list(tensor.shape)}


def summary_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The same for a person."""
    for key, value in found.items():
        if key in ("inputs", "outputs"):
            for port in value:
                yield f"{key[:-1]} {port['name']}: {port['dtype']}{port['shape']}"
        elif key == "operators":
            counts = ", ".join(f"{count} {kind}" for kind, count in value.items())
            yield f"ops: {sum(value.values())} ({counts})"
        elif key in ("constant_bytes", "peak_bytes"):
            yield f"{_LABELS[key]}: {'unknown' if value is None else f'{value} bytes'}"
        else:
            yield f"{_LABELS.get(key, key)}: {'unknown' if value is None else value}"


def tree_lines(key: str, value: Any, indent: str = "") -> Iterator[str]:
    """A document of plain values, whole: one line a value, what is nested deeper one step further in."""
    if isinstance(value, Mapping) and value:
        if all(not isinstance(each, list | Mapping) for each in value.values()) and len(value) < 4:
            yield f"{indent}{key} = {', '.join(f'{name} {each}' for name, each in value.items())}"
            return
        yield f"{indent}{key}:"
        for name, each in value.items():
            yield from tree_lines(str(name), each, indent + "  ")
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for at, each in enumerate(value):
            yield from tree_lines(f"{key}[{at}]", each, indent)
    else:
        yield f"{indent}{key} = {value}"
