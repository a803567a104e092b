"""Every output of every command at places that take none: exit code 7, the path as it was given, nothing changed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from emu import output as module
from emu.files import shown
from tests.cli.test_outputs import CASES
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
Emu = Callable[..., tuple[int, str, str]]
# what `test_outputs` gives a command only to see it refused before its work, with inputs for which the work succeeds
INPUTS = {
    ("coverage", "--output"): {str(EXAMPLES / "two_context.hef"): "COVERAGE"},
    ("asm", "--output"): {str(ROOT / "LICENSE"): "YAML"},
}
FILES = [case for case in CASES if "FOLDER" not in CASES[case][0] and case[0] != "exec"]  # a process of its own
FOLDERS = [case for case in CASES if "FOLDER" in CASES[case][0] and case[0] != "exec"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    from emu.cli.main import main

    folder = tmp_path_factory.mktemp("inputs")
    hef = str(EXAMPLES / "two_context.hef")
    for arguments in (["run", hef, "--coverage-file", f"{folder}/c"], ["disasm", hef, "-o", f"{folder}/x.yaml"]):
        with pytest.raises(SystemExit):
            main(arguments)
    return {"COVERAGE": str(folder / "c"), "YAML": str(folder / "x.yaml")}


def arguments_of(case: tuple[str, str], target: Path, inputs: dict[str, str]) -> tuple[list[str], Path]:
    """The command line, and where its output goes: some want a suffix."""
    replaced = INPUTS.get(case, {})
    words = [inputs.get(replaced.get(word, ""), word) for word in CASES[case][0]]
    place = target
    for at, word in enumerate(words):
        for mark in ("FILE", "FOLDER"):
            if word in (mark, f"{mark}@1") or word.endswith(f"={mark}") or word == "FILE.csv":
                place = target.with_name(target.name + (".csv" if word == "FILE.csv" else ""))
                words[at] = word.replace(f"{mark}.csv", mark).replace(mark, str(place))
                break
    return words, place


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", FILES, ids=" ".join)
def test_names_and_folders_that_take_no_file(
    emu: Emu, tmp_path: Path, inputs: dict[str, str], case: tuple[str, str]
) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    before = listing(tmp_path)
    places = [
        tmp_path / "no" / "such" / "folder",
        tmp_path / "file" / "below",
        tmp_path / ("x" * 300),
        tmp_path / os.fsdecode(b"\xff" * 300),
    ]
    for target in places:
        words, place = arguments_of(case, target, inputs)
        code, _, err = emu(*words)
        if case[0] == "disasm" and "\udcff" in str(target):  # the description names its bulk file
            assert code == 2
            continue
        assert code == 7, (target, err)
        assert shown(place) in err or shown(place.with_suffix(".bin")) in err
        assert err.isprintable() or err.count("\n") == len(err.splitlines())
        assert listing(tmp_path) == before


@pytest.mark.parametrize("case", FILES, ids=" ".join)
def test_a_disk_that_fills_up_keeps_the_old_file(
    emu: Emu, tmp_path: Path, inputs: dict[str, str], monkeypatch: pytest.MonkeyPatch, case: tuple[str, str]
) -> None:
    words, place = arguments_of(case, tmp_path / "out", inputs)
    assert emu(*words)[0] == 0
    whole = listing(tmp_path)
    assert place.is_file()

    monkeypatch.setattr(module._Reporting, "write", lambda self, data: _refuse(self))
    code, _, err = emu(*words)
    if case[0] == "asm":  # what is there is a model
        assert code == 2 and listing(tmp_path) == whole
        return
    assert code == 7, err
    assert "no space left on device" in err and str(place.parent) in err
    assert listing(tmp_path) == whole


def _refuse(reporting: object) -> int:
    raise module._refusal(reporting._path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", FILES, ids=" ".join)
def test_devices_and_odd_names(emu: Emu, tmp_path: Path, inputs: dict[str, str], case: tuple[str, str]) -> None:
    words, place = arguments_of(case, tmp_path / os.fsdecode(b"n\xff\n\x1bm"), inputs)
    code, _, err = emu(*words)
    if case[0] == "disasm":  # the description names its bulk file
        assert code == 2 and list(tmp_path.iterdir()) == []
        return
    assert code == 0, err
    assert place.is_file() and not any(path.name.endswith(".part") for path in tmp_path.iterdir())
    if case[0] in ("disasm", "sweep", "run") and case[1] != "--trace":
        return  # a suffix decides, or a second file goes beside
    words, _ = arguments_of(case, Path("/dev/full"), inputs)
    code, _, err = emu(*words)
    assert code == 7 and "/dev/full" in err, err


@pytest.mark.parametrize("case", FOLDERS, ids=" ".join)
def test_folders_that_cannot_be_made(emu: Emu, tmp_path: Path, inputs: dict[str, str], case: tuple[str, str]) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    for target in (tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        words, place = arguments_of(case, target, inputs)
        code, _, err = emu(*words)
        assert code == 7 and str(place) in err, err
    assert listing(tmp_path) == {str(tmp_path / "file"): b"kept"}
