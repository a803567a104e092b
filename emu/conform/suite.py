"""All vectors, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from emu.conform.suite_controls import CONTROLS
from emu.conform.suite_flows import FLOWS
from emu.conform.suite_hazards import hazards
from emu.conform.suite_rare import RARE
from emu.conform.suite_states import STATES
from emu.conform.suite_statuses import statuses
from emu.conform.vector import Vector
from emu.errors import UsageError

FAMILIES: tuple[Callable[[], Iterator[Vector]], ...] = (*CONTROLS, *RARE, *STATES, *FLOWS, statuses, hazards)


def vectors() -> list[Vector]:
    """Every vector once; their names are the rules."""
    return [vector for family in FAMILIES for vector in family()]


def chosen(globs: Sequence[str], among: Sequence[Vector] | None = None) -> list[Vector]:
    """Those whose names fit one of the patterns (none: all), by their names; UsageError where none does. `among`:
    vectors of somebody else instead of ours."""
    every = sorted(vectors() if among is None else among, key=lambda one: one.name)
    found = [one for one in every if not globs or any(fnmatchcase(one.name, glob) for glob in globs)]
    if not found:
        raise UsageError(f"no rule fits {', '.join(globs)}")
    return found
