"""HEF operations to abstract actions: the part of the compile that needs no channel or buffer (hef-compile.md 2).

`emu.hef.load.check_load` has refused before what does not fit its field, so that nothing is checked twice here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, field

from emu.errors import HailoError, HailoStatus
from emu.hef import operations as ops
from emu.hef.enums import WriteDataType
from emu.sequencer.config import Burst, ConfigStream
from emu.sequencer.libstdcxx import hash_order
from emu.sequencer.repeat import DISABLE_DATA_CHANNELS, NONE, PRE_ALLOW_INPUT, Marker
from emu.wire.actions import (
    Action,
    DisableLcu,
    EnableLcuDefault,
    EnableLcuNonDefault,
    EnableNms,
    Halt,
    LcuInterrupt,
    ModuleConfigDoneInterrupt,
    SequencerDoneInterrupt,
    Sleep,
    SwitchLcuBatch,
    TriggerSequencer,
    WaitForNms,
    WriteDataByType,
)

_U8, _U16, _U32 = 0xFF, 0xFFFF, 0xFFFFFFFF
_DEFAULT_DONE_ADDRESS, _DEFAULT_DONE_COUNT = 1, 2


class WriteCcw(Struct, frozen=True):
    """The CCW data of one config channel in one run of write_data_ccw actions (hef-compile.md 2.3).

    `records` are bytes where the container holds them inline, else pointers into the CCW section.
    """

    channel: int
    records: tuple[bytes, ...] | tuple[ops.ActionWriteDataCcwPtr, ...]
    size: int
    bursts: int


class AllowInput(Struct, frozen=True):
    """allow_input_dataflow of a stream."""

    stream_index: int


class WaitOutputDone(Struct, frozen=True):
    """trigger_all_data_was_sent of a stream."""

    stream_index: int


class WaitDmaIdle(Struct, frozen=True):
    """trigger_dma_idle of a stream."""

    stream_index: int


Abstract = Action | Marker | WriteCcw | AllowInput | WaitOutputDone | WaitDmaIdle


class Lowered(Struct):
    """The abstract actions of a context and what it configures; `config` in order of first use."""

    actions: list[Abstract] = field(default_factory=list)
    config: dict[int, ConfigStream] = field(default_factory=dict)
    writes_batch_size: bool = False


def lower(operations: Iterable[ops.Operation], *, inline_ccw: bool, multi_network: bool) -> Lowered:
    """The abstract actions of one context.

    `inline_ccw`: the container holds CCW data in its actions (V0); `multi_network`: network indices count (optional
    extension 8). Raises HAILO_INVALID_HEF for a value that its action has no room for.
    """
    result = Lowered()
    actions = result.actions
    pointer, inline, by_type = ops.ActionWriteDataCcwPtr, ops.ActionWriteDataCcw, ops.ActionWriteDataByType
    flush = _flush_inline if inline_ccw else _flush_pointers
    for operation in operations:
        trigger = operation.trigger
        actions.append(_TRIGGERS[trigger.__class__](trigger))
        run: list[Any] = []
        action: Any
        for action in operation.actions:
            kind = action.__class__
            if kind is pointer or kind is inline:
                run.append(action)
                continue
            if run:
                flush(result, run)
                run = []
            actions.append(_ACTIONS[kind](action, multi_network))
            if kind is by_type and action.data_type == WriteDataType.BATCH_SIZE:
                result.writes_batch_size = True
        if run:
            flush(result, run)
    return result


def _by_channel(run: Iterable[Any]) -> dict[int, list[Any]]:
    channels: dict[int, list[Any]] = {}
    for action in run:
        channels.setdefault(action.cfg_channel_index, []).append(action)
    return channels


def _stream(result: Lowered, channel: int) -> ConfigStream:
    stream = result.config.get(channel)
    if stream is None:
        stream = result.config[channel] = ConfigStream(channel)
    return stream


def _flush_inline(result: Lowered, run: list[ops.ActionWriteDataCcw]) -> None:
    """V0: channels ascending, the run of a channel is one transfer (hef-compile.md 2.3)."""
    channels = _by_channel(run)
    for channel in sorted(channels):
        data = tuple(record.data for record in channels[channel])
        size = sum(map(len, data))
        _stream(result, channel).transfers.append(size)
        result.actions.append(WriteCcw(channel, data, size, len(data)))


def _flush_pointers(result: Lowered, run: list[ops.ActionWriteDataCcwPtr]) -> None:
    """V1 to V3: channels in the order of an unordered_map, every pointer a transfer (hef-compile.md 2.3)."""
    channels = _by_channel(run)
    for channel in channels:
        _stream(result, channel)
    for channel in hash_order(channels):
        records = channels[channel]
        stream = result.config[channel]
        sizes = [record.size for record in records]
        stream.transfers += sizes
        _extend_bursts(stream.bursts, records)
        result.actions.append(WriteCcw(channel, tuple(records), sum(sizes), len(records)))


def _extend_bursts(bursts: list[Burst], records: Iterable[ops.ActionWriteDataCcwPtr]) -> None:
    """A pointer that begins where the channel's last one ends belongs to the same burst."""
    begin, size = bursts.pop() if bursts else (0, -1)  # -1: none was begun
    for record in records:
        end = begin + size
        if size >= 0 and end and end == record.offset:
            size += record.size
        else:
            if size >= 0:
                bursts.append(Burst(begin, size))
            begin, size = record.offset, record.size
    bursts.append(Burst(begin, size))


def _lcu(action: Any) -> int:
    """packed_lcu_id; the runtime does not mask what exceeds its bits (firmware-actions.md 1)."""
    packed: int = (action.lcu_index | action.cluster_index << 4) & _U8
    return packed


def _network(action: Any, multi_network: bool) -> int:
    """network_index counts only with the multi-network extension (hef-container.md 6.4)."""
    return action.network_index & _U8 if multi_network else 0


_TRIGGERS: dict[type[Any], Callable[[Any], Abstract]] = {
    ops.TriggerLcu: lambda t: LcuInterrupt(_lcu(t)),
    ops.TriggerNone: lambda _: NONE,
    ops.TriggerAllDataWasSentToHostPCIe: lambda t: WaitOutputDone(t.shmifo_index),
    ops.WaitDmaIdleTrigger: lambda t: WaitDmaIdle(t.shmifo_index),
    ops.TriggerNms: lambda t: WaitForNms(
        t.aggregator_index,
        t.pred_cluster_ob_index,
        t.pred_cluster_ob_cluster_index,
        t.pred_cluster_ob_interface,
        t.succ_prepost_ob_index,
        t.succ_prepost_ob_interface,
    ),
}


def _enable_lcu(action: ops.ActionEnableLcu, multi_network: bool) -> Abstract:
    network = _network(action, multi_network)
    address, count = action.lcu_kernel_done_address, action.lcu_kernel_done_count
    if address == _DEFAULT_DONE_ADDRESS and count == _DEFAULT_DONE_COUNT:
        return EnableLcuDefault(_lcu(action), network)
    return EnableLcuNonDefault(_lcu(action), network, address, count)


def _enable_sequencer(action: ops.ActionEnableSequencer, _: bool) -> Abstract:
    info = action.initial_l3_info
    if info.includes_initial_l3_info:
        cut, offset = info.initial_l3_index, info.initial_l3_offset
    else:
        # the legacy register: 7 bits of cut, a 12-bit offset in units of 8 bytes (hef-compile.md 2.2.1)
        cut = action.initial_l3_legacy & 0x7F
        offset = (action.initial_l3_legacy & 0x7FF80) >> 7 << 3 & _U16
    return TriggerSequencer(
        action.cluster_index,
        cut,
        offset,
        action.active_apu_bitmap,
        action.active_ia_bitmap,
        action.active_sc_bitmap,
        action.active_l2_bitmap,
        action.l2_write_0 | action.l2_write_1 << 32,
        action.l2_write_2 | action.l2_write_3 << 32,
    )


def _enable_nms(action: ops.ActionEnableNMS, multi_network: bool) -> Abstract:
    if action.number_of_classes > _U16 or action.burst_size > _U16:
        raise HailoError(
            HailoStatus.HAILO_INVALID_HEF,
            f"enable_nms with {action.number_of_classes} classes and a burst of {action.burst_size}, "
            f"at most {_U16} are possible",
        )
    return EnableNms(
        action.nms_unit_index,
        _network(action, multi_network),
        action.number_of_classes,
        action.burst_size,
        action.division_factor or 1,
    )


def _write_data_by_type(action: ops.ActionWriteDataByType, multi_network: bool) -> Abstract:
    return WriteDataByType(
        action.address,
        int(action.data_type),
        int.from_bytes(action.data, "little"),
        action.shift,
        action.mask,
        _network(action, multi_network),
    )


def _debug(action: ops.ActionDebug, _: bool) -> Abstract:
    if isinstance(action.action, ops.ActionDebugSleep):
        return Sleep(
            min(action.action.duration_in_usec, _U32),
        )
    return Halt()


_ACTIONS: dict[type[Any], Callable[[Any, bool], Abstract]] = {
    ops.ActionDisableLcu: lambda a, _: DisableLcu(_lcu(a)),
    ops.ActionEnableLcu: _enable_lcu,
    ops.ActionSwitchLcuBatch: lambda a, multi: SwitchLcuBatch(_lcu(a), _network(a, multi), 0),
    ops.ActionEnableSequencer: _enable_sequencer,
    ops.ActionWaitForSequencer: lambda a, _: SequencerDoneInterrupt(a.cluster_index),
    ops.ActionNone: lambda _a, _m: NONE,
    ops.ActionAllowInputDataflow: lambda a, _: AllowInput(a.sys_index),
    ops.ActionWaitForModuleConfigDone: lambda a, _: ModuleConfigDoneInterrupt(a.index),
    ops.ActionEnableNMS: _enable_nms,
    ops.ActionWriteDataByType: _write_data_by_type,
    ops.ActionDebug: _debug,
    ops.ActionAllowConfigChannel: lambda _a, _m: PRE_ALLOW_INPUT,
    ops.ActionDisableDataChannels: lambda _a, _m: DISABLE_DATA_CHANNELS,
}
