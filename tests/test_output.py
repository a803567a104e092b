"""The one module that writes files: whole or not at all, one line and exit 7 where the system refuses."""

from __future__ import annotations

import ast
import os
import socket
from pathlib import Path

import pytest

from emu.errors import FirmwareError, OutputError, UsageError
from emu.output import PART_SUFFIX, Output, make_folder, write
from tests.conftest import ROOT

WRITERS = {"write_text", "write_bytes", "savefig", "savez", "savez_compressed", "mkdir", "makedirs"}


def part(path: Path) -> Path:
    return path.with_name(path.name + PART_SUFFIX)


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_bytes(b"old")
    with Output(target) as output:
        output.stream.write(b"new")
        output.stream.flush()
        assert target.read_bytes() == b"old" and part(target).read_bytes() == b"new"
    assert target.read_bytes() == b"new" and [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("error", [UsageError("no"), KeyboardInterrupt(), OSError(28, "full"), ValueError("x")])
def test_an_old_file_survives_a_failure(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "a.json"
    target.write_bytes(b"old")
    with pytest.raises(type(error)), Output(target) as output:
        output.stream.write(b"half")
        raise error
    assert target.read_bytes() == b"old" and [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_what_a_stopped_device_did_is_kept(tmp_path: Path) -> None:
    with pytest.raises(FirmwareError), Output(tmp_path / "trace") as output:
        output.stream.write(b"events")
        raise FirmwareError("STATUS", 1, "stopped")
    assert (tmp_path / "trace").read_bytes() == b"events"


def test_text_is_utf8_with_plain_lines(tmp_path: Path) -> None:
    with Output(tmp_path / "a") as output:
        output.text().write("é\n")
    assert (tmp_path / "a").read_bytes() == "é\n".encode()


def test_two_writers_of_one_file(tmp_path: Path) -> None:
    with Output(tmp_path / "a") as first:
        first.stream.write(b"first")
        with pytest.raises(OutputError, match="being written by another process"):
            Output(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"first"
    write(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"second"


def test_a_part_that_was_left_is_written_over(tmp_path: Path) -> None:
    part(tmp_path / "a").write_bytes(b"x" * 100)
    write(tmp_path / "a", [b"1", memoryview(b"2")])
    assert (tmp_path / "a").read_bytes() == b"12" and not part(tmp_path / "a").exists()


def test_a_link_stays_and_a_mode_is_kept(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("length", [250, 251, 255])
def test_the_longest_names(tmp_path: Path, length: int) -> None:
    write(tmp_path / ("n" * length), b"x")
    assert [len(path.name) for path in tmp_path.iterdir()] == [length]


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")), b"x")
    with pytest.raises(OutputError) as refusal:
        write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff/y")), b"x")
    assert "\\xff/y" in refusal.value.line() and refusal.value.line().isprintable()


@pytest.mark.parametrize("name", ["missing/a", "n" * 256, "n" * 300, "file/a", "nul\0", "socket"])
def test_what_cannot_be_opened_is_refused_with_the_path_as_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    with pytest.raises(OutputError) as refusal:
        Output(name)
    assert refusal.value.exit_code == 7 and refusal.value.number == 14
    assert refusal.value.message.startswith(f"cannot write {name}: ")


def test_a_device_is_written_directly() -> None:
    write("/dev/null", b"x")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_full_disk_is_one_line(size: int) -> None:
    with pytest.raises(OutputError, match="cannot write /dev/full: no space left on device"):
        write("/dev/full", bytes(size))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write"):
        make_folder(tmp_path / "file" / "folder")
    assert make_folder(tmp_path / "a" / "b").is_dir() and make_folder(tmp_path / "a" / "b").is_dir()


def test_no_other_module_writes_files() -> None:
    """Of the library; the scripts that generate the schemas' code are run by hand."""
    found = []
    for path in sorted((ROOT / "emu").rglob("*.py")):
        if path.name == "output.py" or path.parent.name == "schemas":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            modes = [
                a.value
                for a in [*node.args, *(k.value for k in node.keywords if k.arg == "mode")]
                if isinstance(a, ast.Constant) and isinstance(a.value, str)
            ]
            opens = name == "open" and any(set(mode) <= set("wxab+t") and set(mode) & set("wxa") for mode in modes)
            to_stream = name == "savefig" and any(getattr(a, "id", "") == "stream" for a in node.args)
            zipped = name == "open" and any(k.arg == "force_zip64" for k in node.keywords)
            if (opens and not zipped) or (name in WRITERS and not to_stream):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {name}")
    assert found == []
