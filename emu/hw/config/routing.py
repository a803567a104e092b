"""The crossbar between clusters of a Hailo-8: four tables that say where every input buffer and link reads from
(chip-config.md 7, network.md 11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from emu.hw.config.image import ChipImage
from emu.trace.hazards import Hazard

TABLES, WORDS = 4, 60
_BASE, _STRIDE = 0x29040000, 0x4000
NOTHING = 0x3F
_FIRST_LINK, _BACK_LINK, _SYSTEM = 16, 24, 32  # sources and words: links from and to either neighbour, the system
_SINKS = range(32, 38)
_FIRST_STREAM = 34  # words and sources 34..37: sys_index = table + 4 * (number - 34)


class Port(NamedTuple):
    """One end of a way through the crossbar.

    `kind` is "input buffer" or "output buffer" (of `cluster`, by `number`), "stream" (`number` is the sys_index),
    "converter" (a port of the system's format conversion, of table `cluster`).
    """

    kind: str
    cluster: int
    number: int

    def __str__(self) -> str:
        if self.kind == "stream":
            return f"stream {self.number}"
        if self.kind == "converter":
            return f"converter {self.cluster}.{self.number}"
        return f"cluster {self.cluster} {self.kind} {self.number}"


class Routing:
    """The four tables as they stand in an image; words that nobody wrote read as nothing."""

    def __init__(self, image: ChipImage) -> None:
        self._tables = []
        for table in range(TABLES):
            words, written = image.words(_BASE + table * _STRIDE, WORDS)
            held = zip(words.tolist(), written.tolist(), strict=True)
            self._tables.append([word if there else NOTHING for word, there in held])

    def ways(self) -> Iterator[tuple[Port, Port]]:
        """(where from, where to) of every way that ends at an input buffer or in the system."""
        for table, words in enumerate(self._tables):
            for number in (*range(_FIRST_LINK), *_SINKS):
                source = self._origin(table, words[number])
                if source is not None:
                    yield source, _sink(table, number)

    def _origin(self, table: int, source: int) -> Port | None:
        """What a source stands for, links followed round the ring of tables."""
        for _ in range(TABLES * _FIRST_LINK):
            if source == NOTHING or source > _SYSTEM + 5:
                return None
            if source < _FIRST_LINK:
                return Port("output buffer", 2 * table + source // 8, source % 8)
            if source >= _SYSTEM:
                return _system_port(table, source)
            step, word = (1, source + 8) if source < _BACK_LINK else (-1, source - 8)
            table = (table + step) % TABLES
            source = self._tables[table][word]
        return None

    def routed_inputs(self, cluster: int) -> frozenset[int]:
        """The input buffers of a cluster that read from somewhere."""
        words = self._tables[cluster // 2]
        return frozenset(number for number in range(8) if words[8 * (cluster % 2) + number] != NOTHING)

    def read_outputs(self, cluster: int) -> frozenset[int]:
        """The output buffers of a cluster that something reads."""
        first = 8 * (cluster % 2)
        return frozenset(word - first for word in self._tables[cluster // 2] if first <= word < first + 8)

    def hazards(self, where: str, buffers: Mapping[int, tuple[frozenset[int], frozenset[int]]]) -> Iterator[Hazard]:
        """Breaches against the (input, output) buffers that each cluster's program configures."""
        for cluster, (inputs, outputs) in sorted(buffers.items()):
            for kind, missing in (
                ("input", inputs - self.routed_inputs(cluster)),
                ("output", outputs - self.read_outputs(cluster)),
            ):
                if missing:
                    what = f"{kind} buffers {', '.join(map(str, sorted(missing)))} are configured and lead nowhere"
                    yield Hazard("routing-mismatch", f"{where}, cluster {cluster}", what)
        for table, words in enumerate(self._tables):
            for step, first in ((1, _FIRST_LINK), (-1, _BACK_LINK)):
                # the links that a table reads are those that its neighbour feeds
                neighbour = self._tables[(table + step) % TABLES]
                other = first + 8 * step
                read = {number for number in range(8) if first + number in words}
                fed = {number for number in range(8) if neighbour[other + number] != NOTHING}
                if read != fed:
                    what = f"reads links {sorted(read)}, its neighbour feeds {sorted(fed)}"
                    yield Hazard("routing-mismatch", f"{where}, table {table}", what)


def _system_port(table: int, number: int) -> Port:
    if number >= _FIRST_STREAM:
        return Port("stream", -1, table + 4 * (number - _FIRST_STREAM))
    return Port("converter", table, number - _SYSTEM)


def _sink(table: int, word: int) -> Port:
    if word < _FIRST_LINK:
        return Port("input buffer", 2 * table + word // 8, word % 8)
    return _system_port(table, word)
