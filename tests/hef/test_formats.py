"""Format tables and frame sizes, against the tables and worked numbers of transforms.md and netflow-nms.md."""

from __future__ import annotations

import numpy as np
import pytest

from emu.errors import HailoError, HailoStatus
from emu.hef.formats import (
    Format,
    FormatOrder,
    FormatType,
    NmsBurstType,
    NmsDefuseInfo,
    NmsInfo,
    NmsShape,
    Shape,
    default_host_order,
    device_format_order,
    device_format_type,
    frame_size,
    hw_frame_size,
    nms_frame_size,
    nms_hw_frame_size,
    shortest_binary32,
)


@pytest.mark.parametrize("compiler_format", [9, 10, 12, 17, 1 << 31])
def test_unknown_compiler_formats_are_internal_failures(compiler_format: int) -> None:
    with pytest.raises(HailoError) as error:
        device_format_order(compiler_format)
    assert error.value.status is HailoStatus.HAILO_INTERNAL_FAILURE


@pytest.mark.parametrize("data_bytes", [0, 3, 4])
def test_devices_know_one_and_two_byte_elements(data_bytes: int) -> None:
    with pytest.raises(HailoError) as error:
        device_format_type(data_bytes)
    assert error.value.status is HailoStatus.HAILO_INVALID_ARGUMENT


def test_every_device_order_has_a_host_order() -> None:
    for compiler_format in (*range(9), 11, 13, 14, 15, 16):
        host = default_host_order(device_format_order(compiler_format))
        assert host not in (FormatOrder.AUTO, FormatOrder.HAILO_NMS_ON_CHIP, FormatOrder.NHCW)


def test_frame_sizes() -> None:
    # stream-infos.md 9: 20x24x110 of the padded frame, and a 45-byte frame that is 48 on the wire
    assert hw_frame_size(Shape(20, 24, 110), Format(FormatType.UINT8, FormatOrder.NHCW)) == 52800
    assert hw_frame_size(Shape(3, 5, 3), Format(FormatType.UINT8, FormatOrder.NHCW)) == 48
    assert frame_size(Shape(3, 5, 3), Format(FormatType.FLOAT32, FormatOrder.NHWC)) == 180
    # rows of 15 elements stand in 16
    assert frame_size(Shape(3, 5, 3), Format(FormatType.UINT8, FormatOrder.RGB4)) == 48


def test_nms_frame_sizes() -> None:
    # vectors/hef_infos.json: onchip_nms_burst_and_bbox, netflow_yolov5_seg
    info = NmsInfo(5, 10, 50, 8, 2, False, NmsDefuseInfo(0, ""), 16, NmsBurstType.H8_PER_CLASS)
    assert nms_hw_frame_size(info) == 1428
    shape = NmsShape(1, 9, 9, 8192)
    assert nms_frame_size(shape, FormatOrder.HAILO_NMS_WITH_BYTE_MASK, "5.2") == 8608
    assert nms_frame_size(shape, FormatOrder.HAILO_NMS_WITH_BYTE_MASK, "4.23") == 8608 - 9 * 8
    assert nms_frame_size(NmsShape(5, 20, 100), FormatOrder.HAILO_NMS_BY_CLASS, "5.2") == 2020
    assert nms_frame_size(NmsShape(5, 20, 100), FormatOrder.HAILO_NMS_BY_SCORE, "5.2") == 2202


def test_nms_frame_sizes_saturate_at_32_bits() -> None:
    shape = NmsShape(1 << 20, 1 << 20, 1 << 40)
    assert nms_frame_size(shape, FormatOrder.HAILO_NMS_BY_CLASS, "5.2") == 0xFFFFFFFF


def test_shortest_binary32_is_what_numpy_prints() -> None:
    """Whole numbers are printed as integers (`ops.py`); from 1e6 on numpy changes to exponents, fmt does not."""
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    for value in bits.view(np.float32):
        if abs(value) < 1e6 and not float(value).is_integer():
            assert str(shortest_binary32(float(value))) == str(value)
