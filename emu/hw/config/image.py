"""What the chip's memory holds: L3 by block, everything else by word, worked out when somebody looks.

Addresses are those of the chip; an address in L3 may come in both forms (chip-config.md 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.hw.config.addresses import SUB_CLUSTER_END, SUB_CLUSTER_STRIDE, ChipMap, Target
from emu.hw.config.compression import Compressed, decompress_each, symbols_of
from emu.hw.config.l3 import L3
from emu.hw.config.records import Bools, Bytes, Records, Words
from emu.sequencer.configuration import HAILO8


def decoder_of(family: str, address: int, channel: int) -> int:
    """Which decompressor a record goes through: Hailo-8 one for four clusters, 1xh one for each config channel."""
    return address >> 27 & 1 if family == HAILO8 else channel


class Held(NamedTuple):
    """Words in a row: their values (0 where nobody wrote) and which of them were written."""

    words: Words
    written: Bools


class WordStore:
    """Words by address; the later write wins. Sorting waits until somebody reads."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Words | int, Words | Compressed]] = []
        self._addresses: Words = np.zeros(0, np.uint32)
        self._values: Words = np.zeros(0, np.uint32)

    def write(self, addresses: Words | int, words: Words) -> None:
        """Write words one after the other from an address on, or each to its own address."""
        self._waiting.append((addresses, words))

    def write_compressed(self, address: int, data: Bytes, symbols: Bytes) -> None:
        """Write what compressed bytes hold, from an address on."""
        self._waiting.append((address, Compressed(data, symbols)))

    def addresses(self) -> Words:
        """All written addresses, rising."""
        self._settle()
        return self._addresses

    def content(self) -> tuple[Words, Words]:
        """All written addresses, rising, and their words."""
        self._settle()
        return self._addresses, self._values

    def word(self, address: int) -> int | None:
        """One word; None where nobody wrote."""
        held = self.read(address, 1)
        return int(held.words[0]) if held.written[0] else None

    def read(self, address: int, count: int) -> Held:
        """`count` words from an address on."""
        self._settle()
        first, last = np.searchsorted(self._addresses, [address, address + 4 * count])
        places = (self._addresses[first:last].astype(np.int64) - address) >> 2
        words, written = np.zeros(count, np.uint32), np.zeros(count, bool)
        words[places] = self._values[first:last]
        written[places] = True
        return Held(words, written)

    def _settle(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        plain = iter(decompress_each([words for _, words in waiting if isinstance(words, Compressed)]))
        addresses, values = [self._addresses], [self._values]
        for where, words in waiting:
            if isinstance(words, Compressed):
                data = next(plain).data
                words = data[: len(data) & ~3].view("<u4")
            if isinstance(where, int):
                where = np.arange(where, where + 4 * len(words), 4, dtype=np.int64).astype(np.uint32)
            addresses.append(where)
            values.append(words)
        joined, content = np.concatenate(addresses), np.concatenate(values)
        order = np.argsort(joined, kind="stable")
        joined = joined[order]
        last = np.flatnonzero(np.append(joined[1:] != joined[:-1], True))  # of equal addresses the last one written
        self._addresses, self._values = joined[last], content[order[last]]


class ChipImage:
    """Everything that configuration has written into one chip; without `keeps_words` only what programs lie in."""

    def __init__(self, chip: ChipMap, keeps_words: bool = True) -> None:
        self.chip = chip
        self.keeps_words = keeps_words
        # what Hailo-8 has in L3 when a program starts are program blocks (chip-config.md 4)
        self.l3 = [L3(together=chip.family == HAILO8) for _ in range(chip.clusters)]
        self._stores: dict[int | None, WordStore] = {}
        self._symbols: dict[int, Bytes] = {}

    def store(self, cluster: int | None) -> WordStore:
        """The words of a cluster's window (all but its L3), or of the system (None)."""
        store = self._stores.get(cluster)
        if store is None:
            store = self._stores[cluster] = WordStore()
        return store

    def write_record(self, records: Records, record: int, target: Target) -> str:
        """Write what a record brings to its target; a text where it cannot be written: why."""
        address = records.addresses[record]
        symbols: Bytes | None = None
        if target.is_symbol_table:
            table = symbols_of(records.words(record))
            if table is None:
                return "a symbol table of too few words, or with one above 255"
            self._symbols[self._decoder(records, record)] = table
        if target.unpacked or records.packed[record]:
            symbols = self._symbols.get(self._decoder(records, record))
            if symbols is None:
                return "compressed, and no symbol table came before"
        if target.cluster is not None and target.block is not None:
            data = records.data(record)
            self.l3[target.cluster].write(target.block, target.offset, data, symbols, records.digest(record))
        elif not self.keeps_words:
            pass
        elif symbols is not None:
            self.store(target.cluster).write_compressed(address, records.data(record), symbols)
        else:
            self.store(target.cluster).write(address, records.words(record))
        return "" if target.known else "an address that no known block has"

    def _decoder(self, records: Records, record: int) -> int:
        return decoder_of(self.chip.family, records.addresses[record], records.channels[record])

    def decodes(self, channel: int) -> bool:
        """1xh: whether the symbols of a config channel's decompressor are known."""
        return self.chip.family != HAILO8 and channel in self._symbols

    def write_words(self, address: int, words: Words) -> None:
        """Write words by register, as actions do."""
        self.store(self.chip.cluster_of(address)).write(address, words)

    def word(self, address: int) -> int | None:
        """The word at an address (not in L3); None where nobody wrote."""
        return self.store(self.chip.cluster_of(address)).word(address)

    def words(self, address: int, count: int) -> Held:
        """`count` words from an address on, which lie in one window (not in L3)."""
        return self.store(self.chip.cluster_of(address)).read(address, count)

    def unit_words(self, cluster: int, unit: str, index: int, count: int, offset: int = 0) -> Held:
        """Words of a unit, by the names of emu.hw.config.addresses ("LCU", "sub-cluster", "control" …)."""
        bank = self.chip.bank(unit)
        return self.words(self.chip.window(cluster) + bank.base + index * bank.stride + offset, count)

    def sub_cluster_memory(self, cluster: int, index: int) -> tuple[Bytes, NDArray[np.bool_]]:
        """The 0xC000 bytes of a sub-cluster's memory, and which of them were written."""
        words, written = self.words(self.chip.window(cluster) + index * SUB_CLUSTER_STRIDE, SUB_CLUSTER_END // 4)
        return words.astype("<u4").view(np.uint8), np.repeat(written, 4)

    def written_units(self, cluster: int, unit: str) -> list[int]:
        """The units of a kind that anything was written into, rising."""
        bank = self.chip.bank(unit)
        base = self.chip.window(cluster) + bank.base
        addresses = self.store(cluster).addresses().astype(np.int64)
        inside = addresses[(addresses >= base) & (addresses < base + bank.units * bank.stride)]
        seen = np.zeros(bank.units, bool)
        seen[(inside - base) // bank.stride] = True
        return [int(number) for number in np.flatnonzero(seen)]
