"""Triggers and actions of a context: the part of the model that there are many of (hef-compile.md 2).

One record per kind, named as its message without ProtoHEF; the kind of a trigger or action is its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct

from emu.hef.enums import DebugType, EdgeConnectionType, WriteDataType

# --- triggers -------------------------------------------------------------------------------------------------------


class TriggerLcu(Struct, frozen=True):
    cluster_index: int
    lcu_index: int


class TriggerNone(Struct, frozen=True):
    pass


class TriggerAllDataWasSentToHostPCIe(Struct, frozen=True):
    shmifo_index: int


class TriggerAllDataWasReceivedFromHostPCIe(Struct, frozen=True):
    shmifo_index: int


class TriggerNms(Struct, frozen=True):
    aggregator_index: int
    pred_cluster_ob_index: int
    pred_cluster_ob_cluster_index: int
    pred_cluster_ob_interface: int
    succ_prepost_ob_index: int
    succ_prepost_ob_interface: int


class WaitDmaIdleTrigger(Struct, frozen=True):
    shmifo_index: int


Trigger: TypeAlias = (
    TriggerLcu
    | TriggerNone
    | TriggerAllDataWasSentToHostPCIe
    | TriggerAllDataWasReceivedFromHostPCIe
    | TriggerNms
    | WaitDmaIdleTrigger
)

# --- actions --------------------------------------------------------------------------------------------------------


class ActionWriteData(Struct, frozen=True):
    address: int
    data: bytes


class ActionWriteDataCcw(Struct, frozen=True):
    """A CCW record inline (container V0)."""

    data: bytes
    cfg_channel_index: int


class ActionWriteCompressedData(Struct, frozen=True):
    address: int
    data: bytes


class InitialL3(Struct, frozen=True):
    initial_l3_index: int
    initial_l3_offset: int
    includes_initial_l3_info: bool


class ActionEnableSequencer(Struct, frozen=True):
    cluster_index: int
    initial_l3_legacy: int
    initial_l3_info: InitialL3
    active_apu_bitmap: int
    active_sc_bitmap: int
    active_l2_bitmap: int
    active_ia_bitmap: int
    l2_write_0: int
    l2_write_1: int
    l2_write_2: int
    l2_write_3: int


class ActionWaitForSequencer(Struct, frozen=True):
    cluster_index: int


class ActionDisableLcu(Struct, frozen=True):
    lcu_index: int
    cluster_index: int
    lcu_enable_address: int


class ActionEnableLcu(Struct, frozen=True):
    lcu_index: int
    cluster_index: int
    lcu_kernel_done_address: int
    lcu_kernel_done_count: int
    lcu_enable_address: int
    network_index: int


class ActionNone(Struct, frozen=True):
    pass


class ActionAllowInputDataflow(Struct, frozen=True):
    sys_index: int
    connection_type: EdgeConnectionType | int


class ActionWaitForModuleConfigDone(Struct, frozen=True):
    index: int


class ActionDebugSleep(Struct, frozen=True):
    duration_in_usec: int


class ActionDebugHalt(Struct, frozen=True):
    pass


class ActionDebug(Struct, frozen=True):
    """`action` is None where neither is set, as in files of compilers before 4.19 (hef-container.md 3.2)."""

    type: DebugType | int
    action: ActionDebugSleep | ActionDebugHalt | None


class ActionEnableNMS(Struct, frozen=True):
    nms_unit_index: int
    network_index: int
    number_of_classes: int
    burst_size: int
    division_factor: int


class ActionWriteDataByType(Struct, frozen=True):
    address: int
    data_type: WriteDataType | int
    data: bytes
    mask: int
    network_index: int
    shift: int


class ActionSwitchLcuBatch(Struct, frozen=True):
    lcu_index: int
    cluster_index: int
    network_index: int


class ActionWriteDataCcwPtr(Struct, frozen=True):
    """A CCW record in the CCW section: `offset` from the zero point, `size` in bytes (`Hef.ccw` reads it)."""

    offset: int
    size: int
    cfg_channel_index: int


class ActionAllowConfigChannel(Struct, frozen=True):
    config_index: int


class ActionDisableDataChannels(Struct, frozen=True):
    pass


Action: TypeAlias = (
    ActionWriteData
    | ActionWriteDataCcw
    | ActionWriteCompressedData
    | ActionEnableSequencer
    | ActionWaitForSequencer
    | ActionDisableLcu
    | ActionEnableLcu
    | ActionNone
    | ActionAllowInputDataflow
    | ActionWaitForModuleConfigDone
    | ActionDebug
    | ActionEnableNMS
    | ActionWriteDataByType
    | ActionSwitchLcuBatch
    | ActionWriteDataCcwPtr
    | ActionAllowConfigChannel
    | ActionDisableDataChannels
)


class Operation(Struct, frozen=True):
    """Wait for `trigger`, then do `actions`; None stands for one that is not set, or that this schema does not know."""

    trigger: Trigger | None
    actions: tuple[Action | None, ...]


class PreliminaryConfig(Struct, frozen=True):
    operation: tuple[Operation, ...]


ACTION_FIELDS: Mapping[type[Action], str] = MappingProxyType(
    {
        ActionWriteData: "write_data",
        ActionWriteDataCcw: "write_data_ccw",
        ActionWriteCompressedData: "write_compressed_data",
        ActionEnableSequencer: "enable_sequencer",
        ActionWaitForSequencer: "wait_for_seqeuncer",
        ActionDisableLcu: "disable_lcu",
        ActionEnableLcu: "enable_lcu",
        ActionNone: "none",
        ActionAllowInputDataflow: "allow_input_dataflow",
        ActionWaitForModuleConfigDone: "wait_for_module_config_done",
        ActionDebug: "debug",
        ActionEnableNMS: "enable_nms",
        ActionWriteDataByType: "write_data_by_type",
        ActionSwitchLcuBatch: "switch_lcu_batch",
        ActionWriteDataCcwPtr: "write_data_ccw_ptr",
        ActionAllowConfigChannel: "allow_config_channels",
        ActionDisableDataChannels: "disable_data_channels",
    }
)
"""The field of ProtoHEFAction that an action stands in."""

TRIGGER_FIELDS: Mapping[type[Trigger], str] = MappingProxyType(
    {
        TriggerLcu: "trigger_lcu",
        TriggerNone: "trigger_none",
        TriggerAllDataWasSentToHostPCIe: "trigger_all_data_was_sent",
        TriggerAllDataWasReceivedFromHostPCIe: "trigger_all_data_was_received",
        TriggerNms: "trigger_nms",
        WaitDmaIdleTrigger: "trigger_dma_idle",
    }
)
"""The field of ProtoHEFTrigger that a trigger stands in."""
