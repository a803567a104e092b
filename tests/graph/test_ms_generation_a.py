"""The 37 members of generation A (0.1) by their own slots, and what only that generation has."""

from __future__ import annotations

import numpy as np
import pytest

from emu.errors import GraphError, GraphStatus
from emu.graph.readers import ms
from emu.schemas.generated import ms_v0_1 as a
from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import Array, check, file_a, onnx, run_file
from tests.graph.ms_checks import Cases, Check, Rng, ints, normal
from tests.graph.test_ms_gather import detections

CASES = Cases()
WINDOW = {"strideH": 1, "strideW": 1}


def int64(*values: int) -> Array:
    return np.array(values, np.int64)


@CASES.add("Concat")
def _concat(rng: Rng) -> Check:
    arrays = [normal(rng, 2, 3), normal(rng, 2, 1)]
    return Check(a.Concat(-1, 2), arrays, onnx("Concat", arrays, axis=1))


@CASES.add("SoftMax")
def _softmax(rng: Rng) -> Check:
    x = normal(rng, 2, 5, 3)
    return Check(a.SoftMax((1,)), [x], onnx("Softmax", [x], axis=1), "close")


ACTIVATIONS = {
    a.ActivationType.NO_ACTIVATION: "Identity",
    a.ActivationType.RELU: "Relu",
    a.ActivationType.SIGMOID: "Sigmoid",
    a.ActivationType.ELU: "Elu",
    a.ActivationType.ABS: "Abs",
    a.ActivationType.SOFTSIGN: "Softsign",
    a.ActivationType.SOFTPLUS: "Softplus",
    a.ActivationType.TANH: "Tanh",
}
for _kind in ACTIVATIONS:

    @CASES.add(f"Activation {_kind.name}")
    def _activation(rng: Rng, kind: a.ActivationType = _kind) -> Check:
        x = normal(rng, 3, 50) * 4
        return Check(a.Activation(kind), [x], onnx(ACTIVATIONS[kind], [x]), "close")


for _kind, _low, _high in ((a.ActivationType.RELU6, 0, 6), (a.ActivationType.RELU1, -1, 1)):

    @CASES.add(f"Activation {_kind.name}")
    def _clip(rng: Rng, kind: a.ActivationType = _kind, low: int = _low, high: int = _high) -> Check:
        x = normal(rng, 3, 50) * 4
        limits = [np.array(limit, np.float32) for limit in (low, high)]
        return Check(a.Activation(kind), [x], onnx("Clip", [x, *limits]))


@CASES.add("Conv2D")
def _conv(rng: Rng) -> Check:
    x, w, c = normal(rng, 1, 4, 6, 7), normal(rng, 6, 2, 3, 2), normal(rng, 6)
    (want,) = onnx("Conv", [x, w, c], group=2, pads=[1, 0, 2, 1], strides=[2, 1])
    attr = a.Conv2D(
        group=2, channelIn=4, channelOut=6, kernelH=3, kernelW=2, strideH=2, strideW=1,
        padUp=1, padDown=2, padRight=1, hasBias=True, activationType=a.ActivationType.RELU,
    )  # fmt: skip
    return Check(attr, [x, w, c], [np.maximum(want, 0)], "close", constants=[1, 2])


@CASES.add("Conv2D isLastConv")
def _conv_last(rng: Rng) -> Check:
    x, w = normal(rng, 1, 2, 6, 7), normal(rng, 3, 2, 3, 2)
    (want,) = onnx("Conv", [x, w])
    return Check(a.Conv2D(**WINDOW), [x, w], [want.transpose(0, 2, 3, 1)], "close", constants=[1], last=True)


@CASES.add("Pooling isLastConv")
def _pooling_last(rng: Rng) -> Check:
    x = normal(rng, 1, 2, 6, 7)
    (want,) = onnx("MaxPool", [x], kernel_shape=[2, 3])
    return Check(a.Pooling(windowH=2, windowW=3, **WINDOW), [x], [want.transpose(0, 2, 3, 1)], last=True)


@CASES.add("Pooling isLastConv rounded up by its output alone")
def _pooling_last_rounded(rng: Rng) -> Check:
    x = normal(rng, 1, 2, 6, 7)
    (want,) = onnx("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    attr = a.Pooling(windowH=3, windowW=3, strideH=2, strideW=2)
    return Check(attr, [x], [want.transpose(0, 2, 3, 1)], last=True)


@CASES.add("Reshape isLastConv to the dims of its output")
def _reshape_last(rng: Rng) -> Check:
    x = normal(rng, 2, 12)
    return Check(a.Reshape(), [x], [x.reshape(2, 2, 2, 3).transpose(0, 2, 3, 1)], last=True)


@CASES.add("DepthwiseConv2D")
def _depthwise(rng: Rng) -> Check:
    x, w = normal(rng, 1, 3, 6, 7), normal(rng, 3, 2, 3, 3)
    want = onnx("Conv", [x, w.reshape(6, 1, 3, 3)], group=3, auto_pad="SAME_UPPER")
    attr = a.DepthwiseConv2D(channelIn=3, channelMultiplier=2, padMode=a.PadMode.SAME, **WINDOW)
    return Check(attr, [x, w], want, "close", constants=[1])


@CASES.add("DeConv2D")
def _deconv(rng: Rng) -> Check:
    x, w = normal(rng, 1, 4, 5, 6), normal(rng, 4, 3, 3, 3)
    want = onnx("ConvTranspose", [x, w], group=2, strides=[2, 2], pads=[1, 1, 0, 1])
    attr = a.DeConv2D(group=2, strideH=2, strideW=2, padUp=1, padLeft=1, padRight=1)
    return Check(attr, [x, w], want, "close", constants=[1])


@CASES.add("DeDepthwiseConv2D")
def _de_depthwise(rng: Rng) -> Check:
    x, w = normal(rng, 1, 3, 5, 6), normal(rng, 3, 2, 3, 3)
    want = onnx("ConvTranspose", [x, w], group=3)
    return Check(a.DeDepthwiseConv2D(padMode=a.PadMode.VALID, **WINDOW), [x, w], want, "close", constants=[1])


@CASES.add("Pooling")
def _pooling(rng: Rng) -> Check:
    x = normal(rng, 1, 2, 6, 7)
    want = onnx("AveragePool", [x], kernel_shape=[2, 3], strides=[1, 1])
    attr = a.Pooling(poolingMode=a.PoolMode.MEAN_POOLING, windowH=2, windowW=3, **WINDOW)
    return Check(attr, [x], want, "close")


@CASES.add("Pooling caffeMode")
def _pooling_caffe(rng: Rng) -> Check:
    x = normal(rng, 1, 2, 6, 8)
    want = onnx("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    attr = a.Pooling(windowH=3, windowW=3, strideH=2, strideW=2, padMode=a.PadMode.CAFFE_CEIL_NEW, caffeMode=True)
    return Check(attr, [x], want)


@CASES.add("FusedBatchNorm")
def _fused(rng: Rng) -> Check:
    x, k, c, m = normal(rng, 2, 3, 4, 4), normal(rng, 3), normal(rng, 3), normal(rng, 3)
    v = rng.uniform(0.5, 2, 3).astype(np.float32)
    want = onnx("BatchNormalization", [x, k, c, m, v], epsilon=0.01)
    return Check(a.FusedBatchNorm(0.01), [x, k, c, m, v], want, "close", constants=[1, 2, 3, 4])


@CASES.add("FusedBatchNorm default epsilon")
def _fused_default(rng: Rng) -> Check:  # 0 here, 1e-5 in generation B
    x, k, c, m = normal(rng, 2, 3), np.ones(3, np.float32), np.zeros(3, np.float32), normal(rng, 3)
    v = np.full(3, 1e-6, np.float32)
    want = (x.astype(np.float64) - m) / np.sqrt(v.astype(np.float64))
    return Check(a.FusedBatchNorm(), [x, k, c, m, v], [want], "close", constants=[1, 2, 3, 4])


@CASES.add("CaffeBatchNorm")
def _caffe_norm(rng: Rng) -> Check:
    x, m, v = normal(rng, 2, 3), normal(rng, 3), rng.uniform(0.5, 2, 3).astype(np.float32)
    want = onnx("BatchNormalization", [x, np.ones_like(m), np.zeros_like(m), m, v], epsilon=0.01)
    return Check(a.CaffeBatchNorm(0.01), [x, m, v], want, "close", constants=[1, 2])


@CASES.add("Squeeze")
def _squeeze(rng: Rng) -> Check:
    x = normal(rng, 1, 3, 1)
    return Check(a.Squeeze((0,)), [x], [x[0]])


@CASES.add("BiasAdd")
def _bias(rng: Rng) -> Check:
    x, c = normal(rng, 2, 3, 4, 3), normal(rng, 3)
    return Check(a.BiasAdd((1,)), [x, c], onnx("Add", [x, c.reshape(3, 1, 1)]), constants=[1])


@CASES.add("Resize")
def _resize(rng: Rng) -> Check:
    x = normal(rng, 1, 2, 4, 5)
    sizes = int64(1, 2, 7, 9)
    want = onnx("Resize", [x, None, None, sizes], mode="linear", coordinate_transformation_mode="asymmetric")
    return Check(a.Resize(newHeight=7, newWidth=9), [x], want, "close")


@CASES.add("DetectionPostProcess")
def _detection(rng: Rng) -> Check:
    encodings, scores = normal(rng, 1, 20, 4), rng.random((1, 20, 3), dtype=np.float32)
    anchors = np.concatenate([rng.random((20, 2)), rng.uniform(0.1, 0.5, (20, 2))], 1).astype(np.float32)
    fields = {
        "hScale": 5.0, "wScale": 4.0, "xScale": 10.0, "yScale": 8.0, "NmsIouThreshold": 0.4,
        "NmsScoreThreshold": 0.25, "MaxDetections": 30, "NumClasses": 2,
    }  # fmt: skip
    boxes, kinds, values = detections(encodings[0], scores[0], anchors, b.DetectionPostProcess(**fields))
    wants = [np.zeros((1, 30, 4)), np.zeros((1, 30)), np.zeros((1, 30)), np.array([float(len(boxes))])]
    wants[0][0, : len(boxes)], wants[1][0, : len(boxes)], wants[2][0, : len(boxes)] = boxes, kinds, values
    return Check(a.DetectionPostProcess(**fields), [encodings, scores, anchors], wants, "close", constants=[2])


@CASES.add("FullConnection")
def _full_connection(rng: Rng) -> Check:
    x, w, c = normal(rng, 3, 2, 4, 5), normal(rng, 7, 40), normal(rng, 7)
    want = onnx("Gemm", [x.reshape(3, 40), w, c], transB=1)
    return Check(a.FullConnection(hasBias=True, axis=1), [x, w, c], want, "close", constants=[1, 2])


@CASES.add("Mean")
def _mean(rng: Rng) -> Check:
    x = normal(rng, 2, 3, 4, 5)
    return Check(a.Mean((2, 3), True), [x], onnx("ReduceMean", [x], axes=[2, 3]), "close")


@CASES.add("Scale")
def _scale(rng: Rng) -> Check:
    x, k, c = normal(rng, 2, 3, 4), normal(rng, 4), normal(rng, 4)
    return Check(
        a.Scale(a.DataFormatType.NHWC),
        [x, k, c],
        [x * k.astype(np.float64) + c],
        "ulp",
        constants=[1, 2],
    )


@CASES.add("Reshape")
def _reshape(rng: Rng) -> Check:
    x = normal(rng, 2, 6)
    return Check(a.Reshape(shape=(3, -1)), [x], [x.reshape(3, 4)])


for _mode, _word in {a.EltwiseMode.PROD: "Mul", a.EltwiseMode.SUM: "Add", a.EltwiseMode.MAXIMUM: "Max"}.items():

    @CASES.add(f"Eltwise {_word}")
    def _eltwise(rng: Rng, mode: a.EltwiseMode = _mode, word: str = _word) -> Check:
        arrays = [normal(rng, 2, 3, 2, 2), normal(rng, 2, 3, 2, 2)]
        return Check(a.Eltwise(mode=mode), arrays, onnx(word, arrays))


@CASES.add("NetOutput")
def _net_output(rng: Rng) -> Check:
    arrays = [normal(rng, 2), normal(rng, 3)]
    return Check(a.NetOutput(), arrays, arrays)


for _name, _word in {"Add": "Add", "Mul": "Mul", "Maximum": "Max"}.items():

    @CASES.add(_name)
    def _binary(rng: Rng, name: str = _name, word: str = _word) -> Check:
        arrays = [normal(rng, 2, 3), normal(rng, 1, 3)]
        return Check(getattr(a, name)(), arrays, onnx(word, arrays))


@CASES.add("MatMul")
def _mat_mul(rng: Rng) -> Check:
    x, y = normal(rng, 5, 3), normal(rng, 4, 5)
    return Check(a.MatMul(True, True), [x, y], onnx("Gemm", [x, y], transA=1, transB=1), "close")


@CASES.add("StridedSlice")
def _strided(rng: Rng) -> Check:
    x = normal(rng, 4, 5)
    attr = a.StridedSlice(begin=(1, 0), end=(2, 5), stride=(1, 2), shrinkAxisMask=1)
    return Check(attr, [x], [x[1, 0:5:2].copy()])


@CASES.add("Power")
def _power(rng: Rng) -> Check:
    x = rng.uniform(0, 4, 40).astype(np.float32)
    return Check(a.Power(1.5, 2, 1), [x], [(2 * x.astype(np.float64) + 1) ** 1.5], "ulp")


@CASES.add("Slice")
def _slice(rng: Rng) -> Check:  # begin, end, stride; generation B has a size instead
    x = normal(rng, 6, 7)
    return Check(a.Slice(begin=(1, 0), end=(5, 7), stride=(2, 3)), [x], [x[1:5:2, 0:7:3].copy()])


@CASES.add("Slice without stride")
def _slice_plain(rng: Rng) -> Check:
    x = normal(rng, 6, 7)
    return Check(a.Slice(begin=(1, 0), end=(5, 7)), [x], [x[1:5].copy()])


@CASES.add("Stack")
def _stack(rng: Rng) -> Check:
    arrays = [normal(rng, 3, 4), normal(rng, 3, 4)]
    wide = [onnx("Unsqueeze", [array, int64(1)])[0] for array in arrays]
    return Check(a.Stack(1, 2), arrays, onnx("Concat", wide, axis=1))


@CASES.add("Pad")
def _pad(rng: Rng) -> Check:
    x = normal(rng, 3, 4)
    want = onnx("Pad", [x, int64(1, 2, 0, 3)], mode="reflect")
    return Check(a.Pad(a.PaddingMode.REFLECT, (1, 0, 2, 3)), [x], want)


@CASES.add("CaffePReLU")
def _prelu(rng: Rng) -> Check:
    x, slope = normal(rng, 2, 3, 4, 4), normal(rng, 3)
    want = onnx("PRelu", [x, slope.reshape(3, 1, 1)])
    return Check(a.CaffePReLU(), [x, slope], want, constants=[1])


@CASES.add("ArgMax")
def _arg_max(rng: Rng) -> Check:
    x = normal(rng, 4, 6)
    return Check(a.ArgMax(axis=1), [x], [onnx("ArgMax", [x], axis=1, keepdims=0)[0].astype(np.int32)])


@CASES.add("Exp")
def _exp(rng: Rng) -> Check:
    x = normal(rng, 40)
    return Check(a.Exp(), [x], [np.exp(x.astype(np.float64))], "ulp")


@CASES.add("CaffeCrop")
def _crop(rng: Rng) -> Check:
    x, like = normal(rng, 1, 2, 5, 6), np.zeros((1, 2, 3, 4), np.float32)
    return Check(a.CaffeCrop(2, (1, 2)), [x, like], [x[:, :, 1:4, 2:6].copy()])


@CASES.add("Range")
def _range(rng: Rng) -> Check:  # no dType: start is slot 0
    return Check(a.Range(3, 12, 4), [], [np.array([3, 7, 11], np.int32)])


@CASES.add("ExpandDims")
def _expand(rng: Rng) -> Check:
    x = normal(rng, 3, 4)
    return Check(a.ExpandDims(-1), [x], [x[:, :, None]])


@CASES.add("Tile")
def _tile(rng: Rng) -> Check:
    x = normal(rng, 2, 3)
    return Check(a.Tile((2, 1)), [x], onnx("Tile", [x, int64(2, 1)]))


@CASES.add("Cast")
def _cast(rng: Rng) -> Check:
    x = np.array([-1.7, 1.7, 2.0], np.float32)
    return Check(a.Cast(), [x], [np.array([-1, 1, 2], np.int32)])


@pytest.mark.parametrize("name", CASES)
def test_against_the_oracle(name: str) -> None:
    CASES.run(name)


def test_every_member_of_generation_a_has_a_check() -> None:
    assert CASES.members() == {member.__name__ for member in a.OPT.members}


def test_every_member_of_generation_b_has_a_check() -> None:
    from tests.graph import test_ms_gather, test_ms_maps, test_ms_places, test_ms_pointwise, test_ms_quant

    modules = (test_ms_gather, test_ms_maps, test_ms_places, test_ms_pointwise, test_ms_quant)
    checked = set().union(*(module.CASES.members() for module in modules))
    assert checked | {"Constant"} == {member.__name__ for member in b.OPT.members}  # test_ms_places.test_constant


def quantised_conv(rng: Rng, definition: a.QuantizationDef) -> tuple[bytes, Array, Array]:
    x, q = normal(rng, 1, 2, 5, 5), ints(rng, -128, 128, 3, 2, 3, 3, dtype=np.int8)
    data = file_a(a.Conv2D(**WINDOW), [x, q], [((1, 3, 3, 3), np.float32)], constants=[1], quantization={1: definition})
    return data, x, q


@pytest.mark.parametrize(
    ("definition", "scale", "zero"),
    [
        (a.QuantizationDef(scale=(0.25,), zero_point=(3,)), [0.25], [3]),
        (a.QuantizationDef(scale=(0.25,)), [0.25], [0]),
        (a.QuantizationDef(scale=(0.25, 0.5, 2), zero_point=(3, -4, 0), dimension=0), [0.25, 0.5, 2], [3, -4, 0]),
    ],
)
def test_quantization_of_a_weight(definition: a.QuantizationDef, scale: list[float], zero: list[int]) -> None:
    data, x, q = quantised_conv(np.random.default_rng(5), definition)
    factors, zeros = (np.array(values).reshape(-1, 1, 1, 1) for values in (scale, zero))
    (want,) = onnx("Conv", [x, ((q - zeros) * factors).astype(np.float32)])
    check(run_file(data, [x])[0], want)


def test_quantization_along_another_dimension() -> None:
    rng = np.random.default_rng(6)
    q = ints(rng, -128, 128, 2, 3, dtype=np.int8)
    definition = a.QuantizationDef(scale=(0.5, 2, 4), zero_point=(1, 2, 3), dimension=1)
    other = np.zeros((2, 3), np.float32)
    data = file_a(a.Add(), [other, q], [((2, 3), np.float32)], constants=[1], quantization={1: definition})
    want = (q - np.array([1, 2, 3])) * np.array([0.5, 2, 4])
    np.testing.assert_array_equal(run_file(data, [other])[0], want.astype(np.float32))


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (a.QuantizationDef(scale=(0.25, 0.5), zero_point=(0, 0)), "2 quantisation parameters"),
        (a.QuantizationDef(scale=(0.25, 0.5, 1), zero_point=(0, 0, 0), dimension=4), "axis 4"),
        (a.QuantizationDef(scale=(0.25,), zero_point=(0, 0)), "zero points"),
        (a.QuantizationDef(scale=(0.0,), zero_point=(0,)), "not positive"),
        (a.QuantizationDef(min=(0.0,), max=(1.0,)), "no quantisation parameters"),
    ],
)
def test_broken_quantization_is_refused(definition: a.QuantizationDef, words: str) -> None:
    data, x, _ = quantised_conv(np.random.default_rng(5), definition)
    with pytest.raises(GraphError, match=words):
        run_file(data, [x])


@pytest.mark.parametrize(
    ("attr", "words"),
    [
        (a.Activation(a.ActivationType.UNKNOW), "11 UNKNOW"),
        (a.Pooling(poolingMode=a.PoolMode.GLOBAL_POOING), "GLOBAL_POOING"),
        (a.Pooling(format=a.DataFormatType.CHW), "CHW"),
        (a.Conv2D(format=a.DataFormatType.UNKNOW), "takes 2 inputs"),
    ],
)
def test_what_generation_a_leaves_undefined_is_refused(attr: a.OpT, words: str) -> None:
    x = np.zeros((1, 2, 5, 5), np.float32)
    data = file_a(attr, [x], [(x.shape, np.float32)])
    with pytest.raises(GraphError, match=words):
        run_file(data, [x])


def test_a_node_without_op_def_is_refused() -> None:
    from emu.graph.writers.ms import write

    subgraph = a.SubGraphDef(nodes=(a.NodeDef(a.FmkType.CAFFE, None),))
    with pytest.raises(GraphError, match="without opDef") as caught:
        ms.read(write(a.GraphDef(subgraphs=(subgraph,))))
    assert caught.value.status is GraphStatus.GRAPH_STRUCTURE
