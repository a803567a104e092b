"""domi.ModelDef to the graph IR: descriptors, edges, streams; what the ops mean is in domi_ops.py.

Rules: graph-conventions.md OM-G, OM-L and OM-S.
"""

from __future__ import annotations

import math

from google.protobuf.message import DecodeError

from emu.errors import GraphError, GraphStatus
from emu.graph import layouts
from emu.graph.ir import Graph, Layout, Node, Port, Shape, Tensor, node_error
from emu.graph.ops import OpError
from emu.graph.ops.streams import Control, changes_order, gathered
from emu.graph.readers.om import control_flow
from emu.graph.readers.om.domi_ops import read_op
from emu.graph.readers.om.domi_site import OpReader, op_kind
from emu.graph.readers.om.ge_attrs import Attrs
from emu.graph.readers.om.types import DOMI_DTYPES, INT_FORMATS, check_dims, model_error
from emu.schemas import ge_ir_pb2, om_pb2

TENSOR_LAYOUTS = {number: INT_FORMATS[number] for number in (0, 1, 2, 3)}
"""TensorDescriptor.format (graph-conventions.md OM-L1)."""


def parse(model: memoryview) -> om_pb2.ModelDef:
    """The message; OM_MODEL if it cannot be decoded."""
    try:
        return om_pb2.ModelDef.FromString(bytes(model))
    except DecodeError as error:
        raise model_error(f"MODEL_DEF is no domi.ModelDef: {error}", partition="MODEL_DEF") from error


def read_domi(model: memoryview, weights: memoryview | None) -> Graph:
    """The graph of a domi MODEL_DEF.

    An op that cannot be executed carries its refusal; what is wrong with the graph itself is raised as GraphError.
    """
    message = parse(model)
    graph = Graph("om", "domi", message.name, ordered=True)
    net_outputs = [op.name for op in message.op if op_kind(op) == "NetOutput"]
    if len(net_outputs) != 1:
        raise GraphError(
            GraphStatus.GRAPH_STRUCTURE, f"{len(net_outputs)} NetOutput ops {net_outputs[:4]}, exactly one is needed"
        )
    results = _add_tensors(graph, message)
    for op in message.op:
        graph.nodes.append(_read_node(graph, message, op, results))
    _assign_channels(graph, message)
    controls: dict[int, Control] = {}
    for place, (op, node) in enumerate(zip(message.op, graph.nodes, strict=True)):
        try:
            if op_kind(op) in control_flow.KINDS:
                controls[place] = _control(op, node, message.stream_num or 1)
            else:
                read_op(OpReader(graph, op, node, weights))
        except OpError as error:
            node.refusal = node_error(graph, node, error.message, status=error.status, attribute=error.attribute)
        if op_kind(op) == "NetOutput":
            for at, name, index in zip(node.inputs, op.src_name, op.src_index, strict=False):
                assert at is not None
                graph.outputs.append(Port(f"{name}:{index}", at))
    return gathered(graph, controls) if changes_order(graph, controls) else graph


def _control(op: om_pb2.OpDef, node: Node, streams: int) -> Control:
    """An op that starts streams or jumps; its attributes have the wire form of those of the graph kind."""
    attrs = {name: ge_ir_pb2.AttrDef.FromString(attr.SerializeToString()) for name, attr in op.attr.items()}
    return control_flow.read_control(op_kind(op), Attrs(attrs), len(node.inputs), streams)


def _add_tensors(graph: Graph, message: om_pb2.ModelDef) -> dict[str, list[int]]:
    """A tensor for every output descriptor; per op name their places."""
    results: dict[str, list[int]] = {}
    for op in message.op:
        if op.name in results:
            raise GraphError(GraphStatus.GRAPH_STRUCTURE, f"two ops are called {op.name!r}", op=op.name)
        places = results[op.name] = []
        for index, descriptor in enumerate(op.output_desc):
            try:
                places.append(graph.add(read_descriptor(descriptor, f"{op.name}:{index}")))
            except OpError as error:
                raise GraphError(
                    error.status,
                    f"op {op.name!r} ({op.type}): output {index}: {error.attribute}: {error.message}",
                    op=op.name,
                    attribute=error.attribute,
                ) from error
    return results


def read_descriptor(descriptor: om_pb2.TensorDescriptor, name: str) -> Tensor:
    """The tensor of a descriptor; OpError for a data type, format or dims that have no meaning."""
    dtype = DOMI_DTYPES.get(descriptor.data_type)
    if dtype is None:
        raise OpError(f"unknown data type {descriptor.data_type}", "data_type", GraphStatus.OM_MODEL)
    layout = TENSOR_LAYOUTS.get(descriptor.format)
    if layout is None:
        raise OpError(f"unknown tensor format {descriptor.format}", "format", GraphStatus.OM_MODEL)
    return Tensor(name, check_dims(descriptor.dim, "dim"), dtype, layout)


def _read_node(graph: Graph, message: om_pb2.ModelDef, op: om_pb2.OpDef, results: dict[str, list[int]]) -> Node:
    node = Node(op.name, op.type, None, outputs=tuple(results[op.name]), stream=op.stream_id)
    streams = message.stream_num or 1
    if op.stream_id >= streams:
        raise node_error(
            graph, node, f"{op.stream_id} of {streams}", status=GraphStatus.GRAPH_STRUCTURE, attribute="stream_id"
        )
    kind = op_kind(op)
    if kind in ("Send", "Recv"):
        event = op.sender_param.event_id if kind == "Send" else op.receiver_param.event_id
        if event >= message.event_num:
            raise node_error(
                graph,
                node,
                f"{event} of {message.event_num}",
                status=GraphStatus.GRAPH_STRUCTURE,
                attribute="event_id",
            )
        node.sends, node.waits = (event, None) if kind == "Send" else (None, event)
    node.inputs = tuple(_read_inputs(graph, op, node, results))
    return node


def _read_inputs(graph: Graph, op: om_pb2.OpDef, node: Node, results: dict[str, list[int]]) -> list[int]:
    """Places of the data inputs (graph-conventions.md OM-G1); control predecessors are checked and dropped: they repeat
    what streams and events imply (OM-S1)."""

    def refuse(attribute: str, message: str) -> GraphError:
        return node_error(graph, node, message, status=GraphStatus.GRAPH_STRUCTURE, attribute=attribute)

    names, indices = list(op.src_name), list(op.src_index)
    if len(names) not in (len(indices), len(indices) + 1):
        raise refuse("src_name", f"{len(names)} names for {len(indices)} indices")
    places: list[int] = []
    for place, (name, index) in enumerate(zip(names, indices, strict=False)):
        if name not in results:
            raise refuse("src_name", f"input {place} comes from op {name!r}, which does not exist")
        if not 0 <= index < len(results[name]):
            raise refuse("src_index", f"input {place} is output {index} of op {name!r}, which has {len(results[name])}")
        places.append(results[name][index])
    for name in names[len(indices)].split(":") if len(names) > len(indices) else []:
        if name and name not in results:
            raise refuse("src_name", f"control predecessor {name!r} does not exist")
    for place, (descriptor, at) in enumerate(zip(op.input_desc, places, strict=False)):
        if tuple(descriptor.dim) != graph.tensors[at].shape:
            raise node_error(
                graph,
                node,
                f"input {place} is described as {list(descriptor.dim)}, its producer gives {graph.tensors[at]}",
                attribute="input_desc",
            )
    return places


def _assign_channels(graph: Graph, message: om_pb2.ModelDef) -> None:
    """Give five-dimensional NC1HWC0 tensors their logical dims: the channel count comes from the filters around them
    (graph-conventions.md OM-L3), where they do not tell it from the parameters of other ops, and passes unchanged
    through ops that keep it; where nothing tells it, all lanes are channels."""
    packed = {at for at, t in enumerate(graph.tensors) if t.layout is Layout.NC1HWC0 and len(t.shape) == 5}
    if not packed:
        return
    channels: dict[int, int] = {}
    links: list[list[int]] = []
    hints: list[tuple[int, int]] = []
    for op, node in zip(message.op, graph.nodes, strict=True):
        inputs = [at for at in node.inputs if at is not None]
        if op_kind(op) == "Convolution" and inputs:
            _filter_channels(op.convolution_param, inputs[0], node.outputs, channels)
        elif op_kind(op) not in ("Concat", "Reshape", "Flatten", "FullConnection", "NetOutput", "Data"):
            links.append([at for at in (*inputs, *node.outputs) if at in packed])
        hints += [(at, _hinted_channels(op, graph.tensors[at].shape)) for at in inputs[:1] if at in packed]
    _spread(links, channels)
    for at, count in hints:
        if at not in channels and count:
            channels[at] = count
            _spread(links, channels)
    for at in packed:
        tensor = graph.tensors[at]
        n, c1, h, w, c0 = tensor.shape
        logical = (n, channels.get(at, c1 * c0), h, w)
        if tensor.shape != layouts.packed_shape(Layout.NC1HWC0, logical, tensor.dtype):
            raise GraphError(
                GraphStatus.GRAPH_SHAPE,
                f"tensor {tensor.name!r} is {tensor}, {list(logical)} in NC1HWC0 takes "
                f"{list(layouts.packed_shape(Layout.NC1HWC0, logical, tensor.dtype))}",
                tensor=tensor.name,
            )
        tensor.logical_shape = logical


def _spread(links: list[list[int]], channels: dict[int, int]) -> None:
    """Tensors of one link have equally many channels."""
    changed = True
    while changed:
        changed = False
        for link in links:
            known = next((channels[at] for at in link if at in channels), None)
            for at in link if known is not None else ():
                if at not in channels:
                    channels[at] = known if known is not None else 0
                    changed = True


def _axes(weight: om_pb2.WeightDef) -> dict[str, int]:
    """The dims of a filter by axis, N being the output channels."""
    order = layouts.AXIS_ORDERS.get(str(INT_FORMATS.get(weight.format, "")), "NCHW")
    return dict(zip(order, weight.shape.dim, strict=False))


def _filter_channels(
    param: om_pb2.ConvolutionOpParams, source: int, results: tuple[int, ...], channels: dict[int, int]
) -> None:
    dims = _axes(param.filter)
    if math.prod(dims.values()) <= 0:
        return
    first, second = dims.get("N", 0), dims.get("C", 0) * max(param.group, 1)
    inner, outer = (first, second) if param.mode == 2 else (second, first)
    channels.update((at, outer) for at in results)
    if param.mode != 3:
        channels[source] = inner


def _hinted_channels(op: om_pb2.OpDef, shape: Shape) -> int:
    """Channels of the first input [N, C1, H, W, C0] as far as an op's parameters tell them, else 0."""
    match op_kind(op):
        case "Convolution" if op.convolution_param.mode == 3:
            return _depthwise_channels(shape, _axes(op.convolution_param.filter).get("N", 0))
        case "BatchNorm" if op.batchnorm_param.mode == 1:
            return math.prod(op.batchnorm_param.estimated_mean.shape.dim)
        case "Scale":
            return math.prod(op.scale_param.scale.shape.dim)
        case "FullConnection":
            return math.prod(op.full_connection_param.filter.shape.dim[1:]) // max(shape[2] * shape[3], 1)
    return 0


def _depthwise_channels(shape: Shape, units: int) -> int:
    """Channels of a depthwise convolution's input: its filter has a multiple of them, the smallest that fits."""
    lanes, c0 = shape[1] * shape[4], shape[4]
    fitting = (count for count in range(min(lanes, units), max(lanes - c0, 0), -1) if units % count == 0)
    return next(fitting, lanes)
