"""Reads .om files: container, kind by wire content, then the reader of that kind."""

from __future__ import annotations

from emu.graph.ir import Graph
from emu.graph.readers import om_container as container


def read(data: bytes | memoryview) -> Graph:
    """The graph of an .om file; constants are views of `data`. Raises GraphError."""
    found = container.read_container(data)
    model = found.find(container.MODEL_DEF)
    assert model is not None  # read_container requires it
    weights = found.find(container.WEIGHTS_DATA)
    kind = container.model_kind(model)
    if kind == "domi":
        from emu.graph.readers.om_domi import read_domi

        return read_domi(model, weights)
    from emu.graph.readers.om_ge import read_ge

    return read_ge(model, weights)
