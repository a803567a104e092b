"""`emu inspect --chip` and `emu disasm --chip`: the keys of cli.md, real files counted, made-up ones told apart."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from emu.hef import open_hef
from emu.hw.config.execute import execute
from emu.sequencer.configuration import Configuration, EnableLcu, LcuInterrupt, WaitConfigDone, read_configuration
from tests.conftest import ROOT, needs_shared

TWO_CONTEXT = ROOT / "examples" / "two_context.hef"


def configuration_of(path: Path) -> Configuration:
    hef = open_hef(path)
    return read_configuration(hef, next(core_op for core_op in hef.core_ops() if core_op.contexts))


def document_of(emu, path: Path) -> dict:
    code, out, _ = emu("inspect", path, "--chip", "--json")
    assert code == 0
    return json.loads(out)


@needs_shared
def test_the_keys_of_the_document(emu, shared) -> None:
    document = document_of(emu, shared / "hef" / "mnist_cnn.v0.hailo8.hef")
    assert document["well_formed"] and document["hazards"] == []
    (entry,) = document["chip"]
    assert entry["context"] == "preliminary"
    # network.md 11: ten LCUs, nine of them in cluster 4, LCU 14 in cluster 5
    assert {c["index"]: c["lcus"] for c in entry["clusters"]} == {4: [0, 1, 4, 7, 10, 12, 13, 14, 15], 5: [14]}
    for cluster in entry["clusters"]:
        assert cluster.keys() >= {"index", "lcus", "sub_clusters", "input_aligners", "apus", "l3_blocks", "program"}
        assert cluster["program"].keys() >= {"packets", "words", "ends"} and cluster["program"]["ends"] is True
        assert all(block.keys() >= {"index", "kind", "bytes", "compressed_bytes"} for block in cluster["l3_blocks"])
        assert {block["kind"] for block in cluster["l3_blocks"]} <= {"program", "data"}
    streams = {stream["name"]: stream for stream in entry["streams"]}
    assert streams["MNIST_CNN/input_layer1"]["sys_index"] == 1
    assert all(register["agrees"] for stream in streams.values() for register in stream["registers"])
    # network.md 11: the output goes from output buffer 4.5 through the converter of table 0 to stream 0
    ways = {(way["from"], way["to"]) for way in entry["ways"]}
    assert ways >= {("cluster 4 output buffer 5", "converter 0.0"), ("converter 0.0", "stream 0")}


@needs_shared
def test_programs_are_counted_and_one_of_a_unit_is_one(emu, shared) -> None:
    """Hailo-8 starts one program a cluster; 10H boots each and starts one for each LCU (chip-config.md 4)."""
    _, out, _ = emu("inspect", shared / "hef" / "mnist_cnn.v0.hailo8.hef", "--chip")
    assert "cluster 5: LCUs 14; 2 sub-clusters, 2 input aligners, 1 APU; 1 program of 22 packets, 2,168 words" in out
    (entry,) = document_of(emu, shared / "hef" / "scrfd_2.5g.v3.hailo1xh.hef")["chip"]
    assert [cluster["program"]["programs"] for cluster in entry["clusters"]] == [17] * 5


@needs_shared
@pytest.mark.parametrize(
    ("name", "entries", "lcus", "data_blocks"),
    [
        ("yolov8n_320_nms.v2.hailo8", 1, 96, None),
        ("driving_partial.v1.hailo8l", 2, 92, None),
        ("scrfd_2.5g.v3.hailo1xh", 1, 80, 87 - 85),
        ("face_landmarks_lite_2ctx.v3.hailo1xh", 3, None, 12),
    ],
)
def test_real_files(name: str, entries: int, lcus: int | None, data_blocks: int | None, emu, shared) -> None:
    """LCUs as the actions enable or arm them, all programs at their end."""
    found = document_of(emu, shared / "hef" / f"{name}.hef")["chip"]
    assert len(found) == entries
    clusters = [cluster for entry in found for cluster in entry["clusters"]]
    assert all(cluster["program"]["ends"] for cluster in clusters)
    assert lcus is None or sum(len(cluster["lcus"]) for cluster in clusters) == lcus
    blocks = [block for cluster in clusters for block in cluster["l3_blocks"] if block["kind"] == "data"]
    assert data_blocks is None or len(blocks) == data_blocks
    code, out, _ = emu("inspect", shared / "hef" / f"{name}.hef", "--chip")
    assert code == 0 and "no hazard" in out


@needs_shared
def test_groups_of_lcus_lie_between_the_waits_for_their_data(emu, shared) -> None:
    """chip-config.md 6: waits 20/21, 22/23 and 24/25 stand before group 2, 3 and 4 of ENABLE_LCUs."""
    path = shared / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
    groups: list[list[dict[str, int]]] = [[]]
    for step in configuration_of(path).lists[0].steps:
        if isinstance(step, WaitConfigDone) and step.interrupt in (20, 22, 24):
            groups.append([])
        elif isinstance(step, EnableLcu):
            groups[-1].append({"cluster": step.cluster, "lcu": step.lcu})
    (entry,) = document_of(emu, path)["chip"]
    assert entry["groups"] == groups and [len(group) for group in groups] == [24, 24, 24, 24]
    assert "  group 4, enabled in this order: " in emu("inspect", path, "--chip")[1]


@needs_shared
@pytest.mark.parametrize("name", ["yolov8n_320_nms.v2.hailo8", "mnist_cnn.v0.hailo8"])
def test_pages_of_l2_are_those_that_programs_wrote(name: str, emu, shared) -> None:
    path = shared / "hef" / f"{name}.hef"
    image = execute(configuration_of(path)).image
    (entry,) = document_of(emu, path)["chip"]
    counted = 0
    for cluster in entry["clusters"]:
        for one in cluster["l2_pages"]:
            _, written = image.sub_cluster_memory(cluster["index"], one["sub_cluster"])
            assert one["pages"] == [page for page in range(4) if written[0x8000:].reshape(4, 0x1000)[page].any()]
            counted += len(one["pages"])
    assert counted
    code, out, _ = emu("inspect", path, "--chip")
    assert code == 0 and sum(int(number) for number in re.findall(r"L2: (\d+) pages", out)) == counted


@needs_shared
def test_the_ring_is_the_order_of_interrupts(emu, shared) -> None:
    """chip-config.md 4: with several contexts the ring of each cluster is the order of LCU_INTERRUPTs of dynamic 0."""
    path = shared / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef"
    awaited = [step for step in configuration_of(path).lists[1].steps if isinstance(step, LcuInterrupt)]
    clusters = document_of(emu, path)["chip"][0]["clusters"]
    for cluster in clusters:
        ring = cluster["ring"]
        assert [one["slot"] for one in ring] == cluster["slots"] == list(range(len(ring)))
        assert ring[0]["lcus"] == [] and ring[-1]["next"] == 0
        own = [step.lcu for step in awaited if step.cluster == cluster["index"]]
        assert [lcu for one in ring[1:] for lcu in one["lcus"]] == own
    assert sum(len(cluster["ring"]) - 1 for cluster in clusters) == len(awaited)


@needs_shared
def test_the_graph(emu, shared, tmp_path: Path) -> None:
    target = tmp_path / "chip.dot"
    assert emu("inspect", shared / "hef" / "yolov8n_320_nms.v2.hailo8.hef", "--chip", "--dot", target)[0] == 0
    text = target.read_text()
    assert text.startswith("digraph chip {") and text.rstrip().endswith("}")
    assert text.count("{") == text.count("}") and 'label="yolov8n/input_layer1"' in text
    assert emu("inspect", shared / "hef" / "scrfd_2.5g.v3.hailo1xh.hef", "--chip", "--dot", target)[0] == 2


def test_made_up_files_are_told_apart(emu) -> None:
    code, out, _ = emu("inspect", TWO_CONTEXT, "--chip")
    assert code == 0 and "not well formed" in out
    document = document_of(emu, TWO_CONTEXT)
    assert document["chip"] == [] and document["well_formed"] is False


def test_options_without_effect_are_refused(emu, tmp_path: Path) -> None:
    assert emu("inspect", TWO_CONTEXT, "--dot", tmp_path / "x.dot")[0] == 2
    assert emu("inspect", ROOT / "examples" / "lenet.ms", "--chip")[0] == 2


@needs_shared
def test_the_listing_names_records_programs_and_registers(emu, shared) -> None:
    """Every record and action of mnist_cnn in order, its two programs packet by packet."""
    code, out, _ = emu("disasm", shared / "hef" / "mnist_cnn.v0.hailo8.hef", "--chip")
    assert code == 0
    lines = out.splitlines()
    assert sum(" raise config-done " in line for line in lines) == 13
    assert sum(" wait for config-done " in line for line in lines) == 13
    assert sum(" enable cluster " in line for line in lines) == 10
    assert sum("  block " in line for line in lines) == 99 + 22
    assert any("LCU 14 +0x10000: " in line for line in lines)
    assert "BREAKS OFF" not in out and "WRONG" not in out


def test_the_listing_of_the_example(emu) -> None:
    assert "trigger cluster 4: L3 block 2 +0x7FC0" in emu("disasm", ROOT / "examples" / "configured.hef", "--chip")[1]
    assert emu("disasm", TWO_CONTEXT)[0] == 2
    assert "not well formed" in emu("disasm", TWO_CONTEXT, "--chip")[1]


def test_a_register_is_edited_from_the_command_line(emu, tmp_path: Path) -> None:
    """The device holds what the text says, and nothing complains."""
    example, text, made = ROOT / "examples" / "configured.hef", tmp_path / "x.yaml", tmp_path / "x.hef"
    assert emu("disasm", example, "--chip", "-o", text)[0] == 0
    assert emu("asm", text, "-o", made)[0] == 0 and made.read_bytes() == example.read_bytes()
    made.unlink()
    before = text.read_text()
    after = before.replace("{to: LCU 3 +0x12C, value: 0x2}", "{to: LCU 3 +0x12C, value: 0x5}")
    assert before != after
    text.write_text(after)
    assert emu("asm", text, "-o", made)[0] == 0
    assert emu("run", made, "--dump-memory", tmp_path / "memory.json")[0] == 0
    (entry,) = [
        e for e in json.loads((tmp_path / "memory.json").read_text())["content"] if "LCU 3 +0x12C" in e["place"]
    ]
    assert entry["data"] == "05000000"


def test_the_dump_names_addresses(emu, tmp_path: Path) -> None:
    target = tmp_path / "memory.json"
    assert emu("run", ROOT / "examples" / "configured.hef", "--dump-memory", target)[0] == 0
    places = {entry["place"] for entry in json.loads(target.read_text())["content"]}
    assert {"cluster 4 LCU 3 +0x12C", "cluster 4 L3 block 2 +0x7FC0", "cluster 4 control +0x12A0"} <= places
