"""What a MindSpore Lite file holds, for people and as JSON whose keys are the names of the schema (cli.md, inspect)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emu.errors import GraphError
from emu.graph.dynamic import specialise
from emu.graph.plan import make_plan
from emu.graph.readers.lite.file import schema_of
from emu.graph.readers.lite.reader import build
from emu.graph.readers.lite.tensors import DTYPES
from emu.graph.readers.ms.describe import table_document

if TYPE_CHECKING:
    from emu.graph.readers.lite.file import MetaGraph
    from emu.graph.readers.lite.reader import CNode
    from emu.graph.readers.lite.tensors import LiteTensor
    from emu.schemas.generated import ms_lite_v0, ms_lite_v2

_LISTED = 16
"""Elements of a list that a line of text shows."""


def document(meta: MetaGraph) -> dict[str, Any]:
    """Every table of the file by its schema's names; enums by name, tensor data as its length.

    `format`, `kind`, `schema` (the releases that have it), `notes` and `refusals` (why the graph cannot be executed, a
    line each) are added. Operators that are refused show no attributes.
    """
    notes, refused = _notes_and_refusals(meta)
    return {
        "format": "ms",
        "kind": "lite",
        "schema": schema_of(meta),
        **table_document(meta),
        "notes": notes,
        "refusals": [error.line() for error in refused],
    }


def _notes_and_refusals(meta: MetaGraph) -> tuple[list[str], list[GraphError]]:
    notes: list[str] = []
    found: list[GraphError] = []
    try:
        graph = build(meta)
        notes = graph.notes
        found += [node.refusal for node in graph.nodes if node.refusal is not None]
        make_plan(specialise(graph, {}))
    except GraphError as error:
        if error not in found:
            found.append(error)
    return notes, found


def lines(meta: MetaGraph) -> list[str]:
    """The same for a person: a line for each subgraph, operator and tensor."""
    version = meta.version or "of an unknown version"
    found = [f"MindSpore Lite graph {meta.name!r}, {version!r} (schema of {schema_of(meta)})"]
    found.append(
        f"inputIndex {list(meta.inputIndex)}, outputIndex {list(meta.outputIndex)}, fmkType {meta.fmkType}, "
        f"mempoolSize {meta.mempoolSize}"
    )
    subgraphs: Sequence[ms_lite_v0.SubGraph | ms_lite_v2.SubGraph] = meta.subGraph
    for index, subgraph in enumerate(subgraphs):
        found.append(
            f"subgraph {index} {subgraph.name!r}: {len(subgraph.nodeIndices)} nodes, "
            f"inputIndices {list(subgraph.inputIndices)}, outputIndices {list(subgraph.outputIndices)}"
        )
    nodes: Sequence[CNode] = meta.nodes
    tensors: Sequence[LiteTensor] = meta.allTensors
    found += [_node_line(at, node) for at, node in enumerate(nodes)]
    found += [_tensor_line(at, tensor) for at, tensor in enumerate(tensors)]
    notes, refused = _notes_and_refusals(meta)
    found += [f"note: {note}" for note in notes]
    found += [f"refused: {error.line()}" for error in refused]
    return found


def _node_line(at: int, node: CNode) -> str:
    attr = node.primitive.value if node.primitive is not None else None
    kind = "NONE" if attr is None else type(attr).__name__
    attributes = ", ".join(f"{name} {_shown(value)}" for name, value in (table_document(attr) if attr else {}).items())
    quantised = f" ({node.quantType.name})" if node.quantType else ""
    return (
        f"node {at} {node.name!r}: {kind} {_shown(list(node.inputIndex))} -> {_shown(list(node.outputIndex))}"
        f"{quantised}{': ' + attributes if attributes else ''}"
    )


def _shown(value: Any) -> str:
    """A value as a line shows it: strings quoted, for a file may hold any character; long lists cut."""
    if isinstance(value, list) and len(value) > _LISTED:
        return f"{str(value[:_LISTED])[:-1]}, … {len(value) - _LISTED} more]"
    return repr(value)


def _tensor_line(at: int, tensor: LiteTensor) -> str:
    dtype = DTYPES.get(tensor.dataType)
    data = "no data" if not tensor.data else f"{len(tensor.data)} bytes"
    quantised = f", {len(tensor.quantParams)} quantParams" if tensor.quantParams else ""
    name = f"dataType {tensor.dataType}" if dtype is None else str(dtype)
    return f"tensor {at} {tensor.name!r}: {name} {_shown(list(tensor.dims))} {tensor.format.name}, {data}{quantised}"
