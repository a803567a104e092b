"""Pictures in and out: sizes, colours, YUV orders, hostile files, boxes back on the picture."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from emu.dataflow.detections import Detection
from emu.dataflow.yuv import from_rgb, to_rgb
from emu.errors import UsageError
from emu.hef.formats import FormatOrder, Shape
from emu.images.colour import channels, yuv
from emu.images.draw import Canvas, class_colour, class_map, read_labels, source_box
from emu.images.fit import fitted, place
from emu.images.frames import PictureFrames, PictureOptions
from emu.images.read import pictures, read_picture, stands_for_pictures


def picture_file(path: Path, array: np.ndarray) -> Path:
    Image.fromarray(array).save(path)
    return path


def gradient(height: int, width: int) -> np.ndarray:
    rows, columns = np.mgrid[:height, :width]
    return np.stack([rows * 255 // height, columns * 255 // width, 255 - rows * 255 // height], axis=-1).astype(
        np.uint8
    )


@pytest.mark.parametrize("order", [FormatOrder.NV12, FormatOrder.NV21, FormatOrder.I420])
def test_yuv_and_back(order: FormatOrder) -> None:
    """Pictures whose 2x2 pixels are alike lose nothing but rounding; each order puts U and V elsewhere."""
    small = np.random.default_rng(2).integers(40, 200, (3, 5, 3), np.uint8)
    picture = small.repeat(2, axis=0).repeat(2, axis=1)
    frame = from_rgb(picture, order)
    assert np.abs(to_rgb(frame.astype(np.float32), 6, 10, order) - picture).max() < 3
    first, second = (frame[60:75], frame[75:]) if order is FormatOrder.I420 else (frame[60::2], frame[61::2])
    u, v = np.split(from_rgb(picture, FormatOrder.I420)[60:], 2)
    expected = (v, u) if order is FormatOrder.NV21 else (u, v)
    assert np.array_equal(first, expected[0]) and np.array_equal(second, expected[1])


@pytest.mark.parametrize("suffix", ["png", "bmp"])
def test_a_picture_comes_back_as_it_was(tmp_path: Path, suffix: str) -> None:
    array = gradient(12, 20)
    path = picture_file(tmp_path / f"a.{suffix}", array)
    assert stands_for_pictures(str(path))
    assert np.array_equal(read_picture(path), array)


def test_jpeg_grey_and_transparent_pictures_become_rgb(tmp_path: Path) -> None:
    path = picture_file(tmp_path / "a.jpg", gradient(16, 16))
    assert np.abs(read_picture(path).astype(int) - gradient(16, 16)).mean() < 12
    Image.fromarray(np.full((4, 4), 77, np.uint8)).save(tmp_path / "grey.png")
    assert (read_picture(tmp_path / "grey.png") == 77).all()
    Image.fromarray(np.full((4, 4, 4), 99, np.uint8)).save(tmp_path / "alpha.png")
    assert read_picture(tmp_path / "alpha.png").shape == (4, 4, 3)


def test_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.png", "a.png", "c.bmp"):
        picture_file(tmp_path / name, gradient(4, 4))
    (tmp_path / "notes.txt").write_text("no picture")
    assert [path.name for path in pictures(str(tmp_path))] == ["a.png", "b.png", "c.bmp"]
    assert [path.name for path in pictures(str(tmp_path / "*.png"))] == ["a.png", "b.png"]
    with pytest.raises(UsageError, match="no picture there"):
        pictures(str(tmp_path / "*.jpg"))
    assert not stands_for_pictures(str(tmp_path / "frames.npy"))
    assert not stands_for_pictures(str(tmp_path / "notes.txt"))


def png(width: int, height: int, data: bytes) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0" + bytes(30),
        b"BM" + bytes(60),
        png(100_000, 100_000, zlib.compress(bytes(1000))),
        png(8, 8, b"broken"),
        b"GIF89a" + bytes(20),
    ],
)
def test_hostile_pictures_are_one_clear_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.bmp").write_bytes(data)
    (tmp_path / "a.png").write_bytes(data)
    for name in ("a.png", "a.bmp"):
        with pytest.raises(UsageError) as caught:
            read_picture(tmp_path / name)
        assert len(caught.value.line().splitlines()) == 1


def test_letterbox_centres_on_grey_and_boxes_come_back() -> None:
    picture, placement = fitted(np.zeros((100, 200, 3), np.uint8), (64, 64), "letterbox")
    assert placement.inside == (32, 64) and (placement.top, placement.left) == (16, 0)
    assert (picture[:16] == 114).all() and (picture[48:] == 114).all() and (picture[16:48] == 0).all()
    # by hand: the input shows the picture at 0.32 of its size, 16 rows down
    assert np.allclose(placement.to_source((0, 16, 64, 48)), (0, 0, 200, 100))
    assert np.allclose(placement.to_source((16, 24, 32, 32)), (50, 25, 100, 50))
    small, placement = fitted(np.zeros((10, 5, 3), np.uint8), (64, 64), "letterbox")
    assert placement.inside == (64, 32) and small.shape == (64, 64, 3)  # enlarged too


def test_resize_and_none() -> None:
    _, placement = fitted(np.zeros((100, 200, 3), np.uint8), (50, 50), "resize")
    assert np.allclose(placement.to_source((25, 25, 50, 50)), (100, 50, 200, 100))
    exact, _ = fitted(gradient(50, 60), (50, 60), "none")
    assert np.array_equal(exact, gradient(50, 60))
    with pytest.raises(UsageError, match="200 x 100 pixels, the input takes 50 x 50"):
        place((100, 200), (50, 50), "none")


def test_colours() -> None:
    picture = gradient(4, 4)
    assert np.array_equal(channels(picture, 3, "bgr"), picture[:, :, ::-1])
    grey = channels(picture, 1, "rgb")
    assert grey.shape == (4, 4, 1) and abs(int(grey[0, 0, 0]) - round(0.114 * 255)) <= 1
    with pytest.raises(UsageError, match="4 channels"):
        channels(picture, 4, "rgb")


def test_yuv_is_bt601_in_video_range() -> None:
    # what BT.601 says of pure colours: Y, U, V
    for rgb, expected in (
        ((255, 255, 255), (235, 128, 128)),
        ((0, 0, 0), (16, 128, 128)),
        ((255, 0, 0), (81, 90, 240)),
        ((0, 255, 0), (145, 54, 34)),
        ((0, 0, 255), (41, 240, 110)),
    ):
        picture = np.full((4, 6, 3), rgb, np.uint8)
        luma, u, v = expected
        nv12, nv21, i420 = (yuv(picture, order) for order in (FormatOrder.NV12, FormatOrder.NV21, FormatOrder.I420))
        assert nv12.shape == (6, 6)
        for frame in (nv12, nv21, i420):
            assert np.abs(frame[:4].astype(int) - luma).max() <= 1
        assert np.abs(nv12.reshape(-1)[24:].reshape(-1, 2).astype(int) - (u, v)).max() <= 1
        assert np.abs(nv21.reshape(-1)[24:].reshape(-1, 2).astype(int) - (v, u)).max() <= 1
        assert np.abs(i420.reshape(-1)[24:30].astype(int) - u).max() <= 1
        assert np.abs(i420.reshape(-1)[30:].astype(int) - v).max() <= 1
    with pytest.raises(UsageError, match="even sizes"):
        yuv(np.zeros((3, 4, 3), np.uint8), FormatOrder.NV12)


def test_frames_of_an_input(tmp_path: Path) -> None:
    files = [picture_file(tmp_path / f"{index}.png", gradient(8 + index, 16)) for index in range(3)]
    frames = PictureFrames(files, Shape(8, 16, 3), FormatOrder.NHWC, PictureOptions("resize", "bgr"), "in")
    assert len(frames) == 3 and "3 pictures" in frames.source
    assert np.array_equal(frames[0].reshape(8, 16, 3), gradient(8, 16)[:, :, ::-1])
    assert frames.placement(2).source == (10, 16)
    nv12 = PictureFrames(files[:1], Shape(4, 16, 3), FormatOrder.NV12, PictureOptions(), "in")
    assert nv12.size == (8, 16) and nv12[0].size == 4 * 16 * 3
    with pytest.raises(UsageError, match="9 channels"):
        PictureFrames(files, Shape(8, 16, 9), FormatOrder.NHWC, PictureOptions(), "in")
    with pytest.raises(UsageError, match="order NC"):
        PictureFrames(files, Shape(1, 1, 3), FormatOrder.NC, PictureOptions(), "in")


def test_boxes_masks_and_maps_are_drawn(tmp_path: Path) -> None:
    placement = place((100, 200), (64, 64), "letterbox")
    mask = np.ones((8, 8), np.uint8)
    found = Detection(2, 0.9, (24 / 64, 16 / 64, 32 / 64, 32 / 64), mask, (24, 16), (64, 64))
    assert np.allclose(source_box(found, placement), (50, 25, 100, 50))
    canvas = Canvas(np.zeros((100, 200, 3), np.uint8))
    canvas.masks([found], placement)
    inside = canvas.pixels[30:45, 55:70]
    assert (inside == np.rint(np.array(class_colour(2)) / 2)).all()
    assert (canvas.pixels[60:] == 0).all()
    canvas.boxes([(source_box(found, placement), 2, "cat 0.90"), ((-1e9, float("nan"), 1e9, 1e9), 0, "x")])
    canvas.save(tmp_path / "out.png")
    drawn = np.asarray(Image.open(tmp_path / "out.png"))
    assert (drawn[26:50, 50] == class_colour(2)).all(-1).any()
    field = np.array([[0, 1], [1, 7]])
    colours = class_map(field)
    assert (colours[0, 0] == 0).all() and (colours[0, 1] == colours[1, 0]).all()
    assert tuple(colours[1, 1]) == class_colour(7)


def test_labels(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("person\n bicycle \n")
    assert read_labels(tmp_path / "labels.txt") == ("person", "bicycle")
    (tmp_path / "labels.bin").write_bytes(bytes(10))
    with pytest.raises(UsageError):
        read_labels(tmp_path / "labels.bin")
