"""Element layouts: host order <-> device order, with the padding HailoRT writes and drops (transforms.md 4, 5).

Every function takes flat arrays of codes (1 or 2 bytes an element) and the two shapes, and writes into `dst`. What a
layout does not mention keeps its previous content, as in the library's buffers. Shapes with which the library would
read or write outside a frame are refused (HAILO_INVALID_ARGUMENT); overruns that only spill padding past the frame's
end are cut off there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.errors import HailoError, HailoStatus
from emu.hef.formats import HW_FRAME_ALIGNMENT, FormatOrder, Shape, align_up

Elements = NDArray[Any]
Reorder = Callable[[Elements, Shape, Elements, Shape], None]

RGB_FEATURES = 3
RGB4_ROW_ALIGNMENT = 4  # elements
F8CR_BLOCK = 8  # elements, also of 16-bit types
FEW_FEATURES = 8  # up to here features are moved one by one

_RGB_MASK = 0xFFFFFF  # the bytes of a pixel in a word of `_load_words`
_WORD_BYTES = 4  # of such a word
_PADDED_BYTES = (4, 8)  # padded pixels that are stored as one number


def _refuse(what: str, host: Shape, hw: Shape) -> HailoError:
    return HailoError(HailoStatus.HAILO_INVALID_ARGUMENT, f"{what}: host shape {tuple(host)}, device shape {tuple(hw)}")


def _require_fit(host: Shape, hw: Shape, features: bool = True) -> None:
    """The host frame must lie inside the device frame; the library checks nothing and would leave the buffer."""
    if host.height > hw.height or host.width > hw.width or (features and host.features > hw.features):
        raise _refuse("the host frame does not fit into the device frame", host, hw)


def _rows(frame: Elements, shape: Shape, pitch: int | None = None) -> Elements:
    """The frame as [height, row elements]."""
    pitch = shape.width * shape.features if pitch is None else pitch
    return frame[: shape.height * pitch].reshape(shape.height, pitch)


def _grid(frame: Elements, shape: Shape) -> Elements:
    """The frame as [height, width, features]."""
    return frame[: shape.elements].reshape(shape)


def _pixels(frame: Elements, shape: Shape) -> Elements:
    """The frame as [height, width] of whole feature vectors, which numpy moves as one."""
    return _rows(frame, shape).view(f"V{shape.features * frame.itemsize}")


def _planes(frame: Elements, shape: Shape) -> Elements:
    """The frame as [height, features, width], the NHCW view."""
    return frame[: shape.elements].reshape(shape.height, shape.features, shape.width)


def _copy_pixels(pixels: Elements, out: Elements) -> None:
    """[h, w, f] -> [h, w, f]; a few features are copied one by one, numpy's inner runs are that short otherwise."""
    if pixels.shape[2] > FEW_FEATURES or (_pixels_adjoin(pixels) and _pixels_adjoin(out)):
        out[:] = pixels
        return
    for feature in range(pixels.shape[2]):
        out[:, :, feature] = pixels[:, :, feature]


def _pixels_adjoin(pixels: Elements) -> bool:
    """Whether the rows of [h, w, f] are one run of elements each."""
    return pixels.strides[1:] == (pixels.shape[2] * pixels.itemsize, pixels.itemsize)


def _pad_pixels(pixels: Elements, out: Elements) -> None:
    """[h, w, f] -> [h, w, F], zeros behind the f features of a pixel."""
    features, wide = pixels.shape[2], out.shape[2]
    if _is_rgb_bytes(pixels) and wide in _PADDED_BYTES:
        words = out.view(f"<u{wide}")[:, :, 0]
        _load_words(pixels, words)
        words &= words.dtype.type(_RGB_MASK)
        return
    _copy_pixels(pixels, out[:, :, :features])
    out[:, :, features:] = 0


def _is_rgb_bytes(pixels: Elements) -> bool:
    """Whether [h, w, f] are pixels that `_load_words` can take up."""
    return pixels.size > 0 and pixels.shape[2] == RGB_FEATURES and pixels.itemsize == 1 and pixels.flags.c_contiguous


def _load_words(pixels: Elements, words: Elements, byte_order: str = "<") -> None:
    """[h, w, 3] bytes -> [h, w] numbers: a pixel in `byte_order`, and the next one's first byte behind it.

    numpy moves single bytes one at a time; one load a pixel leaves the rest to operations on many at once.
    """
    height, width, features = pixels.shape
    flat, dtype = pixels.reshape(-1), f"{byte_order}u4"
    start = (height - 1) * width * features
    words[:-1] = np.ndarray((height - 1, width), dtype, flat, 0, (width * features, features))
    words[-1, :-1] = np.ndarray((width - 1,), dtype, flat, start, (features,))
    words[-1, -1] = np.append(flat[-features:], np.uint8(0)).view(dtype)[0]


def _same(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Straight rows: h2d of NHWC, BAYER_RGB, 12-bit BAYER_RGB.

    The row's zeros follow its width*features elements at once, so extra device features are not interleaved
    (known-bugs.md 45).
    """
    _require_fit(src_shape, dst_shape)
    row = src_shape.width * src_shape.features
    zeros = (dst_shape.width - src_shape.width) * dst_shape.features
    out = _rows(dst, dst_shape)[: src_shape.height]
    out[:, :row] = _rows(src, src_shape)
    out[:, row : row + zeros] = 0


def _nhwc_to_nhcw(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    pixels = _grid(src, src_shape)
    if not _is_rgb_bytes(pixels):
        _fill_nhcw(pixels.transpose(0, 2, 1), dst, src_shape, dst_shape)
        return
    planes = nhcw_planes(dst, src_shape, dst_shape)
    height, width, features = src_shape
    room = np.empty(height * width * _WORD_BYTES + features, np.uint8)
    for feature in range(features):
        words = np.ndarray((height, width), "<u4", room, feature)  # of which numpy keeps the lowest byte
        if not feature:
            _load_words(pixels, words)
        planes[:, feature] = words


def _nhcw_to_nhcw(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    _fill_nhcw(_planes(src, src_shape), dst, src_shape, dst_shape)


def nhcw_planes(dst: Elements, host: Shape, hw: Shape) -> Elements:
    """The part of an NHCW frame that the host fills, [h, f, w]; width padding is set to zero."""
    _require_fit(host, hw)
    out = _planes(dst, hw)[: host.height, : host.features]
    out[:, :, host.width :] = 0
    return out[:, :, : host.width]


def _fill_nhcw(planes: Elements, dst: Elements, host: Shape, hw: Shape) -> None:
    """`planes` [h, f, w] into NHCW rows, width padding zero, feature padding untouched."""
    out = nhcw_planes(dst, host, hw)
    for feature in range(host.features):  # long inner runs: numpy copies one plane's rows at a time
        out[:, feature] = planes[:, feature]


def _nchw_to_nhcw(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    _require_nchw(src_shape, dst_shape, dst.itemsize)
    planes = src[: src_shape.elements].reshape(src_shape.features, src_shape.height, src_shape.width)
    _fill_nhcw(planes.transpose(1, 0, 2), dst, src_shape, dst_shape)


def _require_nchw(host: Shape, hw: Shape, element_bytes: int) -> None:
    """The library's own condition of NCHW <-> NHCW."""
    if host.features != hw.features or host.height != hw.height or host.width > hw.width:
        raise _refuse("NCHW needs the device's features and height, and at most its width", host, hw)
    if hw.width * element_bytes % HW_FRAME_ALIGNMENT:
        raise _refuse(
            f"NCHW needs device rows of a multiple of {HW_FRAME_ALIGNMENT} bytes, not {hw.width * element_bytes}",
            host,
            hw,
        )


def _nc_to_nc_input(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    _require_fit(src_shape, dst_shape)
    dst[: src_shape.features] = src[: src_shape.features]
    dst[src_shape.features : dst_shape.features] = 0


def _to_fcr(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Features padded with zeros pixel by pixel; columns beyond the host's width untouched."""
    _require_fit(src_shape, dst_shape)
    out = _grid(dst, dst_shape)[: src_shape.height, : src_shape.width]
    _pad_pixels(_grid(src, src_shape), out)


def _f8cr_blocks(host: Shape, hw: Shape) -> int:
    """Blocks of 8 features that the host's features take; they must lie inside the device's row."""
    blocks = -(-host.features // F8CR_BLOCK)
    if host.height > hw.height or host.width > hw.width or blocks * F8CR_BLOCK > hw.features:
        raise _refuse(f"{blocks} blocks of {F8CR_BLOCK} features do not fit into the device frame", host, hw)
    return blocks


def _f8cr_view(frame: Elements, hw: Shape, blocks: int) -> Elements:
    """The first `blocks` blocks as [height, block, width, 8]."""
    rows = _rows(frame, hw)[:, : blocks * F8CR_BLOCK * hw.width]
    return rows.reshape(hw.height, blocks, hw.width, F8CR_BLOCK)


def _to_f8cr(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Blocks of 8 features, [row][block][column][8]; the last block's tail zero, other columns and blocks untouched."""
    blocks = _f8cr_blocks(src_shape, dst_shape)
    out = _f8cr_view(dst, dst_shape, blocks)
    grid = _grid(src, src_shape)
    for block in range(blocks):
        features = grid[:, :, block * F8CR_BLOCK : (block + 1) * F8CR_BLOCK]
        _pad_pixels(features, out[: src_shape.height, block, : src_shape.width])


def _nhwc_to_rgb888(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """[B, G, R, 0] pixels: the feature order reversed and a zero appended; the rest of the row zero."""
    if src_shape.features != RGB_FEATURES or dst_shape.features != RGB_FEATURES + 1:
        raise _refuse(f"RGB888 needs {RGB_FEATURES} host and {RGB_FEATURES + 1} device features", src_shape, dst_shape)
    _require_fit(src_shape, dst_shape)
    out = _grid(dst, dst_shape)[: src_shape.height]
    pixels = _grid(src, src_shape)
    inside = out[:, : src_shape.width]
    if _is_rgb_bytes(pixels):
        words = inside.view("<u4")[:, :, 0]
        _load_words(pixels, words, ">")
        words >>= np.uint32(8)
    else:
        _pad_pixels(pixels[:, :, ::-1], inside)
    out[:, src_shape.width :] = 0


def _yuy2_to_yuy2(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    if src_shape.elements * src.itemsize % HW_FRAME_ALIGNMENT:
        raise _refuse(
            f"a YUY2 frame must be a multiple of {HW_FRAME_ALIGNMENT} bytes, not {src_shape.elements * src.itemsize}",
            src_shape,
            dst_shape,
        )
    if src_shape.elements > dst_shape.elements:
        raise _refuse("the host frame does not fit into the device frame", src_shape, dst_shape)
    dst[: src_shape.elements] = src[: src_shape.elements]


def _luma_rows(host: Shape, hw: Shape, chroma_row: int) -> int:
    """Rows of the Y plane; the host shape holds 1.5 of its rows per feature row (transforms.md 4)."""
    rows = host.height * host.features
    luma = rows * 2 // 3
    if rows % 3 or luma % 2 or host.width % 2:
        raise _refuse(
            f"a 4:2:0 frame needs an even width and 1.5 times an even number of rows, not {host.width} x {rows}",
            host,
            hw,
        )
    if host.width > hw.width or luma * hw.width + luma // 2 * chroma_row > hw.elements:
        raise _refuse("the host frame does not fit into the device frame", host, hw)
    return luma


def _nv12_to_yyuv(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Y row, Y row, chroma row; every row padded with zeros. NV21 -> YYVU is the same."""
    width = src_shape.width
    luma = _luma_rows(src_shape, dst_shape, dst_shape.width)
    pairs = luma // 2
    out = dst[: pairs * 3 * dst_shape.width].reshape(pairs, 3, dst_shape.width)
    out[:, :2, :width] = src[: luma * width].reshape(pairs, 2, width)
    out[:, 2, :width] = src[luma * width : (luma + pairs) * width].reshape(pairs, width)
    out[:, :, width:] = 0


def _i420_to_yyyyuv(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Y row, Y row, half row of U, half row of V, each padded with zeros."""
    width, hw_width = src_shape.width, dst_shape.width
    half, hw_half = width // 2, hw_width // 2
    luma = _luma_rows(src_shape, dst_shape, 2 * hw_half)
    pairs = luma // 2
    pitch = 2 * hw_width + 2 * hw_half
    out = dst[: pairs * pitch].reshape(pairs, pitch)
    luma_out = out[:, : 2 * hw_width].reshape(pairs, 2, hw_width)
    luma_out[:, :, :width] = src[: luma * width].reshape(pairs, 2, width)
    luma_out[:, :, width:] = 0
    for plane in range(2):
        start = luma * width + plane * pairs * half
        chroma = out[:, 2 * hw_width + plane * hw_half : 2 * hw_width + (plane + 1) * hw_half]
        chroma[:, :half] = src[start : start + pairs * half].reshape(pairs, half)
        chroma[:, half:] = 0


def _rgb4_to_nhwc(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """Rows of the host's 4-aligned pitch, pad elements included; the zeros follow them.

    A row may spill over its own end, where the next row overwrites it, and past the frame, where we cut it off
    (known-bugs.md 44).
    """
    _require_fit(src_shape, dst_shape)
    if src_shape.height != dst_shape.height:
        raise _refuse("RGB4 -> NHWC copies the device's height out of the host frame", src_shape, dst_shape)
    pitch = align_up(src_shape.width * src_shape.features, RGB4_ROW_ALIGNMENT)
    out_pitch = dst_shape.width * dst_shape.features
    zeros = (dst_shape.width - src_shape.width) * dst_shape.features
    rows = _rows(src, src_shape, pitch)
    for row in range(src_shape.height):
        start = row * out_pitch
        room = dst.size - start
        dst[start : start + pitch] = rows[row, :room]
        dst[start + pitch : start + pitch + zeros] = 0


def _rgb4_to_nhcw(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    _require_fit(src_shape, dst_shape)
    row = src_shape.width * src_shape.features
    rows = _rows(src, src_shape, align_up(row, RGB4_ROW_ALIGNMENT))[:, :row]
    grid = rows.reshape(src_shape.height, src_shape.width, src_shape.features)
    _fill_nhcw(grid.transpose(0, 2, 1), dst, src_shape, dst_shape)


def _from_nhcw(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    _require_fit(dst_shape, src_shape)
    planes = _planes(src, src_shape)[: dst_shape.height, : dst_shape.features, : dst_shape.width]
    _grid(dst, dst_shape)[:] = planes.transpose(0, 2, 1)


def _nhcw_to_nchw(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """A shape that fails the library's condition leaves `dst` untouched, without an error (known-bugs.md 47)."""
    try:
        _require_nchw(dst_shape, src_shape, src.itemsize)
    except HailoError:
        return
    out = dst[: dst_shape.elements].reshape(dst_shape.features, dst_shape.height, dst_shape.width)
    out[:] = _planes(src, src_shape)[:, :, : dst_shape.width].transpose(1, 0, 2)


def _from_nhwc(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """NHWC and FCR: width and feature padding dropped."""
    _require_fit(dst_shape, src_shape)
    inside = _grid(src, src_shape)[: dst_shape.height, : dst_shape.width, : dst_shape.features]
    _copy_pixels(inside, _grid(dst, dst_shape))


def _from_f8cr(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    blocks = _f8cr_blocks(dst_shape, src_shape)
    view = _f8cr_view(src, src_shape, blocks)[: dst_shape.height, :, : dst_shape.width]
    pixels = view.transpose(0, 2, 1, 3).reshape(dst_shape.height, dst_shape.width, blocks * F8CR_BLOCK)
    _copy_pixels(pixels[:, :, : dst_shape.features], _grid(dst, dst_shape))


def _from_rows(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    """NHW and BAYER_RGB: `width` elements out of every device row of its width; features play no part."""
    _require_fit(dst_shape, src_shape, features=False)
    device = src[: src_shape.height * src_shape.width].reshape(src_shape.height, src_shape.width)
    host = dst[: dst_shape.height * dst_shape.width].reshape(dst_shape.height, dst_shape.width)
    host[:] = device[: dst_shape.height, : dst_shape.width]


def _nhw_to_nchw(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    if src_shape.features != 1 or dst_shape.features != 1:
        raise _refuse("NHW -> NCHW needs one feature", dst_shape, src_shape)
    _from_rows(src, src_shape, dst, dst_shape)


def _nc_to_nc_output(src: Elements, src_shape: Shape, dst: Elements, dst_shape: Shape) -> None:
    _require_fit(dst_shape, src_shape)
    dst[: dst_shape.features] = src[: dst_shape.features]


_O = FormatOrder

# (host order, device order) -> layout; anything else is HAILO_INVALID_OPERATION
INPUT_REORDERS: dict[tuple[FormatOrder, FormatOrder], Reorder] = {
    (_O.NHWC, _O.NHWC): _same,
    (_O.BAYER_RGB, _O.BAYER_RGB): _same,
    (_O.BAYER_RGB_12_BIT, _O.BAYER_RGB_12_BIT): _same,
    (_O.NHWC, _O.NHCW): _nhwc_to_nhcw,
    (_O.NHCW, _O.NHCW): _nhcw_to_nhcw,
    (_O.NCHW, _O.NHCW): _nchw_to_nhcw,
    (_O.NC, _O.NC): _nc_to_nc_input,
    (_O.FCR, _O.FCR): _to_fcr,
    (_O.NHWC, _O.FCR): _to_fcr,
    (_O.F8CR, _O.F8CR): _to_f8cr,
    (_O.NHWC, _O.F8CR): _to_f8cr,
    (_O.NHWC, _O.RGB888): _nhwc_to_rgb888,
    (_O.YUY2, _O.YUY2): _yuy2_to_yuy2,
    (_O.NV12, _O.HAILO_YYUV): _nv12_to_yyuv,
    (_O.NV21, _O.HAILO_YYVU): _nv12_to_yyuv,
    (_O.I420, _O.HAILO_YYYYUV): _i420_to_yyyyuv,
    (_O.RGB4, _O.NHWC): _rgb4_to_nhwc,
    (_O.RGB4, _O.NHCW): _rgb4_to_nhcw,
}

# (device order, host order) -> layout
OUTPUT_REORDERS: dict[tuple[FormatOrder, FormatOrder], Reorder] = {
    (_O.NHCW, _O.NHWC): _from_nhcw,
    (_O.NHCW, _O.NCHW): _nhcw_to_nchw,
    (_O.NHWC, _O.NHWC): _from_nhwc,
    (_O.FCR, _O.FCR): _from_nhwc,
    (_O.FCR, _O.NHWC): _from_nhwc,
    (_O.F8CR, _O.F8CR): _from_f8cr,
    (_O.F8CR, _O.NHWC): _from_f8cr,
    (_O.NHW, _O.NHW): _from_rows,
    (_O.BAYER_RGB, _O.BAYER_RGB): _from_rows,
    (_O.NHW, _O.NCHW): _nhw_to_nchw,
    (_O.NC, _O.NC): _nc_to_nc_output,
}

# device orders whose layouts write every element of a device frame where nothing but features is padded
_FILLED_ORDERS = frozenset({_O.NHWC, _O.NHCW, _O.FCR, _O.RGB888})


def fills(host_order: FormatOrder, device_order: FormatOrder, host: Shape, hw: Shape) -> bool:
    """Whether the input layout is known to leave no element of the device frame as it was."""
    padded = device_order in (_O.FCR, _O.RGB888)
    return (
        host_order in (_O.NHWC, device_order)
        and device_order in _FILLED_ORDERS
        and host[:2] == hw[:2]
        and (padded or host.features == hw.features)
    )


TRANSPOSABLE_ORDERS = frozenset({_O.NHWC, _O.RGB4, _O.NHW, _O.BAYER_RGB, _O.BAYER_RGB_12_BIT, _O.FCR, _O.F8CR})


def transpose(src: Elements, shape: Shape, order: FormatOrder, dst: Elements) -> None:
    """dst[c][r] = src[r][c], whole feature vectors; orders without rows of pixels are HAILO_INVALID_OPERATION."""
    if order not in TRANSPOSABLE_ORDERS:
        raise HailoError(HailoStatus.HAILO_INVALID_OPERATION, f"a frame in order {order.name} cannot be transposed")
    target = _pixels(dst, shape.transposed())
    target[:] = _pixels(src, shape).T


def should_reorder(src: Shape, src_order: FormatOrder, dst: Shape, dst_order: FormatOrder) -> bool:
    """Whether the library moves elements at all (transforms.md 3, should_reorder)."""
    rows_of_pixels = (_O.NHWC, _O.FCR)
    if src == dst and src.features == 1:
        if src_order is _O.NHCW and dst_order in rows_of_pixels:
            return False
        if src_order in rows_of_pixels and dst_order is _O.NHCW:
            return False
    if src != dst or src_order is not dst_order:
        return True
    return src_order is _O.F8CR and src.features > F8CR_BLOCK


def input_reorder(host_order: FormatOrder, device_order: FormatOrder) -> Reorder:
    return _lookup(INPUT_REORDERS, "input", host_order, device_order)


def output_reorder(device_order: FormatOrder, host_order: FormatOrder) -> Reorder:
    return _lookup(OUTPUT_REORDERS, "output", device_order, host_order)


def _lookup(
    table: dict[tuple[FormatOrder, FormatOrder], Reorder], direction: str, src: FormatOrder, dst: FormatOrder
) -> Reorder:
    reorder = table.get((src, dst))
    if reorder is None:
        raise HailoError(
            HailoStatus.HAILO_INVALID_OPERATION,
            f"no {direction} transformation from {src.name} to {dst.name}",
        )
    return reorder
