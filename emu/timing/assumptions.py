"""What an estimate takes for granted: the numbers behind it, each with its source, and which guesses matter most.

Nothing here keeps a list: a number of the profile is an assumption if another value of it would change the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

from emu.catalog import Quantity

FOLLOWS = (1e3, 1e-3)  # what a number (0: one) is multiplied by to see whether the figures follow
GUESS_RANGE = (0.5, 2.0)  # how far a guess may be off
# sections of times and rates; what else a profile holds steers the compiler and the device
_SECTIONS = ("clocks.", "link.", "dma.", "host.", "config.", "firmware.", "action_ns.", "control.")
_PEAK_RATE = "counts.max_operations_per_second"

Entries = Mapping[str, Quantity]


class Assumption(NamedTuple):
    """One number of the model; the `source` of a profile's number starts with its basis."""

    name: str
    value: Any
    unit: str
    source: str


class Sensitivity(NamedTuple):
    """What becomes of the FPS if a guessed number is half or twice as large, the lower figure first."""

    name: str
    low_fps: float
    high_fps: float


def rests_on(entries: Entries, refigure: Callable[[Entries], object]) -> Iterator[str]:
    """The numbers that the figures follow, in the order of the profile."""
    before = refigure(entries)
    for name, quantity in entries.items():
        if name.startswith(_SECTIONS) or name == _PEAK_RATE:
            for factor in FOLLOWS:
                value = scaled(quantity.value or 1, factor)
                if value != quantity.value and refigure({**entries, name: quantity._replace(value=value)}) != before:
                    yield name
                    break


def sensitivities(entries: Entries, names: Sequence[str], fps: Callable[[Entries], float]) -> list[Sensitivity]:
    """The guessed ones among `names` that move the FPS, the one that moves it most first."""
    before = fps(entries)
    found: list[tuple[float, Sensitivity]] = []
    for name in names:
        quantity = entries[name]
        if quantity.basis != "guessed":
            continue
        values = [
            fps({**entries, name: quantity._replace(value=scaled(quantity.value, factor))}) for factor in GUESS_RANGE
        ]
        low, high = min(before, *values), max(before, *values)
        if low < high:
            found.append((high / low if low else float("inf"), Sensitivity(name, low, high)))
    return [entry for _, entry in sorted(found, key=lambda pair: -pair[0])]


def scaled(value: Any, factor: float) -> Any:
    """A number or list of numbers times `factor`; anything else as it is."""
    if isinstance(value, list):
        return [scaled(one, factor) for one in value]
    return value * factor if isinstance(value, Real) and not isinstance(value, bool) else value
