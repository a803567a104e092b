"""On-chip NMS units: configuration by ENABLE_NMS, idle state for WAIT_FOR_NMS (firmware-actions.md 3, 8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from emu.hw.unit import Unit
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import require

# how many units, aggregators and output buffers a chip has is not public: any index a byte can hold is taken


@dataclass(eq=False, repr=False, slots=True)
class NmsUnit(Unit):
    """One NMS unit: classes to emit a frame, boxes in a burst, and how the input is divided."""

    KIND: ClassVar[str] = "NMS"
    COUNTERS: ClassVar[tuple[str, ...]] = ("frames",)

    index: int
    network: int = 0
    number_of_classes: int = 0
    burst_size: int = 0
    division_factor: int = 1
    frames: int = 0

    @property
    def name(self) -> str:
        return f"NMS unit {self.index}"

    def program(self, network: int, classes: int, burst: int, division: int) -> None:
        """ENABLE_NMS."""
        self.network, self.number_of_classes, self.burst_size = network, classes, burst
        self.division_factor = division
        self.frames = 0

    def reset(self) -> None:
        self.program(0, 0, 0, 1)

    def state(self, now: int) -> tuple[object, ...]:
        return self.network, self.number_of_classes, self.burst_size, self.division_factor

    @property
    def delimiters_per_frame(self) -> int:
        """One delimiter ends each class of each division (netflow-nms.md 10)."""
        return self.number_of_classes * self.division_factor


class NmsUnits(Unit):
    """All NMS units that were ever enabled; `units` are those that are."""

    name = "NMS"

    def __init__(self) -> None:
        self.units: dict[int, NmsUnit] = {}
        self._made: dict[int, NmsUnit] = {}

    def parts(self) -> Iterable[Unit]:
        return self._made.values()

    def state(self, now: int) -> tuple[object, ...]:
        return tuple(self.units)

    def enable(self, index: int, network: int, classes: int, burst: int, division: int) -> NmsUnit:
        require(classes > 0, S.NMS_MANAGER_STATUS_INVALID_NUM_CLASSES_SIZE, "0 classes")
        require(burst > 0, S.NMS_MANAGER_STATUS_INVALID_BURST_SIZE, "burst size 0")
        unit = self.units[index] = self._made.setdefault(index, NmsUnit(index))
        unit.program(network, classes, burst, max(division, 1))
        return unit

    def count_frames(self, network: int | None, frames: int) -> None:
        for unit in self.units.values():
            if network is None or unit.network == network:
                unit.frames += frames

    def reset(self) -> None:
        self.units.clear()
