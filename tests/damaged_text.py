"""Text with one line lost, altered or put in twice: what a slip of an editor does to a description."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_SIGNS = "{}[]:,&*!|>'\"%@`-#?~0x\n "


def damaged(lines: Sequence[str], where: int, draw: Random) -> str:
    """The lines joined, damaged at the line numbered `where`."""
    found = list(lines)
    match draw.randrange(3):
        case 0:
            del found[where]
        case 1:
            line = found[where]
            at = draw.randrange(len(line))
            found[where] = line[:at] + draw.choice(_SIGNS) + line[at + 1 :]
        case _:
            found.insert(where, draw.choice(lines))
    return "".join(found)
