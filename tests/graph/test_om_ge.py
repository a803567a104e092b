"""Rules of the graph kind that no real file shows: built here, with expected values by formula."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from emu.errors import GraphStatus
from emu.graph import executor
from emu.graph.ops import Operand
from emu.graph.ops.aipp import Aipp
from emu.graph.readers.om import describe as om_describe
from emu.graph.readers.om.ge_ops import MEANINGS
from emu.graph.writers.om import write_om
from emu.schemas import ge_ir_pb2
from tests.graph.om_models import DTYPES, Model, refused, set_attr
from tests.graph.test_kernels import onnx_run

CONV: dict[str, Any] = {
    "mode": 1, "pad_mode": 4, "pads": [0, 0, 0, 0], "strides": [1, 1], "dilations": [1, 1], "groups": 1, "format": 0,
}  # fmt: skip


# --- quantisation (om-format.md 7.1) ----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [0, 1, 2])
@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize("whole_bias", [False, True])
def test_quantize_info(algorithm: int, scalar: bool, whole_bias: bool):
    random = np.random.default_rng(algorithm)
    x = random.standard_normal((1, 3, 6, 6)).astype(np.float32)
    weight = random.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    scales = (random.random(1 if scalar else 4) * 0.01 + 0.001).astype(np.float32)
    bias = (
        random.integers(-500, 500, 4).astype(np.int32) if whole_bias else random.standard_normal(4).astype(np.float32)
    )
    step, offset = float(np.float32(0.02)), 0.0 if algorithm == 0 else 117.0
    model = Model()
    model.data(x.shape)
    info = {
        "quantize_algo": algorithm, "scale_data_value": step, "offset_data_value": 117.0,
        "scale_weight_mode": int(scalar), "scale_weight_value": scales.tobytes(),
        "offset_weight_value": np.zeros_like(scales).tobytes(),
    }  # fmt: skip
    edges = ["x:0", model.const("w", weight), model.const("b", bias)]
    model.op(
        "y", "Convolution", edges, (1, 4, 6, 6), **CONV | {"pads": [1, 1, 1, 1]}, QuantizeInfo=info, relu_flag=True
    )
    low, high = (-128, 127) if algorithm == 0 else (0, 255)
    q = np.clip(np.rint(x.astype(np.float64) / step) + offset, low, high) - offset
    total = np.zeros((1, 4, 6, 6))
    padded = np.pad(q, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for place in np.ndindex(3, 3):
        tap = padded[:, :, place[0] : place[0] + 6, place[1] : place[1] + 6]
        total += np.einsum("nchw,oc->nohw", tap, weight[:, :, place[0], place[1]].astype(np.float64))
    real = np.broadcast_to(scales.astype(np.float64) * step, 4).reshape(1, 4, 1, 1)
    shift = bias.reshape(1, 4, 1, 1)
    want = (total + shift) * real if whole_bias else total * real + shift
    (got,) = model.run({"x": x}, "y:0")
    np.testing.assert_allclose(got, np.maximum(want, 0), rtol=1e-6, atol=1e-6)


def test_weight_only_quantisation():
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 2, 4, 4)).astype(np.float32)
    weight = random.integers(-127, 128, (3, 2, 1, 1)).astype(np.int8)
    scales = np.array([0.5, 0.25, 0.01], np.float32)
    model = Model()
    model.data(x.shape)
    info = {"quantize_algo": 1, "scale_data_value": 0.0, "scale_weight_mode": 0, "scale_weight_value": scales.tobytes()}
    model.op("y", "Convolution", ["x:0", model.const("w", weight)], (1, 3, 4, 4), **CONV, QuantizeInfo=info)
    want = np.einsum("nchw,oc->nohw", x, weight[:, :, 0, 0] * scales.reshape(3, 1))
    (got,) = model.run({"x": x}, "y:0")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_quantised_matmul_with_offset_of_the_weight():
    random = np.random.default_rng(1)
    x = random.standard_normal((2, 5)).astype(np.float32)
    weight = random.integers(-127, 128, (5, 3)).astype(np.int8)
    scales, offsets = np.array([0.5, 0.25, 0.01], np.float32), np.array([1, 0, -7], np.float32)
    model = Model()
    model.data(x.shape)
    info = {"quantize_algo": 1, "scale_data_value": 0.03125, "offset_data_value": 9.0, "scale_weight_mode": 0,
            "scale_weight_value": scales.tobytes(), "offset_weight_value": offsets.tobytes()}  # fmt: skip
    model.op("y", "MatMul", ["x:0", model.const("w", weight)], (2, 3), transpose_x1=False, transpose_x2=False,
             QuantizeInfo=info)  # fmt: skip
    q = np.clip(np.rint(x / 0.03125) + 9, 0, 255) - 9
    want = (q @ (weight.astype(np.float64) - offsets)) * 0.03125 * scales
    (got,) = model.run({"x": x}, "y:0")
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("empty", ["requantize_param", "dequantize_param"])
def test_unused_parts_of_quantize_factor_may_be_written_empty(empty: str):
    """Real files have all parts, the unused ones with every member empty or zero (om-format.md 7)."""
    random = np.random.default_rng(2)
    x = random.integers(0, 256, (1, 2, 4, 4)).astype(np.uint8)
    weight = random.integers(-127, 128, (3, 2, 1, 1)).astype(np.int8)
    scale = np.array([0.5, 0.25, 0.125], np.float16)
    used = "requantize_param" if empty == "dequantize_param" else "dequantize_param"
    parts = {
        "quantize_param": {"scale_mode": 0, "scale_value": np.float16(1).tobytes(), "scale_offset": 0},
        used: {"scale_mode": 0, "scale_value": scale.tobytes(), "scale_offset": 0},
        empty: {"scale_mode": 0, "scale_value": b"", "scale_offset": 0, "offset_data_value": b""},
    }
    model = Model()
    model.data(x.shape, np.uint8)
    dtype = np.float32 if used == "dequantize_param" else np.uint8
    edges = ["x:0", model.const("w", weight), model.const("b", np.array([1, 2, 3], np.int32))]
    model.op("y", "Convolution", edges, (1, 3, 4, 4), dtype, **CONV,
             quantize_factor={"quantize_algo": 1, "scale_type": 0, **parts})  # fmt: skip
    total = np.einsum("nchw,oc->nohw", x.astype(np.int64), weight[:, :, 0, 0].astype(np.int64))
    want = (total + np.array([1, 2, 3]).reshape(3, 1, 1)) * scale.astype(np.float64).reshape(3, 1, 1)
    (got,) = model.run({"x": x}, "y:0")
    assert np.array_equal(got, want if used == "dequantize_param" else np.clip(np.rint(want), 0, 255))


def test_weights_of_one_byte_under_a_float_descriptor():
    """A graph that is quantised on one side: the bytes are as many as the elements; and a convolution without mode."""
    random = np.random.default_rng(3)
    x = random.standard_normal((1, 2, 4, 4)).astype(np.float32)
    weight = random.integers(-127, 128, (3, 2, 1, 1)).astype(np.int8)
    scales = np.array([0.5, 0.25, 0.01], np.float32)

    def made(one_side: bool) -> Model:
        model = Model()
        model.graph.attr["is_one_side_quantized"].b = one_side
        model.data(x.shape)
        edges = ["x:0", model.const("w", weight), model.const("b", np.float32([1, 2, 3]))]
        model.graph.op[1].attr["value"].t.desc.dtype = DTYPES[np.dtype(np.float32)]
        info = {"quantize_algo": 1, "scale_data_value": 0.0, "scale_weight_mode": 0}
        conv = {key: value for key, value in CONV.items() if key != "mode"}
        model.op("y", "Convolution", edges, (1, 3, 4, 4), **conv,
                 QuantizeInfo=info | {"scale_weight_value": scales.tobytes()})  # fmt: skip
        return model

    want = np.einsum("nchw,oc->nohw", x, weight[:, :, 0, 0] * scales.reshape(3, 1)) + np.c_[[1, 2, 3]].reshape(3, 1, 1)
    (got,) = made(True).run({"x": x}, "y:0")
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert "takes 24" in refused(made(False), "y:0").line()


@pytest.mark.parametrize("quantised", [False, True])
def test_a_matrix_stored_with_its_dims_exchanged_is_transposed(quantised: bool):
    random = np.random.default_rng(4)
    x = random.integers(0, 50, (1, 5)).astype(np.float32)
    weight = random.integers(-127, 128, (3, 5, 1, 1)).astype(np.int8 if quantised else np.float32)
    model = Model()
    model.data((1, 5, 1, 1))
    info = {"quantize_algo": 1, "scale_data_value": 1.0, "scale_weight_mode": 0,
            "scale_weight_value": np.float32([1, 0.5, 0.25]).tobytes()}  # fmt: skip
    more = {"QuantizeInfo": info} if quantised else {}
    op = model.op("y", "MatMul", ["x:0", model.const("w", weight)], (1, 3), transpose_x1=False, transpose_x2=False,
                  **more)  # fmt: skip
    for dims in ((1, 5, 1, 1), (5, 3, 1, 1)):
        model.describe(op.input_desc.add(), dims)
    want = x @ weight[:, :, 0, 0].T.astype(np.float64) * (np.array([1, 0.5, 0.25]) if quantised else 1)
    graph = model.read("y:0")
    assert not graph.notes
    np.testing.assert_allclose(executor.run(graph, {"x": x.reshape(1, 5, 1, 1)})["y:0"], want, rtol=1e-6)


def test_integer_filter_without_quantisation_is_refused():
    model = Model()
    model.data((1, 2, 4, 4))
    edges = ["x:0", model.const("w", np.ones((3, 2, 1, 1), np.int8))]
    model.op("y", "Convolution", edges, (1, 3, 4, 4), **CONV)
    assert "no quantisation is given" in refused(model, "y:0").line()


# --- AIPP (om-format.md 9) --------------------------------------------------------------------------------------------

AIPP: dict[str, Any] = {"aipp_mode": 1, "input_format": 1, "src_image_size_h": 8, "src_image_size_w": 6}
MATRIX = [256, 454, 0, 256, -88, -183, 256, 0, 359]


def aipp_model(shape: tuple[int, ...], dtype: Any = np.float32, **more: Any) -> Model:
    model = Model()
    model.data((1, 3, 8, 6), np.uint8)
    model.op("a", "Aipp", ["x:0"], shape, dtype, aipp=AIPP | more)
    return model


def yuv(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (1, 12, 6)).astype(np.uint8)


def planes(x: np.ndarray) -> np.ndarray:
    out = np.zeros((1, 3, 8, 6))
    for row, column in np.ndindex(8, 6):
        out[0, :, row, column] = (
            x[0, row, column], x[0, 8 + row // 2, column // 2 * 2], x[0, 8 + row // 2, column // 2 * 2 + 1],
        )  # fmt: skip
    return out


def test_aipp_without_stages_gives_the_planes():
    (got,) = aipp_model((1, 3, 8, 6)).run({"x": yuv()}, "a:0")
    assert np.array_equal(got, planes(yuv()))


def test_aipp_stages_in_order():
    """Crop, swap, colours, resize, normalise, pad."""
    more: dict[str, Any] = {
        "crop": True, "load_start_pos_h": 2, "load_start_pos_w": 1, "crop_size_h": 4, "crop_size_w": 5,
        "rbuv_swap_switch": True, "csc_switch": True, "input_bias_1": 128, "input_bias_2": 128,
        "resize": True, "resize_output_h": 8, "resize_output_w": 3,
        "padding": True, "top_padding_size": 1, "left_padding_size": 2, "cpadding_value": -5.0,
        "mean_chn_0": 3, "min_chn_1": 2.5, "var_reci_chn_2": 0.5,
    }  # fmt: skip
    more |= {f"matrix_r{at // 3}c{at % 3}": value for at, value in enumerate(MATRIX)}
    (got,) = aipp_model((1, 3, 9, 5), **more).run({"x": yuv(1)}, "a:0")
    cut = planes(yuv(1))[0][[0, 2, 1]][:, 2:6, 1:6].astype(int) - np.array([0, 128, 128]).reshape(3, 1, 1)
    colours = np.clip(np.einsum("ci,ihw->chw", np.array(MATRIX).reshape(3, 3), cut) >> 8, 0, 255)
    want = np.full((3, 9, 5), -5.0)
    for row, column in np.ndindex(8, 3):
        y, x = row * 4 / 8, column * 5 / 3
        top, left = int(y), int(x)
        low, right = min(top + 1, 3), min(left + 1, 4)
        upper = colours[:, top, left] * (1 - (x - left)) + colours[:, top, right] * (x - left)
        lower = colours[:, low, left] * (1 - (x - left)) + colours[:, low, right] * (x - left)
        value = upper * (1 - (y - top)) + lower * (y - top)
        want[:, row + 1, column + 2] = (value - np.array([3, 2.5, 0])) * np.array([1, 1, 0.5])
    np.testing.assert_allclose(got[0], want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("seed", range(40))
def test_aipp_in_bands(seed: int):
    """Some rows at a time gives what the whole image gives."""
    random = np.random.default_rng(seed)
    height, width = (2 * int(size) for size in random.integers(1, 40, 2))
    crop = None
    if random.integers(2):
        top, left = int(random.integers(height)), int(random.integers(width))
        crop = top, left, int(random.integers(1, height - top + 1)), int(random.integers(1, width - left + 1))
    op = Aipp(
        (height, width),
        crop=crop,
        swap_chroma=bool(random.integers(2)),
        matrix=tuple(int(value) for value in random.integers(-300, 300, 9)) if random.integers(2) else None,
        bias=(16, 128, 128),
        resize=(int(random.integers(1, 90)), int(random.integers(1, 90))) if random.integers(2) else None,
        shift=(1.5, 0.0, -3.0),
        factor=(0.5, 1.0, 2.0),
        pads=tuple(int(value) for value in random.integers(0, 3, 4)),
        pad_value=-7.0,
    )
    x = random.integers(0, 256, (int(random.integers(1, 3)), height * 3 // 2, width)).astype(np.uint8)
    want = op.reference(x)
    assert want.shape == op.shape(Operand(x.shape, x.dtype))
    assert np.array_equal(op.fast(x), want)


def test_a_large_image_costs_no_memory():
    """480x640 to 227x227, as hiai.om has it: what is held is the result and some rows."""
    op = Aipp((480, 640), matrix=tuple(MATRIX), bias=(0, 128, 128), resize=(227, 227))
    x = np.zeros((1, 720, 640), np.uint8)
    tracemalloc.start()
    result = op.fast(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * result.nbytes


def test_aipp_without_image_format_passes_the_tensor():
    model = Model()
    model.data((1, 1, 4, 4), np.uint8)
    model.op("a", "Aipp", ["x:0"], (1, 1, 4, 4), np.float16, aipp=AIPP | {"input_format": 0})
    x = np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4)
    (got,) = model.run({"x": x}, "a:0")
    assert got.dtype == np.float16
    assert np.array_equal(got, x)


@pytest.mark.parametrize(("number", "name"), [(2, "XRGB8888_U8"), (7, "YUV400_U8"), (99, "unknown")])
def test_other_image_formats_are_refused_by_name(number: int, name: str):
    error = refused(aipp_model((1, 3, 8, 6), input_format=number), "a:0")
    assert error.status is GraphStatus.GRAPH_UNSUPPORTED
    assert name in error.line()


@pytest.mark.parametrize(
    "more",
    [
        {"resize": True, "resize_output_h": 40000, "resize_output_w": 40000},
        {"resize": True, "resize_output_h": 0, "resize_output_w": 3},
        {"padding": True, "top_padding_size": 1 << 30},
        {"padding": True, "left_padding_size": -1},
        {"crop": True, "crop_size_h": 9, "crop_size_w": 6},
    ],
)
def test_images_out_of_proportion_are_refused(more: dict[str, Any]):
    """Also where the image is not a tensor of the file, but lies between AIPP and the convolution that has it."""
    assert refused(aipp_model((1, 3, 8, 6), **more), "a:0").status is GraphStatus.GRAPH_SHAPE
    model = Model()
    model.data((1, 3, 8, 6), np.uint8)
    weight = model.const("w", np.zeros((1, 3, 1, 1), np.float32))
    model.op("c", "Convolution", ["x:0", weight], (1, 1, 1, 1), **CONV | {"strides": [40000, 40000]}, aipp=AIPP | more)
    assert refused(model, "c:0").status is GraphStatus.GRAPH_SHAPE


def test_dynamic_aipp_is_noted():
    graph = aipp_model((1, 3, 8, 6), aipp_mode=2).read("a:0")
    assert any("dynamic AIPP" in note for note in graph.notes)


# --- names, constants, edges, streams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Case", "StreamSwitchN"])
def test_inspect_tells_chip_and_gears(kind: str):
    model = Model()
    model.data((1, 4))
    set_attr(model.message.attr["soc_version"], "Ascend910B")
    model.op("a", "Relu", ["x:0"], (1, 4))
    model.op("gears", kind, [], (1,), _batch_num=2, _pred_value_0=[1, 224], _pred_value_1=[4, 224])
    model.graph.op.add(name="out", type="NetOutput").input.append("a:0")
    report = om_describe.document(write_om(model.message))
    assert report["soc_version"] == "Ascend910B"
    assert report["gears"] == [[1, 224], [4, 224]]
    assert {"soc_version Ascend910B", "dynamic gears: [1, 224], [4, 224]"} <= set(om_describe.lines(report))


@pytest.mark.parametrize(
    ("stated", "soc", "accepted", "word"),
    [
        ("Ascend910B", "Ascend910B", True, "yes"),
        ("Ascend910B", "Ascend910B2", False, "no (EE1001"),
        (None, "Ascend310P3", None, "not told"),
    ],
)
def test_inspect_compares_the_chip(stated: str | None, soc: str, accepted: bool | None, word: str):
    model = Model()
    model.data((1, 4))
    if stated is not None:
        set_attr(model.message.attr["soc_version"], stated)
    model.graph.op.add(name="out", type="NetOutput").input.append("x:0")
    report = om_describe.document(write_om(model.message), soc)
    assert report["accepts_soc"] is accepted
    assert any(line.startswith(f"accepted by {soc}: {word}") for line in om_describe.lines(report))


def test_inspect_tells_that_chip_and_gears_are_not_stated():
    model = Model()
    model.data((1, 4))
    model.graph.op.add(name="out", type="NetOutput").input.append("x:0")
    report = om_describe.document(write_om(model.message))
    assert (report["soc_version"], report["gears"]) == (None, [])
    assert {"soc_version not stated", "dynamic gears: none"} <= set(om_describe.lines(report))


@pytest.mark.parametrize("count", [-1, 1 << 40])
def test_a_forged_number_of_gears_costs_nothing(count: int):
    model = Model()
    model.data((1, 4))
    model.op("gears", "Case", [], (1,), _batch_num=count, _pred_value_0=[1])
    model.graph.op.add(name="out", type="NetOutput").input.append("x:0")
    assert om_describe.document(write_om(model.message))["gears"] == []


def intern(model: Model, op: ge_ir_pb2.OpDef, values: dict[str, str]) -> None:
    """Move the op's attributes under interned names, strings of `values` into the value table."""
    names = sorted(op.attr)
    attrs = model.message.attr
    for name in names:
        attrs["attr_name_enum"].list.s.append(name.encode())
        attrs["attrs_use_string_value"].list.b.append(name in values)
        index = len(attrs["attr_name_enum"].list.s) - 1
        # base 127, least significant digit first, each digit + 1 (om-format.md 2)
        key = chr(index % 127 + 1) + (chr(index // 127 + 1) if index >= 127 else "")
        target = op.attr["\0" + key]
        if name in values:
            attrs["attr_value_enum"].list.s.append(values[name].encode())
            target.i = len(attrs["attr_value_enum"].list.s) - 1
        else:
            target.CopyFrom(op.attr[name])
        del op.attr[name]


@pytest.mark.parametrize("before", [0, 1, 125, 126, 127, 253, 254, 300])
def test_interned_names_and_values(before: int):
    """`before` other names take the first places: from 127 on an index has two digits."""
    random = np.random.default_rng(0)
    x, weight = random.standard_normal((1, 5, 6, 2)).astype(np.float32), random.standard_normal((3, 2, 2, 2))
    model = Model()
    model.data(x.shape, layout="NHWC")
    edge = model.const("w", weight.astype(np.float32))
    op = model.op("y", "Conv2D", ["x:0", edge], (1, 2, 5, 3), layout="NHWC", strides=[1, 2, 1, 1], pads=[0, 0, 0, 0],
                  data_format="NHWC")  # fmt: skip
    model.message.attr["attr_name_enum"].list.s.extend(b"other%d" % at for at in range(before))
    model.message.attr["attrs_use_string_value"].list.b.extend([False] * before)
    intern(model, op, {"data_format": "NHWC"})
    (got,) = model.run({"x": x}, "y:0")
    want = onnx_run("Conv", [np.ascontiguousarray(x.transpose(0, 3, 1, 2)), weight.astype(np.float32)], strides=[2, 1])
    np.testing.assert_allclose(got, want.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("key", ["\0", "\0\x02", "\0\x7f", "\0\x01\x02", "\0\x01\0", "\0é", "\0" + "\x7f" * 4000])
def test_interned_names_that_are_none(key: str):
    model = Model()
    model.message.attr["attr_name_enum"].list.s.append(b"mode")
    model.data((2, 3))
    model.op("y", "Activation", ["x:0"], (2, 3)).attr[key].i = 1
    assert refused(model, "y:0").status is GraphStatus.OM_MODEL


@pytest.mark.parametrize("placement", ["inline", "offset", "merged"])
def test_three_placements_of_constants(placement: str):
    value = np.array([1, 2, 3], np.float32)
    model = Model()
    model.data((2, 3))
    edge = model.const("c", value)
    tensor = model.graph.op[1].attr["value"].t
    if placement != "inline":
        tensor.data = b""
        offset = model.weights.add(value.tobytes() + bytes(20))
        tensor.desc.weight_size = 12
        if placement == "merged":
            model.graph.attr["weight_merged"].b = True
            tensor.desc.attr["merged_offset"].i = offset
        else:
            tensor.desc.data_offset = offset
    model.op("y", "Add", ["x:0", edge], (2, 3))
    (got,) = model.run({"x": np.zeros((2, 3), np.float32)}, "y:0")
    assert np.array_equal(got, np.broadcast_to(value, (2, 3)))


def test_constants_that_do_not_lie_in_the_weights():
    for offset, size, words in ((0, 0, "neither data nor"), (-8, 12, "negative"), (500, 4096, "WEIGHTS_DATA"),
                                (1 << 62, 12, "WEIGHTS_DATA"), (508, 4, "takes 12")):  # fmt: skip
        model = Model()
        model.data((2, 3))
        edge = model.const("c", np.ones(3, np.float32))
        tensor = model.graph.op[1].attr["value"].t
        tensor.data, tensor.desc.data_offset, tensor.desc.weight_size = b"", offset, size
        model.op("y", "Add", ["x:0", edge], (2, 3))
        assert words in refused(model, "y:0").line()


def test_inputs_by_index_and_outputs_in_order():
    model = Model()
    model.data((1,), name="second", index=1)
    model.data((1,), name="first", index=0)
    model.op("d", "Sub", ["first:0", "second:0"], (1,))
    graph = model.read("d:0", "second:0", "d:0")
    assert [port.name for port in graph.inputs] == ["first", "second"]
    got = executor.run(graph, {"first": np.float32([5]), "second": np.float32([3])})
    assert list(got) == ["d:0", "second:0"]
    assert got["d:0"] == 2


def test_implicit_reshape_is_row_major():
    model = Model()
    model.data((2, 3, 4))
    op = model.op("y", "Softmax", ["x:0"], (6, 4), axis=-1)
    model.describe(op.input_desc.add(), (6, 4))
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    (got,) = model.run({"x": x}, "y:0")
    np.testing.assert_allclose(got, onnx_run("Softmax", [x.reshape(6, 4)], axis=-1), rtol=1e-5)
    other = Model()
    other.data((2, 3, 4))
    other.describe(other.op("y", "Softmax", ["x:0"], (6, 5), axis=-1).input_desc.add(), (6, 5))
    assert "its producer gives" in refused(other, "y:0").line()


def test_control_edges_order_streams():
    model = Model()
    model.message.attr["stream_num"].i, model.message.attr["event_num"].i = 2, 1
    model.data((2,))
    model.op("a", "Relu", ["x:0"], (2,)).stream_id = 1
    for name, kind, stream, edge in (("s", "Send", 1, "a:-1"), ("r", "Recv", 0, "")):
        op = model.graph.op.add(name=name, type=kind, stream_id=stream)
        op.attr["event_id"].i = 0
        if edge:
            op.input.append(edge)
    model.op("b", "Abs", ["a:0", "r:-1"], (2,))
    (got,) = model.run({"x": np.float32([-1, 2])}, "b:0")
    assert got.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("kind", "attrs", "attribute"),
    [
        ("Activation", {}, "mode"),
        ("Softmax", {}, "mode"),
        ("Permute", {}, "order"),
        ("Cast", {}, "dst_dtype"),
        ("TransData", {"input_format": 0}, "output_format"),
        ("Pooling", {"mode": 0, "pad_mode": 5}, "window"),
        ("ArgMaxD", {}, "dimension"),
        ("Convolution", {"mode": 1}, "strides"),
        ("Activation", {"mode": 5}, "coef"),
        ("LeakyRelu", {}, "negative_slope"),
        ("MaxPool", {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2]}, "padding"),
        ("SplitD", {"split_dim": 1}, "num_split"),
        ("Aipp", {}, "aipp"),
        ("GraphOp", {}, "subgraph"),
        ("Nonsense", {}, "type"),
    ],
)
def test_missing_attributes_are_named(kind: str, attrs: dict[str, Any], attribute: str):
    model = Model()
    model.data((1, 2, 3, 3))
    model.op("y", kind, ["x:0"], (1, 2, 3, 3), **attrs)
    error = refused(model, "y:0")
    # what a file does not say is its fault, a type that nothing here knows is ours
    assert error.status is (GraphStatus.GRAPH_UNSUPPORTED if kind == "Nonsense" else GraphStatus.OM_MODEL)
    assert error.where["attribute"] == attribute
    assert "op 'y'" in error.line()


def test_every_row_of_the_table_is_known():
    """om-format.md 10, name by name."""
    rows = """
        Convolution ConvolutionDepthwise ConvTranspose Pooling PoolingD Cast CastT TransData Permute ResizeBilinear
        Reshape MatMul MatMulV2 GEMM Conv2D Conv2DBackpropInputD Activation Relu Relu6 Sigmoid Tanh Abs Eltwise Add
        Sub Mul RealDiv Maximum Minimum Concat ConcatD Softmax SoftmaxV2 ArgMaxD BNInference BatchNorm Scale
        FullyConnection Squeeze Unsqueeze Flatten AippConfig AtomicAddrClean Data NetOutput Const Send Recv Aipp
    """
    assert set(rows.split()) <= set(MEANINGS)


# --- single ops that the domi cases do not reach ----------------------------------------------------------------------


def test_conv2d_backprop_input():
    random = np.random.default_rng(0)
    gradient, weight = random.standard_normal((1, 3, 4, 5)), random.standard_normal((3, 2, 3, 3))
    model = Model()
    model.data(gradient.shape, layout="NCHW")
    edge = model.const("w", weight.astype(np.float32))
    model.op("y", "Conv2DBackpropInputD", [edge, "x:0"], (1, 2, 8, 9), layout="NCHW", strides=[1, 1, 2, 2],
             pads=[1, 1, 1, 1], input_size=[1, 2, 8, 9])  # fmt: skip
    (got,) = model.run({"x": gradient.astype(np.float32)}, "y:0")
    given = [gradient.astype(np.float32), weight.astype(np.float32)]
    want = onnx_run("ConvTranspose", given, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("swapped", [False, True])
def test_tf_deconv(swapped: bool):
    random = np.random.default_rng(0)
    x, weight, bias = random.standard_normal((1, 4, 5, 3)), random.standard_normal((3, 2, 3, 3)), np.array([1.0, -1.0])
    size = np.array([1, 7, 10, 2], np.int32)
    model = Model()
    model.data(x.shape)
    reals = [weight.astype(np.float32), bias.astype(np.float32)]
    consts = [*reals, size] if swapped else [size, *reals]
    edges = [model.const(f"c{at}", value) for at, value in enumerate(consts)]
    attrs = CONV | {"pad_mode": 6, "strides": [2, 2], "format": 1, "TF_DECONV": True}
    model.op("y", "ConvTranspose", [edges[0], edges[1], "x:0", edges[2]], (1, 7, 10, 2), **attrs)
    (got,) = model.run({"x": x.astype(np.float32)}, "y:0")
    # TensorFlow: SAME of the forward convolution pads 7 rows by 2 (1 and 1) and 10 columns by 1 (0 and 1)
    given = [x.transpose(0, 3, 1, 2).astype(np.float32), weight.astype(np.float32), bias.astype(np.float32)]
    want = onnx_run("ConvTranspose", [np.ascontiguousarray(each) for each in given], strides=[2, 2], pads=[1, 0, 1, 1])
    np.testing.assert_allclose(got, want.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_resize_bilinear(mode: dict[str, bool]):
    x = np.random.default_rng(0).standard_normal((1, 2, 4, 5)).astype(np.float32)
    model = Model()
    model.data(x.shape, layout="NCHW")
    edge = model.const("size", np.array([8, 15], np.int32))
    attrs = {"align_corners": False} | mode
    model.op("y", "ResizeBilinear", ["x:0", edge], (1, 2, 8, 15), layout="NCHW", **attrs)
    (got,) = model.run({"x": x}, "y:0")
    name = {"align_corners": "align_corners", "half_pixel_centers": "half_pixel"}.get(
        next(iter(mode), ""), "asymmetric"
    )
    want = onnx_run("Resize", [x, np.zeros(0, np.float32), np.array([1, 1, 2, 3], np.float32)],
                    coordinate_transformation_mode=name, mode="linear")  # fmt: skip
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_arg_max_and_transposed_matrices():
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    model = Model()
    model.data(x.shape)
    model.op("best", "ArgMaxD", ["x:0"], (4,), np.int32, dimension=1)
    model.op("square", "MatMulV2", ["x:0", "x:0"], (6, 6), transpose_x1=True, transpose_x2=False)
    best, square = model.run({"x": x}, "best:0", "square:0")
    assert np.array_equal(best, x.argmax(1))
    np.testing.assert_allclose(square, x.T.astype(np.float64) @ x, rtol=1e-4, atol=1e-5)


def test_transdata_between_nhwc_and_packed():
    x = np.random.default_rng(0).standard_normal((1, 3, 4, 20)).astype(np.float16)
    model = Model()
    model.data(x.shape, np.float16, layout="NHWC")
    op = model.op("p", "TransData", ["x:0"], (1, 2, 3, 4, 16), np.float16, "NC1HWC0", input_format=1, output_format=3)
    set_attr(op.output_desc[0].attr["origin_shape"], [1, 3, 4, 20])
    set_attr(op.output_desc[0].attr["origin_format"], "NHWC")
    model.op("q", "TransData", ["p:0"], x.shape, np.float16, "NHWC", input_format=3, output_format=1)
    packed, back = model.run({"x": x}, "p:0", "q:0")
    assert np.array_equal(back, x)
    assert packed[0, 1, 2, 3, 3] == x[0, 2, 3, 19]
    assert not packed[0, 1, ..., 4:].any()
