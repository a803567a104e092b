"""What `emu net` shows of a network: a document, a Graphviz graph, arrays of weights (cli.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from emu.net.dataflow import Source, Stream
from emu.net.layers import Kind, LcuRegisters
from emu.net.network import Layer, Network
from emu.net.reading import Reading
from emu.net.units import LcuId
from emu.trace.hazards import Hazard

_KINDS = {Kind.MEAN: "other", Kind.UPSAMPLE: "copy"}  # kinds that the contract does not name (cli.md)


def document(reading: Reading, hazards: list[Hazard]) -> dict[str, Any]:
    """The layers LCU by LCU, the streams, and what was taken for granted."""
    network = reading.network
    outputs = _consumers(network)
    return {
        "layers": [_lcu(reading, registers, outputs.get(lcu, [])) for lcu, registers in network.lcus.items()],
        "streams": [_stream(reading, index) for index in network.streams],
        "notes": [*network.notes, *(f"{lcu}: {why}" for lcu, why in assumptions(reading).items())],
        "hazards": [{"rule": rule, "where": where, "what": what} for rule, where, what in hazards],
        "unread": [{"lcu": list(lcu), "why": why} for lcu, why in network.unread.items()],
        "multiplications": reading.products,
    }


def assumptions(reading: Reading) -> dict[LcuId, str]:
    """Layers whose stride or padding several solutions leave open, and what was chosen why."""
    return {
        lcu: f"{_padding(geometry.window.padded)} padding, stride {geometry.window.stride}: {geometry.why}"
        for lcu, geometry in reading.geometry.items()
        if geometry.why
    }


def lines(group: str, reading: Reading, hazards: list[Hazard]) -> Iterator[str]:
    """The layers as text, a line each, then the streams and what was taken for granted."""
    network = reading.network
    layers, unread = network.layers, network.unread
    yield f"{group}: {len(network.lcus)} LCUs, {len(layers)} layers, {len(unread)} not read\n"
    for lcu, layer in layers.items():
        also = "".join(f" {other}" for other in layer.lcus if other != lcu)
        sources = ", ".join(map(str, layer.inputs)) or "nothing that was traced"
        text = f"  {lcu} {layer.kind.value} {_layer_text(reading, layer)} from {sources}"
        yield text + (f" (with{also})" if also else "") + (f": not read, {layer.unread}" if layer.unread else "") + "\n"
    for index in network.outputs:
        stream = network.streams[index]
        why = reading.refused.get(index)
        yield (
            f"  {stream.name} ({_shape_text(stream.shape)}): "
            + (why or f"computed from {network.outputs[index]}")
            + "\n"
        )
    for note in [*network.notes, *(f"{lcu}: {why}" for lcu, why in assumptions(reading).items())]:
        yield f"  assumed: {note}\n"
    for rule, where, what in hazards:
        yield f"  hazard: {rule}: {where}: {what}\n"


def weights(networks: Sequence[Network]) -> dict[str, NDArray[Any]]:
    """`C.L.kernel` and `C.L.bias` of every layer that has weights and was read (emu.net.weights); of several contexts
    with the number of the context before it, `K/C.L.kernel`."""
    found: dict[str, NDArray[Any]] = {}
    for context, network in enumerate(networks):
        prefix = f"{context}/" if len(networks) > 1 else ""
        for lcu, layer in network.layers.items():
            if layer.weights is not None:
                found[f"{prefix}{lcu}.kernel"] = layer.weights.kernel
                found[f"{prefix}{lcu}.bias"] = layer.weights.bias
    return found


def dot(readings: Sequence[Reading]) -> str:
    """The layers of all contexts as a Graphviz graph: unread ones dashed."""
    lines = [line for context, reading in enumerate(readings) for line in _dot_lines(context, reading)]
    return "".join(["digraph network {\n", *lines, "}\n"])


def _dot_lines(context: int, reading: Reading) -> Iterator[str]:
    network = reading.network

    def node(source: Source) -> str:
        return f'"{context}: {source}"'

    for index, stream in network.streams.items():
        yield f"  {node(Stream(index))} [shape=box, label={_quoted(stream.name, _shape_text(stream.shape))}];\n"
        if stream.giver is not None:
            given = f'"{stream.giver.context}: {Stream(stream.giver.sys_index)}"'
            yield f"  {given} -> {node(Stream(index))};\n"
    for lcu, layer in network.layers.items():
        style = ", style=dashed" if layer.unread else ""
        label = _quoted(f"{layer.kind.value} {lcu}", _layer_text(reading, layer))
        yield f"  {node(lcu)} [label={label}{style}];\n"
        for source in layer.inputs:
            yield f"  {node(source)} -> {node(lcu)};\n"
    for index, carried in network.outputs.items():
        if carried is not None:
            yield f"  {node(carried)} -> {node(Stream(index))};\n"


def _quoted(*lines: str) -> str:
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines]
    return '"' + "\\n".join(escaped) + '"'


def _layer_text(reading: Reading, layer: Layer) -> str:
    geometry = reading.geometry.get(layer.lcu)
    if geometry is None:
        return f"{layer.channels or '?'} channels"
    window = geometry.window
    moved = f"{window.rows}x{window.columns}/{window.stride} " if layer.kind in (Kind.CONV, Kind.MAX_POOL) else ""
    return f"{moved}{_shape_text((*geometry.area, layer.channels or 0))}"


def _shape_text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _padding(padded: bool) -> str:
    return "same" if padded else "valid"


def _lcu(reading: Reading, registers: LcuRegisters, outputs: list[list[int] | str]) -> dict[str, Any]:
    network, lcu = reading.network, registers.lcu
    carried = network.carries.get(lcu)
    layer = network.layers.get(carried) if isinstance(carried, LcuId) else None
    computes = layer is not None and lcu in layer.lcus
    geometry = reading.geometry.get(layer.lcu) if layer is not None and computes else None
    moves = geometry is not None and registers.kind in (Kind.CONV, Kind.MAX_POOL)
    found: dict[str, Any] = {
        "lcu": list(lcu),
        "kind": _KINDS.get(registers.kind, registers.kind.value),
        "inputs": [_name(network, source) for source in network.dataflow.inputs[lcu]],
        "outputs": outputs,
        "shape": None if geometry is None or layer is None else [*geometry.area, layer.channels],
        "channels": layer.channels if layer is not None and computes else None,
        "kernel": None if not moves or geometry is None else list(geometry.window[:2]),
        "stride": None if not moves or geometry is None else [geometry.window.stride] * 2,
        "padding": None if not moves or geometry is None else _padding(geometry.window.padded),
        "unread": (layer.unread or None) if layer is not None and computes else None,
        "layer": None if layer is None or not computes else list(layer.lcu),
        "input_zero_point": registers.zero_point,
        "output_zero_point": registers.curve.zero_point,
        "level": registers.level,
        "groups": None if layer is None or layer.weights is None else layer.weights.outputs // 8,
        "activation": {
            "breaks": registers.curve.breaks,
            "slopes": [mantissa / 512 * 2.0**-exponent for mantissa, exponent in registers.curve.slopes],
            "offsets": [offset / 8 for offset in registers.curve.offsets],
            "bits": 16 if registers.curve.wide else 8,
        },
        "units": {
            "sub_clusters": registers.units.sub_clusters,
            "apus": registers.units.apus,
            "input_aligners": registers.units.aligners,
            "l2_bytes": registers.size if registers.has_weights else 0,
            "weight_words": registers.words,
        },
    }
    return found


def _stream(reading: Reading, index: int) -> dict[str, Any]:
    stream = reading.network.streams[index]
    found: dict[str, Any] = {
        "name": stream.name,
        "sys_index": index,
        "direction": "h2d" if stream.is_input else "d2h",
        "shape": list(stream.shape),
    }
    if not stream.is_input:
        carried = reading.network.outputs[index]
        found["carries"] = None if carried is None else _name(reading.network, carried)
        found["computable"] = index in reading.computable
        found["why"] = reading.refused.get(index)
    return found


def _name(network: Network, source: Source | None) -> list[int] | str | None:
    if isinstance(source, Stream):
        stream = network.streams.get(source.sys_index)
        return str(source) if stream is None else stream.name
    return None if source is None else list(source)


def _consumers(network: Network) -> dict[LcuId, list[list[int] | str]]:
    found: dict[LcuId, list[list[int] | str]] = {}
    for source, lcus in network.dataflow.consumers().items():
        if isinstance(source, LcuId):
            found.setdefault(source, []).extend(list(lcu) for lcu in lcus)
    for index, sources in network.dataflow.outputs.items():
        for source in sources:
            if isinstance(source, LcuId):
                stream = network.streams.get(index)
                found.setdefault(source, []).append(str(Stream(index)) if stream is None else stream.name)
    return found
