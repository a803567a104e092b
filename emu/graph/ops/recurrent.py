"""Recurrent cells over a whole sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Array, Shape
from emu.graph.ops import Op, Operand, OpError
from emu.graph.ops.activation import Function, activate
from emu.graph.ops.axes import need_rank, need_shape

STEP_LIMIT = 1 << 16
"""Steps of a sequence that is walked one by one: a forged length costs no time."""


@dataclass(frozen=True, slots=True)
class LSTM(Op):
    """x [T, N, I] through one layer of LSTM cells in one direction, or both (ONNX LSTM-14 without peepholes).

    weight [D, 4H, I] and recurrence [D, 4H, H] hold the gates input, output, forget, cell one below the other; bias
    [D, 8H] those of both products; hidden and cell [D, N, H] (or [N, H]) are the states before the sequence. Results:
    every hidden state [T, D, N, H], the last hidden and the last cell states [D, N, H]. The second direction reads the
    sequence backwards. The states are float32 and the products those of BLAS.
    """

    bidirectional: bool = False

    def shape(
        self, x: Operand, weight: Operand, recurrence: Operand, bias: Operand, hidden: Operand, cell: Operand
    ) -> list[Shape | None]:
        need_rank(x.shape, 3, "input")
        need_rank(weight.shape, 3, "weight")
        length, batch, width = x.shape
        if length > STEP_LIMIT:
            raise OpError(f"{length} steps, at most {STEP_LIMIT} are computed", status=GraphStatus.GRAPH_UNSUPPORTED)
        directions = 2 if self.bidirectional else 1
        size = weight.shape[1] // 4
        need_shape(weight.shape, (directions, 4 * size, width), "weight")
        need_shape(recurrence.shape, (directions, 4 * size, size), "recurrence")
        need_shape(bias.shape, (directions, 8 * size), "bias")
        state = (directions, batch, size)
        for what, operand in (("hidden state", hidden), ("cell state", cell)):
            if operand.shape != state and (directions, operand.shape) != (1, state[1:]):
                raise OpError(f"{what} is {list(operand.shape)}, not {list(state)}")
        return [(length, *state), state, state]

    def reference(
        self, x: Array, weight: Array, recurrence: Array, bias: Array, hidden: Array, cell: Array
    ) -> list[Array]:
        length, batch, _ = x.shape
        directions, _, size = recurrence.shape
        hidden, cell = (np.array(state, np.float32).reshape(directions, batch, size) for state in (hidden, cell))
        y = np.empty((length, directions, batch, size), np.float32)
        for direction in range(directions):
            gates = x @ weight[direction].T + (bias[direction, : 4 * size] + bias[direction, 4 * size :])
            for step in range(length) if direction == 0 else reversed(range(length)):
                parts = np.split(gates[step] + hidden[direction] @ recurrence[direction].T, 4, axis=1)
                take, give, keep = (activate(part, Function.SIGMOID) for part in parts[:3])
                cell[direction] = keep * cell[direction] + take * np.tanh(parts[3])
                hidden[direction] = give * np.tanh(cell[direction])
                y[step, direction] = hidden[direction]
        return [y, hidden, cell]
