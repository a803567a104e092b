"""Config channels: activate, fetch in either style, deactivate."""

from __future__ import annotations

from functools import lru_cache

from emu.hw.application import chip_settings
from emu.hw.clock import NEVER
from emu.hw.config.ccw import Run
from emu.hw.config.channels import ConfigChannel
from emu.hw.execution import Execution
from emu.hw.waits import Wait, never
from emu.sequencer.program import Direction
from emu.wire.actions import (
    ActivateCfgChannel,
    DeactivateCfgChannel,
    FetchCcwBursts,
    FetchCfgChannelDescriptors,
    HostBufferInfo,
)
from emu.wire.notifications import nn_core_crc_error
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require


def activate_cfg_channel(fw: Execution, a: ActivateCfgChannel) -> None:
    """Program the channel on its host buffer; a prefetching one starts to read at once."""
    assert fw.application is not None and fw.context is not None
    channel = fw.device.vdma.channel(a.packed_vdma_channel_id, Direction.H2D)
    channel.ever_open = True
    header = fw.application.header
    require(
        header.config_channels_count is None or a.config_stream_index < header.config_channels_count,
        S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
        lambda: f"config stream {a.config_stream_index}: the application has {header.config_channels_count}",
    )
    if a.config_stream_index < len(header.config_channels):
        require(
            header.config_channels[a.config_stream_index] == a.packed_vdma_channel_id,
            S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
            lambda: (
                f"config stream {a.config_stream_index} belongs to channel "
                f"{header.config_channels[a.config_stream_index]}, not {a.packed_vdma_channel_id}"
            ),
        )
    source, settings = settings_of(a)
    fw.device.vdma.check_buffer(source, circular=False)
    require(
        fw.profile.config_style != "bursts" or a.desc_page_size == header.csm_buffer_size,
        S.CSM_CONFIG_MANAGER_STATUS_INVALID_HOST_PAGE_SIZE,
        lambda: (
            f"config stream {a.config_stream_index}: pages of {a.desc_page_size}, "
            f"the header says {header.csm_buffer_size}"
        ),
    )
    expected = fw.context.actions.bursts.get(a.config_stream_index, 0)
    fw.device.config.activate(
        a.config_stream_index, ConfigChannel(channel.packed, a.config_stream_index, source, expected)
    )
    fw.device.memory_note("config", a.config_stream_index, settings)
    if fw.tracing:
        fw.note = f"config stream {a.config_stream_index} on {channel.describe()}"


@lru_cache(maxsize=1 << 12)  # lists run again and again
def settings_of(a: ActivateCfgChannel) -> tuple[HostBufferInfo, tuple[int, ...]]:
    """What a channel is to read, and what the chip is set to by it."""
    return HostBufferInfo.of(a), chip_settings(a)


def fetch_cfg_channel_descriptors(fw: Execution, a: FetchCfgChannelDescriptors) -> None:
    """Make more descriptors of a config channel available; their records are written as they arrive."""
    device = fw.device
    require(a.descriptors_count > 0, S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE, "0 config descriptors requested")
    channel = _on_channel(fw, a.packed_vdma_channel_id)
    run = device.config.fetch_descriptors(channel, a.descriptors_count)
    size = a.descriptors_count * channel.source.desc_page_size
    channel.busy_until = device.config_fetch(channel, fw.now, size)
    if device.logic.active:
        _arrived(fw, channel, run, 0, run.count)
    assert fw.context is not None
    fw.context.config_bytes += run.size
    _moved(fw, channel, run.size)


def fetch_ccw_bursts(fw: Execution, a: FetchCcwBursts) -> None:
    """Let more CCW records of a prefetching channel through."""
    device = fw.device
    channel = device.config.channels.get(a.config_stream_index)
    if channel is None:
        raise FirmwareStopError(
            S.CSM_CONFIG_MANAGER_STATUS_CSM_NOT_ENABLED_WHILE_TRYING_TO_FETCH_CONFIG,
            f"config stream {a.config_stream_index} is not active",
        )
    first = channel.next_record
    size = device.config.fetch_bursts(channel, a.ccw_bursts)
    channel.busy_until = device.config_fetch(channel, fw.now, size)
    if device.logic.active:
        _arrived(fw, channel, device.config.prefetched(channel), first, channel.next_record - first)
    assert fw.context is not None
    fw.context.config_bytes += size
    if fw.probe.tracer is not None:
        _moved(fw, channel, size)


def deactivate_cfg_channel(fw: Execution, a: DeactivateCfgChannel) -> Wait | None:
    """Close the channel once everything fetched is consumed; nothing may be left over."""
    device = fw.device
    channel = device.config.channels.get(a.config_stream_index)
    if channel is None or channel.channel != a.packed_vdma_channel_id:
        raise FirmwareStopError(
            S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
            f"config stream {a.config_stream_index} is not active on channel {a.packed_vdma_channel_id}",
        )
    if channel.busy_until >= NEVER:
        return never(f"config stream {a.config_stream_index} to drain", f"config channel {channel.channel} is stalled")
    device.config.check_drained(channel)
    del device.config.channels[a.config_stream_index]
    device.memory_note("config", a.config_stream_index, ())
    if channel.busy_until <= fw.now:
        return None
    return fw.until(channel.busy_until, f"config stream {a.config_stream_index} to drain", "config bus idle")


def _on_channel(fw: Execution, packed: int) -> ConfigChannel:
    for channel in fw.device.config.channels.values():
        if channel.channel == packed:
            return channel
    raise FirmwareStopError(
        S.VDMA_SERVICE_STATUS_CHANNEL_CANNOT_FETCH_DESCRITPROTS_WHILE_ABORTED, f"config channel {packed} is not active"
    )


def _arrived(fw: Execution, channel: ConfigChannel, run: Run, first: int, count: int) -> None:
    """Checked records act once they have landed."""
    at = channel.busy_until
    refused = fw.device.logic.arrived(channel.config_stream_index, run, first, count, at)
    if refused:
        fw.device.notify(nn_core_crc_error(refused), at)


def _moved(fw: Execution, channel: ConfigChannel, size: int) -> None:
    """What the trace says of a fetch."""
    if fw.tracing:
        fw.note, fw.note_bytes = f"config stream {channel.config_stream_index}", size
