"""Layouts against element positions written down one by one, round trips, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.dataflow.formats import InputTransform, OutputTransform
from emu.dataflow.reorder import INPUT_REORDERS, OUTPUT_REORDERS
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import Format, FormatFlags, FormatType, QuantInfo, Shape
from emu.hef.formats import FormatOrder as Order
from tests.dataflow import slow
from tests.dataflow.specs import FILL, filled

IDENTITY = QuantInfo(0.0, 1.0, 0.0, 0.0)
TYPES = {1: FormatType.UINT8, 2: FormatType.UINT16}

extents = st.integers(1, 9)


def codes(rng: np.random.Generator, count: int, element_bytes: int) -> np.ndarray:
    dtype = np.uint8 if element_bytes == 1 else np.uint16
    return rng.integers(0, np.iinfo(dtype).max + 1, count, dtype)


def make_input(order: Order, device: Order, shape: Shape, hw: Shape, size: int) -> InputTransform:
    return InputTransform(shape, Format(TYPES[size], order), hw, Format(TYPES[size], device), [IDENTITY])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.sampled_from(["NHCW", "FCR", "F8CR", "NHWC", "RGB888"]),
    extents,
    extents,
    st.integers(1, 20),
    st.integers(0, 5),
    st.integers(0, 3),
    st.sampled_from([1, 2]),
    st.integers(0, 2**32),
)
def test_input_layout_position_by_position(
    order: str, h: int, w: int, f: int, more_w: int, more_f: int, size: int, seed: int
) -> None:
    """Every element where the rules put it, every zero, and nothing else touched."""
    if order == "RGB888":
        f, hw_f = 3, 4
    elif order == "F8CR":
        hw_f = 8 * (-(-f // 8) + more_f)
    else:
        hw_f = f if order == "NHWC" else f + more_f
    shape, hw = Shape(h, w, f), Shape(h, w + more_w, hw_f)
    transform = make_input(Order.NHWC, Order[order], shape, hw, size)
    frame = codes(np.random.default_rng(seed), shape.elements, size)
    found = transform(frame, filled(transform.hw_frame_size)).view(frame.dtype)
    fill = int.from_bytes(bytes([FILL]) * size, "little")
    if not transform.reorders:
        wanted = np.full(found.size, fill, frame.dtype)
        wanted[: frame.size] = frame
    else:
        wanted = np.full(found.size, fill, frame.dtype)
        for zero in slow.zero_positions(order, h, w, f, hw.width, hw.features):
            wanted[zero] = 0
        for r, c, k in np.ndindex(h, w, f):
            position = slow.device_position(order, r, c, k, w, f, hw.width, hw.features)
            wanted[position] = frame[(r * w + c) * f + k]
    assert np.array_equal(found, wanted)


# host order, device order, features the device adds, and whether the host side keeps NHWC nesting
ROUND_TRIPS: list[tuple[Any, ...]] = [
    (Order.NHWC, Order.NHCW, Order.NHWC),
    (Order.NHWC, Order.FCR, Order.NHWC),
    (Order.FCR, Order.FCR, Order.FCR),
    (Order.NHWC, Order.F8CR, Order.NHWC),
    (Order.F8CR, Order.F8CR, Order.F8CR),
    (Order.NHWC, Order.NHWC, Order.NHWC),
    (Order.BAYER_RGB, Order.BAYER_RGB, Order.BAYER_RGB),
    (Order.NC, Order.NC, Order.NC),
    (Order.NCHW, Order.NHCW, Order.NCHW),
]


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.sampled_from(ROUND_TRIPS),
    extents,
    extents,
    st.integers(1, 18),
    st.integers(0, 5),
    st.sampled_from([1, 2]),
    st.integers(0, 2**32),
)
def test_what_goes_in_comes_out(
    orders: tuple[Any, ...], h: int, w: int, f: int, more: int, size: int, seed: int
) -> None:
    host, device, back = orders
    hw_w, hw_f = w + more, f
    if device is Order.F8CR:
        hw_f = -(-f // 8) * 8
    elif device is Order.NC:
        h, w, hw_w, hw_f = 1, 1, 1, f + more
    elif device is Order.BAYER_RGB:
        f, hw_f = 1, 1
    elif host is Order.NCHW:
        hw_w = -(-hw_w // 8) * 8
    elif device in (Order.FCR, Order.NHCW):
        hw_f = f + more
        if host is Order.NCHW:
            hw_f = f
    shape, hw = Shape(h, w, f), Shape(h, hw_w, hw_f)
    frame = codes(np.random.default_rng(seed), shape.elements, size)
    to_device = make_input(host, device, shape, hw, size)
    from_device = OutputTransform(shape, Format(TYPES[size], back), hw, Format(TYPES[size], device), [IDENTITY])
    assert np.array_equal(from_device(to_device(frame)).view(frame.dtype), frame)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(extents, extents, st.integers(1, 5), st.sampled_from([Order.NHCW, Order.NHWC, Order.FCR]), st.integers(0, 2**32))
def test_a_transposed_stream_gives_the_frame_back(h: int, w: int, f: int, device: Order, seed: int) -> None:
    shape, hw = Shape(h, w, f), Shape(w, h + 3, f)
    flagged = Format(FormatType.UINT8, device, FormatFlags.TRANSPOSED)
    user = Format(FormatType.UINT8, Order.NHWC)
    frame = codes(np.random.default_rng(seed), shape.elements, 1)
    to_device = InputTransform(shape, user, hw, flagged, [IDENTITY])
    assert to_device.transposes
    stream = to_device(frame)
    if device is Order.NHCW:
        for r, c, k in np.ndindex(h, w, f):
            assert stream[c * hw.width * hw.features + k * hw.width + r] == frame[(r * w + c) * f + k]
    assert np.array_equal(OutputTransform(shape, user, hw, flagged, [IDENTITY])(stream), frame)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("more", [0, 5])
@pytest.mark.parametrize("pixels", [(1, 1), (1, 7), (5, 1), (6, 11), (64, 48)])
@pytest.mark.parametrize(
    ("device", "hw_features"),
    [(Order.NHCW, 3), (Order.NHCW, 4), (Order.RGB888, 4), (Order.F8CR, 8), (Order.F8CR, 16)]
    + [(Order.FCR, features) for features in (3, 4, 5, 8, 9)],
)
def test_pixels_of_three_bytes_go_where_wider_ones_go(
    device: Order, hw_features: int, pixels: tuple[int, int], more: int, transposed: bool
) -> None:
    """8-bit RGB has ways of its own through the layouts; 16-bit elements of the same values have none."""
    shape = Shape(*pixels, 3)
    height, width = pixels[::-1] if transposed else pixels
    hw = Shape(height, width + more, hw_features)
    flags = FormatFlags.TRANSPOSED if transposed else FormatFlags.NONE
    frame = codes(np.random.default_rng(1), shape.elements, 1)
    streams = []
    for size in (1, 2):
        user, stream = Format(TYPES[size], Order.NHWC), Format(TYPES[size], device, flags)
        transform = InputTransform(shape, user, hw, stream, [IDENTITY])
        dtype = np.dtype(f"<u{size}")
        filled = np.full(transform.hw_frame_size // size, FILL, dtype)
        converted = transform(frame.astype(dtype), filled.view(np.uint8))
        streams.append(converted.view(dtype)[: hw.elements].astype(int).tolist())
    assert streams[0] == streams[1]


@pytest.mark.parametrize("pair", INPUT_REORDERS, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
@pytest.mark.parametrize("user", [FormatType.UINT8, FormatType.UINT16, FormatType.FLOAT32])
def test_a_fresh_frame_is_zero_where_nothing_is_written(
    pair: tuple[Order, Order], user: FormatType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever memory it is made of: a frame that is written to its end is not cleared first."""
    tried = 0
    for features, more in itertools.product((1, 2, 3, 8), itertools.product((0, 2), (0, 3), (0, 1, 5))):
        shape = Shape(4, 8, features)
        hw = Shape(*(size + added for size, added in zip(shape, more, strict=True)))
        device = Format(FormatType.UINT16 if user is FormatType.UINT16 else FormatType.UINT8, pair[1])
        try:
            transform = InputTransform(shape, Format(user, pair[0]), hw, device, [IDENTITY])
            frame = np.random.default_rng(features).integers(0, 256, transform.user_frame_size, np.uint8)
            wanted = transform(frame, np.zeros(transform.hw_frame_size, np.uint8))
        except HailoError:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(np, "empty", lambda size, dtype: np.full(size, FILL, np.uint8).astype(dtype))
            assert transform(frame).tobytes() == wanted.tobytes(), (shape, hw)
        tried += 1
    assert tried


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 3), st.integers(0, 2**32))
def test_yuv_rows(pairs: int, half_width: int, more: int, seed: int) -> None:
    """NV12 and I420: the host's planes, row pair by row pair (transforms.md 4)."""
    w = 2 * half_width
    shape, hw = Shape(pairs, w, 3), Shape(pairs, w + 2 * more, 3)
    frame = codes(np.random.default_rng(seed), shape.elements, 1)
    luma = frame[: 2 * pairs * w].reshape(2 * pairs, w)
    pad = np.zeros(2 * more, np.uint8)
    nv12 = make_input(Order.NV12, Order.HAILO_YYUV, shape, hw, 1)(frame)
    uv = frame[2 * pairs * w :].reshape(pairs, w)
    rows = []
    for pair in range(pairs):
        for row in (luma[2 * pair], luma[2 * pair + 1], uv[pair]):
            rows += [row, pad]
    wanted = np.concatenate(rows)
    assert np.array_equal(nv12[: wanted.size], wanted)
    i420 = make_input(Order.I420, Order.HAILO_YYYYUV, shape, hw, 1)(frame)
    u, v = frame[2 * pairs * w :].reshape(2, pairs, half_width)
    half_pad = np.zeros(more, np.uint8)
    rows = []
    for pair in range(pairs):
        rows += [luma[2 * pair], pad, luma[2 * pair + 1], pad, u[pair], half_pad, v[pair], half_pad]
    wanted = np.concatenate(rows)
    assert np.array_equal(i420[: wanted.size], wanted)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.sampled_from([Order.NHCW, Order.NHWC, Order.FCR]),
    extents,
    extents,
    st.integers(1, 10),
    st.integers(0, 4),
    st.sampled_from([IDENTITY, QuantInfo(3.0, 0.5, -10.0, 90.0), QuantInfo(3.0, 0.5, 90.0, -10.0)]),
    st.sampled_from([1, 2]),
    st.integers(0, 2**32),
)
def test_float_frames_are_quantised_then_laid_out(
    device: Order, h: int, w: int, f: int, more: int, qp: QuantInfo, size: int, seed: int
) -> None:
    """In one step or in two, the stream carries the codes' layout."""
    shape, hw = Shape(h, w, f), Shape(h + more % 2, w + more, f)
    values = np.random.default_rng(seed).normal(20, 60, shape).astype(np.float32)
    values.reshape(-1)[:: max(values.size // 3, 1)] = np.nan
    quantised = [slow.quantize(float(value), qp, 8 * size) for value in values.reshape(-1)]
    of_codes = InputTransform(shape, Format(TYPES[size], Order.NHWC), hw, Format(TYPES[size], device), [qp])
    of_floats = InputTransform(shape, Format(FormatType.FLOAT32, Order.NHWC), hw, Format(TYPES[size], device), [qp])
    wanted = of_codes(np.array(quantised, np.uint8 if size == 1 else np.uint16), filled(of_codes.hw_frame_size))
    assert of_floats(values, filled(of_floats.hw_frame_size)).tobytes() == wanted.tobytes()


def test_every_pair_of_orders_works_or_is_refused() -> None:
    for host in Order:
        for device in Order:
            if Order.AUTO in (host, device):
                continue
            if (host, device) not in INPUT_REORDERS:
                transform = make_input(host, device, Shape(2, 4, 3), Shape(2, 8, 4), 1)
                with pytest.raises(HailoError) as refusal:
                    transform(np.zeros(transform.user_frame_size, np.uint8))
                assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION
            if (device, host) not in OUTPUT_REORDERS:
                output = OutputTransform(
                    Shape(2, 4, 3),
                    Format(FormatType.UINT8, host),
                    Shape(2, 8, 4),
                    Format(FormatType.UINT8, device),
                    [IDENTITY],
                )
                with pytest.raises(HailoError) as refusal:
                    output(np.zeros(output.hw_frame_size, np.uint8))
                assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION


@pytest.mark.parametrize(
    ("host", "device", "shape", "hw"),
    [
        (Order.NHWC, Order.NHCW, Shape(3, 4, 3), Shape(2, 8, 3)),
        (Order.NHWC, Order.NHCW, Shape(2, 9, 3), Shape(2, 8, 3)),
        (Order.NHWC, Order.NHWC, Shape(2, 4, 5), Shape(2, 8, 3)),
        (Order.NHWC, Order.F8CR, Shape(2, 4, 9), Shape(2, 4, 8)),
        (Order.NHWC, Order.F8CR, Shape(2, 4, 9), Shape(2, 4, 12)),
        (Order.NHWC, Order.RGB888, Shape(2, 4, 4), Shape(2, 4, 4)),
        (Order.NCHW, Order.NHCW, Shape(2, 4, 3), Shape(2, 7, 3)),
        (Order.NV12, Order.HAILO_YYUV, Shape(1, 3, 3), Shape(1, 8, 3)),
        (Order.NV12, Order.HAILO_YYUV, Shape(1, 4, 2), Shape(1, 8, 3)),
        (Order.I420, Order.HAILO_YYYYUV, Shape(2, 4, 3), Shape(1, 8, 3)),
        (Order.YUY2, Order.YUY2, Shape(1, 3, 2), Shape(1, 4, 2)),
        (Order.RGB4, Order.NHWC, Shape(1, 5, 3), Shape(2, 8, 3)),
    ],
)
def test_frames_that_would_leave_the_buffer_are_refused(host: Order, device: Order, shape: Shape, hw: Shape) -> None:
    transform = make_input(host, device, shape, hw, 1)
    with pytest.raises(HailoError) as refusal:
        transform(np.zeros(transform.user_frame_size, np.uint8))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_a_frame_of_the_wrong_size_is_refused_with_both_sizes() -> None:
    transform = make_input(Order.NHWC, Order.NHCW, Shape(2, 4, 3), Shape(2, 8, 3), 1)
    with pytest.raises(HailoError, match="23 bytes given, 24 expected") as refusal:
        transform(bytes(23))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_alignment_tail_is_stale() -> None:
    """known-bugs.md 43"""
    transform = make_input(Order.NHWC, Order.NHWC, Shape(1, 3, 1), Shape(1, 3, 1), 1)
    assert transform.required
    assert transform(bytes([1, 2, 3]), filled(8)).tolist() == [1, 2, 3] + [FILL] * 5


def test_rgb4_float_loses_its_last_pixels() -> None:
    """Only height*width*features elements are quantised, row padding included (known-bugs.md 44)."""
    user = Format(FormatType.FLOAT32, Order.RGB4)
    transform = InputTransform(
        Shape(2, 1, 3), user, Shape(2, 8, 3), Format(FormatType.UINT8, Order.NHCW), [QuantInfo(0.0, 2.0, 0.0, 100.0)]
    )
    frame = np.array([2, 4, 6, 8, 10, 12, 14, 16], np.float32)
    assert transform(frame).reshape(2, 3, 8)[:, :, 0].tolist() == [[1, 2, 3], [5, 6, 0]]


def test_transposed_rgb4_with_padded_rows_is_refused() -> None:
    transform = InputTransform(
        Shape(2, 3, 3),
        Format(FormatType.UINT8, Order.RGB4),
        Shape(3, 8, 3),
        Format(FormatType.UINT8, Order.NHCW, FormatFlags.TRANSPOSED),
        [IDENTITY],
    )
    with pytest.raises(HailoError) as refusal:
        transform(np.zeros(transform.user_frame_size, np.uint8))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_nchw_output_that_cannot_be_is_left_untouched_without_an_error() -> None:
    """known-bugs.md 47; a float output then de-quantises what was in the buffer."""
    arguments = (Shape(1, 3, 2), Shape(1, 7, 2), Format(FormatType.UINT8, Order.NHCW))
    shape, hw, device = arguments
    plain = OutputTransform(shape, Format(FormatType.UINT8, Order.NCHW), hw, device, [IDENTITY])
    assert plain(bytes(plain.hw_frame_size), filled(6)).tolist() == [FILL] * 6
    scaled = OutputTransform(shape, Format(FormatType.FLOAT32, Order.NCHW), hw, device, [QuantInfo(5.0, 0.5, 0, 0)])
    assert scaled(bytes(scaled.hw_frame_size), filled(24)).view("<f4").tolist() == [(FILL - 5) * 0.5] * 6


def test_nhw_is_never_scaled_but_nchw_is() -> None:
    """known-bugs.md 48"""
    qp = QuantInfo(10.0, 0.5, 0.0, 0.0)
    device = Format(FormatType.UINT8, Order.NHW)
    frame = bytes([20, 30, 40, 0, 0, 0, 0, 0])
    for order, wanted in ((Order.NHW, [20, 30, 40]), (Order.NCHW, [5, 10, 15])):
        transform = OutputTransform(Shape(1, 3, 1), Format(FormatType.FLOAT32, order), Shape(1, 8, 1), device, [qp])
        assert transform(frame).view("<f4").tolist() == wanted


@pytest.mark.parametrize("order", [Order.NCHW, Order.BAYER_RGB])
def test_per_feature_scales_in_orders_that_the_library_overruns_with_are_refused(order: Order) -> None:
    """known-bugs.md 46"""
    device = Format(FormatType.UINT8, Order.NHCW if order is Order.NCHW else Order.BAYER_RGB)
    features = 2 if order is Order.NCHW else 1
    qps = [QuantInfo(0.0, 1.0, 0, 0), QuantInfo(0.0, 2.0, 0, 0)]
    transform = OutputTransform(
        Shape(1, 8, features), Format(FormatType.FLOAT32, order), Shape(1, 8, features), device, qps
    )
    with pytest.raises(HailoError) as refusal:
        transform(bytes(transform.hw_frame_size))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION


def test_equal_quant_infos_per_feature_are_one() -> None:
    qps = [QuantInfo(1.0, 0.5, 0, 0)] * 2
    transform = OutputTransform(
        Shape(1, 8, 2),
        Format(FormatType.FLOAT32, Order.NCHW),
        Shape(1, 8, 2),
        Format(FormatType.UINT8, Order.NHCW),
        qps,
    )
    assert transform(bytes([3] * 16)).view("<f4").tolist() == [1.0] * 16


@pytest.mark.parametrize(
    ("is_input", "user", "device", "status"),
    [
        (True, FormatType.UINT16, FormatType.UINT8, HailoStatus.HAILO_INVALID_ARGUMENT),
        (False, FormatType.UINT8, FormatType.UINT16, HailoStatus.HAILO_INVALID_ARGUMENT),
        (True, FormatType.UINT8, FormatType.FLOAT32, HailoStatus.HAILO_INVALID_ARGUMENT),
        (False, FormatType.FLOAT32, FormatType.FLOAT32, HailoStatus.HAILO_INVALID_ARGUMENT),
    ],
)
def test_types_that_cannot_be_converted(
    is_input: bool, user: FormatType, device: FormatType, status: HailoStatus
) -> None:
    make = InputTransform if is_input else OutputTransform
    with pytest.raises(HailoError) as refusal:
        make(Shape(1, 8, 1), Format(user, Order.NHWC), Shape(1, 8, 1), Format(device, Order.NHWC), [IDENTITY])
    assert refusal.value.status is status


def test_uint8_widens_to_a_uint16_stream_without_scaling() -> None:
    transform = InputTransform(
        Shape(1, 4, 1),
        Format(FormatType.UINT8, Order.NHWC),
        Shape(1, 4, 1),
        Format(FormatType.UINT16, Order.NHWC),
        [QuantInfo(3.0, 0.1, 0.0, 1.0)],
    )
    assert transform(bytes([1, 2, 3, 255])).view("<u2").tolist() == [1, 2, 3, 255]


def test_identical_formats_pass_through() -> None:
    transform = make_input(Order.NHWC, Order.NHWC, Shape(2, 4, 1), Shape(2, 4, 1), 1)
    assert not transform.required
    assert transform.description == ""
    one_feature = make_input(Order.NHWC, Order.NHCW, Shape(2, 4, 1), Shape(2, 4, 1), 1)
    assert not one_feature.reorders
