"""What an estimate takes for granted: the numbers behind it, each with its source, and which guesses matter most.

Nothing here keeps a list: a number of the profile is an assumption if another value of it would change the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

from msgspec import Struct

from emu.catalog import Quantity

FOLLOWS = (1e3, 1e-3)  # what a number (0: one) is multiplied by to see whether the figures follow
GUESS_RANGE = (0.5, 2.0)  # how far a guess may be off
# sections of times and rates; what else a profile holds steers the compiler and the device
_SECTIONS = ("clocks.", "compute.", "link.", "dma.", "host.", "config.", "firmware.", "action_ns.", "control.")
_PEAK_RATE = "counts.max_operations_per_second"

Entries = Mapping[str, Quantity]


class Assumption(Struct, frozen=True):
    """One number of the model; the `source` of a profile's number starts with its basis."""

    name: str
    value: Any
    unit: str
    source: str


class Sensitivity(Struct, frozen=True):
    """What becomes of the FPS if a guessed number is half or twice as large: (low, high) of each batch size."""

    name: str
    spans: tuple[tuple[float, float], ...]

    @property
    def low_fps(self) -> float:
        return self.spans[0][0]

    @property
    def high_fps(self) -> float:
        return self.spans[0][1]


def rests_on(entries: Entries, refigure: Callable[[Entries], Iterable[object]]) -> Iterator[str]:
    """The numbers that the figures follow, in the order of the profile. No more is figured than it takes to see."""
    before = list(refigure(entries))
    for name, quantity in entries.items():
        if _steers_time(name):
            for factor in FOLLOWS:
                value = scaled(quantity.value or 1, factor)
                if value == quantity.value:
                    continue
                altered = refigure({**entries, name: quantity._replace(value=value)})
                if any(one != other for one, other in zip(altered, before, strict=True)):
                    yield name
                    break


def sensitivities(entries: Entries, fps: Callable[[Entries], Sequence[float]]) -> list[Sensitivity]:
    """The guessed numbers that move the FPS, the one that moves those of the first batch size most first."""
    before = fps(entries)
    found: list[tuple[float, Sensitivity]] = []
    for name, quantity in entries.items():
        values = [scaled(quantity.value, factor) for factor in GUESS_RANGE]
        if quantity.basis != "guessed" or not _steers_time(name) or quantity.value in values:
            continue
        altered = [fps({**entries, name: quantity._replace(value=value)}) for value in values]
        spans = tuple((min(rates), max(rates)) for rates in zip(before, *altered, strict=True))
        if any(low < high for low, high in spans):
            low, high = spans[0]
            found.append((high / low if low else float("inf"), Sensitivity(name, spans)))
    return [entry for _, entry in sorted(found, key=lambda pair: -pair[0])]


def _steers_time(name: str) -> bool:
    return name.startswith(_SECTIONS) or name == _PEAK_RATE


def scaled(value: Any, factor: float) -> Any:
    """A number or list of numbers times `factor`; anything else as it is."""
    if isinstance(value, list):
        return [scaled(one, factor) for one in value]
    return value * factor if isinstance(value, Real) and not isinstance(value, bool) else value
