"""One op of a graph-style ModelDef while it is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Graph, Layout, Node, Shape, Tensor
from emu.graph.ops import OpError
from emu.graph.ops.activation import NO_EPILOGUE, Epilogue, Function
from emu.graph.readers.om_ge_attrs import Attrs
from emu.graph.readers.om_params import alpha_of

FORMAT_NHWC = 1


@dataclass(slots=True)
class OpReader:
    """The op's node, its attributes and WEIGHTS_DATA."""

    graph: Graph
    node: Node
    attrs: Attrs
    weights: memoryview | None

    def input(self, place: int = 0) -> Tensor:
        at = self.node.inputs[place] if place < len(self.node.inputs) else None
        if at is None:
            raise OpError(f"needs input {place}, which is absent", status=GraphStatus.GRAPH_STRUCTURE)
        return self.graph.tensors[at]

    def output(self) -> Tensor:
        if not self.node.outputs:
            raise OpError("is missing", "output_desc", GraphStatus.GRAPH_STRUCTURE)
        return self.graph.tensors[self.node.outputs[0]]

    def read_as(self, place: int) -> Shape | None:
        return self.node.input_shapes[place] if place < len(self.node.input_shapes) else None

    def shape(self, place: int = 0) -> Shape:
        """The dims under which the op sees an operand."""
        return self.read_as(place) or self.input(place).op_shape

    def reorder(self, inputs: tuple[int | None, ...]) -> None:
        """Give the node its operands in another order."""
        old = self.node.inputs
        shapes = {at: self.read_as(place) for place, at in enumerate(old)}
        self.node.inputs = inputs
        self.node.input_shapes = tuple(shapes.get(at) for at in inputs)

    def is_image(self, tensor: Tensor) -> bool:
        """Whether the tensor is the YUV420SP image that an AIPP reads."""
        return tensor.dtype == np.uint8 and len(tensor.shape) == 3 and tensor.layout is Layout.ND

    @property
    def channel_last(self) -> bool:
        """NHWC by the layout of x, or by `format` where the layout does not tell (om-format.md 8)."""
        layout = self.input().layout
        if layout in (Layout.NHWC, Layout.NC1HWC0):
            return layout is Layout.NHWC
        return self.attrs.integer("format", "original_format", default=0) == FORMAT_NHWC

    @property
    def channel_axis(self) -> int:
        return len(self.shape()) - 1 if self.channel_last else 1

    def alpha(self) -> float:
        """CONVENTIONS OM-G6."""
        return alpha_of(self.attrs.number("alpha", default=0.0), self.attrs.number("beta", default=0.0))

    def epilogue(self) -> Epilogue:
        """alpha, then relu_flag; relu_mode 2 is relu6 (om-format.md 6)."""
        alpha = self.alpha()
        if not self.attrs.boolean("relu_flag", default=False):
            return Epilogue(alpha) if alpha != 1 else NO_EPILOGUE
        mode = self.attrs.integer("relu_mode", default=1)
        function = {0: Function.RELU, 1: Function.RELU, 2: Function.RELU6}.get(mode)
        if function is None:
            raise OpError(f"unknown mode {mode}", "relu_mode", GraphStatus.GRAPH_UNSUPPORTED)
        return Epilogue(alpha, function)
