"""Frames of an endless flow that are told without being played, while a tracer watches.

Frames of a single context come and go for as long as the host has some. Where all that moves stands as it stood some
frames ago, to the part of a nanosecond at which the next one is due, they go on like that: the trace of those to come
is known (`emu.trace.rounds`), and what is under way is moved behind them, in number and in time.
"""

from __future__ import annotations

from emu.hw.clock import Clock
from emu.hw.core import Core
from emu.hw.passes import FramePass
from emu.trace.rounds import COMPARED, RoundsOf

_MOST_UNLIKE = 64  # then frames share a link, and no two find it alike to the last bit


class FrameLoop:
    """Watches the frames of one core. A round are as many as it takes the pace to come to a whole nanosecond again."""

    def __init__(self, core: Core, clock: Clock) -> None:
        self._core = core
        self._clock = clock
        self._left: object = None
        self._events = 0  # that the clock had counted when the last round ended
        self._unlike = 0  # rounds in a row

    def frame_in(self, one: FramePass) -> None:
        """A frame has come in: tell of all rounds to come that are known, if any are."""
        core, frames = self._core, one.round_frames
        tracer = core.probe.tracer
        if tracer is None or not frames or one.launched % frames:
            return
        rounds = self._rounds(one) if self._alike(one) else 0
        if rounds <= 0:
            self._unlike = 0
        if rounds <= 0 or self._unlike > _MOST_UNLIKE:
            self._left = None
            tracer.forget_rounds(RoundsOf.FRAMES)
            return
        tracer.end_round(RoundsOf.FRAMES)
        ns, before, events = one.round_ns, self._left, self._clock.events - self._events
        self._left, self._events = self._standing(one), self._clock.events
        self._unlike = 0 if self._left == before else self._unlike + 1
        assert core.host is not None
        if (
            self._left == before
            and core.host.at_once(frames, ns, -COMPARED, rounds - 1)
            and tracer.recurs(RoundsOf.FRAMES, ns)
        ):
            tracer.repeat(rounds)
            core.pass_by(one, rounds * frames)
            one.move_on(rounds * frames, rounds * ns)
            for link in core.links.values():
                link.move_on(rounds * ns)
            self._clock.skip(rounds * ns, rounds * events)

    def _rounds(self, one: FramePass) -> int:
        """How many rounds are to come in which the host queues as much as in the last one."""
        core = self._core
        assert core.host is not None
        free = core.host.free_frames(edge.channel.packed for edge in one.inputs)
        return core.probe.skippable(free // one.round_frames, told=True)

    def _alike(self, one: FramePass) -> bool:
        """Whether one frame does what the next one does: none ends a batch, or finds other bytes than the host's."""
        core = self._core
        return (
            one.limit is None
            and core.host is not None
            and core.passes == [one]
            and one.completed >= one.rebased + one.batch
            and one.plain
            and not one.writes_memory
            and not one.reads_memory
            and all(count.frames >= count.target for count in core.clusters.frame_counts() if count.counting)
        )

    def _standing(self, one: FramePass) -> object:
        """All that moves, relative to now and to the frame that enters next."""
        core, now = self._core, self._clock.time
        return (
            one.standing(now),
            [link.standing(now) for link in core.links.values()],
            [channel.levels() for channel in core.vdma.channels.values()],
            [(ns - now, priority) for ns, priority, _ in self._clock.to_come],
        )
