"""MindSpore Lite's operators that compute element by element or normalise, against onnxruntime and float64 formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from tests.graph.lite_cases import Array, file_of, gives, normal, run_file
from tests.graph.ms_cases import onnx

RNG = np.random.default_rng
X = np.concatenate([normal(RNG(0), 40) * 4, np.array([-3, 3, 0, 6, -6, 1, -1, 7.5], np.float32)]).reshape(2, 3, 8)
erf = np.vectorize(math.erf)

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "NO_ACTIVATION": lambda x: x,
    "LINEAR": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0),
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "ELU": lambda x: np.where(x > 0, x, 0.25 * np.expm1(x)),
    "LEAKY_RELU": lambda x: np.where(x > 0, x, 0.25 * x),
    "ABS": np.abs,
    "RELU1": lambda x: np.clip(x, -1, 1),
    "SOFTSIGN": lambda x: x / (1 + np.abs(x)),
    "SOFTPLUS": lambda x: np.log1p(np.exp(x)),
    "TANH": np.tanh,
    "HSWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "HSIGMOID": lambda x: np.clip(x + 3, 0, 6) / 6,
    "HARD_TANH": lambda x: np.clip(x, -0.5, 1.5),
    "SIGN": np.sign,
    "SWISH": lambda x: x / (1 + np.exp(-x)),
    "GELU": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "FAST_GELU": lambda x: x / (1 + np.exp(-1.702 * x)),
}
SLOPED = {"ELU", "LEAKY_RELU", "HARD_TANH"}


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activation(kind: str) -> None:
    want = ACTIVATIONS[kind](X.astype(np.float64))
    gives(lite.Activation(lite.ActivationType[kind], 0.25, -0.5, 1.5), [X], [want], how="ulp")
    if kind in old.ActivationType.__members__:
        gives(old.Activation(old.ActivationType[kind], 0.25, -0.5, 1.5), [X], [want], how="ulp")


@pytest.mark.parametrize("kind", sorted(set(ACTIVATIONS) - SLOPED))
def test_fused_activation(kind: str) -> None:
    y = X[::-1].copy()
    want = ACTIVATIONS[kind](np.float32(X + y).astype(np.float64))
    gives(lite.AddFusion(lite.ActivationType[kind]), [X, y], [want], how="ulp")


def test_selu() -> None:
    gives(lite.Activation(lite.ActivationType.SELU), [X], onnx("Selu", [X]))


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu(approximate: bool) -> None:
    x = X.astype(np.float64)
    want = ACTIVATIONS["GELU"](x)
    if approximate:
        want = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    gives(lite.Activation(lite.ActivationType.GELU, approximate=approximate), [X], [want])
    gives(old.GeLU(approximate), [X], [want])


@pytest.mark.parametrize(
    "attr",
    [
        lite.Activation(lite.ActivationType.THRESHOLDRELU),
        lite.Activation(lite.ActivationType.UNKNOWN),
        lite.AddFusion(lite.ActivationType.LEAKY_RELU),
        lite.AddFusion(lite.ActivationType.HARD_TANH),
    ],
)
def test_activations_that_are_refused(attr: Any) -> None:
    arrays = [X] * (1 if isinstance(attr, lite.Activation) else 2)
    with pytest.raises(GraphError, match="attribute activation_type") as caught:
        run_file(file_of(attr, arrays, [np.float32]), arrays)
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED


POSITIVE = np.abs(X) + np.float32(0.5)
UNARY: dict[str, tuple[Callable[[Array], Array], Array]] = {
    "Abs": (np.abs, X),
    "Neg": (np.negative, X),
    "Log": (np.log, POSITIVE),
    "Sin": (np.sin, X),
    "Cos": (np.cos, X),
    "Sqrt": (np.sqrt, POSITIVE),
    "Rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
    "Square": (np.square, X),
    "Ceil": (np.ceil, X),
    "Floor": (np.floor, X),
    "Round": (np.rint, X),
    "Reciprocal": (lambda x: 1 / x, POSITIVE),
    "ZerosLike": (lambda x: x * 0, POSITIVE),
    "OnesLike": (lambda x: x * 0 + 1, X),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    formula, x = UNARY[name]
    for schema in (lite, old):
        gives(getattr(schema, name)(), [x], [formula(x.astype(np.float64))], how="ulp")


BINARY = {
    "RealDiv": "Div",
    "Maximum": "Max",
    "Minimum": "Min",
    "Equal": "Equal",
    "Less": "Less",
    "LessEqual": "LessOrEqual",
    "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
    "LogicalAnd": "And",
    "LogicalOr": "Or",
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 3, 4)), ((2, 1, 4), (3, 1)), ((5,), ())])
def test_binary(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = RNG(1)
    a, b = (rng.integers(-2, 3, shape).astype(np.float32) for shape in shapes)
    if name == "RealDiv":
        b = np.where(b == 0, 4, b).astype(np.float32)
    if name.startswith("Logical"):
        a, b = (np.asarray(array > 0) for array in (a, b))
    (want,) = onnx(BINARY[name], [a, b])
    for schema in (lite, old):
        gives(getattr(schema, name)(), [a, b], [want], how="exact")


@pytest.mark.parametrize("name", ["NotEqual", "FloorDiv", "FloorMod", "SquaredDifference"])
def test_binary_by_formula(name: str) -> None:
    rng = RNG(2)
    a, b = rng.integers(-9, 9, (3, 4)).astype(np.int32), rng.integers(1, 4, 4).astype(np.int32)
    wants = {"NotEqual": a != b, "FloorDiv": a // b, "FloorMod": a % b, "SquaredDifference": (a - b) ** 2}
    for schema in (lite, old):
        gives(getattr(schema, name)(), [a, b], [wants[name]], how="exact")


@pytest.mark.parametrize(("name", "since"), [("Add", "Add"), ("Sub", "Sub"), ("Mul", "Mul"), ("Div", "Div")])
def test_arithmetic_with_a_fused_activation(name: str, since: str) -> None:
    a, b = normal(RNG(3), 2, 3, 4), normal(RNG(4), 3, 1)
    want = np.maximum(onnx(name, [a, b])[0], 0)
    gives(getattr(lite, f"{name}Fusion")(lite.ActivationType.RELU), [a, b], [want])
    gives(getattr(old, since)(old.ActivationType.RELU), [a, b], [want])


def test_logical_not() -> None:
    x = np.array([True, False])
    gives(lite.LogicalNot(), [x], [~x], how="exact")


@pytest.mark.parametrize(("mode", "function"), [("PROD", np.prod), ("SUM", np.sum), ("MAXIMUM", np.max)])
def test_eltwise(mode: str, function: Callable[..., Array]) -> None:
    arrays = [normal(RNG(at), 3, 4) for at in range(2)]
    for schema in (lite, old):
        gives(schema.Eltwise(schema.EltwiseMode[mode]), arrays, [function(np.stack(arrays), axis=0)])
    if mode == "SUM":
        gives(lite.AddN(), [*arrays, arrays[0]], [arrays[0] * 2 + arrays[1]])


def test_exponential() -> None:
    gives(lite.ExpFusion(), [X], [np.exp(X.astype(np.float64))], how="ulp")
    gives(old.Exp(), [X], [np.exp(X.astype(np.float64))], how="ulp")
    with pytest.raises(GraphError, match=r"base 2\.0"):
        run_file(file_of(lite.ExpFusion(base=2.0), [X], [np.float32]), [X])


def test_power() -> None:
    want = (2 * POSITIVE.astype(np.float64) + 1) ** 1.5
    power = np.array(1.5, np.float32)
    gives(lite.PowFusion(2.0, 1.0), [POSITIVE, power], [want], how="ulp", constants=(1,))
    gives(old.Power(1.5, 2.0, 1.0), [POSITIVE], [want], how="ulp")
    powers = normal(RNG(20), 8)
    gives(lite.PowFusion(), [POSITIVE, powers], [POSITIVE.astype(np.float64) ** powers], how="ulp")
    with pytest.raises(GraphError, match="computed at run time"):
        run_file(file_of(lite.PowFusion(2.0), [POSITIVE, power], [np.float32]), [POSITIVE, power])


def test_clip_and_slopes() -> None:
    low, high = np.array(-1, np.float32), np.array(2, np.float32)
    gives(lite.Clip(2.0, -1.0), [X], [np.clip(X, -1, 2)], how="exact")
    gives(lite.Clip(), [X, low, high], [np.clip(X, -1, 2)], how="exact", constants=(1, 2))
    gives(old.Clip(2.0, -1.0), [X], [np.clip(X, -1, 2)], how="exact")
    for attr in (lite.LeakyRelu(0.25), old.LeakyReLU(0.25)):
        gives(attr, [X], [ACTIVATIONS["LEAKY_RELU"](X.astype(np.float64))], how="ulp")
    for attr in (lite.Elu(0.25), old.Elu(0.25)):
        gives(attr, [X], [ACTIVATIONS["ELU"](X.astype(np.float64))], how="ulp")


@pytest.mark.parametrize("shared", [False, True])
def test_prelu(shared: bool) -> None:
    slope = normal(RNG(5), 1 if shared else 8)
    (want,) = onnx("PRelu", [X, slope])
    gives(lite.PReLUFusion(shared), [X, slope], [want], constants=(1,))
    gives(old.PReLU(shared, tuple(slope.tolist())), [X], [want])


@pytest.mark.parametrize("name", ["Where", "Select"])
def test_choice(name: str) -> None:
    condition, y = X > 0, X[::-1].copy()
    gives(getattr(lite, name)(), [condition, X, y], [np.where(condition, X, y)], how="exact")
    with pytest.raises(GraphError, match="form with 1 inputs"):
        run_file(file_of(getattr(lite, name)(), [condition], [np.int32]), [condition])


@pytest.mark.parametrize(("since", "to"), [(np.float32, np.int32), (np.int32, np.float32), (np.float32, np.float16)])
def test_cast(since: Any, to: Any) -> None:
    x = (X * 2).astype(since)
    gives(lite.Cast(), [x, np.array(0, np.int32)], [x.astype(to)], how="exact", constants=(1,))
    gives(old.Cast(), [x], [x.astype(to)], how="exact")


def test_scale() -> None:
    x, factor, offset = normal(RNG(6), 2, 3, 4), normal(RNG(7), 3), normal(RNG(8), 3)
    want = x * factor[:, None] + offset[:, None]
    for attr in (lite.ScaleFusion(1, lite.ActivationType.RELU), old.Scale(-2, old.ActivationType.RELU)):
        gives(attr, [x, factor, offset], [np.maximum(want, 0)], constants=(1, 2))


def test_bias_and_batch_normalisation_are_of_the_last_axis() -> None:
    x = normal(RNG(9), 2, 4, 5, 3)
    scale, offset, mean = (normal(RNG(at), 3) for at in (10, 11, 12))
    variance = np.abs(normal(RNG(13), 3)) + np.float32(0.1)
    channels_first = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    (want,) = onnx("BatchNormalization", [channels_first, scale, offset, mean, variance], epsilon=0.01)
    want = want.transpose(0, 2, 3, 1)
    for schema in (lite, old):
        gives(schema.BiasAdd(), [x, offset], [x + offset], constants=(1,))
        gives(schema.FusedBatchNorm(0.01), [x, scale, offset, mean, variance], [want], constants=(1, 2, 3, 4))
        plain = (x - mean) / np.sqrt(variance + 0.01)
        gives(schema.BatchNorm(0.01), [x, mean, variance], [plain], constants=(1, 2))
    with pytest.raises(GraphError, match="is_training"):
        run_file(file_of(lite.BatchNorm(is_training=True), [x, mean, variance], [np.float32]), [x, mean, variance])


@pytest.mark.parametrize("axis", [-1, 1, 2])
def test_layer_normalisation(axis: int) -> None:
    x = normal(RNG(14), 2, 3, 5) + 100
    scale, bias = normal(RNG(15), *x.shape[axis:]), normal(RNG(16), *x.shape[axis:])
    (want,) = onnx("LayerNormalization", [x.astype(np.float32), scale, bias], opset=17, axis=axis, epsilon=1e-3)
    attr = lite.LayerNormFusion(axis, 1e-3, True, axis)
    gives(attr, [x, scale, bias], [want], constants=(1, 2))
    gives(old.LayerNorm(x.shape[axis:], 1e-3, True), [x, scale, bias], [want], constants=(1, 2))
    if axis == 1:  # parameters of fewer axes than the statistics
        plain = onnx("LayerNormalization", [x, np.ones((3, 5), np.float32)], opset=17, axis=1, epsilon=1e-3)[0]
        gives(
            lite.LayerNormFusion(1, 1e-3, True, 2),
            [x, scale[0], bias[0]],
            [plain * scale[0] + bias[0]],
            constants=(1, 2),
        )


def test_instance_normalisation_is_of_nchw() -> None:
    x, scale, bias = normal(RNG(18), 2, 3, 4, 5) + 50, normal(RNG(19), 3), normal(RNG(20), 3)
    wants = onnx("InstanceNormalization", [x, scale, bias], epsilon=1e-3)
    of_map = {0: {"format": "NCHW"}}
    gives(lite.InstanceNorm(1e-3), [x, scale, bias], wants, constants=(1, 2), more=of_map)
    with pytest.raises(GraphError, match="in NHWC; NCHW is computed"):
        run_file(file_of(lite.InstanceNorm(), [x, scale, bias], [np.float32], constants=(1, 2)), [x])


def test_l2_normalisation() -> None:
    x = normal(RNG(17), 2, 3, 4)
    (want,) = onnx("LpNormalization", [x], axis=-1, p=2)
    gives(lite.L2NormalizeFusion((-1,), 1e-6), [x], [want])
    gives(old.L2Norm((-1,), 1e-6, old.ActivationType.RELU), [x], [np.maximum(want, 0)])
    small = x * np.float32(1e-6)
    gives(lite.L2NormalizeFusion((2,), 0.5), [small], [small / 0.5])  # the bound is of the norm


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(axis: int) -> None:
    gives(lite.Softmax((axis,)), [X], onnx("Softmax", [X], axis=axis))
    gives(lite.LogSoftmax(axis), [X], onnx("LogSoftmax", [X], axis=axis))
    gives(old.SoftMax(axis), [X], onnx("Softmax", [X], axis=axis))


def test_copies() -> None:
    for attr in (lite.Dropout(), lite.Depend(), old.Identity(), old.Dropout()):
        gives(attr, [X], [X], how="exact")
