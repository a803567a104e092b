"""How large a document may be, and what opens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emu import files
from emu.cli.main import main
from emu.errors import HailoError
from tests.conftest import ROOT

EXAMPLE = str(ROOT / "examples" / "two_context.hef")


@pytest.mark.parametrize(("size", "opens"), [(0, True), (10, True), (11, False)])
def test_a_document_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, opens: bool
) -> None:
    monkeypatch.setattr(files, "LARGEST_DOCUMENT", 10)
    path = tmp_path / "document"
    path.write_bytes(bytes(size))
    if opens:
        assert files.read_document(path) == bytes(size)
        return
    with pytest.raises(HailoError, match="larger than 10 bytes") as refusal:
        files.read_document(path)
    assert refusal.value.number == 14


@pytest.mark.parametrize(
    "command",
    [
        ["coverage", "FILE"],
        ["calibrate", "FILE"],
        ["replay", "FILE"],
        ["check", "--trace", "FILE"],
        ["diff", "FILE", "FILE"],
        ["run", "--actions", "FILE"],
        ["run", EXAMPLE, "--costs", "FILE"],
        ["run", EXAMPLE, "--inputs", "FILE"],
        ["run", "FILE"],
        ["inspect", "FILE"],
        ["parse-hef", "FILE"],
    ],
    ids=lambda command: " ".join(one for one in command if one not in ("FILE", EXAMPLE)),
)
@pytest.mark.parametrize("begins", [b"", b"\x89PNG\r\n\x1a\n", b"lorem ipsum\n" * 10_000], ids=["zeros", "png", "text"])
def test_a_foreign_file_is_refused_after_its_first_block(
    tmp_path: Path, command: list[str], begins: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """80 MB of something else; what a command reads of its own modules counts too."""
    path = tmp_path / "foreign"
    with path.open("wb") as file:
        file.write(begins)
        file.truncate(80 << 20)
    before = bytes_read()
    with pytest.raises(SystemExit) as end:
        main([argument.replace("FILE", str(path)) for argument in command])
    assert end.value.code in (2, 3)
    assert capsys.readouterr().err.count("\n") == 1
    assert bytes_read() - before < 20 << 20


def bytes_read() -> int:
    """By this process, from whatever."""
    return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]
