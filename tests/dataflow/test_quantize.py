"""Quantisation against one element at a time, and the surprises of known-bugs.md 41, 42, 46."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emu.dataflow.quantize as module
from emu.dataflow.quantize import (
    dequantize,
    dequantize_per_feature,
    quantize,
    quantize_planes,
    quantize_threshold,
    require_valid,
)
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import INVALID_QUANT_INFO, QuantInfo
from tests.dataflow import slow

U8, U16 = np.dtype(np.uint8), np.dtype(np.uint16)

floats = st.floats(width=32)
scales = st.one_of(st.floats(2.0**-20, 2.0**20, width=32), st.sampled_from([1.0, 0.5, 0.0, -0.25]))
qps = st.builds(
    QuantInfo, st.sampled_from([0.0, 3.5, 128.0, -7.0, 1000.0]), scales, st.floats(-1e6, 1e6, width=32), floats
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(floats, max_size=40), qps, st.sampled_from([U8, U16]))
def test_quantise_as_one_by_one(values: list[float], qp: QuantInfo, dtype: np.dtype) -> None:
    found = quantize(np.array(values, np.float32), qp, dtype)
    assert found.dtype == dtype
    assert found.tolist() == [slow.quantize(value, qp, 8 * dtype.itemsize) for value in values]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(floats, qps, st.sampled_from([U8, U16]))
def test_threshold_code_clips_even_with_the_identity(value: float, qp: QuantInfo, dtype: np.dtype) -> None:
    assert quantize_threshold(value, qp, dtype) == slow.threshold_code(np.float32(value), qp, 8 * dtype.itemsize)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 65535), max_size=30), st.sampled_from([0.0, 3.7, 128.0]), scales)
def test_dequantise_as_one_by_one(codes: list[int], zp: float, scale: float) -> None:
    qp = QuantInfo(float(np.float32(zp)), scale, 0.0, 0.0)
    found = dequantize(np.array(codes, U16), qp)
    np.testing.assert_array_equal(found, np.array([slow.deq(code, qp) for code in codes], np.float32))


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(0, 60, 1000).astype(np.float32)
    values[::97] = np.nan
    qp = QuantInfo(128.0, 0.5, -64.0, 63.5)
    whole = quantize(values, qp, U8)
    monkeypatch.setattr(module, "_BLOCK", 33)
    assert np.array_equal(quantize(values, qp, U8), whole)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dtype", [U8, U16])
def test_casts_do_not_depend_on_the_machine(native: bool, dtype: np.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(module, "_INT32_CAST_IS_X86", False)
        monkeypatch.setattr(module, "_CODE_CAST_OF_NAN_IS_X86", False)
    values = np.array([np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31), 3e9, -1.0, 256.0, 65537.0, 7.0] * 9, np.float32)
    for qp in (QuantInfo(0.0, 1.0, 0.0, 0.0), QuantInfo(3.0, 0.5, -2.0, 100.0), QuantInfo(0.0, 0.5, 0.0, 1e12)):
        assert quantize(values, qp, dtype).tolist() == [
            slow.quantize(float(value), qp, 8 * dtype.itemsize) for value in values
        ]


def test_identity_does_not_clip_and_limvals_of_zero_give_the_zero_point() -> None:
    identity = QuantInfo(0.0, 1.0, 5.0, 7.0)
    assert quantize(np.array([256.0, 300.0, -1.0], np.float32), identity, U8).tolist() == [0, 44, 255]
    collapsed = QuantInfo(9.0, 0.5, 0.0, 0.0)
    assert quantize(np.array([-3.0, 0.0, 1e9], np.float32), collapsed, U8).tolist() == [9, 9, 9]


def test_per_feature_pattern_repeats() -> None:
    codes = np.array([4, 4, 4, 8, 8, 8], U8)
    qps = [QuantInfo(0.0, 0.25, 0, 0), QuantInfo(1.0, 0.5, 0, 0), QuantInfo(2.0, 0.75, 0, 0)]
    assert dequantize_per_feature(codes, qps).tolist() == [1, 1.5, 1.5, 2, 3.5, 4.5]
    assert dequantize_per_feature(codes, qps, 2).tolist() == [1, 1, 1.5, 3.5, 4.5, 4.5]


def test_a_pattern_that_does_not_divide_the_frame_is_refused() -> None:
    with pytest.raises(HailoError) as refusal:
        dequantize_per_feature(np.zeros(5, U8), [QuantInfo(0.0, 1.0, 0, 0)] * 3)
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION
    assert "do not divide a frame of 5" in refusal.value.message


def test_several_quant_infos_are_not_one() -> None:
    with pytest.raises(HailoError) as refusal:
        require_valid(INVALID_QUANT_INFO, "conv1")
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    assert "conv1" in refusal.value.message


@pytest.mark.parametrize("dtype", [U8, U16])
@pytest.mark.parametrize("zp", [0.0, 3.0, 2.5])
@pytest.mark.parametrize("scale", [1.0, 0.5, 1 / 255, 3.7])
@pytest.mark.parametrize("cut", [0, 9])
def test_values_that_all_have_codes_as_one_by_one(dtype: np.dtype, zp: float, scale: float, cut: int) -> None:
    """Ties, their neighbours and both ends of all codes, within limits that are narrower; then one value beyond."""
    f32, most = np.float32, int(np.iinfo(dtype).max)
    step = max(most // 300, 1)
    halves = np.arange(2 * most + 1, step=step).astype(f32) / 2
    ties = np.concatenate([np.nextafter(halves, f32(-1)), halves, np.nextafter(halves, f32(most))])
    values = (ties[ties >= zp] - f32(zp)) * f32(scale)
    ends = (f32(cut - zp) * f32(scale), f32(most - cut - zp) * f32(scale))
    qp = QuantInfo(zp, float(f32(scale)), float(ends[0]), float(ends[1]))
    for beyond in (None, np.nan, np.inf, -np.inf, -0.0, -1e-3, -20.0, float(f32(most * 2 * scale)), 1e30):
        given = values if beyond is None else np.append(values, f32(beyond))
        expected = [slow.quantize(value, qp, 8 * dtype.itemsize) for value in given]
        assert quantize(given, qp, dtype).tolist() == expected


@pytest.mark.parametrize("beyond", [np.nan, -5.0, 300.0])
def test_a_late_value_without_a_code_changes_no_earlier_one(beyond: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", 16)
    values = np.arange(100, dtype=np.float32)
    values[90] = beyond
    qp = QuantInfo(0.0, 0.5, 1.0, 40.0)
    assert quantize(values, qp, U8).tolist() == [slow.quantize(value, qp, 8) for value in values]


@pytest.mark.parametrize("dtype", [U8, U16])
@pytest.mark.parametrize("shape", [(9, 7, 2), (5, 16, 3), (1, 1, 8), (4, 0, 3), (0, 4, 3)])
@pytest.mark.parametrize("beyond", [None, np.nan, -5.0, -0.0, 1e30])
@pytest.mark.parametrize(
    "qp", [QuantInfo(0.0, 1.0, 0.0, 0.0), QuantInfo(0.0, 0.5, 1.0, 40.0), QuantInfo(3.0, 0.37, 0.0, 80.0)]
)
def test_planes_as_pixels_that_are_then_taken_apart(
    dtype: np.dtype, shape: tuple[int, int, int], beyond: float | None, qp: QuantInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ties among them, in blocks that do not divide the frame, in rows that are wider than the host's."""
    monkeypatch.setattr(module, "_BLOCK", 50)
    height, width, features = shape
    pixels = np.random.default_rng(4).integers(0, 240, shape).astype(np.float32) / 4
    if beyond is not None and pixels.size:
        pixels.reshape(-1)[-2] = beyond
    frame = np.full((height, features, width + 3), 99, dtype)
    quantize_planes(pixels, qp, frame[:, :, :width])
    expected = [slow.quantize(float(value), qp, 8 * dtype.itemsize) for value in pixels.transpose(0, 2, 1).flat]
    assert frame[:, :, :width].reshape(-1).tolist() == expected
    assert (frame[:, :, width:] == 99).all()


@pytest.mark.parametrize("limits", [(0.0, 0.0), (0.0, 255.0), (-4.0, 4.0)])
def test_the_identity_never_clips(limits: tuple[float, float]) -> None:
    """Whatever its range says: codes wrap as C's conversion does (known-bugs.md 41, 42)."""
    values = np.array([-1, 0, 255.6, 300, 65536 + 7, -70000, 1e10, np.nan, np.inf], np.float32)
    codes = quantize(values, QuantInfo(0.0, 1.0, *limits), np.dtype(np.uint8))
    assert codes.tolist() == [255, 0, 0, 44, 7, 144, 0, 0, 0]
