"""What every part of the chip can be asked: its name, its state, what it has counted; and to be reset.

A unit owns its state and says so. Resets, checkpoints, skipping, usage and coverage walk the units of the device; none
of them lists what there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

Counts = Mapping[Any, int]


class NotNowError(Exception):
    """Something is under way that cannot be written down; a moment later it may be over."""


class Unit(ABC):
    """One part of the chip or of its firmware, possibly made of others.

    `COUNTERS` names the attributes that grow by the same amounts in equal batches: where batches are skipped, they are
    added up. Everything else is state. `KIND` is the name under which coverage counts a unit.
    """

    __slots__ = ()

    KIND: ClassVar[str] = ""
    COUNTERS: ClassVar[tuple[str, ...]] = ()
    OUTLIVES_APPLICATIONS: ClassVar[bool] = False
    """What it holds stays when the context-switch task is reset; only a reset of the chip clears it."""

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    @abstractmethod
    def name(self) -> str:
        """As messages call it: "cluster 4 LCU 7"."""

    def parts(self) -> Iterable[Unit]:
        """The units it is made of."""
        return ()

    @abstractmethod
    def reset(self) -> None:
        """Back to how it was made; what it counted in all stays. The units it is made of are reset by themselves."""

    def state(self, now: int) -> tuple[object, ...]:
        """What the rest of a run depends on, in values whose repr is the same in every process.

        Instants are relative to `now`, those that have passed are 0.
        """
        return ()

    def levels(self) -> tuple[int, ...]:
        """How full it is: a batch repeats the one before it only if it leaves all units as full as that."""
        return ()

    def counters(self) -> Counts:
        """What it has counted so far."""
        return {name: getattr(self, name) for name in self.COUNTERS}

    def advance(self, deltas: Counts, times: int) -> None:
        """Count `times` more of what one batch counts."""
        for name, delta in deltas.items():
            setattr(self, name, getattr(self, name) + delta * times)

    @property
    def used(self) -> bool:
        """Whether it was ever made use of."""
        return True


class Tally(Unit):
    """Counts by key, of what is not known beforehand."""

    __slots__ = ("_name", "counts")

    OUTLIVES_APPLICATIONS = True

    def __init__(self, name: str) -> None:
        self._name = name
        self.counts: dict[Any, int] = {}

    @property
    def name(self) -> str:
        return self._name

    def reset(self) -> None:
        """Counters stay."""

    def count(self, key: Any) -> None:
        self.counts[key] = self.counts.get(key, 0) + 1

    def counters(self) -> Counts:
        return dict(self.counts)

    def advance(self, deltas: Counts, times: int) -> None:
        for key, delta in deltas.items():
            self.counts[key] = self.counts.get(key, 0) + delta * times


def walk(*units: Unit) -> list[Unit]:
    """Units and all that they are made of, at any depth, in an order that is the same in every run."""
    found = list(units)
    for unit in found:
        found += unit.parts()  # the loop comes by them too
    return found


def passed(instant: float, now: int) -> float:
    """How far ahead of `now` an instant lies, 0 once it has passed: what `Unit.state` says of it."""
    return max(0, instant - now)
