"""`emu inspect` of HEFs: what it says, on which stream, with which exit code (cli.md)."""

from __future__ import annotations

import csv
import io
import json
from types import SimpleNamespace

import pytest

from emu.errors import EmuError
from emu.hef import open_hef
from emu.hef.report import hef_report
from emu.sequencer.acceptance import acceptances
from tests.conftest import DATA, RUNTIMES, SHARED, needs_shared

REAL = sorted((SHARED / "hef").glob("*.hef"))
STATUS = SHARED / "synth" / "STATUS.tsv"


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_json_of_real_files(emu, path):
    code, out, err = emu("inspect", path, "--json")
    assert code == 0
    report = json.loads(out)
    assert [line.removeprefix("emu: warning: ") for line in err.splitlines()] == report["warnings"]
    message = open_hef(path).message
    data = path.read_bytes()
    assert report["model"] == {"file": str(path), "format": "hef", "file_size": len(data)}
    assert report["container"]["version"] == int.from_bytes(data[4:8], "big")
    assert all(checksum["matches"] for checksum in report["container"]["checksums"])
    assert report["header"]["hw_arch_number"] == message.header.hw_arch
    assert report["header"]["sdk_version_str"] == message.header.sdk_version_str
    assert [(e["type_index"], e["known"]) for e in report["extensions"]] == [
        (e.type_index, True) for e in message.extensions
    ]
    assert report["load"]["status"] == 0
    # the one given file whose op is for another picture (stream-infos.md 9)
    assert len(report["warnings"]) == ("yolov8n_320" in path.name)
    (group,) = report["network_groups"]
    assert group["streams"] and group["vstreams"]
    assert any(row["accepted"] for row in report["accepted_by"])


def test_config_bytes_of_all_contexts_fill_the_ccw_section(shared):
    for path in REAL:
        report = hef_report(open_hef(path))
        sections = {section["name"]: section["size"] for section in report["container"]["sections"]}
        (group,) = report["network_groups"]
        configurations = [partial["core_op"] for partial in group["partial_core_ops"]] or [group]
        total = sum(
            part["config_bytes"]
            for configuration in configurations
            for part in [configuration["preliminary_config"], *configuration["contexts"]]
        )
        if report["container"]["version"] == 3:  # records are aligned there: the section has gaps
            assert 0.99 * sections["ccws"] < total <= sections["ccws"], path.name
        elif "ccws" in sections:
            assert total == sections["ccws"], path.name


def test_text_shows_both_sides_of_a_stream(emu, shared):
    code, out, err = emu("inspect", shared / "hef" / "yolov8n_320_nms.v2.hailo8.hef")
    assert code == 0 and len(err.splitlines()) == 1
    assert "UINT8 NHCW(20x24x110), 52,800 bytes a frame, of which 20x20x110 hold values" in out
    assert "HAILO_NMS_BY_CLASS(110 classes, at most 100 boxes a class), 220,440 bytes" in out
    assert "single context: a larger batch amortises nothing" in out
    assert "HailoRT 4.20 to 4.23 on hailo8\n" in out
    assert "27 HAILO_NET_FLOW_YOLOV8_NMS          since HailoRT 4.16" in out


def test_text_gives_the_formula_and_says_that_nothing_is_post_processed(emu, shared):
    _, out, _ = emu("inspect", shared / "hef" / "mnist_cnn.v0.hailo8.hef")
    assert "real = (stored - 0) * 0.0357311964, from 0 to 9.11145" in out
    assert "raw tensors; no NMS op in this HEF" in out
    assert "400 MHz expected" in out


def test_cluster_layouts_are_listed(emu, shared):
    _, out, _ = emu("inspect", shared / "hef" / "driving_partial.v1.hailo8l.hef")
    assert "Configuration for cluster layout 51 (0b110011)" in out
    assert "HailoRT 4.18 to 4.23 on hailo8l, cluster layouts 51, 204" in out
    assert "HailoRT 4.18 to 4.23 on hailo8\n" in out


def test_overlooked_damage_is_a_warning(emu, shared):
    path = shared / "hef-bad" / "truncated_ccws.v3.hef"
    code, out, err = emu("inspect", path, "--json")
    assert code == 0
    report = json.loads(out)
    assert report["warnings"][0].startswith("truncated: 4444160 bytes are missing")
    assert [line.removeprefix("emu: warning: ") for line in err.splitlines()] == report["warnings"]
    code, out, err = emu("inspect", path, "--runtime", "4.23")
    assert (code, out) == (3, "")
    assert err.startswith("emu: error: HAILO_HEF_FILE_CORRUPTED(91): truncated: 4444160 bytes")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["empty.hef", "git_lfs_pointer.hef", "text_not_hef.hef", "truncated_proto.v2.hef"])
def test_broken_files_exit_3(emu, shared, name):
    code, out, err = emu("inspect", shared / "hef-bad" / name)
    assert (code, out) == (3, "")
    assert err.startswith("emu: error: HAILO_") and err.count("\n") == 1


def test_standard_input(emu, monkeypatch):
    data = (DATA / "hef" / "ctr_v2a.hef").read_bytes()

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    code, out, _ = emu("inspect", "-", "--json")
    assert code == 0
    assert json.loads(out)["model"]["file"] == "-"


def test_external_resources_are_placed(emu, shared):
    path = shared / "synth" / "hef" / "xres_a.hef"
    _, out, _ = emu("inspect", path, "--json")
    report = json.loads(out)
    data = path.read_bytes()
    resources = open_hef(path).message.external_resources
    assert [r["name"] for r in report["external_resources"]] == [r.name for r in resources]
    for row, resource in zip(report["external_resources"], resources, strict=True):
        assert row["file_offset"] == report["container"]["offset_zero_point"] + resource.offset
        assert row["inside_file"]
        assert row["file_offset"] + row["size"] <= len(data)


def configured():
    """(name, runtime, device, layout) -> whether the real runtime configured it; batch 1, no other settings."""
    out = {}
    index = SHARED / "synth" / "capture"
    for path in [path for runtime in RUNTIMES for path in sorted((index / runtime).glob("*.json"))]:
        capture = json.loads(path.read_text())
        parts = path.name.split(".")
        if capture["extra_env"] or capture["args"] or {"mem", "kv", "nets"} & set(parts) or capture["batch"] != 1:
            continue
        if capture["stage"] in ("ok", "configure", "activate", "Hef::create"):
            layout = int(capture["clusters"]) if capture["clusters"] else None
            key = path.name.split(".")[0], capture["hailort"], capture["device_arch"], layout
            out[key] = capture["stage"] == "ok"
    return out


@needs_shared
def test_acceptance_agrees_with_the_captures():
    wanted = configured()
    assert len(wanted) > 500
    wrong = []
    for name in sorted({name for name, *_ in wanted}):
        try:
            hef = open_hef(SHARED / "synth" / "hef" / f"{name}.hef", runtime="5.2")
        except EmuError:
            continue  # opening is tested elsewhere
        rows = {(row.runtime, row.device): row for row in acceptances(hef)}
        for (other, runtime, device, layout), accepted in wanted.items():
            if other == name:
                row = rows.get((runtime, device)) or rows[runtime, None]
                ours = row.error is None and (layout is None or layout in row.cluster_layouts or device == "hailo8")
                if ours != accepted and not (device == "hailo15m" and layout is None):
                    wrong.append((name, runtime, device, layout, accepted, row.error))
    assert wrong == []


@needs_shared
def test_every_made_up_file_is_reported_or_refused():
    """No file of the collection, sound or not, makes the report fail in another way than a refusal to open."""
    with STATUS.open(newline="") as file:
        names = {row["name"] for row in csv.DictReader(file, delimiter="\t")}
    for name in sorted(names):
        for runtime in ("4.23", "5.2"):
            try:
                hef = open_hef(SHARED / "synth" / "hef" / f"{name}.hef", runtime=runtime)
            except EmuError:
                continue
            json.dumps(hef_report(hef))


def test_switching_between_contexts_is_priced(emu, shared):
    path = shared / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"
    _, out, _ = emu("inspect", path, "--json")
    (cost,) = json.loads(out)["context_switching"]
    assert cost["device"] == "hailo15h" and cost["reload_ms"] > 0
    _, out, _ = emu("inspect", path)
    assert f"a batch of {cost['batch_for_90_percent']} reaches 90 % of the limit" in out
    assert "INTERMEDIATE edge out of it: face_landmarks_lite/conv12 12x12x128 (context 1)" in out
