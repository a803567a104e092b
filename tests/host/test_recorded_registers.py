"""Register accesses of a card in recordings: which there are, that they come again, and that nothing else changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.cli.main import main
from tests.conftest import ROOT

MODEL = str(ROOT / "examples" / "two_context.hef")
RUN = ["run", MODEL, "--frames", "5", "--batch", "2"]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def lines(folder: Path) -> list[bytes]:
    return (folder / "record.jsonl").read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registers") / "recording"
    assert run(*RUN, "--record", str(folder), "--record-registers") == 0
    return folder


def changed(recording: Path, folder: Path, number: int, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy with one record changed, by its number."""
    shutil.copytree(recording, folder)
    records = lines(folder)
    record = json.loads(records[number - 1])
    change(record)
    records[number - 1] = json.dumps(record).encode() + b"\n"
    (folder / "record.jsonl").write_bytes(b"".join(records))
    return folder


def test_the_other_records_are_those_without_the_option(recording: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    assert run(*RUN, "--record", str(plain)) == 0
    kinds = [json.loads(line)["kind"] for line in lines(recording)]
    rest = [line for line, kind in zip(lines(recording), kinds, strict=True) if kind not in ("register", "interrupt")]
    assert rest == lines(plain) and len(rest) < len(kinds)
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (recording, plain)]
    assert manifests[0]["run"].pop("registers") is True
    assert manifests[0]["run"] == manifests[1]["run"]


def test_they_are_those_of_the_trace(recording: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    assert run(*RUN, f"--trace=registers:{trace}") == 0
    traced = [json.loads(line) for line in trace.read_text().splitlines()]
    traced = [one for one in traced if one.get("kind") in ("register", "interrupt")]
    records = [json.loads(line) for line in lines(recording)]
    accesses = [one for one in records if one["kind"] in ("register", "interrupt")]
    assert [one["kind"] for one in accesses] == [one["kind"] for one in traced]
    for access, event in zip(accesses, traced, strict=True):
        arguments = event["arguments"]
        assert arguments.get("value") == access.get("value") and arguments.get("offset") == access.get("offset")
        if access["kind"] == "register":
            assert (access["bar"], access["access"]) == (arguments["bar"], event["action"])
            assert "value" in access or len(access["data"]) == 2 * access["size"] == 2 * event["bytes"]


def test_they_come_again(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("replay", str(recording)) == 0
    assert " register, " in capsys.readouterr().out


def test_a_changed_value_is_named(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [json.loads(line) for line in lines(recording)]
    number = next(at for at, one in enumerate(records, 1) if one.get("name") == "channel 16 counts")
    folder = changed(recording, tmp_path / "r", number, lambda record: record.update(value=0x77))
    capsys.readouterr()
    assert run("replay", str(folder)) == 6
    said = capsys.readouterr().out
    assert f"record {number}: value" in said and "BAR2+0x214 channel 16 counts = 0x00000077" in said


@pytest.mark.parametrize("change", [{"bar": "x"}, {"offset": None}, {"value": []}, {"data": 7}, {"data": "zz"}])
def test_a_damaged_record_differs(recording: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    assert run("replay", str(changed(recording, tmp_path / "r", 3, lambda record: record.update(change)))) == 6


def test_a_damaged_manifest(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "r"
    shutil.copytree(recording, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["run"]["registers"] = "some"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert run("replay", str(folder)) == 3
    assert "registers 'some'" in capsys.readouterr().err


def test_the_option_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", MODEL, "--record-registers") == 2
    assert "without --record" in capsys.readouterr().err
