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


def model_gears(data: bytes | memoryview) -> list[tuple[int, ...]]:
    """The batch or image sizes among which `read_graph` of an OM model needs one; none for all other models."""
    if bytes(data[:4]) != b"IMOD":
        return []
    from emu.graph.readers import om

    return om.gears(data)


def read_graph(data: bytes | memoryview, gear: tuple[int, ...] | None = None) -> Graph:
    """The graph of an OM (magic IMOD) or MS file (predict or Lite); `gear` is the batch or image size that an OM model
    of several is to have. Raises GraphError."""
    try:
        if bytes(data[:4]) in (b"IMOD", b"PICO"):
            from emu.graph.readers import om

            return om.read(data, gear)
        if gear is not None:
            raise GraphError(GraphStatus.GRAPH_INPUT, "MS models have no gears to choose from")
        from emu.graph.readers.lite.file import is_lite

        if is_lite(data):
            from emu.graph.readers.lite import reader

            return reader.read(data)
        from emu.graph.readers import ms

        return ms.read(data)
    except (RecursionError, MemoryError) as error:
        raise GraphError(GraphStatus.GRAPH_STRUCTURE, f"the model is nested or sized beyond reason: {error}") from error
