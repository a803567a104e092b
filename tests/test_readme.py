"""The README shows what the program really prints."""

from __future__ import annotations

import re

import pytest

from emu.cli.main import COMMANDS, main
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_the_trace_of_the_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    out = printed(capsys, "run", "examples/two_context.hef", "--trace")
    for part in BLOCKS["trace"].split("…\n"):
        assert part in out


def test_the_summary_of_the_example(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert printed(capsys, "run", "examples/two_context.hef") == BLOCKS["text"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_listed(command: str) -> None:
    assert f"`emu {command}" in README
