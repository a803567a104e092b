"""Networks read whole from given files, against what is known of them from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.net.layers import Kind
from emu.net.reading import read
from emu.net.units import LcuId
from tests.conftest import DATA, needs_shared
from tests.net.given import network_of

pytestmark = needs_shared


def scenes(count: int) -> NDArray[np.uint8]:
    """Smooth scenes with a bright spot, 224 x 224 x 3, drawn by formula."""
    y, x = np.mgrid[0:224, 0:224] / 224
    found = []
    for number in range(count):
        turn = 0.7 * number
        spot = np.exp(-((x - 0.5 - 0.15 * np.sin(turn)) ** 2 + (y - 0.55 + 0.1 * np.cos(turn)) ** 2) / (2 * 0.12**2))
        ground = [0.45 + 0.25 * np.sin(3 * x + turn + c) + 0.2 * np.cos(2.5 * y - 1.3 * turn + 2 * c) for c in range(3)]
        colours = [one * (1 - spot) + spot * bright for one, bright in zip(ground, (0.85, 0.65, 0.55), strict=True)]
        found.append(np.clip(np.stack(colours, -1), 0, 1))
    return np.round(np.array(found) * 255).astype(np.uint8)


def real(network: Any, index: int, codes: NDArray[Any]) -> NDArray[np.float64]:
    quant = network.streams[index].quant
    return (codes.reshape(len(codes), -1).astype(np.float64) - quant.zp) * quant.scale


def test_hands_are_found_where_the_float_model_finds_them() -> None:
    """The float model's outputs were computed apart, with its own weights. Its weights rounded to 8 and 4 bits tensor
    by tensor, in floats, agree with it to 0.87 on these scenes: more than 0.9 is what the file's own bits give."""
    network = network_of("hand_landmark")
    with np.load(DATA / "net" / "hand_landmark_float.npz") as file:
        landmarks, score = file["landmarks"], file["score"]
    outputs = read(network).computation({3: scenes(len(landmarks))})
    found = real(network, 4, outputs[4])
    assert np.corrcoef(found.ravel(), landmarks.ravel())[0, 1] > 0.91
    assert np.abs(found - landmarks).mean() < 20  # of 224 pixels
    assert np.abs(real(network, 0, outputs[0]) - score).max() < 0.05


def test_a_rounding_layer_keeps_to_its_levels() -> None:
    """behaviour_cnn ends in the bounds of a finite scalar quantisation of 8, 6, 5, 5, 4 levels (public): each code is
    tanh(...) * half - offset, half = (levels - 1) * 1.001 / 2, offset = 0.5 of even numbers of levels."""
    network = network_of("behaviour")
    levels = np.array([8, 6, 5, 5, 4])
    half, offset = (levels - 1) * 1.001 / 2, 0.5 * (levels % 2 == 0)
    last = network.layers[LcuId(4, 8)]
    assert last.kind is Kind.SCALE and last.weights is not None
    assert np.abs(last.weights.kernel[:5] / 127 - half / half[0]).max() < 0.005
    reading = read(network)
    frames = np.random.default_rng(0).integers(0, 256, (40, 2, 100, 9), dtype=np.uint8)
    found = real(network, 0, reading.computation({1: frames})[0])
    step = 2 * network.streams[0].quant.scale
    assert (found <= half - offset + step).all() and (found >= -half - offset - step).all()
    assert np.abs(found[:, 0] - (half - offset)[0]).max() < step  # these frames drive two of them to their bounds
    assert np.abs(found[:, 1] - (-half - offset)[1]).max() < step


def test_the_shapes_of_behaviour_cnn_are_those_of_its_public_model() -> None:
    """Three convolutions of 1 x 5, padded, over 2 x 100; a mean over all of it."""
    reading = read(network_of("behaviour"))
    found = [
        (layer.kind, layer.kernel, layer.channels, reading.geometry[layer.lcu].area)
        for layer in reading.network.layers.values()
    ]
    assert found == [
        (Kind.CONV, (1, 5), 32, (2, 100)),
        (Kind.CONV, (1, 5), 64, (2, 100)),
        (Kind.CONV, (1, 5), 128, (2, 100)),
        (Kind.MEAN, (1, 1), 128, (1, 1)),
        (Kind.CONV, (1, 1), 5, (1, 1)),
        (Kind.SCALE, (1, 1), 5, (1, 1)),
    ]


def test_the_shapes_of_hand_landmark_are_those_of_its_public_model() -> None:
    """Strides and sizes of the public model's maps, in its order."""
    reading = read(network_of("hand_landmark"))
    found = []
    for layer in reading.network.layers.values():
        geometry = reading.geometry[layer.lcu]
        if layer.kind is Kind.CONV and geometry.window.stride == 2:
            found.append((layer.kernel[0], geometry.area[0]))
        assert layer.kind is not Kind.CONV or max(layer.kernel) == 1 or geometry.window.padded
    assert list(dict.fromkeys(found)) == [(3, 112), (3, 56), (5, 28), (3, 14), (5, 7)]


def faces(count: int) -> NDArray[np.uint8]:
    """Faces drawn by formula where arcface wants them, 112 x 112: eyes at (38, 52) and (74, 52), mouth at (56, 92)."""
    y, x = np.mgrid[0:112, 0:112].astype(np.float64)
    found = []
    for number in range(count):
        rng = np.random.default_rng(number)
        image = np.zeros((112, 112, 3)) + rng.uniform(40, 220, 3)

        def patch(centre: tuple[float, float], radii: tuple[float, float], colour: Any, image: Any = image) -> None:
            inside = np.exp(-(np.hypot((x - centre[0]) / radii[0], (y - centre[1]) / radii[1]) ** 6))[..., None]
            image[:] = image * (1 - inside) + inside * colour

        skin = rng.uniform((120, 80, 60), (240, 190, 160))
        hair, iris, lips = rng.uniform(10, 120, 3), rng.uniform(20, 90, 3), rng.uniform((120, 40, 50), (200, 90, 100))
        patch((56, 50), (rng.uniform(40, 50), rng.uniform(48, 60)), hair)
        patch((56, 64), (rng.uniform(30, 38), rng.uniform(40, 48)), skin)
        size = rng.uniform(4, 7)
        for eye in (38.3, 73.5):
            patch((eye, 51.6), (size + 3, 0.6 * size + 1), 235)
            patch((eye, 51.6), (size / 2, size / 2), iris)
            patch((eye, 43.6 - 0.3 * size), (size + 4, 2), hair)
        patch((56, 72), (rng.uniform(4, 8), rng.uniform(7, 11)), 0.85 * skin)
        patch((56, 92.3), (rng.uniform(12, 18), rng.uniform(3, 6)), lips)
        found.append(image + (x - 56)[..., None] * rng.uniform(-0.4, 0.4))
    return np.round(np.clip(np.array(found), 0, 255)).astype(np.uint8)


def test_each_face_is_most_like_its_own_mirror_image() -> None:
    """arcface was trained on mirrored faces too: a wrong layer makes all faces alike or all different."""
    network = network_of("arcface")
    computation = read(network).computation
    pictures = faces(8)
    embeddings = [
        real(network, 0, computation({1: images})[0])
        for images in (pictures, np.ascontiguousarray(pictures[:, :, ::-1]))
    ]
    plain, mirrored = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in embeddings)
    alike = plain @ mirrored.T
    own = alike.diagonal().copy()
    np.fill_diagonal(alike, 0)
    assert own.min() > 0.95 and alike.max() < own.min()


def test_mirrored_pictures_have_mirrored_boxes() -> None:
    """yolov8n: the distances to the left and right of a box change places, which no layer in the wrong order gives."""
    network = network_of("yolov8n")
    computation = read(network).computation
    pictures = np.full((6, 320, 320, 3), 90, np.uint8)
    pictures[:, 40:264, 50:274] = faces(6).repeat(2, 1).repeat(2, 2)

    def distances(images: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Mean distances to the left, top, right and bottom, [frames, rows, columns, 4]."""
        stream = network.streams[7]
        codes = (computation({3: images})[7].astype(np.float64) - stream.quant.zp) * stream.quant.scale
        shares = np.exp(codes.reshape(*codes.shape[:3], 4, 16))
        return (shares / shares.sum(-1, keepdims=True)) @ np.arange(16.0)

    plain, mirrored = distances(pictures), distances(np.ascontiguousarray(pictures[:, :, ::-1]))[:, :, ::-1]

    def alike(one: int, other: int) -> float:
        return float(np.corrcoef(plain[..., one].ravel(), mirrored[..., other].ravel())[0, 1])

    assert min(alike(0, 2), alike(1, 1), alike(2, 0), alike(3, 3)) > 0.85
    assert max(alike(0, 0), alike(2, 2)) < 0.4
