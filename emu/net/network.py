"""The layers of a network and how they are joined, from a configured chip (network.md 3 to 5, 11).

LCUs that compute one layer cut by columns become one layer; copies and layout changes of one map pass it on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from emu.hef.enums import EdgeConnectionType
from emu.hw.config.addresses import L3_BLOCK
from emu.hw.config.execute import Executed, Run
from emu.hw.config.image import ChipImage
from emu.net.concat import input_order, joined
from emu.net.dataflow import Dataflow, Source, Stream, read_dataflow
from emu.net.generators import UNKNOWN, Walk, walk_of
from emu.net.l3 import blocks_of_cluster, runs_of
from emu.net.layers import PASSING, Kind, LcuRegisters, read_registers
from emu.net.streams import NetStream
from emu.net.units import LcuId, units_of_cluster
from emu.net.weights import (
    OUTPUTS,
    UnreadError,
    Weights,
    conv_weights,
    dense_weights,
    grouped,
    groups_of,
    memories,
    plan_of,
    scale_weights,
    sum_weights,
    words_in_l2,
)
from emu.net.widths import Width, Widths


class Layer(Struct, frozen=True):
    """One layer: `lcu` is the first of the LCUs that compute it, `inputs` what it reads in the order of channels.

    `channels` is what it gives, padded to whole groups of eight where nothing tells how many of them mean anything;
    None where that is not known. `kernel`: rows and columns; `walk`: how it goes over its input; `per_channel`: each
    channel has a kernel of its own, and the layer reads those of its input from `first` on. `unread` says why it
    cannot be computed, "" where it can.
    """

    lcu: LcuId
    lcus: tuple[LcuId, ...]
    kind: Kind
    inputs: tuple[Source, ...]
    registers: LcuRegisters
    channels: int | None
    kernel: tuple[int, int]
    weights: Weights | None
    unread: str
    per_channel: bool = False
    walk: Walk = UNKNOWN
    first: int = 0


class Network(Struct, frozen=True):
    """What was read of one core-op.

    `context` is the list that configured it, as hazards name it. `lcus`: the registers of every LCU; `layers` in an
    order in which each comes behind its inputs; `carries[lcu]`: the layer or stream whose map an LCU gives;
    `outputs[sys_index]`: what each output stream carries; `l3_blocks[lcu]`: how many blocks of L3 its cluster gives it,
    and how many its weights need, where that is any; `notes`: what was taken for granted where the configuration
    leaves it open.
    """

    context: str
    lcus: Mapping[LcuId, LcuRegisters]
    dataflow: Dataflow
    layers: Mapping[LcuId, Layer]
    carries: Mapping[LcuId, Source]
    streams: Mapping[int, NetStream]
    outputs: Mapping[int, Source | None]
    l3_blocks: Mapping[LcuId, tuple[int, int]]
    notes: tuple[str, ...]

    @property
    def unread(self) -> dict[LcuId, str]:
        """Layers that cannot be computed, and why."""
        return {lcu: layer.unread for lcu, layer in self.layers.items() if layer.unread}

    def needed(self, outputs: Iterable[int]) -> list[Layer]:
        """The layers that some output streams depend on, in order."""
        wanted = {source for index in outputs if isinstance(source := self.outputs.get(index), LcuId)}
        found: list[Layer] = []
        for layer in reversed(list(self.layers.values())):
            if layer.lcu in wanted:
                found.append(layer)
                wanted.update(source for source in layer.inputs if isinstance(source, LcuId))
        return found[::-1]

    def inputs_of(self, outputs: Iterable[int]) -> set[int]:
        """The input streams that some output streams depend on."""
        indices = list(outputs)
        read = [source for layer in self.needed(indices) for source in layer.inputs]
        read += [source for index in indices if (source := self.outputs.get(index)) is not None]
        return {source.sys_index for source in read if isinstance(source, Stream)}


def read_network(
    executed: Executed, streams: Mapping[int, NetStream], enabled: frozenset[tuple[int, int]] | None = None
) -> Network:
    """Read the network that a configured Hailo-8/8L chip holds after the last of its lists.

    `streams` are those of the context, `enabled` its LCUs (None: all that programs configured).
    """
    context = executed.runs[-1].source.context
    name = "preliminary" if context is None or executed.configuration.contexts == 1 else f"dynamic_{context}"
    runs = [run for listed in executed.runs for run in listed.runs]
    return network_held(name, executed.image, runs, streams, enabled)


def network_held(
    context: str,
    image: ChipImage,
    runs: Iterable[Run],
    streams: Mapping[int, NetStream],
    enabled: frozenset[tuple[int, int]] | None = None,
) -> Network:
    """Read the network that a chip holds in a context, once some programs have run, in their order."""
    lcus: dict[int, frozenset[int]] = {}
    visited: dict[int, set[int]] = {}
    programs: dict[LcuId, NDArray[np.uint8]] = {}
    for run in runs:
        own = run.effects.lcus
        own = own if enabled is None else frozenset(lcu for lcu in own if (run.cluster, lcu) in enabled)
        lcus[run.cluster] = lcus.get(run.cluster, frozenset()) | own
        visited.setdefault(run.cluster, set()).update(run.program.blocks)
        # what a later list writes over an LCU's program may be shorter than what stood there
        programs.update((LcuId(run.cluster, lcu), found.rows) for lcu, found in run.effects.instructions.items())
    dataflow = read_dataflow(image, {cluster: own for cluster, own in lcus.items() if own})
    registers = {}
    for cluster in sorted(lcus):
        units = units_of_cluster(image, cluster)
        for number in sorted(lcus[cluster]):
            lcu = LcuId(cluster, number)
            registers[lcu] = read_registers(image, lcu, units[number], programs.get(lcu))
    reader = _Reader(image, dataflow, registers, streams, visited)
    reader.read()
    return Network(
        context,
        registers,
        dataflow,
        reader.layers,
        reader.carries,
        streams,
        {stream.sys_index: reader.output(stream.sys_index) for stream in streams.values() if not stream.is_input},
        _l3_blocks(image, registers),
        (*dataflow.assumed, *reader.notes),
    )


class _Reader:
    """Makes layers of LCUs, each after those that it reads."""

    def __init__(
        self,
        image: ChipImage,
        dataflow: Dataflow,
        registers: Mapping[LcuId, LcuRegisters],
        streams: Mapping[int, NetStream],
        visited: Mapping[int, set[int]],
    ) -> None:
        self.image = image
        self.dataflow = dataflow
        self.registers = registers
        self.streams = streams
        self.visited = visited
        self.widths = Widths({index: stream.shape.features for index, stream in streams.items()})
        self.layers: dict[LcuId, Layer] = {}
        self.carries: dict[LcuId, Source] = {}
        self.notes: list[str] = []
        self._known: dict[tuple[object, ...], LcuId] = {}

    def read(self) -> None:
        """Read every LCU; how many channels each gives is known when all that read it are."""
        for lcu in self._in_order():
            self._read(lcu)
        for index, stream in self.streams.items():
            source = None if stream.is_input else self.output(index)
            if source is not None:
                self.widths.narrow_if_open(source, stream.shape.features)
        self.widths.settle()
        self.layers = {
            lcu: replace(layer, channels=self.widths.channels(lcu), first=self.widths.first(lcu))
            for lcu, layer in self.layers.items()
        }

    def output(self, index: int) -> Source | None:
        """The map that an output stream carries."""
        found = {self._carried(source) for source in self.dataflow.outputs.get(index, ())}
        return found.pop() if len(found) == 1 else None

    def _carried(self, source: Source | None) -> Source | None:
        """The map that an LCU or a stream gives: what LCUs give to DDR comes back from there."""
        portal = self._portal(source)
        if portal is not None:
            given = set(self.dataflow.outputs.get(portal, ()))
            source = given.pop() if len(given) == 1 else None
        return self.carries.get(source) if isinstance(source, LcuId) else source

    def _portal(self, source: Source | None) -> int | None:
        """The output stream whose frames an input stream from DDR takes up."""
        stream = self.streams.get(source.sys_index) if isinstance(source, Stream) else None
        if stream is None or stream.connection is not EdgeConnectionType.DDR or stream.giver is None:
            return None
        return stream.giver.sys_index

    def _behind(self, source: Source | None) -> Iterator[LcuId]:
        """The LCUs that a source comes from at once, those at the other end of DDR included."""
        if isinstance(source, LcuId):
            yield source
        elif source is not None and (portal := self._portal(source)) is not None:
            yield from (one for one in self.dataflow.outputs.get(portal, ()) if isinstance(one, LcuId))

    def _in_order(self) -> list[LcuId]:
        """LCUs so that each comes behind its sources; those of a cycle, which no real file has, come last."""
        waiting = {
            lcu: {lcu for source in sources for lcu in self._behind(source)}
            for lcu, sources in self.dataflow.inputs.items()
        }
        order: list[LcuId] = []
        while waiting:
            ready = [lcu for lcu, sources in waiting.items() if not any(source in waiting for source in sources)]
            ready = ready or list(waiting)
            order += ready
            for lcu in ready:
                del waiting[lcu]
        return order

    def _read(self, lcu: LcuId) -> None:
        registers = self.registers[lcu]
        problem = self.dataflow.unknown.get(lcu, "") or registers.problem
        ordered = input_order(self.image, self.dataflow, registers) if not self.dataflow.unknown.get(lcu) else None
        firsts: tuple[int, ...] = ()
        if ordered is not None and registers.kind is Kind.COPY:
            ordered, firsts = joined(self.image, lcu, ordered)
        given = self.dataflow.inputs[lcu]
        if ordered is None and len(given) > 1:
            problem = problem or "the order of its inputs is not known"
        sources: list[Source] = []
        for port in ordered or range(len(given)):
            source = given[port]
            carried = self._carried(source)
            if source is not None and carried is None:
                problem = problem or f"its input {source} comes round to itself"
            if carried is not None and carried not in sources:
                sources.append(carried)
        inputs = tuple(sources)
        if registers.kind in PASSING and not problem and registers.curve.is_identity and len(inputs) == 1:
            self.carries[lcu] = inputs[0]
            return
        layer = self._layer(registers, inputs, firsts if len(firsts) == len(inputs) else (), problem)
        same = self._known.setdefault(self._key(layer), lcu)
        if same != lcu:
            first = self.layers[same]
            self.layers[same] = replace(first, lcus=(*first.lcus, lcu))
        else:
            self.layers[lcu] = layer
        self.carries[lcu] = same

    def _key(self, layer: Layer) -> tuple[object, ...]:
        """What LCUs have in common that compute one layer cut by columns (network.md 11)."""
        if layer.unread or not layer.inputs:
            return (layer.lcu,)
        weights = layer.weights
        content = None if weights is None else (weights.kernel.tobytes(), weights.bias.tobytes())
        registers = layer.registers
        return (layer.kind, layer.inputs, content, registers.level, registers.zero_point, registers.curve)

    def _layer(
        self, registers: LcuRegisters, inputs: tuple[Source, ...], firsts: tuple[int, ...], problem: str
    ) -> Layer:
        lcu = registers.lcu
        unread = Layer(lcu, (lcu,), registers.kind, inputs, registers, None, (1, 1), None, problem)
        if problem:
            self._width_of_unread(registers, inputs)
            return unread
        try:
            return self._read_layer(unread, firsts)
        except UnreadError as error:
            self._width_of_unread(registers, inputs)
            return replace(unread, unread=str(error))

    def _read_layer(self, layer: Layer, firsts: tuple[int, ...]) -> Layer:
        """A layer with its kernel and weights; `firsts`: the first channel of each of its inputs where it joins them.

        Raises UnreadError with what is not understood.
        """
        registers, inputs = layer.registers, layer.inputs
        kind, lcu, widths = registers.kind, registers.lcu, self.widths
        if kind in PASSING:
            if not registers.curve.is_identity:
                raise UnreadError("a copy that rescales: its arithmetic is not known")
            widths.joins(lcu, inputs, firsts)
            return layer
        if kind is Kind.ADD:
            return self._sum(layer)
        if len(inputs) != 1 and not (kind is Kind.CONV and len(inputs) == 2):
            raise UnreadError(f"a {kind.value} layer of {len(inputs)} inputs")
        if kind is Kind.MAX_POOL:
            if not registers.curve.is_identity:
                raise UnreadError("a pool that rescales: its arithmetic is not known")
            widths.passes_on(lcu, inputs[0])
            return replace(layer, kernel=(5, 5) if registers.pool_hint else (2, 2))
        if kind is Kind.UPSAMPLE and not registers.curve.is_identity:
            raise UnreadError("an enlargement that rescales: its arithmetic is not known")
        if kind in (Kind.MEAN, Kind.UPSAMPLE) or (kind is Kind.SCALE and registers.factor):
            widths.passes_on(lcu, inputs[0])
            return layer
        if bool(registers.factor) != (len(inputs) == 2) or (registers.factor and not registers.repeats):
            raise UnreadError(f"{len(inputs)} inputs, a factor of {registers.factor}, added {registers.repeats} times")
        if kind is Kind.DENSE:
            weights = dense_weights(self.image, registers, self._runs(registers))
            widths.gives(lcu, weights.outputs, len(memories(self.image, registers)))
            return replace(layer, weights=weights)
        if kind is Kind.SCALE:
            weights = scale_weights(self.image, registers)
            widths.passes_on(lcu, inputs[0])
            if weights.outputs < widths.of(inputs[0]).least:
                raise UnreadError(f"{weights.outputs} factors for {widths.of(inputs[0]).least} channels")
            return replace(layer, weights=weights)
        return self._convolution(layer)

    def _sum(self, layer: Layer) -> Layer:
        registers, inputs, widths = layer.registers, layer.inputs, self.widths
        if len(inputs) != 2:
            raise UnreadError(f"a sum of {len(inputs)} maps")
        weights = sum_weights(self.image, registers, self._runs(registers))
        for source in inputs:
            widths.narrow(source, weights.outputs)
        widths.passes_on(registers.lcu, inputs[0])
        return replace(layer, weights=weights)

    def _convolution(self, layer: Layer) -> Layer:
        registers, source, widths = layer.registers, layer.inputs[0], self.widths
        units = len(memories(self.image, registers))
        walk = walk_of(self.image, registers.lcu, len(registers.units.sub_clusters) // units)
        width = widths.of(source)
        if walk.groups > 1 and walk.groups == registers.groups:
            return self._grouped(layer, walk)
        if width.least <= walk.channels <= width.most:
            width = Width(walk.channels, walk.channels)
        plan = plan_of(registers, width.least, width.most)
        weights = conv_weights(self.image, registers, plan, self._runs(registers))
        if plan.per_channel:
            # those with an APU each have halves of the channels
            channels = walk.channels * (units if len(registers.units.apus) > 1 else 1)
            if not weights.outputs - OUTPUTS * units < channels <= weights.outputs:
                channels = weights.outputs
            widths.takes_part(registers.lcu, source, channels)
        else:
            widths.narrow(source, plan.inputs)
            widths.gives(registers.lcu, weights.outputs, units)
        if len(layer.inputs) == 2:
            widths.agree(registers.lcu, layer.inputs[1])
        kernel = plan.rows, plan.columns
        return replace(layer, kernel=kernel, walk=walk, weights=weights, per_channel=plan.per_channel)

    def _grouped(self, layer: Layer, walk: Walk) -> Layer:
        """A convolution whose outputs read a few channels of their own each, of all channels of its source or some."""
        registers, source = layer.registers, layer.inputs[0]
        if len(layer.inputs) > 1:
            raise UnreadError("a convolution of groups of channels that adds a second input")
        plan = plan_of(registers, walk.channels, walk.channels)
        weights = grouped(conv_weights(self.image, registers, plan, self._runs(registers)), walk.groups)
        self.widths.takes_part(registers.lcu, source, weights.outputs)
        return replace(layer, kernel=(plan.rows, plan.columns), walk=walk, weights=weights)

    def _runs(self, registers: LcuRegisters) -> list[NDArray[np.uint8]]:
        """What lies in L3 for each sub-cluster of an LCU, by slot; nothing where its own memory holds all."""
        lcu, missing = registers.lcu, _missing(registers)
        if not missing:
            return []
        runs = runs_of(self.image, lcu, [number for number, _ in memories(self.image, registers)], missing)
        blocks = self._data_blocks(lcu.cluster)
        if runs is None or any(number not in blocks for run in runs for number in run):
            raise UnreadError("the blocks of L3 that its cluster gives it are not those that its weights need")
        return [np.concatenate([blocks[number] for number in run]) for run in runs]

    def _data_blocks(self, cluster: int) -> dict[int, NDArray[np.uint8]]:
        """The blocks of L3 that a cluster's program does not visit (chip-config.md 3)."""
        l3 = self.image.l3[cluster]
        held = {number: l3.block(number) for number in l3.written if number not in self.visited.get(cluster, ())}
        return {number: block.data[:L3_BLOCK] for number, block in held.items() if block is not None}

    def _width_of_unread(self, registers: LcuRegisters, inputs: tuple[Source, ...]) -> None:
        """How many channels an LCU gives whose weights were not read, where its memory says that."""
        if registers.kind in (Kind.CONV, Kind.SCALE, Kind.DENSE):
            try:
                units = len(memories(self.image, registers))
                self.widths.gives(registers.lcu, groups_of(registers) * OUTPUTS * units, units)
            except UnreadError:
                return
        elif registers.kind in (Kind.MAX_POOL, Kind.UPSAMPLE, Kind.ADD, Kind.MEAN) and inputs:
            self.widths.passes_on(registers.lcu, inputs[0])


def _l3_blocks(image: ChipImage, registers: Mapping[LcuId, LcuRegisters]) -> dict[LcuId, tuple[int, int]]:
    """Of the LCUs whose cluster gives them blocks of L3, or whose weights need any: (given, needed)."""
    found = {}
    named = {cluster: blocks_of_cluster(image, cluster) for cluster in {lcu.cluster for lcu in registers}}
    for lcu, own in registers.items():
        given, needed = len(named[lcu.cluster].get(lcu.number, ())), _missing(own)
        if needed:
            try:
                needed *= len(memories(image, own))
            except UnreadError:
                continue
        if given or needed:
            found[lcu] = given, needed
    return found


def _missing(registers: LcuRegisters) -> int:
    """Blocks of L3 that each sub-cluster of an LCU needs for its weights."""
    if registers.kind not in (Kind.CONV, Kind.DENSE, Kind.ADD):
        return 0
    return max(-(-registers.bits * (registers.words - words_in_l2(registers)) // L3_BLOCK), 0)
