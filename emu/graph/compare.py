"""Tensors of a run against reference values by name: the first that differs, and how many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.graph.ir import Array, Graph, Node

TOLERANCE = 1e-3
"""Of the largest magnitude of a reference tensor: float16 keeps half of it, two float32 executors agree far below."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A tensor that is not its reference; `place`, `got` and `want` of the element that is farthest off, None where
    dtype or shape differ already."""

    tensor: str
    op: str
    text: str
    place: list[int] | None = None
    got: float | None = None
    want: float | None = None

    def document(self) -> dict[str, Any]:
        return {
            "tensor": self.tensor,
            "op": self.op,
            "text": self.text,
            "place": self.place,
            "got": self.got,
            "want": self.want,
        }


def difference(tensor: str, op: str, got: Array, want: Array, tolerance: float) -> Difference | None:
    """None where |got - want| <= tolerance * max |want| everywhere (not a number equals itself)."""
    if got.shape != want.shape:
        return Difference(tensor, op, f"shape {list(got.shape)}, the reference has {list(want.shape)}")
    if got.size == 0:
        return None
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    limit = tolerance * float(finite.max(initial=0.0))
    with np.errstate(invalid="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    off[np.isnan(off)] = np.inf
    worst = int(np.argmax(off))
    if off.reshape(-1)[worst] <= limit:
        return None
    place = [int(at) for at in np.unravel_index(worst, off.shape)]
    got_there, want_there = float(a.reshape(-1)[worst]), float(b.reshape(-1)[worst])
    count = int((off > limit).sum())
    text = (
        f"{count} of {got.size} elements are off by more than {limit:.6g}; {place}: {got_there}, reference {want_there}"
    )
    return Difference(tensor, op, text, place, got_there, want_there)


@dataclass(slots=True)
class Comparison:
    """Watches a run (executor.Watch) and compares every tensor that `reference` has by its name.

    A tensor's names are its own and `OP:INDEX`. `differences` are in the order of execution.
    """

    graph: Graph
    reference: Mapping[str, Callable[[], Array]]
    tolerance: float = TOLERANCE
    compared: dict[str, None] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def before(self, node: Node, stored: Callable[[int], Array]) -> None:
        pass

    def after(self, node: Node, stored: Callable[[int], Array]) -> None:
        for names, at in named_results(self.graph, node):
            self.check(names, node.name, stored(at))

    def check(self, names: Iterable[str], op: str, array: Array) -> None:
        """Compare one tensor, which may have several names."""
        name = next((name for name in names if name in self.reference and name not in self.compared), None)
        if name is None:
            return
        self.compared[name] = None
        found = difference(name, op, array, self.reference[name](), self.tolerance)
        if found is not None:
            self.differences.append(found)

    def missing(self) -> list[str]:
        """Names of the reference that no tensor of the run has."""
        return [name for name in self.reference if name not in self.compared]


def named_results(graph: Graph, node: Node) -> list[tuple[tuple[str, ...], int]]:
    """Per result of a node: the names under which it is known, and its place."""
    ports = {port.tensor: port.name for port in graph.outputs}
    found: list[tuple[tuple[str, ...], int]] = []
    for index, at in enumerate(node.outputs):
        names = dict.fromkeys((graph.tensors[at].name, f"{node.name}:{index}", *([ports[at]] if at in ports else [])))
        found.append((tuple(names), at))
    return found


@dataclass(slots=True)
class Collection:
    """Watches a run and hands every result to `keep`, under the tensor's name."""

    graph: Graph
    keep: Callable[[str, Array], None]

    def before(self, node: Node, stored: Callable[[int], Array]) -> None:
        pass

    def after(self, node: Node, stored: Callable[[int], Array]) -> None:
        for names, at in named_results(self.graph, node):
            self.keep(names[0], stored(at))


class Watches:
    """Several watches as one."""

    def __init__(self, *watches: Any) -> None:
        self._watches = watches

    def before(self, node: Node, stored: Callable[[int], Array]) -> None:
        for watch in reversed(self._watches):
            watch.before(node, stored)

    def after(self, node: Node, stored: Callable[[int], Array]) -> None:
        for watch in self._watches:
            watch.after(node, stored)
