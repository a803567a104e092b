"""Order, memory, rounding and refusals of the executor, on graphs made by hand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph import executor, layouts
from emu.graph.ir import Graph, Layout, Node, Port, Quantisation, Tensor
from emu.graph.ops.activation import Activation, Function
from emu.graph.ops.conv import Conv
from emu.graph.ops.elementwise import Binary, BinaryFunction, Unary, UnaryFunction
from emu.graph.ops.move import Concat, Convert, Copy
from emu.graph.ops.norm import BatchNorm, Scale
from emu.graph.ops.pool import Pool, PoolMode
from emu.graph.ops.softmax import Softmax
from emu.graph.plan import LIVE_LIMIT, execution_order, make_plan

F4, F2 = np.dtype(np.float32), np.dtype(np.float16)


class Builder:
    """Adds nodes whose results all have one shape."""

    def __init__(self, shape: tuple[int, ...] = (4,), dtype: np.dtype = F4, ordered: bool = False) -> None:
        self.graph = Graph("om", "domi", "made", ordered=ordered)
        self.shape, self.dtype = shape, dtype
        self.place = {"x": self.graph.add(Tensor("x", shape, dtype))}
        self.graph.inputs.append(Port("x", self.place["x"]))

    def node(self, name: str, op, *sources: str, **more) -> Node:
        for each in (name, *sources):
            if each not in self.place:
                self.place[each] = self.graph.add(Tensor(f"{each}:0", self.shape, self.dtype))
        inputs = tuple(self.place[source] for source in sources)
        node = Node(name, type(op).__name__, op, inputs, (self.place[name],), **more)
        self.graph.nodes.append(node)
        return node

    def event(self, name: str, stream: int, **more) -> None:
        self.graph.nodes.append(Node(name, "Send" if "sends" in more else "Recv", Copy(), stream=stream, **more))

    def output(self, *names: str) -> Graph:
        self.graph.outputs += [Port(name, self.place[name]) for name in names]
        return self.graph


ADD = Binary(BinaryFunction.ADD)
NEG = Unary(UnaryFunction.NEG)


def refused(graph: Graph, status: GraphStatus, *words: str) -> GraphError:
    with pytest.raises(GraphError) as caught:
        make_plan(graph)
    assert caught.value.status is status
    for word in words:
        assert word in caught.value.line()
    return caught.value


def test_unordered_nodes_follow_their_edges():
    made = Builder()
    made.node("c", ADD, "a", "b")
    made.node("b", NEG, "a")
    made.node("a", NEG, "x")
    graph = made.output("c")
    x = np.arange(4, dtype=F4)
    assert np.array_equal(executor.run(graph, {"x": x})["c"], np.zeros(4))
    assert [graph.nodes[at].name for at in execution_order(graph)] == ["a", "b", "c"]


def test_streams_wait_for_events_only():
    made = Builder(ordered=True)
    made.node("late", ADD, "early", "x", stream=1)
    made.graph.nodes.insert(0, Node("recv", "Recv", Copy(), stream=1, waits=0))
    made.node("early", NEG, "x", stream=0)
    made.event("send", 0, sends=0)
    graph = made.output("late")
    assert [graph.nodes[at].name for at in execution_order(graph)] == ["early", "send", "recv", "late"]
    assert np.array_equal(executor.run(graph, {"x": np.ones(4, F4)})["late"], np.zeros(4))


def test_deadlock_is_told_with_its_cycle():
    made = Builder(ordered=True)
    for stream in range(3):
        made.event(f"recv{stream}", stream, waits=(stream + 1) % 3)
        made.event(f"send{stream}", stream, sends=stream)
    error = refused(made.graph, GraphStatus.GRAPH_STRUCTURE, "deadlock", "event 0", "event 1", "event 2")
    assert set(error.where["cycle"]) == {f"{kind}{at}" for kind in ("recv", "send") for at in range(3)}


def test_recv_before_send_on_one_stream():
    made = Builder(ordered=True)
    made.event("recv", 0, waits=0)
    made.event("send", 0, sends=0)
    refused(made.graph, GraphStatus.GRAPH_STRUCTURE, "deadlock", "'recv'", "'send'")


def test_reading_a_later_op_of_the_same_stream():
    made = Builder(ordered=True)
    made.node("a", NEG, "b")
    made.node("b", NEG, "x")
    refused(made.output("a"), GraphStatus.GRAPH_STRUCTURE, "cycle", "reads 'b:0'", "on stream 0")


def test_cycle():
    made = Builder()
    made.node("a", ADD, "x", "c")
    made.node("b", NEG, "a")
    made.node("c", NEG, "b")
    error = refused(made.output("c"), GraphStatus.GRAPH_STRUCTURE, "cycle", "reads")
    assert sorted(error.where["cycle"]) == ["a", "b", "c"]


def test_structure_refusals():
    made = Builder()
    made.node("a", NEG, "nobody")
    refused(made.output("a"), GraphStatus.GRAPH_STRUCTURE, "'nobody:0'", "op 'a'")
    made = Builder()
    made.node("a", ADD, "x")
    refused(made.output("a"), GraphStatus.GRAPH_STRUCTURE, "at least 2")
    made = Builder()
    made.node("a", NEG, "x", "x")
    refused(made.output("a"), GraphStatus.GRAPH_STRUCTURE, "at most 1")
    made = Builder()
    made.node("a", NEG, "x")
    made.graph.nodes.append(Node("b", "Unary", NEG, (made.place["x"],), (made.place["a"],)))
    refused(made.output("a"), GraphStatus.GRAPH_STRUCTURE, "produced by op 'a' already")
    made = Builder()
    made.node("a", NEG, "x").inputs = (77,)
    refused(made.output("a"), GraphStatus.GRAPH_STRUCTURE, "tensor 77")


def test_a_shape_error_carries_op_attribute_and_all_shapes():
    made = Builder((2, 3))
    made.node("a", Concat(5), "x", "x")
    line = refused(made.output("a"), GraphStatus.GRAPH_SHAPE).line()
    assert "op 'a' (Concat): attribute axis: axis 5 is out of range" in line
    assert line.count("float32[2, 3]") == 3


def test_a_graph_that_needs_too_much_is_refused_before_it_runs():
    side = 1 << 15
    made = Builder((side, side))
    made.node("a", NEG, "x")
    assert side * side * 4 * 2 > LIVE_LIMIT
    tracemalloc.start()
    refused(made.output("a"), GraphStatus.GRAPH_SHAPE, str(side * side * 8))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_inputs_are_never_cast_or_reshaped():
    made = Builder((2, 3))
    made.node("a", NEG, "x")
    graph = made.output("a")
    for given, words in (
        ({"x": np.zeros((3, 2), F4)}, "float32[3, 2]"),
        ({"x": np.zeros((2, 3))}, "float64[2, 3]"),
        ({"y": np.zeros((2, 3), F4)}, "'y'"),
        ({}, "missing"),
    ):
        with pytest.raises(GraphError) as caught:
            executor.run(graph, given)
        assert caught.value.status is GraphStatus.GRAPH_INPUT
        assert caught.value.exit_code == 2
        assert words in caught.value.line()


def test_until_computes_what_precedes_and_passes_refusals_after_it():
    made = Builder()
    made.node("a", NEG, "x")
    made.node("b", ADD, "a", "x").refusal = GraphError(GraphStatus.GRAPH_UNSUPPORTED, "no meaning", op="b")
    made.node("c", NEG, "b")
    graph = made.output("c")
    refused(graph, GraphStatus.GRAPH_UNSUPPORTED, "no meaning")
    x = np.arange(4, dtype=F4)
    got = executor.run(graph, {"x": x}, until="b")
    assert got.keys() == {"a:0", "x"}
    assert np.array_equal(got["a:0"], -x)
    with pytest.raises(GraphError, match="no meaning"):
        executor.run(graph, {"x": x}, until="c")
    with pytest.raises(GraphError, match="no op is called 'z'"):
        executor.run(graph, {"x": x}, until="z")


def test_the_first_refused_op_of_the_list_is_named():
    made = Builder()
    made.node("b", NEG, "a").refusal = GraphError(GraphStatus.GRAPH_UNSUPPORTED, "first of the list")
    made.node("a", NEG, "x").refusal = GraphError(GraphStatus.GRAPH_UNSUPPORTED, "first to run")
    refused(made.output("b"), GraphStatus.GRAPH_UNSUPPORTED, "first of the list")


def test_half_precision_rounds_once_an_op():
    """A chain in float32 with one rounding at its end would give another value than one rounding an op."""
    made = Builder((1, 8, 6, 6), F2)
    weight = np.random.default_rng(0).standard_normal((8, 8, 3, 3)).astype(F2)
    place = made.graph.constant("w", weight)
    made.place["w"] = place
    made.node("conv", Conv(pads=(1, 1, 1, 1)), "x", "w")
    made.node("act", Activation(Function.TANH), "conv")
    graph = made.output("conv", "act")
    x = np.random.default_rng(1).standard_normal((1, 8, 6, 6)).astype(F2)
    got = executor.run(graph, {"x": x})
    wide = Conv(pads=(1, 1, 1, 1)).reference(x.astype(np.float64), weight.astype(np.float64))
    assert (np.abs(got["conv"] - wide) <= np.spacing(np.abs(wide).astype(F2))).all()
    want = np.tanh(got["conv"].astype(np.float64))
    assert (np.abs(got["act"] - want) <= np.spacing(np.abs(want).astype(F2))).all()


def test_quantised_nodes_are_computed_in_real_numbers():
    made = Builder((3,), np.dtype(np.int8))
    first = Quantisation(np.array([0.5]), np.array([10]), -128, 127)
    second = Quantisation(np.array([0.25]), np.array([-3]), -128, 127)
    made.node("sum", ADD, "x", "x").quantisations = (first, first, second)
    made.node("moved", Copy(), "x").quantisations = (first, second)
    made.node("same", Copy(), "x").quantisations = (first, first)
    x = np.array([10, 12, -20], np.int8)
    got = executor.run(made.output("sum", "moved", "same"), {"x": x})
    assert got["sum"].tolist() == [-3, 5, -123]
    assert got["moved"].tolist() == [-3, 1, -63]
    assert got["same"].tolist() == x.tolist()


def test_packed_tensors_are_unpacked_for_ops_and_stay_packed_outside():
    logical = (1, 20, 3, 3)
    shape = layouts.packed_shape(Layout.NC1HWC0, logical, F2)
    made = Builder(shape, F2)
    made.node("a", Activation(Function.SIGMOID), "x")
    for tensor in made.graph.tensors:
        tensor.layout, tensor.logical_shape = Layout.NC1HWC0, logical
    x = np.random.default_rng(0).standard_normal(logical).astype(F2)
    got = executor.run(made.output("a"), {"x": layouts.pack(x, Layout.NC1HWC0)})["a"]
    assert got.shape == shape
    # sigmoid(0) is 0.5: the lanes beyond channel 20 must be zero all the same
    assert not got[:, 1, :, :, 4:].any()
    want = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert np.allclose(layouts.unpack(got, Layout.NC1HWC0, logical), want, atol=1e-3)


def test_conversion_truncates_to_integers():
    made = Builder((4,))
    made.node("a", Convert(), "x")
    made.graph.tensors[made.place["a"]].dtype = np.dtype(np.int32)
    got = executor.run(made.output("a"), {"x": np.array([-1.7, 1.7, 2.0, -0.2], F4)})["a"]
    assert got.tolist() == [-1, 1, 2, 0]


@pytest.mark.parametrize("dtype", [F4, F2])
def test_peak_memory(dtype: np.dtype):
    """At most three times the largest live set, convolutions and elementwise ops alike."""
    made = Builder((1, 32, 320, 320), dtype)
    random = np.random.default_rng(0)
    weight = random.standard_normal((32, 32, 3, 3)).astype(dtype)
    made.place["w"] = made.graph.constant("w", weight)
    made.place["c"] = made.graph.constant("c", np.abs(random.standard_normal(32)).astype(dtype))
    steps = [
        (Conv(pads=(1, 1, 1, 1)), ["w"]),
        (Activation(Function.SIGMOID), []),
        (BatchNorm(1, 1e-3), ["c", "c", "c", "c"]),
        (Pool(PoolMode.MAX, (3, 3), pads=(1, 1, 1, 1)), []),
        (Pool(PoolMode.AVERAGE, (3, 3), pads=(1, 1, 1, 1)), []),
        (Softmax((1,)), []),
        (Scale(1), ["c", "c"]),
    ]
    previous = "x"
    for at, (op, extra) in enumerate(steps):
        made.node(f"n{at}", op, previous, *extra)
        previous = f"n{at}"
    made.node("sum", ADD, previous, previous)
    previous = "sum"
    graph = made.output(previous)
    plan = make_plan(graph)
    x = np.zeros(made.shape, dtype)
    executor.run_plan(plan, {"x": x})
    tracemalloc.start()
    executor.run_plan(plan, {"x": x})
    peak = tracemalloc.get_traced_memory()[1] + x.nbytes
    tracemalloc.stop()
    assert peak <= 3 * (plan.peak + weight.nbytes), (peak / plan.peak, plan.peak)
