"""Edge layers as the runtime keeps them after loading a HEF: formats, shapes, quantisation.

`emu.hef.context_layers` makes them. The infos that users see (`emu.hef.infos`) and the sequencer's streams are both
made from these.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from emu.hef import model
from emu.hef.enums import EdgeConnectionType
from emu.hef.features import SupportedFeatures
from emu.hef.formats import Format, NmsInfo, QuantInfo, Shape, default_host_order, hw_frame_size, nms_hw_frame_size


class StreamDirection(IntEnum):
    """`hailo_stream_direction_t`."""

    H2D = 0
    D2H = 1


class LayerInfo(Struct, frozen=True):
    """One edge layer. `shape` is the host's, `hw_shape` the device's; an NMS layer has `nms_info` and a fused layer.

    A mux has `predecessors` (and its ratios), a planes layer `planes`. For an NMS layer both shapes are
    (classes, 5, boxes * chunks). `quant_infos` has one element for all features, or one per feature.
    Raw fields keep the schema's names and units.
    """

    type: EdgeConnectionType
    direction: StreamDirection
    name: str
    network_name: str
    network_index: int
    context_index: int
    stream_index: int
    dma_engine_index: int
    format: Format
    shape: Shape
    hw_shape: Shape
    hw_data_bytes: int
    quant_info: QuantInfo
    quant_infos: tuple[QuantInfo, ...]
    core_hw_padding: bool
    core_bytes_per_buffer: int
    core_buffers_per_frame: int
    max_shmifo_size: int
    original_names: tuple[str, ...]
    nms_info: NmsInfo | None = None
    fused_nms_layer: LayerInfo | None = None
    is_mux: bool = False
    height_gcd: int = 0
    height_ratios: tuple[int, ...] = ()
    predecessors: tuple[LayerInfo, ...] = ()
    planes: tuple[LayerInfo, ...] = ()
    pad_index: int | None = None
    connected_contexts: tuple[model.ConnectedContextInfo, ...] = ()
    buffers: int = 0
    cache_id: int = 0

    @property
    def is_multi_planar(self) -> bool:
        return bool(self.planes)

    @property
    def hw_frame_size(self) -> int:
        """Bytes that cross the stream per frame."""
        if self.nms_info is not None:
            return nms_hw_frame_size(self.nms_info)
        return hw_frame_size(self.hw_shape, self.format)

    def streams(self) -> tuple[LayerInfo, ...]:
        """The streams this layer is made of: the planes of a planes layer, else itself."""
        return self.planes or (self,)

    def leaves(self) -> tuple[LayerInfo, ...]:
        """The layers that become vstreams: of a mux its INFO predecessors depth first, else itself."""
        if not self.is_mux:
            return (self,)
        return tuple(leaf for predecessor in self.predecessors for leaf in predecessor.leaves())

    def all_original_names(self) -> tuple[str, ...]:
        """`original_names`, those of mux leaves and planes included (stream-infos.md 6)."""
        parts = self.predecessors + self.planes
        if not parts:
            return self.original_names
        return tuple(name for part in parts for name in part.all_original_names())


def network_names(group: str, core_op: model.CoreOp, features: SupportedFeatures) -> tuple[str, ...]:
    """Full names of the core op's networks by network_index (stream-infos.md 2)."""
    if not features.multi_network_support:
        return (f"{group}/{group}",)
    return tuple(f"{group}/{name}" for name in core_op.networks_names)


def host_format(layer: LayerInfo) -> Format:
    """Format of the vstream that stands for this layer (stream-infos.md 4, 5)."""
    order = layer.format.order if layer.is_multi_planar else default_host_order(layer.format.order)
    return Format(layer.format.type, order, layer.format.flags)
