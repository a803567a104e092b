"""The estimates against Hailo's published figures, none of which any fit has seen."""

from __future__ import annotations

import csv
import statistics

import pytest

from emu.hef import open_hef
from emu.host.estimate import estimate
from emu.sequencer.compile import CompileOptions
from emu.timing.estimate import Estimate
from tests.conftest import SHARED, needs_shared
from tests.timing.cases import SINGLE_CONTEXT, TWO_CONTEXTS, Published

pytestmark = needs_shared


def estimated(case: Published) -> Estimate:
    return estimate(open_hef(SHARED / "hef" / case.file), CompileOptions(device=case.device), (1, 8))


def errors(case: Published) -> tuple[float, float]:
    one, eight = (figures.fps for figures in estimated(case).batches)
    return one / case.fps1 - 1, eight / case.fps8 - 1


@pytest.mark.parametrize("case", [*SINGLE_CONTEXT, *TWO_CONTEXTS], ids=lambda case: f"{case.file}-{case.device}")
def test_the_cases_are_the_published_rows(case: Published) -> None:
    arch, model = case.device.upper(), case.file.split(".v")[0].replace("_ddr", "").replace("_2ctx", "")
    with (SHARED / "data" / "model_zoo_fps.csv").open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["arch"], row["model"], row["model_zoo_tag"]) == (arch, model, case.release)
        ]
    assert [(float(row["batch1_fps"]), float(row["batch8_fps"])) for row in rows] == [(case.fps1, case.fps8)]
    assert not any(row["suspect"] for row in rows)


@pytest.mark.parametrize("case", SINGLE_CONTEXT, ids=lambda case: f"{case.file}-{case.device}")
def test_single_context(case: Published) -> None:
    assert max(map(abs, errors(case))) <= 0.15


def test_single_context_where_the_published_figure_is_compute_bound() -> None:
    found = [abs(error) for case in SINGLE_CONTEXT if case.compute_bound for error in errors(case)]
    assert found
    assert statistics.median(found) <= 0.05


@pytest.mark.parametrize("case", TWO_CONTEXTS, ids=lambda case: case.device)
def test_two_contexts(case: Published) -> None:
    one, eight = errors(case)
    assert max(abs(one), abs(eight)) <= 0.20
    assert abs((1 + eight) / (1 + one) - 1) <= 0.15


def test_the_medians() -> None:
    """Over both batch sizes: one context 3 %, several 15 %, batch 8 / batch 1 of several 12 %."""
    single = [abs(error) for case in SINGLE_CONTEXT for error in errors(case)]
    several = [errors(case) for case in TWO_CONTEXTS]
    assert statistics.median(single) <= 0.03
    assert statistics.median([abs(error) for pair in several for error in pair]) <= 0.15
    assert statistics.median([abs((1 + eight) / (1 + one) - 1) for one, eight in several]) <= 0.12


@pytest.mark.parametrize(
    ("case", "bound_by"),
    [
        (SINGLE_CONTEXT[0], "input dma"),
        (SINGLE_CONTEXT[1], "input dma"),
        (SINGLE_CONTEXT[2], "host"),
        (SINGLE_CONTEXT[3], "compute"),
        (TWO_CONTEXTS[1], "host"),
    ],
    ids=lambda value: getattr(value, "file", value),
)
def test_what_bounds_them(case: Published, bound_by: str) -> None:
    """fast_depth: its DDR portal shares the input DMA; scrfd: 1.2 MB a frame; Hailo-10H: a host call a stream."""
    assert estimated(case).batches[1].bound_by == bound_by
