"""Results drawn: boxes with labels, masks, and maps of classes, on the picture as it was given."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.dataflow.detections import Detection
from emu.errors import UsageError, printable
from emu.files import open_regular
from emu.images.fit import Placement
from emu.images.read import Picture, pillow
from emu.output import Output

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in pixels

_MASK_SHARE = 0.5  # of a mask's colour over the picture
_MAX_LABEL_BYTES = 1 << 20
_GOLDEN = 0.61803398875  # turns of hue between classes: neighbours differ


def class_colour(class_id: int) -> tuple[int, int, int]:
    """A strong colour of its own for a class."""
    red, green, blue = colorsys.hsv_to_rgb(class_id * _GOLDEN % 1.0, 0.85, 1.0)
    return round(red * 255), round(green * 255), round(blue * 255)


def read_labels(path: Path) -> tuple[str, ...]:
    """Names of classes, one a line, the first is class 0. UsageError for a file that holds no text."""
    with open_regular(path) as file:
        data = file.read(_MAX_LABEL_BYTES + 1)
    if len(data) > _MAX_LABEL_BYTES or b"\0" in data:
        raise UsageError(f"--labels {path}: no text of one label a line", file=str(path))
    return tuple(printable(line.strip()) for line in data.decode(errors="replace").splitlines())


def source_box(detection: Detection, placement: Placement) -> Box:
    """The box in pixels of the picture as it was given."""
    return placement.to_source(detection.pixels(*placement.target))


class Canvas:
    """A picture to draw on; it is written as PNG."""

    def __init__(self, picture: Picture) -> None:
        self._module = pillow("--draw")
        self._image: Any = self._module.fromarray(picture)

    @property
    def pixels(self) -> Picture:
        return np.asarray(self._image, np.uint8)

    def masks(self, found: Sequence[Detection], placement: Placement) -> None:
        """Lay the masks over the picture, the best on top."""
        pixels = self.pixels.astype(np.float32)
        for one in reversed(found):
            if one.mask is None:
                continue
            field = _over_image(one)
            inside = placement.crop(_resized(self._module, field, placement.target))
            whole = _resized(self._module, np.ascontiguousarray(inside), placement.source) > 0
            pixels[whole] += (np.array(class_colour(one.class_id), np.float32) - pixels[whole]) * _MASK_SHARE
        self._image = self._module.fromarray(np.rint(pixels).astype(np.uint8))

    def boxes(self, boxes: Sequence[tuple[Box, int, str]]) -> None:
        """Draw (box, class, text), the last on top of those before."""
        from PIL import ImageDraw

        draw = ImageDraw.Draw(self._image)
        width, height = self._image.size
        line = max(round(max(width, height) / 400), 1)
        for box, class_id, text in boxes:
            x0, y0, x1, y1 = _inside(box, width, height)
            colour = class_colour(class_id)
            draw.rectangle((x0, y0, x1, y1), outline=colour, width=line)
            left, top, right, bottom = draw.textbbox((0, 0), text)
            above = max(y0 - (bottom - top) - 4, 0)
            draw.rectangle((x0, above, x0 + (right - left) + 4, above + (bottom - top) + 4), fill=colour)
            draw.text((x0 + 2 - left, above + 2 - top), text, fill=(0, 0, 0))

    def lines(self, texts: Sequence[str]) -> None:
        """Write lines in the upper left corner."""
        from PIL import ImageDraw

        draw = ImageDraw.Draw(self._image)
        top = 2
        for text in texts:
            x0, y0, x1, y1 = draw.textbbox((3, top), text)
            draw.rectangle((x0 - 2, y0 - 1, x1 + 2, y1 + 1), fill=(0, 0, 0))
            draw.text((3, top), text, fill=(255, 255, 255))
            top = round(y1) + 3

    def save(self, path: Path) -> None:
        with Output(path) as output:
            self._image.save(output.stream, format="PNG")


def class_map(field: NDArray[Any]) -> Picture:
    """A map of class numbers [height, width] as a picture; class 0 is black, as background mostly is."""
    numbers = field.astype(np.int64)
    used, where = np.unique(numbers, return_inverse=True)
    palette = np.array([class_colour(int(number)) if number else (0, 0, 0) for number in used], np.uint8)
    found: Picture = palette[where.reshape(numbers.shape)]
    return found


def _over_image(found: Detection) -> NDArray[np.uint8]:
    """A mask in the op's image, 0 or 255; what sticks out is left off."""
    assert found.mask is not None
    field = np.zeros(found.mask_image, np.uint8)
    top, left = found.mask_at
    window = field[top : top + found.mask.shape[0], left : left + found.mask.shape[1]]
    window[:] = (found.mask[: window.shape[0], : window.shape[1]] != 0) * 255
    return field


def _resized(module: Any, field: NDArray[Any], size: tuple[int, int]) -> NDArray[np.uint8]:
    if field.shape == size:
        return field
    return np.asarray(module.fromarray(field).resize((size[1], size[0]), module.Resampling.NEAREST), np.uint8)


def _inside(box: Box, width: int, height: int) -> Box:
    """A box that can be drawn: numbers that are none, and edges far outside, are brought to the border."""
    x0, y0, x1, y1 = (0.0 if not np.isfinite(edge) else edge for edge in box)
    x0, x1 = sorted((min(max(x0, 0.0), width - 1.0), min(max(x1, 0.0), width - 1.0)))
    y0, y1 = sorted((min(max(y0, 0.0), height - 1.0), min(max(y1, 0.0), height - 1.0)))
    return x0, y0, x1, y1
