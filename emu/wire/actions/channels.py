"""Actions on DMA channels: opening, closing, pausing, credits, and the waits for their transfers."""

from __future__ import annotations

from emu.wire.actions.base import CHANNEL, INHERITED, U8, U16, U32, Action, ActionType, HostBuffer, Role, Target


class Close(Action):
    packed_vdma_channel_id: int = CHANNEL
    edge_layer_direction: int = U8
    check_host_empty_num_available: int = U8
    host_buffer_type: int = U8
    initial_credit_size: int = U32


class TransferDone(Action):
    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    network_index: int = U8
    is_inter_context: int = U8
    host_buffer_type: int = U8


class OpenBoundaryInputChannel(
    HostBuffer,
    type=ActionType.OPEN_BOUNDARY_INPUT_CHANNEL,
    role=Role.OPEN,
    repeatable=False,
    starts=None,
    waits_for=None,
):
    """Start the host side of a boundary input."""

    packed_vdma_channel_id: int = CHANNEL
    _inherited = INHERITED
    stream_index: int = U8
    network_index: int = U8
    periph_bytes_per_buffer: int = U16
    frame_periph_size: int = U32


class OpenBoundaryOutputChannel(
    HostBuffer,
    type=ActionType.OPEN_BOUNDARY_OUTPUT_CHANNEL,
    role=Role.OPEN,
    repeatable=False,
    starts=None,
    waits_for=None,
):
    """Start the host side of a boundary output."""

    packed_vdma_channel_id: int = CHANNEL
    _inherited = INHERITED


class DeactivateVdmaChannel(
    Close, type=ActionType.DEACTIVATE_VDMA_CHANNEL, role=Role.CLOSE, repeatable=False, starts=None, waits_for=None
):
    """Close a channel at the end of a context."""


class ValidateVdmaChannel(
    Close, type=ActionType.VALIDATE_VDMA_CHANNEL, role=Role.SET, repeatable=False, starts=None, waits_for=None
):
    """Check that a channel has nothing left to move."""


class PauseVdmaChannel(
    Action, type=ActionType.PAUSE_VDMA_CHANNEL, role=Role.SET, repeatable=False, starts=None, waits_for=None
):
    """Stop a channel where it is."""

    packed_vdma_channel_id: int = CHANNEL
    edge_layer_direction: int = U8


class ResumeVdmaChannel(
    Action,
    type=ActionType.RESUME_VDMA_CHANNEL,
    role=Role.SET,
    repeatable=False,
    starts=None,
    waits_for=None,
    sets_up=True,
):
    """Let a paused channel go on."""

    packed_vdma_channel_id: int = CHANNEL
    edge_layer_direction: int = U8


class ChangeBoundaryInputBatch(
    Action, type=ActionType.CHANGE_BOUNDARY_INPUT_BATCH, role=Role.SET, repeatable=False, starts=None, waits_for=None
):
    """Give a boundary input the present batch size."""

    packed_vdma_channel_id: int = CHANNEL


class FetchDataFromVdmaChannel(
    Action,
    type=ActionType.FETCH_DATA_FROM_VDMA_CHANNEL,
    role=Role.SET,
    repeatable=True,
    starts=Target.CHANNEL,
    waits_for=None,
    grants=True,
):
    """Allow an input to fetch its frames."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    network_index: int = U8
    frame_periph_size: int = U32
    credit_type: int = U8
    host_buffer_type: int = U8


class BurstCreditsTaskStart(
    Action,
    type=ActionType.BURST_CREDITS_TASK_START,
    role=Role.BARRIER,
    repeatable=False,
    starts=None,
    waits_for=None,
    grants=True,
):
    """Start the task that gives the boundary inputs their credits."""


class BurstCreditsTaskReset(
    Action, type=ActionType.BURST_CREDITS_TASK_RESET, role=Role.BARRIER, repeatable=False, starts=None, waits_for=None
):
    """Forget the boundary inputs of the burst-credits task."""


class InputChannelTransferDoneInterrupt(
    TransferDone,
    type=ActionType.INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
    role=Role.WAIT,
    repeatable=False,
    starts=None,
    waits_for=Target.CHANNEL,
):
    """Wait until the batch's frames of an input were fetched; the runtime never sends it."""


class OutputChannelTransferDoneInterrupt(
    TransferDone,
    type=ActionType.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
    role=Role.WAIT,
    repeatable=False,
    starts=None,
    waits_for=Target.CHANNEL,
):
    """Wait until the batch's frames of an output are in host memory."""


class WaitForDmaIdle(
    Action,
    type=ActionType.WAIT_FOR_DMA_IDLE_ACTION,
    role=Role.WAIT,
    repeatable=False,
    starts=None,
    waits_for=Target.CHANNEL,
):
    """Wait until the channel of an output of variable size is idle."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    is_inter_context: int = U8
    host_buffer_type: int = U8
