"""What the host can let the firmware measure: latency from an input to an output, and idle time.

Replies and statuses: firmware-actions.md 5.11, 5.12; what is measured there: house rules of the same paragraphs.
"""

from __future__ import annotations

from msgspec import Struct

from emu.hw.chip import Chip
from emu.hw.probe import Observer
from emu.hw.vdma import Channel, Edge
from emu.sequencer.program import Direction
from emu.wire.status import FirmwareStatus as S
from emu.wire.status import FirmwareStopError, require

_LARGEST_LATENCY = 0xFFFFFFFF


class LatencyRequest(Struct, frozen=True):
    """Which buffers of which streams: a frame has as many as its stream's core_buffers_per_frame."""

    inbound_stream: int
    inbound_buffer: int
    outbound_stream: int
    outbound_buffer: int


class _Watching(Observer):
    """Sees every transfer while it watches."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip

    @property
    def watches(self) -> bool:
        return self in self.chip.probe.observers

    def watch(self, wanted: bool) -> None:
        if wanted and not self.watches:
            self.chip.probe.observers.append(self)
        elif not wanted and self.watches:
            self.chip.probe.observers.remove(self)

    def control(self, ns: int, request: bytes, reply: bytes) -> None:
        """Of no matter here."""

    def launch(self, channel: Channel, transfers: int) -> None:
        """Nor is this."""


class Latency(_Watching):
    """NN_CORE_LATENCY_MEASUREMENT: from the frame that holds a buffer of an input to that of an output."""

    def __init__(self, chip: Chip) -> None:
        super().__init__(chip)
        self._wanted: LatencyRequest | None = None
        self._seen: dict[Direction, int] = {}
        self._begun_ns: int | None = None
        self._latency_ns: int | None = None

    def configure(self, wanted: LatencyRequest | None) -> None:
        """Begin anew, or end (None)."""
        self._wanted = wanted
        self._seen = {Direction.H2D: 0, Direction.D2H: 0}
        self._begun_ns = self._latency_ns = None
        self.watch(wanted is not None)

    def read(self) -> int:
        """In ns; FirmwareStopError while it is off, or before both frames have passed."""
        failed = S.CONTROL_PROTOCOL_STATUS_LATENCY_READ_FAILED
        if self._wanted is None:
            why = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_READ_WHILE_DISABLED
            raise FirmwareStopError(failed, "latency is not measured", why)
        if self._latency_ns is None:
            why = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_IN_PROGRESS
            raise FirmwareStopError(failed, "the frames have not passed yet", why)
        if self._latency_ns > _LARGEST_LATENCY:
            why = S.HAILO_DATAFLOW_STATUS_LATENCY_MEASUREMENT_OVERFLOW
            raise FirmwareStopError(failed, f"{self._latency_ns} ns are more than 32 bits hold", why)
        return self._latency_ns

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        wanted = self._wanted
        if wanted is None or not edge.boundary or self._latency_ns is not None:
            return
        inward = edge.direction is Direction.H2D
        if edge.stream != (wanted.inbound_stream if inward else wanted.outbound_stream):
            return
        number = self._seen[edge.direction]
        self._seen[edge.direction] += 1
        buffer = wanted.inbound_buffer if inward else wanted.outbound_buffer
        if number != buffer // max(1, edge.registers.core_buffers_per_frame):
            return
        now = self.chip.clock.time
        if inward:
            self._begun_ns = now
        elif self._begun_ns is not None:
            self._latency_ns = now - self._begun_ns


class IdleTime(_Watching):
    """IDLE_TIME: the time in which no frame that came in has still to come out."""

    def __init__(self, chip: Chip) -> None:
        super().__init__(chip)
        self._begun_ns: int | None = None
        self._busy_ns = 0
        self._busy_since: int | None = None
        self._fetched: dict[int, int] = {}
        self._delivered: dict[int, int] = {}
        self._idle_ns = 0

    def set(self, enable: bool) -> None:
        """FirmwareStopError where it is so already; what was measured stays to be read."""
        require(
            enable is not self.watches,
            S.CONTROL_PROTOCOL_STATUS_IDLE_TIME_MEASUREMENT_ALREADY_SET,
            f"the measurement of idle time is {'on' if enable else 'off'} already",
        )
        if enable:
            self._begun_ns, self._busy_ns = self.chip.clock.time, 0
            self.abandon()
        else:
            self._idle_ns = self.get()
        self.watch(enable)

    def get(self) -> int:
        """In ns; FirmwareStopError where it was never measured."""
        require(
            self._begun_ns is not None,
            S.CONTROL_PROTOCOL_STATUS_FAILED_IDLE_TIME_GET_MEASUREMENT,
            "idle time was never measured",
        )
        assert self._begun_ns is not None
        if not self.watches:
            return self._idle_ns
        now = self.chip.clock.time
        busy = self._busy_ns + (0 if self._busy_since is None else now - self._busy_since)
        return now - self._begun_ns - busy

    def abandon(self) -> None:
        """The frames inside are gone with a reset."""
        if self._busy_since is not None:
            self._busy_ns += self.chip.clock.time - self._busy_since
        self._busy_since = None
        self._fetched.clear()
        self._delivered.clear()

    def transfer(self, edge: Edge, frame: int, digest: bytes) -> None:
        if not edge.boundary:
            return
        now, packed = self.chip.clock.time, edge.channel.packed
        if edge.direction is Direction.H2D:
            self._fetched[packed] = frame
            if self._busy_since is None:
                self._busy_since = now
            return
        self._delivered[packed] = frame
        last = min(self._delivered.get(one, -1) for one in self._outputs() or [packed])
        if self._busy_since is not None and last >= max(self._fetched.values(), default=-1):
            self._busy_ns += now - self._busy_since
            self._busy_since = None

    def _outputs(self) -> list[int]:
        """Channels that frames leave by, as far as the host has named them."""
        channels = self.chip.vdma.channels
        named = self.chip.labels.get(self.chip.core.application, {})
        return [packed for packed in named if packed in channels and channels[packed].direction is Direction.D2H]
