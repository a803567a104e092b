"""Action costs from time stamps: those of a simulated device come back, and no file is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emu.chips import chips
from emu.chips.costs import read_costs
from emu.cli.main import main
from emu.errors import EmuError, UsageError
from emu.trace.action_costs import action_costs
from emu.trace.fw_actions import read_fw_actions
from emu.trace.sinks.fw_actions import type_name
from emu.wire.actions import ActionType
from tests.conftest import ROOT, SHARED, needs_shared

EXAMPLE = ROOT / "examples" / "two_context.hef"
LANDMARKS = SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"


def emu(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def made_up_costs(path: Path, device: str) -> dict[str, float]:
    """A cost of its own for every action, as a file for --costs."""
    costs = {kind.name: 700.0 + 137 * (int(kind) * 29 % 53) for kind in ActionType}
    lines = [f'device = "{device}"', "[action_ns]"]
    lines += [
        f'{name} = {{ value = {ns}, unit = "ns", basis = "guessed", source = "made up" }}' for name, ns in costs.items()
    ]
    path.write_text("\n".join(lines))
    return costs


@needs_shared
@pytest.mark.parametrize(("model", "device", "least"), [(EXAMPLE, "hailo8", 18), (LANDMARKS, "hailo15h", 18)])
def test_the_costs_of_a_simulated_device_come_back(tmp_path: Path, model: Path, device: str, least: int) -> None:
    costs = made_up_costs(tmp_path / "made_up.toml", device)
    stamped, found = tmp_path / "fw.json", tmp_path / "found.toml"
    run = ("run", model, "--frames", 4, "--costs", tmp_path / "made_up.toml")
    assert emu(*run, f"--trace={stamped}", "--trace-format", "fw-actions") == 0
    assert emu("calibrate", stamped, "--device", device, "-o", found) == 0
    entries = read_costs(found, device)
    assert len(entries) >= least
    for name, entry in entries.items():
        assert entry.value == pytest.approx(costs[name.removeprefix("action_ns.")], rel=0.01), name
        assert entry.basis == "measured"
        assert "fw.json" in entry.source
    # and an estimate rests on them instead
    profile = chips.load(device, costs=str(found))
    for name in (entry.removeprefix("action_ns.") for entry in entries):
        assert profile.action_cost(name) == pytest.approx(costs[name], rel=0.01)


def test_an_estimate_with_costs_lists_their_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_up_costs(tmp_path / "c.toml", "hailo8")
    capsys.readouterr()
    assert emu("estimate", EXAMPLE, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert emu("estimate", EXAMPLE, "--json", "--costs", tmp_path / "c.toml") == 0
    other = json.loads(capsys.readouterr().out)
    assert other["batches"][0]["fps"] < plain["batches"][0]["fps"]
    assert any(entry["source"] == "guessed: made up" for entry in other["assumptions"])


def a_file(tmp_path: Path, **changes: Any) -> Path:
    """A small file of two actions, changed."""
    actions = [
        {"address": 5 + at, "timestamp": 1000 + 200 * at, "type": type_name(kind), "data": {}}
        for at, kind in enumerate((ActionType.DISABLE_LCU, ActionType.BURST_CREDITS_TASK_RESET))
    ]
    context = {
        "action_list_base_address": 0,
        "action_list_size": 10,
        "batch_counter": 0,
        "idle_time": 0,
        "context_name": "activation",
        "actions": actions,
    }
    run = {"batch_size": 1, "fps": 1.0, "contexts": [context]}
    document = {"version": "2.0", "clock_cycle_MHz": 200, "hef": {"path": "a.hef", "file_hash": "0"}, "runs": [run]}
    for holder in (document, run, context, actions[1]):
        holder.update({key: value for key, value in changes.items() if key in holder})
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    return path


def test_stamps_are_cycles_that_wrap(tmp_path: Path) -> None:
    (cost,) = action_costs(read_fw_actions(a_file(tmp_path)))
    assert (cost.action, cost.ns, cost.samples) == (ActionType.BURST_CREDITS_TASK_RESET, 1000.0, 1)
    (wrapped,) = action_costs(read_fw_actions(a_file(tmp_path, timestamp=4)))
    assert wrapped.ns == ((4 - 1000) % (1 << 32)) * 5
    assert action_costs(read_fw_actions(a_file(tmp_path, timestamp=0))) == []  # never executed


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "1.0"},
        {"clock_cycle_MHz": 0},
        {"clock_cycle_MHz": "200"},
        {"clock_cycle_MHz": 1e300},
        {"hef": []},
        {"runs": {}},
        {"runs": [1]},
        {"contexts": None},
        {"context_name": 3},
        {"actions": {}},
        {"actions": [7]},
        {"timestamp": -1},
        {"timestamp": 1 << 32},
        {"timestamp": True},
        {"type": "no_such_action"},
        {"data": []},
        {"idle_time": "x"},
    ],
)
def test_what_is_no_such_file_costs_one_line(
    tmp_path: Path, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = a_file(tmp_path, **changes)
    with pytest.raises(EmuError):
        read_fw_actions(path)
    assert emu("calibrate", path) == 3
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "null", "\0", '{"version": "2.0"}'])
def test_broken_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(EmuError):
        read_fw_actions(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[action_ns]\n",
        'device = "hailo15h"\n[action_ns]\n',
        'device = "hailo8"\n[action_ns]\nDISABLE_LCU = 3\n',
        'device = "hailo8"\n[action_ns]\nDISABLE_LCU = {value = -1, unit = "ns", basis = "measured", source = "x"}\n',
        'device = "hailo8"\n[action_ns]\nDISABLE_LCU = {value = nan, unit = "ns", basis = "measured", source = "x"}\n',
        'device = "hailo8"\n[action_ns]\nDISABLE_LCU = {value = 1e12, unit = "ns", basis = "measured", source = "x"}\n',
        'device = "hailo8"\n[action_ns]\nDISABLE_LCU = {value = 1, unit = "us", basis = "measured", source = "x"}\n',
        'device = "hailo8"\n[clocks]\n[action_ns]\n',
    ],
)
def test_what_are_no_costs_is_wrong_use(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="--costs"):
        read_costs(path, "hailo8")
    assert emu("estimate", EXAMPLE, "--costs", path) == 2
