"""What an action can wait for, as a value: when it will be satisfied, and who would have to act until then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

# the instant at which a wait is satisfied, or None while nobody knows
Ready = Callable[[], "int | None"]


def unknown() -> int | None:
    """When what nobody foresees is satisfied."""
    return None


def no() -> bool:
    """Whether what frames, the host or time can end is hopeless."""
    return False


def yes() -> bool:
    """Whether what nothing can end is."""
    return True


def given(value: int) -> int | None:
    """An instant that is known."""
    return value


def lines(*texts: str) -> list[str]:
    """Why a wait does not end, where that is known beforehand."""
    return list(texts)


class Wait(Struct, frozen=True):
    """`ready` is asked again whenever anything changed; `what` names the wait, `chain` why it does not end.

    `data` waits are for frames: before one, the context lets its granted inputs flow. `woke_by` names the unit that
    satisfies the wait. `hopeless`: no frame, nothing but a reset will end it. What is called are functions of modules,
    methods and `partial`s of them, so that a checkpoint can keep a wait (emu.host.world).
    """

    what: str
    ready: Ready
    chain: Callable[[], list[str]]
    woke_by: str
    data: bool = False
    hopeless: Callable[[], bool] = no


def at(ns: int, what: str, woke_by: str) -> Wait:
    """A wait for an instant that is already known."""
    return Wait(what, partial(given, ns), lines, woke_by)


def never(what: str, reason: str, data: bool = False) -> Wait:
    """A wait that nothing can satisfy any more."""
    return Wait(what, unknown, partial(lines, reason), "", data, yes)
