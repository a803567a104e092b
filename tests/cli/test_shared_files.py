"""Several processes and one file: coverage adds up, everything else has one writer, and a failure loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.errors import OutputError
from emu.host import coverage as module
from emu.host.coverage import Coverage, merge_into
from emu.output import PART_SUFFIX, Output
from tests.conftest import ROOT

HEF = str(ROOT / "examples" / "two_context.hef")
Emu = Callable[..., tuple[int, str, str]]

MERGE = """
import sys
from collections import Counter
from pathlib import Path
from emu.host.coverage import Coverage, merge_into
sys.stdin.read()  # all begin at once
for _ in range(25):
    merge_into(Path(sys.argv[1]), Coverage(actions=Counter(BURST_CREDITS_TASK_RESET=1)))
"""


def counts(path: Path) -> int:
    return int(json.loads(path.read_text())["actions"]["BURST_CREDITS_TASK_RESET"])


def test_runs_at_one_time_count_all(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    running = [
        subprocess.Popen([sys.executable, "-c", MERGE, str(path)], stdin=subprocess.PIPE, cwd=ROOT) for _ in range(4)
    ]
    for one in running:
        assert one.stdin is not None
        one.stdin.close()
    assert [one.wait(120) for one in running] == [0, 0, 0, 0]
    assert counts(path) == 100
    assert [one.name for one in tmp_path.iterdir()] == ["coverage.json"]


def test_a_run_adds_to_the_file(emu: Emu, tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    for _ in range(2):
        assert emu("run", HEF, "--coverage-file", path)[0] == 0
    once, twice = tmp_path / "once.json", counts(path)
    assert emu("run", HEF, "--coverage-file", once)[0] == 0
    assert twice == 2 * counts(once) > 0


def test_a_failing_write_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "coverage.json"
    merge_into(path, Coverage())
    before = path.read_bytes()

    def full(self: Output) -> None:
        raise OutputError("cannot write: no space left on device")

    monkeypatch.setattr(module.Output, "commit", full)
    with pytest.raises(OutputError):
        merge_into(path, Coverage())
    assert path.read_bytes() == before


WRITERS: list[tuple[list[str], str]] = [
    (["run", HEF, "--trace=FILE"], "t.jsonl"),
    (["run", HEF, "--trace=FILE", "--trace-format=perfetto"], "t.json"),
    (["run", HEF, "--outputs", "FILE"], "o.npz"),
    (["run", HEF, "--dump-memory", "FILE"], "m.json"),
    (["disasm", HEF, "-o", "FILE"], "x.yaml"),
    (["check", HEF, "--junit", "FILE"], "j.xml"),
    (["sweep", HEF, "--jobs", "1", "--output", "FILE"], "s.csv"),
]


@pytest.mark.parametrize(("command", "name"), WRITERS, ids=lambda one: one if isinstance(one, str) else None)
def test_the_second_writer_of_a_file_is_refused(emu: Emu, tmp_path: Path, command: list[str], name: str) -> None:
    target = tmp_path / name
    with Output(target) as first:
        first.stream.write(b"first")
        code, out, err = emu(*(one.replace("FILE", str(target)) for one in command))
        assert (code, out) == (7, "") and err.count("\n") == 1
        assert f"{target} is being written by another process" in err
    assert target.read_bytes() == b"first"


def test_a_part_that_a_killed_run_left_is_overwritten(emu: Emu, tmp_path: Path) -> None:
    target = tmp_path / "t.jsonl"
    left = target.with_name(target.name + PART_SUFFIX)
    left.write_bytes(b"half a trace\n" * 100_000)
    assert emu("run", HEF, f"--trace={target}")[0] == 0
    assert not left.exists() and emu("check", "--trace", target)[0] == 0
