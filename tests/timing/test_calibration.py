"""The fitted constants are those that benchmarks/calibrate.py fits, and do as well as it says on rows left out."""

from __future__ import annotations

from types import ModuleType

import pytest

from emu.chips import chips
from emu.chips.runtimes import device_names
from tests.conftest import needs_shared
from tests.scripts import script

pytestmark = needs_shared


@pytest.fixture(scope="module")
def calibrate() -> ModuleType:
    return script("benchmarks/calibrate.py")


def test_every_fitted_number_is_the_one_of_the_script(calibrate: ModuleType) -> None:
    fits = {fit.place: fit.value for fit in calibrate.fit_all(calibrate.read_table(calibrate.TABLE))}
    seen = set()
    for device in device_names():
        for name, quantity in chips.quantities(device).items():
            place = f"{device} {name}"
            if quantity.basis == "fitted" and place in fits:
                assert quantity.value == pytest.approx(fits[place], rel=1e-3), place
                seen.add(place)
    assert seen == set(fits)


def test_a_number_called_fitted_names_the_script() -> None:
    for device in device_names():
        for name, quantity in chips.quantities(device).items():
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


def test_no_row_left_out_beats_the_fitted_dma_rate(calibrate: ModuleType) -> None:
    for device, release in (("hailo8", None), ("hailo15h", None)):
        arch, rate = calibrate.ARCHITECTURES[device], chips.load(device).dma_bytes_per_second
        left_out = calibrate.of(calibrate.read_table(calibrate.TABLE), arch, release, fitted=False)
        assert calibrate.greatest_rate(left_out) <= rate
