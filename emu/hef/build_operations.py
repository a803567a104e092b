"""Triggers and actions from the parsed message to the model: the part of the walk that there is most of.

One function per kind and no helper between: building an action costs about a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable

from emu.hef import operations as ops
from emu.hef.enums import DebugType, EdgeConnectionType, WriteDataType, known
from emu.schemas import hef_pb2 as pb


def _write_data(m: pb.ProtoHEFActionWriteData) -> ops.ActionWriteData:
    return ops.ActionWriteData(m.address, m.data)


def _write_data_ccw(m: pb.ProtoHEFActionWriteDataCcw) -> ops.ActionWriteDataCcw:
    return ops.ActionWriteDataCcw(m.data, m.cfg_channel_index)


def _write_compressed_data(m: pb.ProtoHEFActionWriteCompressedData) -> ops.ActionWriteCompressedData:
    return ops.ActionWriteCompressedData(m.address, m.data)


def _enable_sequencer(m: pb.ProtoHEFActionEnableSequencer) -> ops.ActionEnableSequencer:
    l3 = m.initial_l3_info
    return ops.ActionEnableSequencer(
        m.cluster_index,
        m.initial_l3_legacy,
        ops.InitialL3(l3.initial_l3_index, l3.initial_l3_offset, l3.includes_initial_l3_info),
        m.active_apu_bitmap,
        m.active_sc_bitmap,
        m.active_l2_bitmap,
        m.active_ia_bitmap,
        m.l2_write_0,
        m.l2_write_1,
        m.l2_write_2,
        m.l2_write_3,
    )


def _wait_for_sequencer(m: pb.ProtoHEFActionWaitForSequencer) -> ops.ActionWaitForSequencer:
    return ops.ActionWaitForSequencer(m.cluster_index)


def _disable_lcu(m: pb.ProtoHEFActionDisableLcu) -> ops.ActionDisableLcu:
    return ops.ActionDisableLcu(m.lcu_index, m.cluster_index, m.lcu_enable_address)


def _enable_lcu(m: pb.ProtoHEFActionEnableLcu) -> ops.ActionEnableLcu:
    return ops.ActionEnableLcu(
        m.lcu_index,
        m.cluster_index,
        m.lcu_kernel_done_address,
        m.lcu_kernel_done_count,
        m.lcu_enable_address,
        m.network_index,
    )


def _none(_: pb.ProtoHEFActionNone) -> ops.ActionNone:
    return ops.ActionNone()


def _allow_input_dataflow(m: pb.ProtoHEFActionAllowInputDataflow) -> ops.ActionAllowInputDataflow:
    return ops.ActionAllowInputDataflow(m.sys_index, known(EdgeConnectionType, m.connection_type))


def _module_config_done(m: pb.ProtoHEFActionWaitForModuleConfigDone) -> ops.ActionWaitForModuleConfigDone:
    return ops.ActionWaitForModuleConfigDone(m.index)


def _debug(m: pb.ProtoHEFActionDebug) -> ops.ActionDebug:
    kind = m.WhichOneof("action")
    action: ops.ActionDebugSleep | ops.ActionDebugHalt | None = None
    if kind == "sleep":
        action = ops.ActionDebugSleep(m.sleep.duration_in_usec)
    elif kind == "halt":
        action = ops.ActionDebugHalt()
    return ops.ActionDebug(known(DebugType, m.type), action)


def _enable_nms(m: pb.ProtoHEFActionEnableNMS) -> ops.ActionEnableNMS:
    return ops.ActionEnableNMS(m.nms_unit_index, m.network_index, m.number_of_classes, m.burst_size, m.division_factor)


def _write_data_by_type(m: pb.ProtoHEFActionWriteDataByType) -> ops.ActionWriteDataByType:
    return ops.ActionWriteDataByType(
        m.address, known(WriteDataType, m.data_type), m.data, m.mask, m.network_index, m.shift
    )


def _switch_lcu_batch(m: pb.ProtoHEFActionSwitchLcuBatch) -> ops.ActionSwitchLcuBatch:
    return ops.ActionSwitchLcuBatch(m.lcu_index, m.cluster_index, m.network_index)


def _write_data_ccw_ptr(m: pb.ProtoHEFActionWriteDataCcwPtr) -> ops.ActionWriteDataCcwPtr:
    return ops.ActionWriteDataCcwPtr(m.offset, m.size, m.cfg_channel_index)


def _allow_config_channels(m: pb.ProtoHEFActionAllowConfigChannel) -> ops.ActionAllowConfigChannel:
    return ops.ActionAllowConfigChannel(m.config_index)


def _disable_data_channels(_: pb.ProtoHEFActionDisableDataChannels) -> ops.ActionDisableDataChannels:
    return ops.ActionDisableDataChannels()


_ACTIONS: dict[str, Callable[..., ops.Action]] = {
    "write_data": _write_data,
    "write_data_ccw": _write_data_ccw,
    "write_compressed_data": _write_compressed_data,
    "enable_sequencer": _enable_sequencer,
    "wait_for_seqeuncer": _wait_for_sequencer,
    "disable_lcu": _disable_lcu,
    "enable_lcu": _enable_lcu,
    "none": _none,
    "allow_input_dataflow": _allow_input_dataflow,
    "wait_for_module_config_done": _module_config_done,
    "debug": _debug,
    "enable_nms": _enable_nms,
    "write_data_by_type": _write_data_by_type,
    "switch_lcu_batch": _switch_lcu_batch,
    "write_data_ccw_ptr": _write_data_ccw_ptr,
    "allow_config_channels": _allow_config_channels,
    "disable_data_channels": _disable_data_channels,
}

_TRIGGERS: dict[str, Callable[[pb.ProtoHEFTrigger], ops.Trigger]] = {
    "trigger_lcu": lambda m: ops.TriggerLcu(m.trigger_lcu.cluster_index, m.trigger_lcu.lcu_index),
    "trigger_none": lambda m: ops.TriggerNone(),
    "trigger_all_data_was_sent": lambda m: ops.TriggerAllDataWasSentToHostPCIe(
        m.trigger_all_data_was_sent.shmifo_index
    ),
    "trigger_all_data_was_received": lambda m: ops.TriggerAllDataWasReceivedFromHostPCIe(
        m.trigger_all_data_was_received.shmifo_index
    ),
    "trigger_nms": lambda m: ops.TriggerNms(
        m.trigger_nms.aggregator_index,
        m.trigger_nms.pred_cluster_ob_index,
        m.trigger_nms.pred_cluster_ob_cluster_index,
        m.trigger_nms.pred_cluster_ob_interface,
        m.trigger_nms.succ_prepost_ob_index,
        m.trigger_nms.succ_prepost_ob_interface,
    ),
    "trigger_dma_idle": lambda m: ops.WaitDmaIdleTrigger(m.trigger_dma_idle.shmifo_index),
}


def build_operation(m: pb.ProtoHEFOperation) -> ops.Operation:
    """One operation with its trigger and actions."""
    trigger = m.trigger
    kind = trigger.WhichOneof("trigger")
    actions: list[ops.Action | None] = []
    append = actions.append
    for action in m.actions:
        name = action.WhichOneof("action")
        append(None if name is None else _ACTIONS[name](getattr(action, name)))
    return ops.Operation(None if kind is None else _TRIGGERS[kind](trigger), tuple(actions))
