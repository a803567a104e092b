"""Pictures as the input of an OM or MS graph: a float or byte tensor in either order, or NV12 for an AIPP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.errors import UsageError
from emu.hef.formats import FormatOrder
from emu.images.colour import channels, yuv
from emu.images.fit import fitted
from emu.images.frames import PictureOptions
from emu.images.read import read_picture

_CHANNELS = (1, 3)


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """How a picture becomes numbers: (pixel - mean) / scale per channel, for float tensors."""

    picture: PictureOptions = field(default_factory=PictureOptions)
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()


def picture_tensor(
    files: Sequence[Path],
    name: str,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    options: TensorOptions,
    *,
    channels_last: bool = False,
    yuv_order: FormatOrder | None = None,
) -> NDArray[Any]:
    """As many pictures as the tensor's batch; `channels_last` decides where the shape does not.

    `yuv_order` is that of a uint8 tensor [N, H * 3 / 2, W]. UsageError for a tensor that takes no pictures.
    """
    described = f"input {name} is {dtype}{list(shape)}"
    if any(extent < 1 for extent in shape):
        raise UsageError(f"{described}: its open dimensions take arrays, not pictures (or one of its gears)")
    batch, size, features, last = _geometry(shape, channels_last, yuv_order, described)
    if len(files) != batch:
        raise UsageError(f"{described}: a batch of {batch}, {len(files)} pictures are given")
    if options.picture.colour is not None and (yuv_order is not None or features == 1):
        raise UsageError(f"--colour {options.picture.colour}: input {name} takes no channels of colours")
    normalised = bool(options.mean or options.scale)
    if dtype.kind == "f":
        pass
    elif dtype != np.uint8:
        raise UsageError(f"{described}: a picture is given to bytes or floats")
    elif normalised:
        raise UsageError(f"{described}: --input-mean and --input-scale are for float inputs")
    frames = []
    for path in files:
        picture, _ = fitted(read_picture(path), size, options.picture.fit)
        if yuv_order is not None:
            frames.append(yuv(picture, yuv_order))
            continue
        pixels: NDArray[Any] = channels(picture, features, options.picture.channel_order)
        if normalised:
            pixels = (pixels - _by_channel(options.mean or (0.0,), features, "--input-mean")) / _by_channel(
                options.scale or (1.0,), features, "--input-scale"
            )
        frames.append(pixels if last else pixels.transpose(2, 0, 1))
    return np.ascontiguousarray(np.stack(frames)).reshape(tuple(shape)).astype(dtype)


def _geometry(
    shape: Sequence[int], channels_last: bool, yuv_order: FormatOrder | None, described: str
) -> tuple[int, tuple[int, int], int, bool]:
    """(pictures, (height, width), channels, whether those come last)"""
    if yuv_order is not None and len(shape) == 3 and shape[1] % 3 == 0:
        return shape[0], (shape[1] * 2 // 3, shape[2]), 3, True
    if len(shape) == 3:
        shape = (1, *shape)
    if len(shape) == 4:
        fits_last, fits_first = shape[3] in _CHANNELS, shape[1] in _CHANNELS
        if fits_last and (channels_last or not fits_first):
            return shape[0], (shape[1], shape[2]), shape[3], True
        if fits_first:
            return shape[0], (shape[2], shape[3]), shape[1], False
    raise UsageError(f"{described}: no picture has this shape (channels of 1 or 3, first or last)")


def _by_channel(values: tuple[float, ...], features: int, option: str) -> NDArray[np.float64]:
    if len(values) not in (1, features):
        raise UsageError(f"{option}: {len(values)} values for an input of {features} channels")
    if option == "--input-scale" and 0.0 in values:
        raise UsageError("--input-scale: 0 divides nothing")
    return np.array(values, np.float64)
