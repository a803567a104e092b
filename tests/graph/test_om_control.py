"""Control flow of graph-style models: expected values from onnxruntime's If and Loop, or numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from emu.errors import GraphError, GraphStatus
from emu.graph import executor
from emu.graph.readers import om
from emu.graph.readers.om import describe
from emu.graph.writers.om import write_om
from tests.graph.om_models import Model, refused
from tests.graph.test_kernels import onnx_run
from tests.onnx_session import onnx_session

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def onnx_graph(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], feeds: dict[str, np.ndarray]
) -> list[np.ndarray]:
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return onnx_session(model.SerializeToString()).run(None, feeds)


def value(name: str, kind: int, shape: list[int]) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


X = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)


def if_model(cond_dtype: Any = np.bool_, cond_shape: tuple[int, ...] = (), parents: bool = True) -> Model:
    """y, z = If(cond, a, b): (a + b, a) or (a - b, relu b); the branches take the operands in other orders."""
    model = Model()
    model.data(cond_shape, cond_dtype, name="cond", index=0)
    model.data((2, 3), name="a", index=1)
    model.data((2, 3), name="b", index=2)
    with model.subgraph("then") as then:
        then.data((2, 3), name="p", index=0, **({"_parent_node_index": 1} if parents else {}))
        then.data((2, 3), name="q", index=1, **({"_parent_node_index": 2} if parents else {}))
        then.op("sum", "Add", ["p:0", "q:0"], (2, 3))
        then.end("sum:0", "p:0")
    with model.subgraph("else") as other:
        if parents:
            other.data((2, 3), name="p", index=0, _parent_node_index=2)
            other.data((2, 3), name="q", index=1, _parent_node_index=1)
        else:
            other.data((2, 3), name="q", index=0)
            other.data((2, 3), name="p", index=1)
        other.op("difference", "Sub", ["q:0", "p:0"], (2, 3))
        other.op("r", "Relu", ["p:0"], (2, 3))
        if parents:
            other.end("r:0", "difference:0", parents=[1, 0])
        else:
            other.end("difference:0", "r:0")
    op = model.op("y", "If", ["cond:0", "a:0", "b:0"], (2, 3))
    model.describe(op.output_desc.add(), (2, 3))
    op.subgraph_name.extend(["then", "else"])
    return model


def onnx_if(condition: bool, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    ends = [value("s", FLOAT, [2, 3]), value("t", FLOAT, [2, 3])]
    then = helper.make_graph([helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Identity", ["a"], ["t"])],
                             "then", [], ends)  # fmt: skip
    other = helper.make_graph([helper.make_node("Sub", ["a", "b"], ["s"]), helper.make_node("Relu", ["b"], ["t"])],
                              "else", [], ends)  # fmt: skip
    node = helper.make_node("If", ["cond"], ["y", "z"], then_branch=then, else_branch=other)
    inputs = [value("cond", BOOL, []), value("a", FLOAT, [2, 3]), value("b", FLOAT, [2, 3])]
    return onnx_graph([node], inputs, [value("y", FLOAT, [2, 3]), value("z", FLOAT, [2, 3])],
                      {"cond": np.array(condition), "a": a, "b": b})  # fmt: skip


@pytest.mark.parametrize("condition", [False, True])
@pytest.mark.parametrize("parents", [False, True])
@pytest.mark.parametrize("plain", [False, True])
def test_if(condition: bool, parents: bool, plain: bool):
    a, b = X, X[::-1].copy()
    graph = if_model(parents=parents).read("y:0", "y:1")
    got = executor.run(graph, {"cond": np.array(condition), "a": a, "b": b}, reference=plain)
    for found, want in zip(got.values(), onnx_if(condition, a, b), strict=True):
        assert np.array_equal(found, want)


@pytest.mark.parametrize(
    ("cond", "holds"),
    [(np.float32(0), False), (np.float32(-3), True), (np.int32([0]), False), (np.zeros((0,), np.int32), False),
     (np.zeros((2,), np.int32), True)],
)  # fmt: skip
def test_conditions_that_are_no_bool(cond: np.ndarray, holds: bool):
    """TensorFlow: a number is true if it is not 0, another tensor if it has elements."""
    cond = np.asarray(cond)
    graph = if_model(cond.dtype, cond.shape).read("y:0")
    (got,) = executor.run(graph, {"cond": cond, "a": X, "b": X}).values()
    assert np.array_equal(got, 2 * X if holds else 0 * X)


def mark(model: Model, name: str, kind: str, inputs: list[str], at: int | None = None, **attrs: Any) -> None:
    """A control op, at a place of the list or at its end."""
    op = model.graph.op.add(name=name, type=kind)
    op.input.extend(inputs)
    for key, value in attrs.items():
        if isinstance(value, list):
            op.attr[key].list.i.extend(value)
        else:
            op.attr[key].i = value
    if at is not None:
        ops = [type(op).FromString(each.SerializeToString()) for each in model.graph.op]
        ops.insert(at, ops.pop())
        del model.graph.op[:]
        model.graph.op.extend(ops)


@pytest.mark.parametrize("condition", [False, True])
def test_labels_that_the_compiler_puts_into_branches(condition: bool):
    """As graphengine's IfLabelMaker leaves them: the labels are in both branches, the switch and its operand in the
    first."""
    model = if_model()
    first, then, other = model.message.graph
    model.graph = then
    mark(model, "enter", "LabelSet", [], 0, _label_switch_index=0)
    mark(model, "start", "StreamActive", [], 0, active_stream_list=[0])
    mark(model, "switch", "LabelSwitchByIndex", ["chosen:0"], 0, _label_switch_list=[1, 0])
    mark(model, "leave", "LabelGotoEx", [], _label_switch_index=2)
    model.data((), np.bool_, name="chosen", index=2, _parent_node_index=0)
    model.graph = other
    mark(model, "enter", "LabelSet", [], 0, _label_switch_index=1)
    mark(model, "end", "LabelSet", [], _label_switch_index=2)
    model.graph = first
    got = executor.run(model.read("y:0", "y:1"), {"cond": np.array(condition), "a": X, "b": X[::-1].copy()})
    for found, want in zip(got.values(), onnx_if(condition, X, X[::-1].copy()), strict=True):
        assert np.array_equal(found, want)


def while_model(limit: float = 100.0) -> Model:
    """While sum(x) < limit: x, n = x * 2, n + 1."""
    model = Model()
    model.data((3,), name="x", index=0)
    model.data((), np.int32, name="n", index=1)
    with model.subgraph("test") as test:
        test.data((3,), name="a", index=0)
        test.data((), np.int32, name="b", index=1)
        test.op("total", "ReduceSumD", ["a:0"], (), axes=[0], keep_dims=False)
        test.op("less", "Less", ["total:0", test.const("limit", np.float32(limit))], (), np.bool_)
        test.end("less:0")
    with model.subgraph("body") as body:
        body.data((3,), name="a", index=0)
        body.data((), np.int32, name="b", index=1)
        body.op("double", "Add", ["a:0", "a:0"], (3,))
        body.op("count", "Add", ["b:0", body.const("one", np.int32(1))], (), np.int32)
        body.end("double:0", "count:0")
    op = model.op("loop", "While", ["x:0", "n:0"], (3,))
    model.describe(op.output_desc.add(), (), np.int32)
    op.subgraph_name.extend(["test", "body"])
    return model


@pytest.mark.parametrize("start", [[1.0, 2.0, 3.0], [50.0, 50.0, 50.0], [0.01, 0.0, 0.0]])
def test_while(start: list[float]):
    x = np.float32(start)
    body = helper.make_graph(
        [
            helper.make_node("Add", ["a", "a"], ["b"]),
            helper.make_node("ReduceSum", ["b"], ["total"], keepdims=0),
            helper.make_node("Less", ["total", "limit"], ["go"]),
            helper.make_node("Add", ["n", "one"], ["m"]),
        ],
        "body",
        [value("round", INT64, []), value("before", BOOL, []), value("a", FLOAT, [3]), value("n", INT64, [])],
        [value("go", BOOL, []), value("b", FLOAT, [3]), value("m", INT64, [])],
    )
    node = helper.make_node("Loop", ["", "first", "x", "zero"], ["y", "count"], body=body)
    feeds = {
        "x": x,
        "limit": np.array(100, np.float32),
        "one": np.array(1),
        "zero": np.array(0),
        "first": np.array(x.sum() < 100),
    }
    inputs = [value("x", FLOAT, [3]), value("limit", FLOAT, []), value("one", INT64, []), value("zero", INT64, []),
              value("first", BOOL, [])]  # fmt: skip
    want = onnx_graph([node], inputs, [value("y", FLOAT, [3]), value("count", INT64, [])], feeds)
    got = executor.run(while_model().read("loop:0", "loop:1"), {"x": x, "n": np.array(0, np.int32)})
    for found, wanted in zip(got.values(), want, strict=True):
        assert np.array_equal(found, wanted)


def test_a_loop_without_end_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("emu.graph.ops.call.RUN_LIMIT", 50)
    graph = while_model(limit=float("inf")).read("loop:0")
    for _ in range(2):  # what one run used up is there for the next
        with pytest.raises(GraphError, match="more than 50 runs"):
            executor.run(graph, {"x": np.zeros(3, np.float32), "n": np.array(0, np.int32)})


def test_graphs_that_multiply_are_refused(monkeypatch: pytest.MonkeyPatch):
    """Ten levels of graphs that call the next one ten times: a file of some kilobytes, 10^10 runs."""
    monkeypatch.setattr("emu.graph.ops.call.RUN_LIMIT", 500)
    model = Model()
    model.data((1,))
    for level in range(10):
        with model.subgraph(f"level{level}") as graph:
            graph.data((1,), name="a", index=0)
            edge = "a:0"
            for at in range(10):
                if level == 9:
                    graph.op(f"c{at}", "Neg", [edge], (1,))
                else:
                    graph.op(f"c{at}", "PartitionedCall", [edge], (1,)).subgraph_name.append(f"level{level + 1}")
                edge = f"c{at}:0"
            graph.end(edge)
    model.op("y", "PartitionedCall", ["x:0"], (1,)).subgraph_name.append("level0")
    assert "more than 500 runs" in refused(model, "y:0").line()


@pytest.mark.parametrize(("index", "factor"), [(0, 2), (1, 3), (2, 4), (7, 4), (-1, 4)])
def test_case(index: int, factor: int):
    model = Model()
    model.data((), np.int32, name="i", index=0)
    model.data((2, 3), name="x", index=1)
    for number in (2, 3, 4):
        with model.subgraph(f"by{number}") as branch:
            branch.data((2, 3), name="a", index=0, _parent_node_index=1)
            branch.op("m", "Mul", ["a:0", branch.const("k", np.float32(number))], (2, 3))
            branch.end("m:0")
    model.op("y", "Case", ["i:0", "x:0"], (2, 3)).subgraph_name.extend(["by2", "by3", "by4"])
    (got,) = model.run({"i": np.array(index, np.int32), "x": X}, "y:0")
    assert np.array_equal(got, X * np.float32(factor))


def test_partitioned_calls_in_calls():
    model = Model()
    model.data((2, 3))
    with model.subgraph("inner") as inner:
        inner.data((2, 3), name="a", index=0)
        inner.op("r", "Relu", ["a:0"], (2, 3))
        inner.end("r:0")
    with model.subgraph("outer") as outer:
        outer.data((2, 3), name="a", index=0)
        outer.op("n", "Neg", ["a:0"], (2, 3))
        for at, edge in enumerate(("a:0", "n:0")):
            outer.op(f"c{at}", "PartitionedCall", [edge], (2, 3)).subgraph_name.append("inner")
        outer.op("s", "Add", ["c0:0", "c1:0"], (2, 3))
        outer.end("s:0")
    model.op("y", "PartitionedCall", ["x:0"], (2, 3)).subgraph_name.append("outer")
    (got,) = model.run({"x": X}, "y:0")
    assert np.array_equal(got, np.abs(X))


@pytest.mark.parametrize(
    ("names", "words", "status"),
    [
        ([], "names 0 graphs, not 1", GraphStatus.OM_MODEL),
        (["nothing"], "no graph is called 'nothing'", GraphStatus.GRAPH_STRUCTURE),
        (["itself"], "calls itself", GraphStatus.GRAPH_STRUCTURE),
        (["narrow"], "the subgraph takes", GraphStatus.GRAPH_SHAPE),
        (["many"], "operands, the subgraph takes", GraphStatus.GRAPH_STRUCTURE),
    ],
)
def test_wrong_subgraphs_are_refused(names: list[str], words: str, status: GraphStatus):
    model = Model()
    model.data((2, 3))
    with model.subgraph("itself") as graph:
        graph.data((2, 3), name="a", index=0)
        graph.op("c", "PartitionedCall", ["a:0"], (2, 3)).subgraph_name.append("itself")
        graph.end("c:0")
    with model.subgraph("narrow") as graph:
        graph.data((2, 2), name="a", index=0)
        graph.end("a:0")
    with model.subgraph("many") as graph:
        graph.data((2, 3), name="a", index=0)
        graph.data((2, 3), name="b", index=1)
        graph.end("b:0")
    model.op("y", "PartitionedCall", ["x:0"], (2, 3)).subgraph_name.extend(names)
    error = refused(model, "y:0")
    assert words in error.line()
    assert error.status is status


def test_a_graph_with_an_empty_result_is_refused():
    model = Model()
    model.data((2, 3))
    with model.subgraph("inner") as graph:
        graph.data((2, 3), name="a", index=0)
        graph.end("a:0", "")
    model.op("y", "PartitionedCall", ["x:0"], (2, 3)).subgraph_name.append("inner")
    assert "is no result" in refused(model, "y:0").line()


def test_inspect_sees_into_the_graphs():
    model = if_model()
    with model.subgraph("other") as graph:
        graph.data((2, 3), name="p", index=0, _parent_node_index=1)
        graph.op("n", "BNInference", ["p:0", *(graph.const(f"c{at}", np.float32([1, 1])) for at in range(2))], (2, 3),
                 use_global_stats=False)  # fmt: skip
        graph.op("odd", "Oddity", ["n:0"], (2, 3))
        graph.end("odd:0")
    model.op("z", "PartitionedCall", ["a:0"], (2, 3)).subgraph_name.append("other")
    model.end("y:0", "z:0")
    report = describe.document(write_om(model.message))
    assert [graph["name"] for graph in report["ModelDef"]["graph"]] == ["made", "then", "else", "other"]
    assert len(report["refusals"]) == 1
    assert "op 'odd' (Oddity)" in report["refusals"][0]
    assert {"c0:0", "c1:0"} == {constant["name"] for constant in report["constants"]}
    assert any("use_global_stats" in note for note in report["notes"])
    assert any("'odd'" in line for line in describe.lines(report))


# --- gears ------------------------------------------------------------------------------------------------------------


def gear_model(gears: list[list[int]], shape: Any) -> Model:
    """As graphengine's multi_batch_clone_pass leaves it: a branch a gear, the choice by an input of its own."""
    model = Model()
    model.data(shape(gears[-1]), name="x", index=0)
    model.data((len(gears[0]),), np.int32, name="ascend_mbatch_shape_data", index=1)
    for at, gear in enumerate(gears):
        with model.subgraph(f"batch_{at}") as branch:
            branch.data(shape(gear), name=f"x_{at}", index=0, _parent_node_index=1)
            branch.op(f"r{at}", "Relu", [f"x_{at}:0"], shape(gear))
            branch.op(f"m{at}", "Mul", [f"r{at}:0", branch.const(f"k{at}", np.float32(at + 2))], shape(gear))
            branch.end(f"m{at}:0")
    model.op("index", "MapIndex", ["ascend_mbatch_shape_data:0"], (), np.int32)
    op = model.op("case", "Case", ["index:0", "x:0"], shape(gears[-1]), _batch_num=len(gears),
                  **{f"_pred_value_{at}": gear for at, gear in enumerate(gears)})  # fmt: skip
    op.subgraph_name.extend(f"batch_{at}" for at in range(len(gears)))
    model.end("case:0")
    described = model.graph.op[-1].input_desc.add()
    model.describe(described, shape(gears[-1]))
    return model


BATCHES = [[1], [2], [8]]
IMAGES = [[4, 6], [8, 12]]


@pytest.mark.parametrize(
    ("gears", "at", "shape"),
    [*((BATCHES, at, lambda gear: (gear[0], 3)) for at in range(3)),
     *((IMAGES, at, lambda gear: (1, 2, *gear)) for at in range(2))],
)  # fmt: skip
def test_gears(gears: list[list[int]], at: int, shape: Any):
    graph = om.read(write_om(gear_model(gears, shape).message), tuple(gears[at]))
    x = np.random.default_rng(at).standard_normal(shape(gears[at])).astype(np.float32)
    assert [port.name for port in graph.inputs] == ["x"]
    (got,) = executor.run(graph, {"x": x}).values()
    assert np.array_equal(got, np.maximum(x, 0) * np.float32(at + 2))


@pytest.mark.parametrize("at", [0, 1])
def test_gears_whose_branches_the_compiler_marked(at: int):
    """As graphengine's CaseOpLabelMaker leaves them: the first branch has the switch and its operand."""
    model = gear_model([[2], [4]], lambda gear: (gear[0], 3))
    _, first, second = model.message.graph
    model.graph = first
    mark(model, "case/LabelSet_0", "LabelSet", [], 0, _label_switch_index=0)
    mark(model, "case/LabelSwitch", "LabelSwitchByIndex", ["case/SwitchIndexData:0"], 0, _label_switch_list=[0, 1])
    mark(model, "case/LabelGoto_0", "LabelGotoEx", [], _label_switch_index=2)
    model.data((), np.int32, name="case/SwitchIndexData", index=1, _parent_node_index=0)
    model.graph = second
    mark(model, "case/LabelSet_1", "LabelSet", [], 0, _label_switch_index=1)
    mark(model, "case/LabelSet_Last", "LabelSet", [], _label_switch_index=2)
    graph = om.read(write_om(model.message), ((2,), (4,))[at])
    x = np.random.default_rng(at).standard_normal(((2, 4)[at], 3)).astype(np.float32)
    (got,) = executor.run(graph, {"x": x}).values()
    assert np.array_equal(got, np.maximum(x, 0) * np.float32(at + 2))


def test_a_model_of_gears_needs_one_of_them():
    data = write_om(gear_model(BATCHES, lambda gear: (gear[0], 3)).message)
    for gear, words in ((None, "has gears (1, 2, 8), one must"), ((3,), "3 is none of 1, 2, 8")):
        with pytest.raises(GraphError) as caught:
            executor.run(om.read(data, gear), {"x": np.zeros((8, 3), np.float32)})
        assert caught.value.status is GraphStatus.GRAPH_INPUT
        assert words in caught.value.line()
    model = Model()
    model.data((2,))
    model.end("x:0")
    with pytest.raises(GraphError, match="no gears"):
        om.read(write_om(model.message), (2,))


# --- dims that only the run knows -------------------------------------------------------------------------------------


def dynamic_model() -> Model:
    """softmax over rows of x [-1, 4] reshaped by its own Shape to [-1, 2], then doubled in number."""
    model = Model()
    model.data((-1, 4))
    model.op("dims", "Shape", ["x:0"], (2,), np.int32)
    model.op("twice", "Mul", ["dims:0", model.const("k", np.int32([2, 1]))], (2,), np.int32)
    model.op("half", "FloorDiv", ["twice:0", model.const("d", np.int32([1, 2]))], (2,), np.int32)
    model.op("rows", "Reshape", ["x:0", "half:0"], (-1, 2))
    model.op("soft", "SoftmaxV2", ["rows:0"], (-1, 2), axes=[-1])
    model.op("y", "ConcatV2D", ["soft:0", "rows:0"], (-1, 2), concat_dim=0)
    return model


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_dims_at_run(rows: int):
    graph = dynamic_model().read("y:0")
    x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
    (got,) = executor.run(graph, {"x": x}).values()
    flat = x.reshape(-1, 2).astype(np.float64)
    soft = np.exp(flat) / np.exp(flat).sum(1, keepdims=True)
    np.testing.assert_allclose(got, np.concatenate([soft, flat]), rtol=1e-6)
    # the graph itself is for any dims still
    assert executor.run(graph, {"x": x[:1]})["y:0"].shape == (4, 2)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_images_of_any_size(layout: str):
    weight = np.random.default_rng(0).standard_normal((3, 2, 3, 3)).astype(np.float32)
    last = layout == "NHWC"

    def dims(n: int, c: int, h: int, w: int) -> tuple[int, ...]:
        return (n, h, w, c) if last else (n, c, h, w)

    model = Model()
    model.data(dims(-1, 2, -1, -1), layout=layout)
    model.op("c", "Conv2D", ["x:0", model.const("w", weight)], dims(-1, 3, -1, -1), layout=layout,
             strides=[1, 1, 1, 1], pads=[1, 1, 1, 1], data_format=layout)  # fmt: skip
    model.op("p", "MaxPool", ["c:0"], dims(-1, 3, -1, -1), layout=layout, ksize=list(dims(1, 1, 2, 2)),
             strides=list(dims(1, 1, 2, 2)), padding="VALID", data_format=layout)  # fmt: skip
    graph = model.read("p:0")
    for size in ((1, 8, 10), (2, 5, 7)):
        x = np.random.default_rng(1).standard_normal((size[0], 2, *size[1:])).astype(np.float32)
        want = onnx_run(
            "MaxPool", [onnx_run("Conv", [x, weight], pads=[1, 1, 1, 1])], kernel_shape=[2, 2], strides=[2, 2]
        )
        (got,) = executor.run(graph, {"x": x.transpose(0, 2, 3, 1) if last else x}).values()
        np.testing.assert_allclose(got.transpose(0, 3, 1, 2) if last else got, want, rtol=1e-4, atol=1e-5)


def test_dynamic_dims_in_branches():
    model = Model()
    model.data((), np.bool_, name="cond", index=0)
    model.data((-1, 3), name="x", index=1)
    for name, kind in (("then", "Relu"), ("else", "Neg")):
        with model.subgraph(name) as branch:
            branch.data((-1, 3), name="a", index=0, _parent_node_index=1)
            branch.op("r", kind, ["a:0"], (-1, 3))
            branch.end("r:0")
    model.op("y", "If", ["cond:0", "x:0"], (-1, 3)).subgraph_name.extend(["then", "else"])
    graph = model.read("y:0")
    for rows in (1, 5):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        for condition in (False, True):
            (got,) = executor.run(graph, {"cond": np.array(condition), "x": x}).values()
            assert np.array_equal(got, np.maximum(x, 0) if condition else -x)


def test_dims_that_do_not_fit_are_refused():
    graph = dynamic_model().read("y:0")
    with pytest.raises(GraphError) as caught:
        executor.run(graph, {"x": np.zeros((2, 5), np.float32)})
    assert caught.value.status is GraphStatus.GRAPH_INPUT
    model = Model()
    model.data((-1,), np.int32)
    model.data((4,), np.float32, name="v")
    model.op("y", "Reshape", ["v:0", "x:0"], (-1, 2))
    with pytest.raises(GraphError, match="depend on values"):
        executor.run(model.read("y:0"), {"x": np.int32([2, 2]), "v": np.zeros(4, np.float32)})
