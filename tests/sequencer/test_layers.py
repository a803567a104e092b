"""Registers and memory of single edge layers, at bounds that no capture reaches (vdma.md 3.1, 3.6, 4)."""

from __future__ import annotations

import math
from random import Random
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from emu.chips.consts import HwConsts
from emu.chips.runtimes import device_profile, runtime_names, runtime_profile
from emu.errors import HailoError
from emu.hef.formats import Shape
from emu.sequencer.caches import CacheManager
from emu.sequencer.channels import LayerType
from emu.sequencer.host import HostMemory, HostSettings
from emu.sequencer.layers import EdgeLayer
from emu.sequencer.periph import _optimize_credits, calculate_periph
from emu.sequencer.program import Direction
from emu.sequencer.requirements import boundary_queue_size


def edge_layer(kind: LayerType, direction: Direction, shape: Shape, buffer: tuple[int, int] = (8, 1)) -> EdgeLayer:
    """A layer of bytes; `buffer`: core bytes per buffer and core buffers per frame."""
    return EdgeLayer(
        name="net/layer",
        type=kind,
        direction=direction,
        stream_index=0,
        engine=0,
        network_index=0,
        context_index=0,
        hw_shape=shape,
        data_bytes=1,
        core_bytes_per_buffer=buffer[0],
        core_buffers_per_frame=buffer[1],
        feature_padding_payload=0,
        max_shmifo_size=0,
        nms_info=None,
        connected_context=0,
        connected_stream=0,
        connected_engine=0,
        min_buffered_rows=1,
        cache_id=3,
        hw_frame_size=shape.elements,
        transfer_size=shape.elements,
        transfers_per_frame=1,
    )


@pytest.mark.parametrize("runtime", runtime_names())
@pytest.mark.parametrize(
    ("core_buffers", "periph_buffers"), [(100, 200), (32767, 65534), (32768, 65535), (65535, 65535)]
)
def test_the_periph_buffers_of_a_ddr_frame_stop_at_16_bits(
    runtime: str, core_buffers: int, periph_buffers: int
) -> None:
    device = device_profile("hailo8")
    layer = edge_layer(LayerType.DDR, Direction.D2H, Shape(1, 512, 1), (1024, core_buffers))
    registers = calculate_periph(layer, 512, runtime_profile(runtime), device, device.hw_consts, False)
    assert (registers.periph_bytes_per_buffer, registers.periph_buffers_per_frame) == (512, periph_buffers)


@pytest.mark.parametrize(("burst", "fits"), [(16, True), (17, False)])
def test_the_bursts_of_an_nms_frame_stop_at_16_bits(burst: int, fits: bool) -> None:
    """65,535 buffers of a box each are the most (vdma.md 4)."""
    device, runtime = device_profile("hailo8"), runtime_profile("5.2")
    nms = SimpleNamespace(bbox_size=burst, burst_size=1)
    boxes = 0xFFFF if fits else 0x10000
    layer = replace(edge_layer(LayerType.BOUNDARY, Direction.D2H, Shape(1, boxes, burst)), nms_info=nms)

    def registers() -> tuple[int, int]:
        found = calculate_periph(layer, 512, runtime, device, device.hw_consts, False)
        return found.periph_bytes_per_buffer, found.periph_buffers_per_frame

    if fits:
        assert registers() == (burst, boxes)
    else:
        with pytest.raises(HailoError, match="NMS periph"):
            registers()


def fewer_buffers(size: int, buffers: int, consts: HwConsts) -> tuple[int, int]:
    """vdma.md 4, the power-mode optimisation, as it stands there."""
    frame = size * buffers
    most = max(consts.max_acceptable_bytes_per_buffer, size)
    for count in range(math.ceil(frame / most), min(frame, consts.max_periph_buffers_per_frame)):
        divides = frame // consts.fifo_word_granularity % count == 0
        if divides and frame / count <= consts.max_periph_bytes_per_buffer:
            return frame // count, count
    return (size, buffers) if consts.max_periph_buffers_per_frame < frame else (1, frame)


@pytest.mark.parametrize("seed", range(20))
def test_fewer_larger_buffers(seed: int) -> None:
    rng = Random(seed)
    for _ in range(20):
        size, buffers = 8 * rng.randrange(1, 300), rng.randrange(1, 400)
        consts = replace(
            device_profile("hailo8").hw_consts,
            max_acceptable_bytes_per_buffer=rng.choice((256, 1000, 2048, 3000)),
            max_periph_bytes_per_buffer=rng.choice((1500, 2048, 16383)),
        )
        assert _optimize_credits(size, buffers, consts) == fewer_buffers(size, buffers, consts), (size, buffers, consts)


def pair(reads: int, writes: int) -> list[EdgeLayer]:
    """Both sides of a cache: entries of 64 bytes that it reads and writes in a frame."""
    return [
        edge_layer(LayerType.CACHE, Direction.H2D, Shape(1, reads, 64)),
        edge_layer(LayerType.CACHE, Direction.D2H, Shape(1, writes, 64)),
    ]


@pytest.mark.parametrize("features", [32, 128])
def test_a_cache_is_as_large_in_every_network_group(features: int) -> None:
    manager = CacheManager(HostMemory(HostSettings()), runtime_profile("4.23"))
    manager.group(pair(60, 4))
    manager.group(pair(63, 1))
    other = [
        edge_layer(LayerType.CACHE, direction, Shape(1, 32, features)) for direction in (Direction.H2D, Direction.D2H)
    ]
    with pytest.raises(HailoError, match="in another network group 4096") as refusal:
        manager.group(other)
    assert refusal.value.number == 8


def test_a_queue_beyond_16_bits_is_refused_by_4_23_and_cut_off_by_5_2() -> None:
    """Two frames of 1,000 transfers in a batch of 63 are 126,000 at least (vdma.md 3.1)."""
    device = device_profile("hailo8")
    assert boundary_queue_size(runtime_profile("5.2"), device, 8, 1000, 63) == 126_000 - 65_536
    with pytest.raises(HailoError, match="126000") as refusal:
        boundary_queue_size(runtime_profile("4.23"), device, 8, 1000, 63)
    assert refusal.value.number == 2
