"""Records of configuration as plain trees and back: what `emu disasm --chip` describes and `emu asm` assembles.

A tree names an address as people write it and holds what the record means: a value, words, or the packets of a
sequencer program, decompressed. What follows from that (lengths, compression, parities, check values) is worked out
anew. Leaves are numbers, texts, truth values, and bytes for weights (little-endian words).

Words come as hexadecimal numbers. Where they take several lines, each begins with the offset in its unit; such a label
may be left out, but it may not be wrong, so that a word too many or too few is seen.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace

from emu.hw.config import build
from emu.hw.config.addresses import L3_BLOCK, MAPS
from emu.hw.config.commands import command_of
from emu.hw.config.compression import compress, decompress, symbols_of
from emu.hw.config.image import decoder_of
from emu.hw.config.packets import L2, PLAIN
from emu.hw.config.records import Bytes, Records, read_records
from emu.sequencer.configuration import HAILO8, CcwRecords

Node: TypeAlias = dict[str, Any]

_OVER = {1: "sub-clusters", 2: "APUs", 3: "L2", 4: "input aligners"}  # the units of scatter packets
_KIND_OF = {name: kind for kind, name in _OVER.items()}
_LINK, _LENGTH, _BLOCK_AT, _ADDRESS_AT, _PARITY = 1 << 16, 0x1FFF, 17, 32, 1 << 63
_RECORD_KEYS = frozenset(
    {"to", "value", "words", "packets", "compressed", "fence", "parity", "raise", "command", "raw"}
)
_COMMAND_KEYS = frozenset({"cluster", "phase", "block", "next", "slot"})
_PACKET_KEYS = frozenset({"to", "over", "value", "words", "link", "nops", "empty"})
_WORDS_A_LINE = 8
_MOST_NOPS = L3_BLOCK // 8


class RecordAssembler:
    """Describes and assembles the records of one core op, one after the other in the order of its operations."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.chip = MAPS[family]
        self._symbols: dict[int, Bytes] = {}  # of each decompressor, as the tables before set them

    def describe(self, channel: int, data: memoryview) -> Node:
        """The tree of the bytes of one CCW action; `{raw: bytes}` where they are not what compilers write."""
        records = read_records(self.family, [CcwRecords(channel, data)])
        if len(records) == 1 and not records.broken:
            before = dict(self._symbols)
            for node in self._readings(records):
                self._symbols = dict(before)
                if self._gives(channel, node, data):
                    return node
            self._symbols = before
        self.pass_over(channel, data)
        return {"raw": bytes(data)}

    def assemble(self, channel: int, node: Any) -> bytes:
        """The bytes of one CCW action; ValueError for a tree that describes none."""
        _check_keys(node, _RECORD_KEYS)
        if "raw" in node:
            data = _bytes(node["raw"])
            self.pass_over(channel, data)
            return data
        fence = bool(node.get("fence", False))
        if fence and self.family == HAILO8:
            raise ValueError("fence: records of Hailo-8 have none")
        if "raise" in node:
            interrupt = _number(node["raise"], 5, "raise")
            return build.register(self.family, self.chip.raise_register, 1 << interrupt, fence=fence)
        if "command" in node:
            return self._command(node["command"], fence)
        address = self._address(node.get("to"))
        if "value" in node:
            return build.register(self.family, address, _number(node["value"], 32, "value"), fence=fence)
        place = self.chip.place(address)
        if "packets" in node:
            block = self.chip.l3_block(address)
            if block is None:
                raise ValueError(f"packets stand in L3, not at {node['to']}")
            content = b"".join(self._packets(node["packets"], block, node.get("parity", "odd") != "none"))
            if address % L3_BLOCK + len(content) > L3_BLOCK:
                raise ValueError(f"{len(content)} bytes of packets do not fit into the block at {node['to']}")
        else:
            content = _words(node.get("words"), place.offset)
        compressed = "(compressed)" in place.unit or node.get("compressed") is True
        if compressed:
            symbols = self._symbols.get(decoder_of(self.family, address, channel))
            if symbols is None:
                raise ValueError("compressed, and no symbol table came before")
            if len(content) % 8:
                raise ValueError(f"{len(content)} bytes: compressed records hold a multiple of 8")
            content = compress(content, symbols.tobytes())
        data = build.record(self.family, address, content, compressed=node.get("compressed") is True, fence=fence)
        self.pass_over(channel, data)
        return data

    def pass_over(self, channel: int, data: bytes | memoryview) -> None:
        """A record that is not described here: a symbol table counts from it on all the same."""
        records = read_records(self.family, [CcwRecords(channel, memoryview(data))])
        for number in np.flatnonzero(records.goes_to(self.chip.symbol_tables)).tolist():
            symbols = symbols_of(records.words(number))
            if symbols is not None:
                self._symbols[decoder_of(self.family, int(records.address[number]), channel)] = symbols

    # -- from bytes

    def _gives(self, channel: int, node: Node, data: memoryview) -> bool:
        try:
            return self.assemble(channel, node) == data
        except ValueError:
            return False

    def _readings(self, records: Records) -> Iterator[Node]:
        """Trees that may stand for a record, the likeliest first."""
        address = int(records.address[0])
        head: Node = {"to": self.chip.name(address)}
        tail: Node = {"fence": True} if records.is_fence[0] else {}
        if records.is_register_write[0]:
            value = int(records.value[0])
            window = self.chip.cluster_of(address)
            command = None if window is None else command_of(window, address, value)
            if address == self.chip.raise_register:
                yield {"raise": value.bit_length() - 1, **tail}
            elif command is not None and self.family != HAILO8:
                cluster, phase, l3_block, following, slot = command
                fields = {"cluster": cluster, "phase": phase, "block": l3_block, "next": following, "slot": slot}
                yield {"command": fields, **tail}
            yield {**head, "value": value, **tail}
            return
        content, block = bytes(records.data(0)), self.chip.l3_block(address)
        if records.is_compressed[0]:
            head["compressed"] = True
        if records.is_compressed[0] or "(compressed)" in head["to"]:
            symbols = self._symbols.get(decoder_of(self.family, address, int(records.channel[0])))
            if symbols is None:
                return
            content = decompress([records.data(0)], symbols)[0].data.tobytes()
        if block is not None:
            packets = self._read_packets(content, block)
            if packets is not None:
                yield {**head, "packets": packets, **tail}
                yield {**head, "packets": packets, "parity": "none", **tail}
        is_weights = block is not None or self.chip.place(address).unit == "sub-cluster"
        offset = self.chip.place(address).offset
        yield {**head, "words": content if is_weights else _text(content, offset), **tail}

    def _read_packets(self, content: bytes, block: int) -> list[Node] | None:
        """The packets of a program's block; None where it holds none: they fill it, and only the last one links."""
        nodes: list[Node] = []
        at = 0
        while at + 8 <= len(content):
            (header,) = struct.unpack_from("<Q", content, at)
            if not header:
                if not nodes or "nops" not in nodes[-1]:
                    nodes.append({"nops": 0})
                nodes[-1]["nops"] += 1
                at += 8
                continue
            length, kind = header & _LENGTH, header >> 13 & 7
            link, target = header & _LINK, header >> _BLOCK_AT & 0x7FFF
            words = content[at + 8 : at + 8 + 4 * length]
            at += 8 + 8 * (length + 1 >> 1)
            if kind not in (PLAIN, *_OVER) or (target != block and not link) or at > len(content):
                return None
            node = self._read_packet(header >> _ADDRESS_AT & 0xFFFFFF, kind, words)
            if link:
                nodes.append({"link": target} if "empty" in node else {**node, "link": target})
                return nodes if at == len(content) else None
            nodes.append(node)
        return None

    def _read_packet(self, address: int, kind: int, words: bytes) -> Node:
        if not address and not kind and not words:
            return {"empty": True}  # a NOP that names its block, or the link of one
        place = self.chip.place(self.chip.window(0) + address)
        node: Node = {"to": str(replace(place, cluster=None))}
        if kind:
            node["over"] = _OVER[kind]
        if len(words) == 4:
            node["value"] = int.from_bytes(words, "little")
        else:
            # words of scatter packets go to one unit after the other
            node["words"] = words if kind == L2 else _text(words, None if kind else place.offset)
        return node

    # -- to bytes

    def _address(self, name: Any) -> int:
        if isinstance(name, str):
            return self.chip.address(name)
        return _number(name, 32, "to")

    def _command(self, fields: Any, fence: bool) -> bytes:
        if self.family == HAILO8:
            raise ValueError("command: sequencers of Hailo-8 have none")
        _check_keys(fields, _COMMAND_KEYS)
        bits = {"cluster": 3, "phase": 4, "block": 18, "next": 5, "slot": 5}
        cluster, phase, block, following, slot = (
            _number(fields.get(name), count, f"command {name}") for name, count in bits.items()
        )
        if cluster >= self.chip.clusters:
            raise ValueError(f"cluster {cluster}: there are {self.chip.clusters}")
        return build.command(cluster, phase, block, following, slot, fence=fence)

    def _packets(self, nodes: Any, block: int, parity: bool) -> Iterator[bytes]:
        if not isinstance(nodes, Sequence) or isinstance(nodes, str | bytes):
            raise ValueError("packets are a list")
        for number, node in enumerate(nodes):
            try:
                yield self._packet(node, block, parity)
            except ValueError as error:
                raise ValueError(f"packet {number}: {error}") from None

    def _packet(self, node: Any, block: int, parity: bool) -> bytes:
        _check_keys(node, _PACKET_KEYS)
        if "nops" in node:
            count = _number(node["nops"], 16, "nops")
            if count > _MOST_NOPS:
                raise ValueError(f"{count} NOPs in a block that has room for {_MOST_NOPS}")
            return bytes(8 * count)
        name, over = node.get("to", 0), node.get("over")
        if "to" not in node and node.keys() not in ({"link"}, {"empty"}):
            raise ValueError("it does not say where to")
        window = self.chip.window(0)
        address = self.chip.address(f"cluster 0 {name}") - window if isinstance(name, str) else _number(name, 24, "to")
        if over is not None and over not in _KIND_OF:
            raise ValueError(f"over {str(over)[:40]!r}: packets go over {', '.join(_KIND_OF)}")
        if address >> 24 or address & 3:
            raise ValueError(f"{name}: packets write words of a cluster outside of its L3")
        if "value" in node:
            words = struct.pack("<I", _number(node["value"], 32, "value"))
        else:
            words = _words(node.get("words", ""), self.chip.place(window + address).offset)
        if len(words) // 4 > _LENGTH:
            raise ValueError(f"{len(words) // 4} words, a packet holds {_LENGTH}")
        link = None if "link" not in node else _number(node["link"], 15, "link")
        return build.packet(block, address, words, PLAIN if over is None else _KIND_OF[over], link, parity)


def _check_keys(node: Any, known: frozenset[str]) -> None:
    if not isinstance(node, Mapping):
        raise ValueError(f"a mapping is expected, not {str(node)[:40]!r}")
    for key in node:
        if key not in known:
            raise ValueError(f"there is no {str(key)[:40]!r} here, only {', '.join(sorted(known))}")


def _number(value: Any, bits: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < 1 << bits:
        raise ValueError(f"{what} {str(value)[:40]!r} is no whole number of {bits} bits")
    return value


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | memoryview):
        raise ValueError("raw stands for bytes of the bulk file")
    return bytes(value)


def _text(content: bytes, offset: int | None) -> str:
    """Words as hexadecimal numbers, eight a line, each line of several labelled with its offset where there is one."""
    big_endian = np.frombuffer(content[: len(content) & ~3], "<u4").byteswap().tobytes()
    step = 4 * _WORDS_A_LINE
    lines = [big_endian[at : at + step].hex(" ", 4).upper() for at in range(0, len(big_endian), step)]
    if len(lines) > 1 and offset is not None:
        lines = [f"+0x{offset + step * number:04X}: {line}" for number, line in enumerate(lines)]
    return "\n".join(lines)


def _words(value: Any, offset: int) -> bytes:
    """The bytes of words, which come as text or, weights, as they are; labels count from an offset on."""
    if isinstance(value, bytes | memoryview):
        if len(value) % 4:
            raise ValueError(f"{len(value)} bytes are no whole words")
        return bytes(value)
    if not isinstance(value, str):
        raise ValueError("words are hexadecimal numbers of eight digits each")
    numbers: list[str] = []
    for line in value.splitlines():
        label, colon, rest = line.rpartition(":")
        if colon and label.strip() != f"+0x{offset + 4 * len(numbers):04X}":
            raise ValueError(f"words labelled {label.strip()[:40]!r} stand at +0x{offset + 4 * len(numbers):04X}")
        numbers += rest.split()
    wrong = next((number for number in numbers if len(number) != 8), None)
    try:
        if wrong is not None:
            raise ValueError
        return np.frombuffer(bytes.fromhex("".join(numbers)), "<u4").byteswap().tobytes()
    except ValueError:
        raise ValueError(f"words are hexadecimal numbers of eight digits each, not {(wrong or value)[:40]!r}") from None
