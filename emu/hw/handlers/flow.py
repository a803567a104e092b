"""What lets data flow: input credits, the burst-credits task, the DDR-buffering task."""

from __future__ import annotations

from emu.hw.execution import Execution
from emu.hw.handlers.units import check_buffer_type, check_network
from emu.hw.tasks import BurstJob, DdrPair
from emu.hw.vdma import EdgeKind
from emu.sequencer.program import Direction
from emu.wire.actions import (
    AddDdrPairInfo,
    BurstCreditsTaskReset,
    BurstCreditsTaskStart,
    ChangeBoundaryInputBatch,
    DdrBufferingReset,
    DdrBufferingStart,
    FetchDataFromVdmaChannel,
    HostBufferType,
)
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require

CREDIT_BYTES = 1
CREDIT_DESCRIPTORS = 2


def fetch_data_from_vdma_channel(fw: Execution, a: FetchDataFromVdmaChannel) -> None:
    """Give an input its credits: a job of the burst-credits task for a boundary, descriptors at once for the rest."""
    device = fw.device
    check_network(fw, a.network_index)
    channel = device.vdma.channel(a.packed_vdma_channel_id)
    if channel.direction is not Direction.H2D:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_ADDING_CREDITS_IS_ALLOWED_ONLY_FOR_EDGE_LAYER_DIRECTION_HOST_TO_DEVICE,
            f"credits for {channel.describe()}",
        )
    edge = device.core.edges.get((Direction.H2D, a.stream_index))
    if edge is None or edge.channel is not channel:
        raise FirmwareStopError(
            S.VDMA_SERVICE_STATUS_CHANNEL_CANNOT_FETCH_DESCRITPROTS_WHILE_ABORTED,
            f"stream {a.stream_index} is not active on {channel.describe()}",
        )
    expected = CREDIT_BYTES if edge.kind is EdgeKind.BOUNDARY else CREDIT_DESCRIPTORS
    if a.credit_type != expected:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_EDGE_LAYER_CREDIT_TYPE, f"credit type {a.credit_type} for {edge.describe()}"
        )
    check_buffer_type(edge, a.host_buffer_type)
    if a.frame_periph_size <= 0:
        raise FirmwareStopError(S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE, "0 credits a frame")
    if edge.fetched and edge.kind is not EdgeKind.BOUNDARY:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE,
            f"{edge.describe()} was already given the credits of its batch",
        )
    edge.network = a.network_index
    edge.fetched, edge.batch = True, fw.batch
    edge.granted = a.frame_periph_size * fw.batch
    if edge.kind is EdgeKind.BOUNDARY:
        device.burst.add(BurstJob(channel.packed, a.stream_index, a.network_index, a.frame_periph_size, fw.batch))
    elif (
        edge.granted >= edge.buffer.total_desc_count
        and edge.kind is not EdgeKind.CACHE
        and edge.buffer.buffer_type == HostBufferType.EXTERNAL_DESC
    ):
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
            f"{edge.describe()}: {fw.batch} frames of {a.frame_periph_size} descriptors, the list has "
            f"{edge.buffer.total_desc_count}",
        )
    device.memory_note("credits", channel.packed, tuple(a))
    if fw.tracing:
        fw.note = edge.describe()


def burst_credits_task_start(fw: Execution, a: BurstCreditsTaskStart) -> None:
    """Start feeding credits to the boundary inputs, frame by frame."""
    fw.device.burst.start()
    fw.device.memory_note("burst credits", 0, (1,))
    fw.device.core.changed.notify()
    if fw.tracing:
        fw.note = "burst-credits task, inputs " + ", ".join(str(job.stream) for job in fw.device.burst.jobs.values())


def burst_credits_task_reset(fw: Execution, a: BurstCreditsTaskReset) -> None:
    """Forget the jobs of the burst-credits task."""
    fw.device.burst.reset()
    fw.device.memory_note("burst credits", 0, (0,))


def change_boundary_input_batch(fw: Execution, a: ChangeBoundaryInputBatch) -> None:
    """Update the burst-credits job of a boundary input for the new batch."""
    device = fw.device
    channel = device.vdma.channel(a.packed_vdma_channel_id, Direction.H2D)
    opened = device.core.opened.get(channel.packed)
    if opened is None:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX, f"{channel.describe()} is not an open boundary input"
        )
    edge = device.core.edges.get((Direction.H2D, opened.stream))
    if edge is not None and edge.channel is channel and not channel.dummy:
        edge.fetched, edge.batch = True, fw.batch
        edge.granted = opened.frame_periph_size * fw.batch
        if channel.packed not in device.burst.jobs:
            job = BurstJob(channel.packed, opened.stream, opened.network, opened.frame_periph_size)
            device.burst.add(job)
        device.burst.jobs[channel.packed].batch = fw.batch
    device.memory_note("input batch", channel.packed, (fw.batch,))
    if fw.tracing:
        fw.note = f"{channel.describe()} batch {fw.batch}"


def add_ddr_pair_info(fw: Execution, a: AddDdrPairInfo) -> None:
    """Tell the DDR task of one more portal."""
    check_network(fw, a.network_index)
    core = fw.device.core
    h2d, d2h = core.edge_of_channel(a.h2d_packed_vdma_channel_id), core.edge_of_channel(a.d2h_packed_vdma_channel_id)
    if h2d is None or d2h is None or h2d.kind is not EdgeKind.DDR or d2h.kind is not EdgeKind.DDR:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
            f"DDR pair {a.d2h_packed_vdma_channel_id} -> {a.h2d_packed_vdma_channel_id}: both must be active portals",
        )
    require(
        h2d.connected_d2h == a.d2h_packed_vdma_channel_id,
        S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
        lambda: f"DDR pair: {h2d.describe()} is connected to channel {h2d.connected_d2h}",
    )
    require(
        a.programmed_descriptors_count == d2h.buffer.total_desc_count & 0xFFFF,
        S.VDMA_SERVICE_INSUFFICIENT_DESCRIPTORS_COUNT,
        lambda: (
            f"DDR pair: {a.programmed_descriptors_count} descriptors announced, "
            f"the list has {d2h.buffer.total_desc_count}"
        ),
    )
    h2d.network = d2h.network = a.network_index
    fw.device.ddr.add(
        DdrPair(
            a.h2d_packed_vdma_channel_id,
            a.d2h_packed_vdma_channel_id,
            a.network_index,
            a.descriptors_per_frame,
            a.programmed_descriptors_count,
        ),
        fw.batch,
    )
    fw.device.memory_note("ddr pair", a.d2h_packed_vdma_channel_id, tuple(a))
    if fw.tracing:
        fw.note = f"stream {d2h.stream} -> stream {h2d.stream}"


def ddr_buffering_start(fw: Execution, a: DdrBufferingStart) -> None:
    """Start moving credits from the producers to the consumers of all pairs."""
    fw.device.ddr.start()
    fw.device.memory_note("ddr buffering", 0, (1,))
    fw.device.core.changed.notify()
    if fw.tracing:
        fw.note = f"DDR task, {len(fw.device.ddr.pairs)} pairs"


def ddr_buffering_reset(fw: Execution, a: DdrBufferingReset) -> None:
    """Forget all pairs and stop the DDR task."""
    fw.device.ddr.reset()
    fw.device.memory_note("ddr buffering", 0, (0,))
