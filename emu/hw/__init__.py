"""The simulated device: a discrete-event model of the chip that executes control messages and action lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.hw.device import Device

__all__ = ["Device"]


def __getattr__(name: str) -> Any:
    # simpy is imported only by who wants a device
    if name == "Device":
        from emu.hw.device import Device

        return Device
    raise AttributeError(name)
