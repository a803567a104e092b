"""Reads .om files: container, kind by wire content, then the reader of that kind."""

from __future__ import annotations

import numpy as np

from emu.graph.ir import Graph
from emu.graph.readers.om import container

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


def read(data: bytes | memoryview, gear: tuple[int, ...] | None = None) -> Graph:
    """The graph of an .om file; constants are views of `data`, or of one copy of WEIGHTS_DATA.

    `gear` is the batch or image size that a model of several is to have. Raises GraphError.
    """
    found = container.read_container(data)
    model = found.find(container.MODEL_DEF)
    assert model is not None  # read_container requires it
    weights = _aligned(found.find(container.WEIGHTS_DATA))
    kind = container.model_kind(model)
    if kind == "domi":
        if gear is not None:
            from emu.graph.readers.om.ge_control import no_gears

            raise no_gears()
        from emu.graph.readers.om.domi import read_domi

        return read_domi(model, weights)
    from emu.graph.readers.om.ge import read_ge

    return read_ge(model, weights, gear)


def gears(data: bytes | memoryview) -> list[tuple[int, ...]]:
    """The batch or image sizes of a model that has several, one of which `read` needs; else none. Raises GraphError."""
    model = container.read_container(data).find(container.MODEL_DEF)
    assert model is not None  # read_container requires it
    if container.model_kind(model) == "domi":
        return []
    from emu.graph.readers.om import ge

    return ge.model_gears(ge.parse(model))
