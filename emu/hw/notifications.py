"""What the firmware reports when it stops (firmware-actions.md 6)."""

from __future__ import annotations

from msgspec import Struct

from emu.hw.application import Context
from emu.wire.notifications import Notification
from emu.wire.status import FirmwareStatus as S
from emu.wire.wire import Wire


class RunTimeError(Struct):
    """What CONTEXT_SWITCH_RUN_TIME_ERROR reports (firmware-actions.md 6)."""

    status: S
    message: str
    application: int
    batch: int
    context: Context
    action: int
    action_name: str

    def notification(self, wire: Wire) -> Notification:
        """The event, as the device's runtime has it."""
        return wire.notifications.run_time_error(
            self.status, self.application, self.batch, self.context.firmware_index, self.action
        )
