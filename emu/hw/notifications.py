"""D2H events: what the device tells the host unasked (firmware-actions.md 6)."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from emu.hw.firmware import RunTimeError

_HEADER = struct.Struct("<7I")
MODULE_CONTEXT_SWITCH = 19
VERSION = 0


class EventId(IntEnum):
    CONTEXT_SWITCH_BREAKPOINT_REACHED = 9
    HW_INFER_MANAGER_INFER_DONE = 11
    CONTEXT_SWITCH_RUN_TIME_ERROR = 12
    START_UPDATE_CACHE_OFFSET = 13  # 4.18-4.23


class Notification(NamedTuple):
    """One event; `text` is what HailoRT would log, `payload` the packed parameters."""

    event_id: EventId
    parameter_count: int
    payload: bytes
    text: str
    priority: int = 1
    sequence: int = 0

    def encode(self) -> bytes:
        """The message as it lies in the notification buffer."""
        return (
            _HEADER.pack(
                VERSION,
                self.sequence,
                self.priority,
                MODULE_CONTEXT_SWITCH,
                self.event_id,
                self.parameter_count,
                len(self.payload),
            )
            + self.payload
        )


def run_time_error(runtime: str, error: RunTimeError) -> Notification:
    """CONTEXT_SWITCH_RUN_TIME_ERROR {status, application, batch, context, action}."""
    context = firmware_context_index(error)
    batch = error.batch & 0xFFFF
    if runtime == "4.23":
        payload = struct.pack("<IBHHH", error.status, error.application, batch, context, error.action)
    else:
        payload = struct.pack("<IIHHB", error.status, error.batch, context, error.action, error.application)
    text = (
        f"Got Context switch run time error on net_group index {error.application}, batch index {error.batch}, "
        f"context index {context}, action index {error.action} with status 0x{error.status:08X}"
    )
    return Notification(EventId.CONTEXT_SWITCH_RUN_TIME_ERROR, 5, payload, text)


def firmware_context_index(error: RunTimeError) -> int:
    """0 activation, 1 batch switching, 2 preliminary, 3+ dynamic (firmware-actions.md 4)."""
    from emu.hw.application import CONTEXT_ORDER, FIRST_DYNAMIC

    if error.context.type in CONTEXT_ORDER:
        return CONTEXT_ORDER.index(error.context.type)
    return FIRST_DYNAMIC + error.context.index


def breakpoint_reached(runtime: str, application: int, batch: int, context: int, action: int) -> Notification:
    """CONTEXT_SWITCH_BREAKPOINT_REACHED."""
    form = "<BHHH" if runtime == "4.23" else "<BIHH"
    payload = struct.pack(form, application, batch & (0xFFFF if runtime == "4.23" else 0xFFFFFFFF), context, action)
    text = f"breakpoint reached: application {application}, batch {batch}, context {context}, action {action}"
    return Notification(EventId.CONTEXT_SWITCH_BREAKPOINT_REACHED, 4, payload, text, priority=0)


def start_update_cache_offset(cache_id_bitmask: int) -> Notification:
    """The firmware of 4.18-4.23 asks the host to move the cache offset."""
    return Notification(
        EventId.START_UPDATE_CACHE_OFFSET, 1, struct.pack("<Q", cache_id_bitmask), "update cache offset", 0
    )
