"""Stride, padding and shape of every layer: no register that is known gives them, so they are solved from the shapes
of the streams and the inputs of dense layers (network.md 8, 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from emu.net.dataflow import Source, Stream
from emu.net.generators import COLUMNS
from emu.net.layers import Kind
from emu.net.network import Layer, Network
from emu.net.units import LcuId
from emu.net.weights import OUTPUTS

MOST_SOLUTIONS = 4096
_MOST_STEPS = 200_000
_STRIDES = (1, 2)


class Area(NamedTuple):
    """Rows and columns of a map."""

    height: int
    width: int


class Window(NamedTuple):
    """How a kernel moves: its rows and columns, its stride, and whether the map is padded so that only the stride
    shrinks it; `centred`: before the first row and column by half the kernel, else by half of what is needed in all,
    the odd one behind the last."""

    rows: int
    columns: int
    stride: int
    padded: bool
    centred: bool = False

    def over(self, area: Area) -> Area:
        """The map it gives; of no size where the kernel does not fit."""
        return Area(self._along(area.height, self.rows), self._along(area.width, self.columns))

    def before(self, area: Area) -> tuple[int, int]:
        """How many rows and columns of padding lie before the first ones."""
        return self._before(area.height, self.rows), self._before(area.width, self.columns)

    def _along(self, length: int, kernel: int) -> int:
        if self.padded:
            return -(-length // self.stride)
        return max((length - kernel) // self.stride + 1, 0)

    def _before(self, length: int, kernel: int) -> int:
        if not self.padded:
            return 0
        if self.centred:
            return (kernel - 1) // 2
        return max((self._along(length, kernel) - 1) * self.stride + kernel - length, 0) // 2


@dataclass(frozen=True, slots=True)
class Geometry:
    """What was chosen for one layer: `why` says what decided, "" where only this fits or there is no choice."""

    window: Window
    area: Area
    why: str


class Unsolved(NamedTuple):
    """Why the shapes of a network were not found; `tie` where several solutions stay."""

    why: str
    tie: bool


@dataclass(frozen=True, slots=True)
class Assumption:
    """What the user takes for granted of one layer; None: not said."""

    padded: bool | None = None
    stride: int | None = None
    pool: int | None = None


def solve_shapes(
    network: Network, outputs: tuple[int, ...], assumed: Mapping[LcuId, Assumption]
) -> dict[LcuId, Geometry] | Unsolved:
    """Windows and areas of all layers that some output streams need."""
    layers = network.needed(outputs)
    search = _Search(network, layers, outputs, assumed)
    solutions = list(search.solutions())
    if not solutions and not search.stopped:  # a kernel of one value seldom leaves any out
        search = _Search(network, layers, outputs, assumed, sparse=True)
        solutions = list(search.solutions())
    if not solutions:
        return Unsolved(search.stopped or "no strides and paddings fit the shapes of the streams", False)
    if search.stopped:
        return Unsolved(search.stopped, True)
    return _choose(layers, solutions)


_Solution = dict[LcuId, tuple[Window, Area]]


def _choose(layers: list[Layer], solutions: list[_Solution]) -> dict[LcuId, Geometry] | Unsolved:
    """Where several fit: those that the programs' padding hints bear out, of them those that pad all layers alike, of
    them those with the fewest padded."""
    reasons: dict[LcuId, str] = {}
    rules: tuple[tuple[str, Callable[[_Solution], int]], ...] = (
        ("its program looks padded or unpadded", lambda solution: _against_hints(layers, solution)),
        ("all padded alike", lambda solution: _unlike(layers, solution)),
        ("fewest padded layers", lambda solution: sum(window.padded for window, _ in solution.values())),
    )
    for why, cost in rules:
        least = min(map(cost, solutions))
        kept = [solution for solution in solutions if cost(solution) == least]
        for lcu in _differing(solutions):
            if lcu not in _differing(kept):
                reasons[lcu] = why
        solutions = kept
    open_ones = _differing(solutions)
    if open_ones:
        names = ", ".join(map(str, sorted(open_ones)))
        return Unsolved(f"several strides or paddings fit layers {names}: --assume C.L.padding=same|valid", True)
    return _placed(layers, {lcu: Geometry(*found, reasons.get(lcu, "")) for lcu, found in solutions[0].items()})


def _placed(layers: list[Layer], found: dict[LcuId, Geometry]) -> dict[LcuId, Geometry]:
    """Which side of a map the odd row of padding lies on: before it where the program awaits one row less.

    Layers whose programs do not say it are as most of the others (network.md 14).
    """
    centred: dict[LcuId, bool | None] = {}
    for layer in layers:
        window = found[layer.lcu].window
        if layer.kind is not Kind.CONV or not window.padded or window.stride == 1:
            continue
        before = window.rows - layer.registers.awaited
        half = (window.rows - 1) // 2
        centred[layer.lcu] = None if before not in (half, half - 1) else before == half
    said_so = [one for one in centred.values() if one is not None]
    most = 2 * sum(said_so) > len(said_so)
    for lcu, said in centred.items():
        geometry = found[lcu]
        window = geometry.window._replace(centred=most if said is None else said)
        why = geometry.why or ("its padding lies where that of most layers does" if said is None else "")
        found[lcu] = Geometry(window, geometry.area, why)
    return found


def _unlike(layers: list[Layer], solution: _Solution) -> int:
    """Layers whose kernels have any reach and that are not padded as most of them are."""
    padded = [solution[layer.lcu][0].padded for layer in layers if layer.kind is Kind.CONV and max(layer.kernel) > 1]
    return min(sum(padded), len(padded) - sum(padded))


def _differing(solutions: list[_Solution]) -> set[LcuId]:
    first = solutions[0]
    return {lcu for solution in solutions[1:] for lcu in first if solution[lcu][0] != first[lcu][0]}


def _against_hints(layers: list[Layer], solution: _Solution) -> int:
    found = 0
    for layer in layers:
        window = solution[layer.lcu][0]
        if layer.kind is Kind.CONV and window[:3] == (3, 3, 1):
            found += window.padded != layer.registers.padded_hint
    return found


class _Search:
    """All ways to give layers windows so that every map fits what reads it."""

    def __init__(
        self,
        network: Network,
        layers: list[Layer],
        outputs: tuple[int, ...],
        assumed: Mapping[LcuId, Assumption],
        sparse: bool = False,
    ) -> None:
        self._network = network
        self._layers = layers
        self._assumed = assumed
        self._sparse = sparse
        self._wanted: dict[LcuId, set[Area]] = {}
        for index in outputs:
            source = network.outputs[index]
            stream = network.streams[index]
            if isinstance(source, LcuId):
                area = Area(stream.shape.height, stream.shape.width)
                self._wanted.setdefault(source, set()).add(area)
        self._steps = 0
        self.stopped = ""
        self._reach = self._backwards(self._forwards())

    def solutions(self) -> Iterator[_Solution]:
        """At most MOST_SOLUTIONS of them; `stopped` says so where there are more."""
        yield from self._extend(0, {}, [MOST_SOLUTIONS])

    def _extend(self, place: int, chosen: _Solution, left: list[int]) -> Iterator[_Solution]:
        self._steps += 1
        if self._steps > _MOST_STEPS or not left[0]:
            self.stopped = "too many strides and paddings fit"
            return
        if place == len(self._layers):
            left[0] -= 1
            yield dict(chosen)
            return
        layer = self._layers[place]
        areas = [self._area(source, chosen) for source in layer.inputs]
        added = areas[1] if layer.kind is Kind.CONV and len(areas) == 2 else None  # a map as large as its own
        if added is None and len(set(areas)) != 1:
            return
        for window, result in self._ways(layer, areas[0]):
            if result in self._reach[layer.lcu] and added in (None, result):
                chosen[layer.lcu] = window, result
                yield from self._extend(place + 1, chosen, left)
                del chosen[layer.lcu]

    def _area(self, source: Source, chosen: _Solution) -> Area:
        return self._stream(source) if isinstance(source, Stream) else chosen[source][1]

    def _stream(self, source: Stream) -> Area:
        shape = self._network.streams[source.sys_index].shape
        return Area(shape.height, shape.width)

    def _ways(self, layer: Layer, area: Area) -> Iterator[tuple[Window, Area]]:
        """The windows that a layer may have over a map, with what each gives."""
        if layer.kind is Kind.DENSE:
            if self._fits_dense(layer, area):
                yield Window(1, 1, 1, False), Area(1, 1)
            return
        if layer.kind is Kind.MEAN:
            yield Window(*area, 1, False), Area(1, 1)
            return
        if layer.kind is Kind.UPSAMPLE:
            yield Window(1, 1, 1, False), Area(2 * area.height, 2 * area.width)
            return
        if layer.walk.eights not in (0, -(-area.width // COLUMNS)):
            return
        for window in self._windows(layer):
            result = window.over(area)
            if min(result) > 0:
                yield window, result

    def _fits_dense(self, layer: Layer, area: Area) -> bool:
        """Whether a dense layer takes a map in: surplus channels of whole groups of eight come last and are dropped."""
        if layer.weights is None or len(layer.inputs) != 1:
            return False
        used, rest = divmod(layer.weights.kernel.shape[1], area.height * area.width)
        source = layer.inputs[0]
        if isinstance(source, Stream):
            return not rest and used == self._network.streams[source.sys_index].shape.features
        given = self._network.layers[source]
        channels = given.channels or 0
        surplus = channels - 1 if given.kind is Kind.DENSE else OUTPUTS - 1
        return not rest and channels - surplus <= used <= channels

    def _windows(self, layer: Layer) -> Iterator[Window]:
        assumed = self._assumed.get(layer.lcu, Assumption())
        if layer.kind is Kind.MAX_POOL:
            size = assumed.pool or layer.kernel[0]
            stride = assumed.stride or (1 if layer.registers.pool_hint and not assumed.pool else size)
            padded = stride == 1 if assumed.padded is None else assumed.padded
            yield Window(size, size, stride, padded)
            return
        if layer.kind is not Kind.CONV:
            yield Window(1, 1, 1, False)
            return
        known = assumed.stride or layer.walk.stride or (max(layer.kernel) == 1 and not self._sparse)
        for stride in (int(known),) if known else _STRIDES:
            for padded in (False, True) if assumed.padded is None else (assumed.padded,):
                if max(layer.kernel) > 1 or not padded or assumed.padded is not None:
                    yield Window(*layer.kernel, stride, padded)

    def _forwards(self) -> dict[LcuId, set[Area]]:
        found: dict[LcuId, set[Area]] = {}
        for layer in self._layers:
            sets = [{self._stream(source)} if isinstance(source, Stream) else found[source] for source in layer.inputs]
            added = sets.pop() if layer.kind is Kind.CONV and len(sets) == 2 else None
            common = set.intersection(*sets) if sets else set()
            results = {result for area in common for _, result in self._ways(layer, area)}
            found[layer.lcu] = results if added is None else results & added
        return found

    def _backwards(self, reach: dict[LcuId, set[Area]]) -> dict[LcuId, set[Area]]:
        """Keep of each layer's areas those from which every reader and stream can be served."""
        for lcu, areas in self._wanted.items():
            if lcu in reach:
                kept = {area for area in reach[lcu] if all(area == wanted for wanted in areas)}
                reach[lcu] = kept
        for layer in reversed(self._layers):
            for place, source in enumerate(layer.inputs):
                if not isinstance(source, LcuId):
                    continue
                if place and layer.kind is Kind.CONV:
                    reach[source] &= reach[layer.lcu]
                else:
                    reach[source] = {
                        area
                        for area in reach[source]
                        if any(result in reach[layer.lcu] for _, result in self._ways(layer, area))
                    }
        return reach
