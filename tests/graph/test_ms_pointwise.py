"""The members of OpT that compute element by element, normalise, multiply or fake quantisation, each by an oracle."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from emu.errors import GraphError
from emu.graph.ops.activation import SELU_ALPHA, SELU_GAMMA
from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import Array, onnx
from tests.graph.ms_checks import Cases, Check, Rng, ints, normal

CASES = Cases()


def by_element(function: Callable[..., float], *arrays: Array) -> Array:
    """A formula of Python floats (64 bits) on every element."""
    full = np.broadcast_arrays(*(array.astype(np.float64) for array in arrays))
    found = [function(*(float(x) for x in xs)) for xs in zip(*(array.ravel() for array in full), strict=True)]
    return np.array(found, np.float64).reshape(full[0].shape)


UNARY: dict[str, tuple[Callable[[float], float], float, float]] = {
    "Exp": (math.exp, -20, 20),
    "Cos": (math.cos, -30, 30),
    "Sin": (math.sin, -30, 30),
    "Tan": (math.tan, -1.5, 1.5),
    "Atan": (math.atan, -20, 20),
    "Asin": (math.asin, -1, 1),
    "Log": (math.log, 1e-3, 100),
    "Sqrt": (math.sqrt, 0, 100),
    "Rsqrt": (lambda x: 1 / math.sqrt(x), 1e-3, 100),
    "Square": (lambda x: x * x, -30, 30),
    "Abs": (abs, -5, 5),
    "Neg": (lambda x: -x, -5, 5),
    "Ceil": (lambda x: float(math.ceil(x)), -5, 5),
    "Floor": (lambda x: float(math.floor(x)), -5, 5),
    "Round": (lambda x: float(round(x)), -5, 5),
    "ZerosLike": (lambda x: 0.0, -5, 5),
}
for _name, (_function, _low, _high) in UNARY.items():

    @CASES.add(_name)
    def _unary(rng: Rng, name: str = _name, low: float = _low, high: float = _high) -> Check:
        x = rng.uniform(low, high, (2, 3, 50)).astype(np.float32)
        x[0, 0, :4] = [low, high, (low + high) / 2, 0.5]  # 0.5: where Round goes to the even side
        return Check(getattr(b, name)(), [x], [by_element(UNARY[name][0], x)], "ulp")


BINARY: dict[str, Callable[[float, float], float]] = {
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "RealDiv": lambda x, y: x / y,
    "Maximum": max,
    "Minimum": min,
    "FloorDiv": lambda x, y: float(math.floor(x / y)),
    "FloorMod": lambda x, y: x - math.floor(x / y) * y,
}
for _name in BINARY:

    @CASES.add(_name)
    def _binary(rng: Rng, name: str = _name) -> Check:
        x, y = normal(rng, 2, 3, 5), normal(rng, 2, 1, 5)
        y += np.copysign(np.float32(0.1), y)
        how = "close" if name == "FloorMod" else "ulp"
        return Check(getattr(b, name)(), [x, y], [by_element(BINARY[name], x, y)], how)

    @CASES.add(f"{_name} integers")
    def _binary_integers(rng: Rng, name: str = _name) -> Check:
        x, y = ints(rng, -20, 20, 2, 3, 5), ints(rng, 1, 9, 1, 3, 1)
        y[0, 0] = -7
        want = by_element(BINARY[name], x, y)
        return Check(getattr(b, name)(), [x, y], [np.trunc(want).astype(np.int32)])


@CASES.add("SquaredDifference")
def _squared_difference(rng: Rng) -> Check:
    x, y = normal(rng, 2, 7), normal(rng, 2, 7)
    return Check(b.SquaredDifference(), [x, y], [by_element(lambda p, q: (p - q) ** 2, x, y)], "ulp")


for _name, _compare in {
    "Equal": lambda x, y: x == y,
    "Less": lambda x, y: x < y,
    "Greater": lambda x, y: x > y,
}.items():

    @CASES.add(_name)
    def _comparison(rng: Rng, name: str = _name, compare: Callable[[float, float], bool] = _compare) -> Check:
        x, y = ints(rng, 0, 4, 3, 8).astype(np.float32), ints(rng, 0, 4, 1, 8).astype(np.float32)
        return Check(getattr(b, name)(), [x, y], [by_element(compare, x, y).astype(np.uint8)])


for _name in ("And", "Or", "Xor"):

    @CASES.add(f"Logical{_name}")
    def _logical(rng: Rng, name: str = _name) -> Check:
        x, y = ints(rng, 0, 2, 3, 8, dtype=np.uint8), ints(rng, 0, 2, 3, 8, dtype=np.uint8)
        (want,) = onnx(name, [x.astype(bool), y.astype(bool)])
        return Check(getattr(b, f"Logical{name}")(), [x, y], [want.astype(np.uint8)])


@CASES.add("LogicalNot")
def _logical_not(rng: Rng) -> Check:
    x = ints(rng, 0, 2, 3, 8, dtype=np.uint8)
    return Check(b.LogicalNot(), [x], onnx("Not", [x.astype(bool)])[0].astype(np.uint8)[None])


@CASES.add("Min")
def _min(rng: Rng) -> Check:
    arrays = [normal(rng, 2, 3), normal(rng, 1, 3), normal(rng, 2, 1)]
    return Check(b.Min(), arrays, onnx("Min", arrays))


@CASES.add("AddN")
def _add_n(rng: Rng) -> Check:
    arrays = [normal(rng, 4, 5) for _ in range(4)]
    return Check(b.AddN(N=4), arrays, [by_element(lambda *xs: math.fsum(xs), *arrays)], "ulp")


for _mode, _function in {
    b.EltwiseMode.PROD: lambda x, y: x * y,
    b.EltwiseMode.SUM: lambda x, y: x + y,
    b.EltwiseMode.MAXIMUM: max,
}.items():

    @CASES.add(f"Eltwise {_mode.name}")
    def _eltwise(rng: Rng, mode: b.EltwiseMode = _mode, function: Callable[..., float] = _function) -> Check:
        x, y = normal(rng, 2, 3, 4, 5), normal(rng, 2, 3, 4, 5)
        return Check(b.Eltwise(mode), [x, y], [by_element(function, x, y)], "ulp")

    @CASES.add(f"Eltwise {_mode.name} channel")
    def _eltwise_channel(rng: Rng, mode: b.EltwiseMode = _mode, function: Callable[..., float] = _function) -> Check:
        x, y = normal(rng, 2, 3, 4, 3), normal(rng, 3)
        return Check(b.Eltwise(mode), [x, y], [by_element(function, x, y.reshape(3, 1, 1))], "ulp")


ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "NO_ACTIVATION": lambda x: x,
    "RELU": lambda x: max(x, 0.0),
    "SIGMOID": lambda x: 1 / (1 + math.exp(-x)),
    "RELU6": lambda x: min(max(x, 0.0), 6.0),
    "ELU": lambda x: x if x >= 0 else math.expm1(x),
    "ABS": abs,
    "RELU1": lambda x: min(max(x, -1.0), 1.0),
    "SOFTSIGN": lambda x: x / (1 + abs(x)),
    "SOFTPLUS": lambda x: math.log1p(math.exp(x)),
    "TANH": math.tanh,
    "SELU": lambda x: SELU_GAMMA * (x if x >= 0 else SELU_ALPHA * math.expm1(x)),
    "HSWISH": lambda x: x * min(max(x + 3, 0.0), 6.0) / 6,
    "HSIGMOID": lambda x: min(max(0.2 * x + 0.5, 0.0), 1.0),
    "THRESHOLDRELU": lambda x: x if x > 1 else 0.0,
    "LINEAR": lambda x: x,
}
for _name in ACTIVATIONS:

    @CASES.add(f"Activation {_name}")
    def _activation(rng: Rng, name: str = _name) -> Check:
        x = rng.uniform(-9, 9, (3, 100)).astype(np.float32)
        x[0, :4] = [0, 1, -1, 6]
        return Check(b.Activation(b.ActivationType[name]), [x], [by_element(ACTIVATIONS[name], x)], "ulp")


@CASES.add("Elu")
def _elu(rng: Rng) -> Check:
    x = normal(rng, 40)
    return Check(b.Elu(0.25), [x], [by_element(lambda v: v if v >= 0 else 0.25 * math.expm1(v), x)], "ulp")


@CASES.add("LeakyReLU")
def _leaky(rng: Rng) -> Check:
    x = normal(rng, 40)
    return Check(b.LeakyReLU(0.125), [x], [by_element(lambda v: v if v >= 0 else 0.125 * v, x)], "ulp")


@CASES.add("Clip")
def _clip(rng: Rng) -> Check:
    x = normal(rng, 40)
    return Check(b.Clip(max=0.5, min=-0.25), [x], [by_element(lambda v: min(max(v, -0.25), 0.5), x)], "ulp")


@CASES.add("Power")
def _power(rng: Rng) -> Check:
    x = rng.uniform(0, 4, 40).astype(np.float32)
    attr = b.Power(power=2.5, scale=0.5, shift=0.25)
    return Check(attr, [x], [by_element(lambda v: (0.5 * v + 0.25) ** 2.5, x)], "ulp")


@CASES.add("Prelu")
def _prelu(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4, 4)
    slopes = np.array([0.5, -0.25, 2], np.float32)
    return Check(b.Prelu(tuple(slopes.tolist())), [x], onnx("PRelu", [x, slopes.reshape(3, 1, 1)]))


@CASES.add("Prelu shared")
def _prelu_shared(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4, 4)
    return Check(b.Prelu((0.25,)), [x], onnx("PRelu", [x, np.array([0.25], np.float32)]))


@CASES.add("CaffePReLU")
def _caffe_prelu(rng: Rng) -> Check:
    x, slopes = normal(rng, 2, 3, 4, 4), normal(rng, 3)
    want = onnx("PRelu", [x, slopes.reshape(3, 1, 1)])
    return Check(b.CaffePReLU(), [x, slopes], want, constants=[1])


@CASES.add("CaffePReLU shared")
def _caffe_prelu_shared(rng: Rng) -> Check:
    x, slope = normal(rng, 2, 3, 4, 4), normal(rng, 1)
    return Check(b.CaffePReLU(True), [x, slope], onnx("PRelu", [x, slope]), constants=[1])


@CASES.add("Select")
def _select(rng: Rng) -> Check:
    c, x, y = ints(rng, 0, 2, 3, 4, dtype=np.uint8), normal(rng, 3, 4), normal(rng, 3, 4)
    return Check(b.Select(), [c, x, y], onnx("Where", [c.astype(bool), x, y]))


@CASES.add("Select rows")
def _select_rows(rng: Rng) -> Check:
    c, x, y = np.array([1, 0, 1], np.uint8), normal(rng, 3, 4), normal(rng, 3, 4)
    return Check(b.Select(), [c, x, y], [np.stack([x[0], y[1], x[2]])])


@CASES.add("SoftMax")
def _softmax(rng: Rng) -> Check:
    x = normal(rng, 2, 5, 3) * 4
    return Check(b.SoftMax((1,)), [x], onnx("Softmax", [x], axis=1), "close")


def batch_norm(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float) -> list[Array]:
    return onnx("BatchNormalization", [x, scale, bias, mean, variance], epsilon=epsilon)


def statistics(rng: Rng, channels: int) -> tuple[Array, Array, Array, Array]:
    variance = rng.uniform(0.5, 2, channels).astype(np.float32)
    return normal(rng, channels), normal(rng, channels), normal(rng, channels), variance


@CASES.add("FusedBatchNorm")
def _fused_batch_norm(rng: Rng) -> Check:
    x, (scale, bias, mean, variance) = normal(rng, 2, 3, 4, 4), statistics(rng, 3)
    want = batch_norm(x, scale, bias, mean, variance, 1e-3)
    attr = b.FusedBatchNorm(epsilon=1e-3)
    return Check(attr, [x, scale, bias, mean, variance], want, "close", constants=[1, 2, 3, 4])


@CASES.add("FusedBatchNorm default epsilon")
def _fused_batch_norm_default(rng: Rng) -> Check:
    x, (scale, bias, mean, variance) = normal(rng, 2, 3), statistics(rng, 3)
    variance *= np.float32(1e-5)
    want = batch_norm(x, scale, bias, mean, variance, 1e-5)
    return Check(b.FusedBatchNorm(), [x, scale, bias, mean, variance], want, "close", constants=[1, 2, 3, 4])


@CASES.add("CaffeBatchNorm")
def _caffe_batch_norm(rng: Rng) -> Check:
    x, (_, _, mean, variance) = normal(rng, 2, 3, 4, 4), statistics(rng, 3)
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    want = batch_norm(x, ones, zeros, mean, variance, 1e-3)
    return Check(b.CaffeBatchNorm(1e-3), [x, mean, variance], want, "close", constants=[1, 2])


@CASES.add("BatchNormFold")
def _batch_norm_fold(rng: Rng) -> Check:
    x, (scale, bias, mean, variance) = normal(rng, 2, 3, 4, 4), statistics(rng, 3)
    want = batch_norm(x, scale, bias, mean, variance, 1e-5)
    return Check(b.BatchNormFold(), [x, scale, bias, mean, variance], want, "close", constants=[1, 2, 3, 4])


@CASES.add("BatchNormFold inference")
def _batch_norm_fold_inference(rng: Rng) -> Check:
    x, (_, _, mean, variance) = normal(rng, 2, 3, 4, 4), statistics(rng, 3)
    wants = [np.zeros(3), np.ones(3), mean.astype(np.float64), by_element(lambda v: math.sqrt(v + 1e-5), variance)]
    return Check(b.BatchNormFold(), [x, mean, variance, np.array([7], np.int32)], wants, "ulp")


@CASES.add("MulFold")
def _mul_fold(rng: Rng) -> Check:
    w, (gamma, _, _, deviation) = normal(rng, 4, 3, 2, 2), statistics(rng, 4)
    column = (4, 1, 1, 1)
    want = by_element(lambda v, g, d: v * g / d, w, gamma.reshape(column), deviation.reshape(column))
    return Check(b.MulFold(), [w, gamma, deviation], [want], "ulp")


@CASES.add("AddFold")
def _add_fold(rng: Rng) -> Check:
    x, (beta, gamma, mean, deviation) = normal(rng, 2, 3, 2, 2), statistics(rng, 3)
    running = rng.uniform(0.5, 2, 3).astype(np.float32)
    rows = [array.reshape(3, 1, 1) for array in (beta, gamma, deviation, mean, running)]
    want = by_element(lambda v, p, g, d, m, r: v * r / d + p - g * m / d, x, *rows)
    return Check(b.AddFold(), [x, beta, gamma, deviation, mean, running], [want], "ulp")


@CASES.add("Scale")
def _scale(rng: Rng) -> Check:
    x, k, c = normal(rng, 2, 3, 4, 4), normal(rng, 3), normal(rng, 3)
    want = by_element(lambda v, p, q: v * p + q, x, k.reshape(3, 1, 1), c.reshape(3, 1, 1))
    return Check(b.Scale(), [x, k, c], [want], "ulp", constants=[1, 2])


@CASES.add("Scale last axis without offset")
def _scale_last(rng: Rng) -> Check:
    x, k = normal(rng, 2, 4, 4, 3), normal(rng, 3)
    return Check(b.Scale(b.Format.NHWC), [x, k], [by_element(lambda v, p: v * p, x, k)], "ulp", constants=[1])


@CASES.add("BiasAdd")
def _bias_add(rng: Rng) -> Check:
    x, c = normal(rng, 2, 3, 4, 3), normal(rng, 3)
    want = by_element(lambda v, q: v + q, x, c.reshape(3, 1, 1))
    return Check(b.BiasAdd((1,)), [x, c], [want], "ulp", constants=[1])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_lrn_windows(size: int) -> None:
    x = normal(np.random.default_rng(size), 2, 6, 3, 3)
    attr = b.Lrn(alpha=0.5, beta=0.6, bias=1.5, size=size)
    if size % 2:
        want = onnx("LRN", [x], alpha=0.5, beta=0.6, bias=1.5, size=size)[0]
    else:  # onnxruntime takes odd sizes only; the window of the ONNX text, channel by channel
        want = np.empty(x.shape)
        for c in range(6):
            window = x[:, max(0, c - (size - 1) // 2) : c + -(-(size - 1) // 2) + 1].astype(np.float64)
            want[:, c] = x[:, c] / (1.5 + 0.5 / size * np.sum(window**2, axis=1)) ** 0.6
    Check(attr, [x], [want], "close").run()


@CASES.add("Lrn")
def _lrn(rng: Rng) -> Check:
    x = normal(rng, 2, 6, 3, 3) * 50
    return Check(b.Lrn(size=5), [x], onnx("LRN", [x], size=5), "close")


@CASES.add("LocalResponseNormalization")
def _local_response(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 3, 6)
    want = np.empty(x.shape)
    for c in range(6):
        window = x[..., max(0, c - 2) : c + 3].astype(np.float64)
        want[..., c] = x[..., c] / (1.5 + 0.5 * np.sum(window**2, axis=-1)) ** 0.6
    attr = b.LocalResponseNormalization(depth_radius=2, bias=1.5, alpha=0.5, beta=0.6)
    return Check(attr, [x], [want], "close")


@CASES.add("L2Norm")
def _l2_norm(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4)
    x[0, 0] *= np.float32(1e-6)
    want = np.empty(x.shape)
    for n in range(2):
        for c in range(3):
            row = x[n, c].astype(np.float64)
            want[n, c] = row / math.sqrt(max(math.fsum(row * row), 1e-4))
    return Check(b.L2Norm((-1,), 1e-4), [x], [want], "ulp")


@CASES.add("FullConnection")
def _full_connection(rng: Rng) -> Check:
    x, w, c = normal(rng, 3, 2, 4, 5), normal(rng, 7, 40), normal(rng, 7)
    want = onnx("Gemm", [x.reshape(3, 40), w, c], transB=1)
    return Check(b.FullConnection(hasBias=True, axis=1), [x, w, c], want, "close", constants=[1, 2])


@CASES.add("FullConnection without bias")
def _full_connection_plain(rng: Rng) -> Check:
    x, w = normal(rng, 3, 40), normal(rng, 7, 40)
    want = onnx("Gemm", [x, w], transB=1)
    return Check(b.FullConnection(axis=1), [x, w], want, "close", constants=[1])


for _ta in (False, True):
    for _tb in (False, True):

        @CASES.add(f"MatMul {int(_ta)}{int(_tb)}")
        def _mat_mul(rng: Rng, ta: bool = _ta, tb: bool = _tb) -> Check:
            x = normal(rng, *((5, 3) if ta else (3, 5)))
            y = normal(rng, *((4, 5) if tb else (5, 4)))
            want = onnx("Gemm", [x, y], transA=int(ta), transB=int(tb))
            return Check(b.MatMul(ta, tb), [x, y], want, "close")


@CASES.add("OnnxInt8Quantize")
def _quantize(rng: Rng) -> Check:
    x, scale, zero = normal(rng, 4, 50), np.array([0.013], np.float32), np.array([-7], np.int8)
    want = onnx("QuantizeLinear", [x * 3, scale.reshape(()), zero.reshape(())])
    return Check(b.OnnxInt8Quantize(), [x * 3, scale, zero], want)


@CASES.add("OnnxInt8Dequantize")
def _dequantize(rng: Rng) -> Check:
    q, scale, zero = ints(rng, -128, 128, 4, 5, dtype=np.int8), np.array([0.013], np.float32), np.array([-7], np.int8)
    want = onnx("DequantizeLinear", [q, scale.reshape(()), zero.reshape(())])
    return Check(b.OnnxInt8Dequantize(), [q, scale, zero], want, "ulp")


def fake_quant(x: float, low: float, high: float, first: int, last: int) -> float:
    """tf.quantization.fake_quant_with_min_max_vars: nudge the zero point, clamp, round half up."""
    scale = (high - low) / (last - first)
    zero = min(max(math.floor(first - low / scale + 0.5), first), last)
    lowest, highest = (first - zero) * scale, (last - zero) * scale
    clamped = min(max(x, lowest), highest)
    return math.floor((clamped - lowest) / scale + 0.5) * scale + lowest


for _bits, _narrow in ((8, False), (8, True), (4, False), (2, True), (16, False)):

    @CASES.add(f"FakeQuantWithMinMaxVars {_bits}{'n' * _narrow}")
    def _fake_quant_vars(rng: Rng, bits: int = _bits, narrow: bool = _narrow) -> Check:
        x, low, high = normal(rng, 200) * 2, np.array([-1.3], np.float32), np.array([2.1], np.float32)
        limits = int(narrow), 2**bits - 1
        want = by_element(lambda v: fake_quant(v, float(low[0]), float(high[0]), *limits), x)
        attr = b.FakeQuantWithMinMaxVars(narrowRange=narrow, numBits=bits)
        return Check(attr, [x, low, high], [want], "close", constants=[1, 2])


@CASES.add("FakeQuantWithMinMax")
def _fake_quant(rng: Rng) -> Check:
    x, low, high = normal(rng, 200), np.array([0.5], np.float32), np.array([2.1], np.float32)
    want = by_element(lambda v: fake_quant(v, float(low[0]), float(high[0]), 0, 255), x)
    return Check(b.FakeQuantWithMinMax(), [x, low, high], [want], "close", constants=[1, 2])


@CASES.add("FakeQuantWithMinMaxPerChannel")
def _fake_quant_channel(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4, 4)
    low, high = np.array([-1, -0.25, 0], np.float32), np.array([1, 2, 0.75], np.float32)
    want = by_element(lambda v, p, q: fake_quant(v, p, q, 0, 255), x, low.reshape(3, 1, 1), high.reshape(3, 1, 1))
    return Check(b.FakeQuantWithMinMaxPerChannel(), [x, low, high], [want], "close", constants=[1, 2])


@pytest.mark.parametrize("name", CASES)
def test_against_the_oracle(name: str) -> None:
    CASES.run(name)


def one(attr: b.OpT, *inputs: Array, shape: tuple[int, ...] = (2, 3), constants: tuple[int, ...] = ()) -> Check:
    return Check(attr, inputs, [np.zeros(shape, np.float32)], constants=constants)


ZEROS = np.zeros((2, 3), np.float32)
REFUSED = {
    "activation without slope": (one(b.Activation(b.ActivationType.LEAKY_RELU), ZEROS), "no slope"),
    "activation UNKNOW": (one(b.Activation(b.ActivationType.UNKNOW), ZEROS), "is no activation"),
    "eltwise UNKNOW": (one(b.Eltwise(b.EltwiseMode.UNKNOW), ZEROS, ZEROS), "UNKNOW"),
    "eltwise of one": (one(b.Eltwise(b.EltwiseMode.SUM), ZEROS), "needs 2 inputs"),
    "eltwise shapes": (one(b.Eltwise(b.EltwiseMode.SUM), ZEROS, np.zeros((3, 2), np.float32)), "differ"),
    "one operand of two": (one(b.Add(), ZEROS), "at least 2 inputs"),
    "three operands of two": (one(b.Add(), ZEROS, ZEROS, ZEROS), "at most 2 inputs"),
    "N": (one(b.AddN(N=3), ZEROS, ZEROS), "N: 3"),
    "softmax without axis": (one(b.SoftMax(), ZEROS), "names no axis"),
    "softmax axis": (one(b.SoftMax((2,)), ZEROS), "axis 2"),
    "bias length": (one(b.BiasAdd((1,)), ZEROS, np.zeros(2, np.float32)), "channels"),
    "slope length": (one(b.CaffePReLU(), ZEROS, np.zeros(2, np.float32)), "slope"),
    "no slope": (one(b.Prelu(), ZEROS), "slope"),
    "lrn size": (one(b.Lrn(size=0), ZEROS), "size"),
    "clip": (one(b.Clip(max=0, min=1), ZEROS), "min"),
    "spatial": (one(b.FusedBatchNorm(spatial=0), *[ZEROS] * 5), "spatial"),
    "statistics missing": (one(b.FusedBatchNorm(), ZEROS, ZEROS), "takes 5 inputs"),
    "fold operands": (one(b.BatchNormFold(), ZEROS, ZEROS), "takes 4 inputs"),
    "bits": (one(b.FakeQuantWithMinMaxVars(), ZEROS, ZEROS[0, :1], ZEROS[0, :1]), "numBits"),
    "min above max": (one(b.FakeQuantWithMinMax(), ZEROS, ZEROS[0, :1], ZEROS[0, :1]), "larger than min"),
    "axis of full connection": (one(b.FullConnection(axis=2), ZEROS, ZEROS), "axis"),
    "weight of full connection": (one(b.FullConnection(axis=1), ZEROS, np.zeros((3, 2), np.float32)), "values a row"),
    "batches in matmul": (one(b.MatMul(), np.zeros((1, 2, 3), np.float32), ZEROS.T.copy()), "matri"),
    "division by zero": (
        Check(b.RealDiv(), [np.ones(2, np.int32), np.zeros(2, np.int32)], [np.zeros(2, np.int32)]),
        "zero",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    case, words = REFUSED[name]
    with pytest.raises(GraphError, match=words) as caught:
        case.run()
    assert caught.value.where["op"].startswith(type(case.attr).__name__)
