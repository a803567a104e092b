"""MindSpore Lite's products against onnxruntime: convolutions, matrices, LSTM, in both schemas."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.schemas.generated import ms_lite_v0 as old
from emu.schemas.generated import ms_lite_v2 as lite
from tests.graph.lite_cases import Array, file_of, gives, nhwc, normal, run_file
from tests.graph.ms_cases import onnx

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]

RNG = np.random.default_rng
PADS = {
    "pad": (lite.PadMode.PAD, (1, 0, 2, 1)),
    "valid": (lite.PadMode.VALID, (0, 0, 0, 0)),
    "same": (lite.PadMode.SAME, (9, 9, 9, 9)),
}


def explicit(padding: str, pads: Pads, size: Pair, kernel: Pair, stride: Pair, dilation: Pair) -> list[int]:
    """Pads as ONNX has them (top, left, bottom, right); SAME by its definition, out = ceil(in / stride)."""
    if padding != "same":
        return [pads[0], pads[2], pads[1], pads[3]]
    total = [
        max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
        for length, k, s, d in zip(size, kernel, stride, dilation, strict=True)
    ]
    return [total[0] // 2, total[1] // 2, total[0] - total[0] // 2, total[1] - total[1] // 2]


def khwc(weight: Array) -> Array:
    return np.ascontiguousarray(weight.transpose(0, 2, 3, 1))


def activated(y: Array, kind: str) -> Array:
    return {"NO_ACTIVATION": y, "RELU": np.maximum(y, 0), "RELU6": np.clip(y, 0, 6)}[kind]


@pytest.mark.parametrize("padding", PADS)
@pytest.mark.parametrize(("stride", "dilation"), [((1, 1), (1, 1)), ((2, 1), (1, 2)), ((3, 2), (1, 1))])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolution(padding: str, stride: Pair, dilation: Pair, groups: int) -> None:
    rng = RNG(groups)
    x, weight, bias = normal(rng, 2, 4, 9, 10), normal(rng, 8, 4 // groups, 3, 2), normal(rng, 8)
    mode, pads = PADS[padding]
    kind = ["NO_ACTIVATION", "RELU", "RELU6"][groups % 3]
    around = explicit(padding, pads, (9, 10), (3, 2), stride, dilation)
    (want,) = onnx("Conv", [x, weight, bias], strides=stride, dilations=dilation, group=groups, pads=around)
    attr = lite.Conv2DFusion(
        kernel_size=(3, 2),
        stride=stride,
        dilation=dilation,
        pad_mode=mode,
        pad_list=pads,
        group=groups,
        in_channel=4,
        out_channel=8,
        activation_type=lite.ActivationType[kind],
    )
    gives(attr, [nhwc(x), khwc(weight), bias], [nhwc(activated(want, kind))], constants=(1, 2))


@pytest.mark.parametrize("padding", PADS)
def test_depthwise_of_the_older_schema(padding: str) -> None:
    rng = RNG(1)
    x, weight, bias = normal(rng, 1, 6, 8, 7), normal(rng, 6, 1, 3, 3), normal(rng, 6)
    pads = PADS[padding][1]
    around = explicit(padding, pads, (8, 7), (3, 3), (2, 1), (1, 1))
    (want,) = onnx("Conv", [x, weight, bias], strides=(2, 1), group=6, pads=around)
    attr = old.DepthwiseConv2D(
        channelIn=6,
        channelMultiplier=1,
        kernelW=3,
        kernelH=3,
        strideW=1,
        strideH=2,
        padMode=old.PadMode[{"pad": "CAFFE", "valid": "VALID", "same": "SAME_UPPER"}[padding]],
        padUp=pads[0],
        padDown=pads[1],
        padLeft=pads[2],
        padRight=pads[3],
        activationType=old.ActivationType.RELU,
    )
    gives(attr, [nhwc(x), khwc(weight), bias], [nhwc(np.maximum(want, 0))], constants=(1, 2))


def test_convolution_of_the_older_schema() -> None:
    rng = RNG(2)
    x, weight = normal(rng, 1, 4, 8, 7), normal(rng, 6, 2, 3, 2)
    (want,) = onnx("Conv", [x, weight], strides=(2, 1), dilations=(1, 2), pads=[1, 2, 0, 1], group=2)
    attr = old.Conv2D(
        group=2, kernelW=2, kernelH=3, strideW=1, strideH=2, padUp=1, padDown=0, padLeft=2, padRight=1, dilateW=2
    )
    gives(attr, [nhwc(x), khwc(weight)], [nhwc(want)], constants=(1,))


def test_a_weight_may_be_computed() -> None:
    rng = RNG(3)
    x, weight = normal(rng, 1, 3, 5, 5), normal(rng, 2, 3, 2, 2)
    (want,) = onnx("Conv", [x, weight])
    gives(lite.Conv2DFusion(stride=(1, 1), group=1), [nhwc(x), khwc(weight)], [nhwc(want)])


@pytest.mark.parametrize("padding", PADS)
@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
def test_transposed_convolution(padding: str, depthwise: bool, stride: tuple[int, int]) -> None:
    rng = RNG(4)
    x = normal(rng, 2, 3, 4, 5)
    weight = normal(rng, 3, 1 if depthwise else 4, 3, 3)
    mode, pads = PADS[padding]
    groups = 3 if depthwise else 1
    extra = (1, 0) if stride[0] > 1 else (0, 0)
    options = {"pads": [pads[0], pads[2], pads[1], pads[3]], "output_padding": extra}
    if padding == "same":
        extra = (0, 0)
        options = {"output_shape": [4 * stride[0], 5 * stride[1]], "auto_pad": "SAME_UPPER"}
    (want,) = onnx("ConvTranspose", [x, weight], strides=stride, group=groups, **options)
    attr = lite.Conv2dTransposeFusion(
        kernel_size=(3, 3),
        stride=stride,
        dilation=(1, 1),
        pad_mode=mode,
        pad_list=pads,
        group=groups,
        output_paddings=extra,
    )
    gives(attr, [nhwc(x), khwc(weight)], [nhwc(want)], constants=(1,))
    if padding != "same":
        said = {
            "strideW": stride[1], "strideH": stride[0], "kernelW": 3, "kernelH": 3,
            "padMode": old.PadMode.VALID if padding == "valid" else old.PadMode.NOTSET,
            "padUp": pads[0], "padDown": pads[1], "padLeft": pads[2], "padRight": pads[3],
        }  # fmt: skip
        if depthwise and extra == (0, 0):
            gives(old.DeDepthwiseConv2D(**said), [nhwc(x), khwc(weight)], [nhwc(want)], constants=(1,))
        if not depthwise:
            attr_old = old.DeConv2D(**said, group=1, outputPaddingH=extra[0], outputPaddingW=extra[1])
            gives(attr_old, [nhwc(x), khwc(weight)], [nhwc(want)], constants=(1,))


def test_transposed_convolution_in_groups_is_refused() -> None:
    rng = RNG(0)
    attr = lite.Conv2dTransposeFusion(stride=(1, 1), group=2)
    data = file_of(attr, [normal(rng, 1, 4, 4, 4), normal(rng, 4, 2, 2, 2)], [np.float32], constants=(1,))
    with pytest.raises(GraphError, match="2 groups of a transposed") as caught:
        run_file(data, [normal(rng, 1, 4, 4, 4)])
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED


@pytest.mark.parametrize(("left", "right"), list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5))])
def test_matrix_product(left: bool, right: bool, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = RNG(len(shapes[0]))
    a, b, bias = normal(rng, *shapes[0]), normal(rng, *shapes[1]), normal(rng, 5)
    (product,) = onnx("MatMul", [a, b])
    want = np.maximum(product + bias, 0)
    given = [
        np.ascontiguousarray(a.swapaxes(-1, -2)) if left else a,
        np.ascontiguousarray(b.swapaxes(-1, -2)) if right else b,
    ]
    gives(lite.MatMulFusion(left, right, lite.ActivationType.RELU), [*given, bias], [want], constants=(1, 2))
    gives(old.MatMul(transposeA=left, transposeB=right), given, [product])


@pytest.mark.parametrize(
    ("use_axis", "axis", "lead"), [(False, 0, (6,)), (True, 1, (2,)), (True, 2, (2, 3)), (False, 3, (6,))]
)
def test_full_connection(use_axis: bool, axis: int, lead: tuple[int, ...]) -> None:
    rng = RNG(axis)
    x = normal(rng, 2, 3, 4)
    weight, bias = normal(rng, 5, 24 // int(np.prod(lead))), normal(rng, 5)
    want = onnx("Gemm", [x.reshape(int(np.prod(lead)), -1), weight, bias], transB=1)[0].reshape(*lead, 5)
    attr = lite.FullConnection(True, use_axis, axis, lite.ActivationType.RELU6)
    gives(attr, [x, weight, bias], [np.clip(want, 0, 6)], constants=(1, 2))
    attr_old = old.FullConnection(hasBias=False, axis=axis, useAxis=use_axis)
    gives(attr_old, [x, weight], [want - bias], constants=(1,))


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("flat", [False, True])
def test_lstm(both: bool, flat: bool) -> None:
    rng = RNG(7)
    directions = 2 if both else 1
    x = normal(rng, 5, 2, 3)
    weight, recurrence = normal(rng, directions, 16, 3), normal(rng, directions, 16, 4)
    bias = normal(rng, directions, 32)
    hidden, cell = normal(rng, directions, 2, 4), normal(rng, directions, 2, 4)
    direction = "bidirectional" if both else "forward"
    wants = onnx(
        "LSTM", [x, weight, recurrence, bias, None, hidden, cell], outputs=3, hidden_size=4, direction=direction
    )
    if flat and not both:
        hidden, cell = hidden[0], cell[0]
    attr = lite.LSTM(bidirectional=both, has_bias=True, input_size=3, hidden_size=4)
    gives(attr, [x, weight, recurrence, bias, hidden, cell], wants, constants=(1, 2, 3))
    gives(old.Lstm(both), [x, weight, recurrence, bias, hidden, cell], wants, constants=(1, 2, 3))


@pytest.mark.parametrize(
    ("attr", "count", "word"),
    [
        (lite.LSTM(zoneout_cell=0.1), 6, "zone-out"),
        (lite.LSTM(proj_size=2), 6, "projection"),
        (lite.LSTM(), 4, "an LSTM of 4 inputs"),
        (old.Lstm(smooth=0.5), 6, "zone-out"),
    ],
)
def test_what_an_lstm_may_not_have(attr: Any, count: int, word: str) -> None:
    rng = RNG(0)
    arrays = [normal(rng, 2, 1, 3), normal(rng, 1, 16, 3), normal(rng, 1, 16, 4), normal(rng, 1, 32)]
    arrays += [normal(rng, 1, 1, 4)] * 2
    data = file_of(attr, arrays[:count], [np.float32] * 3, constants=range(1, count))
    with pytest.raises(GraphError, match=word) as caught:
        run_file(data, arrays[:1])
    assert caught.value.status is GraphStatus.GRAPH_UNSUPPORTED


def test_float16() -> None:
    rng = RNG(8)
    x, weight, bias = normal(rng, 1, 8, 6, 6), normal(rng, 4, 8, 3, 3) / 8, normal(rng, 4)
    half = [array.astype(np.float16) for array in (x, weight, bias)]
    (want,) = onnx("Conv", [array.astype(np.float32) for array in half], pads=[1, 1, 1, 1])
    attr = lite.Conv2DFusion(stride=(1, 1), pad_list=(1, 1, 1, 1), group=1)
    gives(
        attr, [nhwc(half[0]), khwc(half[1]), half[2]], [nhwc(want)], how="half", constants=(1, 2), dtypes=[np.float16]
    )


@pytest.mark.parametrize(
    ("attr", "shapes", "word"),
    [
        (lite.Conv2DFusion(stride=(1, 1), kernel_size=(3, 3), group=1), ((1, 4, 4, 2), (2, 2, 2, 2)), "kernel_size"),
        (lite.Conv2DFusion(stride=(1, 1), group=1), ((1, 4, 4, 3), (2, 2, 2, 2)), "3 channels"),
        (lite.Conv2DFusion(stride=(0, 1), group=1), ((1, 4, 4, 2), (2, 2, 2, 2)), "stride"),
        (lite.Conv2DFusion(group=1), ((1, 4, 4, 2), (2, 2, 2, 2)), "stride"),
        (lite.Conv2DFusion(stride=(1, 1)), ((4, 4, 2), (2, 2, 2, 2)), "four dimensions"),
        (lite.MatMulFusion(), ((2, 3), (2, 3)), "inner dimensions"),
        (lite.FullConnection(), ((2, 5), (4, 3)), "no rows of 3"),
        (lite.FullConnection(use_axis=True), ((2, 3), (4, 3)), "axis"),
    ],
)
def test_contradictions_are_named(attr: Any, shapes: tuple[tuple[int, ...], ...], word: str) -> None:
    rng = RNG(0)
    data = file_of(attr, [normal(rng, *shape) for shape in shapes], [np.float32], constants=(1,))
    with pytest.raises(GraphError, match=word) as caught:
        run_file(data, [normal(rng, *shapes[0])])
    assert caught.value.status is GraphStatus.GRAPH_SHAPE
