"""Sequencer programs in time: how long one takes, and in which order those of a list run.

What a list starts is worked out by the chip's model (emu.hw.config.starts), as the words have to be decompressed and
walked through; here they only take their time.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from emu.chips.chips import Profile
from emu.sequencer.program import NetworkGroupProgram, Program

_HEAD = struct.Struct("<II")


class Start(Struct, frozen=True):
    """A program that an action of a list starts on a cluster: the words it writes, whether SEQUENCER_DONE follows."""

    cluster: int
    words: int
    done: bool


Starts: TypeAlias = Mapping[int, Sequence[Start]]
"""What each action of a list starts, by its number among the plain actions."""

_CONFIGURED_HAILO8 = frozenset({0x00200684, 0x11800000, 0x19800000})  # only real files write there (units.md 0)
_ZERO_1XH, _ONE_1XH = 0x1C7F0, 1 << 11  # bits of the header of a 1xh record (chip-config.md 1)

ProgramStarts: TypeAlias = Callable[[Program, NetworkGroupProgram], Sequence[Starts] | None]
"""The starts of every context of a group, in their order; None where the configuration is not well formed."""


def may_hold_programs(program: Program) -> bool:
    """Whether any record looks as only well-formed configuration does; the check values have the last word."""
    lists = [part.segments for listed in program.descriptor_lists for part in listed.programs]
    for segments in [*lists, *(buffer.segments for buffer in program.continuous_buffers)]:
        for segment in segments or ():
            if len(segment) >= 8:
                header, address = _HEAD.unpack_from(segment)
                if address in _CONFIGURED_HAILO8 or (header & _ZERO_1XH == 0 and header & _ONE_1XH):
                    return True
    return False


def program_ns(profile: Profile, words: int) -> float:
    """Time of a program: its words over the port of L3 (house rule, chip-config.md 8)."""
    return words * profile.program_cycles_a_word / profile.nn_hz * 1e9


class StartOrder:
    """The programs that a list starts, numbered from 1 as they start: what runs before what, and who waits for which.

    A cluster runs one program after the other. Number 0 is none.
    """

    def __init__(self) -> None:
        self._started = 0
        self._latest: dict[int, int] = {}
        self._done: dict[int, deque[int]] = {}
        self._triggered: dict[int, int] = {}

    def start(self, start: Start) -> int:
        """One more starts; returns the number of the one before it on its cluster."""
        self._started += 1
        before = self._latest.get(start.cluster, 0)
        self._latest[start.cluster] = self._started
        if start.done:
            self._done.setdefault(start.cluster, deque()).append(self._started)
        return before

    def next_done(self, cluster: int) -> int:
        """The program that the next SEQUENCER_DONE of a cluster ends."""
        done = self._done.get(cluster)
        return done.popleft() if done else 0

    def trigger(self, cluster: int) -> int:
        """A trigger starts whatever it starts: nothing is known to run before it."""
        self._started += 1
        self._triggered[cluster] = self._started
        return 0

    def triggered(self, cluster: int) -> int:
        """What the latest trigger of a cluster started."""
        return self._triggered.get(cluster, 0)
