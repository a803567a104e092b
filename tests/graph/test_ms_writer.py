"""What the writer writes is read back as it was: every table of both schemas with random values in every field."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emu.graph.readers.ms.file import GraphDef, generation, read_graph_def
from emu.graph.writers.ms import SubGraphBuilder, data_type, write
from emu.schemas import fbs
from emu.schemas.generated import ms_v0_1, ms_v0_5

RANGES = {"byte": (-128, 127), "ubyte": (0, 255), "int": (-(2**31), 2**31 - 1), "uint": (0, 2**32 - 1)}


def scalar(rng: random.Random, wire: fbs.Scalar) -> Any:
    if wire is fbs.BOOL:
        return rng.random() < 0.5
    if wire is fbs.FLOAT:
        return float(np.float32(rng.uniform(-1e9, 1e9)))
    if wire is fbs.DOUBLE:
        return rng.uniform(-1e300, 1e300)
    return rng.randint(*RANGES.get(wire.name, (-(2**63), 2**63 - 1)))


def value(rng: random.Random, wire: fbs.Wire) -> Any:
    match wire:
        case fbs.Scalar():
            return scalar(rng, wire)
        case fbs.EnumOf():
            return rng.choice(list(wire.enum))
        case fbs.Text():
            return "".join(rng.choice("aZ é中\n0") for _ in range(rng.randrange(9)))
        case fbs.TableOf():
            return table(rng, wire.table)
        case fbs.Vector():
            if wire.element is fbs.UBYTE:
                return memoryview(rng.randbytes(rng.randrange(1, 9)))
            return tuple(scalar(rng, wire.element) for _ in range(rng.randrange(5)))
        case fbs.VectorOfTables():
            return tuple(table(rng, wire.table) for _ in range(rng.randrange(1, 4)))
        case fbs.Union():
            return table(rng, rng.choice(wire.members))


def table(rng: random.Random, kind: type[fbs.Table]) -> Any:
    return kind(**{field.attribute: value(rng, field.wire) for field in fbs.fields_of(kind)})


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("root", [ms_v0_1.GraphDef, ms_v0_5.GraphDef])
def test_random_files(root: type[GraphDef], seed: int) -> None:
    written = table(random.Random(seed), root)
    found = read_graph_def(write(written))
    assert found == written
    assert generation(found) == ("A" if root is ms_v0_1.GraphDef else "B")


@pytest.mark.parametrize("kind", [*ms_v0_1.OPT.members, *ms_v0_5.OPT.members], ids=lambda kind: kind.__qualname__)
def test_random_attributes(kind: type[fbs.Table]) -> None:
    attr = table(random.Random(kind.__name__), kind)
    graph_def: GraphDef
    if kind in ms_v0_1.OPT.members:
        a_node = ms_v0_1.NodeDef(ms_v0_1.FmkType.CAFFE, ms_v0_1.OpDef(attr=attr))
        graph_def = ms_v0_1.GraphDef(subgraphs=(ms_v0_1.SubGraphDef(nodes=(a_node,)),))
    else:
        node = ms_v0_5.OpDef(attr=attr, outputIndex=(0,))
        graph_def = ms_v0_5.GraphDef(subgraphs=(ms_v0_5.SubGraphDef(nodes=(node,)),))
    assert read_graph_def(write(graph_def)) == graph_def


def test_fields_at_their_defaults_take_no_room() -> None:
    plain = write(SubGraphBuilder().graph(""))
    builder = SubGraphBuilder()
    assert write(replace(builder.graph(""), mempoolCfg=None)) == plain
    sized = write(replace(builder.graph(""), mempoolCfg=ms_v0_5.MempoolCfg(size=1)))
    assert len(sized) > len(plain)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64])
def test_constants_keep_their_bytes(dtype: Any) -> None:
    stored = np.arange(6).astype(dtype).reshape(2, 3)
    builder = SubGraphBuilder()
    held = builder.constant(stored[:, ::-1])  # in any memory order
    tensor = builder.tensors[held]
    assert tensor.dataType is data_type(dtype)
    assert tensor.data is not None
    np.testing.assert_array_equal(np.frombuffer(tensor.data, dtype).reshape(2, 3), stored[:, ::-1])


def test_a_dtype_that_the_schema_lacks_is_refused() -> None:
    with pytest.raises(KeyError):
        data_type(np.float64)
