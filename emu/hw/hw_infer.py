"""HW-only inference: an application runs over descriptors that the host has written, without the host (5.9)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from emu.hw.application import Application
from emu.hw.chip import Chip
from emu.hw.vdma import Channel, Edge
from emu.sequencer.program import Direction
from emu.wire.notifications import infer_done
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import require

CYCLE_NS = 5  # vdma.md 7: hw-infer cycle, 200 MHz
DESCRIPTORS, CONTINUOUS = range(2)
_CHANNEL = struct.Struct("<BBH")


class Programmed(NamedTuple):
    """A boundary channel and how many descriptors of it the host has written."""

    packed: int
    descriptors: int


def channels_of(data: bytes, shift: int) -> list[Programmed]:
    """The entries of channels_info that its last byte counts; more than there are: all."""
    rows = [Programmed(channel | engine << shift, count) for channel, engine, count in _CHANNEL.iter_unpack(data[:-1])]
    return rows[: data[-1]]


class HwInfer:
    """One run at a time: the channels are filled at once, INFER_DONE comes when the outputs have used all of theirs."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self._begun_ns: int | None = None
        self._cycles: int | None = None
        self._left: dict[int, int] = {}

    @property
    def results(self) -> tuple[bool, int]:
        """(infer_done, infer_cycles)."""
        return self._cycles is not None, self._cycles or 0

    def check(self, applications: list[Application], index: int, mode: int) -> Application:
        """The application; FirmwareStopError where it cannot be run so."""
        require(
            index < len(applications) and applications[index].complete,
            S.HW_INFER_MANAGER_STATUS_NETWORK_GROUP_NOT_CONFIGURED_BEFORE_INFER_START,
            f"application {index} of {len(applications)} is not configured",
        )
        require(
            self._begun_ns is None,
            S.HW_INFER_MANAGER_STATUS_NETWORK_GROUP_ALREADY_ACTIVATED,
            "HW-only inference runs already",
        )
        require(
            mode in (DESCRIPTORS, CONTINUOUS),
            S.HW_INFER_MANAGER_STATUS_INVALID_BOUNDARY_CHANNEL_MODE,
            f"boundary channel mode {mode}",
        )
        require(
            mode == DESCRIPTORS,
            S.HAILO_CONTROL_STATUS_UNSUPPORTED_OPCODE,
            "continuous boundary buffers are not modelled",
        )
        return applications[index]

    def start(self, programmed: list[Programmed]) -> None:
        """The application is activated: its boundary channels find what the host has written."""
        chip = self.chip
        for packed, count in programmed:
            channel = chip.vdma.channels.get(packed)
            require(
                channel is not None and channel.host_opened and 0 < count <= channel.length,
                S.VDMA_SERVICE_STATUS_INVALID_CHANNEL_INDEX,
                f"channel {packed} is not open, or has no {count} descriptors",
            )
        self._begun_ns, self._cycles = chip.clock.time, None
        chip.probe.observers.append(self)
        for packed, count in programmed:
            channel = chip.vdma.channels[packed]
            if channel.direction is Direction.D2H:
                self._left[packed] = count
            channel.write_available(count)
        chip.core.supplied()

    def stop(self) -> tuple[bool, int]:
        """Its results; FirmwareStopError where none runs."""
        require(self._begun_ns is not None, S.HW_INFER_MANAGER_STATUS_INVALID_STATE, "no HW-only inference runs")
        found = self.results
        self.abandon()
        return found

    def abandon(self) -> None:
        """Nothing of it is left."""
        if self in self.chip.probe.observers:
            self.chip.probe.observers.remove(self)
        self._begun_ns = self._cycles = None
        self._left.clear()

    # -- an observer

    def control(self, ns: int, request: bytes, reply: bytes) -> None:
        """Of no matter here."""

    def launch(self, channel: Channel, transfers: int) -> None:
        """The host launches nothing."""

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        packed = edge.channel.packed
        if not edge.boundary or packed not in self._left or self._cycles is not None:
            return
        self._left[packed] -= edge.descriptors_per_frame * edge.transfers
        if all(left < edge.descriptors_per_frame for left in self._left.values()):
            assert self._begun_ns is not None
            now = self.chip.clock.time
            self._cycles = min((now - self._begun_ns) // CYCLE_NS, 0xFFFFFFFF)
            self.chip.notify(infer_done(self._cycles), now)
