"""Frames of one network through one context: they come in over the inputs, are worked on, and leave output by output.

A `FramePass` is no process but what happens at its events: the next frame begins to come in once nothing blocks it and
the core is ready for it; each output leaves on its own, in the order of the frames, when the core has it and the host
has a buffer for it. How long a transfer takes is the link's business, when it may begin and end the timing model's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil, gcd
from typing import Protocol

import simpy
from msgspec import Struct

from emu.hw.application import Context
from emu.hw.clock import Clock
from emu.hw.fingerprint import Lists
from emu.hw.gating import Needs
from emu.hw.payload import Content, Essence, Payload
from emu.hw.unit import passed
from emu.hw.vdma import Edge
from emu.timing.model import Flow
from emu.timing.passage import Leaving, Passage

# the pace of frames is kept in parts of a nanosecond, so that many of them add up exactly
_FRACTION = 40
_ONE = 1 << _FRACTION
_NEAR = 1 << 20
_NEARLY = 1e-6  # ns
_MOST_OF_A_ROUND = 16
_APART = 2  # ns: what is nearer may meet for another frame, for whose place in a nanosecond is another one


class Frame:
    """One frame inside. `coming`, `going`: inputs and outputs that are not through; `came_at`: when its input was.
    `arrived`: what came of it by stream, None where that does not say all; `computed`: what the core made of it.

    Both instants are those of the events; the frame really entered `early`, and was in `came_early` before (parts of a
    nanosecond, which many frames would add up).
    """

    __slots__ = (
        "arrived",
        "came_at",
        "came_early",
        "coming",
        "common",
        "computed",
        "contents",
        "early",
        "entered_at",
        "going",
        "index",
    )

    def __init__(self, index: int, entered_at: int, early: float, coming: int, going: int) -> None:
        self.index = index
        self.entered_at = entered_at
        self.early = early
        self.came_early = 0.0
        self.coming = coming
        self.going = going
        self.came_at = 0
        self.contents: list[Payload] = []
        self.common: Essence | None = None
        self.arrived: dict[int, Content | None] | None = {}
        self.computed: Mapping[int, bytes] | None = None


class FrameCore(Protocol):
    """What a pass needs of the core that it runs in."""

    clock: Clock

    def blocked(self, one: FramePass) -> str: ...

    def starved(self, one: FramePass) -> bool: ...

    def held_back(self, one: FramePass, edge: Edge) -> bool: ...

    def come(self, one: FramePass, frame: Frame) -> None: ...

    def came(self, one: FramePass, frame: Frame, edge: Edge) -> None: ...

    def all_in(self, one: FramePass, frame: Frame) -> None: ...

    def gone(self, one: FramePass, frame: Frame, edge: Edge) -> None: ...

    def completed(self, one: FramePass, frame: Frame) -> None: ...

    def move(self, edge: Edge, most: float, early: float, done: partial[None]) -> None: ...

    def early(self, edge: Edge) -> float: ...

    def jump(self, one: FramePass) -> int: ...

    def stick(self) -> None: ...


class OpenedInput(Struct):
    """What OPEN_BOUNDARY_INPUT_CHANNEL registered for the burst-credits task."""

    stream: int
    network: int
    periph_bytes_per_buffer: int
    frame_periph_size: int


@dataclass(eq=False, slots=True)
class FramePass:
    """Frames of one network through one context; `limit` None: until the application is stopped.

    `first_frame` numbers the frames, inputs and outputs alike; `lists` configured what they pass. `blocked` says why
    the next frame cannot enter, `starved` that it is only the host that has queued none. `needs`: what has to be there
    for a frame to come out, of which it `lacks` something as of the edition `checked` of the gates; `held` says why
    frames wait inside. `crowded`: since the core was empty last a frame waited for another one, or moved beside one.
    `added_up`: frames before that one were added up, or left ahead of their time (-1: all were played).
    `origin` is when the first frame could enter, `gate` the instant before which none does;
    `wanted` frames are a batch.
    """

    core: FrameCore
    context: Context
    network: int | None
    inputs: list[Edge]
    outputs: list[Edge]
    flow: Flow
    passage: Passage
    origin: int
    gate: int
    batch: int
    limit: int | None
    first_frame: int
    lists: Lists
    needs: Needs = field(default_factory=Needs)
    checked: int = -1
    launched: int = 0
    completed: int = 0
    blocked: str = ""
    held: str = ""
    lacks: str = ""
    starved: bool = False
    crowded: bool = False
    rebased: int = 0
    added_up: int = -1
    cancelled: bool = False
    entering: bool = False
    entered_at: int = -1
    period: int = 0
    on_pace: int = 0
    in_step: int = 0
    stay: int = 0
    alike: int = 0
    frames_inside: int = field(init=False)
    wanted: int = field(init=False)
    writes_memory: bool = field(init=False)
    reads_memory: bool = field(init=False)
    _coming: list[tuple[Edge, float]] = field(init=False)
    _interval: int = field(init=False)
    inside: deque[Frame] = field(default_factory=deque)
    _planned: bool = False

    def __post_init__(self) -> None:
        self.frames_inside = self.flow.frames_inside
        self.wanted = self.batch if self.limit is None else self.limit
        self._interval = round(self.flow.interval_ns * (1 << _FRACTION))
        self.writes_memory = any(not edge.boundary for edge in self.outputs)
        self.reads_memory = any(not edge.boundary for edge in self.inputs)
        passage = self.passage
        self._coming = [(edge, passage.intake(edge.frame_bytes * edge.transfers)) for edge in self.inputs]
        for number, edge in enumerate(self.outputs):
            edge.behind_ns, edge.ends_ns = passage.after_ns(number), passage.ends_ns[number]
        for edge in (*self.inputs, *self.outputs):
            edge.begin()
            edge.done = 0
        self.origin += passage.lead_ns

    @property
    def all_launched(self) -> bool:
        return self.launched >= self.wanted

    @property
    def busy(self) -> bool:
        """Whether frames are inside that nothing holds back."""
        return self.launched > self.completed and not self.held and not self.cancelled

    @property
    def finished(self) -> bool:
        return self.limit is not None and self.completed >= self.limit

    def state(self, now: int) -> tuple[object, ...]:
        """What the rest of a run depends on."""
        position = self.launched, self.completed, self.launched - self.rebased, self.first_frame
        due = passed(self._due(self.launched), now)
        inside = tuple((edge.stream, len(edge.leaving), edge.moving) for edge in self.outputs)
        return self.context.name, self.network, self.batch, self.limit, self.cancelled, position, due, inside

    def _due(self, frame: int) -> int:
        """When a frame enters at the pace of the slowest stage."""
        return self.origin - (-(frame * self._interval - _NEAR) >> _FRACTION)

    def _enter_at(self, ns: int) -> None:
        """The next frame enters then, the others follow at the pace."""
        self.origin += ns - self._due(self.launched)

    # -- in

    def begin(self, _: simpy.Event | None = None) -> None:
        """Let the first frame enter when it may: not before the gate, where it finds what went on since the origin."""
        if self.cancelled:
            return
        first = max(self.gate, self._due(0))
        if first > self.core.clock.time and not self.core.blocked(self):
            self.core.clock.call(first, self.begin)
            return
        if self.gate > self.core.clock.time:
            self.core.clock.call(self.gate, self.begin)
            return
        reason = self.core.blocked(self)
        if reason:
            self._stay(reason)
        else:
            self.proceed()

    def proceed(self) -> None:
        """Let the next frame enter when it may."""
        if self._planned or self.entering or self.cancelled:
            return
        if self.limit is not None and self.launched >= self.limit:
            return
        now = self.core.clock.time
        if self.blocked:
            reason = self.core.blocked(self)
            if reason:
                self._stay(reason)
                return
            # the pipeline ran dry: this frame enters an idle core
            enters = now + self.passage.lead_ns if self.starved else now
            if enters > self._due(self.launched):
                self._enter_at(enters)
                self.rebased = self.launched
                self.crowded = self.launched > self.completed
            self.blocked, self.starved = "", False
        due = self._due(self.launched)
        if due > now:
            self._planned = True
            self.core.clock.call(due, self._on_time)
        else:
            self._enter(now)

    def _on_time(self, _: simpy.Event) -> None:
        self._planned = False
        if not self.cancelled:
            self._enter(self.core.clock.time)

    def _stay(self, reason: str) -> None:
        self.blocked, self.starved = reason, self.core.starved(self)
        self.core.stick()

    def _enter(self, now: int) -> None:
        core = self.core
        reason = core.blocked(self)
        if reason:
            self._stay(reason)
            return
        early = self._keep_pace(now)
        frame = Frame(self.launched, now, early, len(self._coming), len(self.outputs))
        self.inside.append(frame)
        self.launched += 1
        self.entering = True
        core.come(self, frame)
        for edge, most in self._coming:
            core.move(edge, most, early, partial(self._moved_in, frame, edge))
        for leaving in self.passage.leaving:
            begins = leaving.begin_ns - early
            whole = ceil(begins)
            core.clock.call(now + whole, partial(self._begin_leaving, frame, leaving, whole - begins))

    def _keep_pace(self, now: int) -> float:
        """How regularly frames enter: at the flow's own pace, or in equal steps. By what part of a ns this is late."""
        period = now - self.entered_at
        self.in_step = self.in_step + 1 if period == self.period else 0
        self.period, self.entered_at = period, now
        exact = self.launched * self._interval
        whole = -(-(exact - _NEAR) >> _FRACTION)
        if now == self.origin + whole:
            self.on_pace += 1
            return max(0, (whole << _FRACTION) - exact) / _ONE
        self.on_pace = 0
        # what the gate held back has been under way since it could have entered
        return now - self.origin - exact / _ONE if now == self.gate else 0.0

    def _moved_in(self, frame: Frame, edge: Edge) -> None:
        core = self.core
        core.came(self, frame, edge)
        frame.coming -= 1
        if frame.coming:
            return
        frame.came_at, frame.came_early = core.clock.time, core.early(edge)
        core.all_in(self, frame)
        if not self.outputs:
            core.clock.call(frame.came_at + self.passage.compute_ns, partial(self._without_output, frame))
        else:
            for one in self.outputs:
                if one.moved and one.leaving and one.leaving[0] is frame:
                    self._moved_out(frame, one)  # its bytes went along with the input's
        self.entering = False
        if self._due(self.launched) < frame.came_at + _APART:
            self.crowded = True
        if not self.cancelled:
            skipped = core.jump(self)
            if skipped:
                self.skip(skipped)
            self.proceed()

    def skip(self, frames: int) -> None:
        """`frames` frames more entered, at the pace of the last ones."""
        self.launched += frames
        if self.on_pace < self.in_step:
            # the last one has just come in, and the next one would have followed it, behind the pace of the core
            self._planned = True
            self.core.clock.call(self.core.clock.time + frames * self.period, self._on_time)
        self.completed += frames
        self.added_up = self.launched
        self.on_pace = self.in_step = 0

    @property
    def in_time(self) -> bool:
        """Whether all that is inside came when it does where every frame is played."""
        return self.completed > self.added_up

    @property
    def round_frames(self) -> int:
        """Frames after which the next one is due at the same part of a nanosecond; 0: not after a few."""
        frames = _ONE // gcd(self._interval, _ONE)
        return frames if frames <= _MOST_OF_A_ROUND else 0

    @property
    def round_ns(self) -> int:
        """How long those take at the pace."""
        return self.round_frames * self._interval >> _FRACTION

    def standing(self, now: int) -> tuple[object, ...]:
        """Where its frames are, relative to now and to the one that enters next."""
        due = (self.origin - now << _FRACTION) + self.launched * self._interval
        inside = [
            (self.launched - one.index, now - one.entered_at, one.early, one.coming, one.going,
             0 if one.coming else now - one.came_at, one.came_early)
            for one in self.inside
        ]  # fmt: skip
        edges = [(len(edge.leaving), edge.moving, edge.moved) for edge in (*self.inputs, *self.outputs)]
        return due, inside, edges, self.entering, self._planned, self.blocked, self.starved, self.held

    def move_on(self, frames: int, ns: int) -> None:
        """What is inside comes so many frames, and so much, later."""
        self.launched += frames
        self.completed += frames
        self.entered_at += ns
        for one in self.inside:
            one.index += frames
            one.entered_at += ns
            one.came_at += ns
        for edge in self.outputs:
            edge.free_at += ns

    @property
    def steady(self) -> int:
        """For how many frames the pace has been the same, and how long they stay inside."""
        return min(max(self.on_pace, self.in_step), self.alike + self.frames_inside)

    @property
    def plain(self) -> bool:
        """Whether its frames are alike: where a walk over descriptors decides what one is, each may be another."""
        return all(edge.plain for edge in (*self.inputs, *self.outputs))

    @property
    def undisturbed(self) -> bool:
        """Whether frames go their ways as if each were alone: two did from one end to the other, at the core's pace."""
        at_pace = self.on_pace >= self.launched - self.completed + 2
        return at_pace and not self.crowded and self.completed >= self.rebased + 2

    # -- out

    def _begin_leaving(self, frame: Frame, leaving: Leaving, early: float, _: simpy.Event) -> None:
        if self.cancelled:
            return
        for number in leaving.outputs:
            edge = self.outputs[number]
            edge.leaving.append(frame)
            if edge.moving or self.core.clock.time < edge.free_at + _APART:
                self.crowded = True
            if not edge.moving:
                self.leave(edge, early)

    def leave(self, edge: Edge, early: float = 0.0) -> None:
        """Let the next frame leave over an output, if the core has one and the host a buffer."""
        if edge.moving or not edge.leaving or self.cancelled:
            return
        core = self.core
        if core.held_back(self, edge):
            self.crowded = True
            core.stick()
            return
        frame = edge.leaving[0]
        for other in self.outputs:
            if other.moving and other.leaving[0] is not frame:
                self.crowded = True
        edge.moving, edge.moved, self.held = True, False, ""
        # the core gives it as it works it out; what waited is there already
        within = frame.entered_at - frame.early + edge.ends_ns - (core.clock.time - early)
        most = edge.frame_bytes * edge.transfers / within if within > 0 else self.passage.rate
        core.move(edge, most, early, partial(self._moved_out, frame, edge))

    def _moved_out(self, frame: Frame, edge: Edge) -> None:
        edge.moved = True
        if frame.coming:
            return  # the end of the input brings the end of the output
        clock = self.core.clock
        earliest = frame.came_at + ceil(edge.behind_ns - frame.came_early - _NEARLY)
        if earliest > clock.time:
            clock.call(earliest, partial(self._out_on_time, frame, edge))
        else:
            self._out(frame, edge, self.core.early(edge))

    def _out_on_time(self, frame: Frame, edge: Edge, _: simpy.Event) -> None:
        if not self.cancelled:
            self._out(frame, edge, 0.0)

    def _out(self, frame: Frame, edge: Edge, early: float) -> None:
        core = self.core
        edge.leaving.popleft()
        edge.moving = edge.moved = False
        edge.free_at = core.clock.time
        core.gone(self, frame, edge)
        frame.going -= 1
        if not frame.going:
            self._complete(frame)
        if edge.leaving:
            self.leave(edge, early)

    def _without_output(self, frame: Frame, _: simpy.Event) -> None:
        if self.cancelled:
            return
        if self.core.held_back(self, self.inputs[0]):
            # asked again with everything else that waits
            self.inputs[0].leaving.append(frame)
            self.crowded = True
            self.core.stick()
            return
        self._complete(frame)

    def _complete(self, frame: Frame) -> None:
        self.inside.popleft()
        self.completed += 1
        stay = self.core.clock.time - frame.entered_at
        if abs(stay - self.stay) <= 1:
            self.alike += 1
        else:
            self.stay, self.alike = stay, 0
        self.core.completed(self, frame)
        if self.blocked and not self.cancelled:
            self.proceed()

    def retry(self) -> None:
        """Something changed: try again what waits."""
        if self.blocked:
            self.proceed()
        for edge in self.outputs:
            if edge.leaving and not edge.moving:
                self.leave(edge)
        if not self.outputs and self.inputs:
            waiting = self.inputs[0].leaving
            while waiting and not self.core.held_back(self, self.inputs[0]):
                self._complete(waiting.popleft())
            if waiting:
                self.core.stick()

    def cancel(self) -> None:
        """What is inside is lost."""
        self.cancelled = True
        for edge in (*self.inputs, *self.outputs):
            edge.begin()
