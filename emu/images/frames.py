"""Pictures as the frames of an input: fitted, coloured and ordered one at a time, when a frame is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.yuv import YUV_ORDERS
from emu.errors import UsageError
from emu.hef.formats import FormatOrder, Shape
from emu.images.colour import RGB, channels, yuv
from emu.images.fit import LETTERBOX, Placement, fitted, place
from emu.images.read import Picture, read_picture


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """How a picture becomes a frame."""

    fit: str = LETTERBOX
    colour: str | None = None  # RGB unless said; 4:2:0 and grey have no order of channels to say

    @property
    def channel_order(self) -> str:
        return self.colour or RGB


class PictureFrames:
    """The frames of an input of `shape` (height, width, features) and host `order`, one a picture.

    `len` is the number of pictures; an index gives the frame's bytes, which is uint8 in the input's own order.
    UsageError where no picture can be such a frame, or a file cannot be read.
    """

    def __init__(
        self, files: Sequence[Path], shape: Shape, order: FormatOrder, options: PictureOptions, name: str
    ) -> None:
        self.files = tuple(files)
        self.options = options
        self._shape = shape
        self._order = order
        self._last: tuple[int, NDArray[np.uint8]] | None = None
        self._placements: dict[int, Placement] = {}
        if options.colour is not None and (order in YUV_ORDERS or shape.features == 1):
            raise UsageError(f"--colour {options.colour}: input {name} takes no channels of colours")
        if order in YUV_ORDERS:
            if shape.features != 3 or shape.width % 2:
                raise UsageError(f"input {name}: {tuple(shape)} holds no {order.name} picture")
            self.size = (shape.height * 2, shape.width)
        elif order in (FormatOrder.NHWC, FormatOrder.FCR, FormatOrder.F8CR, FormatOrder.RGB4):
            self.size = (shape.height, shape.width)
            if shape.features not in (1, 3):
                raise UsageError(f"input {name}: {shape.features} channels take no picture: 3 (colours) or 1 (grey) do")
        else:
            raise UsageError(f"input {name}: a picture cannot be given in order {order.name}")

    @property
    def source(self) -> str:
        """Where the frames come from."""
        return str(self.files[0]) if len(self.files) == 1 else f"{len(self.files)} pictures of {self.files[0].parent}"

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        if self._last is None or self._last[0] != index:
            picture, placement = fitted(self.picture(index), self.size, self.options.fit)
            self._placements[index] = placement
            if self._order in YUV_ORDERS:
                frame = yuv(picture, self._order)
            else:
                frame = channels(picture, self._shape.features, self.options.channel_order)
                if self._order is FormatOrder.RGB4:
                    frame = _rows_of_four(frame)
            self._last = (index, np.ascontiguousarray(frame).reshape(-1))
        return self._last[1]

    def picture(self, index: int) -> Picture:
        """The picture as it was given, RGB."""
        return read_picture(self.files[index])

    def placement(self, index: int) -> Placement:
        """Where picture number `index` lies in the input."""
        if index not in self._placements:
            self._placements[index] = place(self.picture(index).shape[:2], self.size, self.options.fit)
        return self._placements[index]


def _rows_of_four(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width, features = frame.shape
    rows = frame.reshape(height, width * features)
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))
