"""Networks built twice from one description: as a domi .om model and as an ONNX model, for comparison and timing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from emu.graph.writers.om import Constants, write_om
from emu.schemas import om_pb2

NCHW, ND = 0, 2


@dataclass
class Net:
    """Adds layers to both models; every method returns the name of its result. All maps are NCHW float32, batch 1."""

    name: str
    shape: tuple[int, int, int, int]
    seed: int = 0
    model: om_pb2.ModelDef = field(default_factory=om_pb2.ModelDef)
    constants: Constants = field(default_factory=Constants.empty)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initialisers: list[onnx.TensorProto] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.model.name = self.name
        self.model.stream_num = 1
        self._op("data", "Data", [], self.shape)

    def _op(self, name: str, kind: str, sources: list[str], shape: tuple[int, ...]) -> om_pb2.OpDef:
        op = self.model.op.add(name=name, type=kind)
        for source in sources:
            op.src_name.append(source)
            op.src_index.append(0)
            op.input_desc.add(format=NCHW, dim=self.shapes[source])
        op.output_desc.add(format=NCHW, dim=shape)
        self.shapes[name] = shape
        return op

    def _weight(self, target: om_pb2.WeightDef, value: np.ndarray, name: str) -> str:
        target.format = NCHW if value.ndim == 4 else ND
        target.shape.dim.extend(value.shape)
        target.data_offset = self.constants.add(value.tobytes())
        self.initialisers.append(numpy_helper.from_array(value, name))
        return name

    def _normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def conv(
        self, name: str, x: str, units: int, kernel: int, stride: int = 1, relu: bool = True, depthwise: bool = False
    ) -> str:
        _, channels, height, width = self.shapes[x]
        pad = kernel // 2
        units = channels if depthwise else units
        inner = 1 if depthwise else channels
        out = (height + 2 * pad - kernel) // stride + 1, (width + 2 * pad - kernel) // stride + 1
        op = self._op(name, "Convolution", [x], (1, units, *out))
        param = op.convolution_param
        param.mode, param.num_output, param.relu_flag = (3 if depthwise else 1), units, relu
        param.pad.extend([pad] * 4)
        param.stride.extend([stride] * 2)
        param.kernel.extend([kernel] * 2)
        scale = (2.0 / (inner * kernel * kernel)) ** 0.5
        names = [
            x,
            self._weight(param.filter, self._normal(units, inner, kernel, kernel, scale=scale), f"{name}.w"),
            self._weight(param.bias, self._normal(units, scale=0.1), f"{name}.b"),
        ]
        result = f"{name}.sum" if relu else name
        self.nodes.append(
            helper.make_node(
                "Conv", names, [result], strides=[stride] * 2, pads=[pad] * 4, group=channels if depthwise else 1
            )
        )
        if relu:
            self.nodes.append(helper.make_node("Relu", [result], [name]))
        return name

    def add(self, name: str, a: str, b: str, relu: bool = True) -> str:
        op = self._op(name, "Eltwise", [a, b], self.shapes[a])
        op.eltwise_param.mode, op.eltwise_param.relu_flag = 1, relu
        result = f"{name}.sum" if relu else name
        self.nodes.append(helper.make_node("Add", [a, b], [result]))
        if relu:
            self.nodes.append(helper.make_node("Relu", [result], [name]))
        return name

    def max_pool(self, name: str, x: str, window: int, stride: int, pad: int = 0) -> str:
        _, channels, height, width = self.shapes[x]
        out = (height + 2 * pad - window) // stride + 1, (width + 2 * pad - window) // stride + 1
        op = self._op(name, "Pooling", [x], (1, channels, *out))
        param = op.pooling_param
        param.window.extend([window] * 2)
        param.stride.extend([stride] * 2)
        param.pad.extend([pad] * 4)
        self.nodes.append(
            helper.make_node("MaxPool", [x], [name], kernel_shape=[window] * 2, strides=[stride] * 2, pads=[pad] * 4)
        )
        return name

    def global_average(self, name: str, x: str) -> str:
        op = self._op(name, "Pooling", [x], (1, self.shapes[x][1], 1, 1))
        op.pooling_param.mode, op.pooling_param.global_pooling = 1, True
        self.nodes.append(helper.make_node("GlobalAveragePool", [x], [name]))
        return name

    def full_connection(self, name: str, x: str, units: int) -> str:
        length = int(np.prod(self.shapes[x][1:]))
        op = self._op(name, "FullConnection", [x], (1, units))
        param = op.full_connection_param
        param.num_output = units
        weight = self._weight(param.filter, self._normal(units, length, scale=length**-0.5), f"{name}.w")
        bias = self._weight(param.bias, self._normal(units, scale=0.1), f"{name}.b")
        self.nodes += [
            helper.make_node("Flatten", [x], [f"{name}.flat"]),
            helper.make_node("Gemm", [f"{name}.flat", weight, bias], [name], transB=1),
        ]
        return name

    def om(self, result: str) -> bytes:
        op = self.model.op.add(name="Node_Output", type="NetOutput")
        op.src_name.append(result)
        op.src_index.append(0)
        return write_om(self.model, bytes(self.constants.data))

    def onnx(self, result: str) -> bytes:
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info("data", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, self.shapes[result])],
            self.initialisers,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return bytes(model.SerializeToString())


def residual(size: int = 224, width: int = 64, blocks: tuple[int, ...] = (2, 2, 2, 2)) -> tuple[Net, str]:
    """ResNet-18 by default: no depthwise convolution."""
    net = Net("residual", (1, 3, size, size))
    x = net.max_pool("pool", net.conv("stem", "data", width, 7, 2), 3, 2, 1)
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            units, label = width << stage, f"s{stage}b{block}"
            y = net.conv(f"{label}.c1", x, units, 3, stride)
            y = net.conv(f"{label}.c2", y, units, 3, relu=False)
            same = net.shapes[x] == net.shapes[y]
            shortcut = x if same else net.conv(f"{label}.c0", x, units, 1, stride, relu=False)
            x = net.add(label, shortcut, y)
    return net, net.full_connection("fc", net.global_average("gap", x), 1000)


def separable(size: int = 224, width: int = 32) -> tuple[Net, str]:
    """MobileNet v1: every second convolution is depthwise."""
    net = Net("separable", (1, 3, size, size))
    x = net.conv("stem", "data", width, 3, 2)
    plan = [(2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), *[(16, 1)] * 5, (32, 2), (32, 1)]
    for place, (factor, stride) in enumerate(plan):
        x = net.conv(f"d{place}", x, 0, 3, stride, depthwise=True)
        x = net.conv(f"p{place}", x, width * factor, 1)
    return net, net.full_connection("fc", net.global_average("gap", x), 1000)


def plain(size: int = 112) -> tuple[Net, str]:
    """Plain 3x3 and 1x1 convolutions on small maps, without skip connections (VGG-like)."""
    net = Net("plain", (1, 3, size, size))
    x = "data"
    for stage, units in enumerate((32, 64, 128, 256)):
        x = net.conv(f"a{stage}", x, units, 3)
        x = net.conv(f"b{stage}", x, units, 3)
        x = net.max_pool(f"p{stage}", x, 2, 2)
    return net, net.full_connection("fc", x, 100)
