"""HEF operations to abstract actions: the part of the compile that needs no channel or buffer (hef-compile.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from emu.errors import HailoError, HailoStatus
from emu.hef import operations as ops
from emu.hef.enums import WriteDataType
from emu.sequencer.actions import Action, ActionType
from emu.sequencer.config import Burst, ConfigStream
from emu.sequencer.libstdcxx import hash_order
from emu.sequencer.repeat import DISABLE_DATA_CHANNELS, NONE, PRE_ALLOW_INPUT, Marker

_U8, _U16, _U32 = 0xFF, 0xFFFF, 0xFFFFFFFF
_DEFAULT_DONE_ADDRESS, _DEFAULT_DONE_COUNT = 1, 2
_MIN_SLEEP_US = 1000


class WriteCcw(NamedTuple):
    """The CCW data of one config channel in one run of write_data_ccw actions (hef-compile.md 2.3).

    `records` are bytes where the container holds them inline, else pointers into the CCW section.
    """

    channel: int
    records: tuple[bytes, ...] | tuple[ops.ActionWriteDataCcwPtr, ...]
    size: int
    bursts: int


class AllowInput(NamedTuple):
    """allow_input_dataflow of a stream."""

    stream_index: int


class WaitOutputDone(NamedTuple):
    """trigger_all_data_was_sent of a stream."""

    stream_index: int


class WaitDmaIdle(NamedTuple):
    """trigger_dma_idle of a stream."""

    stream_index: int


Abstract = Action | Marker | WriteCcw | AllowInput | WaitOutputDone | WaitDmaIdle


@dataclass(slots=True)
class Lowered:
    """The abstract actions of a context and what it configures; `config` in order of first use."""

    actions: list[Abstract] = field(default_factory=list)
    config: dict[int, ConfigStream] = field(default_factory=dict)
    writes_batch_size: bool = False


class Lowering:
    """Lowers the operations of one context (`place` names it in errors)."""

    def __init__(
        self,
        place: dict[str, Any],
        *,
        inline_ccw: bool,
        multi_network: bool,
        knows_config_markers: bool,
    ) -> None:
        self._place = place
        self._inline_ccw = inline_ccw
        self._multi_network = multi_network
        self._knows_config_markers = knows_config_markers
        self._result = Lowered()

    def lower(self, operations: Iterable[ops.Operation]) -> Lowered:
        """Raises the status that the runtime gives for an operation it cannot parse (hef-container.md 10)."""
        actions = self._result.actions
        handlers = _HANDLERS
        pointer, inline = ops.ActionWriteDataCcwPtr, ops.ActionWriteDataCcw
        for operation in operations:
            actions.append(self._trigger(operation.trigger))
            run: list[Any] = []
            for action in operation.actions:
                kind = action.__class__
                if kind is pointer or kind is inline:
                    run.append(action)
                    continue
                if run:
                    self._flush(run)
                    run = []
                handler = handlers.get(kind)
                if handler is None:
                    raise self.refuse(
                        HailoStatus.HAILO_INTERNAL_FAILURE,
                        f"action {'unset' if action is None else kind.__name__} is not implemented",
                    )
                actions.append(handler(self, action))
            if run:
                self._flush(run)
        return self._result

    def refuse(self, status: HailoStatus, message: str) -> HailoError:
        return HailoError(status, message, **self._place)

    def u8(self, name: str, value: int) -> int:
        return self._fits(name, value, _U8)

    def u16(self, name: str, value: int) -> int:
        return self._fits(name, value, _U16)

    def _fits(self, name: str, value: int, limit: int) -> int:
        if value > limit:
            raise self.refuse(HailoStatus.HAILO_INVALID_HEF, f"{name} {value} exceeds {limit}")
        return value

    def network(self, index: int) -> int:
        """network_index counts only with the multi-network extension (hef-container.md 6.4)."""
        return self.u8("network_index", index) if self._multi_network else 0

    def lcu(self, cluster_index: int, lcu_index: int) -> int:
        """packed_lcu_id; the runtime does not mask what exceeds its bits (firmware-actions.md 1)."""
        cluster, lcu = self.u8("cluster_index", cluster_index), self.u8("lcu_index", lcu_index)
        return (lcu | cluster << 4) & _U8

    def _trigger(self, trigger: ops.Trigger | None) -> Abstract:
        handler = _TRIGGERS.get(trigger.__class__)
        if handler is None:
            raise self.refuse(HailoStatus.HAILO_INVALID_HEF, "operation without a trigger")
        return handler(self, trigger)

    def _stream(self, index: int) -> ConfigStream:
        stream = self._result.config.get(index)
        if stream is None:
            stream = self._result.config[index] = ConfigStream(index)
        return stream

    def _flush(self, run: list[Any]) -> None:
        """One WriteCcw per config channel of the run (hef-compile.md 2.3)."""
        expected = ops.ActionWriteDataCcw if self._inline_ccw else ops.ActionWriteDataCcwPtr
        by_channel: dict[int, list[Any]] = {}
        for action in run:
            if action.__class__ is not expected:
                raise self.refuse(
                    HailoStatus.HAILO_INVALID_HEF,
                    f"{action.__class__.__name__} in a container that holds CCW data "
                    f"{'inline' if self._inline_ccw else 'behind the proto'}",
                )
            channel = action.cfg_channel_index
            records = by_channel.get(channel)
            if records is None:
                by_channel[self.u8("cfg_channel_index", channel)] = [action]
            else:
                records.append(action)
        for channel in sorted(by_channel) if self._inline_ccw else by_channel:
            self._stream(channel)
        for channel in sorted(by_channel) if self._inline_ccw else hash_order(by_channel):
            records = by_channel[channel]
            count = self.u16("CCW bursts in a run", len(records))
            stream = self._stream(channel)
            if self._inline_ccw:
                data = tuple(record.data for record in records)
                size = sum(map(len, data))
                stream.transfers.append(size)
                self._result.actions.append(WriteCcw(channel, data, size, count))
            else:
                size = 0
                for record in records:
                    size += record.size
                    stream.transfers.append(record.size)
                    _extend_burst(stream.bursts, record.offset, record.size)
                self._result.actions.append(WriteCcw(channel, tuple(records), size, count))


def _extend_burst(bursts: list[Burst], offset: int, size: int) -> None:
    """A pointer that begins where the channel's last one ends belongs to the same burst."""
    if bursts:
        last = bursts[-1]
        end = last.offset + last.size
        if end and end == offset:
            bursts[-1] = Burst(last.offset, last.size + size)
            return
    bursts.append(Burst(offset, size))


def _trigger_lcu(low: Lowering, trigger: ops.TriggerLcu) -> Abstract:
    return Action(ActionType.LCU_INTERRUPT, (low.lcu(trigger.cluster_index, trigger.lcu_index),))


def _trigger_nms(low: Lowering, trigger: ops.TriggerNms) -> Abstract:
    return Action(
        ActionType.WAIT_FOR_NMS,
        (
            low.u8("aggregator_index", trigger.aggregator_index),
            low.u8("pred_cluster_ob_index", trigger.pred_cluster_ob_index),
            low.u8("pred_cluster_ob_cluster_index", trigger.pred_cluster_ob_cluster_index),
            low.u8("pred_cluster_ob_interface", trigger.pred_cluster_ob_interface),
            low.u8("succ_prepost_ob_index", trigger.succ_prepost_ob_index),
            low.u8("succ_prepost_ob_interface", trigger.succ_prepost_ob_interface),
        ),
    )


def _trigger_received(low: Lowering, trigger: ops.TriggerAllDataWasReceivedFromHostPCIe) -> Abstract:
    raise low.refuse(
        HailoStatus.HAILO_NOT_IMPLEMENTED, f"trigger_all_data_was_received of stream {trigger.shmifo_index}"
    )


_TRIGGERS: dict[type[Any], Callable[[Lowering, Any], Abstract]] = {
    ops.TriggerLcu: _trigger_lcu,
    ops.TriggerNone: lambda _low, _trigger: NONE,
    ops.TriggerAllDataWasSentToHostPCIe: lambda low, trigger: WaitOutputDone(
        low.u8("shmifo_index", trigger.shmifo_index)
    ),
    ops.WaitDmaIdleTrigger: lambda low, trigger: WaitDmaIdle(low.u8("shmifo_index", trigger.shmifo_index)),
    ops.TriggerNms: _trigger_nms,
    ops.TriggerAllDataWasReceivedFromHostPCIe: _trigger_received,
}


def _enable_lcu(low: Lowering, action: ops.ActionEnableLcu) -> Abstract:
    lcu = low.lcu(action.cluster_index, action.lcu_index)
    network = low.network(action.network_index)
    address = low.u16("lcu_kernel_done_address", action.lcu_kernel_done_address)
    count = action.lcu_kernel_done_count
    if address == _DEFAULT_DONE_ADDRESS and count == _DEFAULT_DONE_COUNT:
        return Action(ActionType.ENABLE_LCU_DEFAULT, (lcu, network))
    return Action(ActionType.ENABLE_LCU_NON_DEFAULT, (lcu, network, address, count))


def _switch_lcu_batch(low: Lowering, action: ops.ActionSwitchLcuBatch) -> Abstract:
    lcu = low.lcu(action.cluster_index, action.lcu_index)
    return Action(ActionType.SWITCH_LCU_BATCH, (lcu, low.network(action.network_index), 0))


def _enable_sequencer(low: Lowering, action: ops.ActionEnableSequencer) -> Abstract:
    info = action.initial_l3_info
    if info.includes_initial_l3_info:
        cut = low.u8("initial_l3_index", info.initial_l3_index)
        offset = low.u16("initial_l3_offset", info.initial_l3_offset)
    else:
        # the legacy register: 7 bits of cut, a 12-bit offset in units of 8 bytes (hef-compile.md 2.2.1)
        cut = action.initial_l3_legacy & 0x7F
        offset = (action.initial_l3_legacy & 0x7FF80) >> 7 << 3 & _U16
    return Action(
        ActionType.TRIGGER_SEQUENCER,
        (
            low.u8("cluster_index", action.cluster_index),
            cut,
            offset,
            action.active_apu_bitmap,
            action.active_ia_bitmap,
            action.active_sc_bitmap,
            action.active_l2_bitmap,
            action.l2_write_0 | action.l2_write_1 << 32,
            action.l2_write_2 | action.l2_write_3 << 32,
        ),
    )


def _enable_nms(low: Lowering, action: ops.ActionEnableNMS) -> Abstract:
    if not action.number_of_classes or not action.burst_size:
        raise low.refuse(
            HailoStatus.HAILO_INVALID_HEF,
            f"enable_nms with {action.number_of_classes} classes and a burst of {action.burst_size}",
        )
    return Action(
        ActionType.ENABLE_NMS,
        (
            low.u8("nms_unit_index", action.nms_unit_index),
            low.network(action.network_index),
            low.u16("number_of_classes", action.number_of_classes),
            low.u16("burst_size", action.burst_size),
            low.u8("division_factor", action.division_factor) or 1,
        ),
    )


def _write_data_by_type(low: Lowering, action: ops.ActionWriteDataByType) -> Abstract:
    if action.address > _U32 or action.address % 4:
        raise low.refuse(HailoStatus.HAILO_INVALID_HEF, f"write_data_by_type to address 0x{action.address:X}")
    if len(action.data) > 4:
        raise low.refuse(HailoStatus.HAILO_INVALID_HEF, f"write_data_by_type of {len(action.data)} bytes")
    data_type = int(action.data_type)
    if data_type not in (WriteDataType.DATA_FROM_ACTION, WriteDataType.BATCH_SIZE):
        raise low.refuse(HailoStatus.HAILO_INVALID_HEF, f"write_data_by_type of data type {data_type}")
    if data_type == WriteDataType.BATCH_SIZE:
        low._result.writes_batch_size = True
    return Action(
        ActionType.WRITE_DATA_BY_TYPE,
        (
            action.address,
            data_type,
            int.from_bytes(action.data, "little"),
            low.u8("shift", action.shift),
            action.mask,
            low.network(action.network_index),
        ),
    )


def _debug(low: Lowering, action: ops.ActionDebug) -> Abstract:
    if isinstance(action.action, ops.ActionDebugSleep):
        duration = action.action.duration_in_usec
        if duration < _MIN_SLEEP_US:
            raise low.refuse(
                HailoStatus.HAILO_INVALID_HEF, f"sleep of {duration} us, at least {_MIN_SLEEP_US} are needed"
            )
        return Action(ActionType.SLEEP, (min(duration, _U32),))
    if isinstance(action.action, ops.ActionDebugHalt):
        return Action(ActionType.HALT, ())
    raise low.refuse(HailoStatus.HAILO_INVALID_HEF, "debug action that is neither sleep nor halt")


def _config_marker(low: Lowering, marker: Marker) -> Abstract:
    if not low._knows_config_markers:
        # fields that a runtime's schema lacks count as unset (hef-compile.md 2.2)
        raise low.refuse(HailoStatus.HAILO_INTERNAL_FAILURE, "action 0 is not implemented")
    return marker


def _allow_config_channels(low: Lowering, action: ops.ActionAllowConfigChannel) -> Abstract:
    low.u8("config_index", action.config_index)
    return _config_marker(low, PRE_ALLOW_INPUT)


_HANDLERS: dict[type[Any], Callable[[Lowering, Any], Abstract]] = {
    ops.ActionDisableLcu: lambda low, action: Action(
        ActionType.DISABLE_LCU, (low.lcu(action.cluster_index, action.lcu_index),)
    ),
    ops.ActionEnableLcu: _enable_lcu,
    ops.ActionSwitchLcuBatch: _switch_lcu_batch,
    ops.ActionEnableSequencer: _enable_sequencer,
    ops.ActionWaitForSequencer: lambda low, action: Action(
        ActionType.SEQUENCER_DONE_INTERRUPT, (low.u8("cluster_index", action.cluster_index),)
    ),
    ops.ActionNone: lambda _low, _action: NONE,
    ops.ActionAllowInputDataflow: lambda low, action: AllowInput(low.u8("sys_index", action.sys_index)),
    ops.ActionWaitForModuleConfigDone: lambda low, action: Action(
        ActionType.MODULE_CONFIG_DONE_INTERRUPT, (low.u8("module index", action.index),)
    ),
    ops.ActionEnableNMS: _enable_nms,
    ops.ActionWriteDataByType: _write_data_by_type,
    ops.ActionDebug: _debug,
    ops.ActionAllowConfigChannel: _allow_config_channels,
    ops.ActionDisableDataChannels: lambda low, _action: _config_marker(low, DISABLE_DATA_CHANNELS),
}
