"""Frames of one network through one context, and what the core needs of the host that feeds and collects them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import simpy

from emu.hw.application import Context
from emu.hw.payload import Content
from emu.hw.timing import Flow
from emu.hw.vdma import Channel, Edge

if TYPE_CHECKING:
    from emu.hw.core import Core


class HostPort(Protocol):
    """The host side of the boundary channels, as the core needs it. `keeps_outputs`: it will look at them."""

    keeps_outputs: bool

    def input_content(self, channel: Channel, frame: int) -> Content | None:
        """Frame `frame` (from 0, counted since the channel was opened) that the host queued."""

    def input_done(self, channel: Channel, frames: int, ns: int) -> None:
        """`frames` more input buffers were consumed, the last at `ns` (H2D interrupt)."""

    def output_done(self, channel: Channel, frame: int, content: Content | None, ns: int) -> None:
        """One more output frame is in host memory (D2H interrupt)."""

    def free_frames(self, inputs: Iterable[int] | None = None) -> int:
        """How many further frames of some inputs (None: of all) the host feeds without ever being late."""

    def counters(self) -> Iterable[tuple[object, str]]:
        """What the host counts, as (holder, attribute)."""

    def skip(self, inputs: list[Edge], outputs: list[Edge], frames: int, interval_ns: float, last_ns: int) -> None:
        """`frames` frames passed in one step, `interval_ns` apart, the last output at `last_ns`."""


@dataclass(slots=True)
class OpenedInput:
    """What OPEN_BOUNDARY_INPUT_CHANNEL registered for the burst-credits task."""

    stream: int
    network: int
    periph_bytes_per_buffer: int
    frame_periph_size: int


@dataclass(eq=False, slots=True)
class FramePass:
    """Frames of one network through one context; `limit` None: until the application is stopped.

    `blocked` says why the next frame cannot enter, `starved` that it is only the host that has queued none.
    """

    core: Core
    context: Context
    network: int | None
    inputs: list[Edge]
    outputs: list[Edge]
    flow: Flow
    origin: float
    gate: int
    batch: int
    limit: int | None
    first_frame: int
    launched: int = 0
    completed: int = 0
    blocked: str = ""
    starved: bool = False
    rebased: int = 0
    cancelled: bool = False
    frames_inside: int = field(init=False)
    writes_memory: bool = field(init=False)

    def __post_init__(self) -> None:
        self.frames_inside = self.flow.frames_inside
        self.writes_memory = any(not edge.boundary for edge in self.outputs)

    @property
    def all_launched(self) -> bool:
        return self.launched >= (self.batch if self.limit is None else self.limit)

    @property
    def finished(self) -> bool:
        return self.limit is not None and self.completed >= self.limit

    def instant(self, ns: float) -> int:
        """A time of the flow on the clock: never before the context opened its gate."""
        return max(self.gate, round(self.origin + ns))

    def run(self) -> Generator[simpy.Event, None, None]:
        """The process: take one frame after the other as soon as nothing blocks it."""
        core = self.core
        clock = core.clock
        if self.gate > clock.time:
            yield clock.timeout(self.gate - clock.time)
        while self.limit is None or self.launched < self.limit:
            waited = False
            while not self.cancelled and (reason := core.blocked(self)):
                self.blocked, waited = reason, True
                self.starved = core.starved(self)
                yield core.changed.wait()
            if self.cancelled:
                return
            self.blocked, self.starved = "", False
            frame = self.launched
            if waited:
                self._rebase(frame)
            taken = self.instant(self.flow.input_done_ns(frame))
            contents = core.claim(self)
            self.launched += 1
            if self.all_launched:
                core.changed.notify()
            if taken > clock.time:
                yield clock.timeout(taken - clock.time)
                if self.cancelled:
                    return
            core.take(self, frame, contents)
            skipped = core.jump(self)
            if skipped:
                until = self.instant(self.flow.input_done_ns(self.launched - 1))
                if until > clock.time:
                    yield clock.timeout(until - clock.time)
                    if self.cancelled:
                        return

    def _rebase(self, frame: int) -> None:
        """The pipeline ran dry: this frame enters an idle core now."""
        origin = self.core.clock.time - frame * self.flow.interval_ns
        if origin > self.origin:
            self.origin = origin
            self.rebased = frame
