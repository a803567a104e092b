"""What starting a program came to: the words it wrote, which units, which LCUs it started (chip-config.md 3, 4)."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from emu.hw.config.addresses import LCU_BASE, LCU_STRIDE, LCUS, ChipMap
from emu.hw.config.crc import flipped_bit, instruction_codes
from emu.hw.config.l3 import L3
from emu.hw.config.packets import Program, offsets_of, walk
from emu.hw.config.records import Numbers
from emu.sequencer.configuration import HAILO8, TriggerSequencer

_START_REGISTER = 0x19C  # 1xh, in an LCU's block: writing 1 starts it
_INSTRUCTIONS = 0x10000  # where an LCU's program lies in its block (network.md 7)
_INSTRUCTION = 16  # bytes


def distinct(numbers: NDArray[np.int64], limit: int) -> list[int]:
    """The different numbers below a limit, rising (numpy.unique imports half of numpy at its first call)."""
    seen = np.zeros(limit, bool)
    seen[numbers] = True
    return [int(number) for number in np.flatnonzero(seen)]


class WrongCode(Struct, frozen=True):
    """Instructions of an LCU whose error code is wrong: the offset of the first in the LCU's block, and how many.

    `bit` is the one bit of the first (8 * byte + bit) that was flipped, where it was one.
    """

    lcu: int
    offset: int
    wrong: int
    instructions: int
    bit: int | None

    def __str__(self) -> str:
        flipped = "" if self.bit is None else f" (the first has bit {self.bit} flipped)"
        counts = f"{self.wrong} of {self.instructions} instructions with a wrong error code"
        return f"+{self.offset:#x}: {counts}{flipped}"


class Instructions(Struct, frozen=True):
    """Instructions of an LCU's program: their places in it, rising, and their 16 bytes each."""

    places: NDArray[np.int64]
    rows: NDArray[np.uint8]


class Effects:
    """A program that was started, and the words that reached its cluster (by their offsets in the window).

    It belongs to no cluster: the same program does the same in each.
    """

    def __init__(self, chip: ChipMap, program: Program, offsets: Numbers) -> None:
        self.chip = chip
        self.program = program
        self.offsets = offsets  # of every word, in the order of writing
        self.words = program.packets.words
        self.images: dict[int, object] = {}  # by cluster, what emu.hw.config.program_image made of it

    def units(self, unit: str) -> frozenset[int]:
        """The units of a kind that were written."""
        bank = self.chip.bank(unit)
        numbers = (self.offsets - bank.base) // bank.stride
        return frozenset(distinct(numbers[(numbers >= 0) & (numbers < bank.units)], bank.units))

    @cached_property
    def lcus(self) -> frozenset[int]:
        """The LCUs whose blocks were written."""
        return self.units("LCU")

    @cached_property
    def started(self) -> frozenset[int]:
        """1xh: the LCUs whose start register got a 1."""
        inside = self.offsets - LCU_BASE
        hit = (inside >= 0) & (inside < LCUS * LCU_STRIDE) & (inside % LCU_STRIDE == _START_REGISTER)
        return frozenset((inside[hit & (self.words == 1)] // LCU_STRIDE).tolist())

    def last(self, offset: int) -> int | None:
        """The word that was written last to an offset."""
        hits = np.flatnonzero(self.offsets == offset)
        return int(self.words[hits[-1]]) if len(hits) else None

    @cached_property
    def wrong_codes(self) -> tuple[WrongCode, ...]:
        """LCUs with instructions whose error code is wrong; none on 1xh, whose instructions are others."""
        found = []
        for lcu, held in self.instructions.items() if self.chip.family == HAILO8 else ():
            places, instructions = held.places, held.rows
            wrong = np.flatnonzero(instruction_codes(instructions) != instructions[:, -1])
            if len(wrong):
                offset = _INSTRUCTIONS + _INSTRUCTION * int(places[wrong[0]])
                bit = flipped_bit(instructions[wrong[0]])
                found.append(WrongCode(lcu, offset, len(wrong), len(places), bit))
        return tuple(found)

    @cached_property
    def instructions(self) -> dict[int, Instructions]:
        """The LCU programs that were written, by LCU."""
        inside = self.offsets - LCU_BASE
        hit = (inside >= 0) & (inside < LCUS * LCU_STRIDE) & (inside % LCU_STRIDE >= _INSTRUCTIONS)
        places, words = inside[hit], self.words[hit]
        found = {}
        for lcu in distinct(places // LCU_STRIDE, LCUS):
            own = places // LCU_STRIDE == lcu
            numbers = (places[own] % LCU_STRIDE - _INSTRUCTIONS) // 4
            rows = np.zeros((LCU_STRIDE - _INSTRUCTIONS) // 4, "<u4")
            rows[numbers] = words[own]
            used = np.array(distinct(numbers // 4, len(rows) // 4))
            found[lcu] = Instructions(used, rows.view(np.uint8).reshape(-1, _INSTRUCTION)[used])
        return found


_Start = tuple[str, int, int, TriggerSequencer | None]
_Blocks = tuple[tuple[int, int], ...]  # number and fingerprint of each block that a program visits
_KEPT_BYTES = 64 << 20
_MOST_WAYS = 8
_SMALLEST = 1 << 12  # bytes that a program of no words takes


class _Kept:
    """The programs that were started last, up to a number of bytes, by their start and the blocks that they visit."""

    def __init__(self) -> None:
        self._effects: OrderedDict[tuple[_Start, _Blocks], tuple[Effects, int]] = OrderedDict()
        self._ways: dict[_Start, list[tuple[int, ...]]] = {}
        self._size = 0

    def find(self, start: _Start, l3: L3) -> Effects | None:
        for way in self._ways.get(start, ()):
            key = start, tuple([(block, l3.content_of(block)) for block in way])
            if key in self._effects:
                self._effects.move_to_end(key)
                return self._effects[key][0]
        return None

    def add(self, start: _Start, l3: L3, effects: Effects) -> None:
        way = effects.program.blocks
        ways = self._ways.setdefault(start, [])
        if way not in ways:
            ways.append(way)
            del ways[:-_MOST_WAYS]
        size = _SMALLEST + 12 * effects.program.words  # a word and its address
        self._effects[start, tuple([(block, l3.content_of(block)) for block in way])] = effects, size
        self._size += size
        while self._size > _KEPT_BYTES and len(self._effects) > 1:
            (start, _), (_, size) = self._effects.popitem(last=False)
            self._size -= size
            if not any(key[0] == start for key in self._effects):
                self._ways.pop(start, None)


_kept = _Kept()


def start_program(
    chip: ChipMap, l3: L3, block: int, offset: int, trigger: TriggerSequencer | None, most: int
) -> Effects:
    """Run the program at an offset of a block: walk at most `most` packets, work out what they write.

    The same content is worked out once a process, whatever its cluster; what was used last is kept.
    """
    start = (chip.family, block, offset, None if trigger is None else replace(trigger, cluster=0))
    effects = _kept.find(start, l3)
    if effects is None or effects.program.steps > most:
        effects = _run(chip, l3, block, offset, trigger, most)
        if effects.program.steps < most:  # what broke off for want of packets is not what the program is
            _kept.add(start, l3, effects)
    return effects


def _run(chip: ChipMap, l3: L3, block: int, offset: int, trigger: TriggerSequencer | None, most: int) -> Effects:
    return Effects(chip, *offsets_of(chip, walk(chip.family, block, offset, l3.block, most), trigger))
