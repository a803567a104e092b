"""Tells the MindSpore predict generations apart and reads the whole file into its schema's tables.

The files carry no identifier: 0.1 (generation A) and 0.5 (generation B) are known by their vtables, as is MindSpore
Lite, which is refused (ms-predict.md 0, graph-conventions.md MS-F1).
"""

from __future__ import annotations

from typing import TypeAlias

from emu.errors import GraphError, GraphStatus
from emu.graph.readers.flatbuffer import FlatBuffer, Place, RawTable
from emu.graph.readers.lite.file import ROOT_VTABLE_MAXIMUM, identifier
from emu.schemas.generated import ms_v0_1, ms_v0_5

GraphDef: TypeAlias = ms_v0_1.GraphDef | ms_v0_5.GraphDef

_NODE_DEF_VTABLE_MAXIMUM = 8
"""Bytes: NodeDef (A) has two fields; an OpDef (B) with outputs has at least six."""
_SUBGRAPHS_SLOT = 2
_NODES_SLOT = 4
_LITE_VERSION_SLOT = 1


def read_graph_def(data: bytes | memoryview) -> GraphDef:
    """The checked root table of a .ms file, of the generation that its structure shows.

    Raises GraphError: MS_FLATBUFFER where the buffer is broken or of another format (MindSpore Lite by name and
    version), GRAPH_UNSUPPORTED at an enum value that the generation does not have.
    """
    buffer = FlatBuffer(data)
    named = identifier(buffer.data)
    if named is not None:
        raise _lite_error(buffer, named)
    root = buffer.root()
    if root.vtable_size > ROOT_VTABLE_MAXIMUM:
        raise _lite_error(buffer, None)
    place = Place(None, "GraphDef")
    if _is_generation_a(buffer, root, place):
        return buffer.read(ms_v0_1.GraphDef, root, place)
    return buffer.read(ms_v0_5.GraphDef, root, place)


def generation(graph_def: GraphDef) -> str:
    """`A` for the 0.1 schema, `B` for the 0.5 schema."""
    return "A" if isinstance(graph_def, ms_v0_1.GraphDef) else "B"


def _is_generation_a(buffer: FlatBuffer, root: RawTable, place: Place) -> bool:
    """Whether the first node of the file is a NodeDef; both generations agree on the tables above it."""
    position = root.field(_SUBGRAPHS_SLOT, 4, place)
    if not position:
        return False
    start, count = buffer.vector(position, 4, place)
    for index in range(count):
        step = Place(Place(place, "subgraphs"), index)
        subgraph = buffer.raw_table(start + 4 * index, step)
        nodes = subgraph.field(_NODES_SLOT, 4, step)
        if not nodes:
            continue
        first, node_count = buffer.vector(nodes, 4, Place(step, "nodes"))
        if node_count:
            node = buffer.raw_table(first, Place(Place(step, "nodes"), 0))
            return node.vtable_size <= _NODE_DEF_VTABLE_MAXIMUM
    return False


def _lite_error(buffer: FlatBuffer, lite: str | None) -> GraphError:
    version = _lite_version(buffer)
    named = f"identifier {lite}" if lite else "no identifier, a MetaGraph by its vtable"
    return GraphError(
        GraphStatus.MS_FLATBUFFER,
        f"this is a {version} model ({named}); the reader of MindSpore predict takes graphs of 0.1 and 0.5",
    )


def _lite_version(buffer: FlatBuffer) -> str:
    """`MindSpore Lite 1.5.0` as the file says, else `MindSpore Lite (version unknown)`."""
    place = Place(None, "MetaGraph")
    try:
        root = buffer.root()
        position = root.field(_LITE_VERSION_SLOT, 4, place)
        version = buffer.text(position, Place(place, "version")) if position else ""
    except GraphError:
        version = ""
    if not version or not version.isprintable() or len(version) > 64:
        return "MindSpore Lite (version unknown)"
    return version if "MindSpore Lite" in version else f"MindSpore Lite {version}"
