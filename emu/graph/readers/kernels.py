"""Op types that every format spells alike, and what computes them: one table for all readers."""

from __future__ import annotations

from emu.graph.ops.elementwise import BinaryFunction, UnaryFunction
from emu.graph.ops.reduce import Reduction

UNARY: dict[str, UnaryFunction] = {
    "Abs": UnaryFunction.ABS,
    "Neg": UnaryFunction.NEG,
    "Exp": UnaryFunction.EXP,
    "Log": UnaryFunction.LOG,
    "Sin": UnaryFunction.SIN,
    "Cos": UnaryFunction.COS,
    "Tan": UnaryFunction.TAN,
    "Asin": UnaryFunction.ASIN,
    "Atan": UnaryFunction.ATAN,
    "Sqrt": UnaryFunction.SQRT,
    "Rsqrt": UnaryFunction.RSQRT,
    "Square": UnaryFunction.SQUARE,
    "Ceil": UnaryFunction.CEIL,
    "Floor": UnaryFunction.FLOOR,
    "Round": UnaryFunction.ROUND,
    "ZerosLike": UnaryFunction.ZEROS_LIKE,
    "LogicalNot": UnaryFunction.LOGICAL_NOT,
}
BINARY: dict[str, BinaryFunction] = {
    "Add": BinaryFunction.ADD,
    "Sub": BinaryFunction.SUB,
    "Mul": BinaryFunction.MUL,
    "RealDiv": BinaryFunction.DIV,
    "Maximum": BinaryFunction.MAXIMUM,
    "Minimum": BinaryFunction.MINIMUM,
    "FloorDiv": BinaryFunction.FLOOR_DIV,
    "FloorMod": BinaryFunction.FLOOR_MOD,
    "SquaredDifference": BinaryFunction.SQUARED_DIFFERENCE,
    "Equal": BinaryFunction.EQUAL,
    "Less": BinaryFunction.LESS,
    "Greater": BinaryFunction.GREATER,
    "LogicalAnd": BinaryFunction.LOGICAL_AND,
    "LogicalOr": BinaryFunction.LOGICAL_OR,
    "LogicalXor": BinaryFunction.LOGICAL_XOR,
}
REDUCTIONS: dict[str, Reduction] = {
    "ReduceMean": Reduction.MEAN,
    "ReduceMax": Reduction.MAX,
    "ReduceMin": Reduction.MIN,
    "ReduceProd": Reduction.PROD,
    "ReduceSum": Reduction.SUM,
    "ReduceSumSquare": Reduction.SUM_OF_SQUARES,
}
