"""Streams that start each other, and labels: models of both kinds against what numpy, or onnxruntime's Loop, gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from emu.errors import GraphError, GraphStatus
from emu.graph import executor
from emu.graph.readers import om
from emu.graph.writers.om import write_om
from emu.schemas import ge_ir_pb2, om_pb2
from tests.graph.om_models import Model, refused
from tests.onnx_session import onnx_session

CONDITIONS = [np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal]
X = np.float32([1.5, -2.0, 3.0])


def on(stream: int, op: ge_ir_pb2.OpDef) -> ge_ir_pb2.OpDef:
    op.stream_id = stream
    return op


def streams(model: Model, count: int, events: int = 0) -> None:
    model.message.attr["stream_num"].i = count
    model.message.attr["event_num"].i = events


def control(model: Model, name: str, kind: str, inputs: list[str], stream: int = 0, **attrs: Any) -> None:
    op = model.graph.op.add(name=name, type=kind, stream_id=stream)
    op.input.extend(inputs)
    for key, each in attrs.items():
        if isinstance(each, list):
            op.attr[key].list.i.extend(each)
        else:
            op.attr[key].i = each


def merge(model: Model, name: str, inputs: list[str], shape: tuple[int, ...], stream: int = 0) -> None:
    op = on(stream, model.op(name, "StreamMerge", inputs, shape))
    model.describe(op.output_desc.add(), (), np.int32)


def switch_model(condition: int) -> Model:
    """a cond b: relu(x) on stream 1, else -x on stream 0; the merge waits on stream 2, which both start."""
    model = Model()
    streams(model, 3)
    model.data((3,))
    for name in ("a", "b"):
        model.data((), np.int32, name=name)
    control(model, "switch", "StreamSwitch", ["a:0", "b:0"], switch_condition=condition, active_stream_list=[1])
    model.op("negative", "Neg", ["x:0"], (3,))
    control(model, "go0", "StreamActive", [], active_stream_list=[2])
    on(1, model.op("positive", "Relu", ["x:0"], (3,)))
    control(model, "go1", "StreamActive", [], 1, active_stream_list=[2])
    merge(model, "m", ["negative:0", "positive:0"], (3,), 2)
    return model


@pytest.mark.parametrize("condition", range(6))
@pytest.mark.parametrize("pair", [(1, 2), (2, 1), (2, 2)])
def test_switch_and_merge(condition: int, pair: tuple[int, int]):
    model = switch_model(condition)
    end = model.graph.op.add(name="out", type="NetOutput", stream_id=2)
    end.input.extend(["m:0", "m:1"])
    graph = om.read(write_om(model.message))
    found = executor.run(graph, {"x": X, "a": np.array(pair[0], np.int32), "b": np.array(pair[1], np.int32)})
    holds = bool(CONDITIONS[condition](*pair))
    assert np.array_equal(found["m:0"], np.maximum(X, 0) if holds else -X)
    assert found["m:1"] == holds


def loop_model() -> Model:
    """x doubles while its sum is below the limit; stream 1 is the body, which starts itself again."""
    model = Model()
    streams(model, 3)
    model.data((3,))
    model.data((), np.float32, name="limit")
    control(model, "start", "StreamActive", [], active_stream_list=[1])
    merge(model, "value", ["x:0", "double:0"], (3,), 1)
    on(1, model.op("total", "ReduceSumD", ["value:0"], (), axes=[0], keep_dims=False))
    control(model, "leave", "StreamSwitch", ["total:0", "limit:0"], 1, switch_condition=3, active_stream_list=[2])
    on(1, model.op("double", "Add", ["value:0", "value:0"], (3,)))
    control(model, "again", "StreamActive", [], 1, active_stream_list=[1])
    on(2, model.op("y", "Relu", ["value:0"], (3,)))
    model.graph.op.add(name="out", type="NetOutput", stream_id=2).input.append("y:0")
    return model


def onnx_loop(x: np.ndarray, limit: float) -> np.ndarray:
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "a"], ["b"]), helper.make_node("ReduceSum", ["b"], ["t"], keepdims=0),
         helper.make_node("Less", ["t", "limit"], ["go"])],
        "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("a", TensorProto.FLOAT, [3])],
        [info("go", TensorProto.BOOL, []), info("b", TensorProto.FLOAT, [3])],
    )  # fmt: skip
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["t0"], keepdims=0),
        helper.make_node("Less", ["t0", "limit"], ["first"]),
        helper.make_node("Loop", ["", "first", "x"], ["v"], body=body),
        helper.make_node("Relu", ["v"], ["y"]),
    ]
    inputs = [info("x", TensorProto.FLOAT, [3]), info("limit", TensorProto.FLOAT, [])]
    graph = helper.make_graph(nodes, "g", inputs, [info("y", TensorProto.FLOAT, [3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = onnx_session(model.SerializeToString())
    return session.run(None, {"x": x, "limit": np.array(limit, np.float32)})[0]


@pytest.mark.parametrize("limit", [-5.0, 3.0, 100.0, 12345.0])
@pytest.mark.parametrize("plain", [False, True])
def test_a_loop_of_streams(limit: float, plain: bool):
    graph = om.read(write_om(loop_model().message))
    for _ in range(2):  # nothing stays from one run to the next
        (got,) = executor.run(graph, {"x": X, "limit": np.array(limit, np.float32)}, reference=plain).values()
        assert np.array_equal(got, onnx_loop(X, limit))


def label_model() -> Model:
    """index 0: -x, 1: relu(x), else x + x; each branch ends at label 3."""
    model = Model()
    model.data((3,))
    model.data((), np.int32, name="index")
    control(model, "choose", "LabelSwitchByIndex", ["index:0"], _label_switch_list=[0, 1, 2])
    for at, (kind, inputs) in enumerate((("Neg", ["x:0"]), ("Relu", ["x:0"]), ("Add", ["x:0", "x:0"]))):
        control(model, f"label{at}", "LabelSet", [], _label_switch_index=at)
        model.op(f"branch{at}", kind, inputs, (3,))
        control(model, f"leave{at}", "LabelGotoEx", [], _label_switch_index=3)
    control(model, "end", "LabelSet", [], _label_switch_index=3)
    merge(model, "m", ["branch0:0", "branch1:0", "branch2:0"], (3,))
    return model


@pytest.mark.parametrize(
    ("index", "want"), [(0, -X), (1, np.maximum(X, 0)), (2, X + X), (9, X + X)]
)  # beyond the list is its last label
def test_labels(index: int, want: np.ndarray):
    model = label_model()
    (got,) = model.run({"x": X, "index": np.array(index, np.int32)}, "m:0")
    assert np.array_equal(got, want)


def test_events_between_streams_that_start_each_other():
    """Stream 1 is listed first and started last; stream 2 waits for its event although its operand is an input."""
    model = Model()
    streams(model, 3, 1)
    model.data((3,))
    control(model, "wait", "Recv", [], 2, event_id=0)
    on(2, model.op("y", "Add", ["x:0", "slow:0"], (3,)))
    on(1, model.op("slow", "Relu", ["x:0"], (3,)))
    control(model, "send", "Send", [], 1, event_id=0)
    control(model, "go", "StreamActive", [], active_stream_list=[1])
    model.graph.op.add(name="out", type="NetOutput", stream_id=2).input.append("y:0")
    (got,) = executor.run(om.read(write_om(model.message)), {"x": X}).values()
    assert np.array_equal(got, X + np.maximum(X, 0))


def test_domi_models_have_them_too():
    """The same attributes, in the AttrDef of om.proto."""
    message = om_pb2.ModelDef(name="made", stream_num=2)

    def add(name: str, kind: str, inputs: list[str], stream: int = 0, dims: tuple[int, ...] | None = (3,),
            number: int = 0, **attrs: Any) -> om_pb2.OpDef:  # fmt: skip
        op = message.op.add(name=name, type=kind, stream_id=stream)
        op.src_name.extend(inputs)
        op.src_index.extend([0] * len(inputs))
        if dims is not None:
            op.output_desc.add(format=2, dim=dims, data_type=number)
        for key, each in attrs.items():
            if isinstance(each, list):
                op.attr[key].list.i.extend(each)
            else:
                op.attr[key].i = each
        return op

    add("x", "Data", [])
    add("a", "Data", [], dims=(1,), number=3)
    add("b", "Data", [], dims=(1,), number=3)
    add("switch", "StreamSwitch", ["a", "b"], dims=None, switch_condition=4, active_stream_list=[1])
    add("sum", "Add", ["x", "x"])
    add("difference", "Sub", ["x", "x"], 1)
    add("m", "StreamMerge", ["sum", "difference"], 0)
    add("out", "NetOutput", ["m"], dims=None)
    # the switch ends stream 0, so the merge must be where both branches go: on stream 1, started by either
    message.op[6].stream_id = message.op[7].stream_id = 1
    add("go", "StreamActive", [], 0, None, active_stream_list=[1])
    graph = om.read(write_om(message))
    got = executor.run(graph, {"x": X, "a": np.int32([1]), "b": np.int32([2])})
    assert np.array_equal(got["m:0"], X - X)


@pytest.mark.parametrize(
    ("change", "words", "status"),
    [
        ({"active_stream_list": [7]}, "7 of 3", GraphStatus.GRAPH_STRUCTURE),
        ({"active_stream_list": [1, 2]}, "a switch starts one", GraphStatus.GRAPH_SHAPE),
        ({"switch_condition": 6}, "unknown condition 6", GraphStatus.GRAPH_UNSUPPORTED),
    ],
)
def test_wrong_switches_are_refused(change: dict[str, Any], words: str, status: GraphStatus):
    model = switch_model(0)
    switch = next(op for op in model.graph.op if op.name == "switch")
    for key, each in change.items():
        switch.attr[key].Clear()
        if isinstance(each, list):
            switch.attr[key].list.i.extend(each)
        else:
            switch.attr[key].i = each
    error = refused(model, "x:0")
    assert words in error.line()
    assert error.status is status


def test_what_never_ends_or_never_runs_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("emu.graph.ops.streams.STEP_LIMIT", 500)
    endless = om.read(write_om(loop_model().message))
    with pytest.raises(GraphError, match="more than 500 steps"):
        executor.run(endless, {"x": np.zeros(3, np.float32), "limit": np.array(1, np.float32)})
    model = label_model()
    model.graph.op[2].attr["_label_switch_list"].list.i.append(8)
    assert "label 8 is set nowhere" in refused(model, "m:0").line()
    model = label_model()
    next(op for op in model.graph.op if op.name == "label1").attr["_label_switch_index"].i = 0
    assert "label 0 is set twice" in refused(model, "m:0").line()
    # the operands are zeros: the switch on equality ends the stream of the NetOutput, that on inequality does not
    assert "its stream never ran" in refused(switch_model(0), "positive:0").line()
    assert "deadlock" in refused(switch_model(1), "positive:0").line()


def test_a_stream_without_ops_may_be_started():
    model = Model()
    streams(model, 2)
    model.data((3,))
    control(model, "go", "StreamActive", [], active_stream_list=[1])
    model.op("y", "Relu", ["x:0"], (3,))
    graph = model.read("y:0")
    assert np.array_equal(executor.run(graph, {"x": X})["y:0"], np.maximum(X, 0))
    assert [node.name for node in graph.nodes] == ["x", "go", "y", "out"]  # nothing here depends on it


def test_an_error_stays_an_error():
    """What is wrong with one op is told at every attempt, not only at the first."""
    model = label_model()
    model.graph.op[2].attr["_label_switch_list"].list.i.append(8)
    model.graph.op.add(name="out", type="NetOutput").input.append("m:0")
    graph = om.read(write_om(model.message))
    for _ in range(2):
        with pytest.raises(GraphError, match="label 8 is set nowhere"):
            executor.run(graph, {"x": X, "index": np.array(0, np.int32)})
