"""The streams at the border of a network: of the host, to and from other contexts, to and from DDR."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from emu.hef.enums import EdgeConnectionType
from emu.hef.formats import FormatOrder, QuantInfo, Shape
from emu.hef.layers import LayerInfo, StreamDirection


class StreamKey(NamedTuple):
    """A stream of a core-op: the dynamic context that it belongs to and its index in the system."""

    context: int
    sys_index: int


class NetStream(NamedTuple):
    """A stream of one context: shapes in elements, order, bytes of an element and of a frame, as the device has them.

    `connection` says whether it leads to the host, to another context or to DDR; `giver` is the output stream whose
    frames an input of the latter two takes up. `quant` of streams that do not lead to the host may say nothing.
    """

    name: str
    sys_index: int
    is_input: bool
    shape: Shape
    hw_shape: Shape
    order: FormatOrder
    data_bytes: int
    frame_bytes: int
    quant: QuantInfo
    connection: EdgeConnectionType = EdgeConnectionType.BOUNDARY
    giver: StreamKey | None = None

    @property
    def zero_point(self) -> int | None:
        """The zero point of its codes; None where its quantisation says nothing or no whole number."""
        return int(self.quant.zp) if self.quant.scale and self.quant.zp == int(self.quant.zp) else None


def streams_of(layers: Iterable[LayerInfo]) -> dict[int, NetStream]:
    """The streams of a context's layers by their index in the system."""
    return {stream.stream_index: _stream(stream) for layer in layers for stream in layer.streams()}


def _stream(layer: LayerInfo) -> NetStream:
    is_input = layer.direction is StreamDirection.H2D
    connected = layer.connected_contexts[0] if is_input and layer.connected_contexts else None
    return NetStream(
        layer.name,
        layer.stream_index,
        is_input,
        layer.shape,
        layer.hw_shape,
        layer.format.order,
        layer.hw_data_bytes,
        layer.hw_frame_size,
        layer.quant_info,
        layer.type,
        None if connected is None else StreamKey(connected.index, connected.sys_index),
    )
