"""Tells MindSpore Lite files from those of MindSpore predict, and reads one into the tables of its schema.

Up to 1.1 the files carry no identifier, MSL0 or MSL1, and one schema; from 1.2 on MSL2 and another, in which most
operators have another number and another name (mindspore/lite/schema of either time; ms-predict.md 0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from emu.errors import GraphError, GraphStatus
from emu.graph.readers.flatbuffer import FlatBuffer, Place

if TYPE_CHECKING:
    from emu.schemas.generated import ms_lite_v0, ms_lite_v2

    MetaGraph: TypeAlias = ms_lite_v0.MetaGraph | ms_lite_v2.MetaGraph

ROOT_VTABLE_MAXIMUM = 10
"""Bytes: predict's GraphDef has three fields, Lite's MetaGraph eight or more (ms-predict.md 0)."""
_IDENTIFIERS = (b"MSL0", b"MSL1", b"MSL2")
_PLACE = Place(None, "MetaGraph")


def identifier(data: bytes | memoryview) -> str | None:
    """`MSL0`, `MSL1` or `MSL2`; None where bytes 4 to 7 are something else, as in files of 0.7 and 1.0."""
    found = bytes(data[4:8])
    return found.decode() if found in _IDENTIFIERS else None


def is_lite(data: bytes | memoryview) -> bool:
    """Whether a .ms file is one of MindSpore Lite: by its identifier, or by a root table larger than a GraphDef."""
    if identifier(data) is not None:
        return True
    try:
        return FlatBuffer(data).root().vtable_size > ROOT_VTABLE_MAXIMUM
    except GraphError:
        return False


def read_meta_graph(data: bytes | memoryview) -> MetaGraph:
    """The checked root table, in the schema that the identifier names.

    Raises GraphError: MS_FLATBUFFER where the buffer is broken, GRAPH_UNSUPPORTED at an operator or enum value that the
    schema does not have.
    """
    buffer = FlatBuffer(data, unknown_member=GraphStatus.GRAPH_UNSUPPORTED)
    root = buffer.root()
    if identifier(data) == "MSL2":
        from emu.schemas.generated import ms_lite_v2

        return buffer.read(ms_lite_v2.MetaGraph, root, _PLACE)
    from emu.schemas.generated import ms_lite_v0

    return buffer.read(ms_lite_v0.MetaGraph, root, _PLACE)


def schema_of(meta: MetaGraph) -> str:
    """The releases whose schema the tables have."""
    return "0.7 to 1.1" if type(meta).__module__.endswith("v0") else "1.2 to 2.x"
