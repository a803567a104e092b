"""Advance many equal batches in one step: what changed by the same amounts twice will do so again.

A multi-context application repeats its dynamic contexts batch after batch. Once two batches in a row took the same
time, moved every counter by the same amounts and left every queue as long as it was, further ones are added up
instead of executed (design: speed). The last ones are always executed, so that memory and channels end as they would
have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from emu.hw.core import JUMP_TAIL

if TYPE_CHECKING:
    from emu.hw.application import Application
    from emu.hw.device import Device

Cell = tuple[Any, str]


class BatchLoop:
    """Watches the batches of one application; `skippable` says how many may be added up now."""

    def __init__(self, device: Device, application: Application) -> None:
        self._device = device
        self._application = application
        self._ended_at: int | None = None
        self._duration: int | None = None
        self._values: list[int] = []
        self._deltas: list[int] = []
        self._queues: list[tuple[int, int]] = []

    def skippable(self, now: int, batch: int) -> int:
        """A batch has ended at `now`: how many equal ones can follow in one step."""
        cells = list(self._cells())
        values = [getattr(holder, name) for holder, name in cells]
        duration = None if self._ended_at is None else now - self._ended_at
        deltas = [new - old for new, old in zip(values, self._values, strict=True)] if self._values_fit(values) else []
        steady = duration is not None and duration == self._duration and bool(deltas) and deltas == self._deltas
        device = self._device
        # a host that catches up queues more than is taken, but only until its queue is full
        queues = [(one.available - one.claimed, one.claimed - one.processed) for one in device.vdma.channels.values()]
        steady = steady and queues == self._queues
        self._ended_at, self._duration, self._values, self._deltas = now, duration, values, deltas
        self._queues = queues
        if not steady or device.tracer is not None or device.breakpoints or device.action_hooks:
            return 0
        if device.core.host is None:
            return 0
        if not device.core.may_jump or not device.clock.quiet:
            return 0
        return max(0, device.core.host.free_frames() // batch - JUMP_TAIL)

    def skip(self, batches: int) -> int:
        """Add `batches` batches to every counter; returns the time they take."""
        assert self._duration is not None and self._ended_at is not None
        for (holder, name), delta in zip(self._cells(), self._deltas, strict=True):
            if delta:
                setattr(holder, name, getattr(holder, name) + delta * batches)
        self._ended_at += self._duration * batches
        self._values = [getattr(holder, name) for holder, name in self._cells()]
        self._device.core.jumps += 1
        return self._duration * batches

    def _values_fit(self, values: list[int]) -> bool:
        return len(values) == len(self._values)

    def _cells(self) -> Iterator[Cell]:
        device = self._device
        for context in self._application.contexts:
            for name in ("runs", "simulated_ns", "config_bytes", "data_bytes"):
                yield context, name
        yield device.memory, "register_writes"
        for use in device.memory.use:
            yield use, "bytes_written"
            yield use, "writes"
        yield device.config, "ccw_bytes"
        yield device.config, "opaque_bytes"
        yield device.ddr, "moved_descriptors"
        for unit in device.nms.units.values():
            yield unit, "frames"
        for channel in device.vdma.channels.values():
            for name in ("available", "claimed", "processed", "transfers", "bytes"):
                yield channel, name
        yield device.firmware, "batch_index"
        yield device.firmware, "frames_done"
        yield device, "cache_signals"
        yield device, "cache_signals_used"
        if device.core.host is not None:
            yield from device.core.host.counters()
