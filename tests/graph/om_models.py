"""Made-up graph-style models: ops are added one by one, with the shapes and dtypes of their results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError
from emu.graph import executor
from emu.graph.ir import Graph
from emu.graph.readers import om
from emu.graph.writers.om import Constants, write_om
from emu.schemas import ge_ir_pb2

DTYPES = {np.dtype(np.float32): 1, np.dtype(np.float16): 2, np.dtype(np.int8): 3, np.dtype(np.uint8): 4,
          np.dtype(np.int32): 7, np.dtype(np.int64): 8, np.dtype(np.bool_): 11}  # fmt: skip


class Model:
    """A graph-style model under construction; shapes and dtypes of results are given."""

    def __init__(self) -> None:
        self.message = ge_ir_pb2.ModelDef(name="made", version=2)
        self.graph = self.message.graph.add(name="made")
        self.weights = Constants.empty()

    def describe(self, target: Any, shape: tuple[int, ...], dtype: Any = np.float32, layout: str = "ND") -> None:
        target.dtype, target.layout = DTYPES[np.dtype(dtype)], layout
        target.shape.dim.extend(shape)

    def op(self, name: str, kind: str, inputs: list[str], shape: tuple[int, ...], dtype: Any = np.float32,
           layout: str = "ND", **attrs: Any) -> ge_ir_pb2.OpDef:  # fmt: skip
        op = self.graph.op.add(name=name, type=kind)
        op.input.extend(inputs)
        self.describe(op.output_desc.add(), shape, dtype, layout)
        for key, value in attrs.items():
            set_attr(op.attr[key], value)
        return op

    def data(
        self, shape: tuple[int, ...], dtype: Any = np.float32, name: str = "x", layout: str = "ND", **attrs
    ) -> None:
        op = self.op(name, "Data", [""], shape, dtype, layout, **attrs)
        self.describe(op.input_desc.add(), shape, dtype, layout)

    def const(self, name: str, value: np.ndarray, layout: str = "ND") -> str:
        op = self.op(name, "Const", [], value.shape, value.dtype, layout)
        tensor = op.attr["value"].t
        self.describe(tensor.desc, value.shape, value.dtype, layout)
        tensor.data = value.tobytes()
        return f"{name}:0"

    @contextmanager
    def subgraph(self, name: str) -> Iterator[Model]:
        """Another graph of the model, built like the first."""
        first, self.graph = self.graph, self.message.graph.add(name=name)
        yield self
        self.graph = first

    def end(self, *results: str, parents: list[int] | None = None) -> None:
        """The NetOutput; `parents` are the results of the calling op that its entries stand for."""
        op = self.graph.op.add(name=f"out_{self.graph.name}", type="NetOutput")
        op.input.extend(results)
        for edge, parent in zip(results, parents or [], strict=False):
            producer, _, index = edge.rpartition(":")
            described = next(each for each in self.graph.op if each.name == producer).output_desc[int(index)]
            target = op.input_desc.add()
            target.CopyFrom(described)
            target.attr["_parent_node_index"].i = parent

    def read(self, *results: str) -> Graph:
        self.graph.op.add(name="out", type="NetOutput").input.extend(results)
        return om.read(write_om(self.message, bytes(self.weights.data)))

    def run(self, inputs: dict[str, np.ndarray], *results: str) -> list[np.ndarray]:
        found = executor.run(self.read(*results), inputs)
        return [found[result] for result in results]


def set_attr(attr: ge_ir_pb2.AttrDef, value: Any) -> None:
    match value:
        case bool():
            attr.b = value
        case int():
            attr.i = value
        case float():
            attr.f = value
        case bytes():
            attr.bt = value
        case str():
            attr.s = value.encode()
        case dict():
            attr.func.SetInParent()
            for key, each in value.items():
                set_attr(attr.func.attr[key], each)
        case _:
            attr.list.SetInParent()
            if value and isinstance(value[0], str):
                attr.list.s.extend(each.encode() for each in value)
            elif value and isinstance(value[0], list):
                for row in value:
                    attr.list_list_int.list_list_i.add().list_i.extend(row)
            else:
                (attr.list.f if value and isinstance(value[0], float) else attr.list.i).extend(value)


def refused(model: Model, *results: str) -> GraphError:
    with pytest.raises(GraphError) as caught:
        graph = model.read(*results)
        executor.run(graph, {p.name: np.zeros(graph.tensors[p.tensor].shape, graph.tensors[p.tensor].dtype)
                             for p in graph.inputs})  # fmt: skip
    return caught.value
