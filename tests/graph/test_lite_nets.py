"""A whole network as MindSpore Lite, in both schemas and in float16, against the same network in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from emu.graph.writers.ms_lite import ModelBuilder
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from tests.graph.lite_cases import Array, ints, nhwc, normal, run_file
from tests.onnx_session import onnx_session

RNG = np.random.default_rng(0)
WEIGHTS: dict[str, Array] = {
    "stem": normal(RNG, 8, 3, 3, 3) / 5,
    "expand": normal(RNG, 16, 8, 1, 1) / 3,
    "depthwise": normal(RNG, 16, 1, 3, 3) / 3,
    "project": normal(RNG, 8, 16, 1, 1) / 4,
    "dense": normal(RNG, 5, 16) / 4,
}
BIASES: dict[str, Array] = {name: normal(RNG, len(weight)) / 4 for name, weight in WEIGHTS.items()}
X = normal(RNG, 2, 3, 16, 16)


def in_onnx() -> list[Array]:
    """Inverted residual block; its sum resized, beside the stem; mean, dense layer, softmax."""
    held = [numpy_helper.from_array(value, name) for name, value in WEIGHTS.items()]
    held += [numpy_helper.from_array(value, f"{name}_b") for name, value in BIASES.items()]
    held += [
        numpy_helper.from_array(np.float32(0), "low"),
        numpy_helper.from_array(np.float32(6), "high"),
        numpy_helper.from_array(np.array([2, 8, 8, 8], np.int64), "size"),
    ]

    def conv(name: str, x: str, y: str, **more: Any) -> Any:
        return helper.make_node("Conv", [x, name, f"{name}_b"], [y], **more)

    nodes = [
        conv("stem", "x", "s0", strides=[2, 2], auto_pad="SAME_UPPER"),
        helper.make_node("Clip", ["s0", "low", "high"], ["s"]),
        conv("expand", "s", "e0"),
        helper.make_node("Relu", ["e0"], ["e"]),
        conv("depthwise", "e", "d0", group=16, pads=[1, 1, 1, 1]),
        helper.make_node("HardSwish", ["d0"], ["d"]),
        conv("project", "d", "p"),
        helper.make_node("Add", ["p", "s"], ["sum"]),
        helper.make_node("MaxPool", ["sum"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node(
            "Resize", ["half", "", "", "size"], ["big"], mode="linear", coordinate_transformation_mode="half_pixel"
        ),
        helper.make_node("Concat", ["big", "s"], ["wide"], axis=1),
        helper.make_node("GlobalAveragePool", ["wide"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "dense_b"], ["logits"], transB=1),
        helper.make_node("Softmax", ["logits"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None), helper.make_empty_tensor_value_info("wide")],
        held,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    session = onnx_session(model.SerializeToString())
    found: list[Array] = session.run(None, {"x": X})
    return found


def in_lite(schema: Any, dtype: Any) -> bytes:
    """The same network; no dims are given but those of input and constants."""
    model = ModelBuilder(schema)
    newer = schema is lite

    def constant(value: Array) -> int:
        laid = nhwc(value) if value.ndim == 4 else value
        return model.constant(laid.astype(dtype) if value.dtype == np.float32 else laid)

    def then(attr: Any, *inputs: int) -> int:
        result = model.tensor((), dtype)
        model.node(attr, inputs, [result])
        return result

    def conv(name: str, x: int, activation: str, stride: int, padding: str, around: int = 0) -> int:
        kernel = WEIGHTS[name].shape[2:]
        groups = 16 if name == "depthwise" else 1
        operands = (x, constant(WEIGHTS[name]), constant(BIASES[name]))
        kind = schema.ActivationType[activation]
        if newer:
            mode, pads = lite.PadMode[padding], (around,) * 4
            attr: Any = lite.Conv2DFusion(
                kernel_size=kernel, stride=(stride,) * 2, dilation=(1, 1), pad_mode=mode, pad_list=pads, group=groups,
                activation_type=kind,
            )  # fmt: skip
            return then(attr, *operands)
        said = {
            "kernelH": kernel[0], "kernelW": kernel[1], "strideH": stride, "strideW": stride,
            "padMode": old.PadMode.SAME_UPPER if padding == "SAME" else old.PadMode.NOTSET,
            "padUp": around, "padDown": around, "padLeft": around, "padRight": around, "activationType": kind,
        }  # fmt: skip
        attr = old.DepthwiseConv2D(channelIn=16, **said) if groups > 1 else old.Conv2D(group=1, **said)
        return then(attr, *operands)

    stem = conv("stem", model.input(nhwc(X).shape, dtype), "RELU6", 2, "SAME")
    deep = conv("depthwise", conv("expand", stem, "RELU", 1, "PAD"), "NO_ACTIVATION", 1, "PAD", 1)
    kind = {"activation_type" if newer else "type": schema.ActivationType.HSWISH}
    flat = conv("project", then(schema.Activation(**kind), deep), "NO_ACTIVATION", 1, "PAD")
    total = then(lite.AddFusion() if newer else old.Add(), flat, stem)
    if newer:
        half = then(lite.MaxPoolFusion(kernel_size=(2, 2), strides=(2, 2)), total)
        half_pixel: Any = {"coordinate_transform_mode": lite.CoordinateTransformMode.HALF_PIXEL}
        big = then(lite.Resize(method=lite.ResizeMethod.LINEAR, new_height=8, new_width=8, **half_pixel), half)
        wide = then(lite.Concat(-1), big, stem)
        mean = then(lite.ReduceFusion(mode=lite.ReduceMode.ReduceMean), wide, constant(ints(1, 2)))
    else:
        half = then(old.Pooling(windowH=2, windowW=2, strideH=2, strideW=2), total)
        half_pixel = {"coordinateTransformMode": old.CoordinateTransformMode.HALF_PIXEL}
        big = then(old.Resize(newHeight=8, newWidth=8, **half_pixel), half)
        wide = then(old.Concat(-1), big, stem)
        mean = then(
            old.Reshape(shape=(2, -1)), then(old.Pooling(poolingMode=old.PoolMode.MEAN_POOLING, global_=True), wide)
        )
    dense = (mean, constant(WEIGHTS["dense"]), constant(BIASES["dense"]))
    logits = then(lite.MatMulFusion(transpose_b=True) if newer else old.FullConnection(hasBias=True), *dense)
    model.outputs += [then(lite.Softmax((-1,)) if newer else old.SoftMax(), logits), wide]
    return model.write()


@pytest.mark.parametrize("schema", [old, lite])
@pytest.mark.parametrize(("dtype", "room"), [(np.float32, 1e-5), (np.float16, 1e-2)])
def test_the_network(schema: Any, dtype: Any, room: float) -> None:
    chances, wide = in_onnx()
    data = in_lite(schema, dtype)
    for reference in (False, True):
        found = run_file(data, [nhwc(X).astype(dtype)], reference=reference)
        for got, want in zip(found, (chances, nhwc(wide)), strict=True):
            assert (got.dtype, got.shape) == (dtype, want.shape)
            np.testing.assert_allclose(got.astype(np.float64), want, rtol=room, atol=room)
