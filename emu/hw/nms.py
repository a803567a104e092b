"""On-chip NMS units: configuration by ENABLE_NMS, idle state for WAIT_FOR_NMS (firmware-actions.md 3, 8)."""

from __future__ import annotations

from dataclasses import dataclass

from emu.hw.status import FirmwareStatus as S
from emu.hw.status import require

# how many units, aggregators and output buffers a chip has is not public: any index a byte can hold is taken


@dataclass(slots=True)
class NmsUnit:
    """One NMS unit: classes to emit a frame, boxes in a burst, and how the input is divided."""

    index: int
    network: int = 0
    number_of_classes: int = 0
    burst_size: int = 0
    division_factor: int = 1
    frames: int = 0

    @property
    def delimiters_per_frame(self) -> int:
        """One delimiter ends each class of each division (netflow-nms.md 10)."""
        return self.number_of_classes * self.division_factor


class NmsUnits:
    """All NMS units that were enabled."""

    def __init__(self) -> None:
        self.units: dict[int, NmsUnit] = {}
        self.used: set[int] = set()

    def enable(self, index: int, network: int, classes: int, burst: int, division: int) -> NmsUnit:
        require(classes > 0, S.NMS_MANAGER_STATUS_INVALID_NUM_CLASSES_SIZE, "0 classes")
        require(burst > 0, S.NMS_MANAGER_STATUS_INVALID_BURST_SIZE, "burst size 0")
        unit = NmsUnit(index, network, classes, burst, max(division, 1))
        self.units[index] = unit
        self.used.add(index)
        return unit

    def count_frames(self, network: int | None, frames: int) -> None:
        for unit in self.units.values():
            if network is None or unit.network == network:
                unit.frames += frames

    def reset(self) -> None:
        self.units.clear()
