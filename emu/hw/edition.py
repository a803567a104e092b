"""A number that grows with everything that frames may wait for, so that who looked once need not look again."""

from __future__ import annotations


class Edition:
    """Shared by those who change things and those who look; it is no state of the device."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0

    def turn(self) -> None:
        """Something changed."""
        self.number += 1
