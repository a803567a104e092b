"""Small HEFs and the ONNX models behind them, made when a test runs: a YOLOv8 head, argmax, softmax, two inputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from emu.hef import builder, model
from emu.hef.enums import DataType, FormatOrder, FormatType, LogitsType
from emu.hef.formats import Shape
from emu.hef.writer import write_hef
from tests.scripts import script

digits = script("examples/make_digits.py")

FIRST_OP_PAD = 100


@dataclass(frozen=True, slots=True)
class Pair:
    """A HEF and the model it stands for."""

    hef: Path
    onnx: Path


def pad(index: int, name: str = "") -> model.Pad:
    zero = builder.numeric_info(0.0, 0.0, 0.0, 0.0)
    return model.Pad(index, name, FormatOrder.AUTO, DataType.UINT8, FormatType.AUTO, zero, None)


def layer(name: str, shape: Shape, sys_index: int, numeric=None, original=(), **more) -> model.EdgeLayerInfo:
    return builder.layer_info(
        name, builder.layer_base(shape, sys_index=sys_index, **more), numeric, original_names=original
    )


def onnx_file(path: Path, nodes, inputs, outputs, weights) -> Path:
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        tensors,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    path.write_bytes(made.SerializeToString())
    return path


# --- a YOLOv8 head --------------------------------------------------------------------------------------------------

YOLO_IMAGE = (32, 64)  # height, width
YOLO_STRIDES = (8, 16)
YOLO_CLASSES, YOLO_REG = 3, 16
YOLO_THRESHOLD, YOLO_IOU = 0.35, 0.5
YOLO_CODES = 65535  # 16 bits: hardly two boxes have one score, whose order would be the library's own


def yolov8(folder: Path, *, sigmoid_in_model: bool = False, image=YOLO_IMAGE, edit=lambda op: op) -> Pair:
    """Strided convolutions and, per stride, a box and a class head; the HEF's class streams hold probabilities."""
    rng = np.random.default_rng(8)
    height, width = YOLO_IMAGE
    nodes, weights, outputs = [], {}, {}
    layers, decoders = [], []
    for place, stride in enumerate(YOLO_STRIDES):
        for head, features in (("cv2", 4 * (YOLO_REG // 4)), ("cv3", YOLO_CLASSES)):
            node = f"/model.22/{head}.{place}/{head}.{place}.2/Conv"
            kernel = rng.normal(0, 0.03 if head == "cv3" else 0.05, (features, 3, stride, stride)) / stride
            weights[f"{node}.w"], weights[f"{node}.b"] = (
                kernel / 6,
                rng.normal(-1.0 if head == "cv3" else 0.5, 0.4, features),
            )
            nodes.append(
                helper.make_node(
                    "Conv", ["images", f"{node}.w", f"{node}.b"], [f"{node}_output_0"], name=node, strides=[stride] * 2
                )
            )
            tensor = f"{node}_output_0"
            if head == "cv3":
                nodes.append(helper.make_node("Sigmoid", [tensor], [f"scores{place}"], name=f"/Sigmoid_{place}"))
                tensor = f"scores{place}"
            outputs[tensor] = [1, features, height // stride, width // stride]
            shape = Shape(height // stride, width // stride, features)
            index = len(layers)
            numeric = (
                builder.numeric_info(0.0, 1 / YOLO_CODES, 0.0, 1.0)
                if head == "cv3"
                else digits.calibrated(-12.0, 12.0, YOLO_CODES)
            )
            original = "/Sigmoid_" + str(place) if sigmoid_in_model and head == "cv3" else node
            layers.append(layer(f"yolo/conv{41 + index}", shape, 8 + index, numeric, [original], data_bytes=2))
        decoders.append(model.Yolov8BboxDecoder(stride, 2 * place, 2 * place + 1))
    op = model.NmsOp(
        YOLO_THRESHOLD,
        YOLO_IOU,
        100,
        YOLO_CLASSES,
        False,
        0,
        False,
        model.Yolov8NmsOp(float(image[0]), float(image[1]), 1, tuple(decoders), YOLO_REG // 4),
    )
    pads = [FIRST_OP_PAD + index for index in range(len(layers))]
    node = model.Op("yolo/nms", tuple(pad(index) for index in pads), (pad(0, "yolo/nms"),), edit(op))
    contents = digits.network(
        "yolo",
        [layer("yolo/input_layer1", Shape(height, width, 3), 0)],
        layers,
        post_process=[node],
        pad_edges=list(enumerate(pads)),
        sorted_outputs=["yolo/nms"],
    )
    (folder / "yolo.hef").write_bytes(write_hef(contents, version=2))
    return Pair(
        folder / "yolo.hef",
        onnx_file(folder / "yolo.onnx", nodes, {"images": ["n", 3, height, width]}, outputs, weights),
    )


def yolov5_seg(folder: Path) -> Path:
    """One grid of one anchor with masks over prototypes of half its picture's size; only the HEF."""
    layers = [
        layer("seg/conv1", Shape(4, 8, 38), 8, digits.calibrated(-4.0, 4.0)),
        layer("seg/proto", Shape(16, 32, 32), 9, digits.calibrated(-1.0, 1.0)),
    ]
    decoder = model.YoloBboxDecoder((8,), (12,), 8, 0)
    kind = model.YoloSegNmsOp(32.0, 64.0, (decoder,), model.YoloSegProtoInfo(0, 2, "seg/proto"), 0.5)
    op = model.NmsOp(0.3, 0.6, 20, 1, False, 0, False, kind)
    pads = [FIRST_OP_PAD, FIRST_OP_PAD + 1]
    contents = digits.network(
        "seg",
        [layer("seg/input_layer1", Shape(32, 64, 3), 0)],
        layers,
        post_process=[model.Op("seg/nms", tuple(pad(index) for index in pads), (pad(0, "seg/nms"),), op)],
        pad_edges=list(enumerate(pads)),
        sorted_outputs=["seg/nms"],
    )
    (folder / "seg.hef").write_bytes(write_hef(contents, version=2))
    return folder / "seg.hef"


# --- logits on the host, shapes that say nothing, two inputs --------------------------------------------------------

CUBE = 8


def cube(folder: Path, logits: LogitsType | None = None) -> Pair:
    """8x8x8 in every order; with an argmax or softmax op behind it on the host."""
    rng = np.random.default_rng(3)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["/head/conv_output_0"], name="/head/conv/Conv")]
    weights = {"w": rng.normal(0, 0.02, (CUBE, 3, 1, 1)), "b": rng.normal(0, 1, CUBE)}
    out = layer("cube/conv7", Shape(CUBE, CUBE, CUBE), 8, digits.calibrated(-16.0, 16.0), ["/head/conv/Conv"])
    post, edges, names = [], [], ["cube/conv7"]
    if logits is not None:
        body = model.LogitsOp(logits)
        post = [model.Op("cube/post", (pad(FIRST_OP_PAD),), (pad(0, "cube/post"),), body)]
        edges, names = [(0, FIRST_OP_PAD)], ["cube/post"]
    contents = digits.network(
        "cube",
        [layer("cube/input_layer1", Shape(CUBE, CUBE, 3), 0)],
        [out],
        post_process=post,
        pad_edges=edges,
        sorted_outputs=names,
    )
    (folder / "cube.hef").write_bytes(write_hef(contents, version=2))
    shape = [1, CUBE, CUBE, CUBE]
    return Pair(
        folder / "cube.hef",
        onnx_file(folder / "cube.onnx", nodes, {"x": [1, 3, CUBE, CUBE]}, {"/head/conv_output_0": shape}, weights),
    )


def two_inputs(folder: Path) -> Pair:
    """left - 2 * right, both 4x4x3, and a mask 4x4x1 added to all features."""
    nodes = [
        helper.make_node("Mul", ["right", "two"], ["/Mul_output_0"], name="/Mul"),
        helper.make_node("Sub", ["left", "/Mul_output_0"], ["/Sub_output_0"], name="/Sub"),
        helper.make_node("Add", ["/Sub_output_0", "mask"], ["/Add_output_0"], name="/Add"),
    ]
    shape = Shape(4, 4, 3)
    inputs = [
        layer("pair/input_layer1", shape, 0, None, ["right"]),
        layer("pair/input_layer2", Shape(4, 4, 1), 1),
        layer("pair/input_layer3", shape, 2, None, ["left"]),
    ]
    out = layer("pair/ew1", shape, 8, digits.calibrated(-510.0, 510.0), ["/Sub", "/Add"])
    contents = digits.network("pair", inputs, [out])
    (folder / "pair.hef").write_bytes(write_hef(contents, version=2))
    model_inputs = {"left": [1, 3, 4, 4], "mask": [1, 1, 4, 4], "right": [1, 3, 4, 4]}
    path = onnx_file(
        folder / "pair.onnx", nodes, model_inputs, {"/Add_output_0": [1, 3, 4, 4]}, {"two": np.float32([2.0])}
    )
    return Pair(folder / "pair.hef", path)
