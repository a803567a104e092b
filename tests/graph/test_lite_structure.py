"""How MindSpore Lite files are recognised, read and refused; the given ones against plain numpy."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph import executor
from emu.graph.dynamic import specialise
from emu.graph.load import read_graph
from emu.graph.plan import make_plan
from emu.graph.readers.lite import describe, reader, upgrade
from emu.graph.readers.lite.file import is_lite, read_meta_graph, schema_of
from emu.graph.readers.lite.site import LOWERINGS
from emu.graph.writers.ms import SubGraphBuilder
from emu.graph.writers.ms import write as write_predict
from emu.graph.writers.ms_lite import ModelBuilder, write
from emu.recognise import Kind, recognise
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from emu.schemas.generated import ms_v0_5
from tests.conftest import SHARED, needs_shared
from tests.graph.lite_cases import Array, file_of, ints, normal, run_file
from tests.graph.test_ms_writer import table

X = normal(np.random.default_rng(0), 2, 3)
SCHEMAS = pytest.mark.parametrize("schema", [old, lite])


def relu(schema: Any, **more: Any) -> ModelBuilder:
    model = ModelBuilder(schema)
    x, y = model.input(X.shape, name="picture"), model.tensor(X.shape, **more)
    kind = {old: "type", lite: "activation_type"}[schema]
    model.node(schema.Activation(**{kind: schema.ActivationType.RELU}), [x], [y], name="relu")
    model.outputs.append(y)
    return model


@SCHEMAS
@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_read(schema: Any, seed: int) -> None:
    """Every table with random values in every field."""
    written = table(random.Random(seed), schema.MetaGraph)
    assert read_meta_graph(write(written)) == written


def test_union_members() -> None:
    """Numbers as the given files have them (Conv2D, Pooling, SoftmaxCrossEntropy …), and the last."""
    older, newer = old.PRIMITIVETYPE.members, lite.PRIMITIVETYPE.members
    assert (len(older), len(newer)) == (204, 221)
    assert [older[number - 1].__name__ for number in (4, 8, 46, 134, 136, 142)] == [
        "Conv2D", "Pooling", "Nhwc2Nchw", "ApplyMomentum", "SoftmaxCrossEntropy", "ActivationGrad",
    ]  # fmt: skip
    assert [newer[number - 1].__name__ for number in (2, 35, 89, 92, 118, 119, 162)] == [
        "Activation", "Conv2DFusion", "MatMulFusion", "MaxPoolFusion", "ReduceFusion", "Reshape", "Transpose",
    ]  # fmt: skip


def test_every_lowering_is_a_member() -> None:
    names = {member.__name__ for member in lite.PRIMITIVETYPE.members}
    assert LOWERINGS.keys() <= names
    assert len(LOWERINGS) > 100


@pytest.mark.parametrize("member", old.PRIMITIVETYPE.members)
def test_every_older_operator_becomes_a_newer_one_or_is_refused(member: Any) -> None:
    found = upgrade.upgraded(member(), 1)
    if found is not None:
        assert isinstance(found[0], lite.PRIMITIVETYPE.members)


@pytest.mark.parametrize(
    ("schema", "identifier", "shown"),
    [
        (old, None, "0.7 to 1.1"),
        (old, "MSL0", "0.7 to 1.1"),
        (old, "MSL1", "0.7 to 1.1"),
        (lite, "MSL2", "1.2 to 2.x"),
    ],
)
def test_recognition(schema: Any, identifier: str | None, shown: str) -> None:
    data = write(relu(schema).build(), identifier)
    assert (recognise(data), is_lite(data), schema_of(read_meta_graph(data))) == (Kind.MS, True, shown)
    np.testing.assert_array_equal(run_file(data, [X])[0], np.maximum(X, 0))


def test_predict_is_no_lite() -> None:
    builder = SubGraphBuilder()
    x, y = builder.input(X.shape), builder.tensor(X.shape)
    builder.node(ms_v0_5.Abs(), [x], [y])
    builder.outputs.append(y)
    data = write_predict(builder.graph())
    assert not is_lite(data)
    assert read_graph(data).kind == "B"
    for broken in (b"", b"MS", bytes(16), data[:40]):
        assert not is_lite(broken)


@SCHEMAS
def test_names(schema: Any) -> None:
    """Ports go by place; tensors by the file's names, or their producer's."""
    graph = read_graph(relu(schema).write())
    assert [port.name for port in (*graph.inputs, *graph.outputs)] == ["input_0", "output_0"]
    assert [tensor.name for tensor in graph.tensors] == ["picture", "relu:0"]
    assert (graph.format, graph.kind, graph.name, graph.notes) == ("ms", "lite", "main_graph", [])


def test_names_that_repeat_are_told_apart() -> None:
    model = relu(lite)
    y = model.tensor(())
    model.node(lite.Abs(), [1], [y], name="relu")
    assert [node.name for node in read_graph(model.write()).nodes] == ["relu", "relu#1"]


def test_nodes_may_come_in_any_order() -> None:
    """Dims follow the data, not the list."""
    model = ModelBuilder()
    x, y, z = model.input(X.shape), model.tensor(()), model.tensor(())
    model.node(lite.Neg(), [y], [z])
    model.node(lite.Transpose(), [x, model.constant(ints(1, 0))], [y])
    model.outputs.append(z)
    np.testing.assert_array_equal(run_file(model.write(), [X])[0], -X.T)


def test_dims_of_results_are_only_what_the_converter_knew() -> None:
    for dims, notes in (((), 0), ((-1, 3), 0), (X.shape, 0), ((3, 2), 1)):
        model = relu(lite)
        model.tensors[1] = replace(model.tensors[1], dims=dims)
        graph = read_graph(model.write())
        assert (graph.tensors[1].shape, len(graph.notes)) == (X.shape, notes)
    assert "'relu:0' [3, 2], computed [2, 3]" in graph.notes[0]


def test_types_of_results_follow_the_first_operand_where_the_file_has_none() -> None:
    for number in (0, 12):
        model = relu(lite)
        model.tensors[1] = replace(model.tensors[1], dataType=number)
        assert read_graph(model.write()).tensors[1].dtype == np.float32
    model.node(lite.TensorListStack(), [1], [model.tensor((), dataType=17)])
    model.node(lite.Abs(), [2], [model.tensor(())])
    model.outputs = [3]
    refused = [node.refusal for node in read_graph(model.write()).nodes]
    assert [error and error.message.split(": ")[1].split(";")[0] for error in refused] == [
        None, "is not executed", "the type of 'TensorListStack_1:0' is not read",
    ]  # fmt: skip


def open_net() -> bytes:
    """A dense layer and a sum with x itself, reshaped by x's own shape, for any batch and any width."""
    model = ModelBuilder()
    x, y, shape, z = model.input((-1, -1)), *(model.tensor(()) for _ in range(3))
    model.tensors[shape] = replace(model.tensors[shape], dataType=34)
    flat, back = model.tensor((-1,)), model.tensor((-1, -1))
    model.node(lite.Shape(), [x], [shape])
    model.node(lite.Reshape(), [x, model.constant(ints(-1))], [flat])
    model.node(lite.Reshape(), [flat, shape], [back])
    model.node(lite.AddFusion(), [back, x], [y])
    model.node(lite.ReduceFusion(True, lite.ReduceMode.ReduceSum), [y, model.constant(ints(1))], [z])
    model.outputs += [y, z]
    return model.write()


@pytest.mark.parametrize("dims", [(2, 3), (5, 1), (1, 7)])
def test_dims_that_the_file_leaves_open_come_with_the_input(dims: tuple[int, int]) -> None:
    x = normal(np.random.default_rng(1), *dims)
    y, z = run_file(open_net(), [x])
    np.testing.assert_array_equal(y, x + x)
    np.testing.assert_allclose(z, 2 * x.sum(1, keepdims=True), rtol=1e-5)


def test_open_dims_are_shown_checked_and_else_taken_as_one() -> None:
    graph = read_graph(open_net())
    assert graph.tensors[0].shape == (-1, -1)
    found = specialise(graph, {})
    assert (found.tensors[0].shape, found.for_shapes) == ((1, 1), None)
    assert "no array gives its dims: [1, 1] is taken" in found.notes[-1]
    with pytest.raises(GraphError, match=r"input 'input_0' is \[3\]") as caught:
        specialise(graph, {"input_0": (3,)})
    assert caught.value.status is GraphStatus.GRAPH_INPUT


def test_the_first_subgraph_is_executed() -> None:
    model = relu(lite)
    other = model.tensor(())
    model.node(lite.Abs(), [0], [other], name="of another subgraph")
    meta = model.build()
    first = replace(meta.subGraph[0], nodeIndices=(0,))
    meta = replace(meta, subGraph=(first, replace(first, nodeIndices=(1,))))
    graph = read_graph(write(meta))
    assert [node.name for node in graph.nodes] == ["relu"]
    assert "2 subgraphs" in graph.notes[0]
    np.testing.assert_array_equal(run_file(write(meta), [X])[0], np.maximum(X, 0))


def test_ports_of_the_subgraph_where_the_model_has_none() -> None:
    meta = replace(relu(lite).build(), inputIndex=(), outputIndex=())
    np.testing.assert_array_equal(run_file(write(meta), [X])[0], np.maximum(X, 0))


REFUSED = [
    (lite.Adam(), "an operator of training"),
    (lite.ActivationGrad(), "an operator of training"),
    (lite.SoftmaxCrossEntropyWithLogits(), "an operator of training"),
    (old.PoolingGrad(), "an operator of training"),
    (old.ApplyMomentum(), "an operator of training"),
    (lite.GRU(), "is not executed"),
    (lite.Call(), "is not executed"),
    (lite.PartialFusion(), "is not executed"),
    (old.InstanceNorm(), "is not executed"),
    (old.Proposal(), "is not executed"),
    (old.Tan(), "is not executed"),
    (lite.Custom(type="ShapeFusion\x1b"), r"'ShapeFusion\\x1b' is not executed"),
]


@pytest.mark.parametrize(("attr", "words"), REFUSED, ids=[type(attr).__name__ for attr, _ in REFUSED])
def test_operators_that_are_refused_by_name(attr: Any, words: str) -> None:
    """Before anything runs, with the operator's name; what precedes it can be computed."""
    data = file_of(attr, [X], [np.float32])
    with pytest.raises(GraphError, match=rf"\({type(attr).__name__}\): {words}") as caught:
        run_file(data, [X])
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED
    graph = read_graph(data)
    (before,) = executor.run_plan(make_plan(graph, graph.nodes[0].name), {"input_0": X}).values()
    np.testing.assert_array_equal(before, X)


def test_an_operator_that_the_schema_has_not() -> None:
    data = bytearray(file_of(lite.FillV2(), [X], [np.float32]))
    places = [at for at, byte in enumerate(data) if byte == 221]
    with pytest.raises(GraphError, match="PrimitiveType 250 is not one of its 221 members") as caught:
        for at in places:
            changed = data.copy()
            changed[at] = 250
            run_file(bytes(changed), [X])
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED


def broken(**fields: Any) -> bytes:
    return write(replace(relu(lite).build(), **fields))


def of_tensor(place: int, **fields: Any) -> bytes:
    meta = relu(lite).build()
    tensors = list(meta.allTensors)
    tensors[place] = replace(tensors[place], **fields)
    return write(replace(meta, allTensors=tuple(tensors)))


def of_node(**fields: Any) -> bytes:
    meta = relu(lite).build()
    return write(replace(meta, nodes=(replace(meta.nodes[0], **fields),)))


DATA = memoryview(X.tobytes())
STRUCTURE, SHAPE = GraphStatus.GRAPH_STRUCTURE, GraphStatus.GRAPH_SHAPE
UNSUPPORTED = GraphStatus.GRAPH_UNSUPPORTED
FAULTS = {
    "input beyond": (broken(inputIndex=(7,)), STRUCTURE, "inputIndex: tensor 7 of 2"),
    "input twice": (broken(inputIndex=(0, 0)), STRUCTURE, "names a tensor twice"),
    "output beyond": (broken(outputIndex=(2,)), STRUCTURE, "outputIndex: tensor 2 of 2"),
    "node input beyond": (of_node(inputIndex=(9,)), STRUCTURE, r"nodes\[0\].inputIndex: tensor 9 of 2"),
    "node output beyond": (of_node(outputIndex=(9,)), STRUCTURE, r"nodes\[0\].outputIndex: tensor 9 of 2"),
    "node beyond": (broken(subGraph=(lite.SubGraph(nodeIndices=(4,)),)), STRUCTURE, "node 4 of 1"),
    "node twice": (broken(subGraph=(lite.SubGraph(nodeIndices=(0, 0)),)), STRUCTURE, "names a node twice"),
    "no operand": (of_node(inputIndex=()), STRUCTURE, "needs at least 1 inputs"),
    "no primitive": (of_node(primitive=None), UNSUPPORTED, "without operator"),
    "empty primitive": (of_node(primitive=lite.Primitive()), UNSUPPORTED, "without operator"),
    "own input": (of_node(inputIndex=(1,)), STRUCTURE, "cycle"),
    "input with data": (of_tensor(0, data=DATA), STRUCTURE, "graph input 0 is a constant"),
    "constant written": (of_tensor(1, data=DATA), STRUCTURE, "writes the constant 'relu:0'"),
    "input written": (of_node(outputIndex=(0,)), STRUCTURE, "writes the graph input 'picture'"),
    "negative": (of_tensor(1, dims=(-2, -3), data=DATA), SHAPE, "negative"),
    "short": (of_tensor(1, dims=(2, 4), data=DATA), SHAPE, "takes 32 bytes, its data has 24"),
    "overflow": (of_tensor(0, dims=(1 << 30,) * 4), SHAPE, "overflow"),
    "rank": (of_tensor(0, dims=(1,) * 33), SHAPE, "33 dims"),
    "type": (of_tensor(0, dataType=99), UNSUPPORTED, r"\('picture'\) has data type 99"),
    "type of data": (of_tensor(1, dataType=12, data=DATA), UNSUPPORTED, r"\('relu:0'\): data type 12"),
    "obfuscated": (broken(obfuscate=True), UNSUPPORTED, "obfuscated"),
    "too large": (of_tensor(0, dims=(1 << 30, 3)), SHAPE, "bytes together"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named(name: str) -> None:
    data, status, words = FAULTS[name]
    with pytest.raises(GraphError, match=words) as caught:
        make_plan(read_graph(data))
    assert caught.value.status is status


def test_inspection_shows_everything_and_no_control_character() -> None:
    model = relu(lite)
    model.node(lite.Custom(type="odd\x1b[2J"), [1], [model.tensor((), name="odd\n\x07")], name="odd\r\x1b")
    model.outputs.append(2)
    meta = read_meta_graph(model.write())
    document, lines = describe.document(meta), describe.lines(meta)
    assert (document["kind"], document["schema"], len(document["nodes"])) == ("lite", "1.2 to 2.x", 2)
    assert document["nodes"][0]["primitive"]["value"]["activation_type"] == "RELU"
    assert len(document["refusals"]) == 1
    assert all(line.isprintable() for line in lines)
    assert sum(line.startswith(("node", "tensor")) for line in lines) == 5


def maps(x: Array, weight: Array, bias: Array | None, same: bool = False) -> Array:
    """A convolution of NHWC by KHWC in float64, tap by tap."""
    rows, columns = weight.shape[1:3]
    if same:
        top, left = (rows - 1) // 2, (columns - 1) // 2
        x = np.pad(x, ((0, 0), (top, rows - 1 - top), (left, columns - 1 - left), (0, 0)))
    height, width = x.shape[1] - rows + 1, x.shape[2] - columns + 1
    y = np.zeros((len(x), height, width, len(weight)))
    for row in range(rows):
        for column in range(columns):
            y += x[:, row : row + height, column : column + width] @ weight[:, row, column].T.astype(np.float64)
    return y if bias is None else y + bias


def halved(x: Array) -> Array:
    n, h, w, c = x.shape
    return np.maximum(x, 0).reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def given(stem: str) -> Path:
    return next((SHARED / "ms").glob(f"{stem}*.ms"))


def weights_of(graph: Any) -> dict[str, Array]:
    return {tensor.name: tensor.value for tensor in graph.tensors if tensor.value is not None}


@needs_shared
def test_the_given_classifier() -> None:
    graph = read_graph(given("lite_lenet_tod").read_bytes())
    held = weights_of(graph)
    x = normal(np.random.default_rng(1), 2, 32, 32, 1)
    y = halved(maps(halved(maps(x, held["conv1.weight"], None)), held["conv2.weight"], None))
    y = y.transpose(0, 3, 1, 2).reshape(2, 400)
    for layer in (1, 2, 3):
        y = y @ held[f"fc{layer}.weight"].T.astype(np.float64) + held[f"fc{layer}.bias"]
        y = np.maximum(y, 0) if layer < 3 else y
    found = executor.run(graph, {"input_0": x})["output_0"]
    np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-6 * float(np.abs(y).max()))


@needs_shared
def test_the_given_model_with_three_outputs() -> None:
    graph = read_graph(given("lite_mindrt").read_bytes())
    held = weights_of(graph)

    def layer(x: Array, name: str) -> Array:
        return maps(x, held[f"{name}/kernel/read"], held[f"{name}/Conv2D_bias"], same=True)

    x = normal(np.random.default_rng(2), 1, 64, 4, 4)
    y = layer(layer(layer(x, "op1"), "op2"), "op3").mean(axis=3, keepdims=True)
    y = layer(y, "mid_op_1") + layer(y, "mid_op_2")
    found = executor.run(graph, {"input_0": x})
    for place in range(3):
        np.testing.assert_allclose(found[f"output_{place}"], layer(y, f"out_op_{place + 1}"), rtol=1e-4, atol=1e-6)


@needs_shared
def test_the_forward_half_of_the_given_training_graph() -> None:
    """Without identifier, 0.7; dims of two results are NCHW in the file, the maps NHWC."""
    graph = reader.read(given("lite_lenet_train").read_bytes())
    assert "2 tensors have other dims" in graph.notes[0]
    loss = next(node for node in graph.nodes if node.type == "SoftmaxCrossEntropy")
    x = normal(np.random.default_rng(3), 32, 32, 32, 1)
    found = executor.run_plan(make_plan(graph, loss.name), {"input_0": x, "input_1": np.zeros((32, 10), np.float32)})
    logits = next(array for array in found.values() if array.any())

    def constant(place: int) -> Array:
        value = graph.tensors[place].value
        assert value is not None
        return value

    y = halved(maps(halved(maps(x, constant(1), None)), constant(5), None)).transpose(0, 3, 1, 2).reshape(32, 400)
    for weight, bias, last in ((11, 13, False), (16, 18, False), (21, 23, True)):
        y = y @ constant(weight).T.astype(np.float64) + constant(bias)
        y = y if last else np.maximum(y, 0)
    np.testing.assert_allclose(logits, y, rtol=1e-4, atol=1e-6 * float(np.abs(y).max()))


@pytest.mark.parametrize("name", sorted(LOWERINGS))
def test_operators_without_operands_are_refused_or_give_something(name: str) -> None:
    """Each with its defaults and none, one or many operands: an answer or a refusal, never a fault of ours."""
    for count in (0, 1, 2, 9):
        data = file_of(getattr(lite, name)(), [X] * count, [np.float32], constants=range(1, count))
        try:
            make_plan(read_graph(data))
        except GraphError as error:
            assert error.where["op"] == f"{name}_0" or "graph output" in error.line()
