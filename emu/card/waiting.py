"""The calls that wait for their answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from errno import ENOMEM
from typing import Any, NamedTuple

from emu.card.calls import Call, Name
from emu.card.card import Answer, Caller
from emu.card.errors import CallError

MOST_WAITERS = 1 << 10


class Waiter(NamedTuple):
    """A call that waits, with the fields of its argument."""

    ticket: Any
    call: Call
    fields: tuple[Any, ...]


Handler = Callable[[Call, tuple[Any, ...], Caller], "Answer | None"]
Handlers = Mapping[Name, Handler]


class Waiters:
    """Calls that wait for the same thing, in the order in which they came."""

    def __init__(self) -> None:
        self._waiters: list[Waiter] = []

    def __bool__(self) -> bool:
        return bool(self._waiters)

    def add(self, waiter: Waiter) -> None:
        """CallError(ENOMEM) where too many wait."""
        if len(self._waiters) >= MOST_WAITERS:
            raise CallError(ENOMEM, f"more than {MOST_WAITERS} calls wait")
        self._waiters.append(waiter)

    def first(self) -> Waiter:
        """Take the one that waits longest."""
        return self._waiters.pop(0)

    def answered(self, answer: Callable[[Waiter], Answer | None]) -> Iterator[tuple[Any, Answer]]:
        """(ticket, answer) of those that have one now."""
        if not self._waiters:
            return
        still = []
        for waiter in self._waiters:
            found = answer(waiter)
            if found is None:
                still.append(waiter)
            else:
                yield waiter.ticket, found
        self._waiters = still

    def forget(self, ticket: Any) -> None:
        """Nobody waits for this answer any more."""
        self._waiters = [one for one in self._waiters if one.ticket != ticket]

    def clear(self) -> None:
        self._waiters.clear()

    @property
    def tickets(self) -> list[Any]:
        return [one.ticket for one in self._waiters]
