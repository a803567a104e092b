"""Placing internal edges: first fit, against the same rule byte by byte."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from emu.sequencer.edge_buffers import _pack, _Placed


def slow(edges: list[tuple[Any, Any]]) -> list[int]:
    """The lowest multiple of a page where no byte belongs to an edge that is alive in one of the same contexts."""
    placed: list[tuple[range, range]] = []
    offsets = []
    for edge, needed in edges:
        contexts = set(range(edge.start_context, edge.end_context + 1))
        taken = [extent for extent, alive in placed if contexts & set(alive)]
        offset = 0
        while any(offset < extent.stop and extent.start < offset + needed.buffer_size for extent in taken):
            offset += needed.page_size
        offsets.append(offset)
        placed.append((range(offset, offset + needed.buffer_size), range(edge.start_context, edge.end_context + 1)))
    return offsets


@pytest.mark.parametrize("seed", range(40))
def test_first_fit(seed: int) -> None:
    rng = random.Random(seed)
    edges: list[tuple[Any, Any]] = []
    for _ in range(60):
        start = rng.randrange(30)
        end = start + rng.choice([0, 1, 1, 1, 2, _Placed.FEW - 1, _Placed.FEW, 20])
        needed = SimpleNamespace(page_size=16, buffer_size=16 * rng.randint(1, 6))
        edges.append((SimpleNamespace(start_context=start, end_context=end), needed))
    edges.sort(key=lambda pair: -pair[1].buffer_size)
    assert [placement.offset for placement in _pack(edges)] == slow(edges)
