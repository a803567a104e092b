"""Helpers for the MindSpore Lite tests: one operator as a file and through the whole path."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from emu.graph import executor
from emu.graph.load import read_graph
from emu.graph.writers.ms_lite import ModelBuilder
from emu.schemas import fbs
from emu.schemas.generated import ms_lite_v0, ms_lite_v2
from tests.graph.ms_cases import check, within_ulp

Array = np.ndarray[Any, Any]


def file_of(
    attr: fbs.Table,
    inputs: Sequence[Array],
    outputs: Sequence[Any],
    *,
    constants: Sequence[int] = (),
    more: dict[int, dict[str, Any]] | None = None,
    quant_type: str = "QUANT_NONE",
) -> bytes:
    """A file of one operator, in the schema of its table. `outputs` are the dtypes of the results: no dims are given.

    `constants` are the inputs that the file holds, by place; `more` fields of tensors, results behind the inputs.
    """
    schema: ModuleType = ms_lite_v0 if type(attr).__module__.endswith("v0") else ms_lite_v2
    builder = ModelBuilder(schema)
    more = more or {}
    places = [
        (builder.constant(array, **more.get(at, {})))
        if at in constants
        else builder.input(array.shape, array.dtype, **more.get(at, {}))
        for at, array in enumerate(inputs)
    ]
    results = [builder.tensor((), dtype, **more.get(len(inputs) + at, {})) for at, dtype in enumerate(outputs)]
    builder.outputs += results
    builder.node(attr, places, results, quant_type=quant_type)
    return builder.write()


def run_file(data: bytes, inputs: Sequence[Array], *, reference: bool = False) -> list[Array]:
    """Read and execute a file; inputs in the order of its graph inputs, outputs in theirs."""
    graph = read_graph(data)
    named = {f"input_{at}": array for at, array in enumerate(inputs)}
    found = executor.run(graph, named, reference=reference)
    return [found[f"output_{at}"] for at in range(len(graph.outputs))]


def gives(
    attr: fbs.Table,
    inputs: Sequence[Array],
    wants: Sequence[Array],
    *,
    how: str = "close",
    constants: Sequence[int] = (),
    dtypes: Sequence[Any] | None = None,
    more: dict[int, dict[str, Any]] | None = None,
) -> None:
    """Run one operator in both forms against an oracle: "exact", "ulp" (4 ulp of float64), "close" or "half"."""
    stored = [np.dtype(np.float32) if want.dtype == np.float64 else want.dtype for want in wants]
    data = file_of(attr, inputs, dtypes or stored, constants=constants, more=more)
    given = [array for at, array in enumerate(inputs) if at not in constants]
    for reference in (False, True):
        found = run_file(data, given, reference=reference)
        assert len(found) == len(wants)
        for got, want in zip(found, wants, strict=True):
            if how == "exact":
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
            elif how == "ulp":
                within_ulp(got, want)
            elif how == "half":
                assert (got.dtype, got.shape) == (np.float16, want.shape)
                np.testing.assert_allclose(got.astype(np.float64), want, rtol=2e-3, atol=2e-3)
            else:
                check(got, want)


def nhwc(x: Array) -> Array:
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def ints(*numbers: int, dtype: Any = np.int32) -> Array:
    return np.array(numbers, dtype)
