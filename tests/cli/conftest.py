"""The program, run within the tests' own process."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import pytest

from emu.cli.main import main


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


class Emu(Protocol):
    """Run the program; its exit code, stdout and stderr."""

    def __call__(self, *arguments: object) -> Done: ...


@pytest.fixture
def emu(capsys: pytest.CaptureFixture[str]) -> Emu:
    def run(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(int(stopped.value.code or 0), out, err)

    return run
