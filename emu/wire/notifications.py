"""D2H events: what the device tells the host unasked (firmware-actions.md 6)."""

from __future__ import annotations

import struct
from enum import IntEnum

from msgspec import Struct

from emu.wire.layouts import Layout

_HEADER = struct.Struct("<7I")
MODULE_CONTEXT_SWITCH = 19
VERSION = 0


class EventId(IntEnum):
    CONTEXT_SWITCH_BREAKPOINT_REACHED = 9
    HW_INFER_MANAGER_INFER_DONE = 11
    CONTEXT_SWITCH_RUN_TIME_ERROR = 12
    START_UPDATE_CACHE_OFFSET = 13  # 4.18-4.23


class EventId5(IntEnum):
    """Of 5.x, where they differ."""

    NN_CORE_CRC_ERROR = 13


class Notification(Struct, frozen=True):
    """One event; `text` is what HailoRT would log, `payload` the packed parameters."""

    event_id: EventId | EventId5
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


class Notifications:
    """The events of one runtime; numbers too large for their field are cut to it."""

    def __init__(self, run_time_error: Layout, breakpoint_reached: Layout) -> None:
        self._run_time_error = run_time_error
        self._breakpoint_reached = breakpoint_reached

    def run_time_error(self, status: int, application: int, batch: int, context: int, action: int) -> Notification:
        """CONTEXT_SWITCH_RUN_TIME_ERROR; `context` is its index in the firmware (firmware-actions.md 4)."""
        payload = self._run_time_error.pack(
            {"status": status, "application": application, "batch": batch, "context": context, "action": action}
        )
        text = (
            f"Got Context switch run time error on net_group index {application}, batch index {batch}, "
            f"context index {context}, action index {action} with status 0x{status:08X}"
        )
        return Notification(EventId.CONTEXT_SWITCH_RUN_TIME_ERROR, 5, payload, text)

    def breakpoint_reached(self, application: int, batch: int, context: int, action: int) -> Notification:
        """CONTEXT_SWITCH_BREAKPOINT_REACHED."""
        payload = self._breakpoint_reached.pack(
            {"application": application, "batch": batch, "context": context, "action": action}
        )
        text = f"breakpoint reached: application {application}, batch {batch}, context {context}, action {action}"
        return Notification(EventId.CONTEXT_SWITCH_BREAKPOINT_REACHED, 4, payload, text, priority=0)


def nn_core_crc_error(what: str) -> Notification:
    """NN_CORE_CRC_ERROR: records of the configuration were not written (chip-config.md 8); no parameters are known."""
    return Notification(EventId5.NN_CORE_CRC_ERROR, 0, b"", f"NN core CRC error: {what}")


def start_update_cache_offset(cache_id_bitmask: int) -> Notification:
    """The firmware of 4.18-4.23 asks the host to move the cache offset."""
    return Notification(
        EventId.START_UPDATE_CACHE_OFFSET, 1, struct.pack("<Q", cache_id_bitmask), "update cache offset", 0
    )


def infer_done(cycles: int) -> Notification:
    """HW_INFER_MANAGER_INFER_DONE: a HW-only inference took so many cycles."""
    text = f"HW-only inference done after {cycles} cycles"
    return Notification(EventId.HW_INFER_MANAGER_INFER_DONE, 1, struct.pack("<I", cycles), text, 0)
