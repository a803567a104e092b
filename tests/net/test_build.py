"""Networks that emu.net.build writes, computed from their HEFs, against a model of single integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import emu
from emu.hef import open_hef
from emu.hef.formats import Shape
from emu.hef.infos import hef_infos
from emu.hef.writer import write_hef
from emu.hw.config.agreement import hazards_of
from emu.net.build import IntegerLayer, line, rectifier
from emu.net.build_hef import Quantised, hef_contents
from emu.net.checks import network_hazards
from emu.net.layers import Kind
from emu.net.load import load_networks
from emu.net.reading import read
from emu.net.shapes import Window
from emu.sequencer.configuration import read_configuration
from tests.net.test_compute import naive, one_code

NAME = "made"
SOURCE, RESULT = f"{NAME}/input_layer1", f"{NAME}/fc1"


def chain(seed: int) -> list[IntegerLayer]:
    """Scale, convolution with a zero point, pool, convolution, two dense layers over 8 x 10 x 3 maps."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> NDArray[np.int8]:
        return rng.integers(-128, 128, shape, dtype=np.int8)

    def biases(count: int) -> NDArray[np.int16]:
        return rng.integers(-3000, 3000, count, dtype=np.int16)

    return [
        IntegerLayer(Kind.SCALE, rng.integers(60, 128, 3, dtype=np.int8), biases(3), 0, 0, line(0.03, 9)),
        IntegerLayer(Kind.CONV, weights(16, 3, 3, 3), biases(16), 2, 9, rectifier(0.02), padded=True),
        IntegerLayer(Kind.MAX_POOL),
        IntegerLayer(Kind.CONV, weights(24, 3, 3, 16), biases(24), 3, 0, rectifier(0.013, 3)),
        IntegerLayer(Kind.DENSE, weights(20, 2 * 3 * 24), biases(20), 3, 3, rectifier(0.01)),
        IntegerLayer(Kind.DENSE, weights(10, 20), biases(10), 1, 0, line(0.009, 128)),
    ]


def model(layers: list[IntegerLayer], image: NDArray[np.uint8]) -> list[int]:
    """The output codes, number by number."""
    codes: NDArray[Any] = image
    for layer in layers:
        if layer.kind is Kind.MAX_POOL:
            rows, columns, channels = codes.shape
            codes = codes.reshape(rows // 2, 2, columns // 2, 2, channels).max((1, 3))
            continue
        assert layer.kernel is not None and layer.bias is not None
        kernel = layer.kernel.astype(np.int64)
        if layer.kind is Kind.SCALE:
            sums = codes.astype(np.int64) * kernel
        elif layer.kind is Kind.DENSE:
            sums = (kernel @ codes.astype(np.int64).reshape(-1))[None, None]
        else:
            sums = naive(codes, kernel, Window(3, 3, 1, layer.padded), layer.zero_point)
        totals = sums + layer.bias.astype(np.int64) * (2 << layer.level)
        flat = [one_code(int(total), layer.curve, layer.level) for total in totals.reshape(-1)]
        codes = np.array(flat, np.uint8).reshape(totals.shape)
    return [int(code) for code in codes.reshape(-1)]


def made(layers: list[IntegerLayer], features: int = 10) -> bytes:
    return write_hef(
        hef_contents(
            NAME,
            [layers],
            [Quantised(SOURCE, Shape(8, 10, 3), 0, 1.0), Quantised(RESULT, Shape(1, 1, features), 128, 0.05)],
            timestamp=0,
        ),
        version=2,
    )


@pytest.mark.parametrize("seed", range(3))
def test_computed_outputs_equal_an_independent_model_bit_for_bit(seed: int) -> None:
    layers = chain(seed)
    images = np.random.default_rng(seed).integers(0, 256, (3, 8, 10, 3), dtype=np.uint8)
    found = emu.run(made(layers), inputs={SOURCE: images}, compute="strict").outputs[RESULT]
    assert found.reshape(3, -1).tolist() == [model(layers, image) for image in images]


def test_what_is_written_is_well_formed_and_agrees() -> None:
    hef = open_hef(made(chain(0)))
    (core_op,) = hef.core_ops()
    assert hazards_of(read_configuration(hef, core_op)) == []
    network = load_networks(hef, core_op, hef_infos(hef).network_groups[0])[0]
    assert network_hazards(network) == [] and not network.unread
    reading = read(network)
    assert [one.window[:3] for one in reading.geometry.values()][1:4] == [(3, 3, 1), (2, 2, 2), (3, 3, 1)]


def changed(layers: list[IntegerLayer], position: int, **fields: Any) -> list[IntegerLayer]:
    from dataclasses import replace

    return [*layers[:position], replace(layers[position], **fields), *layers[position + 1 :]]


def network_of(data: bytes) -> Any:
    hef = open_hef(data)
    (core_op,) = hef.core_ops()
    return load_networks(hef, core_op, hef_infos(hef).network_groups[0])[0]


def test_a_zero_point_that_its_source_has_not_is_found() -> None:
    (hazard,) = network_hazards(network_of(made(changed(chain(0), 1, zero_point=10))))
    assert hazard.rule == "zero-point-mismatch" and "cluster 4 LCU 1" in hazard.where


def test_an_output_offset_that_its_stream_has_not_is_found() -> None:
    (hazard,) = network_hazards(network_of(made(changed(chain(0), 5, curve=line(0.009, 127)))))
    assert hazard.rule == "output-offset-mismatch" and "cluster 4 LCU 5" in hazard.where


def test_a_flipped_weight_changes_what_depends_on_it_alone() -> None:
    layers = chain(1)
    kernel = layers[3].kernel
    assert kernel is not None
    kernel = kernel.copy()
    kernel[5, 1, 1, 2] ^= 0x40
    image = np.random.default_rng(5).integers(0, 256, (1, 8, 10, 3), dtype=np.uint8)
    before, after = network_of(made(layers)), network_of(made(changed(layers, 3, kernel=kernel)))
    maps = [read(network).computation.maps({1: image}) for network in (before, after)]
    places = list(before.layers)
    for place in places[:3]:
        assert np.array_equal(maps[0][place], maps[1][place])
    differing = np.flatnonzero((maps[0][places[3]] != maps[1][places[3]]).any((0, 1, 2)))
    assert differing.tolist() == [5]


@pytest.mark.parametrize("count", [0, 17])
def test_chains_that_do_not_fit_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="LCUs"):
        made([IntegerLayer(Kind.MAX_POOL)] * count)


def test_weights_that_do_not_fit_are_refused() -> None:
    kernel = np.zeros((64, 3, 3, 64), np.int8)
    with pytest.raises(ValueError, match="a sub-cluster has 16384"):
        made([IntegerLayer(Kind.CONV, kernel, np.zeros(64, np.int16))])
