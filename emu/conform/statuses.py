"""Statuses: what stops an application, each by the smallest lists that have it (firmware-actions.md 7)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from emu.conform.applications import (
    IN,
    INTER_OUT,
    OUT,
    PAGE,
    Application,
    Make,
    act,
    bursts,
    changed,
    close,
    config_off,
    config_on,
    descriptors,
    double,
    fetch,
    single,
    stream_out,
    with_ddr,
    without,
)
from emu.wire.actions import ActionType
from emu.wire.lists import Entry, Repeated
from emu.wire.status import FirmwareStatus as S

Edit = Callable[[list[Entry]], list[Entry]]


class Told(Enum):
    """Where a status comes: in the reply to the context, in that to ENABLE, or only as a notification."""

    CONTEXT = "context"
    ENABLE = "enable"
    LATER = "later"


class Case(NamedTuple):
    """An application that ends with a status."""

    name: str
    status: S
    make: Make
    told: Told = Told.LATER


def _preliminary(*entries: Entry, **settings: object) -> Make:
    """`entries` executed before the preliminary list of a single-context application."""

    def make() -> Application:
        made = single(**settings)
        made.preliminary = [*entries, *made.preliminary]
        return made

    return make


def _edit(make: Make, edit: Callable[[Application], None]) -> Make:
    def build() -> Application:
        made = make()
        edit(made)
        return made

    return build


def _dynamic(edit: Edit, index: int = 0, make: Make = single) -> Make:
    def apply(made: Application) -> None:
        made.dynamic[index] = edit(made.dynamic[index])

    return _edit(make, apply)


def _insert(position: int, *entries: Entry) -> Edit:
    return lambda listed: [*listed[:position], *entries, *listed[position:]]


def _activation(edit: Edit) -> Make:
    def apply(made: Application) -> None:
        made.activation = edit(made.activation)

    return _edit(single, apply)


def _integrated() -> Application:
    return single(device="hailo15h")


def _bursts(*entries: Entry) -> Make:
    def apply(made: Application) -> None:
        made.preliminary = list(entries)

    return _edit(_integrated, apply)


def _h15(edit: Edit) -> Make:
    return _dynamic(edit, make=_integrated)


CASES: tuple[Case, ...] = (
    # LCUs and sequencers
    Case("cluster the chip lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _bursts(act("ENABLE_LCU_DEFAULT", packed_lcu_id=0x60))),
    Case("cluster the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("ENABLE_LCU_DEFAULT", packed_lcu_id=0x20), device="hailo8l", layout=51)),
    Case("sequencer the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("TRIGGER_SEQUENCER", cluster_index=7), device="hailo8l", layout=51)),
    Case("wait for a sequencer the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("SEQUENCER_DONE_INTERRUPT", sequencer_index=2), device="hailo8l", layout=51)),
    Case("disable in a cluster the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("DISABLE_LCU", packed_lcu_id=0x20), device="hailo8l", layout=51)),
    Case("wait for an LCU the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("LCU_INTERRUPT", packed_lcu_id=0x20), device="hailo8l", layout=51)),
    Case("kernel count overflow", S.CONTEXT_SWITCH_STATUS_KERNEL_COUNT_OVERFLOW,
     _preliminary(act("ENABLE_LCU_NON_DEFAULT", kernel_done_count=0x80000000), batch=2)),
    Case("kernel count overflow in a batch switch", S.CONTEXT_SWITCH_STATUS_KERNEL_COUNT_OVERFLOW,
     _preliminary(act("SWITCH_LCU_BATCH", kernel_done_count=0xFFFFFFFF), batch=2)),
    Case("LCU of a network there is none of", S.CONTEXT_SWITCH_STATUS_INVALID_NETWORK_INDEX,
     _preliminary(act("ENABLE_LCU_DEFAULT", network_index=1))),
    # config channels
    Case("fetch from a config channel not active",
     S.VDMA_SERVICE_STATUS_CHANNEL_CANNOT_FETCH_DESCRITPROTS_WHILE_ABORTED,
     _preliminary(descriptors(1))),
    Case("0 descriptors", S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE,
     _preliminary(config_on(), descriptors(0))),
    Case("more descriptors than programmed", S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
     _preliminary(config_on(), descriptors(4))),
    Case("closed before all descriptors were fetched",
     S.CONTEXT_SWITCH_STATUS_MISMATCH_BETWEEN_EXPECTED_DESCRIPTOR_COUNT_AND_ACTUAL_REQUESTS,
     _preliminary(config_on(), descriptors(2), config_off())),
    Case("config stream the header lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
     _preliminary(config_on(stream=1))),
    Case("config stream activated twice", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
     _preliminary(config_on())),
    Case("config channel that is not the header's", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _preliminary(config_on(channel=1))),
    Case("close a config stream that is not active", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
     _preliminary(config_off())),
    Case("bursts on Hailo-8", S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED, _preliminary(bursts(1)),
     Told.CONTEXT),
    Case("repeated bursts on Hailo-8", S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
     _preliminary(Repeated(ActionType.FETCH_CCW_BURSTS, (bursts(1), bursts(1)))),
     Told.CONTEXT),
    Case("descriptors on 15H", S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
     _bursts(config_on(), descriptors(1)),
     Told.CONTEXT),
    Case("bursts of a stream not active", S.CSM_CONFIG_MANAGER_STATUS_CSM_NOT_ENABLED_WHILE_TRYING_TO_FETCH_CONFIG,
     _bursts(bursts(1))),
    Case("config module out of range", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_MODULE_INDEX,
     _preliminary(act("MODULE_CONFIG_DONE_INTERRUPT", module_index=200))),
    # opening channels
    Case("output channel below 16", S.VDMA_SERVICE_STATUS_INVALID_ENGINE_INDEX,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=3)),
     Told.ENABLE),
    Case("engine that PCIe lacks", S.VDMA_SERVICE_STATUS_INVALID_ENGINE_INDEX,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=0x30)),
     Told.ENABLE),
    Case("channel index beyond the engine", S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_INDEX,
     _h15(_insert(0, stream_out("INTER_CONTEXT", 0x21, 10, 3)))),
    Case("list not aligned to 64 KiB", S.VDMA_SERVICE_STATUS_HOST_DESCRITPOR_BASE_ADDRESS_IS_NOT_64KB_ALIGNED,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", dma_address=0x10000200)),
     Told.ENABLE),
    Case("list of no descriptors", S.VDMA_SERVICE_STATUS_INVALID_VDMA_CHANNEL_DEPTH,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", total_desc_count=0)),
     Told.ENABLE),
    Case("list of more descriptors than a channel counts", S.VDMA_SERVICE_STATUS_TOO_MANY_DESCRIPTORS,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", total_desc_count=0x20000)),
     Told.ENABLE),
    Case("continuous buffer of no descriptors", S.VDMA_SERVICE_STATUS_INVALID_VDMA_CHANNEL_DEPTH,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, total_desc_count=0)))),
    Case("continuous buffer of too many descriptors", S.VDMA_SERVICE_STATUS_TOO_MANY_DESCRIPTORS,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, total_desc_count=0x80000)))),
    Case("continuous buffer that begins within a page", S.VDMA_SERVICE_STATUS_CCB_BASE_ADDRESS_IS_NOT_IN_MASK,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, dma_address=0x40001040)))),
    Case("transfer larger than its continuous buffer", S.VDMA_SERVICE_STATUS_TOO_LARGE_BYTES_IN_PATTERN,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, bytes_in_pattern=65 * PAGE)))),
    Case("config pages that are not the header's", S.CSM_CONFIG_MANAGER_STATUS_INVALID_HOST_PAGE_SIZE,
     _bursts(*changed([config_on()], "ACTIVATE_CFG_CHANNEL", desc_page_size=1024))),
    Case("circular list of 48", S.VDMA_SERVICE_STATUS_EXTERNAL_DESC_COUNT_MUST_BE_POWER_OF_2,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", total_desc_count=48)),
     Told.ENABLE),
    Case("page of 500 bytes", S.VDMA_SERVICE_STATUS_DESC_PAGE_SIZE_MUST_BE_POWER_OF_2,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", desc_page_size=500)),
     Told.ENABLE),
    Case("transfer larger than its list", S.VDMA_SERVICE_STATUS_TOO_LARGE_BYTES_IN_PATTERN,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", bytes_in_pattern=65 * PAGE)),
     Told.ENABLE),
    Case("continuous buffer on PCIe", S.VDMA_SERVICE_STATUS_CCB_NOT_IMPLEMENTED_OVER_PCIE,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", buffer_type=1)),
     Told.ENABLE),
    Case("buffer type 2", S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", buffer_type=2)),
     Told.ENABLE),
    Case("0 periph bytes", S.CONTEXT_SWITCH_STATUS_INVALID_BYTES_PER_BUFFER_VALUE,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", periph_bytes_per_buffer=0)),
     Told.ENABLE),
    Case("opened twice", S.VDMA_SERVICE_STATUS_CHANNEL_NOT_IDLE, _activation(lambda listed: [*listed, listed[1]]),
     Told.ENABLE),
    # activating streams
    Case("input activated without being opened", S.VDMA_SERVICE_STATUS_CHANNEL_CANNOT_FETCH_DESCRITPROTS_WHILE_ABORTED,
     _activation(lambda listed: without(listed, "OPEN_BOUNDARY_INPUT_CHANNEL"))),
    Case("output activated without being opened", S.VDMA_SERVICE_STATUS_CHANNEL_CANNOT_FETCH_DESCRITPROTS_WHILE_ABORTED,
     _activation(lambda listed: without(listed, "OPEN_BOUNDARY_OUTPUT_CHANNEL"))),
    Case("input of a stream it was not opened for", S.BURST_CREDITS_TASK_STATUS_FAILED_TO_FIND_STREAM_INDEX,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", stream_index=5))),
    Case("stream index out of range", S.BURST_CREDITS_TASK_STATUS_FAILED_TO_FIND_STREAM_INDEX,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_OUTPUT", stream_index=200))),
    Case("two edge layers on one stream", S.CONTEXT_SWITCH_STATUS_MULTIPLE_EDGE_LAYERS_FOR_SAME_STREAM,
     _dynamic(_insert(1, stream_out("INTER_CONTEXT", INTER_OUT, 9, 3)))),
    Case("two streams on one channel", S.CONTEXT_SWITCH_STATUS_MULTIPLE_STREAMS_USE_THE_SAME_CHANNEL,
     _dynamic(_insert(1, stream_out("BOUNDARY", OUT, 10, 1)))),
    Case("edge layer of the context before still set", S.CONTEXT_SWITCH_STATUS_EDGE_LAYER_ALREADY_SET,
     _edit(double, lambda made: made.dynamic.__setitem__(
         slice(None),
         [without(made.dynamic[0], "DEACTIVATE_VDMA_CHANNEL"),
          [stream_out("INTER_CONTEXT", INTER_OUT, 10, 3), *made.dynamic[1]]]))),
    Case("0 core bytes a buffer", S.CONTEXT_SWITCH_STATUS_INVALID_BYTES_PER_BUFFER_VALUE,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_OUTPUT", core_bytes_per_buffer=0))),
    Case("0 periph buffers a frame", S.CONTEXT_SWITCH_STATUS_INVALID_BUFFERS_PER_FRAME_VALUE,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_INPUT", periph_buffers_per_frame=0))),
    Case("no initial credit", S.VDMA_SERVICE_STATUS_INVALID_INITIAL_CREDIT_SIZE,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_INPUT", initial_credit_size=0))),
    Case("batch larger than the inter-context list", S.VDMA_SERVICE_INSUFFICIENT_DESCRIPTORS_COUNT,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_INTER_CONTEXT_OUTPUT", total_desc_count=4),
              make=lambda: double(batch=4))),
    Case("cache output of no entries", S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE,
     _dynamic(_insert(0, stream_out("CACHE", INTER_OUT, 10, 3)))),
    # credits
    Case("credits for an output",
     S.CONTEXT_SWITCH_STATUS_ADDING_CREDITS_IS_ALLOWED_ONLY_FOR_EDGE_LAYER_DIRECTION_HOST_TO_DEVICE,
     _dynamic(_insert(3, fetch(OUT, 9)))),
    Case("credits for a channel not activated", S.VDMA_SERVICE_STATUS_CHANNEL_CANNOT_FETCH_DESCRITPROTS_WHILE_ABORTED,
     _dynamic(lambda listed: without(listed, "ACTIVATE_BOUNDARY_INPUT"))),
    Case("credits of the wrong type", S.CONTEXT_SWITCH_STATUS_INVALID_EDGE_LAYER_CREDIT_TYPE,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", credit_type=2))),
    Case("credits for another buffer type", S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", host_buffer_type=1))),
    Case("0 credits", S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", frame_periph_size=0))),
    Case("credits twice", S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE,
     _dynamic(lambda listed: [*listed[:5], listed[4], *listed[5:]], 1, double)),
    Case("more descriptors than the list", S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", frame_periph_size=64), 1, double)),
    Case("burst credits with nothing configured", S.BURST_CREDITS_TASK_STATUS_TASK_NO_CONFIGURED_ACTIONS,
     _dynamic(lambda listed: without(listed, "FETCH_DATA_FROM_VDMA_CHANNEL"))),
    Case("burst credits started twice",
     S.BURST_CREDITS_TASK_STATUS_TRYING_TO_CHANGE_STATE_TO_INFER_WHILE_ALREADY_IN_INFER,
     _dynamic(_insert(5, act("BURST_CREDITS_TASK_START")))),
    Case("input added while burst credits run",
     S.BURST_CREDITS_TASK_STATUS_TRYING_TO_ADD_ACTION_WHILE_NOT_IN_IDLE_STATE,
     _dynamic(_insert(5, fetch(IN, 1)))),
    # DDR
    Case("DDR pair added while the task runs", S.DDR_BUFFER_STATUS_TRYING_TO_ADD_DDR_PAIR_WHILE_NOT_IN_IDLE_STATE,
     _dynamic(lambda listed: [*listed[:4], listed[2], *listed[4:]], make=with_ddr)),
    Case("DDR task started twice", S.DDR_BUFFER_STATUS_TRYING_TO_CHANGE_STATE_TO_INFER_WHILE_ALREADY_DURING_INFER,
     _dynamic(lambda listed: [*listed[:4], listed[3], *listed[4:]], make=with_ddr)),
    Case("DDR task without pairs", S.DDR_BUFFER_STATUS_NO_DDR_PAIRS_TO_RUN_INFER_ON,
     _dynamic(lambda listed: without(listed, "ADD_DDR_PAIR_INFO"), make=with_ddr)),
    Case("DDR descriptors overflow", S.DDR_BUFFER_STATUS_OVERFLOW_IN_DESCRIPTORS_PER_BATCH,
     _dynamic(lambda listed: changed(listed, "ADD_DDR_PAIR_INFO", descriptors_per_frame=0xFFFFFFFF),
              make=lambda: with_ddr(batch=2))),
    Case("DDR pair of channels that are no portal", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(lambda listed: changed(listed, "ADD_DDR_PAIR_INFO", h2d_packed_vdma_channel_id=IN), make=with_ddr)),
    Case("DDR pair with another list", S.VDMA_SERVICE_INSUFFICIENT_DESCRIPTORS_COUNT,
     _dynamic(lambda listed: changed(listed, "ADD_DDR_PAIR_INFO", programmed_descriptors_count=1), make=with_ddr)),
    Case("DDR input without its producer", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_DDR_BUFFER_INPUT", connected_d2h_packed_vdma_channel_id=19),
              make=with_ddr)),
    # routing, pausing, closing
    Case("mapping of a channel not open", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(0, act("CHANGE_VDMA_TO_STREAM_MAPPING", packed_vdma_channel_id=20)))),
    Case("resume of a channel not open", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(0, close("RESUME_VDMA_CHANNEL", 7, 1)))),
    Case("pause in the wrong direction", S.CONTEXT_SWITCH_STATUS_PCIE_CHANNEL_INDEX_AND_DIRECTION_MISMATCH,
     _dynamic(_insert(0, close("PAUSE_VDMA_CHANNEL", IN, 2)))),
    Case("direction 0", S.CONTEXT_SWITCH_STATUS_INVALID_EDGE_LAYER_DIRECTION,
     _dynamic(_insert(0, close("PAUSE_VDMA_CHANNEL", IN, 0)))),
    Case("close of a channel not active", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(0, close("DEACTIVATE_VDMA_CHANNEL", INTER_OUT, 2)))),
    Case("close with another buffer type", S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
     _dynamic(lambda listed: changed(listed, "DEACTIVATE_VDMA_CHANNEL", host_buffer_type=1), make=double)),
    Case("validate with credits left", S.CONTEXT_SWITCH_STATUS_STREAM_CREDIT_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(_insert(5, close("VALIDATE_VDMA_CHANNEL", IN, 1)))),
    Case("close an input before its frames", S.CONTEXT_SWITCH_STATUS_STREAM_CREDIT_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(lambda listed: without(without(listed, "WAIT_FOR_DMA_IDLE_ACTION"), "VALIDATE_VDMA_CHANNEL"), 1, double)),
    Case("close an output before its frames", S.CONTEXT_SWITCH_STATUS_FIFO_COUNTER_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(lambda listed: without(without(listed, "LCU_INTERRUPT"), "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT"),
              make=double)),
    Case("close an output with frames under way", S.CONTEXT_SWITCH_STATUS_FIFO_COUNTER_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(_insert(5, act("LCU_INTERRUPT"), close("VALIDATE_VDMA_CHANNEL", OUT, 2)))),
    Case("boundary with host descriptors left",
     S.VDMA_SERVICE_STATUS_DESCRIPTOR_COUNT_INDICATE_NOT_ALL_DATA_WAS_TRANSFERRED,
     _dynamic(lambda listed: changed(listed, "VALIDATE_VDMA_CHANNEL", check_host_empty_num_available=1), 1, double)),
    # waits
    Case("wait for an output that is not active", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(5, act("OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", packed_vdma_channel_id=20, stream_index=9)))),
    Case("wait for an input that is not active", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(5, act("INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", packed_vdma_channel_id=9, stream_index=1)))),
    # NMS, registers, sleep
    Case("NMS of a network there is none of", S.NMS_MANAGER_STATUS_INVALID_NETWORK_INDEX,
     _preliminary(act("ENABLE_NMS", network_index=3, number_of_classes=1, burst_size=1))),
    Case("NMS of no classes", S.NMS_MANAGER_STATUS_INVALID_NUM_CLASSES_SIZE,
     _preliminary(act("ENABLE_NMS", burst_size=1))),
    Case("NMS of no burst", S.NMS_MANAGER_STATUS_INVALID_BURST_SIZE,
     _preliminary(act("ENABLE_NMS", number_of_classes=1))),
    Case("data type 2", S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_TYPE,
     _preliminary(act("WRITE_DATA_BY_TYPE", data_type=2))),
    Case("address that is no register", S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_MEMORY_SPACE,
     _preliminary(act("WRITE_DATA_BY_TYPE", address=2))),
    Case("sleep too short", S.CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME, _preliminary(act("SLEEP", sleep_time=999))),
)  # fmt: skip
