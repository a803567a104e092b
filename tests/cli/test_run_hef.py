"""`emu run` for HEFs and captures: the text, the JSON document, the traces, the errors (cli.md)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Emu
from tests.conftest import ROOT, SHARED, needs_shared

pytestmark = needs_shared

MNIST = SHARED / "hef" / "mnist_cnn.v0.hailo8.hef"
TWO = SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"
BEHAVIOUR = SHARED / "hef" / "behaviour_cnn.v2.hailo8.hef"


Document = Callable[..., dict[str, Any]]


@pytest.fixture
def document(emu: Emu) -> Document:
    """What a run prints with --json."""

    def run(*arguments: object) -> dict[str, Any]:
        done = emu("run", *arguments, "--json")
        assert done.code == 0, done.err
        found: dict[str, Any] = json.loads(done.out)
        return found

    return run


def test_the_document_has_every_key_of_the_contract(document: Document) -> None:
    found = document(MNIST, "--frames", 20)
    assert found.keys() >= {"model", "runtime", "device", "batch", "frames", "network_groups", "events"}
    assert (found["runtime"], found["device"], found["batch"], found["frames"]) == ("4.23", "hailo8", 1, 20)
    (group,) = found["network_groups"]
    assert group["latency_ns"] <= group["simulated_ns"]
    assert [c["context_type"] for c in group["contexts"]] == ["activation", "batch_switching", "preliminary", "dynamic"]
    assert [c["runs"] for c in group["contexts"]] == [1, 0, 1, 1]
    assert group["contexts"][2]["actions"]["ENABLE_LCU_DEFAULT"] == 10
    assert "REPEATED_ACTION" not in group["contexts"][2]["actions"]
    assert [(s["direction"], s["frames"], s["bytes"]) for s in group["streams"]] == [
        ("h2d", 20, 20 * 1024),
        ("d2h", 20, 20 * 256),
    ]
    assert group["streams"][1]["data"] == "synthetic"
    assert group["memory"]["ccw_bytes"] == 64 + 64 + 9096 + 30408  # the captured sizes of the four fetches
    assert {r["name"] for r in group["memory"]["regions"]} > {"cluster 4 memory"}
    assert "wall_s" not in found and "real_time_factor" not in found
    assert document(MNIST, "--timing").keys() >= {"wall_s", "real_time_factor"}


def test_fps_and_latency_follow_their_definitions(document: Document) -> None:
    (group,) = document(MNIST, "--frames", 200)["network_groups"]
    (one,) = document(MNIST)["network_groups"]
    (batch,) = document(MNIST, "--batch", 8)["network_groups"]
    assert group["latency_ns"] == one["latency_ns"] == batch["latency_ns"]
    assert [found["fps_basis"] for found in (group, one, batch)] == ["steady", "one_frame", "one_batch"]
    assert group["fps"] == pytest.approx(batch["fps"], rel=0.01)
    assert one["fps"] == 1e9 / one["latency_ns"]
    (two,) = document(TWO, "--frames", 40, "--batch", 8)["network_groups"]
    assert [c["runs"] for c in two["contexts"]] == [1, 0, 1, 5, 5]


@pytest.mark.parametrize("path", sorted((SHARED / "hef").glob("*.hef")), ids=lambda path: path.stem)
def test_every_real_file_runs_and_its_configuration_is_understood(document: Document, path: Path) -> None:
    found = document(path, "--frames", 3)
    for group in found["network_groups"]:
        assert all(stream["frames"] == 3 for stream in group["streams"])
        assert group["memory"]["opaque_bytes"] == 0 < group["memory"]["register_writes"]


def test_runs_print_the_same_bytes_whatever_the_hash_seed() -> None:
    command = [sys.executable, "-m", "emu", "run", str(TWO), "--frames", "3", "--trace"]
    first, second = (
        subprocess.run(
            command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, timeout=120, check=True
        )
        for seed in ("1", "2")
    )
    assert first.stdout == second.stdout


def test_the_readable_trace_says_what_happened(emu: Emu) -> None:
    lines = emu("run", MNIST, "--trace").out.splitlines()
    text = "\n".join(lines)
    assert "synthetic" in lines[0]
    times = [float(line.split()[0]) for line in lines if line[:14].strip().replace(".", "").isdigit()]
    assert len(times) > 60 and times == sorted(times)
    assert "preliminary #30" in text and "ENABLE_LCU_DEFAULT" in text and "cluster 4 LCU 0 on" in text
    assert "MODULE_CONFIG_DONE_INTERRUPT" in text and "config bus idle" in text
    assert "MNIST_CNN/maxpool3" in text
    assert "dynamic_0 #5" in text and "waits for application change" in text


def test_a_jsonl_trace_holds_one_record_an_event(emu: Emu, document: Document, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert emu("run", TWO, f"--trace={path}").code == 0
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert records[0]["schema"] == "emu-trace" and records[0]["version"] == 1
    times = [record["ns"] for record in records[1:]]
    assert times == sorted(times)
    executed = sum(record["kind"] == "action" for record in records[1:])
    # all lists once but batch switching; context 0 ran as the preliminary list
    (group,) = document(TWO)["network_groups"]
    expected = sum(
        c["runs"] and sum(c["actions"].values())
        for c in group["contexts"]
        if c["index"] != 0 or c["context_type"] != "dynamic"
    )
    assert executed >= expected
    assert {"application", "context", "action_index", "action", "arguments"} <= records[60].keys()
    text = tmp_path / "t.txt"
    assert emu("run", MNIST, f"--trace={text}", "--trace-format", "text").code == 0
    assert "ENABLE_LCU_DEFAULT" in text.read_text()


def test_json_with_a_bare_trace_is_wrong_use(emu: Emu) -> None:
    assert emu("run", MNIST, "--trace", "--json").code == 2


def test_a_stall_exits_with_5_and_one_line(emu: Emu) -> None:
    capture = SHARED / "synth" / "capture" / "4.23" / "trg_mix.json"
    done = emu("run", "--actions", capture)
    assert done.code == 5
    assert done.out == "" and len(done.err.splitlines()) == 1
    assert done.err.startswith("emu: error: CONTEXT_SWITCH_STATUS_TIMEOUT_WHILE_WAITING_FOR_INTERRUPT(0x40130020): ")
    for part in ("dynamic_1 action", "LCU_INTERRUPT", "cluster 2 LCU 5", "not enabled"):
        assert part in done.err
    error = json.loads(emu("run", "--actions", capture, "--json").out)["error"]
    assert error["status"] == 0x40130020
    assert error["where"]["context"] == "dynamic_1" and error["where"]["action"] == "LCU_INTERRUPT"
    assert error["where"]["chain"]


def test_a_firmware_status_exits_with_5(emu: Emu) -> None:
    capture = SHARED / "synth" / "capture" / "4.23" / "part_leg_a.on-hailo8l-204.json"
    done = emu("run", "--actions", capture)
    assert done.code == 5
    assert "CONTEXT_SWITCH_STATUS_INVALID_CLUSTER_INDEX(0x4013001C)" in done.err


def test_a_capture_says_that_its_configuration_is_opaque(emu: Emu) -> None:
    done = emu("run", "--actions", SHARED / "oracle" / "4.23" / "mnist_cnn.v0.hailo8.json")
    assert done.code == 0 and "opaque" in done.out
    silicon = emu("run", "--actions", SHARED / "silicon" / "yolov6n.json", "--frames", 2)
    assert silicon.code == 0


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"hailort": "9"}', b"\xff\xfe", b'{"contexts": 3}'])
def test_a_file_that_is_no_capture(emu: Emu, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    done = emu("run", "--actions", path)
    assert done.code == 3 and len(done.err.splitlines()) == 1


def test_several_models_take_turns(emu: Emu, document: Document) -> None:
    found = document(MNIST, BEHAVIOUR, "--schedule", "round-robin", "--frames", 2)
    assert [one["file"] for one in found["model"]] == [str(MNIST), str(BEHAVIOUR)]
    assert [group["model_index"] for group in found["network_groups"]] == [0, 1]
    assert len(found["switches"]) == 3
    assert all(switch["simulated_ns"] > 0 for switch in found["switches"])
    wrong = emu("run", MNIST, TWO)
    assert wrong.code == 2


def test_outputs_memory_and_coverage(emu: Emu, tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    done = emu(
        "run", MNIST, "--frames", 3, "--outputs", tmp_path / "o.npz", "--output-dir", tmp_path,
        "--dump-memory", tmp_path / "m.json", "--coverage",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "computed" in done.out and "coverage: " in done.out
    archive = np.load(tmp_path / "o.npz")
    assert archive["MNIST_CNN/maxpool3"].shape[0] == 3
    dump = json.loads((tmp_path / "m.json").read_bytes())
    assert {"regions", "content", "read_before_write"} <= dump.keys()
    assert any(one["region"] == "cluster 4 memory" for one in dump["content"])


def test_an_injected_fault_is_named(emu: Emu) -> None:
    done = emu("run", MNIST, "--inject", "stall-channel:16")
    assert done.code == 5 and "stalled" in done.err and "injected" in done.err
    assert emu("run", MNIST, "--inject", "nonsense").code == 2
