"""Parameters that both kinds of .om model spell alike: lists of sizes, padding modes, alpha and beta, mode numbers.

Rules: graph-conventions.md OM-O, om-format.md 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from emu.errors import GraphStatus
from emu.graph.ops import Op, OpError
from emu.graph.ops.activation import Epilogue, Function, Then
from emu.graph.ops.elementwise import EltwiseMode
from emu.graph.ops.pool import PoolMode
from emu.graph.ops.window import NO_PADS, PadRule, Pads, Pair

ACTIVATIONS: dict[int, Function] = {
    0: Function.SIGMOID,
    1: Function.RELU,
    2: Function.TANH,
    3: Function.CLIPPED_RELU,
    4: Function.ELU,
    5: Function.LEAKY_RELU,
    6: Function.ABS,
    7: Function.RELU1,
    8: Function.SOFTSIGN,
    9: Function.SOFTPLUS,
    10: Function.HARD_SIGMOID,
    11: Function.THRESHOLDED_RELU,
    12: Function.SELU,
    13: Function.LINEAR,
}
ELTWISE_MODES = {0: EltwiseMode.PROD, 1: EltwiseMode.SUM, 2: EltwiseMode.MAX}
POOL_MODES = {0: PoolMode.MAX, 1: PoolMode.AVERAGE}
DEFAULT_EPSILON = 1e-5


def pair(values: Sequence[int], default: Pair, attribute: str) -> Pair:
    """[h, w], or the default where the list is empty."""
    if len(values) not in (0, 2):
        raise OpError(f"has {len(values)} values, not 2", attribute)
    return (int(values[0]), int(values[1])) if values else default


def four(values: Sequence[int], attribute: str) -> Pads:
    """[top, bottom, left, right], zeros where the list is empty."""
    if len(values) not in (0, 4):
        raise OpError(f"has {len(values)} values, not 4", attribute)
    return (int(values[0]), int(values[1]), int(values[2]), int(values[3])) if values else NO_PADS


def pad_rule(pad_mode: int, stored: Sequence[int], attribute: str = "pad") -> tuple[PadRule, Pads]:
    """graph-conventions.md OM-O2; the stored list must be well-formed even where it is ignored."""
    pads = four(stored, attribute)
    if pad_mode in (0, 1, 2, 3, 4):
        return PadRule.EXPLICIT, pads
    if pad_mode == 5:
        return PadRule.EXPLICIT, NO_PADS
    if pad_mode == 6:
        return PadRule.SAME, NO_PADS
    raise OpError(f"unknown mode {pad_mode}", "pad_mode")


def alpha_of(alpha: float, beta: float) -> float:
    """graph-conventions.md OM-G6."""
    if beta != 0:
        raise OpError(f"{beta}: there is no previous output to add", "beta", GraphStatus.GRAPH_UNSUPPORTED)
    if not math.isfinite(alpha):
        raise OpError(f"{alpha} is no factor", "alpha")
    return alpha or 1.0


def scaled(op: Op, alpha: float) -> Op:
    return op if alpha == 1 else Then(op, Epilogue(alpha))
