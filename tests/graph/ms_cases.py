"""Helpers for the MS tests: one operator as a file and through the whole path, and oracles that are not ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emu.graph import executor
from emu.graph.readers import ms
from emu.graph.writers.ms import SubGraphBuilder, data_type, write
from emu.schemas.generated import ms_v0_1, ms_v0_5

Array = np.ndarray[Any, Any]


def file_b(
    attr: ms_v0_5.OpT,
    inputs: Sequence[Array],
    outputs: Sequence[tuple[tuple[int, ...], Any]],
    *,
    constants: Sequence[int] = (),
    formats: dict[int, ms_v0_5.Format] | None = None,
    quant: Sequence[Sequence[ms_v0_5.QuantParam]] = (),
) -> bytes:
    """A generation B file of one operator; `constants` are the inputs that the file holds, by place."""
    builder = SubGraphBuilder()
    formats = formats or {}
    places = []
    for at, array in enumerate(inputs):
        kind = formats.get(at, ms_v0_5.Format.NCHW)
        places.append(
            builder.constant(array, kind) if at in constants else builder.input(array.shape, array.dtype, kind)
        )
    results = [builder.tensor(dims, dtype) for dims, dtype in outputs]
    builder.outputs += results
    builder.node(attr, places, results, quant_param=[ms_v0_5.QuantParamArray(tuple(each)) for each in quant])
    return write(builder.graph())


def file_a(
    attr: ms_v0_1.OpT,
    inputs: Sequence[Array],
    outputs: Sequence[tuple[tuple[int, ...], Any]],
    *,
    constants: Sequence[int] = (),
    last: bool = False,
    quantization: dict[int, ms_v0_1.QuantizationDef] | None = None,
) -> bytes:
    """A generation A file of one operator."""
    quantization = quantization or {}
    tensors = [
        ms_v0_1.TensorDef(
            ms_v0_1.DataType(data_type(array.dtype)),
            array.shape,
            refCount=ms_v0_1.MSConst.WEIGHT_REFCOUNT,
            data=memoryview(array.tobytes()) if at in constants else None,
            quantization=quantization.get(at),
        )
        for at, array in enumerate(inputs)
    ]
    tensors += [ms_v0_1.TensorDef(ms_v0_1.DataType(data_type(dtype)), dims) for dims, dtype in outputs]
    results = tuple(range(len(inputs), len(tensors)))
    op_def = ms_v0_1.OpDef(
        name="op", attr=attr, inputIndex=tuple(range(len(inputs))), outputIndex=results, isLastConv=last
    )
    subgraph = ms_v0_1.SubGraphDef(
        inputIndex=tuple(at for at in range(len(inputs)) if at not in constants),
        outputIndex=results,
        nodes=(ms_v0_1.NodeDef(ms_v0_1.FmkType.CAFFE, op_def),),
        allTensors=tuple(tensors),
    )
    return write(ms_v0_1.GraphDef(subgraphs=(subgraph,)))


def run_file(data: bytes, inputs: Sequence[Array], *, reference: bool = False) -> list[Array]:
    """Read and execute a file; inputs in the order of its graph inputs, outputs in theirs."""
    graph = ms.read(data)
    named = {f"input_{at}": array for at, array in enumerate(inputs)}
    found = executor.run(graph, named, reference=reference)
    return [found[f"output_{at}"] for at in range(len(graph.outputs))]


def onnx(
    op: str, inputs: Sequence[Array | None], *, outputs: int = 1, opset: int = 13, **attributes: Any
) -> list[Array]:
    """What onnxruntime gives for one ONNX operator; None is an operand that is absent."""
    from onnx import TensorProto, helper

    from tests.onnx_session import onnx_session

    types = {
        np.dtype(np.float32): TensorProto.FLOAT,
        np.dtype(np.int32): TensorProto.INT32,
        np.dtype(np.int64): TensorProto.INT64,
        np.dtype(np.int8): TensorProto.INT8,
        np.dtype(np.uint8): TensorProto.UINT8,
        np.dtype(np.bool_): TensorProto.BOOL,
    }
    names = ["" if array is None else f"x{at}" for at, array in enumerate(inputs)]
    given = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    results = [f"y{at}" for at in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, **attributes)],
        "one",
        [helper.make_tensor_value_info(name, types[array.dtype], array.shape) for name, array in given.items()],
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    session = onnx_session(model.SerializeToString(), quiet=True)
    found: list[Array] = session.run(None, given)
    return found


def check(got: Array, want: Array, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Within rtol of each element, or atol of the largest; integers are equal."""
    assert got.shape == want.shape
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    largest = float(np.max(np.abs(want[np.isfinite(want)]), initial=0))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol * largest)


def within_ulp(got: Array, want: Array, ulp: int = 4) -> None:
    """float32 results within `ulp` units in the last place of float64 values."""
    wide = want.astype(np.float64)
    room = ulp * np.spacing(np.abs(wide).astype(np.float32)).astype(np.float64)
    assert got.shape == want.shape
    finite = np.isfinite(wide)
    np.testing.assert_array_equal(got[~finite], wide[~finite].astype(np.float32))
    assert (np.abs(got[finite].astype(np.float64) - wide[finite]) <= room[finite]).all(), (got, want)
