"""Faults meet what the core computes: damaged configuration is computed as it stands on the chip, and frames as they
came over the channels, those between contexts too."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

import emu
from emu.hef import open_hef
from emu.hef.infos import hef_infos
from emu.hw.config.execute import Executed, execute
from emu.net.frames import wire_of
from emu.net.network import Network, read_network
from emu.net.reading import read
from emu.net.streams import streams_of
from emu.net.units import LcuId
from emu.sequencer.configuration import CcwRecords, Configuration, read_configuration
from emu.sequencer.program import Program
from emu.wire.actions.edge_layers import ActivateInterContextInput, ActivateInterContextOutput
from tests.net.test_build import RESULT, SOURCE, chain, made, model
from tests.net.test_contexts import images, split
from tests.net.test_run import run_main

STREAM = 1  # the config stream that brings cluster 4, which the builder uses


def flipped(configuration: Configuration, bit: int) -> Configuration:
    """The configuration whose first list brings one bit the wrong way round, counted over its records of a stream."""
    at: int | None = bit // 8
    steps = []
    for step in configuration.lists[0].steps:
        if isinstance(step, CcwRecords) and step.channel == STREAM and at is not None:
            if at < len(step.data):
                data = bytearray(step.data)
                data[at] ^= 1 << bit % 8
                step, at = step._replace(data=bytes(data)), None
            else:
                at -= len(step.data)
        steps.append(step)
    first = replace(configuration.lists[0], steps=tuple(steps))
    return replace(configuration, lists=(first, *configuration.lists[1:]))


class Damaged:
    """A built file, and what a chip holds once bits of it were flipped on their way, worked out without a device."""

    def __init__(self) -> None:
        self.data = made(chain(1))
        hef = open_hef(self.data)
        (core_op,) = hef.core_ops()
        self.configuration = read_configuration(hef, core_op)
        self.streams = streams_of(hef_infos(hef).network_groups[0].layers[0])
        self.bits = 8 * sum(
            len(step.data)
            for step in self.configuration.lists[0].steps
            if isinstance(step, CcwRecords) and step.channel == STREAM
        )
        self.whole = self.network(execute(self.configuration))

    def network(self, executed: Executed) -> Network:
        return read_network(executed, self.streams)

    def with_flip(self, bit: int) -> Network | None:
        """None where a program breaks off, so that no frame ever comes out."""
        executed = execute(flipped(self.configuration, bit))
        runs = [run for listed in executed.runs for run in listed.runs]
        if not runs or any(run.program.broken is not None or run.effects.wrong_codes for run in runs):
            return None
        return self.network(executed)

    def changed(self, network: Network) -> dict[LcuId, int]:
        """How many weights of each layer differ from the file's."""
        found = {}
        for lcu, layer in self.whole.layers.items():
            other = network.layers[lcu].weights
            if layer.weights is not None and other is not None:
                number = int((layer.weights.kernel != other.kernel).sum())
                found |= {lcu: number} if number else {}
        return found

    def run(self, frames: NDArray[np.uint8], bit: int | None = None) -> NDArray[Any]:
        inject = () if bit is None else (f"flip-ccw:{STREAM}={bit}",)
        outputs = emu.run(self.data, inputs={SOURCE: frames}, compute="strict", inject=inject).outputs
        return np.asarray(outputs[RESULT]).reshape(len(frames), -1)


@pytest.fixture(scope="module")
def damaged() -> Damaged:
    return Damaged()


def test_outputs_are_computed_from_what_the_chip_holds(damaged: Damaged) -> None:
    """Bits all over the configuration: a run gives what the damaged bytes hold, read without a device."""
    frames = images(2, seed=1)
    plain = damaged.run(frames)
    weights = changed = 0
    for bit in np.random.default_rng(0).integers(0, damaged.bits, 40).tolist():
        network = damaged.with_flip(bit)
        reading = None if network is None else read(network)
        if network is None or reading is None or not reading.whole:
            continue
        wanted = reading.computation({1: frames})[0].reshape(2, -1)
        found = damaged.run(frames, bit)
        assert np.array_equal(found, wanted), bit
        weights += bool(damaged.changed(network))
        changed += not np.array_equal(found, plain)
    assert weights >= 15 and changed >= 2


def test_only_what_depends_on_a_flipped_weight_changes(damaged: Damaged) -> None:
    """A weight of the last layer: one output of every frame may change, the others do not; and one does."""
    frames = images(4, seed=3)
    plain = damaged.run(frames)
    last = LcuId(4, 5)
    seen: set[int] = set()
    for bit in range(113_000, damaged.bits - 64, 61):  # the last layer's memory comes last
        network = damaged.with_flip(bit)
        if network is None or not read(network).whole or damaged.changed(network) != {last: 1}:
            continue
        before, after = damaged.whole.layers[last].weights, network.layers[last].weights
        assert before is not None and after is not None
        output, _ = (before.kernel != after.kernel).nonzero()
        differing = set(np.flatnonzero((damaged.run(frames, bit) != plain).any(0)).tolist())
        assert differing <= {int(output[0])}
        seen |= differing
        if len(seen) > 1:
            return
    raise AssertionError("no flipped weight changed anything")


def test_what_can_no_longer_be_computed_is_synthetic_and_said_to_be(damaged: Damaged, tmp_path: Any) -> None:
    """A bias line whose eight values disagree: the layer is not read any more, and no output is called computed."""
    path = tmp_path / "made.hef"
    path.write_bytes(damaged.data)
    for bit in np.random.default_rng(0).integers(0, damaged.bits, 200).tolist():
        network = damaged.with_flip(bit)
        if network is not None and "bias lines" in "".join(network.unread.values()):
            break
    else:
        raise AssertionError("no bias was hit")
    code, out, err = run_main(["run", str(path), "--compute=strict", f"--inject=flip-ccw:{STREAM}={bit}", "--json"])
    (group,) = json.loads(out)["network_groups"]
    assert code == 0 and "the chip holds something else than the file says" in err
    assert group["computed"]["streams"] == [] and "bias lines" in group["computed"]["refused"][RESULT]
    assert {one["name"]: one["data"] for one in group["streams"]}[RESULT] == "synthetic"


def test_a_bit_flipped_in_an_input_is_computed_with() -> None:
    layers, frames = chain(0), images(3)
    for place in range(0, 240, 7):  # not every input matters
        wrong = frames.copy()
        wrong[1].reshape(-1)[place] ^= 1 << 7
        if model(layers, wrong[1]) != model(layers, frames[1]):
            break
    row, column, channel = np.unravel_index(place, (8, 10, 3))
    bit = 8 * input_byte(made(layers), int(row), int(column), int(channel)) + 7
    inject = (f"flip-data:{SOURCE}#1={bit}",)
    found = emu.run(made(layers), inputs={SOURCE: frames}, compute="strict", inject=inject).outputs[RESULT]
    assert model(layers, wrong[1]) != model(layers, frames[1])
    assert found.reshape(3, -1).tolist() == [model(layers, frame) for frame in wrong]


@pytest.mark.parametrize("batch", [1, 3])
def test_a_bit_flipped_between_contexts_is_computed_with(batch: int) -> None:
    """Codes of the dense layer's input, as context 0 left them and as context 1 takes them up: either way one is
    wrong, of that frame alone."""
    layers, frames = chain(0), images(6)
    data = split(layers, (5,))
    plain = emu.run(data, inputs={SOURCE: frames}, batch=batch, compute="strict")
    wanted = np.asarray(plain.outputs[RESULT]).reshape(6, -1)
    assert wanted.tolist() == [model(layers, frame) for frame in frames]
    channels = inter_context_channels(emu.compile_hef(open_hef(data)))
    assert len(channels) == 2
    kernel = layers[5].kernel
    assert kernel is not None
    for channel in channels:
        run = emu.run(
            data, inputs={SOURCE: frames}, batch=batch, compute="strict", inject=(f"flip-data:{channel}#4={8 * 3 + 6}",)
        )
        found = np.asarray(run.outputs[RESULT]).reshape(6, -1)
        differing = (found != wanted).any(1)
        assert differing.tolist() == [False, False, False, False, True, False]
        # the code changed by 64: each output by its weight times that
        rises = (found[4].astype(int) - wanted[4]) * np.sign(kernel[:, 3].astype(int))
        assert (rises >= 0).all() or (rises <= 0).all()


def inter_context_channels(program: Program) -> list[int]:
    """The channels of a program that lead from one context to the next, by their packed ids."""
    actions = [
        one.entry
        for group in program.network_groups
        for part in group.contexts
        for one in part.actions(program.runtime)
    ]
    found = [
        one.packed_vdma_channel_id
        for one in actions
        if isinstance(one, ActivateInterContextInput | ActivateInterContextOutput)
    ]
    return list(dict.fromkeys(found))


def input_byte(data: bytes, row: int, column: int, channel: int) -> int:
    """Where a value of the input lies in a frame on the wire."""
    stream = next(iter(streams_of(hef_infos(open_hef(data)).network_groups[0].layers[0]).values()))
    codes = np.zeros(stream.shape, np.uint8)
    codes[row, column, channel] = 1
    return wire_of(stream, codes).index(1)


@pytest.mark.parametrize("places", [(), (3,), (1, 3, 5)])
def test_a_chip_that_holds_what_the_file_says_computes_the_same(places: tuple[int, ...]) -> None:
    """A fault that never strikes: the network is read from the chip all the same, context by context."""
    layers, frames = chain(0), images(4)
    inject = (f"flip-ccw:{STREAM}={8 * 10**9}",)
    found = emu.run(split(layers, places), inputs={SOURCE: frames}, batch=2, compute="strict", inject=inject)
    assert np.asarray(found.outputs[RESULT]).reshape(4, -1).tolist() == [model(layers, frame) for frame in frames]
