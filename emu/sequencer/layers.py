"""Edge layers as the compiler needs them: one stream each, with the transfers that carry its frames."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from emu.hef.enums import EdgeConnectionType
from emu.hef.formats import HW_FRAME_ALIGNMENT, NmsBurstType, NmsInfo, Shape, align_up
from emu.hef.layers import LayerInfo, StreamDirection
from emu.sequencer.channels import LayerIdentifier, LayerType
from emu.sequencer.program import Direction

_LAYER_TYPES = {
    EdgeConnectionType.BOUNDARY: LayerType.BOUNDARY,
    EdgeConnectionType.INTERMEDIATE: LayerType.INTER_CONTEXT,
    EdgeConnectionType.DDR: LayerType.DDR,
    EdgeConnectionType.CACHE: LayerType.CACHE,
}
_DIRECTIONS = {StreamDirection.H2D: Direction.H2D, StreamDirection.D2H: Direction.D2H}
_NMS_WORD = 8
# delimiters that a burst must hold besides the boxes (netflow-nms.md 10)
_DELIMITERS = {NmsBurstType.H8_PER_CLASS: 1, NmsBurstType.H15_PER_CLASS: 2}


class EdgeLayer(Struct, frozen=True):
    """One stream of one context; of a planes layer, one plane.

    `connected_context` and `connected_stream` name the other end of an inter-context or DDR edge (for an inter-context
    input its producer). Sizes in bytes.
    """

    name: str
    type: LayerType
    direction: Direction
    stream_index: int
    engine: int
    network_index: int
    context_index: int
    hw_shape: Shape
    data_bytes: int
    core_bytes_per_buffer: int
    core_buffers_per_frame: int
    feature_padding_payload: int
    max_shmifo_size: int
    nms_info: NmsInfo | None
    connected_context: int
    connected_stream: int
    connected_engine: int
    min_buffered_rows: int
    cache_id: int
    hw_frame_size: int
    transfer_size: int
    transfers_per_frame: int

    @property
    def identifier(self) -> LayerIdentifier:
        return LayerIdentifier(self.type, self.direction, self.name, self.stream_index)

    @property
    def hw_row_size(self) -> int:
        return self.hw_shape.width * self.hw_shape.features * self.data_bytes


def edge_layers(infos: Iterable[LayerInfo], integrated: bool) -> list[EdgeLayer]:
    """The streams of a context's layers in file order; only an integrated device has engines (vdma.md 1.1)."""
    return [_edge_layer(stream, integrated) for info in infos for stream in info.streams()]


def _edge_layer(info: LayerInfo, integrated: bool) -> EdgeLayer:
    kind = _LAYER_TYPES[info.type]
    nms = info.nms_info if kind is LayerType.BOUNDARY else None
    connected = info.connected_contexts[0] if info.connected_contexts else None
    if kind is LayerType.DDR:
        transfer, per_frame = info.core_bytes_per_buffer, 1
    elif nms is not None:
        transfer, per_frame = nms_transfer_size(nms), nms_transfers_per_frame(nms)
    else:
        frame = info.hw_shape.elements * info.hw_data_bytes
        transfer, per_frame = align_up(frame, HW_FRAME_ALIGNMENT), 1
    return EdgeLayer(
        name=info.name,
        type=kind,
        direction=_DIRECTIONS[info.direction],
        stream_index=info.stream_index,
        engine=info.dma_engine_index if integrated else 0,
        network_index=info.network_index,
        context_index=info.context_index,
        hw_shape=info.hw_shape,
        data_bytes=info.hw_data_bytes,
        core_bytes_per_buffer=info.core_bytes_per_buffer,
        core_buffers_per_frame=info.core_buffers_per_frame,
        feature_padding_payload=info.hw_shape.width * info.hw_data_bytes if info.core_hw_padding else 0,
        max_shmifo_size=info.max_shmifo_size,
        nms_info=nms,
        connected_context=connected.index if connected else 0,
        connected_stream=connected.sys_index if connected else 0,
        connected_engine=connected.engine_id if connected and integrated else 0,
        min_buffered_rows=info.buffers,
        cache_id=info.cache_id,
        hw_frame_size=info.hw_frame_size,
        transfer_size=transfer,
        transfers_per_frame=per_frame,
    )


def nms_transfer_size(nms: NmsInfo) -> int:
    """Bytes of one transfer of an on-chip NMS stream; 0 where the runtime does not support the burst type."""
    if nms.burst_type in (NmsBurstType.H8_BBOX, NmsBurstType.H15_BBOX):
        return _NMS_WORD
    delimiters = _DELIMITERS.get(nms.burst_type)
    if delimiters is None:
        return 0
    burst = nms.burst_size * _NMS_WORD
    if nms.burst_size >= nms.max_bboxes_per_class + delimiters:
        return burst * nms.number_of_classes * nms.chunks_per_frame
    return burst


def nms_transfers_per_frame(nms: NmsInfo) -> int:
    """Transfers that a queue must hold per frame (vdma.md 3.1)."""
    delimiters = _DELIMITERS.get(nms.burst_type)
    bursts = nms.max_bboxes_per_class
    if delimiters is not None and nms.burst_size:
        bursts = -(-(nms.max_bboxes_per_class + delimiters) // nms.burst_size)
    return bursts * nms.number_of_classes * nms.chunks_per_frame
