"""Where each LCU's inputs come from and where its outputs go: LCUs, buffers, the crossbar, host streams (network.md 3).

Within a cluster every edge stands twice in the rows of the control block: the row of its source holds (target, port),
and the row of the target holds, at that port, (source, place in the source's row).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from emu.hw.config.addresses import LCUS
from emu.hw.config.image import ChipImage
from emu.hw.config.routing import Port, Routing
from emu.net.units import LcuId

_ROWS, _ENTRIES = 0xB88, 8
_BUFFERS = 8  # input buffers of a cluster, and output buffers
_NONE = 0x7F
_FIRST_LCU, _FIRST_INPUT = 16, 8  # targets: 0..7 output buffers, 8..15 input buffers, 16..31 LCUs


class Stream(Struct, frozen=True):
    """A stream of the host by its index in the system (chip-config.md 7)."""

    sys_index: int

    def __str__(self) -> str:
        return f"stream {self.sys_index}"


Source: TypeAlias = LcuId | Stream


class Node(Struct, frozen=True):
    """What a row belongs to: "LCU", "input buffer" or "output buffer" of a cluster, and its number."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


class Entry(NamedTuple):
    """One entry of a row: the edge leads to `port` of `target`."""

    target: Node
    port: int


class Dataflow(Struct, frozen=True):
    """The inputs of every LCU by port, and the sources of every output stream.

    `inputs[lcu]` has one entry a port, None where it was not traced; `unknown` says why. `outputs` are by sys_index.
    """

    inputs: Mapping[LcuId, tuple[Source | None, ...]]
    givers: Mapping[LcuId, tuple[Node, ...]]  # what gives them within the cluster, an LCU or an input buffer, by port
    outputs: Mapping[int, tuple[Source, ...]]
    unknown: Mapping[LcuId, str]
    one_way: tuple[str, ...]  # edges that have no return edge
    assumed: tuple[str, ...]  # what the tables leave open

    def consumers(self) -> dict[Source, list[LcuId]]:
        """Who reads what each LCU or stream gives."""
        found: dict[Source, list[LcuId]] = {}
        for lcu, sources in self.inputs.items():
            for source in sources:
                if source is not None:
                    found.setdefault(source, []).append(lcu)
        return found


class Rows:
    """The rows of one cluster, as they stand; entries that are missing are None."""

    def __init__(self, image: ChipImage, cluster: int) -> None:
        words, written = image.unit_words(cluster, "control", 0, 8 * (LCUS + 2 * _BUFFERS), _ROWS)
        entries = [
            _entry(word) if there else None for word, there in zip(words.tolist(), written.tolist(), strict=True)
        ]
        self.rows: dict[Node, list[Entry | None]] = {
            _row_node(row): entries[_ENTRIES * row : _ENTRIES * (row + 1)] for row in range(LCUS + 2 * _BUFFERS)
        }

    def row(self, node: Node) -> Iterator[tuple[int, Entry]]:
        """(place, entry) of a row."""
        return ((place, entry) for place, entry in enumerate(self.rows[node]) if entry is not None)

    def used(self, kind: str) -> list[int]:
        """The numbers of the nodes of a kind whose row holds anything, rising."""
        return [node.number for node, row in self.rows.items() if node.kind == kind and any(row)]

    def one_way(self) -> Iterator[tuple[Node, Entry]]:
        """Edges without their return edge; none in a real file."""
        for node in self.rows:
            for place, entry in self.row(node):
                if self.rows[entry.target][entry.port] != Entry(node, place):
                    yield node, entry

    def input_counts(self) -> dict[int, int | None]:
        """How many of an LCU's first ports are inputs; None where the rows leave it open (network.md 11)."""
        used = self.used("LCU")
        least = dict.fromkeys(used, 1)
        most = {lcu: max(len(list(self.row(Node("LCU", lcu)))) - 1, 1) for lcu in used}
        while True:
            before = list(least.values()), list(most.values())
            for lcu in used:
                for place, entry in self.row(Node("LCU", lcu)):
                    if self._is_consumer(entry, least, most):
                        most[lcu] = min(most[lcu], place)
                    elif self._is_acknowledgement(entry, most):
                        least[lcu] = max(least[lcu], place + 1)
            for number in range(_BUFFERS):
                for _, (target, port) in self.row(Node("input buffer", number)):
                    if target.number in least and target.kind == "LCU":
                        least[target.number] = max(least[target.number], port + 1)
                for _, (target, port) in self.row(Node("output buffer", number)):
                    if target.number in most and target.kind == "LCU":
                        most[target.number] = min(most[target.number], port)
            if before == (list(least.values()), list(most.values())):
                return {lcu: least[lcu] if least[lcu] == most[lcu] else None for lcu in used}

    @staticmethod
    def _is_consumer(entry: Entry, least: Mapping[int, int], most: Mapping[int, int]) -> bool:
        target = entry.target
        return target.kind == "output buffer" or (
            target.kind == "LCU" and target.number in least and entry.port < least[target.number]
        )

    @staticmethod
    def _is_acknowledgement(entry: Entry, most: Mapping[int, int]) -> bool:
        target = entry.target
        return target.kind == "input buffer" or (
            target.kind == "LCU" and target.number in most and entry.port >= most[target.number]
        )


def read_dataflow(image: ChipImage, lcus: Mapping[int, frozenset[int]]) -> Dataflow:
    """Trace every input of the LCUs of each cluster (`lcus`) back to an LCU or a stream, and every output stream."""
    rows = {cluster: Rows(image, cluster) for cluster in lcus}
    into, assumed = _joined_converters({sink: source for source, sink in Routing(image).ways()})
    trace = _Trace(rows, into)
    inputs: dict[LcuId, tuple[Source | None, ...]] = {}
    givers: dict[LcuId, tuple[Node, ...]] = {}
    unknown: dict[LcuId, str] = {}
    for cluster, own in rows.items():
        counts = own.input_counts()
        for number in sorted(lcus[cluster]):
            lcu = LcuId(cluster, number)
            count = counts.get(number)
            if count is None:
                inputs[lcu], givers[lcu] = (), ()
                unknown[lcu] = "its row has no entries" if number not in counts else "inputs and outputs not told apart"
                continue
            row = own.rows[Node("LCU", number)][:count]
            found = tuple(None if entry is None else trace.source(cluster, entry.target) for entry in row)
            inputs[lcu] = found
            givers[lcu] = tuple(Node("LCU", number) if entry is None else entry.target for entry in row)
            missing = [str(port) for port, source in enumerate(found) if source is None]
            if missing:
                unknown[lcu] = f"no source found for input {', '.join(missing)}"
    outputs: dict[int, tuple[Source, ...]] = {}
    for sink in into:
        if sink.kind == "stream":
            sources = trace.sources_of_port(into[sink])
            if sources:
                outputs[sink.number] = sources
    one_way = tuple(
        f"cluster {cluster}, {node} to {entry.target} port {entry.port}"
        for cluster, own in rows.items()
        for node, entry in own.one_way()
    )
    return Dataflow(inputs, givers, outputs, unknown, one_way, assumed)


def _joined_converters(into: dict[Port, Port]) -> tuple[dict[Port, Port], tuple[str, ...]]:
    """Join the ports that feed the system's format conversion with those that read from it.

    A way in and a way out of the same port belong together, then those of one table, then what is left where it is one
    way each; several streams leave it open which (network.md 11), so that each guess is said.
    """
    fed = {sink: source for sink, source in into.items() if sink.kind == "converter"}
    read = sorted({source for source in into.values() if source.kind == "converter"})
    joined = {port: port for port in read if port in fed}
    tables: dict[int, tuple[list[Port], list[Port]]] = {}
    for port in sorted(set(fed) - set(joined)):
        tables.setdefault(port.cluster, ([], []))[0].append(port)
    for port in read:
        if port not in joined:
            tables.setdefault(port.cluster, ([], []))[1].append(port)
    left: tuple[list[Port], list[Port]] = ([], [])
    pairs: list[tuple[Port, Port]] = []
    for ends, starts in tables.values():
        if len(ends) == len(starts) == 1:
            pairs.append((ends[0], starts[0]))
        else:
            left[0].extend(ends)
            left[1].extend(starts)
    if len(left[0]) == len(left[1]) == 1:
        pairs.append((left[0][0], left[1][0]))
    joined |= {start: end for end, start in pairs}
    several = len(fed) > 1
    found = {sink: source for sink, source in into.items() if sink.kind != "converter"}
    found = {sink: fed[joined[source]] if source in joined else source for sink, source in found.items()}
    return found, tuple(f"{fed[end]} goes through {end} and {start}" for end, start in pairs if several)


class _Trace:
    """Follows ways back through buffers and the crossbar."""

    def __init__(self, rows: Mapping[int, Rows], into: Mapping[Port, Port]) -> None:
        self._rows = rows
        self._into = into

    def source(self, cluster: int, node: Node, seen: frozenset[Port] = frozenset()) -> Source | None:
        """What an LCU or input buffer of a cluster gives."""
        if node.kind == "LCU":
            return LcuId(cluster, node.number)
        if node.kind == "input buffer":
            port = self._into.get(Port("input buffer", cluster, node.number))
            found = () if port is None else self.sources_of_port(port, seen)
            return found[0] if len(found) == 1 else None
        return None

    def sources_of_port(self, port: Port, seen: frozenset[Port] = frozenset()) -> tuple[Source, ...]:
        """What comes out of a port of the crossbar."""
        if port in seen:
            return ()
        seen |= {port}
        if port.kind == "stream":
            return (Stream(port.number),)
        rows = self._rows.get(port.cluster)
        if rows is None:
            return ()
        for number in (port.number, port.number ^ 1):  # a buffer without a row is the second half of a pair
            row = [entry for _, entry in rows.row(Node("output buffer", number))]
            if row:
                found = [self.source(port.cluster, entry.target, seen) for entry in row]
                return tuple(source for source in found if source is not None)
        return ()


def _entry(word: int) -> Entry | None:
    target, port = word >> 3, word & 7
    if word == _NONE or target >= 2 * LCUS:
        return None
    if target >= _FIRST_LCU:
        return Entry(Node("LCU", target - _FIRST_LCU), port)
    if target >= _FIRST_INPUT:
        return Entry(Node("input buffer", target - _FIRST_INPUT), port)
    return Entry(Node("output buffer", target), port)


def _row_node(row: int) -> Node:
    if row < LCUS:
        return Node("LCU", row)
    return Node("input buffer" if row < LCUS + _BUFFERS else "output buffer", row % _BUFFERS)
