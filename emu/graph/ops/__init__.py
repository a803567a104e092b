"""What the nodes of a graph do: one family a file, one op a small frozen dataclass of its attributes.

An op has a plain `reference` form, and a `fast` form where it pays; both take and return numpy arrays and know
nothing of file formats. `OPS` is the registry by class name; importing a family fills it.

Contract with the executor: float16 operands arrive as float32 (and quantised ones dequantised), results are rounded
once to the dtype of their tensor. An op with `exact = True` only moves or selects stored values and gets them as they
are. One with `pointwise = True` gives element i of its result from elements i alone, so that large operands may be cut
in pieces. Results may lie in memory in any order of axes. `bind` gives `fast` for constant operands.
"""

from emu.graph.ir import OPS, Op, Operand, OpError

__all__ = ["OPS", "Op", "OpError", "Operand"]
