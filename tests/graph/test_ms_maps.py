"""The members of OpT that work on maps: convolutions, pooling, resizing, blocks; each by onnxruntime or a formula."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphError
from emu.graph.ops.adapted import Adapted
from emu.graph.readers import ms
from emu.schemas.generated import ms_v0_5 as b
from tests.graph.ms_cases import Array, onnx
from tests.graph.ms_checks import Cases, Check, Rng, normal

CASES = Cases()
FORMATS = {  # the format's name → where each axis of K, C, H, W goes in the file
    "KCHW": "KCHW",
    "CKHW": "CKHW",
    "HWKC": "HWKC",
    "HWCK": "HWCK",
    "KHWC": "KHWC",
    "CHWK": "CHWK",
}


def stored(weight: Array, order: str) -> Array:
    """A weight [K, C, H, W] in the axis order of a format."""
    return np.ascontiguousarray(weight.transpose(["KCHW".index(axis) for axis in order]))


def activate(y: Array) -> Array:
    return np.maximum(y, 0)


def convolution_attributes(rng: Rng) -> dict[str, Any]:
    up, down, left, right = rng.integers(0, 3, 4).tolist()
    height, width, rows, columns = rng.integers(1, 3, 4).tolist()
    return {
        "strideH": height,
        "strideW": width,
        "dilateH": rows,
        "dilateW": columns,
        "padUp": up,
        "padDown": down,
        "padLeft": left,
        "padRight": right,
    }


def onnx_geometry(attributes: dict[str, Any]) -> dict[str, Any]:
    names = ("padUp", "padLeft", "padDown", "padRight")
    return {
        "strides": [attributes["strideH"], attributes["strideW"]],
        "dilations": [attributes["dilateH"], attributes["dilateW"]],
        "pads": [attributes[name] for name in names],
    }


for _format in ("NCHW", *FORMATS):
    for _last in (False, True):

        @CASES.add(f"Conv2D {_format}{' last' * _last}")
        def _conv(rng: Rng, order: str = _format, last: bool = _last) -> Check:
            geometry = convolution_attributes(rng)
            x, w, c = normal(rng, 2, 4, 9, 8), normal(rng, 6, 2, 3, 2), normal(rng, 6)
            (want,) = onnx("Conv", [x, w, c], group=2, **onnx_geometry(geometry))
            attr = b.Conv2D(
                format=b.Format.NHWC if last else b.Format.NCHW,
                group=2,
                channelIn=4,
                channelOut=6,
                kernelH=3,
                kernelW=2,
                hasBias=True,
                activationType=b.ActivationType.RELU,
                **geometry,
            )
            if last:
                x, want = x.transpose(0, 2, 3, 1).copy(), want.transpose(0, 2, 3, 1)
            weight = w if order == "NCHW" else stored(w, order)
            formats = {1: b.Format[order]}
            return Check(attr, [x, weight, c], [activate(want)], "close", constants=[1, 2], formats=formats)


for _size, _stride, _kernel in itertools.product((7, 8), (1, 2, 3), (1, 2, 3, 4)):

    @CASES.add(f"Conv2D same {_size} {_stride} {_kernel}")
    def _conv_same(rng: Rng, size: int = _size, stride: int = _stride, kernel: int = _kernel) -> Check:
        x, w = normal(rng, 1, 2, size, size + 3), normal(rng, 3, 2, kernel, kernel)
        want = onnx("Conv", [x, w], auto_pad="SAME_UPPER", strides=[stride, stride])
        attr = b.Conv2D(strideH=stride, strideW=stride, padMode=b.PadMode.SAME, padUp=5)  # stored pads do not count
        return Check(attr, [x, w], want, "close", constants=[1])


@CASES.add("Conv2D valid")
def _conv_valid(rng: Rng) -> Check:
    x, w = normal(rng, 1, 2, 7, 7), normal(rng, 3, 2, 3, 3)
    attr = b.Conv2D(strideH=1, strideW=1, padMode=b.PadMode.VALID, padUp=1, padLeft=1)
    return Check(attr, [x, w], onnx("Conv", [x, w]), "close", constants=[1])


@CASES.add("Conv2D caffe with weights at run time")
def _conv_caffe(rng: Rng) -> Check:
    x, w = normal(rng, 1, 2, 7, 7), normal(rng, 3, 2, 3, 3)
    attr = b.Conv2D(strideH=1, strideW=1, padMode=b.PadMode.CAFFE, padUp=1, padDown=1, padLeft=1, padRight=1)
    want = onnx("Conv", [x, w], pads=[1, 1, 1, 1])
    weight = stored(w, "HWCK")
    return Check(attr, [x, weight], want, "close", formats={1: b.Format.HWCK})


@CASES.add("Conv2D NC4HW4 weight")
def _conv_nc4hw4(rng: Rng) -> Check:
    x, w = normal(rng, 1, 5, 7, 7), normal(rng, 3, 5, 3, 3)
    attr = b.Conv2D(strideH=1, strideW=1)
    return Check(attr, [x, w], onnx("Conv", [x, w]), "close", constants=[1], formats={1: b.Format.NC4HW4})


for _format in ("NCHW", *FORMATS):

    @CASES.add(f"DepthwiseConv2D {_format}")
    def _depthwise(rng: Rng, order: str = _format) -> Check:
        geometry = convolution_attributes(rng)
        x, w, c = normal(rng, 2, 3, 9, 8), normal(rng, 3, 2, 3, 2), normal(rng, 6)  # w is [C, multiplier, H, W]
        want = onnx("Conv", [x, w.reshape(6, 1, 3, 2), c], group=3, **onnx_geometry(geometry))
        attr = b.DepthwiseConv2D(channelIn=3, channelMultiplier=2, kernelH=3, kernelW=2, hasBias=True, **geometry)
        weight = w if order == "NCHW" else stored(w.swapaxes(0, 1), order)
        return Check(attr, [x, weight, c], want, "close", constants=[1, 2], formats={1: b.Format[order]})


@CASES.add("DepthwiseConv2D same last")
def _depthwise_same(rng: Rng) -> Check:
    x, w = normal(rng, 1, 3, 8, 7), normal(rng, 3, 1, 3, 3)
    (want,) = onnx("Conv", [x, w], group=3, auto_pad="SAME_UPPER", strides=[2, 2])
    attr = b.DepthwiseConv2D(
        format=b.Format.NHWC,
        strideH=2,
        strideW=2,
        padMode=b.PadMode.SAME,
        activationType=b.ActivationType.RELU,
    )
    weight = stored(w.swapaxes(0, 1), "HWCK")
    return Check(
        attr,
        [x.transpose(0, 2, 3, 1).copy(), weight],
        [activate(want.transpose(0, 2, 3, 1))],
        "close",
        constants=[1],
        formats={1: b.Format.HWCK},
    )


for _format in ("NCHW", "KCHW", "HWKC"):

    @CASES.add(f"DeConv2D {_format}")
    def _deconv(rng: Rng, order: str = _format) -> Check:
        geometry = convolution_attributes(rng)
        x, w, c = normal(rng, 2, 4, 5, 6), normal(rng, 4, 3, 4, 5), normal(rng, 6)  # w is [Ci, Co / group, H, W]
        want = onnx("ConvTranspose", [x, w, c], group=2, **onnx_geometry(geometry))
        attr = b.DeConv2D(group=2, channelIn=4, channelOut=6, kernelH=4, kernelW=5, hasBias=True, **geometry)
        weight = w if order == "NCHW" else stored(w.swapaxes(0, 1), order)
        return Check(attr, [x, weight, c], want, "close", constants=[1, 2], formats={1: b.Format[order]})


@CASES.add("DeDepthwiseConv2D")
def _de_depthwise(rng: Rng) -> Check:
    geometry = convolution_attributes(rng)
    x, w, c = normal(rng, 2, 3, 5, 6), normal(rng, 3, 2, 4, 5), normal(rng, 6)
    want = onnx("ConvTranspose", [x, w, c], group=3, **onnx_geometry(geometry))
    attr = b.DeDepthwiseConv2D(channelIn=3, channelMultiplier=2, kernelH=4, kernelW=5, hasBias=True, **geometry)
    return Check(attr, [x, w, c], want, "close", constants=[1, 2])


for _stride, _kernel in itertools.product((1, 2, 3), (1, 2, 3, 4)):

    @CASES.add(f"DeConv2D same {_stride} {_kernel}")
    def _deconv_same(rng: Rng, stride: int = _stride, kernel: int = _kernel) -> Check:
        x, w = normal(rng, 1, 2, 4, 5), normal(rng, 2, 3, kernel, kernel)
        total = max(kernel - stride, 0)
        pads = [total // 2] * 2 + [total - total // 2] * 2
        (want,) = onnx("ConvTranspose", [x, w], strides=[stride, stride], pads=pads)
        assert stride > kernel or want.shape[2:] == (4 * stride, 5 * stride)
        attr = b.DeConv2D(strideH=stride, strideW=stride, padMode=b.PadMode.SAME)
        return Check(attr, [x, w], [want], "close", constants=[1])


POOLS = {b.PoolMode.MAX_POOLING: "MaxPool", b.PoolMode.MEAN_POOLING: "AveragePool"}
for _mode, _last in itertools.product(POOLS, (False, True)):

    @CASES.add(f"Pooling {_mode.name}{' last' * _last}")
    def _pooling(rng: Rng, mode: b.PoolMode = _mode, last: bool = _last) -> Check:
        x = normal(rng, 2, 3, 9, 8)
        (want,) = onnx(POOLS[mode], [x], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 2, 1])
        attr = b.Pooling(
            format=b.Format.NHWC if last else b.Format.NCHW,
            poolingMode=mode,
            windowH=3,
            windowW=2,
            strideH=2,
            strideW=1,
            padUp=1,
            padDown=2,
            padRight=1,
        )
        if last:
            x, want = x.transpose(0, 2, 3, 1).copy(), want.transpose(0, 2, 3, 1)
        return Check(attr, [x], [want], "close")

    @CASES.add(f"Pooling {_mode.name} global{' last' * _last}")
    def _pooling_global(rng: Rng, mode: b.PoolMode = _mode, last: bool = _last) -> Check:
        x = normal(rng, 2, 3, 9, 8)
        (want,) = onnx("Global" + POOLS[mode], [x])
        attr = b.Pooling(format=b.Format.NHWC if last else b.Format.NCHW, poolingMode=mode, global_=True)
        if last:
            x, want = x.transpose(0, 2, 3, 1).copy(), want.transpose(0, 2, 3, 1)
        return Check(attr, [x], [want], "close")


for _mode, _size, _ceil in itertools.product(POOLS, (6, 7, 8), (False, True)):

    @CASES.add(f"Pooling {_mode.name} {_size} {'ceil' if _ceil else 'floor'}")
    def _pooling_round(rng: Rng, mode: b.PoolMode = _mode, size: int = _size, ceil: bool = _ceil) -> Check:
        x = normal(rng, 1, 2, size, size)
        want = onnx(POOLS[mode], [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=int(ceil))
        attr = b.Pooling(
            poolingMode=mode,
            windowH=3,
            windowW=3,
            strideH=2,
            strideW=2,
            padMode=b.PadMode.CAFFE,
            roundMode=b.RoundMode.CEIL if ceil else b.RoundMode.FLOOR,
        )
        return Check(attr, [x], want, "close")

    @CASES.add(f"Pooling {_mode.name} {_size} {'ceil' if _ceil else 'floor'} by its output alone")
    def _pooling_by_output(rng: Rng, mode: b.PoolMode = _mode, size: int = _size, ceil: bool = _ceil) -> Check:
        made = _pooling_round(rng, mode, size, ceil)
        other = b.RoundMode.FLOOR if ceil else b.RoundMode.CEIL
        return replace(made, attr=replace(made.attr, roundMode=other))

    @CASES.add(f"Pooling {_mode.name} {_size} {'same' if _ceil else 'valid'}")
    def _pooling_same(rng: Rng, mode: b.PoolMode = _mode, size: int = _size, same: bool = _ceil) -> Check:
        x = normal(rng, 1, 2, size, size)
        rule = "SAME_UPPER" if same else "VALID"
        want = onnx(POOLS[mode], [x], kernel_shape=[3, 3], strides=[2, 2], auto_pad=rule)
        pad_mode = b.PadMode.SAME if same else b.PadMode.VALID
        attr = b.Pooling(poolingMode=mode, windowH=3, windowW=3, strideH=2, strideW=2, padMode=pad_mode, padUp=1)
        return Check(attr, [x], want, "close")


def linear_at(row: Array, position: float) -> float:
    low = min(int(position), len(row) - 1)
    high = min(low + 1, len(row) - 1)
    part = position - low
    return float(row[low]) * (1 - part) + float(row[high]) * part


def resized(x: Array, height: int, width: int, corners: bool) -> Array:
    """Bilinear without half-pixel shift: columns, then rows, one number after the other."""

    def positions(size: int, new: int) -> list[float]:
        if corners:
            return [at * (size - 1) / max(new - 1, 1) for at in range(new)]
        return [at * size / new for at in range(new)]

    n, c, h, w = x.shape
    wide = np.empty((n, c, h, width))
    for index in np.ndindex(n, c, h):
        wide[index] = [linear_at(x[index], at) for at in positions(w, width)]
    full = np.empty((n, c, height, width))
    for i, j in np.ndindex(n, c):
        for column in range(width):
            full[i, j, :, column] = [linear_at(wide[i, j, :, column], at) for at in positions(h, height)]
    return full


for _corners, _size in itertools.product((False, True), ((9, 4), (3, 3), (5, 7), (1, 2), (12, 15))):

    @CASES.add(f"Resize bilinear {_size}{' corners' * _corners}")
    def _resize(rng: Rng, corners: bool = _corners, size: tuple[int, int] = _size) -> Check:
        x = normal(rng, 2, 3, 5, 6)
        attr = b.Resize(method=b.ResizeMethod.BILINEAR, newHeight=size[0], newWidth=size[1], alignCorners=corners)
        return Check(attr, [x], [resized(x, *size, corners)], "close")

    @CASES.add(f"Resize nearest {_size}{' corners' * _corners}")
    def _resize_nearest(rng: Rng, corners: bool = _corners, size: tuple[int, int] = _size) -> Check:
        x = normal(rng, 2, 5, 6, 3)
        mode = {"coordinate_transformation_mode": "align_corners", "nearest_mode": "round_prefer_ceil"}
        if not corners:
            mode = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        sizes = np.array([2, 3, *size], np.int64)
        (want,) = onnx("Resize", [x.transpose(0, 3, 1, 2).copy(), None, None, sizes], mode="nearest", **mode)
        attr = b.Resize(
            format=b.Format.NHWC,
            method=b.ResizeMethod.NEAREST_NEIGHBOR,
            newHeight=size[0],
            newWidth=size[1],
            alignCorners=corners,
        )
        return Check(attr, [x], [want.transpose(0, 2, 3, 1)])


for _mode, _scales in (
    ("nearest", (1.0, 1.0, 2.0, 3.0)),
    ("nearest", (1.0, 2.0, 1.5, 1.25)),
    ("linear", (1.0, 1.0, 2.0, 2.0)),
    ("linear", (1.0, 1.0, 1.5, 2.5)),
):

    @CASES.add(f"Upsample {_mode} {_scales}")
    def _upsample(rng: Rng, mode: str = _mode, scales: tuple[float, ...] = _scales) -> Check:
        x = normal(rng, 1, 2, 4, 4)
        want = onnx("Upsample", [x, np.array(scales, np.float32)], mode=mode, opset=9)
        return Check(b.Upsample(mode, scales), [x], want, "close")


for _last in (False, True):

    @CASES.add(f"SpaceToDepth{' last' * _last}")
    def _space_to_depth(rng: Rng, last: bool = _last) -> Check:
        x = normal(rng, 2, 3, 4, 6)
        (want,) = onnx("SpaceToDepth", [x], blocksize=2)
        if last:
            x, want = x.transpose(0, 2, 3, 1).copy(), want.transpose(0, 2, 3, 1)
        return Check(b.SpaceToDepth(2, b.Format.NHWC if last else b.Format.NCHW), [x], [want])

    @CASES.add(f"DepthToSpace{' last' * _last}")
    def _depth_to_space(rng: Rng, last: bool = _last) -> Check:
        x = normal(rng, 2, 12, 3, 5)
        (want,) = onnx("DepthToSpace", [x], blocksize=2)
        if last:
            x, want = x.transpose(0, 2, 3, 1).copy(), want.transpose(0, 2, 3, 1)
        return Check(b.DepthToSpace(2, b.Format.NHWC if last else b.Format.NCHW), [x], [want])


def to_batches(x: Array, block: tuple[int, int], paddings: tuple[int, int, int, int]) -> Array:
    """tf.space_to_batch_nd, element by element: the batch of block place (i, j) holds every bh-th row from i on."""
    top, bottom, left, right = paddings
    full = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    return np.concatenate(
        [full[:, i :: block[0], j :: block[1]] for i, j in itertools.product(range(block[0]), range(block[1]))]
    )


@CASES.add("SpaceToBatch")
def _space_to_batch(rng: Rng) -> Check:
    x, paddings = normal(rng, 2, 5, 6, 3), (1, 0, 2, 1)
    return Check(b.SpaceToBatch((2, 3), paddings), [x], [to_batches(x, (2, 3), paddings)])


@CASES.add("BatchToSpace")
def _batch_to_space(rng: Rng) -> Check:
    want, crops = normal(rng, 2, 5, 6, 3), (1, 0, 2, 1)
    return Check(b.BatchToSpace((2, 3), crops), [to_batches(want, (2, 3), crops)], [want])


@pytest.mark.parametrize("name", CASES)
def test_against_the_oracle(name: str) -> None:
    CASES.run(name)


@pytest.mark.parametrize("order", FORMATS)
def test_a_constant_weight_is_turned_once(order: str) -> None:
    """The op gets a contiguous weight without a copy, whatever the file's axis order; the dims stay the file's."""
    w = normal(np.random.default_rng(0), 6, 4, 3, 2)
    case = Check(
        b.Conv2D(strideH=1, strideW=1),
        [np.zeros((1, 4, 5, 5), np.float32), stored(w, order)],
        [np.zeros((1, 6, 3, 4))],
        constants=[1],
        formats={1: b.Format[order]},
    )
    graph = ms.read(case.file())
    held = graph.tensors[1].value
    assert held is not None
    np.testing.assert_array_equal(held, stored(w, order))
    op = graph.nodes[0].op
    if isinstance(op, Adapted):
        assert op.views[1] is not None
        held = op.views[1].of(held)
    assert held.flags.c_contiguous
    np.testing.assert_array_equal(held, w)


MAP = np.zeros((1, 2, 5, 5), np.float32)
WEIGHT = np.zeros((3, 2, 3, 3), np.float32)


def conv(*operands: Array, shape: tuple[int, ...] = (1, 3, 3, 3), **attributes: Any) -> Check:
    attr = b.Conv2D(**{"strideH": 1, "strideW": 1, **attributes})
    return Check(attr, operands, [np.zeros(shape, np.float32)], constants=[1])


def pool(shape: tuple[int, ...] = (1, 2, 2, 2), **attributes: Any) -> Check:
    attr = b.Pooling(**{"windowH": 2, "windowW": 2, "strideH": 2, "strideW": 2, **attributes})
    return Check(attr, [MAP], [np.zeros(shape, np.float32)])


def resize(**attributes: Any) -> Check:
    attr = b.Resize(**{"newHeight": 3, "newWidth": 3, **attributes})
    return Check(attr, [MAP], [np.zeros((1, 2, 3, 3), np.float32)])


def block(attr: b.OpT, x: Array = MAP) -> Check:
    return Check(attr, [x], [np.zeros((1,), np.float32)])


REFUSED = {
    "stride 0": (conv(MAP, WEIGHT, strideH=0), "stride"),
    "channelOut": (conv(MAP, WEIGHT, channelOut=4), "channelOut: 4"),
    "channelIn is that of the whole input": (conv(MAP, WEIGHT, channelIn=3), "channelIn: 3"),
    "kernelW": (conv(MAP, WEIGHT, kernelW=2), "kernelW: 2"),
    "group": (conv(MAP, WEIGHT, group=2), "channels|groups"),
    "bias without hasBias": (conv(MAP, WEIGHT, np.zeros(3, np.float32)), "takes 2 inputs"),
    "bias length": (conv(MAP, WEIGHT, np.zeros(2, np.float32), hasBias=True), "bias"),
    "activation": (conv(MAP, WEIGHT, activationType=b.ActivationType.LEAKY_RELU), "activationType"),
    "format of the map": (conv(MAP, WEIGHT, format=b.Format.KCHW), "format"),
    "dims": (conv(MAP, WEIGHT, shape=(1, 3, 3, 4)), "the file says"),
    "kernel larger than the map": (conv(MAP, WEIGHT, dilateH=3), "exceeds"),
    "negative pad": (conv(MAP, WEIGHT, padUp=-1), "pad"),
    "int8 weight without parameters": (conv(MAP, WEIGHT.astype(np.int8)), "quantisation"),
    "a vector as map": (conv(MAP[0], WEIGHT), "four dimensions"),
    "window 0": (pool(windowH=0), "window"),
    "window larger than the map": (pool(windowH=7), "window"),
    "pool stride 0": (pool(strideW=0), "stride"),
    "pool dims of neither rounding": (pool(shape=(1, 2, 4, 4)), "the file says"),
    "resize UNKNOW": (resize(method=b.ResizeMethod.UNKNOW), "method"),
    "resize 0": (resize(newHeight=0), "newHeight"),
    "upsample mode": (block(b.Upsample("cubic", (1, 1, 2, 2))), "cubic"),
    "upsample scales": (block(b.Upsample("nearest", (1, 1, 2))), "scales"),
    "upsample shrinks": (block(b.Upsample("nearest", (1, 1, 0.5, 1))), "scales"),
    "blocks": (block(b.SpaceToDepth(2)), "blockSize"),
    "block 0": (block(b.DepthToSpace(0)), "blockSize"),
    "batch": (block(b.BatchToSpace((2, 2), (0, 0, 0, 0))), "blockShape"),
    "crops": (block(b.BatchToSpace((1, 1), (3, 3, 0, 0))), "crops"),
    "paddings": (block(b.SpaceToBatch((1, 1), (-1, 0, 0, 0))), "paddings"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    case, words = REFUSED[name]
    with pytest.raises(GraphError, match=words):
        case.run()
