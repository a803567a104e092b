"""Steps: joined nodes, float16 held as float32, constants made ready once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emu.graph.executor import run_plan
from emu.graph.fusion import fused
from emu.graph.ir import Graph, Node, Op, Port, Tensor
from emu.graph.ops.activation import Activation, Function
from emu.graph.ops.conv import Conv
from emu.graph.ops.elementwise import Binary, BinaryFunction
from emu.graph.ops.move import Convert, Copy, Reshape
from emu.graph.plan import make_plan

F4, F2 = np.dtype(np.float32), np.dtype(np.float16)


class Builder:
    def __init__(self) -> None:
        self.graph = Graph("om", "domi", "steps")

    def input(self, name: str, shape: tuple[int, ...], dtype: Any = F4) -> int:
        at = self.graph.add(Tensor(name, shape, np.dtype(dtype)))
        self.graph.inputs.append(Port(name, at))
        return at

    def node(self, op: Op, inputs: tuple[int, ...], shape: tuple[int, ...], dtype: Any = F4) -> int:
        name = f"n{len(self.graph.nodes)}"
        at = self.graph.add(Tensor(f"{name}:0", shape, np.dtype(dtype)))
        self.graph.nodes.append(Node(name, type(op).__name__, op, inputs, (at,)))
        return at

    def output(self, at: int) -> None:
        self.graph.outputs.append(Port(self.graph.tensors[at].name, at))


def conv_and_activation(dtype: Any = F4, function: Function = Function.RELU) -> tuple[Builder, int, int]:
    builder = Builder()
    shape = (1, 4, 6, 6)
    weight = np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype(dtype)
    x = builder.input("x", shape, dtype)
    y = builder.node(Conv(pads=(1, 1, 1, 1)), (x, builder.graph.constant("w", weight)), shape, dtype)
    return builder, y, builder.node(Activation(function), (y,), shape, dtype)


def joined(builder: Builder) -> int:
    graph = builder.graph
    order = range(len(graph.nodes))
    return len(graph.nodes) - len(fused(graph, order, {port.tensor for port in graph.outputs}))


def both_ways(builder: Builder, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs, which must not depend on whether nodes are joined."""

    class Nothing:
        def before(self, node: Node, stored: Any) -> None: ...

        def after(self, node: Node, stored: Any) -> None: ...

    plan = make_plan(builder.graph)
    found = run_plan(plan, feeds)
    apart = run_plan(plan, feeds, watch=Nothing())
    for name, array in found.items():
        assert array.dtype == apart[name].dtype
        assert np.array_equal(array, apart[name])
    return found


@pytest.mark.parametrize("dtype", [F4, F2])
@pytest.mark.parametrize("function", [Function.RELU, Function.RELU6])
def test_an_activation_joins_what_it_alone_reads(dtype: Any, function: Function) -> None:
    builder, _, z = conv_and_activation(dtype, function)
    builder.output(z)
    assert joined(builder) == 1
    x = np.random.default_rng(1).standard_normal((1, 4, 6, 6)).astype(dtype)
    (found,) = both_ways(builder, {"x": x}).values()
    assert found.min() == 0 and found.max() > 0


def test_it_stays_apart_where_its_operand_is_wanted_too() -> None:
    x = np.random.default_rng(1).standard_normal((1, 4, 6, 6), np.float32)
    builder, y, z = conv_and_activation()
    builder.output(y)
    builder.output(z)
    assert joined(builder) == 0
    raw, positive = both_ways(builder, {"x": x}).values()
    assert raw.min() < 0 and np.array_equal(positive, np.maximum(raw, 0))
    builder, y, z = conv_and_activation()
    builder.output(builder.node(Binary(BinaryFunction.SUB), (y, z), (1, 4, 6, 6)))
    assert joined(builder) == 0
    (found,) = both_ways(builder, {"x": x}).values()
    assert np.array_equal(found, np.minimum(raw, 0))


@pytest.mark.parametrize("function", [Function.SIGMOID, Function.TANH, Function.LEAKY_RELU])
def test_what_does_not_commute_with_rounding_stays_apart(function: Function) -> None:
    builder, _, z = conv_and_activation(F2, function)
    builder.output(z)
    assert joined(builder) == 0


@pytest.mark.parametrize("size", [7, 200_000])
def test_rounding_to_float16_leaves_operands_alone(size: int) -> None:
    """Ops that give their operand itself, or a view of it, as a float16 result."""
    builder = Builder()
    x = builder.input("x", (size,))
    y = builder.node(Convert(), (x,), (size,), F2)
    z = builder.node(Activation(Function.LINEAR), (x,), (size,), F2)
    w = builder.node(Reshape((1, size)), (x,), (1, size), F2)
    same = builder.node(Copy(), (x,), (size,))
    for at in (y, z, w, same):
        builder.output(at)
    array = np.random.default_rng(0).standard_normal(size, np.float32)
    kept = array.copy()
    found = both_ways(builder, {"x": array})
    assert np.array_equal(array, kept)
    *rounded, whole = found.values()
    assert np.array_equal(whole, kept)
    for each in rounded:
        assert each.dtype == F2 and np.array_equal(each.reshape(-1), kept.astype(F2))


@pytest.mark.parametrize("size", [5, 200_000])
def test_float16_is_rounded_at_every_tensor(size: int) -> None:
    builder = Builder()
    x = builder.input("x", (size,), F2)
    y = builder.node(Binary(BinaryFunction.ADD), (x, builder.graph.constant("c", np.full(size, 0.1, F2))), (size,), F2)
    z = builder.node(Binary(BinaryFunction.MUL), (y, y), (size,), F2)
    builder.output(y)
    builder.output(z)
    array = np.random.default_rng(0).standard_normal(size).astype(F2)
    first, second = both_ways(builder, {"x": array}).values()
    want = (array.astype(F4) + F4.type(F2.type(0.1))).astype(F2)
    assert np.array_equal(first, want)
    assert np.array_equal(second, (want.astype(F4) * want.astype(F4)).astype(F2))


def test_a_plan_serves_inputs_of_any_values() -> None:
    """Nothing of one run is left in the next."""
    builder, _, z = conv_and_activation(F2)
    builder.output(z)
    plan = make_plan(builder.graph)
    random = np.random.default_rng(5)
    feeds = [{"x": random.standard_normal((1, 4, 6, 6)).astype(F2)} for _ in range(3)]
    alone = [next(iter(run_plan(make_plan(builder.graph), each).values())) for each in feeds]
    for _ in range(2):
        for each, want in zip(feeds, alone, strict=True):
            assert np.array_equal(next(iter(run_plan(plan, each).values())), want)
