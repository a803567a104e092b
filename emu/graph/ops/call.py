"""A node that runs a graph of its own (GraphOp of an .om file)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from emu.graph.ir import Array, Graph, Shape
from emu.graph.ops import Op, Operand, OpError


@dataclass(frozen=True, slots=True, eq=False)
class Call(Op):
    """Run `graph`; operands and results are its inputs and outputs in order."""

    exact: ClassVar[bool] = True
    graph: Graph

    def shape(self, *operands: Operand) -> list[Shape]:
        from emu.graph.plan import make_plan

        if len(operands) != len(self.graph.inputs):
            raise OpError(f"{len(operands)} operands for a subgraph with {len(self.graph.inputs)} inputs", "subgraph")
        for port, operand in zip(self.graph.inputs, operands, strict=True):
            inside = self.graph.tensors[port.tensor]
            if inside.op_shape != operand.shape:
                raise OpError(
                    f"operand {list(operand.shape)}, the subgraph takes {inside} as {port.name!r}", "subgraph"
                )
        make_plan(self.graph)
        return [self.graph.tensors[port.tensor].op_shape for port in self.graph.outputs]

    def _run(self, arrays: tuple[Array, ...], reference: bool) -> list[Array]:
        from emu.graph.executor import run

        inputs = {
            port.name: array.astype(self.graph.tensors[port.tensor].dtype, copy=False)
            for port, array in zip(self.graph.inputs, arrays, strict=True)
        }
        found = run(self.graph, inputs, reference=reference)
        return [found[port.name] for port in self.graph.outputs]

    def reference(self, *arrays: Array) -> list[Array]:
        return self._run(arrays, True)

    def fast(self, *arrays: Array) -> list[Array]:
        return self._run(arrays, False)
