"""What the address generators of an LCU say of how it goes over its input (network.md 13, 14).

A generator holds up to nine nested loops: the last place of each at +0x8 … +0x28, its step 0x60 behind. Columns count
in eights.
"""

from __future__ import annotations

from msgspec import Struct

from emu.hw.config.image import ChipImage
from emu.net.units import LcuId

_GENERATOR, _WORDS = 0x8000, 0x40
_STEPS = 0x60  # from a loop's last place to its step
_ROWS, _CHANNELS, _GROUPS, _ACROSS = 0x24, 0xC, 0x10, 0x18  # loops over a map that is read row by row
_ROWS_IN_JUMPS, _ACROSS_IN_JUMPS, _CHANNELS_IN_JUMPS = 0xC, 0x10, 0x14  # and over one that is read in jumps
_FAR = 0x2F0  # a ring of rows is larger, a loop over channels smaller
COLUMNS = 8


class Walk(Struct, frozen=True):
    """How an LCU goes over its input: its stride, the width of the map in eights of columns, how many channels an
    output reads, and how many groups of channels each have outputs of their own; 0 where not said."""

    stride: int
    eights: int
    channels: int = 0
    groups: int = 1


UNKNOWN = Walk(0, 0)


def walk_of(image: ChipImage, lcu: LcuId, side_by_side: int) -> Walk:
    """The walk of a convolution whose sub-clusters compute `side_by_side` neighbouring pieces of its rows."""
    words = image.unit_words(lcu.cluster, "LCU", lcu.number, _WORDS, _GENERATOR).words.tolist()
    groups = 1
    if words[_ROWS // 4]:
        across, channels = _ACROSS, _CHANNELS
        if words[(_GROUPS + _STEPS) // 4] == _turns(words, channels) * words[(channels + _STEPS) // 4]:
            groups = _turns(words, _GROUPS) or 1
    elif words[_ROWS_IN_JUMPS // 4] >= _FAR:
        across, channels = _ACROSS_IN_JUMPS, _CHANNELS_IN_JUMPS
    else:
        return Walk(0, 0, _turns(words, _CHANNELS))
    stride, rest = divmod(words[(across + _STEPS) // 4], side_by_side)
    eights = words[(channels + _STEPS) // 4] if words[channels // 4] else 0
    read = _turns(words, channels)
    return Walk(0, 0, read, groups) if rest or not stride else Walk(stride, eights, read, groups)


def _turns(words: list[int], loop: int) -> int:
    """How often a loop turns; 0 where it has no last place, or one that is no multiple of its step."""
    last, step = words[loop // 4], words[(loop + _STEPS) // 4]
    return last // step + 1 if last and step and not last % step else 0
