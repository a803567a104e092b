"""A supervisor where the system allows one, and a client in C where there is a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.card.supervisor.start import require_support
from emu.errors import EmuError
from tests.conftest import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]
SECONDS = 120  # after which a client that hangs is killed: never a measure of anything


@pytest.fixture(scope="session")
def supervised() -> Run:
    """Runs a command under `emu exec --card`, `options` before it."""
    try:
        require_support()
    except EmuError as error:
        pytest.skip(error.message)
    done = _run(["true"])
    if "is not allowed" in done.stderr or "allows no" in done.stderr or "does not let" in done.stderr:
        pytest.skip(done.stderr.strip())
    return _run


def _run(command: list[str], *options: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "emu", "exec", "--card", *options, *command],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        env=environment,
    )


@pytest.fixture(scope="session")
def c_client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The client in C, compiled."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C compiler here")
    made = tmp_path_factory.mktemp("client") / "client"
    source = Path(__file__).with_name("client.c")
    done = subprocess.run(
        [compiler, "-O2", "-Wall", "-Werror", "-pthread", "-o", str(made), str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return str(made)
