"""A graph as an ONNX model: one or several ONNX operators a node, float16 stored and float32 computed as the executor
does it, quantised tensors dequantised and quantised, packed ones unpacked and packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from emu import __version__
from emu.errors import GraphError, GraphStatus
from emu.graph import layouts
from emu.graph.ir import Array, Graph, Layout, Node, Operand, OpError, Quantisation, Shape, Tensor, node_error
from emu.graph.ops.aipp import Preceded
from emu.graph.ops.call import Call
from emu.graph.plan import make_plan, read_shape
from emu.graph.step import same_quantisation
from emu.graph.writers.onnx import folds, images, moves, pointwise, products
from emu.graph.writers.onnx.builder import EMITTERS, OPSET, Builder, Site, emit, no_counterpart
from emu.graph.writers.onnx.tidy import without_idle_casts

__all__ = ["export", "folds", "images", "moves", "pointwise", "products"]

IR_VERSION = 9


def export(graph: Graph) -> onnx.ModelProto:
    """The model; inputs and outputs have the names of the graph's.

    Raises GraphError: what `make_plan` refuses, or GRAPH_UNSUPPORTED for an op without a counterpart in ONNX.
    """
    plan = make_plan(graph)
    builder = Builder()
    ports = [*graph.inputs, *graph.outputs]
    builder.used.update(port.name for port in ports)
    names: dict[int, str] = {port.tensor: port.name for port in graph.inputs}
    # a result whose only port has another name is called by the port
    for port in graph.outputs:
        if graph.tensors[port.tensor].value is None:
            names.setdefault(port.tensor, port.name)
    _Writer(graph, builder, names).write(plan.order)
    for port in graph.outputs:
        if names.get(port.tensor) != port.name:
            builder.add("Identity", _constant_or_name(builder, graph, names, port.tensor), name=port.name)
    model = helper.make_model(
        helper.make_graph(
            builder.nodes,
            graph.name or "graph",
            [_value_info(port.name, graph.tensors[port.tensor]) for port in graph.inputs],
            [_value_info(port.name, graph.tensors[port.tensor]) for port in graph.outputs],
            builder.initialisers,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="emu",
        producer_version=__version__,
    )
    size = model.ByteSize()
    if size >= 1 << 31:
        raise GraphError(GraphStatus.GRAPH_UNSUPPORTED, f"the model takes {size} bytes, ONNX files end at 2 GiB")
    return without_idle_casts(model)


def _value_info(name: str, tensor: Tensor) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(tensor.dtype), tensor.shape)


def _constant_or_name(builder: Builder, graph: Graph, names: dict[int, str], at: int) -> str:
    value = graph.tensors[at].value
    if at not in names and value is not None:
        names[at] = builder.constant(value, wanted=graph.tensors[at].name)
    return names[at]


class _Writer:
    """Writes the nodes of one graph; `names` are those of its tensors."""

    def __init__(self, graph: Graph, builder: Builder, names: dict[int, str]) -> None:
        self._graph, self._builder, self._names = graph, builder, names

    def write(self, order: tuple[int, ...]) -> None:
        for place in order:
            node = self._graph.nodes[place]
            if node.op is None:
                continue
            try:
                self._write_node(node)
            except OpError as error:
                raise node_error(
                    self._graph, node, error.message, status=error.status, attribute=error.attribute
                ) from error

    def _write_node(self, node: Node) -> None:
        b, graph, op = self._builder, self._graph, node.op
        assert op is not None
        exact = op.exact and same_quantisation(graph, node)
        count = len(node.inputs)
        quantisations = (None,) * (count + len(node.outputs)) if exact else node.quantisations
        quantisations = quantisations or (None,) * (count + len(node.outputs))
        names, operands = [], []
        for place, at in enumerate(node.inputs):
            found = None if at is None else self._operand(node, place, at, quantisations[place], exact)
            names.append(None if found is None else found[0])
            operands.append(None if found is None else found[1])
        tensors = [graph.tensors[at] for at in node.outputs]
        if not tensors:
            return
        shapes = tuple(tensor.op_shape for tensor in tensors)
        site = Site(b, tuple(names), tuple(operands), shapes, tensors[0].dtype)
        if isinstance(op, Call):
            results = self._called(op, site)
        elif isinstance(op, Preceded):
            results = _preceded(op, site)
        else:
            results = emit(op, site)
        for at, name, quantisation in zip(node.outputs, results, quantisations[count:], strict=False):
            self._store(at, name, quantisation)

    def _operand(
        self, node: Node, place: int, at: int, quantisation: Quantisation | None, exact: bool
    ) -> tuple[str, Operand]:
        """The name of an operand as the op takes it, and what the op sees of it."""
        b, tensor = self._builder, self._graph.tensors[at]
        shape = read_shape(self._graph, node, place)
        if tensor.value is not None:
            value = tensor.value
            if tensor.logical_shape is not None:
                value = layouts.unpack(value, tensor.layout, tensor.logical_shape)
            value = np.ascontiguousarray(value).reshape(shape)
            if quantisation is None and (exact or value.dtype != np.float16):
                return b.constant(value, wanted=tensor.name), Operand(shape, value.dtype, value)
            name = b.constant(value, wanted=tensor.name)
            constant: Array | None = value.astype(np.float32) if quantisation is None else None
            return self._real(name, tensor.dtype, quantisation, shape), Operand(shape, np.dtype(np.float32), constant)
        name = self._names[at]
        if tensor.logical_shape is not None:
            name = _unpacked(b, name, tensor, tensor.logical_shape)
        if shape != tensor.op_shape:
            name = b.reshape(name, shape)
        if exact:
            return name, Operand(shape, tensor.dtype)
        real = quantisation is not None or tensor.dtype == np.float16
        dtype = np.dtype(np.float32) if real else tensor.dtype
        return self._real(name, tensor.dtype, quantisation, shape), Operand(shape, dtype)

    def _real(self, name: str, dtype: np.dtype[Any], quantisation: Quantisation | None, shape: Shape) -> str:
        """A stored value as the real number that it means."""
        b = self._builder
        if quantisation is None or dtype.kind not in "iu":
            return b.cast(name, np.float32) if dtype == np.float16 else name
        scale, zero = _parameters(b, quantisation, len(shape))
        return b.cast(b.add("Mul", b.add("Sub", b.cast(name, np.float64), zero), scale), np.float32)

    def _store(self, at: int, name: str, quantisation: Quantisation | None) -> None:
        """The result of an op as the tensor that the file has, under its name."""
        b, tensor = self._builder, self._graph.tensors[at]
        if quantisation is not None and tensor.dtype.kind in "iu":
            scale, zero = _parameters(b, quantisation, len(tensor.op_shape))
            steps = b.add("Add", b.add("Round", b.add("Div", b.cast(name, np.float64), scale)), zero)
            low, high = (b.constant(each, np.float64) for each in (quantisation.lowest, quantisation.highest))
            name = b.add("Clip", steps, low, high)
        if tensor.logical_shape is not None:
            name = _packed(b, b.cast(name, tensor.dtype), tensor, tensor.logical_shape)
        wanted = self._names.get(at)
        if wanted is None:
            wanted = self._names[at] = b.fresh(tensor.name)
        # a cast to the type that it has already is the plain copy, and gives the value its name
        b.add("Cast", name, name=wanted, to=helper.np_dtype_to_tensor_dtype(tensor.dtype))

    def _called(self, op: Call, site: Site) -> list[str]:
        """The graph of a call, written in place of it."""
        feeds = op.subgraph.feeds
        plan = op.subgraph.body.plan(tuple(site.shape(place) for place in feeds))
        inner, names = plan.graph, dict[int, str]()
        if any(inner.tensors[port.tensor].logical_shape for port in (*inner.inputs, *inner.outputs)):
            raise no_counterpart("a subgraph with packed inputs or outputs")
        for port, place in zip(inner.inputs, feeds, strict=True):
            names[port.tensor] = self._builder.cast(site.name(place), inner.tensors[port.tensor].dtype)
        _Writer(inner, self._builder, names).write(plan.order)
        places = {port.name: port.tensor for port in inner.outputs}
        return [_constant_or_name(self._builder, inner, names, places[name]) for name in op.subgraph.results]


def _preceded(op: Preceded, site: Site) -> list[str]:
    """The first op's result is stored as float16 or float32 before the second reads it."""
    if type(op.before) not in EMITTERS:
        raise no_counterpart(f"{type(op.before).__name__} comes before it")
    first = site.operand(0)
    shape = op.before.shape(first)
    assert isinstance(shape, tuple)
    before = Site(site.builder, site.names[:1], (first,), (shape,), op.dtype)
    name = site.builder.cast(site.builder.cast(emit(op.before, before)[0], op.dtype), np.float32)
    operands = (Operand(shape, np.dtype(np.float32)), *site.operands[1:])
    return emit(op.op, Site(site.builder, (name, *site.names[1:]), operands, site.results, site.dtype))


def _parameters(b: Builder, quantisation: Quantisation, rank: int) -> tuple[str, str]:
    """Scale and zero point, which broadcast against an operand of that rank."""
    axis = quantisation.axis
    shape = () if axis is None else tuple(-1 if at == axis else 1 for at in range(rank))
    return (
        b.constant(quantisation.scale.reshape(shape), np.float64),
        b.constant(quantisation.zero_point.reshape(shape), np.float64),
    )


def _unpacked(b: Builder, name: str, tensor: Tensor, logical: Shape) -> str:
    """The logical value of a packed one (layouts.unpack)."""
    name = b.reshape(name, layouts.packed_shape(tensor.layout, logical, tensor.dtype))
    if tensor.layout in (Layout.NC1HWC0, Layout.NC4HW4):
        n, c, h, w = logical
        whole = b.reshape(b.transpose(name, (0, 1, 4, 2, 3)), (n, -1, h, w))
        return b.slice(whole, [0], [c], [1])
    if tensor.layout is Layout.FRACTAL_NZ:
        at = len(logical) - 2
        *lead, c1, r1, r0, c0 = layouts.packed_shape(tensor.layout, logical, tensor.dtype)
        turned = b.transpose(name, (*range(at), at + 1, at + 2, at, at + 3))
        whole = b.reshape(turned, (*lead, r1 * r0, c1 * c0))
        return b.slice(whole, [0, 0], logical[-2:], [at, at + 1])
    raise no_counterpart(f"a computed tensor in {tensor.layout}")


def _packed(b: Builder, name: str, tensor: Tensor, logical: Shape) -> str:
    """The packed value of a logical one (layouts.pack), in the dims of the file."""
    full = layouts.packed_shape(tensor.layout, logical, tensor.dtype)
    rank = len(logical)
    zero = b.constant(0, tensor.dtype)
    if tensor.layout in (Layout.NC1HWC0, Layout.NC4HW4):
        n, c1, h, w, c0 = full
        padded = b.add("Pad", name, b.integers([0] * 5 + [c1 * c0 - logical[1], 0, 0]), zero)
        return b.transpose(b.reshape(padded, (n, c1, c0, h, w)), (0, 1, 3, 4, 2))
    if tensor.layout is Layout.FRACTAL_NZ:
        *lead, c1, r1, r0, c0 = full
        more = [*([0] * (rank - 2)), r1 * r0 - logical[-2], c1 * c0 - logical[-1]]
        padded = b.add("Pad", name, b.integers([0] * rank + more), zero)
        at = len(lead)
        return b.transpose(b.reshape(padded, (*lead, r1, r0, c1, c0)), (*range(at), at + 2, at, at + 1, at + 3))
    raise no_counterpart(f"a computed tensor in {tensor.layout}")
