"""Weights and biases of an LCU, from the memory of its sub-clusters and the data blocks of L3 (network.md 5, 11, 12).

Biases lie first in the part of the memory that belongs to the LCU, weights end at 0xC000 and are read downwards; what
has no room there goes on upwards in L3. A weight word holds one input of eight outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from emu.hw.config.image import ChipImage
from emu.net.layers import L2_END, L2_START, Kind, LcuRegisters

Bytes = NDArray[np.uint8]
Int8s = NDArray[np.int8]
Int16s = NDArray[np.int16]

OUTPUTS = 8  # of one group: the outputs of a weight word
_ALIGNMENT = 64
INTERLEAVED = (0, 2, 4, 6, 1, 3, 5, 7)  # which output each byte of a convolution's weight word is for
_BIAS = {Kind.DENSE: 64}  # bytes of bias lines of one group
_CONV_BIAS = 128
_SIDES = (1, 3, 5, 7)
_PART_ROWS = 2  # of three: what the first part of a kernel in two parts holds


class UnreadError(Exception):
    """An LCU whose contents are not understood; the text says what."""


class Weights(Struct, frozen=True):
    """Weights as integers with the bias in its own scale (network.md 6).

    `kernel`: int8 [outputs, kernel rows, kernel columns, inputs of one output] of a convolution, [outputs, inputs] of a
    dense layer, [outputs] of a per-channel scale, [outputs, 2] of a sum of two maps; `bias`: int16 [outputs].
    """

    kernel: Int8s
    bias: Int16s

    @property
    def outputs(self) -> int:
        """Channels that the layer gives, filled up to whole groups of eight."""
        return len(self.bias)


class Plan(NamedTuple):
    """How the weight words of a convolution are laid out: read downwards, for each pass over `groups` of its groups of
    outputs, for each of `inputs` channels, row by row or, `columns_first`, column by column with the last row first.

    `in_parts`: the outer rows of all passes come first, then the one in the middle: what reads every other row adds
    each row between two outputs to both, the others to one.
    """

    inputs: int
    rows: int
    columns: int
    groups: int
    columns_first: bool
    per_channel: bool = False  # an output reads one channel of its own
    in_parts: bool = False


def groups_of(registers: LcuRegisters) -> int:
    """Groups of eight outputs in each sub-cluster. Raises UnreadError where words or memory do not fit them."""
    groups = registers.groups
    if not groups or registers.words % groups:
        raise UnreadError(f"{registers.words} weight words are no {groups} groups of outputs")
    wanted = -(-(bias_bytes(registers) + registers.words * registers.bits) // _ALIGNMENT) * _ALIGNMENT
    if wanted < registers.size:
        raise UnreadError(f"{groups} groups with {registers.words} weight words do not fill {registers.size} bytes")
    return groups


def factors_of(registers: LcuRegisters) -> int:
    """Factors that a sum of two maps has: two for each bias where it has any, else as many as its memory holds."""
    if registers.groups:
        return 2 * OUTPUTS * registers.groups
    held = max(registers.size - bias_bytes(registers), 0) // OUTPUTS
    return min(held, registers.words)


def bias_bytes(registers: LcuRegisters) -> int:
    """Bytes of the bias lines of a sub-cluster."""
    if registers.kind is Kind.ADD:
        return max(_CONV_BIAS * registers.groups, _ALIGNMENT)
    return _BIAS.get(registers.kind, _CONV_BIAS) * registers.groups


def words_in_l2(registers: LcuRegisters) -> int:
    """Weight words that lie in each sub-cluster's own memory; the others follow in L3."""
    return min((registers.size - bias_bytes(registers)) // registers.bits, registers.words)


def memories(image: ChipImage, registers: LcuRegisters) -> list[tuple[int, Bytes]]:
    """The part of each sub-cluster's memory that belongs to the LCU, in the order of its outputs; units with equal
    memory count once, as the first."""
    found: dict[bytes, tuple[int, Bytes]] = {}
    for number in registers.units.sub_clusters:
        start = L2_END - registers.size
        if start < L2_START:
            raise UnreadError(f"{registers.size} bytes of memory are more than a sub-cluster has")
        held = image.unit_words(registers.lcu.cluster, "sub-cluster", number, registers.size // 4, start).words
        memory = held.astype("<u4").view(np.uint8)
        found.setdefault(memory.tobytes(), (number, memory))
    return list(found.values())


def plan_of(registers: LcuRegisters, least: int, most: int) -> Plan:
    """The plan of a convolution whose source has `least` to `most` channels.

    Raises UnreadError where none or several fit.
    """
    groups = groups_of(registers)
    each = registers.words // groups
    if registers.per_channel:
        return _per_channel(registers, each)
    if registers.in_parts:
        if registers.steps != _PART_ROWS * registers.groups_a_step or not registers.columns_first:
            raise UnreadError(f"its kernel is stored in parts of {registers.steps} words a step, which are not known")
        sides = [(_PART_ROWS + 1, _PART_ROWS + 1)]
    elif registers.columns_first:
        rows, rest = divmod(registers.steps, registers.groups_a_step)
        sides = [] if rest else [(rows, rows)]
    else:
        sides = [(side, side) for side in _SIDES] + [(1, side) for side in _SIDES[1:]]
    fitting = {
        Plan(
            each // (rows * columns),
            rows,
            columns,
            registers.groups_a_step,
            registers.columns_first,
            in_parts=registers.in_parts,
        )
        for rows, columns in sides
        if not each % (rows * columns) and least <= each // (rows * columns) <= most
    }
    if not fitting and math.isqrt(each) ** 2 == each and math.isqrt(each) in _SIDES:
        return _per_channel(registers, each)  # of one group of outputs nothing else tells it apart
    if len(fitting) != 1 or groups % registers.groups_a_step:
        raise UnreadError(f"{each} weights an output are no kernel over {_range(least, most)} channels")
    return fitting.pop()


def _per_channel(registers: LcuRegisters, each: int) -> Plan:
    side = math.isqrt(each)
    if side * side != each:
        raise UnreadError(f"{each} weights a channel are no square kernel")
    return Plan(1, side, side, 1, registers.columns_first, True)


def conv_weights(image: ChipImage, registers: LcuRegisters, plan: Plan, runs: Sequence[Bytes] = ()) -> Weights:
    """The weights of a convolution; `runs`: what lies in L3 for each of its sub-clusters, by slot.

    Raises UnreadError where they do not fit together.
    """
    passes = registers.groups // plan.groups
    kernels, biases = [], []
    for slot, (_, memory) in enumerate(memories(image, registers)):
        words = _words(registers, memory, runs[slot] if runs else None)
        kernels.append(_laid(words, plan, passes)[:, :, np.argsort(INTERLEAVED)])
        biases.append(_bias_lines(memory, registers.groups).reshape(passes, plan.groups, OUTPUTS))
    # every pass goes over all sub-clusters before the next begins; those with an APU each have parts of their own
    axis = 0 if len(registers.units.apus) > 1 else 1
    kernel = np.stack(kernels, axis).reshape(-1, plan.rows, plan.columns, plan.inputs)
    return Weights(np.ascontiguousarray(kernel), np.stack(biases, axis).reshape(-1))


def _laid(words: Int8s, plan: Plan, passes: int) -> Int8s:
    """Weight words as [pass, group, byte, row, column, input]."""
    if not plan.columns_first:
        laid = words.reshape(passes, plan.inputs, plan.rows, plan.columns, plan.groups, OUTPUTS)
        return laid.transpose(0, 4, 5, 2, 3, 1)
    if plan.in_parts:
        first = len(words) * _PART_ROWS // plan.rows
        outer = _laid(words[:first], plan._replace(rows=_PART_ROWS, in_parts=False), passes)
        middle = _laid(words[first:], plan._replace(rows=1, in_parts=False), passes)
        return np.concatenate([outer[:, :, :, :1], middle, outer[:, :, :, 1:]], 3)
    laid = words.reshape(passes, plan.inputs, plan.columns, plan.rows, plan.groups, OUTPUTS)
    return laid.transpose(0, 4, 5, 3, 2, 1)[:, :, :, ::-1]


def grouped(weights: Weights, groups: int) -> Weights:
    """The weights of `groups` groups of channels, each of which has a group of outputs of its own: as many outputs as
    inputs of each, the others empty. As one kernel over all channels, 0 between the groups.

    Raises UnreadError where that is not so.
    """
    rows, columns, inputs = weights.kernel.shape[1:]
    if weights.outputs != groups * OUTPUTS or inputs > OUTPUTS:
        raise UnreadError(f"{weights.outputs} outputs are no {groups} groups of {inputs}")
    apart = weights.kernel.reshape(groups, OUTPUTS, rows, columns, inputs)
    bias = weights.bias.reshape(groups, OUTPUTS)
    if apart[:, inputs:].any() or bias[:, inputs:].any():
        raise UnreadError(f"its groups of {inputs} channels have more than {inputs} outputs each")
    kernel = np.zeros((groups, inputs, rows, columns, groups, inputs), np.int8)
    for group in range(groups):
        kernel[group, ..., group, :] = apart[group, :inputs]
    channels = groups * inputs
    return Weights(kernel.reshape(channels, rows, columns, channels), bias[:, :inputs].reshape(-1))


def sum_weights(image: ChipImage, registers: LcuRegisters, runs: Sequence[Bytes] = ()) -> Weights:
    """The factors of a sum of two maps: a word of eight equal ones for each channel of each. `runs` as in
    `conv_weights`; biases of none where its registers count no groups of them."""
    found = memories(image, registers)
    if len(found) != 1 or registers.words % (2 * OUTPUTS):
        raise UnreadError(f"{registers.words} factors in {len(found)} sub-clusters")
    memory = found[0][1]
    words = _words(registers, memory, runs[0] if runs else None)
    if (words != words[:, :1]).any():
        raise UnreadError("its factors differ within a word")
    kernel = np.ascontiguousarray(words[:, 0].reshape(-1, 2))
    if not registers.groups:
        if memory[: bias_bytes(registers)].any():
            raise UnreadError("biases that its registers do not count")
        return Weights(kernel, np.zeros(len(kernel), np.int16))
    if registers.groups * OUTPUTS != len(kernel):
        raise UnreadError(f"{registers.groups} groups of biases for {len(kernel)} channels")
    return Weights(kernel, _bias_lines(memory, registers.groups))


def scale_weights(image: ChipImage, registers: LcuRegisters) -> Weights:
    """The factors of a per-channel scale: a word of eight for each group, or a diagonal matrix for one group."""
    if registers.words > registers.groups:
        return _diagonal(image, registers)
    kernels, biases = [], []
    for _, memory in memories(image, registers):
        words = _words(registers, memory, None)
        kernels.append(words[:, np.argsort(INTERLEAVED)].reshape(-1))
        biases.append(_bias_lines(memory, registers.groups))
    return Weights(np.concatenate(kernels), np.concatenate(biases))


def _diagonal(image: ChipImage, registers: LcuRegisters) -> Weights:
    found = memories(image, registers)
    memory = found[0][1]
    words = _words(registers, memory, None)
    lines = memory[: bias_bytes(registers)].view("<i2").reshape(OUTPUTS, OUTPUTS)
    if len(found) > 1 or (words * ~np.eye(OUTPUTS, dtype=bool)).any() or (lines != lines[0]).any():
        raise UnreadError("its weights are no diagonal matrix with one line of biases")
    return Weights(words.diagonal().copy(), lines[0].astype(np.int16))


def dense_weights(image: ChipImage, registers: LcuRegisters, runs: Sequence[Bytes] = ()) -> Weights:
    """The weights of a dense layer; groups are dealt out to its sub-clusters in turn. `runs` as in `conv_weights`."""
    groups = groups_of(registers)
    inputs = registers.words // groups
    kernels, biases = [], []
    for slot, (_, memory) in enumerate(memories(image, registers)):
        words = _words(registers, memory, runs[slot] if runs else None)
        kernels.append(words.reshape(groups, inputs, OUTPUTS).transpose(0, 2, 1))
        lines = memory[: bias_bytes(registers)].view("<i2").reshape(groups, 4, OUTPUTS)
        if (lines != lines[:, :1]).any():
            raise UnreadError("its bias lines are not alike")
        biases.append(lines[:, 0])
    kernel = np.stack(kernels, 1).reshape(-1, inputs)
    return Weights(np.ascontiguousarray(kernel), np.stack(biases, 1).reshape(-1).astype(np.int16))


def _words(registers: LcuRegisters, memory: Bytes, behind: Bytes | None) -> Int8s:
    """All weight words of a sub-cluster as it reads them, [words, 8]."""
    here = words_in_l2(registers)
    missing = registers.words - here
    bits = registers.bits
    own = memory[len(memory) - bits * here :]
    if missing and (behind is None or len(behind) < bits * missing):
        raise UnreadError(f"{missing} of {registers.words} weight words are not in L3 where they belong")
    if bits == OUTPUTS:
        words = own.reshape(-1, OUTPUTS)[::-1]
        if behind is not None and missing:
            words = np.concatenate([words, behind[: bits * missing].reshape(-1, OUTPUTS)])
        return words.view(np.int8)
    if missing or here % 2:
        raise UnreadError(f"{registers.words} weight words of {bits} bits, {missing} of them in L3")
    # two words share eight bytes, the first one read has the lower halves; each weight counts twice
    halves = own.reshape(-1, OUTPUTS)[::-1]
    pairs = np.stack([halves << 4, halves & 0xF0], 1).view(np.int8) >> 3
    return pairs.reshape(-1, OUTPUTS)


def _bias_lines(memory: Bytes, groups: int) -> Int16s:
    """Biases of a convolution: for each output a line of eight equal values."""
    lines = memory[: _CONV_BIAS * groups].view("<i2").reshape(groups * OUTPUTS, OUTPUTS)
    if (lines != lines[:, :1]).any():
        raise UnreadError("its bias lines are not alike")
    return lines[:, 0].astype(np.int16)


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
