"""Mux trees: pieces by the counting rules, and trees the library would overrun with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from emu.dataflow.mux import Demuxer
from emu.errors import HailoError, HailoStatus
from emu.hef.formats import Format, FormatOrder, FormatType, Shape
from emu.hef.layers import LayerInfo
from tests.dataflow.specs import FILL, filled, layer_info


def edge(name: str, h: int, w: int, f: int, data_bytes: int = 1, hw_h: int | None = None) -> dict:
    return {
        "name": name,
        "shape": [h, w, f],
        "hw_shape": [hw_h or h, w, f],
        "bytes": data_bytes,
        "format": [data_bytes, 2, 0],
    }


def mux(*predecessors: dict, gcd: int, ratios: list[int]) -> LayerInfo:
    size = sum(int(np.prod(one["hw_shape"])) * one["bytes"] for one in predecessors)
    return layer_info(
        {**edge("mux", 1, 8, size // 8), "predecessors": list(predecessors), "height_gcd": gcd, "height_ratios": ratios}
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2)), min_size=1, max_size=4),
)
def test_flat_muxes_interleave_row_groups(groups: int, layers: list[tuple[int, int, int]]) -> None:
    specs = [edge(f"e{i}", groups * ratio, 8, f, size) for i, (ratio, f, size) in enumerate(layers)]
    demux = Demuxer(mux(*specs, gcd=groups, ratios=[ratio for ratio, _, _ in layers]))
    rng = np.random.default_rng(groups)
    wanted = [rng.integers(0, 256, size, np.uint8) for size in demux.edge_sizes]
    pieces = []
    for group in range(groups):
        for (ratio, f, size), data in zip(layers, wanted, strict=True):
            step = ratio * 8 * f * size
            pieces.append(data[group * step : (group + 1) * step])
    found = demux(np.concatenate(pieces))
    assert [one.tobytes() for one in found] == [one.tobytes() for one in wanted]


def test_rows_beyond_the_shape_are_skipped_but_consumed() -> None:
    """known-bugs.md 50: an edge with fewer rows than groups keeps a stale tail."""
    demux = Demuxer(mux(edge("short", 1, 8, 1, hw_h=2), edge("full", 2, 8, 1), gcd=2, ratios=[1, 1]))
    data = np.arange(32, dtype=np.uint8)
    short, full = demux(data, [filled(16), filled(16)])
    assert short.tolist() == list(range(8)) + [FILL] * 8
    assert full.tolist() == list(range(8, 16)) + list(range(24, 32))


def test_too_many_predecessors_are_refused() -> None:
    with pytest.raises(HailoError) as refusal:
        Demuxer(mux(*(edge(f"e{i}", 1, 8, 1) for i in range(5)), gcd=1, ratios=[1] * 5))
    assert refusal.value.status is HailoStatus.HAILO_INTERNAL_FAILURE


def test_groups_that_leave_an_edge_are_refused() -> None:
    with pytest.raises(HailoError) as refusal:
        Demuxer(mux(edge("a", 2, 8, 1), gcd=2, ratios=[2]))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
    assert "a" in refusal.value.message


def test_forged_group_counts_cost_an_error() -> None:
    layer = replace(mux(edge("a", 1, 8, 1), gcd=1, ratios=[0]), height_gcd=0xFFFFFFFF)
    with pytest.raises(HailoError, match="row groups"):
        Demuxer(layer)


def test_sizes_must_add_up() -> None:
    demux = Demuxer(mux(edge("a", 2, 8, 1), edge("b", 2, 8, 1), gcd=2, ratios=[1, 1]))
    with pytest.raises(HailoError, match="31 bytes given, 32 expected"):
        demux(bytes(31))
    with pytest.raises(HailoError, match="a: 15 bytes given, 16 expected"):
        demux(bytes(32), [filled(15), filled(16)])


def test_nms_layers_cannot_be_muxed() -> None:
    layer = mux(edge("a", 1, 8, 1), gcd=1, ratios=[1])
    on_chip = Format(FormatType.UINT16, FormatOrder.HAILO_NMS_ON_CHIP)
    with pytest.raises(HailoError) as refusal:
        Demuxer(replace(layer, predecessors=(replace(layer.predecessors[0], format=on_chip),)))
    assert refusal.value.status is HailoStatus.HAILO_INVALID_OPERATION


def test_ratios_must_match_the_predecessors() -> None:
    layer = mux(edge("a", 1, 8, 1), gcd=1, ratios=[1])
    for broken in (
        replace(layer, height_ratios=()),
        replace(layer, height_gcd=0),
        replace(layer, hw_shape=Shape(1, 8, 1), height_ratios=(1, 1)),
    ):
        with pytest.raises(HailoError) as refusal:
            Demuxer(broken)
        assert refusal.value.status is HailoStatus.HAILO_INVALID_ARGUMENT
