"""Reads .om files: container, kind by wire content, then the reader of that kind."""

from __future__ import annotations

import numpy as np

from emu.graph.ir import Graph
from emu.graph.readers import om_container as container

ALIGNMENT = 64


def _aligned(weights: memoryview | None) -> memoryview | None:
    """WEIGHTS_DATA where its constants can be used as they are: it starts anywhere in the file, and numpy copies an
    operand that is not aligned in every product."""
    if weights is None or np.frombuffer(weights, np.uint8).ctypes.data % ALIGNMENT == 0:
        return weights
    room = np.empty(len(weights) + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    room[start : start + len(weights)] = np.frombuffer(weights, np.uint8)
    return room.data[start : start + len(weights)]


def read(data: bytes | memoryview) -> Graph:
    """The graph of an .om file; constants are views of `data`, or of one copy of WEIGHTS_DATA. Raises GraphError."""
    found = container.read_container(data)
    model = found.find(container.MODEL_DEF)
    assert model is not None  # read_container requires it
    weights = _aligned(found.find(container.WEIGHTS_DATA))
    kind = container.model_kind(model)
    if kind == "domi":
        from emu.graph.readers.om_domi import read_domi

        return read_domi(model, weights)
    from emu.graph.readers.om_ge import read_ge

    return read_ge(model, weights)
