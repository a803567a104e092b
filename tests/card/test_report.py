"""What is told of a program that has ended: the JSON document and the dumps, against those of a run of the same HEF."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from click.testing import CliRunner

from emu.card.activity import Activity
from emu.cli.exec_card_report import path_of_card
from emu.cli.main import cli
from tests.card.conftest import Run
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "two_context.hef"
FRAMES = 5
CLIENT = [sys.executable, "-m", "tests.card.ioctl_client"]


def ran(tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The document, the memory and the action lists of `emu run`."""
    memory, lists = tmp_path / "run-memory.json", tmp_path / "run-lists.json"
    options = ["--frames", str(FRAMES), "--compute=off", "--json", "--dump-memory", str(memory)]
    done = CliRunner().invoke(cli, ["run", str(EXAMPLE), *options, "--dump-action-list", str(lists)])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), json.loads(memory.read_text()), json.loads(lists.read_text())


def test_what_ran_is_told_as_of_a_run(supervised: Run, tmp_path: Path) -> None:
    told, memory, lists = (tmp_path / name for name in ("told.json", "memory.json", "lists.json"))
    options = [f"--json={told}", "--timing", "--dump-memory", str(memory), "--dump-action-list", str(lists)]
    done = supervised([*CLIENT, str(EXAMPLE), str(FRAMES)], "--compute", "off", *options)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == FRAMES, "the program's own output and nothing else"
    assert done.stderr == ""
    document = json.loads(told.read_text())
    assert document["program"][-2:] == [str(EXAMPLE), str(FRAMES)]
    assert (document["exit_code"], document["device"], document["seed"]) == (0, "hailo8", 0)
    assert document["wall_s"] > 0
    assert document["real_time_factor"] > 0
    (card,) = document["cards"]
    assert (card["node"], card["runtime"], card["version"]) == ("/dev/hailo0", "4.23", "4.23.0")
    (group,) = card["network_groups"]
    run, run_memory, run_lists = ran(tmp_path)
    (expected,) = run["network_groups"]
    assert (group["name"], group["difference"], group["activations"]) == ("two_context", None, 1)
    assert group["model"] == str(EXAMPLE)
    for now, then in zip(group["contexts"], expected["contexts"], strict=True):
        for key in ("context_type", "index", "runs", "actions", "config_bytes", "data_bytes"):
            assert now[key] == then[key]
        # a client's launches reach the device one by one
        assert abs(now["simulated_ns"] - then["simulated_ns"]) <= 0.02 * then["simulated_ns"]
    assert [(one["name"], one["direction"], one["frames"], one["bytes"]) for one in group["streams"]] == [
        (one["name"], one["direction"], one["frames"], one["bytes"]) for one in expected["streams"]
    ]
    assert [one["data"] for one in group["streams"]] == ["the program's", "synthetic"]
    assert abs(group["fps"] / expected["fps"] - 1) < 0.02
    assert {**card["memory"], "regions": []} == {**expected["memory"], "regions": []}
    assert card["memory"]["regions"] == expected["memory"]["regions"]
    assert json.loads(memory.read_text()) == run_memory
    sent = json.loads(lists.read_text())
    assert unstamped(sent["network_groups"]) == unstamped(run_lists["network_groups"])
    assert sent["hef"]["file_hash"] == run_lists["hef"]["file_hash"]


def unstamped(found: Any) -> Any:
    """Without time stamps, and without the addresses of what a host put into its memory."""
    if isinstance(found, dict):
        return {key: unstamped(value) for key, value in found.items() if key not in ("timestamp", "last_executed")}
    return [unstamped(one) for one in found] if isinstance(found, list) else found


def test_a_single_context_s_list_is_counted_to_its_last_output(supervised: Run, tmp_path: Path) -> None:
    """It never ends by itself; computed outputs are called so."""
    told = tmp_path / "told.json"
    done = supervised([*CLIENT, str(ROOT / "examples" / "computed_digits.hef"), "3"], f"--json={told}")
    assert done.returncode == 0, done.stderr
    (group,) = json.loads(told.read_text())["cards"][0]["network_groups"]
    assert [one["data"] for one in group["streams"]] == ["the program's", "computed"]
    (dynamic,) = [one for one in group["contexts"] if one["context_type"] == "dynamic"]
    assert dynamic["runs"] == 1
    assert 0 < dynamic["simulated_ns"] < group["simulated_ns"]


def test_wall_clock_figures_without_a_document(supervised: Run) -> None:
    done = supervised(["true"], "--timing")
    assert done.stderr.startswith("emu: ")
    assert done.stderr.endswith(" s of wall-clock time, real-time factor 0.00\n")


def test_a_program_that_uses_no_card(supervised: Run, tmp_path: Path) -> None:
    """And the exit code that it ended with."""
    told, lists = tmp_path / "told.json", tmp_path / "lists.json"
    done = supervised(["sh", "-c", "exit 4"], f"--json={told}", "--dump-action-list", str(lists))
    assert done.returncode == 4
    document = json.loads(told.read_text())
    assert document["exit_code"] == 4
    assert document["cards"][0]["network_groups"] == []
    assert "wall_s" not in document
    assert json.loads(lists.read_text())["network_groups"] == []


def test_several_cards_have_their_own_files(supervised: Run, tmp_path: Path) -> None:
    """Traces and memory of each; one document and one recording of all, which replays."""
    told, trace, memory = tmp_path / "told.json", tmp_path / "trace.jsonl", tmp_path / "memory"
    options = [
        f"--json={told}",
        "--trace",
        str(trace),
        "--dump-memory",
        str(memory),
        "--record",
        str(tmp_path / "kept"),
    ]
    script = " && ".join(
        " ".join([*CLIENT, str(EXAMPLE), str(frames), "--node", f"/dev/hailo{node}"])
        for frames, node in ((1, 1), (2, 0))
    )
    done = supervised(["sh", "-c", script], "--cards", "2", "--compute", "off", *options)
    assert done.returncode == 0, done.stderr
    cards = json.loads(told.read_text())["cards"]
    frames = [[one["frames"] for one in card["network_groups"][0]["streams"]] for card in cards]
    assert frames == [[2, 2], [1, 1]]
    assert [one.name for one in sorted(tmp_path.glob("trace*"))] == ["trace.hailo0.jsonl", "trace.hailo1.jsonl"]
    assert [one.name for one in sorted(tmp_path.glob("memory*"))] == ["memory.hailo0", "memory.hailo1"]
    first, second = (tmp_path / f"trace.hailo{number}.jsonl" for number in range(2))
    assert first.stat().st_size > second.stat().st_size > 1000
    again = CliRunner().invoke(cli, ["replay", str(tmp_path / "kept")])
    assert again.exit_code == 0, again.output
    records = [json.loads(line) for line in (tmp_path / "kept" / "record.jsonl").read_text().splitlines()]
    assert {one["card"] for one in records if one["kind"] == "transfer"} == {0, 1}


def test_a_step_stops_before_the_first_action(supervised: Run, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("where\ns\nc\n")
    done = supervised([*CLIENT, str(EXAMPLE), "1"], "--compute", "off", "--step", "--break-script", str(script))
    assert done.returncode == 0, done.stderr
    assert "before activation #0" in done.stderr
    assert "before activation #1" in done.stderr


def test_a_breakpoint_that_is_not_reached_is_told(supervised: Run, tmp_path: Path) -> None:
    """Unless the commands ran out before."""
    client = [*CLIENT, str(EXAMPLE), "1"]
    places = ["--break", "dynamic_1:2", "--break", "dynamic_7:0"]
    done = supervised(client, "--compute", "off", *places)
    assert done.stderr.endswith("emu: warning: --break dynamic_7:0 was never reached\n")
    assert done.stderr.count("never reached") == 1
    assert "--break dynamic_7:0 was never reached" in supervised(["true"], *places).stderr
    script = tmp_path / "script"
    script.write_text("where\n")
    assert "reached" not in supervised(client, "--compute", "off", *places, "--break-script", str(script)).stderr


def test_the_document_needs_a_file() -> None:
    """A bare --json would take the program's name for one, and standard output is the program's."""
    for arguments in (["--json", "true"], ["--seed", "3", "--json", "true"]):
        done = CliRunner().invoke(cli, ["exec", "--card", *arguments])
        assert "--json=FILE" in str(done.exception)
    assert "no effect without --card" in str(CliRunner().invoke(cli, ["exec", "--json=x", "true"]).exception)
    for several in (["--break", "dynamic_0:1"], ["--step"]):
        done = CliRunner().invoke(cli, ["exec", "--card", "--cards", "2", *several, "true"])
        assert f"{several[0]} is of one card" in str(done.exception)


def test_rates_are_those_behind_the_first_batch_of_each_activation() -> None:
    """By hand: batches of 2 at 100, 200, 300 ns, and at 1000, 1400 after another ENABLE; one more has none behind."""
    application: Any = SimpleNamespace(header=SimpleNamespace(batch_size=2), contexts=[])
    chip: Any = SimpleNamespace(batch=1)
    activity = Activity(application)
    for enabled, outputs in ((50, (100, 200, 300)), (900, (1000, 1400)), (2000, (2100,))):
        activity.enter(None, enabled)
        for ns in outputs:
            activity.passed(16, False, 20, 10, ns)
        activity.leave(chip)
        activity.leave(chip)
    assert activity.activations == 3
    assert activity.simulated_ns == 250 + 500 + 100
    assert (activity.steady_frames, activity.steady_ns) == (4 + 2, 200 + 400)
    assert activity.fps == 6 / 600e-9
    assert (activity.streams[16].frames, activity.streams[16].size) == (12, 120)


def test_names_of_several_cards() -> None:
    assert path_of_card("a/b.json", 1, 1) == "a/b.json"
    assert path_of_card("a/b.tar.gz", 1, 2) == "a/b.tar.hailo1.gz"
    assert path_of_card("b", 0, 2) == "b.hailo0"
