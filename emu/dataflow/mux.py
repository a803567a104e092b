"""A mux stream's frame <-> the frames of its edges (transforms.md 6).

The frame interleaves row groups of the predecessors; a predecessor may be a mux itself. The copies are planned once
from the tree, so that a tree with which the library would leave a buffer is refused before any frame is touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from emu.dataflow.formats import Buffer, Bytes, as_bytes
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import FormatOrder
from emu.hef.layers import LayerInfo

MAX_PREDECESSORS = 4  # the library's array has no room for more, and nothing there checks it (known-bugs.md 50)
MAX_LAYERS = 32  # muxes and edges of one stream
MAX_ROW_GROUPS = 1 << 16  # far above any image's rows; a forged number must not cost time


class _Copy(Struct, frozen=True):
    edge: int
    destination: int
    source: int
    size: int


class Demuxer:
    """Splits frames of one mux stream.

    Raises HAILO_INVALID_OPERATION for an NMS layer, HAILO_INTERNAL_FAILURE for a tree larger than the library's
    tables, HAILO_INVALID_ARGUMENT for sizes that do not add up.
    """

    def __init__(self, mux: LayerInfo) -> None:
        self.edges = tuple(mux.leaves())
        if any(layer.format.order is FormatOrder.HAILO_NMS_ON_CHIP for layer in (mux, *self.edges)):
            raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, "an NMS layer cannot be muxed", mux=mux.name)
        self.edge_sizes = tuple(edge.hw_frame_size for edge in self.edges)
        self.frame_size = sum(self.edge_sizes)
        self._mux = mux
        _require_table_size(mux)
        self._offsets = [0] * len(self.edges)
        self._groups = [0] * len(self.edges)
        self._steps = 0
        self._copies = tuple(self._plan(mux, mux.height_gcd, 0, 0))

    def __call__(self, frame: Buffer, into: Sequence[Bytes] | None = None) -> list[Bytes]:
        """Edge frames in the order of `edges`; `into` has a buffer an edge, whose uncovered rows keep their content."""
        src = as_bytes(frame, self.frame_size, f"mux frame of {self._mux.name}")
        out = [np.zeros(size, np.uint8) for size in self.edge_sizes] if into is None else list(into)
        for index, buffer in enumerate(out):
            if buffer.size != self.edge_sizes[index]:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"{self.edges[index].name}: {buffer.size} bytes given, {self.edge_sizes[index]} expected",
                )
        for copy in self._copies:
            out[copy.edge][copy.destination : copy.destination + copy.size] = src[copy.source : copy.source + copy.size]
        return out

    def join(self, edges: Sequence[Buffer]) -> Bytes:
        """The mux frame whose edges are these, in the order of `edges`; rows that no edge has are zero."""
        frames = [
            as_bytes(frame, size, layer.name)
            for frame, size, layer in zip(edges, self.edge_sizes, self.edges, strict=True)
        ]
        out = np.zeros(self.frame_size, np.uint8)
        for copy in self._copies:
            piece = frames[copy.edge][copy.destination : copy.destination + copy.size]
            out[copy.source : copy.source + copy.size] = piece
        return out

    def _plan(self, mux: LayerInfo, groups: int, source: int, first_edge: int) -> Iterator[_Copy]:
        for group in range(groups):
            edge = first_edge
            for predecessor, ratio in zip(mux.predecessors, mux.height_ratios, strict=True):
                self._steps += 1
                if self._steps > MAX_ROW_GROUPS:
                    raise HailoError(
                        HailoStatus.HAILO_INVALID_ARGUMENT,
                        f"more than {MAX_ROW_GROUPS} row groups in a frame of {self.frame_size} bytes",
                        mux=self._mux.name,
                    )
                row = predecessor.hw_shape.width * predecessor.hw_shape.features * predecessor.format.type.element_bytes
                size = ratio * row
                if not predecessor.is_mux:
                    yield from self._edge_copy(edge, predecessor, source, size)
                elif group < predecessor.height_gcd:
                    yield from self._plan(predecessor, predecessor.hw_shape.height // mux.height_gcd, source, edge)
                edge += len(predecessor.leaves())
                source += size

    def _edge_copy(self, edge: int, layer: LayerInfo, source: int, size: int) -> Iterator[_Copy]:
        """A piece is copied while fewer groups than `shape.height` came; the count starts again after hw_height + 1."""
        if self._groups[edge] < layer.shape.height:
            if self._offsets[edge] + size > self.edge_sizes[edge] or source + size > self.frame_size:
                raise HailoError(
                    HailoStatus.HAILO_INVALID_ARGUMENT,
                    f"the row groups of {layer.name} leave its frame of {self.edge_sizes[edge]} bytes or the mux frame"
                    f" of {self.frame_size}",
                    mux=self._mux.name,
                )
            yield _Copy(edge, self._offsets[edge], source, size)
            self._offsets[edge] += size
        self._groups[edge] += 1
        if self._groups[edge] == layer.hw_shape.height + 1:
            self._groups[edge] = 0


def _require_table_size(mux: LayerInfo) -> None:
    layers = 0
    pending = [mux]
    while pending:
        layer = pending.pop()
        layers += 1
        if len(layer.predecessors) > MAX_PREDECESSORS or layers > MAX_LAYERS:
            raise HailoError(
                HailoStatus.HAILO_INTERNAL_FAILURE,
                f"{layer.name} has {len(layer.predecessors)} predecessors; a mux may have {MAX_PREDECESSORS},"
                f" a stream {MAX_LAYERS} layers",
            )
        if layer.is_mux and (len(layer.height_ratios) != len(layer.predecessors) or layer.height_gcd < 1):
            raise HailoError(
                HailoStatus.HAILO_INVALID_ARGUMENT,
                f"{layer.name} has {len(layer.height_ratios)} height ratios for {len(layer.predecessors)} predecessors"
                f" and height_gcd {layer.height_gcd}",
            )
        pending.extend(layer.predecessors)
