"""In which order an LCU reads its inputs, and where a copy puts the channels of each (network.md 12, 14).

Address generators name blocks of data memory; the program takes the first base of each generator that reads, then the
second of each. What it reads in turns a copy's writing generator puts apart: the first channel of each input.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from emu.hw.config.image import ChipImage
from emu.net.dataflow import Dataflow, Node
from emu.net.layers import LcuRegisters
from emu.net.units import LcuId, aligner_block, apu_blocks, buffer_blocks, units_of_cluster

_GENERATORS = (0x8000, 0x9000)  # of an LCU, both read
_WRITING = 0xA000
_WORDS = 0x40
_SHIFT = 12  # bases count 4 KiB blocks
_BLOCKS = 128
_BASE, _MARK, _MARKED = 0x8, 0x40, 2
_SINGLE = 0x3C  # where this word is 2, the one base is word 0
_FURTHER = 0xAC  # bases beside the first one
_STRIDES = (0xC, 0x10)  # of bases, where a word at that distance from _MARK is marked too; else they lie side by side
_MOST = 7


class Join(NamedTuple):
    """The ports of an LCU in the order of their channels, and the first channel of each; () where inputs follow each
    other as long as they are."""

    ports: tuple[int, ...]
    firsts: tuple[int, ...]


def input_order(image: ChipImage, dataflow: Dataflow, registers: LcuRegisters) -> tuple[int, ...] | None:
    """The ports of an LCU in the order in which it reads them; None where the blocks do not name each port once."""
    lcu = registers.lcu
    givers = dataflow.givers[lcu]
    if len(givers) == 1:
        return (0,)
    if not registers.units.aligners:
        return None
    first = aligner_block(image, lcu.cluster, registers.units.aligners[0])
    if first is None:
        return None
    written = [_written(image, lcu, giver) for giver in givers]
    order: list[int | None] = []
    for base in islice(_bases(image, lcu), len(givers)):
        block = (first + (base >> _SHIFT)) % _BLOCKS
        ports = [port for port, blocks in enumerate(written) if block in blocks]
        order.append(ports[0] if len(ports) == 1 else None)
    left = sorted(set(range(len(givers))) - set(order))
    if order.count(None) == 1 and len(left) == 1:  # what one base leaves open the others decide
        order[order.index(None)] = left[0]
    found = tuple(port for port in order if port is not None)
    return found if sorted(found) == list(range(len(givers))) else None


def joined(image: ChipImage, lcu: LcuId, order: tuple[int, ...]) -> Join:
    """How a copy joins inputs that it reads in `order`."""
    words = image.unit_words(lcu.cluster, "LCU", lcu.number, _WORDS, _WRITING).words.tolist()
    if len(order) < 2 or words[_FURTHER // 4] != len(order) - 1:
        return Join(order, ())
    firsts = words[_BASE // 4 : _BASE // 4 + len(order)]
    if len(set(firsts)) < len(firsts) or 0 not in firsts:
        return Join(order, ())
    ordered = sorted(zip(firsts, order, strict=True))
    return Join(tuple(port for _, port in ordered), tuple(first for first, _ in ordered))


def _written(image: ChipImage, lcu: LcuId, giver: Node) -> frozenset[int]:
    if giver.kind == "input buffer":
        return buffer_blocks(image, lcu.cluster, giver.number)
    units = units_of_cluster(image, lcu.cluster)[giver.number]
    return frozenset().union(*(apu_blocks(image, lcu.cluster, apu) for apu in units.apus))


def _bases(image: ChipImage, lcu: LcuId) -> Iterator[int]:
    found = [list(_bases_of(image, lcu, generator)) for generator in _GENERATORS]
    for number in range(max(map(len, found))):
        yield from (bases[number] for bases in found if number < len(bases))


def _bases_of(image: ChipImage, lcu: LcuId, generator: int) -> Iterator[int]:
    words = image.unit_words(lcu.cluster, "LCU", lcu.number, _WORDS, generator).words.tolist()
    if not any(words[_BASE // 4 :]):  # it does not read
        return
    further = words[_FURTHER // 4]
    if words[_SINGLE // 4] == _MARKED or (words[_MARK // 4] != _MARKED and not further):
        yield words[0]
        return
    marked = words[_MARK // 4] == _MARKED
    stride = next((s for s in _STRIDES if marked and words[(_MARK + s) // 4] == _MARKED), 4)
    for number in range(min(further, _MOST) + 1):
        yield words[(_BASE + number * stride) // 4]
