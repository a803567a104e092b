"""Sequencer programs: chains of packets in L3, and the words that they write into a cluster (chip-config.md 3, 5)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import overload

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from emu.hw.config.addresses import L2_START, L3_BLOCK, SUB_CLUSTER_END, SUB_CLUSTER_STRIDE, ChipMap
from emu.hw.config.l3 import Block
from emu.hw.config.records import Numbers, Words
from emu.sequencer.configuration import HAILO8, TriggerSequencer

_LENGTH_MASK = 0x1FFF
_LINK = 1 << 16
_ADDRESS_MASK = 0xFFFFFF
_ALWAYS_ZERO = 0x7F << 56  # header bits 62..56
PLAIN, SUB_CLUSTERS, APUS, L2, INPUT_ALIGNERS = 0, 1, 2, 3, 4  # what the three bits behind the length name
_KINDS = {SUB_CLUSTERS: "sub-cluster", APUS: "APU", INPUT_ALIGNERS: "input aligner", L2: "L2"}
NOBODY_WROTE = "nobody wrote there"
HAILO8_END = (0xE012A0, 0x001EBAAB)  # address and word of the last packet (chip-config.md 3)
MOST_PACKETS = 1 << 20  # of all programs of a list
# what else counts against them, so that time and memory of a list stay bounded: words, and starting a program
_WORDS_A_PACKET, _LEAST_COST = 16, 256
# bits of headers that only scatter packets and malformed ones have: 62..56, a kind above 3, an odd address
_UNUSUAL = _ALWAYS_ZERO | 4 << 13 | 3 << 32


class Packet(Struct, frozen=True):
    """One packet: where it stands in L3, the offset in the cluster's window it writes to, what kind, the words."""

    block: int
    offset: int
    address: int
    kind: int
    words: Words


class Break(Struct, frozen=True):
    """Where a program stops that does not get to its end, and why."""

    block: int
    offset: int
    why: str


class Packets(Sequence[Packet]):
    """The packets of a program in columns, one entry a packet; `words` joins what all of them hold.

    A file has thousands of them: as objects they would cost more than all that is done with them.
    """

    __slots__ = ("address", "block", "ends", "kind", "length", "offset", "words")

    def __init__(
        self,
        blocks: Numbers,
        offsets: Numbers,
        headers: NDArray[np.uint64],
        lengths: Numbers,
        ends: Numbers,
        words: Words,
    ) -> None:
        self.block = blocks
        self.offset = offsets
        self.kind: Numbers = (headers >> np.uint64(13) & np.uint64(7)).astype(np.int64)
        self.address: Numbers = (headers >> np.uint64(32) & np.uint64(_ADDRESS_MASK)).astype(np.int64)
        self.length = lengths
        self.ends = ends  # of each packet's words within `words`
        self.words = words

    def __len__(self) -> int:
        return len(self.length)

    @overload
    def __getitem__(self, number: int) -> Packet: ...
    @overload
    def __getitem__(self, number: slice) -> list[Packet]: ...
    def __getitem__(self, number: int | slice) -> Packet | list[Packet]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        end = int(self.ends[number])
        block, offset, address = int(self.block[number]), int(self.offset[number]), int(self.address[number])
        return Packet(block, offset, address, int(self.kind[number]), self.words[end - int(self.length[number]) : end])

    @property
    def starts(self) -> Numbers:
        """Where the words of each packet begin within `words`."""
        starts: Numbers = self.ends - self.length
        return starts

    def first(self, count: int) -> Packets:
        """The packets in front of number `count`."""
        cut = object.__new__(Packets)
        for name in ("block", "offset", "length", "kind", "address", "ends"):
            setattr(cut, name, getattr(self, name)[:count])
        cut.words = self.words[: int(self.ends[count - 1]) if count else 0]
        return cut


class Program(Struct, frozen=True):
    """A walk through L3: packets in their order (NOPs left out), `blocks` visited, `broken` None at a proper end.

    `steps` counts headers, NOPs too.
    """

    packets: Packets
    blocks: tuple[int, ...]
    broken: Break | None
    steps: int

    @property
    def words(self) -> int:
        """The 32-bit words of data that all packets hold."""
        return len(self.packets.words)

    @property
    def cost(self) -> int:
        """What it takes of a list's MOST_PACKETS."""
        return max(self.steps, self.words // _WORDS_A_PACKET, _LEAST_COST)

    def broken_at(self, number: int, why: str) -> Program:
        """The same program that breaks off at a packet, which it does not write."""
        packet = self.packets[number]
        return replace(self, packets=self.packets.first(number), broken=Break(packet.block, packet.offset, why))


class _Walk:
    """What a walk has met: the blocks, and where packets begin in them, in units of 8 bytes from the first block on."""

    def __init__(self, block: int, held: Block | None) -> None:
        self.visited = [block]
        self._held = [held]
        self._places: list[int] = []

    @property
    def steps(self) -> int:
        """Packets so far, NOPs too."""
        return len(self._places)

    def enter(self, block: int, held: Block | None) -> None:
        """A link leads to another block."""
        self.visited.append(block)
        self._held.append(held)

    def note(self, places: list[int]) -> None:
        """Packets of the block that was entered last."""
        base = (len(self.visited) - 1) * (L3_BLOCK // 8)
        self._places += [base + place for place in places] if base else places

    def ends(self, broken: Break | None) -> Program:
        """The program."""
        held = [np.zeros(0, np.uint32) if one is None else one.words for one in self._held]
        words = held[0] if len(held) == 1 else np.concatenate(held)
        places = np.array(self._places, np.int64)
        headers = words.view("<u8")[places]
        lengths = (headers & np.uint64(_LENGTH_MASK)).astype(np.int64)
        if not lengths.all():  # NOPs
            filled = lengths > 0
            headers, places, lengths = headers[filled], places[filled], lengths[filled]
        ends = np.cumsum(lengths)
        data = np.repeat(2 * places + 2 - ends + lengths, lengths)
        data += np.arange(len(data))
        blocks = np.array(self.visited)[places // (L3_BLOCK // 8)]
        packets = Packets(blocks, 8 * places % L3_BLOCK, headers, lengths, ends, words[data])
        return Program(packets, tuple(self.visited), broken, self.steps)


def _chain(headers: memoryview, block: int, offset: int, stop: int, most: int) -> tuple[list[int], str]:
    """Where packets begin, in units of 8 bytes: from an offset on, up to one that links or does not end before `stop`.

    Also why what follows is malformed, or nothing.
    """
    found: list[int] = []
    at, last = offset >> 3, stop - 8 >> 3
    while at <= last and most:
        header = headers[at]
        if header and (header & _UNUSUAL or header >> 17 & 0x7FFF != block):
            why = _malformed(header, block)
            if why:
                return found, why
        found.append(at)
        if header & _LINK:
            break
        at += 1 + ((header & _LENGTH_MASK) + 1 >> 1)
        most -= 1
    return found, ""


def walk(
    family: str, block: int, offset: int, block_at: Callable[[int], Block | None], most: int = MOST_PACKETS
) -> Program:
    """Follow at most `most` packets from an offset of a block on. A walk that breaks off says where."""
    held = block_at(block)
    met = _Walk(block, held)
    if offset % 8:
        return met.ends(Break(block, offset, "a start that is no multiple of 8"))
    while met.steps < most:
        stop = offset if held is None else held.written_until(offset)
        if held is None or offset + 8 > stop:
            return met.ends(Break(block, offset, NOBODY_WROTE))
        places, why = _chain(held.headers, block, offset, stop, most - met.steps)
        if places:
            offset = 8 * places[-1]
        header = held.headers[offset >> 3]
        length, target = header & _LENGTH_MASK, header >> 17 & 0x7FFF
        end = offset + 8 + 4 * length
        following = end + 7 & ~7
        if why:
            met.note(places)
            return met.ends(Break(block, following if places else offset, why))
        if end > stop:
            met.note(places[:-1])
            return met.ends(Break(block, offset, f"{length} words, {(stop - offset - 8) // 4} were written"))
        met.note(places)
        if not header & _LINK:
            offset = following
        elif held.written_once and stop > following:
            # what one record brought ends with its last packet; behind several there may be older content
            return met.ends(Break(block, offset, f"{stop - following} bytes behind the last packet of the block"))
        elif target == block:
            ended = _is_end(family, header, held.words[(offset >> 2) + 2 : end >> 2])
            return met.ends(None if ended else Break(block, offset, "no end marker"))
        elif target in met.visited:
            return met.ends(Break(block, offset, f"a link back to block {target}"))
        else:
            block, offset, held = target, 0, block_at(target)
            met.enter(block, held)
    return met.ends(Break(block, offset, "too many packets"))


def _is_end(family: str, header: int, words: Words) -> bool:
    """Whether a packet ends a program (chip-config.md 3)."""
    if family != HAILO8:
        return len(words) > 0
    return len(words) == 1 and (header >> 32 & _ADDRESS_MASK, int(words[0])) == HAILO8_END


def _malformed(header: int, block: int) -> str:
    kind, target, address = header >> 13 & 7, header >> 17 & 0x7FFF, header >> 32 & _ADDRESS_MASK
    if header & _ALWAYS_ZERO:
        return "bits 62..56 of the header are not 0"
    if kind > INPUT_ALIGNERS:
        return f"scatter kind {kind}"
    if not header & _LINK and target != (block if header & _LENGTH_MASK else 0) and target != block:
        return f"names block {target} without a link"
    if address & 3:
        return f"address {address:#x} is no multiple of 4"
    return ""


# --- scatter --------------------------------------------------------------------------------------------------------


def units_of(bitmap: int, *, by_fours: bool = False) -> list[int]:
    """The units of a bitmap, rising; `by_fours`: by k modulo 4, then k (network.md 1)."""
    units = [unit for unit in range(bitmap.bit_length()) if bitmap >> unit & 1]
    return sorted(units, key=lambda unit: (unit & 3, unit)) if by_fours else units


def l2_starts(trigger: TriggerSequencer) -> dict[int, int]:
    """Where the L2 data of each active sub-cluster begin, in the order of interleaving."""
    fields = 0
    for number, word in enumerate(trigger.l2_write):
        fields |= (word & 0xFFFFFFFF) << 32 * number
    return {unit: L2_START | (fields >> 2 * unit & 3) << 12 for unit in units_of(trigger.active_l2, by_fours=True)}


class ScatterError(Exception):
    """A scatter packet that does not fit its units; the text says why."""


class _Stream:
    """One kind of scatter packets of a program: one stream of words over all its packets (network.md 1)."""

    def __init__(self, addresses: Words) -> None:
        self._addresses = addresses
        self._done = 0

    def take(self, address: int, length: int) -> Words:
        start, end = self._done, self._done + length
        if end > len(self._addresses):
            raise ScatterError(f"{length} words where {len(self._addresses) - start} are left")
        if int(self._addresses[start]) != address:
            raise ScatterError(f"address {address:#x} where the stream stands at {self._addresses[start]:#x}")
        self._done = end
        return self._addresses[start:end]

    @property
    def left(self) -> int:
        return len(self._addresses) - self._done


def _unit_addresses(chip: ChipMap, kind: int, trigger: TriggerSequencer) -> Words:
    unit = _KINDS[kind]
    bitmap = {SUB_CLUSTERS: trigger.active_sc, APUS: trigger.active_apu, INPUT_ALIGNERS: trigger.active_ia}[kind]
    bank = chip.bank(unit)
    units = units_of(bitmap & (1 << bank.units) - 1, by_fours=kind == SUB_CLUSTERS)
    bases = bank.base + bank.stride * np.array(units, np.uint32)
    words = 4 * np.arange(chip.words_a_unit[unit], dtype=np.uint32)
    return (words[:, None] + bases[None, :]).reshape(-1).astype(np.uint32)


def _l2_addresses(trigger: TriggerSequencer, first: int) -> Words:
    """Every word of the L2 stream: at each offset one for each unit that has joined.

    The stream begins at the offset of the first packet (`first`), which lies in the lowest page in use.
    """
    starts = l2_starts(trigger)
    offset = first & SUB_CLUSTER_STRIDE - 1
    if not starts or not min(starts.values()) <= offset < SUB_CLUSTER_END:
        return np.zeros(0, np.uint32)
    borders = sorted({start for start in starts.values() if start > offset} | {offset, SUB_CLUSTER_END})
    pieces = []
    for begin, end in itertools.pairwise(borders):
        joined = np.array([unit << 16 for unit, start in starts.items() if start <= begin], np.uint32)
        offsets = np.arange(begin, end, 4, dtype=np.uint32)
        pieces.append((offsets[:, None] + joined[None, :]).reshape(-1))
    return np.concatenate(pieces).astype(np.uint32)


def offsets_of(chip: ChipMap, program: Program, trigger: TriggerSequencer | None) -> tuple[Program, Numbers]:
    """Where every word of a program goes, as offsets in the cluster's window, in the order of writing.

    `trigger` holds the bitmaps of scatter packets; a command has none. Where one does not fit, or a stream was not
    written whole at the end, the program comes back as one that breaks off there.
    """
    packets = program.packets
    starts = packets.starts
    offsets: Numbers = np.repeat(packets.address - 4 * starts, packets.length) + 4 * np.arange(len(packets.words))
    streams: dict[int, _Stream] = {}
    for number in np.flatnonzero(packets.kind != PLAIN).tolist():
        kind, address = int(packets.kind[number]), int(packets.address[number])
        start, end = int(starts[number]), int(packets.ends[number])
        try:
            if trigger is None:
                raise ScatterError("a scatter packet in a program that no trigger started")
            if kind not in streams:
                streams[kind] = _stream(chip, kind, trigger, address)
            offsets[start:end] = streams[kind].take(address, end - start)
        except ScatterError as error:
            return program.broken_at(number, str(error)), offsets[:start]
    for kind, stream in streams.items():
        if stream.left:
            last = packets[-1]
            why = f"{stream.left} words over {_KINDS[kind]}s are missing"
            return replace(program, broken=Break(last.block, last.offset, why)), offsets
    return program, offsets


def _stream(chip: ChipMap, kind: int, trigger: TriggerSequencer, address: int) -> _Stream:
    addresses = _l2_addresses(trigger, address) if kind == L2 else _unit_addresses(chip, kind, trigger)
    if not len(addresses):
        raise ScatterError(f"a scatter packet over {_KINDS[kind]}s, none is active")
    return _Stream(addresses)
