"""HailoRT's own profile of the firmware: the JSON of `measure-fw-actions` 2.0, and of `fw-control action-list`.

Key order, names and numbers as fw-trace.md 6.1 gives them. Made of downloaded action lists, not of events: the time
stamps are those that the device wrote into the action headers.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from typing import Any, BinaryIO

from msgspec import Struct

from emu.wire.actions import Action, ActionType
from emu.wire.lists import HEADER_SIZE, REPEATED_HEADER_SIZE, TIMESTAMP_INIT, Repeated
from emu.wire.wire import wire_of

VERSION = "2.0"
UNKNOWN = -1
_REPEATED_PAYLOAD = REPEATED_HEADER_SIZE - HEADER_SIZE

_NAMES = {
    ActionType.WAIT_FOR_NMS: "wait_for_nms_idle",
    ActionType.CHANGE_BOUNDARY_INPUT_BATCH: "change boundary input batch",
    ActionType.PAUSE_VDMA_CHANNEL: "pause vdma channel",
    ActionType.RESUME_VDMA_CHANNEL: "resume vdma channel",
}
_A = ActionType
_CHANNEL = ("channel",)
_STREAM = ("channel", "stream_index")
_LCU = ("lcu",)
# what "data" holds: argument names as in the action table, "channel" and "lcu" for packed ids
_DATA: dict[ActionType, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            _A.DEACTIVATE_VDMA_CHANNEL,
            _A.VALIDATE_VDMA_CHANNEL,
            _A.OPEN_BOUNDARY_INPUT_CHANNEL,
            _A.OPEN_BOUNDARY_OUTPUT_CHANNEL,
            _A.INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
            _A.OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT,
            _A.PAUSE_VDMA_CHANNEL,
            _A.RESUME_VDMA_CHANNEL,
            _A.CHANGE_BOUNDARY_INPUT_BATCH,
        ),
        _CHANNEL,
    ),
    **dict.fromkeys(
        (
            _A.ACTIVATE_BOUNDARY_INPUT,
            _A.ACTIVATE_BOUNDARY_OUTPUT,
            _A.ACTIVATE_INTER_CONTEXT_INPUT,
            _A.ACTIVATE_INTER_CONTEXT_OUTPUT,
            _A.ACTIVATE_DDR_BUFFER_INPUT,
            _A.ACTIVATE_DDR_BUFFER_OUTPUT,
            _A.ACTIVATE_CACHE_INPUT,
            _A.ACTIVATE_CACHE_OUTPUT,
            _A.FETCH_DATA_FROM_VDMA_CHANNEL,
            _A.WAIT_FOR_DMA_IDLE_ACTION,
        ),
        _STREAM,
    ),
    _A.CHANGE_VDMA_TO_STREAM_MAPPING: (*_STREAM, "mapping"),
    _A.FETCH_CFG_CHANNEL_DESCRIPTORS: ("config_channel", "descriptors_count"),
    _A.ACTIVATE_CFG_CHANNEL: ("config_channel", "config_stream_index"),
    _A.DEACTIVATE_CFG_CHANNEL: ("config_channel", "config_stream_index"),
    _A.ENABLE_LCU_DEFAULT: _LCU,
    _A.ENABLE_LCU_NON_DEFAULT: _LCU,
    _A.DISABLE_LCU: _LCU,
    _A.LCU_INTERRUPT: _LCU,
    _A.SWITCH_LCU_BATCH: (*_LCU, "kernel_done_count", "network_index"),
    _A.TRIGGER_SEQUENCER: ("cluster_index",),
    _A.SEQUENCER_DONE_INTERRUPT: ("sequencer_index",),
    _A.ADD_DDR_PAIR_INFO: ("ddr_pair",),
    _A.WAIT_FOR_NMS: ("aggregator_index",),
    _A.MODULE_CONFIG_DONE_INTERRUPT: ("module_index",),
    _A.FETCH_CCW_BURSTS: ("ccw_bursts", "config_stream_index"),
    _A.ENABLE_NMS: ("burst_size", "network_index", "nms_unit_index", "number_of_classes"),
    _A.WRITE_DATA_BY_TYPE: ("address", "data", "data_type", "mask", "network_index", "shift"),
    _A.SLEEP: ("sleep_time",),
    **dict.fromkeys(
        (
            _A.APPLICATION_CHANGE_INTERRUPT,
            _A.WAIT_FOR_CACHE_UPDATED,
            _A.DDR_BUFFERING_START,
            _A.DDR_BUFFERING_RESET,
            _A.BURST_CREDITS_TASK_START,
            _A.BURST_CREDITS_TASK_RESET,
            _A.HALT,
        ),
        (),
    ),
}


class DownloadedContext(Struct, frozen=True):
    """One action list as DOWNLOAD_CONTEXT_ACTION_LIST returned it; `idle_time` in cycles."""

    name: str
    base_address: int
    data: bytes
    batch_counter: int
    idle_time: int


class MeasuredRun(Struct, frozen=True):
    """The lists of one network group after a run; -1 where a number is not known."""

    batch_size: int
    fps: float
    contexts: tuple[DownloadedContext, ...]


def type_name(kind: ActionType) -> str:
    """The name HailoRT gives an action in this JSON."""
    return _NAMES.get(kind, kind.name.lower())


def creation_time(seconds: int) -> str:
    """strftime's `%c` in the C locale, UTC."""
    moment = time.gmtime(seconds)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.tm_wday]
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[moment.tm_mon - 1]
    return (
        f"{day} {month} {moment.tm_mday:2} {moment.tm_hour:02}:{moment.tm_min:02}:{moment.tm_sec:02} {moment.tm_year}"
    )


def md5(stream: BufferedIOBase | BinaryIO) -> str:
    """The hash of a whole file, as `file_hash` holds it."""
    return hashlib.file_digest(stream, "md5").hexdigest()  # type: ignore[arg-type]


def profile(
    runs: Sequence[MeasuredRun], *, runtime: str, created: int, clock_cycle_mhz: int, path: str, file_hash: str
) -> dict[str, Any]:
    """The document of `measure-fw-actions`: one entry a run."""
    return {
        **_head(created, clock_cycle_mhz, path, file_hash),
        "runs": [_run(run, index, runtime) for index, run in enumerate(runs)],
    }


def action_list_dump(
    groups: Sequence[MeasuredRun], *, runtime: str, created: int, clock_cycle_mhz: int, path: str, file_hash: str
) -> dict[str, Any]:
    """The document of `fw-control action-list`: the lists of each configured network group, nothing measured."""
    unmeasured = (MeasuredRun(UNKNOWN, float(UNKNOWN), group.contexts) for group in groups)
    return {
        **_head(created, clock_cycle_mhz, path, file_hash),
        "runs": [],
        "network_groups": [[_run(run, index, runtime)] for index, run in enumerate(unmeasured)],
    }


def dumps(document: dict[str, Any]) -> str:
    """As nlohmann's json prints it with an indent of 4."""
    return json.dumps(document, indent=4, ensure_ascii=False)


def _head(created: int, clock_cycle_mhz: int, path: str, file_hash: str) -> dict[str, Any]:
    return {
        "version": VERSION,
        "creation_time": creation_time(created),
        "clock_cycle_MHz": clock_cycle_mhz,
        "hef": {"path": path, "file_hash": file_hash},
    }


def _run(run: MeasuredRun, index: int, runtime: str) -> dict[str, Any]:
    return {
        "batch_size": run.batch_size,
        "mean_activation_time_ms": float(UNKNOWN),
        "mean_deactivation_time_ms": float(UNKNOWN),
        "network_group_id": index,
        "fps": run.fps,
        "contexts": [_context(context, runtime) for context in run.contexts],
    }


def _context(context: DownloadedContext, runtime: str) -> dict[str, Any]:
    return {
        "action_list_base_address": context.base_address,
        "action_list_size": len(context.data),
        "batch_counter": context.batch_counter,
        "idle_time": context.idle_time,
        "context_name": context.name,
        "actions": list(_actions(context, runtime)),
    }


def _actions(context: DownloadedContext, runtime: str) -> Iterator[dict[str, Any]]:
    for located in wire_of(runtime).decode(context.data):
        entry = located.entry
        address = context.base_address + located.offset + HEADER_SIZE
        stamp = TIMESTAMP_INIT - located.timestamp
        if not isinstance(entry, Repeated):
            yield _action(address, stamp, entry, runtime)
            continue
        yield {
            "address": address,
            "timestamp": stamp,
            "type": type_name(ActionType.REPEATED_ACTION),
            "data": {
                "count": len(entry.items),
                "last_executed": located.last_executed,
                "sub_action_type": type_name(entry.of),
            },
        }
        size = wire_of(runtime).payloads[entry.of].size
        for index, item in enumerate(entry.items):
            yield _action(address + _REPEATED_PAYLOAD + index * size, stamp, item, runtime, index)


def _action(address: int, stamp: int, action: Action, runtime: str, sub: int | None = None) -> dict[str, Any]:
    head: dict[str, Any] = {"address": address, "timestamp": stamp, "type": type_name(action.type)}
    if sub is not None:
        head["sub_action_index"] = sub
    return {**head, "data": data_of(action, runtime)}


def data_of(action: Action, runtime: str) -> dict[str, Any]:
    """What the JSON shows of an action's arguments, by name in alphabetical order."""
    return dict(sorted(_data(action, runtime)))


def _data(action: Action, runtime: str) -> Iterator[tuple[str, Any]]:
    values = action.arguments()
    place = wire_of(runtime).channel
    for key in _DATA[action.type]:
        if key in ("channel", "config_channel"):
            packed = values["packed_vdma_channel_id"]
            engine, index = place(packed)
            yield "engine_index", engine
            yield ("vdma_channel_index" if key == "channel" else "channel_index"), index
        elif key == "lcu":
            yield "cluster_index", (values["packed_lcu_id"] & 0x70) >> 4  # firmware-actions.md 1
            yield "lcu_index", values["packed_lcu_id"] & 0xF
        elif key == "mapping":
            yield "type", "dummy" if values["is_dummy_stream"] else "active"
        elif key == "ddr_pair":
            for side in ("d2h", "h2d"):
                packed = values[f"{side}_packed_vdma_channel_id"]
                engine, index = place(packed)
                yield f"{side}_engine_index", engine
                yield f"{side}_vdma_channel_index", index
        else:
            yield key, values[key]
