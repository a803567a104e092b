"""Agreements of a network's configuration that hold in every real file: each breach is a hazard (network.md 10)."""

from __future__ import annotations

from collections.abc import Iterator

from emu.net.dataflow import Source, Stream
from emu.net.layers import L2_END, L2_START, PASSING, Kind
from emu.net.network import Network
from emu.net.units import LcuId
from emu.net.weights import UnreadError, factors_of, groups_of
from emu.trace.hazards import Hazard

_KEEPING = PASSING | {Kind.MAX_POOL, Kind.UPSAMPLE}  # what gives codes that it reads


def network_hazards(network: Network) -> list[Hazard]:
    """All breaches, in the order of LCUs."""
    found = [
        Hazard("edge-one-way", f"{network.context}, {edge}", "it has no return edge")
        for edge in network.dataflow.one_way
    ]
    for lcu, registers in network.lcus.items():
        where = _where(network, lcu)
        if registers.units.told:
            found += [Hazard("lcu-without-unit", where, f"it has no {kind}") for kind in registers.units.missing]
        if registers.has_weights or registers.kind is Kind.ADD:
            found += _size(network, lcu)
    return [*found, *_zero_points(network)]


def _where(network: Network, lcu: LcuId) -> str:
    return f"{network.context}, cluster {lcu.cluster} LCU {lcu.number}"


def zero_points(network: Network) -> dict[Source, int | None]:
    """The zero point of the codes that each layer and stream gives, None where it is not known; copies and pools pass
    that of their inputs on."""
    found: dict[Source, int | None] = {}
    found.update((Stream(index), stream.zero_point) for index, stream in network.streams.items())
    for lcu, layer in network.layers.items():
        if layer.kind not in _KEEPING:
            found[lcu] = layer.registers.curve.zero_point
        elif layer.registers.curve.is_identity:
            points = {found.get(source) for source in layer.inputs}
            found[lcu] = points.pop() if len(points) == 1 else None
    return found


def _zero_points(network: Network) -> Iterator[Hazard]:
    """Word 2 of a convolution's aligners is the zero point of its one source (network.md 4), and the output offset of
    the layer behind an output stream is 8 times the stream's zero point."""
    points = zero_points(network)
    for layer in network.layers.values():
        wanted = points.get(layer.inputs[0]) if len(layer.inputs) == 1 else None
        for lcu in layer.lcus if layer.kind is Kind.CONV and wanted is not None else ():
            held = network.lcus[lcu].zero_point
            if held != wanted:
                what = f"its aligners hold zero point {held}, what it reads has {wanted}"
                yield Hazard("zero-point-mismatch", _where(network, lcu), what)
    for index, source in network.outputs.items():
        stream, point = network.streams[index], None if source is None else points.get(source)
        if isinstance(source, LcuId) and stream.quant.scale and point is not None and point != stream.quant.zp:
            what = f"its offset stands for zero point {point}, stream {stream.name} has {stream.quant.zp:g}"
            yield Hazard("output-offset-mismatch", _where(network, source), what)


def _size(network: Network, lcu: LcuId) -> Iterator[Hazard]:
    """Biases and weight words fit the memory that an LCU has of its sub-clusters, and of L3 what it lacks there."""
    registers = network.lcus[lcu]
    if registers.size > L2_END - L2_START:
        yield Hazard("weights-do-not-fit", _where(network, lcu), f"{registers.size} bytes of a sub-cluster's memory")
        return
    if registers.kind in (Kind.CONV, Kind.DENSE):
        try:
            groups_of(registers)
        except UnreadError as error:
            yield Hazard("weights-do-not-fit", _where(network, lcu), str(error))
            return
    elif registers.kind is Kind.ADD and registers.words != factors_of(registers):
        what = f"{registers.words} factors for {registers.groups} groups of biases"
        yield Hazard("weights-do-not-fit", _where(network, lcu), what)
        return
    given, needed = network.l3_blocks.get(lcu, (0, 0))
    if given != needed:
        what = f"{given} blocks of L3, its weights need {needed} beside {registers.size} bytes of its sub-clusters"
        yield Hazard("weights-do-not-fit", _where(network, lcu), what)
