"""One network group of a configure call: its contexts compiled, serialised and put into control messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from emu.chips.consts import HwConsts
from emu.chips.runtimes import DeviceProfile, RuntimeProfile
from emu.errors import HailoError, HailoStatus
from emu.hef import Hef
from emu.hef.container import Container
from emu.hef.enums import HwArch
from emu.hef.layers import network_names
from emu.hef.load import check_load
from emu.hef.model import CoreOp, NetworkGroup
from emu.hef.operations import Operation
from emu.naming import with_full_names
from emu.sequencer import recipes
from emu.sequencer.caches import CacheManager
from emu.sequencer.channels import LayerType
from emu.sequencer.config import ZeroCopySection
from emu.sequencer.context_resources import ContextResources
from emu.sequencer.host import HostMemory
from emu.sequencer.layers import EdgeLayer, edge_layers
from emu.sequencer.lower import Lowered, lower
from emu.sequencer.options import CompileOptions
from emu.sequencer.program import (
    MAX_CONTEXTS,
    ActionListRecord,
    BoundaryStream,
    ComputeFigures,
    ContextProgram,
    ContextType,
    Direction,
    NetworkGroupProgram,
)
from emu.sequencer.recipes import ContextRecipe
from emu.sequencer.repeat import group_repeated
from emu.sequencer.requirements import scatter_gather_limits
from emu.sequencer.resources import GroupResources, GroupRules
from emu.wire import control
from emu.wire.headers import ApplicationHeader
from emu.wire.lists import Entry
from emu.wire.wire import Wire, wire_of

CHUNK_SIZE = 1461  # CONTEXT_NETWORK_DATA_SINGLE_CONTROL_MAX_SIZE (firmware-actions.md 4)
_MAX_NETWORKS = 0xFF
_MAX_RECORD = 4096  # data bytes of an action list record in DDR (firmware-actions.md 4)


class Configuration(Struct, frozen=True):
    """What the network groups of one configure call share: addresses go on counting, caches add up."""

    hef: Hef
    options: CompileOptions
    runtime: RuntimeProfile
    device: DeviceProfile
    host: HostMemory
    consts: HwConsts
    caches: CacheManager


class GroupCompiler:
    """Compiles one network group of a configure call."""

    def __init__(self, configuration: Configuration, group: NetworkGroup, core_op: CoreOp, index: int) -> None:
        self._configuration = configuration
        self._group = group
        self._core_op = core_op
        self._index = index
        self._runtime = configuration.runtime
        self._wire = wire_of(configuration.runtime.name)
        self._device = configuration.device
        self._hef = configuration.hef
        self._features = configuration.hef.features
        self._names = network_names(group.network_group_name, core_op, self._features)
        self._split = self._features.split_allow_input_action and self._runtime.split_allow_input

    def run(self) -> NetworkGroupProgram:
        name, core_op = self._group.network_group_name, self._core_op
        batches = self._batches()
        if len(core_op.contexts) + 3 > MAX_CONTEXTS:
            raise HailoError(
                HailoStatus.HAILO_INVALID_HEF,
                f"network group {name} has {len(core_op.contexts)} contexts, at most {MAX_CONTEXTS - 3} are possible",
            )
        preliminary = self._lower(core_op.preliminary_config.operation)
        dynamic = [self._lower(context.operations) for context in core_op.contexts]
        loaded = check_load(self._hef)
        layers = [edge_layers(infos, self._device.integrated) for infos in loaded.layers(core_op)]
        rules = GroupRules(
            self._runtime,
            self._device,
            self._configuration.consts,
            self._features.core_hw_padding_config_in_dfc,
            self._features.periph_calculation_in_hailort,
            self._features.padded_ddr_buffers,
            self._features.dual_direction_stream_index,
            self._section(),
            batches,
            self._hef.version.refusal,
        )
        resources = GroupResources(
            self._configuration.host, rules, layers, self._config_engines(), self._configuration.caches
        )
        lists = list(self._contexts(preliminary, dynamic, resources))
        return self._send(preliminary, dynamic, resources, lists, batches)

    def _batches(self) -> list[int]:
        """Batch per network_index; HAILO_INVALID_ARGUMENT above 63."""
        options, names = self._configuration.options, self._names
        own = with_full_names(options.net_batch, names)
        batches = [own.get(name, options.batch) for name in names]
        for name, batch in zip(names, batches, strict=True):
            if not 0 <= batch <= control.MAX_BATCH_SIZE:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"batch size {batch} of network {name} is above {control.MAX_BATCH_SIZE}",
                )
        if len(names) > _MAX_NETWORKS:
            raise HailoError(
                HailoStatus.HAILO_INVALID_HEF,
                f"{len(names)} networks in network group {self._group.network_group_name}, at most {_MAX_NETWORKS}",
            )
        return [batch or 1 for batch in batches]

    def _lower(self, operations: Iterable[Operation]) -> Lowered:
        return lower(
            operations,
            inline_ccw=self._hef.container.version == 0,
            multi_network=self._features.multi_network_support,
        )

    def _config_engines(self) -> list[int]:
        """Engine of every config channel (hef-container.md 6.5); PCIe devices only have engine 0."""
        metadata = self._core_op.network_group_metadata
        count = metadata.cfg_channels_count or 1
        engines: dict[int, int] = {}
        if self._device.integrated:
            for config in metadata.cfg_channels_config:
                engines.setdefault(config.cfg_channel_index, config.engine_id)
        return [engines.get(index, 0) for index in range(count)]

    def _section(self) -> ZeroCopySection | None:
        """The CCW section where its bytes are used in place (hef-container.md 4.2)."""
        container, settings = self._hef.container, self._configuration.options.host
        if settings.is_on("HAILO_DISABLE_ALIGNED_CCWS"):
            return None
        least = self._runtime.zero_copy_min_section
        if least is None:
            mapped = container.version == 3 and self._device.attachment in self._runtime.prefetch
            if self._features.shared_config and mapped and container.from_memory:
                return _section_of(container)
            if self._features.shared_config and container.version:
                raise HailoError(
                    HailoStatus.HAILO_INTERNAL_FAILURE,
                    f"SHARED_CONFIG never configures with {self._runtime.name} on this device",
                )
            return None
        size = container.ccws_section_size % (1 << 64)
        if container.version != 3 or not (self._features.shared_config or size > least):
            return None
        return _section_of(container)

    # --- contexts -----------------------------------------------------------------------------------------------

    def _contexts(
        self, preliminary: Lowered, dynamic: Sequence[Lowered], resources: GroupResources
    ) -> Iterator[tuple[ContextType, int, Sequence[Entry]]]:
        """The contexts in the order they are sent; the activation context alone is not grouped (hef-compile.md 4.1)."""
        opened = resources.activation()
        yield ContextType.ACTIVATION, 0, recipes.activation(opened)
        switching = resources.batch_switching()
        make = self._wire.lists.make
        inputs = opened.of(LayerType.BOUNDARY, Direction.H2D)
        if not self._runtime.switches_all_inputs:
            inputs = [layer for layer in inputs if layer.layer.context_index == 0]
        batch_switch = recipes.batch_switching(make, preliminary.actions, switching, inputs)
        yield ContextType.BATCH_SWITCHING, 0, group_repeated(batch_switch)
        run_asap = self._features.preliminary_run_asap
        first = resources.context(0, preliminary.config, attach_layers=run_asap)
        recipe = ContextRecipe(
            self._runtime,
            self._device,
            make,
            self._hef.container.data[self._hef.container.offset_zero_point :],
            self._hef.ccw,
            resources.config_channels,
            resources.boundary,
            resources.boundary_channel,
            self._hef.header.hw_arch,
            len(dynamic) == 1,
            self._split,
        )
        waits, wait_first = self._waits_for_cache(resources), self._runtime.cache_wait_first
        opening = recipe.preliminary(preliminary.actions, first, run_asap, waits and wait_first and run_asap)
        yield ContextType.PRELIMINARY, 0, group_repeated(opening)
        if resources.caches and len(dynamic) == 1:
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT, "caches are in use but the network has a single context"
            )
        contexts: list[ContextResources] = [
            resources.context(index, lowered.config) for index, lowered in enumerate(dynamic)
        ]
        for index, lowered in enumerate(dynamic):
            last = index == len(dynamic) - 1
            following = (0 if last else index + 1) if self._split and self._runtime.activates_next_context else index
            actions = recipe.dynamic(
                lowered.actions,
                contexts[index],
                contexts[following],
                index,
                following,
                waits and (index == 0 if wait_first else last),
            )
            yield ContextType.DYNAMIC, index, group_repeated(actions)

    def _waits_for_cache(self, resources: GroupResources) -> bool:
        if not resources.caches:
            return False
        if self._runtime.cache_wait_needs_flag:
            return self._configuration.options.kv_cache
        switches = self._configuration.options.host.switches
        return switches.get("HAILORT_AUTO_UPDATE_CACHE_OFFSET") != "disabled"

    # --- sending ------------------------------------------------------------------------------------------------

    def _send(
        self,
        preliminary: Lowered,
        dynamic: Sequence[Lowered],
        resources: GroupResources,
        lists: Sequence[tuple[ContextType, int, Sequence[Entry]]],
        batches: Sequence[int],
    ) -> NetworkGroupProgram:
        contexts = [_serialize(kind, index, entries, self._wire) for kind, index, entries in lists]
        records: tuple[ActionListRecord, ...] = ()
        if self._uses_ddr_action_list(contexts):
            records = tuple(self._record(context) for context in contexts if context.chunks)
        header = ApplicationHeader(
            dynamic_contexts_count=len(dynamic),
            preliminary_run_asap=int(self._features.preliminary_run_asap),
            batch_register_config=int(self._features.batch_register_config),
            can_fast_batch_switch=int(not (preliminary.writes_batch_size or dynamic[0].writes_batch_size)),
            networks_count=len(batches),
            csm_buffer_size=scatter_gather_limits(self._configuration.options.host.desc_max_page).default_page_size,
            batch_size=batches[max(range(len(batches)), key=lambda number: self._names[number])],
            batch_sizes=tuple(batches),
            external_action_list_address=records[0].dma_address if records else 0,
            config_channels_count=len(resources.config_channels),
            config_channels=tuple(resources.config_channels),
            split_allow_input_action=int(self._split),
        )
        return NetworkGroupProgram(
            name=self._group.network_group_name,
            application_index=self._index,
            application_header=self._wire.header.encode(header),
            contexts=() if records else tuple(contexts),
            ddr_action_list=records,
            streams=self._streams(resources),
            batch_size=max(batches),
            caches=resources.caches.programs(),
            hw_consts_requests=resources.hw_consts_requests,
            figures=self._figures(),
        )

    def _figures(self) -> ComputeFigures:
        metadata = self._core_op.network_group_metadata
        return ComputeFigures(
            metadata.bottleneck_fps,
            metadata.latency,
            metadata.computational_ops,
            hailo8r=self._hef.header.hw_arch == HwArch.HAILO8R,
        )

    def _uses_ddr_action_list(self, contexts: Sequence[ContextProgram]) -> bool:
        if not self._device.integrated:
            return False
        size = sum(len(context.action_list) for context in contexts)
        forced = self._configuration.options.host.is_on("HAILO_DDR_ACTION_LIST")
        if not forced and size <= self._runtime.action_list_sram:
            return False
        if self._runtime.m4_memory_for == "lists":
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"HailoRT {self._runtime.name} hands action lists over in memory that the driver maps for the M4 core, "
                "which this host has not",
            )
        return True

    def _record(self, context: ContextProgram) -> ActionListRecord:
        if len(context.action_list) > _MAX_RECORD:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"an action list of {len(context.action_list)} bytes does not fit the {_MAX_RECORD} of a record in "
                "DDR (the real program crashes)",
                context=context.index,
            )
        return ActionListRecord(self._configuration.host.action_list_address(), context)

    def _streams(self, resources: GroupResources) -> tuple[BoundaryStream, ...]:
        def stream(layer: EdgeLayer) -> BoundaryStream:
            return BoundaryStream(
                name=layer.name,
                direction=layer.direction,
                stream_index=layer.stream_index,
                packed_vdma_channel_id=resources.boundary_channel(layer),
                network_index=layer.network_index,
                context_index=layer.context_index,
                hw_frame_size=layer.hw_frame_size,
                transfer_size=layer.transfer_size,
                transfers_per_frame=layer.transfers_per_frame,
                dma_address=resources.boundary_address(layer),
                batch_size=resources.batch(layer),
            )

        return tuple(
            stream(layer)
            for direction in (Direction.H2D, Direction.D2H)
            for layer in resources.boundary
            if layer.direction is direction
        )


def _section_of(container: Container) -> ZeroCopySection:
    size = container.ccws_section_size % (1 << 64)
    return ZeroCopySection(container.data[container.offset_zero_point :], container.offset_zero_point, size)


def _serialize(kind: ContextType, index: int, entries: Sequence[Entry], wire: Wire) -> ContextProgram:
    """Encoded and cut into chunks; a buffer never crosses a chunk (firmware-actions.md 4)."""
    buffers: list[bytes] = []
    chunks: list[int] = []
    length = 0
    for entry in entries:
        data = wire.lists.encode_entry(entry)
        buffers.append(data)
        if length + len(data) <= CHUNK_SIZE:
            length += len(data)
            continue
        for buffer in wire.encode([entry]):
            if length + len(buffer) > CHUNK_SIZE:
                chunks.append(length)
                length = 0
            length += len(buffer)
    if length:
        chunks.append(length)
    return ContextProgram(kind, index, b"".join(buffers), tuple(chunks))
