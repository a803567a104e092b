"""Registers of a card against another implementation: writes are sent, reads compared; what may differ does."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.cli.main import main
from emu.conform.protocol import Kind, decode, encode, message
from emu.conform.replay import check_records
from emu.conform.respond import Responder
from emu.errors import HailoError
from emu.wire.control import Opcode, decode_response, encode_response
from tests.conftest import ROOT, needs_shared

EXAMPLES = ROOT / "examples"
HERE = "tests.conform.test_replay_registers"
OURS = "python:emu.conform.respond:Responder"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registers") / "recording"
    arguments = ["--frames", "5", "--batch", "2", "--record", str(folder), "--record-registers"]
    assert run("run", str(EXAMPLES / "two_context.hef"), *arguments) == 0
    return folder


class Card:
    """Another implementation: our answerer, whose registers `change` reads otherwise, by (bar, offset, data)."""

    def __init__(self, change: Callable[[int, int, bytes], bytes] | None = None, version: int = 2) -> None:
        self._inner = Responder()
        self._change = change
        self._version = version

    def answer(self, body: bytes) -> list[bytes]:
        asked = decode(body)
        if self._version == 1:
            if asked.kind in (Kind.SET_REGISTER, Kind.GET_REGISTER, Kind.QUEUE):
                raise AssertionError("an old one does not know it")
            if asked.kind is Kind.HELLO:
                if asked["version"] != 1:
                    return [encode(message(Kind.REFUSED, why="version 1 is spoken here"))[4:]]
                ready = decode(self._inner.answer(body)[-1])
                assert ready["version"] == 1 and not ready["watch"] & 32
                return [encode(message(Kind.READY, version=1, watch=63, name="old"))[4:]]
        answers = self._inner.answer(body)
        last = decode(answers[-1])
        if self._change is not None and last.kind is Kind.VALUE:
            data = self._change(asked["bar"], asked["offset"], last["data"])
            answers[-1] = encode(message(Kind.VALUE, data=data))[4:]
        return answers


def _flipped(bar: int, offset: int, mask: int) -> Card:
    def change(at: int, place: int, data: bytes) -> bytes:
        if (at, place) != (bar, offset):
            return data
        return (int.from_bytes(data, "little") ^ mask).to_bytes(len(data), "little")

    return Card(change)


def _other_serial(wrong_digest: bool) -> Card:
    """Its IDENTIFY has another serial number, and so another MD5."""
    replies: list[bytes] = []

    def changed(reply: bytes) -> bytes:
        found = decode_response(reply)
        if found.opcode != Opcode.IDENTIFY:
            return reply
        parameters = list(found.parameters)
        parameters[5] = b"other-serial-num"[: len(parameters[5])].ljust(len(parameters[5]), b"x")
        return encode_response(Opcode.IDENTIFY, parameters)

    card = Card()

    def change(bar: int, offset: int, data: bytes) -> bytes:
        if (bar, offset) == (4, 0x640):
            size = int.from_bytes(data[16:20], "little")
            ask = encode(message(Kind.GET_REGISTER, bar=4, offset=0x654, size=size))[4:]
            reply = decode(card._inner.answer(ask)[-1])["data"]
            replies.append(changed(reply))
            digest = hashlib.md5(reply if wrong_digest else replies[-1]).digest()
            return digest + data[16:]
        if (bar, offset) == (4, 0x654):
            return replies[-1]
        return data

    card._change = change
    return card


def other_translation() -> Card:
    return _flipped(0, 0x708, 0x1000)


def other_base() -> Card:
    return _flipped(2, 0x210, 1 << 11)


def other_software() -> Card:
    return _flipped(0, 0x18C, 1 << 28)


def foreign_channel() -> Card:
    return _flipped(0, 0x400, 1 << 9)


def event_bit() -> Card:
    return _flipped(0, 0x18C, 1 << 23)


def other_unit() -> Card:
    return _other_serial(wrong_digest=False)


def other_digest() -> Card:
    return _other_serial(wrong_digest=True)


def never_pending() -> Card:
    return Card(lambda bar, offset, data: bytes(4) if (bar, offset) == (0, 0x500) else data)


def short() -> Card:
    return Card(lambda bar, offset, data: data[:2] if bar == 2 else data)


def the_same() -> Card:
    return Card()


def old() -> Card:
    return Card(version=1)


@pytest.mark.parametrize("target", ["the_same", "event_bit", "other_unit"])
def test_what_may_differ(recording: Path, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("replay", str(recording), "--target", f"python:{HERE}:{target}", "--json") == 0
    compared = json.loads(capsys.readouterr().out)["compared"]
    counts = json.loads((recording / "manifest.json").read_text())["counts"]
    assert compared["registers"] == counts["register"] and compared["interrupts"] > 0
    expected = {"replies": counts["control"], "transfers": counts["transfer"], "accesses": counts["write"]}
    assert expected.items() <= compared.items()


@pytest.mark.parametrize(
    ("target", "field", "place"),
    [
        ("other_translation", "value", (0, 0x708)),
        ("other_base", "value", (2, 0x210)),
        ("other_software", "value", (0, 0x18C)),
        ("foreign_channel", "value", (0, 0x400)),
        ("never_pending", "value", (0, 0x500)),
        ("other_digest", "MD5 of the reply", (4, 0x654)),
        ("short", "size", (2, 0x210)),
    ],
)
def test_what_differs_is_named(
    recording: Path, target: str, field: str, place: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run("replay", str(recording), "--target", f"python:{HERE}:{target}") == 6
    said = capsys.readouterr().out
    assert f": {field}\n" in said and f"host reads BAR{place[0]}+0x{place[1]:03X} " in said


def test_a_changed_record_is_named(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [json.loads(line) for line in (recording / "record.jsonl").read_text().splitlines()]
    number = next(at for at, one in enumerate(records, 1) if one.get("offset") == 0x708 and at > 100)
    records[number - 1]["value"] ^= 1
    (tmp_path / "record.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (tmp_path / "manifest.json").write_bytes((recording / "manifest.json").read_bytes())
    capsys.readouterr()
    assert run("replay", str(tmp_path), "--target", OURS) == 6
    said = capsys.readouterr().out
    assert f"record {number}: value" in said and "BAR0+0x708 ATR0 target low = 0x60000001" in said


def test_behind_a_pipe(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("replay", str(recording), "--target", f"cmd:{sys.executable} -m emu respond") == 0
    counts = json.loads((recording / "manifest.json").read_text())["counts"]
    assert f"{counts['register']} of the host to its card" in capsys.readouterr().out


def test_who_does_not_know_registers(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("replay", str(recording), "--target", f"python:{HERE}:old", "--json") == 0
    told = capsys.readouterr()
    compared = json.loads(told.out)["compared"]
    assert "old does not know the registers of a card" in told.err and told.err.count("\n") == 1
    assert compared["registers"] == 0 and compared["replies"] and compared["transfers"] and compared["accesses"]


def test_two_applications(tmp_path: Path) -> None:
    """Channels of one interrupt group are pending in another order than recorded: that is a time."""
    files = [str(EXAMPLES / name) for name in ("two_context.hef", "digits.hef")]
    options = ["--schedule", "round-robin", "--frames", "3", "--batch", "2", "--record-registers"]
    assert run("run", *files, *options, "--record", str(tmp_path / "r")) == 0
    assert run("replay", str(tmp_path / "r"), "--target", OURS) == 0


@needs_shared
@pytest.mark.parametrize("name", ["mnist_cnn.v0.hailo8", "driving_partial.v1.hailo8l"])
def test_real_files(tmp_path: Path, shared: Path, name: str) -> None:
    options = ["--frames", "8", "--batch", "2", "--record", str(tmp_path / "r"), "--record-registers"]
    assert run("run", str(shared / "hef" / f"{name}.hef"), *options) == 0
    assert run("replay", str(tmp_path / "r"), "--target", OURS) == 0


ACCESS = {"ns": 0, "kind": "register", "access": "read", "bar": 0, "offset": 0x18C, "size": 4, "value": 0}


@pytest.mark.parametrize(
    "change",
    [
        *({"access": "peek"}, {"bar": 256}, {"bar": -1}, {"offset": 1 << 32}, {"offset": "0"}, {"size": 0}),
        *({"size": 1 << 20}, {"size": 2}, {"value": -1}, {"value": 1 << 32}, {"value": None}, {"value": True}),
        *({"data": "00"}, {"data": 7}, {"data": "xyzw"}, {"kind": "interrupt", "value": "1"}),
        *({"kind": "interrupt", "value": -1},),
    ],
)
def test_a_damaged_access(change: dict[str, Any]) -> None:
    assert list(check_records([ACCESS]))
    with pytest.raises(HailoError, match="record 1 of kind"):
        list(check_records([{**ACCESS, **change}]))


@pytest.mark.parametrize("size", [0, 0x4001, 0xFFFFFFFF])
def test_a_read_is_bounded(size: int) -> None:
    ours = Responder()
    for asked in (
        message(Kind.POWER, watch=32, clusters=0, seed=0, names="hailo8\0004.23"),
        message(Kind.GET_REGISTER, bar=2, offset=0, size=size),
        message(Kind.SET_REGISTER, bar=9, offset=0, data=bytes(4)),
    ):
        last = decode(ours.answer(encode(asked)[4:])[-1])
        assert last.kind is (Kind.DONE if asked.kind is Kind.POWER else Kind.REFUSED)
