"""Action lists at what a chip takes for them: the same for every link, host and batch, so worked out once for all.

A `Stretch` names actions and counts them; a `Step` has nanoseconds, and knows which program it waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from emu.chips.chips import Profile
from emu.timing.programs import StartOrder, program_ns
from emu.timing.stretches import Event, Stretch

REQUEST_BYTES = 20  # of a control message without parameters (firmware-actions.md 5)
_JUST_LASTS = frozenset({Event.FETCH, Event.CACHE, Event.SLEEP})


class Costs(Struct, frozen=True):
    """What a profile says of the time that lists take by themselves; equal ones make equal steps."""

    actions: tuple[float, ...]
    cache_ns: float
    sequencer_ns: float
    cycles_a_word: float
    nn_hz: float

    @classmethod
    def of(cls, profile: Profile, names: Iterable[str]) -> Costs:
        """`names`: those of the actions, in the order of `actions`."""
        return cls(
            tuple(map(profile.action_cost, names)),
            profile.control_cost("SIGNAL_CACHE_UPDATED", REQUEST_BYTES),
            profile.sequencer_ns,
            profile.program_cycles_a_word,
            profile.nn_hz,
        )


class Step(NamedTuple):
    """Fetches, each of (firmware time before it, bytes); then `ns` of the firmware; then what waits, grants or starts.

    Of the events only CONFIG, PROGRAM, GRANT and FRAMES are more than that. The programs that a list starts are
    numbered from 1: PROGRAM waits for the end of number `program`, `starts` are (ns, number of the one before it on
    its cluster). Number 0 is over from the beginning.
    """

    fetches: tuple[tuple[float, float], ...]
    ns: float
    event: Event
    program: int
    starts: tuple[tuple[float, int], ...]


class GroupSteps(Struct, frozen=True):
    """The lists of a network group; `entry_ns`: what context 0's does where the preliminary one ran as context 0."""

    costs: Costs
    activation: tuple[Step, ...]
    preliminary: tuple[Step, ...]
    dynamic: tuple[tuple[Step, ...], ...]
    entry_ns: float


def steps_of(stretches: Sequence[Stretch], profile: Profile, action_ns: Mapping[str, float]) -> tuple[Step, ...]:
    """The steps of a list; `action_ns`: what each of its actions costs."""
    found: list[Step] = []
    order = StartOrder()
    fetches: list[tuple[float, float]] = []
    ns = 0.0
    for stretch in stretches:
        ns += sum(action_ns[name] * count for name, count in stretch.actions)
        event, amount = stretch.event, stretch.amount
        program, starts = 0, []
        if event is Event.FETCH:
            fetches.append((ns, amount))
            ns = 0.0
        elif event is Event.CACHE:
            ns += profile.control_cost("SIGNAL_CACHE_UPDATED", REQUEST_BYTES)
        elif event is Event.SLEEP:
            ns += amount * 1000.0
        elif event is Event.TRIGGER:
            starts.append((profile.sequencer_ns, order.trigger(int(amount))))
        elif event is Event.SEQUENCER:
            program = order.triggered(int(amount))
            event = Event.PROGRAM if program else Event.CONFIG
        elif event is Event.PROGRAM:
            program = order.next_done(int(amount))
        starts += [(program_ns(profile, one.words), order.start(one)) for one in stretch.starts]
        if starts or event not in _JUST_LASTS:
            found.append(Step(tuple(fetches), ns, event, program, tuple(starts)))
            fetches, ns = [], 0.0
    return tuple(found)
