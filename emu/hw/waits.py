"""What an action can wait for, as a value: when it will be satisfied, and who would have to act until then."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

# the instant at which a wait is satisfied, or None while nobody knows
Ready = Callable[[], "int | None"]


class Wait(NamedTuple):
    """`ready` is asked again whenever anything changed; `what` names the wait, `chain` why it does not end.

    `data` waits are for frames: before one, the context lets its granted inputs flow. `woke_by` names the unit that
    satisfies the wait. `hopeless`: no frame, nothing but a reset will end it.
    """

    what: str
    ready: Ready
    chain: Callable[[], list[str]]
    woke_by: str
    data: bool = False
    hopeless: Callable[[], bool] = lambda: False


def at(ns: int, what: str, woke_by: str) -> Wait:
    """A wait for an instant that is already known."""
    return Wait(what, lambda: ns, list, woke_by)


def never(what: str, reason: str, data: bool = False) -> Wait:
    """A wait that nothing can satisfy any more."""
    return Wait(what, lambda: None, lambda: [reason], "", data, lambda: True)
