"""Every number that an estimate rests on is listed, and none is hidden in the code of the model."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any

import pytest

from emu.estimate import Estimate, estimate
from emu.estimate.assumptions import assumptions
from emu.hef import open_hef
from emu.hw import profiles
from emu.hw.timing import GroupTiming, Traffic, flow_of, network_compute
from emu.sequencer.compile import CompileOptions
from tests.conftest import ROOT, SHARED, needs_shared

CASES = [
    ("hef/face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo15h", None),
    ("hef/face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo10h", None),
    ("hef/fast_depth_ddr.v1.hailo8.hef", None, "gen1x1"),
    ("synth/hef/mc3_io.hef", None, None),
    ("synth/hef/cache1_a.hef", None, None),
    ("synth/hef/arch_h8r.hef", None, None),
]


def changed(value: Any) -> Any:
    """A value that makes a difference wherever the old one did."""
    if isinstance(value, list):
        return [changed(entry) for entry in value]
    return value * 1.7 + 1 if isinstance(value, Real) and not isinstance(value, bool) else value


@needs_shared
@pytest.mark.parametrize(("name", "device", "link"), CASES)
def test_what_changes_an_estimate_is_listed(
    name: str, device: str | None, link: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each number of the profile in turn is made larger; where the figures follow, it has to be an assumption."""
    hef = open_hef(SHARED / name)

    def figures() -> Estimate:
        return estimate(hef, CompileOptions(device=device), (1,), link=link)

    before = figures()
    listed = {entry.name for entry in before.assumptions}
    entries = profiles.quantities(before.device)
    followed = set()
    for place, quantity in entries.items():
        # sizes and identities steer the compiler and the device, not the time
        if place.startswith(("identity.", "counts.")) and place != "counts.max_operations_per_second":
            continue
        altered: Mapping[str, profiles.Quantity] = MappingProxyType(
            {**entries, place: quantity._replace(value=changed(quantity.value))}
        )
        monkeypatch.setattr(profiles, "quantities", lambda device, altered=altered: altered)
        if figures().batches != before.batches:
            followed.add(place)
    assert len(followed) > 5
    assert followed <= listed


@pytest.mark.parametrize(("bottleneck_fps", "operations", "listed"), [(0.0, 10**9, True), (100.0, 10**9, False)])
def test_the_peak_rate_is_listed_where_the_operations_are_all_there_is(
    bottleneck_fps: float, operations: int, listed: bool
) -> None:
    profile = profiles.load("hailo8")
    compute = network_compute(bottleneck_fps, 0.0, operations, profile, profile.nominal_nn_hz)
    timing = GroupTiming((flow_of(profile, compute, Traffic(0, 0), 0.0),), 0.0, compute)
    entries = assumptions(profile, timing, single_context=True, assumed_clock_hz=profile.nominal_nn_hz)
    assert ("counts.max_operations_per_second" in {entry.name for entry in entries}) == listed


# unit conversions, bounds of what is believed and shares; times, rates and costs are data of the profiles
PLAIN = {0, 1, 2, 0.9, 1000, 1e-3, 1e6, 1e9, 1e10, 20, 42, 50, 8}


@pytest.mark.parametrize(
    "module",
    ["hw/timing.py", "hw/schedule.py", "hw/workload.py", "hw/profiles/__init__.py", "estimate/estimate.py"],
)
def test_no_number_of_time_hides_in_the_model(module: str) -> None:
    tree = ast.parse((ROOT / "emu" / module).read_text(encoding="utf-8"))
    numbers = {
        node.value: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    }
    assert {number: line for number, line in numbers.items() if number not in PLAIN} == {}
