"""Real .om files: all open and can be inspected, those that say what they mean run, the others are refused.

What runs is held op by op against onnxruntime models built here from the attributes in the file: every op gets emu's
own operands, so that each is within one rounding of its result. Refusals are those of om-format.md 8.1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from emu.errors import GraphError, GraphStatus
from emu.graph import executor
from emu.graph.ir import Graph, Port
from emu.graph.load import map_file
from emu.graph.readers import om
from emu.graph.readers.om import container as om_container
from emu.graph.readers.om import describe as om_describe
from emu.schemas import ge_ir_pb2
from tests.conftest import SHARED, needs_shared
from tests.graph.test_kernels import onnx_run

pytestmark = needs_shared
FOLDER = SHARED / "om"
FILES = sorted(path.name for path in FOLDER.glob("*.om")) if FOLDER.is_dir() else []

REFUSED = {
    "a3c_pong_model_v1.om": (11, "strides", [11, 13, 15, 19]),
    "vae_hh_om.om": (17, "type", [17, 20, 27, 34, 35, 40]),
}
RUN = [name for name in FILES if name not in REFUSED]
DTYPES = {1: np.float32, 2: np.float16, 3: np.int8, 4: np.uint8, 7: np.int32}


def read(name: str) -> Graph:
    return om.read(map_file(FOLDER / name))


def made_inputs(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    found = {}
    for port in graph.inputs:
        tensor = graph.tensors[port.tensor]
        values = (
            random.integers(0, 256, tensor.shape) if tensor.dtype.kind in "iu" else random.normal(size=tensor.shape)
        )
        found[port.name] = values.astype(tensor.dtype)
    return found


# --- the file, read by the test itself --------------------------------------------------------------------------------


def value_of(attr: ge_ir_pb2.AttrDef) -> Any:
    kind = attr.WhichOneof("value")
    value = getattr(attr, kind)
    if kind == "list":
        return list(value.i) or list(value.f) or list(value.b)
    return {key: value_of(each) for key, each in value.attr.items()} if kind == "func" else value


class File:
    def __init__(self, name: str) -> None:
        container = om_container.read_container(map_file(FOLDER / name))
        self.weights = bytes(container.find(om_container.WEIGHTS_DATA) or b"")
        self.message = ge_ir_pb2.ModelDef.FromString(bytes(container.find(om_container.MODEL_DEF)))
        self.ops = list(self.message.graph[0].op)

    def attrs(self, op: ge_ir_pb2.OpDef) -> dict[str, Any]:
        found = {}
        for key, attr in op.attr.items():
            if attr.WhichOneof("value") not in (None, "t", "g"):
                found[
                    {"pad": "pads", "stride": "strides", "dilation": "dilations", "group": "groups"}.get(key, key)
                ] = value_of(attr)
        return found

    def constant(self, op: ge_ir_pb2.OpDef) -> np.ndarray:
        tensor = op.attr["value"].t
        dtype, dims = np.dtype(DTYPES[tensor.desc.dtype]), list(tensor.desc.shape.dim)
        raw = tensor.data
        if not raw:
            merged = "merged_offset" in tensor.desc.attr
            start = tensor.desc.attr["merged_offset"].i if merged else tensor.desc.data_offset
            raw = self.weights[start : start + tensor.desc.weight_size]
        flat = np.frombuffer(raw, dtype)
        c0 = 32 if dtype.itemsize == 1 else 16
        if tensor.desc.layout == "FRACTAL_Z":
            n, c, h, w = np.indices(dims)
            lanes = -(-dims[0] // 16) * 16
            block = ((c // c0) * dims[2] + h) * dims[3] + w
            return flat[(block * lanes + n) * c0 + c % c0]
        if tensor.desc.layout == "FRACTAL_Z_C04":
            n, c, h, w = np.indices(dims)
            flat_k = (h * dims[3] + w) * 4 + c
            lanes = -(-dims[0] // 16) * 16
            return flat[((flat_k // 16) * lanes + n) * 16 + flat_k % 16]
        if tensor.desc.layout == "NC1HWC0":
            n, c, h, w = np.indices(dims)
            blocks = -(-dims[1] // c0)
            return flat[(((n * blocks + c // c0) * dims[2] + h) * dims[3] + w) * c0 + c % c0]
        return flat[: int(np.prod(dims))].reshape(dims)


# --- one op, independently --------------------------------------------------------------------------------------------


def nchw(x: np.ndarray, last: bool) -> np.ndarray:
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if last else x


def convolution(attrs: dict[str, Any], x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    last = attrs.get("format", 0) == 1
    geometry = {"strides": attrs["strides"], "dilations": attrs["dilations"], "group": attrs["groups"]}
    if attrs["pad_mode"] == 6:
        geometry["auto_pad"] = "SAME_UPPER"
    else:
        geometry["pads"] = [attrs["pads"][at] for at in (0, 2, 1, 3)]
    info = attrs.get("QuantizeInfo")
    if info is None:
        operands = [nchw(x, last).astype(np.float32), weight.astype(np.float32)]
        if bias is not None:
            operands.append(bias.reshape(-1).astype(np.float32))
        y = onnx_run("Conv", operands, **geometry).astype(np.float64)
    else:
        # om-format.md 7.1, the integer sum by onnxruntime's ConvInteger
        step, offset = np.float32(info["scale_data_value"]), info["offset_data_value"]
        q = np.clip(np.rint(nchw(x, last).astype(np.float64) / step) + offset, 0, 255).astype(np.uint8)
        total = onnx_run("ConvInteger", [q, weight, np.array(int(offset), np.uint8)], TensorProto.INT32, **geometry)
        scales = np.frombuffer(info["scale_weight_value"], "<f4").astype(np.float64)
        y = total * np.float64(step) * scales.reshape(1, -1, 1, 1) + bias.reshape(1, -1, 1, 1)
    if attrs.get("relu_flag"):
        y = np.clip(y, 0, 6) if attrs.get("relu_mode") == 2 else np.maximum(y, 0)
    return y.transpose(0, 2, 3, 1) if last else y


def conv_transpose(attrs: dict[str, Any], operands: list[np.ndarray]) -> np.ndarray:
    last = attrs.get("format", 0) == 1
    geometry: dict[str, Any] = {"strides": attrs["strides"], "group": attrs["groups"]}
    if attrs.get("TF_DECONV"):
        # the constants of aipp.om are rotated: operand 0 is the filter, 1 the bias, 3 the size (NHWC)
        weight, bias, x, size = operands
        # TensorFlow: what SAME of the forward convolution takes off, smaller half at the front
        pads = [max((i - 1) * s + k - o, 0) for i, s, k, o in
                zip(x.shape[1:3], attrs["strides"], weight.shape[2:], size[1:3], strict=True)]  # fmt: skip
        geometry["pads"] = [pads[0] // 2, pads[1] // 2, pads[0] - pads[0] // 2, pads[1] - pads[1] // 2]
    else:
        (x, weight), bias = operands[:2], None
        geometry["pads"] = [attrs["pads"][at] for at in (0, 2, 1, 3)]
    given = [nchw(x, last).astype(np.float32), weight.astype(np.float32)]
    if bias is not None:
        given.append(bias.reshape(-1).astype(np.float32))
    y = onnx_run("ConvTranspose", given, **geometry)
    return y.transpose(0, 2, 3, 1) if last else y


def pooling(attrs: dict[str, Any], x: np.ndarray) -> np.ndarray:
    last = attrs.get("format", 0) == 1
    kind = {0: "MaxPool", 1: "AveragePool"}[attrs["mode"]]
    y = onnx_run(
        kind,
        [nchw(x, last).astype(np.float32)],
        kernel_shape=attrs["window"],
        strides=attrs["strides"],
        pads=[attrs["pads"][at] for at in (0, 2, 1, 3)],
        ceil_mode=attrs["ceil_mode"],
    )
    return y.transpose(0, 2, 3, 1) if last else y


def image(aipp: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """om-format.md 9, for hiai.om: colour conversion, resize, shift; point by point."""
    height, width = aipp["src_image_size_h"], aipp["src_image_size_w"]
    rows, columns = np.indices((height, width))
    pair = x[0, height + rows // 2, (columns // 2) * 2], x[0, height + rows // 2, (columns // 2) * 2 + 1]
    planes = [plane.astype(np.int64) - aipp[f"input_bias_{at}"] for at, plane in enumerate((x[0, :height], *pair))]
    mixed = [sum(aipp[f"matrix_r{row}c{at}"] * planes[at] for at in range(3)) >> 8 for row in range(3)]
    rgb = np.clip(np.stack(mixed), 0, 255).astype(np.float64)
    y = np.arange(aipp["resize_output_h"]) * height / aipp["resize_output_h"]
    u = np.arange(aipp["resize_output_w"]) * width / aipp["resize_output_w"]
    top, left = np.floor(y).astype(int), np.floor(u).astype(int)
    low, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    fy, fx = (y - top)[:, None], (u - left)[None]
    upper = rgb[:, top][:, :, left] * (1 - fx) + rgb[:, top][:, :, right] * fx
    lower = rgb[:, low][:, :, left] * (1 - fx) + rgb[:, low][:, :, right] * fx
    small = upper * (1 - fy) + lower * fy
    shift = np.array([aipp[f"mean_chn_{at}"] + aipp[f"min_chn_{at}"] for at in range(3)]).reshape(3, 1, 1)
    factor = np.array([aipp[f"var_reci_chn_{at}"] for at in range(3)]).reshape(3, 1, 1)
    return ((small - shift) * factor)[None].astype(np.float16)


def evaluate(op: ge_ir_pb2.OpDef, attrs: dict[str, Any], operands: list[np.ndarray]) -> np.ndarray:
    """The op in onnxruntime or float64, from its attributes."""
    x = operands[0]
    match op.type:
        case "Convolution":
            if attrs.get("aipp"):
                x = image(attrs["aipp"], x)
            return convolution(attrs, x, operands[1], operands[2] if len(operands) > 2 else None)
        case "ConvTranspose":
            return conv_transpose(attrs, operands)
        case "Pooling" | "PoolingD":
            return pooling(attrs, x)
        case "Concat":
            return np.concatenate(operands, attrs["axis"])
        case "Permute":
            return x.transpose(attrs["order"])
        case "Reshape":
            return x.reshape(list(op.output_desc[0].shape.dim))
        case "Softmax":
            return onnx_run("Softmax", [x.astype(np.float32)], axis=attrs["axis"] if "axis" in attrs else attrs["mode"])
        case "Activation":
            assert attrs["mode"] == 1
            return onnx_run("Relu", [x.astype(np.float32)])
        case "Relu":
            return onnx_run("Relu", [x.astype(np.float32)])
        case "Add":
            return onnx_run("Add", [each.astype(np.float32) for each in operands])
        case "BNInference":
            scale, bias, mean, variance = (
                operands[1:] if len(operands) == 5 else (np.ones(x.shape[1]), np.zeros(x.shape[1]), *operands[1:])
            )
            given = [each.reshape(-1).astype(np.float32) for each in (scale, bias, mean, variance)]
            return onnx_run("BatchNormalization", [x.astype(np.float32), *given], epsilon=attrs["epsilon"])
        case "ResizeBilinear":
            scales = np.array([1, 1, *(operands[1] / np.array(x.shape[1:3]))], np.float32)
            y = onnx_run(
                "Resize",
                [nchw(x, True).astype(np.float32), np.zeros(0, np.float32), scales],
                coordinate_transformation_mode="asymmetric",
                mode="linear",
            )
            return y.transpose(0, 2, 3, 1)
        case "MatMul":
            info = attrs["QuantizeInfo"]
            step = np.float64(np.float32(info["scale_data_value"]))
            q = np.clip(np.rint(x.reshape(1, -1).astype(np.float64) / step), 0, 255)
            # the constant is [10, 64, 1, 1], the descriptor [64, 10, 1, 1]: the transpose, not the rows run together
            weight = operands[1].reshape(operands[1].shape[:2]).T.astype(np.float64)
            return (q @ weight) * step * np.float64(np.frombuffer(info["scale_weight_value"], "<f4")[0])
        case "BatchMatMulTik":
            return x.astype(np.float64) @ operands[1].astype(np.float64)
        case "GEMM":
            a, b, c, alpha, beta = (each.astype(np.float64) for each in operands)
            return alpha * (a @ b) + beta * c
        case "Cast" | "CastT" | "TransData" | "Aipp" | "NetOutput":
            return x
    raise AssertionError(f"no oracle for {op.type}")


# --- tests ------------------------------------------------------------------------------------------------------------


def test_the_folder_is_known():
    assert len(FILES) == 18
    assert len(RUN) == 16


@pytest.mark.parametrize("name", FILES)
def test_inspect_shows_the_whole_file(name: str):
    report = om_describe.document(map_file(FOLDER / name))
    file = File(name)
    assert report["kind"] == "graph"
    (graph,) = report["ModelDef"]["graph"]
    assert [(op["name"], op["type"]) for op in graph["op"]] == [(op.name, op.type) for op in file.ops]
    assert len(report["constants"]) >= sum(op.type == "Const" for op in file.ops)
    size = (FOLDER / name).stat().st_size
    entry, head = (24, 8) if report["table_bits"] == 64 else (12, 4)
    assert sum(each["size"] for each in report["partitions"]) + entry * len(report["partitions"]) + head + 256 == size
    assert not any(line.startswith("op -") for line in om_describe.lines(report))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_for_the_reason_in_the_table(name: str):
    first, attribute, everything = REFUSED[name]
    graph, file = read(name), File(name)
    with pytest.raises(GraphError) as caught:
        executor.run(graph, made_inputs(graph))
    # what these ops do is not in the file
    assert all(node.refusal is None or node.refusal.status is GraphStatus.OM_MODEL for node in graph.nodes)
    assert caught.value.where["op"] == file.ops[first].name
    assert caught.value.where["attribute"] == attribute
    assert [at for at, node in enumerate(graph.nodes) if node.refusal is not None] == everything
    assert len(om_describe.document(map_file(FOLDER / name))["refusals"]) == len(everything)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_until_the_refused_op(name: str):
    graph, file = read(name), File(name)
    op = file.ops[REFUSED[name][0]]
    got = executor.run(graph, made_inputs(graph), until=op.name)
    assert set(got) == {edge for edge in op.input if edge and not edge.endswith(":-1")}
    for edge, array in got.items():
        described = op.input_desc[list(op.input).index(edge)]
        assert array.shape == tuple(described.shape.dim)
        assert array.dtype == DTYPES[described.dtype]


def test_until_after_a_real_convolution():
    """vae_hh_om.om keeps the attributes of its first convolution: op 16, five-dimensional, FRACTAL_Z filter."""
    graph, file = read("vae_hh_om.om"), File("vae_hh_om.om")
    inputs = made_inputs(graph)
    got = executor.run(graph, inputs, until=file.ops[17].name)["recognition/d_h1/Conv2D:0"]
    weight_op = next(op for op in file.ops if op.name == "dynamic_const_5478_34")
    bias_op = next(op for op in file.ops if op.name == "dynamic_const_5478_22")
    height, width, inner, units = value_of(weight_op.attr["value"].t.desc.attr["origin_shape"])
    packed = np.frombuffer(file.weights, np.float16)[weight_op.attr["value"].t.desc.data_offset // 2 :]
    n, c, h, w = np.indices((units, inner, height, width))
    lanes = -(-units // 16) * 16
    weight = packed[((((c // 16) * height + h) * width + w) * lanes + n) * 16 + c % 16].astype(np.float32)
    packed_x = executor.run(graph, inputs, until=file.ops[16].name)["trans_TransData_1:0"].astype(np.float32)
    assert not packed_x[..., inner:].any()
    x = np.ascontiguousarray(packed_x[:, 0].transpose(0, 3, 1, 2)[:, :inner])
    attrs = file.attrs(file.ops[16])
    assert attrs["data_format"] == b"NHWC"
    want = onnx_run(
        "Conv",
        [x, weight, file.constant(bias_op).astype(np.float32)],
        strides=attrs["strides"][1:3],
        pads=[attrs["pads"][at] for at in (0, 2, 1, 3)],
    )
    logical = got.transpose(0, 1, 4, 2, 3).reshape(got.shape[0], -1, *got.shape[2:4])[:, :units].astype(np.float32)
    assert_rounded(logical.astype(np.float16), want)


def assert_rounded(got: np.ndarray, want: np.ndarray) -> None:
    """One rounding to the stored type, and what float32 sums may differ by."""
    assert got.shape == want.shape
    wide = want.astype(np.float64)
    slack = 1e-5 * np.abs(wide).max(initial=1e-30)
    if got.dtype == np.float16:
        allowed = np.spacing(np.abs(wide).clip(6e-8, 6e4).astype(np.float16)).astype(np.float64) + slack
    else:
        allowed = 1e-4 * np.abs(wide) + slack
    error = np.abs(got.astype(np.float64) - wide)
    worst = np.unravel_index(np.argmax(error - allowed), error.shape) if error.size else ()
    assert (error <= allowed).all(), (worst, got[worst], wide[worst], allowed[worst])


@pytest.mark.parametrize("name", RUN)
def test_every_op_against_onnxruntime(name: str):
    graph, file = read(name), File(name)
    constants = {f"{op.name}:0": file.constant(op) for op in file.ops if op.type == "Const"}
    final = [port.name for port in graph.outputs]
    graph.outputs += [Port(f"in {port.name}", port.tensor) for port in graph.inputs]
    results = [at for node in graph.nodes if node.type not in ("NetOutput", "AippConfig") for at in node.outputs]
    graph.outputs += [Port(f"op {graph.tensors[at].name}", at) for at in results]
    got = executor.run(graph, made_inputs(graph, seed=3))
    seen = 0
    for op, node in zip(file.ops, graph.nodes, strict=True):
        if op.type in ("Const", "Data", "GraphOp", "AippConfig") or node.type == "NetOutput":
            continue
        edges = [edge for edge in op.input if edge and not edge.startswith("aipp_config")]
        operands = [constants[edge] if edge in constants else got[f"op {edge}"] for edge in edges]
        if name.startswith("0_GEMM"):
            operands = [logical(graph, edge, array) for edge, array in zip(edges, operands, strict=True)]
        want = evaluate(op, file.attrs(op), operands)
        result = got[f"op {op.name}:0"]
        if name.startswith("0_GEMM"):
            result = logical(graph, f"{op.name}:0", result)
        try:
            assert_rounded(result, want)
        except AssertionError as error:
            raise AssertionError(f"op {op.name} ({op.type}): {error}") from error
        seen += 1
    assert seen or name == "tf_softmax_hcs_npucl.om"
    for key in final:
        assert np.array_equal(got[key].astype(np.float64), logical(graph, key, got[f"op {key}"]).astype(np.float64))


def logical(graph: Graph, edge: str, array: np.ndarray) -> np.ndarray:
    """A FRACTAL_NZ matrix by its formula (om-format.md 3)."""
    tensor = next(tensor for tensor in graph.tensors if tensor.name == edge)
    if tensor.logical_shape is None:
        return array
    rows, columns = np.indices(tensor.logical_shape)
    return array[columns // 16, rows // 16, rows % 16, columns % 16]


def test_subgraph_of_a_graph_op():
    graph = read("tf_softmax_hcs_npucl.om")
    inputs = made_inputs(graph)
    (got,) = executor.run(graph, inputs).values()
    want = onnx_run("Softmax", [inputs["data1"].astype(np.float16).astype(np.float32)], axis=-1)
    assert_rounded(got, want.astype(np.float16).astype(np.float32))


def test_results_do_not_depend_on_where_the_constants_lie():
    """tf_conv_opversion_0 has them inline, _5 merged in WEIGHTS_DATA from offset 0 on."""
    first, second = read("tf_conv_opversion_0.om"), read("tf_conv_opversion_5.om")
    inputs = made_inputs(first)
    a, b = (next(iter(executor.run(graph, inputs).values())) for graph in (first, second))
    assert np.array_equal(a.astype(np.float16), b.astype(np.float16))


def test_constants_are_views_of_the_file():
    graph = read("hiai.om")
    values = [tensor.value for tensor in graph.tensors if tensor.value is not None]
    assert sum(value.base is not None for value in values) == len(values)


def test_path_of_a_file_and_its_bytes_read_the_same():
    path = Path(FOLDER / "relu.om")
    assert len(om.read(path.read_bytes()).nodes) == len(om.read(map_file(path)).nodes) == 3
