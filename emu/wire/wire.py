"""Everything that lies on the wire of one runtime, as one object."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from emu.catalog import forgetful
from emu.chips.runtimes import RuntimeProfile, runtime_profile
from emu.wire.actions import ActionType
from emu.wire.breakpoints import BreakpointLayout
from emu.wire.headers import HeaderLayout
from emu.wire.layouts import Layout
from emu.wire.lists import ActionLists

if TYPE_CHECKING:
    from emu.wire.messages import Messages
    from emu.wire.notifications import Notifications

_HW_INFER_CHANNEL_SIZE = 4  # {u8 channel, u8 engine, u16 descriptors}, behind all of them a u8 count


class Wire:
    """The layouts of one runtime: action lists, control messages, headers, breakpoints, notifications, channel ids.

    Whoever needs one of them is given this object; the runtime is named where it is made (`wire_of`). ValueError for a
    runtime whose file says what the wire has no use for.
    """

    def __init__(self, runtime: RuntimeProfile) -> None:
        own = {kind.name.lower() for kind in ActionType}  # actions whose fields are the runtime's own
        layouts = {name: Layout(text) for name, text in runtime.layouts.items() if name not in own}
        self.runtime = runtime
        self.name = runtime.name
        self.channel_id_shift = runtime.channel_id_shift
        self.lists = ActionLists(runtime.fields, runtime.layouts)
        self.encode = self.lists.encode
        self.decode = self.lists.decode
        self.payloads = self.lists.payloads
        self.header = HeaderLayout(layouts["application_header"])
        self.breakpoint = BreakpointLayout(layouts["breakpoint"])
        self.hw_consts = layouts["hw_consts"]
        self.cache_info = layouts["cache_info"]
        self._layouts = layouts

    # what compiling has no need of is loaded when asked for

    @cached_property
    def notifications(self) -> Notifications:
        """The events that the device sends."""
        from emu.wire.notifications import Notifications

        return Notifications(self._layouts["run_time_error"], self._layouts["breakpoint_reached"])

    @cached_property
    def messages(self) -> Messages:
        """The control messages."""
        from emu.wire.messages import Messages

        sizes = {
            "application_header": self.header.size,
            "channels_info": _HW_INFER_CHANNEL_SIZE * self.runtime.hw_infer_channels + 1,
        }
        return Messages(self._layouts, sizes)

    def channel(self, packed: int) -> tuple[int, int]:
        """(engine, index) of a packed channel id (firmware-actions.md 1)."""
        return packed >> self.channel_id_shift, packed & ((1 << self.channel_id_shift) - 1)


@forgetful
def wire_of(runtime: str) -> Wire:
    """The wire of a runtime, made once; UsageError for a name that has no file."""
    return Wire(runtime_profile(runtime))
