"""Channels and buffers of one network group, and of each of its contexts (hef-compile.md 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from emu.chips.consts import HwConsts
from emu.chips.runtimes import DeviceProfile, RuntimeProfile
from emu.errors import HailoError, HailoStatus
from emu.sequencer.caches import CacheManager
from emu.sequencer.channels import ChannelAllocator, LayerIdentifier, LayerType
from emu.sequencer.config import ConfigBuffer, ConfigStream, ZeroCopySection
from emu.sequencer.context_resources import ContextResources, DdrPair, ResourceLayer
from emu.sequencer.edge_buffers import Edge, EdgeKey, EdgePlanner, create_edge_buffer
from emu.sequencer.host import HostMemory
from emu.sequencer.layers import EdgeLayer
from emu.sequencer.libstdcxx import hash_order
from emu.sequencer.periph import calculate_periph
from emu.sequencer.program import Direction
from emu.sequencer.requirements import MIN_ACTIVE_TRANSFERS, boundary, boundary_queue_size, scatter_gather_limits
from emu.wire.actions import HostBufferInfo, HostBufferType

_DDR_ROW_ALIGNMENT = 512
_MAX_NMS_CLASSES_1X = 1024

H2D, D2H = Direction.H2D, Direction.D2H


class GroupRules(Struct, frozen=True):
    """What of the HEF, the runtime, the device and the host the resources of a group depend on.

    `refusal` makes the error of a refused file, numbered as by the release.
    """

    runtime: RuntimeProfile
    device: DeviceProfile
    consts: HwConsts
    hw_padding: bool
    periph_in_hailort: bool
    padded_ddr_buffers: bool
    dual_direction_stream_index: bool
    section: ZeroCopySection | None
    batches: Sequence[int]
    refusal: Callable[..., HailoError]


class GroupResources:
    """Allocates in the runtime's order, so that channels and addresses come out as it gives them."""

    def __init__(
        self,
        host: HostMemory,
        rules: GroupRules,
        contexts: Sequence[Sequence[EdgeLayer]],
        config_engines: Sequence[int],
        caches: CacheManager,
    ) -> None:
        self._host = host
        self._rules = rules
        self._contexts = contexts
        self._channels = ChannelAllocator(rules.device)
        self._edges: dict[EdgeKey, HostBufferInfo] = {}
        self.hw_consts_requests = 0
        shift = rules.runtime.channel_id_shift
        limit = rules.runtime.max_config_channels
        if rules.runtime.checks_config_channels and len(config_engines) > limit:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"{len(config_engines)} config channels, the application header has room for {limit}",
            )
        self.config_channels = [
            self._channels.allocate(LayerIdentifier(LayerType.CFG, H2D, "", index), engine).packed(shift)
            for index, engine in enumerate(config_engines)
        ]
        self._check_layer_counts()
        self.caches = caches.group(layer for context in contexts for layer in context if layer.type is LayerType.CACHE)
        self.boundary = self._boundary_layers()
        self._boundary_resources = self._create_boundary()
        self._boundary_made: dict[LayerIdentifier, ResourceLayer] = {}
        self._memory = EdgePlanner(host, rules.runtime, rules.device).plan(self._plan_edges())

    def _check_layer_counts(self) -> None:
        """More layers in a context than the device has channels never get any: said before work is spent on them."""
        device = self._rules.device
        most = device.engines * (len(device.h2d_channels) + len(device.d2h_channels))
        for index, layers in enumerate(self._contexts):
            if len(layers) > most:
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    f"{len(layers)} edge layers in a context, {device.name} has {most} channels",
                    context=index,
                )

    def _boundary_layers(self) -> list[EdgeLayer]:
        """Every boundary layer of the core op, in the order of get_all_layer_infos."""
        boundary = [[layer for layer in context if layer.type is LayerType.BOUNDARY] for context in self._contexts]
        if self._rules.runtime.boundary_by_context:
            return [
                layer
                for context in boundary
                for direction in (H2D, D2H)
                for layer in context
                if layer.direction is direction
            ]
        return [
            layer
            for direction in (H2D, D2H)
            for context in boundary
            for layer in context
            if layer.direction is direction
        ]

    def boundary_channel(self, layer: EdgeLayer) -> int:
        return self._boundary_resources[layer.identifier][0]

    def boundary_address(self, layer: EdgeLayer) -> int:
        return self._boundary_resources[layer.identifier][1].dma_address

    def batch(self, layer: EdgeLayer) -> int:
        return self._rules.batches[layer.network_index]

    def _packed(self, identifier: LayerIdentifier, engine: int) -> int:
        return self._channels.allocate(identifier, engine).packed(self._rules.runtime.channel_id_shift)

    def _create_boundary(self) -> dict[LayerIdentifier, tuple[int, HostBufferInfo]]:
        channels = [self._packed(layer.identifier, layer.engine) for layer in self.boundary]
        out: dict[LayerIdentifier, tuple[int, HostBufferInfo]] = {}
        runtime, device = self._rules.runtime, self._rules.device
        limits = scatter_gather_limits(self._host.settings.desc_max_page)
        legacy_page = runtime.legacy_boundary_page and self._host.settings.is_on(
            "HAILO_LEGACY_BOUNDARY_CHANNEL_PAGE_SIZE"
        )
        for layer, channel in zip(self.boundary, channels, strict=True):
            batch = self.batch(layer)
            nms = layer.nms_info
            if nms is not None and device.integrated:
                classes = nms.number_of_classes * nms.chunks_per_frame * batch
                if classes >= _MAX_NMS_CLASSES_1X:
                    raise HailoError(
                        HailoStatus.HAILO_INVALID_ARGUMENT,
                        f"NMS layer {layer.name}: {classes} classes in a batch, below {_MAX_NMS_CLASSES_1X} are "
                        "supported",
                        stream=layer.stream_index,
                    )
            queue = boundary_queue_size(runtime, device, layer.transfer_size, layer.transfers_per_frame, batch)
            needed = boundary(
                limits,
                runtime,
                layer.transfer_size,
                min_active=MIN_ACTIVE_TRANSFERS * (batch if runtime.queue_batches else 1),
                max_active=queue,
                max_shmifo_size=layer.max_shmifo_size,
                legacy_page_size=legacy_page,
            )
            descriptors = self._host.descriptor_list(needed, circular=True)
            out[layer.identifier] = (
                channel,
                HostBufferInfo(
                    HostBufferType.EXTERNAL_DESC,
                    descriptors.dma_address,
                    needed.page_size,
                    needed.desc_count,
                    layer.transfer_size,
                ),
            )
        return out

    def _plan_edges(self) -> Iterable[Edge]:
        """Inter-context edges by their consumers, and DDR edges by their outputs (vdma.md 3.2, 3.3)."""
        edges: dict[EdgeKey, Edge] = {}
        for layer in (layer for context in self._contexts for layer in context):
            if layer.type is LayerType.INTER_CONTEXT and layer.direction is H2D:
                key = EdgeKey(layer.connected_context, layer.connected_stream)
                batch = self.batch(layer)
                edge = edges.get(key)
                if edge is None:
                    edges[key] = Edge(
                        key, layer.type, layer.name, layer.transfer_size, batch, key[0], layer.context_index
                    )
                elif (edge.transfer_size, edge.max_transfers_in_batch) != (layer.transfer_size, batch):
                    raise HailoError(
                        HailoStatus.HAILO_INTERNAL_FAILURE,
                        f"{edge.name} and {layer.name} read one edge as {edge.transfer_size} and "
                        f"{layer.transfer_size} bytes, batches {edge.max_transfers_in_batch} and {batch}",
                        context=key.context_index,
                        stream=key.stream_index,
                    )
                else:
                    edge.end_context = max(edge.end_context, layer.context_index)
            elif layer.type is LayerType.DDR and layer.direction is D2H:
                key = EdgeKey(layer.context_index, layer.stream_index)
                edges[key] = Edge(
                    key,
                    layer.type,
                    layer.name,
                    layer.core_bytes_per_buffer,
                    layer.min_buffered_rows,
                    layer.context_index,
                    layer.context_index,
                )
        return edges.values()

    # --- contexts -----------------------------------------------------------------------------------------------

    def activation(self) -> ContextResources:
        """All boundary outputs of all contexts, then all inputs (hef-compile.md 4.1)."""
        resources = self._start()
        for direction in (D2H, H2D):
            for context in self._contexts:
                for layer in context:
                    if layer.type is LayerType.BOUNDARY and layer.direction is direction:
                        self._add_boundary(resources, layer)
        return resources

    def batch_switching(self) -> ContextResources:
        """The internal edges of context 0; their channels stay allocated for it (hef-compile.md 3 item 3)."""
        resources = self._start()
        layers = self._contexts[0]
        pairs = self._allocate_ddr(layers)
        outputs = [
            (layer, self._packed(layer.identifier, layer.engine))
            for layer in layers
            if layer.type is LayerType.INTER_CONTEXT and layer.direction is D2H
        ]
        for output, _, h2d, d2h in pairs:
            self._add_ddr_output(resources, output, h2d, d2h)
        for layer, channel in outputs:
            self._add_inter_context_output(resources, layer, channel)
        for output, inputs, h2d, d2h in pairs:
            self._add_ddr_input(resources, output, inputs, h2d, d2h)
        return resources

    def context(self, index: int, config: dict[int, ConfigStream], *, attach_layers: bool = True) -> ContextResources:
        """Config buffers, then (`attach_layers`) the edge layers of dynamic context `index`."""
        resources = ContextResources()
        self._create_config(resources, config)
        if attach_layers:
            self._add_context_layers(resources, self._contexts[index])
        return resources

    def _start(self) -> ContextResources:
        self.hw_consts_requests += 1
        return ContextResources()

    def _create_config(self, resources: ContextResources, config: dict[int, ConfigStream]) -> None:
        """Creation order decides the addresses (hef-compile.md 2.4); the buffers are kept by channel."""
        runtime = self._rules.runtime
        if len(config) > len(self.config_channels):
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"CCW data for {len(config)} config channels, the network group has {len(self.config_channels)}",
            )
        highest = max(config, default=-1)
        if highest >= len(self.config_channels) or (runtime.checks_config_channel_gaps and highest >= len(config)):
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"CCW data for config channel {highest} of {sorted(config)} (the real program aborts)",
            )
        order = hash_order(config) if runtime.config_buffers_in_hash_order else sorted(config)
        buffers = {
            index: ConfigBuffer(self._host, runtime, self._rules.device, config[index], self._rules.section)
            for index in order
        }
        resources.config = {index: buffers[index] for index in sorted(buffers)}

    def _add_context_layers(self, resources: ContextResources, layers: Sequence[EdgeLayer]) -> None:
        self.hw_consts_requests += 1
        pairs = self._allocate_ddr(layers)
        channels = {
            layer.identifier: self._packed(layer.identifier, layer.engine)
            for direction in (D2H, H2D)
            for kind in (LayerType.INTER_CONTEXT, LayerType.CACHE)
            for layer in layers
            if layer.type is kind and layer.direction is direction
        }
        grouped: dict[tuple[LayerType, Direction], list[EdgeLayer]] = {}
        for layer in layers:
            grouped.setdefault((layer.type, layer.direction), []).append(layer)

        def of(kind: LayerType, direction: Direction) -> list[EdgeLayer]:
            return grouped.get((kind, direction), [])

        for output, _, h2d, d2h in pairs:
            self._add_ddr_output(resources, output, h2d, d2h)
        for layer in of(LayerType.BOUNDARY, D2H):
            self._add_boundary(resources, layer)
        for layer in of(LayerType.INTER_CONTEXT, D2H):
            self._add_inter_context_output(resources, layer, channels[layer.identifier])
        for layer in of(LayerType.CACHE, D2H):
            self._add_cache(resources, layer, channels[layer.identifier])
        for output, inputs, h2d, d2h in pairs:
            self._add_ddr_input(resources, output, inputs, h2d, d2h)
        for layer in of(LayerType.BOUNDARY, H2D):
            self._add_boundary(resources, layer)
        for layer in of(LayerType.INTER_CONTEXT, H2D):
            self._add_inter_context_input(resources, layer, channels[layer.identifier])
        for layer in of(LayerType.CACHE, H2D):
            self._add_cache(resources, layer, channels[layer.identifier])
        self._check_streams(resources)
        for identifier in channels:
            self._channels.free(identifier)
        for output, _, _, _ in pairs:
            for identifier in _ddr_identifiers(output):
                self._channels.free(identifier)

    def _check_streams(self, resources: ContextResources) -> None:
        """A stream index may stand for two layers only in opposite directions, with extension 20 (hef-compile.md 3)."""
        seen: dict[int, list[ResourceLayer]] = {}
        for layer in resources.layers:
            seen.setdefault(layer.layer.stream_index, []).append(layer)
        for stream, layers in seen.items():
            if len(layers) == 1:
                continue
            directions = {layer.layer.direction for layer in layers}
            if len(layers) > 2 or len(directions) < 2 or not self._rules.dual_direction_stream_index:
                names = ", ".join(layer.layer.name for layer in layers)
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    f"stream index {stream} is used by {names} in one context",
                    context=layers[0].layer.context_index,
                    stream=stream,
                )

    def _allocate_ddr(self, layers: Sequence[EdgeLayer]) -> list[tuple[EdgeLayer, EdgeLayer, int, int]]:
        """(output, input, h2d channel, d2h channel) per DDR output, allocated H2D first."""
        inputs = {
            layer.stream_index: layer for layer in layers if layer.type is LayerType.DDR and layer.direction is H2D
        }
        out = []
        for layer in layers:
            if layer.type is not LayerType.DDR or layer.direction is not D2H:
                continue
            other = inputs.get(layer.connected_stream)
            if other is None:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_HEF,
                    f"DDR layer {layer.name} is connected to stream {layer.connected_stream}, which is no DDR input",
                    context=layer.context_index,
                    stream=layer.stream_index,
                )
            if other.network_index != layer.network_index:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_HEF,
                    f"DDR layers {layer.name} and {other.name} belong to networks {layer.network_index} and "
                    f"{other.network_index}",
                    context=layer.context_index,
                )
            to_device, to_host = _ddr_identifiers(layer)
            h2d = self._packed(to_device, layer.connected_engine)
            out.append((layer, other, h2d, self._packed(to_host, layer.engine)))
        return out

    def _resource(
        self,
        layer: EdgeLayer,
        channel: int,
        buffer: HostBufferInfo,
        *,
        connected_d2h_channel: int = 0,
        cache_batch_size: int = 0,
    ) -> ResourceLayer:
        rules = self._rules
        registers = calculate_periph(
            layer,
            buffer.desc_page_size,
            rules.runtime,
            rules.device,
            rules.consts,
            rules.hw_padding,
            rules.periph_in_hailort,
        )
        credit = layer.max_shmifo_size or rules.consts.default_initial_credit_size
        return ResourceLayer(layer, channel, registers, buffer, credit, connected_d2h_channel, cache_batch_size)

    def _add_boundary(self, resources: ContextResources, layer: EdgeLayer) -> None:
        # the activation list and every context that works with it say the same of a boundary layer
        identifier = layer.identifier
        made = self._boundary_made.get(identifier)
        if made is None:
            made = self._resource(layer, *self._boundary_resources[identifier])
            self._boundary_made[identifier] = made
        resources.add(made)

    def _edge_buffer(self, layer: EdgeLayer) -> HostBufferInfo:
        """A list is made every time an output is filled, the first one is used (hef-compile.md 3)."""
        key = EdgeKey(layer.context_index, layer.stream_index)
        memory = self._memory.get(key)
        if memory is None:
            raise HailoError(
                HailoStatus.HAILO_NOT_FOUND,
                f"nothing reads the output {layer.name}",
                context=layer.context_index,
                stream=layer.stream_index,
            )
        created = create_edge_buffer(self._host, self._rules.runtime, memory, self.batch(layer))
        return self._edges.setdefault(key, created)

    def _add_inter_context_output(self, resources: ContextResources, layer: EdgeLayer, channel: int) -> None:
        resources.add(self._resource(layer, channel, self._edge_buffer(layer)))

    def _add_inter_context_input(self, resources: ContextResources, layer: EdgeLayer, channel: int) -> None:
        buffer = self._edges.get(EdgeKey(layer.connected_context, layer.connected_stream))
        if buffer is None:
            raise HailoError(
                HailoStatus.HAILO_NOT_FOUND,
                f"input {layer.name} reads stream {layer.connected_stream} of context {layer.connected_context}, "
                "which nothing has written",
                context=layer.context_index,
                stream=layer.stream_index,
            )
        resources.add(self._resource(layer, channel, buffer))

    def _add_ddr_output(self, resources: ContextResources, layer: EdgeLayer, h2d: int, d2h: int) -> None:
        if not self._rules.padded_ddr_buffers:
            raise self._rules.refusal(
                HailoStatus.HAILO_HEF_NOT_SUPPORTED,
                f"DDR layer {layer.name} without the extension PADDED_DDR_BUFFERS (host-managed DDR buffers)",
            )
        row = layer.core_bytes_per_buffer
        if row % _DDR_ROW_ALIGNMENT:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"DDR layer {layer.name}: row of {row} bytes is no multiple of {_DDR_ROW_ALIGNMENT}",
                context=layer.context_index,
                stream=layer.stream_index,
            )
        buffer = self._edge_buffer(layer)
        resources.ddr_pairs.append(
            DdrPair(
                h2d,
                d2h,
                layer.network_index,
                row // buffer.desc_page_size * layer.core_buffers_per_frame,
                buffer.total_desc_count,
                buffer.buffer_type,
            )
        )
        resources.add(self._resource(layer, d2h, buffer))

    def _add_ddr_input(
        self, resources: ContextResources, output: EdgeLayer, layer: EdgeLayer, h2d: int, d2h: int
    ) -> None:
        buffer = self._edges[EdgeKey(output.context_index, output.stream_index)]
        resources.add(self._resource(layer, h2d, buffer, connected_d2h_channel=d2h))

    def _add_cache(self, resources: ContextResources, layer: EdgeLayer, channel: int) -> None:
        buffer, entries = self.caches.buffer_info(layer, self.batch(layer))
        resources.add(self._resource(layer, channel, buffer, cache_batch_size=entries))


def _ddr_identifiers(output: EdgeLayer) -> tuple[LayerIdentifier, LayerIdentifier]:
    """Both ends go by the output's name (hef-compile.md 3)."""
    return (
        LayerIdentifier(LayerType.DDR, H2D, output.name, output.connected_stream),
        LayerIdentifier(LayerType.DDR, D2H, output.name, output.stream_index),
    )
