"""Each precondition that fails stops the context with the firmware's own status (firmware-actions.md 7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emu.errors import FirmwareError
from emu.hw.status import FirmwareStatus as S
from emu.sequencer.actions import ActionType, Entry, Repeated
from tests.hw.lists import (
    BOUNDARY,
    DDR_IN,
    DDR_OUT,
    IN,
    INTER_OUT,
    OUT,
    PAGE,
    Lists,
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
    stream_in,
    stream_out,
    with_ddr,
    without,
)

Case = tuple[str, S, Callable[[], Lists]]


def _preliminary(*entries: Entry, **settings: object) -> Callable[[], Lists]:
    """`entries` executed before the preliminary list of a single-context application."""

    def make() -> Lists:
        lists = single(**settings)
        lists.preliminary = [*entries, *lists.preliminary]
        return lists

    return make


def _edit(make: Callable[[], Lists], edit: Callable[[Lists], None]) -> Callable[[], Lists]:
    def build() -> Lists:
        lists = make()
        edit(lists)
        return lists

    return build


def _dynamic(edit: Callable[[list[Entry]], list[Entry]], index: int = 0, make: Callable[[], Lists] = single):
    def apply(lists: Lists) -> None:
        lists.dynamic[index] = edit(lists.dynamic[index])

    return _edit(make, apply)


def _insert(position: int, *entries: Entry):
    return lambda listed: [*listed[:position], *entries, *listed[position:]]


def _activation(edit: Callable[[list[Entry]], list[Entry]]) -> Callable[[], Lists]:
    def apply(lists: Lists) -> None:
        lists.activation = edit(lists.activation)

    return _edit(single, apply)


def _bursts(*entries: Entry) -> Callable[[], Lists]:
    def apply(lists: Lists) -> None:
        lists.preliminary = list(entries)

    return _edit(lambda: single(device="hailo15h", runtime="5.2"), apply)


def _h15(edit: Callable[[list[Entry]], list[Entry]]) -> Callable[[], Lists]:
    return _dynamic(edit, make=lambda: single(device="hailo15h", runtime="5.2"))


CASES: list[Case] = [
    # LCUs and sequencers
    ("cluster the chip lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _bursts(act("ENABLE_LCU_DEFAULT", packed_lcu_id=0x60))),
    ("cluster the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("ENABLE_LCU_DEFAULT", packed_lcu_id=0x20), device="hailo8l", layout=51)),
    ("sequencer the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("TRIGGER_SEQUENCER", cluster_index=7), device="hailo8l", layout=51)),
    ("wait for a sequencer the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("SEQUENCER_DONE_INTERRUPT", sequencer_index=2), device="hailo8l", layout=51)),
    ("disable in a cluster the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("DISABLE_LCU", packed_lcu_id=0x20), device="hailo8l", layout=51)),
    ("wait for an LCU the layout lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX,
     _preliminary(act("LCU_INTERRUPT", packed_lcu_id=0x20), device="hailo8l", layout=51)),
    ("kernel count overflow", S.CONTEXT_SWITCH_STATUS_KERNEL_COUNT_OVERFLOW,
     _preliminary(act("ENABLE_LCU_NON_DEFAULT", kernel_done_count=0x80000000), batch=2)),
    ("kernel count overflow in a batch switch", S.CONTEXT_SWITCH_STATUS_KERNEL_COUNT_OVERFLOW,
     _preliminary(act("SWITCH_LCU_BATCH", kernel_done_count=0xFFFFFFFF), batch=2)),
    ("LCU of a network there is none of", S.CONTEXT_SWITCH_STATUS_INVALID_NETWORK_INDEX,
     _preliminary(act("ENABLE_LCU_DEFAULT", network_index=1))),
    # config channels
    ("fetch from a config channel not active", S.VDMA_SERVICE_STATUS_CANNOT_FETCH_WHILE_ABORTED,
     _preliminary(descriptors(1))),
    ("0 descriptors", S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE,
     _preliminary(config_on(), descriptors(0))),
    ("more descriptors than programmed", S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
     _preliminary(config_on(), descriptors(4))),
    ("closed before all descriptors were fetched",
     S.CONTEXT_SWITCH_STATUS_MISMATCH_BETWEEN_EXPECTED_DESCRIPTOR_COUNT_AND_ACTUAL_REQUESTS,
     _preliminary(config_on(), descriptors(2), config_off())),
    ("config stream the header lacks", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
     _preliminary(config_on(stream=1))),
    ("config stream activated twice", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
     _preliminary(config_on())),
    ("config channel that is not the header's", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _preliminary(config_on(channel=1))),
    ("close a config stream that is not active", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_STREAM_INDEX,
     _preliminary(config_off())),
    ("bursts on Hailo-8", S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED, _preliminary(bursts(1))),
    ("repeated bursts on Hailo-8", S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
     _preliminary(Repeated(ActionType.FETCH_CCW_BURSTS, (bursts(1), bursts(1))))),
    ("descriptors on 15H", S.CONFIG_MANAGER_WRAPPER_STATUS_ACTION_TYPE_NOT_SUPPORTED,
     _bursts(config_on(), descriptors(1))),
    ("bursts of a stream not active", S.CSM_CONFIG_MANAGER_STATUS_CSM_NOT_ENABLED_WHILE_TRYING_TO_FETCH_CONFIG,
     _bursts(bursts(1))),
    ("config module out of range", S.CONTEXT_SWITCH_STATUS_INVALID_CONFIG_MODULE_INDEX,
     _preliminary(act("MODULE_CONFIG_DONE_INTERRUPT", module_index=200))),
    # opening channels
    ("output channel below 16", S.VDMA_SERVICE_STATUS_INVALID_ENGINE_INDEX,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=3))),
    ("engine that PCIe lacks", S.VDMA_SERVICE_STATUS_INVALID_ENGINE_INDEX,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_OUTPUT_CHANNEL", packed_vdma_channel_id=0x30))),
    ("channel index beyond the engine", S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_INDEX,
     _h15(_insert(0, stream_out("INTER_CONTEXT", 0x21, 10, 3)))),
    ("list not aligned to 64 KiB", S.VDMA_SERVICE_STATUS_HOST_DESCRIPTOR_BASE_ADDRESS_IS_NOT_64KB_ALIGNED,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", dma_address=0x10000200))),
    ("list of no descriptors", S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_DEPTH,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", total_desc_count=0))),
    ("list of more descriptors than a channel counts", S.VDMA_SERVICE_STATUS_TOO_MANY_DESCRIPTORS,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", total_desc_count=0x20000))),
    ("continuous buffer of no descriptors", S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_DEPTH,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, total_desc_count=0)))),
    ("continuous buffer of too many descriptors", S.VDMA_SERVICE_STATUS_TOO_MANY_DESCRIPTORS,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, total_desc_count=0x80000)))),
    ("continuous buffer that begins within a page", S.VDMA_SERVICE_STATUS_CCB_BASE_ADDRESS_NOT_IN_MASK,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, dma_address=0x40001040)))),
    ("transfer larger than its continuous buffer", S.VDMA_SERVICE_STATUS_TOO_LARGE_BYTES_IN_PATTERN,
     _h15(_insert(0, stream_out("INTER_CONTEXT", INTER_OUT, 10, 3, buffer_type=1, bytes_in_pattern=65 * PAGE)))),
    ("config pages that are not the header's", S.CSM_CONFIG_MANAGER_STATUS_INVALID_HOST_PAGE_SIZE,
     _bursts(*changed([config_on()], "ACTIVATE_CFG_CHANNEL", desc_page_size=1024))),
    ("circular list of 48", S.VDMA_SERVICE_STATUS_EXTERNAL_DESC_COUNT_MUST_BE_POWER_OF_2,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", total_desc_count=48))),
    ("page of 500 bytes", S.VDMA_SERVICE_STATUS_DESC_PAGE_SIZE_MUST_BE_POWER_OF_2,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", desc_page_size=500))),
    ("transfer larger than its list", S.VDMA_SERVICE_STATUS_TOO_LARGE_BYTES_IN_PATTERN,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", bytes_in_pattern=65 * PAGE))),
    ("continuous buffer on PCIe", S.VDMA_SERVICE_STATUS_CCB_NOT_IMPLEMENTED_OVER_PCIE,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", buffer_type=1))),
    ("buffer type 2", S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", buffer_type=2))),
    ("0 periph bytes", S.CONTEXT_SWITCH_STATUS_INVALID_BYTES_PER_BUFFER_VALUE,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", periph_bytes_per_buffer=0))),
    ("opened twice", S.VDMA_SERVICE_STATUS_CHANNEL_NOT_IDLE, _activation(lambda listed: [*listed, listed[1]])),
    # activating streams
    ("input activated without being opened", S.VDMA_SERVICE_STATUS_CANNOT_FETCH_WHILE_ABORTED,
     _activation(lambda listed: without(listed, "OPEN_BOUNDARY_INPUT_CHANNEL"))),
    ("output activated without being opened", S.VDMA_SERVICE_STATUS_CANNOT_FETCH_WHILE_ABORTED,
     _activation(lambda listed: without(listed, "OPEN_BOUNDARY_OUTPUT_CHANNEL"))),
    ("input of a stream it was not opened for", S.BURST_CREDITS_TASK_STATUS_FAILED_TO_FIND_STREAM_INDEX,
     _activation(lambda listed: changed(listed, "OPEN_BOUNDARY_INPUT_CHANNEL", stream_index=5))),
    ("stream index out of range", S.BURST_CREDITS_TASK_STATUS_FAILED_TO_FIND_STREAM_INDEX,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_OUTPUT", stream_index=200))),
    ("two edge layers on one stream", S.CONTEXT_SWITCH_STATUS_MULTIPLE_EDGE_LAYERS_FOR_SAME_STREAM,
     _dynamic(_insert(1, stream_out("INTER_CONTEXT", INTER_OUT, 9, 3)))),
    ("two streams on one channel", S.CONTEXT_SWITCH_STATUS_MULTIPLE_STREAMS_USE_THE_SAME_CHANNEL,
     _dynamic(_insert(1, stream_out("BOUNDARY", OUT, 10, 1)))),
    ("edge layer of the context before still set", S.CONTEXT_SWITCH_STATUS_EDGE_LAYER_ALREADY_SET,
     _edit(double, lambda lists: lists.dynamic.__setitem__(
         slice(None),
         [without(lists.dynamic[0], "DEACTIVATE_VDMA_CHANNEL"),
          [stream_out("INTER_CONTEXT", INTER_OUT, 10, 3), *lists.dynamic[1]]]))),
    ("0 core bytes a buffer", S.CONTEXT_SWITCH_STATUS_INVALID_BYTES_PER_BUFFER_VALUE,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_OUTPUT", core_bytes_per_buffer=0))),
    ("0 periph buffers a frame", S.CONTEXT_SWITCH_STATUS_INVALID_BUFFERS_PER_FRAME_VALUE,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_INPUT", periph_buffers_per_frame=0))),
    ("no initial credit", S.VDMA_SERVICE_STATUS_INVALID_INITIAL_CREDIT_SIZE,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_BOUNDARY_INPUT", initial_credit_size=0))),
    ("batch larger than the inter-context list", S.VDMA_SERVICE_STATUS_INSUFFICIENT_DESCRIPTORS_COUNT,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_INTER_CONTEXT_OUTPUT", total_desc_count=4),
              make=lambda: double(batch=4))),
    ("cache output of no entries", S.CONTEXT_SWITCH_STATUS_INVALID_BATCH_SIZE,
     _dynamic(_insert(0, stream_out("CACHE", INTER_OUT, 10, 3)))),
    # credits
    ("credits for an output", S.CONTEXT_SWITCH_STATUS_ADDING_CREDITS_ONLY_FOR_H2D,
     _dynamic(_insert(3, fetch(OUT, 9)))),
    ("credits for a channel not activated", S.VDMA_SERVICE_STATUS_CANNOT_FETCH_WHILE_ABORTED,
     _dynamic(lambda listed: without(listed, "ACTIVATE_BOUNDARY_INPUT"))),
    ("credits of the wrong type", S.CONTEXT_SWITCH_STATUS_INVALID_EDGE_LAYER_CREDIT_TYPE,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", credit_type=2))),
    ("credits for another buffer type", S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", host_buffer_type=1))),
    ("0 credits", S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", frame_periph_size=0))),
    ("credits twice", S.CONTEXT_SWITCH_STATUS_INVALID_CREDITS_SIZE,
     _dynamic(lambda listed: [*listed[:5], listed[4], *listed[5:]], 1, double)),
    ("more descriptors than the list", S.CONTEXT_SWITCH_STATUS_REQUESTED_DESCRIPTORS_EXCEEDED_MAX_ALLOWED,
     _dynamic(lambda listed: changed(listed, "FETCH_DATA_FROM_VDMA_CHANNEL", frame_periph_size=64), 1, double)),
    ("burst credits with nothing configured", S.BURST_CREDITS_TASK_STATUS_NO_CONFIGURED_ACTIONS,
     _dynamic(lambda listed: without(listed, "FETCH_DATA_FROM_VDMA_CHANNEL"))),
    ("burst credits started twice", S.BURST_CREDITS_TASK_STATUS_INFER_WHILE_IN_INFER,
     _dynamic(_insert(5, act("BURST_CREDITS_TASK_START")))),
    ("input added while burst credits run", S.BURST_CREDITS_TASK_STATUS_ADD_ACTION_WHILE_NOT_IDLE,
     _dynamic(_insert(5, fetch(IN, 1)))),
    # DDR
    ("DDR pair added while the task runs", S.DDR_BUFFER_STATUS_ADD_PAIR_WHILE_NOT_IDLE,
     _dynamic(lambda listed: [*listed[:4], listed[2], *listed[4:]], make=with_ddr)),
    ("DDR task started twice", S.DDR_BUFFER_STATUS_CHANGE_TO_INFER_WHILE_IN_INFER,
     _dynamic(lambda listed: [*listed[:4], listed[3], *listed[4:]], make=with_ddr)),
    ("DDR task without pairs", S.DDR_BUFFER_STATUS_NO_DDR_PAIRS,
     _dynamic(lambda listed: without(listed, "ADD_DDR_PAIR_INFO"), make=with_ddr)),
    ("DDR descriptors overflow", S.DDR_BUFFER_STATUS_OVERFLOW_IN_DESCRIPTORS_PER_BATCH,
     _dynamic(lambda listed: changed(listed, "ADD_DDR_PAIR_INFO", descriptors_per_frame=0xFFFFFFFF),
              make=lambda: with_ddr(batch=2))),
    ("DDR pair of channels that are no portal", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(lambda listed: changed(listed, "ADD_DDR_PAIR_INFO", h2d_packed_vdma_channel_id=IN), make=with_ddr)),
    ("DDR pair with another list", S.VDMA_SERVICE_STATUS_INSUFFICIENT_DESCRIPTORS_COUNT,
     _dynamic(lambda listed: changed(listed, "ADD_DDR_PAIR_INFO", programmed_descriptors_count=1), make=with_ddr)),
    ("DDR input without its producer", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(lambda listed: changed(listed, "ACTIVATE_DDR_BUFFER_INPUT", connected_d2h_packed_vdma_channel_id=19),
              make=with_ddr)),
    # routing, pausing, closing
    ("mapping of a channel not open", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(0, act("CHANGE_VDMA_TO_STREAM_MAPPING", packed_vdma_channel_id=20)))),
    ("resume of a channel not open", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(0, close("RESUME_VDMA_CHANNEL", 7, 1)))),
    ("pause in the wrong direction", S.CONTEXT_SWITCH_STATUS_PCIE_CHANNEL_INDEX_AND_DIRECTION_MISMATCH,
     _dynamic(_insert(0, close("PAUSE_VDMA_CHANNEL", IN, 2)))),
    ("direction 0", S.CONTEXT_SWITCH_STATUS_INVALID_EDGE_LAYER_DIRECTION,
     _dynamic(_insert(0, close("PAUSE_VDMA_CHANNEL", IN, 0)))),
    ("close of a channel not active", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(0, close("DEACTIVATE_VDMA_CHANNEL", INTER_OUT, 2)))),
    ("close with another buffer type", S.CONTEXT_SWITCH_STATUS_INVALID_HOST_BUFFER_TYPE,
     _dynamic(lambda listed: changed(listed, "DEACTIVATE_VDMA_CHANNEL", host_buffer_type=1), make=double)),
    ("validate with credits left", S.CONTEXT_SWITCH_STATUS_STREAM_CREDIT_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(_insert(5, close("VALIDATE_VDMA_CHANNEL", IN, 1)))),
    ("close an input before its frames", S.CONTEXT_SWITCH_STATUS_STREAM_CREDIT_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(lambda listed: without(without(listed, "WAIT_FOR_DMA_IDLE_ACTION"), "VALIDATE_VDMA_CHANNEL"), 1, double)),
    ("close an output before its frames", S.CONTEXT_SWITCH_STATUS_FIFO_COUNTER_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(lambda listed: without(without(listed, "LCU_INTERRUPT"), "OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT"),
              make=double)),
    ("close an output with frames under way", S.CONTEXT_SWITCH_STATUS_FIFO_COUNTER_NOT_ZERO_AT_END_OF_CONTEXT,
     _dynamic(_insert(5, act("LCU_INTERRUPT"), close("VALIDATE_VDMA_CHANNEL", OUT, 2)))),
    ("boundary with host descriptors left",
     S.VDMA_SERVICE_STATUS_DESCRIPTOR_COUNT_INDICATE_NOT_ALL_DATA_TRANSFERRED,
     _dynamic(lambda listed: changed(listed, "VALIDATE_VDMA_CHANNEL", check_host_empty_num_available=1), 1, double)),
    # waits
    ("wait for an output that is not active", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(5, act("OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", packed_vdma_channel_id=20, stream_index=9)))),
    ("wait for an input that is not active", S.CONTEXT_SWITCH_STATUS_INVALID_CHANNEL_INDEX,
     _dynamic(_insert(5, act("INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT", packed_vdma_channel_id=9, stream_index=1)))),
    # NMS, registers, sleep
    ("NMS of a network there is none of", S.NMS_MANAGER_STATUS_INVALID_NETWORK_INDEX,
     _preliminary(act("ENABLE_NMS", network_index=3, number_of_classes=1, burst_size=1))),
    ("NMS of no classes", S.NMS_MANAGER_STATUS_INVALID_NUM_CLASSES_SIZE,
     _preliminary(act("ENABLE_NMS", burst_size=1))),
    ("NMS of no burst", S.NMS_MANAGER_STATUS_INVALID_BURST_SIZE,
     _preliminary(act("ENABLE_NMS", number_of_classes=1))),
    ("data type 2", S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_TYPE,
     _preliminary(act("WRITE_DATA_BY_TYPE", data_type=2))),
    ("address that is no register", S.CONTEXT_SWITCH_STATUS_WRITE_DATA_BY_TYPE_ACTION_INVALID_MEMORY_SPACE,
     _preliminary(act("WRITE_DATA_BY_TYPE", address=2))),
    ("sleep too short", S.CONTEXT_SWITCH_STATUS_INVALID_SLEEP_TIME, _preliminary(act("SLEEP", sleep_time=999))),
]  # fmt: skip


@pytest.mark.parametrize(("status", "make"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_failed_precondition_stops_the_context_with_its_status(status: S, make: Callable[[], Lists]) -> None:
    with pytest.raises(FirmwareError) as caught:
        make().run()
    assert S(caught.value.number) is status, caught.value
    assert caught.value.name == status.name
    assert caught.value.exit_code == 5


def test_the_sound_lists_behind_the_cases_run() -> None:
    for lists in (single(), single(device="hailo15h", runtime="5.2"), double(), double(batch=4), with_ddr()):
        for stream in lists.run(3 * lists.batch).groups[0].streams:
            assert stream.frames == 3 * lists.batch


def test_more_inputs_than_the_burst_task_takes() -> None:
    from emu.hw.status import FirmwareStopError
    from emu.hw.tasks import MAX_BURST_ACTIONS, BurstCreditsTask, BurstJob

    task = BurstCreditsTask()
    for channel in range(MAX_BURST_ACTIONS):
        task.add(BurstJob(channel, channel, 0, 8))
    with pytest.raises(FirmwareStopError) as caught:
        task.add(BurstJob(99, 0, 0, 8))
    assert caught.value.status is S.BURST_CREDITS_TASK_STATUS_TOO_MANY_ACTIONS


def test_the_boundary_of_the_lists_is_what_the_cases_assume() -> None:
    assert [entry.type.name for entry in BOUNDARY if hasattr(entry, "type")][-1] == "BURST_CREDITS_TASK_START"
    assert stream_in("DDR_BUFFER", DDR_IN, 13, 4).value("packed_vdma_channel_id") == DDR_IN
    assert DDR_OUT != INTER_OUT
