"""Picture files: which a name stands for, and what is in them. Pillow does the decoding (extra `emu[image]`)."""

from __future__ import annotations

import glob
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.errors import EmuError, UsageError
from emu.files import is_folder, is_regular, open_regular

Picture = NDArray[np.uint8]  # [height, width, 3], RGB

MAX_PIXELS = 25 << 20  # of a picture: decoded and converted it takes ten bytes a pixel, whatever a small file claims
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp"})
_MAGICS = ((b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"BM", "BMP"))


def picture_type(path: Path) -> str | None:
    """PNG, JPEG or BMP by content; None for anything else, also what cannot be opened."""
    if not is_regular(path):
        return None
    try:
        with open_regular(path) as file:
            head = file.read(16)
    except (EmuError, OSError):  # it is refused where it is read
        return None
    found = next((kind for magic, kind in _MAGICS if head.startswith(magic)), None)
    return None if found == "BMP" and path.suffix.lower() != ".bmp" else found


def stands_for_pictures(argument: str) -> bool:
    """Whether an input argument names pictures: a file, a folder, a pattern, or something that ends like one."""
    path = Path(argument)
    if is_folder(path):
        return True
    if is_regular(path):
        return picture_type(path) is not None or path.suffix.lower() in SUFFIXES
    return path.suffix.lower() in SUFFIXES or (glob.has_magic(argument) and path.suffix.lower() not in (".npy", ".bin"))


def pictures(argument: str) -> list[Path]:
    """The files of a picture, of a folder (in name order, not below it) or of a pattern; UsageError for none."""
    path = Path(argument)
    if is_folder(path):
        found = sorted(one for one in path.iterdir() if one.suffix.lower() in SUFFIXES and is_regular(one))
    elif is_regular(path) or not glob.has_magic(argument):
        return [path]
    else:
        found = sorted(Path(one) for one in glob.iglob(argument) if is_regular(one))  # noqa: PTH207 (any root)
    if not found:
        raise UsageError(f"{argument}: no picture there ({', '.join(sorted(SUFFIXES))})", file=argument)
    return found


def pillow(why: str) -> Any:
    """Pillow's Image module; UsageError that names the extra where it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        raise UsageError(f"{why} needs the extra emu[image]: Pillow is not installed") from None
    return Image


def read_picture(path: Path) -> Picture:
    """A picture as RGB, turned as its EXIF data says. UsageError for what cannot be decoded or is too large."""
    kind = picture_type(path) or (path.suffix.lower().lstrip(".").upper() if path.suffix else "")
    image_module = pillow(f"{path} is a {kind or 'picture'}; reading it")
    from PIL import ImageOps

    try:
        with open_regular(path) as file, warnings.catch_warnings():
            warnings.simplefilter("error")  # Pillow warns of bombs
            with image_module.open(file, formats=("PNG", "JPEG", "BMP")) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise ValueError(f"{width} x {height} pixels, more than {MAX_PIXELS} are not read")
                found = np.asarray(ImageOps.exif_transpose(image).convert("RGB"), np.uint8)
    except UsageError:
        raise
    except Exception as error:  # decoders raise many kinds
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(f"cannot read {path} as a picture: {text[:200]}", file=str(path)) from None
    return np.ascontiguousarray(found)
