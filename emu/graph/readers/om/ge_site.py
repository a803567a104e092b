"""One op of a graph-style ModelDef while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emu.errors import GraphStatus
from emu.graph.ir import Graph, Layout, Node, Shape, Tensor
from emu.graph.ops import Op, OpError
from emu.graph.ops.activation import NO_EPILOGUE, Epilogue, Function
from emu.graph.ops.configured import Configured, integers_of
from emu.graph.ops.window import Pair
from emu.graph.readers.om.ge_attrs import Attrs
from emu.graph.readers.om.params import alpha_of

FORMAT_NHWC = 1


MATRIX_PRODUCTS = ("MatMul", "MatMulV2", "BatchMatMul", "BatchMatMulV2")


def bare(shape: Shape) -> Shape:
    """Dims without those of 1."""
    return tuple(size for size in shape if size != 1)


def exchanged(constant: Tensor, read_as: Shape | None) -> bool:
    """Whether a constant matrix is stored with its two dims the other way round than its op reads it."""
    if constant.value is None or read_as is None:
        return False
    stored, read = bare(constant.op_shape), bare(read_as)
    return len(stored) == 2 and constant.op_shape[:2] == stored and stored != read and stored == read[::-1]


@dataclass(slots=True)
class OpReader:
    """The op's node, its attributes and WEIGHTS_DATA."""

    graph: Graph
    node: Node
    attrs: Attrs
    weights: memoryview | None

    def input(self, place: int = 0) -> Tensor:
        at = self.node.inputs[place] if 0 <= place < len(self.node.inputs) else None
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

    def need_outputs(self, count: int) -> None:
        """Refuse any other number of results."""
        if len(self.node.outputs) != count:
            raise OpError(f"gives {count} results, the file has {len(self.node.outputs)}", "output_desc")

    def configured(self, make: Callable[..., Op], *sources: tuple[int, tuple[str, ...]]) -> Op:
        """The op that `make` gives for lists of integers: each is the attribute with one of the names, or else an
        operand. Places ascend, and are those of the form of the op in which every list is an operand.

        A list that is a constant is no operand afterwards; one that only the run knows makes a Configured op.
        """
        lists: list[tuple[int, ...] | None] = []
        places: list[int] = []
        kept = list(range(len(self.node.inputs)))
        taken = 0  # attributes stand for operands that are not there: those behind them move up
        for place, names in sources:
            if self.attrs.find(*names) is not None:
                lists.append(self.attrs.flat(*names) if not self._is_one(*names) else (self.attrs.integer(*names),))
                taken += 1
                continue
            at = place - taken
            if not 0 <= at < len(self.node.inputs):
                raise OpError("is missing", names[-1], GraphStatus.OM_MODEL)
            operand = self.input(at)
            if operand.value is None:
                lists.append(None)
                places.append(at)
            else:
                lists.append(integers_of(operand.value, names[-1]))
                kept.remove(at)
        self.reorder(tuple(self.node.inputs[at] for at in kept))
        if not places:
            return make(*lists)
        found = tuple(lists)

        def late(*given: tuple[int, ...]) -> Op:
            rest = iter(given)
            return make(*(next(rest) if each is None else each for each in found))

        names_of = tuple(names[-1] for (_, names), each in zip(sources, found, strict=True) if each is None)
        return Configured(late, tuple(kept.index(at) for at in places), names_of, len(kept))

    def _is_one(self, *names: str) -> bool:
        found = self.attrs.find(*names)
        return found is not None and found[1].WhichOneof("value") in ("i", "b")

    def spatial(self) -> Callable[[str, Pair | None], Pair]:
        """A getter of [h, w] out of four values in data_format order; a default of None means required."""
        order = self.attrs.text("data_format", default="NCHW")

        def get(name: str, default: Pair | None) -> Pair:
            values = self.attrs.integers(name, **({} if default is None else {"default": ()}))
            if not values and default is not None:
                return default
            if len(values) != 4 or order not in ("NCHW", "NHWC"):
                raise OpError(f"{list(values)} in {order}", name)
            return values[order.index("H")], values[order.index("W")]

        return get

    def is_image(self, tensor: Tensor) -> bool:
        """Whether the tensor is the YUV420SP image that an AIPP reads."""
        return tensor.dtype == np.uint8 and len(tensor.shape) == 3 and tensor.layout is Layout.ND

    @property
    def channel_last(self) -> bool:
        """NHWC by the layout of x, or by `format` where the layout does not tell (om-format.md 8)."""
        layout = self.input().layout
        if layout in (Layout.NHWC, Layout.NC1HWC0):
            return layout is Layout.NHWC
        if layout is not Layout.NCHW and "data_format" in self.attrs:
            return self.attrs.text("data_format") == "NHWC"
        return self.attrs.integer("format", "original_format", default=0) == FORMAT_NHWC

    @property
    def channel_axis(self) -> int:
        return len(self.shape()) - 1 if self.channel_last else 1

    def alpha(self) -> float:
        """graph-conventions.md OM-G6."""
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


Meaning = Callable[[OpReader], Op | None]
"""Turns the attributes of an op into an op of the IR; None for one that computes nothing."""
