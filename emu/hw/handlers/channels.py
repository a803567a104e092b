"""Boundary, inter-context, DDR and cache channels: open, activate, route, pause, validate, close."""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter

from emu.hw.application import chip_settings
from emu.hw.execution import Execution
from emu.hw.handlers.units import check_buffer_type, check_network
from emu.hw.passes import OpenedInput
from emu.hw.vdma import UNMAPPED, Channel, Edge, EdgeKind
from emu.sequencer.program import Direction
from emu.wire.actions import (
    ActivateBoundaryInput,
    ActivateBoundaryOutput,
    ActivateCacheInput,
    ActivateCacheOutput,
    ActivateDdrBufferInput,
    ActivateDdrBufferOutput,
    ActivateInterContextInput,
    ActivateInterContextOutput,
    ChangeVdmaToStreamMapping,
    DeactivateVdmaChannel,
    HostBufferInfo,
    OpenBoundaryInputChannel,
    OpenBoundaryOutputChannel,
    PauseVdmaChannel,
    ResumeVdmaChannel,
    StreamRegInfo,
    ValidateVdmaChannel,
)
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require

# what every runtime sends of them
_registers = attrgetter(*(name for name in StreamRegInfo._fields if name not in StreamRegInfo._field_defaults))
Opening = OpenBoundaryInputChannel | OpenBoundaryOutputChannel
Activation = (
    ActivateBoundaryInput
    | ActivateBoundaryOutput
    | ActivateInterContextInput
    | ActivateInterContextOutput
    | ActivateDdrBufferInput
    | ActivateDdrBufferOutput
    | ActivateCacheInput
    | ActivateCacheOutput
)
_DIRECTIONS = {direction.value: direction for direction in Direction}
_STREAMS = {direction: f"stream {direction.name}" for direction in Direction}
MAX_STREAM_INDEX = 63  # the largest shmifo id that a runtime names (hef-compile.md 4.5)


def open_boundary_input_channel(fw: Execution, a: OpenBoundaryInputChannel) -> None:
    """Start the host side of a boundary input and register it with the burst-credits task."""
    check_network(fw, a.network_index)
    require(a.periph_bytes_per_buffer > 0, S.CONTEXT_SWITCH_STATUS_INVALID_BYTES_PER_BUFFER_VALUE, "0 periph bytes")
    channel = _open(fw, a, Direction.H2D)
    fw.device.core.opened[channel.packed] = OpenedInput(
        a.stream_index, a.network_index, a.periph_bytes_per_buffer, a.frame_periph_size
    )


def open_boundary_output_channel(fw: Execution, a: OpenBoundaryOutputChannel) -> None:
    """Start the host side of a boundary output."""
    _open(fw, a, Direction.D2H)


def _open(fw: Execution, a: Opening, direction: Direction) -> Channel:
    vdma = fw.device.vdma
    channel = vdma.channel(a.packed_vdma_channel_id, direction)
    require(
        not channel.host_opened,
        S.VDMA_SERVICE_STATUS_CHANNEL_NOT_IDLE,
        lambda: f"{channel.describe()} is already open",
    )
    info = HostBufferInfo.of(a)
    vdma.check_buffer(info, circular=True)
    channel.open(info)
    channel.boundary, channel.descriptors = True, vdma.host.lists.get(info.dma_address)
    assert fw.application is not None
    if any(channel.packed in context.actions.maps for context in fw.application.contexts):
        channel.mapped_stream = UNMAPPED  # activation maps nothing, where lists map by themselves
    # an input moves nothing before the first RESUME
    channel.paused = direction is Direction.H2D
    channel.transfers_per_frame = fw.device.core.transfers.get(channel.packed, 1)
    fw.device.memory_note("open", channel.packed, chip_settings(a))
    if fw.tracing:
        fw.note = f"{channel.describe()} open"
    return channel


def activate_boundary_input(fw: Execution, a: ActivateBoundaryInput) -> None:
    """Configure the stream of a boundary input."""
    opened = fw.device.core.opened.get(a.packed_vdma_channel_id)
    edge = _activate(fw, a, EdgeKind.BOUNDARY, Direction.H2D, opened.network if opened else 0)
    _check_opened(fw, edge)


def activate_boundary_output(fw: Execution, a: ActivateBoundaryOutput) -> None:
    """Configure the stream of a boundary output."""
    check_network(fw, a.network_index)
    edge = _activate(fw, a, EdgeKind.BOUNDARY, Direction.D2H, a.network_index)
    _check_opened(fw, edge)


def activate_inter_context_input(fw: Execution, a: ActivateInterContextInput) -> None:
    """Configure both sides of a channel that reads what an earlier context left in memory."""
    _activate(fw, a, EdgeKind.INTER_CONTEXT, Direction.H2D, a.network_index)


def activate_inter_context_output(fw: Execution, a: ActivateInterContextOutput) -> None:
    """Configure both sides of a channel that leaves frames in memory for a later context."""
    check_network(fw, a.network_index)
    edge = _activate(fw, a, EdgeKind.INTER_CONTEXT, Direction.D2H, a.network_index)
    needed = edge.descriptors_per_frame * fw.batch
    require(
        needed <= edge.buffer.total_desc_count,
        S.VDMA_SERVICE_INSUFFICIENT_DESCRIPTORS_COUNT,
        lambda: (
            f"{edge.describe()}: {fw.batch} frames need {needed} descriptors, "
            f"the list has {edge.buffer.total_desc_count}"
        ),
    )


def activate_ddr_buffer_input(fw: Execution, a: ActivateDdrBufferInput) -> None:
    """Configure the consuming side of a DDR portal."""
    edge = _activate(fw, a, EdgeKind.DDR, Direction.H2D, 0)
    edge.connected_d2h = a.connected_d2h_packed_vdma_channel_id
    partner = fw.device.core.edge_of_channel(edge.connected_d2h)
    require(
        partner is not None and partner.kind is EdgeKind.DDR,
        S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
        lambda: f"{edge.describe()}: its producer, channel {edge.connected_d2h}, is not an active DDR output",
    )


def activate_ddr_buffer_output(fw: Execution, a: ActivateDdrBufferOutput) -> None:
    """Configure the producing side of a DDR portal."""
    edge = _activate(fw, a, EdgeKind.DDR, Direction.D2H, 0)
    edge.buffered_rows = a.buffered_rows_count


def activate_cache_input(fw: Execution, a: ActivateCacheInput) -> None:
    """Configure a channel that reads entries of a cache."""
    edge = _activate(fw, a, EdgeKind.CACHE, Direction.H2D, a.network_index)
    edge.carry(max(1, (a.total_desc_count - 1) // edge.buffer.descriptors_per_transfer))


def activate_cache_output(fw: Execution, a: ActivateCacheOutput) -> None:
    """Configure a channel that writes `batch_size` entries of a cache."""
    check_network(fw, a.network_index)
    entries = getattr(a, "batch_size", 1)  # a runtime that does not send it moves all in one transfer
    require(entries > 0, S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE, "a cache output of 0 entries")
    edge = _activate(fw, a, EdgeKind.CACHE, Direction.D2H, a.network_index)
    edge.carry(entries)


def _activate(fw: Execution, a: Activation, kind: EdgeKind, direction: Direction, network: int) -> Edge:
    device = fw.device
    channel = device.vdma.channel(a.packed_vdma_channel_id, direction)
    registers, info, initial_credit, settings = _settings(a, kind)
    device.vdma.check_buffer(info, circular=kind in (EdgeKind.BOUNDARY, EdgeKind.DDR))
    if initial_credit <= 0 and direction is Direction.H2D:
        raise FirmwareStopError(
            S.VDMA_SERVICE_STATUS_INVALID_INITIAL_CREDIT_SIZE, f"initial credit size 0 on {channel.describe()}"
        )
    if a.stream_index > MAX_STREAM_INDEX:
        raise FirmwareStopError(S.BURST_CREDITS_TASK_STATUS_FAILED_TO_FIND_STREAM_INDEX, f"stream {a.stream_index}")
    key = (direction, a.stream_index)
    if key in fw.activated_streams:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_MULTIPLE_EDGE_LAYERS_FOR_SAME_STREAM,
            f"{direction.name} stream {a.stream_index} is activated twice in one context",
        )
    holder = device.core.edge_of_channel(channel.packed)
    if holder is not None and (holder.direction, holder.stream) in fw.activated_streams:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_MULTIPLE_STREAMS_USE_THE_SAME_CHANNEL,
            f"{channel.describe()} already serves stream {holder.stream}",
        )
    present = device.core.edges.get(key)
    if present is not None and present.kind is not EdgeKind.BOUNDARY:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_EDGE_LAYER_ALREADY_SET,
            f"{direction.name} stream {a.stream_index} is still active from an earlier context",
        )
    if holder is not None:
        device.core.edges.pop((holder.direction, holder.stream), None)
    fw.activated_streams.add(key)
    if kind is not EdgeKind.BOUNDARY:
        channel.open(info)
    edge = Edge(kind, channel, a.stream_index, network, registers, info, initial_credit)
    device.core.edges[key] = edge
    device.memory_note(_STREAMS[direction], a.stream_index, settings)
    if fw.tracing:
        fw.note = edge.describe()
    return edge


@lru_cache(maxsize=1 << 12)  # lists run again and again; what is refused ends a run
def _settings(a: Activation, kind: EdgeKind) -> tuple[StreamRegInfo, HostBufferInfo, int, tuple[int, ...]]:
    """Registers, buffer and initial credit of an activation, and what the chip is set to by it."""
    registers, info = StreamRegInfo(*_registers(a)), HostBufferInfo.of(a)
    _check_registers(registers, kind, info)
    return registers, info, getattr(a, "initial_credit_size", 0), chip_settings(a)


def _check_registers(registers: StreamRegInfo, kind: EdgeKind, info: HostBufferInfo) -> None:
    require(
        registers.core_bytes_per_buffer > 0 and registers.periph_bytes_per_buffer > 0,
        S.CONTEXT_SWITCH_STATUS_INVALID_BYTES_PER_BUFFER_VALUE,
        lambda: f"{registers.core_bytes_per_buffer} core and {registers.periph_bytes_per_buffer} periph bytes a buffer",
    )
    # an output with 0 core buffers is in a public HEF and runs (units.md 8); the rows of a DDR pair are counted in them
    require(
        registers.periph_buffers_per_frame > 0 and (registers.core_buffers_per_frame > 0 or kind is not EdgeKind.DDR),
        S.CONTEXT_SWITCH_STATUS_INVALID_BUFFERS_PER_FRAME_VALUE,
        lambda: (
            f"{registers.core_buffers_per_frame} core and {registers.periph_buffers_per_frame} periph buffers a frame"
        ),
    )
    if kind in (EdgeKind.BOUNDARY, EdgeKind.INTER_CONTEXT):
        require(info.bytes_in_pattern > 0, S.VDMA_SERVICE_STATUS_TOO_LARGE_BYTES_IN_PATTERN, "a transfer of 0 bytes")


def _check_opened(fw: Execution, edge: Edge) -> None:
    if not edge.channel.host_opened:
        raise FirmwareStopError(
            S.VDMA_SERVICE_STATUS_CHANNEL_CANNOT_FETCH_DESCRITPROTS_WHILE_ABORTED,
            f"{edge.describe()}: its channel was never opened",
        )
    opened = fw.device.core.opened.get(edge.channel.packed)
    if opened is not None and opened.stream != edge.stream and edge.direction is Direction.H2D:
        raise FirmwareStopError(
            S.BURST_CREDITS_TASK_STATUS_FAILED_TO_FIND_STREAM_INDEX,
            f"{edge.describe()}: its channel was opened for stream {opened.stream}",
        )


def change_vdma_to_stream_mapping(fw: Execution, a: ChangeVdmaToStreamMapping) -> None:
    """Route a boundary channel to a stream, or to a dummy so that its data is held back."""
    channel = fw.device.vdma.channel(a.packed_vdma_channel_id)
    if not channel.host_opened:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX, f"{channel.describe()} is not an open boundary channel"
        )
    channel.dummy = bool(a.is_dummy_stream)
    channel.mapped_stream = None if channel.dummy else a.stream_index
    fw.device.memory_note("mapping", channel.packed, (a.stream_index, a.is_dummy_stream))
    fw.device.core.changed.notify()
    if fw.tracing:
        fw.note = f"{channel.describe()} -> " + ("nowhere" if channel.dummy else f"stream {a.stream_index}")


def pause_vdma_channel(fw: Execution, a: PauseVdmaChannel) -> None:
    """Hold a boundary channel back."""
    channel = _boundary(fw, a)
    channel.paused = True
    fw.device.memory_note("pause", channel.packed, (1,))


def resume_vdma_channel(fw: Execution, a: ResumeVdmaChannel) -> None:
    """Let a boundary channel go on."""
    channel = _boundary(fw, a)
    channel.paused = False
    fw.device.memory_note("pause", channel.packed, (0,))
    fw.device.core.changed.notify()


def _boundary(fw: Execution, a: PauseVdmaChannel | ResumeVdmaChannel) -> Channel:
    direction = _direction(a.edge_layer_direction)
    channel = _named(fw, a.packed_vdma_channel_id, direction)
    if not channel.host_opened:
        raise FirmwareStopError(S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX, f"{channel.describe()} is not open")
    if fw.tracing:
        fw.note = channel.describe()
    return channel


def _named(fw: Execution, packed: int, direction: Direction) -> Channel:
    """The channel of a packed id, which has to be of that direction."""
    channel = fw.device.vdma.channel(packed)
    if channel.direction is not direction:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_PCIE_CHANNEL_INDEX_AND_DIRECTION_MISMATCH,
            f"{channel.describe()} named as {direction.name}",
        )
    return channel


def validate_vdma_channel(fw: Execution, a: ValidateVdmaChannel) -> None:
    """Assert that the channel has nothing left: no credits, nothing in a FIFO, no host descriptors if asked."""
    _check_end_of_context(fw, a)


def deactivate_vdma_channel(fw: Execution, a: DeactivateVdmaChannel) -> None:
    """Close the channel, with the checks of VALIDATE."""
    edge = _check_end_of_context(fw, a)
    core = fw.device.core
    fw.device.memory_note(_STREAMS[edge.direction], edge.stream, ())
    del core.edges[(edge.direction, edge.stream)]
    fw.activated_streams.discard((edge.direction, edge.stream))
    if edge.kind is not EdgeKind.BOUNDARY:
        edge.channel.close()
    if fw.tracing:
        fw.note = f"{edge.describe()} closed"


def _check_end_of_context(fw: Execution, a: DeactivateVdmaChannel | ValidateVdmaChannel) -> Edge:
    core = fw.device.core
    direction = _direction(a.edge_layer_direction)
    channel = _named(fw, a.packed_vdma_channel_id, direction)
    edge = core.edge_of_channel(channel.packed)
    if edge is None:
        raise FirmwareStopError(S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX, f"{channel.describe()} is not active")
    check_buffer_type(edge, a.host_buffer_type)
    if fw.batch_switching:
        return edge
    one = core.pass_of_edge(edge)
    if one is not None and not one.finished and direction is Direction.H2D:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_STREAM_CREDIT_NOT_ZERO_AT_END_OF_CONTEXT,
            f"{edge.describe()}: {one.completed} of {one.limit or 'endless'} frames consumed",
        )
    if one is not None and not one.finished:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_FIFO_COUNTER_NOT_ZERO_AT_END_OF_CONTEXT,
            f"{edge.describe()}: {one.completed} of {one.limit or 'endless'} frames delivered",
        )
    if fw.grant_at is not None and direction is Direction.D2H:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_FIFO_COUNTER_NOT_ZERO_AT_END_OF_CONTEXT,
            f"{edge.describe()}: the list closes it without waiting for its frames",
        )
    if one is None and edge.fetched and edge.done < fw.batch:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_STREAM_CREDIT_NOT_ZERO_AT_END_OF_CONTEXT,
            f"{edge.describe()}: its credits were never used",
        )
    if a.check_host_empty_num_available and edge.kind is not EdgeKind.INTER_CONTEXT:
        raise FirmwareStopError(
            S.VDMA_SERVICE_STATUS_DESCRIPTOR_COUNT_INDICATE_NOT_ALL_DATA_WAS_TRANSFERRED,
            f"{edge.describe()} has host descriptors left",
        )
    return edge


def _direction(value: int) -> Direction:
    found = _DIRECTIONS.get(value)
    if found is None:
        raise FirmwareStopError(S.CONTEXT_SWITCH_STATUS_INVALID_EDGE_LAYER_DIRECTION, f"edge layer direction {value}")
    return found
