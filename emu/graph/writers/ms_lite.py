"""Writes MindSpore Lite files: the tables of either schema → bytes, and a builder that takes either's operators.

Nothing is checked beyond what the schema says, so that tests can write broken graphs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from emu.graph.ir import Array
from emu.graph.readers.lite.tensors import DTYPES
from emu.graph.writers.ms import finished
from emu.schemas import fbs
from emu.schemas.generated import ms_lite_v0, ms_lite_v2

_VERSIONS = {ms_lite_v0: "MindSpore Lite 1.1.0", ms_lite_v2: "MindSpore Lite 2.3.0"}


def write(meta: ms_lite_v0.MetaGraph | ms_lite_v2.MetaGraph, identifier: str | None = None) -> bytes:
    """The bytes of a .ms file; without an identifier MSL2 for the 1.2 schema, and none for the older one."""
    if identifier is None and isinstance(meta, ms_lite_v2.MetaGraph):
        identifier = "MSL2"
    return finished(meta, identifier.encode() if identifier else None)


class ModelBuilder:
    """Collects tensors and operators of a model with one subgraph; tensors are named by their index."""

    def __init__(self, schema: ModuleType = ms_lite_v2, name: str = "main_graph") -> None:
        self.schema: Any = schema
        self.name = name
        self.tensors: list[Any] = []
        self.nodes: list[Any] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []

    def tensor(self, dims: Sequence[int], dtype: Any = np.float32, format: str = "NHWC", **more: Any) -> int:
        """A tensor that an operator gives; `more` are fields of the schema's Tensor. Returns its index."""
        fields = {"nodeType": 2, "dataType": data_type(dtype), "dims": tuple(dims)} | more
        table = self.schema.Tensor(format=self.schema.Format[format], **fields)
        self.tensors.append(table)
        return len(self.tensors) - 1

    def input(self, dims: Sequence[int], dtype: Any = np.float32, format: str = "NHWC", **more: Any) -> int:
        """A graph input; returns its index."""
        index = self.tensor(dims, dtype, format, **more)
        self.inputs.append(index)
        return index

    def constant(self, value: Array, format: str = "NHWC", **more: Any) -> int:
        """A constant; returns its index."""
        stored = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
        return self.tensor(value.shape, value.dtype, format, data=memoryview(stored.tobytes()), **more)

    def node(
        self,
        attr: fbs.Table | None,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        name: str | None = None,
        quant_type: str = "QUANT_NONE",
    ) -> None:
        """An operator on tensors by index; without a name it is called `<type>_<place>`."""
        self.nodes.append(
            self.schema.CNode(
                name=f"{type(attr).__name__}_{len(self.nodes)}" if name is None else name,
                primitive=self.schema.Primitive(attr),
                inputIndex=tuple(inputs),
                outputIndex=tuple(outputs),
                quantType=self.schema.QuantType[quant_type],
            )
        )

    def build(self) -> Any:
        """The schema's MetaGraph as it stands."""
        subgraph = self.schema.SubGraph(
            name=self.name,
            inputIndices=tuple(self.inputs),
            outputIndices=tuple(self.outputs),
            nodeIndices=tuple(range(len(self.nodes))),
            tensorIndices=tuple(range(len(self.tensors))),
        )
        return self.schema.MetaGraph(
            name=self.name,
            version=_VERSIONS[self.schema],
            inputIndex=tuple(self.inputs),
            outputIndex=tuple(self.outputs),
            nodes=tuple(self.nodes),
            allTensors=tuple(self.tensors),
            subGraph=(subgraph,),
        )

    def write(self) -> bytes:
        """The bytes of the file."""
        return write(self.build())


def data_type(dtype: Any) -> int:
    """MindSpore's number of a numpy dtype; KeyError for one that it does not have."""
    by_dtype = {known: value for value, known in DTYPES.items()}
    return by_dtype[np.dtype(dtype)]
