"""OM and MS graphs as reference models, run by emu's own executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from emu.errors import HailoError, HailoStatus
from emu.graph import layouts
from emu.graph.dynamic import specialise
from emu.graph.executor import run_plan
from emu.graph.ir import Graph, Layout, Port, Tensor
from emu.graph.load import map_file, read_graph
from emu.graph.plan import Plan, make_plan
from emu.hef.formats import QuantInfo
from emu.reference.tensors import NCHW, NHWC, Array, TensorInfo


class GraphModel:
    """One OM or MS file; GraphError where it cannot be read or run."""

    def __init__(self, path: Path) -> None:
        self.file = path.name
        self._graph = read_graph(map_file(path))
        self.kind = self._graph.format
        self._plan: Plan | None = None
        self._exposed: dict[str, None] = {}
        graph = self._graph
        self._inputs = {port.name: _info(graph, port.name, port.tensor) for port in graph.inputs}
        makers = {at: node for node in graph.nodes for at in node.outputs}
        self._tensors: dict[str, TensorInfo] = {}
        for name, at in _places(graph).items():
            node = makers.get(at)
            self._tensors[name] = _info(graph, name, at, node.name if node else "", node.type if node else "")

    @property
    def inputs(self) -> Mapping[str, TensorInfo]:
        return self._inputs

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        return self._tensors

    def expose(self, names: Sequence[str]) -> None:
        new = [name for name in names if name not in self._exposed]
        if new:
            self._exposed.update(dict.fromkeys(new))
            self._plan = None

    def quantise(self, name: str, qp: QuantInfo, highest: int) -> None:
        raise HailoError(
            HailoStatus.HAILO_NOT_IMPLEMENTED,
            f"edges inside the network are quantised in ONNX references only, not in {self.kind.upper()}",
            file=self.file,
        )

    def run(self, feeds: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
        self.expose(names)
        if self._plan is None:
            # one frame's dims, where the file leaves some open
            graph = specialise(self._graph, {name: array.shape for name, array in feeds.items()})
            places = _places(graph)
            results = [Port(name, places[name]) for name in self._exposed]
            self._plan = make_plan(replace(graph, outputs=results))
        tensors = {port.name: self._plan.graph.tensors[port.tensor] for port in self._plan.results}
        found = run_plan(self._plan, feeds)
        return {name: _plain(tensors[name], found[name]) for name in names}


def _places(graph: Graph) -> dict[str, int]:
    """Every tensor that a node makes by its name (the node's where it has none), outputs by theirs too."""
    found = {graph.tensors[at].name or node.name: at for node in graph.nodes for at in node.outputs}
    for port in graph.outputs:
        found.setdefault(port.name, port.tensor)
    return found


def _info(graph: Graph, name: str, at: int, node: str = "", op: str = "") -> TensorInfo:
    tensor = graph.tensors[at]
    layout = NHWC if tensor.layout is Layout.NHWC else NCHW
    shape = tensor.shape if node == "" else tensor.op_shape
    return TensorInfo(name, tuple(None if extent < 0 else extent for extent in shape), tensor.dtype, node, op, layout)


def _plain(tensor: Tensor, array: Array) -> Array:
    """The array as ops see it, out of a packed layout."""
    if tensor.logical_shape is None:
        return array
    return layouts.unpack(array, tensor.layout, tensor.logical_shape)
