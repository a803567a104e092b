"""Actions on the units of the core: config channels, registers, sequencers, LCUs, NMS; and on the task itself."""

from __future__ import annotations

from emu.wire.actions.base import (
    CHANNEL,
    CLUSTER,
    CONFIG_STREAM,
    INHERITED,
    LCU,
    NMS_UNIT,
    U8,
    U16,
    U32,
    U64,
    Action,
    ActionType,
    HostBuffer,
    Role,
    Target,
)


class ActivateCfgChannel(
    HostBuffer,
    type=ActionType.ACTIVATE_CFG_CHANNEL,
    role=Role.CONFIG_CHANNEL,
    repeatable=False,
    starts=None,
    waits_for=None,
):
    """Open a config channel over its buffer."""

    packed_vdma_channel_id: int = CHANNEL
    config_stream_index: int = CONFIG_STREAM
    _inherited = INHERITED


class DeactivateCfgChannel(
    Action, type=ActionType.DEACTIVATE_CFG_CHANNEL, role=Role.CLOSE, repeatable=False, starts=None, waits_for=None
):
    """Close a config channel."""

    packed_vdma_channel_id: int = CHANNEL
    config_stream_index: int = CONFIG_STREAM


class FetchCfgChannelDescriptors(
    Action,
    type=ActionType.FETCH_CFG_CHANNEL_DESCRIPTORS,
    role=Role.FETCH,
    repeatable=True,
    starts=Target.CONFIG,
    waits_for=None,
):
    """Let a config channel fetch descriptors (Hailo-8)."""

    descriptors_count: int = U16
    packed_vdma_channel_id: int = CHANNEL


class FetchCcwBursts(
    Action, type=ActionType.FETCH_CCW_BURSTS, role=Role.FETCH, repeatable=False, starts=Target.CONFIG, waits_for=None
):
    """Execute prefetched bursts of a config stream (Hailo-15, Hailo-10)."""

    ccw_bursts: int = U16
    config_stream_index: int = CONFIG_STREAM


class ModuleConfigDoneInterrupt(
    Action,
    type=ActionType.MODULE_CONFIG_DONE_INTERRUPT,
    role=Role.WAIT,
    repeatable=False,
    starts=None,
    waits_for=Target.CONFIG,
):
    """Wait until every config fetch so far has been consumed."""

    module_index: int = U8


DATA_FROM_ACTION, DATA_BATCH_SIZE = 0, 1  # data_type of WRITE_DATA_BY_TYPE (hef-compile.md 2.2.2)


class WriteDataByType(
    Action, type=ActionType.WRITE_DATA_BY_TYPE, role=Role.BARRIER, repeatable=False, starts=None, waits_for=None
):
    """Write a register with a value that may depend on the batch."""

    address: int = U32
    data_type: int = U8
    data: int = U32
    shift: int = U8
    mask: int = U32
    network_index: int = U8


class TriggerSequencer(
    Action, type=ActionType.TRIGGER_SEQUENCER, role=Role.START, repeatable=True, starts=Target.SEQUENCER, waits_for=None
):
    """Write a sequencer's configuration and start it; it works on every LCU of its cluster."""

    cluster_index: int = CLUSTER
    initial_l3_cut: int = U8
    initial_l3_offset: int = U16
    active_apu: int = U32
    active_ia: int = U32
    active_sc: int = U64
    active_l2: int = U64
    l2_offset_0: int = U64
    l2_offset_1: int = U64


class SequencerDoneInterrupt(
    Action,
    type=ActionType.SEQUENCER_DONE_INTERRUPT,
    role=Role.WAIT,
    repeatable=False,
    starts=None,
    waits_for=Target.SEQUENCER,
):
    """Wait for the sequencer of a cluster."""

    sequencer_index: int = CLUSTER


class EnableLcuDefault(
    Action, type=ActionType.ENABLE_LCU_DEFAULT, role=Role.START, repeatable=True, starts=Target.LCU, waits_for=None
):
    """Enable an LCU with kernel_done_address 1, count 2."""

    packed_lcu_id: int = LCU
    network_index: int = U8


class EnableLcuNonDefault(
    Action, type=ActionType.ENABLE_LCU_NON_DEFAULT, role=Role.START, repeatable=True, starts=Target.LCU, waits_for=None
):
    """Enable an LCU with its own done condition."""

    packed_lcu_id: int = LCU
    network_index: int = U8
    kernel_done_address: int = U16
    kernel_done_count: int = U32


class SwitchLcuBatch(
    Action, type=ActionType.SWITCH_LCU_BATCH, role=Role.START, repeatable=True, starts=Target.LCU, waits_for=None
):
    """Re-program the done count of an LCU for the present batch."""

    packed_lcu_id: int = LCU
    network_index: int = U8
    kernel_done_count: int = U32


class DisableLcu(Action, type=ActionType.DISABLE_LCU, role=Role.STOP, repeatable=True, starts=None, waits_for=None):
    """Stop an LCU."""

    packed_lcu_id: int = LCU


class LcuInterrupt(
    Action, type=ActionType.LCU_INTERRUPT, role=Role.WAIT, repeatable=False, starts=None, waits_for=Target.LCU
):
    """Wait until an LCU has seen its count x batch."""

    packed_lcu_id: int = LCU


class EnableNms(
    Action, type=ActionType.ENABLE_NMS, role=Role.START, repeatable=True, starts=Target.NMS, waits_for=None
):
    """Configure an NMS unit for the frames of a batch."""

    nms_unit_index: int = NMS_UNIT
    network_index: int = U8
    number_of_classes: int = U16
    burst_size: int = U16
    division_factor: int = U8


class WaitForNms(
    Action, type=ActionType.WAIT_FOR_NMS, role=Role.WAIT, repeatable=False, starts=None, waits_for=Target.NMS
):
    """Wait until the NMS path (aggregator and output buffers) is idle."""

    aggregator_index: int = U8
    pred_cluster_ob_index: int = U8
    pred_cluster_ob_cluster_index: int = U8
    pred_cluster_ob_interface: int = U8
    succ_prepost_ob_index: int = U8
    succ_prepost_ob_interface: int = U8


class ApplicationChangeInterrupt(
    Action,
    type=ActionType.APPLICATION_CHANGE_INTERRUPT,
    role=Role.WAIT,
    repeatable=False,
    starts=None,
    waits_for=Target.APPLICATION,
):
    """Stay until the host resets, switches the application or the batch."""


class Sleep(Action, type=ActionType.SLEEP, role=Role.BARRIER, repeatable=False, starts=None, waits_for=None):
    """Do nothing for a while."""

    sleep_time: int = U32


class Halt(Action, type=ActionType.HALT, role=Role.BARRIER, repeatable=False, starts=None, waits_for=None):
    """Stop for good."""
