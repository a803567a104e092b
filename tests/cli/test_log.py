"""The program's own log: one line each on stderr, whatever names stand in it."""

from __future__ import annotations

import pytest

from emu.cli.log import note, warn


def test_a_line_each_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    warn("the magic is 00000000")
    note("{not} a %s template")
    assert capsys.readouterr() == ("", "emu: warning: the magic is 00000000\nemu: note: {not} a %s template\n")


def test_a_name_out_of_a_file_neither_breaks_the_line_nor_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn("net\n/in\x1b[2J\u202e grüße")
    assert capsys.readouterr().err == "emu: warning: net\\n/in\\x1b[2J\\u202e grüße\n"
