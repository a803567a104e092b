"""`emu parse-hef` against the texts of the real program, to the byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli.parse_hef import command
from emu.errors import EmuError
from emu.hef import open_hef
from emu.hef.text import parse_hef_text
from tests.conftest import SHARED, needs_shared

VERSIONS = ("4.23", "5.2")


def _ours(path: Path, version: str, streams: bool) -> tuple[int, str]:
    try:
        return 0, parse_hef_text(open_hef(path, runtime=version), streams=streams)
    except EmuError as error:
        assert error.exit_code in (3, 4)
        return error.number, ""


@needs_shared
@pytest.mark.parametrize("version", VERSIONS)
def test_given_files(version: str) -> None:
    texts = sorted((SHARED / "oracle/parse-hef" / version).glob("*.txt"))
    assert len(texts) == 18
    for path in texts:
        body, status = re.fullmatch(r"(.*)rc=(-?\d+)\n", path.read_text(), re.DOTALL).groups()
        name = path.name.removesuffix(".txt")
        streams = name.endswith(".full")
        hef = SHARED / "hef" / f"{name.removesuffix('.full')}.hef"
        assert _ours(hef, version, streams) == (int(status), body), path.name


@needs_shared
@pytest.mark.parametrize("version", VERSIONS)
def test_synthetic_files(version: str) -> None:
    texts = sorted((SHARED / "synth/parse-hef" / version).glob("*.txt"))
    assert len(texts) == 367
    for path in texts:
        match = re.fullmatch(r"rc=(-?\d+)\n--- stdout\n(.*?)--- stderr\n.*", path.read_text(), re.DOTALL)
        status, stdout = int(match[1]), match[2]
        ours, text = _ours(SHARED / "synth/hef" / f"{path.stem}.hef", version, streams=True)
        assert text == stdout, path.name
        if status < 0:  # the real program crashes; ours says why it refuses the file
            assert ours != 0, path.name
        else:
            assert ours == status, path.name


@needs_shared
def test_options_of_the_command() -> None:
    path = str(SHARED / "hef/mnist_cnn.v0.hailo8.hef")
    run = CliRunner().invoke
    plain = run(command, [path]).stdout
    assert "VStream infos:" in plain and "    Stream infos:" not in plain
    assert run(command, [path, "--parse-vstreams=false"]).stdout == "".join(plain.splitlines(True)[:3])
    full = run(command, ["--parse-streams", path]).stdout
    assert full == parse_hef_text(open_hef(path), streams=True)
    assert run(command, ["-"], input=Path(path).read_bytes()).stdout == plain
    assert run(command, [path, "--runtime", "5.2"]).stdout.startswith("HEF Compatible for: HAILO8\n")


@needs_shared
def test_a_directory_prints_every_hef_in_it() -> None:
    out = CliRunner().invoke(command, [str(SHARED / "hef")]).stdout
    names = re.findall(r"^\*{80}\nParsing (.*):$", out, re.MULTILINE)
    assert names == [str(path) for path in sorted((SHARED / "hef").glob("*.hef"))]


def test_a_directory_without_hefs_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert isinstance(result.exception, EmuError)
    assert result.exception.number == 2 and result.stdout == ""
