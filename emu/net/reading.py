"""What of a network can be computed, and why the rest cannot: of one context, and of all contexts of a core-op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from emu.errors import HailoError, HailoStatus
from emu.hef.enums import EdgeConnectionType
from emu.hef.formats import FormatOrder
from emu.net.compute import Computation
from emu.net.layers import Kind
from emu.net.network import Network
from emu.net.shapes import Assumption, Geometry, Unsolved, solve_shapes
from emu.net.streams import StreamKey
from emu.net.units import LcuId

COMPUTED_ORDERS = frozenset({FormatOrder.NHWC, FormatOrder.NHCW, FormatOrder.NC, FormatOrder.FCR, FormatOrder.F8CR})
# a guess: products a second that numpy makes of small maps on one slow core
PRODUCTS_PER_S = 2e9


@dataclass(frozen=True)
class Reading:
    """What was made of one context: its network, the streams that can be computed, and why the others cannot.

    `computable`: sys_index of the output streams that depend on read layers alone; `refused[sys_index]`: why another
    one is not. `geometry` is that of all layers that computable streams need.
    """

    network: Network
    computable: tuple[int, ...]
    refused: Mapping[int, str]
    geometry: Mapping[LcuId, Geometry]

    @property
    def whole(self) -> bool:
        """Whether every output stream can be computed."""
        return not self.refused and bool(self.computable)

    @cached_property
    def computation(self) -> Computation:
        """Computes the computable streams."""
        return Computation(self.network, self.geometry, self.computable)

    @property
    def products(self) -> int:
        """Multiplications of one frame."""
        total = 0
        for layer in self.network.needed(self.computable):
            if layer.weights is not None:
                area = self.geometry[layer.lcu].area
                total += layer.weights.kernel.size * (1 if layer.kind is Kind.DENSE else area.height * area.width)
        return total


@dataclass(frozen=True, slots=True)
class GroupReading:
    """The contexts of a core-op, in the order in which they run."""

    contexts: tuple[Reading, ...]

    @property
    def whole(self) -> bool:
        """Whether every output stream of every context can be computed."""
        return all(reading.whole for reading in self.contexts)

    @property
    def layers(self) -> int:
        """Layers of all contexts."""
        return sum(len(reading.network.layers) for reading in self.contexts)

    @property
    def unread(self) -> list[tuple[LcuId, str]]:
        """Layers that cannot be computed, and why; an LCU may stand here for several contexts."""
        return [item for reading in self.contexts for item in reading.network.unread.items()]

    @property
    def computable(self) -> tuple[str, ...]:
        """The output streams to the host that can be computed."""
        return tuple(
            reading.network.streams[index].name
            for reading in self.contexts
            for index in reading.computable
            if reading.network.streams[index].connection is EdgeConnectionType.BOUNDARY
        )

    @property
    def refused(self) -> dict[str, str]:
        """Why output streams cannot be computed, those between contexts included."""
        return {
            reading.network.streams[index].name: why
            for reading in self.contexts
            for index, why in reading.refused.items()
        }

    @property
    def seconds_a_frame(self) -> float:
        """About how long a frame takes to compute."""
        return sum(reading.products for reading in self.contexts) / PRODUCTS_PER_S


def read_group(networks: Sequence[Network], assumed: Mapping[LcuId, Assumption] | None = None) -> GroupReading:
    """What of the contexts of a core-op can be computed, under what the user takes for granted.

    An assumption holds in every context that has the layer. Raises HailoError 2 where none has.
    """
    for lcu in assumed or {}:
        if not any(lcu in network.layers for network in networks):
            raise HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"--assume: {lcu} is no layer of the network")
    computed: set[StreamKey] = set()
    readings = []
    for context, network in enumerate(networks):
        lacking = {
            stream.sys_index: f"it depends on stream {stream.name}, which another context does not compute before"
            for stream in network.streams.values()
            if stream.is_input and not _is_there(stream.connection, stream.giver, computed)
        }
        reading = read(network, assumed, lacking)
        computed.update(StreamKey(context, index) for index in reading.computable)
        readings.append(reading)
    return GroupReading(tuple(readings))


def _is_there(connection: EdgeConnectionType, giver: StreamKey | None, computed: set[StreamKey]) -> bool:
    """Whether a context has the frames of an input: what goes through DDR is a matter of its own layers."""
    return connection in (EdgeConnectionType.BOUNDARY, EdgeConnectionType.DDR) or giver in computed


def read(
    network: Network,
    assumed: Mapping[LcuId, Assumption] | None = None,
    lacking: Mapping[int, str] | None = None,
) -> Reading:
    """What of one context can be computed; `lacking`: input streams whose frames are not known, and why."""
    assumed = {lcu: one for lcu, one in (assumed or {}).items() if lcu in network.layers}
    refused: dict[int, str] = {}
    computable: list[int] = []
    for index in network.outputs:
        why = _refusal(network, index)
        why = why or next((text for one, text in (lacking or {}).items() if one in network.inputs_of((index,))), "")
        if why:
            refused[index] = why
        else:
            computable.append(index)
    geometry: dict[LcuId, Geometry] = {}
    found = solve_shapes(network, tuple(computable), assumed) if computable else {}
    if isinstance(found, Unsolved):
        # together they do not fit: each stream by itself says which one it is
        for index in list(computable):
            alone = solve_shapes(network, (index,), assumed)
            if isinstance(alone, Unsolved):
                computable.remove(index)
                refused[index] = alone.why
            elif any(geometry.setdefault(lcu, one) != one for lcu, one in alone.items()):
                computable.remove(index)
                refused[index] = found.why
    else:
        geometry = found
    return Reading(network, tuple(computable), refused, geometry)


def _refusal(network: Network, index: int) -> str:
    """Why an output stream cannot be computed, whatever the shapes are."""
    stream = network.streams[index]
    if stream.order not in COMPUTED_ORDERS:
        return f"frames in order {stream.order.name} are not made"
    source = network.outputs[index]
    if not isinstance(source, LcuId):
        return "what it carries was not traced"
    needed = network.needed((index,))
    unread = [layer for layer in needed if layer.unread]
    if unread:
        return f"it depends on {len(unread)} layers that are not read, first LCU {unread[0].lcu}: {unread[0].unread}"
    last = network.layers[source]
    if (last.channels or 0) != stream.shape.features:
        return f"its layer gives {last.channels} channels, the stream has {stream.shape.features}"
    if last.registers.curve.wide != (stream.data_bytes == 2):
        return f"its layer gives {'16' if last.registers.curve.wide else '8'} bits, the stream {8 * stream.data_bytes}"
    return ""
