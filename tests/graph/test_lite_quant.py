"""MindSpore Lite's quantised models against sums of integers; scales are powers of two: only the last step rounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph.readers.lite.file import read_meta_graph
from emu.graph.writers.ms_lite import write
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from tests.graph.lite_cases import Array, file_of, gives, ints, normal, run_file

RNG = np.random.default_rng


def params(scale: float, zero: int = 0, schema: Any = lite, **more: Any) -> dict[str, Any]:
    """Fields of a tensor with one set of parameters."""
    return {"quantParams": (schema.QuantParam(scale=scale, zeroPoint=zero, inited=True, **more),)}


def rounded(real: Array, scale: float, zero: int, dtype: Any = np.int8) -> Array:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(real / scale) + zero, limits.min, limits.max).astype(dtype)


def int8(rng: np.random.Generator, *shape: int, dtype: Any = np.int8) -> Array:
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("bias_says", [False, True])
@pytest.mark.parametrize("channels", [False, True])
def test_convolution(bias_says: bool, channels: bool) -> None:
    """int8 input, weight and output, int32 bias; the bias counts in steps of input times weight whether it says so."""
    rng = RNG(0)
    x, weight = int8(rng, 1, 4, 4, 3), int8(rng, 2, 3, 3, 3)
    bias = rng.integers(-2000, 2000, 2).astype(np.int32)
    steps = np.array([2**-6, 2**-5] if channels else [2**-6, 2**-6])
    sums = np.zeros((1, 2, 2, 2))
    for row in range(2):
        for column in range(2):
            part = x[0, row : row + 3, column : column + 3].astype(int) - 5
            sums[0, row, column] = np.einsum("hwc,khwc->k", part, weight.astype(int)) + bias
    want = rounded(np.maximum(sums * 2**-4 * steps, 0), 0.5, -3)
    of_weight = tuple(lite.QuantParam(scale=step, inited=True) for step in steps[: 2 if channels else 1])
    more: dict[int, dict[str, Any]] = {0: params(2**-4, 5), 1: {"quantParams": of_weight}, 3: params(0.5, -3)}
    if bias_says:
        more[2] = {"quantParams": tuple(lite.QuantParam(scale=2**-4 * step, inited=True) for step in steps)}
    attr = lite.Conv2DFusion(stride=(1, 1), group=1, activation_type=lite.ActivationType.RELU)
    gives(attr, [x, weight, bias], [want], how="exact", constants=(1, 2), more=more)


def test_the_older_schema() -> None:
    rng = RNG(1)
    x, weight = int8(rng, 1, 2, 2, 2), int8(rng, 3, 1, 1, 2)
    want = rounded(np.einsum("nhwc,kc->nhwk", x + 1.0, weight[:, 0, 0].astype(float)) * 2**-8, 0.25, 2)
    more = {0: params(2**-4, -1, old), 1: params(2**-4, 0, old), 2: params(0.25, 2, old)}
    attr = old.Conv2D(kernelH=1, kernelW=1, strideH=1, strideW=1, channelOut=3)
    gives(attr, [x, weight], [want], how="exact", constants=(1,), more=more)


@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_product_by_column(transposed: bool) -> None:
    """Several parameters of a constant right side run along the columns of the product."""
    rng = RNG(2)
    x, weight = int8(rng, 4, 6), int8(rng, 6, 3)
    steps = np.array([2**-3, 2**-4, 2**-5])
    want = rounded((x.astype(float) @ weight) * 2**-4 * steps, 2.0, 1)
    more: dict[int, dict[str, Any]] = {
        0: params(2**-4),
        1: {"quantParams": tuple(lite.QuantParam(scale=step, inited=True) for step in steps)},
        2: params(2.0, 1),
    }
    given = np.ascontiguousarray(weight.T) if transposed else weight
    gives(lite.MatMulFusion(transpose_b=transposed), [x, given], [want], how="exact", constants=(1,), more=more)


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_weights_alone(dtype: Any) -> None:
    """float32 in and out; spread and mean of each channel corrected."""
    rng = RNG(3)
    x, weight = normal(rng, 2, 5), int8(rng, 3, 5, dtype=dtype)
    quant = tuple(
        lite.QuantParam(scale=2.0**-at, zeroPoint=at, inited=True, varCorr=1 + at / 2, meanCorr=at / 4)
        for at in range(3)
    )
    real = np.stack([(weight[at].astype(float) - at) * 2.0**-at * (1 + at / 2) + at / 4 for at in range(3)])
    data = file_of(
        lite.FullConnection(), [x, weight], [np.float32], constants=(1,), more={1: {"quantParams": quant}},
        quant_type="QUANT_WEIGHT",
    )  # fmt: skip
    (got,) = run_file(data, [x])
    np.testing.assert_allclose(got, x @ real.T, rtol=1e-5)


def packed(numbers: Array, bits: int, dtype: Any) -> bytes:
    """Numbers raised by half their range, one after the other from the lowest bit on."""
    whole = sum((int(number) + (1 << bits - 1)) << bits * at for at, number in enumerate(numbers.reshape(-1)))
    width = 8 * np.dtype(dtype).itemsize
    count = -(-numbers.size * bits // width)
    return whole.to_bytes(count * width // 8, "little")


@pytest.mark.parametrize(("bits", "dtype"), [(1, np.int8), (4, np.int8), (7, np.int8), (9, np.int16), (15, np.int16)])
def test_weights_of_few_bits(bits: int, dtype: Any) -> None:
    rng = RNG(bits)
    x = normal(rng, 2, 5)
    half = 1 << bits - 1
    weight = rng.integers(-half, half, (3, 5))
    assert len(packed(weight[:1, :1], bits, dtype)) == np.dtype(dtype).itemsize  # as long as a whole number
    data = file_of(
        lite.FullConnection(), [x, np.zeros((3, 5), dtype)], [np.float32], constants=(1,),
        more={1: params(0.5, 0, numBits=bits)},
    )  # fmt: skip
    data = changed(data, 1, data=memoryview(packed(weight, bits, dtype)))
    np.testing.assert_allclose(run_file(data, [x])[0], x @ (weight * 0.5).T, rtol=1e-5, atol=1e-5)


def changed(file: bytes, place: int, **fields: Any) -> bytes:
    """The file with other fields in one tensor."""
    meta: Any = read_meta_graph(file)
    tensors = list(meta.allTensors)
    tensors[place] = replace(tensors[place], **fields)
    return write(replace(meta, allTensors=tuple(tensors)))


def test_a_weight_per_index_of_a_table() -> None:
    """Gather reads a quantised table."""
    table, places = int8(RNG(4), 4, 3), ints(2, 0)
    want = (table.astype(float)[[2, 0]] - 1) * 0.5
    gives(lite.Gather(), [table, places, ints(0)], [want], constants=(0, 2), more={0: params(0.5, 1)})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_to_and_from_real_numbers(dtype: Any) -> None:
    x = normal(RNG(5), 3, 50) * 40
    stored = rounded(x.astype(np.float64), 0.25, 3, dtype)
    attr = lite.QuantDTypeCast(43, 32)
    gives(attr, [x], [stored], how="exact", more={1: params(0.25, 3)})
    gives(attr, [stored], [(stored.astype(float) - 3) * 0.25], more={0: params(0.25, 3)})
    if dtype == np.uint8:  # from unsigned to signed
        signed = (stored.astype(int) - 128).astype(np.int8)
        gives(attr, [stored], [signed], how="exact", more={0: params(0.25, 3), 1: params(0.25, -125)})


def test_half_goes_to_even() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1000, -1000], np.float32)
    want = np.array([0, 2, 2, 0, -2, 127, -128], np.int8)
    gives(lite.QuantDTypeCast(), [x], [want], how="exact", more={1: params(1.0)})


def test_sum_of_two_scales() -> None:
    rng = RNG(6)
    a, b = int8(rng, 2, 3, 4), int8(rng, 4)
    want = rounded((a - 1.0) * 0.5 + (b + 2.0) * 0.25, 2.0, 7)
    more = {0: params(0.5, 1), 1: params(0.25, -2), 2: params(2.0, 7)}
    gives(lite.AddFusion(), [a, b], [want], how="exact", constants=(1,), more=more)


def test_moves_keep_what_is_stored() -> None:
    x = int8(RNG(7), 2, 3, 4)
    want = np.ascontiguousarray(x.transpose(2, 0, 1))
    for more in ({0: params(0.5, 1), 1: params(0.5, 1)}, {0: params(0.5, 1)}, {}):
        gives(lite.Transpose(), [x, ints(2, 0, 1)], [want], how="exact", constants=(1,), more={
            at if at == 0 else 2: fields for at, fields in more.items()
        })  # fmt: skip
    rescaled = rounded((want - 1.0) * 0.5, 0.25, 0)
    gives(
        lite.Transpose(), [x, ints(2, 0, 1)], [rescaled], how="exact", constants=(1,),
        more={0: params(0.5, 1), 2: params(0.25, 0)},
    )  # fmt: skip


def test_parameters_that_only_repeat_the_defaults_say_nothing() -> None:
    """The converter gives every tensor one set; a list of axes is no quantised weight."""
    x = int8(RNG(8), 3, 4)
    blank = {"quantParams": (lite.QuantParam(),)}
    want = x.max(axis=1)
    attr = lite.ReduceFusion(mode=lite.ReduceMode.ReduceMax)
    gives(attr, [x, ints(1)], [want], how="exact", constants=(1,), more={0: blank, 1: blank, 2: blank})


@pytest.mark.parametrize(
    ("fields", "status", "word"),
    [
        ({"quantParams": (lite.QuantParam(scale=-1.0, inited=True),)}, GraphStatus.GRAPH_SHAPE, "scale -1"),
        ({"quantParams": (lite.QuantParam(scale=float("nan"), inited=True),)}, GraphStatus.GRAPH_SHAPE, "scale nan"),
        ({"quantParams": (lite.QuantParam(scale=2.0),) * 2}, GraphStatus.GRAPH_SHAPE, "2 quantisation parameters"),
        ({"enableHuffmanCode": True}, GraphStatus.GRAPH_UNSUPPORTED, "Huffman"),
        (
            {"weightQuantCompressType": lite.WeightQuantCompressType.FSE_INT},
            GraphStatus.GRAPH_UNSUPPORTED,
            "FSE_INT",
        ),
        ({"data": None, "externalData": (lite.ExternalData(),)}, GraphStatus.GRAPH_UNSUPPORTED, "another file"),
        ({"data": memoryview(bytes(7))}, GraphStatus.GRAPH_SHAPE, "takes 15 bytes, its data has 7"),
        ({"dataType": 12}, GraphStatus.GRAPH_UNSUPPORTED, "data type 12"),
    ],
)
def test_weights_that_are_refused(fields: dict[str, Any], status: GraphStatus, word: str) -> None:
    x = normal(RNG(9), 2, 5)
    data = file_of(lite.FullConnection(), [x, int8(RNG(9), 3, 5)], [np.float32], constants=(1,))
    with pytest.raises(GraphError, match=word) as caught:
        run_file(changed(data, 1, **fields), [x])
    assert caught.value.status is status
