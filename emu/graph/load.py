"""Opens OM and MS files as graphs: bytes are mapped, not read, so that constants stay views of the file."""

from __future__ import annotations

import mmap
from pathlib import Path

from emu.errors import GraphError, GraphStatus
from emu.graph.ir import Graph

ModelSource = Path | str | bytes | memoryview


def map_file(source: ModelSource) -> memoryview:
    """The bytes of a model, mapped where it is a file; OSError if it cannot be opened."""
    if isinstance(source, bytes | memoryview):
        return memoryview(source)
    with Path(source).open("rb") as file:
        # an empty file cannot be mapped
        if file.seek(0, 2) == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_graph(data: bytes | memoryview) -> Graph:
    """The graph of an OM (magic IMOD) or MS file. Raises GraphError."""
    try:
        if bytes(data[:4]) in (b"IMOD", b"PICO"):
            from emu.graph.readers import om

            return om.read(data)
        from emu.graph.readers import ms

        return ms.read(data)
    except (RecursionError, MemoryError) as error:
        raise GraphError(GraphStatus.GRAPH_STRUCTURE, f"the model is nested or sized beyond reason: {error}") from error
