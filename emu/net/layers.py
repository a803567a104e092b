"""What the registers of an LCU and its units say: the kind of layer, its scales, zero point and activation
(network.md 4, 6, 11). All words of a unit stand at its base + 4 * index.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.hw.config.image import ChipImage
from emu.net.programs import Instructions, awaited_rows, is_padded, repeats
from emu.net.units import LcuId, LcuUnits

Words = NDArray[np.uint32]

LINE = 16  # bytes: the unit in which an LCU counts the memory of its sub-clusters
L2_START, L2_END = 0x8000, 0xC000
_SIZE = 0xE018  # a register of an LCU: 0x400 - size / 16
_WHOLE = 0x400
_LOOPS = 0xD000  # registers of an LCU: how it goes over its weight words
_INNER, _OUTER, _SECOND, _BEHIND, _GROUPS_AGAIN, _SINGLE = 0x8, 0xC, 0x10, 0x14, 0x18, 0x68
_BIASES, _SUMS = 0xE008, 0xE00C  # registers of an LCU: 8 * groups - 4, and the same of partial sums
_FACTORS = 0xE000  # of an LCU that adds two maps: as _SIZE
_TWICE = 1  # aligner word 0 of what gives each row and column twice
_LAYOUT_WORDS = 7  # of the inner loop where a layout change is meant
_SCALE_GROUP = 136  # bytes of biases and factors of eight channels
_NARROW = 1 << 1  # SC word 0: weights of four bits
_SC_WORDS, _ALIGNER_WORDS, _APU_WORDS = 7, 6, 43
_WIDE = 1 << 3  # APU word 0: 16-bit outputs
_LARGEST = 0x7FFF  # of an accumulator; breaks that are not used stand there
_POOL_5 = 4  # APU word 1 of what looks like 5x5 stride 1 (network.md 11)


class Kind(Enum):
    """What an LCU computes; the values are those of `emu net --json`."""

    CONV = "conv"
    DENSE = "dense"
    MAX_POOL = "maxpool"
    COPY = "copy"
    UPSAMPLE = "upsample"
    SCALE = "scale"
    LAYOUT = "layout"
    ADD = "add"
    MEAN = "mean"
    OTHER = "other"


_KINDS = {
    0x2F: Kind.CONV,
    0x30: Kind.DENSE,
    0x20: Kind.MAX_POOL,
    0x28: Kind.COPY,
    0x2A: Kind.SCALE,
    0x23: Kind.ADD,
}
_LAYOUT = 0x3F
WEIGHTED = frozenset({Kind.CONV, Kind.DENSE, Kind.SCALE})
PASSING = frozenset({Kind.COPY, Kind.LAYOUT})


class Curve(Struct, frozen=True):
    """The activation of an APU: nine linear pieces, piece k holds from `breaks[k - 1]` on, in half units of acc.

    `slopes` are (mantissa, exponent): mantissa / 512 * 2 ** -exponent an acc; `offsets` are eighths of an output code.
    `wide`: codes have 16 bits, else 8.
    """

    breaks: tuple[int, ...]
    slopes: tuple[tuple[int, int], ...]
    offsets: tuple[int, ...]
    wide: bool

    @property
    def is_linear(self) -> bool:
        """All pieces are one line."""
        return len(set(self.slopes)) == 1 and len(set(self.offsets)) == 1

    @property
    def is_rectifier(self) -> bool:
        """A constant, then one line from where it has that value: max(constant, line)."""
        first = self.breaks[0]
        lines = set(zip(self.slopes[1:], self.offsets[1:], strict=True))
        if self.slopes[0][0] or len(lines) != 1:
            return False
        mantissa, exponent = self.slopes[1]
        # eighths of a code at the first break, times 2 ** exponent
        return mantissa >= 0 and first * mantissa == (self.offsets[0] - self.offsets[1]) * 128 << exponent

    @property
    def never_falls(self) -> bool:
        """A larger accumulator never gives a smaller code; known of lines and rectifiers alone."""
        return self.is_rectifier or (self.is_linear and self.slopes[0][0] >= 0)

    @property
    def is_identity(self) -> bool:
        """Slope 1 and no offset: what copies and pools have."""
        return self.is_linear and self.slopes[0] == (512, 0) and self.offsets[0] == 0

    @property
    def top(self) -> int:
        """The largest output code."""
        return 0xFFFF if self.wide else 0xFF

    @property
    def zero_point(self) -> int | None:
        """The output code of zero: where the curve is constant at its left end, or crosses zero in one line."""
        if self.slopes[0][0] and len({*self.offsets[: self._reached]}) > 1:
            return None
        return self.offsets[0] // 8 if self.offsets[0] % 8 == 0 else None

    @property
    def _reached(self) -> int:
        """Pieces that any accumulator below the largest one falls into."""
        return 1 + sum(brk < _LARGEST for brk in self.breaks)


class LcuRegisters(Struct, frozen=True):
    """One LCU as its registers stand.

    `level` is L of network.md 4 and 6. Of each of its sub-clusters: `words` weight words of `bits` bits an output,
    `groups` of eight outputs, `size` bytes of memory; `steps` words make a step, over `groups_a_step` groups. A kernel
    whose `columns_first` are read is summed row by row; `per_channel`: an output reads one input; `in_parts`: a kernel
    whose last words are a row of their own. `factor` is word 1 of its sub-clusters: what is added, summed or scaled is
    multiplied with it, `repeats` times for an input that a convolution adds (0: not known); `zero_point` that of its
    input. `problem` says what does not fit, "" where all does.
    """

    lcu: LcuId
    units: LcuUnits
    kind: Kind
    code: int
    level: int
    steps: int
    words: int
    bits: int
    groups: int
    groups_a_step: int
    columns_first: bool
    per_channel: bool
    in_parts: bool
    size: int
    factor: int
    repeats: int
    zero_point: int
    curve: Curve
    pool_hint: bool
    padded_hint: bool
    awaited: int
    problem: str

    @property
    def has_weights(self) -> bool:
        """Whether its sub-clusters hold weights that say what it computes."""
        return self.kind in WEIGHTED and not (self.kind is Kind.SCALE and self.factor)


def read_registers(
    image: ChipImage, lcu: LcuId, units: LcuUnits, instructions: Instructions | None = None
) -> LcuRegisters:
    """Read the registers of an LCU and of all its units; `instructions` [n, 16] are its program."""
    problems = [f"it has no {kind}" for kind in units.missing]
    sc = _common(image, lcu, "sub-cluster", units.sub_clusters, _SC_WORDS, problems)
    aligner = _common(image, lcu, "input aligner", units.aligners, _ALIGNER_WORDS, problems, compared=3)
    apu = _common(image, lcu, "APU", units.apus, _APU_WORDS, problems, first=2, compared=28)
    word = int(sc[0])
    code = word >> 12 & 0x3F
    kind = _KINDS.get(code, Kind.OTHER)
    if code == _LAYOUT and _register(image, lcu, _LOOPS + _INNER) == _LAYOUT_WORDS:
        kind = Kind.LAYOUT
    elif code == _LAYOUT and _register(image, lcu, _LOOPS + _OUTER) == _LAYOUT_WORDS:
        kind = Kind.SCALE  # what lies in its memory says how
    level = word >> 2 & 3
    factors = _register(image, lcu, _FACTORS)
    if kind is Kind.MAX_POOL and factors:
        kind = Kind.ADD
    elif kind is Kind.COPY and int(aligner[0]) == _TWICE:
        kind = Kind.UPSAMPLE
    size = (_WHOLE - min(factors if kind is Kind.ADD else _register(image, lcu, _SIZE), _WHOLE)) * LINE
    loops = _loops(image, lcu, kind, (word >> 4 & 0xF) + 1, size)
    if kind in WEIGHTED and int(aligner[1]) not in (0, 2 << level):
        problems.append(f"its aligners multiply at level {int(aligner[1])}, its sub-clusters at {2 << level}")
    if kind is Kind.CONV and not int(aligner[1]) and int(sc[1]):
        kind = Kind.MEAN
    elif kind in WEIGHTED and not int(aligner[1]) and not (kind is Kind.SCALE and int(sc[1])):
        kind = Kind.OTHER
        problems.append("it multiplies by no weights of its memory: what it sums or scales is not known")
    elif kind is Kind.OTHER:
        problems.append(f"its sub-clusters compute {code:#x}, which is not known")
    return LcuRegisters(
        lcu,
        units,
        kind,
        code,
        level,
        loops.steps,
        loops.words,
        4 if word & _NARROW else 8,
        loops.groups,
        loops.groups_a_step,
        loops.columns_first,
        loops.per_channel,
        loops.in_parts,
        size,
        int(sc[1]),
        0 if instructions is None else repeats(instructions),
        int(aligner[2]),
        _curve(apu),
        bool(apu[1] == _POOL_5),
        instructions is not None and is_padded(instructions),
        0 if instructions is None else awaited_rows(instructions),
        "; ".join(problems),
    )


class _Loops(Struct, frozen=True):
    """As in `LcuRegisters`."""

    steps: int
    words: int
    groups: int
    groups_a_step: int
    columns_first: bool
    per_channel: bool
    in_parts: bool


def _loops(image: ChipImage, lcu: LcuId, kind: Kind, steps: int, size: int) -> _Loops:
    """How an LCU goes over its weight words (network.md 13)."""
    inner, outer, second, behind, again, single = (
        _register(image, lcu, _LOOPS + offset) for offset in (_INNER, _OUTER, _SECOND, _BEHIND, _GROUPS_AGAIN, _SINGLE)
    )
    biases, sums = _register(image, lcu, _BIASES), _register(image, lcu, _SUMS)
    if kind is Kind.DENSE:
        return _Loops(steps, inner + 1, (sums + 4) // 4, 1, False, False, False)
    if kind is Kind.SCALE and outer == _LAYOUT_WORDS:
        return _Loops(steps, outer + 1, 1, 1, False, False, False)
    if kind is Kind.SCALE:
        groups = size // _SCALE_GROUP
        return _Loops(steps, groups, groups, 1, False, False, False)
    groups = (biases + 4) // 8
    if kind is Kind.ADD:
        return _Loops(steps, outer + 1 + second, groups, 1, False, False, False)
    # of channels by themselves the outer loop counts the groups behind the first, in whichever register it stands
    apart = bool(inner or single or (behind and again == 1))
    words = inner + outer + 1 + (second + 1 if second else 0) + (behind if apart else 0)
    partial = (sums + 4) // 8 if sums else 0
    return _Loops(steps, words, groups, steps - partial, bool(sums), apart, bool(second))


def _register(image: ChipImage, lcu: LcuId, offset: int) -> int:
    return int(image.unit_words(lcu.cluster, "LCU", lcu.number, 1, offset).words[0])


def _common(
    image: ChipImage,
    lcu: LcuId,
    unit: str,
    numbers: tuple[int, ...],
    count: int,
    problems: list[str],
    *,
    first: int = 0,
    compared: int = 0,
) -> Words:
    """The words that all units of a kind hold; those `[first, compared)` have to agree."""
    found = [image.unit_words(lcu.cluster, unit, number, count).words for number in numbers]
    if not found:
        return np.zeros(count, np.uint32)
    if any((words[first : compared or count] != found[0][first : compared or count]).any() for words in found[1:]):
        problems.append(f"its {unit}s disagree")
    return found[0]


def _curve(apu: Words) -> Curve:
    breaks = apu[2:10].astype(np.uint16).view(np.int16)
    slopes = apu[10:19].astype(np.int64)
    wide = bool(apu[0] & _WIDE)
    offsets = apu[19:28].astype(np.int64) & (0xFFFFF if wide else 0x1FFF)
    if not wide:  # of 16-bit outputs none below 0 is known
        offsets -= (offsets & 0x1000) << 1
    mantissas = np.where(slopes & 0x800, (slopes & 0xFFF) - 0x1000, slopes & 0xFFF)
    pairs = zip(mantissas.tolist(), (slopes >> 12 & 0xF).tolist(), strict=True)
    return Curve(tuple(breaks.tolist()), tuple(pairs), tuple(offsets.tolist()), wide)
