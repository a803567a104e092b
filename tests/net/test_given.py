"""What network.md measured, over the given real files: 8 layouts, 511 LCUs."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from emu.hw.config.addresses import L3_BLOCK
from emu.net.checks import network_hazards, zero_points
from emu.net.concat import input_order
from emu.net.dataflow import Rows, Source, Stream
from emu.net.l3 import blocks_of_cluster, runs_of
from emu.net.layers import Kind
from emu.net.network import Network
from emu.net.reading import read
from emu.net.units import LcuId, aligners_read, units_of_cluster
from emu.net.weights import groups_of, memories, words_in_l2
from tests.conftest import needs_shared
from tests.net.given import given, network_of

pytestmark = needs_shared


def test_every_lcu_owns_units_and_the_owners_are_the_enabled_lcus() -> None:
    lcus = 0
    for one in given():
        for run in one.executed.runs[0].runs:
            units = units_of_cluster(one.executed.image, run.cluster)
            assert {lcu for lcu, owned in units.items() if any(map(bool, vars_of(owned)))} == set(run.effects.lcus)
            assert not any(units[lcu].missing for lcu in run.effects.lcus), one.name
            lcus += len(run.effects.lcus)
    assert lcus == 511


def vars_of(owned: object) -> list[object]:
    return [getattr(owned, name) for name in ("sub_clusters", "apus", "aligners")]


def test_the_units_of_an_lcu_agree() -> None:
    assert not [
        (one.name, lcu, registers.problem)
        for one in given()
        for lcu, registers in one.network.lcus.items()
        if "disagree" in registers.problem or "level" in registers.problem
    ]


def test_every_edge_has_its_return_edge_and_every_row_is_used() -> None:
    edges = 0
    for one in given():
        for run in one.executed.runs[0].runs:
            rows = Rows(one.executed.image, run.cluster)
            assert set(rows.used("LCU")) == set(run.effects.lcus)
            assert not list(rows.one_way())
            assert None not in rows.input_counts().values()
            edges += sum(len(list(rows.row(node))) for node in rows.rows)
    assert edges > 1000


def test_every_input_of_every_lcu_is_traced() -> None:
    inputs = Counter[str]()
    for one in given():
        assert not one.network.dataflow.unknown, one.name
        known = {Stream(index) for index, stream in one.network.streams.items() if stream.is_input}
        known |= {Stream(edge.sys_index) for edge in one.configuration.lists[1].streams if edge.is_input}
        known |= {Stream(9)}  # fast_depth: the second half of a double-wide DDR stream
        for sources in one.network.dataflow.inputs.values():
            assert sources and None not in sources
            inputs[one.name] += len(sources)
            assert all(isinstance(source, LcuId) or source in known for source in sources), (one.name, sources)
    assert sum(inputs.values()) == 663


def test_blocks_of_data_memory_order_all_inputs() -> None:
    several = 0
    for one in given():
        for lcu, registers in one.network.lcus.items():
            if len(one.network.dataflow.inputs[lcu]) > 1:
                several += 1
                assert input_order(one.executed.image, one.network.dataflow, registers) is not None, (one.name, lcu)
    assert several == 97


def test_no_agreement_is_broken_and_none_is_vacuous() -> None:
    compared = Counter[str]()
    for one in given():
        assert network_hazards(one.network) == [], one.name
        points = zero_points(one.network)
        for layer in one.network.layers.values():
            if layer.kind is Kind.CONV and len(layer.inputs) == 1:
                wanted = points.get(layer.inputs[0])
                compared["zero points"] += len(layer.lcus) * (wanted is not None)
                compared["not 0"] += len(layer.lcus) * bool(wanted)
        for index, source in one.network.outputs.items():
            assert source is not None, (one.name, index)
            said = one.network.streams[index].zero_point
            compared["outputs"] += said is not None and points[source] == said
    assert compared["outputs"] == sum(len(one.group.output_streams) for one in given()) == 18
    assert (compared["zero points"], compared["not 0"]) == (289, 112)


def test_registers_say_words_and_groups_and_memory_agrees() -> None:
    """Biases and weight words fill the memory of an LCU exactly, or go on in L3 (network.md 13)."""
    counts = Counter[str]()
    for one in given():
        for registers in one.network.lcus.values():
            if registers.kind not in (Kind.CONV, Kind.DENSE) or registers.in_parts:
                continue
            groups = groups_of(registers)
            bias = 64 if registers.kind is Kind.DENSE else 128
            size = -(-(bias * groups + registers.bits * registers.words) // 64) * 64
            counts["in L3" if size > registers.size else "fits"] += 1
            counts["four bits"] += registers.bits == 4
            assert size >= registers.size, (one.name, registers.lcu)
    assert counts == {"fits": 295, "in L3": 27, "four bits": 8}


def test_each_data_block_of_l3_names_the_lcu_that_reads_it() -> None:
    """All that keep weights or factors in L3 have the blocks that they need, and nobody else has any."""
    blocks = lcus = 0
    for one in given():
        image = one.executed.image
        for run in one.executed.runs[0].runs:
            named = blocks_of_cluster(image, run.cluster)
            data = {block for block in image.l3[run.cluster].written if block not in run.program.blocks}
            assert {block for own in named.values() for block in own} == data, (one.name, run.cluster)
            blocks += len(data)
            for number, own in named.items():
                registers = one.network.lcus[LcuId(run.cluster, number)]
                needed = -(-registers.bits * (registers.words - words_in_l2(registers)) // L3_BLOCK)
                units = [unit for unit, _ in memories(image, registers)]
                assert len(own) == needed * len(units)
                assert runs_of(image, registers.lcu, units, needed) is not None, (one.name, registers.lcu)
                lcus += 1
    assert (blocks, lcus) == (151, 34)


def test_every_sub_cluster_reads_an_aligner_of_its_lcu() -> None:
    units = 0
    for one in given():
        for lcu, registers in one.network.lcus.items():
            read_from = aligners_read(one.executed.image, lcu.cluster)
            assert {read_from[unit] for unit in registers.units.sub_clusters} <= set(registers.units.aligners)
            units += len(registers.units.sub_clusters)
    assert units == 1120


def test_curves_are_continuous_in_half_units_of_the_accumulator() -> None:
    """Where two lines of a curve meet at a break they give the same code; steps of constants aside."""
    jumps = []
    for one in given():
        for curve in {registers.curve for registers in one.network.lcus.values()}:
            lines = [
                (m / 1024 * 2.0**-e, offset / 8) for (m, e), offset in zip(curve.slopes, curve.offsets, strict=True)
            ]
            for place, brk in enumerate(curve.breaks):
                (slope, offset), (next_slope, next_offset) = lines[place], lines[place + 1]
                if brk not in (0, 0x7FFF) and slope:
                    jumps.append(abs(slope * brk + offset - next_slope * brk - next_offset))
    assert len(jumps) > 250 and max(jumps) < 0.6


def test_biases_of_sums_hold_the_zero_points_of_both_maps() -> None:
    """bias = - sum of factor * zero point in half units, channel by channel: so inputs and channels are in order."""
    channels = 0
    for one in given():
        points = zero_points(one.network)
        for layer in one.network.layers.values():
            if layer.kind is not Kind.ADD:
                continue
            assert layer.weights is not None and not layer.unread
            zero = np.array([points[source] for source in layer.inputs], np.float64)
            wanted = -(layer.weights.kernel @ zero) / 2
            assert (np.abs(wanted - layer.weights.bias) <= 0.5).all(), (one.name, layer.lcu)
            assert not zero.any() or (np.abs(wanted) > 100).all()  # so that nothing agrees by chance
            channels += len(wanted) if zero.any() else 0
    assert channels == 336


def dead_outputs(network: Network, source: Source) -> NDArray[np.bool_]:
    """Channels of a rectified convolution whose kernels are empty: nothing can depend on them."""
    assert isinstance(source, LcuId)
    layer = network.layers[source]
    if layer.kind is Kind.COPY:
        return np.concatenate([dead_outputs(network, part) for part in layer.inputs])
    assert layer.weights is not None
    kernel = layer.weights.kernel
    return ~kernel.reshape(len(kernel), -1).any(1)[: layer.channels]


def test_nobody_reads_what_is_always_zero() -> None:
    """arcface: of each layer behind a convolution the channels that it does not read are the empty ones of its source,
    through slices, joins, groups and sub-clusters: so all channels of all layers are in their places."""
    network = network_of("arcface")
    layers = dead = 0
    for layer in network.layers.values():
        if layer.kind is not Kind.CONV or layer.inputs[0] == LcuId(3, 0):
            continue
        assert layer.weights is not None
        kernel = layer.weights.kernel
        empty = ~(kernel.reshape(len(kernel), -1).any(1) if layer.per_channel else kernel.any((0, 1, 2)))
        empty = empty[: layer.channels] if layer.per_channel else empty
        wanted = dead_outputs(network, layer.inputs[0])[layer.first : layer.first + len(empty)]
        assert np.array_equal(empty, wanted), layer.lcu
        layers += 1
        dead += int(empty.sum())
    assert (layers, dead) == (61, 1043)


def test_generators_count_the_channels_that_kernels_have() -> None:
    """But for convolutions of unfolded maps (driving_partial), and halves of channels in two sub-clusters."""
    counts = Counter[str]()
    for one in given():
        for layer in one.network.layers.values():
            if layer.kind is not Kind.CONV or layer.weights is None or not layer.walk.channels:
                continue
            own = layer.channels if layer.per_channel else layer.weights.kernel.shape[-1] // layer.walk.groups
            assert own is not None
            counts["alike" if own == layer.walk.channels else one.name.partition("_")[0]] += 1
            assert own == layer.walk.channels or not layer.walk.channels % own or own == 2 * layer.walk.channels
    assert counts["alike"] > 200 and set(counts) <= {"alike", "driving", "arcface", "fast", "hand"}, counts


def test_strides_of_two_are_padded_as_programs_say() -> None:
    """hand_landmark's public model pads behind, as TensorFlow does; those of the others, as PyTorch does, before."""
    counts = Counter[tuple[str, bool, int]]()
    for one in given():
        geometry = read(one.network).geometry
        for lcu, found in geometry.items():
            if found.window.padded and found.window.stride == 2 and one.network.layers[lcu].kind is Kind.CONV:
                awaited = one.network.layers[lcu].registers.awaited
                counts[one.name.partition("_")[0], found.window.centred, found.window.rows - awaited] += 1
    assert counts == {
        ("arcface", True, 1): 10,
        ("fast", True, 1): 10,
        ("hand", False, 0): 6,
        ("hand", False, 1): 7,
        ("yolov8n", True, 1): 5,
        ("yolov8n", True, 3): 2,  # kernels in two parts, whose programs do not say it
    }


def test_biases_hold_the_zero_point_of_the_input() -> None:
    """bias = real bias - zero point * sum of weights: what it should be wherever the zero point is far from 0."""
    seen = []
    for one in given():
        for layer in one.network.layers.values():
            weights, point = layer.weights, layer.registers.zero_point
            if layer.kind is not Kind.CONV or weights is None or point < 100 or weights.outputs < 64:
                continue
            sums = weights.kernel.reshape(weights.outputs, -1).astype(np.int64).sum(1)
            seen.append(np.corrcoef(sums, weights.bias)[0, 1])
    assert len(seen) == 29 and np.median(seen) < -0.9


def test_what_is_computed() -> None:
    """Every given file of a Hailo-8 or 8L."""
    assert all(read(one.network).whole for one in given())
    assert sum(len(one.network.lcus) for one in given()) == 511
