"""Sequencer programs in time: how long one takes, and when those of a list are done.

What a list starts is worked out by the chip's model (emu.hw.config.starts), as the words have to be decompressed and
walked through; here they only take their time.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from emu.chips.chips import Profile
from emu.sequencer.program import NetworkGroupProgram, Program

_HEAD = struct.Struct("<II")


class Start(NamedTuple):
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


class Sequencers:
    """The sequencers of all clusters: each runs one program after the other."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._busy_until: dict[int, float] = {}
        self._done: dict[int, deque[float]] = {}

    def start(self, start: Start, at: float) -> None:
        """A program starts at an instant, or when the cluster's one before it is done."""
        begin = max(at, self._busy_until.get(start.cluster, 0.0))
        end = self._busy_until[start.cluster] = begin + program_ns(self._profile, start.words)
        if start.done:
            self._done.setdefault(start.cluster, deque()).append(end)

    def take_done(self, cluster: int) -> float | None:
        """When the next SEQUENCER_DONE of a cluster comes; None where none does."""
        done = self._done.get(cluster)
        return done.popleft() if done else None
