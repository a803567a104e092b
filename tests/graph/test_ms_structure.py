"""What must hold of nodes, tensors and subgraphs before anything runs (graph-conventions.md MS-F3, MS-T)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph import executor, layouts
from emu.graph.ir import Layout
from emu.graph.readers import ms
from emu.graph.writers.ms import SubGraphBuilder, write
from emu.schemas.generated import ms_v0_1 as a
from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import file_b, run_file

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def chain() -> SubGraphBuilder:
    """input → Abs `first` → Neg `second` → output."""
    builder = SubGraphBuilder()
    x, y, z = builder.input((2, 3)), builder.tensor((2, 3)), builder.tensor((2, 3))
    builder.node(b.Abs(), [x], [y], name="first")
    builder.node(b.Neg(), [y], [z], name="second")
    builder.outputs.append(z)
    return builder


def test_a_chain_runs_in_any_order_of_its_nodes() -> None:
    builder = chain()
    builder.nodes.reverse()
    np.testing.assert_array_equal(run_file(write(builder.graph()), [X])[0], -X)


def test_until_gives_the_operands_of_an_operator() -> None:
    graph = ms.read(write(chain().graph()))
    found = executor.run(graph, {"input_0": X - 3}, until="second")
    assert list(found) == ["first:0"]
    np.testing.assert_array_equal(found["first:0"], abs(X - 3))


def test_subgraphs_are_independent_and_prefixed() -> None:
    first, second = chain(), chain()
    second.nodes[1] = replace(second.nodes[1], attr=b.Square())
    graph_def = b.GraphDef(name="two", subgraphs=(first.build(), second.build()))
    graph = ms.read(write(graph_def))
    found = executor.run(graph, {"sg0.input_0": X, "sg1.input_0": X + 1})
    np.testing.assert_array_equal(found["sg0.output_0"], -X)
    np.testing.assert_array_equal(found["sg1.output_0"], (X + 1) ** 2)
    assert [node.name for node in graph.nodes] == ["sg0.first", "sg0.second", "sg1.first", "sg1.second"]


def test_the_first_subgraph_with_nodes_tells_the_generation() -> None:
    a_nodes = (a.NodeDef(a.FmkType.TF, a.OpDef(name="op", attr=a.Exp(), inputIndex=(0,), outputIndex=(1,))),)
    tensors = tuple(a.TensorDef(a.DataType.DT_FLOAT, (2,)) for _ in range(2))
    full = a.SubGraphDef(inputIndex=(0,), outputIndex=(1,), nodes=a_nodes, allTensors=tensors)
    assert ms.read(write(a.GraphDef(subgraphs=(a.SubGraphDef(), full)))).kind == "A"
    empty = b.SubGraphDef()
    assert ms.read(write(b.GraphDef(subgraphs=(empty, chain().build())))).kind == "B"
    assert ms.read(write(b.GraphDef(subgraphs=(empty, empty)))).kind == "B"


def test_unnamed_nodes_may_repeat_and_are_called_by_their_place() -> None:
    builder = chain()
    builder.nodes = [replace(node, name="") for node in builder.nodes]
    assert [node.name for node in ms.read(write(builder.graph())).nodes] == ["nodes[0]", "nodes[1]"]


@pytest.mark.parametrize("value", list(b.FmkType))
def test_the_framework_changes_nothing(value: b.FmkType) -> None:
    builder = chain()
    builder.nodes = [replace(node, fmkType=value) for node in builder.nodes]
    np.testing.assert_array_equal(run_file(write(builder.graph()), [X])[0], -X)


@pytest.mark.parametrize("count", [0, 1, 999])
def test_the_reference_count_changes_nothing(count: int) -> None:
    builder = chain()
    builder.tensors = [replace(tensor, refCount=count, offset=-1) for tensor in builder.tensors]
    np.testing.assert_array_equal(run_file(write(builder.graph()), [X])[0], -X)


def test_a_graph_output_may_be_an_input_or_a_constant_and_come_twice() -> None:
    builder = SubGraphBuilder()
    x, held = builder.input((2, 3)), builder.constant(X + 1)
    builder.outputs += [x, held, x]
    found = run_file(write(builder.graph()), [X])
    for got, want in zip(found, (X, X + 1, X), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("channels", [1, 3, 4, 5, 8])
def test_packed_constants_are_logical_in_the_graph(channels: int) -> None:
    value = np.random.default_rng(channels).standard_normal((2, channels, 3, 2)).astype(np.float32)
    builder = SubGraphBuilder()
    held = builder.constant(value, b.Format.NC4HW4)
    data = builder.tensors[held].data
    assert data is not None
    lanes = np.frombuffer(data, np.float32).reshape(2, -(-channels // 4), 3, 2, 4)
    for n, c, h, w in np.ndindex(*value.shape):
        assert lanes[n, c // 4, h, w, c % 4] == value[n, c, h, w]
    builder.outputs.append(held)
    np.testing.assert_array_equal(run_file(write(builder.graph()), [])[0], value)
    assert layouts.packed_shape(Layout.NC4HW4, value.shape, value.dtype) == lanes.shape


Change = Callable[[SubGraphBuilder], Any]


def set_node(at: int, **changes: Any) -> Change:
    def change(builder: SubGraphBuilder) -> None:
        builder.nodes[at] = replace(builder.nodes[at], **changes)

    return change


def set_tensor(at: int, **changes: Any) -> Change:
    def change(builder: SubGraphBuilder) -> None:
        builder.tensors[at] = replace(builder.tensors[at], **changes)

    return change


STRUCTURE, SHAPE, UNSUPPORTED = GraphStatus.GRAPH_STRUCTURE, GraphStatus.GRAPH_SHAPE, GraphStatus.GRAPH_UNSUPPORTED
BROKEN: dict[str, tuple[Change, GraphStatus, str]] = {
    "node input": (set_node(0, inputIndex=(3,)), STRUCTURE, r"nodes\[0\].inputIndex: tensor 3 of 3"),
    "node output": (set_node(1, outputIndex=(2**32 - 1,)), STRUCTURE, "4294967295 of 3"),
    "graph input": (lambda g: g.inputs.append(7), STRUCTURE, "inputIndex: tensor 7 of 3"),
    "graph output": (lambda g: g.outputs.append(7), STRUCTURE, "outputIndex: tensor 7 of 3"),
    "graph input twice": (lambda g: g.inputs.append(0), STRUCTURE, "twice"),
    "graph input with data": (set_tensor(0, data=memoryview(X.tobytes())), STRUCTURE, "is a constant"),
    "cycle": (set_node(0, inputIndex=(2,)), STRUCTURE, "cycle"),
    "self-loop": (set_node(0, inputIndex=(1,)), STRUCTURE, "cycle"),
    "no producer": (lambda g: g.inputs.clear(), STRUCTURE, "neither a graph input"),
    "output without producer": (lambda g: (g.tensor((2, 3)), g.outputs.append(3)), STRUCTURE, "produced by no op"),
    "two producers": (set_node(1, outputIndex=(1,), inputIndex=(0,)), STRUCTURE, "produced by op 'first' already"),
    "writes a graph input": (set_node(1, outputIndex=(0,)), STRUCTURE, "writes graph input"),
    "writes a constant": (set_tensor(2, data=memoryview(X.tobytes())), STRUCTURE, "writes the constant"),
    "names": (set_node(1, name="first"), STRUCTURE, "two nodes are called 'first'"),
    "no operator": (set_node(1, attr=None), UNSUPPORTED, "without operator"),
    "undefined type": (set_tensor(1, dataType=b.DataType.DT_UNDEFINED), UNSUPPORTED, "DT_UNDEFINED"),
    "no format": (set_tensor(1, format=b.Format.NUM_OF_FORMAT), UNSUPPORTED, "NUM_OF_FORMAT"),
    "negative": (set_tensor(0, dims=(2, -3)), SHAPE, "negative"),
    "overflow": (set_tensor(0, dims=(2**31 - 1,) * 8), SHAPE, "overflow"),
    "overflow beside 0": (set_tensor(0, dims=(0, 2**31 - 1, 2**31 - 1, 5)), SHAPE, "overflow"),
    "above the runtime's limit": (set_tensor(0, dims=(100 * 2**18 + 1,)), SHAPE, "104857604 bytes"),
    "dims without end": (set_tensor(0, dims=(1,) * 33), SHAPE, "33 dims"),
    "packed rank": (set_tensor(0, format=b.Format.NC4HW4), SHAPE, "four dims"),
    "other dims": (set_tensor(2, dims=(3, 2)), SHAPE, "the file says"),
    "short data": (lambda g: short(g, -1), SHAPE, "23"),
    "long data": (lambda g: short(g, 1), SHAPE, "25"),
    "no data": (lambda g: (short(g, -24), set_node(1, inputIndex=(3,))(g)), STRUCTURE, "neither a graph input"),
}


def short(builder: SubGraphBuilder, by: int) -> None:
    held = builder.constant(X)
    data = (X.tobytes() + b"\0")[: 24 + by]
    builder.tensors[held] = replace(builder.tensors[held], data=memoryview(data))


@pytest.mark.parametrize("name", BROKEN)
def test_broken_graphs_are_refused(name: str) -> None:
    change, status, words = BROKEN[name]
    builder = chain()
    change(builder)
    with pytest.raises(GraphError, match=words) as caught:
        graph = ms.read(write(builder.graph()))
        executor.run(graph, {"input_0": X})
    assert caught.value.status is status


def test_an_activation_may_have_an_empty_data_vector() -> None:
    builder = chain()
    builder.tensors = [replace(tensor, data=memoryview(b"")) for tensor in builder.tensors]
    np.testing.assert_array_equal(run_file(write(builder.graph()), [X])[0], -X)


def test_a_scalar_has_one_element() -> None:
    builder = SubGraphBuilder()
    builder.outputs.append(builder.constant(np.array(7, np.int32)))
    assert run_file(write(builder.graph()), [])[0] == 7


def test_tensors_without_elements_run() -> None:
    builder = SubGraphBuilder()
    x, held, y = builder.input((0, 3)), builder.constant(np.zeros((0, 3), np.float32)), builder.tensor((0, 3))
    builder.node(b.Add(), [x, held], [y])
    builder.outputs.append(y)
    assert run_file(write(builder.graph()), [np.zeros((0, 3), np.float32)])[0].shape == (0, 3)


def test_a_name_cannot_break_the_line_of_an_error() -> None:
    builder = chain()
    builder.nodes[1] = replace(builder.nodes[1], name="a\nb\x1b[2J", attr=None)
    with pytest.raises(GraphError) as caught:
        run_file(write(builder.graph()), [X])
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_an_error_of_many_operands_stays_a_line() -> None:
    builder = SubGraphBuilder()
    x = builder.input((2, 3))
    builder.node(b.Abs(), [x] * 10000, [builder.tensor((2, 3))])
    builder.outputs.append(1)
    with pytest.raises(GraphError, match="9984 more") as caught:
        run_file(write(builder.graph()), [X])
    assert len(str(caught.value)) < 1000


def test_more_nodes_than_the_runtime_takes_are_refused() -> None:
    node = b.OpDef(attr=b.Abs(), inputIndex=(0,), outputIndex=(1,))
    subgraph = b.SubGraphDef(nodes=(node,) * 10001)
    with pytest.raises(GraphError, match="10001 nodes"):
        ms.build(b.GraphDef(subgraphs=(subgraph,)))


def test_attributes_that_contradict_the_tensors_are_noted() -> None:
    """The tensors decide (MS-O10), and the file is told about."""
    x = np.float32([1.5, -2.5])
    for source, target, words in (
        (b.DataType.DT_INT8, b.DataType.DT_INT32, "srcT is int8, the tensor is float32"),
        (b.DataType.DT_FLOAT, b.DataType.DT_INT8, "dstT is int8, the tensor is int32"),
        (b.DataType.DT_FLOAT, b.DataType.DT_INT32, None),
        (b.DataType.DT_FLOAT, b.DataType.DT_FLOAT, None),  # 0 says nothing
    ):
        graph = ms.read(file_b(b.Cast(srcT=int(source), dstT=int(target)), [x], [((2,), np.int32)]))
        assert [words in note for note in graph.notes] == ([True] if words else [])
