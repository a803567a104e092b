"""Quantisation of generation B: parameters per use and channel, ranges, and what is refused (MS-Q1 to Q3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph.writers.ms import SubGraphBuilder, write
from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import Array, file_b, onnx, run_file
from tests.graph.ms_checks import Cases, Check, Rng, ints, normal

CASES = Cases()
NONE: tuple[b.QuantParam, ...] = ()


def param(scale: float, zero: int = 0, *, narrow: bool = False, bits: int = 8) -> tuple[b.QuantParam, ...]:
    return (b.QuantParam(scale=scale, zeroPoint=zero, narrowRange=narrow, numBits=bits),)


def stored(real: Array, scale: float, zero: int, lowest: int, highest: int, dtype: Any) -> Array:
    return (
        np.array([min(max(round(v / scale) + zero, lowest), highest) for v in real.ravel().tolist()])
        .reshape(real.shape)
        .astype(dtype)
    )  # Python's round goes to the even side


RANGES = [  # dtype, narrowRange, numBits, lowest, highest
    (np.int8, False, 8, -128, 127),
    (np.int8, True, 8, -127, 127),
    (np.int8, False, 4, -8, 7),
    (np.int8, True, 4, -7, 7),
    (np.uint8, False, 8, 0, 255),
    (np.uint8, False, 4, 0, 15),
    (np.int16, False, 16, -32768, 32767),
]
for _dtype, _narrow, _bits, _lowest, _highest in RANGES:
    _name = f"{np.dtype(_dtype)} {_bits}{' narrow' * _narrow}"

    @CASES.add(f"QuantDTypeCast to {_name}")
    def _quantise(
        rng: Rng,
        dtype: Any = _dtype,
        narrow: bool = _narrow,
        bits: int = _bits,
        lowest: int = _lowest,
        highest: int = _highest,
    ) -> Check:
        halves = np.arange(-4, 4).astype(np.float32) / 8  # of a step
        x = np.concatenate([normal(rng, 100) * 40, normal(rng, 20) * 40000, halves])
        want = stored(x.astype(np.float64), 0.25, 3, lowest, highest, dtype)
        assert (want.min(), want.max()) == (lowest, highest)
        quant = [NONE, param(0.25, 3, narrow=narrow, bits=bits)]
        return Check(b.QuantDTypeCast(), [x], [want], quant=quant)

    @CASES.add(f"QuantDTypeCast from {_name}")
    def _dequantise(rng: Rng, dtype: Any = _dtype, narrow: bool = _narrow, bits: int = _bits) -> Check:
        q = ints(rng, 0, 100, 40, dtype=dtype)
        want = (q.astype(np.float64) - 3) * 0.3
        return Check(b.QuantDTypeCast(), [q], [want], "ulp", quant=[param(0.3, 3, narrow=narrow, bits=bits), NONE])


@CASES.add("Add of quantised operands")
def _add(rng: Rng) -> Check:
    x, y = ints(rng, 0, 256, 50, dtype=np.uint8), ints(rng, 0, 256, 50, dtype=np.uint8)
    real = (x.astype(np.float64) - 100) * 0.5 + (y.astype(np.float64) - 128) * 0.25
    want = stored(real, 0.75, 110, 0, 255, np.uint8)
    return Check(b.Add(), [x, y], [want], quant=[param(0.5, 100), param(0.25, 128), param(0.75, 110)])


@CASES.add("Pooling MEAN of a quantised map")
def _mean_pool(rng: Rng) -> Check:
    x = ints(rng, -128, 128, 1, 2, 4, 4, dtype=np.int8)
    (mean,) = onnx("AveragePool", [((x.astype(np.float32) + 5) * 0.5)], kernel_shape=[2, 2], strides=[2, 2])
    want = stored(mean, 0.375, 1, -128, 127, np.int8)
    attr = b.Pooling(poolingMode=b.PoolMode.MEAN_POOLING, windowH=2, windowW=2, strideH=2, strideW=2)
    return Check(attr, [x], [want], quant=[param(0.5, -5), param(0.375, 1)])


@CASES.add("Pad puts the real zero")
def _pad(rng: Rng) -> Check:
    x = ints(rng, 0, 256, 3, dtype=np.uint8)
    want = np.concatenate([[100, 100], x]).astype(np.uint8)
    return Check(b.Pad(b.PaddingMode.CONSTANT, (2, 0)), [x], [want], quant=[param(0.5, 100), param(0.5, 100)])


@CASES.add("Reshape of floats that have parameters")
def _reshape_floats(rng: Rng) -> Check:
    x = normal(rng, 2, 2)
    return Check(b.Reshape(shape=(4,)), [x], [x.reshape(4)], quant=[param(0.3, 1)] * 2)


@CASES.add("Concat to another scale")
def _concat(rng: Rng) -> Check:
    x, y = ints(rng, -128, 128, 30, dtype=np.int8), ints(rng, -128, 128, 30, dtype=np.int8)
    real = np.concatenate([x.astype(np.float64) * 0.5, (y.astype(np.float64) - 7) * 0.25])
    quant = [param(0.5), param(0.25, 7), param(0.5, 1)]
    return Check(b.Concat(0, 2), [x, y], [stored(real, 0.5, 1, -128, 127, np.int8)], quant=quant)


@CASES.add("Reshape keeps what is stored")
def _reshape(rng: Rng) -> Check:
    q = np.array([[-128, -127], [0, 127]], np.int8)
    return Check(b.Reshape(shape=(4,)), [q], [q.reshape(4)], quant=[param(0.3, 1)] * 2)


@CASES.add("Reshape stores anew within the narrow range")
def _reshape_narrow(rng: Rng) -> Check:
    q = np.array([[-128, -127], [0, 127]], np.int8)
    want = np.array([-127, -127, 0, 127], np.int8)
    return Check(b.Reshape(shape=(4,)), [q], [want], quant=[param(0.3, 1, narrow=True)] * 2)


WEIGHTS = {"NCHW": 0, "KCHW": 0, "CKHW": 1, "HWKC": 2, "HWCK": 3, "KHWC": 0, "CHWK": 3}
for _format in WEIGHTS:

    @CASES.add(f"Conv2D per channel {_format}")
    def _conv(rng: Rng, order: str = _format) -> Check:
        x, q = normal(rng, 1, 2, 5, 5), ints(rng, -128, 128, 3, 2, 3, 3, dtype=np.int8)
        scales, zeros = [0.25, 0.5, 0.125], [3, -4, 0]
        factors, offsets = (np.array(values).reshape(-1, 1, 1, 1) for values in (scales, zeros))
        want = onnx("Conv", [x, ((q - offsets) * factors).astype(np.float32)])
        axes = ["KCHW".index(axis) for axis in ("KCHW" if order == "NCHW" else order)]
        params = [b.QuantParam(scale=s, zeroPoint=z) for s, z in zip(scales, zeros, strict=True)]
        return Check(
            b.Conv2D(strideH=1, strideW=1),
            [x, np.ascontiguousarray(q.transpose(axes))],
            want,
            "close",
            constants=[1],
            formats={1: b.Format[order]},
            quant=[NONE, params, NONE],
        )


@CASES.add("DepthwiseConv2D per channel runs along axis 0")
def _depthwise(rng: Rng) -> Check:
    x, q = normal(rng, 1, 3, 5, 5), ints(rng, -128, 128, 3, 1, 3, 3, dtype=np.int8)
    scales = np.array([0.25, 0.5, 0.125])
    want = onnx("Conv", [x, (q * scales.reshape(3, 1, 1, 1)).astype(np.float32)], group=3)
    params = [b.QuantParam(scale=scale) for scale in scales.tolist()]
    attr = b.DepthwiseConv2D(strideH=1, strideW=1)
    return Check(attr, [x, q], want, "close", constants=[1], quant=[NONE, params, NONE])


@CASES.add("FullConnection with weights of 8 bits")
def _full_connection(rng: Rng) -> Check:
    x, q = normal(rng, 2, 6), ints(rng, 0, 256, 4, 6, dtype=np.uint8)
    want = onnx("Gemm", [x, ((q.astype(np.float64) - 128) * 0.02).astype(np.float32)], transB=1)
    return Check(b.FullConnection(axis=1), [x, q], want, "close", constants=[1], quant=[NONE, param(0.02, 128), NONE])


@pytest.mark.parametrize("name", CASES)
def test_against_the_oracle(name: str) -> None:
    CASES.run(name)


def test_parameters_belong_to_the_operator_that_has_them() -> None:
    """One tensor of integers, read by an operator with parameters and by one without."""
    builder = SubGraphBuilder()
    q, real, raw = builder.input((3,), np.int8), builder.tensor((3,)), builder.tensor((3,))
    arrays = [b.QuantParamArray(param(0.5, 1)), b.QuantParamArray()]
    builder.node(b.QuantDTypeCast(), [q], [real], quant_param=arrays)
    builder.node(b.Cast(), [q], [raw])
    builder.outputs += [real, raw]
    values = np.array([-3, 0, 5], np.int8)
    found = run_file(write(builder.graph()), [values])
    np.testing.assert_array_equal(found[0], [-2, -0.5, 2])
    np.testing.assert_array_equal(found[1], values)


@pytest.mark.parametrize("kind", list(b.QuantType))
def test_the_quant_type_changes_nothing(kind: b.QuantType) -> None:
    builder = SubGraphBuilder()
    q, real = builder.input((3,), np.int8), builder.tensor((3,))
    arrays = [b.QuantParamArray(param(0.5, 1)), b.QuantParamArray()]
    builder.node(b.QuantDTypeCast(), [q], [real], quant_type=kind, quant_param=arrays)
    builder.outputs.append(real)
    np.testing.assert_array_equal(run_file(write(builder.graph()), [np.array([1, 3, 5], np.int8)])[0], [0, 1, 2])


def cast(*quant: tuple[b.QuantParam, ...]) -> bytes:
    return file_b(b.QuantDTypeCast(), [np.zeros((2, 3), np.int8)], [((2, 3), np.float32)], quant=quant)


WRONG = {
    "too few": (cast(param(1)), "1 quantParam for 2"),
    "too many": (cast(param(1), NONE, NONE), "3 quantParam for 2"),
    "scale 0": (cast(param(0), NONE), "not positive"),
    "scale negative": (cast(param(-1), NONE), "not positive"),
    "scale NaN": (cast(param(float("nan")), NONE), "not positive"),
    "scale infinite": (cast(param(float("inf")), NONE), "not positive"),
    "channels": (cast(param(1) * 3, NONE), "3 quantisation parameters for axis 0"),
    "bits 0": (cast(param(1, bits=0), NONE), "numBits 0"),
    "bits 9": (cast(param(1, bits=9), NONE), "numBits 9"),
    "bits differ": (cast(param(1) + param(1, bits=4), NONE), "differ between channels"),
    "cast without": (cast(NONE, NONE), "no quantisation parameters"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(name: str) -> None:
    data, words = WRONG[name]
    with pytest.raises(GraphError, match=words):
        run_file(data, [np.zeros((2, 3), np.int8)])


@pytest.mark.parametrize(
    "attr",
    [b.Conv2D(strideH=1, strideW=1), b.DepthwiseConv2D(strideH=1, strideW=1), b.DeConv2D(strideH=1, strideW=1)],
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_weight_of_8_bits_without_parameters_is_refused(attr: b.OpT, dtype: Any) -> None:
    x, q = np.zeros((1, 1, 3, 3), np.float32), np.ones((1, 1, 3, 3), dtype)
    data = file_b(attr, [x, q], [((1, 1, 1, 1), np.float32)], constants=[1])
    with pytest.raises(GraphError, match="no quantisation parameters") as caught:
        run_file(data, [x])
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED
