"""Graph-style ModelDef (ge_ir) to the graph IR: edges, streams, subgraphs.

What tensors and constants are is in ge_tensors.py, what the ops mean in ge_ops.py. Rules: om-format.md 2, 5, 8.2,
graph-conventions.md 0.8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from google.protobuf.message import DecodeError

from emu.errors import GraphError, GraphStatus
from emu.graph.dynamic import UNKNOWN
from emu.graph.ir import Graph, Layout, Node, Port, Shape, Tensor, node_error
from emu.graph.ops import OpError
from emu.graph.ops.call import Body, Call, Subgraph
from emu.graph.ops.streams import Control, changes_order, gathered
from emu.graph.readers.om import control_flow, ge_control
from emu.graph.readers.om.control_flow import read_control
from emu.graph.readers.om.ge_aipp import aipp_source
from emu.graph.readers.om.ge_attrs import Attrs, Names
from emu.graph.readers.om.ge_control import PARENT_INDEX, Gear, ReadBody, gear_place, gears_of, no_gears
from emu.graph.readers.om.ge_ops import read_op
from emu.graph.readers.om.ge_site import MATRIX_PRODUCTS, OpReader, bare, exchanged
from emu.graph.readers.om.ge_tensors import WeightStore, constant_tensor, descriptor_tensor
from emu.graph.readers.om.types import model_error
from emu.schemas import ge_ir_pb2

CALL_DEPTH_LIMIT = 16
"""GraphOps inside GraphOps; real files have one level."""

CONTROL = -1
"""Output index of a control edge."""


def parse(model: memoryview) -> ge_ir_pb2.ModelDef:
    """The message; OM_MODEL if it cannot be decoded."""
    try:
        return ge_ir_pb2.ModelDef.FromString(bytes(model))
    except DecodeError as error:
        raise model_error(f"MODEL_DEF is no graph-style ModelDef: {error}", partition="MODEL_DEF") from error


def model_gears(message: ge_ir_pb2.ModelDef) -> list[Gear]:
    """Batch or image sizes among which the caller must choose; empty for a model of one shape."""
    names = Names(message)
    for graph in message.graph:
        for op in graph.op:
            # what cannot be read is a refusal of its op
            with suppress(OpError):
                gears = gears_of(Attrs(names.resolve(op.attr)))
                if gears:
                    return gears
    return []


@dataclass(frozen=True, slots=True)
class _Context:
    """What the graphs of a model share."""

    names: Names
    weights: WeightStore
    streams: int
    events: int
    gear: Gear | None = None
    library: dict[str, ge_ir_pb2.GraphDef] = field(default_factory=dict)
    bodies: dict[str, ReadBody | None] = field(default_factory=dict)
    depth: int = 0


def read_ge(model: memoryview, weights: memoryview | None, gear: Gear | None = None) -> Graph:
    """The graph of a graph-style MODEL_DEF: the first of its graphs, which calls the others; of a model of several
    gears as `gear` has it.

    An op that cannot be executed carries its refusal; what is wrong with the graph itself is raised as GraphError.
    """
    message = parse(model)
    if not message.graph:
        raise GraphError(GraphStatus.GRAPH_STRUCTURE, "MODEL_DEF has no graph")
    library: dict[str, ge_ir_pb2.GraphDef] = {}
    for graph in message.graph[1:]:
        if library.setdefault(graph.name, graph) is not graph:
            raise GraphError(GraphStatus.GRAPH_STRUCTURE, f"two graphs of MODEL_DEF are called {graph.name!r}")
    names = Names(message)
    try:
        attrs = Attrs(names.resolve(message.attr))
        context = _Context(
            names,
            WeightStore(weights, names),
            streams=attrs.integer("stream_num", default=0) or 1,
            events=attrs.integer("event_num", default=0),
            gear=gear,
            library=library,
        )
    except OpError as error:
        raise model_error(f"model attribute {error.attribute}: {error.message}", error.status) from error
    reader = _GraphReader(Graph("om", "graph", message.name, ordered=True), message.graph[0], context)
    found = reader.read()
    if gear is not None and not reader.has_gears:
        raise no_gears()
    return found


@dataclass(slots=True)
class _GraphReader:
    graph: Graph
    message: ge_ir_pb2.GraphDef
    context: _Context
    attrs: list[Attrs] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    results: list[list[int]] = field(default_factory=list)
    controls: dict[int, Control] = field(default_factory=dict)
    is_marked: bool = False
    has_gears: bool = False
    geared: bool = False

    def read(self) -> Graph:
        ops = self.message.op
        weights = self._weights()
        for place, op in enumerate(ops):
            if op.name in self.places:
                raise GraphError(GraphStatus.GRAPH_STRUCTURE, f"two ops are called {op.name!r}", op=op.name)
            self.places[op.name] = place
            self.attrs.append(Attrs(self._resolved(op)))
        images = self._image_inputs()
        for op, attrs in zip(ops, self.attrs, strict=True):
            node = Node(op.name, op.type, None, stream=op.stream_id)
            self.graph.nodes.append(node)
            self._add_results(op, attrs, node, weights, images.get(op.name))
        for op, attrs, node in zip(ops, self.attrs, self.graph.nodes, strict=True):
            self._check_streams(node, attrs)
            if op.type == "Data":
                self._add_input(op, node, images.get(op.name))
            else:
                self._read_edges(op, node)
        self._sort_inputs()
        for op, attrs, node in zip(ops, self.attrs, self.graph.nodes, strict=True):
            if op.type == "NetOutput":
                self._add_outputs(op, node)
            if node.refusal is None:
                self._give_meaning(op, attrs, node)
        if self.geared:
            ge_control.drop_what_chose(self.graph)
        if self.is_marked:
            ge_control.drop_unread_inputs(self.graph)
        if not self.graph.outputs:
            raise GraphError(GraphStatus.GRAPH_STRUCTURE, "no NetOutput op with a result")
        if changes_order(self.graph, self.controls):
            self.graph = gathered(self.graph, self.controls)
        return self.graph

    def _weights(self) -> WeightStore:
        try:
            attrs = Attrs(self.context.names.resolve(self.message.attr))
            return replace(
                self.context.weights,
                merged=attrs.boolean("weight_merged", default=False),
                one_side=attrs.boolean("is_one_side_quantized", default=False),
            )
        except OpError as error:
            raise model_error(f"graph attribute {error.attribute}: {error.message}", error.status) from error

    def _resolved(self, op: ge_ir_pb2.OpDef) -> Mapping[str, ge_ir_pb2.AttrDef]:
        try:
            return self.context.names.resolve(op.attr)
        except OpError as error:
            raise GraphError(
                error.status, f"op {op.name!r} ({op.type}): {error.attribute}: {error.message}", op=op.name
            ) from error

    def _refuse(self, node: Node, error: OpError) -> None:
        node.refusal = node.refusal or node_error(
            self.graph, node, error.message, status=error.status, attribute=error.attribute
        )

    def _image_inputs(self) -> dict[str, Shape]:
        """Data ops that an AIPP reads as an image: name -> (height, width) of the image (om-format.md 9)."""
        found: dict[str, Shape] = {}
        for op, attrs in zip(self.message.op, self.attrs, strict=True):
            try:
                size = aipp_source(attrs)
            except OpError:
                continue  # refused with its op
            if size is not None and op.input:
                found[op.input[0].rpartition(":")[0]] = size
        return found

    def _add_results(
        self, op: ge_ir_pb2.OpDef, attrs: Attrs, node: Node, weights: WeightStore, image: Shape | None
    ) -> None:
        """A tensor for every output; a Const's comes from its value, whose descriptor is the truth (om-format.md 3)."""
        places: list[int] = []
        self.results.append(places)
        if op.type == "NetOutput":
            return
        for index, descriptor in enumerate(op.output_desc):
            name = f"{op.name}:{index}"
            try:
                if op.type in ("Const", "Constant") and index == 0:
                    tensor = constant_tensor(name, attrs, weights)
                else:
                    tensor = descriptor_tensor(name, descriptor, self.context.names)
            except OpError as error:
                dims = tuple(max(0, size) for size in descriptor.shape.dim)
                tensor = descriptor_stand_in(name, dims)
                self._refuse(node, error)
            if op.type == "Data" and image is not None:
                tensor = _image_tensor(name, tensor, image)
            places.append(self.graph.add(tensor))
        node.outputs = tuple(places)

    def _check_streams(self, node: Node, attrs: Attrs) -> None:
        def refuse(attribute: str, message: str) -> GraphError:
            return node_error(self.graph, node, message, status=GraphStatus.GRAPH_STRUCTURE, attribute=attribute)

        if not 0 <= node.stream < self.context.streams:
            raise refuse("stream_id", f"{node.stream} of {self.context.streams}")
        if node.type in ("Send", "Recv"):
            try:
                event = attrs.integer("event_id")
            except OpError as error:
                raise refuse("event_id", error.message) from error
            if not 0 <= event < self.context.events:
                raise refuse("event_id", f"{event} of {self.context.events}")
            node.sends, node.waits = (event, None) if node.type == "Send" else (None, event)

    def _add_input(self, op: ge_ir_pb2.OpDef, node: Node, image: Shape | None) -> None:
        """The boundary tensor of a Data op: dtype and dims of input_desc[0] (graph-conventions.md 0.8)."""
        if not op.input_desc or not op.output_desc:
            raise node_error(
                self.graph, node, "has no tensor descriptor", status=GraphStatus.GRAPH_STRUCTURE, attribute="input_desc"
            )
        try:
            tensor = descriptor_tensor(op.name, op.input_desc[0], self.context.names)
        except OpError as error:
            raise node_error(self.graph, node, error.message, status=error.status, attribute=error.attribute) from error
        if image is not None:
            tensor = _image_tensor(op.name, tensor, image)
        at = self.graph.add(tensor)
        node.inputs = (at,)
        self.graph.inputs.append(Port(op.name, at))

    def _sort_inputs(self) -> None:
        """By attribute `index`, else by list order (graph-conventions.md 0.8)."""

        def key(pair: tuple[int, Port]) -> tuple[int, int]:
            place, port = pair
            attrs = self.attrs[self.places[port.name]]
            try:
                return attrs.integer("index", default=place), place
            except OpError:
                return place, place

        self.graph.inputs = [port for _, port in sorted(enumerate(self.graph.inputs), key=key)]

    def _read_edges(self, op: ge_ir_pb2.OpDef, node: Node) -> None:
        inputs: list[int | None] = []
        after: list[int] = []
        for text in op.input:
            if not text:
                inputs.append(None)
                continue
            name, _, index_text = text.rpartition(":")
            if name not in self.places:
                raise self._edge_error(node, f"{text!r} names no op")
            try:
                index = int(index_text)
            except ValueError:
                raise self._edge_error(node, f"{text!r} is no edge") from None
            place = self.places[name]
            if index == CONTROL:
                after.append(place)
            elif 0 <= index < len(self.results[place]):
                inputs.append(self.results[place][index])
            else:
                raise self._edge_error(node, f"{text!r} is output {index} of an op that has {len(self.results[place])}")
        while inputs and inputs[-1] is None:
            inputs.pop()
        node.inputs, node.after = tuple(inputs), tuple(after)
        node.input_shapes = tuple(self._read_as(op, node, place) for place in range(len(inputs)))

    def _edge_error(self, node: Node, message: str) -> GraphError:
        return node_error(self.graph, node, message, status=GraphStatus.GRAPH_STRUCTURE, attribute="input")

    def _read_as(self, op: ge_ir_pb2.OpDef, node: Node, place: int) -> Shape | None:
        """Implicit reshape (om-format.md 8.2): the dims of input_desc, where they are others of the same count."""
        at = node.inputs[place]
        if at is None or place >= len(op.input_desc) or "aipp" in self.attrs[self.places[op.name]]:
            return None
        tensor = self.graph.tensors[at]
        try:
            described = descriptor_tensor("", op.input_desc[place], self.context.names)
        except OpError:
            return None  # an absent optional has an undefined descriptor
        if described.op_shape == tensor.op_shape or (described.layout, described.shape) == (
            tensor.layout,
            tensor.shape,
        ):
            return None
        if UNKNOWN in (*described.op_shape, *tensor.op_shape):
            return None  # dims at run: those of the producer
        if math.prod(described.op_shape) == math.prod(tensor.op_shape):
            turned = op.type in MATRIX_PRODUCTS and exchanged(tensor, described.op_shape)
            if tensor.value is not None and bare(described.op_shape) != bare(tensor.op_shape) and not turned:
                self.graph.notes.append(
                    f"op {op.name!r}: constant {tensor.name!r} is stored as {list(tensor.op_shape)} and read row by "
                    f"row as {list(described.op_shape)}"
                )
            return described.op_shape
        if tensor.value is None:
            self._refuse(
                node,
                OpError(f"input {place} is described as {described}, its producer gives {tensor}", "input_desc"),
            )
        return None

    def _give_meaning(self, op: ge_ir_pb2.OpDef, attrs: Attrs, node: Node) -> None:
        try:
            if self.is_marked and op.type in control_flow.KINDS:
                node.inputs, node.input_shapes = (), ()
            elif op.type == "GraphOp":
                node.op = self._call(attrs)
            elif op.type in control_flow.KINDS:
                place = self.places[op.name]
                self.controls[place] = read_control(op.type, attrs, len(node.inputs), self.context.streams)
            elif op.type in ge_control.TYPES:
                self._control(op, attrs, node)
            else:
                read_op(OpReader(self.graph, node, attrs, self.context.weights.data))
        except OpError as error:
            self._refuse(node, error)

    def _call(self, attrs: Attrs) -> Call:
        """The subgraph of a GraphOp, whose constants lie from graphop_weight_offset on (om-format.md 8.2)."""
        found = attrs.find("subgraph")
        if found is None or found[1].WhichOneof("value") != "g":
            raise OpError("is missing", "subgraph", GraphStatus.OM_MODEL)
        if self.context.depth >= CALL_DEPTH_LIMIT:
            raise OpError(f"more than {CALL_DEPTH_LIMIT} levels", "subgraph", GraphStatus.GRAPH_STRUCTURE)
        message = found[1].g
        start = attrs.integer("graphop_weight_offset", default=0)
        if start < 0:
            raise OpError(f"{start}: must not be negative", "graphop_weight_offset")
        inner = replace(
            self.context,
            weights=replace(self.context.weights, start=self.context.weights.start + start),
            streams=max(self.context.streams, 1),
            depth=self.context.depth + 1,
        )
        graph = _GraphReader(Graph("om", "graph", message.name, ordered=True), message, inner).read()
        self.graph.notes += graph.notes
        return Call(Subgraph.in_order(graph))

    def _control(self, op: ge_ir_pb2.OpDef, attrs: Attrs, node: Node) -> None:
        reader = OpReader(self.graph, node, attrs, self.context.weights.data)
        gears = gears_of(attrs)
        if not gears:
            node.op = ge_control.control_op(reader, op.subgraph_name, self._body)
            return
        self.has_gears = True
        place = gear_place(gears, self.context.gear)
        if len(op.subgraph_name) != len(gears):
            raise OpError(f"{len(op.subgraph_name)} graphs for {len(gears)} gears", "subgraph_name")
        ge_control.take_gear(self.graph, node, self._body(op.subgraph_name[place]).subgraph(1))
        self.geared = True

    def _body(self, name: str) -> ReadBody:
        """Another graph of the model, read once; OpError for one that is not there or that calls itself."""
        bodies = self.context.bodies
        if name in bodies:
            found = bodies[name]
            if found is None:
                raise OpError(f"graph {name!r} calls itself", "subgraph_name", GraphStatus.GRAPH_STRUCTURE)
            return found
        message = self.context.library.get(name)
        if message is None:
            raise OpError(f"no graph is called {name!r}", "subgraph_name", GraphStatus.GRAPH_STRUCTURE)
        if self.context.depth >= CALL_DEPTH_LIMIT:
            raise OpError(f"more than {CALL_DEPTH_LIMIT} levels", "subgraph_name", GraphStatus.GRAPH_STRUCTURE)
        bodies[name] = None
        inner = replace(self.context, depth=self.context.depth + 1)
        reader = _GraphReader(Graph("om", "graph", name, ordered=True), message, inner)
        # the op that calls the graph says all that the compiler's marks say to the device
        reader.is_marked = control_flow.only_marks(op.type for op in message.op)
        reader.read()
        bodies[name] = found = reader.as_body()
        self.graph.notes += found.body.graph.notes
        return found

    def as_body(self) -> ReadBody:
        """The graph, once it is read, as other graphs of the model call it."""
        parents: list[int | None] = []
        for port in self.graph.inputs:
            attrs = self.attrs[self.places[port.name]]
            parents.append(attrs.integer(PARENT_INDEX) if PARENT_INDEX in attrs else None)
        ends = [op for op in self.message.op if op.type == "NetOutput"]
        edges = [text for text in ends[0].input if not text.endswith(f":{CONTROL}")]
        unknown = [edge for edge in edges if all(port.name != edge for port in self.graph.outputs)]
        if unknown:
            raise OpError(f"{unknown[0]!r} of {self.message.name!r} is no result", "input", GraphStatus.GRAPH_STRUCTURE)
        order: list[tuple[int, str]] = []
        for place, edge in enumerate(edges):
            described = ends[0].input_desc[place].attr if place < len(ends[0].input_desc) else {}
            found = Attrs(self.context.names.resolve(described))
            order.append((found.integer(PARENT_INDEX, default=place), edge))
        if sorted(at for at, _ in order) != list(range(len(order))):
            raise OpError(f"the results of {self.message.name!r} are {sorted(at for at, _ in order)}", PARENT_INDEX)
        return ReadBody(Body(self.graph), tuple(parents), tuple(edge for _, edge in sorted(order)))

    def _add_outputs(self, op: ge_ir_pb2.OpDef, node: Node) -> None:
        """Graph outputs: key is the edge, dtype and dims of output_desc, else input_desc (graph-conventions.md 0.8)."""
        if self.graph.outputs:
            raise self._edge_error(node, "is the second NetOutput")
        edges = [text for text in op.input if not text.endswith(f":{CONTROL}")]
        places: list[int] = []
        for place, (key, at) in enumerate(zip(edges, node.inputs, strict=False)):
            if at is None:
                raise self._edge_error(node, f"entry {place} is empty")
            producer = self.graph.tensors[at]
            tensor = Tensor(key, producer.shape, producer.dtype, producer.layout, producer.logical_shape)
            descriptors = op.output_desc if place < len(op.output_desc) else op.input_desc
            if place < len(descriptors):
                try:
                    tensor = descriptor_tensor(key, descriptors[place], self.context.names)
                except OpError as error:
                    self._refuse(node, error)
            if self.geared:
                # the file describes the results of the largest gear
                tensor.shape, tensor.logical_shape = producer.shape, producer.logical_shape
            places.append(self.graph.add(tensor))
            if all(port.name != key for port in self.graph.outputs):
                self.graph.outputs.append(Port(key, places[-1]))
        node.outputs = tuple(places)


def descriptor_stand_in(name: str, dims: Shape) -> Tensor:
    """A tensor for an output whose descriptor has no meaning; its op is refused."""
    return Tensor(name, dims, np.dtype(np.float32), Layout.ND)


def _image_tensor(name: str, described: Tensor, image: Shape) -> Tensor:
    """What the user gives for a YUV420SP image: uint8 [N, H*3/2, W] (om-format.md 9)."""
    batch = described.shape[0] if described.shape else 1
    return Tensor(name, (batch, image[0] * 3 // 2, image[1]), np.dtype(np.uint8), Layout.ND)
