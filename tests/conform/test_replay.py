"""A recording against another implementation: what has to be the same, and what may differ."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.cli.main import main
from emu.conform.protocol import Kind, Message, decode, encode, message
from emu.conform.respond import Responder
from emu.wire.control import Opcode, decode_response, encode_response
from tests.conftest import ROOT, needs_shared

EXAMPLES = ROOT / "examples"
HERE = "tests.conform.test_replay"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay") / "recording"
    assert run("run", str(EXAMPLES / "two_context.hef"), "--frames", "5", "--batch", "2", "--record", str(folder)) == 0
    return folder


class Changed:
    """Our answerer with one answer changed on its way."""

    def __init__(self, change: Callable[[Message], Message | None]) -> None:
        self._inner = Responder()
        self._change = change

    def answer(self, body: bytes) -> list[bytes]:
        changed = [self._change(decode(one)) for one in self._inner.answer(body)]
        return [encode(one)[4:] for one in changed if one is not None]


def _replies(opcode: Opcode, parameter: int, data: bytes) -> Changed:
    def change(one: Message) -> Message:
        if one.kind is not Kind.REPLY or decode_response(one["reply"]).opcode != opcode:
            return one
        found = decode_response(one["reply"])
        parameters = list(found.parameters)
        parameters[parameter] = data
        return message(Kind.REPLY, reply=encode_response(opcode, parameters))

    return Changed(change)


def other_unit() -> Changed:
    return _replies(Opcode.IDENTIFY, 5, b"serial-number-42")


def other_version() -> Changed:
    return _replies(Opcode.IDENTIFY, 1, bytes(12))


def other_size() -> Changed:
    return _replies(Opcode.IDENTIFY, 5, b"short")


def _events(kind: Kind, **fields: Any) -> Changed:
    count = 0

    def change(one: Message) -> Message | None:
        nonlocal count
        if one.kind is not kind:
            return one
        count += 1
        if count != 4:
            return one
        return None if not fields else Message(kind, {**one.fields, **fields})

    return Changed(change)


def lost_transfer() -> Changed:
    return _events(Kind.TRANSFER)


def other_content() -> Changed:
    return _events(Kind.TRANSFER, digest=bytes(16))


def other_frame() -> Changed:
    return _events(Kind.TRANSFER, frame=77)


def other_write() -> Changed:
    return _events(Kind.WRITE, address=0x12345678)


def without_accesses() -> Changed:
    """It cannot tell accesses, nor contents."""

    def change(one: Message) -> Message | None:
        if one.kind is Kind.READY:
            return message(Kind.READY, version=one["version"], watch=1, name="plain")
        if one.kind in (Kind.WRITE, Kind.READ):
            return None
        return Message(one.kind, {**one.fields, "digest": bytes(16)}) if one.kind is Kind.TRANSFER else one

    return Changed(change)


def the_same() -> Changed:
    return Changed(lambda one: one)


@pytest.mark.parametrize("target", ["other_unit", "without_accesses", "the_same"])
def test_what_may_differ(recording: Path, target: str) -> None:
    assert run("replay", str(recording), "--target", f"python:{HERE}:{target}") == 0


@pytest.mark.parametrize(
    ("target", "kind", "fields"),
    [
        ("other_version", "control", ["firmware_major", "firmware_minor", "firmware_revision"]),
        ("other_size", "control", ["serial_number"]),
        ("lost_transfer", "transfer", None),
        ("other_content", "transfer", ["digest"]),
        ("other_frame", "transfer", ["frame"]),
        ("other_write", "write", ["address"]),
    ],
)
def test_what_differs_is_named(
    recording: Path, target: str, kind: str, fields: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run("replay", str(recording), "--target", f"python:{HERE}:{target}", "--json") == 6
    found = json.loads(capsys.readouterr().out)
    divergence = found["divergence"]
    assert found["equal"] is False and divergence["recorded"]["kind"] == kind
    assert fields is None or divergence["fields"] == fields
    recorded = (recording / "record.jsonl").read_text().splitlines()[divergence["number"] - 1]
    assert json.loads(recorded) == divergence["recorded"]


def test_our_answerer_behind_a_pipe(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("replay", str(recording), "--target", f"cmd:{sys.executable} -m emu respond") == 0
    counts = json.loads((recording / "manifest.json").read_text())["counts"]
    expected = f"{counts['control']} replies, {counts['transfer']} transfers, {counts['write']} register accesses"
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["two_context.hef", "digits.hef", "--schedule", "round-robin", "--frames", "3", "--batch", "2"],
        ["computed_digits.hef", "--frames", "4"],
        ["computed_digits.hef", "--frames", "2", "--compute=strict"],
        ["configured.hef", "--frames", "2"],
    ],
)
def test_other_runs(tmp_path: Path, arguments: list[str]) -> None:
    files = [str(EXAMPLES / one) if one.endswith(".hef") else one for one in arguments]
    assert run("run", *files, "--record", str(tmp_path / "r")) == 0
    assert run("replay", str(tmp_path / "r"), "--target", "python:emu.conform.respond:Responder") == 0


@needs_shared
@pytest.mark.parametrize(
    "name", ["fast_depth_ddr.v1.hailo8", "face_landmarks_lite_2ctx.v3.hailo1xh", "driving_partial.v1.hailo8l"]
)
def test_real_files(tmp_path: Path, shared: Path, name: str) -> None:
    file = str(shared / "hef" / f"{name}.hef")
    assert run("run", file, "--frames", "3", "--batch", "2", "--record", str(tmp_path / "r")) == 0
    assert run("replay", str(tmp_path / "r"), "--target", "python:emu.conform.respond:Responder") == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("request", 7), ("request", "00" * 50000), ("channel", "2"), ("channel", 256), ("kind", "nothing")),
        *(("digest", "xyz"), ("digest", "00"), ("transfers", None), ("transfers", 1 << 20)),
        *(("num_available", -1), ("frame", 1 << 64)),
    ],
)
def test_a_damaged_record(
    recording: Path, tmp_path: Path, field: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "r"
    shutil.copytree(recording, folder)
    lines = [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()]
    next(one for one in lines if field in one and (field != "digest" or one["kind"] == "transfer"))[field] = value
    (folder / "record.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("replay", str(folder), "--target", "python:emu.conform.respond:Responder") == 3
    assert "HAILO_INVALID_ARGUMENT(2): record " in capsys.readouterr().err


def test_a_recording_of_a_card(tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "r"
    shutil.copytree(recording, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["run"]["card"] = {}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert run("replay", str(folder), "--target", "python:emu.conform.respond:Responder") == 2
    assert "of a card" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [["--compute=strict"], ["--outputs", "out.npz"], ["--outputs", "out.npz", "--compute=off"]]
)
def test_what_the_core_computed_is_computed_again(tmp_path: Path, options: list[str]) -> None:
    """Transfers of a recording hold it, so that a replay has to know of it."""
    options = [str(tmp_path / one) if one.endswith(".npz") else one for one in options]
    recording = str(tmp_path / "r")
    assert run("run", str(EXAMPLES / "computed_digits.hef"), "--frames", "2", *options, "--record", recording) == 0
    assert run("replay", recording) == 0
    assert run("replay", recording, "--target", "python:emu.conform.respond:Responder") == 0
