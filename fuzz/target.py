"""What is fuzzed: one reader behind one function, its seeds, and how an input of its kind is mutated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from emu.errors import EmuError

LONGEST_LINE = 20_000
"""Characters of an error line; a forged name may be in it, but never a whole file."""

Mutate: TypeAlias = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Target:
    """`read` takes one input and returns how it ended ("ok" or a word of its own), or raises EmuError: both are an
    answer. Everything else that it raises is a find. `refusals`: other exceptions that are answers of this reader.
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], object]
    mutate: Mutate
    refusals: tuple[type[Exception], ...] = ()

    def judge(self, data: bytes) -> str:
        """The outcome of one input; raises what is a find."""
        try:
            found: Any = self.read(data)
        except EmuError as error:
            line = error.line()
            assert line.isprintable(), "the error line holds control characters"
            assert len(line) < LONGEST_LINE, f"the error line has {len(line)} characters"
            return error.name
        except self.refusals as error:
            return type(error).__name__
        return found if isinstance(found, str) else "ok"
