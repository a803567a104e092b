"""The fitted constants are those that benchmarks/calibrate.py fits, and do as well as it says on rows left out."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from types import ModuleType

import pytest

from emu.estimate.table import fixed_intervals
from emu.hw import profiles
from tests.conftest import ROOT, needs_shared

pytestmark = needs_shared


@pytest.fixture(scope="module")
def calibrate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibrate", ROOT / "benchmarks" / "calibrate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibrate"] = module
    spec.loader.exec_module(module)
    return module


def test_every_fitted_number_is_the_one_of_the_script(calibrate: ModuleType) -> None:
    fits = {fit.place: fit.value for fit in calibrate.fit_all(calibrate.read_table(calibrate.TABLE))}
    seen = set()
    for device in profiles.DEVICES:
        for name, quantity in profiles.quantities(device).items():
            place = f"{device} {name}"
            if quantity.basis == "fitted" and place in fits:
                assert quantity.value == pytest.approx(fits[place], rel=1e-3), place
                seen.add(place)
    assert seen == set(fits)


def test_a_number_called_fitted_names_the_script() -> None:
    for device in profiles.DEVICES:
        for name, quantity in profiles.quantities(device).items():
            if quantity.basis == "fitted":
                assert "benchmarks/calibrate.py" in quantity.source, f"{device} {name}"


def test_the_held_out_rows_are_in_no_fit(calibrate: ModuleType) -> None:
    models = {row.model for row in calibrate.read_table(calibrate.TABLE)}
    assert not models & {"fast_depth", "scrfd_2.5g", "arcface_mobilefacenet", "face_landmarks_lite"}


def test_all_rows_of_a_model_are_on_one_side(calibrate: ModuleType) -> None:
    sides: dict[str, set[bool]] = {}
    for row in calibrate.read_table(calibrate.TABLE):
        sides.setdefault(row.model, set()).add(row.fitted)
    assert all(len(side) == 1 for side in sides.values())


def test_table_model_file_is_the_one_of_the_script(calibrate: ModuleType) -> None:
    rows = calibrate.read_table(calibrate.TABLE)
    kept = tomllib.loads((ROOT / "emu" / "estimate" / "table_model.toml").read_text(encoding="utf-8"))
    assert list(kept) == list(calibrate.ARCHITECTURES)
    for device in kept:
        assert tomllib.loads(calibrate.fit_table(rows, device).toml())[device] == kept[device]


@pytest.mark.parametrize("device", ["hailo8", "hailo8l", "hailo15h", "hailo10h", "hailo15l"])
def test_table_model_on_rows_left_out(calibrate: ModuleType, device: str) -> None:
    """Median error of batch 8 / batch 1 at most 20 % where that is above 1.05."""
    kept = tomllib.loads((ROOT / "emu" / "estimate" / "table_model.toml").read_text(encoding="utf-8"))[device]
    errors = []
    for row in calibrate.read_table(calibrate.TABLE):
        if row.arch == calibrate.ARCHITECTURES[device] and not row.fitted and row.fps8 / row.fps1 > 1.05:
            fixed = fixed_intervals(kept["fixed_intervals"], row.network)
            errors.append(abs(8 * (fixed + 1) / (fixed + 8) / (row.fps8 / row.fps1) - 1))
    errors.sort()
    assert len(errors) >= 30
    assert errors[len(errors) // 2] <= 0.20


def test_no_row_left_out_beats_the_fitted_dma_rate(calibrate: ModuleType) -> None:
    for device, release in (("hailo8", None), ("hailo15h", calibrate.RELEASE)):
        arch, rate = calibrate.ARCHITECTURES[device], profiles.load(device).dma_bytes_per_second
        left_out = calibrate.of(calibrate.read_table(calibrate.TABLE), arch, release, fitted=False)
        assert calibrate.greatest_rate(left_out) <= rate
