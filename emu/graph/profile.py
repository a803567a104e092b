"""What each op of a run costs: time, multiply-accumulates, bytes read and written."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from emu.graph.costs import macs
from emu.graph.ir import Array, Graph, Node


@dataclass(frozen=True, slots=True)
class Cost:
    """One node of one run. `start_ns` counts from the begin of the run; bytes as the file stores the tensors."""

    name: str
    type: str
    start_ns: int
    time_ns: int
    macs: int
    bytes: int

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "time_ns": self.time_ns,
            "macs": self.macs,
            "bytes": self.bytes,
        }


@dataclass(slots=True)
class Profile:
    """Watches a run (executor.Watch); nodes are timed one by one, none are joined."""

    graph: Graph
    costs: list[Cost] = field(default_factory=list)
    _begin: int = 0
    _started: int = 0

    def before(self, node: Node, stored: Callable[[int], Array]) -> None:
        self._started = time.perf_counter_ns()
        if not self._begin:
            self._begin = self._started

    def after(self, node: Node, stored: Callable[[int], Array]) -> None:
        spent = time.perf_counter_ns() - self._started
        places = [*(at for at in node.inputs if at is not None), *node.outputs]
        moved = sum(self.graph.tensors[at].nbytes for at in places)
        start = self._started - self._begin
        self.costs.append(Cost(node.name, node.type, start, spent, macs(self.graph, node), moved))

    def dearest(self) -> list[Cost]:
        """All nodes, the one that took longest first."""
        return sorted(self.costs, key=lambda cost: (-cost.time_ns, cost.start_ns))

    def trace(self) -> dict[str, Any]:
        """The run in the trace event format, which Perfetto opens: one slice a node, its costs as arguments."""
        process = {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": self.graph.name or "graph"}}
        slices = [
            {
                "ph": "X",
                "pid": 1,
                "tid": 1,
                "name": cost.name,
                "cat": cost.type,
                "ts": cost.start_ns / 1000,
                "dur": cost.time_ns / 1000,
                "args": {"type": cost.type, "macs": cost.macs, "bytes": cost.bytes},
            }
            for cost in self.costs
        ]
        return {"traceEvents": [process, *slices], "displayTimeUnit": "ns"}
