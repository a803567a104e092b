"""Commands in forked processes end as those that are started: output, exit code, surroundings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_module

PROGRAMS = {
    "ends": "print(sys.argv[1:], os.getcwd(), os.environ['SEEN'])",
    "exit code": "print('said', file=sys.stderr); sys.exit(7)",
    "error": "raise ValueError('wrong')",
    "killed": "os.kill(os.getpid(), 9)",
    "encoding": "print(sys.stdout.encoding, sys.path[0])",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_forked_command_is_what_a_started_one_is(tmp_path: Path, name: str) -> None:
    (tmp_path / "program.py").write_text(f"import os, sys\n{PROGRAMS[name]}\n")
    env = {**os.environ, "SEEN": "\udcff", "PYTHONIOENCODING": "ascii:backslashreplace"}
    started = subprocess.run(
        [sys.executable, "-m", "program", "a", os.fsencode("\udcfe")],
        cwd=tmp_path, env=env, capture_output=True, check=False,
    )  # fmt: skip
    forked = run_module("program", "a", b"\xfe", cwd=tmp_path, env=env)
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


def test_a_command_that_never_ends(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("while True: pass\n")
    with pytest.raises(subprocess.TimeoutExpired):
        run_module("program", cwd=tmp_path, timeout=0.2)
    (tmp_path / "other.py").write_text("print('here')\n")
    assert run_module("other", cwd=tmp_path).stdout == b"here\n"
