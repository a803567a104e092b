"""What one context has of its resources: edge layers with their channels and buffers, DDR pairs, config buffers."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from emu.errors import HailoError, HailoStatus
from emu.sequencer.channels import LayerType
from emu.sequencer.config import ConfigBuffer
from emu.sequencer.layers import EdgeLayer
from emu.sequencer.program import Direction
from emu.wire.actions import HostBufferInfo, StreamRegInfo


class ResourceLayer(Struct, frozen=True):
    """An edge layer with everything the actions about it carry."""

    layer: EdgeLayer
    packed_channel: int
    registers: StreamRegInfo
    buffer: HostBufferInfo
    initial_credit_size: int
    connected_d2h_channel: int = 0
    cache_batch_size: int = 0


class DdrPair(Struct, frozen=True):
    """Both ends of a DDR edge."""

    h2d_channel: int
    d2h_channel: int
    network_index: int
    descriptors_per_frame: int
    descriptors_count: int
    buffer_type: int


class ContextResources(Struct):
    """The edge layers of one context in the runtime's order (`m_edge_layers`), its DDR pairs and config buffers."""

    layers: list[ResourceLayer] = field(default_factory=list)
    ddr_pairs: list[DdrPair] = field(default_factory=list)
    config: dict[int, ConfigBuffer] = field(default_factory=dict)
    _by_stream: dict[tuple[int, Direction], ResourceLayer] = field(default_factory=dict)

    def add(self, resource: ResourceLayer) -> None:
        self.layers.append(resource)
        self._by_stream.setdefault((resource.layer.stream_index, resource.layer.direction), resource)

    def of(self, type: LayerType, direction: Direction) -> Iterable[ResourceLayer]:
        return (layer for layer in self.layers if layer.layer.type is type and layer.layer.direction is direction)

    def find(self, stream_index: int, direction: Direction) -> ResourceLayer:
        """The layer of a stream; HAILO_INTERNAL_FAILURE where the context has none."""
        found = self._by_stream.get((stream_index, direction))
        if found is not None:
            return found
        raise HailoError(
            HailoStatus.HAILO_INTERNAL_FAILURE,
            f"no {direction.name} edge layer for stream {stream_index}",
            stream=stream_index,
        )
