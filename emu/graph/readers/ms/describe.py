"""What a .ms file holds, for people and as JSON whose keys are the names of the schema (cli.md, inspect)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from emu.errors import GraphError
from emu.graph.ir import Graph
from emu.graph.plan import make_plan
from emu.graph.readers.ms.file import GraphDef, generation
from emu.graph.readers.ms.reader import build
from emu.graph.summary import summary, summary_lines, tree_lines
from emu.schemas import fbs
from emu.schemas.generated import ms_v0_1, ms_v0_5


def document(graph_def: GraphDef) -> dict[str, Any]:
    """Every table of the file by its schema's names; enums by name, tensor data as its length.

    `format`, `kind` and `refusals` (why the graph cannot be executed, a line each) are added.
    """
    return {
        "format": "ms",
        "kind": generation(graph_def),
        "summary": summary(_graph(graph_def)),
        **table_document(graph_def),
        "refusals": [error.line() for error in refusals(graph_def)],
    }


def _graph(graph_def: GraphDef) -> Graph | None:
    try:
        return build(graph_def)
    except GraphError:
        return None


def refusals(graph_def: GraphDef) -> list[GraphError]:
    """Why the graph cannot be executed: every operator that is refused, and the first fault of the whole."""
    found: list[GraphError] = []
    try:
        graph = build(graph_def)
        found += [node.refusal for node in graph.nodes if node.refusal is not None]
        make_plan(graph)
    except GraphError as error:
        if error not in found:
            found.append(error)
    return found


def table_document(table: fbs.Table) -> dict[str, Any]:
    """One table with all that hangs below it."""
    found: dict[str, Any] = {}
    for field in fbs.fields_of(type(table)):
        value = getattr(table, field.attribute)
        if isinstance(field.wire, fbs.Union):
            found[f"{field.name}_type"] = "NONE" if value is None else type(value).__name__
        found[field.name] = _value_document(value)
    return found


def _value_document(value: Any) -> Any:
    match value:
        case fbs.Table():
            return table_document(value)
        case IntEnum():
            return value.name
        case memoryview():
            return {"bytes": len(value)}
        case tuple():
            return [_value_document(each) for each in value]
        case _:
            return value


def lines(graph_def: GraphDef, constants: bool = True) -> list[str]:
    """The same for a person: a summary, then every operator and tensor; `constants`: those with data too."""
    kind = generation(graph_def)
    schema = "0.1" if kind == "A" else "0.5"
    found = [f"MindSpore predict graph {graph_def.name!r}, generation {kind} (schema {schema})"]
    found += [f"  {line}" for line in summary_lines(summary(_graph(graph_def)))]
    found += [f"refused: {error.line()}" for error in refusals(graph_def)]
    if graph_def.mempoolCfg is not None:
        pool = graph_def.mempoolCfg
        found.append(f"mempoolCfg: size {pool.size}, shiftFactor {pool.shiftFactor}")
    subgraphs: Sequence[ms_v0_1.SubGraphDef | ms_v0_5.SubGraphDef] = graph_def.subgraphs
    for index, subgraph in enumerate(subgraphs):
        nodes: Sequence[ms_v0_1.NodeDef | ms_v0_5.OpDef] = subgraph.nodes
        tensors: Sequence[ms_v0_1.TensorDef | ms_v0_5.TensorDef] = subgraph.allTensors
        found.append(
            f"subgraph {index} {subgraph.name!r}: {len(nodes)} nodes, {len(tensors)} tensors, "
            f"inputIndex {list(subgraph.inputIndex)}, outputIndex {list(subgraph.outputIndex)}"
        )
        for at, node in enumerate(nodes):
            found.append(f"  {_node_line(at, node)}")
            found += _rest(node, _IN_NODE_LINE)
        for at, tensor in enumerate(tensors):
            if constants or tensor.data is None:
                found.append(f"  {_tensor_line(at, tensor)}")
                found += _rest(tensor, _IN_TENSOR_LINE)
    return found


_IN_NODE_LINE = {"name", "attr", "attr_type", "inputIndex", "outputIndex", "fmkType", "quantType", "isLastConv"}
_IN_TENSOR_LINE = {"dataType", "dims", "format", "data", "refCount"}


def _rest(table: fbs.Table, told: set[str]) -> list[str]:
    """What the line of an operator or tensor has not told; a NodeDef is told as the OpDef in it."""
    found: list[str] = []
    for key, value in table_document(table).items():
        if key == "opDef" and isinstance(table, ms_v0_1.NodeDef) and table.opDef is not None:
            found += _rest(table.opDef, told)
        elif key not in told and value not in (None, [], "", 0):
            found += tree_lines(key, value, "      ")
    return found


def _node_line(at: int, node: ms_v0_1.NodeDef | ms_v0_5.OpDef) -> str:
    op_def = node if isinstance(node, ms_v0_5.OpDef) else node.opDef
    if op_def is None:
        return f"node {at}: no opDef"
    kind = "NONE" if op_def.attr is None else type(op_def.attr).__name__
    attributes = ", ".join(
        f"{name} {value}" for name, value in (table_document(op_def.attr) if op_def.attr else {}).items()
    )
    last = ", isLastConv" if isinstance(op_def, ms_v0_1.OpDef) and op_def.isLastConv else ""
    quantised = f", {op_def.quantType.name}" if op_def.quantType else ""
    if isinstance(op_def, ms_v0_5.OpDef) and op_def.quantParam:
        quantised += f", quantParam counts {[len(array.param) for array in op_def.quantParam]}"
    return (
        f"node {at} {op_def.name!r}: {kind} {list(op_def.inputIndex)} -> {list(op_def.outputIndex)}"
        f" ({node.fmkType.name}{quantised}{last}){': ' + attributes if attributes else ''}"
    )


def _tensor_line(at: int, tensor: ms_v0_1.TensorDef | ms_v0_5.TensorDef) -> str:
    data = "no data" if tensor.data is None else f"{len(tensor.data)} bytes"
    quantised = ", quantised" if isinstance(tensor, ms_v0_1.TensorDef) and tensor.quantization else ""
    return (
        f"tensor {at}: {tensor.dataType.name} {list(tensor.dims)} {tensor.format.name}, {data}, "
        f"refCount {tensor.refCount}{quantised}"
    )
