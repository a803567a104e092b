"""Networks of several contexts: their numbers are those of the same layers in one context, whatever lies between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

import emu
from emu.hef import open_hef
from emu.hef.formats import Shape
from emu.hef.infos import hef_infos
from emu.hef.writer import write_hef
from emu.host.computing import PARTIAL, _read
from emu.hw.config.agreement import hazards_of
from emu.net import build_hef
from emu.net.build import IntegerLayer
from emu.net.build_hef import Quantised, hef_contents
from emu.net.checks import network_hazards
from emu.net.load import load_networks
from emu.net.reading import read_group
from emu.net.units import LcuId
from emu.sequencer.configuration import read_configuration
from tests.net.test_build import NAME, RESULT, SOURCE, chain, changed, model

# what comes behind each layer of the chain: shape and zero point
BEHIND = [
    (Shape(8, 10, 3), 9),
    (Shape(8, 10, 16), 0),
    (Shape(4, 5, 16), 0),
    (Shape(2, 3, 24), 3),
    (Shape(1, 1, 20), 0),
]


def split(layers: list[IntegerLayer], places: Sequence[int]) -> bytes:
    """The chain as a file whose contexts end before the layers at `places`."""
    borders = [0, *places, len(layers)]
    contexts = [layers[first:last] for first, last in pairwise(borders)]
    between = [Quantised(f"{NAME}/left{place}", *BEHIND[place - 1], 0.1) for place in places]
    streams = [Quantised(SOURCE, Shape(8, 10, 3), 0, 1.0), *between, Quantised(RESULT, Shape(1, 1, 10), 128, 0.05)]
    return write_hef(hef_contents(NAME, contexts, streams, timestamp=0), version=2)


def images(count: int, seed: int = 2) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, (count, 8, 10, 3), dtype=np.uint8)


@pytest.mark.parametrize("places", [(), (1,), (2,), (3,), (4,), (5,), (2, 4), (1, 3, 5)])
@pytest.mark.parametrize("batch", [1, 3])
def test_contexts_and_batches_change_no_number(places: tuple[int, ...], batch: int) -> None:
    layers, frames = chain(0), images(7)
    run = emu.run(split(layers, places), inputs={SOURCE: frames}, batch=batch, compute="strict")
    found = run.outputs[RESULT].reshape(7, -1)
    assert found.tolist() == [model(layers, frame) for frame in frames]
    assert [hazard.line() for group in run.network_groups for hazard in group.hazards] == []


def test_each_context_has_its_own_layers() -> None:
    hef = open_hef(split(chain(0), (2, 4)))
    (core_op,) = hef.core_ops()
    assert hazards_of(read_configuration(hef, core_op)) == []
    networks = load_networks(hef, core_op, hef_infos(hef).network_groups[0])
    assert [len(network.layers) for network in networks] == [2, 2, 2]
    assert [network.context for network in networks] == ["dynamic_0", "dynamic_1", "dynamic_2"]
    assert not any(network_hazards(network) for network in networks)
    group = read_group(networks)
    assert group.whole and group.computable == (RESULT,) and group.layers == 6


def test_a_hazard_names_its_context() -> None:
    run = emu.run(split(changed(chain(0), 3, zero_point=1), (2, 4)), inputs={SOURCE: images(1)})
    (found,) = run.network_groups[0].hazards
    assert (found.hazard.rule, found.hazard.context) == ("zero-point-mismatch", "dynamic_1")
    assert found.hazard.unit == "cluster 4 LCU 1"


def test_what_a_context_does_not_give_the_next_cannot_use() -> None:
    """A residual word that nobody can read in context 0 leaves everything behind it uncomputed, and says so."""
    hef = open_hef(split(chain(0), (2,)))
    (core_op,) = hef.core_ops()
    first, second = load_networks(hef, core_op, hef_infos(hef).network_groups[0])
    assert first.outputs != {}
    lost = read_group((replace(first, outputs=dict.fromkeys(first.outputs)), second))
    assert not lost.computable and "another context" in lost.refused[RESULT]
    said = _read(lost, hef_infos(hef).network_groups[0], PARTIAL)
    assert RESULT in said.note and "another context" in said.note and not said.streams
    document = said.document()
    assert document is not None and set(document["refused"]) == {f"{NAME}/left2", RESULT}


def test_assumptions_hold_in_every_context_that_has_the_layer() -> None:
    hef = open_hef(split(chain(0), (3,)))
    (core_op,) = hef.core_ops()
    networks = load_networks(hef, core_op, hef_infos(hef).network_groups[0])
    from emu.net.assume import parse_assumptions

    group = read_group(networks, parse_assumptions(["4.1.padding=same"]))
    assert group.contexts[0].geometry[LcuId(4, 1)].window.padded


def test_the_order_of_records_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    layers, frames = chain(2), images(2)
    records = build_hef._crossbar
    plain = split(layers, ())
    monkeypatch.setattr(build_hef, "_crossbar", lambda stage: records(stage)[::-1])
    turned = split(layers, ())
    assert turned != plain
    found = [emu.run(data, inputs={SOURCE: frames}, compute="strict").outputs[RESULT] for data in (plain, turned)]
    assert np.array_equal(*found)


@pytest.mark.parametrize("may_jump", [True, False])
def test_skipping_changes_no_number(may_jump: bool) -> None:
    layers, frames = chain(1), images(90)
    with emu.open_device("hailo8", may_jump=may_jump) as device:
        application = device.configure(split(layers, ()), compute=True)
        device.chip.probe.one_by_one = not may_jump
        application.submit_frames(200)  # nobody looks at these
        found = application.infer({SOURCE: frames})[RESULT].reshape(90, -1)
    assert found[::30].tolist() == [model(layers, frame) for frame in frames[::30]]
