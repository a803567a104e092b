"""Well-formed configuration made by hand, for examples and tests: records, compression, programs, stream registers.

Everything comes as the bytes of records; a HEF carries each in a CCW action of its own. What is made here walks, checks
and agrees (emu.hw.config.agreement); it computes nothing on a real chip.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from emu.hw.config.addresses import L3, L3_BLOCK, L3_COMPRESSED, LCU_BASE, LCU_STRIDE, MAPS
from emu.hw.config.commands import COMMAND_OFFSET
from emu.hw.config.compression import SYMBOLS, compress
from emu.hw.config.crc import instruction_codes, record_crcs
from emu.hw.config.packets import HAILO8_END
from emu.sequencer.configuration import HAILO1XH, HAILO8

_COMPRESSED, _CONSTANT, _FENCE, _REGISTER, _NOT_SUB_CLUSTER = 1 << 12, 1 << 11, 1 << 3, 1 << 2, 1 << 13
_TRIGGER_OFFSET = 0x7FC0  # of the record that a trigger starts at: NOPs and a link (chip-config.md 3)
_MOST_HAILO8 = 4 << 16  # bytes of a record


def record(family: str, address: int, data: bytes, *, compressed: bool = False, fence: bool = False) -> bytes:
    """One record that writes `data` (whole words; 1xh: a multiple of 8 bytes) from an address on."""
    if family == HAILO8:
        if not 4 <= len(data) <= _MOST_HAILO8 or len(data) % 4:
            raise ValueError(f"{len(data)} bytes: records of Hailo-8 hold 1 to {_MOST_HAILO8 // 4} words")
        body = struct.pack("<II", len(data) // 4 - 1, address) + data
        return body + bytes(-len(body) % 8)
    if len(data) < 8 or len(data) % 8:
        raise ValueError(f"{len(data)} bytes: records of 1xh hold a multiple of 8")
    if len(data) - 8 >> 15:
        raise ValueError(f"{len(data)} bytes: records of 1xh hold at most {(1 << 15) + 7}")
    place = MAPS[family].place(address)
    flags = 0 if place.unit == "sub-cluster" else _NOT_SUB_CLUSTER
    return _checked(flags | (_COMPRESSED if compressed else 0) | (_FENCE if fence else 0), address, data)


def register(family: str, address: int, value: int, *, fence: bool = False) -> bytes:
    """One record that writes a register."""
    if family == HAILO8:
        return record(family, address, struct.pack("<I", value))
    flags = _REGISTER | _NOT_SUB_CLUSTER | (_FENCE if fence else 0)
    return _checked(flags, 0, struct.pack("<II", value, address))


def _checked(flags: int, address: int, data: bytes) -> bytes:
    header = len(data) - 8 << 17 | _CONSTANT | flags | (address.bit_count() & 1) << 1
    header |= (header & ~2).bit_count() & 1
    body = struct.pack("<II", header, address) + data
    crc = record_crcs(np.frombuffer(body, np.uint8), [0], [len(body)])
    return body + struct.pack("<II", int(crc[0]), 0)


def raised(family: str, interrupt: int) -> bytes:
    """The record that raises MODULE_CONFIG_DONE(interrupt)."""
    return register(family, MAPS[family].raise_register, 1 << interrupt)


def command(cluster: int, phase: int, block: int, next_slot: int, slot: int, *, fence: bool = False) -> bytes:
    """1xh: a write to the command register of a cluster (units.md 3)."""
    value = phase << 28 | block << 10 | next_slot << 5 | slot
    return register(HAILO1XH, MAPS[HAILO1XH].window(cluster) + COMMAND_OFFSET, value, fence=fence)


# --- compression ----------------------------------------------------------------------------------------------------


def symbols_for(data: bytes) -> bytes:
    """56 symbols, the most frequent bytes first; always with 0, whose escape code is the padding."""
    counts = Counter(data)
    order = sorted(range(256), key=lambda byte: (-counts[byte], byte))[:SYMBOLS]
    return bytes(order if 0 in order else [*order[:-1], 0])


def symbol_tables(family: str, symbols: bytes) -> list[bytes]:
    """The records of the symbol table; 1xh: one, which each config channel carries."""
    words = [0, *symbols]
    if family == HAILO8:
        words += [0] * (62 - len(words))
    else:
        words += [0] * (71 - len(words)) + [1]
    data = struct.pack(f"<{len(words)}I", *words)
    return [record(family, address, data) for address in MAPS[family].symbol_tables]


# --- programs -------------------------------------------------------------------------------------------------------


class Scatter(NamedTuple):
    """Words over active units (chip-config.md 5): the kind of packet, the address of the first unit, the words."""

    kind: int
    address: int
    words: Sequence[int]


def packet(
    block: int,
    address: int,
    words: Sequence[int] | bytes,
    kind: int = 0,
    link: int | None = None,
    parity: bool = True,
) -> bytes:
    """One packet in L3 block `block`; `link`: the last one of the block, what follows is in that block (or it ends).

    `words` as numbers or as their bytes; without `parity` bit 63 stays 0, as older compilers left it.
    """
    data = words if isinstance(words, bytes) else struct.pack(f"<{len(words)}I", *words)
    header = len(data) // 4 | kind << 13 | (block if link is None else link) << 17 | address << 32
    header |= 1 << 16 if link is not None else 0
    if parity:
        header = _odd(header)
    return struct.pack("<Q", header) + data + bytes(-len(data) % 8)


def program(blocks: Sequence[int], writes: Iterable[tuple[int, Sequence[int]] | Scatter]) -> dict[int, bytes]:
    """The contents of L3 blocks that hold a Hailo-8 program: plain writes (offset in the window, words) or scatters.

    ValueError where it does not fit into the blocks.
    """
    packets = [one if isinstance(one, Scatter) else Scatter(0, *one) for one in writes]
    contents: dict[int, bytes] = {}
    remaining = list(blocks)
    block, filled = remaining.pop(0), b""
    last = Scatter(0, HAILO8_END[0], [HAILO8_END[1]])
    for number, one in enumerate(packets):
        following = packets[number + 1] if number + 1 < len(packets) else last
        size = 8 + 4 * len(one.words) + 7 & ~7
        room = L3_BLOCK - len(filled) - size - (8 + 4 * len(following.words) + 7 & ~7)
        if room < 0:
            if not remaining or len(filled) + size > L3_BLOCK:
                raise ValueError(f"the program does not fit into L3 blocks {list(blocks)}")
            contents[block] = filled + packet(block, one.address, one.words, one.kind, link=remaining[0])
            block, filled = remaining.pop(0), b""
        else:
            filled += packet(block, one.address, one.words, one.kind)
    contents[block] = filled + packet(block, last.address, last.words, link=block)
    return contents


def start(block: int, first: int) -> bytes:
    """What a Hailo-8 trigger starts at in block `block`: seven NOPs, then a link to block `first`."""
    return bytes(56) + struct.pack("<Q", _odd(1 << 16 | first << 17))


def _odd(header: int) -> int:
    return header | (header.bit_count() + 1 & 1) << 63


def l3_records(cluster: int, contents: Mapping[int, bytes], symbols: bytes | None = None) -> list[bytes]:
    """The Hailo-8 records of L3 blocks, rising; compressed where there are symbols."""
    window = MAPS[HAILO8].window(cluster)
    found = []
    for block, data in sorted(contents.items()):
        base = window + (L3 if symbols is None else L3_COMPRESSED) + block * L3_BLOCK
        found.append(record(HAILO8, base, data if symbols is None else compress(data, symbols)))
    return found


def start_record(cluster: int, block: int, first: int) -> bytes:
    """The Hailo-8 record at a trigger's address: L3 block `block` + 0x7FC0."""
    address = MAPS[HAILO8].window(cluster) + L3 + block * L3_BLOCK + _TRIGGER_OFFSET
    return record(HAILO8, address, start(block, first))


def instructions(rows: Sequence[bytes]) -> list[int]:
    """LCU instructions of 15 bytes each as words, with their error codes (network.md 7)."""
    table = np.frombuffer(b"".join(row + b"\0" for row in rows), np.uint8).reshape(-1, 16).copy()
    table[:, 15] = instruction_codes(table)
    return [int(word) for word in table.reshape(-1).view("<u4")]


def lcu_writes(lcu: int, rows: Sequence[bytes]) -> list[tuple[int, Sequence[int]]]:
    """The plain writes that make an LCU ready to be enabled: its program, +0x1DC and +0x12C (chip-config.md 4)."""
    base = LCU_BASE + lcu * LCU_STRIDE
    return [(base + 0x10000, instructions(rows)), (base + 0x12C, [2]), (base + 0x1DC, [0])]
