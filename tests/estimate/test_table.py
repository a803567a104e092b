"""The table model: a guess where there is no HEF, and labelled as one."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from emu.cli.main import cli
from emu.errors import UsageError
from emu.estimate.table import Network, parse_network, table_estimate

YOLOV8N = Network(3.2, 8.74, 640 * 640 * 3)


def test_it_is_labelled() -> None:
    arguments = ["estimate", "--table", "3.2,8.74,640x640x3", "--batch", "1,8", "--device", "hailo8l"]
    document = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).output)
    assert document["kind"] == "table model"
    assert [entry["batch"] for entry in document["batches"]] == [1, 8]
    assert "fitted" in document["assumptions"][1]["source"]
    assert CliRunner().invoke(cli, arguments).output.startswith("table model, no HEF: a guess")


def test_time_is_linear_in_the_batch() -> None:
    fps = dict(table_estimate("hailo8", YOLOV8N, (1, 2, 4, 8, 63)).fps)
    period = {batch: batch / value for batch, value in fps.items()}
    interval = period[2] - period[1]
    for batch in (4, 8, 63):
        assert period[batch] == pytest.approx(period[1] + (batch - 1) * interval)


@pytest.mark.parametrize("device", ["hailo15m", "hailo12l"])
def test_devices_without_figures_are_refused(device: str) -> None:
    with pytest.raises(UsageError, match="no published figures"):
        table_estimate(device, YOLOV8N, (1,))


@pytest.mark.parametrize(
    "text",
    ["", "1,2", "1,2,3", "1,2,3x3", "0,1,3x3x3", "1,-1,3x3x3", "1,1,0x3x3", "nan,1,3x3x3", "inf,1,3x3x3", "a,b,c"],
)
def test_what_is_no_network_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="--table takes"):
        parse_network(text)


def test_extreme_networks_stay_finite() -> None:
    for network in (Network(1e-300, 1e300, 1), Network(1e300, 1e-300, 10**15)):
        for _, fps in table_estimate("hailo8", network, (1, 8)).fps:
            assert 0 < fps < float("inf")
