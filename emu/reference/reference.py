"""A bound model at work: the stream bytes of a frame go in, the bytes of every output stream come out.

`Reference` is made of a binding, `FunctionReference` of a Python callable, `References` joins those of all groups of a
run into the one callable that a simulated device asks: (group index, frame number, input bytes) -> output bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from emu.dataflow.edges import OutputEdge, OutputEdges, input_edges
from emu.errors import UsageError
from emu.hef.formats import BBOX_PARAMS
from emu.hef.infos import NetworkGroupInfo
from emu.reference.activations import ACTIVATIONS, stream_range
from emu.reference.binding import Binding, BoundOutput, boxes_layout
from emu.reference.tensors import NHWC, Array, fit, to_features_last

Streams = Mapping[str, bytes]
Function = Callable[[int, int, Streams], Mapping[str, Any]]
"""(position of the group, frame number, {input stream: bytes}) -> arrays or bytes by stream, vstream, original name."""


class GroupReference(Protocol):
    """What gives one network group its outputs."""

    def __call__(self, frame: int, streams: Streams) -> dict[str, bytes]:
        """Output stream -> its `hw_frame_size` bytes."""

    def notes(self) -> list[str]:
        """What a user should know of the frames so far."""


class _Edges:
    """Both sides of a group, and how much of what left it did not fit."""

    def __init__(self, group: NetworkGroupInfo) -> None:
        self.outputs = OutputEdges(group)
        self._inputs = input_edges(group)
        self._seen: Counter[str] = Counter()
        self._clipped: Counter[str] = Counter()
        self._nan: Counter[str] = Counter()

    def values(self, streams: Streams) -> dict[str, Array]:
        """Real numbers of a frame by input vstream."""
        return {edge.info.name: edge.values(streams) for edge in self._inputs}

    def count(self, edge: OutputEdge, tensor: Array) -> None:
        low, high = stream_range(edge)
        step = (high - low) / (255 if edge.layer.hw_data_bytes == 1 else 65535)
        with np.errstate(invalid="ignore"):
            outside = (tensor < low - step / 2) | (tensor > high + step / 2)
        self._seen[edge.name] += tensor.size
        self._clipped[edge.name] += int(np.count_nonzero(outside))
        self._nan[edge.name] += int(np.count_nonzero(np.isnan(tensor)))

    def notes(self) -> list[str]:
        found = []
        for edge in self.outputs.edges:
            low, high = (f"{end:.4g}" for end in stream_range(edge))
            if self._clipped[edge.name]:
                share = self._clipped[edge.name] / self._seen[edge.name]
                found.append(f"{edge.name}: {share:.2%} of the numbers were clipped to the stream's {low} to {high}")
            if self._nan[edge.name]:
                found.append(f"{edge.name}: {self._nan[edge.name]} numbers were not-a-number and became 0")
        return found


class Reference:
    """A model bound to a group; HAILO_NOT_FOUND if anything is unbound."""

    def __init__(self, binding: Binding) -> None:
        binding.require_complete()
        self.binding = binding
        self._edges = _Edges(binding.group)
        self._names = list(dict.fromkeys(bound.tensor.name for bound in binding.outputs))

    def __call__(self, frame: int, streams: Streams) -> dict[str, bytes]:
        feeds = self.binding.feeds(self._edges.values(streams))
        found = self.binding.model.run(feeds, self._names)
        return self._edges.outputs({bound.edge.name: self._tensor(bound, found) for bound in self.binding.outputs})

    def tensors(self, streams: Streams) -> dict[str, Array]:
        """The float tensors of a frame by edge, [h, w, f], before anything is quantised at the edges."""
        found = self.binding.model.run(self.binding.feeds(self._edges.values(streams)), self._names)
        return {bound.edge.name: self._tensor(bound, found) for bound in self.binding.outputs}

    def _tensor(self, bound: BoundOutput, found: Mapping[str, Array]) -> Any:
        array = found[bound.tensor.name]
        if bound.edge.nms_infos:
            return boxes_of(array, bound.edge, bound.layout)
        tensor = to_features_last(array, bound.edge.shape, bound.layout).astype(np.float32)
        if bound.activation:
            tensor = ACTIVATIONS[bound.activation](tensor)
        self._edges.count(bound.edge, tensor)
        return tensor

    def notes(self) -> list[str]:
        return self._edges.notes()


def boxes_of(array: Array, edge: OutputEdge, layout: str) -> list[Array]:
    """[classes, boxes, 5] or [classes, 5, boxes] as the boxes of every class, those of score 0 left out."""
    classes = sum(info.number_of_classes for info in edge.nms_infos)
    grid = array.reshape(array.shape[-3:])
    grid = grid if layout == NHWC else grid.transpose(0, 2, 1)
    return [boxes[boxes[:, BBOX_PARAMS - 1] > 0] for boxes in grid[:classes]]


class FunctionReference:
    """A Python callable as the reference of the group at `position` of its program.

    It gets the position, the frame number and the wire bytes of every input stream, and returns by stream, vstream or
    original name what leaves: arrays that hold the edge's elements (floats are real numbers, integers of the stream's
    own type codes) or a stream's bytes as they are. Streams that it leaves out stay synthetic.
    """

    def __init__(self, group: NetworkGroupInfo, function: Function, position: int = 0) -> None:
        self._position = position
        self._function = function
        self._edges = _Edges(group)
        self._by_name: dict[str, OutputEdge] = {}
        for edge in self._edges.outputs.edges:
            for name in (edge.name, edge.stream, edge.layer.name, *edge.original_names):
                self._by_name.setdefault(name, edge)

    def __call__(self, frame: int, streams: Streams) -> dict[str, bytes]:
        wire: dict[str, bytes] = {}
        tensors: dict[str, Array] = {}
        for name, value in self._function(self._position, frame, streams).items():
            if isinstance(value, bytes | bytearray | memoryview):
                wire[name] = bytes(value)  # who sends it checks name and size
                continue
            edge = self._by_name.get(name)
            if edge is None:
                raise UsageError(f"the reference function gives {name!r}: no stream or vstream is called so")
            tensors[edge.name] = self._fitted(edge, value)
        return wire | self._edges.outputs(tensors)

    def _fitted(self, edge: OutputEdge, value: Any) -> Any:
        if edge.nms_infos:
            if isinstance(value, list | tuple):
                return [np.asarray(boxes, np.float32).reshape(-1, BBOX_PARAMS) for boxes in value]
            array = np.asarray(value)
            layouts = boxes_layout(edge, array.shape)
            if not layouts:
                raise self._wrong(edge, array, "boxes by class")
            return boxes_of(array, edge, layouts[0])
        array = np.asarray(value)
        layouts = fit(array.shape, edge.shape, NHWC)
        if not layouts:
            raise self._wrong(edge, array, "x".join(map(str, edge.shape)))
        tensor = to_features_last(array, edge.shape, layouts[0])
        if array.dtype.kind == "f":
            self._edges.count(edge, tensor)
        return tensor

    def _wrong(self, edge: OutputEdge, array: Array, wanted: str) -> UsageError:
        return UsageError(f"the reference function gives {array.dtype} {array.shape} for {edge.name}, not {wanted}")

    def notes(self) -> list[str]:
        return self._edges.notes()


class References:
    """The references of a run's groups, by their index; a group without one gives nothing and stays synthetic."""

    def __init__(self, groups: Sequence[GroupReference | None], binding_notes: Sequence[str] = ()) -> None:
        self._groups = tuple(groups)
        self.binding_notes = tuple(binding_notes)  # what is doubtful about how they were bound

    def __call__(self, group: int, frame: int, streams: Streams) -> dict[str, bytes]:
        found = self._groups[group]
        return {} if found is None else found(frame, streams)

    def covers(self, group: int) -> bool:
        return self._groups[group] is not None

    def notes(self) -> list[str]:
        return [note for found in self._groups if found is not None for note in found.notes()]
