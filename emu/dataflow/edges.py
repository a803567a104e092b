"""The values that leave and enter a device, as numbers: what a network computes with on either side of its streams.

An output edge is one tensor of the network: an output vstream, or one input of an NMS op on the host, which is named
after its stream. `OutputEdges` makes stream bytes of a frame's tensors, `InputEdge` reads an input's bytes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.dataflow.formats import Buffer, Bytes, InputTransform, OutputTransform
from emu.dataflow.inverse import InputInverse, OutputInverse
from emu.dataflow.mux import Demuxer
from emu.dataflow.nms_inverse import fused_stream_frames, nms_stream_frame
from emu.dataflow.quantize import dtype_of
from emu.dataflow.vstreams import InputVStream
from emu.errors import HailoError, HailoStatus
from emu.hef.enums import EdgeConnectionType
from emu.hef.formats import Format, FormatOrder, FormatType, NmsInfo, QuantInfo, Shape
from emu.hef.infos import NetworkGroupInfo, StreamInfo, VStreamInfo
from emu.hef.layers import LayerInfo, StreamDirection
from emu.hef.ops import OpInfo, OpKind

Array = NDArray[Any]

LOGITS_KINDS = frozenset({OpKind.ARGMAX, OpKind.SOFTMAX})
_PLAIN_ORDERS = {FormatOrder.NC: FormatOrder.NC, FormatOrder.NHW: FormatOrder.NHW}


class OutputEdge(Struct, frozen=True):
    """One tensor that leaves the device.

    `name` is the vstream's, and the stream's for an input of an NMS op on the host; an argmax or softmax op cannot be
    undone, so that its vstream stands for what it reads. `layers` has several parts for a fused on-chip NMS.
    """

    name: str
    layers: tuple[LayerInfo, ...]
    stream: str
    op: OpInfo | None = None

    @property
    def layer(self) -> LayerInfo:
        return self.layers[0]

    @property
    def shape(self) -> Shape:
        """(height, width, features) on the host; of an on-chip NMS it means nothing."""
        return self.layer.shape

    @property
    def nms_infos(self) -> tuple[NmsInfo, ...]:
        """Of an on-chip NMS, one a part; empty for a tensor."""
        return tuple(layer.nms_info for layer in self.layers if layer.nms_info is not None)

    @property
    def quant_infos(self) -> tuple[QuantInfo, ...]:
        return self.layers[-1].quant_infos

    @property
    def original_names(self) -> tuple[str, ...]:
        return self.layer.all_original_names()


def output_edges(group: NetworkGroupInfo) -> tuple[OutputEdge, ...]:
    """The output edges of a group, in stream order."""
    ops = {name: op for op in group.ops for name in op.inputs}
    edges: list[OutputEdge] = []
    fused: dict[str, list[LayerInfo]] = {}
    for stream in group.output_streams:
        layer = stream.layer
        op = ops.get(layer.name)
        if op is not None:
            name = op.output_name if op.kind in LOGITS_KINDS else layer.name
            edges.append(OutputEdge(name, (layer,), stream.name, op))
        elif layer.fused_nms_layer is not None:
            fused.setdefault(layer.fused_nms_layer.name, []).append(layer)
        else:
            edges.extend(OutputEdge(leaf.name, (leaf,), stream.name) for leaf in layer.leaves())
    edges.extend(OutputEdge(name, tuple(parts), parts[0].name) for name, parts in fused.items())
    return tuple(edges)


def inner_edges(group: NetworkGroupInfo) -> tuple[OutputEdge, ...]:
    """The edges between contexts and through memory whose quantisation the HEF says, once each."""
    found: dict[str, OutputEdge] = {}
    for layer in (layer for context in group.layers for layer in context):
        inside = layer.type is not EdgeConnectionType.BOUNDARY and layer.direction is StreamDirection.D2H
        if inside and not layer.is_mux and layer.nms_info is None and layer.quant_info.scale:
            found.setdefault(layer.name, OutputEdge(layer.name, (layer,), layer.name))
    return tuple(found.values())


def plain_output(layer: LayerInfo, type: FormatType = FormatType.FLOAT32) -> OutputTransform:
    """The transform between a layer's stream bytes and its elements [h, w, f]."""
    order = _PLAIN_ORDERS.get(layer.format.order, FormatOrder.NHWC)
    if layer.format.order is FormatOrder.BAYER_RGB:
        order = FormatOrder.BAYER_RGB
    return OutputTransform(layer.shape, Format(type, order), layer.hw_shape, layer.format, layer.quant_infos)


class OutputEdges:
    """Tensors of a frame -> the bytes of every output stream of a group."""

    def __init__(self, group: NetworkGroupInfo) -> None:
        self.edges = output_edges(group)
        self._inverses: dict[tuple[str, FormatType], OutputInverse] = {}
        self._muxes: dict[str, Demuxer] = {
            stream.name: Demuxer(stream.layer) for stream in group.output_streams if stream.is_mux
        }

    def __call__(self, tensors: Mapping[str, Array]) -> dict[str, bytes]:
        """Stream -> its `hw_frame_size` bytes.

        `tensors` has by edge name an array of the edge's elements, row-major [h, w, f]: real numbers as floats, or
        codes in the stream's own integer type; of an on-chip NMS the [n, 5] boxes of every class in a list. Streams
        with a missing edge are left out; HAILO_INVALID_ARGUMENT for a size that does not fit.
        """
        wire: dict[str, bytes] = {}
        leaves: dict[str, Bytes] = {}
        for edge in self.edges:
            if edge.name not in tensors:
                continue
            if edge.nms_infos:
                wire.update(self._boxes(edge, tensors[edge.name]))
            elif edge.stream in self._muxes:
                leaves[edge.name] = self.encode(edge, tensors[edge.name])
            else:
                wire[edge.stream] = self.encode(edge, tensors[edge.name]).tobytes()
        for name, demuxer in self._muxes.items():
            if all(leaf.name in leaves for leaf in demuxer.edges):
                wire[name] = demuxer.join([leaves[leaf.name] for leaf in demuxer.edges]).tobytes()
        return wire

    def encode(self, edge: OutputEdge, tensor: Array) -> Bytes:
        """The `hw_frame_size` bytes of one edge; of a mux leaf its own frame."""
        layer = edge.layer
        type = layer.format.type if tensor.dtype.newbyteorder("=") == dtype_of(layer.format.type) else None
        if type is None:
            type, tensor = FormatType.FLOAT32, np.ascontiguousarray(tensor, np.float32)
        if tensor.size != layer.shape.elements:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{edge.name}: {tensor.size} elements of shape {tensor.shape} given,"
                f" {layer.shape.elements} = {'·'.join(map(str, layer.shape))} expected",
            )
        key = (edge.name, type)
        if key not in self._inverses:
            self._inverses[key] = OutputInverse(plain_output(layer, type))
        return self._inverses[key](np.ascontiguousarray(tensor))

    def _boxes(self, edge: OutputEdge, classes: Sequence[Array] | Array) -> dict[str, bytes]:
        infos, qp = edge.nms_infos, edge.quant_infos[0]
        if edge.layer.fused_nms_layer is None:
            return {edge.stream: nms_stream_frame(list(classes), infos[0], qp).tobytes()}
        frames = fused_stream_frames(list(classes), infos, qp)
        return {layer.name: frame.tobytes() for layer, frame in zip(edge.layers, frames, strict=True)}


class InputEdge:
    """One input vstream as the network sees it."""

    def __init__(self, group: NetworkGroupInfo, info: VStreamInfo) -> None:
        self.info = info
        vstream = InputVStream(group, info)
        self.shape = vstream.shape
        self.array_shape = vstream.array_shape
        self.order = vstream.user.order
        streams = {stream.name: stream for stream in group.input_streams}
        self._inverses = {name: InputInverse(_input(streams[name], info)) for name in info.streams}
        self.original_names = tuple(
            name for stream in info.streams for name in streams[stream].layer.all_original_names()
        )
        self.quant_info = streams[info.streams[0]].quant_infos[0]

    def codes(self, streams: Mapping[str, Buffer]) -> Array:
        """The elements of a frame as the device has them, flat, in host order; planes one behind the other."""
        return np.concatenate([inverse.codes(streams[name]) for name, inverse in self._inverses.items()])

    def values(self, streams: Mapping[str, Buffer]) -> NDArray[np.float32]:
        """Real numbers of a frame out of its stream bytes, in `array_shape`; planes one behind the other."""
        parts = [inverse.values(streams[name]) for name, inverse in self._inverses.items()]
        flat = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return flat.reshape(self.array_shape)


def _input(stream: StreamInfo, info: VStreamInfo) -> InputTransform:
    order = FormatOrder.AUTO if len(info.streams) == 1 else stream.format.order
    user = Format(stream.format.type, order)
    return InputTransform(stream.shape, user, stream.hw_shape, stream.format, stream.quant_infos)


def input_edges(group: NetworkGroupInfo) -> tuple[InputEdge, ...]:
    """The input vstreams of a group."""
    return tuple(InputEdge(group, info) for info in group.input_vstreams)
