"""A picture of any size into the size that a network takes, and boxes back out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu.errors import UsageError
from emu.images.read import Picture, pillow

LETTERBOX, RESIZE, NONE = "letterbox", "resize", "none"
PADDING = 114  # grey of the letterbox, as YOLO's trainers have it


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a picture lies in a network's input; sizes are (height, width) in pixels."""

    source: tuple[int, int]
    target: tuple[int, int]
    inside: tuple[int, int]
    top: int = 0
    left: int = 0

    def to_source(self, box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        """A box (x0, y0, x1, y1) in pixels of the input as pixels of the picture."""
        height, width = self.source
        inside_height, inside_width = self.inside
        x0, y0, x1, y1 = box
        across, down = width / inside_width, height / inside_height
        return (
            (x0 - self.left) * across,
            (y0 - self.top) * down,
            (x1 - self.left) * across,
            (y1 - self.top) * down,
        )

    def crop(self, field: NDArray[np.generic]) -> NDArray[np.generic]:
        """The part of a field over the input [height, width, ...] that the picture takes."""
        height, width = self.inside
        return field[self.top : self.top + height, self.left : self.left + width]


def place(source: tuple[int, int], target: tuple[int, int], how: str) -> Placement:
    """UsageError for `none` where the sizes differ."""
    if how == NONE:
        if source != target:
            raise UsageError(
                f"a picture of {source[1]} x {source[0]} pixels, the input takes {target[1]} x {target[0]}:"
                " --fit letterbox or resize makes it fit"
            )
        return Placement(source, target, source)
    if how == RESIZE:
        return Placement(source, target, target)
    ratio = min(target[0] / source[0], target[1] / source[1])
    inside = (max(round(source[0] * ratio), 1), max(round(source[1] * ratio), 1))
    return Placement(source, target, inside, (target[0] - inside[0]) // 2, (target[1] - inside[1]) // 2)


def fitted(picture: Picture, target: tuple[int, int], how: str) -> tuple[Picture, Placement]:
    """The picture in the input's size (height, width), bilinear, centred on grey where it does not fill it."""
    placement = place(picture.shape[:2], target, how)
    inside = picture
    if placement.inside != placement.source:
        image_module = pillow("resizing a picture")
        size = (placement.inside[1], placement.inside[0])
        inside = np.asarray(image_module.fromarray(picture).resize(size, image_module.Resampling.BILINEAR), np.uint8)
    if placement.inside == target:
        return inside, placement
    out = np.full((*target, 3), PADDING, np.uint8)
    placement.crop(out)[:] = inside
    return out, placement
