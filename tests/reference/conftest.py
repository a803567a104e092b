"""The program, run within the tests' own process."""

from __future__ import annotations

import pytest

from emu.cli.main import main


@pytest.fixture
def emu(capsys):
    """Run the program; its exit code, stdout and stderr."""

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return stopped.value.code, out, err

    return run
