"""The layouts of `reorder` the other way round: host order -> the bytes a device would have sent, and back.

Where a layout has the same elements in both directions, the other direction's function is it; what is written here is
what no direction of the library has. Padding, which carries nothing, is zero.
"""

from __future__ import annotations

from emu.dataflow.reorder import (
    RGB4_ROW_ALIGNMENT,
    RGB_FEATURES,
    Elements,
    Reorder,
    input_reorder,
    output_reorder,
)
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import FormatOrder, Shape, align_up

_O = FormatOrder


def _rows(frame: Elements, rows: int, pitch: int) -> Elements:
    """The first `rows` rows of `pitch` elements; a frame without them is HAILO_INVALID_ARGUMENT."""
    if rows * pitch > frame.size:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"{rows} rows of {pitch} elements in a frame of {frame.size}"
        )
    return frame[: rows * pitch].reshape(rows, pitch)


def _require_width(narrow: Shape, wide: Shape) -> None:
    if narrow.height > wide.height or narrow.width > wide.width:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"{tuple(narrow)} does not lie inside {tuple(wide)}", shape=tuple(wide)
        )


def _to_rows(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """NHW and BAYER_RGB to the device: a row of `width` elements each, whatever the features."""
    _require_width(src_shape, dst_shape)
    host = _rows(src, src_shape.height, src_shape.width)
    _rows(dst, src_shape.height, dst_shape.width)[:, : src_shape.width] = host


def _straight_rows_back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """What NHWC and the Bayer orders sent: rows of width * features elements out of the device's rows."""
    _require_width(dst_shape, src_shape)
    row = dst_shape.width * dst_shape.features
    device = _rows(src, dst_shape.height, src_shape.width * src_shape.features)
    _rows(dst, dst_shape.height, row)[:] = device[:, :row]


def _rgb888_back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """[B, G, R, 0] pixels -> [R, G, B]."""
    _require_width(dst_shape, src_shape)
    device = src[: src_shape.elements].reshape(src_shape)[: dst_shape.height, : dst_shape.width]
    dst[: dst_shape.elements].reshape(dst_shape)[:] = device[:, :, RGB_FEATURES - 1 :: -1]


def _whole_back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """YUY2: the frame as it is."""
    dst[: dst_shape.elements] = src[: dst_shape.elements]


def _nchw_back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """NHCW -> NCHW for any width: unlike an output (known-bugs.md 47), what came in this way can go back."""
    _require_width(dst_shape, src_shape)
    planes = src[: src_shape.elements].reshape(src_shape.height, src_shape.features, src_shape.width)
    inside = planes[: dst_shape.height, : dst_shape.features, : dst_shape.width]
    dst[: dst_shape.elements].reshape(dst_shape.features, dst_shape.height, dst_shape.width)[:] = inside.transpose(
        1, 0, 2
    )


def _nhcw_back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    _require_width(dst_shape, src_shape)
    planes = src[: src_shape.elements].reshape(src_shape.height, src_shape.features, src_shape.width)
    inside = planes[: dst_shape.height, : dst_shape.features, : dst_shape.width]
    dst[: dst_shape.elements].reshape(dst_shape.height, dst_shape.features, dst_shape.width)[:] = inside


def _luma_rows(host: Shape) -> int:
    return host.height * host.features * 2 // 3


def _semi_planar_back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Y row, Y row, chroma row -> NV12 or NV21."""
    width, luma = dst_shape.width, _luma_rows(dst_shape)
    pairs = luma // 2
    device = _rows(src, pairs * 3, src_shape.width).reshape(pairs, 3, src_shape.width)[:, :, :width]
    dst[: luma * width] = device[:, :2].reshape(-1)
    dst[luma * width : (luma + pairs) * width] = device[:, 2].reshape(-1)


def _planar_back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Y row, Y row, half row of U, half row of V -> I420."""
    width, hw_width, luma = dst_shape.width, src_shape.width, _luma_rows(dst_shape)
    pairs, half, hw_half = luma // 2, width // 2, hw_width // 2
    device = _rows(src, pairs, 2 * hw_width + 2 * hw_half)
    dst[: luma * width] = device[:, : 2 * hw_width].reshape(pairs, 2, hw_width)[:, :, :width].reshape(-1)
    for plane in range(2):
        start = luma * width + plane * pairs * half
        column = 2 * hw_width + plane * hw_half
        dst[start : start + pairs * half] = device[:, column : column + half].reshape(-1)


def _rgb4_back(reorder: Reorder) -> Reorder:
    """The rows of another order, each padded with zeros to four elements."""

    def back(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
        row = dst_shape.width * dst_shape.features
        plain = dst[: dst_shape.elements].copy()
        reorder(src, src_shape, plain, dst_shape)
        rows = _rows(dst, dst_shape.height, align_up(row, RGB4_ROW_ALIGNMENT))
        rows[:] = 0
        rows[:, :row] = plain.reshape(dst_shape.height, row)

    return back


# (host order, device order) of an output -> host to device
_OUTPUTS_BACK: dict[tuple[FormatOrder, FormatOrder], Reorder] = {
    (_O.NHWC, _O.NHWC): input_reorder(_O.NHWC, _O.FCR),  # features interleaved, as an output has them
    (_O.NHW, _O.NHW): _to_rows,
    (_O.BAYER_RGB, _O.BAYER_RGB): _to_rows,
    (_O.NCHW, _O.NHW): _to_rows,
}

# (device order, host order) of an input -> device to host
_INPUTS_BACK: dict[tuple[FormatOrder, FormatOrder], Reorder] = {
    (_O.NHWC, _O.NHWC): _straight_rows_back,
    (_O.BAYER_RGB, _O.BAYER_RGB): _straight_rows_back,
    (_O.BAYER_RGB_12_BIT, _O.BAYER_RGB_12_BIT): _straight_rows_back,
    (_O.NHCW, _O.NCHW): _nchw_back,
    (_O.NHCW, _O.NHCW): _nhcw_back,
    (_O.RGB888, _O.NHWC): _rgb888_back,
    (_O.YUY2, _O.YUY2): _whole_back,
    (_O.HAILO_YYUV, _O.NV12): _semi_planar_back,
    (_O.HAILO_YYVU, _O.NV21): _semi_planar_back,
    (_O.HAILO_YYYYUV, _O.I420): _planar_back,
    (_O.NHWC, _O.RGB4): _rgb4_back(_straight_rows_back),
    (_O.NHCW, _O.RGB4): _rgb4_back(output_reorder(_O.NHCW, _O.NHWC)),
}


def output_reverse(host_order: FormatOrder, device_order: FormatOrder) -> Reorder:
    """What puts an output frame back into device order; HAILO_INVALID_OPERATION where no output comes out so."""
    output_reorder(device_order, host_order)
    found = _OUTPUTS_BACK.get((host_order, device_order))
    return found if found is not None else input_reorder(host_order, device_order)


def input_reverse(device_order: FormatOrder, host_order: FormatOrder) -> Reorder:
    """What reads a device frame of an input back; HAILO_INVALID_OPERATION where no input goes in so."""
    input_reorder(host_order, device_order)
    found = _INPUTS_BACK.get((device_order, host_order))
    return found if found is not None else output_reorder(device_order, host_order)
