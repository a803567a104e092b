"""Computed frames on the wire: the bytes of a frame's inputs to codes, codes to the bytes of its outputs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.reorder import input_reorder, output_reorder
from emu.hef.enums import EdgeConnectionType
from emu.hef.formats import FormatOrder, Shape
from emu.hw.config.execute import Held
from emu.net.compute import Computation
from emu.net.network import network_held
from emu.net.reading import GroupReading, Reading, read
from emu.net.shapes import Assumption
from emu.net.streams import NetStream, StreamKey
from emu.net.units import LcuId

Codes = NDArray[Any]

_KEPT_FRAMES = 4096  # frames whose contexts may be a batch apart


class ContextFrames:
    """Computes the wire bytes of the computable streams of one context, several frames at once."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._computations: dict[tuple[int, ...], Computation] = {}

    def __call__(self, frames: Sequence[Mapping[int, bytes]]) -> list[dict[int, bytes]]:
        """{sys_index of an output stream: bytes} of each frame, from {sys_index of an input stream: bytes}.

        The frames have the same inputs; streams that need others are left out. ValueError for bytes of another size.
        """
        reading, streams = self.reading, self.reading.network.streams
        there = frames[0].keys()
        outputs = tuple(index for index in reading.computable if reading.network.inputs_of((index,)) <= there)
        if not outputs:
            return [{} for _ in frames]
        computation = self._computations.get(outputs)
        if computation is None:
            computation = self._computations[outputs] = Computation(reading.network, reading.geometry, outputs)
        inputs = {
            index: np.stack([codes_of(streams[index], frame[index]) for frame in frames])
            for index in sorted(reading.network.inputs_of(outputs))
        }
        found = computation(inputs)
        return [{index: wire_of(streams[index], found[index][at]) for index in outputs} for at in range(len(frames))]


class ComputedFrames:
    """Computes the wire bytes of what a core-op gives to the host, several frames at once.

    `contexts` compute what each of its contexts gives; frames go from one to the next as they would through memory.
    """

    def __init__(self, group: GroupReading) -> None:
        self.contexts = tuple(ContextFrames(reading) for reading in group.contexts)

    def __call__(self, frames: Sequence[Mapping[str, bytes]]) -> list[dict[str, bytes]]:
        """{output stream: bytes} of each frame, from {input stream: bytes}; streams of the host alone."""
        given: list[dict[StreamKey, bytes]] = [{} for _ in frames]
        found: list[dict[str, bytes]] = [{} for _ in frames]
        for context, compute in enumerate(self.contexts):
            streams = compute.reading.network.streams
            inputs: list[dict[int, bytes]] = [{} for _ in frames]
            for stream in streams.values():
                for frame, kept, row in zip(frames, given, inputs, strict=True):
                    if stream.is_input and stream.connection is EdgeConnectionType.BOUNDARY:
                        row[stream.sys_index] = frame[stream.name]
                    elif stream.giver in kept:
                        row[stream.sys_index] = kept[stream.giver]
            for kept, outputs, computed in zip(given, found, compute(inputs), strict=True):
                kept.update((StreamKey(context, index), data) for index, data in computed.items())
                outputs.update(
                    (streams[index].name, data)
                    for index, data in computed.items()
                    if streams[index].connection is EdgeConnectionType.BOUNDARY
                )
        return found


class CoreFrames:
    """What the core computes while it runs: context by context, from what came of a frame over its channels.

    Where the chip may hold something else than the lists say the network is read from what it holds; `lost` is told
    which streams of the host cannot be computed of that, and why.
    """

    def __init__(
        self,
        group: GroupReading,
        assumed: Mapping[LcuId, Assumption] | None = None,
        lost: MutableMapping[str, str] | None = None,
    ) -> None:
        self._contexts = [ContextFrames(reading) for reading in group.contexts]
        self._assumed = assumed
        self._lost = {} if lost is None else lost
        self._given: OrderedDict[int, set[StreamKey]] = OrderedDict()  # by frame: what was computed of it
        self._held: dict[int, tuple[int, ContextFrames]] = {}  # by context: as of which version of the chip

    def __call__(
        self, number: int, context: int, arrived: Mapping[int, bytes], held: Held | None = None
    ) -> dict[int, bytes]:
        """{sys_index of an output stream: bytes} of one frame in one context, from its inputs.

        Nothing comes of an input from another context that is not computed itself.
        """
        if not 0 <= context < len(self._contexts):
            return {}
        compute = self._contexts[context] if held is None else self._read(context, held)
        given = self._given.setdefault(number, set())
        while len(self._given) > _KEPT_FRAMES:
            self._given.popitem(last=False)
        streams = compute.reading.network.streams
        inputs = {
            index: data
            for index, data in arrived.items()
            if index in streams
            and len(data) == streams[index].frame_bytes
            and (streams[index].giver is None or streams[index].giver in given)
        }
        found = compute([inputs])[0]
        given.update(StreamKey(context, index) for index in found)
        return found

    def sizes(self, context: int) -> dict[int, int]:
        """Bytes of a frame of each stream of a context."""
        if not 0 <= context < len(self._contexts):
            return {}
        return {index: one.frame_bytes for index, one in self._contexts[context].reading.network.streams.items()}

    def names(self, context: int, indices: Iterable[int]) -> frozenset[str]:
        """The streams of the host among some of a context."""
        streams = self._contexts[context].reading.network.streams
        return frozenset(
            streams[index].name for index in indices if streams[index].connection is EdgeConnectionType.BOUNDARY
        )

    def _read(self, context: int, held: Held) -> ContextFrames:
        found = self._held.get(context)
        if found is None or found[0] != held.version:
            own = self._contexts[context].reading.network
            enabled = frozenset((lcu.cluster, lcu.number) for lcu in own.lcus)
            network = network_held(own.context, held.image, held.runs, own.streams, enabled)
            reading = read(network, self._assumed)
            found = self._held[context] = held.version, ContextFrames(reading)
            for index in set(self._contexts[context].reading.computable) - set(reading.computable):
                self._lost.update((name, reading.refused[index]) for name in self.names(context, (index,)))
        return found[1]


def codes_of(stream: NetStream, data: bytes) -> Codes:
    """The codes [rows, columns, features] in a frame of a stream."""
    codes = np.frombuffer(data, _type(stream))
    found = np.zeros(stream.shape.elements, codes.dtype)
    to = FormatOrder.NC if stream.order is FormatOrder.NC else FormatOrder.NHWC
    output_reorder(stream.order, to)(codes, stream.hw_shape, found, stream.shape)
    return found.reshape(stream.shape)


def wire_of(stream: NetStream, codes: Codes) -> bytes:
    """The frame of a stream that holds codes [rows, columns, features]; padding is zero."""
    shape: Shape = stream.shape
    frame = np.zeros(stream.frame_bytes // stream.data_bytes, _type(stream))
    of = FormatOrder.NC if stream.order is FormatOrder.NC else FormatOrder.NHWC
    flat = np.ascontiguousarray(codes, frame.dtype).reshape(-1)
    input_reorder(of, stream.order)(flat, shape, frame, stream.hw_shape)
    return frame.tobytes()


def _type(stream: NetStream) -> np.dtype[Any]:
    return np.dtype("<u2" if stream.data_bytes == 2 else "u1")
