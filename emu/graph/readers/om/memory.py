"""Overlaps in the memory plan of an .om file: remarks for `inspect`, never a refusal (om-format.md 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emu.graph.ir import Graph
from emu.graph.plan import execution_order

NOTE_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where the file puts the output of an op: `tensor` is its place in `Graph.tensors`."""

    tensor: int
    offset: int
    size: int
    reuses_input: bool = False


def overlaps(graph: Graph, buffers: Sequence[Buffer]) -> list[str]:
    """Pairs of buffers that share bytes while both hold a value that is still read.

    Legal, and not told: an output over an input that its op is the last to read, reuse_input, the operands of a Concat
    inside its result.
    """
    if len({buffer.offset for buffer in buffers}) < 2:
        return []  # no memory plan in the file
    born: dict[int, int] = {}
    dies: dict[int, int] = {}
    for step, place in enumerate(execution_order(graph)):
        node = graph.nodes[place]
        for at in node.outputs:
            born[at] = dies[at] = step
        for operand in node.inputs:
            if operand is not None:
                dies[operand] = step
    made_from = {at: node for node in graph.nodes for at in node.outputs}
    found: list[str] = []
    live: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda each: born.get(each.tensor, 0)):
        start = born.get(buffer.tensor, 0)
        live = [other for other in live if dies.get(other.tensor, 0) >= start]
        maker = made_from.get(buffer.tensor)
        for other in live:
            if other.offset + other.size <= buffer.offset or buffer.offset + buffer.size <= other.offset:
                continue
            if maker is not None and other.tensor in maker.inputs:
                last_read = dies.get(other.tensor, 0) == start
                if last_read or buffer.reuses_input or maker.type in ("Concat", "ConcatD"):
                    continue
            found.append(_note(graph, other, buffer))
        live.append(buffer)
    more = len(found) - NOTE_LIMIT
    return found if more <= 0 else [*found[:NOTE_LIMIT], f"{more} more overlaps"]


def _note(graph: Graph, first: Buffer, second: Buffer) -> str:
    parts = [
        f"{graph.tensors[each.tensor].name!r} (bytes {each.offset} to {each.offset + each.size})"
        for each in (first, second)
    ]
    return f"{parts[1]} overlaps {parts[0]} while both are live"
