"""Random convolutions of the domi kind in every mode, layout, filter format and quantisation, written as files and read
back, against plain loops in float64 (graph-conventions.md OM-O, OM-L, OM-Q)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from emu.graph.executor import run
from emu.graph.readers import om
from emu.graph.writers.om import Constants, write_om
from emu.graph.writers.om_graph_kind import rewrite
from emu.schemas import om_pb2

DTYPES = {0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8}
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}
NCHW, NHWC, ND, NC1HWC0, FRACTAL_Z, C04, HWCN = 0, 1, 2, 3, 4, 13, 16
SEEDS = range(240)
MATHEMATICAL, CORRELATION, TRANSPOSED, DEPTHWISE = range(4)


# --- packed orders, element by element --------------------------------------------------------------------------------


def blocks(x: np.ndarray) -> np.ndarray:
    """NC1HWC0."""
    c0 = 32 if x.itemsize == 1 else 16
    n, c, h, w = x.shape
    out = np.zeros((n, -(-c // c0), h, w, c0), x.dtype)
    for at in range(c):
        out[:, at // c0, :, :, at % c0] = x[:, at]
    return out


def fractal_z(w: np.ndarray) -> np.ndarray:
    c0 = 32 if w.itemsize == 1 else 16
    n, c, height, width = w.shape
    out = np.zeros((-(-c // c0) * height * width, -(-n // 16), 16, c0), w.dtype)
    for i, j, row, column in np.ndindex(*w.shape):
        out[((j // c0) * height + row) * width + column, i // 16, i % 16, j % c0] = w[i, j, row, column]
    return out


def fractal_z_c04(w: np.ndarray) -> np.ndarray:
    n, _, height, width = w.shape
    out = np.zeros((-(-height * width * 4 // 16), -(-n // 16), 16, 16), w.dtype)
    for i, j, row, column in np.ndindex(*w.shape):
        k = (row * width + column) * 4 + j
        out[k // 16, i // 16, i % 16, k % 16] = w[i, j, row, column]
    return out


# --- convolution by its definition ------------------------------------------------------------------------------------


def correlate(x, w, strides, dilations, pads, groups) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[1]), (pads[2], pads[3])))
    (units, inner, kh, kw), (sh, sw), (dh, dw) = w.shape, strides, dilations
    out_h, out_w = (x.shape[2] - (kh - 1) * dh - 1) // sh + 1, (x.shape[3] - (kw - 1) * dw - 1) // sw + 1
    y = np.zeros((len(x), units, out_h, out_w))
    for unit, row, column in np.ndindex(units, out_h, out_w):
        first = unit // (units // groups) * inner
        top, left = row * sh, column * sw
        seen = x[:, first : first + inner, top : top + (kh - 1) * dh + 1 : dh, left : left + (kw - 1) * dw + 1 : dw]
        y[:, unit, row, column] = (seen * w[unit]).sum(axis=(1, 2, 3))
    return y


def scatter(x, w, strides, dilations, pads, groups, adj) -> np.ndarray:
    (_, channels, height, width), (_, per_group, kh, kw) = x.shape, w.shape
    (sh, sw), (dh, dw) = strides, dilations
    size = (height - 1) * sh + dh * (kh - 1) + 1 + adj[0], (width - 1) * sw + dw * (kw - 1) + 1 + adj[1]
    y = np.zeros((len(x), per_group * groups, *size))
    for c, o, a, b in np.ndindex(channels, per_group, kh, kw):
        unit = c // (channels // groups) * per_group + o
        rows = slice(a * dh, a * dh + (height - 1) * sh + 1, sh)
        columns = slice(b * dw, b * dw + (width - 1) * sw + 1, sw)
        y[:, unit, rows, columns] += x[:, c] * w[c, o, a, b]
    return y[:, :, pads[0] : y.shape[2] - pads[1], pads[2] : y.shape[3] - pads[3]]


def same_pads(size, kernel, strides, dilations) -> list[int]:
    pads: list[int] = []
    for length, k, s, d in zip(size, kernel, strides, dilations, strict=True):
        total = max((-(-length // s) - 1) * s + (k - 1) * d + 1 - length, 0)
        pads += [total // 2, total - total // 2]
    return pads


# --- one random case --------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A model of one convolution, drawn from a seed; `want` is its result in float64, `slack` what sums may be off."""

    seed: int
    constants: Constants = field(default_factory=Constants.empty)
    model: om_pb2.ModelDef = field(default_factory=lambda: om_pb2.ModelDef(name="random", stream_num=1))

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self._draw_geometry()
        self._draw_operands()
        self.data = self.model.op.add(name="data", type="Data")
        self.op = self.model.op.add(name="c", type="Convolution", src_name=["data"], src_index=[0])
        self._compute()
        self._write()

    def pick(self, *values):
        return values[int(self.random.integers(len(values)))]

    def draw(self, low: int, high: int, count: int) -> list[int]:
        return [int(value) for value in self.random.integers(low, high, count)]

    def _draw_geometry(self) -> None:
        self.mode = self.pick(MATHEMATICAL, CORRELATION, TRANSPOSED, DEPTHWISE)
        self.layout = self.pick(NCHW, NHWC, NC1HWC0)
        self.physical = self.layout == NC1HWC0 and bool(self.pick(0, 1))
        self.groups = 1 if self.mode == DEPTHWISE else self.pick(1, 1, 2, 3)
        self.channels, self.units = (self.groups * self.pick(1, 2, 3, 5, 16, 17) for _ in range(2))
        self.kernel, self.strides = self.draw(1, 4, 2), self.draw(1, 4, 2)
        self.dilations, self.pads = self.draw(1, 3, 2), self.draw(0, 3, 4)
        self.before_pad = self.pick([], self.draw(0, 3, 4))
        self.pad_mode = self.pick(0, 1, 4, 5) if self.mode == TRANSPOSED else self.pick(0, 1, 4, 5, 6)
        self.size = [(k - 1) * d + extra for k, d, extra in
                     zip(self.kernel, self.dilations, self.draw(3, 6, 2), strict=True)]  # fmt: skip
        # the file does not tell how many channels a packed input has whose filter holds several per channel
        multiplier = 1 if self.physical else self.pick(1, 2)
        self.units = self.channels * multiplier if self.mode == DEPTHWISE else self.units

    def _draw_operands(self) -> None:
        self.algorithm = self.pick(None, None, 0, 1, 2)
        stored = {None: (np.float32, np.float16), 0: (np.float32, np.float16, np.int8)}.get(
            self.algorithm, (np.float32, np.float16, np.uint8)
        )
        dtype = np.dtype(self.pick(*stored))
        inner = {TRANSPOSED: (self.channels, self.units // self.groups), DEPTHWISE: (self.units, 1)}
        shape = (*inner.get(self.mode, (self.units, self.channels // self.groups)), *self.kernel)
        x = self.random.standard_normal((self.pick(1, 2), self.channels, *self.size))
        if dtype.kind in "iu":
            x = self.random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, x.shape)
        self.x = x.astype(dtype)
        if self.algorithm is None:
            self.weight = self.random.standard_normal(shape).astype(dtype)
            self.bias = self.random.standard_normal(self.units).astype(dtype)
            self.alpha = self.pick(0.0, 1.0, 0.5)
        else:
            self.weight = self.random.integers(-127, 128, shape).astype(np.int8)
            self.bias = self.random.integers(-3000, 3000, self.units).astype(np.int32)
            self.alpha = self.pick(0.0, 1.0)
        self.relu = bool(self.pick(0, 1))
        self.with_bias = bool(self.pick(0, 1, 1))

    def _half(self, target: om_pb2.QuantizeFactor, name: str, values) -> np.ndarray:
        """A float16 array of a QuantizeFactor, inline or in WEIGHTS_DATA."""
        stored = np.asarray(values, np.float16)
        if self.pick(0, 1):
            setattr(target, f"{name}_value", stored.tobytes())
        else:
            setattr(target, f"{name}_offset", self.constants.add(stored.tobytes()))
        return stored.astype(np.float64)

    def _quantised_input(self) -> tuple[np.ndarray, np.ndarray]:
        """x and weight as the integers that are multiplied, offsets taken off."""
        factor = self.op.quantize_factor
        factor.quantize_algo, factor.scale_type = self.algorithm, self.pick(0, 1)
        self.range = (-128, 127) if self.algorithm == 0 else (0, 255)
        offset = offset_weight = 0.0
        if self.algorithm == 2:
            (offset,) = self._half(factor.quantize_param, "offset_data", [self.random.integers(0, 200)])
            (offset_weight,) = self._half(factor.quantize_param, "offset_weight", [self.random.integers(-20, 20)])
        q = self.x.astype(np.float64)
        if self.x.dtype.kind == "f":
            factor.quantize_param.scale_mode = self.pick(0, 1)
            (scale,) = self._half(factor.quantize_param, "scale", [self.random.uniform(3, 5)])
            scale = scale**2 if factor.quantize_param.scale_mode else scale
            q = np.clip(np.rint(q * scale) + offset, *self.range)
        return q - offset, self.weight.astype(np.float64) - offset_weight

    def _quantised_result(self, total: np.ndarray) -> np.ndarray:
        factor = self.op.quantize_factor
        requantised = bool(self.pick(0, 1))
        out = factor.requantize_param if requantised else factor.dequantize_param
        out.scale_mode = self.pick(0, 1)
        scale = self._half(out, "scale", self.random.uniform(0.02, 0.1, self.units if factor.scale_type == 0 else 1))
        y = total * (scale**2 if out.scale_mode else scale).reshape(1, -1, 1, 1)
        if not requantised:
            self.result = np.dtype(self.pick(np.float32, np.float16))
            return y
        shift = 0.0
        if self.algorithm == 2:
            (shift,) = self._half(out, "offset_data", [self.random.integers(0, 60)])
        self.result = np.dtype(np.int8 if self.algorithm == 0 else np.uint8)
        return np.clip(np.rint(y) + shift, *self.range)

    def _compute(self) -> None:
        param = self.op.convolution_param
        x, weight = self.x.astype(np.float64), self.weight.astype(np.float64)
        if self.algorithm is not None:
            x, weight = self._quantised_input()
        before = self.before_pad or [0] * 4
        x = np.pad(x, ((0, 0), (0, 0), (before[0], before[1]), (before[2], before[3])))
        geometry = [self.strides, self.dilations, [0] * 4 if self.pad_mode == 5 else self.pads]
        if self.mode == TRANSPOSED:
            adj = self.draw(0, 3, 2)
            plain = scatter(x, weight, *geometry, self.groups, (0, 0))
            if self.pick(0, 1):
                param.adj.extend(adj)
            else:
                param.target_shape.extend([plain.shape[2] + adj[0], plain.shape[3] + adj[1]])
            total, size = (scatter(*each, *geometry, self.groups, adj) for each in
                           ((x, weight), (np.abs(x), np.abs(weight))))  # fmt: skip
        else:
            if self.pad_mode == 6:
                geometry[2] = same_pads(x.shape[2:], self.kernel, self.strides, self.dilations)
            turned = weight[:, :, ::-1, ::-1] if self.mode == MATHEMATICAL else weight
            groups = self.channels if self.mode == DEPTHWISE else self.groups
            total, size = (correlate(*each, *geometry, groups) for each in
                           ((x, turned), (np.abs(x), np.abs(turned))))  # fmt: skip
        bias = self.bias.astype(np.float64).reshape(1, -1, 1, 1) * self.with_bias
        alpha = self.alpha or 1.0
        total = (total + bias) * alpha
        total = np.maximum(total, 0) if self.relu else total
        if self.algorithm is not None:
            self.want, self.slack = self._quantised_result(total), np.zeros(total.shape)
            return
        self.result, self.want = self.x.dtype, total
        self.slack = 2 * math.sqrt(weight[0].size * weight.shape[0]) * 2.0**-23 * (size + np.abs(bias)) * alpha

    def _weight(self, target: om_pb2.WeightDef, value: np.ndarray, number: int, shape) -> None:
        target.format, target.data_type = number, NUMBERS[value.dtype]
        target.shape.dim.extend(shape)
        if self.pick(0, 1):
            target.data = np.ascontiguousarray(value).tobytes()
        else:
            target.data_offset = self.constants.add(np.ascontiguousarray(value).tobytes())

    def _write(self) -> None:
        param, w = self.op.convolution_param, self.weight
        param.mode, param.pad_mode, param.alpha, param.relu_flag = self.mode, self.pad_mode, self.alpha, self.relu
        param.group, param.num_output = self.groups, self.pick(0, self.units)
        for name in ("pads", "strides", "dilations", "kernel", "before_pad"):
            getattr(param, {"pads": "pad", "strides": "stride", "dilations": "dilation"}.get(name, name)).extend(
                getattr(self, name)
            )
        formats = {NCHW: w, NHWC: w.transpose(0, 2, 3, 1), HWCN: w.transpose(2, 3, 1, 0)}
        if self.mode == TRANSPOSED:
            formats = {NCHW: w}
        elif self.mode != DEPTHWISE and self.groups == 1:
            formats[FRACTAL_Z] = fractal_z(w)
            if self.channels <= 4 and w.itemsize > 1:
                formats[C04] = fractal_z_c04(w)
        number = self.pick(*formats)
        packed = number in (FRACTAL_Z, C04)
        self._weight(param.filter, formats[number], number, w.shape if packed else formats[number].shape)
        if self.with_bias:
            four = self.bias.reshape(1, -1, 1, 1)
            number, value, shape = self.pick(
                (ND, self.bias, [self.units]), (NCHW, four, four.shape), (NC1HWC0, blocks(four), four.shape)
            )
            self._weight(param.bias, value, number, shape)
        for op, array in ((self.data, self.x), (self.op, self.want.astype(self.result))):
            op.output_desc.add(data_type=NUMBERS[array.dtype], format=self.layout, dim=self.laid_out(array).shape)
        end = self.model.op.add(name="end", type="NetOutput", src_name=["c"], src_index=[0])
        end.input_desc.add().CopyFrom(self.op.output_desc[0])

    def laid_out(self, array: np.ndarray) -> np.ndarray:
        if self.layout == NHWC:
            return np.ascontiguousarray(array.transpose(0, 2, 3, 1))
        return blocks(array) if self.physical else array

    def check(self, got: np.ndarray) -> None:
        want, slack = self.want.astype(self.result), self.slack
        if self.physical:
            # lanes by the width of the stored type
            slack = blocks(slack.astype(np.float32))
        elif self.layout == NHWC:
            slack = slack.transpose(0, 2, 3, 1)
        want = self.laid_out(want)
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        if want.dtype.kind in "iu":
            assert np.array_equal(got, want)
            return
        steps = 1 if want.dtype == np.float16 else 4
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
        assert (error <= steps * np.spacing(np.abs(want)).astype(np.float64) + slack).all()


@functools.cache
def case_of(seed: int) -> Case:
    return Case(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_convolution(seed: int):
    case = case_of(seed)
    data = write_om(case.model, bytes(case.constants.data))
    for reference in (False, True):
        case.check(run(om.read(data), {"data": case.laid_out(case.x)}, reference=reference)["c:0"])


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_convolution_written_again_as_graph_kind(seed: int):
    case = case_of(seed)
    data = rewrite(case.model, memoryview(bytes(case.constants.data)))
    case.check(run(om.read(data), {"data": case.laid_out(case.x)})["c:0"])


def test_every_choice_is_drawn():
    cases = [case_of(seed) for seed in SEEDS]
    assert {(case.mode, case.algorithm is None, case.layout, case.physical) for case in cases} >= {
        (mode, real, layout, physical)
        for mode in range(4)
        for real in (False, True)
        for layout, physical in ((NCHW, False), (NHWC, False), (NC1HWC0, False), (NC1HWC0, True))
    }
    assert {case.op.convolution_param.filter.format for case in cases} == {NCHW, NHWC, HWCN, FRACTAL_Z, C04}


# --- channels of five-dimensional maps that no filter of a convolution tells ------------------------------------------


@pytest.mark.parametrize("kind", ["Scale", "BatchNorm", "FullConnection"])
@pytest.mark.parametrize("channels", [1, 5, 16, 19])
def test_parameters_tell_the_channels(kind: str, channels: int):
    """Of 16 or 32 lanes, as many are channels as the parameters have values; the others stay zero (OM-L3)."""
    random = np.random.default_rng(channels)
    x = random.standard_normal((2, channels, 2, 3)).astype(np.float32)
    first, second = (random.random(channels).astype(np.float32) + 0.5 for _ in range(2))
    model = om_pb2.ModelDef(name="packed", stream_num=1)
    data = model.op.add(name="data", type="Data")
    data.output_desc.add(format=NC1HWC0, dim=blocks(x).shape)
    op = model.op.add(name="c", type=kind, src_name=["data"], src_index=[0])

    def weight(target: om_pb2.WeightDef, value: np.ndarray) -> None:
        target.format, target.data = ND, value.tobytes()
        target.shape.dim.extend(value.shape)

    column = (1, -1, 1, 1)
    if kind == "Scale":
        weight(op.scale_param.scale, first)
        weight(op.scale_param.bias, second)
        want = blocks(x.astype(np.float64) * first.reshape(column) + second.reshape(column))
    elif kind == "BatchNorm":
        op.batchnorm_param.mode = 1
        weight(op.batchnorm_param.estimated_mean, first)
        weight(op.batchnorm_param.estimated_variance, second)
        want = blocks((x.astype(np.float64) - first.reshape(column)) / np.sqrt(second.reshape(column) + 1e-5))
    else:
        matrix = random.standard_normal((4, channels * 6)).astype(np.float32)
        weight(op.full_connection_param.filter, matrix)
        want = x.reshape(2, -1).astype(np.float64) @ matrix.T.astype(np.float64)
    op.output_desc.add(format=ND if want.ndim == 2 else NC1HWC0, dim=want.shape)
    model.op.add(name="end", type="NetOutput", src_name=["c"], src_index=[0])
    got = run(om.read(write_om(model)), {"data": blocks(x)})["c:0"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
