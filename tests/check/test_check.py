"""`emu check` over models: a line each, warnings, JUnit XML, JSON, exit codes (cli.md)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from emu.hef import open_hef
from tests.conftest import DATA, SHARED, needs_shared
from tests.trace.helpers import DDR, TWO_CONTEXT, Cli

GRAPH = DATA / "graphs" / "om" / "act_0.om"
HAILO8L = DATA / "hef" / "part_leg_a.hef"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Models of every fate: accepted, for another device, unreadable; and files that are no models."""
    models = tmp_path / "models"
    (models / "deeper").mkdir(parents=True)
    shutil.copyfile(TWO_CONTEXT, models / "good.hef")
    shutil.copyfile(HAILO8L, models / "deeper" / "small.hef")
    shutil.copyfile(GRAPH, models / "graph.om")
    shutil.copyfile(DDR, models / "no_suffix")
    (models / "README.md").write_text("not a model")
    return models


def _words(cli: Cli) -> dict[str, str]:
    """File name -> the word its line begins with."""
    lines = cli.out.splitlines()
    return {Path(line.split()[1].rstrip(":")).name: line.split()[0] for line in lines}


def test_a_folder(folder: Path, cli: Cli) -> None:
    assert cli("check", folder) == 0
    assert _words(cli) == {"good.hef": "ok", "small.hef": "ok", "graph.om": "ok", "no_suffix": "ok"}
    assert "4.23 on hailo8" in cli.out
    assert all(line.startswith(("emu: warning: ", "emu: note: ")) for line in cli.err.splitlines())


def test_what_a_folder_is_searched_for(folder: Path, cli: Cli) -> None:
    """Suffixes of any case; a link that leads nowhere is a model that cannot be read; a pipe is left alone."""
    (folder / "LOST.HEF").write_text("version https://git-lfs.github.com/spec/v1\n")
    (folder / "gone.hef").symlink_to(folder / "nowhere")
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.hef")
    assert cli("check", folder) == 3
    words = _words(cli)
    assert words == words | {"LOST.HEF": "FOREIGN", "gone.hef": "DAMAGED"}
    assert "pipe.hef" not in words


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_listed(folder: Path, cli: Cli) -> None:
    (folder / "deeper").chmod(0)
    try:
        assert cli("check", folder) == 3
    finally:
        (folder / "deeper").chmod(0o700)
    assert _words(cli)["deeper"] == "DAMAGED"


def test_for_one_device(folder: Path, cli: Cli) -> None:
    assert cli("check", folder, "--device", "hailo8l") == 4
    words = _words(cli)
    assert (words["small.hef"], words["good.hef"], words["graph.om"]) == ("ok", "REFUSED", "ok")
    assert "HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE(93)" in cli.out
    assert cli("check", folder / "good.hef", "--runtime", "5.2") == 4


def test_an_unreadable_file_decides(folder: Path, cli: Cli) -> None:
    (folder / "cut.hef").write_bytes(TWO_CONTEXT.read_bytes()[:1000])
    (folder / "empty.hef").write_bytes(b"")
    (folder / "text.om").write_text("hello")
    assert cli("check", folder, "--device", "hailo8l", "--json") == 3
    codes = {Path(model["file"]).name: model["exit_code"] for model in cli.document["models"]}
    assert {name for name, code in codes.items() if code == 3} == {"cut.hef", "empty.hef", "text.om"}
    counts = {name: cli.document[name] for name in ("accepted", "refused", "unreadable")}
    assert counts == {"accepted": 2, "refused": 2, "unreadable": 3}


def test_the_json_document(folder: Path, cli: Cli) -> None:
    assert cli("check", folder / "good.hef", "--json") == 0
    (model,) = cli.document["models"]
    assert (model["format"], model["accepted"], model["status"], model["name"]) == ("hef", True, 0, "HAILO_SUCCESS")
    accepted = [(one["runtime"], one["device"]) for one in model["accepted_by"] if one["accepted"]]
    assert accepted == [(runtime, "hailo8") for runtime in ("4.23", "4.22", "4.21", "4.20")]  # V2 is read since 4.20
    status = {one["runtime"]: one["status"] for one in model["accepted_by"] if not one["accepted"]}
    assert (status["4.23"], status["5.2"], status["4.20"], status["4.19"], status["4.17.1"]) == (93, 93, 26, 8, 26)


def test_junit(folder: Path, cli: Cli, tmp_path: Path) -> None:
    (folder / "cut.hef").write_bytes(TWO_CONTEXT.read_bytes()[:1000])
    target = tmp_path / "report.xml"
    assert cli("check", folder, "--device", "hailo8l", "--junit", target) == 3
    suite = ElementTree.parse(target).getroot()[0]
    assert suite.attrib | {"name": ""} == {"name": "", "tests": "5", "failures": "2", "errors": "1"}
    cases = {Path(case.attrib["name"]).name: case for case in suite}
    assert cases["good.hef"].find("failure") is not None
    assert cases["cut.hef"].find("error") is not None
    for name in ("small.hef", "graph.om"):
        assert cases[name].find("failure") is cases[name].find("error") is None
    failure = cases["good.hef"].find("failure")
    assert failure is not None
    assert failure.attrib["type"] == "HAILO_HEF_NOT_COMPATIBLE_WITH_DEVICE"


def test_junit_overwrites_no_model(folder: Path, cli: Cli) -> None:
    assert cli("check", folder, "--junit", folder / "good.hef") == 2
    assert (folder / "good.hef").read_bytes() == TWO_CONTEXT.read_bytes()


def test_names_that_xml_does_not_allow(tmp_path: Path, cli: Cli) -> None:
    model = tmp_path / 'a\x1b<&".hef'
    shutil.copyfile(TWO_CONTEXT, model)
    target = tmp_path / "report.xml"
    assert cli("check", model, "--junit", target) == 0
    ElementTree.parse(target)


# -- warnings (known-problems.md)


def test_a_small_chips_hef_on_the_big_one(cli: Cli) -> None:
    assert cli("check", HAILO8L, "--device", "hailo8") == 0
    assert "compiled for HAILO8L: hailo8 runs it" in cli.err
    assert cli("check", HAILO8L, "--device", "hailo8l") == 0
    assert "compiled for" not in cli.err


def test_another_clock(cli: Cli) -> None:
    assert cli("check", TWO_CONTEXT) == 0
    assert "clock" not in cli.err
    assert cli("check", TWO_CONTEXT, "--clock-mhz", 200) == 0
    assert "compiled for a clock of 400 MHz, hailo8 runs at 200 MHz: compute takes 2.00 times as long" in cli.err


def test_several_contexts(cli: Cli) -> None:
    assert cli("check", TWO_CONTEXT) == 0
    assert "several contexts are switched for every batch" in cli.err


@needs_shared
def test_latency_is_no_throughput(cli: Cli) -> None:
    model = SHARED / "hef" / "yolov8n_320_nms.v2.hailo8.hef"
    assert cli("check", model, "--json") == 0
    (warning,) = [one for one in cli.document["models"][0]["notes"] if "one frame at a time" in one]
    assert "FPS with frames in flight" in warning
    assert warning.endswith("single context: a larger batch amortises nothing")


@needs_shared
def test_damage_that_the_runtime_overlooks(cli: Cli) -> None:
    assert cli("check", SHARED / "hef-bad" / "truncated_ccws.v3.hef") == 3
    assert "truncated: 4444160 bytes are missing" in cli.err


# -- real files


@needs_shared
def test_the_real_files(cli: Cli) -> None:
    assert cli("check", SHARED / "hef") == 0
    assert cli.out.count("\nok ") + cli.out.startswith("ok ") == 9
    assert cli("check", SHARED / "hef-bad", "--json") == 3
    assert cli.document["unreadable"] == 5
    assert cli("check", SHARED / "ms", "--json") == 3
    words = {Path(model["file"]).name: model["exit_code"] for model in cli.document["models"]}
    # a model for training computes its loss with operators that nothing here trains
    refused = {name for name, code in words.items() if code}
    assert all(name.startswith("lite_lenet_train") for name in refused) and set(words.values()) == {0, 3}, words


@needs_shared
def test_made_up_files_agree_with_the_real_runtime(cli: Cli) -> None:
    """A file that the index calls configurable on a runtime is accepted by it on some device, others are not."""
    rows = (SHARED / "synth" / "INDEX.tsv").read_text().splitlines()
    names = rows[0].split("\t")
    index = {row.split("\t")[0]: dict(zip(names, row.split("\t"), strict=False)) for row in rows[1:]}
    models = sorted((SHARED / "synth" / "hef").glob("*.hef"))[::12]
    assert cli("check", *models, "--json") in (0, 3, 4)
    wrong = []
    for model in cli.document["models"]:
        entry = index[Path(model["file"]).stem]
        configures = entry["configures_on"]
        for runtime in ("4.23", "5.2"):
            accepted = any(one["accepted"] for one in model["accepted_by"] if one["runtime"] == runtime)
            if (runtime in configures) and not accepted:
                wrong.append((model["file"], runtime, configures))
    assert wrong == []


def test_nothing_to_check(tmp_path: Path, cli: Cli) -> None:
    assert cli("check") == 2
    assert cli("check", tmp_path) == 2
    assert cli("check", tmp_path / "nowhere.hef") == 3
    assert cli("check", TWO_CONTEXT, "--trace", "x") == 2


def test_clock_assumed_by_the_compiler() -> None:
    """The figure behind the warning: the chip's nominal clock for a Hailo-8 HEF."""
    from emu.chips.chips import load
    from emu.timing.workload import assumed_clock_hz

    assert assumed_clock_hz(open_hef(TWO_CONTEXT), load("hailo8", 200)) == 400e6
