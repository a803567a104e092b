"""One direction of the way between host memory and the chip: what the transfers under way share fairly.

Each transfer is slowed by its stream (`most`, bytes a nanosecond: what the core takes or gives) and by the others: what
one leaves goes to the rest in equal parts. Shares are worked out anew whenever a transfer starts or ends (units.md 7).
Configuration on the same link goes first, and data has what it leaves (house rule): its end is known when it is queued.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf

import simpy

from emu.hw.clock import NEVER, Clock
from emu.hw.unit import Unit

_NEAR = 1e-6  # of a nanosecond: what is due so near to a whole one is due there
Busy = Callable[[int], "tuple[float, float]"]


class Transfer:
    """What one channel moves now; a channel has one and uses it again. `done` is called when all bytes have moved.

    `waits`: what the link does not take at once waits for it, so that a transfer that was slowed catches up.
    """

    __slots__ = ("done", "due", "early", "left", "most", "rate", "since", "waits")

    def __init__(self) -> None:
        self.left = 0.0
        self.early = 0.0  # by which part of a nanosecond it began before `since`
        self.most = inf
        self.waits = False
        self.rate = 0.0
        self.since = 0
        self.due = 0
        self.done: Callable[[], None] = _nothing

    def settle(self, now: int) -> None:
        """What it moved until now."""
        self.left -= self.rate * (now - self.since + self.early)
        self.since, self.early = now, 0.0

    def ahead(self, now: int) -> float:
        """By how much it was done before `now`."""
        takes = self.left / self.rate - self.early if self.left > 0 else 0.0
        ahead = now - self.since - takes
        return 0.0 if ahead < 0.0 else ahead

    def plan(self, now: int) -> int:
        """When it is done at its present rate."""
        if self.left > 0 and not self.rate:
            self.due = NEVER
            return NEVER
        takes = self.left / self.rate - self.early if self.left > 0 else 0.0
        whole = ceil(takes - _NEAR)
        self.due = due = now + whole if whole > 0 else now
        return due


def _nothing() -> None:
    return None


def shares(most: list[float], rate: float) -> list[float]:
    """What each of several transfers gets of a link of `rate` bytes/ns, `most` being what each can use: max-min fair.

    >>> shares([inf, inf], 2.0), shares([0.5, inf, inf], 2.0), shares([0.5, 0.25], 2.0)
    ([1.0, 1.0], [0.5, 0.75, 0.75], [0.5, 0.25])
    """
    found = [0.0] * len(most)
    left, waiting = rate, len(most)
    for at in sorted(range(len(most)), key=most.__getitem__):
        found[at] = min(most[at], left / waiting)
        left, waiting = left - found[at], waiting - 1
    return found


class Link(Unit):
    """One direction; `rate` in bytes/ns. `busy` tells from when to when configuration moves over it (None: never).

    `beside`: what data has of the link meanwhile.
    """

    def __init__(self, name: str, clock: Clock, rate: float, busy: Busy | None = None, beside: float = 0.0) -> None:
        self._name = name
        self._clock = clock
        self.rate = rate
        self._beside = beside
        self._busy = busy
        self.active: list[Transfer] = []
        self._armed = 0  # instant of the event that is to come; 0: none is
        self._moving = False
        self._joined = False
        self._slowed = False
        self.early = 0.0  # by which part of a nanosecond the last ones were done before their event

    @property
    def name(self) -> str:
        return self._name

    def reset(self) -> None:
        self.active.clear()
        self._armed, self._slowed = 0, False

    def state(self, now: int) -> tuple[object, ...]:
        return tuple((round(one.left - one.rate * (now - one.since), 3), one.due - now) for one in self.active)

    def standing(self, now: int) -> tuple[object, ...]:
        """What comes of the transfers that are under way, relative to now."""
        found = [(one.left, one.rate, one.most, one.early, now - one.since, one.due - now) for one in self.active]
        return found, self._slowed, self._armed and self._armed - now

    def move_on(self, ns: int) -> None:
        """Everything is so much later."""
        self._armed += ns if self._armed else 0
        for one in self.active:
            one.since += ns
            one.due += ns

    def start(self, transfer: Transfer, size: int, most: float, early: float, done: Callable[[], None]) -> None:
        """Move `size` bytes from now on, at `most` bytes/ns and no more than the link's share.

        It began `early` nanoseconds (a part of one) before this event.
        """
        now = self._clock.time
        transfer.early = early
        transfer.left, transfer.most, transfer.done, transfer.rate, transfer.since = size, most, done, 0.0, now
        active = self.active
        active.append(transfer)
        if self._moving:
            self._joined = True
            return
        if self._busy is None and not self._slowed and len(active) > 1:
            wanted = 0.0
            for one in active:
                wanted += one.most
            if wanted <= self.rate:
                # nobody is slower for it
                transfer.rate = most
                due = transfer.plan(now)
                if not self._armed or due < self._armed:
                    self._arm(due)
                return
        self._plan()

    def drop(self, transfer: Transfer) -> None:
        """It moves no further."""
        if transfer in self.active:
            self.active.remove(transfer)
            self._plan()

    def replan(self) -> None:
        """Configuration was queued: what it leaves of the link has changed."""
        if self.active and not self._moving:
            self._plan()

    def _plan(self) -> None:
        """Give everybody a share; the next event is when the first of them is done."""
        active = self.active
        if not active:
            return
        rate, until = (self.rate, inf) if self._busy is None else self._beside_configuration()
        now = self._clock.time
        if len(active) == 1:
            (one,) = active
            if now > one.since:
                one.settle(now)
            self._slowed = one.most > rate
            one.rate = rate if self._slowed else one.most
            due = one.plan(now)
        else:
            due = self._share(rate, now)
        if until < due:
            due = ceil(until)
        if not self._armed or due < self._armed:
            self._arm(due)

    def _share(self, rate: float, now: int) -> int:
        active = self.active
        first = 0
        self._slowed = False
        for one, share in zip(active, shares([one.most for one in active], rate), strict=True):
            if now > one.since:
                one.settle(now)
            one.rate = share
            if share < one.most:
                self._slowed = True
                if one.waits:
                    one.most = inf
            due = one.plan(now)
            if not first or due < first:
                first = due
        return first

    def _beside_configuration(self) -> tuple[float, float]:
        """The rate that data has now, and when that changes."""
        assert self._busy is not None
        begin, end = self._busy(self._clock.time)
        now = self._clock.time
        if now >= end:
            return self.rate, inf
        if now < begin:
            return self.rate, begin
        return min(self.rate, self._beside), end

    def _arm(self, due: int) -> None:
        self._armed = due
        self._clock.call(due, self._fire)

    def _fire(self, _: simpy.Event) -> None:
        now, active = self._clock.time, self.active
        if now != self._armed:
            return  # planned anew meanwhile
        self._armed = 0
        if len(active) == 1:
            (one,) = active
            if one.due <= now:
                self.early = one.ahead(now)
                active.clear()
                self._moving = True
                one.done()
                self._moving = False
                if not self.active:
                    return
        else:
            self._finish(now)
            if not self.active:
                return
            if not self._joined and not self._slowed and self._busy is None:
                self._arm(min([one.due for one in self.active]))
                return
        self._plan()

    def _finish(self, now: int) -> None:
        """Let go what is done."""
        finished = [one for one in self.active if one.due <= now]
        self._joined = False
        if not finished:
            return
        self.active = [one for one in self.active if one.due > now]
        self.early = early = min([one.ahead(now) for one in finished])
        for one in self.active:
            # what the others leave is theirs from the very moment that these were done
            one.left -= one.rate * (now - early - one.since + one.early)
            one.since, one.early = now, early
        self._moving = True
        for one in finished:
            one.done()
        self._moving = False
