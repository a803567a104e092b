"""What a network takes instead of RGB: other channel orders, grey, and the 4:2:0 orders of cameras."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.yuv import from_rgb
from emu.errors import UsageError
from emu.hef.formats import FormatOrder
from emu.images.read import Picture

RGB, BGR = "rgb", "bgr"

_LUMA = np.array([0.299, 0.587, 0.114])


def channels(picture: Picture, features: int, colour: str) -> Picture:
    """The picture with `features` channels: 3 as `colour` says, 1 grey. UsageError for any other number."""
    if features == 3:
        return picture if colour == RGB else np.ascontiguousarray(picture[:, :, ::-1])
    if features == 1:
        grey: Picture = np.rint(picture @ _LUMA).astype(np.uint8)
        return grey[:, :, None]
    raise UsageError(f"an input of {features} channels takes no picture: 3 (colours) or 1 (grey) do")


def yuv(picture: Picture, order: FormatOrder) -> NDArray[np.uint8]:
    """A picture of even sizes as the [height · 3 / 2, width] bytes of NV12, NV21 or I420."""
    height, width, _ = picture.shape
    if height % 2 or width % 2:
        raise UsageError(f"a 4:2:0 frame has even sizes, not {width} x {height}")
    return from_rgb(picture, order).reshape(height * 3 // 2, width)
