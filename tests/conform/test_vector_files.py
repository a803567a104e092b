"""Vectors of a folder: read as they were written, run as the built-in ones, and refused where they are none."""

from __future__ import annotations

import copy
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emu.cli.main import main
from emu.conform import vector_document
from emu.conform.suite import vectors
from emu.conform.vector_document import document_of, read_folder, vector_of

OURS = f"cmd:{shlex.quote(sys.executable)} -m emu respond"
RULES = ("control/*", "wait/*", "status/NMS-of-no-classes")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of `emu vectors -o`, by their names in the folder."""
    folder = tmp_path_factory.mktemp("vectors")
    with pytest.raises(SystemExit):
        main(["vectors", "-o", str(folder)])
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.json")}


def folder_of(files: dict[str, bytes], folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def conformed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["conform", "--target", OURS, *arguments])
    return ended.value.code, *capsys.readouterr()


def globbed() -> list[str]:
    return [word for rule in RULES for word in ("--rule", rule)]


def test_what_was_written_is_read_again(written: dict[str, bytes], tmp_path: Path) -> None:
    by_name = {one.name: one for one in vectors()}
    read = {one.name: one for one in read_folder(str(folder_of(written, tmp_path)))}
    assert read.keys() == by_name.keys()
    for name, one in read.items():
        assert document_of(one) == document_of(by_name[name])
        assert one == by_name[name], name


def test_written_and_run_gives_the_same_report(
    written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(folder_of(written, tmp_path))
    built_in = conformed(capsys, *globbed(), "--json")
    assert conformed(capsys, *globbed(), "--json", "--vectors", folder) == built_in
    assert built_in[0] == 0 and len(json.loads(built_in[1])["rules"]) > 30


def test_a_folder_alone_says_what_is_run(
    written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the depth nor the name of a file matters; what is no JSON document is somebody's notes."""
    folder_of({"mine.json": written["control/identify.json"], "README.md": b"what these are"}, tmp_path)
    code, out, _ = conformed(capsys, "--vectors", str(tmp_path), "--json")
    assert code == 0
    assert [one["rule"] for one in json.loads(out)["rules"]] == ["control/identify"]


def _status(document: dict[str, Any]) -> None:
    document["steps"][0]["reply"]["major"] = "0x40030060"


def _parameter(document: dict[str, Any]) -> None:
    document["steps"][0]["reply"]["parameters"][0] = "00000003"


def _hazard(document: dict[str, Any]) -> None:
    document["hazards"] = ["list-order"]


def _event(document: dict[str, Any]) -> None:
    document["steps"][0]["notified"] = [{"event": 12, "payload": ""}]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (_status, "step 1, CONTROL: status 0x00000000 instead of 0x40030060"),
        (_parameter, "step 1, CONTROL: parameter 0 is 00000002, not 00000003"),
        (_hazard, "the hazard list-order is not found"),
        (_event, "step 1, CONTROL: event 12 is not told"),
    ],
)
def test_another_expectation_is_found(
    written: dict[str, bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    edit: Callable[[dict[str, Any]], None],
    why: str,
) -> None:
    document = json.loads(written["control/identify.json"])
    edit(document)
    folder_of({"control/identify.json": json.dumps(document).encode()}, tmp_path)
    code, out, _ = conformed(capsys, "--vectors", str(tmp_path))
    assert code == 6
    assert out.splitlines()[0].startswith("does not hold: control/identify (captured, silicon-facts.md a): ")
    assert why in out


def test_another_transfer_is_found(
    written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, document = next(
        (name, document)
        for name, document in ((name, json.loads(data)) for name, data in sorted(written.items()))
        if any(step.get("moved") for step in document["steps"])
    )
    next(step for step in document["steps"] if step.get("moved"))["moved"][0]["stream"] = 31
    folder_of({name: json.dumps(document).encode()}, tmp_path)
    code, out, _ = conformed(capsys, "--vectors", str(tmp_path))
    assert code == 6 and "instead of stream 31" in out


# -- hostile


def _set(*path: object, to: object) -> Callable[[Any], None]:
    def edit(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return edit


def _removed(name: str) -> Callable[[Any], None]:
    return lambda document: document.pop(name)


DAMAGED: dict[str, tuple[Callable[[Any], None], str]] = {
    "another schema": (_set("schema", to="emu-trace"), "its schema is not 'emu-vector'"),
    "a later version": (_set("version", to=2), "its version is 2, this emu reads 1"),
    "no steps": (_removed("steps"), "it has no 'steps'"),
    "a slip in a name": (_set("steps", 0, "notifed", to=[]), "steps: 1: 'notifed' is nothing that it has"),
    "a rule without a family": (_set("rule", to="identify"), "rule: 'identify' is no rule (FAMILY/WHAT)"),
    "a rule that colours": (_set("rule", to="a/\x1b[31m"), r"rule: 'a/\x1b[31m' is no rule"),
    "no basis of ours": (_set("basis", to="hearsay"), "basis: 'hearsay', there are captured, measured"),
    "two devices": (_set("device", to="hailo8\0004.23"), r"device: 'hailo8\x004.23' is no device"),
    "clusters": (_set("clusters", to=1 << 32), "clusters: 4294967296 is more than 32 bits"),
    "true for a number": (_set("clusters", to=True), "clusters: True where a number is due"),
    "a message of a target": (_set("steps", 0, "send", "kind", to="REPLY"), "steps: 1: send: 'REPLY' stands here"),
    "power in between": (_set("steps", 0, "send", "kind", to="POWER"), "steps: 1: send: 'POWER' stands here"),
    "control in memory": (
        _set("memory", to=[{"kind": "CONTROL", "request": ""}]),
        "memory: 1: 'CONTROL' stands here, due is one of BUFFER",
    ),
    "half a byte": (_set("steps", 0, "send", "request", to="0"), "request: '0' where bytes in hex are due"),
    "another opcode": (
        _set("steps", 0, "send", "opcode", to="RESET"),
        "steps: 1: send: it says opcode 'RESET', its request has IDENTIFY",
    ),
    "more than a message holds": (
        _set("steps", 0, "send", "request", to="00" * 0xC000),
        "CONTROL of 49153 bytes, a message has at most 49152",
    ),
    "a number beyond its width": (
        _set("memory", to=[{"kind": "CONTINUOUS", "address": 1 << 63, "buffer": 1 << 32}]),
        "memory: 1: CONTINUOUS: ",
    ),
    "a field too few": (_set("memory", to=[{"kind": "CONTINUOUS", "address": 1}]), "memory: 1: it has no 'buffer'"),
    "no status": (_set("steps", 0, "reply", "major", to="ok"), "steps: 1: reply: major: 'ok' where a status"),
    "a reply that never comes": (
        _set("steps", 0, "send", to={"kind": "RUN", "events": 0, "wait_ms": 1}),
        "steps: 1: a reply to RUN never comes",
    ),
    "both reply and refusal": (_set("steps", 0, "refused", to=True), "a reply to CONTROL that is refused never"),
    "a list for an object": (_set("steps", 0, "reply", to=[]), "steps: 1: reply: a list where an object is due"),
}


def refused(capsys: pytest.CaptureFixture[str], folder: Path, expected: int = 3) -> str:
    """The one line that it is refused with."""
    code, out, err = conformed(capsys, "--vectors", str(folder))
    assert (code, out, err.count("\n")) == (expected, "", 1)
    assert err.startswith("emu: error: HAILO_")
    return err


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_one_is_named(
    name: str, written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit, why = DAMAGED[name]
    document = json.loads(written["control/identify.json"])
    edit(document)
    folder_of({"control/identify.json": json.dumps(document).encode()}, tmp_path)
    line = refused(capsys, tmp_path)
    path = tmp_path / "control" / "identify.json"
    assert f"HAILO_INVALID_ARGUMENT(2): {path} is no vector: " in line
    assert why in line


def test_no_json_is_named(written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (b"", b"\xff", written["control/identify.json"][:-9], b"[" * 100_000):
        folder_of({"control/identify.json": data}, tmp_path)
        assert "identify.json is no vector: no JSON at byte" in refused(capsys, tmp_path)


def test_a_rule_is_there_once(written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder_of({"a.json": written["control/identify.json"], "b.json": written["control/identify.json"]}, tmp_path)
    line = refused(capsys, tmp_path)
    assert "b.json is no vector: the rule 'control/identify' is that of" in line and "a.json, too" in line


def test_what_is_too_much(
    written: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    size = len(written["control/identify.json"])
    folder_of({"control/identify.json": written["control/identify.json"]}, tmp_path)
    monkeypatch.setattr(vector_document, "LARGEST_FILE", size - 1)
    assert f"larger than {size - 1} bytes" in refused(capsys, tmp_path)
    monkeypatch.setattr(vector_document, "LARGEST_FILE", size)
    monkeypatch.setattr(vector_document, "LARGEST_FOLDER", size - 1)
    assert f"the folder has more than {size - 1} bytes" in refused(capsys, tmp_path)
    monkeypatch.setattr(vector_document, "LARGEST_FOLDER", size)
    monkeypatch.setattr(vector_document, "MOST_FILES", 0)
    assert "more than 0 files" in refused(capsys, tmp_path)
    monkeypatch.setattr(vector_document, "MOST_FILES", 1)
    assert len(read_folder(str(tmp_path))) == 1


def test_no_folder_no_vectors_no_files(
    written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "nowhere is no folder of vectors" in refused(capsys, tmp_path / "nowhere", 2)
    assert "holds no vectors" in refused(capsys, tmp_path, 2)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert "holds no vectors" in refused(capsys, tmp_path, 2)
    os.mkfifo(tmp_path / "pipe.json")
    assert "pipe.json is not a regular file" in refused(capsys, tmp_path)


def test_no_rule_of_the_folder_fits(
    written: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of({"control/identify.json": written["control/identify.json"]}, tmp_path)
    code, _, err = conformed(capsys, "--vectors", str(tmp_path), "--rule", "flow/*")
    assert code == 2 and "no rule fits flow/*" in err


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Every place of a document, but of long lists their first two items."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in items:
        yield (*path, key)
        yield from places(one, (*path, key))


JUNK: tuple[object, ...] = (None, True, -1, 1 << 64, 0.5, "", "zz", "\0", [], {}, [None], {"": 0}, [[]])


@pytest.mark.parametrize("rule", ["control/identify", "hazard/list-order", "state/lists-in-ddr"])
def test_nothing_in_it_can_do_harm(rule: str, written: dict[str, bytes]) -> None:
    """Whatever stands in a place: it is a vector that can be sent, or it is refused."""
    document = json.loads(written[f"{rule}.json"])
    tried = 0
    for path in places(document):
        for junk in JUNK:
            other = copy.deepcopy(document)
            _set(*path, to=junk)(other)
            tried += 1
            try:
                vector = vector_of(other)
            except vector_document.NoVectorError:
                continue
            assert vector_of(document_of(vector)) == vector
    assert tried > 200
