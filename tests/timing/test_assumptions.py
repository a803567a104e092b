"""Every number that an estimate rests on is listed, and none is hidden in the code of the model."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from numbers import Real
from types import MappingProxyType
from typing import Any

import pytest

from emu.catalog import Quantity
from emu.chips import chips
from emu.hef import Hef, open_hef
from emu.host.estimate import compile_batch, estimate
from emu.sequencer.compile import CompileOptions
from emu.timing.estimate import Compiled, Conditions, Estimate, estimate_compiled
from tests.conftest import ROOT, SHARED, needs_shared
from tests.timing.cases import camera_network

CASES = [
    ("hef/face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo15h", None),
    ("hef/face_landmarks_lite_2ctx.v3.hailo1xh.hef", "hailo10h", None),
    ("hef/fast_depth_ddr.v1.hailo8.hef", None, "gen1x1"),
    ("synth/hef/mc3_io.hef", None, None),
    ("synth/hef/cache1_a.hef", None, None),
    ("synth/hef/arch_h8r.hef", None, None),
]


def changed(value: Any, factor: float) -> Any:
    """A value that makes a difference wherever the old one did."""
    if isinstance(value, list):
        return [changed(entry, factor) for entry in value]
    return (value or 1) * factor if isinstance(value, Real) and not isinstance(value, bool) else value


def demands(compiled: Sequence[Compiled]) -> list[object]:
    """All that an estimate takes from the compiled groups: their programs, and which sequencer programs these start."""
    found: list[object] = []
    for one in compiled:
        demand = one.demand
        found += [one.runtime, one.device, one.batch, demand._program, demand.well_formed]
        found += [demand.activation, demand.preliminary, demand.dynamic]
    return found


@needs_shared
@pytest.mark.parametrize(("name", "device", "link"), CASES)
def test_an_estimate_lists_every_number_that_it_rests_on_and_no_other(
    name: str, device: str | None, link: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_lists_all(open_hef(SHARED / name), device, link, (1,) if "cache" in name else (1, 8), monkeypatch)


@pytest.mark.parametrize("link", [None, "gen1x1"])
def test_so_it_does_where_early_outputs_keep_the_link_busy(link: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far apart a network's outputs come is told by the rows of a kernel, and shows in its latency."""
    found = assert_lists_all(open_hef(camera_network(latency_s=0.02)), None, link, (1,), monkeypatch)
    assert ("compute.kernel_rows" in found) == (link is not None)


def assert_lists_all(
    hef: Hef, device: str | None, link: str | None, batches: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    """Each number of the profile in turn is made larger and smaller: listed is exactly what the figures follow."""

    def compiled() -> list[Compiled]:
        return [compile_batch(hef, CompileOptions(device=device), batch) for batch in batches]

    def use(altered: Mapping[str, Quantity]) -> None:
        monkeypatch.setattr(chips, "quantities", lambda device, host=None, costs=None: altered)

    def figures() -> Estimate:
        return estimate_compiled(hef, plain, Conditions(link=link))

    plain = compiled()
    before = figures()
    entries = chips.quantities(before.device)
    listed = {entry.name for entry in before.assumptions} & set(entries)
    # sizes and identities steer the compiler and the device, not the time
    tried = [
        place
        for place in entries
        if not place.startswith(("identity.", "counts.", "driver.")) or place == "counts.max_operations_per_second"
    ]
    followed = set()
    for factor in (1.7e3, 0.7e-3):
        altered = {place: entries[place]._replace(value=changed(entries[place].value, factor)) for place in tried}
        use(MappingProxyType({**entries, **altered}))
        assert demands(compiled()) == demands(plain), "the compiler follows them: each has to be compiled with"
        for place in tried:
            use(MappingProxyType({**entries, place: altered[place]}))
            if figures().batches != before.batches:
                followed.add(place)
    assert len(followed) > 5
    assert followed == listed
    return followed


@needs_shared
def test_guesses_are_ranked_by_what_they_do() -> None:
    """Each guess at half and twice its value, estimated here."""
    hef = open_hef(SHARED / CASES[0][0])
    result = estimate(hef, CompileOptions(device="hailo15h"), (1,))
    entries = chips.quantities("hailo15h")
    spans = []
    for guess in result.guesses:
        assert entries[guess.name].basis == "guessed"
        assert guess.low_fps <= result.batches[0].fps <= guess.high_fps
        spans.append(guess.high_fps / guess.low_fps)
    assert spans == sorted(spans, reverse=True)
    assert spans[0] > 1.1
    quiet = {entry.name for entry in result.assumptions if entry.source.startswith("guessed")}
    assert {guess.name for guess in result.guesses} <= quiet


@needs_shared
@pytest.mark.parametrize(("name", "device", "link"), [CASES[0], CASES[2], ("synth/hef/mc3_io.hef", None, "gen1x1")])
def test_the_interval_is_what_the_guesses_make_of_the_figure(
    name: str, device: str | None, link: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each guess of the profile at half and twice its value, estimated here; the least and the most at each batch."""
    hef = open_hef(SHARED / name)

    compiled = [compile_batch(hef, CompileOptions(device=device), batch) for batch in (1, 8)]

    def figures() -> Estimate:
        return estimate_compiled(hef, compiled, Conditions(link=link))

    result = figures()
    entries = chips.quantities(result.device)
    found = [[one.fps] for one in result.batches]
    for place, quantity in entries.items():
        if quantity.basis != "guessed" or place.startswith(("identity.", "counts.", "driver.")):
            continue
        for factor in (0.5, 2):
            value = [one * factor for one in quantity.value] if isinstance(quantity.value, list) else None
            value = quantity.value if isinstance(quantity.value, bool) else value or quantity.value * factor
            altered = MappingProxyType({**entries, place: quantity._replace(value=value)})
            monkeypatch.setattr(chips, "quantities", lambda device, host=None, costs=None, altered=altered: altered)
            for batch, one in zip(found, figures().batches, strict=True):
                batch.append(one.fps)
    monkeypatch.undo()
    expected = [[min(batch), max(batch)] for batch in found]
    assert any(low < high for low, high in expected)
    assert [batch["fps_interval"] for batch in result.document()["batches"]] == expected


# unit conversions, bounds of what is believed and shares; times, rates and costs are data of the profiles
PLAIN = {0, 1, 2, 0.9, 1000, 1e-3, 1e6, 1e9, 1e10, 20, 42, 50, 8}


@pytest.mark.parametrize(
    "module",
    [
        "timing/model.py",
        "timing/passage.py",
        "timing/demand.py",
        "timing/schedule.py",
        "timing/steps.py",
        "timing/stretches.py",
        "timing/workload.py",
        "chips/chips.py",
        "timing/estimate.py",
    ],
)
def test_no_number_of_time_hides_in_the_model(module: str) -> None:
    tree = ast.parse((ROOT / "emu" / module).read_text(encoding="utf-8"))
    numbers = {
        node.value: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    }
    assert {number: line for number, line in numbers.items() if number not in PLAIN} == {}
