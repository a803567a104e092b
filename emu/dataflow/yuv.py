"""4:2:0 pictures and RGB: BT.601 in video range (Y 16..235), the matrix that OpenCV's conversions use too.

Chroma is the mean of 2x2 pixels one way and repeated over them the other. Pictures are [height, width, 3] of even
sizes; a 4:2:0 frame is flat: the Y plane, then UV, VU or U and V as its order says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.hef.formats import FormatOrder

YUV_ORDERS = frozenset({FormatOrder.NV12, FormatOrder.NV21, FormatOrder.I420})

# rows: Y, U, V; columns: R, G, B
_FROM_RGB = np.array([[65.738, 129.057, 25.064], [-37.945, -74.494, 112.439], [112.439, -94.154, -18.285]]) / 256
_OFFSET = np.array([16.0, 128.0, 128.0])
_TO_RGB = np.linalg.inv(_FROM_RGB)


def from_rgb(picture: NDArray[np.uint8], order: FormatOrder) -> NDArray[np.uint8]:
    """The flat frame of an RGB picture."""
    height, width, _ = picture.shape
    planes = picture.astype(np.float64) @ _FROM_RGB.T + _OFFSET
    luma = _codes(planes[:, :, 0])
    chroma = _codes(planes[:, :, 1:].reshape(height // 2, 2, width // 2, 2, 2).mean(axis=(1, 3)))
    if order is FormatOrder.I420:
        rest = chroma.transpose(2, 0, 1)
    else:
        rest = chroma if order is FormatOrder.NV12 else chroma[:, :, ::-1]
    return np.concatenate([luma.reshape(-1), rest.reshape(-1)])


def to_rgb(frame: NDArray[np.float32], height: int, width: int, order: FormatOrder) -> NDArray[np.float32]:
    """The RGB picture of a flat frame whose luma has `height` rows of `width`, 0..255."""
    luma = frame[: height * width].reshape(height, width)
    rest = frame[height * width :]
    if order is FormatOrder.I420:
        chroma = rest.reshape(2, height // 2, width // 2).transpose(1, 2, 0)
    else:
        chroma = rest.reshape(height // 2, width // 2, 2)
        chroma = chroma if order is FormatOrder.NV12 else chroma[:, :, ::-1]
    whole = np.concatenate([luma[:, :, None], chroma.repeat(2, axis=0).repeat(2, axis=1)], axis=-1)
    found: NDArray[np.float32] = np.clip((whole - _OFFSET) @ _TO_RGB.T, 0, 255).astype(np.float32)
    return found


def _codes(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
