"""`emu actions` as a user calls it: its JSON, its text, --decode, and its refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emu.cli.main import main
from tests.conftest import DATA

HEFS = DATA / "sequencer/synth/hef"
CAPTURES = DATA / "sequencer/synth/capture"


def run(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["actions", *arguments])
    out, err = capsysbinary.readouterr()
    return int(stop.value.code or 0), out.decode(), err.decode()


@pytest.mark.parametrize(
    ("capture", "options"),
    [
        ("4.23/mc2_a.batch8", ["--batch", "8"]),
        ("4.23/part_leg_a.on-hailo8l-51", []),
        ("4.23/grp2_a", []),
        ("5.2/mx2_a.batch8", ["--batch", "8"]),
        ("5.2/cache1_kv.kv", ["--kv-cache"]),
        ("5.2/ecc2_ko", []),
    ],
)
def test_json_has_what_the_capture_has(
    capsysbinary: pytest.CaptureFixture[bytes], capture: str, options: list[str]
) -> None:
    want = json.loads((CAPTURES / f"{capture}.json").read_text())
    runtime, name = capture.split("/")
    code, out, err = run(
        capsysbinary, str(HEFS / f"{name.split('.')[0]}.hef"), "--runtime", runtime, "--json", *options
    )
    assert (code, err) == (0, "")
    ours = json.loads(out)
    assert (ours["runtime"], ours["device"]) == (runtime, want["device_arch"])
    assert ours["batch"] == want["batch"]
    for our, their in zip(ours["network_groups"], want["network_groups"], strict=True):
        assert our["application_header"] == their["application_header"]
        for field in ("context_type", "chunks", "action_list"):
            assert [c[field] for c in our["contexts"]] == [c[field] for c in their["contexts"]]
    assert ours["desc_lists"] == [{k: x[k] for k in ("count", "page", "circ", "dma")} for x in want["desc_lists"]]
    assert ours["continuous_buffers"] == [{k: x[k] for k in ("n", "size", "dma")} for x in want["continuous_buffers"]]


def test_decoded_actions_are_spelled_as_in_the_captures(
    capsysbinary: pytest.CaptureFixture[bytes], shared: Path
) -> None:
    for capture in ("4.23/fast_depth_ddr.v1.hailo8", "4.23/yolov8n_320_nms.v2.hailo8"):
        want = json.loads((shared / f"oracle/{capture}.json").read_text())
        code, out, _ = run(capsysbinary, str(shared / f"hef/{want['hef']}"), "--json")
        assert code == 0
        for our, their in zip(json.loads(out)["network_groups"], want["network_groups"], strict=True):
            for left, right in zip(our["contexts"], their["contexts"], strict=True):
                assert left["context_type_name"] == right["context_type_name"]
                assert left["actions"] == right["actions"]


def test_an_action_list_in_ddr(capsysbinary: pytest.CaptureFixture[bytes], shared: Path) -> None:
    name = "face_landmarks_lite_2ctx.v3.hailo1xh"
    want = json.loads((shared / f"oracle/5.2/{name}.on-hailo15h.ddr.json").read_text())
    code, out, _ = run(capsysbinary, str(shared / f"hef/{name}.hef"), "--json", "--host", "HAILO_DDR_ACTION_LIST=1")
    (group,) = json.loads(out)["network_groups"]
    assert code == 0 and group["contexts"] == []
    fields = ("dma", "size", "is_first", "is_last", "context_type", "context_type_name", "length", "action_list")
    theirs = want["network_groups"][0]["ddr_action_list"]
    assert [{k: r[k] for k in fields} for r in group["ddr_action_list"]] == [{k: r[k] for k in fields} for r in theirs]
    assert [r["actions"] for r in group["ddr_action_list"]] == [r["actions"] for r in theirs]


def test_readable_text(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    code, out, err = run(capsysbinary, str(HEFS / "mc2_a.hef"))
    assert (code, err) == (0, "")
    assert "context dynamic 1:" in out
    assert "ACTIVATE_INTER_CONTEXT_OUTPUT packed_vdma_channel_id=17" in out
    assert "descriptors of 512 bytes" in out


def test_decode_hex_file_and_capture(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    capture = CAPTURES / "4.23/mc2_a.batch8.json"
    first = json.loads(capture.read_text())["network_groups"][0]["contexts"][0]["action_list"]
    code, by_hex, _ = run(capsysbinary, "--decode", first, "--runtime", "4.23", "--json")
    assert code == 0
    assert json.loads(by_hex)["actions"][0]["a"] == "BURST_CREDITS_TASK_RESET"
    for content in (bytes.fromhex(first), first.encode(), b"\n".join([first[:8].encode(), first[8:].encode()])):
        path = tmp_path / "list"
        path.write_bytes(content)
        assert run(capsysbinary, "--decode", str(path), "--runtime", "4.23", "--json") == (0, by_hex, "")
    code, out, _ = run(capsysbinary, "--decode", str(capture), "--json")
    contexts = json.loads(out)["contexts"]
    assert code == 0 and [context["context_type"] for context in contexts] == [3, 2, 0, 1, 1]
    assert contexts[0]["actions"] == json.loads(by_hex)["actions"]
    code, out, _ = run(capsysbinary, "--decode", str(capture))
    assert code == 0 and "context batch_switching" in out


def test_a_damaged_list_is_reported_at_its_offset(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    good = "1effffffff"
    code, out, err = run(capsysbinary, "--decode", good + "63ffffffff", "--runtime", "5.2")
    assert code == 3
    assert "BURST_CREDITS_TASK_RESET" in out
    assert err.startswith("emu: error: HAILO_INVALID_ARGUMENT(2): ") and "offset 5" in err
    code, out, err = run(capsysbinary, "--decode", good + "63ffffffff", "--runtime", "5.2", "--json")
    assert code == 3
    assert json.loads(out)["error"]["where"]["offset"] == 5


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--decode", "1effffffff"],
        ["--decode", "no such file", "--runtime", "4.23"],
        ["--decode", "abc", "--runtime", "4.23"],
        ["HEF", "--decode", "1effffffff", "--runtime", "4.23"],
        ["HEF", "--batch", "64"],
        ["HEF", "--batch", "0"],
        ["HEF", "--host", "desc_max_page=77"],
        ["HEF", "--host", "unknown=1"],
        ["HEF", "--net-batch", "nobody=2"],
        ["HEF", "--network-group", "nobody"],
    ],
)
def test_wrong_use_is_exit_code_2(capsysbinary: pytest.CaptureFixture[bytes], arguments: list[str]) -> None:
    given = [str(HEFS / "mc2_a.hef") if argument == "HEF" else argument for argument in arguments]
    code, out, err = run(capsysbinary, *given)
    assert (code, out) == (2, "")
    assert err.startswith("emu: error: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("hef", "options", "code", "status"),
    [
        ("mc2_a", ["--runtime", "5.2"], 4, 93),
        ("mc2_a", ["--device", "hailo15h"], 4, 93),
        ("part_leg_a", ["--cluster-layout", "7"], 4, 26),
        ("inv_allow_two", [], 3, 8),
        ("inv_cache_len", [], 3, 2),
    ],
)
def test_refusals_have_their_status_and_exit_code(
    capsysbinary: pytest.CaptureFixture[bytes], hef: str, options: list[str], code: int, status: int
) -> None:
    path = str(HEFS / f"{hef}.hef")
    found, out, err = run(capsysbinary, path, *options)
    assert (found, out) == (code, "")
    assert f"({status}): " in err and err.count("\n") == 1
    found, out, _ = run(capsysbinary, path, *options, "--json")
    document: dict[str, Any] = json.loads(out)
    assert found == code and document["error"]["status"] == status
