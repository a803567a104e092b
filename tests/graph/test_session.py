"""`emu.open_graph`: feeds, outputs, hooks, ops from outside, limits."""

from __future__ import annotations

import numpy as np
import pytest

import emu
from emu.errors import GraphError, GraphStatus
from emu.graph.ir import Graph, Node, Port, Tensor
from emu.graph.ops.activation import Activation, Function
from emu.graph.ops.elementwise import Binary, BinaryFunction
from emu.graph.plan import make_plan
from emu.graph.session import Session
from tests.graph import nets
from tests.onnx_session import onnx_session

F4, F2 = np.dtype(np.float32), np.dtype(np.float16)


@pytest.fixture(scope="module")
def net() -> tuple[nets.Net, str, bytes]:
    net, result = nets.residual(size=32, width=8, blocks=(1, 1))
    return net, result, net.om(result)


def image(net: nets.Net) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(net.shape, np.float32)


def test_inputs_outputs_and_run(net) -> None:
    net, result, model = net
    session = emu.open_graph(model)
    assert [(each.name, each.shape, each.dtype) for each in session.inputs] == [("data", net.shape, F4)]
    assert [(each.name, each.shape, each.dtype) for each in session.outputs] == [(f"{result}:0", (1, 1000), F4)]
    x = image(net)
    (want,) = onnx_session(net.onnx(result)).run(None, {"data": x})
    for _ in range(2):
        np.testing.assert_allclose(session.run({"data": x})[f"{result}:0"], want, rtol=1e-4, atol=1e-5)


def test_outputs_inside_compute_only_what_they_need(net) -> None:
    net, _, model = net
    seen: list[str] = []
    session = emu.open_graph(model)
    found = session.run({"data": image(net)}, ["stem:0", "pool:0"], after=lambda node, _: seen.append(node.name))
    assert list(found) == ["stem:0", "pool:0"]
    assert "pool" in seen and "fc" not in seen
    with pytest.raises(GraphError, match="no output or tensor is called 'nothing'") as caught:
        session.run({"data": image(net)}, ["nothing"])
    assert caught.value.status is GraphStatus.GRAPH_INPUT


def test_feeds_are_neither_cast_nor_reshaped(net) -> None:
    net, _, model = net
    session = emu.open_graph(model)
    for wrong in ({"data": image(net).astype(np.float64)}, {"data": image(net)[0]}, {"other": image(net)}, {}):
        with pytest.raises(GraphError) as caught:
            session.run(wrong)
        assert caught.value.status is GraphStatus.GRAPH_INPUT


def test_hooks_see_every_node_with_its_arrays(net) -> None:
    """Joined nodes come apart, and what the hooks see is what the results are made of."""
    net, result, model = net
    session = emu.open_graph(model)
    before: dict[str, list] = {}
    after: dict[str, list] = {}
    plain = session.run({"data": image(net)})
    hooked = session.run(
        {"data": image(net)},
        before=lambda node, operands: before.setdefault(node.name, operands),
        after=lambda node, results: after.setdefault(node.name, results),
    )
    assert np.array_equal(plain[f"{result}:0"], hooked[f"{result}:0"])
    computing = [node.name for node in session.graph.nodes if node.op is not None]
    assert list(before) == list(after) == computing
    by_tensor = {at: node.name for node in session.graph.nodes for at in node.outputs}
    for node in session.graph.nodes:
        for place, at in enumerate(node.inputs):
            if at in by_tensor and node.name in before:
                assert np.array_equal(before[node.name][place], after[by_tensor[at]][0])
    assert np.array_equal(after[result][0], plain[f"{result}:0"])


def two_activations(dtype: np.dtype) -> Graph:
    graph = Graph("om", "domi", "two")
    x, y, z = (graph.add(Tensor(name, (4,), dtype)) for name in "xyz")
    graph.nodes = [
        Node("first", "Sum", Binary(BinaryFunction.ADD), (x, x), (y,)),
        Node("second", "Mystery", None, (y,), (z,), refusal=GraphError(GraphStatus.GRAPH_UNSUPPORTED, "unknown")),
    ]
    graph.inputs, graph.outputs = [Port("x", x)], [Port("z", z)]
    return graph


@pytest.mark.parametrize("key", ["Mystery", "second"])
@pytest.mark.parametrize("dtype", [F4, F2])
def test_ops_from_outside_stand_for_refused_ones(key: str, dtype: np.dtype) -> None:
    graph = two_activations(dtype)
    with pytest.raises(GraphError, match="unknown"):
        Session(graph).run({"x": np.zeros(4, dtype)})
    seen: list[np.ndarray] = []

    def cube(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return x.astype(np.float32) ** 3

    x = np.array([0.1, -1, 2, 3], dtype)
    found = Session(graph, {key: cube}).run({"x": x})["z"]
    assert [each.dtype for each in seen] == [dtype]
    assert np.array_equal(seen[0], x + x)
    want = (x + x).astype(np.float32) ** 3
    assert found.dtype == dtype and np.array_equal(found, want.astype(dtype))


def test_an_op_from_outside_by_name_goes_before_its_type() -> None:
    graph = two_activations(F4)
    ops = {"Mystery": lambda x: x - 1, "second": lambda x: [x + 1]}
    with pytest.raises(GraphError, match="no op has the name or type 'Mystery'"):
        Session(graph, ops)
    found = Session(graph, {"second": ops["second"]}).run({"x": np.zeros(4, F4)})
    assert np.array_equal(found["z"], np.ones(4))


def test_what_an_op_from_outside_gives_is_checked_and_stays_its_own() -> None:
    graph = two_activations(F2)
    kept = np.full(4, 0.1, np.float32)
    session = Session(graph, {"Mystery": lambda x: kept})
    assert np.array_equal(session.run({"x": np.zeros(4, F2)})["z"], kept.astype(F2))
    assert np.array_equal(kept, np.full(4, 0.1, np.float32))
    with pytest.raises(GraphError, match=r"computed \[3\], the file says \[4\]"):
        Session(graph, {"Mystery": lambda x: x[:3]}).run({"x": np.zeros(4, F2)})


def huge(count: int, size: int) -> Graph:
    """A chain of ops on tensors of `size` float32: two are alive at once, all of them together are `count` times it."""
    graph = Graph("om", "domi", "huge")
    places = [graph.add(Tensor(f"t{at}", (size,), F4)) for at in range(count + 1)]
    for at in range(count):
        op = Activation(Function.RELU)
        graph.nodes.append(Node(f"n{at}", "Activation", op, (places[at],), (places[at + 1],)))
    graph.inputs, graph.outputs = [Port("x", places[0])], [Port("y", places[-1])]
    return graph


def test_a_graph_is_refused_by_the_sum_of_its_tensors() -> None:
    with pytest.raises(GraphError, match="take 107374182400 bytes together, the limit is 17179869184") as caught:
        make_plan(huge(99, 1 << 28))
    assert caught.value.status is GraphStatus.GRAPH_SHAPE
    with pytest.raises(GraphError, match="needs 8589934592 bytes at once, the limit is 4294967296"):
        make_plan(huge(3, 1 << 30))
    small = huge(9, 100)
    assert make_plan(small, limit=4000)
    with pytest.raises(GraphError, match="take 4000 bytes together, the limit is 3999"):
        make_plan(small, limit=3999)
    # a limit of one's own also stands for the one on what is alive at once
    assert make_plan(huge(3, 1 << 30), limit=1 << 40)


@pytest.mark.parametrize("rank", [65, 200])
def test_more_dimensions_than_numpy_has_are_refused(rank: int) -> None:
    graph = huge(1, 1)
    for tensor in graph.tensors:
        tensor.shape = (1,) * rank
    with pytest.raises(GraphError, match=f"has {rank} dimensions, at most 64") as caught:
        make_plan(graph)
    assert caught.value.status is GraphStatus.GRAPH_SHAPE
