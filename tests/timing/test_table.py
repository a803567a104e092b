"""The table model: a look-up where there is no HEF, labelled as one, as good as it says on networks left out."""

from __future__ import annotations

import json
import tomllib
from types import ModuleType

import pytest
from click.testing import CliRunner

from emu.cli.main import cli, main
from emu.errors import UsageError
from emu.timing.table import Network, look_up, parse_network, published, table_estimate
from tests.conftest import ROOT, needs_shared
from tests.scripts import script

YOLOV8N = Network(3.2, 8.74, 640 * 640, 3)
ARGUMENTS = ["estimate", "--table", "3.2,8.74,640x640x3", "--batch", "1,4,8"]
KEPT = ROOT / "emu" / "timing"


@pytest.fixture(scope="module")
def fit() -> ModuleType:
    return script("benchmarks/fit_table.py")


def test_it_is_labelled_and_says_how_good_it_is() -> None:
    document = json.loads(CliRunner().invoke(cli, [*ARGUMENTS, "--device", "hailo8l", "--json"]).output)
    assert document["kind"] == "table model"
    assert [entry["batch"] for entry in document["batches"]] == [1, 4, 8]
    for entry in document["batches"]:
        low, high = entry["fps_interval"]
        assert low < entry["fps"] < high
    assert document["accuracy"]["fps_median_error"] <= 0.45
    assert document["accuracy"]["ratio_median_error"] <= 0.10
    assert "cross-validation" in document["accuracy"]["how"]
    text = CliRunner().invoke(cli, ARGUMENTS).output
    assert text.startswith("table model, no HEF: a guess")
    for name in ("fps", "ratio", "family_fps", "family_ratio"):
        assert f"{document['accuracy'][f'{name}_median_error']:.0%}" in text


def test_time_is_linear_in_the_batch() -> None:
    fps = {one.batch: one.fps for one in table_estimate("hailo8l", YOLOV8N, (1, 2, 4, 8, 63)).batches}
    period = {batch: batch / value for batch, value in fps.items()}
    interval = period[2] - period[1]
    for batch in (4, 8, 63):
        assert period[batch] == pytest.approx(period[1] + (batch - 1) * interval)
    assert list(fps.values()) == sorted(fps.values())


def test_a_published_network_finds_itself() -> None:
    """With everything else far away, what is looked up is what is published."""
    (row,) = (one for one in published() if (one.device, one.model) == ("hailo8", "mobilenet_v1"))
    assert look_up([row], row.network) == pytest.approx((row.fps1, row.fps8))
    assert "mobilenet_v1" in table_estimate("hailo8", row.network, (1,)).like


@pytest.mark.parametrize("device", ["hailo8", "hailo8l", "hailo15h", "hailo15m", "hailo15l", "hailo10h"])
def test_every_device_of_the_table_serves(device: str) -> None:
    assert table_estimate(device, YOLOV8N, (1, 8)).device == device


def test_devices_without_figures_are_refused() -> None:
    with pytest.raises(UsageError, match="no published figures"):
        table_estimate("hailo12l", YOLOV8N, (1,))


@pytest.mark.parametrize(
    "text",
    ["", "1,2", "1,2,3", "1,2,3x3", "0,1,3x3x3", "1,-1,3x3x3", "1,1,0x3x3", "nan,1,3x3x3", "inf,1,3x3x3", "a,b,c"],
)
def test_what_is_no_network_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"--table takes|--table: 0 is out of range"):
        parse_network(text)


@pytest.mark.parametrize(
    "text",
    [
        "1e-300,1,224x224x3",
        "1e300,1,224x224x3",
        "3.2,1e9,640x640x3",
        "3.2,8.74,100000x100000x3",
        "3.2,8.74,1x1x3",
        "3.2,8.74,640x640x40000",
        "0.5,500,32x32x3",
        "300,0.001,224x224x3",
        "3.2,8.74,-640x-640x3",
    ],
)
def test_what_no_network_is_like_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"out of range|--table"):
        parse_network(text)


@pytest.mark.parametrize("option", [["--link", "gen1x1"], ["--clock-mhz", "200"], ["--seed", "1"]])
def test_what_has_no_effect_on_it_is_refused(option: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*ARGUMENTS, *option])
    assert stop.value.code == 2


@needs_shared
def test_the_files_are_those_of_the_script_and_the_errors_within_bounds(fit: ModuleType) -> None:
    rows = fit.read_rows()
    table = fit.published(rows)
    assert fit.to_csv(table) == (KEPT / "published.csv").read_text(encoding="utf-8")
    text = fit.to_toml(rows, table)
    assert text == (KEPT / "table_model.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)["accuracy"]
    assert found["fps_median_error"] <= 0.45
    assert found["ratio_median_error"] <= 0.10
    assert found["family_fps_median_error"] <= 0.50
    assert found["family_ratio_median_error"] <= 0.15


@needs_shared
def test_four_of_five_rows_left_out_lie_in_the_interval(fit: ModuleType) -> None:
    rows = fit.read_rows()
    spread = tomllib.loads((KEPT / "table_model.toml").read_text(encoding="utf-8"))["interval"]
    errors = fit.together(fit.cross_validate(rows, fit.published(rows), fit.family).values())
    for name in ("fps1", "fps8"):
        low, high = spread[name]
        inside = [low <= value <= high for value in getattr(errors, name)]
        assert sum(inside) / len(inside) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("model", "family"),
    [("yolov8n", "yolov8n"), ("resnet_v1_50", "resnet_v"), ("scrfd_2.5g", "scrfd_"), ("vit_base_bn", "vit_base")],
)
def test_families_are_told_by_their_names(fit: ModuleType, model: str, family: str) -> None:
    assert fit.family(model) == family
