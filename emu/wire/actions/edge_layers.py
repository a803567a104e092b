"""Actions that configure edge layers: boundary, inter-context, DDR and cache streams, and what joins two of them."""

from __future__ import annotations

from typing import NamedTuple

from emu.wire.actions.base import (
    CHANNEL,
    HOST_BUFFER,
    INHERITED,
    U8,
    U16,
    U32,
    U64,
    Action,
    ActionType,
    Edge,
    Role,
    Target,
)


class StreamRegInfo(NamedTuple):
    """stream_reg_info (firmware-actions.md 1.2): the shape of a frame on both sides of the stream."""

    core_bytes_per_buffer: int
    core_buffers_per_frame: int
    periph_bytes_per_buffer: int
    periph_buffers_per_frame: int
    feature_padding_payload: int
    buffer_padding_payload: int
    buffer_padding: int
    is_core_hw_padding_config_in_dfc: int
    is_periph_calculated_in_hailort: int = 1

    @property
    def frame_periph_size(self) -> int:
        return self.periph_bytes_per_buffer * self.periph_buffers_per_frame


class StreamBuffer(Action):
    """stream_reg_info, then host_buffer_info (firmware-actions.md 1.1, 1.2)."""

    core_bytes_per_buffer: int = U16
    core_buffers_per_frame: int = U16
    periph_bytes_per_buffer: int = U16
    periph_buffers_per_frame: int = U16
    feature_padding_payload: int = U16
    buffer_padding_payload: int = U32
    buffer_padding: int = U16
    is_core_hw_padding_config_in_dfc: int = U8
    buffer_type: int = U8
    dma_address: int = U64
    desc_page_size: int = U16
    total_desc_count: int = U32
    bytes_in_pattern: int = U32


REG_INFO_FIELDS = tuple(name for name in StreamBuffer.NAMES if name not in HOST_BUFFER)


class ActivateBoundaryInput(
    StreamBuffer,
    type=ActionType.ACTIVATE_BOUNDARY_INPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=None,
    waits_for=None,
    sets_up=True,
    edge=Edge.BOUNDARY,
    inward=True,
):
    """Configure the stream of a boundary input."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    _inherited = INHERITED
    initial_credit_size: int = U32


class ActivateBoundaryOutput(
    StreamBuffer,
    type=ActionType.ACTIVATE_BOUNDARY_OUTPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=Target.CHANNEL,
    waits_for=None,
    sets_up=True,
    edge=Edge.BOUNDARY,
):
    """Configure the stream of a boundary output."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    network_index: int = U8
    _inherited = INHERITED


class ActivateInterContextInput(
    StreamBuffer,
    type=ActionType.ACTIVATE_INTER_CONTEXT_INPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=None,
    waits_for=None,
    sets_up=True,
    edge=Edge.INTER_CONTEXT,
    inward=True,
):
    """Configure a channel that reads what an earlier context left in memory."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    network_index: int = U8
    _inherited = INHERITED
    initial_credit_size: int = U32


class ActivateInterContextOutput(
    StreamBuffer,
    type=ActionType.ACTIVATE_INTER_CONTEXT_OUTPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=Target.CHANNEL,
    waits_for=None,
    sets_up=True,
    edge=Edge.INTER_CONTEXT,
):
    """Configure a channel that leaves frames in memory for a later context."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    network_index: int = U8
    _inherited = INHERITED


class ActivateDdrBufferInput(
    StreamBuffer,
    type=ActionType.ACTIVATE_DDR_BUFFER_INPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=None,
    waits_for=None,
    sets_up=True,
    edge=Edge.DDR,
    inward=True,
):
    """Configure the consuming side of a DDR portal."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    _inherited = INHERITED
    initial_credit_size: int = U32
    connected_d2h_packed_vdma_channel_id: int = CHANNEL


class ActivateDdrBufferOutput(
    StreamBuffer,
    type=ActionType.ACTIVATE_DDR_BUFFER_OUTPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=None,
    waits_for=None,
    sets_up=True,
    edge=Edge.DDR,
):
    """Configure the producing side of a DDR portal."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    _inherited = INHERITED
    buffered_rows_count: int = U32


class ActivateCacheInput(
    StreamBuffer,
    type=ActionType.ACTIVATE_CACHE_INPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=None,
    waits_for=None,
    sets_up=True,
    edge=Edge.CACHE,
    inward=True,
):
    """Configure a channel that reads entries of a cache."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    network_index: int = U8
    _inherited = INHERITED
    initial_credit_size: int = U32


class ActivateCacheOutput(
    StreamBuffer,
    type=ActionType.ACTIVATE_CACHE_OUTPUT,
    role=Role.ACTIVATE,
    repeatable=False,
    starts=Target.CHANNEL,
    waits_for=None,
    sets_up=True,
    edge=Edge.CACHE,
):
    """Configure a channel that writes `batch_size` entries of a cache; its fields have an order of their own."""

    _inherited = INHERITED
    batch_size: int = U16
    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    network_index: int = U8


class ChangeVdmaToStreamMapping(
    Action,
    type=ActionType.CHANGE_VDMA_TO_STREAM_MAPPING,
    role=Role.SET,
    repeatable=True,
    starts=None,
    waits_for=None,
    sets_up=True,
):
    """Route a boundary channel to a stream, or to a dummy one."""

    packed_vdma_channel_id: int = CHANNEL
    stream_index: int = U8
    is_dummy_stream: int = U8


class AddDdrPairInfo(
    Action, type=ActionType.ADD_DDR_PAIR_INFO, role=Role.SET, repeatable=True, starts=None, waits_for=None, sets_up=True
):
    """Name two channels whose credits the DDR buffering task copies."""

    h2d_packed_vdma_channel_id: int = CHANNEL
    d2h_packed_vdma_channel_id: int = CHANNEL
    network_index: int = U8
    descriptors_per_frame: int = U32
    programmed_descriptors_count: int = U16


class DdrBufferingStart(
    Action,
    type=ActionType.DDR_BUFFERING_START,
    role=Role.BARRIER,
    repeatable=False,
    starts=None,
    waits_for=None,
    sets_up=True,
):
    """Start the DDR buffering task."""


class DdrBufferingReset(
    Action, type=ActionType.DDR_BUFFERING_RESET, role=Role.BARRIER, repeatable=False, starts=None, waits_for=None
):
    """Forget the pairs of the DDR buffering task."""


class WaitForCacheUpdated(
    Action, type=ActionType.WAIT_FOR_CACHE_UPDATED, role=Role.WAIT, repeatable=False, starts=None, waits_for=Target.HOST
):
    """Tell the host that the cache offset is to move, and wait for its signal."""
