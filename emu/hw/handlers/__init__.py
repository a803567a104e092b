"""One handler per firmware action: its preconditions, its effect, and what it waits for.

A handler takes the firmware and the action's arguments by name. A precondition that fails raises FirmwareStopError with
the firmware's own status; a returned Wait is what the action waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.hw.execution import Execution
from emu.hw.handlers import channels, config, flow, misc, units, waiting
from emu.hw.waits import Wait
from emu.wire.actions import ActionType as A

# each takes the class of its own action, which no type of the table can say; tests/hw/test_handlers.py holds it
Handler = Callable[[Execution, Any], Wait | None]

HANDLERS: dict[A, Handler] = {
    A.FETCH_CFG_CHANNEL_DESCRIPTORS: config.fetch_cfg_channel_descriptors,
    A.TRIGGER_SEQUENCER: units.trigger_sequencer,
    A.FETCH_DATA_FROM_VDMA_CHANNEL: flow.fetch_data_from_vdma_channel,
    A.ENABLE_LCU_DEFAULT: units.enable_lcu_default,
    A.ENABLE_LCU_NON_DEFAULT: units.enable_lcu_non_default,
    A.DISABLE_LCU: units.disable_lcu,
    A.ACTIVATE_BOUNDARY_INPUT: channels.activate_boundary_input,
    A.ACTIVATE_BOUNDARY_OUTPUT: channels.activate_boundary_output,
    A.ACTIVATE_INTER_CONTEXT_INPUT: channels.activate_inter_context_input,
    A.ACTIVATE_INTER_CONTEXT_OUTPUT: channels.activate_inter_context_output,
    A.ACTIVATE_DDR_BUFFER_INPUT: channels.activate_ddr_buffer_input,
    A.ACTIVATE_DDR_BUFFER_OUTPUT: channels.activate_ddr_buffer_output,
    A.DEACTIVATE_VDMA_CHANNEL: channels.deactivate_vdma_channel,
    A.CHANGE_VDMA_TO_STREAM_MAPPING: channels.change_vdma_to_stream_mapping,
    A.ADD_DDR_PAIR_INFO: flow.add_ddr_pair_info,
    A.DDR_BUFFERING_START: flow.ddr_buffering_start,
    A.LCU_INTERRUPT: waiting.lcu_interrupt,
    A.SEQUENCER_DONE_INTERRUPT: waiting.sequencer_done_interrupt,
    A.INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT: waiting.input_channel_transfer_done_interrupt,
    A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT: waiting.output_channel_transfer_done_interrupt,
    A.MODULE_CONFIG_DONE_INTERRUPT: waiting.module_config_done_interrupt,
    A.APPLICATION_CHANGE_INTERRUPT: waiting.application_change_interrupt,
    A.ACTIVATE_CFG_CHANNEL: config.activate_cfg_channel,
    A.DEACTIVATE_CFG_CHANNEL: config.deactivate_cfg_channel,
    A.WAIT_FOR_DMA_IDLE_ACTION: waiting.wait_for_dma_idle,
    A.WAIT_FOR_NMS: waiting.wait_for_nms,
    A.FETCH_CCW_BURSTS: config.fetch_ccw_bursts,
    A.VALIDATE_VDMA_CHANNEL: channels.validate_vdma_channel,
    A.BURST_CREDITS_TASK_START: flow.burst_credits_task_start,
    A.BURST_CREDITS_TASK_RESET: flow.burst_credits_task_reset,
    A.DDR_BUFFERING_RESET: flow.ddr_buffering_reset,
    A.OPEN_BOUNDARY_INPUT_CHANNEL: channels.open_boundary_input_channel,
    A.OPEN_BOUNDARY_OUTPUT_CHANNEL: channels.open_boundary_output_channel,
    A.ENABLE_NMS: units.enable_nms,
    A.WRITE_DATA_BY_TYPE: misc.write_data_by_type,
    A.SWITCH_LCU_BATCH: units.switch_lcu_batch,
    A.CHANGE_BOUNDARY_INPUT_BATCH: flow.change_boundary_input_batch,
    A.PAUSE_VDMA_CHANNEL: channels.pause_vdma_channel,
    A.RESUME_VDMA_CHANNEL: channels.resume_vdma_channel,
    A.ACTIVATE_CACHE_INPUT: channels.activate_cache_input,
    A.ACTIVATE_CACHE_OUTPUT: channels.activate_cache_output,
    A.WAIT_FOR_CACHE_UPDATED: waiting.wait_for_cache_updated,
    A.SLEEP: misc.sleep,
    A.HALT: misc.halt,
}
