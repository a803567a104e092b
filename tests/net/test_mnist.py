"""mnist_cnn computed from its HEF against its float model, which was computed without the HEF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu.net.frames import ComputedFrames, codes_of
from emu.net.reading import GroupReading, read
from emu.net.units import LcuId
from tests.net.given import network_of

INPUT, OUTPUT = "MNIST_CNN/input_layer1", "MNIST_CNN/maxpool3"


@pytest.fixture(scope="module")
def digits(shared: Path) -> dict[str, NDArray[Any]]:
    with np.load(shared / "network" / "mnist_cnn.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def computed(digits: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """The output in real units, by way of the bytes of its streams."""
    network = network_of("mnist_cnn")
    stream = network.streams[0]
    frames = ComputedFrames(GroupReading((read(network),)))([{INPUT: image.tobytes()} for image in digits["images"]])
    codes = np.stack([codes_of(stream, frame[OUTPUT]) for frame in frames])
    return (codes.astype(np.float64) - stream.quant.zp) * stream.quant.scale


def test_outputs_are_those_of_the_float_model(digits: dict[str, NDArray[Any]], computed: NDArray[np.float64]) -> None:
    wanted = digits["float_output"]
    step = network_of("mnist_cnn").streams[0].quant.scale
    assert np.corrcoef(computed.ravel(), wanted.ravel())[0, 1] >= 0.9998
    assert np.abs(computed - wanted).mean() <= 0.5 * step
    slope, _ = np.polyfit(wanted.ravel(), computed.ravel(), 1)
    assert abs(slope - 1) <= 0.005


def test_digits_are_those_of_the_float_model(digits: dict[str, NDArray[Any]], computed: NDArray[np.float64]) -> None:
    def found(output: NDArray[Any]) -> NDArray[Any]:
        return (output.reshape(len(output), -1) @ digits["dense_kernel"] + digits["dense_bias"]).argmax(1)

    assert (found(computed) == found(digits["float_output"])).mean() >= 0.995
    assert (found(computed) == digits["labels"]).mean() >= 0.98


def test_batches_change_nothing(digits: dict[str, NDArray[Any]]) -> None:
    frames = ComputedFrames(GroupReading((read(network_of("mnist_cnn")),)))
    images = [{INPUT: image.tobytes()} for image in digits["images"][:7]]
    assert frames(images) == [frames([image])[0] for image in images]


def test_two_lcus_are_one_layer_cut_by_columns() -> None:
    layers = network_of("mnist_cnn").layers
    assert layers[LcuId(4, 0)].lcus == (LcuId(4, 0), LcuId(5, 14))
    assert [layer.weights.kernel.shape for layer in layers.values() if layer.weights is not None] == [
        (8, 3, 3, 1),
        (16, 3, 3, 8),
        (16, 3, 3, 16),
    ]


def test_pools_of_sums_give_what_pools_of_codes_give(digits: dict[str, NDArray[Any]]) -> None:
    network = network_of("mnist_cnn")
    computation = read(network).computation
    inputs = {1: digits["images"][:20]}
    source = network.outputs[0]
    assert source is not None
    assert np.array_equal(computation(inputs)[0], computation.maps(inputs)[source])
