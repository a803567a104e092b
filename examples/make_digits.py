"""Makes examples/digits.onnx and examples/digits.hef: a network that reads handwritten digits, and a HEF around it.

    python examples/make_digits.py [FOLDER]          (needs scikit-learn and onnx)

The network is trained on scikit-learn's digits: 8x8 pixels -> 24 -> 10 scores. The HEF has its streams, names and
quantisation as a compiler would write them, but no weights: it shows what `--reference` is for. Its input takes pixels
of 0..255; dividing them by 255 is folded into the chip, which digits.alls says in the compiler's own words.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from emu.hef import builder, model
from emu.hef import operations as ops
from emu.hef.enums import EdgeConnectionType, EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.writer import HefContents, write_hef

NAME = "digits"
HIDDEN, CLASSES, SIDE = 24, 10, 8
TRAINING_IMAGES = 1200  # the rest tests
PIXEL_SCALE = 255 / 16  # scikit-learn's pixels go to 16
TIMESTAMP_MS = 1_704_067_200_000  # 2024-01-01T00:00:00Z

H2D, D2H = EdgeLayerDirection.HOST_TO_DEVICE, EdgeLayerDirection.DEVICE_TO_HOST
# ccw.md: a record is words - 1, address, words. Nothing here raises a config-done, so that the configuration counts as
# made up (units.md 0): it stays opaque, and the wait is for what was fetched
INPUT_TABLE = 0x20200000


def pixels() -> tuple[Any, Any]:
    """All images as uint8 [n, 8, 8, 1] of 0..255, and their labels."""
    import numpy as np
    from sklearn.datasets import load_digits

    found = load_digits()
    return np.rint(found.images * PIXEL_SCALE).astype(np.uint8)[..., None], found.target


def train() -> list[tuple[Any, Any]]:
    """Weights and biases of both layers, float32."""
    from sklearn.neural_network import MLPClassifier

    images, labels = pixels()
    flat = images[:TRAINING_IMAGES].reshape(-1, SIDE * SIDE) / 255.0
    network = MLPClassifier((HIDDEN,), alpha=1e-3, max_iter=600, random_state=0).fit(flat, labels[:TRAINING_IMAGES])
    return [
        (weights.astype("float32"), bias.astype("float32"))
        for weights, bias in zip(network.coefs_, network.intercepts_, strict=True)
    ]


def onnx_model(layers: Sequence[tuple[Any, Any]]) -> Any:
    """Flatten, Gemm, Relu, Gemm, named as PyTorch's exporter names them."""
    from onnx import TensorProto, helper, numpy_helper

    weights = [
        numpy_helper.from_array(array, f"fc{place}.{what}")
        for place, pair in enumerate(layers, 1)
        for what, array in zip(("weight", "bias"), pair, strict=True)
    ]
    nodes = [
        helper.make_node("Flatten", ["image"], ["/Flatten_output_0"], name="/Flatten"),
        helper.make_node(
            "Gemm", ["/Flatten_output_0", "fc1.weight", "fc1.bias"], ["/fc1/Gemm_output_0"], name="/fc1/Gemm"
        ),
        helper.make_node("Relu", ["/fc1/Gemm_output_0"], ["/Relu_output_0"], name="/Relu"),
        helper.make_node("Gemm", ["/Relu_output_0", "fc2.weight", "fc2.bias"], ["scores"], name="/fc2/Gemm"),
    ]
    graph = helper.make_graph(
        nodes,
        NAME,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", CLASSES])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ccw(address: int, words: list[int]) -> ops.ActionWriteDataCcw:
    data = struct.pack(f"<II{len(words)}I", len(words) - 1, address, *words)
    return ops.ActionWriteDataCcw(data + bytes(-len(data) % 8), 0)


def network(
    name: str,
    inputs: Iterable[model.EdgeLayerInfo],
    outputs: Iterable[model.EdgeLayerInfo],
    *,
    post_process: Iterable[model.Op] = (),
    pad_edges: Iterable[tuple[int, int]] = (),
    sorted_outputs: Iterable[str] = (),
) -> HefContents:
    """A single context that lets its inputs in and waits for its outputs; output number k is pad k."""
    inputs, outputs, post_process = list(inputs), list(outputs), list(post_process)
    module = 9
    start = [ccw(INPUT_TABLE, [0] * 8), ops.ActionWaitForModuleConfigDone(module)]
    allowed = [
        ops.ActionAllowInputDataflow(layer.edge_layer_base.sys_index, EdgeConnectionType.BOUNDARY) for layer in inputs
    ]
    waits = [
        builder.operation(ops.TriggerAllDataWasSentToHostPCIe(layer.edge_layer_base.sys_index)) for layer in outputs
    ]
    edges = [builder.edge_layer(layer, H2D) for layer in inputs]
    edges += [builder.edge_layer(layer, D2H, pad_index=pad) for pad, layer in enumerate(outputs)]
    core = builder.core_op(
        name,
        [builder.context([builder.operation(ops.TriggerNone(), *allowed), *waits], edges)],
        preliminary=[builder.operation(ops.TriggerNone(), *start)],
        sorted_outputs=list(sorted_outputs) or [layer.name for layer in outputs],
        networks=[name],
        bottleneck_fps=1000.0,
    )
    extensions, group = [], builder.network_group(core)
    if post_process:
        group = builder.net_flow_group(core, post_process, pad_edges, sorted_outputs=sorted_outputs)
        extensions = [ExtensionType.HAILO_NET_FLOW]
    return builder.hef_contents(
        HwArch.HAILO8P,
        [group],
        extensions=extensions,
        optional_extensions=[ExtensionType.HW_PADDING],
        timestamp=TIMESTAMP_MS,
    )


def calibrated(low: float, high: float, highest_code: int = 255) -> model.EdgeLayerNumericInfo:
    """Quantisation of a range: the zero point is whole, as compilers make it."""
    scale = (high - low) / highest_code
    zp = round(-low / scale)
    return builder.numeric_info(zp=zp, scale=scale, limvals_min=-zp * scale, limvals_max=(highest_code - zp) * scale)


def digits_input() -> model.EdgeLayerInfo:
    return builder.layer_info(
        f"{NAME}/input_layer1",
        builder.layer_base(Shape(SIDE, SIDE, 1), sys_index=0),
        original_names=["model_script_layer_normalization1"],
    )


def digits_output(low: float, high: float) -> model.EdgeLayerInfo:
    """Ten scores, padded to whole words on the wire."""
    shape = Shape(1, 1, CLASSES)
    base = builder.layer_base(shape, padded=Shape(1, 1, 16), format=builder.COMPILER_FORMAT_NC, sys_index=8)
    return builder.layer_info(f"{NAME}/fc2", base, calibrated(low, high), original_names=["/fc2/Gemm"])


def score_range(layers: Sequence[tuple[Any, Any]]) -> tuple[float, float]:
    """What calibration on the training images sees."""
    import numpy as np

    images, _ = pixels()
    flat = images[:TRAINING_IMAGES].reshape(-1, SIDE * SIDE) / 255.0
    (first, first_bias), (second, second_bias) = layers
    scores = np.maximum(flat @ first + first_bias, 0) @ second + second_bias
    return float(scores.min()), float(scores.max())


def main(argv: list[str]) -> None:
    folder = Path(argv[1]) if len(argv) > 1 else Path(__file__).parent
    layers = train()
    (folder / f"{NAME}.onnx").write_bytes(onnx_model(layers).SerializeToString())
    contents = network(NAME, [digits_input()], [digits_output(*score_range(layers))])
    (folder / f"{NAME}.hef").write_bytes(write_hef(contents, version=2))
    (folder / f"{NAME}.alls").write_text("normalization1 = normalization([0.0], [255.0])\n")


if __name__ == "__main__":
    main(sys.argv)
