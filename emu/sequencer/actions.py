"""The 45 firmware actions as one table, and the encoder and decoder made from it (firmware-actions.md 2, 3).

An action list is a sequence of `header(5) payload`; payload integers are little-endian and packed. Field names are
those of HailoRT's context_switch_defs.h; they do not depend on the runtime, only some widths do.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from emu.errors import HailoError, HailoStatus

RUNTIMES = ("4.23", "5.2")
TIMESTAMP_INIT = 0xFFFFFFFF
MAX_REPEATED = 255
REPEATED_HEADER_SIZE = 8

_HEADER = struct.Struct("<BI")
_REPEATED_HEADER = struct.Struct("<BIBBB")


class ActionType(IntEnum):
    """context_switch action types; numbers stable since 4.15 (firmware-actions.md 3)."""

    FETCH_CFG_CHANNEL_DESCRIPTORS = 0
    TRIGGER_SEQUENCER = 1
    FETCH_DATA_FROM_VDMA_CHANNEL = 2
    ENABLE_LCU_DEFAULT = 3
    ENABLE_LCU_NON_DEFAULT = 4
    DISABLE_LCU = 5
    ACTIVATE_BOUNDARY_INPUT = 6
    ACTIVATE_BOUNDARY_OUTPUT = 7
    ACTIVATE_INTER_CONTEXT_INPUT = 8
    ACTIVATE_INTER_CONTEXT_OUTPUT = 9
    ACTIVATE_DDR_BUFFER_INPUT = 10
    ACTIVATE_DDR_BUFFER_OUTPUT = 11
    DEACTIVATE_VDMA_CHANNEL = 12
    CHANGE_VDMA_TO_STREAM_MAPPING = 13
    ADD_DDR_PAIR_INFO = 14
    DDR_BUFFERING_START = 15
    LCU_INTERRUPT = 16
    SEQUENCER_DONE_INTERRUPT = 17
    INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT = 18
    OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT = 19
    MODULE_CONFIG_DONE_INTERRUPT = 20
    APPLICATION_CHANGE_INTERRUPT = 21
    ACTIVATE_CFG_CHANNEL = 22
    DEACTIVATE_CFG_CHANNEL = 23
    REPEATED_ACTION = 24
    WAIT_FOR_DMA_IDLE_ACTION = 25
    WAIT_FOR_NMS = 26
    FETCH_CCW_BURSTS = 27
    VALIDATE_VDMA_CHANNEL = 28
    BURST_CREDITS_TASK_START = 29
    BURST_CREDITS_TASK_RESET = 30
    DDR_BUFFERING_RESET = 31
    OPEN_BOUNDARY_INPUT_CHANNEL = 32
    OPEN_BOUNDARY_OUTPUT_CHANNEL = 33
    ENABLE_NMS = 34
    WRITE_DATA_BY_TYPE = 35
    SWITCH_LCU_BATCH = 36
    CHANGE_BOUNDARY_INPUT_BATCH = 37
    PAUSE_VDMA_CHANNEL = 38
    RESUME_VDMA_CHANNEL = 39
    ACTIVATE_CACHE_INPUT = 40
    ACTIVATE_CACHE_OUTPUT = 41
    WAIT_FOR_CACHE_UPDATED = 42
    SLEEP = 43
    HALT = 44


class Field(NamedTuple):
    """A payload field: its name and its struct code per runtime (`RUNTIMES` order)."""

    name: str
    codes: tuple[str, str]

    def code(self, runtime: str) -> str:
        return self.codes[RUNTIMES.index(runtime)]


def _f(name: str, code: str, code_5_2: str | None = None) -> tuple[Field, ...]:
    return (Field(name, (code, code_5_2 or code)),)


# firmware-actions.md 1.2
_STREAM_REG_INFO = (
    _f("core_bytes_per_buffer", "H")
    + _f("core_buffers_per_frame", "H")
    + _f("periph_bytes_per_buffer", "H")
    + _f("periph_buffers_per_frame", "H", "I")
    + _f("feature_padding_payload", "H")
    + _f("buffer_padding_payload", "I")
    + _f("buffer_padding", "H")
    + _f("is_core_hw_padding_config_in_dfc", "B")
)
# firmware-actions.md 1.1
_HOST_BUFFER_INFO = (
    _f("buffer_type", "B")
    + _f("dma_address", "Q")
    + _f("desc_page_size", "H")
    + _f("total_desc_count", "I")
    + _f("bytes_in_pattern", "I")
)
_CHANNEL = _f("packed_vdma_channel_id", "B")
_STREAM = _f("stream_index", "B")
_NETWORK = _f("network_index", "B")
_LCU = _f("packed_lcu_id", "B")
_CREDIT = _f("initial_credit_size", "I")
_BUFFER_TYPE = _f("host_buffer_type", "B")
_CONFIG_STREAM = _f("config_stream_index", "B")
_DIRECTION = _f("edge_layer_direction", "B")
_STREAM_BUFFER = _STREAM_REG_INFO + _HOST_BUFFER_INFO
_CLOSE = _CHANNEL + _DIRECTION + _f("check_host_empty_num_available", "B") + _BUFFER_TYPE + _CREDIT
_TRANSFER_DONE = _CHANNEL + _STREAM + _NETWORK + _f("is_inter_context", "B") + _BUFFER_TYPE

A = ActionType
FIELDS: dict[ActionType, tuple[Field, ...]] = {
    A.FETCH_CFG_CHANNEL_DESCRIPTORS: _f("descriptors_count", "H") + _CHANNEL,
    A.TRIGGER_SEQUENCER: _f("cluster_index", "B")
    + _f("initial_l3_cut", "B")
    + _f("initial_l3_offset", "H")
    + _f("active_apu", "I")
    + _f("active_ia", "I")
    + _f("active_sc", "Q")
    + _f("active_l2", "Q")
    + _f("l2_offset_0", "Q")
    + _f("l2_offset_1", "Q"),
    A.FETCH_DATA_FROM_VDMA_CHANNEL: _CHANNEL
    + _STREAM
    + _NETWORK
    + _f("frame_periph_size", "I")
    + _f("credit_type", "B")
    + _BUFFER_TYPE,
    A.ENABLE_LCU_DEFAULT: _LCU + _NETWORK,
    A.ENABLE_LCU_NON_DEFAULT: _LCU + _NETWORK + _f("kernel_done_address", "H") + _f("kernel_done_count", "I"),
    A.DISABLE_LCU: _LCU,
    A.ACTIVATE_BOUNDARY_INPUT: _CHANNEL + _STREAM + _STREAM_BUFFER + _CREDIT,
    A.ACTIVATE_BOUNDARY_OUTPUT: _CHANNEL + _STREAM + _NETWORK + _STREAM_BUFFER,
    A.ACTIVATE_INTER_CONTEXT_INPUT: _CHANNEL + _STREAM + _NETWORK + _STREAM_BUFFER + _CREDIT,
    A.ACTIVATE_INTER_CONTEXT_OUTPUT: _CHANNEL + _STREAM + _NETWORK + _STREAM_BUFFER,
    A.ACTIVATE_DDR_BUFFER_INPUT: _CHANNEL
    + _STREAM
    + _STREAM_BUFFER
    + _CREDIT
    + _f("connected_d2h_packed_vdma_channel_id", "B"),
    A.ACTIVATE_DDR_BUFFER_OUTPUT: _CHANNEL + _STREAM + _STREAM_BUFFER + _f("buffered_rows_count", "I"),
    A.DEACTIVATE_VDMA_CHANNEL: _CLOSE,
    A.CHANGE_VDMA_TO_STREAM_MAPPING: _CHANNEL + _STREAM + _f("is_dummy_stream", "B"),
    A.ADD_DDR_PAIR_INFO: _f("h2d_packed_vdma_channel_id", "B")
    + _f("d2h_packed_vdma_channel_id", "B")
    + _NETWORK
    + _f("descriptors_per_frame", "I")
    + _f("programmed_descriptors_count", "H"),
    A.DDR_BUFFERING_START: (),
    A.LCU_INTERRUPT: _LCU,
    A.SEQUENCER_DONE_INTERRUPT: _f("sequencer_index", "B"),
    A.INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT: _TRANSFER_DONE,
    A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT: _TRANSFER_DONE,
    A.MODULE_CONFIG_DONE_INTERRUPT: _f("module_index", "B"),
    A.APPLICATION_CHANGE_INTERRUPT: (),
    A.ACTIVATE_CFG_CHANNEL: _CHANNEL + _CONFIG_STREAM + _HOST_BUFFER_INFO,
    A.DEACTIVATE_CFG_CHANNEL: _CHANNEL + _CONFIG_STREAM,
    A.WAIT_FOR_DMA_IDLE_ACTION: _CHANNEL + _STREAM + _f("is_inter_context", "B") + _BUFFER_TYPE,
    A.WAIT_FOR_NMS: _f("aggregator_index", "B")
    + _f("pred_cluster_ob_index", "B")
    + _f("pred_cluster_ob_cluster_index", "B")
    + _f("pred_cluster_ob_interface", "B")
    + _f("succ_prepost_ob_index", "B")
    + _f("succ_prepost_ob_interface", "B"),
    A.FETCH_CCW_BURSTS: _f("ccw_bursts", "H") + _CONFIG_STREAM,
    A.VALIDATE_VDMA_CHANNEL: _CLOSE,
    A.BURST_CREDITS_TASK_START: (),
    A.BURST_CREDITS_TASK_RESET: (),
    A.DDR_BUFFERING_RESET: (),
    A.OPEN_BOUNDARY_INPUT_CHANNEL: _CHANNEL
    + _HOST_BUFFER_INFO
    + _STREAM
    + _NETWORK
    + _f("periph_bytes_per_buffer", "H")
    + _f("frame_periph_size", "I"),
    A.OPEN_BOUNDARY_OUTPUT_CHANNEL: _CHANNEL + _HOST_BUFFER_INFO,
    A.ENABLE_NMS: _f("nms_unit_index", "B")
    + _NETWORK
    + _f("number_of_classes", "H")
    + _f("burst_size", "H")
    + _f("division_factor", "B"),
    A.WRITE_DATA_BY_TYPE: _f("address", "I")
    + _f("data_type", "B")
    + _f("data", "I")
    + _f("shift", "B")
    + _f("mask", "I")
    + _NETWORK,
    A.SWITCH_LCU_BATCH: _LCU + _NETWORK + _f("kernel_done_count", "I"),
    A.CHANGE_BOUNDARY_INPUT_BATCH: _CHANNEL,
    A.PAUSE_VDMA_CHANNEL: _CHANNEL + _DIRECTION,
    A.RESUME_VDMA_CHANNEL: _CHANNEL + _DIRECTION,
    A.ACTIVATE_CACHE_INPUT: _CHANNEL + _STREAM + _NETWORK + _STREAM_BUFFER + _CREDIT,
    # the cache output has its own field order (firmware-actions.md 3, action 41)
    A.ACTIVATE_CACHE_OUTPUT: _STREAM_BUFFER + _f("batch_size", "H") + _CHANNEL + _STREAM + _NETWORK,
    A.WAIT_FOR_CACHE_UPDATED: (),
    A.SLEEP: _f("sleep_time", "I"),
    A.HALT: (),
}

FIELD_NAMES: dict[ActionType, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields) for kind, fields in FIELDS.items()
}
POSITIONS: dict[ActionType, dict[str, int]] = {
    kind: {name: position for position, name in enumerate(names)} for kind, names in FIELD_NAMES.items()
}
PAYLOADS: dict[str, dict[ActionType, struct.Struct]] = {
    runtime: {
        kind: struct.Struct("<" + "".join(field.code(runtime) for field in fields)) for kind, fields in FIELDS.items()
    }
    for runtime in RUNTIMES
}
_KINDS = {int(kind): kind for kind in ActionType}
del A

# Which actions the runtime merges into a REPEATED_ACTION (hef-compile.md 4.9)
REPEATABLE = frozenset(
    {
        ActionType.FETCH_CFG_CHANNEL_DESCRIPTORS,
        ActionType.DISABLE_LCU,
        ActionType.ENABLE_LCU_DEFAULT,
        ActionType.ENABLE_LCU_NON_DEFAULT,
        ActionType.TRIGGER_SEQUENCER,
        ActionType.FETCH_DATA_FROM_VDMA_CHANNEL,
        ActionType.ADD_DDR_PAIR_INFO,
        ActionType.CHANGE_VDMA_TO_STREAM_MAPPING,
        ActionType.ENABLE_NMS,
        ActionType.SWITCH_LCU_BATCH,
    }
)


class StreamRegInfo(NamedTuple):
    """stream_reg_info in wire order (firmware-actions.md 1.2): the shape of a frame on both sides of the stream."""

    core_bytes_per_buffer: int
    core_buffers_per_frame: int
    periph_bytes_per_buffer: int
    periph_buffers_per_frame: int
    feature_padding_payload: int
    buffer_padding_payload: int
    buffer_padding: int
    is_core_hw_padding_config_in_dfc: int

    @property
    def frame_periph_size(self) -> int:
        return self.periph_bytes_per_buffer * self.periph_buffers_per_frame


class Action(NamedTuple):
    """One action; `values` in the order of `FIELD_NAMES[type]`."""

    type: ActionType
    values: tuple[int, ...]

    def value(self, name: str) -> int:
        return self.values[POSITIONS[self.type][name]]

    def arguments(self) -> dict[str, int]:
        return dict(zip(FIELD_NAMES[self.type], self.values, strict=True))


class Repeated(NamedTuple):
    """A REPEATED_ACTION block: `items` are sub-actions of the one type `of`."""

    of: ActionType
    items: tuple[Action, ...]


Entry = Action | Repeated


class Located(NamedTuple):
    """A decoded entry with its byte offset in the list and its time_stamp (0xFFFFFFFF until executed)."""

    offset: int
    timestamp: int
    last_executed: int
    entry: Entry


def encode(entries: Iterable[Entry], runtime: str) -> Iterator[bytes]:
    """The indivisible buffers of an action list, as the runtime chunks them (hef-compile.md 4.9)."""
    payloads = PAYLOADS[runtime]
    for entry in entries:
        if isinstance(entry, Repeated):
            yield _REPEATED_HEADER.pack(ActionType.REPEATED_ACTION, TIMESTAMP_INIT, len(entry.items), 0, entry.of)
            pack = payloads[entry.of].pack
            for item in entry.items:
                yield pack(*item.values)
        else:
            yield _HEADER.pack(entry.type, TIMESTAMP_INIT) + payloads[entry.type].pack(*entry.values)


def decode(data: bytes | memoryview, runtime: str) -> Iterator[Located]:
    """Decode an action list; a damaged list is HAILO_INVALID_ARGUMENT with its byte offset."""
    payloads = PAYLOADS[runtime]
    offset, end = 0, len(data)
    new = tuple.__new__  # lists are long: past the namedtuples' own __new__
    while offset < end:
        if end - offset < _HEADER.size:
            raise _damaged(f"{end - offset} bytes left, {_HEADER.size} needed for an action header", offset)
        number, timestamp = _HEADER.unpack_from(data, offset)
        if number == ActionType.REPEATED_ACTION:
            entry, last_executed, size = _decode_repeated(data, offset, payloads)
            yield Located(offset, timestamp, last_executed, entry)
            offset += size
            continue
        payload = payloads.get(number)
        if payload is None:
            raise _damaged(f"action type {number} does not exist", offset)
        if end - offset - _HEADER.size < payload.size:
            raise _damaged(
                f"{ActionType(number).name} needs {payload.size} payload bytes, {end - offset - _HEADER.size} left",
                offset,
            )
        start = offset + _HEADER.size
        yield new(Located, (offset, timestamp, 0, new(Action, (_KINDS[number], payload.unpack_from(data, start)))))
        offset = start + payload.size


def _decode_repeated(
    data: bytes | memoryview, offset: int, payloads: dict[ActionType, struct.Struct]
) -> tuple[Repeated, int, int]:
    left = len(data) - offset
    if left < REPEATED_HEADER_SIZE:
        raise _damaged(f"{left} bytes left, {REPEATED_HEADER_SIZE} needed for a repeated header", offset)
    _, _, count, last_executed, number = _REPEATED_HEADER.unpack_from(data, offset)
    payload = payloads.get(number)
    if payload is None:
        raise _damaged(f"repeated sub-action type {number} does not exist", offset)
    size = REPEATED_HEADER_SIZE + count * payload.size
    if left < size:
        raise _damaged(f"{count} repeated {ActionType(number).name} need {size} bytes, {left} left", offset)
    kind = _KINDS[number]
    if not payload.size:
        return Repeated(kind, (Action(kind, ()),) * count), last_executed, size
    new = tuple.__new__
    rows = payload.iter_unpack(memoryview(data)[offset + REPEATED_HEADER_SIZE : offset + size])
    return Repeated(kind, tuple([new(Action, (kind, values)) for values in rows])), last_executed, size


def _damaged(message: str, offset: int) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"damaged action list: {message}", offset=offset)


def describe(entry: Entry) -> dict[str, object]:
    """The JSON form of cli.md (`emu actions --json`)."""
    if isinstance(entry, Repeated):
        return {
            "a": "REPEATED",
            "of": entry.of.name,
            "count": len(entry.items),
            "items": [item.arguments() for item in entry.items],
        }
    return {"a": entry.type.name, **entry.arguments()}
